//! A process: where it ran and how far it came, its clock, what it lost and what was off in it.

use tare_format::graph::{DelayModel, MpiLibrary, Why};

use super::{Location, RegionIndex};
use crate::clock::{Clock, Span};

/// How far a process has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// It runs, or was killed.
    #[default]
    Running,
    /// It was killed: its run is over, and it has not said that it ended.
    CutOff,
    /// It ended through `exit` and closed its file.
    Finished,
    /// It replaced itself by another program.
    Replaced,
    /// A number of a later version.
    Unknown(u32),
}

/// One process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Name of its file.
    pub file: String,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`.
    pub world_size: Option<u32>,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Process id of the parent.
    pub parent_pid: u32,
    /// How far it has come.
    pub state: State,
    /// Path of the executable (of the original where a copy ran).
    pub executable: String,
    /// Path of the program that is not measured by which it replaced itself at the end of its lifetime.
    pub successor: Option<String>,
    /// The MPI library that served it.
    pub mpi: MpiLibrary,
    /// How delays travelled.
    pub model: DelayModel,
    /// No batch was ever off.
    pub exact: bool,
    /// Ticks to seconds.
    pub clock: Clock,
    /// Between `MPI_Init` and `MPI_Finalize`; outside of MPI, of the main program.
    pub span: Option<Span>,
    /// Its main thread was in a call of MPI, or in what that called, when it was read or cut off: where its span has ended, it did not come out
    /// of `MPI_Finalize`.
    pub is_in_mpi: bool,
    /// Nanoseconds since 1970 at the start.
    pub start_ns: u64,
    /// Seconds between the start and the last sign of life.
    pub lifetime_s: f64,
    /// Prior of the cost of a probe pair: hot loop at start, in ticks.
    pub hot_pair_cost: f64,
    /// The same beside work that hides as much of it as can be.
    pub least_pair_cost: f64,
    /// What a pair of hooks, or of calls of the program's own, costs in a hot loop, in ticks; 0 where there were none.
    pub hot_hook_cost: f64,
    /// What a pair by the way of calls that are off takes longer than one that is on, in a hot loop, in ticks; 0 where it was not measured.
    pub hot_diverted: f64,
    /// What a pair without clock costs in a hot loop.
    pub hot_clockless: HotCounting,
    /// What an entry that is off and counted costs in a hot loop.
    pub hot_counted: HotCounting,
    /// Threads that were there at once, at the most; `None` where that is not known.
    pub most_threads: Option<usize>,
    /// Threads that found no room: what they called is counted nowhere.
    pub lost_threads: u64,
    /// Calls of threads for which there was no memory.
    pub refused_calls: u64,
    /// How often an instrumented library found no room when it was opened: none of its calls are here.
    pub lost_images: u64,
    /// Forked children that found no room for a graph of their own.
    pub lost_children: u64,
    /// Messages whose delay did not arrive with them.
    pub unpaired_messages: u64,
    /// Calls that carry no delay.
    pub uncovered_calls: u64,
    /// Seconds by which its clock and those of other machines may differ after they were put in line; 0 where there is one machine.
    pub clock_doubt_s: f64,
    /// Set-up of the runtime, ticks.
    pub setup_ticks: u64,
    /// Bytes that the counts promise and the file does not hold, or contents that contradict themselves:
    /// records left out.
    pub damaged_records: u64,
    /// How much probes were allowed to cost, as a part of the time without them, where the run had a budget.
    pub budget: Option<f64>,
    /// Regions that were switched off for good, or on again, in the order in which it was decided.
    pub switches: Vec<Switch>,
    /// Switches beyond the room for them.
    pub unlisted_switches: u64,
    /// Files that were read or written, where that was asked for, in the order in which they were met.
    pub files: Vec<File>,
}

/// What the calls of a process did with a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct File {
    /// Its path, or the kind of thing it is.
    pub name: String,
    /// Calls that read, and bytes that they brought.
    pub reads: u64,
    /// See `reads`.
    pub bytes_read: u64,
    /// Ticks in them.
    pub read_ticks: u64,
    /// Calls that write, and bytes that they took.
    pub writes: u64,
    /// See `writes`.
    pub bytes_written: u64,
    /// Ticks in them.
    pub write_ticks: u64,
    /// Other calls.
    pub others: u64,
    /// Ticks in them.
    pub other_ticks: u64,
}

/// A region was switched off for good, or on again. While it is off its calls are not counted, its time is that of its
/// callers, and what it calls stands below them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switch {
    /// Which.
    pub region: RegionIndex,
    /// Off, or on again.
    pub off: bool,
    /// Why; `None` for reasons of later versions.
    pub why: Option<Why>,
    /// Seconds after the start of the process.
    pub at_s: f64,
    /// Calls of the call path that led to the decision; 0 where none did.
    pub calls: u64,
    /// Seconds from one of the last ones to the next; `None` where that is not known.
    pub period_s: Option<f64>,
}

impl Process {
    /// Whether it has neither ended nor come to the end of what is measured: it runs, or was cut off.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Running | State::CutOff) && (self.is_in_mpi || self.span.is_none_or(|span| !span.closed))
    }

    /// The span of its main thread. The end that is not known is no earlier than what that thread has done.
    #[must_use]
    pub fn span_of(&self, main: &Location) -> Option<Span> {
        let span = self.span?;
        Some(Span { end: if span.closed { span.end } else { span.end.max(main.end_ticks) }, ..span })
    }

    /// Whether calls of a region were not counted for some time, because it was off, or may not have been: where more was switched than
    /// there was room to list, it is not known which.
    #[must_use]
    pub fn was_off(&self, region: RegionIndex) -> bool {
        self.unlisted_switches > 0 || self.switches.iter().any(|switch| switch.off && switch.region == region)
    }

    /// Whether the calls of a region are all that were made: it was never off, and no thread of the process lacked room or memory for some.
    #[must_use]
    pub fn counts_all_of(&self, region: RegionIndex) -> bool {
        self.lost_threads + self.refused_calls == 0 && !self.was_off(region)
    }

    /// By rank, those without one last; then by host and process id.
    pub(super) fn order(&self) -> (u32, &str, u32, &str) {
        (self.rank.unwrap_or(u32::MAX), &self.host, self.pid, &self.file)
    }
}

/// What counting a call costs in a hot loop, in ticks; zeros where it was not measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct HotCounting {
    /// Done once.
    pub once: f64,
    /// What doing it once more adds.
    pub again: f64,
}
