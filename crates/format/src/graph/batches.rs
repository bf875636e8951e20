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
    /// The differential in place: time per call of one path in batches with the probe on, off, off with its work doubled, and on by
    /// the way of calls that are off.
    ///
    /// Of a wrapped function that asks, some of whose calls are let pass: `on` has the calls that were measured and answered with no, each as a batch of one;
    /// `off` the rows of calls that passed, with all that went by meanwhile, and `off_twice` those rows in which all that lets a call pass was
    /// done twice; `boundary` is the begin of the row under way, and `off_cost` what it costs there that a call passes. The other fields say nothing then.
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
        /// Probe off, counting done twice: what it adds says what counting costs.
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
        /// Index plus one of its [`CompanyRecord`] in the same table; 0 for none.
        996 company: u32,
        /// Estimate of what a pair costs while all others are on ([`COST_UNIT`]).
        1000 alone_cost: u64,
        /// Calls in batches in which the other paths were quiet as well: their time went to the nearest node above that was on.
        1008 together: u64,
        /// In batches without company: what all calls that came while the node was off, counted or diverted, and were on, cost by their
        /// estimates ([`COST_UNIT`]). They went by the way of those that are off.
        1016 beside: u64,
    }
}

/// The unit of [`CompanyRecord::multiple`].
pub const MULTIPLE_UNIT: u64 = 1 << 16;

/// Ticks that stand for a call in the sums of a [`CompanyRecord`].
pub const COMPANY_UNIT: u64 = 16;

record! {
    /// Batches in company: all that passes in a thread, the tool's own time left out, for each [`COMPANY_UNIT`] ticks that the pairs of the
    /// calls in it cost one by one, while all paths that take batches are on, and while they are quiet together. It stands in the table
    /// of [`BatchRecord`]s, for a node that has one of these, and is told from them by `estimates`, which is 0.
    CompanyRecord, 1024 {
        /// Index of the node.
        0 node: u32,
        /// Kind of the batch under way, of no meaning here.
        4 kind: u32,
        /// The tool's ticks of the thread when the batch under way began.
        8 started: u64,
        /// See `known`: of all but the node itself.
        16 known_others: u64,
        /// Always 0.
        24 estimates: u64,
        /// Σ calls × what a pair costs while all others are on, of all paths that take batches, when it began ([`COST_UNIT`]).
        32 known: u64,
        /// Σ calls × what counting one costs in a hot loop, of the same ([`COST_UNIT`]) …
        40 known_counted: u64,
        /// … and what doing it once more costs.
        48 known_again: u64,
        /// In batches that were quiet together: what counting took, in a hot loop ([`COST_UNIT`]) …
        56 counted: u64,
        /// All on.
        64 on: [u8; 224],
        /// All quiet.
        288 quiet: [u8; 224],
        /// All quiet, with counting done twice.
        512 twice: [u8; 224],
        /// … and what doing it once more took.
        736 counted_again: u64,
        /// In all batches in company: what pairs of other paths cost one by one ([`COST_UNIT`]) …
        744 others: u64,
        /// … and those of all.
        752 all: u64,
        /// What the pairs around it cost together, in [`MULTIPLE_UNIT`]ths of what they cost one by one; 0 where nothing is known.
        760 multiple: u64,
        /// Reserved.
        768 reserved: [u8; 256],
    }
}
