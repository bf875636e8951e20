//! Findings: what could be won, where, and how sure that is.
//!
//! What could be won is an upper bound. A rank that waits does not work: with the same work spread evenly over all ranks, the
//! run cannot become shorter by more than the mean over the ranks of the time that they wait there. Likewise for the work of
//! messages. Below [`LEAST_PART`] of the run, or below twice its uncertainty, nothing is called a finding.
//!
//! That those for which ranks wait had no processor meanwhile makes a finding less certain by that time, but for what they had to do
//! more than the others once they had one: that is the program's doing, and where much of the rest is explained by it, a finding of so
//! much less. What is explained by it is none; that ranks had no processor is then a finding of its own, which stands behind those
//! about the program, and is said to explain no more than these ranks were without one. Where ranks had too few processors for that to be one, what it may explain is said all the same, as possible.

use std::collections::BTreeMap;

use tare_profile::{Profile, RegionIndex, RegionKind};

use crate::Compensated;
use crate::figure::Figure;
use crate::whole::asleep;
use crate::whole::cause::{Cause, Search, Wait};
use crate::whole::last;
use crate::whole::peers::Peers;
use crate::whole::queue::{ByWork, Queue};
use crate::whole::regions::{RegionTotal, region_totals};
use crate::whole::shortage::Shortage;
use crate::whole::teams;
use crate::whole::tree::CallTree;
use crate::whole::waits::WaitPlace;

/// Below this part of the run's time there is no finding.
pub const LEAST_PART: f64 = 0.01;
/// What is left of waiting by the work of ranks, where the rest may be for want of processors, is only a finding from this part on:
/// who shares a processor works more slowly, too.
const LEAST_BY_WORK: f64 = 0.05;
/// Messages are only a finding from this part of the run's time on: some work for them is always needed.
const LEAST_MESSAGES: f64 = 0.05;
/// That ranks had no processor stands for what may come of it from this part of that on.
const FAIR_PART: f64 = 0.5;
/// A region that takes this part of the time of all threads is a finding where there is no other.
const HOT_PART: f64 = 0.2;
/// The ranks for which others wait are the fewest that make up this part of the waiting.
const MOST_OF_IT: f64 = 0.8;

/// Of those that wait at a place those hardly do that wait for less than this part of the longest wait.
const HARDLY: f64 = 0.1;
/// Of those that come last those hardly work more than the others that do by less than this part of what the first of them does.
const HARDLY_MORE: f64 = 0.2;

/// What could be won.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The region at which it shows.
    pub region: RegionIndex,
    /// What called that; `None` at a root.
    pub caller: Option<RegionIndex>,
    /// Seconds of the run that could be won at most; of a hot spot those that all threads are in it, of which nothing says how many can be won.
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
    /// Ranks are in a call that has not returned.
    Open {
        /// Which, by rank.
        ranks: Vec<u32>,
        /// Seconds for which the one has been in it that has been in it longest.
        longest: f64,
    },
    /// Ranks could have run and had no processor.
    NoProcessor {
        /// Those that had none half as long as the first at least, by rank.
        ranks: Vec<u32>,
        /// How long the first of them had none.
        longest: Shortage,
        /// Threads of the run on its node, and the processors on which they were allowed to run.
        sharing: Option<(usize, u32)>,
        /// Seconds of waiting that this may explain, mean over the ranks.
        explains: f64,
    },
    /// Ranks, or the program, neither had a processor nor could have used one, outside of MPI and of waits for other threads.
    Asleep {
        /// Those that slept half as long as the first at least, by rank; none where there are no ranks.
        ranks: Vec<u32>,
        /// Seconds for which the first of them slept, at least.
        longest_s: f64,
        /// Seconds in which it can have slept.
        outside_s: f64,
        /// For how many of them it slept in the region of the finding at the least, where that is most.
        within_s: Option<f64>,
        /// What it spent in reading and writing files, where that was measured.
        in_files: Option<InFiles>,
    },
    /// Threads of processes wait for one another.
    Threads {
        /// How many take part.
        threads: usize,
        /// In how many processes.
        processes: usize,
        /// Those for which they wait, by number; empty where that is more than half of all.
        awaited: Vec<u32>,
        /// What these do longer than the others, where that explains a good part of the waiting.
        cause: Option<Cause>,
    },
    /// Threads of processes wait for a lock that another one has.
    Lock {
        /// How many do.
        threads: usize,
        /// In how many processes.
        processes: usize,
        /// How often.
        waits: u64,
        /// Seconds of a wait, on average.
        each_s: f64,
    },
    /// There are no ranks, no threads wait, and much of the time is a single region's.
    HotSpot {
        /// Its part of the time of all threads.
        part: f64,
        /// Its calls.
        calls: u64,
        /// Its seconds a call, exclusive.
        per_call_s: f64,
        /// Seconds of it in which threads may have slept.
        asleep_s: f64,
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

/// Time in calls that read and write files.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InFiles {
    /// Seconds.
    pub seconds: f64,
    /// The region that made these calls, where most of that is its.
    pub region: Option<RegionIndex>,
}

