//! Rows of an inspection, sorted and cut, for people and as CSV.

use std::cmp::Ordering;

use super::rows::{Cell, Column};
use super::{Inspection, Rows};
use crate::layout::{self, Align, Glyphs, Page, Writer};
use crate::number::exact_count;
use crate::short::short_name;

/// The key of the column with the jumps whose targets are not known.
const UNRESOLVED: &str = "unresolved_jumps";
/// The key of the column with what told of functions.
const FOUND_BY: &str = "found_by";

/// The column that rows are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Index among the columns.
    column: usize,
    /// Greatest first.
    is_descending: bool,
}

/// There is no column of this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownColumn {
    /// What was asked for.
    pub wanted: String,
    /// The names there are, with the heads that people see in brackets where these are others.
    pub known: Vec<String>,
}

impl Order {
    /// Reads `COLUMN`, `COLUMN:asc` or `COLUMN:desc`; columns go by their name in CSV or by the head that people see.
    ///
    /// # Errors
    /// Where there is no such column or direction.
    pub fn parse(text: &str, rows: Rows) -> Result<Self, UnknownColumn> {
        let (name, is_descending) = match text.rsplit_once(':') {
            Some((name, "desc")) => (name, true),
            Some((name, "asc")) => (name, false),
            _ => (text, false),
        };
        let head = |column: &Column| column.head.trim_end_matches('.');
        let is_named =
            |column: &Column| column.key.eq_ignore_ascii_case(name) || (!head(column).is_empty() && head(column).eq_ignore_ascii_case(name));
        let names = |column: &Column| match head(column) {
            head if head.is_empty() || head.eq_ignore_ascii_case(column.key) => column.key.to_string(),
            head => format!("{} ({head})", column.key),
        };
        let columns = rows.columns();
        let unknown = || UnknownColumn { wanted: text.to_string(), known: columns.iter().map(names).collect() };
        let column = columns.iter().position(is_named).ok_or_else(unknown)?;
        Ok(Self { column, is_descending })
    }
}

impl Inspection {
    /// Puts the functions in order (by a column of [`Rows::Functions`]) and leaves at most `top` of them.
    pub fn arrange(&mut self, order: Option<Order>, top: Option<usize>) {
        let cells = Rows::Functions.cells(self);
        let mut places: Vec<usize> = (0..cells.len()).collect();
        if let Some(order) = order {
            places.sort_by(|&one, &other| compare(&cells[one], &cells[other], order));
        }
        places.truncate(top.unwrap_or(places.len()));
        self.functions = places.into_iter().map(|place| std::mem::take(&mut self.functions[place])).collect();
    }
}

/// Rows of an inspection.
pub struct Listing<'a> {
    inspection: &'a Inspection,
    columns: &'static [Column],
    cells: Vec<Vec<Cell<'a>>>,
    /// Rows there were before they were cut.
    found: usize,
}

impl<'a> Listing<'a> {
    /// The rows of one kind, in the given order or as the functions stand, at most `top` of them.
    #[must_use]
    pub fn new(inspection: &'a Inspection, rows: Rows, order: Option<Order>, top: Option<usize>) -> Self {
        let mut cells = rows.cells(inspection);
        if let Some(order) = order {
            cells.sort_by(|one, other| compare(one, other, order));
        }
        let found = cells.len();
        cells.truncate(top.unwrap_or(found));
        Self { inspection, columns: rows.columns(), cells, found }
    }

