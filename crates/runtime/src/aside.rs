//! Nodes that are off or clockless: their probes count a call down and let the body of a leaf run without probes, or
//! open a frame without reading the clock.
//!
//! What always holds: the calls of a batch are added to `off_calls` when it opens, and `left` says how many of them
//! have not come; `aside` of the thread state counts the thread's nodes that are not on, so that probes need not look
//! at a node's mode while it is 0. Both change with signals held back.
//!
//! What counting itself costs shows in batches that count twice: before each of their calls the probe calls sites of
//! region 0 from the same parent, which lead to a node of their own that is nobody's call path.

use crate::arena::AGAIN;
use crate::live::{LiveNode, add};
use crate::local::{Local, NEVER};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_format::graph::{Mode, NODE_LEAF};

/// The region that stands for the real one when a call is counted twice.
pub(crate) const AGAIN_REGION: u32 = 0;

/// The mode in which the probe of a node does not read the clock.
pub(crate) fn quiet_mode(node: &LiveNode) -> Mode {
    if node.flags.load(Relaxed) & NODE_LEAF == 0 { Mode::Clockless } else { Mode::OffCounted }
}

/// As [`quiet_mode`], with the counting done twice.
pub(crate) fn twice_mode(node: &LiveNode) -> Mode {
    if node.flags.load(Relaxed) & NODE_LEAF == 0 { Mode::ClocklessTwice } else { Mode::OffTwice }
}

/// Opens a batch that is off or clockless, of so many calls. At most one of a thread may count twice.
pub(crate) fn open(local: Local, node: &'static LiveNode, mode: Mode, calls: u16) {
    if mode == Mode::OffTwice || mode == Mode::ClocklessTwice {
        point_again(local, node, if mode == Mode::OffTwice { Mode::OffCounted } else { Mode::Clockless });
    }
    add(&node.off_calls, u64::from(calls));
    node.left.fetch_add(calls.cast_signed(), Relaxed);
    node.until.store((node.calls.load(Relaxed) as u32).wrapping_add(NEVER), Relaxed);
    node.mode.store(mode as u8, Relaxed);
    local.state.aside.fetch_add(1, Relaxed);
}

/// Closes such a batch: what has not come of it is taken back, and the node is on.
pub(crate) fn close(local: Local, node: &LiveNode) {
    if node.mode.swap(Mode::On as u8, Relaxed) == Mode::On as u8 {
        return;
    }
    local.state.aside.fetch_sub(1, Relaxed);
    // Below zero by a call that a handler has interrupted after it found none left: it takes that back itself.
    let left = node.left.load(Relaxed).max(0);
    node.left.fetch_sub(left, Relaxed);
    node.off_calls.fetch_sub(u64::from(left.unsigned_abs()), Relaxed);
}

/// Lets region 0, called from the parent of this node, find a node that counts as this one does.
fn point_again(local: Local, node: &LiveNode, mode: Mode) {
    let again = local.arena.node(AGAIN);
    again.mode.store(mode as u8, Relaxed);
    again.left.store(i16::MAX, Relaxed);
    let parent = local.arena.word_of(local.arena.node(node.parent.load(Relaxed)));
    let entry = u64::from(local.arena.word_of(again)) << 32 | u64::from(parent);
    // SAFETY: null, or the thread's site cache, whose first entry is that of region 0.
    if let Some(first) = unsafe { local.state.cache.load(Relaxed).as_ref() } {
        AtomicU64::store(first, entry, Relaxed);
    }
}