/// How sure a finding is: its size over by how much less it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// At least five times.
    Sure,
    /// At least twice.
    Likely,
    /// At least twice by its own interval, less because ranks had no processor meanwhile: it may be that alone.
    Possible,
    /// Less, so that nothing can be told of it: only that ranks had no processor is said all the same, as it is what makes all else less sure.
    Open,
}

impl Certainty {
    pub(super) fn of(value: f64, below: f64) -> Option<Self> {
        match value {
            value if value >= 5.0 * below => Some(Self::Sure),
            value if value >= 2.0 * below => Some(Self::Likely),
            _ => None,
        }
    }
}

/// The findings of a run: those that are sure or likely, with most to win first; those that are possible, likewise, unless half of their sum is
/// explained by processors that ranks did not have; a hot spot where nothing but sleep was found; last that ranks had no processor, which is none
/// about the program.
#[must_use]
pub fn findings(profile: &Profile, compensated: &Compensated, tree: &CallTree, places: &[WaitPlace]) -> Vec<Finding> {
    let ranks = Peers::ranks(profile);
    let times = compensated.locations.iter().enumerate().filter(|(location, _)| ranks.count == 0 || ranks.number(*location).is_some());
    let time = times.map(|(_, figures)| figures.total.value).fold(0.0, f64::max);
    if time <= 0.0 {
        return Vec::new();
    }
    let search = Search { profile, compensated, tree, peers: &ranks };
    let queue = Queue::of(profile, compensated);
    let (mut found, mut explained) = (teams::findings(profile, compensated, tree, time), 0.0);
    let in_the_end = last::wait_place(profile, compensated, tree);
    for place in places.iter().chain(&in_the_end).filter(|_| ranks.count > 1) {
        if let Some(waiting) = waiting(&search, place, places, time, &queue) {
            explained += waiting.explained_s;
            found.push(waiting.finding);
        }
        let cut_off = unreturned(&place.cut_off, place, &ranks, time, |ranks, longest| FindingKind::CutOff { ranks, longest });
        let open = unreturned(&place.open, place, &ranks, time, |ranks, longest| FindingKind::Open { ranks, longest });
        found.extend([cut_off, open, messages(place, &ranks, time, &queue)].into_iter().flatten());
    }
    found.extend(asleep::finding(profile, compensated, &ranks, in_the_end.as_ref(), time));
    found.sort_by(|one, other| other.seconds.value.total_cmp(&one.seconds.value));
    let (possible, mut findings): (Vec<_>, Vec<_>) = found.into_iter().partition(|finding| finding.certainty == Certainty::Possible);
    let uncertain_s: f64 = possible.iter().map(|finding| finding.seconds.value).sum();
    let of_processors = queue.finding(profile, time, explained);
    if of_processors.as_ref().is_none_or(|(_, explains)| *explains < FAIR_PART * uncertain_s) {
        findings.extend(possible);
    }
    if ranks.count < 2 && findings.iter().all(|finding| matches!(finding.kind, FindingKind::Asleep { .. })) {
        findings.extend(hot_spot(profile, compensated, tree));
    }
    findings.extend(of_processors.map(|(finding, _)| finding));
    findings
}

