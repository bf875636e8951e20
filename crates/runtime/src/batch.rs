//! Batches: calls of one path with its probes on, quiet (off for a leaf, clockless otherwise), quiet with
//! counting done twice, or diverted: on, by the way that quiet calls take, which tells what it costs where a processor does not foresee
//! that one path's calls take another way than all others. And quiet together with all other paths ([`crate::company`]).
//!
//! A path's first batch shows whether it is short and frequent. If it is, it takes batches whose kind is chosen by
//! chance, and what is compared between kinds is the time per call that went to the path and to whatever above it has the
//! time of quiet calls, the tool's own time left out. Boundaries are fenced, and lie in the slow path.
//!
//! What always holds: of a thread's nodes at most one takes batches, the one in focus, and but for batches in company all others are on: time
//! that passes from a quiet node to its parent would be taken for that of others. The focus moves on after some batches, or
//! when its node is not called for long.

use crate::arena::PAGE;
use crate::aside;
use crate::company;
use crate::costs;
use crate::duty;
use crate::live::{LiveBatch, LiveCompany, LiveNode, LiveSums, add, add_signed};
use crate::local::{BATCH, Local, NEVER};
use crate::settings::settings;
use crate::throttle;
use core::sync::atomic::{Ordering::Relaxed, Ordering::Release};
use tare_delay::cost::LEAST_BATCHES;
use tare_format::graph::{BATCHES, BatchRecord, COST_UNIT, MAX_BATCHES, NODE_BATCHES, NODE_FOLDED, SAMPLE};

/// Ticks per call beyond which a path is not short (some 2 µs).
const SHORT: u64 = 6_000;
/// The first batches of a record: they are shorter, so that an estimate is there soon.
const EARLY: u64 = 48;
/// The first ones that are not of full length.
const LATER: u64 = 2 * EARLY;
/// Calls of a batch after the one and after the other: what a boundary costs beyond the time that it counts, as the program finds caches and
/// predictions changed, is some 1,000 ticks on a Zen 4.
const LATER_BATCH: u16 = 4 * BATCH;
const LATE_BATCH: u16 = 16 * BATCH;
/// Batches after which the focus moves on.
const SLICE: u64 = 12;
/// Ticks after which a node in focus whose calls do not come is given up for the sake of others (some ms).
pub(crate) const LONG: u64 = 10_000_000;

/// Calls after which a path that the throttle has spared is looked at again.
const AGAIN: u64 = 1 << 20;

/// Kinds of batches: what a record's four sums stand for.
const ON: u32 = 0;
const QUIET: u32 = 1;
const TWICE: u32 = 2;
const DIVERTED: u32 = 3;
/// The kind while none is under way.
const NONE: u32 = 4;
/// The first of the kinds that are taken in company, which are those of [`company`].
const IN_COMPANY: u32 = 5;
/// One batch in so many is taken in company, and the oftener while there are fewer than so many.
const COMPANY_IN: u64 = 8;
const FEW: u64 = 32;

/// Whether the batch of a node under way has had all its calls.
pub(crate) fn is_over(node: &LiveNode) -> bool {
    if !aside::is_quiet(node) {
        let ahead = node.until.load(Relaxed).wrapping_sub(node.calls.load(Relaxed) as u32).cast_signed();
        ahead <= 0
    } else {
        node.left.load(Relaxed) <= 0
    }
}

/// Ends the batch of a node under way and begins the next; the call that found it over belongs to the next.
pub(crate) fn boundary(local: Local, node: &'static LiveNode, ticks: u64) {
    if throttle::applies(node) {
        give_up(local, node);
        release(local, node);
        wait_for(node, 0);
        throttle::off(local, node);
        return;
    }
    if let Some(budget) = settings().budget {
        duty::boundary(local, node, ticks, budget);
        return;
    }
    // Recursion mixes calls within the path's own time with those from outside: it takes no batches.
    let record = if node.flags.load(Relaxed) & NODE_FOLDED == 0 { record(local, node) } else { None };
    let Some(record) = record else {
        rest(local, node);
        return;
    };
    if is_in_company(node, record) && !is_in_focus(local, node) {
        company::leave(local, node, record);
        return;
    }
    if is_in_focus(local, node) {
        end(local, node, record, ticks);
        if ends_slice(record) {
            release(local, node);
            wait_for(node, pause(record));
            return;
        }
    } else if !takes_focus(local, node, ticks) {
        ask_later(node);
        return;
    }
    begin(local, node, record, ticks, length_of_next(record));
}

