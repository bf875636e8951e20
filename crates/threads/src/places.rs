//! Places for what threads wait for at once, found by its address.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A number for an address that differs from those of addresses nearby: Fibonacci hashing.
#[inline]
pub(crate) const fn spread(address: usize) -> usize {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// What is known of one thing that is waited for.
pub(crate) trait Known: Sync {
    const NONE: Self;
    /// Nothing is known of it any more.
    fn clear(&self);
}

/// The place of something that somebody waits for, or waited for last.
pub(crate) struct Place<T> {
    is_held: AtomicBool,
    /// Which; 0 where there is none.
    address: AtomicUsize,
    waiters: AtomicU32,
    pub(crate) known: T,
}

/// Things that may be waited for at once: of two that share a place, the second one is not known.
const PLACES: usize = 1024;
/// Tries to hold a place, in each of which a processor pauses.
const TRIES: u32 = 10_000;

pub(crate) struct Places<T>([Place<T>; PLACES]);

impl<T: Known> Places<T> {
    pub(crate) const fn new() -> Self {
        Self([const { Place { is_held: AtomicBool::new(false), address: AtomicUsize::new(0), waiters: AtomicU32::new(0), known: T::NONE } }; PLACES])
    }

    fn at(&self, address: usize) -> &Place<T> {
        &self.0[spread(address) % PLACES]
    }

    /// The place of something that is waited for, or was and still has it.
    #[inline]
    pub(crate) fn of(&self, address: usize) -> Option<&Place<T>> {
        Some(self.at(address)).filter(|place| place.address.load(Relaxed) == address)
    }

    /// One more waits for something; `None` where another one has the place.
    pub(crate) fn begin(&self, address: usize) -> Option<&Place<T>> {
        let place = self.at(address);
        place.hold(|| {
            if place.waiters.load(Relaxed) == 0 && place.address.load(Relaxed) != address {
                place.address.store(address, Relaxed);
                place.known.clear();
            }
            let is_own = place.address.load(Relaxed) == address;
            is_own.then(|| place.waiters.store(place.waiters.load(Relaxed) + 1, Relaxed))?;
            Some(place)
        })?
    }
}

impl<T> Place<T> {
    /// Holds the place for as long as a few words take. `None` where somebody else does for longer: a child of `fork` has its places as they were,
    /// also those that another thread of its parent held.
    pub(crate) fn hold<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        let mut tries = 0;
        while self.is_held.swap(true, Acquire) {
            tries += 1;
            if tries == TRIES {
                return None;
            }
            spin_loop();
        }
        let result = action();
        self.is_held.store(false, Release);
        Some(result)
    }

    /// Whether somebody waits.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiters.load(Relaxed) > 0
    }

    /// One has ceased to wait; what `known` reads of the place then.
    pub(crate) fn end<R>(&self, known: impl FnOnce(&T) -> R) -> Option<R> {
        self.hold(|| {
            self.waiters.store(self.waiters.load(Relaxed).saturating_sub(1), Relaxed);
            known(&self.known)
        })
    }
}
