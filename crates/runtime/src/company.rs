//! Batches in company: while the path in focus is quiet, so are all others of the thread that take batches.
//!
//! What a pair of probes costs is told by switching one path off while all others are on. Where probes stand close together, what each of
//! them saves by its absence is not its part of what they cost together: a processor that waits for its clock anyway hides the work
//! of a whole nest of short functions behind any of them, and one whose caches and predictors are full loses more with each. So there
//! are batches in which all are on, and such in which all are quiet; what passes in the thread meanwhile, for what the pairs of all calls that
//! come in it cost one by one, tells what they cost together around the path in focus. By that, and not for each call of the path, because
//! the work of programs is uneven, and more calls come where there is more of it.
//!
//! What always holds: only nodes with a record of batches are quiet; their calls in company are counted apart (`together`), because the time
//! of those went to the nearest node above that was on, and not to the caller, which was quiet as well.

use crate::aside;
use crate::batch;
use crate::costs;
use crate::live::{LiveBatch, LiveCompany, LiveNode, add, add_signed};
use crate::local::Local;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tare_delay::cost::Company;
use tare_format::graph::{COMPANY_UNIT, COST_UNIT, NODE_BATCHES, NODE_FOLDED};

/// Records beyond which there is no company: to look at them all would take longer than a batch.
const MOST: u32 = 256;
/// Batches in company after which a path that had none goes without.
const ENOUGH: u64 = 6;
/// Calls of a batch of another path, of which there are no more than come.
const MOST_CALLS: u16 = i16::MAX.unsigned_abs();
/// Calls of the shortest batch of the path in focus.
const SHORTEST: u16 = 64;

/// Kinds of its batches: what the three sums of a record stand for.
pub(crate) const ON: usize = 0;
pub(crate) const QUIET: usize = 1;
pub(crate) const TWICE: usize = 2;

/// The record of a path's batches in company, if it has any.
pub(crate) fn of(local: Local, record: &LiveBatch) -> Option<&'static LiveCompany> {
    let index = record.company.load(Relaxed).checked_sub(1)?;
    Some(local.arena.company(index))
}

/// The same, made now for a path where it is known what some pair costs one by one, and there may be others near; and `None` for one that
/// was found to be without them.
pub(crate) fn sought(local: Local, node: &LiveNode, record: &LiveBatch) -> Option<&'static LiveCompany> {
    let records = local.arena.location().batches.load(Relaxed);
    if !costs::is_one_measured() || !(2..MOST).contains(&records) {
        return None;
    }
    let company = of(local, record).or_else(|| allocate(local, node, record))?;
    (batch::number(&company.on) < ENOUGH || !snapshot(company).is_alone()).then_some(company)
}

fn allocate(local: Local, node: &LiveNode, record: &LiveBatch) -> Option<&'static LiveCompany> {
    let index = batch::new_record(local)?;
    let company = local.arena.company(index);
    company.node.store(local.arena.index_of(node), Relaxed);
    record.company.store(index + 1, Relaxed);
    Some(company)
}

/// Calls of a batch of the path in focus in which others, which are called oftener, come to the end of theirs in no case.
pub(crate) fn length(local: Local, node: &LiveNode, most: u16) -> u16 {
    let oftenest = others(local, node).map(|(other, _)| calls(other)).max().unwrap_or(0);
    let fitting = u128::from(MOST_CALLS / 2) * u128::from(calls(node)) / u128::from(oftenest.max(1));
    u16::try_from(fitting).unwrap_or(u16::MAX).clamp(SHORTEST, most)
}

fn calls(node: &LiveNode) -> u64 {
    node.calls.load(Relaxed) + node.off_calls.load(Relaxed)
}

/// A batch of the path in focus begins, of so many calls: with all others on, or quiet together with all others.
pub(crate) fn begin(local: Local, node: &'static LiveNode, record: &LiveBatch, company: &LiveCompany, kind: usize, length: u16) {
    let known = Known::of(local, node);
    company.known.store(known.one_by_one, Relaxed);
    company.known_others.store(known.others, Relaxed);
    company.known_counted.store(known.counted, Relaxed);
    company.known_again.store(known.counted_again, Relaxed);
    company.started.store(local.arena.location().tool_ticks.load(Relaxed), Relaxed);
    if kind == ON {
        batch::wait_for(node, u32::from(length));
        return;
    }
    let open = |node: &'static LiveNode, record: &LiveBatch, calls| {
        record.begun.store(node.off_calls.load(Relaxed), Relaxed);
        let mode = if kind == TWICE { aside::twice_mode(node) } else { aside::quiet_mode(node) };
        aside::open(local, node, mode, calls);
    };
    others(local, node).filter(|(other, _)| aside::is_on(other)).for_each(|(other, record)| open(other, record, MOST_CALLS));
    open(node, record, length);
}

