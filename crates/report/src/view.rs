//! View models: what there is to show of a run, before it becomes text.

mod findings;
mod order;
mod regions;
mod shortage;
mod trust;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use tare_compensate::whole::{
    CallTree, Classes, Efficiency, Finding, RegionTotal, ThreadPlace, WaitPlace, findings, region_totals, thread_places, wait_places,
};
use tare_compensate::{Figure, Mark};
use tare_profile::{Location, Process, Profile, RegionIndex, RegionKind, State};

pub(crate) use findings::{FindingText, LINES, finding_texts, knows_waiting, no_finding};
use findings::{numbered, rank_list};
pub(crate) use order::{Contradicted, ContradictedPlace};
pub(crate) use regions::{RegionRow, region_rows};
pub(crate) use shortage::without_processor;
pub(crate) use trust::{Doubt, Replacement, Trust, Undelayed, Unrecorded, clock_doubt, overhead_in_place};
pub(crate) use waits::{ThreadWaitRow, WaitRow, Waited, column_of_ranks, column_of_waits, for_whom, longest, thread_wait_rows, wait_rows};

use crate::figures;
use crate::layout::{Glyphs, Page};
use crate::number::{exact_count, time_with_unit};
use crate::run::{Exit, Results, Run};
use crate::shell;
use crate::short::{name_in_words, short_name};

/// A run as a whole, from which all views are made.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) tree: CallTree,
    /// By region, as in the profile.
    pub(crate) totals: Vec<RegionTotal>,
    /// Exclusive seconds by region, compensated locally.
    pub(crate) local_s: Vec<f64>,
    pub(crate) places: Vec<WaitPlace>,
    pub(crate) thread_places: Vec<ThreadPlace>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) efficiency: Option<Efficiency>,
    pub(crate) classes: Classes,
}

impl Whole {
    pub(crate) fn of(results: &Results<'_>) -> Self {
        let profile = results.profile;
        let tree = CallTree::of(profile, &results.shown);
        let totals = region_totals(profile, &results.shown, &tree);
        let mut local_s = vec![0.0; totals.len()];
        for (location, figures) in profile.locations.iter().zip(&results.local.locations) {
            location.nodes.iter().zip(&figures.nodes).for_each(|(node, figures)| local_s[node.region.0] += figures.exclusive.value);
        }
        let places = wait_places(profile, &results.shown, &tree);
        Self {
            findings: findings(profile, &results.shown, &tree, &places),
            thread_places: thread_places(profile, &results.shown, &tree),
            efficiency: Efficiency::of(profile, &results.shown),
            classes: Classes::of(profile, &results.shown),
            tree,
            totals,
            local_s,
            places,
        }
    }
}

/// Ranks, threads and nodes that took part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) ranks: usize,
    pub(crate) processes: usize,
    /// The largest number of threads in one process; no more than so many of it were there at once.
    pub(crate) threads: usize,
    /// The largest number of threads that began in one process.
    pub(crate) begun: u64,
    pub(crate) hosts: usize,
}

impl Size {
    pub(crate) fn of(results: &Results<'_>) -> Self {
        let profile = results.profile;
        let mut threads = vec![(0, 0); profile.processes.len()];
        for location in &profile.locations {
            let (at_once, begun) = &mut threads[location.process.0];
            (*at_once, *begun) = (*at_once + 1, *begun + location.threads());
        }
        let hosts: BTreeSet<&str> = profile.processes.iter().map(|process| process.host.as_str()).collect();
        let ranks: BTreeSet<u32> = profile.processes.iter().filter_map(|process| process.rank).collect();
        let at_once = |((locations, _), process): (&(usize, u64), &Process)| process.most_threads.map_or(*locations, |most| most.min(*locations));
        let most = threads.iter().zip(&profile.processes).map(at_once).max().unwrap_or(0);
        let begun = threads.iter().map(|(_, begun)| *begun).max().unwrap_or(0);
        Self { ranks: ranks.len(), processes: profile.processes.len(), threads: most, begun, hosts: hosts.len() }
    }
}

