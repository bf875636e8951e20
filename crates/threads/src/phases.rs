//! Moments of several threads, joined without a lock.

use core::sync::atomic::{AtomicI64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use tare_delay::completion::{Arrivals, Moment};

/// Moments that are joined as threads come.
#[derive(Debug)]
pub(crate) struct Joined([AtomicI64; 3]);

impl Joined {
    pub(crate) const fn new() -> Self {
        let [sent, virtually, delay] = Arrivals::NONE.to_words();
        Self([AtomicI64::new(sent), AtomicI64::new(virtually), AtomicI64::new(delay)])
    }

    /// A thread comes.
    pub(crate) fn come(&self, here: Moment) {
        for (word, own) in self.0.iter().zip(Arrivals::one(here).to_words()) {
            word.fetch_max(own, AcqRel);
        }
    }

    /// Those that have come.
    pub(crate) fn came(&self) -> Arrivals {
        Arrivals::from_words([0, 1, 2].map(|index| self.0[index].load(Acquire)))
    }

    pub(crate) fn clear(&self) {
        for (word, none) in self.0.iter().zip(Arrivals::NONE.to_words()) {
            word.store(none, Release);
        }
    }
}

/// Phases of a barrier for which there is room at once: that which is left, that which is entered, and those beside them.
const KEPT: u64 = 4;

/// Those who come to a barrier again and again. Who comes to a phase has left the one before, and nobody comes to the next one until all have
/// come to this: so the phase after the next is nobody's, and is cleared by everybody.
#[derive(Debug)]
pub(crate) struct Phases([Joined; KEPT as usize]);

impl Phases {
    pub(crate) const fn new() -> Self {
        Self([const { Joined::new() }; KEPT as usize])
    }

    /// A thread comes to a phase.
    pub(crate) fn come(&self, phase: u64, here: Moment) {
        self.of(phase + 2).clear();
        self.of(phase).come(here);
    }

    /// Those who came to the phase that the calling thread has just left.
    pub(crate) fn came(&self, phase: u64) -> Arrivals {
        self.of(phase).came()
    }

    pub(crate) fn clear(&self) {
        self.0.iter().for_each(Joined::clear);
    }

    fn of(&self, phase: u64) -> &Joined {
        &self.0[(phase % KEPT) as usize]
    }
}
