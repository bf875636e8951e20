//! Findings: what could be won, where, and how sure that is.
//!
//! What could be won is an upper bound. A rank that waits does not work: with the same work spread evenly over all ranks, the
//! run cannot become shorter by more than the mean over the ranks of the time that they wait there. Likewise for the work of
//! messages. Below [`LEAST_PART`] of the run, or below twice its uncertainty, nothing is called a finding.
//!
//! That those for which ranks wait had no processor meanwhile makes a finding less certain by that time: nothing in it is the
//! program's doing. What is explained by that is none; that ranks had no processor is then a finding of its own.

use std::collections::BTreeSet;

use tare_profile::{Processors, Profile, RegionIndex};

use crate::Compensated;
use crate::figure::Figure;
use crate::whole::cause::{Cause, Search};
use crate::whole::shortage::{Shortage, shortages};
use crate::whole::tree::CallTree;
use crate::whole::waits::WaitPlace;

/// Below this part of the run's time there is no finding.
const LEAST_PART: f64 = 0.01;
/// Messages are only a finding from this part of the run's time on: some work for them is always needed.
const LEAST_MESSAGES: f64 = 0.05;
/// That a rank had no processor is only a finding from this part of the run's time on, where it explains no waiting.
const LEAST_SHORTAGE: f64 = 0.05;
/// The ranks for which others wait are the fewest that make up this part of the waiting.
const MOST_OF_IT: f64 = 0.8;

/// What could be won.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The region at which it shows.
    pub region: RegionIndex,
    /// What called that; `None` at a root.
    pub caller: Option<RegionIndex>,
    /// Seconds of the run that could be won at most.
    pub seconds: Figure,
    /// How sure that is.
    pub certainty: Certainty,
    /// Seconds by which those for which ranks wait may be late because they had no processor, where that makes it less sure.
    pub queued_s: Option<f64>,
}

/// What could be done better.
#[derive(Clone, PartialEq, Debug)]
pub enum FindingKind {
    /// Ranks wait for messages of others.
    LateSender {
        /// Those that wait, by rank.
        waiting: Vec<u32>,
        /// Those for which they wait, by rank; empty where that is more than half of all.
        awaited: Vec<u32>,
        /// What these do longer than the others, where that explains a good part of the waiting.
        cause: Option<Cause>,
    },
    /// Ranks wait in sends until others receive.
    LateReceiver {
        /// Those that wait, by rank.
        waiting: Vec<u32>,
        /// Those for which they wait, by rank; empty where that is more than half of all.
        awaited: Vec<u32>,
        /// What these do longer than the others, where that explains a good part of the waiting.
        cause: Option<Cause>,
    },
    /// Ranks wait in a collective operation for the last to arrive.
    LateArrival {
        /// Those that wait, by rank.
        waiting: Vec<u32>,
        /// Those that hardly wait; empty where all take turns.
        awaited: Vec<u32>,
        /// What these do longer than the others.
        cause: Option<Cause>,
    },
    /// Ranks were in a call when they were cut off.
    CutOff {
        /// Which, by rank.
        ranks: Vec<u32>,
        /// Seconds for which the one had been in it that had been in it longest.
        longest: f64,
    },
    /// Ranks could have run and had no processor.
    NoProcessor {
        /// Those that had none half as long as the first at least, by rank.
        ranks: Vec<u32>,
        /// Seconds for which the first had none outside of MPI.
        longest: f64,
        /// Seconds for which it was outside of MPI.
        of: f64,
        /// Threads of the run on its node, and the processors on which they were allowed to run.
        sharing: Option<(usize, u32)>,
        /// Seconds of waiting that this may explain, mean over the ranks.
        explains: f64,
    },
    /// Messages themselves take time, besides waiting.
    Messages {
        /// Calls.
        calls: u64,
        /// Messages.
        messages: u64,
        /// Bytes in them.
        bytes: u64,
    },
}

/// How sure a finding is: its size over its uncertainty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// At least five times.
    Sure,
    /// At least twice.
    Likely,
}

impl Certainty {
    fn of(value: f64, half_width: f64) -> Option<Self> {
        match value {
            value if value >= 5.0 * half_width => Some(Self::Sure),
            value if value >= 2.0 * half_width => Some(Self::Likely),
            _ => None,
        }
    }
}