/// A class of time with its share of the whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ClassRow {
    /// A name that scripts and styles can rely on.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    pub(crate) share: f64,
}

/// The classes that there is any time of, those of the program's own work first. Where nothing says who waited, MPI is one.
pub(crate) fn class_rows(classes: &Classes, knows_waiting: bool) -> Vec<ClassRow> {
    let all = classes.all_s();
    let row =
        |(id, name, seconds): (&'static str, &'static str, f64)| ClassRow { id, name, seconds, share: if all > 0.0 { seconds / all } else { 0.0 } };
    let is_without_mpi = classes.messages_s == 0.0 && classes.open_s == 0.0 && classes.start_end_s == 0.0;
    let rows = [
        ("useful", if is_without_mpi { "At work" } else { "Outside MPI" }, classes.useful_s),
        ("waiting", "Waiting", classes.waiting_s),
        ("messages", if knows_waiting { "MPI at work" } else { "MPI with waits" }, classes.messages_s),
        ("open", "MPI, open", classes.open_s),
        ("start_end", "MPI start, end", classes.start_end_s),
    ];
    rows.into_iter().map(row).filter(|row| row.seconds != 0.0).collect()
}

/// How long the run took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Time {
    pub(crate) shown: Figure,
    pub(crate) measured_s: f64,
    /// Measured over compensated, less one.
    pub(crate) dilation: f64,
    /// What the slowest rank took before it had started MPI and after it had ended it, as measured.
    pub(crate) outside_mpi_s: f64,
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
        let outside_mpi_s = longest(&|index| {
            let figures = &results.shown.locations[index];
            figures.nodes.first().map_or(0.0, |root| root.measured_inclusive_s - figures.measured_s)
        });
        Some(Self { shown: results.shown.locations[slowest].total, measured_s, dilation, outside_mpi_s })
    }

    /// The dilation in words, or what is known of it.
    pub(crate) fn dilation_in_words(&self, glyphs: &Glyphs) -> String {
        let least = figures::least_dilation(self.measured_s, &self.shown, glyphs);
        least.unwrap_or_else(|| figures::dilation_in_words(self.dilation, glyphs))
    }
}

/// Locations that stand for their process: main threads, of ranks where there are any.
fn counted_locations(results: &Results<'_>) -> Vec<usize> {
    let profile = results.profile;
    let any_rank = profile.has_ranks();
    let counts = |location: &Location| location.thread == 0 && (!any_rank || profile.process_of(location).rank.is_some());
    (0..profile.locations.len()).filter(|&index| counts(&profile.locations[index])).collect()
}

/// A row of the table of ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RankRow {
    pub(crate) label: String,
    /// With what it is: `rank 3 thread 1`.
    pub(crate) name: String,
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
        name: thread_label(profile, location),
        measured_s: results.shown.locations[index].measured_s,
        local: results.local.locations[index].total,
        parallel: results.parallel.locations[index].total,
        delay_s: results.parallel.locations[index].delay_s,
        lost: location.losses.lost(),
    };
    profile.locations.iter().enumerate().map(row).collect()
}

pub(crate) fn location_label(results: &Results<'_>, location: &Location) -> String {
    let process = results.profile.process_of(location);
    let process = match process.rank {
        Some(rank) => rank.to_string(),
        None => process.pid.to_string(),
    };
    if location.thread == 0 { process } else { format!("{process} thread {}", location.thread) }
}

/// `rank 3`, or `process 4711` outside of MPI.
pub(crate) fn process_label(process: &tare_profile::Process) -> String {
    process.rank.map_or_else(|| format!("process {}", process.pid), |rank| format!("rank {rank}"))
}

