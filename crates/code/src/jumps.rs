//! The indirect jumps of all functions: fragment by fragment, then over whole functions, and at last with what is known of calls that never
//! come back.

use std::collections::BTreeMap;
use std::ops::Range;

use tare_image::Image;

use crate::fragments::Fragments;
use crate::frames::Frames;
use crate::parallel::Threads;
use crate::program::Function;
use crate::quick::QuickMap;
use crate::sweep::Sweep;
use crate::tables::{Jumps, Resolver};
use crate::{Unit, fde, never_returning};

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
fn resolve(image: &Image<'_>, fragments: &Fragments, resolver: &Resolver<'_, '_>, own: &[usize]) -> Jumps {
    let ranges = ranges(fragments, own);
    let frames = Frames::of(own.iter().zip(&ranges).map(|(&one, range)| (range.clone(), fde(image, fragments, one))));
    resolver.resolve(&ranges, &frames)
}

/// Jumps whose tables are named in another part are resolved again over the whole function.
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
        let mut own: Vec<Jumps> = unit.fragments.iter().filter_map(|one| by_fragment.remove(one)).collect();
        if own.is_empty() {
            continue;
        }
        let is_settled = own.len() == 1 && (unit.fragments.len() == 1 || !own.iter().any(Jumps::has_unknown));
        let mut jumps = own.pop().filter(|_| is_settled).unwrap_or_else(|| resolve(image, fragments, &resolver, &unit.fragments));
        jumps.trim(&ranges(fragments, &unit.fragments));
        by_unit.insert(index, jumps);
    }
    by_unit
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
