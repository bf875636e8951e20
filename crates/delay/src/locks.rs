//! Locks: who asks for one that another location holds waits until that one releases it.
//!
//! Nothing but time decides who gets it first, and who waits long enough follows all that had it before. So it is taken to go from one to the
//! other unmeasured as it did measured: one that was waited for is waited for until its virtual release; so is one that was not waited for, but was had
//! by another one earlier in virtual time. Where virtual times say that the others would have asked later, they would have waited in the place of the
//! one that did: as much is waited in all, by whom no model tells. That is told, so that it can be counted. (To let the one that waited go
//! free in such cases takes off waits that others would have had: a third of the time where three queue for a lock.)
//!
//! Locks that threads take as often as they like, each for as short as they can, are met held at random ([`contended`]): who had a lock first
//! tells nothing of the unmeasured program, but how long it was held does.

use crate::completion::{Arrivals, Completion, Moment};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// A lock that another location had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holding {
    /// When it asked for it.
    pub asked: Moment,
    /// When it got it.
    pub acquired: Moment,
    /// When it gave it back.
    pub released: Moment,
}

/// What a lock that was asked for at `begin` depended on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// The releases.
    pub arrivals: Arrivals,
    /// Whether virtual times contradict that another one had it first.
    pub is_contradicted: bool,
}

impl Queue {
    /// Nobody had it.
    pub const EMPTY: Self = Self { arrivals: Arrivals::NONE, is_contradicted: false };

    /// Both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { arrivals: self.arrivals.join(other.arrivals), is_contradicted: self.is_contradicted || other.is_contradicted }
    }

    /// Another location had it before.
    #[must_use]
    pub fn behind(self, begin: Moment, holding: Holding) -> Self {
        let Holding { asked, acquired, released } = holding;
        let was_waited_for = released.at > begin.at;
        let is_behind = was_waited_for || acquired.virtual_time() <= begin.virtual_time();
        let arrivals = if is_behind { self.arrivals.join(Arrivals::one(released)) } else { self.arrivals };
        // Some libraries do not give it to who has asked first: then virtual times do not contradict that.
        let is_contradicted = was_waited_for && asked.at <= begin.at && asked.virtual_time() > begin.virtual_time();
        Self { arrivals, is_contradicted: self.is_contradicted || is_contradicted }
    }
}

/// A lock that was asked for at `begin` and had at `end`, while those who had it before gained `overhead` ticks of delay with it in their hands.
///
/// Met at random, a lock that is held for h is waited for with a probability that grows as h, for h/2 in the mean: for h²/2 in all. Of that,
/// an overhead d within h takes h·d (to the first order), which is d for each wait. Where threads queue for the lock at all times, each waits
/// for less by all that those before it gained, which is the same. So it waited for that much longer than unmeasured, and for no more than it did.
#[must_use]
pub fn contended(model: DelayModel, begin: Moment, end: Ticks, overhead: i64) -> Completion {
    if model == DelayModel::Off {
        return Completion::alone(begin);
    }
    let wait = end.0.saturating_sub(begin.at.0);
    let gain = overhead.clamp(0, i64::try_from(wait).unwrap_or(i64::MAX));
    Completion { delay: begin.delay + gain, wait, virtual_wait: wait - gain.unsigned_abs(), margin: i64::MAX }
}

#[cfg(test)]
mod tests {
    use super::{Holding, Queue, contended};
    use crate::completion::{Completion, Moment, complete};
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
    use std::vec;
    use std::vec::Vec;
    use tare_format::graph::DelayModel;
    use tare_format::ids::Ticks;

    const fn moment(at: u64, delay: i64) -> Moment {
        Moment { at: Ticks(at), delay }
    }

    fn end(begin: Moment, end: u64, queue: &Queue) -> Completion {
        complete(DelayModel::Virtual, begin, Ticks(end), &queue.arrivals)
    }

    /// Had at once when it was asked for.
    const fn had(acquired: Moment, released: Moment) -> Holding {
        Holding { asked: acquired, acquired, released }
    }

    #[test]
    fn what_overhead_made_longer_is_gained() {
        let queue = Queue::EMPTY.behind(moment(150, 0), had(moment(100, 0), moment(1_000, 700)));
        let done = end(moment(150, 0), 1_001, &queue);
        assert_eq!((done.wait, done.virtual_wait, done.delay), (850, 150, 700));
        assert!(!queue.is_contradicted);
    }

