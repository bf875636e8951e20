//! For how long a thread could have run and had no processor, because others had it: as the kernel counts it, read at the begin
//! of a process and the end of a thread, and in wrappers, where some 10 ms have passed since; never in a probe. What passed in wrapped
//! calls is summed apart: most of them wait for others, and a rank that waits loses nothing while it queues. Between two readings it is divided by
//! how long the thread was in such calls and outside of them, without the time that it slept: libraries of MPI spin, so that it sleeps outside
//! as far as it can have.
//!
//! What always holds: while a thread runs, its time so far is [`LocationRecord::queued_base`] and what the kernel says; a reader of
//! the same machine adds them. Threads that share a location one after the other add up.
//!
//! [`LocationRecord::queued_base`]: tare_format::graph::LocationRecord::queued_base

use crate::clock::BETWEEN_SAMPLES;
use crate::graph_file;
use crate::live::{LiveLocation, add};
use crate::local::Local;
use crate::process::now;
use crate::sys;
use crate::text::Text;
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::NOT_SAID;

/// The thread of the location begins. What the kernel counts begins with a thread; the first one of a process may have been
/// another program before.
pub(crate) fn begin(local: Local) {
    let location = local.arena.location();
    local.state.queue_read.store(now().0, Relaxed);
    let before = if location.queued_base.load(Relaxed) == NOT_SAID { None } else { Some(location.queued_plus_one.load(Relaxed).saturating_sub(1)) };
    let thread = location.tid.load(Relaxed);
    let is_main = graph_file::header().is_some_and(|header| header.pid.load(Relaxed) == thread);
    let counted = if is_main { counted(thread) } else { Some(Counted::default()) };
    let base = before.zip(counted).map(|(before, counted)| before.cast_signed() - counted.queued.cast_signed());
    local.state.ran.store(counted.map_or(0, |counted| counted.ran), Relaxed);
    local.state.queue_read_ns.store(sys::clock_ns(libc::CLOCK_MONOTONIC), Relaxed);
    location.queued_base.store(base.unwrap_or(NOT_SAID), Relaxed);
    let ran_before = location.ran_plus_one.load(Relaxed).saturating_sub(1).cast_signed();
    location.ran_base.store(counted.map_or(0, |counted| ran_before - counted.ran.cast_signed()), Relaxed);
    // Threads that share a location are of one kind.
    if location.processors.load(Relaxed) == 0 {
        let (processors, first) = sys::allowed_processors();
        location.processors.store(processors, Relaxed);
        location.first_processor.store(first, Relaxed);
    }
}

/// The calling thread ends by itself. One that lived for less than some 10 ms is not asked about: where there are many, that would
/// take longer than what they do.
pub(crate) fn leave(local: Local) {
    if now().0.wrapping_sub(local.state.queue_read.load(Relaxed)) > BETWEEN_SAMPLES {
        end(local.arena.location());
    }
}

/// The thread of the location ends with the process.
pub(crate) fn end(location: &LiveLocation) {
    let counted = counted(location.tid.load(Relaxed));
    let sum = counted.and_then(|counted| sum(location, counted));
    location.queued_plus_one.store(sum.map_or(0, |sum| sum + 1), Relaxed);
    note_ran(location, counted.filter(|_| sum.is_some()));
}

/// A wrapped call begins at this moment.
#[inline]
pub(crate) fn call_begins(local: Local, ticks: u64) {
    note_now_and_then(local, ticks);
}

/// A wrapped call has lasted from one moment to another, with what its wrapper did: that waits for others, too. Says whether the
/// kernel was asked, which takes time.
#[inline]
pub(crate) fn call_ends(local: Local, begin: u64, end: u64) -> bool {
    let wrapped = &local.state.wrapped;
    // Of a call under way at the last reading, what is since then.
    let begin = begin.max(local.state.queue_read.load(Relaxed));
    wrapped.store(wrapped.load(Relaxed) + end.saturating_sub(begin), Relaxed);
    note_now_and_then(local, end)
}

#[inline]
fn note_now_and_then(local: Local, ticks: u64) -> bool {
    let is_due = ticks.wrapping_sub(local.state.queue_read.load(Relaxed)) > BETWEEN_SAMPLES;
    if is_due {
        note(local, ticks);
    }
    is_due
}

