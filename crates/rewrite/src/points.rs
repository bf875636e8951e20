//! Where the probes of a function go.
//!
//! Something is inserted in front of an instruction for everybody who comes there, on the taken side of a conditional
//! jump, or on one way that leads to an instruction: by falling through from the one before, or by an arrival of
//! its own, to which jump tables, landing pads and further entries of the function lead.

mod regions;
mod stack;

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;
use tare_code::{Body, Flow, Function, Program};
use tare_image::Image;

use crate::insertion::{Place, Point, Scope};
use crate::reason::SiteReason;

/// Which regions of a function are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels {
    /// The function.
    pub function: bool,
    /// Its loops.
    pub loops: bool,
    /// Every iteration of its loops.
    pub iterations: bool,
    /// Its call sites.
    pub call_sites: bool,
}

impl Levels {
    /// Nothing.
    pub const NONE: Self = Self { function: false, loops: false, iterations: false, call_sites: false };
    /// The function alone.
    pub const FUNCTION: Self = Self { function: true, loops: false, iterations: false, call_sites: false };
    /// All that there is.
    pub const ALL: Self = Self { function: true, loops: true, iterations: true, call_sites: true };

    pub(crate) const fn has_regions_inside(self) -> bool {
        self.loops || self.iterations || self.call_sites
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self::FUNCTION
    }
}

/// Where at an instruction something is inserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Slot {
    /// Where control falls through from the instruction in front, or the function begins.
    Fall,
    /// On a way of its own, with its number.
    Arrival(u32),
    /// For everybody.
    Before,
    /// On the taken side of a conditional jump.
    Taken,
}

/// A place in the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// Link address of the instruction.
    pub(crate) at: u64,
    pub(crate) slot: Slot,
    /// Index of the region in [`Points::regions`].
    pub(crate) region: u32,
    pub(crate) place: Place,
}

/// A region of the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    pub(crate) scope: Scope,
    /// Link addresses: of the function's entry and size, of a loop's blocks, of a call.
    pub(crate) range: Range<u64>,
    /// The callee of a direct call.
    pub(crate) callee: Option<u64>,
    /// Link addresses of the instructions that lead back to a loop's header.
    pub(crate) back_edges: Vec<u64>,
}

impl Region {
    const fn of(scope: Scope, range: Range<u64>) -> Self {
        Self { scope, range, callee: None, back_edges: Vec::new() }
    }
}

/// What leads to an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Way {
    /// Entries of the jump table with this number.
    Table(u32),
    /// Calls from other functions.
    Entry,
}

/// All places of a function, in the order of their parts and addresses.
#[derive(Clone, Default)]
pub(crate) struct Points {
    pub(crate) placed: Vec<Placed>,
    pub(crate) regions: SmallVec<[Region; 1]>,
    /// What leads where: by the way and the link address of the instruction the number of the arrival there.
    ways: HashMap<(Way, u64), u32>,
    /// Calls that unwind to an arrival: their link addresses, the landing pad, the number of the arrival; sorted.
    pub(crate) landings: Vec<(Range<u64>, u64, u32)>,
    /// Loops and call sites that are left alone.
    pub(crate) refused: Vec<(Scope, u64, SiteReason)>,
    /// By the link address of an instruction what is inserted on the arrivals there, with their numbers, while they are found.
    arrived: HashMap<u64, HashMap<Insertions, u32>>,
}

/// Regions and places, in their order.
type Insertions = SmallVec<[(u32, Place); 1]>;

impl Points {
    /// The arrival at an instruction that a way leads to, if it has one of its own.
    pub(crate) fn arrival(&self, way: Way, at: u64) -> Option<u32> {
        self.ways.get(&(way, at)).copied()
    }

    fn region(&mut self, region: Region) -> u32 {
        let index = u32::try_from(self.regions.len()).unwrap_or(u32::MAX);
        self.regions.push(region);
        index
    }

    /// The number of the way to an instruction on which this is inserted, added where there is none yet.
    fn arrive(&mut self, at: u64, insertions: &[(u32, Place)]) -> u32 {
        let arrived = self.arrived.entry(at).or_default();
        if let Some(&number) = arrived.get(insertions) {
            return number;
        }
        let number = arrived.len() as u32;
        arrived.insert(Insertions::from_slice(insertions), number);
        self.placed.extend(insertions.iter().map(|&(region, place)| Placed { at, slot: Slot::Arrival(number), region, place }));
        number
    }

    /// Whether this is what is inserted on an arrival at an instruction.
    fn is_inserted(&self, at: u64, number: u32, insertions: &[(u32, Place)]) -> bool {
        self.arrived.get(&at).and_then(|arrived| arrived.get(insertions)) == Some(&number)
    }
}

/// Finds the places of a function.
pub(crate) fn find(image: &Image<'_>, program: &Program, function: &Function, body: &Body, wanted: Wanted) -> Points {
    let mut points = Points::default();
    if wanted.levels.function {
        function_points(&mut points, function, body, wanted.has_clean_copy);
    }
    if wanted.levels.has_regions_inside() {
        regions::add(&mut points, image, program, function, body, wanted);
    }
    points.arrived = HashMap::new();
    let part = |address: u64| function.parts.iter().position(|part| part.contains(&address));
    points.landings.sort_by_key(|landing| landing.0.start);
    points.placed.sort_by_key(|one| (part(one.at), one.at, one.slot, last_of_all(&one.place)));
    points
}

/// At an exit, what is inside of the function ends first.
const fn last_of_all(place: &Place) -> u8 {
    match place.point {
        Point::FunctionExit => 2,
        Point::CallBefore if place.is_tail_call => 1,
        _ => 0,
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) levels: Levels,
    /// Whether the function may run without probes.
    pub(crate) has_clean_copy: bool,
    /// Whether calls that are jumps can be call sites.
    pub(crate) tail_calls: bool,
}

/// The entries and exits of the function itself.
fn function_points(points: &mut Points, function: &Function, body: &Body, has_clean_copy: bool) {
    let region = points.region(Region::of(Scope::Function, function.entry..function.entry + function.size()));
    let place = |point, address| Place {
        point,
        scope: Scope::Function,
        address,
        flags_are_dead: true,
        is_mid_body: false,
        level: 0,
        has_frame: false,
        raised: 0,
        has_clean_copy: has_clean_copy && point == Point::FunctionEnter,
        is_tail_call: false,
    };
    let entry = function.entry;
    points.placed.push(Placed { at: entry, slot: Slot::Fall, region, place: place(Point::FunctionEnter, entry) });
    for &entry in &function.other_entries {
        let number = points.arrive(entry, &[(region, place(Point::FunctionEnter, entry))]);
        points.ways.insert((Way::Entry, entry), number);
    }
    for one in body.tied() {
        if let Some(slot) = exit_slot(one.flow) {
            points.placed.push(Placed { at: one.address, slot, region, place: place(Point::FunctionExit, one.address) });
        }
    }
}

/// Where the function is left by an instruction, if it is.
const fn exit_slot(flow: Flow) -> Option<Slot> {
    match flow {
        Flow::Return | Flow::TailCall { .. } | Flow::IndirectTailCall => Some(Slot::Before),
        Flow::BranchTailCall { .. } => Some(Slot::Taken),
        _ => None,
    }
}
