//! Measured and compensated times against the unmeasured truth, as in paper 1's Table 1.

use serde::Serialize;
use tare_compensate::validation::{ComparedIn, Each, FLOOR_S, RankRow, Validation, Verdict};

use crate::layout::{Align, Column, Page, Writer};
use crate::number::{Column as Unit, change, share, time_with_unit};

/// One of the ways to compensate.
type Way = fn(&Each) -> f64;

#[derive(Serialize)]
struct Document {
    schema: u32,
    pairs: usize,
    compared_in: &'static str,
    ranks: Vec<RankDocument>,
    dilation: f64,
    noise: Option<f64>,
    verdict: String,
}

#[derive(Serialize)]
struct RankDocument {
    rank: u32,
    uninstrumented_s: f64,
    uncompensated_s: f64,
    local_s: f64,
    parallel_s: f64,
    error: ErrorDocument,
}

#[derive(Serialize)]
struct ErrorDocument {
    uncompensated: f64,
    local: f64,
    parallel: f64,
}

impl RankDocument {
    fn of(row: &RankRow) -> Self {
        let Each { uncompensated, local, parallel } = row.error;
        let seconds = row.seconds();
        Self {
            rank: row.rank,
            uninstrumented_s: row.uninstrumented_s,
            uncompensated_s: seconds.uncompensated,
            local_s: seconds.local,
            parallel_s: seconds.parallel,
            error: ErrorDocument { uncompensated, local, parallel },
        }
    }
}

/// The `validate` document.
#[must_use]
pub fn json(table: &Validation) -> String {
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        pairs: table.pairs,
        compared_in: compared_in(table),
        ranks: table.ranks.iter().map(RankDocument::of).collect(),
        dilation: table.dilation,
        noise: table.noise,
        verdict: verdict(table, " "),
    })
}

/// The greatest error of a way: as a fraction, of ranks where that counts, and in time where only the floor excuses it.
fn worst(table: &Validation, of: Way, space: &str) -> String {
    /// Within this the fraction itself is good, however short the run.
    const CLOSE: f64 = 0.01;
    let errors = || table.ranks.iter().map(|row| (of(&row.error).abs(), of(&row.error).abs() * row.uninstrumented_s));
    let is_floor = |&(fraction, seconds): &(f64, f64)| fraction > CLOSE && seconds <= FLOOR_S;
    let fraction = errors().filter(|error| !is_floor(error)).map(|(fraction, _)| fraction).reduce(f64::max);
    let seconds = errors().filter(is_floor).map(|(_, seconds)| seconds).reduce(f64::max);
    let percent = fraction.map(|fraction| format!("{:.1}{space}%", 100.0 * fraction));
    let time = seconds.map(|seconds| format!("{:.1}{space}µs", 1e6 * seconds));
    percent.into_iter().chain(time).collect::<Vec<_>>().join(" or ")
}

/// One sentence on whether parallel compensation found the truth, with this space before its units.
fn verdict(table: &Validation, space: &str) -> String {
    let parallel = worst(table, |error| error.parallel, space);
    let unsure =
        if table.noise.is_none() { ", but fewer than four pairs do not say how much runs differ by themselves; try more with -n" } else { "" };
    let found = match table.verdict {
        Verdict::Exact => format!("exact: compensated times are within {parallel} of the unmeasured run on every rank{unsure}"),
        Verdict::Close => format!("close: compensated times are within {parallel} of the unmeasured run on every rank{unsure}"),
        Verdict::Off => format!("not good: compensated times differ from the unmeasured run by up to {parallel}"),
        Verdict::Unclear if table.noise.is_none() => {
            format!("cannot be told: compensated times differ from the unmeasured run by up to {parallel}{unsure}")
        }
        Verdict::Unclear => format!(
            "cannot be told: compensated times differ from the unmeasured run by up to {parallel}, but the runs are too unlike each other; try an idle machine, or more pairs with -n"
        ),
    };
    let local = worst(table, |error| error.local, space);
    format!("{found}; local compensation alone is off by up to {local}")
}

fn compared_in(table: &Validation) -> &'static str {
    match table.compared_in {
        ComparedIn::CoreCycles => "core cycles",
        ComparedIn::Seconds => "seconds",
    }
}

/// The table of paper 1 with the errors, and the verdict.
#[must_use]
pub fn text(table: &Validation, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let seconds: Vec<Each> = table.ranks.iter().map(RankRow::seconds).collect();
    let plain = table.ranks.iter().map(|row| row.uninstrumented_s);
    let largest = plain.chain(seconds.iter().map(|each| each.uncompensated.max(each.local).max(each.parallel))).fold(0.0, f64::max);
    let unit = Unit::for_largest(largest);
    let label = |row: &RankRow| format!("rank {}", row.rank);
    let names = Column::new(format!("Time, {}", unit.unit.name(glyphs)), Align::Left, 0, table.ranks.iter().map(label).collect());
    let plain = table.ranks.iter().map(|row| unit.precise(row.uninstrumented_s, glyphs)).collect();
    let mut columns = vec![Column::new("unmeasured", Align::Point, 1, plain)];
    let ways: [(&str, Way); 3] = [("measured", |each| each.uncompensated), ("local", |each| each.local), ("parallel", |each| each.parallel)];
    for (head, of) in ways {
        let times = seconds.iter().map(|each| unit.precise(of(each), glyphs)).collect();
        let errors = table.ranks.iter().map(|row| change(of(&row.error), glyphs)).collect();
        columns.push(Column::new(head, Align::Point, 2, times));
        columns.push(Column::new("error", Align::Right, 0, errors));
    }
    writer.table(&names, columns);
    writer.blank();
    let legend = "unmeasured: no instrumentation; measured: no compensation; local and parallel: compensated.";
    writer.words("  ", 2, legend);
    let noise = table.noise.map_or_else(|| "not known below four pairs".to_string(), |noise| share(noise, glyphs));
    let dilation = change(table.dilation, glyphs);
    let pairs = format!(
        "{} pairs of runs, medians in {}; dilation {}; noise between unmeasured runs {noise}.",
        table.pairs,
        compared_in(table),
        dilation.trim_start_matches('+')
    );
    writer.words("  ", 2, &pairs);
    writer.labelled("Verdict", &format!("{}.", verdict(table, crate::layout::NO_BREAK)));
    if table.ranks.iter().any(|row| row.uninstrumented_s < 100.0 * FLOOR_S) {
        writer.words("  ", 2, &format!("Differences below {} count as none.", time_with_unit(FLOOR_S, glyphs)));
    }
    writer.finish()
}
