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
//! let returned = now(); …own work…        open.add_wait(…), open.add_delay_gain(…), open.add_peer(…)
//! thread.exit(open, returned);            reads the clock; counts the time since `returned` as the tool's
//! ```
//!
//! A wrapper's nodes have no estimated cost: everything that a wrapper adds is between its two clock
//! readings, and it says how much by `add_tool` and `exit`.

use core::marker::PhantomData;
use tare_format::ids::{Rank, RegionId, Ticks};

/// The calling thread, set up for recording. It cannot leave its thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    only_here: PhantomData<*mut ()>,
}

/// The calling thread's token; sets the thread up at its first call. `None` while nothing is recorded.
///
/// # Probe-safe
#[must_use]
pub fn thread() -> Option<Thread> {
    None
}

impl Thread {
    /// Opens a region below the innermost open one.
    #[must_use]
    pub fn enter(self, region: RegionId) -> Open {
        let _ = region;
        Open { entered: crate::process::now(), only_here: PhantomData }
    }

    /// Closes a region, and whatever was left open inside it. The time since `returned` counts as the
    /// tool's own.
    pub fn exit(self, open: Open, returned: Ticks) {
        let _ = (open, returned);
    }

    /// Delay of this thread so far in ticks: overhead of probes, the tool's own time, delays gained in waits.
    #[must_use]
    pub fn delay(self) -> i64 {
        0
    }

    /// Overhead of this thread's probes so far in ticks, without the tool's own time in wrappers.
    #[must_use]
    pub fn probe_overhead(self) -> i64 {
        0
    }
}

/// A region that a wrapper has opened.
#[derive(Debug)]
#[must_use = "a region that is opened is to be closed"]
pub struct Open {
    entered: Ticks,
    only_here: PhantomData<*mut ()>,
}

impl Open {
    /// When it was entered.
    #[must_use]
    pub fn entered(&self) -> Ticks {
        self.entered
    }

    /// Counts ticks as the tool's own work in this region, and so as delay.
    pub fn add_tool(&self, ticks: u64) {
        let _ = ticks;
    }

    /// Counts ticks waited, as measured and in virtual time.
    pub fn add_wait(&self, measured: u64, in_virtual_time: u64) {
        let _ = (measured, in_virtual_time);
    }

    /// Counts delay gained (negative: lost) here; changes the thread's delay.
    pub fn add_delay_gain(&self, ticks: i64) {
        let _ = ticks;
    }

    /// Counts messages and bytes sent or received.
    pub fn add_messages(&self, messages: u64, bytes: u64) {
        let _ = (messages, bytes);
    }

    /// Counts completions whose delay was not known (here and in the header).
    pub fn add_unpaired(&self, completions: u64) {
        let _ = completions;
    }

    /// Adds to what this region exchanged with one partner.
    pub fn add_peer(&self, peer: Rank, exchange: &Exchange) {
        let _ = (peer, exchange);
    }
}

/// What passed between this location and one partner in one call. Added field by field to the
/// `PeerRecord` of the partner; not added to the region's own sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes, both ways.
    pub bytes: u64,
    /// Ticks between sending and the end of receiving.
    pub transmission: u64,
    /// Ticks waited.
    pub wait: u64,
    /// Ticks waited in virtual time.
    pub virtual_wait: u64,
    /// Delay gained.
    pub delay_gain: i64,
}
