//! Threads of a process that wait for one another: where all of them meet, at barriers and at the end of parallel regions; and for locks.
//!
//! With the same work spread evenly over the threads, a process cannot become shorter by more than the mean over its threads of the time that
//! they wait there; nor without a lock by more than those wait for it in the mean who do. Members of a team that another thread forks wait for
//! its end, and for the next team, where they are: that is a wait at the parallel region, as that of who has forked it. Who waits for a thread's end or for a signal may have nothing else to do: that is no finding.
//! Threads that had no processor may be late because of that, as ranks are.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use tare_profile::{Location, Profile, Region, RegionIndex, RegionKind};

use crate::whole::cause::{Cause, Search, Wait};
use crate::whole::finding::{Certainty, Finding, FindingKind, Judged, LEAST_PART, Lateness, figure, last_among, those_that_hardly_wait};
use crate::whole::peers::Peers;
use crate::whole::queue::Queue;
use crate::whole::tree::CallTree;
use crate::{Compensated, CompensatedNode};

/// An operation and the function that calls it, from whatever part of it: compilers make several calls of one. Of members that wait for teams of
/// several functions there is none.
type Key = (RegionIndex, Option<RegionIndex>);

/// A place where threads wait, while it is summed.
#[derive(Default)]
struct Place {
    measured_wait_s: f64,
    wait_s: f64,
    below_s: f64,
    above_s: f64,
    waits: u64,
    processes: BTreeSet<usize>,
    /// By process and thread, what each waited.
    of_threads: BTreeMap<(usize, u32), f64>,
    /// What calls the operation, as parts of the function do, and what was waited there.
    callers: BTreeMap<RegionIndex, f64>,
    /// Whether members of a team wait there that another thread has forked.
    has_members: bool,
    /// Whether teams are begun there within others, so that there are several at once, of which nobody knows how many threads each has.
    is_nested: bool,
}

/// A process in which less is waited at a place than this part of what the mean of all does says nothing of who is late.
const LITTLE: f64 = 0.2;

/// Threads of the smallest team in which one waits for another.
const SMALLEST_TEAM: usize = 2;

/// A place where threads wait for one another: an operation, and the function that calls it.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadPlace {
    /// The operation.
    pub operation: RegionIndex,
    /// What calls it; `None` where that is not one function.
    pub caller: Option<RegionIndex>,
    /// Seconds waited as measured, over all threads.
    pub measured_wait_s: f64,
    /// Seconds waited, compensated, over all threads.
    pub wait_s: f64,
    /// Waits.
    pub calls: u64,
    /// Threads that wait there.
    pub threads: usize,
}

