//! What would be measured and why, as text and as the `select` document.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::layout::{Align, Column, Page, Writer};
use crate::number::{exact_count, share};

/// A function and why it was treated as it was.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Decision {
    /// Raw name.
    pub name: String,
    /// Link address of the entry.
    pub address: u64,
    /// The reason.
    pub reason: String,
}

/// What `select` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Selected {
    /// Functions that would be measured.
    pub selected: Vec<Decision>,
    /// Functions that would not.
    pub rejected: Vec<Decision>,
    /// What it would cost; `None` where no budget was given.
    pub expected: Option<Expected>,
}

/// What measuring is expected to cost, as fractions of the run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expected {
    /// All of it.
    pub dilation: f64,
    /// The part of what is always kept: the main program, paths to MPI and OpenMP.
    pub kept: f64,
    /// What is allowed; `None` where nothing limits it.
    pub budget: Option<f64>,
    /// How sure the estimates are: what they rest on, how many of the selected functions, and their dilation.
    pub certainty: Vec<(String, usize, f64)>,
}

/// The `select` document.
#[must_use]
pub fn json(selected: &Selected) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        selected: &'a [Decision],
        rejected: &'a [Decision],
        expected_dilation: Option<f64>,
        budget: Option<f64>,
        kept_dilation: Option<f64>,
        certainty: Vec<Certainty<'a>>,
    }
    #[derive(Serialize)]
    struct Certainty<'a> {
        rests_on: &'a str,
        functions: usize,
        dilation: f64,
    }
    let Selected { selected, rejected, expected } = selected;
    let rows = expected.iter().flat_map(|expected| &expected.certainty);
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        selected,
        rejected,
        expected_dilation: expected.as_ref().map(|expected| expected.dilation),
        budget: expected.as_ref().and_then(|expected| expected.budget),
        kept_dilation: expected.as_ref().map(|expected| expected.kept),
        certainty: rows.map(|(rests_on, functions, dilation)| Certainty { rests_on, functions: *functions, dilation: *dilation }).collect(),
    })
}

/// How many functions for which reason.
#[must_use]
pub fn text(selected: &Selected, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let all = (selected.selected.len() + selected.rejected.len()) as u64;
    let chosen = selected.selected.len() as u64;
    writer.words("", 2, &format!("{} of {} functions selected", exact_count(chosen, glyphs), exact_count(all, glyphs)));
    if let Some(expected) = &selected.expected {
        write_expected(&mut writer, expected);
    }
    for (head, decisions) in [("Selected because", &selected.selected), ("Left out because", &selected.rejected)] {
        if decisions.is_empty() {
            continue;
        }
        writer.blank();
        let reasons = by_reason(decisions);
        let names = Column::new(head, Align::Left, 0, reasons.iter().map(|(reason, _)| reason.clone()).collect());
        let counts = reasons.iter().map(|(_, count)| exact_count(*count, glyphs)).collect();
        writer.table(&names, vec![Column::new("functions", Align::Right, 0, counts)]);
    }
    writer.finish()
}

/// What it would cost, and how sure that is.
fn write_expected(writer: &mut Writer<'_>, expected: &Expected) {
    let glyphs = writer.glyphs();
    let allowed = expected.budget.map_or_else(String::new, |budget| format!(" of {} allowed", share(budget, glyphs)));
    writer.words("", 2, &format!("expected dilation {}{allowed}", share(expected.dilation, glyphs)));
    if expected.budget.is_some_and(|budget| expected.kept > budget) {
        let kept = share(expected.kept, glyphs);
        writer.words("", 2, &format!("over the budget: paths to MPI and OpenMP, which are always kept, take {kept}"));
    }
    writer.blank();
    let rests_on = Column::new("The estimate is", Align::Left, 0, expected.certainty.iter().map(|row| row.0.clone()).collect());
    let functions = expected.certainty.iter().map(|row| exact_count(row.1 as u64, glyphs)).collect();
    let dilations = expected.certainty.iter().map(|row| share(row.2, glyphs)).collect();
    writer.table(&rests_on, vec![Column::new("functions", Align::Right, 0, functions), Column::new("dilation", Align::Right, 0, dilations)]);
}

/// Reasons with figures in them (`cyclomatic complexity 7`) count as one.
fn by_reason(decisions: &[Decision]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for decision in decisions {
        let kind = decision.reason.split(": ").next().unwrap_or_default();
        *counts.entry(kind.to_string()).or_default() += 1;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
