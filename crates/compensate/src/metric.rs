//! Metrics beside time, with what the probes added to them taken off.
//!
//! A pair of probes adds a cost to each metric, measured in a hot loop at start. Its part between the two readings goes to
//! the region, the rest to the caller. How it divides is not known, nor what it is where the processor overlaps the probe with the program: the
//! estimate takes half for either, and the interval reaches from nothing to all of it.

use tare_profile::{Location, Profile};

/// A metric of one node, exclusive.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Value {
    /// As measured.
    pub measured: f64,
    /// Compensated; not below nothing.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Value {
    /// Joins another node's: the sum, or of `highest` values the larger one.
    pub fn join(&mut self, other: &Self, highest: bool) {
        let join = if highest { f64::max } else { |one: f64, other: f64| one + other };
        self.measured = join(self.measured, other.measured);
        self.value = join(self.value, other.value);
        self.low = join(self.low, other.low);
        self.high = join(self.high, other.high);
    }
}

/// For each node of a location its metrics, in the order in which the location has them; times in nanoseconds.
#[must_use]
pub fn of_location(profile: &Profile, location: &Location) -> Vec<Vec<Value>> {
    let mut children = vec![0.0; location.nodes.len()];
    let is_probe = |node: &tare_profile::Node| node.parent.is_some() && !profile.region_of(node).kind.is_wrapped();
    for node in location.nodes.iter().filter(|node| is_probe(node)) {
        if let Some(parent) = node.parent {
            children[parent] += node.on_calls as f64;
        }
    }
    let nanoseconds = profile.process_of(location).clock.seconds(1e9);
    let of_metric = |metric: &tare_profile::Metric, raw: i64, own: f64, below: f64| {
        let unit = if metric.in_ticks { nanoseconds } else { 1.0 };
        let pair = if metric.highest { 0.0 } else { metric.pair_cost };
        value(raw as f64 * unit, pair * unit, own, below)
    };
    let of_node = |(node, &below): (&tare_profile::Node, &f64)| {
        let own = if is_probe(node) { node.on_calls as f64 } else { 0.0 };
        location.metrics.iter().zip(&node.values).map(|(metric, &raw)| of_metric(metric, raw, own, below)).collect()
    };
    location.nodes.iter().zip(&children).map(of_node).collect()
}

fn value(measured: f64, pair: f64, own: f64, below: f64) -> Value {
    let most = own.max(below) * pair;
    Value { measured, value: (measured - (own + below) / 2.0 * pair).max(0.0), low: (measured - most).max(0.0), high: measured }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn what_probes_added_is_taken_off_and_the_interval_holds_every_division() {
        let shown = value(1000.0, 10.0, 20.0, 30.0);
        assert_eq!((shown.measured, shown.value), (1000.0, 750.0));
        for inner in [0.0, 0.3, 1.0] {
            let truth = 1000.0 - 10.0 * (20.0 * inner + 30.0 * (1.0 - inner));
            assert!(shown.low <= truth && truth <= shown.high, "{inner}: {shown:?}");
        }
        assert_eq!(value(5.0, 10.0, 20.0, 0.0).value, 0.0);
    }
}
