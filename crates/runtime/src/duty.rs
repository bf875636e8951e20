//! The duty cycle: probes that together cost no more than a part of the run that the user gives.
//!
//! With a budget, short paths are quiet (clockless; leaves off and counted) for most of their batches. The one in focus is
//! on for some of its, as long as the probes of its thread have cost less than the budget allows. Where even counting
//! breaks the budget, a region is switched off for good: the dearest first, and of the others the more the larger a debt is and the longer it
//! lasts. Leaves go before regions whose paths go on below, which then hang at their callers. Paths that take no batches (of recursive
//! regions, whose calls do not divide into them, long ones, those for which there is no record left) and regions that a compiler's hooks
//! enter are on until then.
//!
//! What always holds: a decision rests on what the thread has spent and passed so far; calls are exact but of regions
//! that are off for good, which the log of switches names.

use crate::aside;
use crate::batch;
use crate::costs;
use crate::graph_file;
use crate::live::{LiveBatch, LiveNode, add_signed};
use crate::local::{BATCH, Local};
use crate::process::now;
use crate::settings::{Budget, settings};
use crate::switch::{self, Decision};
use crate::sys::SignalsBlocked;
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::{COST_UNIT, NODE_FOLDED, NODE_LEAF, Why};

/// Calls of a path's first batch, which is on.
pub(crate) const FIRST: u32 = 64;
/// Ticks of a batch beyond which the next one is shorter where the account allows more: its boundary costs next to nothing, but
/// those of a hundred paths cost more than a budget.
const LONG: u64 = 3_000_000;
/// Calls of the shortest batch that is quiet.
const SHORTEST: u64 = 64;
/// Calls of the longest one.
const LONGEST: u64 = 32_000;
/// Calls between looks at a path that takes no batches; fewer while it has had fewer.
const LOOK: u64 = 4096;
/// Ticks of a slow path at a boundary, about.
const BOUNDARY: u64 = 3_000;
/// A path is short if all its calls could take so many times the budget.
const SHORT: u64 = 16;
/// Calls of the shortest batch that says how dear it is to count a path's calls: fewer may have been a burst.
const TELLING: u64 = 1024;
/// Ticks of a debt for which a path goes that breaks the whole budget by itself (some 0.3 ms); for twice the debt, one that
/// takes half the budget goes, and so on.
const DEBT: u64 = 1_000_000;
/// Ticks (some 0.4 s) after which a debt that lasts counts twice, after twice as many three times, and so on: where thousands of regions
/// break the budget together, none is dear by itself.
const LASTING: u64 = 1_000_000_000;
/// Ticks that a graph of its own costs a thread: its pages, and the slow paths by which it learns its paths (some 0.4 ms).
const GRAPH: u64 = 1_000_000;
/// The part of the budget that such graphs may take.
const PART_OF_GRAPHS: u64 = 4;
/// How much dearer than a leaf a path has to be in the middle of others.
const MIDDLE: u64 = 4;
/// How many times [`DEBT`] it takes until a path beyond the limit goes whose probes take the whole budget of its own time; for twice the
/// debt one goes whose probes take half of that, and so on.
const DEBTS_BEYOND: u64 = 1_000;

/// What a thread's probes have cost and may cost, in ticks.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// What is left; negative where the budget is broken.
    credit: i64,
    /// For how long it has been broken.
    lasts: u64,
    /// Hundredths of a percent.
    budget: u64,
    /// Time of all threads that have had this graph.
    passed: u64,
}

impl Account {
    fn of(local: Local, ticks: u64, budget: Budget) -> Self {
        let location = local.arena.location();
        // The times between the threads are left out.
        let passed = ticks.saturating_sub(local.arena.frame(0).base.load(Relaxed));
        let probes = local.state.overhead.load(Relaxed).max(0).cast_unsigned() / COST_UNIT;
        let spent = probes + location.slow_ticks.load(Relaxed);
        // The tool's ticks are those of slow paths and of wrappers: neither is time of the program.
        let without = passed.saturating_sub(probes + location.tool_ticks.load(Relaxed));
        let allowed = u128::from(without) * u128::from(budget.0) / u128::from(Budget::WHOLE);
        let allowed = i64::try_from(allowed).unwrap_or(i64::MAX);
        let credit = allowed.saturating_sub_unsigned(spent);
        let since = &local.state.in_debt_since;
        if credit >= 0 {
            since.store(0, Relaxed);
        } else if since.load(Relaxed) == 0 {
            since.store(ticks, Relaxed);
        }
        let lasts = if credit < 0 { ticks.saturating_sub(since.load(Relaxed)) } else { 0 };
        Self { credit, lasts, budget: budget.0, passed }
    }

