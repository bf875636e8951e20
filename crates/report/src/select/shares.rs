//! Paper 2's Table 1: how many functions an image has, and which share of them each filter leaves.

use serde::Serialize;

use super::quoted;
use crate::layout::{Align, Column, Page, Writer};
use crate::number::exact_count;

/// A row of the table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Share {
    /// The image.
    pub path: String,
    /// Functions that can be selected.
    pub functions: usize,
    /// Whether it says which lines its functions have; else instructions stand for them.
    pub has_lines: bool,
    /// Heading in the table, name of the preset, functions that it leaves.
    pub left: Vec<(&'static str, &'static str, usize)>,
    /// Why nothing is known of the image, if so.
    pub unread: Option<String>,
}

impl Share {
    fn fraction(&self, left: usize) -> f64 {
        if self.functions == 0 { 0.0 } else { left as f64 / self.functions as f64 }
    }
}

/// The columns of presets.
fn heads(rows: &[Share]) -> &[(&'static str, &'static str, usize)] {
    rows.iter().map(|row| row.left.as_slice()).find(|left| !left.is_empty()).unwrap_or_default()
}

/// Whole percent as in the paper, one digit below ten.
fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    if percent < 9.95 && percent > 0.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The table for people.
#[must_use]
pub fn shares(rows: &[Share], page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let named = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let names = Column::new("Image", Align::Left, 0, rows.iter().map(|row| named(&row.path)).collect());
    let count = |row: &Share| row.unread.as_ref().map_or_else(|| exact_count(row.functions as u64, glyphs), |_| glyphs.unknown.to_string());
    let mut columns = vec![Column::new("functions", Align::Right, 0, rows.iter().map(count).collect())];
    let heads = heads(rows);
    for (index, (head, _, _)) in heads.iter().enumerate() {
        let mark = |row: &Share| if *head == "LoC 5+" && !row.has_lines { "~" } else { "" };
        let cell = |row: &Share| row.left.get(index).map(|left| format!("{}{}", mark(row), percent(row.fraction(left.2))));
        let cells = rows.iter().map(|row| cell(row).unwrap_or_else(|| glyphs.unknown.to_string())).collect();
        columns.push(Column::new(*head, Align::Right, 1, cells));
    }
    if rows.iter().any(|row| row.unread.is_some()) {
        columns.push(Column::new("not read, because", Align::Left, 1, rows.iter().map(|row| row.unread.clone().unwrap_or_default()).collect()));
    }
    writer.table(&names, columns);
    if rows.iter().any(|row| row.unread.is_none() && !row.has_lines) {
        writer.blank();
        writer.words("", 2, "~ without line information: 20 instructions stand for 5 lines");
    }
    writer.finish()
}

/// The table as CSV (RFC 4180), shares as fractions.
#[must_use]
pub fn shares_csv(rows: &[Share]) -> String {
    let heads = heads(rows);
    let mut text = String::from("image,functions,has_lines");
    heads.iter().for_each(|(_, preset, _)| text.extend([",", preset]));
    text.push_str(",unread\r\n");
    for row in rows {
        match &row.unread {
            Some(reason) => text.push_str(&format!("{},,{},{}", quoted(&row.path), ",".repeat(heads.len()), quoted(reason))),
            None => {
                text.push_str(&format!("{},{},{}", quoted(&row.path), row.functions, row.has_lines));
                row.left.iter().for_each(|(_, _, left)| text.push_str(&format!(",{:.6}", row.fraction(*left))));
                text.push(',');
            }
        }
        text.push_str("\r\n");
    }
    text
}

/// The table as a document.
#[must_use]
pub fn shares_json(rows: &[Share]) -> String {
    #[derive(Serialize)]
    struct Left {
        preset: &'static str,
        functions: usize,
        share: f64,
    }
    #[derive(Serialize)]
    struct Row<'a> {
        path: &'a str,
        functions: usize,
        has_lines: bool,
        left: Vec<Left>,
    }
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        images: Vec<Row<'a>>,
        unread: Vec<Unread<'a>>,
    }
    #[derive(Serialize)]
    struct Unread<'a> {
        path: &'a str,
        reason: &'a str,
    }
    let row = |row: &'_ Share| -> Vec<Left> {
        row.left.iter().map(|(_, preset, left)| Left { preset, functions: *left, share: row.fraction(*left) }).collect()
    };
    let unread = rows.iter().filter_map(|one| Some(Unread { path: &one.path, reason: one.unread.as_ref()? })).collect();
    let images = rows.iter().filter(|one| one.unread.is_none());
    let images = images.map(|one| Row { path: &one.path, functions: one.functions, has_lines: one.has_lines, left: row(one) }).collect();
    crate::json::written(&Document { schema: crate::json::SCHEMA, images, unread })
}
