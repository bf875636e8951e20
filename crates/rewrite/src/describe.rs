//! The description that an instrumented image carries: its regions and where they come from.

use tare_code::{Function, Program};
use tare_format::description::{Description, FLAG_CALL_SITES, FLAG_ITERATIONS, FLAG_LEAF, FLAG_LOOPS, Region, RegionKind};
use tare_image::Image;

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
    Description { identity: request.identity, path: request.path.to_owned(), build_id: request.build_id.to_owned(), regions }
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
            flags: self.asked() | if is_function && self.one.clean.is_some() { FLAG_LEAF } else { 0 },
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

    /// What was asked for inside of the function: what is refused depends on it, and so what is left.
    fn asked(&self) -> u8 {
        let levels = self.details.map_or(Levels::NONE, |details| details.levels);
        let flags = [(levels.loops, FLAG_LOOPS), (levels.iterations, FLAG_ITERATIONS), (levels.call_sites, FLAG_CALL_SITES)];
        flags.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, flag)| flag).sum()
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
        let place = self.request.source.and_then(|source| source(region.range.start));
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