/// The record of a node's batches, made now for one that is short.
pub(crate) fn record(local: Local, node: &'static LiveNode) -> Option<&'static LiveBatch> {
    let may_have_one = || node.flags.load(Relaxed) & NODE_BATCHES != 0 && is_short(node);
    known(local, node).or_else(|| may_have_one().then(|| allocate(local, node)).flatten())
}

/// The record of a node, if it has one.
pub(crate) fn known(local: Local, node: &LiveNode) -> Option<&'static LiveBatch> {
    let index = local.cold_of(node).batch_record.load(Relaxed).checked_sub(1)?;
    Some(local.arena.batch(index))
}

/// A node takes no batches from now on.
pub(crate) fn rest(local: Local, node: &'static LiveNode) {
    give_up(local, node);
    release(local, node);
    node.flags.fetch_and(!NODE_BATCHES, Relaxed);
    wait_for(node, until_rule(node.calls.load(Relaxed)));
}

/// Whether a node has the focus, which it takes where that is free.
pub(crate) fn takes_focus(local: Local, node: &LiveNode, ticks: u64) -> bool {
    let has_it = is_in_focus(local, node) || is_free(local, ticks);
    if has_it {
        local.state.focus.store(local.arena.index_of(node) + 1, Relaxed);
    }
    has_it
}

/// A node is on from now on, whatever was under way, and nothing is taken of that.
fn give_up(local: Local, node: &'static LiveNode) {
    let Some(record) = known(local, node) else {
        aside::close(local, node);
        return;
    };
    if record.kind.load(Relaxed) >= IN_COMPANY {
        company::part(local, node, record);
    } else {
        close(local, node, record);
    }
    take_nothing(record);
}

/// A node is on from now on; nobody else changes.
pub(crate) fn close(local: Local, node: &LiveNode, record: &LiveBatch) {
    if is_in_company(node, record) {
        company::leave(local, node, record);
    } else {
        aside::close(local, node);
    }
}

/// Whether a node is quiet together with others.
fn is_in_company(node: &LiveNode, record: &LiveBatch) -> bool {
    settings().budget.is_none() && aside::is_quiet(node) && !matches!(record.kind.load(Relaxed), QUIET | TWICE)
}

/// Asks for the focus only after some time.
pub(crate) fn ask_later(node: &LiveNode) {
    wait_for(node, u32::from(LATER_BATCH));
}

/// Notes that nothing is to be taken from the batch under way.
pub(crate) fn take_nothing(record: &LiveBatch) {
    record.kind.store(NONE, Relaxed);
}

/// Calls after a slice until a node asks for the focus again: the more is known of it, the more.
fn pause(record: &LiveBatch) -> u32 {
    let slices = (taken(record) / SLICE).min(64) as u32;
    u32::from(BATCH) * slices
}

pub(crate) fn is_in_focus(local: Local, node: &LiveNode) -> bool {
    local.state.focus.load(Relaxed) == local.arena.index_of(node) + 1
}

pub(crate) fn release(local: Local, node: &LiveNode) {
    if is_in_focus(local, node) {
        local.state.focus.store(0, Relaxed);
    }
}

/// Whether the focus can go to another node. One that has waited for its calls for long loses it, and its batch.
fn is_free(local: Local, ticks: u64) -> bool {
    let state = local.state;
    let Some(index) = state.focus.load(Relaxed).checked_sub(1) else { return true };
    if ticks.wrapping_sub(state.focus_since.load(Relaxed)) < LONG {
        return false;
    }
    let node = local.arena.node(index);
    give_up(local, node);
    wait_for(node, 0);
    true
}

