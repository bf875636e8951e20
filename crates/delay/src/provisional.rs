//! Delays that are corrected later: of a send that waits for its receiver.
//!
//! Whether such a send waited for its receiver, and what that did to its delay, is known when the receiver's moment
//! has travelled back; nobody waits for that. Until then the delay stands as if there had been no dependence. When it is
//! known, it may be too late for part of the correction: a location that has waited for something later in virtual
//! time was not held up by what came before.
//!
//! Without the correction the location is at virtual time V = max(c, m) now, where c is what follows from the send and m
//! from later waits alone. With a correction that gains g it would be at max(c − g, m). Kept are V − c and V − m.

use crate::completion::Completion;

/// What became of a delay since the event whose effect is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Provisional {
    behind: i64,
    slack: i64,
}

impl Provisional {
    /// Just now.
    pub const NEW: Self = Self { behind: 0, slack: i64::MAX };

    /// The location waited for something else.
    pub fn waited(&mut self, completion: &Completion) {
        let wait = completion.virtual_wait.cast_signed();
        self.behind = self.behind.saturating_add(wait);
        let margin = if wait > 0 { 0 } else { completion.margin };
        self.slack = self.slack.saturating_add(wait).min(margin);
    }

    /// The delay to be added now, where the event would have added `gain` had its effect been known.
    #[must_use]
    pub fn corrected(&self, gain: i64) -> i64 {
        gain.saturating_add(self.behind).min(self.slack)
    }
}

#[cfg(test)]
mod tests {
    use super::Provisional;
    use crate::completion::{Arrivals, Moment, complete};
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
    use tare_format::graph::DelayModel;
    use tare_format::ids::Ticks;

    #[test]
    fn what_nothing_came_between_is_corrected_whole() {
        assert_eq!((Provisional::NEW.corrected(70), Provisional::NEW.corrected(-70)), (70, -70));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        /// A send that waited, then a few waits for messages; the answer comes before or after them.
        #[test]
        fn the_correction_is_the_same_early_and_late(
            x in 0_i64..1000, answer in (0_u64..3000, 0_i64..3000),
            later in proptest::collection::vec((1_u64..1000, 0_i64..300, 0_i64..6000), 0..5),
        ) {
            let virtually = DelayModel::Virtual;
            let begin = Moment { at: Ticks(5000), delay: x };
            let receiver = Moment { at: Ticks(4000 + answer.0), delay: answer.1 };
            let gain = complete(virtually, begin, Ticks(1 << 20), &Arrivals::one(receiver)).gain();
            let (mut early, mut late, mut provisional) = (x + gain, x, Provisional::NEW);
            let mut now = 9000;
            for (work, overhead, delay) in later {
                now += work;
                early += overhead;
                late += overhead;
                let sent = Arrivals::one(Moment { at: Ticks(now - 500), delay });
                let at = |delay| Moment { at: Ticks(now), delay };
                early = complete(virtually, at(early), Ticks(now), &sent).delay;
                let done = complete(virtually, at(late), Ticks(now), &sent);
                late = done.delay;
                provisional.waited(&done);
            }
            prop_assert_eq!(late + provisional.corrected(gain), early);
        }
    }
}
