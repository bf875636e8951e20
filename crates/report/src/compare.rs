//! Several runs side by side: what got slower from the first side to each other one, beyond its uncertainty.
//!
//! A side is one run, or several of the same program, whose noise then counts. Regions are matched by name and file; where that
//! leaves one alone, by name; at last by the name without parameters and result, as other tools and compilers write it.
//!
//! What always holds: a difference is called one only where its interval leaves out zero and where it is at least
//! `Comparison::least_s`; what is not to be trusted, and what only some sides have measured, decides nothing. Where no side tells
//! the noise between runs, no interval holds it, and a difference only looks like one.

mod common;
mod document;
mod matching;
mod page;
mod text;

use tare_compensate::difference::{Difference, Verdict};
use tare_compensate::{Figure, Mode};

use crate::run::{Results, Run};
use crate::view::{RegionRow, Size, Time, Whole, region_rows};
use common::Part;

pub use document::json;
pub use page::html;
pub use text::text;

/// One side of a comparison: a run, or several of one program.
#[derive(Debug)]
pub struct Side<'a> {
    /// The runs.
    pub runs: Vec<(&'a Run, &'a Results<'a>)>,
}

/// Which times of regions are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Of the regions themselves.
    Exclusive,
    /// Of the regions with what they call.
    Inclusive,
}

impl Times {
    /// As a sentence begins with it.
    fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "Exclusive",
            Self::Inclusive => "Inclusive",
        }
    }
}

/// A change below this part of the first side's time does not count, where the noise between runs is known.
const LEAST: f64 = 0.01;
/// The same where it is not.
const LEAST_UNKNOWN_NOISE: f64 = 0.05;

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
    times: Times,
    /// Whether another tool measured some of the sides: their times and efficiencies are of different spans, and not compared.
    is_mixed: bool,
    time: Line,
    regions: Vec<Line>,
    /// Regions that not all of the runs measured, and that are compared as part of what called them.
    parts: Vec<Part>,
    /// For each further side that hardly seems to be the same program: its number, and the least part of its work or of the first
    /// side's that lies in regions which both have measured.
    strangers: Vec<(usize, f64)>,
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
    /// Compares these times of the first side with those of each other; `least` is the part of the first side's time below which changes do not count.
    /// `None` where there are fewer than two sides, or a run without any time.
    #[must_use]
    pub fn of(sides: &[Side<'_>], times: Times, least: Option<f64>) -> Option<Self> {
        if sides.len() < 2 {
            return None;
        }
        let took: Option<Vec<Option<Of>>> = sides.iter().map(|side| time_of(side).map(Some)).collect();
        let mut time = Line::new("run", "program", took?);
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
        let mut items = items(sides, &wholes);
        let strangers = common::strangers(sides, &items);
        let parts = common::fold(sides, &wholes, &mut items);
        if times == Times::Inclusive {
            items.iter_mut().flatten().for_each(|item| item.row.shown = item.row.inclusive);
        }
        let mut comparison = Self {
            sides: sides.iter().zip(&wholes).map(|(side, wholes)| About::of(side, wholes, is_mixed)).collect(),
            is_mixed,
            least,
            least_s: least * before.max(0.0),
            has_noise,
            times,
            time,
            regions: regions(sides, items),
            parts,
            strangers,
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

/// The rows of all runs, in groups of one region each.
fn items(sides: &[Side<'_>], wholes: &[Vec<Whole>]) -> Vec<Vec<matching::Item>> {
    let runs = sides.iter().flat_map(|side| &side.runs).zip(wholes.iter().flatten());
    let of_run = |(run, ((_, results), whole)): (usize, (&(&Run, &Results<'_>), &Whole))| {
        let item = |row: RegionRow| matching::Item::of(run, &results.profile.regions[row.region], row);
        region_rows(results, whole).into_iter().map(item).collect::<Vec<_>>()
    };
    matching::groups(runs.enumerate().flat_map(of_run).collect())
}

/// A line for each region of any run.
fn regions(sides: &[Side<'_>], groups: Vec<Vec<matching::Item>>) -> Vec<Line> {
    let mut first_of_side = vec![0];
    for side in sides {
        first_of_side.push(first_of_side.last().unwrap_or(&0) + side.runs.len());
    }
    groups.iter().map(|group| line(group, &first_of_side)).collect()
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