/// Places where threads wait for one another, those with the longest waits first. What members of teams wait between these stands at the parallel
/// region.
#[must_use]
pub fn thread_places(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> Vec<ThreadPlace> {
    let is_waited_at = |(_, place): &(Key, Place)| place.measured_wait_s.max(place.wait_s) > 0.0;
    let mut places: Vec<ThreadPlace> = places(profile, compensated, tree).into_iter().filter(is_waited_at).map(ThreadPlace::from).collect();
    places.sort_by(|one, other| other.wait_s.total_cmp(&one.wait_s).then_with(|| (one.operation, one.caller).cmp(&(other.operation, other.caller))));
    places
}

/// The places where threads wait for a noteworthy part of the run's time.
pub(super) fn findings(profile: &Profile, compensated: &Compensated, tree: &CallTree, time: f64) -> Vec<Finding> {
    let mut threads: HashMap<usize, BTreeSet<u32>> = HashMap::new();
    profile.locations.iter().for_each(|location| _ = threads.entry(location.process.0).or_default().insert(location.thread));
    let is_judged = |(operation, _): &Key| is_meeting(&profile.regions[operation.0]) || is_lock(&profile.regions[operation.0]);
    let places = places(profile, compensated, tree).into_iter().filter(|(key, _)| is_judged(key)).collect();
    let teams = Teams { profile, compensated, time, places, threads, joined: OnceCell::new() };
    teams.places.iter().filter_map(|(key, place)| teams.finding(*key, place)).collect()
}

/// All places where threads wait.
fn places(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> BTreeMap<Key, Place> {
    let mut places: BTreeMap<Key, Place> = BTreeMap::new();
    let mut members: Vec<(usize, &CompensatedNode)> = Vec::new();
    for (index, ((location, figures), paths)) in profile.locations.iter().zip(&compensated.locations).zip(&tree.of_location).enumerate() {
        for ((node, figures), &path) in location.nodes.iter().zip(&figures.nodes).zip(paths) {
            let region = profile.region_of(node);
            if !region.kind.is_wrapped() && figures.wait_s.max(figures.measured_wait_s) > 0.0 {
                members.push((index, figures));
            }
            if region.kind != RegionKind::Threads {
                continue;
            }
            let place = places.entry((node.region, tree.wholes_above(profile, path as usize).next())).or_default();
            place.waits += node.calls();
            place.is_nested |= begins_team_within_another(profile, tree, location, path as usize);
            place.add(location, figures);
            if let Some(caller) = tree.paths[path as usize].parent {
                *place.callers.entry(tree.paths[caller].region).or_default() += figures.wait_s;
            }
        }
    }
    let teams = places.keys().copied().filter(|(region, _)| profile.regions[region.0].ends_team());
    if let Some(team) = team_of_members(teams) {
        let place = places.entry(team).or_default();
        place.has_members = !members.is_empty();
        members.into_iter().for_each(|(index, figures)| place.add(&profile.locations[index], figures));
    }
    places
}

/// Whether a path is that of a parallel region within another one, or of one that a thread begins which is not the first.
fn begins_team_within_another(profile: &Profile, tree: &CallTree, location: &Location, path: usize) -> bool {
    let begins = |region: RegionIndex| profile.regions[region.0].ends_team();
    begins(tree.paths[path].region) && (location.thread > 0 || tree.wholes_above(profile, path).any(begins))
}

/// Of all parallel regions the one at which members of teams are taken to wait: the only one, or all of them, whoever calls them.
fn team_of_members(mut teams: impl Iterator<Item = Key>) -> Option<Key> {
    let first = teams.next()?;
    Some(if teams.next().is_none() { first } else { (first.0, None) })
}

/// What findings about threads are made from.
struct Teams<'a> {
    profile: &'a Profile,
    compensated: &'a Compensated,
    /// That of the run.
    time: f64,
    places: BTreeMap<Key, Place>,
    /// Of each process.
    threads: HashMap<usize, BTreeSet<u32>>,
    /// Joined where it is asked for: in most runs no threads wait.
    joined: OnceCell<CallTree>,
}

impl Teams<'_> {
    fn finding(&self, key: Key, place: &Place) -> Option<Finding> {
        let operation = &self.profile.regions[key.0.0];
        let waiters = place.waiters();
        let late = if is_lock(operation) || !place.agrees() { Vec::new() } else { self.last(key, &waiters) };
        let taking_part = self.taking_part(key, place, &late);
        let all = if place.is_nested { SMALLEST_TEAM * place.processes.len() } else { taking_part.len() };
        let (seconds, below) = (place.wait_s / all as f64, place.below_s / all as f64);
        let alone = Certainty::of(seconds, below).filter(|_| seconds >= LEAST_PART * self.time)?;
        let peers = Peers::threads(self.profile, &taking_part.iter().map(|(_, thread)| *thread).collect());
        let queue = Queue::of_threads(self.profile, self.compensated, &peers);
        let (late, cause) = if is_lock(operation) { (late, None) } else { self.cause(key, place, late, &peers) };
        let explained = cause.as_ref().map_or(0.0, |cause| cause.explains * place.wait_s);
        let lateness = Lateness {
            by_work: queue.lateness_by_work(&waiters, &late).mean(explained, all),
            queued: queue.lateness(&late) * waiters.iter().filter(|(thread, _)| !late.contains(thread)).count() as f64 / peers.count as f64,
            unsure: 0.0,
        };
        let Judged { won, unsure_s, certainty, queued_s, .. } = Judged::of((seconds, below), alone, &lateness, self.time);
        let (processes, seconds) = (place.processes.len(), figure(won, below + unsure_s, place.above_s / all as f64));
        let kind = match is_lock(operation) {
            true => FindingKind::Lock { threads: all, processes, waits: place.waits, each_s: place.wait_s / place.waits.max(1) as f64 },
            false => FindingKind::Threads { threads: all, processes, awaited: late, cause },
        };
        Some(Finding { kind, region: key.0, caller: place.told_caller(self.profile).or(key.1), seconds, certainty, queued_s })
    }

    /// The places of an operation, whoever calls it.
    fn of_operation(&self, operation: RegionIndex) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |((region, _), _)| *region == operation).map(|(_, place)| place)
    }

    /// Those that hardly wait where all meet: at a place; where all of that wait, among those also that come to the same operation elsewhere.
    fn last(&self, (operation, _): Key, waiters: &[(u32, f64)]) -> Vec<u32> {
        let here = those_that_hardly_wait(waiters);
        if here.is_empty() { last_among(self.of_operation(operation).flat_map(Place::waiters), waiters) } else { here }
    }

    /// By process and thread, those that take part in what is waited for at a place. A thread that is alone there meets others elsewhere.
    fn taking_part(&self, key: Key, place: &Place, late: &[u32]) -> BTreeSet<(usize, u32)> {
        let own = || place.of_threads.keys().copied();
        let operation = &self.profile.regions[key.0.0];
        if operation.ends_team() {
            return place.processes.iter().flat_map(|&process| self.threads[&process].iter().map(move |&thread| (process, thread))).collect();
        }
        let is_alone = is_meeting(operation) && place.of_threads.len() == place.processes.len();
        let comes = |(process, thread): &(usize, u32)| place.processes.contains(process) && (is_alone || late.contains(thread));
        let elsewhere = self.of_operation(key.0).flat_map(|place| place.of_threads.keys().copied()).filter(comes);
        own().chain(elsewhere).collect()
    }

    /// Who is late, and by what.
    fn cause(&self, (operation, function): Key, place: &Place, late: Vec<u32>, peers: &Peers) -> (Vec<u32>, Option<Cause>) {
        let tree = self.joined.get_or_init(|| CallTree::of_teams(self.profile, self.compensated));
        let search = Search { profile: self.profile, compensated: self.compensated, tree, peers };
        let wait = Wait::in_function(self.profile, tree, function, operation, place.wait_s);
        // Only who has begun a team waits for its end, but for members of teams that wait for it.
        if self.profile.regions[operation.0].ends_team() && !place.has_members {
            let waiting: Vec<u32> = place.waiters().iter().map(|(thread, _)| *thread).collect();
            let cause = search.cause_of_end(&wait, &waiting);
            return (cause.as_ref().map(|cause| cause.late.clone()).unwrap_or_default(), cause);
        }
        let cause = search.cause_in_team(&wait, &late);
        (late, cause)
    }
}

