//! The end of an operation that waits for other locations: a receive, a completion of several requests, a
//! collective.
//!
//! A sender sends at S with delay x₁; the operation begins at Rb with the delay x₂ and ends at Re.
//!
//! * **Delay model** (paper 1), with w = Re − Rb: x₁ ≥ x₂ + w → w′ = 0, else w′ = w + (x₂ − x₁); in both
//!   cases x₂′ = min(x₁, x₂ + w). It needs no common clock and cannot see slack: of a message that was there
//!   before the receive began, it believes that the receive would have waited for it where x₁ < x₂.
//! * **Virtual-time model**: x₂′ = max(S, Rb) − max(S − x₁, Rb − x₂), which equals
//!   min(x₁ + max(0, Rb − S), x₂ + max(0, S − Rb)); w = max(0, S − Rb) and w′ = max(0, (S − x₁) − (Rb − x₂)).
//!
//! Several messages are one maximum over the operation's begin and all of them, not one after the other; in
//! the delay model the least delay counts, as for paper 1's collectives. A collective is a completion of the
//! messages of those ranks that it depends on: everybody's where all depend on all (x′ = max E − max V for
//! each), the root's for broadcast and scatter, everybody's at the root of reduce and gather, the lower ranks'
//! for scans. Such rooted kinds are built as trees and chains, in which ranks wait for others than those that they
//! need data from; [`Arrivals::least`] and [`Arrivals::most`] bound what that can do.
//!
//! The closed form above is exact where a message takes as long to arrive as it costs to receive one that is
//! there; it is off by no more than these two differ. Where both are known, [`complete_exactly`] needs no such thing.
//!
//! What always holds: the new delay is the old one plus measured wait minus virtual wait; nobody ends before
//! the virtual time at which the last message was sent; without any delay nothing changes.

use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// An event of a location: when it happened, and the location's delay at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Real time.
    pub at: Ticks,
    /// Delay in ticks; negative where measuring brought the event forward.
    pub delay: i64,
}

impl Moment {
    /// When the event would have happened unmeasured.
    #[must_use]
    pub const fn virtual_time(self) -> i64 {
        self.at.0.cast_signed().wrapping_sub(self.delay)
    }
}

/// The messages (or entries of other ranks) that an operation depended on, as far as they matter.
///
/// Joining is commutative, associative and idempotent, so that any reduction by maximum over
/// [`Arrivals::to_words`] joins the arrivals of many ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrivals {
    sent: i64,
    sent_virtually: i64,
    least_delay: i64,
}

impl Arrivals {
    /// Nothing arrived.
    pub const NONE: Self = Self { sent: i64::MIN, sent_virtually: i64::MIN, least_delay: i64::MAX };

    /// One message.
    #[must_use]
    pub const fn one(sent: Moment) -> Self {
        Self { sent: sent.at.0.cast_signed(), sent_virtually: sent.virtual_time(), least_delay: sent.delay }
    }

    /// Both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self {
            sent: self.sent.max(other.sent),
            sent_virtually: self.sent_virtually.max(other.sent_virtually),
            least_delay: self.least_delay.min(other.least_delay),
        }
    }

    /// Whether nothing arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// When the last message was sent; `i64::MIN` where nothing arrived.
    #[must_use]
    pub const fn last_sent(&self) -> i64 {
        self.sent
    }

    /// The virtual time at which the last message was sent; `i64::MIN` where nothing arrived.
    #[must_use]
    pub const fn last_sent_virtually(&self) -> i64 {
        self.sent_virtually
    }

    /// What arrived if the operation waited for `self` surely and perhaps for some of `possible`: the choice that
    /// leaves the least delay. The true delay is not below it, whatever the operation waited for in between.
    #[must_use]
    pub fn least(self, possible: Self) -> Self {
        Self { sent_virtually: self.sent_virtually.max(possible.sent_virtually), ..self }
    }

    /// The same with the choice that leaves the most delay.
    #[must_use]
    pub fn most(self, possible: Self) -> Self {
        Self { sent: self.sent.max(possible.sent), ..self }
    }

    /// The same as another clock says it: its times, and its delays.
    pub(crate) fn mapped(self, time: impl Fn(i64) -> i64, delay: impl Fn(i64) -> i64) -> Self {
        Self { sent: time(self.sent), sent_virtually: time(self.sent_virtually), least_delay: delay(self.least_delay) }
    }

    /// Three words whose element-wise maximum over several arrivals is their [`Arrivals::join`].
    #[must_use]
    pub const fn to_words(self) -> [i64; 3] {
        [self.sent, self.sent_virtually, !self.least_delay]
    }

    /// From the three words.
    #[must_use]
    pub const fn from_words(words: [i64; 3]) -> Self {
        Self { sent: words[0], sent_virtually: words[1], least_delay: !words[2] }
    }
}

