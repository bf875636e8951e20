//! Ranks that share processors wait for each other without a message: while one could run and has no processor, others run, and
//! a part of what they run is probes and wrappers. No delay is carried for that.
//!
//! Unmeasured, a location would have queued for less: at most by as large a part of it as overhead was of the time for which the others of its
//! node had a processor. That is an uncertainty of its times, downwards. Where each has a processor of its own, who queues does so for other programs.
//!
//! Nor is a delay carried by calls that may wait for others in a way that is not known. Unmeasured, they would have waited for less: at most by
//! the delay of the location that had the most. Threads of a process wait for one another also where no wrapper is, for locks or by calls of the
//! system: while a thread sleeps outside of wrapped calls, it may wait for another one of its process that is later than itself.

use crate::share::Share;
use crate::total::{Overhead, measured_inclusive};
use std::collections::{BTreeMap, BTreeSet};
use tare_profile::{Location, Node, Processors, Profile, RegionKind};

/// For how long a location may have queued behind the overhead of others, or waited for it untold, in ticks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Crowd {
    in_mpi: Share,
    outside: Share,
    untold: Share,
    asleep: Share,
}

impl Crowd {
    /// Of every location, in the order of the profile.
    pub(crate) fn of_run(profile: &Profile, overheads: &[Overhead]) -> Vec<Self> {
        let host_of = |location: &Location| profile.process_of(location).host.as_str();
        let mut hosts: BTreeMap<&str, Times> = profile.locations.iter().map(|location| (host_of(location), Times::default())).collect();
        hosts.retain(|host, _| is_crowded(profile, host));
        // Where nobody shares a processor, as in most runs, there is nothing to add up.
        let of_location = |(location, overhead)| hosts.contains_key(host_of(location)).then(|| Times::of(profile, location, overhead));
        let times: Vec<Option<Times>> = profile.locations.iter().zip(overheads).map(of_location).collect();
        for (location, own) in profile.locations.iter().zip(&times) {
            if let (Some(all), Some(own)) = (hosts.get_mut(host_of(location)), own) {
                all.add(own);
            }
        }
        let crowd = |(location, own): (&Location, &Option<Times>)| {
            let all = hosts.get(host_of(location)).zip(own.as_ref());
            all.map_or_else(Self::default, |(all, own)| Self::of(profile, location, all.overhead_without(own)))
        };
        let crowds: Vec<Self> = profile.locations.iter().zip(&times).map(crowd).collect();
        let delays: Vec<f64> = profile.locations.iter().zip(overheads).map(|(location, overhead)| delay_s(profile, location, overhead)).collect();
        let latest = latest_of_processes(profile, &delays);
        let untold = |(index, crowd): (usize, Self)| {
            let location = &profile.locations[index];
            let asleep = asleep_share(profile, location, latest[location.process.0] - delays[index]);
            Self { untold: untold_share(profile, index, &overheads[index], &delays), asleep, ..crowd }
        };
        crowds.into_iter().enumerate().map(untold).collect()
    }

    /// Of a location that queued behind others of whose time this part was overhead.
    fn of(profile: &Profile, location: &Location, part: f64) -> Self {
        let clock = profile.process_of(location).clock;
        let sum = |kind: bool| location.nodes.iter().filter(|node| is_wrapped(profile, node) == kind).map(|node| node.exclusive.max(0) as f64).sum();
        let share = |seconds: f64, of: f64| Share::new(clock.ticks(part * seconds.max(0.0)), of);
        let in_mpi = location.queued_in_calls_s;
        let outside = share(location.queued_s.unwrap_or(in_mpi) - in_mpi, sum(false));
        Self { in_mpi: share(in_mpi, sum(true)), outside, ..Self::default() }
    }

    /// In all.
    pub(crate) fn all(&self) -> f64 {
        self.in_mpi.all() + self.outside.all() + self.untold.all() + self.asleep.all()
    }

    /// In the region of a node, at the most.
    pub(crate) fn alone(&self, profile: &Profile, node: &Node) -> f64 {
        self.share(profile, node).alone(node.exclusive.max(0) as f64) + self.untold.alone(untold(node)) + self.asleep.alone(unwrapped(profile, node))
    }

    /// The node's part of all of it.
    pub(crate) fn part(&self, profile: &Profile, node: &Node) -> f64 {
        self.share(profile, node).part(node.exclusive.max(0) as f64) + self.untold.part(untold(node)) + self.asleep.part(unwrapped(profile, node))
    }

    fn share(&self, profile: &Profile, node: &Node) -> Share {
        if is_wrapped(profile, node) { self.in_mpi } else { self.outside }
    }
}

/// How late a location was in the end, in seconds.
fn delay_s(profile: &Profile, location: &Location, overhead: &Overhead) -> f64 {
    profile.process_of(location).clock.seconds(overhead.all() + overhead.gained)
}

/// The greatest delay of the locations of each process, in seconds.
fn latest_of_processes(profile: &Profile, delays: &[f64]) -> Vec<f64> {
    let mut latest = vec![0.0_f64; profile.processes.len()];
    for (location, delay) in profile.locations.iter().zip(delays) {
        latest[location.process.0] = latest[location.process.0].max(*delay);
    }
    latest
}