    #[test]
    fn a_lock_that_was_free_already_may_have_been_held_unmeasured() {
        let done = end(moment(210, 60), 211, &Queue::EMPTY.behind(moment(210, 60), had(moment(100, 0), moment(200, 0))));
        assert_eq!((done.wait, done.virtual_wait), (0, 50));
    }

    #[test]
    fn who_would_have_asked_first_waits_in_the_order_that_was_and_it_is_told() {
        let holding = had(moment(100, 0), moment(200, 0));
        let early = Queue::EMPTY.behind(moment(210, 160), holding);
        assert_eq!((early, end(moment(210, 160), 211, &early).gain()), (Queue::EMPTY, 0));
        let waited = Queue::EMPTY.behind(moment(150, 80), holding);
        let done = end(moment(150, 80), 201, &waited);
        assert_eq!((done.wait, done.virtual_wait, waited.is_contradicted), (50, 130, true));
    }

    #[test]
    fn who_had_it_next_among_those_that_queue_is_no_contradiction() {
        // Asked before, and got it while the other one waited already; or was let in though it came later.
        for asked in [90, 120] {
            let holding = Holding { asked: moment(asked, 0), acquired: moment(150, 0), released: moment(200, 10) };
            let queue = Queue::EMPTY.behind(moment(110, 0), holding);
            let done = end(moment(110, 0), 201, &queue);
            assert_eq!((done.wait, done.virtual_wait, queue.is_contradicted), (90, 80, false));
        }
    }

