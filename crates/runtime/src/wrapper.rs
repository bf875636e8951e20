//! What a wrapper of an intercepted function builds on.
//!
//! A wrapper asks for the calling thread's token, opens its region, does its own work, calls the real
//! function, and closes the region:
//!
//! ```text
//! let thread = thread()?;                 None: nothing is recorded, call the real function
//! let open = thread.enter(region);        reads the clock: open.entered()
//! …own work…                              let called = now(); open.add_tool(called - open.entered())
//! real function                           thread.delay() is right here, tool time included
//! let returned = now(); …own work…        open.place().add_wait(…), …add_delay_gain(…), …add_peer(…)
//! thread.exit(open, returned, waits);     reads the clock; counts the time since `returned` as the tool's
//! ```
//!
//! A wrapper's nodes have no estimated cost: everything that a wrapper adds is between its two clock
//! readings, and it says how much by `add_tool` and `exit`.

use crate::calibration;
use crate::clock;
use crate::graph_file;
use crate::hook::stack_pointer_here;
use crate::idle;
use crate::images;
use crate::live::add;
use crate::local::{Door, Local};
use crate::passing;
use crate::pause;
pub use crate::place::{Exchange, Place};
use crate::process;
use crate::queued;
pub use crate::queued::Waits;
use crate::request;
use crate::slow;
use crate::state::ThreadState;
use crate::sys::SignalsBlocked;
use crate::thread;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_delay::completion::Moment;
use tare_format::graph::COST_UNIT;
use tare_format::ids::{RegionId, Ticks};

/// The calling thread, set up for recording. It cannot leave its thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    local: Local,
}

/// The calling thread's token; sets the thread up at its first call. `None` while nothing is recorded.
///
/// # Probe-safe
#[must_use]
#[inline]
pub fn thread() -> Option<Thread> {
    let state = ThreadState::current();
    if let Some(local) = Local::of(state) {
        return Some(Thread { local });
    }
    let _signals = SignalsBlocked::new();
    thread::ready(state, process::now().0).map(|local| Thread { local })
}

/// The calling thread's token, if it has been set up.
#[must_use]
#[inline]
pub fn known_thread() -> Option<Thread> {
    Local::of(ThreadState::current()).map(|local| Thread { local })
}

/// Whether the program asks in passing, and does not wait for the answer, in the call that comes back to this address; as far as
/// the instrumented image says it.
#[must_use]
#[inline]
pub fn is_asked_in_passing(returns_to: usize) -> bool {
    images::is_asked_in_passing(returns_to as u64)
}

/// The stack pointer of the calling thread's outermost wrapped call; 0 outside of all. It is whoever wraps functions that keeps it.
#[must_use]
#[inline]
pub fn outermost() -> &'static AtomicU64 {
    &ThreadState::current().outermost
}

/// What a call takes before the first reading of its wrapper and after the last one, in ticks.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);
/// What a real function takes longer between the readings around it than without them, in ticks.
static INSIDE: AtomicU64 = AtomicU64::new(0);

/// Measures what calls of wrappers take besides what they book as the tool's. `run_calls` makes so many, as the program does, of a
/// function that does next to nothing, and `run_real` as many of the function behind it.
pub fn calibrate(run_calls: impl Fn(u32), run_real: impl Fn(u32)) {
    calibration::calibrate_wrappers(run_calls, run_real);
}

pub(crate) fn set_unseen(outside: u64, inside: u64) {
    OUTSIDE.store(outside, Relaxed);
    INSIDE.store(inside, Relaxed);
}

/// What a real function took between two readings of the clock, without what they add, in ticks.
#[must_use]
#[inline]
pub fn real(begin: Ticks, end: Ticks) -> u64 {
    end.0.saturating_sub(begin.0).saturating_sub(INSIDE.load(Relaxed))
}

/// The delay of the calling thread so far; where it is not set up, that with which it began.
#[must_use]
pub fn current_delay() -> i64 {
    let state = ThreadState::current();
    Local::of(state).map_or_else(|| state.inherited.load(Relaxed), |local| Thread { local }.delay())
}

/// The calling thread, which has just begun, begins with the delay of who started it.
pub fn begins_with(delay: i64) {
    inherit_delay(ThreadState::current(), delay);
}

/// The calling thread, which may not be set up, gains delay that no region shows.
pub fn gains(delay: i64) {
    let inherited = &ThreadState::current().inherited;
    inherited.store(inherited.load(Relaxed) + delay, Relaxed);
}

/// Lets the delay of a thread be this one now.
pub(crate) fn inherit_delay(state: &'static ThreadState, delay: i64) {
    let of_location = Local::of(state).map_or(0, |local| Thread { local }.delay_of_location());
    state.inherited.store(delay - of_location, Relaxed);
}

impl Thread {
    /// Opens a region below the innermost open one. What this takes after [`Open::entered`] is to be booked as the tool's.
    #[inline]
    pub fn enter(self, region: RegionId) -> Open {
        let local = self.local;
        passing::end(local);
        let here = stack_pointer_here();
        if local.state.frame().sp.load(Relaxed) <= here {
            let _signals = SignalsBlocked::new();
            let ticks = process::now().0;
            local.attribute_before_closing(ticks);
            slow::close_dead_frames(local, here, ticks);
        }
        if pause::is_paused() {
            return Open { place: Place { local, node: local.current() }, entered: process::now(), depth: None };
        }
        if !local.has_room_for_frame() {
            add(&local.arena.location().lost_depth, 1);
            return Open { place: Place { local, node: local.current() }, entered: process::now(), depth: None };
        }
        let node = local.find(local.current(), region.0).unwrap_or_else(|| {
            let _signals = SignalsBlocked::new();
            local.find_or_create(local.current(), region.0, Door::Wrapper).0
        });
        let (frame, ticks) = local.open_wrapper(node);
        queued::call_begins(local, ticks);
        Open { place: Place { local, node }, entered: Ticks(ticks), depth: Some(local.arena.frame_index(frame)) }
    }

