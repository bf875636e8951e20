//! Functions that never return: by name where they are imported, by their own code where they are not.

use std::ops::Range;

use iced_x86::Instruction;
use tare_image::Image;

use crate::addresses::slot;
use crate::decode::{AddressSet, RawFlow, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::graph::Lists;
use crate::jumps::{JumpKind, Jumps};
use crate::leads::Kind;
use crate::program::JumpTable;
use crate::record::FlowRecord;
use crate::slots;
use crate::sweep::Sweep;
use crate::{behind_start, owners};

/// Functions of the usual libraries that never return.
const NAMES: [&str; 62] = [
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
    "__pthread_unwind_next",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_abort",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_exit_i4",
    "_gfortran_exit_i8",
    "_gfortran_os_error",
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

/// More of them, which a program may have for itself, and there they may return: what is meant is the C library's alone.
const OF_C_LIBRARY: [&str; 8] = ["__pthread_exit", "err", "errx", "pthread_exit", "quick_exit", "thrd_exit", "verr", "verrx"];

/// Whether a function that an image imports does not return, whatever it is called with.
#[must_use]
pub fn import_never_returns(image: &Image<'_>, name: &str) -> bool {
    let is_in_c_library = |library: &str| library.starts_with("libc.so") || library.starts_with("libpthread.so");
    let is_of_c_library = || image.import_version(name).is_some_and(|version| is_in_c_library(version.library) && version.name.starts_with("GLIBC_"));
    // No MPI library gives its functions versions.
    let is_of_mpi = || image.needed().iter().any(|path| path.rsplit('/').next().is_some_and(|library| library.starts_with("libmpi")));
    ends_by_name(name) || OF_C_LIBRARY.contains(&name) && is_of_c_library() || name == "MPI_Abort" && is_of_mpi()
}

/// Whether a function of this name does not return wherever it stands.
pub(crate) fn ends_by_name(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Code that is entered together: a function before it is one.
pub(crate) struct Unit<'a> {
    pub(crate) entry: u64,
    /// Whether a function of its name does not return.
    pub(crate) ends_by_name: bool,
    pub(crate) fragments: &'a [usize],
    pub(crate) jumps: Option<&'a Jumps>,
}

/// Addresses from which control never comes back.
pub(crate) struct Never {
    /// Entries and PLT entries.
    code: AddressSet,
    /// Slots that the loader fills, sorted.
    slots: Vec<u64>,
    /// Slots that calls go through and the code of this image behind them, sorted.
    own: Vec<(u64, u64)>,
}

impl Never {
    /// Of an entry or a PLT entry.
    pub(crate) fn has_code(&self, target: u64) -> bool {
        self.code.contains(target)
    }

    /// Of what a call goes to, as far as the call itself tells.
    pub(crate) fn ends(&self, call: &Instruction) -> bool {
        match raw_flow(call) {
            RawFlow::Call(target) => self.has_code(target),
            RawFlow::IndirectCall => slot(call).is_some_and(|slot| self.contains(slot)),
            _ => false,
        }
    }

    /// Of the slot or code that an indirect call or jump goes through.
    fn has_place(&self, record: &FlowRecord) -> bool {
        record.place().is_some_and(|place| self.contains(place))
    }

    /// Of an entry, a PLT entry or a slot.
    pub(crate) fn contains(&self, target: u64) -> bool {
        self.has_code(self.code_behind(target)) || self.slots.binary_search(&target).is_ok()
    }

    /// The code behind a slot of this image's own; an address of code itself.
    fn code_behind(&self, place: u64) -> u64 {
        let found = self.own.binary_search_by_key(&place, |one| one.0).ok();
        found.and_then(|found| self.own.get(found)).map_or(place, |one| one.1)
    }
}

/// Finds the addresses from which control never comes back.
pub(crate) fn never_returning(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit<'_>]) -> Never {
    let owners = owners(fragments, units.iter().map(|unit| unit.fragments));
    let mut never = by_name(image, units);
    let callers = callers(image, fragments, sweep, &owners, &mut never);
    let mut walk = Walk { image, fragments, sweep, owners, never, seen: vec![0; sweep.flows.len()], round: 0, todo: Vec::new() };
    let mut todo: Vec<usize> = (0..units.len()).rev().collect();
    while let Some(index) = todo.pop() {
        let Some(unit) = units.get(index) else { continue };
        if walk.never.has_code(unit.entry) || walk.may_return(index, unit) {
            continue;
        }
        walk.never.code.insert(unit.entry);
        todo.extend(callers.of(index).iter().filter_map(|&from| walk.owners.get(from)));
    }
    walk.never
}

/// The fragments that go to a unit's entry, for all units; tells what stands in slots that they go through.
fn callers(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, owners: &[usize], never: &mut Never) -> Lists {
    let mut callees = Lists::with_capacity(fragments.list.len(), fragments.list.len() * 4);
    // The unit that was last seen to go to each.
    let mut last = vec![usize::MAX; fragments.list.len()];
    for (index, &caller) in owners.iter().enumerate() {
        for lead in sweep.leads.of(index) {
            let start = match lead.kind {
                Kind::Indirect => {
                    let Some(place) = lead.record(sweep).and_then(FlowRecord::place) else { continue };
                    let code = slots::code_in(image, &sweep.changing, place);
                    never.own.extend(code.map(|code| (place, code)));
                    fragments.starting_at(code.unwrap_or(place))
                }
                _ => lead.to_start(),
            };
            let callee = start.and_then(|callee| owners.get(callee)).filter(|&&callee| callee != caller);
            let Some((&callee, last)) = callee.and_then(|callee| Some((callee, last.get_mut(*callee)?))) else { continue };
            if std::mem::replace(last, caller) != caller {
                callees.add(callee);
            }
        }
        callees.close();
    }
    never.own.sort_unstable();
    never.own.dedup();
    callees.turned()
}

fn by_name(image: &Image<'_>, units: &[Unit<'_>]) -> Never {
    let plt = || image.plt().iter().filter(|entry| entry.name.is_some_and(|name| import_never_returns(image, name)));
    let relocated = image.relocations().iter().filter(|one| image.name_in_slot(one.address).is_some_and(|name| import_never_returns(image, name)));
    let mut slots: Vec<u64> = relocated.map(|one| one.address).chain(plt().map(|entry| entry.slot)).collect();
    slots.sort_unstable();
    slots.dedup();
    // Nothing but themselves says where entries of the PLT lie in an image without section headers.
    let entries = plt().map(|entry| entry.address..entry.address.saturating_add(1));
    let ranges: Vec<Range<u64>> = crate::sweep::code_ranges(image).into_iter().chain(entries).collect();
    let mut code = AddressSet::over(&ranges);
    plt().for_each(|entry| code.insert(entry.address));
    units.iter().filter(|unit| unit.ends_by_name).for_each(|unit| code.insert(unit.entry));
    Never { code, slots, own: Vec::new() }
}

/// What a record does to a walk.
enum Step {
    /// The unit may return by it.
    Returns,
    /// Control does not come behind it.
    Ends,
    GoesOn,
}

/// Walks over the reachable code of units.
struct Walk<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    sweep: &'a Sweep,
    owners: Vec<usize>,
    never: Never,
    /// The last walk that met a flow record.
    seen: Vec<u32>,
    round: u32,
    /// Room for the addresses that a walk has to go to.
    todo: Vec<u64>,
}