/// The findings of a run, those with most to win first.
#[must_use]
pub fn findings(profile: &Profile, compensated: &Compensated, tree: &CallTree, places: &[WaitPlace]) -> Vec<Finding> {
    let ranks = Ranks::of(profile);
    let time = profile.locations.iter().zip(&compensated.locations).filter(|(location, _)| ranks.counts(location.process.0));
    let time = time.map(|(_, figures)| figures.total.value).fold(0.0, f64::max);
    if ranks.count < 2 || time <= 0.0 {
        return Vec::new();
    }
    let search = Search { profile, compensated, tree, ranks: &ranks };
    let queue = Queue::of(profile, compensated);
    let (mut findings, mut explained) = (Vec::new(), 0.0);
    for place in places {
        match waiting(&search, place, time, &queue) {
            Some(Waiting::Finding(finding)) => findings.push(finding),
            Some(Waiting::Explained(seconds)) => explained += seconds,
            None => {}
        }
        findings.extend([cut_off(place, &ranks, time), messages(place, &ranks, time, &queue)].into_iter().flatten());
    }
    findings.extend(queue.finding(profile, time, explained));
    findings.sort_by(|one, other| other.seconds.value.total_cmp(&one.seconds.value));
    findings
}

/// Processes by rank.
pub(super) struct Ranks {
    /// The rank of each process.
    pub(super) of_process: Vec<Option<u32>>,
    pub(super) count: usize,
}

impl Ranks {
    fn of(profile: &Profile) -> Self {
        let of_process: Vec<Option<u32>> = profile.processes.iter().map(|process| process.rank).collect();
        Self { count: of_process.iter().flatten().count(), of_process }
    }

    fn counts(&self, process: usize) -> bool {
        self.of_process[process].is_some()
    }
}

fn figure(value: f64, half_width: f64) -> Figure {
    Figure { value, low: (value - half_width).max(0.0), high: value + half_width, mark: None }
}

/// How long ranks had no processor.
struct Queue {
    /// With the rank of each.
    shortages: Vec<(u32, Shortage)>,
}

impl Queue {
    fn of(profile: &Profile, compensated: &Compensated) -> Self {
        let ranked = |shortage: Shortage| profile.processes[shortage.process].rank.map(|rank| (rank, shortage));
        Self { shortages: shortages(profile, compensated).into_iter().filter_map(ranked).collect() }
    }

    /// Seconds by which these ranks may be late because they had none: in MPI, and outside of it beyond what the work that they do
    /// would have queued for at the others' rate. Where these are none, and so all are late in turn, the longest for which any rank
    /// had none.
    fn lateness(&self, awaited: &[u32]) -> f64 {
        let all = || self.shortages.iter().map(|(_, shortage)| shortage);
        if awaited.is_empty() {
            return all().map(|shortage| shortage.queued_s + shortage.in_mpi_s).fold(0.0, f64::max);
        }
        let is_awaited = |rank: &u32| awaited.contains(rank);
        let others = || self.shortages.iter().filter(|(rank, _)| !is_awaited(rank)).map(|(_, shortage)| shortage);
        let worked: f64 = others().map(Shortage::worked_s).sum();
        let rate = if worked > 0.0 { others().map(|shortage| shortage.queued_s).sum::<f64>() / worked } else { 0.0 };
        let late = self.shortages.iter().filter(|(rank, _)| is_awaited(rank));
        let excess = |shortage: &Shortage| (shortage.queued_s - rate * shortage.worked_s()).max(0.0);
        late.map(|(_, shortage)| excess(shortage) + shortage.in_mpi_s).fold(0.0, f64::max)
    }

    /// Seconds in MPI for which ranks had none, of all of them.
    fn in_mpi_s(&self) -> f64 {
        self.shortages.iter().map(|(_, shortage)| shortage.in_mpi_s).sum()
    }

    /// That ranks had none, where that is much, or waiting is explained by it.
    fn finding(&self, profile: &Profile, time: f64, explains: f64) -> Option<Finding> {
        let by_length = |one: &&(u32, Shortage), other: &&(u32, Shortage)| one.1.queued_s.total_cmp(&other.1.queued_s);
        let &(_, first) = self.shortages.iter().max_by(by_length)?;
        if (first.queued_s < LEAST_SHORTAGE * time || !first.is_told()) && explains == 0.0 {
            return None;
        }
        let region = profile.locations.iter().find(|location| location.process.0 == first.process)?.nodes.first()?.region;
        let kind = FindingKind::NoProcessor {
            ranks: self.shortages.iter().filter(|(_, shortage)| shortage.queued_s >= 0.5 * first.queued_s).map(|(rank, _)| *rank).collect(),
            longest: first.queued_s,
            of: first.outside_s,
            sharing: sharing(profile, &profile.processes[first.process].host),
            explains,
        };
        Some(Finding { kind, region, caller: None, seconds: Figure::exact(first.queued_s + explains), certainty: Certainty::Sure, queued_s: None })
    }
}

