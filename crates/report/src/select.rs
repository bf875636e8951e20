//! What would be measured and why, as text and as the `select` document.

mod explain;
mod shares;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::layout::{Align, Column, Page, Writer};
use crate::number::{exact_count, share};

pub use explain::{explained, explained_csv};
pub use shares::{Share, shares, shares_csv, shares_json};

/// A function and why it was treated as it was.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Decision {
    /// Raw name.
    pub name: String,
    /// Name for people.
    #[serde(skip)]
    pub shown: String,
    /// Link address of the entry.
    pub address: u64,
    /// The reason.
    pub reason: String,
}

/// A function with the rule that decided on it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Decided {
    /// Raw name.
    pub name: String,
    /// Name for people.
    #[serde(skip)]
    pub shown: String,
    /// Link address of the entry.
    pub address: u64,
    /// The reason, with the function's own figures.
    pub reason: String,
    /// The reason without figures: the same for all functions of its kind.
    #[serde(skip)]
    pub kind: String,
    /// Who decided.
    pub rule: Rule,
    /// What is inserted; empty for functions that are not selected.
    pub snippets: Snippets,
    /// Whether that is more or less than what is inserted where no filter says otherwise.
    #[serde(skip)]
    pub is_special: bool,
    /// Who chose it.
    pub snippet_rules: SnippetRules,
}

/// A rule of a filter.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rule {
    /// The filter; `None` where the tool itself decided.
    pub filter: Option<String>,
    /// Line in the filter's file.
    pub line: Option<u32>,
    /// Column in that line, where several rules stand in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The rule as it is written.
    pub text: String,
}

impl Rule {
    /// `cc3:4`, with the column where that line has several rules, or what decided where no line did.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.filter, self.line) {
            (Some(filter), Some(line)) => match self.column {
                Some(column) => format!("{filter}:{line}:{column}"),
                None => format!("{filter}:{line}"),
            },
            (Some(filter), None) => filter.clone(),
            (None, _) => self.text.clone(),
        }
    }
}

/// Names of snippets by level as filters write them: `default`, or the name of the level, for an adapter's default.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Snippets {
    /// At entry and exits.
    pub functions: Option<String>,
    /// At loops.
    pub loops: Option<String>,
    /// At call sites.
    pub callsites: Option<String>,
}

/// Rules that chose the snippets of a level; `None` where nothing but the default was ever chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SnippetRules {
    /// At entry and exits.
    pub functions: Option<Rule>,
    /// At loops.
    pub loops: Option<Rule>,
    /// At call sites.
    pub callsites: Option<Rule>,
}

impl Decided {
    /// Levels with what is inserted there and who chose it, where a filter did.
    fn chosen_snippets(&self) -> impl Iterator<Item = (&'static str, &str, &Rule)> {
        let (snippets, rules) = (&self.snippets, &self.snippet_rules);
        let levels = [
            ("functions", &snippets.functions, &rules.functions),
            ("loops", &snippets.loops, &rules.loops),
            ("callsites", &snippets.callsites, &rules.callsites),
        ];
        levels.into_iter().filter_map(|(level, snippet, rule)| Some((level, snippet.as_deref().unwrap_or("none"), rule.as_ref()?)))
    }
}

/// What `select` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Selected {
    /// Functions that would be measured.
    pub selected: Vec<Decided>,
    /// Functions that would not.
    pub rejected: Vec<Decided>,
    /// What it would cost; `None` where no budget was given.
    pub expected: Option<Expected>,
    /// What in the filters matches nothing.
    pub unmatched: Vec<Unmatched>,
}

/// A name or pattern of a filter that no function matches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Unmatched {
    /// The filter.
    pub filter: String,
    /// Line in the filter's file.
    pub line: u32,
    /// The name or pattern.
    pub pattern: String,
}

/// What measuring is expected to cost, as fractions of the run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expected {
    /// All of it.
    pub dilation: f64,
    /// The part of what is always kept: the main program, paths to MPI and OpenMP.
    pub kept: f64,
    /// What is allowed.
    pub budget: f64,
    /// How sure the estimates are: what they rest on, how many of the selected functions, and their dilation.
    pub certainty: Vec<(String, usize, f64)>,
}

/// The `select` document.
#[must_use]
pub fn json(selected: &Selected) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        selected: &'a [Decided],
        rejected: &'a [Decided],
        expected_dilation: Option<f64>,
        budget: Option<f64>,
        kept_dilation: Option<f64>,
        certainty: Vec<Certainty<'a>>,
        unmatched: &'a [Unmatched],
    }
    #[derive(Serialize)]
    struct Certainty<'a> {
        rests_on: &'a str,
        functions: usize,
        dilation: f64,
    }
    let Selected { selected, rejected, expected, unmatched } = selected;
    let rows = expected.iter().flat_map(|expected| &expected.certainty);
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        selected,
        rejected,
        expected_dilation: expected.as_ref().map(|expected| expected.dilation),
        budget: expected.as_ref().map(|expected| expected.budget),
        kept_dilation: expected.as_ref().map(|expected| expected.kept),
        certainty: rows.map(|(rests_on, functions, dilation)| Certainty { rests_on, functions: *functions, dilation: *dilation }).collect(),
        unmatched,
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
        let names = Column::new(head, Align::Left, 0, reasons.iter().map(|((_, kind), _)| (*kind).to_string()).collect());
        let rules = reasons.iter().map(|((place, _), _)| place.clone()).collect();
        let counts = reasons.iter().map(|(_, count)| exact_count(*count, glyphs)).collect();
        let columns = vec![Column::new("functions", Align::Right, 0, counts), Column::new("rule", Align::Left, 1, rules)];
        writer.table(&names, columns);
    }
    writer.finish()
}

/// What it would cost, and how sure that is.
fn write_expected(writer: &mut Writer<'_>, expected: &Expected) {
    let glyphs = writer.glyphs();
    let (dilation, allowed) = (share(expected.dilation, glyphs), share(expected.budget, glyphs));
    writer.words("", 2, &format!("expected dilation {dilation} of {allowed} allowed"));
    if expected.kept > expected.budget {
        let kept = share(expected.kept, glyphs);
        writer.words("", 2, &format!("over the budget: the main program and paths to MPI and OpenMP are always kept, and take {kept}"));
    }
    writer.blank();
    let rests_on = Column::new("The estimate is", Align::Left, 0, expected.certainty.iter().map(|row| row.0.clone()).collect());
    let functions = expected.certainty.iter().map(|row| exact_count(row.1 as u64, glyphs)).collect();
    let dilations = expected.certainty.iter().map(|row| share(row.2, glyphs)).collect();
    writer.table(&rests_on, vec![Column::new("functions", Align::Right, 0, functions), Column::new("dilation", Align::Right, 0, dilations)]);
}

/// Functions by rule and kind of reason, most frequent first.
fn by_reason(decisions: &[Decided]) -> Vec<((String, &str), u64)> {
    let mut counts: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for decision in decisions {
        // Behind the last semicolon stands what the figures of each function are.
        let kind = decision.kind.rsplit_once("; ").map_or(decision.kind.as_str(), |(kind, _)| kind);
        *counts.entry((decision.rule.place(), kind)).or_default() += 1;
    }
    let mut counts: Vec<((String, &str), u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// A field of a CSV document.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}