impl FromIterator<Moment> for Arrivals {
    fn from_iter<I: IntoIterator<Item = Moment>>(moments: I) -> Self {
        moments.into_iter().map(Self::one).fold(Self::NONE, Self::join)
    }
}

/// What an operation did to a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The location's delay after it.
    pub delay: i64,
    /// Ticks waited, as measured.
    pub wait: u64,
    /// Ticks that it would have waited unmeasured.
    pub virtual_wait: u64,
    /// By how much the location could be earlier in virtual time before it would wait; only where it would not have waited.
    pub margin: i64,
}

impl Completion {
    /// An operation that waited for nobody.
    #[must_use]
    pub const fn alone(begin: Moment) -> Self {
        Self { delay: begin.delay, wait: 0, virtual_wait: 0, margin: i64::MAX }
    }

    /// Delay gained (negative: lost).
    #[must_use]
    pub const fn gain(&self) -> i64 {
        self.wait.cast_signed() - self.virtual_wait.cast_signed()
    }
}

/// The end of an operation that began at `begin`, depended on `arrivals` and returned at `end`.
#[must_use]
pub fn complete(model: DelayModel, begin: Moment, end: Ticks, arrivals: &Arrivals) -> Completion {
    if arrivals.is_empty() {
        return Completion::alone(begin);
    }
    let margin = begin.virtual_time().saturating_sub(arrivals.sent_virtually);
    let (wait, virtual_wait) = match model {
        DelayModel::Off => return Completion::alone(begin),
        DelayModel::Delay => {
            let wait = end.0.saturating_sub(begin.at.0);
            (wait, positive(begin.delay.saturating_add(wait.cast_signed()).saturating_sub(arrivals.least_delay)))
        }
        DelayModel::Virtual => {
            let wait = positive(arrivals.sent.saturating_sub(begin.at.0.cast_signed()));
            (wait, positive(arrivals.sent_virtually.saturating_sub(begin.virtual_time())))
        }
    };
    Completion { delay: begin.delay + wait.cast_signed() - virtual_wait.cast_signed(), wait, virtual_wait, margin }
}

/// The end of an operation that would have cost `cost` had everything been there, where `available` is the virtual time
/// at which everything was there: x′ = Re − max(Rb − x + c, V + ℓ).
#[must_use]
pub fn complete_exactly(begin: Moment, end: Ticks, cost: u64, available: i64) -> Completion {
    let (begun, end, cost) = (begin.at.0.cast_signed(), end.0.cast_signed(), cost.cast_signed());
    let margin = (begin.virtual_time() + cost).saturating_sub(available);
    let virtual_wait = positive(margin.saturating_neg());
    let wait = positive(end - begun - cost);
    Completion { delay: begin.delay + (end - begun - cost) - virtual_wait.cast_signed(), wait, virtual_wait, margin }
}