/// `rank 3`, `rank 3 thread 1`.
#[must_use]
pub fn thread_label(profile: &tare_profile::Profile, location: &Location) -> String {
    let process = process_label(profile.process_of(location));
    if location.thread == 0 { process } else { format!("{process} thread {}", location.thread) }
}

/// `solver.f90:212`; `None` where no file is known.
pub(crate) fn place(file: &str, line: u32) -> Option<String> {
    let name = file.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(if line > 0 { format!("{name}:{line}") } else { name.to_string() })
}

/// `MPI_Recv < exchange (solver.f90:88) < solve < main`: of regions that are open, the outermost first, the innermost ones, and
/// where the first of them stands whose place is known.
pub(crate) fn open_path(profile: &Profile, path: &[RegionIndex], shown: usize, glyphs: &Glyphs) -> String {
    innermost(&open_regions(profile, &path[path.len().saturating_sub(shown + 1)..]), shown, glyphs)
}

/// All regions of such a path, the innermost first.
#[must_use]
pub fn open_regions(profile: &Profile, path: &[RegionIndex]) -> Vec<String> {
    let mut is_placed = false;
    let name = |&index: &RegionIndex| {
        let region = &profile.regions[index.0];
        let name = short_name(&region.name, 40, &Page::default());
        match place(&region.file, region.line).filter(|_| region.line > 0 && !std::mem::replace(&mut is_placed, true)) {
            Some(place) => format!("{name} ({place})"),
            None => name,
        }
    };
    path.iter().rev().map(name).collect()
}

/// The path of so many of these regions.
#[must_use]
pub fn innermost(regions: &[String], shown: usize, glyphs: &Glyphs) -> String {
    let left = (regions.len() > shown).then_some(glyphs.ellipsis);
    regions.iter().take(shown).map(String::as_str).chain(left).collect::<Vec<_>>().join(" < ")
}

/// Whether what is missing is missing for want of room or permission.
fn nothing_could_be_written(results: &Results<'_>, run: &Run) -> bool {
    run.is_unwritten || results.profile.processes.iter().any(|process| process.lost_threads + process.refused_calls > 0)
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
    if nothing_could_be_written(results, run) {
        return Some("no process could write what it measures".to_string());
    }
    let reason = match (run.images.is_empty(), selected, instrumented) {
        (true, ..) => "no program under this command was instrumented, and none called MPI".to_string(),
        (_, 0, _) => "0 functions were selected".to_string(),
        (_, selected, 0) => format!("{selected} functions were selected, and all were refused"),
        _ if profile.processes.is_empty() => {
            "no process has left a graph: the instrumented program was never started, or its files are missing".to_string()
        }
        _ => "none of the instrumented functions was called".to_string(),
    };
    Some(reason)
}

