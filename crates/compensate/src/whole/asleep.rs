//! Programs that sleep: outside of MPI and of waits for other threads their first threads neither had a processor nor could have used one, as
//! who reads a file that is not in memory, or waits for a timer or for another process. For as long as other threads of the process work it may wait
//! for these in ways that are not followed, as for futures and tasks: that is none.
//!
//! What could be won is bounded by each rank: without its sleep it would have been done earlier by that, and by what it waited for others that slept.

use std::cmp::Reverse;
use std::collections::HashMap;

use tare_profile::{Location, Profile, RegionIndex, RegionKind};

use crate::Compensated;
use crate::whole::finding::{Certainty, Finding, FindingKind, InFiles, figure};
use crate::whole::peers::Peers;
use crate::whole::shortage::BETWEEN_ANSWERS_S;
use crate::whole::waits::WaitPlace;

/// Sleep is a finding from this part of the run's time on.
const LEAST_SLEEP: f64 = 0.05;
/// It is told where it was from this part of it on.
const MOST_OF_IT: f64 = 0.5;

/// How long the first thread of a process slept: seconds.
struct Sleep {
    /// Rank of the process.
    rank: Option<u32>,
    asleep_s: f64,
    /// In which it can have slept.
    outside_s: f64,
    /// The region of that with most time, and for how long it slept there at the least, where that is most of it.
    within: Option<(RegionIndex, f64)>,
    /// For how long it waited for other ranks.
    waited_s: f64,
    /// What it spent in reading and writing files, where that was measured.
    in_files: Option<InFiles>,
    location: usize,
}

/// That a program sleeps, where that is much. In a run of several processes without ranks most of them wait for others as they should.
pub(super) fn finding(profile: &Profile, compensated: &Compensated, ranks: &Peers, in_the_end: Option<&WaitPlace>, time: f64) -> Option<Finding> {
    let takes_part = |process: usize| profile.processes.len() == 1 || profile.processes[process].rank.is_some();
    let first_threads = profile.locations.iter().enumerate().filter(|(_, one)| one.thread == 0 && takes_part(one.process.0));
    let busy_beside = busy_beside_first_threads(profile);
    let sleep_of = |(index, location): (usize, &Location)| Sleep::of(profile, compensated, index, busy_beside[location.process.0]);
    let mut sleeps: Vec<Sleep> = first_threads.map(sleep_of).collect();
    let in_the_end: HashMap<u32, f64> = in_the_end.into_iter().flat_map(|place| place.waiters.iter().copied()).collect();
    for sleep in &mut sleeps {
        sleep.waited_s += sleep.rank.and_then(|rank| in_the_end.get(&rank)).unwrap_or(&0.0);
    }
    let longest = sleeps.iter().max_by(|one, other| one.asleep_s.total_cmp(&other.asleep_s))?;
    if longest.asleep_s < LEAST_SLEEP * time || sleeps.len() < ranks.count {
        return None;
    }
    let won = sleeps.iter().map(|one| one.asleep_s + one.waited_s).fold(longest.asleep_s, f64::min);
    let seconds = figure(won, BETWEEN_ANSWERS_S, BETWEEN_ANSWERS_S);
    let certainty = Certainty::of(won, won - seconds.low).filter(|_| won >= LEAST_SLEEP * time)?;
    let mut named: Vec<u32> = sleeps.iter().filter(|one| one.asleep_s >= 0.5 * longest.asleep_s).filter_map(|one| one.rank).collect();
    named.sort_unstable();
    let &Sleep { asleep_s, outside_s, in_files, within, .. } = longest;
    let kind = FindingKind::Asleep { ranks: named, longest_s: asleep_s, outside_s, within_s: within.map(|(_, seconds)| seconds), in_files };
    let root = profile.locations[longest.location].nodes.first()?.region;
    let region = within.map_or(root, |(region, _)| region);
    Some(Finding { kind, region, caller: None, seconds, certainty, queued_s: None })
}

/// For how many seconds threads can have slept in each region, in the order of the profile.
pub(super) fn most_by_region(profile: &Profile, compensated: &Compensated) -> Vec<f64> {
    let mut most = vec![0.0; profile.regions.len()];
    for (location, figures) in profile.locations.iter().zip(&compensated.locations).filter(|(location, _)| location.asleep_s > 0.0) {
        let mut spent: HashMap<RegionIndex, f64> = HashMap::new();
        for (node, figures) in location.nodes.iter().zip(&figures.nodes) {
            *spent.entry(node.region).or_default() += figures.exclusive.value;
        }
        spent.into_iter().for_each(|(region, seconds)| most[region.0] += seconds.clamp(0.0, location.asleep_s));
    }
    most
}

impl Sleep {
    /// Of a first thread, beside which others of its process were busy for so many seconds.
    fn of(profile: &Profile, compensated: &Compensated, index: usize, busy_beside_s: f64) -> Self {
        let location = &profile.locations[index];
        let (mut spent, mut waited_s): (HashMap<RegionIndex, f64>, f64) = (HashMap::new(), 0.0);
        for (node, figures) in location.nodes.iter().zip(&compensated.locations[index].nodes) {
            match profile.region_of(node).kind {
                RegionKind::Mpi => waited_s += figures.wait_s,
                RegionKind::Threads => {}
                _ => *spent.entry(node.region).or_default() += figures.measured_exclusive_s,
            }
        }
        let outside_s: f64 = spent.values().sum();
        let asleep_s = (location.asleep_s - busy_beside_s).clamp(0.0, outside_s.max(0.0));
        let most = spent.into_iter().max_by(|(one, first), (other, second)| first.total_cmp(second).then(other.cmp(one)));
        let within = most.map(|(region, seconds)| (region, asleep_s - (outside_s - seconds))).filter(|(_, least)| *least >= MOST_OF_IT * asleep_s);
        Self {
            rank: profile.process_of(location).rank,
            asleep_s,
            outside_s,
            within,
            waited_s,
            in_files: InFiles::of(profile, location),
            location: index,
        }
    }
}

impl InFiles {
    fn of(profile: &Profile, location: &Location) -> Option<Self> {
        let at = location.metrics.iter().position(|metric| metric.name == "io-time")?;
        let mut ticks: HashMap<RegionIndex, i64> = HashMap::new();
        for (node, ticks_there) in location.nodes.iter().filter_map(|node| Some((node, node.values.get(at)?))) {
            *ticks.entry(node.region).or_default() += ticks_there;
        }
        let all: i64 = ticks.values().sum();
        let most = ticks.into_iter().max_by_key(|&(region, ticks)| (ticks, Reverse(region)));
        let region = most.filter(|(_, ticks)| *ticks as f64 > MOST_OF_IT * all as f64).map(|(region, _)| region);
        Some(Self { seconds: profile.process_of(location).clock.seconds(all as f64), region })
    }
}

/// For how long threads other than the first of each process ran, or could have: seconds.
fn busy_beside_first_threads(profile: &Profile) -> Vec<f64> {
    let mut busy = vec![0.0; profile.processes.len()];
    for other in profile.locations.iter().filter(|location| location.thread > 0) {
        busy[other.process.0] += other.ran_s.unwrap_or(0.0) + other.queued_s.unwrap_or(0.0);
    }
    busy
}
