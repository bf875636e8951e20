//! What a run measures beside time: an arena for each thread that has metrics, beside that of its graph.
//!
//! ```text
//! arena  +0       MetricsRecord (as a location's record up to `state`, which is METRICS)
//!        +VALUES  ValuesRecord, 64 bytes each: for the node of the same index of the thread's graph
//! ```
//!
//! Values are exclusive: what was counted while the node was the innermost open one. Sums over a subtree are
//! inclusive; of highest values the largest one is.

use crate::record::record;

/// The `state` of an arena's record that holds values.
pub const METRICS: u32 = 4;
/// Metrics of a run.
pub const MOST: usize = 8;
/// From the arena's start to its values.
pub const VALUES: u64 = 8 << 20;

record! {
    /// What stands at the head of an arena with values.
    MetricsRecord, 1024 {
        /// Number of the arena.
        0 thread: u32,
        /// 0.
        4 tid: u32,
        /// Number of the arena with the thread's graph.
        8 owner: u32,
        /// Metrics.
        12 metrics: u32,
        /// A bit for each metric that this thread could not read.
        16 missing: u32,
        /// [`METRICS`].
        20 state: u32,
        /// What a pair of probes adds to each metric in a hot loop ([`crate::graph::COST_UNIT`]).
        24 costs: [u64; 8],
        /// What each metric was at the last event.
        88 last: [u64; 8],
        /// Nanoseconds for which counters of the kernel's were wanted, and for which they counted.
        152 enabled: u64,
        /// See `enabled`.
        160 running: u64,
        /// What the thread needs to read its counters: means nothing to others.
        168 private: [u64; 16],
        /// Names, with commas between them, padded with zeros.
        296 names: [u8; 512],
        /// A bit for each metric whose values are highest ones: they are joined by the larger one, not by sums.
        808 highest: u32,
        /// A bit for each metric that is in ticks.
        812 in_ticks: u32,
        /// A bit for each metric that is missing because the program has an allocator of its own, which is not seen.
        816 unseen: u32,
        /// Reserved.
        820 reserved: u32,
        /// Ticks that counting allocations and I/O has taken, as far as they have been given to nodes.
        824 tally_ticks: u64,
        /// What counting an allocation takes, and what counting an I/O call takes ([`crate::graph::COST_UNIT`]).
        832 tally_costs: [u64; 2],
        /// Reserved.
        848 reserved_too: [u8; 176],
    }
}

record! {
    /// The values of a node.
    ValuesRecord, 64 {
        /// One for each metric.
        0 values: [i64; 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ARENA, MAX_NODES};

    #[test]
    fn values_of_all_nodes_fit_into_an_arena() {
        assert!(MetricsRecord::SIZE as u64 <= VALUES);
        assert!(VALUES + u64::from(MAX_NODES) * ValuesRecord::SIZE as u64 <= ARENA);
    }
}
