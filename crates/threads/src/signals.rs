//! Signals by which one thread lets another go on that waits for them: those of condition variables, and what is posted to semaphores.
//!
//! A signal is noted only while somebody waits for it, who goes on because of the last one.

use crate::places::{Known, Place, Places};
use crate::wait::{Awaited, Wait, moment};
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;

/// The last signal to something that somebody waits for, and the delay of who sent it.
pub(crate) struct Signalled {
    at: AtomicU64,
    delay: AtomicI64,
}

impl Known for Signalled {
    const NONE: Self = Self { at: AtomicU64::new(0), delay: AtomicI64::new(0) };

    fn clear(&self) {
        self.at.store(0, Relaxed);
    }
}

impl Signalled {
    fn last(&self) -> Moment {
        Moment { at: Ticks(self.at.load(Relaxed)), delay: self.delay.load(Relaxed) }
    }
}

/// A wait for a signal, which may have no place.
pub(crate) type Awaiting = Option<&'static Place<Signalled>>;

/// What signals are sent to, of one kind.
pub(crate) struct Signals(Places<Signalled>);

impl Signals {
    pub(crate) const fn new() -> Self {
        Self(Places::new())
    }

    /// A signal is about to be sent.
    #[inline]
    pub(crate) fn note(&self, address: usize) {
        if let Some(place) = self.awaited_at(address) {
            self.note_at(place, address);
        }
    }

    fn awaited_at(&self, address: usize) -> Option<&Place<Signalled>> {
        self.0.of(address).filter(|place| place.is_awaited())
    }

    #[cold]
    fn note_at(&self, place: &Place<Signalled>, address: usize) {
        let here = moment();
        place.hold(|| {
            if self.awaited_at(address).is_some() {
                place.known.at.store(here.at.0, Relaxed);
                place.known.delay.store(here.delay, Relaxed);
            }
        });
    }

    /// Somebody is about to wait.
    pub(crate) fn begin(&'static self, address: usize) -> Awaiting {
        self.0.begin(address)
    }
}

/// The wait is over, with what was waited for or without; says why.
pub(crate) fn end(awaiting: Awaiting, wait: &Wait, is_had: bool) -> Awaited {
    let signal = awaiting.and_then(|place| place.end(Signalled::last)).filter(|signal| signal.at >= wait.begun().at);
    match signal {
        Some(signal) => Awaited::Came(Arrivals::one(signal)),
        // Its time was over.
        None if !is_had => Awaited::Came(Arrivals::NONE),
        None => Awaited::Unknown,
    }
}
