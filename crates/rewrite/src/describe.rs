//! The description that an instrumented image carries: its regions and where they come from.

use tare_code::{Function, Program};
use tare_format::description::{Description, FLAG_CALL_SITES, FLAG_ITERATIONS, FLAG_LEAF, FLAG_LOOPS, IDENTITY, Region, RegionKind};
use tare_image::Image;
use tare_image::lines::Inside;

use crate::insertion::Scope;
use crate::plan::Moved;
use crate::{Levels, Request, Selection, points};

/// Describes all regions, in the order of their numbers.
pub(crate) fn description(image: &Image<'_>, program: &Program, request: &Request<'_>, moved: &[Moved]) -> Description {
    let mut details = vec![None; program.functions.len()];
    for selection in request.selected {
        if let Some(place) = details.get_mut(selection.function) {
            *place = Some(selection);
        }
    }
    let mut regions = Vec::with_capacity(moved.iter().map(|one| one.regions.len()).sum());
    for one in moved {
        let Some(function) = program.functions.get(one.function) else { continue };
        let details = details.get(one.function).copied().flatten();
        let describer = Describer { image, program, request, one, function, details };
        regions.extend(one.regions.iter().map(|region| describer.region(region)));
    }
    Description { identity: [0; 16], path: request.path.to_owned(), build_id: request.build_id.to_owned(), regions }
}

/// Names a description, all of which is written by now, by a hash of it: the same one has the same name, and one in which a byte has changed
/// belies its own.
pub(crate) fn seal(description: &mut [u8]) -> [u8; 16] {
    let identity = identity_of(description);
    if let Some(place) = description.get_mut(IDENTITY) {
        place.copy_from_slice(&identity);
    }
    identity
}

/// Whether a description is as it was when it got its name.
pub(crate) fn is_sealed(description: &[u8]) -> bool {
    description.get(IDENTITY).is_some_and(|found| *found == identity_of(description))
}

fn identity_of(description: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(description.get(..IDENTITY.start).unwrap_or_default());
    hasher.update(description.get(IDENTITY.end..).unwrap_or_default());
    let hash = hasher.finalize();
    std::array::from_fn(|at| hash.as_bytes()[at])
}

/// The questions that moved functions ask of MPI in passing: each with the number of its function among the moved ones and the
/// link address of the original to which its call comes back.
pub(crate) fn questions(image: &Image<'_>, program: &Program, moved: &[Moved]) -> Vec<(usize, u64)> {
    let asked = |(number, one): (usize, &Moved)| program.asks_in_passing(image, one.function).into_iter().map(move |returns_to| (number, returns_to));
    moved.iter().enumerate().flat_map(asked).collect()
}

/// How often questions stand in the copies of functions.
pub(crate) fn in_copies(questions: &[(usize, u64)], moved: &[Moved]) -> usize {
    questions.iter().filter_map(|&(number, _)| moved.get(number)).map(|one| one.copies().count()).sum()
}

/// Where the calls of questions come back to in the copies, which have their places by now; ascending.
pub(crate) fn places(questions: &[(usize, u64)], moved: &[Moved]) -> Vec<u64> {
    let copies = questions.iter().filter_map(|&(number, returns_to)| Some((moved.get(number)?, returns_to)));
    let copies = copies.flat_map(|(one, returns_to)| one.copies().map(move |copy| (copy, returns_to)));
    let mut found: Vec<u64> = copies.filter_map(|(copy, returns_to)| copy.behind(returns_to)).collect();
    found.sort_unstable();
    found
}

struct Describer<'a, 'data> {
    image: &'a Image<'data>,
    program: &'a Program,
    request: &'a Request<'a>,
    one: &'a Moved,
    function: &'a Function,
    details: Option<&'a Selection>,
}

impl Describer<'_, '_> {
    fn region(&self, region: &points::Region) -> Region {
        let (kind, number) = match region.scope {
            Scope::Function => (RegionKind::Function, 0),
            Scope::Loop(number) => (RegionKind::Loop, number),
            Scope::Iteration(number) => (RegionKind::Iteration, number),
            Scope::CallSite(number) => (RegionKind::CallSite, number),
        };
        let is_function = kind == RegionKind::Function;
        let (file, line, last_line) = self.source(region, is_function);
        Region {
            kind,
            flags: self.flags(is_function),
            name: if kind == RegionKind::CallSite { self.callee(region.callee) } else { self.function.name.clone() },
            owner: if is_function { String::new() } else { self.function.name.clone() },
            parent: if is_function { 0 } else { self.parent() },
            number,
            file,
            line,
            last_line,
            address: region.range.start,
            size: region.range.end - region.range.start,
        }
    }

    /// Among them what was asked for inside of the function: what is refused depends on it, and so what is left.
    fn flags(&self, is_function: bool) -> u8 {
        let levels = self.details.map_or(Levels::NONE, |details| details.levels);
        let flags = [
            (is_function && self.one.clean.is_some(), FLAG_LEAF),
            (levels.loops, FLAG_LOOPS),
            (levels.iterations, FLAG_ITERATIONS),
            (levels.call_sites, FLAG_CALL_SITES),
        ];
        flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
    }

    /// The number of the function's own region; 0 where it has none.
    fn parent(&self) -> u32 {
        let is_first = self.one.regions.first().is_some_and(|region| region.scope == Scope::Function);
        if is_first { self.one.id } else { 0 }
    }

    fn source(&self, region: &points::Region, is_function: bool) -> (String, u32, u32) {
        if is_function {
            return self.details.map_or_else(Default::default, |details| (details.file.clone(), details.line, details.last_line));
        }
        let inside = match region.scope {
            Scope::CallSite(_) => Inside::Call(region.range.start),
            _ => Inside::Loop { header: region.range.start, back_edges: &region.back_edges },
        };
        let place = self.request.source.and_then(|source| source(inside));
        place.map_or_else(Default::default, |place| (place.file, place.line, 0))
    }

    /// The name of what a call site calls; empty where that is not known.
    fn callee(&self, callee: Option<u64>) -> String {
        let Some(address) = callee else { return String::new() };
        let known = self.program.function_entered_at(address).and_then(|index| self.program.functions.get(index));
        let imported = || self.image.plt_at(address).and_then(|entry| entry.name).unwrap_or_default();
        known.map_or_else(|| imported().to_owned(), |function| function.name.clone())
    }
}
