//! Instructions to functions, blocks, edges, loops, calls and metrics (paper 2).
//!
//! The phases, in order: `fragments` (starts and ranges), `sweep` (every instruction once), `tables` (indirect jumps),
//! `group` (fragments to functions), `held` (callees in registers), `noreturn`, `refuse`, `calls`; [`Program::body`] then decodes a function again on
//! request, and `cfg`, `metrics`, `trips` and `liveness` look at what it found.
//!
//! What is absent: nothing here knows of patches or of MPI, and files are not opened.

mod addresses;
mod anchored;
mod asking;
mod body;
mod bounds;
mod callee;
mod calls;
mod carried;
mod cfg;
mod close_up;
mod components;
mod decode;
mod direct;
mod dominators;
mod draft;
mod early;
mod effort;
mod extent;
mod fingerprint;
mod flags;
mod fragments;
mod frames;
mod gather;
mod graph;
mod group;
mod harmless;
mod held;
mod jumps;
mod leaders;
mod leads;
mod left;
mod liveness;
mod lock;
mod loops;
mod managed;
mod metrics;
mod names;
mod noreturn;
mod parallel;
mod parts;
mod pieces;
mod plain;
mod pointed;
mod program;
mod quick;
mod record;
mod refuse;
mod saved;
mod slots;
mod stretch;
mod subroutine;
mod swallowed;
mod sweep;
mod tables;
mod targets;
mod through;
mod thunks;
mod traps;
mod trips;
mod turns;
mod twice;
mod unreached;
mod usual;
mod values;

use std::cmp::Reverse;
use std::ops::Range;

use tare_image::{CfaRows, Fde, Finder, Image};

pub use callee::Callee;
pub use calls::{CallGraph, Callees, Edges};
pub use cfg::{Block, Cfg};
pub use close_up::CloseUp;
pub use components::components;
pub use decode::ENDBR64;
use decode::{AddressSet, RawFlow};
pub use direct::{Direct, Turn, direct};
pub use fingerprint::{Fingerprint, Reached};
pub use flags::Flags;
use fragments::Fragments;
pub use harmless::is_harmless;
use jumps::Jumps;
pub use liveness::{CALLER_SAVED, Liveness};
pub use loops::{Loop, Loops, Members};
pub use metrics::{Metrics, Source};
use noreturn::Never;
pub use noreturn::import_never_returns;
pub use parallel::{Threads, join};
pub use program::{Body, Flow, FoundBy, Function, Instruction, JumpTable, Operand, Refusal, TableForm};
use quick::QuickMap;
use record::FlowRecord;
pub use saved::saves_frame;
use slots::Changing;
use sweep::Sweep;
use thunks::Inline;
pub use trips::Trips;
pub use usual::{Usual, usual};

/// Why an image has no functions to speak of.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// There is no executable section or segment.
    #[error("there is no code in it")]
    NoText,
}

/// The functions of an image.
pub struct Program {
    /// In order of their entries.
    pub functions: Vec<Function>,
    /// Start, end and function of every part, sorted by start.
    owners: Vec<(u64, u64, usize)>,
    finder: Finder,
    /// Indirect jumps, by function.
    jumps: QuickMap<usize, Jumps>,
    /// Entries, PLT entries and slots from which control never comes back.
    never: Never,
    main: Option<usize>,
    main_program: Option<usize>,
    calls: CallGraph,
    /// What changes the flow of control, sorted by address.
    flows: Vec<FlowRecord>,
    /// The first of those of every owner.
    first_flows: Vec<usize>,
    /// Where instructions start.
    starts: AddressSet,
    /// Instructions of each function.
    counts: Vec<usize>,
    /// Instructions in the middle of functions that nothing but branches of other functions is known to lead to, with
    /// the indices of these, sorted.
    branched_into: Vec<(u64, usize)>,
    /// Where branches go that leave out the `lock` prefix of an instruction, sorted.
    behind_lock: Vec<u64>,
    /// Thunks that stand in their functions.
    inline: Inline,
    /// Words that may change though the loader protects them.
    changing: Changing,
    /// Calls of the large model by values that are not followed.
    lost_calls: usize,
}

impl Program {
    /// Finds the functions of an image.
    ///
    /// # Errors
    /// If the image holds no code.
    pub fn analyse(image: &Image<'_>) -> Result<Self, CodeError> {
        Self::analyse_on(image, Threads::available())
    }

