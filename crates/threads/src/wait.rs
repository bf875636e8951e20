//! A wait under way: its region, its clock readings, and what it does to the thread's delay.

use crate::ompt;
use crate::operations::{Operation, region};
use crate::team::awaits_team;
use core::sync::atomic::Ordering::Relaxed;
use tare_delay::completion::{Arrivals, Moment, complete};
use tare_delay::locks::contended;
use tare_format::ids::Ticks;
use tare_runtime::process::{Mode, delay_model, is_measuring, mode, now, refresh_clocks};
use tare_runtime::wrapper::{Open, Thread, Waits, current_delay, gains, known_thread, outermost};

/// This moment of the calling thread.
pub(crate) fn moment() -> Moment {
    Moment { at: now(), delay: current_delay() }
}

/// What became of what a thread waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// It came, or nothing was waited for.
    Came(Arrivals),
    /// It was held by others, whose delay grew by so many ticks while they had it.
    Held(i64),
    /// What was waited for is not known.
    Unknown,
}

/// A wait under way: of a thread that nothing was recorded of, only its delay. It has nothing to clean up: the real function may be left by
/// cancellation.
#[derive(Debug)]
pub(crate) struct Wait {
    region: Option<(Thread, Open)>,
    begin: Moment,
}

impl Wait {
    /// Opens the region. `None` where nothing is measured, within functions that other wrappers have called, whose time is theirs, and where a
    /// library of OpenMP waits for what it tells itself.
    pub(crate) fn begin(operation: Operation) -> Option<Self> {
        if mode() == Mode::Clock {
            refresh_clocks();
        }
        let is_told = operation.serves_teams() && ompt::is_told() && awaits_team();
        if !is_measuring() || is_told || is_within_wrapped() {
            return None;
        }
        let region = known_thread().and_then(|thread| Some((thread, thread.enter(region(operation)?))));
        let at = now();
        if let Some((_, open)) = &region {
            open.add_tool(at.0.saturating_sub(open.entered().0));
        }
        Some(Self { region, begin: Moment { at, delay: current_delay() } })
    }

    /// When the real function was called.
    pub(crate) fn begun(&self) -> Moment {
        self.begin
    }

    /// The real function has returned. Answers the delay that came with the wait.
    pub(crate) fn end(self, end: Ticks, awaited: Awaited) -> i64 {
        let begin = self.begin;
        self.end_since(begin, end, awaited)
    }

    /// The same where the thread has done something else up to a moment.
    pub(crate) fn end_since(self, begin: Moment, end: Ticks, awaited: Awaited) -> i64 {
        let done = match awaited {
            Awaited::Came(arrivals) => Some(complete(delay_model(), begin, end, &arrivals)),
            Awaited::Held(gained) => Some(contended(delay_model(), begin, end, gained)),
            Awaited::Unknown => None,
        };
        let gain = done.map_or(0, |done| done.gain());
        let Some((thread, open)) = self.region else {
            gains(gain);
            return gain;
        };
        match done {
            Some(done) => {
                let place = open.place();
                place.add_wait(done.wait, done.virtual_wait);
                place.add_delay_gain(gain);
            }
            None => open.add_uncovered(1),
        }
        thread.exit(open, end, Waits::AsleepSince(begin.at));
        gain
    }
}

/// The thread has waited within the region where it is.
pub(crate) fn waited_here(begin: Moment, end: Ticks, arrivals: &Arrivals) {
    if !is_measuring() {
        return;
    }
    let done = complete(delay_model(), begin, end, arrivals);
    match known_thread() {
        Some(thread) => thread.add_wait_here((begin.at, end), done.wait, done.virtual_wait, done.gain()),
        None => gains(done.gain()),
    }
}

#[inline(never)]
fn is_within_wrapped() -> bool {
    let here = 0_u8;
    (core::ptr::from_ref(&here).addr() as u64) < outermost().load(Relaxed)
}
