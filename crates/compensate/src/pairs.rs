//! What pairs of probes cost on the call paths of a run, as it is taken off: how far they differ from path to path.

use tare_profile::Profile;

use crate::cost::{self, Basis};

/// The cost of a pair of probes on a call path: seconds for a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairCost {
    /// What lies between the region's own clock readings, and so in its time: paper 4's α.
    pub inner_s: f64,
    /// What lies outside of them, in its caller's time: β.
    pub outer_s: f64,
    /// Calls that paid it.
    pub calls: u64,
    /// Whether batches of the path itself say so, rather than those of others or the calibration.
    pub is_in_place: bool,
}

/// The costs on all call paths whose probes were on for any call. Wrappers of MPI say themselves what they take.
#[must_use]
pub fn pair_costs(profile: &Profile) -> Vec<PairCost> {
    let costs = cost::of_profile(profile);
    let of_location = |(location, costs): (&tare_profile::Location, &cost::PathCosts)| {
        let clock = profile.process_of(location).clock;
        let paid =
            location.nodes.iter().zip(costs.iter()).filter(|(node, cost)| node.on_calls > 0 && cost.basis != Basis::Wrapper && cost.value > 0.0);
        paid.map(|(node, cost)| PairCost {
            inner_s: clock.seconds(cost.value * cost.inner.value),
            outer_s: clock.seconds(cost.value * (1.0 - cost.inner.value)),
            calls: node.on_calls,
            is_in_place: cost.basis == Basis::InPlace,
        })
        .collect::<Vec<_>>()
    };
    profile.locations.iter().zip(&costs).flat_map(of_location).collect()
}