    /// The same on so many threads; the result does not depend on their number.
    ///
    /// # Errors
    /// If the image holds no code.
    pub fn analyse_on(image: &Image<'_>, threads: Threads) -> Result<Self, CodeError> {
        if image.text().is_empty() {
            return Err(CodeError::NoText);
        }
        let mut fragments = fragments::discover(image);
        let mut sweep = sweep::sweep(image, &mut fragments, threads);
        let jumps = jumps::by_fragment(image, &fragments, &sweep, threads);
        let groups = group::group(image, &fragments, &sweep, &jumps);
        let units = units(image, &fragments, &groups);
        let mut jumps = jumps::by_unit(image, &fragments, &sweep, &units, jumps);
        let shared = groups.shared(&fragments, &units);
        let functions = functions(image, &fragments, [&sweep.called_inside, &shared], &units);
        jumps::resolve_unknown(image, &fragments, &sweep, &units, &functions, &mut jumps);
        thunks::mark(image, &fragments, &sweep, &units, &mut jumps);
        let lost_calls = held::find(image, &fragments, &mut sweep, &units, &shared, &jumps, threads);
        Ok(Self { lost_calls, ..Self::assemble(image, fragments, sweep, &units, functions, jumps, &shared) })
    }

    fn assemble(
        image: &Image<'_>,
        mut fragments: Fragments,
        mut sweep: Sweep,
        units: &[Unit],
        mut functions: Vec<Function>,
        jumps: QuickMap<usize, Jumps>,
        shared: &[u64],
    ) -> Self {
        let never = never_returning(image, &fragments, &sweep, units, &functions, &jumps);
        let unreached = unreached::take_off(image, &mut fragments, &sweep, units, (&jumps, &never), &mut functions);
        for function in &mut functions {
            function.never_returns = never.contains(function.entry);
        }
        refuse::refuse(image, &fragments, &sweep, units, (&jumps, &unreached), shared, &mut functions);
        let mut program = Self {
            functions,
            owners: Vec::new(),
            finder: Finder::default(),
            jumps,
            never,
            main: None,
            main_program: None,
            calls: CallGraph::default(),
            flows: Vec::new(),
            first_flows: Vec::new(),
            starts: AddressSet::default(),
            counts: units.iter().map(|unit| unit.instructions(&fragments)).collect(),
            branched_into: Vec::new(),
            behind_lock: std::mem::take(&mut sweep.behind_lock),
            inline: Inline::default(),
            lost_calls: 0,
            changing: Changing::default(),
        };
        program.add_outside(image, &mut sweep);
        program.changing = std::mem::take(&mut sweep.changing);
        program.inline = std::mem::take(&mut sweep.inline);
        program.index(names::main_function(image));
        program.calls = gather::graph(image, &program, &fragments, &sweep, units);
        program.main_program = program.find_main_program();
        program.index_flows(sweep.take_sorted_flows());
        program.starts = sweep.starts;
        let is_otherwise_known = |at: &u64| sweep.labels.binary_search(at).is_ok() || image.symbols_at(*at).next().is_some();
        program.find_branches_into(shared.iter().copied().filter(|at| !is_otherwise_known(at)).collect());
        program
    }

    /// What lies in `.init` and `.fini`: functions by their symbols, and what the loader runs; they are listed and never moved.
    fn add_outside(&mut self, image: &Image<'_>, sweep: &mut Sweep) {
        let symbols = image.symbols().iter().filter(|symbol| symbol.is_function && symbol.is_defined);
        let mut sized: Vec<(u64, u64, FoundBy)> = symbols.map(|symbol| (symbol.address, symbol.size, FoundBy::Symbol)).collect();
        sized.extend(names::run_by_loader(image).map(|(_, address)| (address, 0, FoundBy::Loader)));
        sized.sort_by_key(|&(address, size, _)| (address, Reverse(size)));
        sized.dedup_by_key(|one| one.0);
        for (address, size, found_by) in sized {
            let section = image.sections().iter().find(|one| one.is_executable() && one.range().contains(&address));
            let Some(section) = section.filter(|_| !image.is_code(address)) else { continue };
            let size = if size == 0 { u64::MAX } else { size };
            let (name, aliases) = names::name_at(image, address);
            let range = address..address.saturating_add(size).min(section.range().end);
            self.counts.push(sweep.add_outside(image, range.clone()));
            self.functions.push(Function {
                name,
                aliases,
                entry: address,
                parts: Vec::from([range]),
                refusal: Some(Refusal::OutsideText),
                other_entries: Vec::new(),
                never_returns: false,
                found_by,
            });
        }
    }

