//! What came of a simulated program, as text and as a document.

use serde::Serialize;
use tare_simulate::{Lane, RankOutcome, Simulation};

use crate::layout::{Align, Column, Page, Writer};
use crate::number::{Column as Unit, change, count, share};

const SECONDS_PER_TICK: f64 = 1e-12;

/// The ways to compensate, with their names.
const WAYS: [(Lane, &str, &str); 4] = [
    (Lane::Local, "local", "own overhead alone"),
    (Lane::Delay, "delay", "delay model"),
    (Lane::Virtual, "virtual", "virtual time, closed form"),
    (Lane::Exact, "exact", "virtual time, exact form"),
];

#[derive(Serialize)]
struct Document {
    schema: u32,
    dilation: f64,
    models: Vec<ModelDocument>,
    covered: f64,
    contradicted_receives: u64,
    ranks: Vec<RankDocument>,
}

#[derive(Serialize)]
struct ModelDocument {
    model: &'static str,
    mean_error: f64,
    worst_error: f64,
}

#[derive(Serialize)]
struct RankDocument {
    rank: usize,
    unmeasured_s: f64,
    measured_s: f64,
    local_s: f64,
    delay_s: f64,
    virtual_s: f64,
    virtual_low_s: f64,
    virtual_high_s: f64,
    exact_s: f64,
}

impl RankDocument {
    fn of(rank: usize, outcome: &RankOutcome) -> Self {
        let end = |lane| seconds(outcome.compensated(lane));
        Self {
            rank,
            unmeasured_s: seconds(outcome.unmeasured.cast_signed()),
            measured_s: seconds(outcome.measured.cast_signed()),
            local_s: end(Lane::Local),
            delay_s: end(Lane::Delay),
            virtual_s: end(Lane::Virtual),
            virtual_low_s: end(Lane::Most),
            virtual_high_s: end(Lane::Least),
            exact_s: end(Lane::Exact),
        }
    }
}

fn seconds(ticks: i64) -> f64 {
    ticks as f64 * SECONDS_PER_TICK
}

/// The part of all ranks whose unmeasured end lies in its interval.
fn covered(simulation: &Simulation) -> f64 {
    let held = simulation.ranks.iter().filter(|rank| rank.is_covered()).count();
    held as f64 / simulation.ranks.len().max(1) as f64
}

/// The `simulate` document.
#[must_use]
pub fn json(simulation: &Simulation) -> String {
    let model = |(lane, model, _): (Lane, &'static str, &str)| {
        let (mean_error, worst_error) = simulation.errors(lane);
        ModelDocument { model, mean_error, worst_error }
    };
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        dilation: simulation.dilation(),
        models: WAYS.map(model).into(),
        covered: covered(simulation),
        contradicted_receives: simulation.contradicted,
        ranks: simulation.ranks.iter().enumerate().map(|(rank, outcome)| RankDocument::of(rank, outcome)).collect(),
    })
}

/// The errors of each model, and the first ranks of the page.
#[must_use]
pub fn text(simulation: &Simulation, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let errors = WAYS.map(|(lane, _, _)| simulation.errors(lane));
    let names = Column::new("Compensated by", Align::Left, 0, WAYS.map(|(_, _, name)| name.to_string()).into());
    let column = |head, of: fn(&(f64, f64)) -> f64| Column::new(head, Align::Right, 0, errors.iter().map(|each| share(of(each), glyphs)).collect());
    writer.table(&names, vec![column("mean error", |each| each.0), column("worst error", |each| each.1)]);
    writer.blank();
    let dilation = change(simulation.dilation(), glyphs);
    let said = format!(
        "{} ranks; dilation {}; the interval of the closed form holds the unmeasured end of {} of them.",
        count(simulation.ranks.len() as u64, glyphs),
        dilation.trim_start_matches('+'),
        share(covered(simulation), glyphs)
    );
    writer.words("  ", 2, &said);
    if simulation.contradicted > 0 {
        let said = format!(
            "{} receives from anywhere met messages in an order that virtual times contradict; unmeasured they may have met others.",
            count(simulation.contradicted, glyphs)
        );
        writer.words("  ", 2, &said);
    }
    writer.blank();
    ranks(&mut writer, simulation);
    writer.finish()
}

/// The ends of the first ranks.
fn ranks(writer: &mut Writer<'_>, simulation: &Simulation) {
    let glyphs = writer.glyphs();
    let shown = &simulation.ranks[..simulation.ranks.len().min(writer.page().top)];
    let largest = shown.iter().map(|rank| seconds(rank.measured.max(rank.unmeasured).cast_signed())).fold(0.0, f64::max);
    let unit = Unit::for_largest(largest);
    let names = (0..shown.len()).map(|rank| format!("rank {rank}")).collect();
    let names = Column::new(format!("End, {}", unit.unit.name(glyphs)), Align::Left, 0, names);
    let times = |of: &dyn Fn(&RankOutcome) -> i64| shown.iter().map(|rank| unit.precise(seconds(of(rank)), glyphs)).collect::<Vec<_>>();
    let mut columns = vec![
        Column::new("unmeasured", Align::Point, 0, times(&|rank| rank.unmeasured.cast_signed())),
        Column::new("measured", Align::Point, 0, times(&|rank| rank.measured.cast_signed())),
    ];
    columns.extend(WAYS.map(|(lane, name, _)| Column::new(name, Align::Point, 1, times(&|rank| rank.compensated(lane)))));
    writer.table(&names, columns);
    if shown.len() < simulation.ranks.len() {
        writer.words("  ", 2, "Further ranks: --top, or --format json.");
    }
}