    /// What the budget is broken by, and the more the longer it is.
    fn debt(&self) -> u128 {
        let debt = u128::from(self.credit.min(0).unsigned_abs());
        debt + debt * u128::from(self.lasts) / u128::from(LASTING)
    }

    /// Whether a path beyond the limit has cost more of its own time than the debt leaves it: of ten thousand regions there that break the
    /// budget together none takes much of the whole time, and what is lost with one is its own time alone, since its callers are not known.
    fn asks_too_much(&self, cost: u64, own: u64) -> bool {
        let asked = u128::from(cost) * u128::from(Budget::WHOLE) * self.debt();
        asked > u128::from(own) * u128::from(self.budget * DEBT * DEBTS_BEYOND)
    }

    /// Whether it allows a batch in focus, where a pair of probes takes so many ticks.
    fn allows_focus(&self, pair: u64) -> bool {
        self.credit > i64::try_from(u64::from(BATCH) * pair + BOUNDARY).unwrap_or(i64::MAX)
    }
}

/// Whether the process has lasted long enough for one more graph of a thread beside so many.
pub(crate) fn allows_graph(graphs: u32, budget: Budget) -> bool {
    let begin = graph_file::header().map_or(u64::MAX, |header| header.start_ticks.load(Relaxed));
    let allowed = u128::from(now().0.saturating_sub(begin)) * u128::from(budget.0);
    u128::from(graphs) * u128::from(GRAPH * PART_OF_GRAPHS * Budget::WHOLE) < allowed
}

/// Whether the calls of a path are short enough for its probes to matter, from ticks per call.
pub(crate) fn is_short(ticks_per_call: u64, budget: Budget) -> bool {
    let pair = costs::prior().high / COST_UNIT;
    ticks_per_call < pair * SHORT * Budget::WHOLE / budget.0.max(1)
}

/// Ends the batch of a node under way and begins the next.
pub(crate) fn boundary(local: Local, node: &'static LiveNode, ticks: u64, budget: Budget) {
    let is_recursive = node.flags.load(Relaxed) & NODE_FOLDED != 0;
    let Some(record) = (if is_recursive { None } else { batch::record(local, node) }) else {
        look_at(local, node, ticks, budget);
        return;
    };
    if record.length.load(Relaxed) == 0 {
        note_first(local, node, record);
    }
    let period = ticks.saturating_sub(record.boundary.load(Relaxed)) * COST_UNIT / record.length.load(Relaxed).max(1);
    let was_quiet = end(local, node, record, ticks);
    let may_go_on = !batch::is_in_focus(local, node) || !batch::ends_slice(record);
    let account = Account::of(local, ticks, budget);
    if was_quiet && counts_too_dear(local, node, record, ticks, account) {
        switch_off(local, node, period);
        return;
    }
    let is_affordable = account.allows_focus(node.cost.load(Relaxed).max(costs::prior().high) / COST_UNIT);
    if is_affordable && may_go_on && batch::takes_focus(local, node, ticks) {
        batch::begin(local, node, record, ticks, length_in_focus(period / COST_UNIT));
        return;
    }
    batch::release(local, node);
    let passed = ticks.saturating_sub(record.boundary.load(Relaxed));
    let length = length_of_quiet(record.length.load(Relaxed), passed, is_affordable);
    record.length.store(length, Relaxed);
    record.boundary.store(ticks, Relaxed);
    batch::take_nothing(record);
    aside::open(local, node, aside::quiet_mode(node), length as u16);
}

/// Whether a thread that goes on where another has ended leaves a node quiet for the calls that have not come of its batch: where
/// threads are short, the boundaries of each would cost more than all that they do. The time between the threads is not the batch's.
pub(crate) fn goes_on(local: Local, node: &LiveNode, record: &LiveBatch) -> bool {
    let is_quiet = node.mode.load(Relaxed) == aside::quiet_mode(node) as u8;
    let goes_on = settings().budget.is_some() && is_quiet && node.left.load(Relaxed) > 0;
    if goes_on {
        let between = now().0.saturating_sub(local.arena.location().end_ticks.load(Relaxed));
        record.boundary.fetch_add(between, Relaxed);
    }
    goes_on
}

