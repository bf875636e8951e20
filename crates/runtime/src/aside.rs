//! Nodes that are off or clockless: their probes count a call down and let the body of a leaf run without probes, or
//! open a frame without reading the clock. And those that are diverted: on, by the way that quiet calls take.
//!
//! What always holds: the calls of a batch are added to `off_calls` when it opens, and `left` says how many of them
//! have not come; `aside` of the thread state counts the thread's nodes that are not on, so that probes need not look
//! at a node's mode while it is 0. Both change with signals held back.
//!
//! What counting itself costs shows in batches that do it twice, whole: what a second look at the same words adds does not tell, because that takes a
//! Zen 5 a cycle, and the call of the stub and the way back make most of the cost. (Where a routine counts, and not a stub, the frame is opened once.)

use crate::live::{LiveNode, add};
use crate::local::{Local, NEVER};
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::{Mode, NODE_LEAF};

/// The modes in which it reads it.
const ON: u8 = Mode::On as u8;
const DIVERTED: u8 = Mode::Diverted as u8;

/// The mode in which the probe of a node does not read the clock.
pub(crate) fn quiet_mode(node: &LiveNode) -> Mode {
    if node.flags.load(Relaxed) & NODE_LEAF == 0 { Mode::Clockless } else { Mode::OffCounted }
}

/// As [`quiet_mode`], with counting done twice.
pub(crate) fn twice_mode(node: &LiveNode) -> Mode {
    if node.flags.load(Relaxed) & NODE_LEAF == 0 { Mode::ClocklessTwice } else { Mode::OffTwice }
}

/// Opens a batch that is off or clockless, of so many calls.
pub(crate) fn open(local: Local, node: &'static LiveNode, mode: Mode, calls: u16) {
    add(&node.off_calls, u64::from(calls));
    node.left.fetch_add(calls.cast_signed(), Relaxed);
    node.until.store((node.calls.load(Relaxed) as u32).wrapping_add(NEVER), Relaxed);
    node.mode.store(mode as u8, Relaxed);
    local.state.aside.fetch_add(1, Relaxed);
}

/// Opens a batch that is diverted, whose calls are those of a node that is on.
pub(crate) fn divert(local: Local, node: &LiveNode) {
    node.mode.store(DIVERTED, Relaxed);
    local.state.aside.fetch_add(1, Relaxed);
}

/// Whether the calls of a node are counted down, and read no clock.
pub(crate) fn is_quiet(node: &LiveNode) -> bool {
    !matches!(node.mode.load(Relaxed), ON | DIVERTED)
}

/// Whether the probe of a node is on by the usual way.
pub(crate) fn is_on(node: &LiveNode) -> bool {
    node.mode.load(Relaxed) == ON
}

/// Closes such a batch: what has not come of it is taken back, and the node is on.
pub(crate) fn close(local: Local, node: &LiveNode) {
    let mode = node.mode.swap(ON, Relaxed);
    if mode == ON {
        return;
    }
    local.state.aside.fetch_sub(1, Relaxed);
    if mode == DIVERTED {
        return;
    }
    // Below zero by a call that a handler has interrupted after it found none left: it takes that back itself.
    let left = node.left.load(Relaxed).max(0);
    node.left.fetch_sub(left, Relaxed);
    node.off_calls.fetch_sub(u64::from(left.unsigned_abs()), Relaxed);
}
