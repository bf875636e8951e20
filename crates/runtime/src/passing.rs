//! Calls of wrapped functions that are only counted: questions that a program asks in passing, over and over, and that are answered with no.
//!
//! A wrapper's readings of the clock take several times as long as such a question. So after some of them the wrapper lets as many pass as it
//! says, of those that come back to the same place, from the same node: they are counted, as those of a quiet probe are, and their
//! time stays with the region around them, from where it is taken by what those took that were measured and answered with no. The first one that is answered with yes, and any other
//! wrapped call of the thread, ends that.
//!
//! What always holds: calls that were let pass stand in `off_calls` of the node, and `left` says how many of them have not come.

use crate::batch;
use crate::calibration;
use crate::live::{LiveBatch, LiveNode, add};
use crate::local::Local;
use crate::pause;
use crate::settings::settings;
use crate::state::ThreadState;
use crate::sys::SignalsBlocked;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_format::graph::COST_UNIT;

/// What it costs that a call passes, in a hot loop ([`COST_UNIT`]).
static COST: AtomicU64 = AtomicU64::new(0);

/// A call that may pass.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    node: &'static LiveNode,
}

/// Whether the call that comes back to this address may pass.
#[must_use]
#[inline]
pub fn passing(returns_to: usize) -> Option<Passing> {
    let state = ThreadState::current();
    if state.asked_at.load(Relaxed) != returns_to as u64 {
        return None;
    }
    let node = asked(state)?;
    let is_there = state.frame().node.load(Relaxed) == state.asked_in.load(Relaxed).addr() as u64;
    (is_there && node.left.load(Relaxed) > 0 && !pause::is_paused()).then_some(Passing { node })
}

impl Passing {
    /// It was answered with no, and passes.
    #[inline]
    pub fn count(self) {
        // SAFETY: the address is that of a live 16-bit word, which may be written through it; one instruction, as in `add`.
        unsafe { core::arch::asm!("sub word ptr [{left}], 1", left = in(reg) self.node.left.as_ptr(), options(nostack)) };
    }
}

/// Measures what it costs that a call passes: `run_calls` makes so many, as the program does, of a function that is passed through, and
/// `run_real` as many of the function behind it.
pub fn calibrate(run_calls: impl Fn(u32), run_real: impl Fn(u32)) {
    COST.store(calibration::difference(run_calls, run_real), Relaxed);
}

/// Notes what a call took that was measured, and is like those that pass.
pub(crate) fn note(local: Local, node: &LiveNode, ticks: u64) {
    let Some(record) = record(local, node) else { return };
    batch::random(record);
    batch::take(&record.on[0], record, ticks, 1);
}

/// Where these are summed up: the batches of a probe that is on are a call each.
fn record(local: Local, node: &LiveNode) -> Option<&'static LiveBatch> {
    batch::known(local, node).or_else(|| {
        let _signals = SignalsBlocked::new();
        batch::allocate(local, node)
    })
}

/// Lets so many calls pass that come back to an address, of this node, from the one around it. Says whether they may.
pub(crate) fn begin(local: Local, node: &'static LiveNode, returns_to: usize, calls: u16) -> bool {
    if settings().exact || record(local, node).is_none() {
        return false;
    }
    end(local);
    let state = local.state;
    add(&node.off_calls, u64::from(calls));
    node.left.store(calls.cast_signed(), Relaxed);
    let around = local.arena.node(node.parent.load(Relaxed));
    state.asked.store(core::ptr::from_ref(node).cast_mut(), Relaxed);
    state.asked_in.store(core::ptr::from_ref(around).cast_mut(), Relaxed);
    state.asked_calls.store(u64::from(calls), Relaxed);
    state.asked_at.store(returns_to as u64, Relaxed);
    true
}

/// No call passes from now on. What the passing of those that came has cost is the tool's time.
#[inline]
pub(crate) fn end(local: Local) {
    if local.state.asked_at.load(Relaxed) != 0 {
        settle(local);
    }
}

#[cold]
fn settle(local: Local) {
    let state = local.state;
    state.asked_at.store(0, Relaxed);
    let Some(node) = asked(state) else { return };
    let left = node.left.load(Relaxed).max(0);
    node.left.store(0, Relaxed);
    node.off_calls.fetch_sub(u64::from(left.unsigned_abs()), Relaxed);
    let passed = state.asked_calls.load(Relaxed).saturating_sub(u64::from(left.unsigned_abs()));
    local.count_tool(local.arena.node(node.parent.load(Relaxed)), passed * COST.load(Relaxed) / COST_UNIT);
}

/// The node of the calls that may pass.
#[inline]
fn asked(state: &ThreadState) -> Option<&'static LiveNode> {
    // SAFETY: null, or a node of the thread's arena, which stays.
    NonNull::new(state.asked.load(Relaxed)).map(|node| unsafe { node.as_ref() })
}
