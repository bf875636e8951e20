//! The `compare` document.

use serde::Serialize;
use tare_compensate::Figure;
use tare_compensate::difference::{Difference, Verdict};

use super::{About, AboutRun, Comparison, Line, Of, Outcome};
use crate::json::FigureDocument;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    slower: bool,
    looks_slower: bool,
    least: f64,
    with_noise: bool,
    times: String,
    sides: Vec<SideDocument<'a>>,
    time: LineDocument,
    regions: Vec<RegionDocument<'a>>,
    parts_of_callers: Vec<PartDocument<'a>>,
}

/// A region that not all runs have measured, and that is part of what called it.
#[derive(Serialize)]
struct PartDocument<'a> {
    name: &'a str,
    kind: &'static str,
    /// Indices of the sides that have measured it.
    sides: &'a [usize],
}

#[derive(Serialize)]
struct SideDocument<'a> {
    runs: Vec<RunDocument<'a>>,
    efficiency: Option<f64>,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    directory: &'a str,
    command: &'a [String],
    ranks: usize,
    compensate: &'static str,
    measured_by: Option<&'a str>,
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a AboutRun) -> Self {
        Self {
            directory: &run.directory,
            command: &run.command,
            ranks: run.size.ranks,
            compensate: run.was_compensated.unwrap_or(run.mode.name()),
            measured_by: run.measured_by.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct RegionDocument<'a> {
    name: &'a str,
    kind: &'static str,
    file: Option<&'a str>,
    line: Option<u32>,
    #[serde(flatten)]
    times: LineDocument,
}

impl<'a> RegionDocument<'a> {
    fn of(line: &'a Line, comparison: &Comparison) -> Self {
        Self {
            name: &line.name,
            kind: line.kind,
            file: Some(line.file.as_str()).filter(|file| !file.is_empty()),
            line: Some(line.line).filter(|&line| line > 0),
            times: LineDocument::of(line, comparison),
        }
    }
}

#[derive(Serialize)]
struct LineDocument {
    sides: Vec<Option<OfDocument>>,
    changes: Vec<Option<ChangeDocument>>,
}

#[derive(Serialize)]
struct OfDocument {
    runs: Vec<FigureDocument>,
    calls: u64,
    wait_s: f64,
}

#[derive(Serialize)]
struct ChangeDocument {
    #[serde(flatten)]
    change: FigureDocument,
    fraction: Option<f64>,
    verdict: &'static str,
}

impl LineDocument {
    fn of(line: &Line, comparison: &Comparison) -> Self {
        let of = |side: &Of, about: &About| {
            let figure = |(figure, run): (&Figure, &AboutRun)| match run.measured_by {
                None => FigureDocument::of(figure),
                Some(_) => FigureDocument::of(figure).without_interval(),
            };
            OfDocument { runs: side.figures.iter().zip(&about.runs).map(figure).collect(), calls: side.calls, wait_s: side.wait_s }
        };
        let change = |change: &Difference| ChangeDocument {
            change: FigureDocument::of(&change.change),
            fraction: change.fraction(),
            verdict: match change.verdict(comparison.least_s) {
                Verdict::Slower if comparison.has_noise => "slower",
                Verdict::Slower => "looks slower",
                Verdict::Faster if comparison.has_noise => "faster",
                Verdict::Faster => "looks faster",
                Verdict::Same => "same",
                Verdict::Untrusted => "not to be trusted",
            },
        };
        Self {
            sides: line.sides.iter().zip(&comparison.sides).map(|(side, about)| side.as_ref().map(|side| of(side, about))).collect(),
            changes: line.changes.iter().map(|line| line.as_ref().map(change)).collect(),
        }
    }
}

/// The `compare` document.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        slower: comparison.outcome() == Outcome::Slower,
        looks_slower: comparison.outcome() == Outcome::LooksSlower,
        least: comparison.least,
        with_noise: comparison.has_noise,
        times: comparison.times.name().to_lowercase(),
        sides: comparison
            .sides
            .iter()
            .map(|side| SideDocument { runs: side.runs.iter().map(RunDocument::of).collect(), efficiency: side.efficiency })
            .collect(),
        time: LineDocument::of(&comparison.time, comparison),
        regions: comparison.regions.iter().map(|line| RegionDocument::of(line, comparison)).collect(),
        parts_of_callers: comparison
            .parts
            .iter()
            .map(|part| PartDocument { name: &part.name, kind: crate::view::kind_name(part.kind), sides: &part.sides })
            .collect(),
    })
}