    /// Closes a region, and whatever was left open inside it. The time since `returned` counts as the tool's own, and so does
    /// what the readings did not see, in the region and where the call was made. Returns the last reading.
    #[inline]
    pub fn exit(self, open: Open, returned: Ticks, waits: Waits) -> Ticks {
        let local = self.local;
        if let Some(header) = graph_file::header() {
            clock::refresh(header, returned.0);
            request::follow(local.arena, header);
        }
        let Some(depth) = open.depth else { return process::now() };
        let top = local.arena.frame_index(local.state.frame());
        let ended = process::now().0;
        let ticks = if queued::call_ends(local, open.entered.0, ended, waits) { process::now().0 } else { ended };
        local.attribute_before_closing(ticks);
        if top < depth {
            add(&local.arena.location().unmatched_exits, 1);
            return Ticks(ticks);
        }
        (depth..top).for_each(|_| local.close_skipped(ticks));
        local.close(ticks);
        open.add_tool(ticks.saturating_sub(returned.0) + INSIDE.load(Relaxed));
        local.count_tool(local.owner(), OUTSIDE.load(Relaxed));
        local.publish(ticks);
        Ticks(ticks)
    }

    /// From this moment on the thread waits, within what it has entered before, until it goes on, or ends, or its process does.
    #[inline]
    pub fn comes_to_wait(self, since: Moment) {
        queued::call_begins(self.local, since.at.0);
        idle::begins(self.local, since);
    }

    /// The thread goes on, and counts itself what it has waited.
    #[inline]
    pub fn goes_on(self) {
        idle::ends(self.local);
    }

    /// Delay of this thread so far in ticks: that with which it began, overhead of probes, the tool's own time, delays gained in waits.
    #[must_use]
    #[inline]
    pub fn delay(self) -> i64 {
        self.local.state.inherited.load(Relaxed) + self.delay_of_location()
    }

    fn delay_of_location(self) -> i64 {
        let location = self.local.arena.location();
        let tool = location.tool_ticks.load(Relaxed).cast_signed();
        self.probe_overhead() + tool + location.delay_gain.load(Relaxed)
    }

    /// Counts ticks waited where the thread is, between two moments, as measured and in virtual time, and delay gained by that; changes the thread's delay.
    pub fn add_wait_here(self, (since, until): (Ticks, Ticks), measured: u64, in_virtual_time: u64, gain: i64) {
        queued::call_ends(self.local, since.0, until.0, Waits::AsleepSince(since));
        let place = Place { local: self.local, node: self.local.owner() };
        place.add_wait(measured, in_virtual_time);
        place.add_delay_gain(gain);
    }

    /// Overhead of this thread's probes so far in ticks, without the tool's own time in wrappers.
    #[must_use]
    #[inline]
    pub fn probe_overhead(self) -> i64 {
        self.local.state.overhead.load(Relaxed) / COST_UNIT.cast_signed()
    }
}

/// A region that a wrapper has opened.
#[derive(Debug)]
#[must_use = "a region that is opened is to be closed"]
pub struct Open {
    place: Place,
    entered: Ticks,
    /// Index of its frame; `None` where there was no room for one.
    depth: Option<u64>,
}

impl Open {
    /// When it was entered.
    #[must_use]
    #[inline]
    pub fn entered(&self) -> Ticks {
        self.entered
    }

    /// What the thread waits for there, and whom with, is counted at this place.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Lets so many calls pass that come back to this address, from here: see [`crate::passing`]. Says whether they may.
    #[inline]
    pub fn lets_pass(&self, returns_to: usize, calls: u16) -> bool {
        self.depth.is_some() && passing::begin(self.place.local, self.place.node, returns_to, calls)
    }

    /// The call is like those that may pass, and its real function has taken so many ticks.
    pub fn notes_passable(&self, ticks: u64) {
        if self.depth.is_some() {
            passing::note(self.place.local, self.place.node, ticks);
        }
    }

    /// Counts ticks as the tool's own work in this region, and so as delay.
    #[inline]
    pub fn add_tool(&self, ticks: u64) {
        self.place.local.count_tool(self.place.node, ticks);
    }

    /// Counts messages and bytes sent or received.
    #[inline]
    pub fn add_messages(&self, messages: u64, bytes: u64) {
        let cold = self.place.cold();
        add(&cold.messages, messages);
        add(&cold.bytes, bytes);
    }

    /// Counts completions whose delay was not known (here and in the header).
    pub fn add_unpaired(&self, completions: u64) {
        add(&self.place.cold().unpaired, completions);
        process::count_unpaired(completions);
    }

    /// Counts calls that may have waited for others in a way that is not known (here and in the header).
    pub fn add_uncovered(&self, calls: u64) {
        add(&self.place.cold().unpaired, calls);
        process::count_uncovered(calls);
    }

    /// Counts a receive whose order the virtual times contradict. Beyond the room for places, the location alone counts it.
    pub fn add_contradicted(&self) {
        let location = self.place.local.arena.location();
        add(&location.contradicted, 1);
        let node = u64::from(self.place.local.arena.index_of(self.place.node)) + 1;
        let mine = |place: &&AtomicU64| {
            let at = place.load(Relaxed);
            at == 0 || at as u32 == node as u32
        };
        if let Some(place) = location.contradicted_at.iter().find(mine) {
            let number = place.load(Relaxed) >> 32;
            place.store((number + 1) << 32 | node, Relaxed);
        }
    }
}
