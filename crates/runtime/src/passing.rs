//! Calls of wrapped functions that are only counted: questions that a program asks in passing, over and over, and that are answered with no.
//!
//! A wrapper's readings of the clock take several times as long as such a question. So after some of them the wrapper lets as many pass as it
//! says, of those that come back to the same place, from the same node: they are counted, as those of a quiet probe are, and their
//! time stays with the region around them, from where it is taken by what those took that were measured and answered with no. The first one that is answered with yes, and any other
//! wrapped call of the thread, ends that.
//!
//! What it costs that a call passes is known from a hot loop at first. Where the program asks, it may be as much again: so in some batches all that is
//! done for such a call is done twice, and what these take longer is the cost in that place.
//!
//! What always holds: calls that were let pass stand in `off_calls` of the node, and `left` says how many of them have not come.

use crate::batch;
use crate::calibration;
use crate::live::{LiveBatch, LiveNode, LiveSums, add};
use crate::local::Local;
use crate::pause;
use crate::process;
use crate::settings::settings;
use crate::state::ThreadState;
use crate::sys::SignalsBlocked;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_format::graph::COST_UNIT;

/// What it costs that a call passes, in a hot loop ([`COST_UNIT`]).
static COST: AtomicU64 = AtomicU64::new(0);

/// Of so many batches one is done twice.
const TWICE_OF: u64 = 8;
/// Batches of fewer calls are not compared.
const LEAST_CALLS: u64 = 16;
/// Batches of each kind from which on they say what a call costs; every so many times of those that are done twice.
const LEAST_BATCHES: u64 = 32;
const EVERY: u64 = 8;
/// How many times as long as usual a batch may be that is compared: others have lost the processor.
const LONGEST: u64 = 4;

/// A call that may pass.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    state: &'static ThreadState,
    node: &'static LiveNode,
    /// What it counts as: nothing, where another one is done once more.
    calls: u16,
}

/// Whether the call of a function, which has this number, may pass that comes back to this address.
#[must_use]
#[inline]
pub fn passing(function: u32, returns_to: usize) -> Option<Passing> {
    let state = ThreadState::current();
    let is_again = state.asked_again.load(Relaxed) == function + 1;
    if state.asked_at.load(Relaxed) != returns_to as u64 && !is_again {
        return None;
    }
    let node = asked(state)?;
    let is_there = state.frame().node.load(Relaxed) == state.asked_in.load(Relaxed).addr() as u64;
    let may_pass = is_there && node.left.load(Relaxed) > 0 && !pause::is_paused();
    (may_pass || is_again).then_some(Passing { state, node, calls: u16::from(!is_again) })
}

impl Passing {
    /// Whether another call is done once more by this one, which is none.
    #[must_use]
    #[inline]
    pub fn is_again(self) -> bool {
        self.calls == 0
    }

    /// Does all that lets a call pass once more where that is to be: `call` makes the same call of the same function.
    #[inline]
    pub fn again(self, function: u32, call: impl FnOnce()) {
        if self.state.asked_times.load(Relaxed) > 1 && !self.is_again() {
            self.state.asked_again.store(function + 1, Relaxed);
            call();
            self.state.asked_again.store(0, Relaxed);
        }
    }

    /// It was answered with no, and passes.
    #[inline]
    pub fn count(self) {
        // SAFETY: the address is that of a live 16-bit word, which may be written through it; one instruction, as in `add`.
        unsafe {
            core::arch::asm!("sub word ptr [{left}], {calls:x}", left = in(reg) self.node.left.as_ptr(), calls = in(reg) self.calls, options(nostack))
        };
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
    let Some(record) = record(local, node).filter(|_| !settings().exact) else { return false };
    end(local);
    let state = local.state;
    let times = if batch::random(record).is_multiple_of(TWICE_OF) { 2 } else { 1 };
    state.asked_times.store(times, Relaxed);
    record.boundary.store(process::now().0, Relaxed);
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
    let times = state.asked_times.load(Relaxed);
    let hot = COST.load(Relaxed);
    let cost = batch::known(local, node).map_or(hot, |record| {
        let spent = process::now().0.saturating_sub(record.boundary.load(Relaxed));
        compare(record, times, (passed, spent), hot)
    });
    local.count_tool(local.arena.node(node.parent.load(Relaxed)), passed * u64::from(times) * cost / COST_UNIT);
}

/// Takes a batch that has ended, of so many calls and ticks and done so many times. What a call costs, as far as that is known, by a hot loop at
/// first ([`COST_UNIT`]).
fn compare(record: &LiveBatch, times: u32, (calls, spent): (u64, u64), hot: u64) -> u64 {
    let [_, once, twice, _] = &record.on;
    let (sums, is_twice) = if times > 1 { (twice, true) } else { (once, false) };
    let per_call = |sums: &LiveSums| sums.ticks.load(Relaxed).saturating_mul(COST_UNIT).checked_div(sums.calls.load(Relaxed)).unwrap_or(0);
    let usual = per_call(sums);
    let is_usual = usual == 0 || spent.saturating_mul(COST_UNIT) / LONGEST <= usual.saturating_mul(calls);
    if calls >= LEAST_CALLS && is_usual {
        batch::take(sums, record, spent, calls);
        let (less, more) = (once.batches.load(Relaxed), twice.batches.load(Relaxed));
        if is_twice && less.min(more) >= LEAST_BATCHES && more.is_multiple_of(EVERY) {
            let cost = per_call(twice).saturating_sub(per_call(once)).max(hot / 2);
            record.off_cost.store(cost, Relaxed);
        }
    }
    match record.off_cost.load(Relaxed) {
        0 => hot,
        known => known,
    }
}

/// The node of the calls that may pass.
#[inline]
fn asked(state: &ThreadState) -> Option<&'static LiveNode> {
    // SAFETY: null, or a node of the thread's arena, which stays.
    NonNull::new(state.asked.load(Relaxed)).map(|node| unsafe { node.as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOT: u64 = 20 * COST_UNIT;
    const CALLS: u64 = 500;

    /// Batches of which every eighth is done twice, which adds so many ticks a call to 50.
    fn after(batches: u64, ticks: u64) -> u64 {
        // SAFETY: a record is made of atomic integers alone.
        let record: LiveBatch = unsafe { core::mem::zeroed() };
        let spent = |number: u64| match number % TWICE_OF {
            // Once the thread has lost its processor.
            5 if number == 61 => CALLS * 50_000,
            0 => CALLS * (50 + ticks),
            _ => CALLS * 50,
        };
        let times = |number: u64| if number.is_multiple_of(TWICE_OF) { 2 } else { 1 };
        (1..=batches).map(|number| compare(&record, times(number), (CALLS, spent(number)), HOT)).last().unwrap_or(0)
    }

    #[test]
    fn what_a_call_costs_is_what_doing_it_twice_adds() {
        assert_eq!(after(1000, 31), 31 * COST_UNIT);
    }

    #[test]
    fn a_hot_loop_says_it_until_there_are_enough_batches() {
        assert_eq!(after(LEAST_BATCHES * TWICE_OF - 1, 31), HOT);
        assert_eq!(after(LEAST_BATCHES * TWICE_OF, 31), 31 * COST_UNIT);
    }

    #[test]
    fn it_is_not_believed_to_cost_next_to_nothing() {
        assert_eq!(after(1000, 0), HOT / 2);
    }
}