impl<'a> Walk<'a, '_> {
    fn may_return(&mut self, index: usize, unit: &Unit<'_>) -> bool {
        self.round += 1;
        let mut todo = std::mem::take(&mut self.todo);
        todo.clear();
        todo.push(unit.entry);
        // What is gone back to by a pointer, as `__builtin_longjmp` does, is reached by nothing else.
        let own = unit.fragments.iter().filter_map(|&one| self.fragments.list.get(one));
        todo.extend(own.flat_map(|fragment| behind_start(&self.sweep.labels, &fragment.range)));
        let returns = self.reaches_return(index, unit, &mut todo);
        self.todo = todo;
        if returns {
            return true;
        }
        let mut todo = self.landing_pads(unit);
        self.reaches_return(index, unit, &mut todo)
    }

    fn reaches_return(&mut self, index: usize, unit: &Unit<'_>, todo: &mut Vec<u64>) -> bool {
        while let Some(address) = todo.pop() {
            let Some(fragment) = self.own_fragment(index, address) else { continue };
            let (sweep, end) = (self.sweep, fragment.range.end);
            let records = sweep.flows_from(fragment, address);
            let mut behind = address;
            let mut is_open = true;
            for position in records {
                let Some(record) = sweep.flows.get(position) else { break };
                is_open = self.seen.get_mut(position).is_some_and(|seen| std::mem::replace(seen, self.round) != self.round);
                if !is_open {
                    break;
                }
                match self.step(index, unit, (fragment, record), todo) {
                    Step::Returns => return true,
                    Step::Ends => is_open = false,
                    Step::GoesOn => behind = record.end(),
                }
                if !is_open {
                    break;
                }
            }
            if is_open && behind < end {
                return true;
            }
            if is_open {
                todo.push(behind);
            }
        }
        false
    }

    /// Follows one record.
    fn step(&self, index: usize, unit: &Unit<'_>, (fragment, record): (&Fragment, &FlowRecord), todo: &mut Vec<u64>) -> Step {
        let leaves = match record.flow() {
            RawFlow::Return | RawFlow::Invalid => true,
            RawFlow::Stop => false,
            RawFlow::Call(target) if self.never.has_code(target) => false,
            RawFlow::IndirectCall if self.never.has_place(record) => false,
            RawFlow::Jump(target) => self.leaves(index, fragment, target, todo),
            RawFlow::Branch(target) => {
                return if self.leaves(index, fragment, target, todo) { Step::Returns } else { Step::GoesOn };
            }
            RawFlow::IndirectJump => self.leaves_indirectly(unit, record, todo),
            RawFlow::Call(_) | RawFlow::IndirectCall | RawFlow::Next => return Step::GoesOn,
        };
        if leaves { Step::Returns } else { Step::Ends }
    }

    fn landing_pads(&self, unit: &Unit<'_>) -> Vec<u64> {
        let own = unit.fragments.iter().filter_map(|&index| self.fragments.list.get(index)?.fde);
        let fdes = own.filter_map(|fde| self.image.fdes().get(fde)).filter(|fde| fde.lsda.is_some());
        let tables = fdes.filter_map(|fde| self.image.lsda(fde));
        tables.flat_map(|table| table.call_sites).filter_map(|site| site.landing_pad).collect()
    }

    fn own_fragment(&self, index: usize, address: u64) -> Option<&'a Fragment> {
        let fragment = self.fragments.at(address).filter(|&one| self.owners.get(one) == Some(&index))?;
        self.fragments.list.get(fragment)
    }

    /// Whether a jump in a fragment may come back to the caller through another function.
    fn leaves(&self, index: usize, from: &Fragment, target: u64, todo: &mut Vec<u64>) -> bool {
        let is_own = from.range.contains(&target) || self.own_fragment(index, target).is_some();
        if is_own {
            todo.push(target);
        }
        !is_own && !self.never.has_code(target)
    }

    fn leaves_indirectly(&self, unit: &Unit<'_>, record: &FlowRecord, todo: &mut Vec<u64>) -> bool {
        let Some(jumps) = unit.jumps else { return true };
        match jumps.kinds.get(&record.address) {
            Some(JumpKind::Table(tables)) => {
                let tables = tables.iter().filter_map(|&table| jumps.tables.get(table));
                todo.extend(tables.flat_map(JumpTable::reached));
                false
            }
            _ => !self.never.has_place(record),
        }
    }
}
