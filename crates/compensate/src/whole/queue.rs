//! What ranks lost because they had no processor, and the finding that says so.
//!
//! What could be won is bounded by each rank: with a processor all the time it would have been done earlier at most by what it queued for
//! outside of MPI, what of its MPI operations besides waiting it queued for, and what it waited for others that may have been late by the same.
//! The run cannot become shorter than any of its ranks, nor by more than all of them queued for together. How far that is known follows from how
//! the kernel was asked: see [`Shortage::unsure_s`].

use std::collections::BTreeMap;

use tare_profile::Profile;

use crate::Compensated;
use crate::crowd::sharing;
use crate::figure::Figure;
use crate::whole::finding::{Certainty, Finding, FindingKind};
use crate::whole::peers::Peers;
use crate::whole::shortage::{Shortage, shortages};

/// That a rank had no processor is only a finding from this part of the run's time on, where it explains no waiting.
const LEAST_SHORTAGE: f64 = 0.05;

/// How long ranks, or threads of teams, had no processor.
pub(super) struct Queue {
    /// With the number of each, by number.
    shortages: Vec<(u32, Shortage)>,
}

/// Waiting that comes of work: seconds, of all that wait.
#[derive(Clone, Copy, Default)]
pub(super) struct ByWork {
    /// With processors shared as they were by both, those that wait and those for which they wait.
    pub(super) as_it_was_s: f64,
    /// Had all had a processor all the time.
    pub(super) alone_s: f64,
}

impl ByWork {
    /// In the mean over so many, no longer than so many seconds.
    pub(super) fn mean(self, most_s: f64, count: usize) -> Self {
        let mean = |seconds: f64| seconds.min(most_s) / count as f64;
        Self { as_it_was_s: mean(self.as_it_was_s), alone_s: mean(self.alone_s) }
    }
}

impl Queue {
    pub(super) fn of(profile: &Profile, compensated: &Compensated) -> Self {
        // A process alone is like a single rank.
        let alone = (profile.processes.len() == 1).then_some(0);
        let ranked = |shortage: Shortage| profile.processes[shortage.process].rank.or(alone).map(|rank| (rank, shortage));
        let mut shortages: Vec<(u32, Shortage)> = shortages(profile, compensated).into_iter().filter_map(ranked).collect();
        shortages.sort_by_key(|(rank, _)| *rank);
        Self { shortages }
    }

    /// Of threads by their numbers: of those of several processes with one number, the one that had none longest.
    pub(super) fn of_threads(profile: &Profile, compensated: &Compensated, threads: &Peers) -> Self {
        let mut longest: BTreeMap<u32, Shortage> = BTreeMap::new();
        for (at, (location, figures)) in profile.locations.iter().zip(&compensated.locations).enumerate() {
            let number = threads.number(at);
            let Some((number, shortage)) = number.and_then(|number| Some((number, Shortage::of_thread(profile, location, figures)?))) else {
                continue;
            };
            let known = longest.entry(number).or_insert(shortage);
            if shortage.queued_s > known.queued_s {
                *known = shortage;
            }
        }
        Self { shortages: longest.into_iter().collect() }
    }

    /// Seconds by which these ranks may be late because they had none: outside of MPI, and in it where they did not wait themselves, which would
    /// have taken as long with one. Where these are none, and so all are late in turn, the longest for which any rank had none.
    pub(super) fn lateness(&self, awaited: &[u32]) -> f64 {
        let all = || self.shortages.iter().map(|(_, shortage)| shortage);
        if awaited.is_empty() {
            return all().map(|shortage| shortage.queued_s + shortage.in_mpi_s).fold(0.0, f64::max);
        }
        let is_awaited = |rank: &u32| awaited.binary_search(rank).is_ok();
        let late = self.shortages.iter().filter(|(rank, _)| is_awaited(rank));
        late.map(|(_, shortage)| shortage.queued_s + shortage.stalled_s).fold(0.0, f64::max)
    }

