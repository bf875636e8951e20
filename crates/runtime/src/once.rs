//! A value that is written once, before anybody reads it.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Written by [`Once::set`] (by one thread, as set-up code is), read by anybody afterwards.
#[derive(Debug)]
pub(crate) struct Once<T> {
    value: UnsafeCell<T>,
    is_set: AtomicBool,
}

// SAFETY: readers get a reference only after `is_set`, which is stored after the one write.
unsafe impl<T: Sync> Sync for Once<T> {}

impl<T> Once<T> {
    pub(crate) const fn new(initial: T) -> Self {
        Self { value: UnsafeCell::new(initial), is_set: AtomicBool::new(false) }
    }

    /// Stores the value.
    ///
    /// # Safety
    /// Only one thread may set, and nobody may hold a reference to an earlier value.
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: no reader has a reference, as the caller vouches.
        unsafe { *self.value.get() = value };
        self.is_set.store(true, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the value was stored before `is_set`, and is not written again while it is read.
        Some(unsafe { &*self.value.get() })
    }
}
