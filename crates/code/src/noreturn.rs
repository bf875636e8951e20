//! Functions that never return: by name where they are imported, by their own code where they are not.

use std::collections::{BTreeMap, HashSet};

use tare_image::Image;

use crate::decode::RawFlow;
use crate::fragments::Fragments;
use crate::sweep::{FlowRecord, Sweep};
use crate::tables::{JumpKind, Jumps};

/// Functions of the usual libraries that never return.
const NAMES: [&str; 58] = [
    "_Exit",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
    "_ZSt10unexpectedv",
    "_ZSt16__throw_bad_castv",
    "_ZSt17__throw_bad_allocv",
    "_ZSt18__throw_bad_typeidv",
    "_ZSt19__throw_logic_errorPKc",
    "_ZSt19__throw_range_errorPKc",
    "_ZSt20__throw_domain_errorPKc",
    "_ZSt20__throw_length_errorPKc",
    "_ZSt20__throw_out_of_rangePKc",
    "_ZSt20__throw_system_errori",
    "_ZSt21__throw_bad_exceptionv",
    "_ZSt21__throw_runtime_errorPKc",
    "_ZSt21__glibcxx_assert_failPKciS0_S0_",
    "_ZSt22__throw_overflow_errorPKc",
    "_ZSt23__throw_underflow_errorPKc",
    "_ZSt24__throw_invalid_argumentPKc",
    "_ZSt24__throw_out_of_range_fmtPKcz",
    "_ZSt25__throw_bad_function_callv",
    "_ZSt28__throw_bad_array_new_lengthv",
    "_ZSt9terminatev",
    "_ZSt19__throw_regex_errorNSt15regex_constants10error_typeE",
    "_ZSt26__throw_bad_variant_accessPKc",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_pure_virtual",
    "__cxa_deleted_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__cxa_throw_bad_array_length",
    "__fortify_fail",
    "__libc_fatal",
    "__libc_start_main",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_abort",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_longjmp",
    "abort",
    "exit",
    "longjmp",
    "siglongjmp",
];

/// More of them, that are seldom met.
const MORE_NAMES: [&str; 16] = [
    "__pthread_exit",
    "__pthread_unwind_next",
    "_exit_group",
    "_gfortran_exit_i4",
    "_gfortran_exit_i8",
    "_gfortran_os_error",
    "err",
    "errx",
    "obstack_alloc_failed_handler",
    "pthread_exit",
    "quick_exit",
    "thrd_exit",
    "verr",
    "verrx",
    "xalloc_die",
    "MPI_Abort",
];

pub(crate) fn is_noreturn_name(name: &str) -> bool {
    NAMES.contains(&name) || MORE_NAMES.contains(&name)
}

/// Code that is entered together: a function before it is one.
pub(crate) struct Unit<'a> {
    pub(crate) entry: u64,
    pub(crate) names: Vec<&'a str>,
    pub(crate) fragments: &'a [usize],
    pub(crate) jumps: Option<&'a Jumps>,
}

/// Addresses (entries, PLT entries, slots) from which control never comes back.
pub(crate) fn never_returning(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit<'_>]) -> HashSet<u64> {
    let mut never = by_name(image, units);
    let owner: BTreeMap<u64, usize> = units.iter().enumerate().map(|(index, unit)| (unit.entry, index)).collect();
    let mut callers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, unit) in units.iter().enumerate() {
        for callee in unit.records(fragments, sweep).filter_map(target).filter_map(|target| owner.get(&target)) {
            callers.entry(*callee).or_default().push(index);
        }
    }
    let mut todo: Vec<usize> = (0..units.len()).rev().collect();
    while let Some(index) = todo.pop() {
        let Some(unit) = units.get(index) else { continue };
        let walk = Walk { image, fragments, sweep, unit, never: &never };
        if never.contains(&unit.entry) || walk.may_return() {
            continue;
        }
        never.insert(unit.entry);
        todo.extend(callers.get(&index).into_iter().flatten());
    }
    never
}

