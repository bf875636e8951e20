//! Batches: the differential in place, by which the cost of probes is known.

#[cfg(doc)]
use super::COST_UNIT;
use crate::record::record;

/// Batches of one kind that are kept as a sample.
pub const SAMPLE: usize = 48;

record! {
    /// Batches of one kind for one node.
    BatchSums, 224 {
        /// Batches.
        0 batches: u64,
        /// Ticks of all of them.
        8 ticks: u64,
        /// Calls of all of them.
        16 calls: u64,
        /// Ticks of the longest one.
        24 longest: u64,
        /// Ticks per call of a random sample of the batches ([`COST_UNIT`]); the first min(batches, [`SAMPLE`]) are filled.
        32 sample: [u32; SAMPLE],
    }
}

impl BatchSums {
    /// No batches.
    pub const NONE: Self = Self { batches: 0, ticks: 0, calls: 0, longest: 0, sample: [0; SAMPLE] };
}

record! {
    /// The differential in place: time per call of one path in batches with the probe on, off, off with a part of its work doubled, and on by
    /// the way of calls that are off.
    BatchRecord, 1024 {
        /// Index of the node.
        0 node: u32,
        /// Kind of the batch under way: index into the four sums, or 4 while none is taken.
        4 kind: u32,
        /// Σ exclusive ticks of the node and of those above it, up to `top`, when the batch under way began.
        8 started: i64,
        /// State of the random numbers.
        16 random: u64,
        /// Re-estimations so far.
        24 estimates: u64,
        /// Half-width of the estimate ([`COST_UNIT`]).
        32 half_width: u64,
        /// Estimate of the off state's own cost ([`COST_UNIT`]).
        40 off_cost: u64,
        /// Calls per batch.
        48 length: u64,
        /// Tick of the last boundary.
        56 boundary: u64,
        /// Probe on.
        64 on: [u8; 224],
        /// Probe off and calls counted; of regions that are no leaves: path and calls counted without a clock.
        288 off: [u8; 224],
        /// Probe off, a part of counting done twice: what it adds says what counting costs.
        512 off_twice: [u8; 224],
        /// Probe on, by the way of calls that are off: what it adds says what it costs that probes do different things.
        736 diverted: [u8; 224],
        /// Calls of the node with the probe on when the batch under way began.
        960 begun: u64,
        /// In a run with a budget: calls of the first batch, in which other paths were on as well …
        968 first_calls: u64,
        /// … and its exclusive ticks, the tool's own left out.
        976 first_ticks: i64,
        /// Estimate of what a call that is on costs more in batches that are diverted ([`COST_UNIT`]).
        984 diverted_cost: u64,
        /// Index of the topmost node that the time of a quiet call may go to: the parent; in a run with a budget, in which
        /// that may be quiet too, the nearest one above that takes no batches.
        992 top: u32,
        /// Reserved.
        996 reserved: [u8; 28],
    }
}