/// Notes what has passed since the kernel was last asked.
#[cold]
fn note(local: Local, ticks: u64) {
    let (state, location) = (local.state, local.arena.location());
    let begun = state.queue_read.swap(ticks, Relaxed);
    let wrapped = state.wrapped.swap(0, Relaxed);
    let ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let window_ns = ns.saturating_sub(state.queue_read_ns.swap(ns, Relaxed));
    let Some(counted) = counted(location.tid.load(Relaxed)) else { return };
    let ran = counted.ran.saturating_sub(state.ran.swap(counted.ran, Relaxed));
    let Some(sum) = sum(location, counted) else { return };
    note_ran(location, Some(counted));
    let queued = (sum + 1).saturating_sub(location.queued_plus_one.swap(sum + 1, Relaxed).max(1));
    let window = ticks.saturating_sub(begun).max(1);
    let wrapped_ns = u128::from(window_ns) * u128::from(wrapped.min(window)) / u128::from(window);
    add(&location.queued_in_wrappers, in_wrapped(window_ns, wrapped_ns as u64, &Counted { ran, queued }));
}

/// Notes for how long threads of the location have had a processor, if the kernel says it.
fn note_ran(location: &LiveLocation, counted: Option<Counted>) {
    let sum = counted.map_or(0, |counted| location.ran_base.load(Relaxed).saturating_add_unsigned(counted.ran).max(0).cast_unsigned() + 1);
    location.ran_plus_one.store(sum, Relaxed);
}

/// Nanoseconds queued in wrapped calls, which took `wrapped` of the `window` in which all of this was counted.
fn in_wrapped(window: u64, wrapped: u64, counted: &Counted) -> u64 {
    let slept = window.saturating_sub(counted.ran + counted.queued);
    let awake_outside = window.saturating_sub(wrapped).saturating_sub(slept);
    let part = u128::from(counted.queued) * u128::from(wrapped) / u128::from((wrapped + awake_outside).max(1));
    part as u64
}

/// Nanoseconds queued by all threads of the location so far, of which the running one has `counted`; `None` where the kernel does not say.
fn sum(location: &LiveLocation, counted: Counted) -> Option<u64> {
    let base = location.queued_base.load(Relaxed);
    u64::try_from(Some(base).filter(|&base| base != NOT_SAID)?.checked_add_unsigned(counted.queued)?).ok()
}

/// What the kernel counts of a thread, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counted {
    /// It had a processor.
    ran: u64,
    /// It could have run, and had none.
    queued: u64,
}

/// What the kernel says of a thread of this process: the first two numbers of its `schedstat`.
fn counted(thread: u32) -> Option<Counted> {
    let path = Text::<64>::EMPTY.then(b"/proc/self/task/").number(u64::from(thread)).then(b"/schedstat");
    let file = sys::open(path.as_c_str()?, libc::O_RDONLY, 0).ok()?;
    let mut bytes = [0; 64];
    let read = sys::read_at(file, &mut bytes, 0);
    sys::close(file);
    two_numbers(bytes.get(..read.ok()?)?)
}

/// The first two of several numbers with blanks between.
fn two_numbers(text: &[u8]) -> Option<Counted> {
    let mut numbers = core::str::from_utf8(text).ok()?.split_ascii_whitespace().map(|number| number.parse().ok());
    Some(Counted { ran: numbers.next()??, queued: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::{Counted, counted, in_wrapped, two_numbers};
    use crate::sys;

    #[test]
    fn the_kernel_says_three_numbers_and_ours_are_the_first() {
        assert_eq!(two_numbers(b"548533317 1525055038 166\n"), Some(Counted { ran: 548_533_317, queued: 1_525_055_038 }));
        assert_eq!((two_numbers(b"12"), two_numbers(b"")), (None, None));
    }

    #[test]
    fn who_sleeps_outside_of_wrapped_calls_has_queued_in_them() {
        let asleep = Counted { ran: 5, queued: 20 };
        assert_eq!(in_wrapped(1_000, 25, &asleep), 20);
        assert_eq!(in_wrapped(1_000, 50, &asleep), 20, "some of the sleep must have been inside");
        let busy = Counted { ran: 900, queued: 100 };
        assert_eq!(in_wrapped(1_000, 250, &busy), 25, "by the time in them");
        let both = Counted { ran: 300, queued: 100 };
        assert_eq!(in_wrapped(1_000, 200, &both), 50, "of 800 outside 600 were sleep");
        assert_eq!(in_wrapped(0, 0, &Counted::default()), 0);
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let counts = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(counted(sys::thread_id()).is_some(), counts);
        assert_eq!(counted(0), None);
    }
}
