//! For how long a thread could have run and had no processor, because others had it: as the kernel counts it, read at the begin
//! of a process and the end of a thread, and in wrappers, where some 10 ms have passed since; never in a probe. What passed in wrapped
//! calls is summed apart: most of them wait for others, and a rank that waits loses nothing while it queues. How it is divided between such calls and
//! the rest follows from where the thread was while it had no processor, which is looked at every millisecond ([`Away`]). For how long it slept
//! outside is summed apart as well.
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
use tare_format::ids::Ticks;

/// Ticks between looks at how long a thread has had a processor (some 0.8 ms).
const BETWEEN_LOOKS: u64 = BETWEEN_SAMPLES / 20;

/// The thread of the location begins. What the kernel counts begins with a thread; the first one of a process may have been
/// another program before.
pub(crate) fn begin(local: Local) {
    let location = local.arena.location();
    let ticks = now().0;
    local.state.queue_read.store(ticks, Relaxed);
    local.state.looked.store(ticks, Relaxed);
    let before = if location.queued_base.load(Relaxed) == NOT_SAID { None } else { Some(location.queued_plus_one.load(Relaxed).saturating_sub(1)) };
    let thread = location.tid.load(Relaxed);
    let is_main = graph_file::header().is_some_and(|header| header.pid.load(Relaxed) == thread);
    let counted = if is_main { counted(thread) } else { Some(Counted::default()) };
    let base = before.zip(counted).map(|(before, counted)| before.cast_signed() - counted.queued.cast_signed());
    local.state.ran.store(sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID), Relaxed);
    location.turns.store(counted.map_or(0, |counted| counted.turns), Relaxed);
    local.state.looked_ns.store(sys::clock_ns(libc::CLOCK_MONOTONIC), Relaxed);
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
    look_now_and_then(local, now().0);
}

/// The thread of the location ends with the process, which another one ends, or has [left](leave).
pub(crate) fn end(location: &LiveLocation) {
    let counted = counted(location.tid.load(Relaxed));
    let sum = counted.and_then(|counted| sum(location, counted));
    location.queued_plus_one.store(sum.map_or(0, |sum| sum + 1), Relaxed);
    note_ran(location, counted.filter(|_| sum.is_some()));
}

/// How who waits in a wrapped call waits: libraries of MPI look again and again, those of threads let the kernel wake them, at once or in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// It looks again and again.
    Spinning,
    /// It sleeps, since this moment; before, it did something else in the call.
    AsleepSince(Ticks),
}

/// A wrapped call begins at this moment.
#[inline]
pub(crate) fn call_begins(local: Local, ticks: u64) {
    look_now_and_then(local, ticks);
}

/// A wrapped call has lasted from one moment to another, with what its wrapper did: that waits for others, too. Says whether the
/// kernel was asked, which takes time.
#[inline]
pub(crate) fn call_ends(local: Local, begin: u64, end: u64, waits: Waits) -> bool {
    let (wrapped, begin) = match waits {
        Waits::Spinning => (&local.state.spinning, begin),
        Waits::AsleepSince(since) => (&local.state.sleeping, since.0),
    };
    // Of a call under way at the last look, what is since then.
    let begin = begin.max(local.state.looked.load(Relaxed));
    wrapped.store(wrapped.load(Relaxed) + end.saturating_sub(begin), Relaxed);
    look_now_and_then(local, end)
}

#[inline]
fn look_now_and_then(local: Local, ticks: u64) -> bool {
    let is_due = ticks.wrapping_sub(local.state.looked.load(Relaxed)) > BETWEEN_LOOKS;
    if is_due {
        look(local, ticks);
    }
    is_due
}

/// Notes for how long the thread has had no processor since the last look, and now and then how much of that it was in the queue for one.
#[cold]
fn look(local: Local, ticks: u64) {
    let state = local.state;
    let window = ticks.saturating_sub(state.looked.swap(ticks, Relaxed)).max(1);
    let ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let window_ns = ns.saturating_sub(state.looked_ns.swap(ns, Relaxed));
    // Of a thread that runs, the kernel's file says what it had when it was last looked at.
    let ran_until_now = sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let ran = ran_until_now.saturating_sub(state.ran.swap(ran_until_now, Relaxed));
    let away = window_ns.saturating_sub(ran);
    let part = |ticks: u64| (u128::from(away) * u128::from(ticks.min(window)) / u128::from(window)) as u64;
    let (spinning, sleeping) = (part(state.spinning.swap(0, Relaxed)), part(state.sleeping.swap(0, Relaxed)));
    add(&state.away_spinning, spinning);
    add(&state.away_sleeping, sleeping);
    add(&state.away_outside, away.saturating_sub(spinning + sleeping));
    if ticks.wrapping_sub(state.queue_read.load(Relaxed)) > BETWEEN_SAMPLES {
        state.queue_read.store(ticks, Relaxed);
        note(local);
    }
}