    /// For how long those that wait somewhere do so because those for which they wait have more to do: the work itself is what these had a
    /// processor for beyond what the waiter had one for.
    pub(super) fn lateness_by_work(&self, waiters: &[(u32, f64)], awaited: &[u32]) -> ByWork {
        let of = |rank: u32| self.shortages.binary_search_by_key(&rank, |(rank, _)| *rank).ok().map(|index| &self.shortages[index].1);
        let by_work = |one: &&Shortage, other: &&Shortage| one.worked_s().total_cmp(&other.worked_s());
        let Some(longest) = awaited.iter().filter_map(|rank| of(*rank)).max_by(by_work) else { return ByWork::default() };
        let sum = |stretch: &dyn Fn(&Shortage) -> f64| {
            let waits = |&(rank, seconds): &(u32, f64)| {
                of(rank).map_or(0.0, |own| (stretch(own) * (longest.worked_s() - own.worked_s())).clamp(0.0, seconds))
            };
            waiters.iter().map(waits).sum::<f64>()
        };
        ByWork { as_it_was_s: sum(&|own| own.stretch().min(longest.stretch())), alone_s: sum(&|_| 1.0) }
    }

    /// How far it is unknown what these ranks queued for outside of MPI, of that of which it is known least.
    pub(super) fn unsure_s(&self, ranks: &[u32]) -> f64 {
        let of_these = self.shortages.iter().filter(|(rank, _)| ranks.binary_search(rank).is_ok());
        of_these.map(|(_, shortage)| shortage.unsure_s.min(shortage.in_all_s)).fold(0.0, f64::max)
    }

    /// Seconds in MPI for which ranks had none, of all of them.
    pub(super) fn in_mpi_s(&self) -> f64 {
        self.shortages.iter().map(|(_, shortage)| shortage.in_mpi_s).sum()
    }

    /// That ranks had none, where that is much, or much waiting may come of it: so much could be won, where that can be told. Beside it the
    /// seconds of waiting, mean over the ranks, that it may explain: a second for which one of those that are named had none makes each of
    /// the others wait for no more than a second.
    pub(super) fn finding(&self, profile: &Profile, time: f64, late: f64) -> Option<(Finding, f64)> {
        let by_length = |one: &&(u32, Shortage), other: &&(u32, Shortage)| one.1.queued_s.total_cmp(&other.1.queued_s);
        let &(_, first) = self.shortages.iter().max_by(by_length)?;
        let is_much = first.queued_s >= LEAST_SHORTAGE * time && first.is_told();
        let seconds = self.gain(time);
        let certainty = Certainty::of(seconds.value, seconds.value - seconds.low);
        // What is not known apart is told, and compared, as a sum.
        let told = |shortage: &Shortage| if first.is_split_known() { shortage.queued_s } else { shortage.in_all_s };
        let longest = self.shortages.iter().map(|(_, shortage)| *shortage).max_by(|one, other| told(one).total_cmp(&told(other)))?;
        let named: Vec<&(u32, Shortage)> = self.shortages.iter().filter(|(_, shortage)| told(shortage) >= 0.5 * told(&longest)).collect();
        let explains = late.min(named.iter().map(|(_, shortage)| shortage.queued_s + shortage.in_mpi_s).sum());
        let explains_much = explains >= LEAST_SHORTAGE * time;
        if !is_much && !explains_much || seconds.value <= 0.0 {
            return None;
        }
        let region = profile.locations.iter().find(|location| location.process.0 == first.process)?.nodes.first()?.region;
        let kind = FindingKind::NoProcessor {
            ranks: named.iter().map(|(rank, _)| *rank).collect(),
            longest,
            sharing: sharing(profile, &profile.processes[longest.process].host),
            explains,
        };
        let finding = Finding { kind, region, caller: None, seconds, certainty: certainty.unwrap_or(Certainty::Open), queued_s: None };
        Some((finding, explains))
    }

    /// By how much the run could have been shorter at most, with how far that is known.
    fn gain(&self, time: f64) -> Figure {
        let bound = |lost: &dyn Fn(&Shortage) -> f64| {
            let of_ranks = self.shortages.iter().map(|(_, shortage)| lost(shortage) + shortage.waited_s);
            let together: f64 = self.shortages.iter().map(|(_, shortage)| lost(shortage)).sum();
            of_ranks.fold(time.min(together), f64::min)
        };
        let value = bound(&|shortage| shortage.queued_s + shortage.stalled_s);
        let low = bound(&|shortage| shortage.queued_s - shortage.unsure_s.min(shortage.queued_s));
        let high = bound(&|shortage| shortage.queued_s + shortage.stalled_s + shortage.unsure_s.min(shortage.in_mpi_s));
        Figure { value, low, high, mark: None }
    }
}
