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
    /// By what fraction the run would become longer; `None` where that is not known.
    pub expected_dilation: Option<f64>,
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
    }
    let Selected { selected, rejected, expected_dilation } = selected;
    crate::json::written(&Document { schema: crate::json::SCHEMA, selected, rejected, expected_dilation: *expected_dilation })
}

/// How many functions for which reason.
#[must_use]
pub fn text(selected: &Selected, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let all = (selected.selected.len() + selected.rejected.len()) as u64;
    let chosen = selected.selected.len() as u64;
    writer.words("", 2, &format!("{} of {} functions selected", exact_count(chosen, glyphs), exact_count(all, glyphs)));
    if let Some(dilation) = selected.expected_dilation {
        writer.words("", 2, &format!("expected dilation {}", share(dilation, glyphs)));
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