/// What a location may have waited asleep for one of its process that is later by so many seconds.
fn asleep_share(profile: &Profile, location: &Location, later_s: f64) -> Share {
    let clock = profile.process_of(location).clock;
    let Some((ran, queued)) = location.ran_s.zip(location.queued_s).filter(|_| later_s > 0.0 && clock.is_known()) else { return Share::default() };
    let exclusive = |is_of_threads: bool| {
        let nodes = location.nodes.iter().filter(|node| (profile.region_of(node).kind == RegionKind::Threads) == is_of_threads);
        nodes.map(|node| node.exclusive.max(0) as f64).sum::<f64>()
    };
    let (waited, rest) = (exclusive(true), exclusive(false));
    let asleep_s = clock.seconds(waited + rest) - ran - queued - clock.seconds(waited);
    Share::new(clock.ticks(later_s.min(asleep_s).max(0.0)), rest)
}

/// Ticks in a node that is not one of waits of threads.
fn unwrapped(profile: &Profile, node: &Node) -> f64 {
    if profile.region_of(node).kind == RegionKind::Threads { 0.0 } else { node.exclusive.max(0) as f64 }
}

/// What a location may have waited untold because of others, whose delays these are.
fn untold_share(profile: &Profile, index: usize, overhead: &Overhead, delays: &[f64]) -> Share {
    let all = overhead.untold;
    let clock = profile.process_of(&profile.locations[index]).clock;
    if all == 0.0 || !clock.is_known() {
        return Share::default();
    }
    let most = delays.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, delay)| *delay).fold(0.0, f64::max);
    Share::new(clock.ticks(most), all)
}

/// For how long calls may have waited whose delay was not known, in ticks: the part of them of all calls of the node.
pub(crate) fn untold(node: &Node) -> f64 {
    let exchanged = node.exchanged();
    let unknown = exchanged.messages.unpaired as f64;
    if unknown == 0.0 {
        return 0.0;
    }
    let took = node.exclusive as f64 - node.tool_ticks as f64 - exchanged.wait_ticks as f64;
    took.max(0.0) * (unknown / (node.on_calls.max(1) as f64)).min(1.0)
}

fn is_wrapped(profile: &Profile, node: &Node) -> bool {
    profile.region_of(node).kind.is_wrapped()
}

/// What locations took of processors, and their overhead: seconds.
#[derive(Clone, Copy, Default)]
struct Times {
    ran: f64,
    overhead: f64,
}

impl Times {
    fn of(profile: &Profile, location: &Location, overhead: &Overhead) -> Self {
        let clock = profile.process_of(location).clock;
        let life = measured_inclusive(location).first().map_or(0.0, |ticks| clock.seconds(*ticks));
        Self { ran: (life - location.queued_s.unwrap_or(0.0)).max(0.0), overhead: clock.seconds(overhead.all()) }
    }

    fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.overhead += other.overhead;
    }

    /// The part of their time that was overhead, of all but one of them.
    fn overhead_without(&self, one: &Self) -> f64 {
        let ran = self.ran - one.ran;
        if ran > 0.0 { ((self.overhead - one.overhead) / ran).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Threads and processors of the first node that has more threads than processors.
#[must_use]
pub fn crowded(profile: &Profile) -> Option<(usize, u32)> {
    let hosts: BTreeSet<&str> = profile.processes.iter().map(|process| process.host.as_str()).collect();
    hosts.into_iter().find(|host| is_crowded(profile, host)).and_then(|host| sharing(profile, host))
}

fn is_crowded(profile: &Profile, host: &str) -> bool {
    sharing(profile, host).is_some_and(|(threads, processors)| threads > processors as usize)
}

/// Threads that want a processor for less than this part of what the one does that wants one longest want none.
const WANTS_ONE: f64 = 0.1;

/// Threads of a node that want a processor, and the processors on which they were allowed to run: of sets that are not equal none is taken to hold
/// processors of another, so that they are as many at least as they are.
pub(crate) fn sharing(profile: &Profile, host: &str) -> Option<(usize, u32)> {
    let there = || profile.locations.iter().filter(|location| profile.process_of(location).host == host);
    let sets: Option<BTreeSet<Processors>> = there().map(|location| location.processors).collect();
    // Of how long a thread had one the kernel may say nothing.
    let wanted = |location: &Location| location.ran_s.zip(location.queued_s).map_or(f64::INFINITY, |(ran, queued)| ran + queued);
    let longest = there().map(wanted).filter(|wanted| wanted.is_finite()).fold(0.0, f64::max);
    let mut of_processes: BTreeMap<usize, usize> = BTreeMap::new();
    there().filter(|location| wanted(location) >= WANTS_ONE * longest).for_each(|location| *of_processes.entry(location.process.0).or_default() += 1);
    // Threads that came one after another have a location each, but want no more processors than there are of them at once.
    let at_once = |(process, threads): (usize, usize)| profile.processes[process].most_threads.map_or(threads, |most| threads.min(most));
    Some((of_processes.into_iter().map(at_once).sum(), sets?.iter().map(|set| set.number).sum()))
}