impl Place {
    /// Adds what a thread waits at a node.
    fn add(&mut self, location: &Location, figures: &CompensatedNode) {
        self.measured_wait_s += figures.measured_wait_s;
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

    /// Whether the threads that hardly wait are those of the same numbers in all processes in which much is waited. Where they are not, each process waits for
    /// a reason of its own.
    fn agrees(&self) -> bool {
        let mut processes = self.processes.iter().filter_map(|&process| {
            let waiters: Vec<(u32, f64)> =
                self.of_threads.range((process, 0)..=(process, u32::MAX)).map(|((_, thread), waited)| (*thread, *waited)).collect();
            let waited: f64 = waiters.iter().map(|(_, waited)| waited).sum();
            (waited * self.processes.len() as f64 >= LITTLE * self.wait_s).then(|| those_that_hardly_wait(&waiters))
        });
        let first = processes.next();
        processes.all(|other| Some(&other) == first.as_ref())
    }

    /// Of what calls the operation that in which most was waited, where all of it is in one line.
    fn told_caller(&self, profile: &Profile) -> Option<RegionIndex> {
        let line = |region: &RegionIndex| (&profile.regions[region.0].file, profile.regions[region.0].line);
        let most = *self.callers.iter().max_by(|one, other| one.1.total_cmp(other.1))?.0;
        let is_one = self.callers.len() == 1 || line(&most).1 > 0 && self.callers.keys().all(|caller| line(caller) == line(&most));
        is_one.then_some(most)
    }
}

impl From<(Key, Place)> for ThreadPlace {
    fn from(((operation, caller), place): (Key, Place)) -> Self {
        let threads = place.of_threads.values().filter(|wait_s| **wait_s > 0.0).count();
        Self { operation, caller, measured_wait_s: place.measured_wait_s, wait_s: place.wait_s, calls: place.waits, threads }
    }
}

/// Whether all threads of a team come to an operation.
fn is_meeting(operation: &Region) -> bool {
    operation.ends_team() || matches!(&*operation.name, "omp barrier" | "pthread_barrier_wait")
}

/// Whether an operation is a wait for a lock that another thread has.
fn is_lock(operation: &Region) -> bool {
    operation.name.starts_with("contended ")
}