/// Calls until the rule of the throttle may apply to a node that takes no batches.
pub(crate) fn until_rule(calls: u64) -> u32 {
    let after = settings().throttle.map_or(u64::from(NEVER), |rule| (rule.calls + 1).saturating_sub(calls));
    // Looked at again now and then: what is long at first may be short later.
    let after = if after == 0 { AGAIN } else { after };
    u32::try_from(after).unwrap_or(NEVER).min(NEVER)
}

/// Lets the probe take the slow path after so many calls more that are on.
pub(crate) fn wait_for(node: &LiveNode, calls: u32) {
    node.until.store((node.calls.load(Relaxed) as u32).wrapping_add(calls), Relaxed);
}

fn is_short(node: &LiveNode) -> bool {
    let calls = node.calls.load(Relaxed).max(1);
    if let Some(budget) = settings().budget {
        return duty::is_short(node.inclusive.load(Relaxed) / calls, budget);
    }
    node.exclusive.load(Relaxed).max(0).cast_unsigned() / calls < SHORT
}

/// The topmost node that the time of a quiet call may go to.
fn top(local: Local, node: &LiveNode) -> u32 {
    let mut above = node.parent.load(Relaxed);
    let may_be_quiet = |index: u32| index != 0 && local.arena.node(index).flags.load(Relaxed) & NODE_BATCHES != 0;
    while settings().budget.is_some() && may_be_quiet(above) {
        above = local.arena.node(above).parent.load(Relaxed);
    }
    above
}

/// Ticks that went to a path and those above it, up to the topmost that is asked for; the tool's own left out.
fn spent(local: Local, node: &LiveNode, top: u32) -> i64 {
    let own = |node: &LiveNode| node.exclusive.load(Relaxed) - local.cold_of(node).tool_ticks.load(Relaxed).cast_signed();
    let (mut sum, mut above) = (own(node), node.parent.load(Relaxed));
    while above != top && above != 0 {
        sum += own(local.arena.node(above));
        above = local.arena.node(above).parent.load(Relaxed);
    }
    sum + own(local.arena.node(above))
}

/// A new record for a node; `None` where there is no room.
pub(crate) fn allocate(local: Local, node: &LiveNode) -> Option<&'static LiveBatch> {
    let index = new_record(local)?;
    let record = local.arena.batch(index);
    let place = local.arena.index_of(node);
    record.node.store(place, Relaxed);
    record.kind.store(NONE, Relaxed);
    let seed = crate::process::now().0 ^ u64::from(place) << 40;
    record.random.store(seed | 1, Relaxed);
    local.cold_of(node).batch_record.store(index + 1, Release);
    Some(record)
}

/// Makes room for one more record: its index.
pub(crate) fn new_record(local: Local) -> Option<u32> {
    let location = local.arena.location();
    let index = location.batches.load(Relaxed);
    let ready = local.state.batches_ready.load(Relaxed);
    if index >= MAX_BATCHES {
        return None;
    }
    if index >= ready {
        let offset = BATCHES + u64::from(ready) * BatchRecord::SIZE as u64;
        if !local.arena.allocate(offset, PAGE) {
            return None;
        }
        local.state.batches_ready.store(ready + PAGE as u32 / BatchRecord::SIZE as u32, Relaxed);
    }
    location.batches.store(index + 1, Release);
    Some(index)
}