/// Calls of a quiet batch behind one that took so long. Where the account allows no batch in focus they get more, however long they
/// take: the boundaries of all paths get rarer until they fit.
fn length_of_quiet(calls: u64, passed: u64, is_affordable: bool) -> u64 {
    let calls = if is_affordable && passed > LONG { calls / 2 } else { calls * 2 };
    calls.clamp(SHORTEST, LONGEST)
}

/// Calls of a batch in focus, which is over well before others take the focus away, from the ticks between two calls.
fn length_in_focus(period: u64) -> u16 {
    let calls = batch::LONG / 4 / period.max(1);
    u16::try_from(calls).unwrap_or(BATCH).clamp(SHORTEST as u16, BATCH)
}

/// Notes what the first batch of a path took. Other paths below it were on then, whose time is not in its own.
fn note_first(local: Local, node: &LiveNode, record: &LiveBatch) {
    let tool = local.cold_of(node).tool_ticks.load(Relaxed).cast_signed();
    record.first_calls.store(node.calls.load(Relaxed), Relaxed);
    record.first_ticks.store(node.exclusive.load(Relaxed) - tool, Relaxed);
}

/// Ends what is under way: a batch of the focus is taken; of another one that was quiet, the counting is charged. Says
/// whether it was quiet.
fn end(local: Local, node: &'static LiveNode, record: &LiveBatch, ticks: u64) -> bool {
    let was_quiet = aside::is_quiet(node);
    if batch::is_in_focus(local, node) {
        batch::end(local, node, record, ticks);
    } else if was_quiet {
        aside::close(local, node);
        let charge = counting(node, record).wrapping_mul(record.length.load(Relaxed));
        add_signed(&local.state.overhead, charge.cast_signed());
    }
    was_quiet
}

/// What a quiet call costs, in cost units.
fn counting(node: &LiveNode, record: &LiveBatch) -> u64 {
    if record.estimates.load(Relaxed) > 0 {
        return record.off_cost.load(Relaxed);
    }
    costs::hot_counting(node).once
}

/// Whether counting the calls of a path, in the batch that has ended, took more of the time than it may.
fn counts_too_dear(local: Local, node: &LiveNode, record: &LiveBatch, ticks: u64, account: Account) -> bool {
    let calls = record.length.load(Relaxed);
    if calls < TELLING {
        return false;
    }
    // Of batches as long as they get: the first ones say more of boundaries than of counting.
    let cost = calls * counting(node, record) / COST_UNIT + BOUNDARY * calls / LONGEST;
    is_too_dear(local, node, cost, ticks.saturating_sub(record.boundary.load(Relaxed)), account)
}

/// Whether a path that has cost so much, and may go, takes more of the time that has passed than the debt leaves it of the budget.
fn is_too_dear(local: Local, node: &LiveNode, cost: u64, passed: u64, account: Account) -> bool {
    if switch::stays_on(node.region.load(Relaxed)) {
        return false;
    }
    let asked = u128::from(cost) * u128::from(Budget::WHOLE) * account.debt();
    let left = u128::from(passed) * u128::from(account.budget) * u128::from(DEBT);
    asked > left * u128::from(MIDDLE) || (asked > left && is_bottom(local, node))
}

/// A path that takes no batches is on until it is too dear. It is looked at as its calls double, and then now and then.
fn look_at(local: Local, node: &'static LiveNode, ticks: u64, budget: Budget) {
    batch::rest(local, node);
    if is_on_too_dear(local, node, ticks, budget) {
        switch_off(local, node, 0);
        return;
    }
    let calls = node.calls.load(Relaxed);
    let until_look = calls.clamp(FIRST.into(), LOOK) as u32;
    batch::wait_for(node, until_look.min(batch::until_rule(calls)));
}

/// Looks now and then, as a call begins, whether a region with hooks, which know no quiet batches, is too dear: it is switched off then.
///
/// # Probe-safe
#[inline]
pub(crate) fn goes_at_hook(local: Local, node: &'static LiveNode) -> bool {
    let goes = node.calls.load(Relaxed) % LOOK == LOOK - 1 && settings().budget.is_some_and(|budget| is_on_too_dear(local, node, now().0, budget));
    if goes {
        let _signals = SignalsBlocked::new();
        switch_off(local, node, 0);
    }
    goes
}