/// It ends at this moment; all are on again. What has passed is added to the sums of its kind.
pub(crate) fn end(local: Local, node: &'static LiveNode, record: &LiveBatch, company: &LiveCompany, kind: usize, ticks: u64) {
    let tool = local.arena.location().tool_ticks.load(Relaxed) - company.started.load(Relaxed);
    let passed = ticks.saturating_sub(record.boundary.load(Relaxed)).saturating_sub(tool);
    part(local, node, record);
    let now = Known::of(local, node);
    let since = |now: u64, then: &AtomicU64| now.saturating_sub(then.load(Relaxed));
    let one_by_one = since(now.one_by_one, &company.known);
    add(&company.all, one_by_one);
    add(&company.others, since(now.others, &company.known_others));
    if kind != ON {
        add(&company.counted, since(now.counted, &company.known_counted));
        add(&company.counted_again, since(now.counted_again, &company.known_again));
    }
    let units = one_by_one / (COMPANY_UNIT * COST_UNIT);
    if units > 0 {
        batch::take(&company.on[kind], record, passed, units);
        costs::found(local);
    }
}

/// All that are quiet together are on again.
pub(crate) fn part(local: Local, node: &LiveNode, record: &LiveBatch) {
    others(local, node).for_each(|(other, record)| leave(local, other, record));
    leave(local, node, record);
}

/// One is on again, if it was quiet: its batch is over, or is given up.
pub(crate) fn leave(local: Local, node: &LiveNode, record: &LiveBatch) {
    if !aside::is_quiet(node) {
        return;
    }
    aside::close(local, node);
    let calls = node.off_calls.load(Relaxed).saturating_sub(record.begun.load(Relaxed));
    add(&record.together, calls);
    add_signed(&local.state.overhead, record.off_cost.load(Relaxed).wrapping_mul(calls).cast_signed());
    batch::ask_later(node);
}

/// What is known of all calls so far of paths that take batches, in cost units.
#[derive(Clone, Copy, Default)]
struct Known {
    /// What their pairs cost one by one.
    one_by_one: u64,
    /// The same without those of the path in focus.
    others: u64,
    /// What counting them takes in a hot loop, and what doing it once more does.
    counted: u64,
    counted_again: u64,
}

impl Known {
    fn of(local: Local, focus: &LiveNode) -> Self {
        let mut known = Self::default();
        for (node, record) in all(local) {
            let (cost, calls, hot) = (costs::one_by_one(record), calls(node), costs::hot_counting(node));
            known.one_by_one += calls * cost;
            known.others += if core::ptr::eq(node, focus) { 0 } else { calls * cost };
            known.counted += calls * hot.once;
            known.counted_again += calls * hot.again;
        }
        known
    }
}

/// What a record of batches in company has, as the estimator takes it.
pub(crate) fn snapshot(company: &LiveCompany) -> Company {
    let [on, quiet, twice] = company.on.each_ref().map(costs::snapshot);
    Company {
        on,
        quiet,
        twice,
        counted: company.counted.load(Relaxed),
        counted_again: company.counted_again.load(Relaxed),
        all: company.all.load(Relaxed),
        others: company.others.load(Relaxed),
    }
}

/// The nodes that take batches, each with its record.
pub(crate) fn all(local: Local) -> impl Iterator<Item = (&'static LiveNode, &'static LiveBatch)> + Clone {
    let records = (0..local.arena.location().batches.load(Relaxed)).map(move |index| (index, local.arena.batch(index)));
    records.filter_map(move |(index, record)| {
        let place = record.node.load(Relaxed);
        let node = local.arena.node(place);
        let is_its = local.arena.cold(place).batch_record.load(Relaxed) == index + 1;
        (is_its && node.flags.load(Relaxed) & (NODE_BATCHES | NODE_FOLDED) == NODE_BATCHES).then_some((node, record))
    })
}

/// The same but for one.
fn others(local: Local, node: &LiveNode) -> impl Iterator<Item = (&'static LiveNode, &'static LiveBatch)> {
    all(local).filter(move |(other, _)| !core::ptr::eq(*other, node))
}