pub(crate) fn begin(local: Local, node: &'static LiveNode, record: &LiveBatch, ticks: u64, length: u16) {
    local.state.focus_since.store(ticks, Relaxed);
    record.length.store(u64::from(length), Relaxed);
    record.boundary.store(ticks, Relaxed);
    if let Some((company, kind)) = in_company(local, node, record) {
        record.kind.store(IN_COMPANY + kind as u32, Relaxed);
        let length = company::length(local, node, length.min(LATER_BATCH));
        company::begin(local, node, record, company, kind, length);
        return;
    }
    let kind = next_kind(record);
    record.kind.store(kind, Relaxed);
    local.state.overhead_before.store(local.state.overhead.load(Relaxed), Relaxed);
    let top = top(local, node);
    record.top.store(top, Relaxed);
    record.started.store(spent(local, node, top), Relaxed);
    record.begun.store(node.calls.load(Relaxed), Relaxed);
    match kind {
        ON => wait_for(node, u32::from(length)),
        DIVERTED => {
            wait_for(node, u32::from(length));
            aside::divert(local, node);
        }
        TWICE => aside::open(local, node, aside::twice_mode(node), length),
        _ => aside::open(local, node, aside::quiet_mode(node), length),
    }
}

/// Whether a slice of batches has just been taken.
pub(crate) fn ends_slice(record: &LiveBatch) -> bool {
    taken(record).is_multiple_of(SLICE)
}

/// Batches that a record has taken.
fn taken(record: &LiveBatch) -> u64 {
    number(&record.on)
}

/// Batches of some kinds.
pub(crate) fn number(kinds: &[LiveSums]) -> u64 {
    kinds.iter().map(|sums| sums.batches.load(Relaxed)).sum()
}

/// The first batches are short, so that an estimate is there soon; later ones are longer and longer, so that little is left of
/// what a boundary costs beyond the time that it counts.
fn length_of_next(record: &LiveBatch) -> u16 {
    match taken(record) {
        ..EARLY => BATCH,
        EARLY..LATER => LATER_BATCH,
        _ => LATE_BATCH,
    }
}

/// Whether the next batch is one in company, and of which kind: all on, or all quiet, of which one in four counts a part twice.
fn in_company(local: Local, node: &LiveNode, record: &LiveBatch) -> Option<(&'static LiveCompany, usize)> {
    if settings().budget.is_some() {
        return None;
    }
    let company = company::sought(local, node, record)?;
    let chance = random(record);
    let one_in = if number(&company.on) < FEW { 2 } else { COMPANY_IN };
    let kind = [company::ON, company::ON, company::ON, company::ON, company::QUIET, company::QUIET, company::QUIET, company::TWICE];
    chance.is_multiple_of(one_in).then(|| (company, kind[(chance / one_in) as usize % kind.len()]))
}

/// The next random number of a record.
pub(crate) fn random(record: &LiveBatch) -> u64 {
    let mut random = record.random.load(Relaxed);
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    record.random.store(random, Relaxed);
    random >> 33
}

/// One batch in five is quiet, one in ten is quiet and counts twice, one in ten is diverted. The first ones are so no oftener than later ones: what a
/// path does first may take longer than what it does later, as memory that is new does, and would be taken for what differs between kinds. Where chance has
/// left too few of a kind for an estimate among the first ones, that kind comes.
fn next_kind(record: &LiveBatch) -> u32 {
    let random = random(record);
    let lacking = || (0..).zip(&record.on).zip(LEAST_BATCHES).find(|((_, sums), least)| sums.batches.load(Relaxed) < *least);
    if taken(record) >= EARLY / 2
        && let Some(((kind, _), _)) = lacking()
    {
        return kind;
    }
    match random % 10 {
        0 => TWICE,
        1 | 2 => QUIET,
        3 => DIVERTED,
        _ => ON,
    }
}