/// What to do where there is nothing to show.
pub(crate) fn remedy_for_nothing(results: &Results<'_>, run: &Run) -> String {
    if nothing_could_be_written(results, run) {
        return "room in /dev/shm and in the run directory, or another one: -o DIR; no limits of memory and files (ulimit -a)".to_string();
    }
    match run.images.first() {
        Some(image) => format!("tare select {}", shell::path(&image.path)),
        None => format!("tare profile -- {}", shell::line(&run.command)),
    }
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

/// Whether the run goes on, as far as is known: what it says is so far.
pub(crate) fn goes_on(run: &Run, results: &Results<'_>) -> bool {
    matches!(run.exit, Exit::Unknown) && results.profile.processes.iter().any(Process::is_open)
}

/// Which processes of a run that failed did not come to their end, in words: the one that died, and those that a launcher then ended.
pub(crate) fn unended(run: &Run, results: &Results<'_>, page: &Page, glyphs: &Glyphs) -> Option<String> {
    let is_open = |process: &&Process| process.is_open() && (process.state == State::CutOff || run.exit != Exit::Unknown);
    let open: Vec<&Process> = results.profile.processes.iter().filter(is_open).collect();
    let name = |process: &&Process| process.rank.map_or_else(|| format!("process {}", process.pid), |rank| format!("rank {rank}"));
    let names = listed(&open, glyphs);
    let signal = match run.exit {
        Exit::Status(status @ 129..=192) => format!("; status {status} is 128 + signal {}", status - 128),
        _ => String::new(),
    };
    let end = if open.len() == 1 { "its end" } else { "their end" };
    let first = first_to_end(run, results).map_or_else(String::new, |(process, before)| {
        let within = stood_in(results, process, page, glyphs);
        format!("; {} ended first{within}, {} before the next", name(&process), time_with_unit(before, glyphs))
    });
    let within = match open[..] {
        [alone] if first.is_empty() => stood_in(results, alone, page, glyphs),
        _ => String::new(),
    };
    (!open.is_empty()).then(|| format!("{names} did not come to {end}{within}{first}{signal}"))
}

/// Ranks as ranges, then the first of other processes and how many more there are.
fn listed(processes: &[&Process], glyphs: &Glyphs) -> String {
    let mut ranks: Vec<u32> = processes.iter().filter_map(|process| process.rank).collect();
    ranks.dedup();
    let others: Vec<u32> = processes.iter().filter(|process| process.rank.is_none()).map(|process| process.pid).collect();
    let mut names: Vec<String> = (!ranks.is_empty()).then(|| rank_list(&ranks, glyphs)).into_iter().collect();
    names.extend(others.iter().take(NAMED).map(|pid| format!("process {pid}")));
    if others.len() > NAMED {
        names.push(format!("{} more", exact_count((others.len() - NAMED) as u64, glyphs)));
    }
    names.join(", ")
}

/// `, in boom (crash.c:5, thread 1)`: the innermost regions that are known to have been open in a process that was cut off. Nothing says which of its
/// threads a signal was for; it was none that waited for another one, unless all did.
fn stood_in(results: &Results<'_>, process: &Process, page: &Page, glyphs: &Glyphs) -> String {
    let profile = results.profile;
    let mut stood: BTreeMap<RegionIndex, Vec<&Location>> = BTreeMap::new();
    let is_of = |location: &&Location| std::ptr::eq(profile.process_of(location), process);
    for location in profile.locations.iter().filter(is_of) {
        let node = location.standing.and_then(|standing| standing.node).map(|node| &location.nodes[node]);
        if let Some(node) = node.filter(|node| profile.region_of(node).kind != RegionKind::Program) {
            stood.entry(node.region).or_default().push(location);
        }
    }
    let waits = |region: &RegionIndex| profile.regions[region.0].kind == RegionKind::Threads;
    match stood.keys().all(waits) {
        // As where it was killed from outside: what it waited for in its main thread.
        true => stood.retain(|_, locations| locations.iter().any(|location| location.thread == 0)),
        false => stood.retain(|region, _| !waits(region)),
    }
    if stood.len() > NAMED_OPEN {
        let threads = stood.values().map(Vec::len).sum::<usize>();
        return format!(", in one of {threads} threads in {} regions", stood.len());
    }
    // Of what is open in the main thread alone no thread need be named.
    let is_of_main = stood.len() == 1 && stood.values().flatten().any(|location| location.thread == 0);
    let said = stood.iter().map(|(&region, locations)| open_in_words(profile, region, locations, is_of_main, page, glyphs));
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!(", in {}", said.join(" or ")) }
}

/// Regions that are named of those in which a process may have been stopped.
const NAMED_OPEN: usize = 3;