    /// Sorts functions by entry and makes the index over their parts.
    fn index(&mut self, main: Option<u64>) {
        let mut order: Vec<usize> = (0..self.functions.len()).collect();
        order.sort_by_key(|&index| self.functions.get(index).map(|function| function.entry));
        let mut jumps = QuickMap::default();
        let mut functions = Vec::with_capacity(order.len());
        let mut counts = Vec::with_capacity(order.len());
        for (new, old) in order.into_iter().enumerate() {
            if let Some(own) = self.jumps.remove(&old) {
                jumps.insert(new, own);
            }
            functions.extend(self.functions.get_mut(old).map(std::mem::take));
            counts.extend(self.counts.get(old));
        }
        self.functions = functions;
        self.counts = counts;
        self.jumps = jumps;
        self.owners = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            self.owners.extend(function.parts.iter().map(|part| (part.start, part.end, index)));
        }
        self.owners.sort_unstable();
        self.finder = Finder::over(self.owners.iter().map(|owner| owner.0).collect());
        self.main = main.and_then(|main| self.function_at(main));
    }

    /// Takes what changes the flow of control, sorted by address, and says where that of every part begins.
    fn index_flows(&mut self, flows: Vec<FlowRecord>) {
        let mut first = 0;
        for owner in &self.owners {
            let rest = flows.get(first..).unwrap_or_default();
            first += rest.iter().take_while(|record| record.address < owner.0).count();
            self.first_flows.push(first);
        }
        self.flows = flows;
    }

    /// Finds the functions that branch to instructions in the middle of others; `wanted` is sorted.
    fn find_branches_into(&mut self, mut wanted: Vec<u64>) {
        let tables = self.jumps.values().flat_map(|jumps| &jumps.tables).flat_map(|table| &table.targets);
        let mut others: Vec<u64> = if wanted.is_empty() { Vec::new() } else { tables.copied().collect() };
        let mut found = Vec::new();
        for record in self.flows.iter().filter(|_| !wanted.is_empty()) {
            let target = match record.flow() {
                RawFlow::Jump(target) | RawFlow::Branch(target) | RawFlow::Call(target) => target,
                _ => continue,
            };
            if wanted.binary_search(&target).is_err() {
                continue;
            }
            let from = self.function_at(record.address).filter(|_| matches!(record.flow(), RawFlow::Jump(_) | RawFlow::Branch(_)));
            match from {
                Some(from) => found.push((target, from)),
                None => others.push(target),
            }
        }
        others.sort_unstable();
        wanted.retain(|target| others.binary_search(target).is_err());
        found.retain(|(target, from)| wanted.binary_search(target).is_ok() && self.function_at(*target) != Some(*from));
        found.sort_unstable();
        found.dedup();
        self.branched_into = found;
    }

    /// The functions, by index, that branch to an instruction in the middle of another one, where nothing else is known to
    /// lead there; none elsewhere.
    pub fn branching_into(&self, address: u64) -> impl Iterator<Item = usize> {
        let first = self.branched_into.partition_point(|one| one.0 < address);
        self.branched_into.get(first..).unwrap_or_default().iter().take_while(move |one| one.0 == address).map(|one| one.1)
    }

    /// Whether control stops at the end of a part: by a return or a jump, so that it does not run over it.
    #[must_use]
    pub fn stops_at_end(&self, part: &Range<u64>) -> bool {
        self.flows_of(part).last().is_some_and(|last| {
            let ends = matches!(last.flow(), RawFlow::Return | RawFlow::Jump(_) | RawFlow::IndirectJump);
            ends && last.address + u64::from(last.length) == part.end
        })
    }

    /// What changes the flow of control in a part of a function.
    fn flows_of(&self, part: &Range<u64>) -> &[FlowRecord] {
        let behind = self.finder.behind(part.start);
        let Some(&first) = behind.checked_sub(1).and_then(|owner| self.first_flows.get(owner)) else { return &[] };
        let next = self.first_flows.get(behind).copied().unwrap_or(self.flows.len());
        let own = self.flows.get(first..next).unwrap_or_default();
        // Between the parts of functions stands next to nothing.
        let last = own.iter().rposition(|record| record.address < part.end);
        last.and_then(|last| own.get(..=last)).unwrap_or_default()
    }

    /// Index of the function whose code holds a link address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<usize> {
        let behind = self.finder.behind(address);
        self.owners.get(behind.checked_sub(1)?).filter(|owner| address < owner.1).map(|owner| owner.2)
    }

    /// Index of the function that is entered at a link address.
    #[must_use]
    pub fn function_entered_at(&self, address: u64) -> Option<usize> {
        self.function_at(address).filter(|&index| self.functions.get(index).is_some_and(|function| function.entry == address))
    }

    /// Calls of the large model, in code that is moved, of which it is not known where they go: where it is not optimised, it keeps
    /// in the frame what it finds functions by. Sure edges do not have them.
    #[must_use]
    pub const fn lost_calls(&self) -> usize {
        self.lost_calls
    }

    /// Index of the C or Fortran main program's `main`.
    #[must_use]
    pub const fn main(&self) -> Option<usize> {
        self.main
    }

    /// Index of the main program as it was written: of Fortran's where `main` is the start-up code that calls it, and of
    /// `main` elsewhere.
    #[must_use]
    pub const fn main_program(&self) -> Option<usize> {
        self.main_program
    }

    fn find_main_program(&self) -> Option<usize> {
        let is_fortran = |index: usize| self.functions.get(index).is_some_and(|one| one.is_called(names::FORTRAN_MAIN));
        match self.main {
            Some(main) => Some(self.calls.callees(main).iter().copied().find(|&callee| is_fortran(callee)).unwrap_or(main)),
            None => (0..self.functions.len()).find(|&index| is_fortran(index)),
        }
    }

    /// Whether an address lies in start-up code.
    fn is_start_up(&self, address: u64) -> bool {
        let function = self.function_at(address).and_then(|index| self.functions.get(index));
        function.is_some_and(|function| function.refusal == Some(Refusal::StartUp))
    }

    /// Whether control never comes back from a call of this address (an entry, a PLT entry, or the slot of an indirect call).
    #[must_use]
    pub fn never_returns(&self, target: u64) -> bool {
        self.never.contains(target)
    }
}

