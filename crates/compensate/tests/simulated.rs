//! Compensation against a simulator that knows the truth: random call trees whose calls take known times,
//! measured with probes of known α and β and with random batches off.

mod support;

use proptest::prelude::*;
use support::profile_of;
use tare_compensate::{Mode, compensate};
use tare_profile::{BatchSums, Batches, COST_UNIT, Node, Profile, RegionIndex, Span};

const BATCH: u64 = 1024;

/// A region of the simulated program: below `parent`, called so often, each call of so many ticks.
#[derive(Clone, Debug)]
struct Truth {
    parent: Option<usize>,
    calls: u64,
    ticks_per_call: f64,
    leaf: bool,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    alpha: f64,
    beta: f64,
    off: f64,
}

/// Random numbers that a seed determines.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn program(seed: u64, size: usize) -> Vec<Truth> {
    let mut random = Random(seed | 1);
    let mut tree = vec![Truth { parent: None, calls: 1, ticks_per_call: 5e5, leaf: false }];
    for _ in 1..size {
        let inner: Vec<usize> = (0..tree.len()).filter(|&index| !tree[index].leaf).collect();
        let parent = inner[random.below(inner.len() as u64) as usize];
        let leaf = random.below(2) == 0;
        let calls = if leaf { BATCH * (60 + random.below(200)) } else { tree[parent].calls * (1 + random.below(20)) };
        let ticks_per_call = 20.0 + random.below(400) as f64;
        tree.push(Truth { parent: Some(parent), calls, ticks_per_call, leaf });
    }
    tree
}

/// Batches of a leaf: 1 in 10 off, 1 in 40 off and counted twice. `around` is the caller's time per call.
fn batches(truth: &Truth, probe: Probe, around: f64, random: &mut Random) -> Batches {
    let empty = BatchSums { batches: 0, ticks: 0, calls: 0, longest: 0, sample: [0; 64] };
    let mut kinds = [empty; 3];
    let costs = [probe.alpha + probe.beta, probe.off, 2.0 * probe.off];
    for number in 0..truth.calls / BATCH {
        // The estimator needs a few of each kind, so the first ones are dealt out.
        let kind = match (number, random.below(40)) {
            (0..8, _) => 0,
            (8..16, _) | (_, 0..4) => 1,
            (16..20, _) | (_, 4) => 2,
            _ => 0,
        };
        let per_call = around + truth.ticks_per_call + costs[kind];
        let sums = &mut kinds[kind];
        if sums.batches < 64 {
            sums.sample[sums.batches as usize] = (per_call * COST_UNIT as f64).round() as u32;
        }
        sums.batches += 1;
        sums.calls += BATCH;
        sums.ticks += (per_call * BATCH as f64).round() as u64;
        sums.longest = sums.longest.max((per_call * BATCH as f64) as u64);
    }
    let [on, off, off_twice] = kinds;
    Batches { on, off, off_twice, off_cost: probe.off, first_calls: 0, first_ticks: 0 }
}

/// What the runtime would have recorded.
fn measured(tree: &[Truth], probe: Probe, seed: u64) -> Profile {
    let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15 | 1);
    let mut exclusive = vec![0.0; tree.len()];
    let mut nodes: Vec<Node> = Vec::new();
    for (index, truth) in tree.iter().enumerate() {
        let batches = truth.leaf.then(|| batches(truth, probe, 120.0, &mut random));
        let off_calls = batches.as_ref().map_or(0, |batches| batches.off.calls + batches.off_twice.calls);
        let twice = batches.as_ref().map_or(0, |batches| batches.off_twice.calls);
        let on_calls = truth.calls - off_calls;
        let is_root = truth.parent.is_none();
        let (alpha, beta) = if is_root { (0.0, 0.0) } else { (probe.alpha, probe.beta) };
        exclusive[index] += on_calls as f64 * (truth.ticks_per_call + alpha);
        if let Some(parent) = truth.parent {
            exclusive[parent] += on_calls as f64 * beta + off_calls as f64 * (truth.ticks_per_call + probe.off) + twice as f64 * probe.off;
        }
        nodes.push(Node {
            region: RegionIndex(index),
            parent: truth.parent,
            on_calls: if is_root { 0 } else { on_calls },
            off_calls,
            cost: if is_root { 0.0 } else { probe.alpha + probe.beta },
            batches: batches.map(Box::new),
            ..Node::default()
        });
    }
    for (node, exclusive) in nodes.iter_mut().zip(exclusive) {
        node.exclusive = exclusive as i64;
    }
    profile_of(nodes)
}

fn true_inclusive(tree: &[Truth]) -> Vec<f64> {
    let mut sums: Vec<f64> = tree.iter().map(|truth| truth.calls as f64 * truth.ticks_per_call).collect();
    for index in (1..tree.len()).rev() {
        if let Some(parent) = tree[index].parent {
            sums[parent] += sums[index];
        }
    }
    sums
}

/// At least one leaf, so that there are batches to learn from.
fn with_a_leaf(mut tree: Vec<Truth>) -> Vec<Truth> {
    tree.push(Truth { parent: Some(0), calls: BATCH * 100, ticks_per_call: 40.0, leaf: true });
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_truth_comes_back_where_the_probe_divides_as_assumed(seed: u64, size in 1_usize..24) {
        let tree = with_a_leaf(program(seed, size));
        let probe = Probe { alpha: 0.53 * 80.0, beta: 0.47 * 80.0, off: 3.0 };
        let result = compensate(&measured(&tree, probe, seed), Mode::Local);
        let inclusive = true_inclusive(&tree);
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
        let tree = with_a_leaf(program(seed, size));
        let probe = Probe { alpha: part * 80.0, beta: (1.0 - part) * 80.0, off: 3.0 };
        let result = compensate(&measured(&tree, probe, seed), Mode::Local);
        let inclusive = true_inclusive(&tree);
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
        let total = result.locations[0].total.value;
        prop_assert!((total / inclusive[0] - 1.0).abs() < 0.001);
    }

    #[test]
    fn the_total_of_a_span_loses_what_the_root_loses(seed: u64, size in 1_usize..24, off in 1.0..20.0_f64) {
        let tree = with_a_leaf(program(seed, size));
        let mut profile = measured(&tree, Probe { alpha: 40.0, beta: 40.0, off }, seed);
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
                delay_gain: gain,
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
        let tree = program(seed, size);
        let profile = measured(&tree, Probe { alpha: 40.0, beta: 30.0, off: 2.0 }, seed);
        let result = compensate(&profile, Mode::Off);
        for (raw, node) in profile.locations[0].nodes.iter().zip(&result.locations[0].nodes) {
            prop_assert_eq!(node.exclusive.value, raw.exclusive as f64);
            prop_assert_eq!(node.measured_inclusive_s, node.inclusive.value);
            prop_assert_eq!(node.exclusive.mark, None);
        }
    }
}
