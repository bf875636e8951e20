//! Where probes go when they cannot do it alone: a thread's first probe, a new path, a batch boundary, a stack
//! pointer that does not fit.
//!
//! The door (`probe/routines.s`) has held back all signals, saved every register and vector, gone to a stack of the thread's own for
//! this, and read the clock. All of what happens here, and there, is counted as the tool's time.
//!
//! What always holds: signals are held back until all is done, no memory is allocated but by `mmap`, nothing unwinds. A thread's first slow
//! path, which sets it up, runs on the program's stack.

use crate::batch;
use crate::clock::{self, fenced};
use crate::fork;
use crate::graph_file;
use crate::live::add;
use crate::local::{Door, Local, stack_pointer};
use crate::request;
use crate::state::ThreadState;
use crate::switch;
use crate::sys::signal_stack;
use crate::thread;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a probe does after the slow path.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// Try again; the way is free.
    Again = 0,
    /// Return; the body runs with probes, or the exit is done.
    Done = 1,
}

const ENTER_LEAF: u32 = 1;
const EXIT: u32 = 2;
/// The bits of the kind.
const KINDS: u32 = 3;

/// Where a probe was called.
#[derive(Clone, Copy, Debug)]
struct Place {
    region: u32,
    /// The region's stack pointer.
    sp: u64,
    /// Address of the word that says where the probe returns to.
    return_address: u64,
}

/// Called by the door with all signals held back, and with the clock as it stood there. `kind` is the probe's, plus how far the region's stack pointer is
/// from the word that says where the probe returns to.
pub(crate) extern "C" fn slow_path(state: &'static ThreadState, region: u32, sp: u64, ticks: u64, kind: u32) -> u32 {
    let place = Place { region, sp, return_address: sp - u64::from(kind & !KINDS) };
    let ticks = if fork::notice() { fenced() } else { ticks };
    if let Some(local) = Local::of(state) {
        count_way_out(local);
        state.skipped_at.store(0, Relaxed);
    }
    let answer = match kind & KINDS {
        EXIT => exit(state, place, ticks),
        ENTER_LEAF => enter(state, place, ticks, Door::Leaf),
        _ => enter(state, place, ticks, Door::Probe),
    };
    if let Some(local) = Local::of(state) {
        if let Some(header) = graph_file::header() {
            clock::refresh(header, ticks);
        }
        count(local, ticks);
    }
    answer as u32
}

fn enter(state: &'static ThreadState, place: Place, ticks: u64, door: Door) -> Answer {
    let Place { region, sp, .. } = place;
    let Some(local) = thread::ready(state, ticks) else { return Answer::Done };
    local.attribute_before_closing(ticks);
    close_dead_frames(local, sp, ticks);
    if let Some(header) = graph_file::header() {
        request::follow(local.arena, header);
    }
    if switch::is_off(region) {
        local.retire(region, ticks);
        switch::switch_site(region, place.return_address);
        return Answer::Done;
    }
    if local.has_room_for_frame() {
        let parent = local.current();
        let (node, is_found) = local.find_or_create(parent, region, door);
        if batch::is_over(node) {
            batch::boundary(local, node, ticks);
        }
        if switch::is_off(region) {
            local.retire(region, ticks);
            switch::switch_site(region, place.return_address);
            return Answer::Done;
        }
        if is_found {
            Answer::Again
        } else {
            local.open(node, sp);
            Answer::Done
        }
    } else {
        // The call counts where it belongs; its time stays with the deepest frame.
        add(&local.find_or_create(local.current(), region, door).0.calls, 1);
        add(&local.arena.location().lost_depth, 1);
        state.lost_open.fetch_add(1, Relaxed);
        Answer::Done
    }
}

/// An exit whose stack pointer is not that of the innermost frame.
fn exit(state: &'static ThreadState, place: Place, ticks: u64) -> Answer {
    let Place { region, sp, .. } = place;
    let Some(local) = Local::of(state) else { return Answer::Done };
    local.attribute_before_closing(ticks);
    let depth = local.arena.frame_index(state.frame());
    let stack_pointer = |index: u64| stack_pointer(local.arena.frame(index));
    let is_on_other_stack = is_elsewhere(local, sp);
    // Stack pointers fall from frame to frame, but for where another stack begins.
    let is_ordered = state.segments.load(Relaxed) == 0;
    let own = (1..=depth).rev().take_while(|&index| stack_pointer(index) <= sp || !is_ordered);
    let own = { own }.find(|&index| stack_pointer(index) == sp);
    if let Some(own) = own {
        (own..depth).for_each(|_| local.close_skipped(ticks));
        local.close(ticks);
    } else if switch::is_off(region) {
        close_dead_frames(local, sp, ticks);
        local.retire(region, ticks);
        switch::switch_site(region, place.return_address);
    } else {
        if !is_on_other_stack {
            close_dead_frames(local, sp, ticks);
        }
        local.count_unmatched(region);
    }
    Answer::Done
}

/// Closes the frames that an exception or `longjmp` has skipped: those at or below the stack pointer. Where a
/// signal handler runs on a stack above, they are alive, and a frame that marks the other stack is opened.
pub(crate) fn close_dead_frames(local: Local, sp: u64, ticks: u64) {
    if local.state.frame().sp.load(Relaxed) > sp {
        return;
    }
    if let Some((_, top)) = is_elsewhere(local, sp).then(signal_stack).flatten() {
        if local.has_room_for_frame() {
            local.open_segment(top);
        }
        return;
    }
    while local.state.frame().sp.load(Relaxed) <= sp {
        local.close_skipped(ticks);
    }
}

/// Whether the thread is on its signal stack while the innermost frame is not.
pub(crate) fn is_elsewhere(local: Local, sp: u64) -> bool {
    let frame = local.state.frame().sp.load(Relaxed);
    signal_stack().is_some_and(|(low, top)| {
        let inside = |address: u64| (low..=top).contains(&address);
        inside(sp) && !inside(frame)
    })
}

/// More ticks on the way out of a slow path (some 8 µs) are not its own.
const MOST_WAY_OUT: u64 = 20_000;

/// Ticks of a slow path outside of its own clock readings.
static TAIL: AtomicU64 = AtomicU64::new(0);

/// Notes how long the slow path takes outside of its own clock readings.
pub(crate) fn set_tail(ticks: u64) {
    TAIL.store(ticks, Relaxed);
}

/// Counts the slow path and its time.
fn count(local: Local, begin: u64) {
    let node = local.owner();
    add(&local.arena.location().slow_paths, 1);
    let now = fenced();
    local.attribute(node, now);
    let end = now + TAIL.load(Relaxed);
    // The set-up of a thread comes before the time of its root, and is counted apart.
    let spent = end.saturating_sub(begin.max(local.opened()));
    local.count_tool(node, spent);
    add(&local.arena.location().slow_ticks, spent);
    local.state.counted.store(now, Relaxed);
    local.state.counted_to.store(local.arena.index_of(node), Relaxed);
    local.publish(now);
}

/// Counts what the way out of the last slow path took: how much the kernel takes to let signals in again depends on what the program did
/// to caches and predictions. Where a signal came in then, its handler is not the tool's.
fn count_way_out(local: Local) {
    let state = local.state;
    let took = state.left.load(Relaxed).saturating_sub(state.counted.load(Relaxed));
    if (1..MOST_WAY_OUT).contains(&took) && state.counted.swap(0, Relaxed) != 0 {
        local.count_tool(local.arena.node(state.counted_to.load(Relaxed)), took);
        add(&local.arena.location().slow_ticks, took);
    }
}
