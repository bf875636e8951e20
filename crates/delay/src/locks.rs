//! Locks: who asks for one that another location holds waits until that one releases it.
//!
//! Who comes first gets it, and nothing but time decides who that is. So what a location would have waited for unmeasured follows from
//! virtual times: a lock that was had by another one earlier in virtual time is waited for until its virtual release, whether it was
//! waited for or not; one that was waited for but would have been asked for later is not. The other one would then have waited in
//! its turn, which no model can make up for: that is told, so that it can be counted.
//!
//! Locks that threads take as often as they like, each for as short as they can, are met held at random ([`contended`]): who had a lock first
//! tells nothing of the unmeasured program, but how long it was held does.

use crate::completion::{Arrivals, Completion, Moment};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// A lock that another location had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holding {
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
        let was_first = holding.acquired.virtual_time() <= begin.virtual_time();
        let was_waited_for = holding.released.at > begin.at;
        let arrivals = match (was_first, was_waited_for) {
            (true, _) => self.arrivals.join(Arrivals::one(holding.released)),
            // Measured it was waited for; in virtual time it was free when it was asked for.
            (false, true) => {
                let delay = holding.released.at.0.cast_signed() - begin.virtual_time();
                self.arrivals.join(Arrivals::one(Moment { at: holding.released.at, delay }))
            }
            (false, false) => self.arrivals,
        };
        Self { arrivals, is_contradicted: self.is_contradicted || !was_first && was_waited_for }
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
    use std::vec::Vec;
    use tare_format::graph::DelayModel;
    use tare_format::ids::Ticks;

    const fn moment(at: u64, delay: i64) -> Moment {
        Moment { at: Ticks(at), delay }
    }

    fn end(begin: Moment, end: u64, queue: &Queue) -> Completion {
        complete(DelayModel::Virtual, begin, Ticks(end), &queue.arrivals)
    }

    #[test]
    fn what_overhead_made_longer_is_gained() {
        let queue = Queue::EMPTY.behind(moment(150, 0), Holding { acquired: moment(100, 0), released: moment(1_000, 700) });
        let done = end(moment(150, 0), 1_001, &queue);
        assert_eq!((done.wait, done.virtual_wait, done.delay), (850, 150, 700));
        assert!(!queue.is_contradicted);
    }

    #[test]
    fn a_lock_that_was_free_already_may_have_been_held_unmeasured() {
        let holding = Holding { acquired: moment(100, 0), released: moment(200, 0) };
        let done = end(moment(210, 60), 211, &Queue::EMPTY.behind(moment(210, 60), holding));
        assert_eq!((done.wait, done.virtual_wait), (0, 50));
    }

    #[test]
    fn who_would_have_asked_first_does_not_wait() {
        let holding = Holding { acquired: moment(100, 0), released: moment(200, 0) };
        let early = Queue::EMPTY.behind(moment(210, 160), holding);
        assert_eq!((early, end(moment(210, 160), 211, &early).gain()), (Queue::EMPTY, 0));
        let waited = Queue::EMPTY.behind(moment(150, 80), holding);
        let done = end(moment(150, 80), 201, &waited);
        assert_eq!((done.wait, done.virtual_wait, waited.is_contradicted), (50, 0, true));
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
        fn without_overhead_nothing_changes(begin in 1_u64..1000, acquired in 1_u64..1000, length in 1_u64..1000) {
            let released = acquired + length;
            // Who asks first and gets it later has been overtaken: the lock did not go by time.
            if acquired <= begin {
                let queue = Queue::EMPTY.behind(moment(begin, 0), Holding { acquired: moment(acquired, 0), released: moment(released, 0) });
                let done = end(moment(begin, 0), begin.max(released), &queue);
                prop_assert_eq!((done.gain(), queue.is_contradicted), (0, false));
            }
        }

        #[test]
        fn nobody_has_a_lock_before_who_was_first_in_virtual_time_gave_it_back(
            begin in 1_u64..1000, mine in 0_i64..500, acquired in 1_u64..1000, length in 1_u64..1000, theirs in 0_i64..500, more in 0_i64..100,
        ) {
            let (begin, released) = (moment(begin, mine), moment(acquired + length, theirs + more));
            let holding = Holding { acquired: moment(acquired, theirs), released };
            let done = end(begin, begin.at.0.max(released.at.0), &Queue::EMPTY.behind(begin, holding));
            let had = begin.at.0.max(released.at.0).cast_signed() - done.delay;
            if holding.acquired.virtual_time() <= begin.virtual_time() {
                prop_assert!(begin.at.0.cast_signed() + done.wait.cast_signed() - done.delay >= released.virtual_time());
            }
            prop_assert!(had >= begin.virtual_time());
        }
    }
}
