//! The `compare` document.

use serde::Serialize;
use tare_compensate::difference::{Difference, Verdict};

use super::{AboutRun, Comparison, Line, Of};
use crate::json::FigureDocument;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    slower: bool,
    least: f64,
    with_noise: bool,
    sides: Vec<SideDocument<'a>>,
    time: LineDocument,
    regions: Vec<RegionDocument<'a>>,
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
            compensate: run.mode.name(),
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
    fn of(line: &'a Line, least_s: f64) -> Self {
        Self {
            name: &line.name,
            kind: line.kind,
            file: Some(line.file.as_str()).filter(|file| !file.is_empty()),
            line: Some(line.line).filter(|&line| line > 0),
            times: LineDocument::of(line, least_s),
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
    fn of(line: &Line, least_s: f64) -> Self {
        let of = |side: &Of| OfDocument { runs: side.figures.iter().map(FigureDocument::of).collect(), calls: side.calls, wait_s: side.wait_s };
        let change = |change: &Difference| ChangeDocument {
            change: FigureDocument::of(&change.change),
            fraction: change.fraction(),
            verdict: match change.verdict(least_s) {
                Verdict::Slower => "slower",
                Verdict::Faster => "faster",
                Verdict::Same => "same",
                Verdict::Untrusted => "not to be trusted",
            },
        };
        Self {
            sides: line.sides.iter().map(|side| side.as_ref().map(of)).collect(),
            changes: line.changes.iter().map(|line| line.as_ref().map(change)).collect(),
        }
    }
}

/// The `compare` document.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        slower: comparison.is_slower(),
        least: comparison.least,
        with_noise: comparison.has_noise,
        sides: comparison
            .sides
            .iter()
            .map(|side| SideDocument { runs: side.runs.iter().map(RunDocument::of).collect(), efficiency: side.efficiency })
            .collect(),
        time: LineDocument::of(&comparison.time, comparison.least_s),
        regions: comparison.regions.iter().map(|line| RegionDocument::of(line, comparison.least_s)).collect(),
    })
}