/// The fragments of a function, its entry first.
struct Unit {
    fragments: Vec<usize>,
    /// Fragments that nothing in the function leads to, though they begin as functions do: entered from elsewhere.
    others: Vec<usize>,
}

impl Unit {
    fn instructions(&self, fragments: &Fragments) -> usize {
        self.fragments.iter().filter_map(|&one| fragments.list.get(one)).map(|one| one.instructions).sum()
    }
}

/// The unit of every fragment, by the fragments of each; `usize::MAX` where it is in none.
fn owners<'a>(fragments: &Fragments, units: impl Iterator<Item = &'a [usize]>) -> Vec<usize> {
    let mut owners = vec![usize::MAX; fragments.list.len()];
    for (index, own) in units.enumerate() {
        own.iter().for_each(|&fragment| owners.get_mut(fragment).into_iter().for_each(|owner| *owner = index));
    }
    owners
}

fn units(image: &Image<'_>, fragments: &Fragments, groups: &group::Groups) -> Vec<Unit> {
    let rank = |index: &usize| {
        fragments.list.get(*index).map(|one| {
            let is_entered = one.traits.is_called || one.traits.is_pointed_at;
            let is_aligned = one.range.start.is_multiple_of(16);
            let fde = one.fde.and_then(|fde| image.fdes().get(fde));
            let is_cold = fde.is_some_and(|fde| !fde.starts_at_entry);
            let size = one.range.end - one.range.start;
            (one.named, groups.is_branched_to(*index), is_cold, !is_entered, !is_aligned, Reverse(size), one.range.start)
        })
    };
    let is_empty = |one: &usize| fragments.list.get(*one).is_some_and(|one| one.traits.is_empty);
    let groups_with_code = groups.members().into_iter().filter(|members| !members.iter().all(is_empty));
    let units = groups_with_code.map(|mut members| {
        if let Some(first) = members.iter().copied().min_by_key(|index| rank(index)) {
            members.retain(|&index| index != first);
            members.insert(0, first);
        }
        let is_other = |index: &usize| {
            let fde = fragments.list.get(*index).and_then(|one| image.fdes().get(one.fde?));
            fde.is_some_and(|fde| fde.starts_at_entry) && !groups.is_branched_to(*index)
        };
        let others = members.iter().skip(1).copied().filter(is_other).collect();
        Unit { fragments: members, others }
    });
    units.collect()
}

