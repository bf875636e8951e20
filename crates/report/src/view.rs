//! View models: what there is to show of a run, before it becomes text.

use std::collections::{BTreeSet, HashMap};

use tare_compensate::{CompensatedLocation, Figure, Mark, Mode};
use tare_profile::{Location, Process, Profile, RegionKind, State};

use crate::run::{Exit, Results, Run};

/// Ranks, threads and nodes that took part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) ranks: usize,
    pub(crate) processes: usize,
    /// The largest number of threads in one process.
    pub(crate) threads: usize,
    pub(crate) hosts: usize,
}

impl Size {
    pub(crate) fn of(results: &Results<'_>) -> Self {
        let profile = results.profile;
        let mut threads = vec![0; profile.processes.len()];
        profile.locations.iter().for_each(|location| threads[location.process.0] += 1);
        let hosts: BTreeSet<&str> = profile.processes.iter().map(|process| process.host.as_str()).collect();
        let ranks: BTreeSet<u32> = profile.processes.iter().filter_map(|process| process.rank).collect();
        Self { ranks: ranks.len(), processes: profile.processes.len(), threads: threads.into_iter().max().unwrap_or(0), hosts: hosts.len() }
    }
}

/// How long the run took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Time {
    pub(crate) shown: Figure,
    pub(crate) measured_s: f64,
    /// Measured over compensated, less one.
    pub(crate) dilation: f64,
}

impl Time {
    /// The longest of all ranks, or of all processes where there are no ranks.
    pub(crate) fn of(results: &Results<'_>) -> Option<Self> {
        let counted = counted_locations(results);
        let longest = |value: &dyn Fn(usize) -> f64| counted.iter().map(|&index| value(index)).fold(0.0, f64::max);
        let measured_s = longest(&|index| results.shown.locations[index].measured_s);
        let parallel = longest(&|index| results.parallel.locations[index].total.value);
        let slowest = counted.iter().copied().max_by(|&a, &b| {
            let total = |index: usize| results.shown.locations[index].total.value;
            total(a).total_cmp(&total(b))
        })?;
        let dilation = if parallel > 0.0 { measured_s / parallel - 1.0 } else { 0.0 };
        Some(Self { shown: results.shown.locations[slowest].total, measured_s, dilation })
    }
}

/// Locations that stand for their process: main threads, of ranks where there are any.
fn counted_locations(results: &Results<'_>) -> Vec<usize> {
    let profile = results.profile;
    let any_rank = profile.processes.iter().any(|process| process.rank.is_some());
    let counts = |location: &Location| location.thread == 0 && (!any_rank || profile.process_of(location).rank.is_some());
    (0..profile.locations.len()).filter(|&index| counts(&profile.locations[index])).collect()
}

/// A row of the table of ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RankRow {
    pub(crate) label: String,
    pub(crate) measured_s: f64,
    pub(crate) local: Figure,
    pub(crate) parallel: Figure,
    pub(crate) delay_s: f64,
    pub(crate) lost: u64,
}

pub(crate) fn rank_rows(results: &Results<'_>) -> Vec<RankRow> {
    let profile = results.profile;
    let row = |(index, location): (usize, &Location)| RankRow {
        label: location_label(results, location),
        measured_s: results.shown.locations[index].measured_s,
        local: results.local.locations[index].total,
        parallel: results.parallel.locations[index].total,
        delay_s: results.parallel.locations[index].delay_s,
        lost: location.losses.lost(),
    };
    profile.locations.iter().enumerate().map(row).collect()
}

fn location_label(results: &Results<'_>, location: &Location) -> String {
    let process = results.profile.process_of(location);
    let process = match process.rank {
        Some(rank) => rank.to_string(),
        None => process.pid.to_string(),
    };
    if location.thread == 0 { process } else { format!("{process} thread {}", location.thread) }
}

/// A row of the table of regions: means over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RegionRow {
    pub(crate) name: String,
    pub(crate) place: Option<String>,
    pub(crate) measured_s: f64,
    pub(crate) local_s: f64,
    pub(crate) shown: Figure,
    /// Of the time of all locations.
    pub(crate) share: f64,
    pub(crate) calls: u64,
    pub(crate) waiting_s: f64,
    /// The rank with the largest exclusive time, and by what part it is above the mean.
    pub(crate) slowest: Option<(u32, f64)>,
}

/// Sums over the locations of one region while they are collected.
#[derive(Clone)]
struct RegionSum {
    measured_s: f64,
    local_s: f64,
    shown: Figure,
    calls: u64,
    waiting_s: f64,
    by_rank: HashMap<u32, f64>,
}

impl Default for RegionSum {
    fn default() -> Self {
        let shown = Figure::exact(0.0);
        Self { measured_s: 0.0, local_s: 0.0, shown, calls: 0, waiting_s: 0.0, by_rank: HashMap::new() }
    }
}