/// Whether a path whose calls have all been on has taken more of the time than it may.
fn is_on_too_dear(local: Local, node: &LiveNode, ticks: u64, budget: Budget) -> bool {
    let account = Account::of(local, ticks, budget);
    let cost = node.calls.load(Relaxed) * (node.cost.load(Relaxed) / COST_UNIT);
    let shows_too_little = || {
        let own = node.exclusive.load(Relaxed).max(0).cast_unsigned();
        local.is_beyond(node) && !switch::stays_on(node.region.load(Relaxed)) && account.asks_too_much(cost, own)
    };
    is_too_dear(local, node, cost, account.passed, account) || shows_too_little()
}

/// Switches the region of a path off for good, whose last calls came after this time each, in cost units (0: not known).
fn switch_off(local: Local, node: &'static LiveNode, period: u64) {
    batch::release(local, node);
    aside::close(local, node);
    batch::wait_for(node, 0);
    let region = node.region.load(Relaxed);
    let calls = node.calls.load(Relaxed) + node.off_calls.load(Relaxed);
    switch::off(local.arena, region, Decision { why: Why::Budget, calls, period });
}

/// Whether a path ends at a node, on this thread: nothing is called there, or all that is has been switched off for good. What is called beyond
/// the limit of paths nobody knows.
fn is_bottom(local: Local, node: &LiveNode) -> bool {
    if node.flags.load(Relaxed) & NODE_LEAF != 0 {
        return true;
    }
    if local.is_beyond(node) {
        return false;
    }
    let own = local.arena.index_of(node);
    let nodes = (1..local.arena.location().nodes.load(Relaxed)).map(|index| local.arena.node(index));
    nodes.filter(|other| other.parent.load(Relaxed) == own).all(|child| {
        let region = child.region.load(Relaxed);
        region == node.region.load(Relaxed) || switch::is_off(region)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// What the boundaries of as many quiet paths take of a time, if a call of each comes once a period.
    fn part_of_boundaries(paths: u64, period: u64, end: u64) -> f64 {
        const BUDGET: u64 = 200;
        const PAIR: u64 = 50;
        // When a batch began, and its calls.
        let mut batches: Vec<(u64, u64)> = (0..paths).map(|path| (path * period / paths, SHORTEST)).collect();
        let mut boundaries = 0;
        let over = |&(begun, calls): &(u64, u64)| begun + calls * period;
        while let Some(batch) = batches.iter_mut().min_by_key(|batch| over(batch)).filter(|batch| over(batch) < end) {
            let ticks = over(batch);
            boundaries += 1;
            let credit = (ticks * BUDGET / Budget::WHOLE).cast_signed() - (boundaries * BOUNDARY).cast_signed();
            let account = Account { credit, lasts: 0, budget: BUDGET, passed: ticks };
            *batch = (ticks, length_of_quiet(batch.1, ticks - batch.0, account.allows_focus(PAIR)));
        }
        (boundaries * BOUNDARY) as f64 / end as f64
    }

    #[test]
    fn beyond_the_limit_the_paths_that_show_least_for_their_cost_go_first() {
        const PAIR: u64 = 100;
        let account = |debt: u64, lasts: u64| Account { credit: -debt.cast_signed(), lasts, budget: 200, passed: 0 };
        // Calls of half a pair, of ten, of a thousand: probes of the last one keep to a budget of 2 % by themselves.
        let gone = |account: Account| [PAIR / 2, 10 * PAIR, 1000 * PAIR].map(|own| account.asks_too_much(64 * PAIR, 64 * own));
        assert_eq!(gone(account(0, 0)), [false; 3]);
        assert_eq!(gone(account(DEBT, 0)), [false; 3], "the first calls of a run are a debt");
        assert_eq!(gone(account(100 * DEBT, 0)), [true, false, false]);
        assert_eq!(gone(account(100 * DEBT, 2 * LASTING)), [true, true, false]);
        assert_eq!(gone(account(100 * DEBT, 1000 * LASTING)), [true; 3], "a budget is kept in the end");
    }

    #[test]
    fn boundaries_of_many_paths_keep_to_the_budget() {
        for (paths, period) in [(1, 50), (16, 2_000), (140, 3_000), (140, 30_000), (1000, 20_000)] {
            let part = part_of_boundaries(paths, period, 6_000_000_000);
            assert!(part < 0.021, "{paths} paths: {part}");
        }
    }
}