/// The number, or nothing where it is negative.
const fn positive(value: i64) -> u64 {
    if value > 0 { value.unsigned_abs() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Moment, complete, complete_exactly};
    use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
    use std::vec::Vec;
    use tare_format::graph::DelayModel;
    use tare_format::ids::Ticks;

    fn moment(at: u64, delay: i64) -> Moment {
        Moment { at: Ticks(at), delay }
    }

    #[test]
    fn a_message_that_waited_before_the_receive_began_is_not_waited_for() {
        let (sent, begin) = (moment(1_000, 10), moment(5_000, 400));
        let now = complete(DelayModel::Virtual, begin, Ticks(5_001), &Arrivals::one(sent));
        assert_eq!((now.delay, now.wait, now.virtual_wait), (400, 0, 0));
        let paper = complete(DelayModel::Delay, begin, Ticks(5_001), &Arrivals::one(sent));
        assert_eq!(paper.delay, 10, "the delay model has no eyes for slack");
    }

    #[test]
    fn off_changes_nothing() {
        let end = complete(DelayModel::Off, moment(5, 3), Ticks(99), &Arrivals::one(moment(50, 40)));
        assert_eq!((end.delay, end.gain()), (3, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn overhead_that_nobody_had_stays_nothing(begin in 1_u64..1 << 40, sent in proptest::collection::vec(1_u64..1 << 40, 0..9)) {
            let arrivals: Arrivals = sent.iter().map(|&at| moment(at, 0)).collect();
            let end = complete(DelayModel::Virtual, moment(begin, 0), Ticks(1 << 41), &arrivals);
            prop_assert_eq!((end.delay, end.wait), (0, end.virtual_wait));
        }

        #[test]
        fn both_ways_to_write_the_closed_form_are_equal(
            s in 0_u64..1 << 40, x1 in 0_i64..1 << 38, rb in 0_u64..1 << 40, x2 in 0_i64..1 << 38,
        ) {
            let end = complete(DelayModel::Virtual, moment(rb, x2), Ticks(1 << 41), &Arrivals::one(moment(s, x1)));
            let (s, rb) = (s.cast_signed(), rb.cast_signed());
            prop_assert_eq!(end.delay, (x1 + (rb - s).max(0)).min(x2 + (s - rb).max(0)));
        }

        #[test]
        fn the_exact_form_with_equal_costs_is_the_closed_form(
            s in 0_u64..1 << 40, x1 in 0_i64..1 << 38, rb in 0_u64..1 << 40, x2 in 0_i64..1 << 38, cost in 0_u64..1 << 20,
        ) {
            let (sent, begin) = (moment(s, x1), moment(rb, x2));
            let end = Ticks(s.max(rb) + cost);
            let exact = complete_exactly(begin, end, cost, sent.virtual_time() + cost.cast_signed());
            prop_assert_eq!(exact, complete(DelayModel::Virtual, begin, end, &Arrivals::one(sent)));
        }

        #[test]
        fn the_closed_form_is_off_by_no_more_than_messages_and_receives_differ(
            s in 0_u64..1 << 20, x1 in 0_i64..1 << 19, rb in 0_u64..1 << 20, x2 in 0_i64..1 << 19, lag in 0_u64..1 << 19, cost in 0_u64..1 << 19,
        ) {
            let (sent, begin) = (moment(s, x1), moment(rb, x2));
            let end = Ticks((s + lag).max(rb + cost));
            let exact = complete_exactly(begin, end, cost, sent.virtual_time() + lag.cast_signed()).delay;
            let closed = complete(DelayModel::Virtual, begin, end, &Arrivals::one(sent)).delay;
            prop_assert!(exact.abs_diff(closed) <= lag.abs_diff(cost));
            // Where the message is late both ways, or there in time both ways, nothing is off.
            let late = s >= rb + cost && sent.virtual_time() >= begin.virtual_time() + cost.cast_signed();
            let there = s + lag <= rb && sent.virtual_time() + lag.cast_signed() <= begin.virtual_time();
            prop_assert!(!(late || there) || exact == closed);
        }

        #[test]
        fn the_true_delay_lies_between_the_least_and_the_most(
            needed in proptest::collection::vec((0_u64..1 << 20, 0_i64..1 << 19), 1..4),
            others in proptest::collection::vec((0_u64..1 << 20, 0_i64..1 << 19, proptest::prelude::any::<bool>()), 0..6),
            rb in 0_u64..1 << 20, x2 in 0_i64..1 << 19,
        ) {
            let needed: Arrivals = needed.iter().map(|&(at, delay)| moment(at, delay)).collect();
            let possible: Arrivals = others.iter().map(|&(at, delay, _)| moment(at, delay)).collect();
            let waited: Arrivals = others.iter().filter(|other| other.2).map(|&(at, delay, _)| moment(at, delay)).collect();
            let end = |arrivals| complete(DelayModel::Virtual, moment(rb, x2), Ticks(1 << 41), &arrivals).delay;
            let truth = end(needed.join(waited));
            prop_assert!(end(needed.least(possible)) <= truth && truth <= end(needed.most(possible)));
        }

        #[test]
        fn nobody_ends_before_the_virtual_send(
            sent in proptest::collection::vec((0_u64..1 << 40, -100_i64..1 << 38), 1..9), rb in 0_u64..1 << 40, x2 in -100_i64..1 << 38,
        ) {
            let arrivals: Arrivals = sent.iter().map(|&(at, delay)| moment(at, delay)).collect();
            let end = complete(DelayModel::Virtual, moment(rb, x2), Ticks(1 << 41), &arrivals);
            let finished = sent.iter().map(|&(at, _)| at).max().unwrap_or(0).max(rb).cast_signed();
            prop_assert!(sent.iter().all(|&(at, delay)| finished - end.delay >= moment(at, delay).virtual_time()));
            prop_assert!(finished - end.delay >= moment(rb, x2).virtual_time());
        }

        #[test]
        fn words_join_by_their_maximum(a in any::<[i64; 3]>(), b in any::<[i64; 3]>()) {
            let (a, b) = (Arrivals::from_words(a), Arrivals::from_words(b));
            let greatest: Vec<i64> = a.to_words().iter().zip(b.to_words()).map(|(&a, b)| a.max(b)).collect();
            prop_assert_eq!(a.join(b).to_words().to_vec(), greatest);
        }
    }
}