    /// Processes that take a lock over and over, each of their steps at random, in the order in which they ask: what is taken off leaves the time of the
    /// unmeasured run, also where they queue at all times and hide overhead in that.
    #[test]
    fn a_lock_that_processes_queue_for_leaves_the_unmeasured_time() {
        const HELD: u64 = 40;
        for (processes, apart, within, outside) in
            [(2, 200, 20, 0), (2, 60, 0, 40), (3, 200, 20, 60), (3, 60, 20, 0), (3, 60, 0, 40), (4, 60, 20, 60)]
        {
            let mut seed = 1_u64;
            let mut random = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % apart
            };
            let steps: Vec<Vec<u64>> = (0..processes).map(|_| (0..5_000).map(|_| random()).collect()).collect();
            let run = |within: u64, outside: u64| {
                let mut here = vec![moment(0, 0); processes];
                let mut next = vec![0; processes];
                let mut had: Vec<(usize, Holding)> = Vec::new();
                let asks = |here: &[Moment], next: &[usize], process: usize| {
                    let after = steps[process].get(next[process])? + outside;
                    Some(moment(here[process].at.0 + after, here[process].delay + outside.cast_signed()))
                };
                while let Some((process, begin)) =
                    (0..processes).filter_map(|process| Some((process, asks(&here, &next, process)?))).min_by_key(|(_, begin)| begin.at.0)
                {
                    let free = had.last().map_or(0, |(_, last)| last.released.at.0);
                    let recent = had.iter().rev().take(processes + 1).filter(|(other, _)| *other != process);
                    let queue = recent.fold(Queue::EMPTY, |queue, (_, holding)| queue.behind(begin, *holding));
                    let got = begin.at.0.max(free);
                    let acquired = moment(got, end(begin, got, &queue).delay);
                    let released = moment(got + HELD + within, acquired.delay + within.cast_signed());
                    had.push((process, Holding { asked: begin, acquired, released }));
                    (here[process], next[process]) = (released, next[process] + 1);
                }
                let mean = |value: fn(&Moment) -> f64| here.iter().map(value).sum::<f64>() / processes as f64;
                (mean(|end| end.at.0 as f64), mean(|end| end.delay as f64))
            };
            let (unmeasured, none) = run(0, 0);
            assert!(none.abs() < 1e-9 * unmeasured, "{none} of {unmeasured}");
            let (measured, delay) = run(within, outside);
            let error = (measured - delay) / unmeasured - 1.0;
            assert!(error.abs() < 0.04, "{processes} processes, {apart}, {within}, {outside}: {error} of {unmeasured}, {measured} measured");
        }
    }

    #[test]
    fn who_meets_a_held_lock_gains_what_its_holder_gained() {
        let done = contended(DelayModel::Virtual, moment(100, 7), Ticks(600), 300);
        assert_eq!((done.wait, done.virtual_wait, done.delay), (500, 200, 307));
        // It came in when most of that had passed.
        let late = contended(DelayModel::Virtual, moment(500, 7), Ticks(600), 300);
        assert_eq!((late.wait, late.virtual_wait, late.delay), (100, 0, 107));
        assert_eq!(contended(DelayModel::Virtual, moment(100, 7), Ticks(600), 0).gain(), 0);
        assert_eq!(contended(DelayModel::Virtual, moment(100, 7), Ticks(600), -5).gain(), 0);
    }

    /// Two threads that take a lock over and over, each step of them at random: as the unmeasured ones, but for overhead with the lock in
    /// hand and without. What is taken off leaves the time of the unmeasured run.
    #[test]
    fn a_lock_met_at_random_leaves_the_unmeasured_time() {
        const HELD: u64 = 40;
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let apart: Vec<[u64; 2]> = (0..40_000).map(|_| [random(200), random(200)]).collect();
        // Runs all steps; the mean end in real time, and what is left of that without delay.
        let run = |within: u64, outside: u64| {
            let (mut at, mut delays, mut next) = ([0_u64; 2], [0_i64; 2], [0_usize; 2]);
            let (mut free, mut gained_by_last) = (0_u64, 0_i64);
            while let Some(thread) =
                (0..2).filter(|&thread| next[thread] < apart.len()).min_by_key(|&thread| at[thread] + apart[next[thread]][thread])
            {
                at[thread] += apart[next[thread]][thread] + outside;
                delays[thread] += outside.cast_signed();
                let begin = moment(at[thread], delays[thread]);
                let had = at[thread].max(free);
                if had > at[thread] {
                    delays[thread] = contended(DelayModel::Virtual, begin, Ticks(had), gained_by_last).delay;
                }
                at[thread] = had + HELD + within;
                delays[thread] += within.cast_signed();
                (free, gained_by_last) = (at[thread], within.cast_signed());
                next[thread] += 1;
            }
            let mean = |values: [f64; 2]| f64::midpoint(values[0], values[1]);
            (mean(at.map(|at| at as f64)), mean(delays.map(|delay| delay as f64)))
        };
        let (unmeasured, none) = run(0, 0);
        assert_eq!(none, 0.0);
        // What overhead between two holds makes meetings rarer is not made up for.
        for (within, outside, tolerance) in [(10, 0, 0.01), (40, 0, 0.01), (0, 60, 0.03), (20, 100, 0.03)] {
            let (measured, delay) = run(within, outside);
            let error = (measured - delay) / unmeasured - 1.0;
            assert!(error.abs() < tolerance, "{within}, {outside}: {error} of {unmeasured}, {measured} measured");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn without_overhead_nothing_changes(begin in 1_u64..1000, asked in 1_u64..1000, waited in 0_u64..1000, length in 1_u64..1000) {
            let [asked, acquired, released] = [asked, asked + waited, asked + waited + length].map(|at| moment(at, 0));
            // Who is past both is none that another one is behind.
            if released.at.0 > begin || acquired.at.0 <= begin {
                let queue = Queue::EMPTY.behind(moment(begin, 0), Holding { asked, acquired, released });
                let done = end(moment(begin, 0), begin.max(released.at.0), &queue);
                prop_assert_eq!((done.gain(), queue.is_contradicted), (0, false));
            }
        }

        #[test]
        fn nobody_has_a_lock_before_who_was_first_gave_it_back(
            begin in 1_u64..1000, mine in 0_i64..500, acquired in 1_u64..1000, length in 1_u64..1000, theirs in 0_i64..500, more in 0_i64..100,
        ) {
            let (begin, released) = (moment(begin, mine), moment(acquired + length, theirs + more));
            let holding = had(moment(acquired, theirs), released);
            let done = end(begin, begin.at.0.max(released.at.0), &Queue::EMPTY.behind(begin, holding));
            let got = begin.at.0.max(released.at.0).cast_signed() - done.delay;
            if holding.acquired.virtual_time() <= begin.virtual_time() || released.at > begin.at {
                prop_assert!(begin.at.0.cast_signed() + done.wait.cast_signed() - done.delay >= released.virtual_time());
            }
            prop_assert!(got >= begin.virtual_time());
        }
    }
}
