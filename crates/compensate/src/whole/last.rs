//! What ranks wait in the end: `MPI_Finalize` lasts until the last of them has come to it. It is no time of the program's, and the waiting
//! in it none of its classes; but for whom the others wait there, the run would have ended earlier.

use tare_profile::{Location, Profile, RegionIndex};

use crate::Compensated;
use crate::figure::Figure;
use crate::whole::tree::CallTree;
use crate::whole::waits::WaitPlace;

const OPERATION: &str = "MPI_Finalize";

/// A rank in the end.
struct Last {
    rank: u32,
    operation: RegionIndex,
    caller: Option<RegionIndex>,
    /// Seconds in the operation.
    in_it: f64,
    /// Seconds until it came to it.
    until: Figure,
}

/// The waiting of ranks in `MPI_Finalize`: they come to it as much earlier than the last one as they took less time until then, and what
/// the last one takes there is no waiting. `None` where not all ranks came to it.
pub(super) fn wait_place(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> Option<WaitPlace> {
    let is_main = |location: &Location| location.thread == 0 && profile.process_of(location).rank.is_some();
    let mains = (0..profile.locations.len()).filter(|&at| is_main(&profile.locations[at]));
    let ranks: Vec<Last> = mains.map(|at| Last::of(profile, compensated, tree, at)).collect::<Option<_>>()?;
    let last = ranks.iter().max_by(|one, other| one.until.value.total_cmp(&other.until.value))?;
    let least = ranks.iter().map(|one| one.in_it).fold(f64::INFINITY, f64::min);
    let waits = |one: &Last| (last.until.value - one.until.value).min(one.in_it - least).max(0.0);
    let waiters: Vec<(u32, f64)> = ranks.iter().map(|one| (one.rank, waits(one))).collect();
    let wait_s = waiters.iter().map(|(_, seconds)| seconds).sum();
    let late_by = |one: &Last| one.until.high - one.until.value + last.until.value - last.until.low;
    let below_s = ranks.iter().filter(|one| waits(one) > 0.0).map(late_by).sum();
    Some(WaitPlace {
        operation: last.operation,
        caller: last.caller,
        measured_wait_s: wait_s,
        wait_s,
        below_s,
        above_s: below_s,
        working: Figure::exact(0.0),
        cut_off: Vec::new(),
        open: Vec::new(),
        calls: ranks.len() as u64,
        messages: (0, 0),
        waiters,
        awaited: Vec::new(),
        held_s: 0.0,
    })
}

impl Last {
    fn of(profile: &Profile, compensated: &Compensated, tree: &CallTree, at: usize) -> Option<Self> {
        let (location, figures) = (&profile.locations[at], &compensated.locations[at]);
        let process = Some(profile.process_of(location)).filter(|process| !process.is_open())?;
        let node = location.nodes.iter().position(|node| &*profile.region_of(node).name == OPERATION && node.calls() > 0)?;
        let path = tree.of_location[at][node] as usize;
        Some(Self {
            rank: process.rank?,
            operation: location.nodes[node].region,
            caller: tree.paths[path].parent.map(|parent| tree.paths[parent].region),
            in_it: figures.nodes[node].exclusive.value,
            until: figures.total,
        })
    }
}
