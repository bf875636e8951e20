//! Whether the figures can be believed.

use std::collections::HashMap;

use tare_compensate::whole::{Shortage, crowded, shortages};
use tare_compensate::{CompensatedLocation, Mark, Mode};
use tare_profile::{Location, MOST_CLOCK_DOUBT_NS, Process, Profile, RegionKind};

use super::{Contradicted, RegionRow, Size, Time};
use crate::run::{Results, Run};

/// Whether the figures can be believed, and why not.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trust {
    pub(crate) regions: usize,
    pub(crate) regions_trusted: usize,
    /// The part of the time of all locations that these have.
    pub(crate) part_trusted: f64,
    pub(crate) doubts: Vec<Doubt>,
    /// Calls that are missing at their place.
    pub(crate) lost: u64,
    /// Batches that were off for calibration.
    pub(crate) off_batches: u64,
    /// What carried no delay, where there was hardly any to carry.
    pub(crate) undelayed: Undelayed,
    /// Seconds within which the clocks of its machines agree; 0 where there is one.
    pub(crate) clock_doubt_s: f64,
    /// Most of the overhead is that of operations of MPI, or of threads, which fewer functions leave as it is.
    pub(crate) is_of_wrappers: bool,
    /// Some of them are operations of MPI.
    pub(crate) has_ranks: bool,
}

/// What carried no delay, summed over the processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Undelayed {
    /// Messages and collectives of kinds, or on communicators, that are timed alone.
    pub(crate) calls: u64,
    /// Messages whose delay did not arrive with them.
    pub(crate) messages: u64,
    /// Waits for threads of the same process.
    pub(crate) waits: u64,
}

impl Undelayed {
    pub(crate) fn of(profile: &Profile) -> Self {
        let sum = |count: fn(&Process) -> u64| profile.processes.iter().map(count).sum::<u64>();
        let nodes = profile.locations.iter().flat_map(|location| &location.nodes);
        let waits: u64 =
            nodes.filter(|node| profile.region_of(node).kind == RegionKind::Threads).map(|node| node.exchanged().messages.unpaired).sum();
        let all = sum(|process| process.uncovered_calls);
        // Waits outside of all regions are counted by their process alone.
        let waits = if profile.has_ranks() { waits.min(all) } else { all };
        Self { calls: all - waits, messages: sum(|process| process.unpaired_messages), waits }
    }

    fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Whether times are shown that rest on delays, and there was overhead to be carried.
    fn matters(results: &Results<'_>) -> bool {
        let is_dilated = |location: &CompensatedLocation| location.overhead_s > DILATED * location.measured_s;
        results.shown.mode == Mode::Parallel && results.parallel.locations.iter().any(is_dilated)
    }
}

/// Overhead below this part of a location's time makes no delay worth the name.
const DILATED: f64 = 0.01;

/// What threads did that had no graph.
pub(crate) struct Unrecorded {
    /// Threads whose calls are counted nowhere.
    pub(crate) threads: u64,
    /// Calls that were counted.
    pub(crate) calls: u64,
}

impl Unrecorded {
    pub(crate) fn of(profile: &Profile) -> Self {
        let sum = |of: fn(&Process) -> u64| profile.processes.iter().map(of).sum();
        Self { threads: sum(|process| process.lost_threads), calls: sum(|process| process.refused_calls) }
    }
}

/// A process that replaced itself by a program that is not measured.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Replacement {
    pub(crate) process: u32,
    pub(crate) rank: Option<u32>,
    /// Path of that program.
    pub(crate) by: String,
    /// Seconds after its start.
    pub(crate) after_s: f64,
}

impl Replacement {
    /// All of a run, but for those of which a later graph of the same process shows that it is measured all the same.
    pub(crate) fn all(profile: &Profile) -> Vec<Self> {
        let mut latest: HashMap<(&str, u32), u64> = HashMap::new();
        for process in &profile.processes {
            let start = latest.entry((&process.host, process.pid)).or_default();
            *start = process.start_ns.max(*start);
        }
        let is_last = |process: &Process| latest[&(process.host.as_str(), process.pid)] <= process.start_ns;
        let replaced = |process: &Process| {
            let by = process.successor.as_ref().filter(|_| is_last(process))?.clone();
            Some(Self { process: process.pid, rank: process.rank, by, after_s: process.lifetime_s })
        };
        profile.processes.iter().filter_map(replaced).collect()
    }
}

