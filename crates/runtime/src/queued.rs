//! For how long a thread could have run and had no processor, because others had it: as the kernel counts it, read at the begin
//! of a process and the end of a thread, and in wrappers, where some 10 ms have passed since; never in a probe. What passed in wrapped
//! calls is summed apart: most of them wait for others, and a rank that waits loses nothing while it queues.
//!
//! What always holds: while a thread runs, its time so far is [`LocationRecord::queued_base`] and what the kernel says; a reader of
//! the same machine adds them. Threads that share a location one after the other add up.
//!
//! [`LocationRecord::queued_base`]: tare_format::graph::LocationRecord::queued_base

use crate::clock::BETWEEN_SAMPLES;
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
    let counted = if thread == sys::process_id() { queued_ns(thread) } else { Some(0) };
    let base = before.zip(counted).map(|(before, counted)| before.cast_signed() - counted.cast_signed());
    location.queued_base.store(base.unwrap_or(NOT_SAID), Relaxed);
    let (processors, first) = sys::allowed_processors();
    location.processors.store(processors, Relaxed);
    location.first_processor.store(first, Relaxed);
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
    let sum = sum(location);
    location.queued_plus_one.store(sum.map_or(0, |sum| sum + 1), Relaxed);
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

/// Notes what has passed since the kernel was last asked, in wrapped calls by their part of the time: who had no processor for long
/// was in a call, or outside of all, for so much longer.
#[cold]
fn note(local: Local, ticks: u64) {
    let (state, location) = (local.state, local.arena.location());
    let begun = state.queue_read.swap(ticks, Relaxed);
    let wrapped = state.wrapped.swap(0, Relaxed);
    let Some(sum) = sum(location) else { return };
    let passed = (sum + 1).saturating_sub(location.queued_plus_one.swap(sum + 1, Relaxed).max(1));
    let window = ticks.saturating_sub(begun).max(1);
    let in_wrappers = u128::from(passed) * u128::from(wrapped.min(window)) / u128::from(window);
    add(&location.queued_in_wrappers, in_wrappers as u64);
}

/// Nanoseconds of all threads of the location so far; `None` where the kernel does not say.
fn sum(location: &LiveLocation) -> Option<u64> {
    let base = location.queued_base.load(Relaxed);
    let now = queued_ns(location.tid.load(Relaxed)).filter(|_| base != NOT_SAID)?;
    u64::try_from(base.checked_add_unsigned(now)?).ok()
}

/// What the kernel says of a thread of this process: the second number of its `schedstat`.
fn queued_ns(thread: u32) -> Option<u64> {
    let path = Text::<64>::EMPTY.then(b"/proc/self/task/").number(u64::from(thread)).then(b"/schedstat");
    let file = sys::open(path.as_c_str()?, libc::O_RDONLY, 0).ok()?;
    let mut bytes = [0; 64];
    let read = sys::read_at(file, &mut bytes, 0);
    sys::close(file);
    second_number(bytes.get(..read.ok()?)?)
}

/// The second of several numbers with blanks between.
fn second_number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{queued_ns, second_number};
    use crate::sys;

    #[test]
    fn the_kernel_says_three_numbers_and_ours_is_the_second() {
        assert_eq!(second_number(b"548533317 1525055038 166\n"), Some(1_525_055_038));
        assert_eq!((second_number(b"12"), second_number(b"")), (None, None));
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let counts = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(queued_ns(sys::thread_id()).is_some(), counts);
        assert_eq!(queued_ns(0), None);
    }
}