/// Notes how much of the time without a processor since the kernel was last asked was in the queue for one.
fn note(local: Local) {
    let (state, location) = (local.state, local.arena.location());
    let away = Away {
        outside: state.away_outside.swap(0, Relaxed),
        spinning: state.away_spinning.swap(0, Relaxed),
        sleeping: state.away_sleeping.swap(0, Relaxed),
    };
    let Some(counted) = counted(location.tid.load(Relaxed)) else { return };
    let Some(sum) = sum(location, counted) else { return };
    note_ran(location, Some(counted));
    let queued = (sum + 1).saturating_sub(location.queued_plus_one.swap(sum + 1, Relaxed).max(1));
    let divided = away.divided(queued);
    add(&location.queued_in_wrappers, divided.queued_in_calls);
    // Who was given no processor meanwhile had one all the time: what is missing was another virtual machine's.
    if location.turns.swap(counted.turns, Relaxed) != counted.turns {
        add(&location.asleep, divided.asleep_outside);
    }
}

/// Notes for how long threads of the location have had a processor, if the kernel says it.
fn note_ran(location: &LiveLocation, counted: Option<Counted>) {
    let sum = counted.map_or(0, |counted| location.ran_base.load(Relaxed).saturating_add_unsigned(counted.ran).max(0).cast_unsigned() + 1);
    location.ran_plus_one.store(sum, Relaxed);
}

/// Where a thread was while it had no processor, between two readings of the kernel's file, in nanoseconds.
struct Away {
    outside: u64,
    /// In wrapped calls that spin while they wait.
    spinning: u64,
    /// In those that sleep.
    sleeping: u64,
}

/// What of it was what.
struct Divided {
    queued_in_calls: u64,
    asleep_outside: u64,
}

impl Away {
    /// Where so much of it was in the queue for one, it slept for the rest: in calls that sleep as far as it can have, then outside.
    fn divided(&self, queued: u64) -> Divided {
        let asleep = (self.outside + self.spinning + self.sleeping).saturating_sub(queued);
        let asleep_in_calls = asleep.min(self.sleeping);
        let asleep_outside = (asleep - asleep_in_calls).min(self.outside);
        let queued_outside = self.outside - asleep_outside;
        let in_calls = (self.spinning + self.sleeping).saturating_sub(asleep - asleep_outside);
        let part = u128::from(queued) * u128::from(in_calls) / u128::from((queued_outside + in_calls).max(1));
        Divided { queued_in_calls: part as u64, asleep_outside }
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
    use super::{Away, Counted, counted, three_numbers};
    use crate::sys;

    #[test]
    fn the_kernel_says_three_numbers() {
        let said = Counted { ran: 548_533_317, queued: 1_525_055_038, turns: 166 };
        assert_eq!(three_numbers(b"548533317 1525055038 166\n"), Some(said));
        assert_eq!((three_numbers(b"12 4"), three_numbers(b"")), (None, None));
    }

    #[test]
    fn who_waits_asleep_has_queued_where_it_did_not_sleep() {
        let divided = |outside: u64, spinning: u64, sleeping: u64, queued: u64| {
            let divided = Away { outside, spinning, sleeping }.divided(queued);
            (divided.queued_in_calls, divided.asleep_outside)
        };
        assert_eq!(divided(80, 2_400, 0, 2_480), (2_400, 0), "where it was without one, it queued");
        assert_eq!(divided(950, 20, 0, 20), (20, 950), "who spins does not sleep");
        assert_eq!(divided(900, 70, 0, 20), (20, 900), "some of the sleep must have been inside");
        assert_eq!(divided(880, 0, 1_000, 880), (0, 0), "who waits for threads sleeps meanwhile");
        assert_eq!(divided(880, 0, 1_000, 1_080), (200, 0));
        assert_eq!(divided(100, 0, 50, 30), (0, 70));
        assert_eq!(divided(10, 10, 0, 100), (50, 0), "more than was away");
        assert_eq!(divided(0, 0, 0, 5), (0, 0));
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let counts = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(counted(sys::thread_id()).is_some(), counts);
        assert_eq!(counted(0), None);
    }
}
