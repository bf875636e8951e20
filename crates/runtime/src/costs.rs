//! Estimates of what probes cost, as the process goes, and the overhead that follows from them.
//!
//! What always holds: a location's overhead is what it would be had every call been charged the estimate of
//! today: a new estimate charges the difference for all calls so far.

use crate::company;
use crate::live::{LiveBatch, LiveNode, LiveSums, add, add_signed};
use crate::local::Local;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_delay::cost::{Company, Cost, HotCounting, Kinds, MeasuredMean};
use tare_format::graph::{BatchSums, NODE_LEAF, NODE_OVERFLOW};

/// Cost of a pair in a hot loop.
static HOT_PAIR: AtomicU64 = AtomicU64::new(0);
/// The same beside work that hides as much of it as can be.
static LEAST_PAIR: AtomicU64 = AtomicU64::new(0);
/// Mean cost of the paths measured so far, plus one; 0 while there is none.
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// What counting costs in a hot loop, once and again: by a clockless pair, and by an entry that is off.
static HOT_CLOCKLESS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static HOT_COUNTED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// What a pair that is diverted takes longer than one that is on, in a hot loop.
static HOT_DIVERTED: AtomicU64 = AtomicU64::new(0);

/// Notes what being diverted takes in a hot loop.
pub(crate) fn set_hot_diverted(cost: u64) {
    HOT_DIVERTED.store(cost, Relaxed);
}

/// Notes what counting costs in a hot loop, by a clockless pair and by an entry that is off.
pub(crate) fn set_hot_counting(clockless: HotCounting, counted: HotCounting) {
    for ([once, again], cost) in [(&HOT_CLOCKLESS, clockless), (&HOT_COUNTED, counted)] {
        once.store(cost.once, Relaxed);
        again.store(cost.again, Relaxed);
    }
}

/// What counting a call of a node costs in a hot loop, while its probe is quiet.
pub(crate) fn hot_counting(node: &LiveNode) -> HotCounting {
    let [once, again] = if node.flags.load(Relaxed) & NODE_LEAF == 0 { &HOT_CLOCKLESS } else { &HOT_COUNTED };
    HotCounting { once: once.load(Relaxed), again: again.load(Relaxed) }
}

/// Notes what a pair costs in a hot loop, and beside work that hides it.
pub(crate) fn set_hot_pair(cost: u64, least: u64) {
    HOT_PAIR.store(cost, Relaxed);
    LEAST_PAIR.store(least, Relaxed);
}

/// Cost of a path that has not been measured in place.
pub(crate) fn prior() -> Cost {
    tare_delay::cost::prior(HOT_PAIR.load(Relaxed), LEAST_PAIR.load(Relaxed), MEASURED.load(Relaxed).checked_sub(1))
}

/// Cost of a pair of hooks in a hot loop.
static HOT_HOOK: AtomicU64 = AtomicU64::new(0);

/// Notes what a pair of hooks costs in a hot loop.
pub(crate) fn set_hot_hook(cost: u64) {
    HOT_HOOK.store(cost, Relaxed);
}

/// Cost of a path with hooks, which has no true off state to measure it by.
pub(crate) fn hook_prior() -> Cost {
    let hot = HOT_HOOK.load(Relaxed);
    let least = tare_delay::cost::least_of_hooks(hot, HOT_PAIR.load(Relaxed), LEAST_PAIR.load(Relaxed));
    tare_delay::cost::prior(hot, least, None)
}

/// Estimates a path anew from its batches.
pub(crate) fn estimate(local: Local, node: &LiveNode, record: &LiveBatch) {
    let [on, off, off_twice, diverted] = record.on.each_ref().map(snapshot);
    let kinds = Kinds { on: &on, off: &off, off_twice: &off_twice, diverted: &diverted, longer: HOT_DIVERTED.load(Relaxed) };
    let estimate = tare_delay::cost::estimate(kinds, hot_counting(node));
    let Some(cost) = estimate.filter(|cost| cost.says_more_than_prior(HOT_PAIR.load(Relaxed))) else {
        return;
    };
    record.alone_cost.store(cost.value, Relaxed);
    recharge(local, node, (cost.value as f64 * together(local, record)) as u64);
    let quiet = (&record.off_cost, cost.off_cost, node.off_calls.load(Relaxed));
    for (known, cost, calls) in [quiet, (&record.diverted_cost, cost.diverted, diverted.calls)] {
        let difference = cost.wrapping_sub(known.load(Relaxed));
        add_signed(&local.state.overhead, difference.wrapping_mul(calls).cast_signed());
        known.store(cost, Relaxed);
    }
    record.half_width.store(cost.half_width(), Relaxed);
    add(&record.estimates, 1);
    let made = local.state.estimates.load(Relaxed) + 1;
    local.state.estimates.store(made, Relaxed);
    if made.is_power_of_two() {
        revise_priors(local);
    }
}

/// What the pairs around a path cost together, for what they cost one by one.
fn together(local: Local, record: &LiveBatch) -> f64 {
    let Some(company) = company::of(local, record) else { return 1.0 };
    let [on, quiet, twice] = company.on.each_ref().map(snapshot);
    let (counted, counted_again) = (company.counted.load(Relaxed), company.counted_again.load(Relaxed));
    let company = Company { on: &on, quiet: &quiet, twice: &twice, counted, counted_again };
    tare_delay::cost::together(company).map_or(1.0, |together| together.value)
}

/// Sets the cost of a path and charges the difference for all its calls so far.
fn recharge(local: Local, node: &LiveNode, cost: u64) {
    let difference = cost.wrapping_sub(node.cost.load(Relaxed));
    let charge = difference.wrapping_mul(node.calls.load(Relaxed));
    node.cost.store(cost, Relaxed);
    add_signed(&local.state.overhead, charge.cast_signed());
}

/// Gives the paths that are not measured in place the mean of those that are.
fn revise_priors(local: Local) {
    let location = local.arena.location();
    let mut mean = MeasuredMean::default();
    for index in 0..location.batches.load(Relaxed) {
        let record = local.arena.batch(index);
        if record.estimates.load(Relaxed) > 0 {
            let node = local.arena.node(record.node.load(Relaxed));
            mean.add(node.cost.load(Relaxed), node.calls.load(Relaxed));
        }
    }
    let Some(value) = mean.value() else { return };
    MEASURED.store(value.saturating_add(1), Relaxed);
    for index in 1..location.nodes.load(Relaxed) {
        let node = local.arena.node(index);
        if node.cost.load(Relaxed) != 0 && node.flags.load(Relaxed) & NODE_OVERFLOW == 0 && !is_measured(local, index) {
            recharge(local, node, value.max(1));
        }
    }
}

fn is_measured(local: Local, index: u32) -> bool {
    let record = local.arena.cold(index).batch_record.load(Relaxed).checked_sub(1);
    record.is_some_and(|record| local.arena.batch(record).estimates.load(Relaxed) > 0)
}

fn snapshot(sums: &LiveSums) -> BatchSums {
    BatchSums {
        batches: sums.batches.load(Relaxed),
        ticks: sums.ticks.load(Relaxed),
        calls: sums.calls.load(Relaxed),
        longest: sums.longest.load(Relaxed),
        sample: core::array::from_fn(|index| sums.sample.get(index).map_or(0, |word| word.load(Relaxed))),
    }
}
