//! For how long a thread could have run and had no processor, because others had it: as the kernel counts it, read at the begin
//! of a process and the end of a thread, and in wrappers, where some 10 ms have passed since; never in a probe. What passed in wrapped
//! calls is summed apart: most of them wait for others, and a rank that waits loses nothing while it queues. Between two readings it is divided by
//! how long the thread was in such calls and outside of them, without the time that it slept: libraries of MPI spin, so that it sleeps outside
//! as far as it can have. For how long it slept outside is summed apart as well: what of its sleep cannot have passed in such calls.
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
    local.state.ran.store(sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID), Relaxed);
    location.turns.store(counted.map_or(0, |counted| counted.turns), Relaxed);
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

/// The calling thread ends, by itself or with the process. One that lived for less than some 10 ms is not asked about: where there are many,
/// that would take longer than what they do.
pub(crate) fn leave(local: Local) {
    note_now_and_then(local, now().0);
}

/// The thread of the location ends with the process, which another one ends, or has [left](leave).
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
    // Of a thread that runs, the kernel's file says what it had when it was last looked at.
    let ran_until_now = sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let ran = ran_until_now.saturating_sub(state.ran.swap(ran_until_now, Relaxed));
    let Some(counted) = counted(location.tid.load(Relaxed)) else { return };
    let Some(sum) = sum(location, counted) else { return };
    note_ran(location, Some(counted));
    let queued = (sum + 1).saturating_sub(location.queued_plus_one.swap(sum + 1, Relaxed).max(1));
    let window = ticks.saturating_sub(begun).max(1);
    let wrapped_ns = u128::from(window_ns) * u128::from(wrapped.min(window)) / u128::from(window);
    let passed = Passed { window: window_ns, wrapped: wrapped_ns as u64, ran, queued };
    add(&location.queued_in_wrappers, passed.queued_in_wrapped());
    // Who was given no processor meanwhile had one all the time: what is missing was another virtual machine's.
    if location.turns.swap(counted.turns, Relaxed) != counted.turns {
        add(&location.asleep, passed.asleep_outside());
    }
}

/// Notes for how long threads of the location have had a processor, if the kernel says it.
fn note_ran(location: &LiveLocation, counted: Option<Counted>) {
    let sum = counted.map_or(0, |counted| location.ran_base.load(Relaxed).saturating_add_unsigned(counted.ran).max(0).cast_unsigned() + 1);
    location.ran_plus_one.store(sum, Relaxed);
}

/// What a thread did between two readings, in nanoseconds.
struct Passed {
    /// Between the readings.
    window: u64,
    /// Of these it was in wrapped calls.
    wrapped: u64,
    /// It had a processor.
    ran: u64,
    /// It could have run, and had none.
    queued: u64,
}

impl Passed {
    const fn asleep(&self) -> u64 {
        self.window.saturating_sub(self.ran + self.queued)
    }

    /// Asleep at least where it was in no wrapped call.
    const fn asleep_outside(&self) -> u64 {
        self.asleep().saturating_sub(self.wrapped)
    }

    /// Queued in wrapped calls.
    fn queued_in_wrapped(&self) -> u64 {
        let awake_outside = self.window.saturating_sub(self.wrapped).saturating_sub(self.asleep());
        let part = u128::from(self.queued) * u128::from(self.wrapped) / u128::from((self.wrapped + awake_outside).max(1));
        part as u64
    }
}

/// Nanoseconds queued by all threads of the location so far, of which the running one has `counted`; `None` where the kernel does not say.
fn sum(location: &LiveLocation, counted: Counted) -> Option<u64> {
    let base = location.queued_base.load(Relaxed);
    u64::try_from(Some(base).filter(|&base| base != NOT_SAID)?.checked_add_unsigned(counted.queued)?).ok()
}

/// What the kernel counts of a thread; times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counted {
    /// It had a processor.
    ran: u64,
    /// It could have run, and had none.
    queued: u64,
    /// How often it was given one.
    turns: u64,
}

/// What the kernel says of a thread of this process, in its `schedstat`.
fn counted(thread: u32) -> Option<Counted> {
    let path = Text::<64>::EMPTY.then(b"/proc/self/task/").number(u64::from(thread)).then(b"/schedstat");
    let file = sys::open(path.as_c_str()?, libc::O_RDONLY, 0).ok()?;
    let mut bytes = [0; 64];
    let read = sys::read_at(file, &mut bytes, 0);
    sys::close(file);
    three_numbers(bytes.get(..read.ok()?)?)
}

/// Three numbers with blanks between.
fn three_numbers(text: &[u8]) -> Option<Counted> {
    let mut numbers = core::str::from_utf8(text).ok()?.split_ascii_whitespace().map(|number| number.parse().ok());
    Some(Counted { ran: numbers.next()??, queued: numbers.next()??, turns: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::{Counted, Passed, counted, three_numbers};
    use crate::sys;

    #[test]
    fn the_kernel_says_three_numbers() {
        let said = Counted { ran: 548_533_317, queued: 1_525_055_038, turns: 166 };
        assert_eq!(three_numbers(b"548533317 1525055038 166\n"), Some(said));
        assert_eq!((three_numbers(b"12 4"), three_numbers(b"")), (None, None));
    }

    #[test]
    fn who_sleeps_outside_of_wrapped_calls_has_queued_in_them() {
        let passed = |window: u64, wrapped: u64, ran: u64, queued: u64| {
            let passed = Passed { window, wrapped, ran, queued };
            (passed.queued_in_wrapped(), passed.asleep_outside())
        };
        assert_eq!(passed(1_000, 25, 5, 20), (20, 950));
        assert_eq!(passed(1_000, 50, 5, 20), (20, 925), "some of the sleep must have been inside");
        assert_eq!(passed(1_000, 250, 900, 100), (25, 0), "by the time in them");
        assert_eq!(passed(1_000, 200, 300, 100), (50, 400), "of 800 outside 600 were sleep");
        assert_eq!(passed(1_000, 700, 300, 100), (100, 0), "all of the sleep may have been inside");
        assert_eq!(passed(0, 0, 0, 0), (0, 0));
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let counts = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(counted(sys::thread_id()).is_some(), counts);
        assert_eq!(counted(0), None);
    }
}
