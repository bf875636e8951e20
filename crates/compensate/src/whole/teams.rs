//! Threads of a process that wait for one another: where all of them meet, at barriers and at the end of parallel regions; and for locks.
//!
//! With the same work spread evenly over the threads, a process cannot become shorter by more than the mean over its threads of the time that
//! they wait there; nor without a lock by more than those wait for it in the mean who do. Members of a team that another thread forks wait for
//! its end, and for the next team, where they are: that is a wait at the parallel region, as that of who has forked it. Who waits for a thread's end or for a signal may have nothing else to do: that is no finding.
//! Threads that had no processor may be late because of that, as ranks are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tare_profile::{Location, Profile, RegionIndex, RegionKind};

use crate::whole::cause::{Search, Wait};
use crate::whole::finding::{Certainty, Finding, FindingKind, Judged, LEAST_PART, Lateness, figure, those_that_hardly_wait};
use crate::whole::peers::Peers;
use crate::whole::queue::Queue;
use crate::whole::tree::CallTree;
use crate::{Compensated, CompensatedNode};

/// A place where threads wait, while it is summed.
#[derive(Default)]
struct Place {
    wait_s: f64,
    below_s: f64,
    above_s: f64,
    waits: u64,
    processes: BTreeSet<usize>,
    /// By process and thread, what each waited.
    of_threads: BTreeMap<(usize, u32), f64>,
    /// Whether members of a team wait there that another thread has forked.
    has_members: bool,
}

/// The places where threads wait for a noteworthy part of the run's time.
pub(super) fn findings(profile: &Profile, compensated: &Compensated, tree: &CallTree, time: f64) -> Vec<Finding> {
    let mut places: BTreeMap<(RegionIndex, Option<RegionIndex>), Place> = BTreeMap::new();
    let mut members: Vec<(usize, &CompensatedNode)> = Vec::new();
    for (index, ((location, figures), paths)) in profile.locations.iter().zip(&compensated.locations).zip(&tree.of_location).enumerate() {
        for ((node, figures), &path) in location.nodes.iter().zip(&figures.nodes).zip(paths) {
            let region = profile.region_of(node);
            if !region.kind.is_wrapped() && figures.wait_s > 0.0 {
                members.push((index, figures));
            }
            if region.kind != RegionKind::Threads || !(is_meeting(&region.name) || is_lock(&region.name)) {
                continue;
            }
            let caller = tree.paths[path as usize].parent.map(|parent| tree.paths[parent].region);
            let place = places.entry((node.region, caller)).or_default();
            place.waits += node.calls();
            place.add(location, figures);
        }
    }
    if let Some(team) = team_of_members(profile, &places) {
        let place = places.entry(team).or_default();
        place.has_members = !members.is_empty();
        members.into_iter().for_each(|(index, figures)| place.add(&profile.locations[index], figures));
    }
    let mut threads: HashMap<usize, BTreeSet<u32>> = HashMap::new();
    profile.locations.iter().for_each(|location| _ = threads.entry(location.process.0).or_default().insert(location.thread));
    // Joined where it is asked for: in most runs no threads wait.
    let mut joined = None;
    let finding = |((region, caller), place): ((RegionIndex, Option<RegionIndex>), Place)| {
        let operation = &profile.regions[region.0].name;
        let ends_team = is_end_of_team(operation);
        // Only who has begun a team waits for its end, but for members of teams that wait for it.
        let is_of_one = ends_team && !place.has_members;
        let all = if ends_team { place.processes.iter().map(|process| threads[process].len()).sum() } else { place.of_threads.len() };
        let (seconds, below) = (place.wait_s / all as f64, place.below_s / all as f64);
        let alone = Certainty::of(seconds, below).filter(|_| seconds >= LEAST_PART * time)?;
        let waiters = place.waiters();
        let waiting: Vec<u32> = waiters.iter().map(|(thread, _)| *thread).collect();
        let taking_part = match ends_team {
            true => place.processes.iter().flat_map(|process| threads[process].iter().copied()).collect(),
            false => waiting.iter().copied().collect(),
        };
        let peers = Peers::threads(profile, &taking_part);
        let queue = Queue::of_threads(profile, compensated, &peers);
        let (late, cause) = if is_lock(operation) {
            (Vec::new(), None)
        } else {
            let tree = joined.get_or_insert_with(|| CallTree::of_teams(profile, compensated));
            let search = Search { profile, compensated, tree, peers: &peers };
            let wait = Wait { operation: region, caller, seconds: place.wait_s };
            match is_of_one {
                true => {
                    let cause = search.cause_of_end(&wait, &waiting);
                    (cause.as_ref().map(|cause| cause.late.clone()).unwrap_or_default(), cause)
                }
                false => {
                    let late = those_that_hardly_wait(&waiters);
                    let cause = search.cause_in_team(&wait, &late);
                    (late, cause)
                }
            }
        };
        let explained = cause.as_ref().map_or(0.0, |cause| cause.explains * place.wait_s);
        let lateness = Lateness {
            by_work: queue.lateness_by_work(&waiters, &late).min(explained) / all as f64,
            queued: queue.lateness(&late) * waiting.iter().filter(|thread| !late.contains(thread)).count() as f64 / peers.count as f64,
            unsure: 0.0,
        };
        let Judged { won, certainty, queued_s, .. } = Judged::of((seconds, below), alone, &lateness, time);
        let (processes, seconds) = (place.processes.len(), figure(won, below, place.above_s / all as f64));
        let kind = match is_lock(operation) {
            true => FindingKind::Lock { threads: all, processes, waits: place.waits, each_s: place.wait_s / place.waits.max(1) as f64 },
            false => FindingKind::Threads { threads: all, processes, awaited: late, cause },
        };
        Some(Finding { kind, region, caller, seconds, certainty, queued_s })
    };
    places.into_iter().filter_map(finding).collect()
}

/// The parallel region at which members of teams are taken to wait: the only one, or all of them, whoever calls them.
fn team_of_members(profile: &Profile, places: &BTreeMap<(RegionIndex, Option<RegionIndex>), Place>) -> Option<(RegionIndex, Option<RegionIndex>)> {
    let mut teams = places.keys().filter(|(region, _)| is_end_of_team(&profile.regions[region.0].name));
    let first = *teams.next()?;
    Some(if teams.next().is_none() { first } else { (first.0, None) })
}

impl Place {
    /// Adds what a thread waits at a node.
    fn add(&mut self, location: &Location, figures: &CompensatedNode) {
        self.wait_s += figures.wait_s;
        self.below_s += figures.exclusive.value - figures.exclusive.low;
        self.above_s += figures.exclusive.high - figures.exclusive.value;
        self.processes.insert(location.process.0);
        *self.of_threads.entry((location.process.0, location.thread)).or_default() += figures.wait_s;
    }

    /// What the threads of each number waited, those of all processes together.
    fn waiters(&self) -> Vec<(u32, f64)> {
        let mut of_numbers: BTreeMap<u32, f64> = BTreeMap::new();
        self.of_threads.iter().for_each(|((_, thread), waited)| *of_numbers.entry(*thread).or_default() += waited);
        of_numbers.into_iter().collect()
    }
}

/// Whether an operation begins a team and waits until it is done.
fn is_end_of_team(operation: &str) -> bool {
    operation == "omp parallel"
}

/// Whether all threads of a team come to an operation.
fn is_meeting(operation: &str) -> bool {
    is_end_of_team(operation) || matches!(operation, "omp barrier" | "pthread_barrier_wait")
}

/// Whether an operation is a wait for a lock that another thread has.
fn is_lock(operation: &str) -> bool {
    operation.starts_with("contended ")
}