/// Why a run is not to be trusted as it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Doubt {
    /// Calls are missing at their place.
    Lost(u64),
    /// Calls on paths beyond the limit: their regions are known, and not their callers.
    Beyond(u64),
    /// So many threads found no room: what they called is counted nowhere.
    Roomless(u64),
    /// So many calls are those of threads for which there was no memory.
    Refused(u64),
    /// So often an instrumented library found no room when it was opened.
    Unconnected(u64),
    /// So many forked children found no room for a graph.
    Unmeasured(u64),
    /// So many processes replaced themselves by other programs, the first of them so.
    Replaced(usize, Replacement),
    /// The compensated time is uncertain by this part of itself.
    Wide(f64),
    /// The same, where more threads than processors queued for each other: threads and processors of the first such node, and whether these are
    /// only the most that there may have been at once.
    Crowded(f64, usize, u32, bool),
    /// The same, where a process could run and had no processor for that other part of its time.
    Queued(f64, f64),
    /// The compensated time bears this mark.
    Marked(Mark),
    /// Regions with this part of the time are not to be trusted, which is most of it.
    Regions(f64),
    /// Only this part of the overhead rests on costs measured in place.
    Prior(f64),
    /// Files that could not be read.
    Unreadable(usize),
    /// Processes of this number were expected and have left nothing.
    MissingRanks(usize),
    /// So many seconds, and this part of the time of all threads, passed in regions that an exception or `longjmp` has left, until that was seen.
    Skipped(f64, f64),
    /// Calls and messages carried no delay.
    Undelayed(Undelayed),
    /// So many receives from anywhere met messages, or locks who had them, in an order that virtual times contradict, at places such as these.
    Contradicted(u64, String),
    /// Records of the graph files were damaged or missing.
    Damaged(u64),
    /// The clocks of its machines may differ by this many seconds: too much for the virtual-time model.
    Clocks(f64),
    /// Another tool measured it, whose overhead is not known.
    Foreign(String),
    /// It was read from an export, whose times were compensated.
    Exported,
}

impl Trust {
    pub(crate) fn of(run: &Run, results: &Results<'_>, regions: &[RegionRow], time: &Time) -> Self {
        let profile = results.profile;
        let lost: u64 = profile.locations.iter().map(|location| location.losses.lost()).sum();
        let trusted = |row: &&RegionRow| row.shown.mark.is_none();
        let mut doubts: Vec<Doubt> =
            run.measured_by.iter().cloned().map(|tool| if run.was_compensated.is_some() { Doubt::Exported } else { Doubt::Foreign(tool) }).collect();
        if lost > 0 {
            doubts.push(Doubt::Lost(lost));
        }
        let beyond: u64 = profile.locations.iter().map(Location::calls_beyond_limit).sum();
        if beyond > 0 {
            doubts.push(Doubt::Beyond(beyond));
        }
        let Unrecorded { threads, calls } = Unrecorded::of(profile);
        doubts.extend((threads > 0).then_some(Doubt::Roomless(threads)));
        doubts.extend((calls > 0).then_some(Doubt::Refused(calls)));
        let unconnected: u64 = profile.processes.iter().map(|process| process.lost_images).sum();
        if unconnected > 0 {
            doubts.push(Doubt::Unconnected(unconnected));
        }
        let unmeasured: u64 = profile.processes.iter().map(|process| process.lost_children).sum();
        if unmeasured > 0 {
            doubts.push(Doubt::Unmeasured(unmeasured));
        }
        let replaced = Replacement::all(profile);
        let number = replaced.len();
        doubts.extend(replaced.into_iter().next().map(|first| Doubt::Replaced(number, first)));
        let missing = (profile.world_size() as usize).saturating_sub(Size::of(results).ranks);
        if missing > 0 {
            doubts.push(Doubt::MissingRanks(missing));
        }
        if !profile.unreadable.is_empty() {
            doubts.push(Doubt::Unreadable(profile.unreadable.len()));
        }
        let damaged: u64 = profile.processes.iter().map(|process| process.damaged_records).sum();
        if damaged > 0 {
            doubts.push(Doubt::Damaged(damaged));
        }
        doubts.extend(skipped(results));
        let mut undelayed = Undelayed::of(profile);
        if !undelayed.is_none() && Undelayed::matters(results) {
            doubts.push(Doubt::Undelayed(std::mem::take(&mut undelayed)));
        }
        let contradicted = Contradicted::of(profile);
        if contradicted.receives > 0 && results.shown.mode == Mode::Parallel {
            doubts.push(Doubt::Contradicted(contradicted.receives, contradicted.first(profile, PLACES)));
        }
        let clock_doubt_s = clock_doubt(profile);
        if clock_doubt_s > MOST_CLOCK_DOUBT_NS as f64 * 1e-9 && results.shown.mode == Mode::Parallel {
            doubts.push(Doubt::Clocks(clock_doubt_s));
        }
        let is_of_wrappers = is_of_wrappers(&results.parallel.locations);
        doubts.extend(certainty(results, time, is_of_wrappers));
        let part_trusted: f64 = regions.iter().filter(trusted).map(|row| row.share).sum();
        if doubts.is_empty() && !regions.is_empty() && part_trusted < 0.5 {
            doubts.push(Doubt::Regions(1.0 - part_trusted));
        }
        Self {
            regions: regions.len(),
            regions_trusted: regions.iter().filter(trusted).count(),
            part_trusted,
            doubts,
            lost,
            off_batches: profile.locations.iter().map(|location| location.off_batches).sum(),
            undelayed,
            clock_doubt_s,
            is_of_wrappers,
            has_ranks: profile.has_ranks(),
        }
    }

