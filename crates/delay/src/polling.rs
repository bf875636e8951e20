//! Completion by asking: loops around `MPI_Test`, `MPI_Iprobe` and their kin.
//!
//! Time spent asking in vain is not work of the program: unmeasured, the first question, failed or
//! successful, at whose virtual time the message would have been there would have been the last. So the
//! virtual times of the questions that failed are kept, and where the message was sent virtually before one of
//! them, the location is later by what passed in virtual time from there to the question that succeeded.
//!
//! How long a message was on its way is seen only as far as a question failed after it had been sent; that much is
//! granted in virtual time as well, so that nothing changes where there was no overhead.
//!
//! Where not even the question that succeeded was late enough, the program would have gone on asking: the virtual
//! completion is the next question from there on, at the pace of the last ones.
//!
//! What always holds: memory is fixed; where questions are many, every second is forgotten and from then on
//! only every second is kept, so that the answer is late by at most one part in [`Polls::KEPT`] / 2 of the loop.

use crate::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;

/// Virtual times of failed questions since something was last completed, in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct Polls {
    times: [i64; Self::KEPT],
    kept: usize,
    stride: u32,
    skipped: u32,
    /// Real time of the last one.
    last: u64,
}

impl Polls {
    /// Questions remembered.
    pub const KEPT: usize = 64;
    /// Nothing was asked yet.
    pub const NONE: Self = Self { times: [0; Self::KEPT], kept: 0, stride: 1, skipped: 0, last: 0 };

    /// A question failed that was asked at this moment.
    pub fn failed(&mut self, asked: Moment) {
        self.last = asked.at.0;
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        if self.kept == Self::KEPT {
            for index in 0..Self::KEPT / 2 {
                self.times[index] = self.times[2 * index];
            }
            self.kept = Self::KEPT / 2;
            self.stride = self.stride.saturating_mul(2);
        }
        self.times[self.kept] = asked.virtual_time();
        self.kept += 1;
    }

    /// The virtual time of the question that would have been answered unmeasured, where one succeeded that was asked at
    /// the moment `asked` about these messages.
    pub fn answered(&self, asked: Moment, arrivals: &Arrivals) -> i64 {
        let (succeeded, available) = (asked.virtual_time(), self.available(arrivals));
        let kept = &self.times[..self.kept];
        match kept.iter().find(|&&time| time >= available) {
            Some(&first) => first.min(succeeded),
            None if succeeded >= available => succeeded,
            None => {
                let pace = kept.last().map_or(0, |last| succeeded.saturating_sub(*last) / i64::from(self.skipped + 1));
                let missing = available.saturating_sub(succeeded);
                if pace > 0 { succeeded.saturating_add((missing + pace - 1) / pace * pace) } else { available }
            }
        }
    }

    /// Forgets the questions: something was completed.
    pub fn forget(&mut self) {
        self.kept = 0;
        self.stride = 1;
        self.skipped = 0;
    }

    /// From which virtual time on the messages were there: after they were sent, and after as long a way as they had surely.
    fn available(&self, arrivals: &Arrivals) -> i64 {
        let failed_after = self.last.cast_signed().saturating_sub(arrivals.last_sent());
        arrivals.last_sent_virtually().saturating_add(if self.kept > 0 && failed_after >= 0 { failed_after + 1 } else { 0 })
    }
}

/// Questions of one place that were answered with no, since something was last completed.
#[derive(Clone, Copy, Debug)]
pub struct InVain {
    first: Ticks,
    last: Ticks,
    spent: u64,
}

impl InVain {
    /// Nothing was asked yet.
    pub const NOTHING: Self = Self { first: Ticks(u64::MAX), last: Ticks(0), spent: 0 };

    /// A question was asked between these moments, which took so many ticks of its own.
    pub fn asked(&mut self, begin: Ticks, end: Ticks, took: u64) {
        self.first = self.first.min(begin);
        self.last = end;
        self.spent += took;
    }

