//! What pairs of probes cost on the call paths of a run, as it is taken off: how far they differ from path to path.

use tare_profile::{Location, Profile};

use crate::RunCosts;
use crate::cost::{Basis, PathCosts};

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

impl RunCosts {
    /// The costs on all call paths of the same profile whose probes were on for any call. Wrappers of MPI say themselves what they take.
    pub fn pairs<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = PairCost> + Clone + 'a {
        let of_location = |(location, costs): (&'a Location, &'a PathCosts)| {
            let clock = profile.process_of(location).clock;
            let paid = location.nodes.iter().zip(costs.iter());
            let paid = paid.filter(|(node, cost)| node.on_calls > 0 && cost.basis != Basis::Wrapper && cost.value > 0.0);
            paid.map(move |(node, cost)| PairCost {
                inner_s: clock.seconds(cost.value * cost.inner.value),
                outer_s: clock.seconds(cost.value * (1.0 - cost.inner.value)),
                calls: node.on_calls,
                is_in_place: cost.basis == Basis::InPlace,
            })
        };
        profile.locations.iter().zip(&self.paths).flat_map(of_location)
    }
}
