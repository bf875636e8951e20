//! Call trees with known times, measured with probes of known cost: the truth for the correction of probe costs.
//!
//! Leaves are called in batches of which one in ten is off, and one in forty off and counted twice, as the runtime does it.

use crate::random::Random;
use tare_format::graph::{BatchSums, COST_UNIT, SAMPLE};

/// Calls of a batch.
pub const BATCH: u64 = 1024;

/// A region of a tree, in truth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Truth {
    /// The region that calls it, which stands before it; the root has none.
    pub parent: Option<usize>,
    /// Calls altogether.
    pub calls: u64,
    /// Ticks of each call, without what it calls.
    pub ticks_per_call: f64,
    /// Whether it calls nothing.
    pub leaf: bool,
}

/// What a pair of probes costs, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// Between the region's own clock readings.
    pub alpha: f64,
    /// Outside of them.
    pub beta: f64,
    /// While it is off and calls are counted.
    pub off: f64,
}

/// What a runtime records of a region.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// Calls with the probe on.
    pub on_calls: u64,
    /// Calls with the probe off.
    pub off_calls: u64,
    /// Exclusive ticks.
    pub exclusive: f64,
    /// Batches of a leaf: on, off, off and counted twice.
    pub batches: Option<[BatchSums; 3]>,
}

/// A random tree of so many regions, and one leaf more, so that there are batches to learn from.
#[must_use]
pub fn random(seed: u64, size: usize) -> Vec<Truth> {
    let mut random = Random::new(seed);
    let mut tree = vec![Truth { parent: None, calls: 1, ticks_per_call: 5e5, leaf: false }];
    for _ in 1..size {
        let inner: Vec<usize> = (0..tree.len()).filter(|&index| !tree[index].leaf).collect();
        let parent = inner[random.below(inner.len() as u64) as usize];
        let leaf = random.below(2) == 0;
        let calls = if leaf { BATCH * (60 + random.below(200)) } else { tree[parent].calls * (1 + random.below(20)) };
        let ticks_per_call = 20.0 + random.below(400) as f64;
        tree.push(Truth { parent: Some(parent), calls, ticks_per_call, leaf });
    }
    tree.push(Truth { parent: Some(0), calls: BATCH * 100, ticks_per_call: 40.0, leaf: true });
    tree
}

/// Inclusive ticks of each region, in truth.
#[must_use]
pub fn inclusive(tree: &[Truth]) -> Vec<f64> {
    let mut sums: Vec<f64> = tree.iter().map(|truth| truth.calls as f64 * truth.ticks_per_call).collect();
    for index in (1..tree.len()).rev() {
        if let Some(parent) = tree[index].parent {
            sums[parent] += sums[index];
        }
    }
    sums
}

/// What a runtime would have recorded.
#[must_use]
pub fn measure(tree: &[Truth], pair: Pair, seed: u64) -> Vec<Recorded> {
    let mut random = Random::new(!seed);
    let mut recorded: Vec<Recorded> = Vec::with_capacity(tree.len());
    for truth in tree {
        let batches = truth.leaf.then(|| batches(truth, pair, 120.0, &mut random));
        let [off, twice] = batches.as_ref().map_or([0, 0], |[_, off, twice]| [off.calls, twice.calls]);
        let (off_calls, on_calls) = (off + twice, truth.calls - off - twice);
        let alpha = if truth.parent.is_none() { 0.0 } else { pair.alpha };
        if let Some(parent) = truth.parent {
            let off_time = off_calls as f64 * (truth.ticks_per_call + pair.off) + twice as f64 * pair.off;
            recorded[parent].exclusive += on_calls as f64 * pair.beta + off_time;
        }
        let exclusive = on_calls as f64 * (truth.ticks_per_call + alpha);
        recorded.push(Recorded { on_calls: if truth.parent.is_none() { 0 } else { on_calls }, off_calls, exclusive, batches });
    }
    recorded
}

/// Batches of a leaf, whose caller takes `around` ticks for each call.
fn batches(truth: &Truth, pair: Pair, around: f64, random: &mut Random) -> [BatchSums; 3] {
    let mut kinds = [BatchSums::NONE; 3];
    let costs = [pair.alpha + pair.beta, pair.off, 2.0 * pair.off];
    for number in 0..truth.calls / BATCH {
        // The estimator needs a few of each kind, so the first ones are dealt out.
        let kind = match (number, random.below(40)) {
            (0..8, _) => 0,
            (8..16, _) => 1,
            (16..20, _) => 2,
            (_, 0..4) => 1,
            (_, 4) => 2,
            _ => 0,
        };
        let per_call = around + truth.ticks_per_call + costs[kind];
        let sums = &mut kinds[kind];
        if sums.batches < SAMPLE as u64 {
            sums.sample[sums.batches as usize] = (per_call * COST_UNIT as f64).round() as u32;
        }
        sums.batches += 1;
        sums.calls += BATCH;
        sums.ticks += (per_call * BATCH as f64).round() as u64;
        sums.longest = sums.longest.max((per_call * BATCH as f64) as u64);
    }
    kinds
}
