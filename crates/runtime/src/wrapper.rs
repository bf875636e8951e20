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
//! thread.exit(open, returned, waits);     reads the clock; counts the time since `returned` as the tool's
//! ```
//!
//! A wrapper's nodes have no estimated cost: everything that a wrapper adds is between its two clock
//! readings, and it says how much by `add_tool` and `exit`.

use crate::arena::PAGE;
use crate::calibration;
use crate::clock;
use crate::edges::{Edges, Inserted, key};
use crate::graph_file;
use crate::hook::stack_pointer_here;
use crate::images;
use crate::live::{LiveCold, LiveNode, LivePeer, add, add_signed};
use crate::local::{Door, Local};
use crate::passing;
use crate::pause;
use crate::process;
use crate::queued;
pub use crate::queued::Waits;
use crate::request;
use crate::slow;
use crate::state::ThreadState;
use crate::sys::SignalsBlocked;
use crate::thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use tare_format::graph::{COST_UNIT, MAX_PEERS, PEER_HELD, PEERS, PeerRecord, SIZE_CLASSES, size_class};
use tare_format::ids::{Rank, RegionId, Ticks};

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
            slow::close_dead_frames(local, here, process::now().0);
        }
        if pause::is_paused() {
            return Open { local, entered: process::now(), node: local.current(), depth: None };
        }
        if !local.has_room_for_frame() {
            add(&local.arena.location().lost_depth, 1);
            return Open { local, entered: process::now(), node: local.current(), depth: None };
        }
        let node = local.find(local.current(), region.0).unwrap_or_else(|| {
            let _signals = SignalsBlocked::new();
            local.find_or_create(local.current(), region.0, Door::Wrapper).0
        });
        let (frame, ticks) = local.open_wrapper(node);
        queued::call_begins(local, ticks);
        Open { local, entered: Ticks(ticks), node, depth: Some(local.arena.frame_index(frame)) }
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
        local.attribute(local.owner(), ticks);
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

    /// From this moment on the thread waits, within what it has entered before.
    #[inline]
    pub fn comes_to_wait(self, at: Ticks) {
        queued::call_begins(self.local, at.0);
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
        let cold = self.local.cold_of(self.local.owner());
        add(&cold.wait_ticks, measured);
        add(&cold.virtual_wait_ticks, in_virtual_time);
        add_signed(&cold.delay_gain, gain);
        add_signed(&self.local.arena.location().delay_gain, gain);
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
    local: Local,
    entered: Ticks,
    node: &'static LiveNode,
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

    /// Lets so many calls pass that come back to this address, from here: see [`crate::passing`]. Says whether they may.
    #[inline]
    pub fn lets_pass(&self, returns_to: usize, calls: u16) -> bool {
        self.depth.is_some() && passing::begin(self.local, self.node, returns_to, calls)
    }

    /// The call is like those that may pass, and has lasted so many ticks between the readings around the real function.
    pub fn notes_passable(&self, ticks: u64) {
        if self.depth.is_some() {
            passing::note(self.local, self.node, ticks.saturating_sub(INSIDE.load(Relaxed)));
        }
    }

    /// Counts ticks as the tool's own work in this region, and so as delay.
    #[inline]
    pub fn add_tool(&self, ticks: u64) {
        self.local.count_tool(self.node, ticks);
    }

    /// Counts ticks waited, as measured and in virtual time.
    #[inline]
    pub fn add_wait(&self, measured: u64, in_virtual_time: u64) {
        add(&self.cold().wait_ticks, measured);
        add(&self.cold().virtual_wait_ticks, in_virtual_time);
    }

    /// Counts delay gained (negative: lost) here; changes the thread's delay.
    #[inline]
    pub fn add_delay_gain(&self, ticks: i64) {
        add_signed(&self.cold().delay_gain, ticks);
        add_signed(&self.local.arena.location().delay_gain, ticks);
    }

    /// Counts messages and bytes sent or received.
    #[inline]
    pub fn add_messages(&self, messages: u64, bytes: u64) {
        add(&self.cold().messages, messages);
        add(&self.cold().bytes, bytes);
    }

    /// Counts completions whose delay was not known (here and in the header).
    pub fn add_unpaired(&self, completions: u64) {
        add(&self.cold().unpaired, completions);
        process::count_unpaired(completions);
    }

    /// Counts calls that may have waited for others in a way that is not known (here and in the header).
    pub fn add_uncovered(&self, calls: u64) {
        add(&self.cold().unpaired, calls);
        process::count_uncovered(calls);
    }

    /// Counts a receive whose order the virtual times contradict. Beyond the room for places, the location alone counts it.
    pub fn add_contradicted(&self) {
        let location = self.local.arena.location();
        add(&location.contradicted, 1);
        let node = u64::from(self.local.arena.index_of(self.node)) + 1;
        let mine = |place: &&AtomicU64| {
            let at = place.load(Relaxed);
            at == 0 || at as u32 == node as u32
        };
        if let Some(place) = location.contradicted_at.iter().find(mine) {
            let number = place.load(Relaxed) >> 32;
            place.store((number + 1) << 32 | node, Relaxed);
        }
    }

    /// Adds to what this region exchanged with one partner. Where there is no room for the partner, it is counted by
    /// the location.
    pub fn add_peer(&self, peer: Rank, exchange: &Exchange) {
        let Some(record) = self.peer(peer) else {
            add(&self.local.arena.location().lost_peers, 1);
            return;
        };
        add(&record.sent, exchange.sent);
        add(&record.received, exchange.received);
        add(&record.bytes, exchange.bytes);
        add(&record.transmission, exchange.transmission);
        add(&record.wait, exchange.wait);
        add(&record.virtual_wait, exchange.virtual_wait);
        add_signed(&record.delay_gain, exchange.delay_gain);
        if let Some(size) = exchange.bytes.checked_div(exchange.sent + exchange.received) {
            add_sizes(&record.sent_sizes, exchange.sent, size);
            add_sizes(&record.received_sizes, exchange.received, size);
        }
    }

    /// Adds what a send to one partner waited until that received.
    pub fn add_held(&self, peer: Rank, wait: u64, virtual_wait: u64, delay_gain: i64) {
        self.add_peer(Rank(peer.0 | PEER_HELD), &Exchange { wait, virtual_wait, delay_gain, ..Exchange::default() });
    }

    #[inline]
    fn cold(&self) -> &'static LiveCold {
        self.local.cold_of(self.node)
    }

    /// The record of a partner, found through a table of the thread, or a new one at the list's head.
    fn peer(&self, peer: Rank) -> Option<&'static LivePeer> {
        let arena = self.local.arena;
        let key = key(arena.word_of(self.node), peer.0);
        if let Some(index) = self.local.state.partners().and_then(|partners| partners.find(key)) {
            return Some(arena.peer(index));
        }
        let _signals = SignalsBlocked::new();
        let index = self.new_peer(peer)?;
        let partners = match self.local.state.partners() {
            Some(partners) => partners,
            None => {
                let table = Edges::first_table()?;
                self.local.state.partners.store(table.as_ptr(), Release);
                self.local.state.partners()?
            }
        };
        if let Inserted::Grown(table) = partners.insert(key, index) {
            self.local.state.partners.store(table.as_ptr(), Release);
        }
        Some(arena.peer(index))
    }

    fn new_peer(&self, peer: Rank) -> Option<u32> {
        let (arena, location) = (self.local.arena, self.local.arena.location());
        let index = location.peers.load(Relaxed);
        let ready = &self.local.state.peers_ready;
        if index >= MAX_PEERS {
            return None;
        }
        if index >= ready.load(Relaxed) {
            let offset = PEERS + u64::from(index) * PeerRecord::SIZE as u64;
            if !arena.allocate(offset, PAGE) {
                return None;
            }
            ready.store(index + PAGE as u32 / PeerRecord::SIZE as u32, Relaxed);
        }
        let record = arena.peer(index);
        record.peer.store(peer.0, Relaxed);
        record.next.store(self.cold().first_peer.load(Relaxed), Relaxed);
        location.peers.store(index + 1, Release);
        self.cold().first_peer.store(index + 1, Release);
        Some(index)
    }
}

/// Counts messages of one size. The only writer is the calling thread, and no MPI call may interrupt another one.
fn add_sizes(classes: &[AtomicU32; SIZE_CLASSES], messages: u64, size: u64) {
    let class = &classes[size_class(size)];
    let count = u64::from(class.load(Relaxed)) + messages;
    class.store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
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
