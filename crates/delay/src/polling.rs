//! Completion by asking: loops around `MPI_Test`, `MPI_Iprobe` and their kin.
//!
//! Time spent asking in vain is not work of the program: unmeasured, the first question, failed or
//! successful, at whose virtual time the message would have been there would have been the last. So the
//! virtual times of the questions that failed are kept, and where the message was sent virtually before one of
//! them, the location is later by what passed in virtual time from there to the question that succeeded.
//!
//! What always holds: memory is fixed; where questions are many, every second is forgotten and from then on
//! only every second is kept, so that the answer is late by at most one part in [`Polls::KEPT`] / 2 of the loop.

/// Virtual times of failed questions since something was last completed, in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct Polls {
    times: [i64; Self::KEPT],
    kept: usize,
    stride: u32,
    skipped: u32,
}

impl Polls {
    /// Questions remembered.
    pub const KEPT: usize = 64;
    /// Nothing was asked yet.
    pub const NONE: Self = Self { times: [0; Self::KEPT], kept: 0, stride: 1, skipped: 0 };

    /// A question at this virtual time failed.
    pub fn failed(&mut self, virtual_time: i64) {
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
        self.times[self.kept] = virtual_time;
        self.kept += 1;
    }

    /// Delay gained by asking on, where a question succeeded at the virtual time `succeeded` about messages of
    /// which the last was sent at the virtual time `sent`. Forgets the questions.
    pub fn succeeded(&mut self, succeeded: i64, sent: i64) -> u64 {
        let first = self.times[..self.kept].iter().find(|&&time| time >= sent).copied();
        *self = Self::NONE;
        first.map_or(0, |first| u64::try_from(succeeded.saturating_sub(first)).unwrap_or(0))
    }

    /// Forgets the questions: the location waited for something else meanwhile.
    pub fn forget(&mut self) {
        self.kept = 0;
        self.stride = 1;
        self.skipped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Polls;

    fn asked_every(period: i64, questions: i64) -> Polls {
        let mut polls = Polls::NONE;
        (1..=questions).for_each(|question| polls.failed(question * period));
        polls
    }

    #[test]
    fn the_first_question_after_the_virtual_send_would_have_been_the_last() {
        assert_eq!(asked_every(10, 20).succeeded(210, 95), 110, "asked at 100, answered at 210");
        assert_eq!(asked_every(10, 20).succeeded(210, 100), 110);
        assert_eq!(asked_every(10, 20).succeeded(210, 205), 0, "only the last one was late enough");
    }

    #[test]
    fn a_success_forgets_what_was_asked_before() {
        let mut polls = asked_every(10, 5);
        assert_eq!(polls.succeeded(60, 0), 50);
        assert_eq!(polls.succeeded(60, 0), 0);
    }

    #[test]
    fn long_loops_are_remembered_coarsely() {
        let questions = 100_000;
        let gain = asked_every(10, questions).succeeded((questions + 1) * 10, 500_000);
        let exact = 500_010_u64;
        assert!(gain <= exact && exact - gain <= 1_000_000 * 2 / Polls::KEPT as u64, "{gain}");
    }
}
