//! The types of the model. Times are in ticks of the process they belong to; [`Clock`] turns them into seconds.

use tare_format::description::RegionKind;
use tare_format::graph::{BatchSums, DelayModel, MpiLibrary, Why};

use crate::clock::{Clock, Span};
use crate::exchanged::Exchanged;
use crate::graph::{self, ReadError};
use crate::live::{Live, Standing};
use crate::region::{Region, RegionTable};

/// Index into [`Profile::processes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProcessIndex(pub usize);

/// Index into [`Profile::regions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RegionIndex(pub usize);

/// What a run left, or has left so far.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// By rank, then host, then process id; those outside of MPI last.
    pub processes: Vec<Process>,
    /// By process, then thread.
    pub locations: Vec<Location>,
    /// Over all images and processes: one entry for each image, address and name.
    pub regions: Vec<Region>,
    /// Files that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// A file that could not be read, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Its name.
    pub name: String,
    /// The reason.
    pub error: ReadError,
}

/// Why there is no profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// There are files, and none of them can be read.
    #[error("{name}: {error}")]
    NothingReadable {
        /// The first of them.
        name: String,
        /// Its reason.
        error: ReadError,
    },
}

/// What is read of region graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// All call paths.
    #[default]
    All,
    /// The regions that are open alone, where that is all that is asked; roots lack the time that no event bounds.
    Open,
    /// Of each location the sums of its regions, where no call path is asked about: no costs of probes, and no inclusive times.
    Regions,
}

/// A graph file.
#[derive(Clone, Copy, Debug)]
pub struct GraphFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it holds, or why it could not be opened.
    pub bytes: Result<&'a [u8], &'a str>,
    /// What is known beside it of its process, if that runs, or its end was seen.
    pub live: Option<&'a Live>,
}

impl Profile {
    /// Makes the model from graph files (name and bytes) and descriptions (bytes; they name themselves).
    ///
    /// # Errors
    /// Where there are graph files and none of them can be read. A file among others that cannot be read
    /// is listed in [`Profile::unreadable`].
    pub fn read(graphs: &[(&str, &[u8])], descriptions: &[&[u8]]) -> Result<Self, ProfileError> {
        let files: Vec<GraphFile<'_>> = graphs.iter().map(|&(name, bytes)| GraphFile { name, bytes: Ok(bytes), live: None }).collect();
        Self::read_live(&files, descriptions, Extent::All)
    }

    /// The same, where processes may still run.
    ///
    /// # Errors
    /// As those of [`Profile::read`].
    pub fn read_live(graphs: &[GraphFile<'_>], descriptions: &[&[u8]], extent: Extent) -> Result<Self, ProfileError> {
        let mut profile = Self::default();
        let mut regions = RegionTable::default();
        let damaged: Vec<_> = descriptions.iter().filter_map(|bytes| regions.add_description(bytes).err()).collect();
        let mut parts = Vec::new();
        for file in graphs {
            match graph::read(file, &mut regions, extent) {
                Ok(part) => parts.push(part),
                Err(error) => profile.unreadable.push(Unreadable { name: file.name.to_string(), error }),
            }
        }
        let name = |identity: &[u8; 16]| tare_image::hexadecimal(identity) + ".regions";
        let undescribed = regions.undescribed().iter().map(|identity| Unreadable { name: name(identity), error: ReadError::Undescribed });
        profile.unreadable.extend(undescribed);
        // Damaged ones that no process needs.
        let others = damaged.into_iter().skip(regions.undescribed().len());
        profile.unreadable.extend(others.map(|error| Unreadable { name: "description".to_string(), error: ReadError::Description(error) }));
        if parts.is_empty() && !graphs.is_empty() {
            let first = profile.unreadable.iter().find(|file| graphs.iter().any(|graph| graph.name == file.name));
            if let Some(first) = first.cloned() {
                return Err(ProfileError::NothingReadable { name: first.name, error: first.error });
            }
        }
        parts.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        for (process, locations) in parts {
            let index = ProcessIndex(profile.processes.len());
            profile.processes.push(process);
            profile.locations.extend(locations.into_iter().map(|location| Location { process: index, ..location }));
        }
        profile.regions = regions.finish();
        profile.borrow_clocks();
        profile.tell_who_is_in_mpi();
        Ok(profile)
    }

    /// Whether threads took the places of others in a process of which nobody knows how many there were at once: no more than there are locations.
    #[must_use]
    pub fn has_threads_in_turn(&self) -> bool {
        self.locations.iter().any(|location| location.threads() > 1 && self.process_of(location).most_threads.is_none())
    }

    fn tell_who_is_in_mpi(&mut self) {
        for location in self.locations.iter().filter(|location| location.thread == 0) {
            let open = location.standing.and_then(|standing| standing.node);
            let mut path = std::iter::successors(open, |&node| location.nodes[node].parent);
            self.processes[location.process.0].is_in_mpi = path.any(|node| self.region_of(&location.nodes[node]).kind == RegionKind::Mpi);
        }
    }

    /// Whether it is known what all regions are: no description is missing.
    #[must_use]
    pub fn is_described(&self) -> bool {
        !self.unreadable.iter().any(|file| file.error == ReadError::Undescribed)
    }

    /// Ranks that have left their graphs.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.processes.iter().filter(|process| process.rank.is_some()).count()
    }

    /// Whether any process is a rank of MPI.
    #[must_use]
    pub fn has_ranks(&self) -> bool {
        self.processes.iter().any(|process| process.rank.is_some())
    }

    /// The process of a location.
    #[must_use]
    pub fn process_of(&self, location: &Location) -> &Process {
        &self.processes[location.process.0]
    }

    /// The region of a node.
    #[must_use]
    pub fn region_of(&self, node: &Node) -> &Region {
        &self.regions[node.region.0]
    }

    /// The same with some of its processes alone, as if there had been no others.
    pub fn only(&self, belongs: impl Fn(ProcessIndex) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.processes.len()).filter(|&index| belongs(ProcessIndex(index))).collect();
        let size = u32::try_from(kept.len()).ok();
        let process = |&index: &usize| {
            let process = self.processes[index].clone();
            Process { world_size: process.world_size.and(size), ..process }
        };
        let place = |old: ProcessIndex| kept.binary_search(&old.0).ok().map(ProcessIndex);
        let location = |location: &Location| place(location.process).map(|process| Location { process, ..location.clone() });
        Self {
            processes: kept.iter().map(process).collect(),
            locations: self.locations.iter().filter_map(location).collect(),
            regions: self.regions.clone(),
            unreadable: self.unreadable.iter().filter(|file| file.error == ReadError::Undescribed).cloned().collect(),
        }
    }

    /// Ranks of the run: the largest `MPI_COMM_WORLD` that was seen; 0 outside of MPI.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.processes.iter().filter_map(|process| process.world_size).max().unwrap_or(0)
    }

    /// A process killed at once never read its clock a second time: it takes the rate of another one,
    /// of its own host where possible.
    fn borrow_clocks(&mut self) {
        let known: Vec<(String, Clock)> =
            self.processes.iter().filter(|process| process.clock.is_known()).map(|process| (process.host.clone(), process.clock)).collect();
        for process in self.processes.iter_mut().filter(|process| !process.clock.is_known()) {
            let same_host = known.iter().find(|(host, _)| *host == process.host);
            if let Some((_, clock)) = same_host.or(known.first()) {
                process.clock.seconds_per_tick = clock.seconds_per_tick;
            }
        }
    }
}

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
    fn order(&self) -> (u32, &str, u32, &str) {
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
