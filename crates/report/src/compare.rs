//! Several runs side by side: what got slower from the first side to each other one, beyond its uncertainty.
//!
//! A side is one run, or several of the same program, whose noise then counts. Regions are matched by name and file; where that
//! leaves one alone, by name; at last by the name without parameters and result, as other tools and compilers write it.
//!
//! What always holds: a difference is called one only where its interval leaves out zero and where it is at least
//! `Comparison::least_s`; what is not to be trusted, and what only some sides have measured, decides nothing. Where no side tells
//! the noise between runs, no interval holds it, and a difference only looks like one.

mod document;
mod matching;
mod page;
mod text;

use std::collections::HashMap;

use tare_compensate::difference::{Difference, Verdict};
use tare_compensate::{Figure, Mode};
use tare_profile::RegionKind;

use crate::run::{Results, Run};
use crate::view::{RegionRow, Size, Time, Whole, region_rows};

pub use document::json;
pub use page::html;
pub use text::text;

/// One side of a comparison: a run, or several of one program.
#[derive(Debug)]
pub struct Side<'a> {
    /// The runs.
    pub runs: Vec<(&'a Run, &'a Results<'a>)>,
}

/// A change below this part of the first side's time does not count, where the noise between runs is known.
const LEAST: f64 = 0.01;
/// The same where it is not.
const LEAST_UNKNOWN_NOISE: f64 = 0.05;

/// Runs with less of their work than this in regions that both have are hardly of one program.
const LEAST_IN_COMMON: f64 = 0.5;

/// Whether anything takes longer than on the first side: the run, or a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing does that can be told and counts.
    NotSlower,
    /// Something does, beyond an interval without the noise between runs, which single runs do not tell.
    LooksSlower,
    /// Something does, beyond its whole interval.
    Slower,
}

/// What came of a comparison. Sides are in the order in which they were given; all changes are from the first.
#[derive(Debug)]
pub struct Comparison {
    sides: Vec<About>,
    /// Changes below this part of the first side's time do not count.
    least: f64,
    least_s: f64,
    has_noise: bool,
    /// Whether another tool measured some of the sides: their times and efficiencies are of different spans, and not compared.
    is_mixed: bool,
    time: Line,
    regions: Vec<Line>,
    /// Kinds of regions that only some of the runs measured, and that are compared as part of what called them.
    finer: Vec<RegionKind>,
}

/// A side, in words and numbers of its own.
#[derive(Debug)]
struct About {
    runs: Vec<AboutRun>,
    efficiency: Option<f64>,
}

#[derive(Debug)]
struct AboutRun {
    directory: String,
    command: Vec<String>,
    program: String,
    measured_by: Option<String>,
    was_compensated: Option<&'static str>,
    size: Size,
    mode: Mode,
}

/// The time of the run, or of a region, on all sides.
#[derive(Debug)]
struct Line {
    name: String,
    kind: &'static str,
    file: String,
    line: u32,
    /// `None` where no run of the side has it.
    sides: Vec<Option<Of>>,
    /// From the first side to each further one; `None` where one of the two has not measured it.
    changes: Vec<Option<Difference>>,
}

/// A time on one side.
#[derive(Debug)]
struct Of {
    /// One for each run.
    figures: Vec<Figure>,
    /// The mean over the runs.
    calls: u64,
    /// The mean over the runs.
    wait_s: f64,
}

