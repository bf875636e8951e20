//! A thread of a process, and the nodes of its region graph.

use tare_format::graph::BatchSums;

use super::{ProcessIndex, RegionIndex};
use crate::exchanged::Exchanged;
use crate::live::Standing;

/// One thread of a process: rank × thread.
#[derive(Clone, Debug, Default)]
pub struct Location {
    /// Its process.
    pub process: ProcessIndex,
    /// Number of the thread; the main thread is 0.
    pub thread: u32,
    /// Thread id of the kernel.
    pub tid: u32,
    /// Its region graph; the first one is the root, a parent stands before its children.
    pub nodes: Vec<Node>,
    /// Probe events: an entry with its exit is two.
    pub events: u64,
    /// Tick of the first event.
    pub start_ticks: u64,
    /// Tick of the last event known.
    pub end_ticks: u64,
    /// Ticks spent in the tool's own code in wrappers and slow paths.
    pub tool_ticks: u64,
    /// Of these, what slow paths of probes took.
    pub slow_ticks: u64,
    /// Ticks spent in setting up its threads, before their time begins.
    pub setup_ticks: u64,
    /// Overhead as the runtime had added it up, ticks.
    pub overhead: f64,
    /// Delay gained in waits, ticks.
    pub delay_gain: i64,
    /// Batches that were switched off.
    pub off_batches: u64,
    /// Receives from anywhere whose order the virtual times contradict.
    pub contradicted: u64,
    /// What it could not record.
    pub losses: LocationLosses,
    /// What was measured beside time, where anything was.
    pub metrics: Vec<Metric>,
    /// Seconds for which it could have run and had no processor, as the kernel counted them from its first event on; `None`
    /// where the kernel does not say. Of a process that was cut off up to its last call of MPI.
    pub queued_s: Option<f64>,
    /// Seconds for which it had a processor, as the kernel counted them from its first event to its end; `None` where the kernel does not say,
    /// and of a thread of a few milliseconds.
    pub ran_s: Option<f64>,
    /// What of `queued_s` passed in calls of MPI and in waits for other threads.
    pub queued_in_calls_s: f64,
    /// Seconds for which it at least neither ran nor could have run, outside of MPI and of waits for other threads: it slept, or waited for a file or for another process.
    pub asleep_s: f64,
    /// Processors on which it was allowed to run; `None` where that is not known.
    pub processors: Option<Processors>,
    /// Where it stood, if it ran when it was read, or was cut off; the time until then is counted, as far as it was seen.
    pub standing: Option<Standing>,
}

/// Processors on which a thread is allowed to run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Processors {
    /// The first one.
    pub first: u32,
    /// How many.
    pub number: u32,
}

/// What was measured beside time, on one thread.
#[derive(Clone, PartialEq, Debug)]
pub struct Metric {
    /// Its name, as the user said it.
    pub name: String,
    /// What a pair of probes adds to it in a hot loop.
    pub pair_cost: f64,
    /// The thread could not read it.
    pub missing: bool,
    /// It is missing because the program has an allocator of its own, which stands before what counts.
    pub unseen: bool,
    /// Its values are highest ones: the larger one stands for two.
    pub highest: bool,
    /// Its values are in ticks.
    pub in_ticks: bool,
    /// The part of the time in which it was counted, where the kernel shared counters among events.
    pub counted: Option<f64>,
}

impl Location {
    /// How many threads it is of: one that begins where another one has ended takes that one's place, and each enters the root once.
    #[must_use]
    pub fn threads(&self) -> u64 {
        if self.thread == 0 { 1 } else { self.nodes.first().map_or(1, |root| root.on_calls.max(1)) }
    }

    /// Whether a node has the calls of its region on all paths beyond the limit of call paths: who made them, and what they called, nobody knows.
    #[must_use]
    pub fn is_beyond_limit(&self, node: &Node) -> bool {
        node.parent.is_some_and(|parent| self.nodes[parent].overflow)
    }

    /// Calls of these.
    #[must_use]
    pub fn calls_beyond_limit(&self) -> u64 {
        self.nodes.iter().filter(|node| self.is_beyond_limit(node)).fold(0, |sum, node| sum.saturating_add(node.calls()))
    }
}

