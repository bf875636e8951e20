//! The indirect jumps of all functions: fragment by fragment, then over whole functions, and at last with what is known of calls that never
//! come back.

use std::collections::BTreeMap;
use std::ops::Range;

use tare_image::Image;

use crate::fragments::Fragments;
use crate::frames::Frames;
use crate::parallel::Threads;
use crate::program::{Function, JumpTable, TableForm};
use crate::quick::QuickMap;
use crate::sweep::Sweep;
use crate::tables::Resolver;
use crate::{Unit, fde, never_returning};

/// That no guard says how far a table reaches.
pub(crate) const UNGUARDED: usize = usize::MAX;

/// Where an indirect jump goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JumpKind {
    /// Through tables, by index into [`Jumps::tables`].
    Table(Vec<usize>),
    TailCall,
    /// Into another frame, whose stack pointer was set just before: `longjmp`, `eh_return`.
    Unwinding,
    /// Into a frame that was saved with where to go on in it: `__builtin_longjmp`.
    Saved,
    Unknown,
}

/// The indirect jumps of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Jumps {
    pub(crate) tables: Vec<JumpTable>,
    /// By address of the jump.
    pub(crate) kinds: BTreeMap<u64, JumpKind>,
    /// Instructions that entries of other tables lead to, from which jumps of which not all is known take where they go.
    pub(crate) strays: Vec<u64>,
}

impl Jumps {
    pub(crate) fn has_unwinding(&self) -> bool {
        self.kinds.values().any(|kind| *kind == JumpKind::Unwinding)
    }

    pub(crate) fn has_pieces(&self) -> bool {
        self.tables.iter().any(|table| matches!(table.form, TableForm::Code { .. }))
    }

    pub(crate) fn has_unknown(&self) -> bool {
        self.kinds.values().any(|kind| *kind == JumpKind::Unknown)
    }

    pub(crate) fn has_tables_alone(&self) -> bool {
        self.kinds.values().all(|kind| matches!(kind, JumpKind::Table(_)))
    }

    /// Where tables lead, as far as jumps get at their entries.
    pub(crate) fn targets(&self) -> impl Iterator<Item = u64> {
        self.tables.iter().flat_map(JumpTable::reached).chain(&self.strays).copied()
    }

    /// Adds those of another part of the function.
    pub(crate) fn add(&mut self, part: Self) {
        let first = self.tables.len();
        self.tables.extend(part.tables);
        self.strays.extend(part.strays);
        self.kinds.extend(part.kinds.into_iter().map(|(jump, kind)| match kind {
            JumpKind::Table(tables) => (jump, JumpKind::Table(tables.into_iter().map(|table| first + table).collect())),
            kind => (jump, kind),
        }));
    }

    /// Lets tables without a guard reach to their last entry that leads into the function, all of whose code is in `ranges`: other
    /// words behind such a table may lead to code as well, as those of the next table do.
    pub(crate) fn trim(&mut self, ranges: &[Range<u64>]) {
        for table in self.tables.iter_mut().filter(|table| table.reach == UNGUARDED) {
            let is_own = |target: &u64| ranges.iter().any(|range| range.contains(target));
            table.reach = table.targets.iter().rposition(is_own).map_or(table.targets.len(), |last| last + 1);
        }
    }
}

/// Of every fragment that has such jumps.
pub(crate) fn by_fragment(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, threads: Threads) -> BTreeMap<usize, Jumps> {
    let resolver = Resolver::new(image, sweep);
    let all = fragments.list.iter().enumerate();
    let with_jumps: Vec<usize> = all.filter(|(_, one)| one.traits.has_indirect_jump).map(|(index, _)| index).collect();
    let resolved = threads
        .pieces(&with_jumps, 4, |piece| piece.iter().map(|&index| (index, resolve(image, fragments, &resolver, &[index]))).collect::<Vec<_>>());
    resolved.into_iter().flatten().collect()
}

/// Resolves the jumps of some fragments as one function.
pub(crate) fn resolve(image: &Image<'_>, fragments: &Fragments, resolver: &Resolver<'_, '_>, own: &[usize]) -> Jumps {
    let ranges = ranges(fragments, own);
    let frames = Frames::of(own.iter().zip(&ranges).map(|(&one, range)| (range.clone(), fde(image, fragments, one))));
    resolver.resolve(&ranges, &frames)
}

/// Jumps whose tables may be named in another part are resolved again over the whole function.
pub(crate) fn by_unit(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    mut by_fragment: BTreeMap<usize, Jumps>,
) -> QuickMap<usize, Jumps> {
    let resolver = Resolver::new(image, sweep);
    let mut by_unit = QuickMap::default();
    for (index, unit) in units.iter().enumerate() {
        let own: Vec<Jumps> = unit.fragments.iter().filter_map(|one| by_fragment.remove(one)).collect();
        if own.is_empty() {
            continue;
        }
        let is_alone = unit.fragments.len() == 1;
        let mut jumps = joined(own, is_alone).unwrap_or_else(|| resolve(image, fragments, &resolver, &unit.fragments));
        jumps.trim(&ranges(fragments, &unit.fragments));
        by_unit.insert(index, jumps);
    }
    by_unit
}

/// The jumps of the parts of a function as those of the whole, where it would show nothing else: in a function of one part, in one of
/// whose parts a single one has jumps, all known, and where all go through tables, each part through its own.
fn joined(parts: Vec<Jumps>, is_alone: bool) -> Option<Jumps> {
    let is_known = |jumps: &Jumps| is_alone || !jumps.has_unknown();
    let is_single = parts.len() == 1;
    let mut all = Jumps::default();
    for part in parts {
        let is_alike = if is_single { is_known(&part) } else { part.has_tables_alone() };
        if !is_alike || part.tables.iter().any(|table| all.tables.iter().any(|other| other.address == table.address)) {
            return None;
        }
        all.add(part);
    }
    Some(all)
}

/// Resolves what is not known yet once more, now that it can be told which calls never come back: what stands behind such a call is
/// reached in other ways, with other values in registers.
pub(crate) fn resolve_unknown(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    functions: &[Function],
    jumps: &mut QuickMap<usize, Jumps>,
) {
    if !jumps.values().any(Jumps::has_unknown) {
        return;
    }
    let never = never_returning(image, fragments, sweep, units, functions, jumps);
    let resolver = Resolver::new(image, sweep).knowing(&never);
    for (&index, known) in jumps.iter_mut().filter(|(_, known)| known.has_unknown()) {
        let Some(unit) = units.get(index) else { continue };
        *known = resolve(image, fragments, &resolver, &unit.fragments);
        known.trim(&ranges(fragments, &unit.fragments));
    }
}

fn ranges(fragments: &Fragments, own: &[usize]) -> Vec<Range<u64>> {
    own.iter().filter_map(|&one| Some(fragments.list.get(one)?.range.clone())).collect()
}