/// Of a program without ranks the region that takes most of the time of all threads, if that is a good part of it: nothing waits for anything else
/// of it that could be blamed. Who sleeps does no work, and where a thread slept is not known: all of it may have been there.
fn hot_spot(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> Option<Finding> {
    let is_work = |region: RegionIndex| matches!(profile.regions[region.0].kind, RegionKind::Function | RegionKind::Loop | RegionKind::User);
    let totals = region_totals(profile, compensated, tree);
    let time: f64 = totals.iter().map(|total| total.exclusive.value.max(0.0)).sum();
    let asleep = asleep::most_by_region(profile, compensated);
    let awake = |total: &RegionTotal| total.exclusive.value - asleep[total.region.0];
    let first = |one: &&RegionTotal, other: &&RegionTotal| awake(one).total_cmp(&awake(other));
    let hottest = totals.iter().filter(|total| is_work(total.region)).max_by(first)?;
    let (seconds, asleep_s) = (hottest.exclusive, asleep[hottest.region.0]);
    let certainty = Certainty::of(seconds.value, seconds.value - seconds.low + asleep_s)
        .filter(|_| seconds.mark.is_none() && seconds.value >= HOT_PART * time)?;
    let per_call_s = seconds.value / hottest.calls.max(1) as f64;
    let kind = FindingKind::HotSpot { part: seconds.value / time, calls: hottest.calls, per_call_s, asleep_s };
    Some(Finding { kind, region: hottest.region, caller: None, seconds, certainty, queued_s: None })
}

pub(super) fn figure(value: f64, below: f64, above: f64) -> Figure {
    Figure { value, low: (value - below).max(0.0), high: value + above, mark: None }
}

/// What waiting at a place is.
struct Waiting {
    /// What of it is the program's, or may be.
    finding: Finding,
    /// Seconds, mean over the ranks, that may come of processors that ranks did not have.
    explained_s: f64,
}

fn waiting(search: &Search<'_>, place: &WaitPlace, places: &[WaitPlace], time: f64, queue: &Queue) -> Option<Waiting> {
    let ranks = search.peers;
    let count = ranks.count as f64;
    let (seconds, below, above) = (place.wait_s / count, place.below_s / count, place.above_s / count);
    let alone = Certainty::of(seconds, below).filter(|_| seconds >= LEAST_PART * time)?;
    let by_messages: f64 = place.awaited.iter().map(|(_, seconds)| seconds).sum();
    let is_for_partners = by_messages >= 0.5 * place.wait_s;
    let most = place.waiters.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let mut waiting: Vec<u32> = place.waiters.iter().filter(|(_, seconds)| *seconds >= HARDLY * most).map(|(rank, _)| *rank).collect();
    let mut awaited = if is_for_partners { few_that_make_most(&place.awaited) } else { last_to_arrive(place, places) };
    if awaited.len() * 2 > ranks.count {
        awaited.clear();
    }
    if !is_for_partners {
        waiting.retain(|rank| awaited.binary_search(rank).is_err());
        leave_out_those_that_waited(&mut awaited, &waiting, search);
    } else if awaited != waiting {
        // In a chain those that are waited for wait as well: what they wait for is at its begin.
        awaited.retain(|rank| waiting.binary_search(rank).is_err());
    }
    // Where some come to it from elsewhere, who arrives last may be among these.
    let is_told = is_for_partners || !awaited.is_empty() || place.waiters.len() == ranks.count;
    let wait = Wait::called_by(search.tree, place.caller, place.operation, place.wait_s);
    let cause = is_told.then(|| search.cause(&wait, &awaited)).flatten();
    let explained = cause.as_ref().map_or(0.0, |cause| cause.explains * place.wait_s);
    let by_work = queue.lateness_by_work(&place.waiters, &awaited).mean(explained, ranks.count);
    let lateness = Lateness { by_work, queued: queue.lateness(&awaited), unsure: queue.unsure_s(&awaited) * waiting.len() as f64 / count };
    let judged = Judged::of((seconds, below), alone, &lateness, time);
    let kind = match is_for_partners {
        true if place.held_s >= 0.5 * by_messages => FindingKind::LateReceiver { waiting, awaited, cause },
        true => FindingKind::LateSender { waiting, awaited, cause },
        false => FindingKind::LateArrival { waiting, awaited, cause },
    };
    let Judged { won, unsure_s, certainty, explained_s, queued_s } = judged;
    let seconds = figure(won, below + unsure_s, above);
    Some(Waiting { finding: Finding { kind, region: place.operation, caller: place.caller, seconds, certainty, queued_s }, explained_s })
}

/// Why those that are waited for are late: seconds, of those that wait in the mean.
pub(super) struct Lateness {
    /// By what they do more than others.
    pub(super) by_work: ByWork,
    /// For want of a processor.
    pub(super) queued: f64,
    /// How far that is unknown.
    pub(super) unsure: f64,
}

/// What of waiting could be won, and how sure that is, where those that are late may have had no processor.
pub(super) struct Judged {
    pub(super) won: f64,
    /// How much less that is if they have processors another time.
    pub(super) unsure_s: f64,
    pub(super) certainty: Certainty,
    /// What may come of processors, and so is no part of what could be won.
    pub(super) explained_s: f64,
    /// What may come of processors where all of it is told, and less sure because of that.
    pub(super) queued_s: Option<f64>,
}

impl Judged {
    /// Of waiting, with by how much less it may be, and how sure it were if all had had processors.
    pub(super) fn of((seconds, below): (f64, f64), alone: Certainty, lateness: &Lateness, time: f64) -> Self {
        let &Lateness { by_work: ByWork { as_it_was_s, alone_s }, queued, unsure } = lateness;
        let queued = queued.min((seconds - alone_s).max(0.0));
        if let Some(certainty) = Certainty::of(seconds, below + queued) {
            let queued_s = (certainty != alone).then_some(queued);
            return Self { won: seconds, unsure_s: 0.0, certainty, explained_s: 0.0, queued_s };
        }
        match Certainty::of(alone_s, below + unsure).filter(|_| alone_s >= LEAST_BY_WORK * time) {
            Some(_) => {
                let explained_s = queued.min(seconds - as_it_was_s);
                Self { won: as_it_was_s, unsure_s: as_it_was_s - alone_s, certainty: Certainty::Likely, explained_s, queued_s: None }
            }
            None => Self { won: seconds, unsure_s: 0.0, certainty: Certainty::Possible, explained_s: queued, queued_s: Some(queued) },
        }
    }
}

/// Who comes last may have waited elsewhere for another one that does. Those that work hardly more than those that wait are left out, where others do.
fn leave_out_those_that_waited(awaited: &mut Vec<u32>, waiting: &[u32], search: &Search<'_>) {
    if awaited.len() < 2 || waiting.is_empty() {
        return;
    }
    let worked: BTreeMap<u32, f64> = search.worked().into_iter().collect();
    let of = |rank: &u32| worked.get(rank).copied().unwrap_or(0.0);
    let usual = waiting.iter().map(of).sum::<f64>() / waiting.len() as f64;
    let most = awaited.iter().map(of).fold(0.0, f64::max) - usual;
    if most > 0.0 {
        awaited.retain(|rank| of(rank) - usual >= HARDLY_MORE * most);
    }
}

/// The ranks that hardly wait where all meet: at a place; where all of that wait, among those also that come to the same operation elsewhere.
#[must_use]
pub fn last_to_arrive(place: &WaitPlace, places: &[WaitPlace]) -> Vec<u32> {
    let here = those_that_hardly_wait(&place.waiters);
    if !here.is_empty() {
        return here;
    }
    let same = places.iter().filter(|one| one.operation == place.operation);
    last_among(same.flat_map(|one| one.waiters.iter().copied()), &place.waiters)
}

/// Those that hardly wait among all that come to an operation, and are none of those that wait here.
pub(super) fn last_among(all: impl Iterator<Item = (u32, f64)>, here: &[(u32, f64)]) -> Vec<u32> {
    let mut of_all: BTreeMap<u32, f64> = BTreeMap::new();
    all.for_each(|(number, seconds)| *of_all.entry(number).or_default() += seconds);
    let mut last = those_that_hardly_wait(&of_all.into_iter().collect::<Vec<_>>());
    last.retain(|number| here.iter().all(|(waiting, _)| waiting != number));
    last
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

/// Where all meet, the last to arrive waits for nobody; where those would be more than half of all that wait, each does in its turn.
pub(super) fn those_that_hardly_wait(waiters: &[(u32, f64)]) -> Vec<u32> {
    let longest = waiters.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let hardly: Vec<u32> = waiters.iter().filter(|(_, seconds)| *seconds < HARDLY * longest).map(|(number, _)| *number).collect();
    if hardly.len() * 2 <= waiters.len() { hardly } else { Vec::new() }
}

/// Calls of a place that have not returned: seconds by rank.
fn unreturned(calls: &[(u32, f64)], place: &WaitPlace, ranks: &Peers, time: f64, kind: fn(Vec<u32>, f64) -> FindingKind) -> Option<Finding> {
    let longest = calls.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let seconds = calls.iter().map(|(_, seconds)| seconds).sum::<f64>() / ranks.count as f64;
    let kind = kind(calls.iter().map(|(rank, _)| *rank).collect(), longest);
    let finding =
        Finding { kind, region: place.operation, caller: place.caller, seconds: Figure::exact(seconds), certainty: Certainty::Sure, queued_s: None };
    (longest >= LEAST_PART * time).then_some(finding)
}

/// A rank that had no processor in MPI may have taken so long for a message because of that.
fn messages(place: &WaitPlace, ranks: &Peers, time: f64, queue: &Queue) -> Option<Finding> {
    let seconds = place.working.divided(ranks.count as f64);
    let (below, above) = (seconds.value - seconds.low, seconds.high - seconds.value);
    let alone = Certainty::of(seconds.value, below).filter(|_| seconds.value >= LEAST_MESSAGES * time)?;
    let queued = queue.in_mpi_s() / ranks.count as f64;
    let certainty = Certainty::of(seconds.value, below + queued).unwrap_or(Certainty::Possible);
    let kind = FindingKind::Messages { calls: place.calls, messages: place.messages.0, bytes: place.messages.1 };
    Some(Finding {
        kind,
        region: place.operation,
        caller: place.caller,
        seconds: figure(seconds.value, below, above),
        certainty,
        queued_s: (certainty != alone).then_some(queued.min(seconds.value)),
    })
}
