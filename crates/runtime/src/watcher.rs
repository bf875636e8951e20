//! A thread of our own that follows requests where no probe comes by any more, since all of them are off. It begins when a
//! request has switched something off, and sleeps in the kernel until the next one.
//!
//! What always holds: libc does not know it, so it calls nothing of libc; thread-local storage is zeroed memory of its own;
//! it has no signals; it ends with the process.

use crate::graph_file;
use crate::request;
use crate::sys::{self, SignalsBlocked};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Bytes of its memory: its stack grows down from the middle, thread-local storage lies around three quarters.
const MEMORY: usize = 1 << 20;

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Begins the thread, once in a process.
pub(crate) fn begin() {
    if HAS_BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let _signals = SignalsBlocked::new();
    if let Ok(memory) = sys::map_memory(MEMORY) {
        // SAFETY: within the memory.
        let own = unsafe { memory.add(MEMORY / 4 * 3) };
        // SAFETY: aligned, and nobody else's; the first word of a thread's storage is its own address.
        unsafe { own.cast::<usize>().write(own.addr().get()) };
        // SAFETY: within the memory.
        let stack = unsafe { memory.add(MEMORY / 2) };
        // SAFETY: both lie in memory that is the thread's for good; `watch` keeps to what a bare thread may do.
        let _ = unsafe { sys::start_thread(stack, own, watch) };
    }
}

/// A forked child has one thread, that of its parent which forked.
pub(crate) fn start_anew() {
    HAS_BEGUN.store(false, Ordering::Relaxed);
}

extern "C" fn watch() -> ! {
    loop {
        let Some(header) = graph_file::header() else { sys::end_thread() };
        // SAFETY: the low half of the word, which is where the number's changes show; aligned and mapped for good.
        let number = unsafe { AtomicU32::from_ptr(header.request.as_ptr().cast()) };
        let seen = number.load(Ordering::Acquire);
        if let Some(arena) = graph_file::arena_of(0) {
            request::follow(arena, header);
        }
        sys::wait_for_change(number, seen);
    }
}