    /// Ticks that they took until the last of the arrivals was sent: what came then was waited for.
    #[must_use]
    pub fn waited(&self, arrivals: &Arrivals) -> u64 {
        let until = arrivals.last_sent().max(0).unsigned_abs().min(self.last.0);
        let (waited, all) = (until.saturating_sub(self.first.0), self.last.0.saturating_sub(self.first.0));
        (u128::from(self.spent) * u128::from(waited)).checked_div(u128::from(all)).unwrap_or(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{InVain, Moment, Polls};
    use crate::completion::Arrivals;
    use tare_format::ids::Ticks;

    const LATE: u64 = 1_000_000;

    fn asked_at(virtual_time: i64, delay: i64) -> Moment {
        Moment { at: Ticks((virtual_time + delay).unsigned_abs()), delay }
    }

    /// Questions at these virtual times, all late by as much.
    fn asked_every(period: i64, questions: i64) -> Polls {
        let mut polls = Polls::NONE;
        (1..=questions).for_each(|question| polls.failed(asked_at(question * period, LATE.cast_signed())));
        polls
    }

    /// A message that was sent at this virtual time, and in real time after all questions that failed.
    fn answered(polls: &Polls, succeeded: i64, sent: i64) -> i64 {
        let sent = Moment { at: Ticks(3 * LATE), delay: (3 * LATE).cast_signed() - sent };
        polls.answered(asked_at(succeeded, LATE.cast_signed()), &Arrivals::one(sent))
    }

    #[test]
    fn the_first_question_after_the_virtual_send_would_have_been_the_last() {
        assert_eq!(answered(&asked_every(10, 20), 210, 95), 100);
        assert_eq!(answered(&asked_every(10, 20), 210, 100), 100);
        assert_eq!(answered(&asked_every(10, 20), 210, 205), 210, "only the last one was late enough");
    }

    #[test]
    fn a_message_that_is_late_in_virtual_time_is_asked_for_at_the_same_pace() {
        assert_eq!(answered(&asked_every(10, 20), 210, 215), 220);
        assert_eq!(answered(&asked_every(10, 20), 210, 260), 260);
        assert_eq!(answered(&asked_every(10, 200), 2010, 2055), 2060, "where questions are remembered coarsely as well");
        let nothing = Polls::NONE;
        assert_eq!(answered(&nothing, 210, 215), 215, "nothing says how fast it would have asked");
    }

    #[test]
    fn where_there_was_no_overhead_the_question_that_succeeded_stays_the_last() {
        let mut polls = Polls::NONE;
        (1..=20).for_each(|question| polls.failed(asked_at(question * 10, 0)));
        let sent = asked_at(95, 0);
        assert_eq!(polls.answered(asked_at(210, 0), &Arrivals::one(sent)), 210, "the message was on its way from 95 to 200 at least");
    }

    #[test]
    fn what_is_forgotten_was_not_asked() {
        let mut polls = asked_every(10, 5);
        assert_eq!(answered(&polls, 60, 0), 10);
        polls.forget();
        assert_eq!(answered(&polls, 60, 0), 60);
    }

    #[test]
    fn what_was_asked_before_a_message_was_sent_was_waiting() {
        let sent_at = |at| Arrivals::one(Moment { at: Ticks(at), delay: 0 });
        let mut in_vain = InVain::NOTHING;
        assert_eq!(in_vain.waited(&sent_at(50)), 0);
        (0..10).for_each(|question| in_vain.asked(Ticks(100 + question * 10), Ticks(100 + question * 10 + 10), 4));
        assert_eq!(in_vain.waited(&sent_at(50)), 0, "it was there before the first question");
        assert_eq!(in_vain.waited(&sent_at(150)), 20, "half of the questions came before it");
        assert_eq!(in_vain.waited(&sent_at(900)), 40);
        assert_eq!(in_vain.waited(&Arrivals::NONE), 0);
    }

    #[test]
    fn long_loops_are_remembered_coarsely() {
        let questions = 90_000;
        let answered = answered(&asked_every(10, questions), (questions + 1) * 10, 500_000);
        assert!((500_000..=500_000 + 1_000_000 * 2 / Polls::KEPT as i64).contains(&answered), "{answered}");
    }
}
