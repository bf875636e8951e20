//! Compensation against a simulation that knows the truth: random call trees whose calls take known times, measured with
//! probes of known α and β and with random batches off.

mod support;

use proptest::prelude::*;
use support::profile_of;
use tare_compensate::{CompensatedLocation, Mode, Wanted, compensate, compensate_wanted};
use tare_profile::{Batches, COST_UNIT, Exchanged, Node, Profile, RegionIndex, Span};
use tare_simulate::trees::{self, Pair, Recorded, Truth};

/// A random program as a profile that was measured with such probes.
fn measured(tree: &[Truth], pair: Pair, seed: u64) -> Profile {
    let node = |(index, recorded): (usize, Recorded)| Node {
        region: RegionIndex(index),
        parent: tree[index].parent,
        on_calls: recorded.on_calls,
        off_calls: recorded.off_calls,
        exclusive: recorded.exclusive as i64,
        cost: if index == 0 { 0.0 } else { pair.alpha + pair.beta },
        batches: recorded.batches.map(|[on, off, off_twice]| {
            Box::new(Batches {
                on,
                off,
                off_twice,
                diverted: on,
                off_cost: pair.off,
                beside: 0.0,
                first_calls: 0,
                first_ticks: 0,
                company: None,
                together: 0,
            })
        }),
        ..Node::default()
    };
    let mut profile = profile_of(trees::measure(tree, pair, seed).into_iter().enumerate().map(node).collect());
    (profile.processes[0].hot_pair_cost, profile.processes[0].least_pair_cost) = (pair.alpha + pair.beta, pair.alpha + pair.beta);
    profile
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_truth_comes_back_where_the_probe_divides_as_assumed(seed: u64, size in 1_usize..24) {
        let tree = trees::random(seed, size);
        let pair = Pair { alpha: 0.53 * 80.0, beta: 0.47 * 80.0, off: 3.0 };
        let result = compensate(&measured(&tree, pair, seed), Mode::Local);
        let inclusive = trees::inclusive(&tree);
        let rounding = 2.0 + tree.iter().map(|truth| truth.calls as f64).sum::<f64>() / COST_UNIT as f64;
        for (index, node) in result.locations[0].nodes.iter().enumerate() {
            let exclusive = tree[index].calls as f64 * tree[index].ticks_per_call;
            prop_assert!((node.exclusive.value - exclusive).abs() < 0.01 * inclusive[index] + rounding, "{index}: {:?} for {exclusive}", node.exclusive);
            prop_assert!((node.inclusive.value - inclusive[index]).abs() < 0.002 * inclusive[index] + rounding);
        }
        let total = result.locations[0].total.value;
        prop_assert!((total / inclusive[0] - 1.0).abs() < 0.001, "{total} for {}", inclusive[0]);
    }

    #[test]
    fn the_truth_lies_in_the_interval_where_the_probe_divides_otherwise(seed: u64, size in 1_usize..24, part in 0.36..0.7_f64) {
        let tree = trees::random(seed, size);
        let pair = Pair { alpha: part * 80.0, beta: (1.0 - part) * 80.0, off: 3.0 };
        let result = compensate(&measured(&tree, pair, seed), Mode::Local);
        let inclusive = trees::inclusive(&tree);
        let rounding = 2.0 + tree.iter().map(|truth| truth.calls as f64).sum::<f64>() / COST_UNIT as f64;
        for (index, node) in result.locations[0].nodes.iter().enumerate() {
            let exclusive = tree[index].calls as f64 * tree[index].ticks_per_call;
            let slack = inclusive[index] * 0.002 + rounding;
            prop_assert!(
                node.exclusive.low - slack <= exclusive && exclusive <= node.exclusive.high + slack,
                "{index}: {:?} for {exclusive}", node.exclusive
            );
            // How the cost divides matters to the region's own calls only.
            let slack = inclusive[index] * 0.002 + rounding;
            prop_assert!(node.inclusive.low - slack <= inclusive[index] && inclusive[index] <= node.inclusive.high + slack);
        }
        let total = &result.locations[0].total;
        prop_assert!(total.low <= inclusive[0] && inclusive[0] <= total.high, "{total:?} for {}", inclusive[0]);
        // A region that came out with less than nothing is lifted within the doubt of its costs, and the total with it.
        let lifted = result.locations[0].nodes.iter().any(|node| node.exclusive.value < 1e-3 && node.exclusive.mark.is_some());
        prop_assert!(lifted || (total.value / inclusive[0] - 1.0).abs() < 0.001, "{total:?} for {}", inclusive[0]);
    }

    #[test]
    fn the_total_of_a_span_loses_what_the_root_loses(seed: u64, size in 1_usize..24, off in 1.0..20.0_f64) {
        let tree = trees::random(seed, size);
        let mut profile = measured(&tree, Pair { alpha: 40.0, beta: 40.0, off }, seed);
        let nodes = &profile.locations[0].nodes;
        let end: i64 = nodes.iter().map(|node| node.exclusive).sum();
        let charged = |node: &Node| node.on_calls as f64 * node.cost + node.batches.as_deref().map_or(0.0, |batches| node.off_calls as f64 * batches.off_cost);
        let end_delay = nodes.iter().map(charged).sum::<f64>() as i64;
        profile.processes[0].span = Some(Span { start: 0, end: end.cast_unsigned(), closed: true, start_delay: 0, end_delay });
        let location = &compensate(&profile, Mode::Local).locations[0];
        let root: f64 = location.nodes.iter().map(|node| node.exclusive.value).sum();
        prop_assert!((location.total.value - root).abs() < 2.0 + 1e-9 * root.abs(), "{} for {root}", location.total.value);
    }

    #[test]
    fn what_locations_took_is_the_same_without_their_call_paths(seed: u64, size in 1_usize..24, has_span: bool, delay in 0_i64..5_000) {
        let mut profile = measured(&trees::random(seed, size), Pair { alpha: 40.0, beta: 40.0, off: 4.0 }, seed);
        let end: i64 = profile.locations[0].nodes.iter().map(|node| node.exclusive).sum();
        let span = Span { start: 0, end: end.cast_unsigned(), closed: true, start_delay: 0, end_delay: delay };
        profile.processes[0].span = has_span.then_some(span);
        for mode in [Mode::Off, Mode::Local, Mode::Parallel] {
            let whole = compensate_wanted(&profile, mode, Wanted::Whole);
            let all = compensate(&profile, mode);
            prop_assert_eq!((whole.mode, whole.locations.len()), (all.mode, all.locations.len()));
            for (whole, all) in whole.locations.iter().zip(all.locations) {
                let without = CompensatedLocation { nodes: Vec::new(), ..all };
                prop_assert_eq!(format!("{whole:?}"), format!("{without:?}"));
            }
        }
    }

    #[test]
    fn whatever_was_measured_the_figures_are_consistent(
        seeds in prop::collection::vec((any::<u16>(), any::<u16>(), -50_000_i64..500_000, any::<u16>(), -60_000_i64..60_000), 1..30),
        parallel: bool,
    ) {
        let nodes: Vec<Node> = seeds
            .iter()
            .enumerate()
            .map(|(index, &(calls, parent, exclusive, tool, gain))| Node {
                region: RegionIndex(index),
                parent: (index > 0).then(|| usize::from(parent) % index.max(1)),
                on_calls: u64::from(calls) / 8,
                off_calls: u64::from(parent) % 3 * u64::from(calls) / 16,
                exclusive,
                tool_ticks: u64::from(tool) / 16,
                exchanged: Some(Box::new(Exchanged { delay_gain: gain, ..Exchanged::default() })),
                cost: 40.0,
                ..Node::default()
            })
            .collect();
        let profile = profile_of(nodes);
        let mode = if parallel { Mode::Parallel } else { Mode::Local };
        let result = compensate(&profile, mode);
        let location = &result.locations[0];
        for (index, node) in location.nodes.iter().enumerate() {
            for figure in [&node.inclusive, &node.exclusive, &location.total] {
                prop_assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
            }
            if let Some(parent) = profile.locations[0].nodes[index].parent {
                prop_assert!(node.inclusive.value <= location.nodes[parent].inclusive.value + 1e-6);
            }
            prop_assert!(node.exclusive.value >= 0.0 || node.exclusive.mark.is_some());
        }
        if location.nodes.iter().all(|node| node.inclusive.mark.is_none() && node.exclusive.mark.is_none()) {
            let sum: f64 = location.nodes.iter().map(|node| node.exclusive.value).sum();
            prop_assert!((sum - location.nodes[0].inclusive.value).abs() < 1e-6 * sum.abs().max(1.0));
        }
    }

    #[test]
    fn off_returns_what_was_measured(seed: u64, size in 1_usize..24) {
        let tree = trees::random(seed, size);
        let profile = measured(&tree, Pair { alpha: 40.0, beta: 30.0, off: 2.0 }, seed);
        let result = compensate(&profile, Mode::Off);
        for (raw, node) in profile.locations[0].nodes.iter().zip(&result.locations[0].nodes) {
            prop_assert_eq!(node.exclusive.value, raw.exclusive as f64);
            prop_assert_eq!(node.measured_inclusive_s, node.inclusive.value);
            prop_assert_eq!(node.exclusive.mark, None);
        }
    }
}