/// `boom (crash.c:5, thread 1)`: a region that is open in these threads.
fn open_in_words(profile: &Profile, region: RegionIndex, locations: &[&Location], is_of_main: bool, page: &Page, glyphs: &Glyphs) -> String {
    let is_function = profile.regions[region.0].kind == RegionKind::Function;
    // Where the last event was that of a function it had called, nothing tells the entry from the exit.
    let has_called = |location: &&Location| {
        let standing = location.standing.and_then(|standing| standing.node);
        is_function && location.nodes.iter().any(|one| one.parent == standing && one.calls() > 0)
    };
    let called = if locations.iter().any(has_called) { " or what that had called last" } else { "" };
    let region = &profile.regions[region.0];
    let threads: Vec<u32> = locations.iter().map(|location| location.thread).collect();
    let threads = (!is_of_main).then(|| numbered("thread", &threads, glyphs));
    let whereabouts: Vec<String> = place(&region.file, region.line).into_iter().chain(threads).collect();
    let whereabouts = if whereabouts.is_empty() { String::new() } else { format!(" ({})", whereabouts.join(", ")) };
    format!("{}{whereabouts}{called}", name_in_words(&region.name, page))
}

/// The rank, or process that did not come to its end, that ended before all others, and by how many seconds: ranks end together
/// but for the one that dies, or exits without `MPI_Finalize`. `None` where several were found to have ended at once, and where
/// somebody stopped them all.
fn first_to_end<'a>(run: &Run, results: &Results<'a>) -> Option<(&'a Process, f64)> {
    if run.stopped_by.is_some() {
        return None;
    }
    let counts = |process: &Process| process.rank.is_some() || process.span.map_or(process.state != State::Finished, |span| !span.closed);
    let of_end = |(file, after): &(String, f64)| Some((results.profile.processes.iter().find(|process| process.file == *file)?, *after));
    let mut ends = run.ends.iter().filter_map(of_end).filter(|(process, _)| counts(process));
    let (first, second) = (ends.next()?, ends.next()?);
    (second.1 > first.1).then_some((first.0, second.1 - first.1))
}

/// Processes that are named one by one.
const NAMED: usize = 5;

/// Reasons of all marks that are shown, each once.
pub(crate) fn reasons(marks: impl Iterator<Item = Option<Mark>>) -> Vec<&'static str> {
    let reasons: BTreeSet<&'static str> = marks.flatten().map(Mark::reason).collect();
    reasons.into_iter().collect()
}

/// All marks; the place of one in this list is its number in the page, less one.
pub(crate) const MARKS: [Mark; 10] = [
    Mark::OverheadExceedsTime,
    Mark::OverheadHidesTime,
    Mark::UncertaintyExceedsTime,
    Mark::NeverOn,
    Mark::StillOpen,
    Mark::DelaysAstray,
    Mark::ChildExceeds,
    Mark::TimedCallsExceed,
    Mark::BeyondLimit,
    Mark::LedBack,
];

/// A mark as a number, 0 where there is none.
pub(crate) fn mark_number(mark: Option<Mark>) -> u8 {
    mark.and_then(|mark| MARKS.iter().position(|known| *known == mark)).map_or(0, |place| place as u8 + 1)
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
        RegionKind::User => "user",
        RegionKind::Parameter => "parameter",
        RegionKind::Phase => "phase",
        RegionKind::Pause => "pause",
        RegionKind::Threads => "threads",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_did_not_come_to_their_end_are_ranges_and_other_processes_are_counted_beyond_a_few() {
        let process = |rank: Option<u32>, pid: u32| Process { rank, pid, ..Process::default() };
        let ranks: Vec<Process> = [0, 1, 2, 3, 7].map(|rank| process(Some(rank), 100)).into();
        let others: Vec<Process> = (1..=7).map(|pid| process(None, pid)).collect();
        let said = |processes: &[Process]| listed(&processes.iter().collect::<Vec<_>>(), &Glyphs::UNICODE);
        assert_eq!(said(&ranks), "ranks 0–3, 7");
        assert_eq!(said(&others[..1]), "process 1");
        assert_eq!(said(&[&ranks[..1], &others[..]].concat()), "rank 0, process 1, process 2, process 3, process 4, process 5, 2 more");
    }
}