pub(crate) fn end(local: Local, node: &'static LiveNode, record: &LiveBatch, ticks: u64) {
    let kind = record.kind.load(Relaxed);
    if let Some(kind) = kind.checked_sub(IN_COMPANY) {
        if let Some(company) = company::of(local, record) {
            company::end(local, node, record, company, kind as usize, ticks);
        }
        return;
    }
    let charged = local.state.overhead.load(Relaxed) - local.state.overhead_before.load(Relaxed);
    aside::close(local, node);
    let Some(sums) = record.on.get(kind as usize) else { return };
    let spent = (spent(local, node, record.top.load(Relaxed)) - record.started.load(Relaxed)).max(0).cast_unsigned();
    // A batch that is on ends early where the node was told to look again.
    let calls = if matches!(kind, ON | DIVERTED) { node.calls.load(Relaxed) - record.begun.load(Relaxed) } else { record.length.load(Relaxed) };
    if calls == 0 {
        return;
    }
    take(sums, record, spent, calls);
    record.boundary.store(ticks, Relaxed);
    if kind == ON {
        return;
    }
    let cost = if kind == DIVERTED {
        &record.diverted_cost
    } else {
        add(&local.arena.location().off_batches, 1);
        &record.off_cost
    };
    add_signed(&local.state.overhead, cost.load(Relaxed).wrapping_mul(calls).cast_signed());
    if settings().budget.is_none() {
        // The node's own, if it was diverted, are charged already.
        let own = if kind == DIVERTED { node.cost.load(Relaxed).wrapping_mul(calls).cast_signed() } else { 0 };
        let beside = (charged - own).max(0).cast_unsigned();
        add(&record.beside, beside);
        costs::charge_longer_way(local, beside);
    }
    if is_time_to_estimate(record) {
        costs::estimate(local, node, record);
    }
}

/// Adds a batch to the sums of its kind and, by chance, to their sample.
pub(crate) fn take(sums: &LiveSums, record: &LiveBatch, spent: u64, calls: u64) {
    let number = sums.batches.load(Relaxed);
    add(&sums.ticks, spent);
    add(&sums.calls, calls);
    sums.longest.fetch_max(spent, Relaxed);
    let slot = if number < SAMPLE as u64 { number } else { (record.random.load(Relaxed) >> 20) % (number + 1) };
    if let Some(word) = sums.sample.get(slot as usize) {
        let per_call = spent.saturating_mul(COST_UNIT) / calls;
        word.store(u32::try_from(per_call).unwrap_or(u32::MAX), Relaxed);
    }
    sums.batches.store(number + 1, Release);
}

/// Estimates get rarer as batches get more: every eighth to fourth part of them.
fn is_time_to_estimate(record: &LiveBatch) -> bool {
    let taken = number(&record.on[1..]);
    let step = (taken.max(1).ilog2()).saturating_sub(2);
    taken >= 6 && taken.trailing_zeros() >= step
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of so many batches of a path, in their order.
    fn kinds_of(batches: u64, seed: u64) -> [u64; 4] {
        // SAFETY: a record is made of atomic integers alone.
        let record: LiveBatch = unsafe { core::mem::zeroed() };
        record.random.store(seed, Relaxed);
        for _ in 0..batches {
            add(&record.on[next_kind(&record) as usize].batches, 1);
        }
        record.on.each_ref().map(|sums| sums.batches.load(Relaxed))
    }

    #[test]
    fn a_few_batches_are_enough_for_an_estimate() {
        for seed in 1..2_000 {
            let kinds = kinds_of(32, seed);
            assert!(kinds.iter().zip(LEAST_BATCHES).all(|(&batches, least)| batches >= least), "{seed}: {kinds:?}");
        }
    }

    #[test]
    fn first_batches_are_of_each_kind_as_often_as_later_ones() {
        let sum = |all: [u64; 4], of: [u64; 4]| core::array::from_fn(|kind| all[kind] + of[kind]);
        let first = (1..2_000).map(|seed| kinds_of(20, seed)).fold([0; 4], sum);
        let later = kinds_of(40_000, 1);
        for (kinds, batches) in [(first, 2_000 * 20), (later, 40_000)] {
            let parts = kinds.map(|number| number * 100 / batches);
            assert!(parts.iter().zip([60, 20, 10, 10]).all(|(&part, usual)| part.abs_diff(usual) <= 1), "{kinds:?}");
        }
    }
}
