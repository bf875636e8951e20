//! The batch of a thread that is off: the thread state names its node, and the probe of that node, where it is
//! called from that parent, counts the call down and lets the body run without probes.
//!
//! What always holds: the calls of a batch are added to `off_calls` when it opens, and `left` says how many of them
//! have not come. A call that a signal handler cuts off between look and count is counted late, in `left` below zero.

use crate::live::{LiveNode, add};
use crate::local::Local;
use core::sync::atomic::{Ordering::Relaxed, compiler_fence};
use tare_format::graph::Mode;

/// Ticks after which a batch that is off is given up for the sake of others (some ms).
const LONG: u64 = 10_000_000;

/// Whether a batch may be off now. One that has waited for its calls for long is given up.
pub(crate) fn is_free(local: Local, ticks: u64) -> bool {
    let state = local.state;
    if state.off_region.load(Relaxed) == 0 {
        return true;
    }
    if ticks.wrapping_sub(state.off_since.load(Relaxed)) < LONG {
        return false;
    }
    // SAFETY: the pointer was set together with the region, to a node of the thread's arena.
    let Some(node) = (unsafe { state.off_node.load(Relaxed).as_ref() }) else { return false };
    close(local, node);
    // Its next call finds the batch over; the record says that nothing is to be taken from it.
    if let Some(index) = local.cold_of(node).batch_record.load(Relaxed).checked_sub(1) {
        local.arena.batch(index).kind.store(NONE, Relaxed);
    }
    node.mode.store(Mode::On as u8, Relaxed);
    node.until.store(node.calls.load(Relaxed) as u32, Relaxed);
    true
}

/// The kind of a batch of which nothing is taken.
const NONE: u32 = 3;

/// Whether the batch of this node is the one that is off.
pub(crate) fn is_open(local: Local, node: &LiveNode) -> bool {
    let named = core::ptr::eq(local.state.off_node.load(Relaxed), node);
    named && local.state.off_region.load(Relaxed) != 0
}

/// Opens a batch that is off, of so many calls.
pub(crate) fn open(local: Local, node: &'static LiveNode, kind: Mode, calls: u16, ticks: u64) {
    let state = local.state;
    add(&node.off_calls, u64::from(calls));
    node.left.fetch_add(calls.cast_signed(), Relaxed);
    state.off_node.store(core::ptr::from_ref(node).cast_mut(), Relaxed);
    let parent = local.arena.node(node.parent.load(Relaxed));
    state.off_parent.store(core::ptr::from_ref(parent).cast_mut(), Relaxed);
    state.off_twice.store(u32::from(kind == Mode::OffTwice), Relaxed);
    state.off_since.store(ticks, Relaxed);
    compiler_fence(core::sync::atomic::Ordering::SeqCst);
    state.off_region.store(node.region.load(Relaxed), Relaxed);
}

/// Closes the batch of a node that is off: what has not come of it is taken back. The call that found nothing left
/// is not one of it.
pub(crate) fn close(local: Local, node: &LiveNode) {
    local.state.off_region.store(0, Relaxed);
    compiler_fence(core::sync::atomic::Ordering::SeqCst);
    let left = node.left.load(Relaxed);
    if left < 0 {
        node.left.fetch_add(1, Relaxed);
    } else {
        node.left.fetch_sub(left, Relaxed);
        node.off_calls.fetch_sub(u64::from(left.unsigned_abs()), Relaxed);
    }
}
