//! For each function the rule that decided, and why.

use super::{Decided, Rule, Selected, quoted};
use crate::layout::{Align, Column, Page, Writer, width};
use crate::short::cut_words;

/// Columns that names get before reasons are cut.
const LEAST_NAME: usize = 20;
/// Reasons are not cut below this many columns.
const LEAST_REASON: usize = 16;

/// Functions in the order of their names, with whether they are selected.
fn rows(selected: &Selected) -> Vec<(&Decided, bool)> {
    let chosen = selected.selected.iter().map(|one| (one, true));
    let mut rows: Vec<(&Decided, bool)> = chosen.chain(selected.rejected.iter().map(|one| (one, false))).collect();
    rows.sort_by(|a, b| (&a.0.shown, a.0.address).cmp(&(&b.0.shown, b.0.address)));
    rows
}

/// A line a function: in or out, the rule and the reason.
#[must_use]
pub fn explained(selected: &Selected, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let rows = rows(selected);
    if rows.is_empty() {
        writer.words("", 2, "there are no functions");
        return writer.finish();
    }
    let cells = |cell: &dyn Fn(&(&Decided, bool)) -> String| rows.iter().map(cell).collect::<Vec<String>>();
    let names = Column::new("Function", Align::Left, 0, cells(&|(one, _)| one.shown.clone()));
    let rules = cells(&|(one, _)| one.rule.place());
    let longest = |cells: &[String]| cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    let taken = LEAST_NAME.min(longest(&names.cells).max(names.head.len())) + longest(&rules).max("rule".len()) + "  ".len() * 4 + "out".len();
    let is_told = rows.iter().any(|(one, is_in)| *is_in && one.is_special);
    let chosen = if is_told { cells(&|(one, _)| inserted(one)) } else { Vec::new() };
    let inserted_width = longest(&chosen);
    let taken = if inserted_width == 0 { taken } else { taken + inserted_width.max("inserted".len()) + "  ".len() };
    let room = page.width.saturating_sub(taken).max(LEAST_REASON);
    let mut columns = vec![
        Column::new("", Align::Left, 0, cells(&|(_, is_in)| if *is_in { "in" } else { "out" }.to_string())),
        Column::new("rule", Align::Left, 0, rules),
        Column::new("reason", Align::Left, 2, cells(&|(one, _)| cut_words(&one.reason, room, page))),
    ];
    if inserted_width > 0 {
        columns.push(Column::new("inserted", Align::Left, 1, chosen));
    }
    writer.table(&names, columns);
    writer.finish()
}

/// `functions=count (mine:4), loops=none (mine:7)`
fn inserted(one: &Decided) -> String {
    one.chosen_snippets().map(|(level, snippet, rule)| format!("{level}={snippet} ({})", rule.place())).collect::<Vec<_>>().join(", ")
}

/// The same as CSV (RFC 4180).
#[must_use]
pub fn explained_csv(selected: &Selected) -> String {
    let mut text =
        String::from("name,shown,address,selected,filter,line,rule,reason,functions,loops,callsites,functions_rule,loops_rule,callsites_rule\r\n");
    for (one, is_in) in rows(selected) {
        let optional = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
        let place = |rule: &Option<Rule>| quoted(&rule.as_ref().map(Rule::place).unwrap_or_default());
        let fields = [
            quoted(&one.name),
            quoted(&one.shown),
            one.address.to_string(),
            is_in.to_string(),
            optional(&one.rule.filter),
            one.rule.line.map(|line| line.to_string()).unwrap_or_default(),
            quoted(&one.rule.text),
            quoted(&one.reason),
            optional(&one.snippets.functions),
            optional(&one.snippets.loops),
            optional(&one.snippets.callsites),
            place(&one.snippet_rules.functions),
            place(&one.snippet_rules.loops),
            place(&one.snippet_rules.callsites),
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}
