//! How many call paths a thread comes to between two calls of one.
//!
//! A probe writes to its path's node. Where that and what leads to it are no longer in the processor's caches, since others were there meanwhile,
//! a pair costs more than in a hot loop, and batches in place that would say so need many calls. On a Zen 4 a pair took two to three times as
//! long as in a hot loop with its caches cold (docs/probes.md); on a Sapphire Rapids 1.2 times as long among 3,600 paths that take turns, and twice among 27,900.

use tare_profile::{Location, Node};

/// Paths whose nodes the first cache holds.
const FIRST_CACHE: f64 = 256.0;
/// Paths whose nodes no cache of a processor's own holds.
const BEYOND_CACHES: f64 = 32_768.0;
/// What a pair takes longer beyond all caches at the most, as a multiple of one in a hot loop.
const MOST_LONGER: f64 = 2.0;
/// Steps in which it is told.
pub(crate) const STEPS: usize = 8;

/// By node: in which of so many steps its calls are far apart, from 0, where its caches are warm.
pub(crate) fn of_location(location: &Location) -> Vec<usize> {
    // Between two calls of one come no more than there are.
    if location.nodes.len() as f64 <= FIRST_CACHE {
        return vec![0; location.nodes.len()];
    }
    let mut calls: Vec<u64> = location.nodes.iter().map(Node::calls).collect();
    let of_node = calls.clone();
    calls.sort_unstable();
    // Of those called less often, the calls up to each.
    let sums: Vec<f64> = calls.iter().scan(0.0, |sum, &calls| Some(std::mem::replace(sum, *sum + calls as f64))).collect();
    let between = |own: u64| {
        let seldom = calls.partition_point(|&calls| calls < own);
        (calls.len() - seldom) as f64 + sums.get(seldom).copied().unwrap_or(0.0) / own.max(1) as f64
    };
    of_node.into_iter().map(|own| step(between(own))).collect()
}

fn step(paths: f64) -> usize {
    let part = (paths / FIRST_CACHE).log2() / (BEYOND_CACHES / FIRST_CACHE).log2();
    (part.clamp(0.0, 1.0) * STEPS as f64).ceil() as usize
}

/// What a pair takes longer at such a step at the most, as a multiple of one in a hot loop.
pub(crate) fn longer(step: usize) -> f64 {
    MOST_LONGER * step as f64 / STEPS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(calls: impl IntoIterator<Item = u64>) -> Vec<usize> {
        let node = |on_calls| Node { on_calls, ..Node::default() };
        of_location(&Location { nodes: calls.into_iter().map(node).collect(), ..Location::default() })
    }

    #[test]
    fn paths_that_take_turns_are_as_far_apart_as_they_are_many() {
        assert_eq!(steps([1000; 256]), [0; 256]);
        assert_eq!(steps(vec![1000; 4096])[0], 5);
        assert_eq!(steps(vec![1000; 100_000])[0], STEPS);
    }

    #[test]
    fn what_is_called_often_is_near_though_there_are_many_others() {
        let steps = steps([1_000_000, 1_000_000].into_iter().chain(std::iter::repeat_n(10, 40_000)));
        assert_eq!((steps[0], steps[2]), (0, STEPS), "between two calls of the first come few of the others");
    }
}