fn by_name(image: &Image<'_>, units: &[Unit<'_>]) -> HashSet<u64> {
    let mut never = HashSet::new();
    for entry in image.plt() {
        if entry.name.is_some_and(is_noreturn_name) {
            never.insert(entry.address);
            never.insert(entry.slot);
        }
    }
    let slots = image.relocations().iter().filter(|one| image.name_in_slot(one.address).is_some_and(is_noreturn_name));
    never.extend(slots.map(|one| one.address));
    let own = units.iter().filter(|unit| unit.names.iter().any(|name| NAMES.contains(name)));
    never.extend(own.map(|unit| unit.entry));
    never
}

fn target(record: &FlowRecord) -> Option<u64> {
    match record.flow {
        RawFlow::Call(target) | RawFlow::Jump(target) | RawFlow::Branch(target) => Some(target),
        _ => None,
    }
}

impl Unit<'_> {
    fn records<'s>(&'s self, fragments: &'s Fragments, sweep: &'s Sweep) -> impl Iterator<Item = &'s FlowRecord> {
        let own = self.fragments.iter().filter_map(|&index| fragments.list.get(index));
        own.flat_map(|fragment| sweep.flows_of(fragment))
    }
}

/// A walk over the reachable code of a unit.
struct Walk<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    sweep: &'a Sweep,
    unit: &'a Unit<'a>,
    never: &'a HashSet<u64>,
}

impl Walk<'_, '_> {
    fn may_return(&self) -> bool {
        let mut todo = vec![self.unit.entry];
        todo.extend(self.landing_pads());
        let mut seen = HashSet::new();
        while let Some(address) = todo.pop() {
            if !self.is_own(address) {
                continue;
            }
            let Some(record) = self.next_record(address) else { return true };
            if !seen.insert(record.address) {
                continue;
            }
            match record.flow {
                RawFlow::Return | RawFlow::Invalid => return true,
                RawFlow::Stop => {}
                RawFlow::Call(target) if self.never.contains(&target) => {}
                RawFlow::IndirectCall if self.never.contains(&record.slot) => {}
                RawFlow::Jump(target) => {
                    if self.leaves(target, &mut todo) {
                        return true;
                    }
                }
                RawFlow::Branch(target) | RawFlow::Transaction(target) => {
                    todo.push(record.end());
                    if self.leaves(target, &mut todo) {
                        return true;
                    }
                }
                RawFlow::IndirectJump => {
                    if self.leaves_indirectly(record, &mut todo) {
                        return true;
                    }
                }
                RawFlow::Call(_) | RawFlow::IndirectCall | RawFlow::Next => todo.push(record.end()),
            }
        }
        false
    }

    fn landing_pads(&self) -> Vec<u64> {
        let own = self.unit.fragments.iter().filter_map(|&index| self.fragments.list.get(index)?.fde);
        let fdes = own.filter_map(|fde| self.image.fdes().get(fde)).filter(|fde| fde.lsda.is_some());
        let tables = fdes.filter_map(|fde| self.image.lsda(fde));
        tables.flat_map(|table| table.call_sites).filter_map(|site| site.landing_pad).collect()
    }

    fn is_own(&self, address: u64) -> bool {
        self.fragments.at(address).is_some_and(|index| self.unit.fragments.contains(&index))
    }

    /// The first record at or behind an address of the unit; none where code runs on into something else.
    fn next_record(&self, address: u64) -> Option<&FlowRecord> {
        let fragment = self.fragments.list.get(self.fragments.at(address)?)?;
        let records = self.sweep.flows_of(fragment);
        let first = records.partition_point(|record| record.address < address);
        records.get(first)
    }

    /// Whether a jump may come back to the caller through another function.
    fn leaves(&self, target: u64, todo: &mut Vec<u64>) -> bool {
        let is_own = self.is_own(target);
        if is_own {
            todo.push(target);
        }
        !is_own && !self.never.contains(&target)
    }

    fn leaves_indirectly(&self, record: &FlowRecord, todo: &mut Vec<u64>) -> bool {
        let Some(jumps) = self.unit.jumps else { return true };
        match jumps.kinds.get(&record.address) {
            Some(JumpKind::Table(tables)) => {
                let tables = tables.iter().filter_map(|&table| jumps.tables.get(table));
                todo.extend(tables.flat_map(|table| &table.targets));
                false
            }
            _ => !self.never.contains(&record.slot),
        }
    }
}
