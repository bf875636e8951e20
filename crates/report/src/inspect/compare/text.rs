//! A comparison for people: counts first, then what changed most.

use super::{Change, Comparison, Function};
use crate::layout::{Align, Column, Glyphs, Page, Writer};
use crate::number::exact_count;

/// Counts, and a table each of functions changed, added and removed, of at most `top` rows. `demangled` is what people read for a raw name.
#[must_use]
pub fn text(comparison: &Comparison, top: Option<usize>, demangled: &dyn Fn(&str) -> String, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let count = |number: usize| exact_count(number as u64, glyphs);
    writer.words("", 2, &format!("{} against {}:", comparison.after.path, comparison.before.path));
    let counts = format!(
        "{} {} changed, {} added, {} removed, {} unchanged",
        count(comparison.changed.len()),
        if comparison.changed.len() == 1 { "function" } else { "functions" },
        count(comparison.added.len()),
        count(comparison.removed.len()),
        count(comparison.unchanged)
    );
    writer.words("", 2, &counts);
    if comparison.nameless != (0, 0) {
        let (before, after) = comparison.nameless;
        writer.words("", 2, &format!("{} and {} functions without a name could not be matched", count(before), count(after)));
    }
    changed(&mut writer, comparison, top, demangled);
    list(&mut writer, "Added", &comparison.added, top);
    list(&mut writer, "Removed", &comparison.removed, top);
    writer.finish()
}

fn changed(writer: &mut Writer<'_>, comparison: &Comparison, top: Option<usize>, demangled: &dyn Fn(&str) -> String) {
    let rows = &comparison.changed[..top.unwrap_or(usize::MAX).min(comparison.changed.len())];
    if rows.is_empty() {
        return;
    }
    let glyphs = writer.glyphs();
    let both = |before: usize, after: usize| {
        if before == after {
            exact_count(after as u64, glyphs)
        } else {
            format!("{} > {}", exact_count(before as u64, glyphs), exact_count(after as u64, glyphs))
        }
    };
    let pairs = |number: &dyn Fn(&Function) -> usize| rows.iter().map(|row| both(number(&row.before), number(&row.after))).collect::<Vec<_>>();
    let calls = rows.iter().map(|row| {
        let added = row.callees_added.iter().map(|name| ("+", name));
        let removed = row.callees_removed.iter().map(|name| (glyphs.minus, name));
        let all = added.chain(removed);
        let shown: Vec<String> = all.clone().take(SHOWN_CALLEES).map(|(sign, name)| sign.to_string() + &demangled(name)).collect();
        let rest = if all.count() > SHOWN_CALLEES { format!(" {}", glyphs.ellipsis) } else { String::new() };
        shown.join(" ") + &rest
    });
    let mut columns = vec![
        Column::new("instr.", Align::Right, 0, pairs(&|one| one.instructions)),
        Column::new("bytes", Align::Right, 3, pairs(&|one| usize::try_from(one.size).unwrap_or(usize::MAX))),
        Column::new("CC", Align::Right, 1, pairs(&|one| one.cyclomatic)),
        Column::new("loops", Align::Right, 2, pairs(&|one| one.loops)),
        Column::new("callees", Align::Left, 4, calls.collect()),
    ];
    if rows.iter().any(Change::is_of_operands) {
        let also = rows.iter().map(|row| if row.is_of_operands() { "operands".to_owned() } else { String::new() });
        columns.push(Column::new("only", Align::Left, 1, also.collect()));
    }
    writer.blank();
    writer.table(&Column::new("Changed", Align::Left, 0, rows.iter().map(|row| row.after.demangled.clone()).collect()), columns);
    left_out(writer, glyphs, comparison.changed.len() - rows.len());
}

/// More names of callees than these make no line better.
const SHOWN_CALLEES: usize = 2;

fn list(writer: &mut Writer<'_>, head: &str, functions: &[Function], top: Option<usize>) {
    let rows = &functions[..top.unwrap_or(usize::MAX).min(functions.len())];
    if rows.is_empty() {
        return;
    }
    let glyphs = writer.glyphs();
    let numbers = |number: &dyn Fn(&Function) -> usize| rows.iter().map(|row| exact_count(number(row) as u64, glyphs)).collect::<Vec<_>>();
    let source = |row: &Function| crate::view::place(row.file.as_deref().unwrap_or(""), row.line.unwrap_or(0)).unwrap_or_default();
    let columns = vec![
        Column::new("instr.", Align::Right, 0, numbers(&|one| one.instructions)),
        Column::new("CC", Align::Right, 1, numbers(&|one| one.cyclomatic)),
        Column::new("loops", Align::Right, 2, numbers(&|one| one.loops)),
        Column::new("source", Align::Left, 3, rows.iter().map(source).collect()),
    ];
    writer.blank();
    writer.table(&Column::new(head, Align::Left, 0, rows.iter().map(|row| row.demangled.clone()).collect()), columns);
    left_out(writer, glyphs, functions.len() - rows.len());
}

fn left_out(writer: &mut Writer<'_>, glyphs: &Glyphs, rows: usize) {
    if rows > 0 {
        writer.words("  ", 2, &format!("and {} more", exact_count(rows as u64, glyphs)));
    }
}