impl Comparison {
    /// Compares the first side with each other; `least` is the part of the first side's time below which changes do not count.
    /// `None` where there are fewer than two sides, or a run without any time.
    #[must_use]
    pub fn of(sides: &[Side<'_>], least: Option<f64>) -> Option<Self> {
        if sides.len() < 2 {
            return None;
        }
        let times: Option<Vec<Option<Of>>> = sides.iter().map(|side| time_of(side).map(Some)).collect();
        let mut time = Line::new("run", "program", times?);
        let has_noise = sides.iter().any(|side| side.runs.len() > 1);
        let least = least.unwrap_or(if has_noise { LEAST } else { LEAST_UNKNOWN_NOISE });
        let before = time.changes.iter().flatten().next()?.before.value;
        // Ours begins with `MPI_Init` and ends with `MPI_Finalize`, another tool's with the process.
        let is_foreign = |side: &Side<'_>| side.runs.iter().any(|(run, _)| run.measured_by.is_some());
        let is_mixed = sides.iter().any(is_foreign) && !sides.iter().all(is_foreign);
        if is_mixed {
            time.changes.iter_mut().for_each(|change| *change = None);
        }
        let wholes: Vec<Vec<Whole>> = sides.iter().map(|side| side.runs.iter().map(|(_, results)| Whole::of(results)).collect()).collect();
        let finer = finer_kinds(sides);
        let mut comparison = Self {
            sides: sides.iter().zip(&wholes).map(|(side, wholes)| About::of(side, wholes, is_mixed)).collect(),
            is_mixed,
            least,
            least_s: least * before.max(0.0),
            has_noise,
            time,
            regions: regions(sides, &wholes, &finer),
            finer,
        };
        comparison.arrange();
        Some(comparison)
    }

    /// What can be said of all sides together.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match std::iter::once(&self.time).chain(&self.regions).any(|line| line.is(Verdict::Slower, self.least_s)) {
            false => Outcome::NotSlower,
            true if self.has_noise => Outcome::Slower,
            true => Outcome::LooksSlower,
        }
    }

    /// For each further side that hardly seems to be the same program: its number, and the least part of its work or of the first
    /// side's that lies in regions which both have.
    fn strangers(&self) -> Vec<(usize, f64)> {
        let in_common = |side: usize| {
            let part = |of: usize| {
                let work = self.regions.iter().filter(|line| !matches!(line.kind, "mpi" | "program"));
                let time = |line: &Line| line.sides[of].as_ref().map_or(0.0, |side| side.figures.iter().map(|figure| figure.value.max(0.0)).sum());
                let (both, all) = work.fold((0.0, 0.0), |(both, all), line| {
                    let is_in_both = line.sides[0].is_some() && line.sides[side].is_some();
                    (both + if is_in_both { time(line) } else { 0.0 }, all + time(line))
                });
                if all > 0.0 { both / all } else { 1.0 }
            };
            part(0).min(part(side))
        };
        (1..self.sides.len()).map(|side| (side, in_common(side))).filter(|(_, part)| *part < LEAST_IN_COMMON).collect()
    }

    /// What stands before `slower` and `faster` where they are not certain.
    fn looks(&self) -> &'static str {
        if self.has_noise { "" } else { "looks " }
    }

    /// What got slower first, the most of it first; then what got faster; then the rest, by time.
    fn arrange(&mut self) {
        let least_s = self.least_s;
        let order = |line: &Line| match (line.is(Verdict::Slower, least_s), line.is(Verdict::Faster, least_s)) {
            (true, _) => (0, line.greatest_change()),
            (_, true) => (1, line.greatest_change()),
            _ => (2, line.greatest()),
        };
        self.regions.sort_by(|one, other| {
            let ((rank, size), (other_rank, other_size)) = (order(one), order(other));
            rank.cmp(&other_rank).then(other_size.total_cmp(&size)).then_with(|| one.name.cmp(&other.name))
        });
    }
}

impl Line {
    fn new(name: &str, kind: &'static str, sides: Vec<Option<Of>>) -> Self {
        let first = sides.first().and_then(Option::as_ref);
        let change = |side: &Option<Of>| Difference::between(&first?.figures, &side.as_ref()?.figures);
        let changes = sides.iter().skip(1).map(change).collect();
        Self { name: name.to_string(), kind, file: String::new(), line: 0, sides, changes }
    }

    fn is(&self, verdict: Verdict, least_s: f64) -> bool {
        self.changes.iter().flatten().any(|change| change.verdict(least_s) == verdict)
    }

    fn greatest_change(&self) -> f64 {
        self.changes.iter().flatten().map(|change| change.change.value.abs()).fold(0.0, f64::max)
    }

    /// The greatest time of any run.
    fn greatest(&self) -> f64 {
        self.sides.iter().flatten().flat_map(|side| &side.figures).map(|figure| figure.value.abs()).fold(0.0, f64::max)
    }
}

impl About {
    fn of(side: &Side<'_>, wholes: &[Whole], is_mixed: bool) -> Self {
        let known: Vec<f64> =
            wholes.iter().filter(|_| !is_mixed).filter_map(|whole| whole.efficiency.map(|efficiency| efficiency.parallel())).collect();
        let run = |&(run, results): &(&Run, &Results<'_>)| AboutRun {
            directory: run.directory.clone(),
            command: run.command.clone(),
            program: run.program.clone(),
            measured_by: run.measured_by.clone(),
            was_compensated: run.was_compensated,
            size: Size::of(results),
            mode: results.shown.mode,
        };
        Self { runs: side.runs.iter().map(run).collect(), efficiency: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64) }
    }
}

