//! Threads of a process that wait for one another: where all of them meet, at barriers and at the end of parallel regions; and for locks.
//!
//! With the same work spread evenly over the threads, a process cannot become shorter by more than the mean over its threads of the time that
//! they wait there; nor without a lock by more than those wait for it in the mean who do. Who waits for a thread's end or for a signal may have nothing else to do: that is no finding.

use std::collections::{BTreeSet, HashMap};

use tare_profile::{Profile, RegionIndex, RegionKind};

use crate::Compensated;
use crate::whole::finding::{Certainty, Finding, FindingKind, LEAST_PART, figure};
use crate::whole::tree::CallTree;

/// Of threads that wait at a place those hardly do that wait for less than this part of the longest wait.
const HARDLY: f64 = 0.1;

/// A place where threads meet, while it is summed.
#[derive(Default)]
struct Place {
    wait_s: f64,
    below_s: f64,
    above_s: f64,
    waits: u64,
    processes: BTreeSet<usize>,
    /// By process and thread, what each waited.
    of_threads: Vec<((usize, u32), f64)>,
}

/// The places where threads wait for a noteworthy part of the run's time.
pub(super) fn findings(profile: &Profile, compensated: &Compensated, tree: &CallTree, time: f64) -> Vec<Finding> {
    let mut places: HashMap<(RegionIndex, Option<RegionIndex>), Place> = HashMap::new();
    for ((location, figures), paths) in profile.locations.iter().zip(&compensated.locations).zip(&tree.of_location) {
        for ((node, figures), &path) in location.nodes.iter().zip(&figures.nodes).zip(paths) {
            let region = profile.region_of(node);
            if region.kind != RegionKind::Threads || !(is_meeting(&region.name) || is_lock(&region.name)) {
                continue;
            }
            let caller = tree.paths[path as usize].parent.map(|parent| tree.paths[parent].region);
            let place = places.entry((node.region, caller)).or_default();
            place.wait_s += figures.wait_s;
            place.waits += node.calls();
            place.below_s += figures.exclusive.value - figures.exclusive.low;
            place.above_s += figures.exclusive.high - figures.exclusive.value;
            place.processes.insert(location.process.0);
            let thread = (location.process.0, location.thread);
            match place.of_threads.last_mut().filter(|(last, _)| *last == thread) {
                Some((_, waited)) => *waited += figures.wait_s,
                None => place.of_threads.push((thread, figures.wait_s)),
            }
        }
    }
    let mut threads = vec![0_usize; profile.processes.len()];
    profile.locations.iter().for_each(|location| threads[location.process.0] += 1);
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(regions, _)| *regions);
    let finding = |((region, caller), place): ((RegionIndex, Option<RegionIndex>), Place)| {
        // Only who has forked a team waits for its end.
        let is_of_all = profile.regions[region.0].name == *"omp parallel";
        let all = if is_of_all { place.processes.iter().map(|&process| threads[process]).sum() } else { place.of_threads.len() };
        let mean = |seconds: f64| seconds / all as f64;
        let certainty = Certainty::of(mean(place.wait_s), mean(place.below_s)).filter(|_| mean(place.wait_s) >= LEAST_PART * time)?;
        let seconds = figure(mean(place.wait_s), mean(place.below_s), mean(place.above_s));
        let processes = place.processes.len();
        if is_lock(&profile.regions[region.0].name) {
            let kind = FindingKind::Lock { threads: all, processes, waits: place.waits, each_s: place.wait_s / place.waits.max(1) as f64 };
            return Some(Finding { kind, region, caller, seconds, certainty, queued_s: None });
        }
        let longest = place.of_threads.iter().map(|(_, waited)| *waited).fold(0.0, f64::max);
        let hardly = place.of_threads.iter().filter(|(_, waited)| *waited < HARDLY * longest).map(|((_, thread), _)| *thread);
        let kind = FindingKind::Threads { threads: all, processes, awaited: hardly.collect() };
        Some(Finding { kind, region, caller, seconds, certainty, queued_s: None })
    };
    places.into_iter().filter_map(finding).collect()
}

/// Whether all threads of a team come to an operation.
fn is_meeting(operation: &str) -> bool {
    matches!(operation, "omp parallel" | "omp barrier" | "pthread_barrier_wait")
}

/// Whether an operation is a wait for a lock that another thread has.
fn is_lock(operation: &str) -> bool {
    operation.starts_with("contended ")
}
