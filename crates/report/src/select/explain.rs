//! For each function the rule that decided, and why.

use super::{Decided, Selected, quoted};
use crate::layout::{Align, Column, Page, Writer, cut_words, width};

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
        writer.words("", 2, "no function has such a name");
        return writer.finish();
    }
    let cells = |cell: &dyn Fn(&(&Decided, bool)) -> String| rows.iter().map(cell).collect::<Vec<String>>();
    let names = Column::new("Function", Align::Left, 0, cells(&|(one, _)| one.shown.clone()));
    let rules = cells(&|(one, _)| one.rule.place());
    let longest = |cells: &[String]| cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    let taken = LEAST_NAME.min(longest(&names.cells).max(names.head.len())) + longest(&rules).max("rule".len()) + "  ".len() * 4 + "out".len();
    let room = page.width.saturating_sub(taken).max(LEAST_REASON);
    let columns = vec![
        Column::new("", Align::Left, 0, cells(&|(_, is_in)| if *is_in { "in" } else { "out" }.to_string())),
        Column::new("rule", Align::Left, 0, rules),
        Column::new("reason", Align::Left, 1, cells(&|(one, _)| cut_words(&one.reason, room, page))),
    ];
    writer.table(&names, columns);
    writer.finish()
}

/// The same as CSV (RFC 4180).
#[must_use]
pub fn explained_csv(selected: &Selected) -> String {
    let mut text = String::from("name,shown,address,selected,filter,line,rule,reason,functions,loops,callsites\r\n");
    for (one, is_in) in rows(selected) {
        let optional = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
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
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}
