//! The throttle: paths with many calls that take little time are switched off for good, by a rule.

use crate::graph_file;
use crate::live::{LiveHeader, LiveNode};
use crate::local::Local;
use crate::settings::settings;
use crate::switch::{self, Decision};
use core::sync::atomic::Ordering::Relaxed;
use tare_format::graph::Why;

/// Whether the rule says that a path is to be off.
pub(crate) fn applies(node: &LiveNode) -> bool {
    let Some(rule) = settings().throttle else { return false };
    let on_calls = node.calls.load(Relaxed);
    if calls(node) <= rule.calls || on_calls == 0 || switch::stays_on(node.region.load(Relaxed)) {
        return false;
    }
    let Some(header) = graph_file::header() else { return false };
    let ticks = u128::from(node.inclusive.load(Relaxed) / on_calls);
    let (passed_ticks, passed_ns) = passed(header);
    ticks * u128::from(passed_ns) < u128::from(rule.nanoseconds) * u128::from(passed_ticks)
}

/// All calls of a node, those in batches without clock included.
fn calls(node: &LiveNode) -> u64 {
    (node.calls.load(Relaxed) + node.off_calls.load(Relaxed)).saturating_add_signed(-i64::from(node.left.load(Relaxed)))
}

/// Ticks and nanoseconds since the start, as of the last look at both clocks.
fn passed(header: &LiveHeader) -> (u64, u64) {
    let ticks = header.last_ticks.load(Relaxed).saturating_sub(header.start_ticks.load(Relaxed));
    let nanoseconds = header.last_ns.load(Relaxed).saturating_sub(header.start_ns.load(Relaxed));
    (ticks, nanoseconds)
}

/// Switches the region of a path off.
pub(crate) fn off(local: Local, node: &LiveNode) {
    switch::off(local.arena, node.region.load(Relaxed), Decision { calls: calls(node), ..Decision::asked(Why::Rule) });
}