    /// CSV (RFC 4180) with a head line.
    #[must_use]
    pub fn csv(&self) -> String {
        let shown: Vec<usize> = (0..self.columns.len()).filter(|&index| self.columns[index].key != "source").collect();
        let heads: Vec<&str> = shown.iter().map(|&index| self.columns[index].key).collect();
        let mut text = heads.join(",");
        text.push_str("\r\n");
        for row in &self.cells {
            for (place, &index) in shown.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                match &row[index] {
                    Cell::Number(number) | Cell::Address(number) => text.push_str(&number.to_string()),
                    Cell::Text(word) => text.push_str(&quoted(word)),
                    Cell::Place(..) | Cell::Unknown => {}
                }
            }
            text.push_str("\r\n");
        }
        text
    }

    /// A heading, and one line a row.
    #[must_use]
    pub fn text(&self, page: &Page) -> String {
        let mut writer = Writer::new(page);
        self.heading(&mut writer);
        let glyphs = writer.glyphs();
        let shown = |cell: &Cell<'_>| match cell {
            Cell::Number(number) => exact_count(*number, glyphs),
            Cell::Address(address) => format!("{address:#x}"),
            Cell::Text(text) => (*text).to_string(),
            Cell::Place(file, line) => crate::view::place(file, *line).unwrap_or_default(),
            Cell::Unknown => glyphs.unknown.to_string(),
        };
        let cells = |index: usize| self.cells.iter().map(|row| shown(&row[index])).collect::<Vec<_>>();
        let mut names = layout::Column::new("", Align::Left, 0, Vec::new());
        let mut others = Vec::new();
        for (index, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.head.is_empty()) {
            if (column.key == UNRESOLVED && self.unresolved() == 0) || (column.key == FOUND_BY && !self.has_found_by_pointer(index)) {
                continue;
            }
            let is_text = self.cells.iter().any(|row| matches!(row[index], Cell::Text(_) | Cell::Place(..)));
            let align = if is_text { Align::Left } else { Align::Right };
            match column.key {
                "demangled" => names = layout::Column::new(column.head, Align::Left, 0, cells(index)),
                "callee_demangled" | "inlined_demangled" => {
                    let cells = cells(index).iter().map(|name| short_name(name, page.width / 3, page)).collect();
                    others.push(layout::Column::new(column.head, Align::Left, column.rank, cells));
                }
                _ => others.push(layout::Column::new(column.head, align, column.rank, cells(index))),
            }
        }
        if !self.cells.is_empty() {
            writer.table(&names, others);
        }
        writer.finish()
    }

    /// Rows of functions with jumps of which the targets are not known.
    fn unresolved(&self) -> usize {
        let column = self.columns.iter().position(|column| column.key == UNRESOLVED);
        column.map_or(0, |column| self.cells.iter().filter(|row| row[column] != Cell::Number(0)).count())
    }

    /// Whether there are functions that a pointer alone told of: others are nothing to wonder about.
    fn has_found_by_pointer(&self, column: usize) -> bool {
        self.cells.iter().any(|row| row[column] == Cell::Text("pointer"))
    }

    fn heading(&self, writer: &mut Writer<'_>) {
        let glyphs = writer.glyphs();
        let count = |number: usize| exact_count(number as u64, glyphs);
        let Inspection { image, functions, found } = self.inspection;
        let mut facts = vec![format!("{} functions", count(*found))];
        facts.push(if image.pie { "position independent" } else { "at a fixed address" }.to_string());
        facts.extend(image.stripped.then(|| "stripped".to_string()));
        facts.extend(image.build_id.as_ref().map(|id| format!("build id {id}")));
        writer.words("", 2, &format!("{}: {}", image.path, facts.join(", ")));
        if functions.len() < *found {
            writer.words("", 2, &format!("{} of the functions {}", count(functions.len()), if functions.len() == 1 { "matches" } else { "match" }));
        }
        if self.cells.len() < self.found {
            writer.words("", 2, &format!("{} of {} rows are shown", count(self.cells.len()), count(self.found)));
        }
        if self.cells.is_empty() {
            writer.words("", 2, "nothing to show");
        }
        if self.unresolved() > 0 {
            let what = "indirect jumps whose targets are not known (unresolved): more blocks, edges, loops and exits than is shown";
            let have = if self.unresolved() == 1 { "function has" } else { "functions have" };
            writer.words("", 2, &format!("{} {have} {what}", count(self.unresolved())));
        }
        if image.left_over > 0 {
            writer.words("", 2, &left_over(image.left_over, glyphs));
        }
        writer.blank();
    }
}

/// By the column that is asked for; what is not known comes last in either direction, and ties keep their order.
fn compare(one: &[Cell<'_>], other: &[Cell<'_>], order: Order) -> Ordering {
    match (&one[order.column], &other[order.column]) {
        (Cell::Unknown, Cell::Unknown) => Ordering::Equal,
        (Cell::Unknown, _) => Ordering::Greater,
        (_, Cell::Unknown) => Ordering::Less,
        (one, other) if order.is_descending => other.cmp(one),
        (one, other) => one.cmp(other),
    }
}

/// A field of a CSV document.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

/// How much of the text is in no function, in words.
pub(crate) fn left_over(bytes: u64, glyphs: &Glyphs) -> String {
    let bytes = if bytes == 1 { "1 byte".to_string() } else { format!("{} bytes", exact_count(bytes, glyphs)) };
    format!("{bytes} of text in no function: constants among code, or code that was not found")
}