    /// Whether all that was measured is here.
    pub(crate) fn is_all_there(&self) -> bool {
        let is_gap = |doubt: &Doubt| {
            let is_elsewhere = matches!(doubt, Doubt::Foreign(_) | Doubt::Exported);
            is_elsewhere
                || matches!(
                    doubt,
                    Doubt::Roomless(_)
                        | Doubt::Refused(_)
                        | Doubt::Unconnected(_)
                        | Doubt::Unmeasured(_)
                        | Doubt::Replaced(..)
                        | Doubt::Unreadable(_)
                        | Doubt::MissingRanks(_)
                        | Doubt::Damaged(_)
                )
        };
        self.lost == 0 && !self.doubts.iter().any(is_gap)
    }

    pub(crate) fn is_good(&self) -> bool {
        self.doubts.is_empty()
    }
}

/// Seconds within which the clocks of all machines agree; 0 where there is one.
pub(crate) fn clock_doubt(profile: &Profile) -> f64 {
    profile.processes.iter().map(|process| process.clock_doubt_s).fold(0.0, f64::max)
}

/// Places that are named where an order is contradicted.
const PLACES: usize = 3;

/// Beyond this part of itself a compensated time is called uncertain.
const WIDE: f64 = 0.05;

/// From this part of the time on it matters whose that is which passed in regions that were left.
const MUCH_SKIPPED: f64 = 0.01;

fn skipped(results: &Results<'_>) -> Option<Doubt> {
    let profile = results.profile;
    let seconds: f64 =
        profile.locations.iter().map(|location| profile.process_of(location).clock.seconds(location.losses.skipped_ticks as f64)).sum();
    let all: f64 = results.shown.locations.iter().map(|location| location.measured_s).sum();
    (seconds > 0.0 && seconds >= MUCH_SKIPPED * all).then_some(Doubt::Skipped(seconds, seconds / all))
}

/// The greatest part of its time for which a process could run and had no processor.
fn queued(results: &Results<'_>) -> f64 {
    let part = |shortage: Shortage| shortage.in_all_s / results.profile.processes[shortage.process].lifetime_s;
    shortages(results.profile, &results.shown).into_iter().map(part).filter(|part| part.is_finite()).fold(0.0, f64::max).min(1.0)
}

/// Whether most of the overhead is not that of probes.
fn is_of_wrappers(locations: &[CompensatedLocation]) -> bool {
    let overhead: f64 = locations.iter().map(|location| location.overhead_s).sum();
    let probes: f64 = locations.iter().map(|location| location.probes.value).sum();
    probes < 0.5 * overhead
}

/// The part of the overhead that was measured in place: by wrappers, which time themselves, and on call paths whose own batches say what a pair of
/// probes costs.
pub(crate) fn overhead_in_place(results: &Results<'_>) -> f64 {
    let locations = &results.parallel.locations;
    let overhead: f64 = locations.iter().map(|location| location.overhead_s).sum();
    let certain: f64 = locations.iter().map(|location| location.certain_overhead_s).sum();
    if overhead > 0.0 { certain / overhead } else { 1.0 }
}

fn certainty(results: &Results<'_>, time: &Time, is_of_wrappers: bool) -> Option<Doubt> {
    if let Some(mark) = time.shown.mark {
        return Some(Doubt::Marked(mark));
    }
    let width = time.shown.half_width() / time.shown.value.abs().max(f64::MIN_POSITIVE);
    if width <= WIDE {
        return None;
    }
    let part = overhead_in_place(results);
    let queued = queued(results);
    // Fewer functions help where probes are what is dear; who queues for a processor in a wrapper seems to work there.
    let is_queue = queued >= width && is_of_wrappers;
    Some(match crowded(results.profile) {
        None if is_queue => Doubt::Queued(width, queued),
        _ if part < 0.9 => Doubt::Prior(part),
        Some((threads, processors)) => Doubt::Crowded(width, threads, processors, results.profile.has_threads_in_turn()),
        None => Doubt::Wide(width),
    })
}
