//! Clocks of several machines: a common time, and what each machine's own clock says to it.
//!
//! The virtual-time model needs one clock. On one machine that is the time-stamp counter. Machines among each other agree on
//! nanoseconds of one of them: each knows by how much its own system clock differs from that one, first from a round
//! trip (the answer is taken to be given in its middle, so that half the trip bounds the error), later from messages: none arrives
//! before it was sent. Where one seems to, the clock of its receiver is behind by at least that much, and is put forward. So
//! drift does not add up where messages go both ways: it is bounded by how long they are under way.

use crate::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;

/// One and the same instant in both clocks, and the pace of the own one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Agreement {
    /// Own clock.
    pub ticks: Ticks,
    /// Common time in nanoseconds.
    pub common_ns: i64,
    /// Nanoseconds of a tick of the own clock.
    pub ns_per_tick: f64,
}

impl Agreement {
    /// A moment of this machine as all of them understand it: nanoseconds, also of the delay.
    #[must_use]
    pub fn common(&self, own: Moment) -> Moment {
        let at = self.common_ns + rounded((own.at.0.wrapping_sub(self.ticks.0).cast_signed()) as f64 * self.ns_per_tick);
        Moment { at: Ticks(at.cast_unsigned()), delay: rounded(own.delay as f64 * self.ns_per_tick) }
    }

    /// A moment that another one tells, in the own clock.
    #[must_use]
    pub fn own(&self, common: Moment) -> Moment {
        let at = self.own_time(common.at.0.cast_signed());
        Moment { at: Ticks(at.cast_unsigned()), delay: self.own_span(common.delay) }
    }

    /// What others tell of several messages, in the own clock.
    #[must_use]
    pub fn own_arrivals(&self, common: Arrivals) -> Arrivals {
        if common.is_empty() { common } else { common.mapped(|at| self.own_time(at), |span| self.own_span(span)) }
    }

    /// By how many nanoseconds something that has happened would lie in the future.
    #[must_use]
    pub fn ahead(&self, common_ns: i64) -> i64 {
        common_ns.saturating_sub(self.common_ns).max(0)
    }

    fn own_time(&self, common_ns: i64) -> i64 {
        self.ticks.0.cast_signed().saturating_add(self.own_span(common_ns.saturating_sub(self.common_ns)))
    }

    fn own_span(&self, nanoseconds: i64) -> i64 {
        rounded(nanoseconds as f64 / self.ns_per_tick)
    }
}

/// By how much another clock differs, from round trips: when each was sent, when it was answered there, when the answer was here.
/// The shortest trip counts. What is to be added to the other clock, and how far that may be wrong; `None` without a trip.
#[must_use]
pub fn difference(trips: &[(i64, i64, i64)]) -> Option<(i64, i64)> {
    let &(sent, there, back) = trips.iter().min_by_key(|(sent, _, back)| back - sent)?;
    Some((sent + (back - sent) / 2 - there, (back - sent + 1) / 2))
}

fn rounded(value: f64) -> i64 {
    // `f64::round` is not in `core`.
    (if value < 0.0 { value - 0.5 } else { value + 0.5 }) as i64
}

#[cfg(test)]
mod tests {
    use super::{Agreement, difference};
    use crate::completion::{Arrivals, Moment, complete};
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
    use std::vec::Vec;
    use tare_format::graph::DelayModel;
    use tare_format::ids::Ticks;

    #[test]
    fn the_shortest_trip_says_by_how_much_clocks_differ() {
        assert_eq!(difference(&[(100, 1_000_130, 140), (200, 1_000_215, 230), (300, 1_000_390, 400)]), Some((-1_000_000, 15)));
        assert_eq!(difference(&[]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn the_truth_lies_within_what_a_trip_leaves_open(
            apart in -1_i64 << 40..1 << 40, trips in proptest::collection::vec((0_i64..1 << 30, 1_i64..50_000, 1_i64..50_000), 1..20),
        ) {
            let trips: Vec<_> = trips.into_iter().map(|(at, there, back)| (at, at + there - apart, at + there + back)).collect();
            let (found, error) = difference(&trips).expect("a trip");
            prop_assert!((found - apart).abs() <= error, "{found} is not {apart} ± {error}");
        }

        /// Two machines whose clocks run at different paces and begin at different times: a message from one to the other does what
        /// it would do between two processes of the second.
        #[test]
        fn a_message_between_machines_does_what_one_within_a_machine_does(
            starts in (0_u64..1 << 50, 0_u64..1 << 50), paces in (0.2_f64..1.0, 0.2_f64..1.0),
            sent in 0_i64..1_000_000, delay in 0_i64..500_000, begin in 0_i64..1_000_000, wait in 0_i64..1_000_000, own in 0_i64..500_000,
        ) {
            let machine = |start: u64, pace: f64, ns: i64| Ticks(start + (ns as f64 / pace) as u64);
            let (there, here) = (|ns| machine(starts.0, paces.0, ns), |ns| machine(starts.1, paces.1, ns));
            let now = 3_000_000;
            let agreed = |ticks, ns_per_tick| Agreement { ticks, common_ns: now, ns_per_tick };
            let told = agreed(there(now), paces.0).common(Moment { at: there(sent), delay: (delay as f64 / paces.0) as i64 });
            let heard = agreed(here(now), paces.1).own_arrivals(Arrivals::one(told));
            let direct = Arrivals::one(Moment { at: here(sent), delay: (delay as f64 / paces.1) as i64 });
            let (begin, end) = (Moment { at: here(begin), delay: (own as f64 / paces.1) as i64 }, here(begin + wait));
            let [heard, direct] = [heard, direct].map(|arrived| complete(DelayModel::Virtual, begin, end, &arrived));
            prop_assert!((heard.delay - direct.delay).abs() <= 20, "{heard:?} is not {direct:?}");
        }

        #[test]
        fn what_is_told_comes_back_the_same(ticks in 0_u64..1 << 50, at in 0_u64..1 << 50, delay in -1_i64 << 40..1 << 40) {
            let agreed = Agreement { ticks: Ticks(ticks), common_ns: 77, ns_per_tick: 0.5 };
            let own = Moment { at: Ticks(at & !1 | ticks & 1), delay: delay & !1 };
            prop_assert_eq!(agreed.own(agreed.common(own)), own);
        }
    }
}