/// Regions by exclusive time, those that take most first; times are means over the ranks.
pub(crate) fn region_rows(results: &Results<'_>) -> Vec<RegionRow> {
    let profile = results.profile;
    let sums = region_sums(results);
    let all: f64 = sums.iter().map(|sum| sum.shown.value.max(0.0)).sum();
    let ranks = Size::of(results).ranks.max(1) as f64;
    let mut rows: Vec<RegionRow> = profile
        .regions
        .iter()
        .zip(sums)
        .filter(|(_, sum)| sum.calls > 0 || sum.measured_s != 0.0)
        .map(|(region, sum)| RegionRow {
            name: region.name.clone(),
            place: place(&region.file, region.line),
            measured_s: sum.measured_s / ranks,
            local_s: sum.local_s / ranks,
            shown: mean(&sum.shown, ranks),
            share: if all > 0.0 { sum.shown.value / all } else { 0.0 },
            calls: sum.calls,
            waiting_s: sum.waiting_s / ranks,
            slowest: slowest(&sum.by_rank, ranks),
        })
        .collect();
    rows.sort_by(|a, b| b.shown.value.total_cmp(&a.shown.value).then_with(|| a.name.cmp(&b.name)));
    rows
}

fn region_sums(results: &Results<'_>) -> Vec<RegionSum> {
    let profile = results.profile;
    let mut sums = vec![RegionSum::default(); profile.regions.len()];
    for (index, location) in profile.locations.iter().enumerate() {
        let (shown, local) = (&results.shown.locations[index], &results.local.locations[index]);
        let rank = profile.process_of(location).rank;
        for (node, (shown, local)) in location.nodes.iter().zip(shown.nodes.iter().zip(&local.nodes)) {
            let sum = &mut sums[node.region.0];
            sum.measured_s += shown.measured_exclusive_s;
            sum.local_s += local.exclusive.value;
            sum.shown = added(&sum.shown, &shown.exclusive);
            sum.calls += node.calls();
            sum.waiting_s += shown.wait_s;
            if let Some(rank) = rank {
                *sum.by_rank.entry(rank).or_default() += shown.exclusive.value;
            }
        }
    }
    sums
}

/// Intervals of one region in several places move together. A mark stays where what it marks is the greater part.
fn added(sum: &Figure, more: &Figure) -> Figure {
    let mark = if more.value.abs() > sum.value.abs() { more.mark } else { sum.mark };
    Figure { value: sum.value + more.value, low: sum.low + more.low, high: sum.high + more.high, mark }
}

fn mean(sum: &Figure, of: f64) -> Figure {
    Figure { value: sum.value / of, low: sum.low / of, high: sum.high / of, mark: sum.mark }
}

fn slowest(by_rank: &HashMap<u32, f64>, ranks: f64) -> Option<(u32, f64)> {
    let (&rank, &most) = by_rank.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)))?;
    let mean = by_rank.values().sum::<f64>() / ranks;
    (ranks > 1.0 && mean > 0.0).then(|| (rank, most / mean - 1.0))
}

/// `solver.f90:212`; `None` where no file is known.
pub(crate) fn place(file: &str, line: u32) -> Option<String> {
    let name = file.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(if line > 0 { format!("{name}:{line}") } else { name.to_string() })
}

/// Whether the figures can be believed, and why not.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trust {
    pub(crate) regions: usize,
    pub(crate) regions_trusted: usize,
    pub(crate) doubts: Vec<Doubt>,
    /// Calls that are missing at their place.
    pub(crate) lost: u64,
    /// Batches that were off for calibration.
    pub(crate) off_batches: u64,
    /// What carried no delay, where there was hardly any to carry.
    pub(crate) undelayed: Undelayed,
}

/// What carried no delay, summed over the processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Undelayed {
    /// Messages and collectives of kinds, or on communicators, that are timed alone.
    pub(crate) calls: u64,
    /// Messages whose delay did not arrive with them.
    pub(crate) messages: u64,
}

impl Undelayed {
    pub(crate) fn of(profile: &Profile) -> Self {
        let sum = |count: fn(&Process) -> u64| profile.processes.iter().map(count).sum();
        Self { calls: sum(|process| process.uncovered_calls), messages: sum(|process| process.unpaired_messages) }
    }

    fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Whether times are shown that rest on delays, and there was overhead to be carried.
    fn matters(results: &Results<'_>) -> bool {
        let is_dilated = |location: &CompensatedLocation| location.overhead_s > DILATED * location.measured_s;
        results.shown.mode == Mode::Parallel && results.parallel.locations.iter().any(is_dilated)
    }
}

/// Overhead below this part of a location's time makes no delay worth the name.
const DILATED: f64 = 0.01;

/// Why a run is not to be trusted as it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Doubt {
    /// Calls are missing at their place.
    Lost(u64),
    /// The compensated time is uncertain by this part of itself.
    Wide(f64),
    /// Only this part of the overhead rests on costs measured in place.
    Prior(f64),
    /// Files that could not be read.
    Unreadable(usize),
    /// Processes of this number were expected and have left nothing.
    MissingRanks(usize),
    /// Calls and messages carried no delay.
    Undelayed(Undelayed),
    /// Records of the graph files were damaged or missing.
    Damaged(u64),
}