/// Threads of a node, and the processors on which they were allowed to run: of sets that are not equal none is taken to hold
/// processors of another, so that they are as many at least as they are.
fn sharing(profile: &Profile, host: &str) -> Option<(usize, u32)> {
    let there = || profile.locations.iter().filter(|location| profile.process_of(location).host == host);
    let sets: Option<BTreeSet<Processors>> = there().map(|location| location.processors).collect();
    Some((there().count(), sets?.iter().map(|set| set.number).sum()))
}

/// What waiting at a place is.
enum Waiting {
    Finding(Finding),
    /// Seconds, mean over the ranks, that may come of processors that ranks did not have.
    Explained(f64),
}

fn waiting(search: &Search<'_>, place: &WaitPlace, time: f64, queue: &Queue) -> Option<Waiting> {
    let ranks = search.ranks;
    let count = ranks.count as f64;
    let (seconds, half_width) = (place.wait_s / count, place.half_width_s / count);
    let alone = Certainty::of(seconds, half_width).filter(|_| seconds >= LEAST_PART * time)?;
    let by_messages: f64 = place.awaited.iter().map(|(_, seconds)| seconds).sum();
    let is_for_partners = by_messages >= 0.5 * place.wait_s;
    let most = place.waiters.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let mut waiting: Vec<u32> = place.waiters.iter().filter(|(_, seconds)| *seconds >= 0.1 * most).map(|(rank, _)| *rank).collect();
    let mut awaited = if is_for_partners { few_that_make_most(&place.awaited) } else { those_that_hardly_wait(place, most) };
    if awaited.len() * 2 > ranks.count {
        awaited.clear();
    }
    if !is_for_partners {
        waiting.retain(|rank| awaited.binary_search(rank).is_err());
    }
    let queued = queue.lateness(&awaited);
    let Some(certainty) = Certainty::of(seconds, half_width + queued) else { return Some(Waiting::Explained(seconds)) };
    let cause = search.cause(place, &awaited);
    let kind = match is_for_partners {
        true if place.held_s >= 0.5 * by_messages => FindingKind::LateReceiver { waiting, awaited, cause },
        true => FindingKind::LateSender { waiting, awaited, cause },
        false => FindingKind::LateArrival { waiting, awaited, cause },
    };
    let queued_s = (certainty != alone).then_some(queued);
    let seconds = figure(seconds, half_width);
    Some(Waiting::Finding(Finding { kind, region: place.operation, caller: place.caller, seconds, certainty, queued_s }))
}

fn few_that_make_most(awaited: &[(u32, f64)]) -> Vec<u32> {
    let all: f64 = awaited.iter().map(|(_, seconds)| seconds).sum();
    let mut by_time = awaited.to_vec();
    by_time.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut sum = 0.0;
    let mut few: Vec<u32> = by_time
        .into_iter()
        .take_while(|(_, seconds)| {
            let goes_on = sum < MOST_OF_IT * all;
            sum += seconds;
            goes_on
        })
        .map(|(rank, _)| rank)
        .collect();
    few.sort_unstable();
    few
}

/// In a collective the last to arrive waits for nobody.
fn those_that_hardly_wait(place: &WaitPlace, most: f64) -> Vec<u32> {
    let hardly: Vec<u32> = place.waiters.iter().filter(|(_, seconds)| *seconds < 0.1 * most).map(|(rank, _)| *rank).collect();
    if hardly.len() * 2 <= place.waiters.len() { hardly } else { Vec::new() }
}

fn cut_off(place: &WaitPlace, ranks: &Ranks, time: f64) -> Option<Finding> {
    let longest = place.open.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let seconds = place.open.iter().map(|(_, seconds)| seconds).sum::<f64>() / ranks.count as f64;
    let kind = FindingKind::CutOff { ranks: place.open.iter().map(|(rank, _)| *rank).collect(), longest };
    let finding =
        Finding { kind, region: place.operation, caller: place.caller, seconds: Figure::exact(seconds), certainty: Certainty::Sure, queued_s: None };
    (longest >= LEAST_PART * time).then_some(finding)
}

/// A rank that had no processor in MPI may have taken so long for a message because of that.
fn messages(place: &WaitPlace, ranks: &Ranks, time: f64, queue: &Queue) -> Option<Finding> {
    let seconds = place.working.divided(ranks.count as f64);
    let alone = Certainty::of(seconds.value, seconds.half_width()).filter(|_| seconds.value >= LEAST_MESSAGES * time)?;
    let queued = queue.in_mpi_s() / ranks.count as f64;
    let certainty = Certainty::of(seconds.value, seconds.half_width() + queued)?;
    let kind = FindingKind::Messages { calls: place.calls, messages: place.messages.0, bytes: place.messages.1 };
    Some(Finding {
        kind,
        region: place.operation,
        caller: place.caller,
        seconds: figure(seconds.value, seconds.half_width()),
        certainty,
        queued_s: (certainty != alone).then_some(queued),
    })
}