/// `inside` are instructions where others enter a fragment, which no function begins with: lists that are sorted.
fn functions(image: &Image<'_>, fragments: &Fragments, inside: [&[u64]; 2], units: &[Unit]) -> Vec<Function> {
    let main = names::main_function(image);
    let mains = Mains { c: main, fortran: main.and_then(|main| names::fortran_main(image, main)) };
    units.iter().map(|unit| function(image, fragments, inside, unit, mains)).collect()
}

fn function(image: &Image<'_>, fragments: &Fragments, inside: [&[u64]; 2], unit: &Unit, mains: Mains) -> Function {
    let own = || unit.fragments.iter().filter_map(|&index| fragments.list.get(index));
    let entry = own().next().map_or(0, |one| one.range.start);
    let is_entered = |index: &usize| {
        let is_known =
            fragments.list.get(*index).is_some_and(|one| one.named == fragments::Named::Function || one.traits.is_called || one.traits.is_pointed_at);
        is_known || unit.others.contains(index)
    };
    let others = unit.fragments.iter().skip(1).filter(|index| is_entered(index));
    let others = others.filter_map(|&index| fragments.list.get(index));
    let mut other_entries: Vec<u64> = others.map(|one| one.range.start).collect();
    other_entries.extend(own().flat_map(|one| names::entries_inside(image, &one.range)));
    let named = other_entries.clone();
    other_entries.extend(own().flat_map(|one| inside.map(|list| within(list, &one.range))).flatten());
    other_entries.sort_unstable();
    other_entries.dedup();
    let is_nameless = image.symbols_at(entry).next().is_none();
    let (name, aliases) = if is_nameless && mains.c == Some(entry) {
        ("main".to_owned(), Vec::new())
    } else if is_nameless && mains.fortran == Some(entry) {
        (names::FORTRAN_MAIN.to_owned(), Vec::new())
    } else {
        let inside = named.iter().copied().find(|&other| is_nameless && image.symbols_at(other).next().is_some());
        names::name_at(image, inside.unwrap_or(entry))
    };
    let found_by = own().next().map_or_else(FoundBy::default, |one| one.found_by);
    let parts = own().map(|one| one.range.clone()).collect();
    Function { name, aliases, entry, parts, refusal: None, other_entries, never_returns: false, found_by }
}

/// Which of some sorted addresses lie in a range, but not at its start.
fn behind_start<'a>(sorted: &'a [u64], range: &Range<u64>) -> &'a [u64] {
    within(sorted, &(range.start + 1..range.end))
}

/// Which of some sorted addresses lie in a range.
fn within<'a>(sorted: &'a [u64], range: &Range<u64>) -> &'a [u64] {
    let first = sorted.partition_point(|&target| target < range.start);
    let end = sorted.partition_point(|&target| target < range.end);
    sorted.get(first..end.max(first)).unwrap_or_default()
}

/// Where the main programs are.
#[derive(Clone, Copy)]
struct Mains {
    c: Option<u64>,
    fortran: Option<u64>,
}

fn rows(image: &Image<'_>, fragments: &Fragments, index: usize) -> Option<CfaRows> {
    fde(image, fragments, index).map(Fde::cfa_rows)
}

fn fde<'a, 'data>(image: &'a Image<'data>, fragments: &Fragments, index: usize) -> Option<&'a Fde<'data>> {
    image.fdes().get(fragments.list.get(index)?.fde?)
}

fn never_returning(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    functions: &[Function],
    jumps: &QuickMap<usize, Jumps>,
) -> Never {
    let walked = units.iter().zip(functions).enumerate().map(|(index, (unit, function))| noreturn::Unit {
        entry: function.entry,
        ends_by_name: std::iter::once(&function.name).chain(&function.aliases).any(|name| noreturn::ends_by_name(name)),
        fragments: &unit.fragments,
        jumps: jumps.get(&index),
    });
    noreturn::never_returning(image, fragments, sweep, &walked.collect::<Vec<_>>())
}
