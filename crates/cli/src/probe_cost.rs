//! What a pair of probes costs on this machine: runs measure it at their start, and it is kept beside the copies.

use tare_profile::{Process, Profile};
use tare_select::budget::ProbeCost;

use crate::cache::Cache;

/// Name of the file beside the copies that keeps what a probe costs on this machine.
const COST_FILE: &str = "probe-cost";
/// By what fraction a new figure must differ to replace the one that is kept: a selection does not change with noise.
const DIFFERENCE: f64 = 0.25;

/// What runs have measured, if any has.
pub(crate) fn known() -> Option<ProbeCost> {
    let text = std::fs::read_to_string(Cache::open().ok()?.place().join(COST_FILE)).ok()?;
    ProbeCost::measured(text.trim().parse().ok()?)
}

/// Keeps what the processes of a run measured at their start: the median, in core cycles.
pub(crate) fn keep(profile: &Profile) {
    let cycles = |process: &Process| Some(process.hot_pair_cost / process.clock.ticks_per_cycle?);
    let mut costs: Vec<f64> = profile.processes.iter().filter_map(cycles).filter(|cost| *cost > 0.0).collect();
    costs.sort_by(f64::total_cmp);
    let Some(cost) = costs.get(costs.len() / 2).and_then(|cost| ProbeCost::measured(cost.round())) else { return };
    let is_known = known().is_some_and(|known| (known.cycles() / cost.cycles() - 1.0).abs() < DIFFERENCE);
    if let Some(cache) = Cache::open().ok().filter(|_| !is_known) {
        // A machine on which nothing can be kept is measured with the default.
        let _ = std::fs::write(cache.place().join(COST_FILE), format!("{}\n", cost.cycles()));
    }
}
