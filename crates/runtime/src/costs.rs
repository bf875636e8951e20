//! Estimates of what probes cost, as the process goes, and the overhead that follows from them.
//!
//! What always holds: a location's overhead is what it would be had every call been charged the estimate of
//! today: a new estimate charges the difference for all calls so far.

use crate::live::{LiveBatch, LiveNode, LiveSums, add, add_signed};
use crate::local::Local;
use crate::settings::settings;
use crate::{batch, company};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_delay::cost::{Company, Cost, HotCounting, Kinds, MeasuredMean, OneByOne, Pool};
use tare_format::graph::{BatchSums, MULTIPLE_UNIT, NODE_HOOK, NODE_LEAF, NODE_OVERFLOW, NODE_USER};

/// Cost of a pair in a hot loop.
static HOT_PAIR: AtomicU64 = AtomicU64::new(0);
/// The same beside work that hides as much of it as can be.
static LEAST_PAIR: AtomicU64 = AtomicU64::new(0);
/// Mean cost one by one of the paths measured so far, plus one; 0 while there is none.
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

/// Whether it is known of some path what its pairs cost one by one.
pub(crate) fn is_one_measured() -> bool {
    MEASURED.load(Relaxed) != 0
}

/// Cost of a path that has not been measured in place, one by one.
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
    let are_taken = settings().budget.is_none();
    let kinds = Kinds { on: &on, off: &off, off_twice: &off_twice, diverted: are_taken.then_some(&diverted), longer: HOT_DIVERTED.load(Relaxed) };
    let estimate = tare_delay::cost::estimate(kinds, hot_counting(node));
    let Some(cost) = estimate.filter(|cost| cost.says_more_than_prior(HOT_PAIR.load(Relaxed))) else {
        return;
    };
    record.alone_cost.store(cost.value, Relaxed);
    add(&record.estimates, 1);
    recharge(local, node, charged(local, Some(record)));
    let quiet = (&record.off_cost, cost.off_cost, node.off_calls.load(Relaxed));
    for (known, cost, calls) in [quiet, (&record.diverted_cost, cost.diverted, diverted.calls)] {
        let difference = cost.wrapping_sub(known.load(Relaxed));
        add_signed(&local.state.overhead, difference.wrapping_mul(calls).cast_signed());
        known.store(cost, Relaxed);
    }
    record.half_width.store(cost.half_width(), Relaxed);
    found(local);
}

/// What a pair of a path costs one by one.
pub(crate) fn one_by_one(record: &LiveBatch) -> u64 {
    if record.estimates.load(Relaxed) > 0 { record.alone_cost.load(Relaxed) } else { prior().value }
}

/// What a pair of a path is charged: its cost together with those around it.
pub(crate) fn charged(local: Local, record: Option<&LiveBatch>) -> u64 {
    let usual = u64::from(local.state.multiple.load(Relaxed));
    let company = record.and_then(|record| company::of(local, record));
    let own = company.map_or(0, |company| company.multiple.load(Relaxed));
    let multiple = [own, usual].into_iter().find(|&multiple| multiple > 0).unwrap_or(MULTIPLE_UNIT);
    let cost = record.map_or_else(|| prior().value, one_by_one);
    (cost.saturating_mul(multiple) / MULTIPLE_UNIT).max(1)
}

/// Charges calls that went by the way of those that are off, though they were on, for what it takes longer; given is what their pairs are
/// charged.
pub(crate) fn charge_longer_way(local: Local, pairs: u64) {
    let calls = pairs / charged(local, None);
    add_signed(&local.state.overhead, HOT_DIVERTED.load(Relaxed).wrapping_mul(calls).cast_signed());
}

/// Sets the cost of a path and charges the difference for all its calls so far.
fn recharge(local: Local, node: &LiveNode, cost: u64) {
    let difference = cost.wrapping_sub(node.cost.load(Relaxed));
    let charge = difference.wrapping_mul(node.calls.load(Relaxed));
    node.cost.store(cost, Relaxed);
    add_signed(&local.state.overhead, charge.cast_signed());
}

/// A path was estimated anew, or a batch in company is over: now and then all paths are charged by what is known since.
pub(crate) fn found(local: Local) {
    let findings = local.state.findings.load(Relaxed) + 1;
    local.state.findings.store(findings, Relaxed);
    if findings.is_power_of_two() {
        revise(local);
    }
}

/// Charges all paths of a thread by the mean of those that are measured in place, and by what pairs cost together.
fn revise(local: Local) {
    let mut mean = MeasuredMean::default();
    for (node, record) in company::all(local) {
        if record.estimates.load(Relaxed) > 0 {
            mean.add(record.alone_cost.load(Relaxed), node.calls.load(Relaxed));
        }
    }
    if mean.is_nothing() {
        return;
    }
    let usual = tare_delay::cost::prior(HOT_PAIR.load(Relaxed), LEAST_PAIR.load(Relaxed), None).value;
    MEASURED.store(mean.towards(usual).saturating_add(1), Relaxed);
    revise_multiples(local);
    for index in 1..local.arena.location().nodes.load(Relaxed) {
        let node = local.arena.node(index);
        if node.cost.load(Relaxed) != 0 && node.flags.load(Relaxed) & (NODE_OVERFLOW | NODE_HOOK | NODE_USER) == 0 {
            recharge(local, node, charged(local, batch::known(local, node)));
        }
    }
}

/// Notes what pairs cost together around each path of a thread.
fn revise_multiples(local: Local) {
    let companies = company::all(local).filter_map(move |(_, record)| company::of(local, record)).map(company::snapshot);
    let Some(pool) = Pool::of(companies.clone()) else { return };
    let then = companies.fold(OneByOne::default(), |sum, company| sum.with_batches(&company));
    let now = company::all(local)
        .fold(OneByOne::default(), |sum, (node, record)| sum.with_calls(record.together.load(Relaxed), one_by_one(record), hot_counting(node).once));
    let known_then = then.over(now);
    let multiple = |own: Option<&Company>| (pool.around(own).times(known_then).value * MULTIPLE_UNIT as f64) as u32;
    for company in company::all(local).filter_map(|(_, record)| company::of(local, record)) {
        company.multiple.store(multiple(Some(&company::snapshot(company))).into(), Relaxed);
    }
    local.state.multiple.store(multiple(None), Relaxed);
}

pub(crate) fn snapshot(sums: &LiveSums) -> BatchSums {
    BatchSums {
        batches: sums.batches.load(Relaxed),
        ticks: sums.ticks.load(Relaxed),
        calls: sums.calls.load(Relaxed),
        longest: sums.longest.load(Relaxed),
        sample: core::array::from_fn(|index| sums.sample.get(index).map_or(0, |word| word.load(Relaxed))),
    }
}