/// How long the runs of a side took; `None` where one of them took no time that is known.
fn time_of(side: &Side<'_>) -> Option<Of> {
    let figures: Option<Vec<Figure>> = side.runs.iter().map(|(_, results)| Time::of(results).map(|time| time.shown)).collect();
    figures.filter(|figures| !figures.is_empty()).map(|figures| Of { figures, calls: 1, wait_s: 0.0 })
}

/// A line for each region of any run; what only finer runs measured is part of what called it.
fn regions(sides: &[Side<'_>], wholes: &[Vec<Whole>], finer: &[RegionKind]) -> Vec<Line> {
    let mut items = Vec::new();
    let mut first_of_side = vec![0];
    for (side, wholes) in sides.iter().zip(wholes) {
        let begin = *first_of_side.last().unwrap_or(&0);
        for (place, ((_, results), whole)) in side.runs.iter().zip(wholes).enumerate() {
            let rows = coarser(region_rows(results, whole), results, whole, finer);
            items.extend(rows.into_iter().map(|row| matching::Item::of(begin + place, &results.profile.regions[row.region], row)));
        }
        first_of_side.push(begin + side.runs.len());
    }
    let groups = matching::groups(items);
    groups.iter().map(|group| line(group, &first_of_side)).collect()
}

/// The kinds of regions below functions that some of the runs measured, and some did not.
fn finer_kinds(sides: &[Side<'_>]) -> Vec<RegionKind> {
    let has = |results: &Results<'_>, kind| results.profile.regions.iter().any(|region| region.kind == kind);
    let runs = || sides.iter().flat_map(|side| &side.runs);
    let is_of_some = |kind: &RegionKind| runs().any(|(_, results)| has(results, *kind)) && !runs().all(|(_, results)| has(results, *kind));
    [RegionKind::Loop, RegionKind::Iteration, RegionKind::CallSite].into_iter().filter(is_of_some).collect()
}

/// The rows without those of the finer kinds, whose times go to what called them, as where they were not measured.
fn coarser(mut rows: Vec<RegionRow>, results: &Results<'_>, whole: &Whole, finer: &[RegionKind]) -> Vec<RegionRow> {
    let is_finer = |region: usize| finer.contains(&results.profile.regions[region].kind);
    let ranks = Size::of(results).ranks.max(1) as f64;
    let mut more: HashMap<usize, Figure> = HashMap::new();
    let paths = &whole.tree.paths;
    for path in paths.iter().filter(|path| is_finer(path.region.0)) {
        let mut above = std::iter::successors(path.parent, |&parent| paths[parent].parent);
        if let Some(caller) = above.find(|&parent| !is_finer(paths[parent].region.0)) {
            let sum = more.entry(paths[caller].region.0).or_insert(Figure::exact(0.0));
            *sum = sum.added(&path.exclusive);
        }
    }
    rows.retain(|row| !is_finer(row.region));
    for row in &mut rows {
        if let Some(more) = more.get(&row.region) {
            row.shown = row.shown.added(&more.divided(ranks));
        }
    }
    rows
}

fn line(group: &[matching::Item], first_of_side: &[usize]) -> Line {
    let of_side = |runs: &[usize]| {
        let (from, to) = (runs[0], runs[1]);
        let here = || group.iter().filter(|item| (from..to).contains(&item.run));
        here().next()?;
        // A run of the side without it spent nothing there.
        let figures = (from..to).map(|run| {
            let items = here().filter(|item| item.run == run);
            items.map(|item| item.row.shown).reduce(|sum, more| sum.added(&more)).unwrap_or(Figure::exact(0.0))
        });
        let runs = (to - from) as u64;
        let calls = here().map(|item| u128::from(item.row.calls)).sum::<u128>() / u128::from(runs.max(1));
        let wait_s = here().map(|item| item.row.waiting_s).sum::<f64>() / runs.max(1) as f64;
        Some(Of { figures: figures.collect(), calls: u64::try_from(calls).unwrap_or(u64::MAX), wait_s })
    };
    let first = &group[0];
    let sides = first_of_side.windows(2).map(of_side).collect();
    let placed = group.iter().find(|item| !item.file.is_empty()).unwrap_or(first);
    Line { file: placed.file.clone(), line: placed.line, ..Line::new(&first.row.name, first.kind, sides) }
}