impl Trust {
    pub(crate) fn of(results: &Results<'_>, regions: &[RegionRow], time: &Time) -> Self {
        let profile = results.profile;
        let lost: u64 = profile.locations.iter().map(|location| location.losses.lost()).sum::<u64>()
            + profile.processes.iter().map(|process| process.lost_threads).sum::<u64>();
        let trusted = |row: &&RegionRow| row.shown.mark.is_none();
        let mut doubts = Vec::new();
        if lost > 0 {
            doubts.push(Doubt::Lost(lost));
        }
        let missing = (profile.world_size() as usize).saturating_sub(Size::of(results).ranks);
        if missing > 0 {
            doubts.push(Doubt::MissingRanks(missing));
        }
        if !profile.unreadable.is_empty() {
            doubts.push(Doubt::Unreadable(profile.unreadable.len()));
        }
        let damaged: u64 = profile.processes.iter().map(|process| process.damaged_records).sum();
        if damaged > 0 {
            doubts.push(Doubt::Damaged(damaged));
        }
        let mut undelayed = Undelayed::of(profile);
        if !undelayed.is_none() && Undelayed::matters(results) {
            doubts.push(Doubt::Undelayed(std::mem::take(&mut undelayed)));
        }
        doubts.extend(certainty(&results.parallel.locations, time));
        Self {
            regions: regions.len(),
            regions_trusted: regions.iter().filter(trusted).count(),
            doubts,
            lost,
            off_batches: profile.locations.iter().map(|location| location.off_batches).sum(),
            undelayed,
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.doubts.is_empty()
    }
}

/// Beyond this part of itself a compensated time is called uncertain.
const WIDE: f64 = 0.05;

fn certainty(locations: &[CompensatedLocation], time: &Time) -> Option<Doubt> {
    let width = time.shown.half_width() / time.shown.value.abs().max(f64::MIN_POSITIVE);
    if width <= WIDE && time.shown.mark.is_none() {
        return None;
    }
    let overhead: f64 = locations.iter().map(|location| location.overhead_s).sum();
    let certain: f64 = locations.iter().map(|location| location.certain_overhead_s).sum();
    let part = if overhead > 0.0 { certain / overhead } else { 1.0 };
    Some(if part < 0.9 { Doubt::Prior(part) } else { Doubt::Wide(width) })
}

/// Why there is nothing to show, if so.
pub(crate) fn nothing_measured(results: &Results<'_>, run: &Run) -> Option<String> {
    let profile = results.profile;
    let anything = profile.locations.iter().any(|location| location.nodes.len() > 1);
    if anything {
        return None;
    }
    let instrumented: usize = run.images.iter().map(|image| image.instrumented).sum();
    let selected: usize = run.images.iter().map(|image| image.selected).sum();
    let reason = match (run.images.is_empty(), selected, instrumented) {
        (true, ..) => "no program under this command was instrumented, and none called MPI".to_string(),
        (_, 0, _) => "0 functions were selected".to_string(),
        (_, selected, 0) => format!("{selected} functions were selected, and all were refused"),
        _ if profile.processes.is_empty() => "the instrumented program was never started".to_string(),
        _ => "none of the instrumented functions was called".to_string(),
    };
    Some(reason)
}

/// How it ended, in words.
pub(crate) fn ending(run: &Run, results: &Results<'_>) -> String {
    match &run.exit {
        Exit::Status(status) => format!("exit status {status}"),
        Exit::Signal(name) => format!("stopped by {name}"),
        Exit::Unknown => {
            let open = results.profile.processes.iter().filter(|process| process.state == State::Running).count();
            if open > 0 { format!("{open} of {} processes still open", results.profile.processes.len()) } else { "ended".into() }
        }
    }
}

/// Reasons of all marks that are shown, each once.
pub(crate) fn reasons(marks: impl Iterator<Item = Option<Mark>>) -> Vec<&'static str> {
    let reasons: BTreeSet<&'static str> = marks.flatten().map(Mark::reason).collect();
    reasons.into_iter().collect()
}

/// Functions that were refused, by reason, over all images; the most frequent first.
pub(crate) fn refusals(run: &Run) -> Vec<(String, usize)> {
    let mut sums: HashMap<&str, usize> = HashMap::new();
    for (reason, count) in run.images.iter().flat_map(|image| &image.refusals) {
        *sums.entry(reason).or_default() += count;
    }
    let mut sums: Vec<(String, usize)> = sums.into_iter().map(|(reason, count)| (reason.to_string(), count)).collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums
}

/// The name of a kind of region in documents.
pub(crate) fn kind_name(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Program => "program",
        RegionKind::Function => "function",
        RegionKind::Mpi => "mpi",
        RegionKind::Loop => "loop",
        RegionKind::Iteration => "iteration",
        RegionKind::CallSite => "call site",
    }
}