/// What a location could not record as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocationLosses {
    /// Calls that went to the overflow node.
    pub overflow_calls: u64,
    /// Entries beyond the depth that is followed.
    pub depth: u64,
    /// Exits that met no open frame.
    pub unmatched_exits: u64,
    /// Frames closed because an exception or `longjmp` skipped their exit: nothing is lost by them.
    pub skipped_frames: u64,
    /// Ticks between the last event in them and the one at which they were closed. They stand with the region; a part of them may be those of who went on.
    pub skipped_ticks: u64,
}

impl LocationLosses {
    /// Calls that are missing at their place.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.overflow_calls.saturating_add(self.depth).saturating_add(self.unmatched_exits)
    }
}

/// A call path, with what was measured on it. Nothing in it is corrected.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its region.
    pub region: RegionIndex,
    /// Index of its parent, which is smaller than its own; `None` for the root.
    pub parent: Option<usize>,
    /// Calls with the probe on.
    pub on_calls: u64,
    /// Calls in batches that were off.
    pub off_calls: u64,
    /// Ticks as the innermost open region; negative only while it is open.
    pub exclusive: i64,
    /// Ticks between entry and exit of the outermost calls that have ended.
    pub inclusive: u64,
    /// The runtime's last estimate of what a probe pair costs here, ticks.
    pub cost: f64,
    /// Ticks of the tool's own work between the two clock readings.
    pub tool_ticks: u64,
    /// It is entered by a compiler's hook or a call of the program's own, which are never off.
    pub hooked: bool,
    /// Its region is entered by a leaf's site: the body runs without probes while calls are counted.
    pub leaf: bool,
    /// Recursion was folded onto it.
    pub folded: bool,
    /// It swallowed regions for which there was no room.
    pub overflow: bool,
    /// For each metric of the location, what was counted while this was the innermost open region.
    pub values: Vec<i64>,
    /// Batches with the probe on and off.
    pub batches: Option<Box<Batches>>,
    /// What it had to do with other processes: most call paths nothing.
    pub exchanged: Option<Box<Exchanged>>,
}

impl Node {
    /// What it had to do with other processes, be that nothing.
    #[must_use]
    pub fn exchanged(&self) -> &Exchanged {
        static NOTHING: Exchanged = Exchanged::NOTHING;
        self.exchanged.as_deref().unwrap_or(&NOTHING)
    }

    /// The same, to be changed.
    pub fn exchanged_mut(&mut self) -> &mut Exchanged {
        self.exchanged.get_or_insert_default()
    }

    /// Calls, those in batches that were off included. They are exact.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.on_calls.saturating_add(self.off_calls)
    }
}

/// Time per call of one path with the probe on, off, off with its counting doubled, and on by the way of calls that are
/// off: as the runtime recorded it, and as the estimator of costs takes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Batches {
    /// Probe on.
    pub on: BatchSums,
    /// Probe off, calls counted.
    pub off: BatchSums,
    /// Probe off, counting done twice.
    pub off_twice: BatchSums,
    /// Probe on, by the way of calls that are off.
    pub diverted: BatchSums,
    /// In company with other paths, where there are some.
    pub company: Option<Box<Company>>,
    /// Calls that were off together with those of other paths: their time went to the nearest node above that was on.
    pub together: u64,
    /// What all calls that came in batches without company while the path was not on, and were on, cost by the runtime's estimates, ticks.
    pub beside: f64,
    /// The runtime's last estimate of what a call costs that is off and counted, ticks.
    pub off_cost: f64,
    /// In a run with a budget: calls of the first batch, in which other paths were on as well.
    pub first_calls: u64,
    /// Exclusive ticks of the first batch, the tool's own left out.
    pub first_ticks: i64,
}

/// All that passed in the thread around a path, the tool's own time left out, with all paths on and with all quiet; as the runtime
/// recorded it, and as the estimator of costs takes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Company {
    /// All on.
    pub on: BatchSums,
    /// All quiet.
    pub quiet: BatchSums,
    /// The same, counting done twice.
    pub twice: BatchSums,
    /// What counting took in those that were quiet, had it taken as long as in a hot loop ([`crate::COST_UNIT`]).
    pub counted: u64,
    /// The same of what is done once more.
    pub counted_again: u64,
    /// In all of them: what the pairs of all calls cost, as the runtime knew it then ([`crate::COST_UNIT`]).
    pub all: u64,
    /// The same without those of the path itself.
    pub others: u64,
}
