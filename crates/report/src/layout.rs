//! Pages, wrapped lines and tables: everything that decides how wide a line becomes.
//!
//! What always holds: [`Writer`] never lets a line grow beyond its page. Tables drop their least important
//! columns first; names are cut in the middle; what is to be copied, such as a path, is broken rather than cut.

use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::short::{short_name, take};
use crate::style::{Role, painted};

/// The page that text is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
    /// Regions shown; in a report as many places of waiting, and as many ranks, the slowest, but not fewer than in a summary.
    pub top: usize,
    /// Whether labels, bars and marks stand out by colours and bold letters.
    pub styled: bool,
}

impl Default for Page {
    fn default() -> Self {
        Self { width: 80, unicode: true, top: 10, styled: false }
    }
}

impl Page {
    /// Narrower pages are treated as this wide.
    pub const LEAST_WIDTH: usize = 24;
    /// Lines without an end: no name is as long.
    pub const UNLIMITED: usize = 1 << 20;
    /// Where sentences end on these.
    const SENTENCES: usize = 80;

    pub(crate) fn glyphs(&self) -> &'static Glyphs {
        if self.unicode { &Glyphs::UNICODE } else { &Glyphs::ASCII }
    }
}

/// The characters beyond ASCII that are used, and what stands for them.
#[derive(Debug)]
pub struct Glyphs {
    pub(crate) plus_minus: &'static str,
    pub(crate) minus: &'static str,
    pub(crate) thin_space: &'static str,
    pub(crate) microseconds: &'static str,
    pub(crate) ellipsis: &'static str,
    pub(crate) dagger: &'static str,
    pub(crate) about: &'static str,
    /// In front of a number that may be more.
    pub(crate) at_least: &'static str,
    pub(crate) dot: &'static str,
    pub(crate) times: &'static str,
    pub(crate) unknown: &'static str,
    pub(crate) arrow: &'static str,
    /// Between the first and the last of a range.
    pub(crate) to: &'static str,
    /// A full block, and its parts from the smallest.
    pub(crate) bar: &'static [char],
}

impl Glyphs {
    /// Where characters beyond ASCII can be shown.
    pub const UNICODE: Self = Self {
        plus_minus: "±",
        minus: "−",
        thin_space: "\u{2009}",
        microseconds: "µs",
        ellipsis: "…",
        dagger: "†",
        about: "≈\u{2009}",
        at_least: "≥\u{2009}",
        dot: "·",
        times: "×",
        unknown: "–",
        arrow: "→",
        to: "–",
        bar: &['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
    };
    /// On a page, where lines end wherever they may: never between a number and its unit.
    pub(crate) const PAGE: Self = Self { thin_space: "\u{202f}", about: "≈\u{202f}", at_least: "≥\u{202f}", ..Self::UNICODE };
    /// Where they cannot.
    pub const ASCII: Self = Self {
        plus_minus: "+/-",
        minus: "-",
        thin_space: NO_BREAK,
        microseconds: "us",
        ellipsis: "...",
        dagger: "(!)",
        about: "~",
        at_least: ">=",
        dot: "|",
        times: "x",
        unknown: "-",
        arrow: "->",
        to: "-",
        bar: &['#'],
    };

    /// What stands for a figure that is not known.
    #[must_use]
    pub fn unknown(&self) -> &'static str {
        self.unknown
    }

    /// A number; where it may be more, at least so much.
    pub(crate) fn bounded(&self, number: String, is_exact: bool) -> String {
        if is_exact { number } else { format!("{}{number}", self.at_least) }
    }

    /// A bar that takes this part of the room.
    fn bar_of(&self, part: f64, room: usize) -> String {
        let steps = self.bar.len();
        let length = (part.clamp(0.0, 1.0) * (room * steps) as f64).round() as usize;
        let mut bar = self.bar[steps - 1].to_string().repeat(length / steps);
        if !length.is_multiple_of(steps) {
            bar.push(self.bar[length % steps - 1]);
        }
        bar
    }
}

/// A space at which no line is broken; it is written as a plain one.
pub const NO_BREAK: &str = "\u{a0}";

/// The text as it is written.
fn with_plain_spaces(text: &str) -> Cow<'_, str> {
    if text.contains('\u{a0}') { Cow::Owned(text.replace('\u{a0}', " ")) } else { Cow::Borrowed(text) }
}

/// How many characters it begins with that take a column each and are shown everywhere: most texts are of such alone.
fn plain_front(text: &str) -> usize {
    text.bytes().take_while(|&byte| byte == b' ' || byte.is_ascii_graphic()).count()
}

/// Columns that a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    match plain_front(text) {
        all if all == text.len() => all,
        // What follows may change the last one of them.
        front => front.saturating_sub(1) + text[front.saturating_sub(1)..].width(),
    }
}

/// Blanks that a text lacks to be so wide.
fn blanks(text: &str, wanted: usize) -> impl Iterator<Item = char> {
    repeat_n(' ', wanted.saturating_sub(width(text)))
}

/// What stands for a character that cannot be shown.
pub(crate) const SUBSTITUTE: char = '?';

/// Whether a terminal shows a character, and does not act on it.
pub(crate) fn is_shown(character: char) -> bool {
    !(character.is_control() || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// The text without characters that a terminal would act on, and within ASCII where the page asks for it.
pub(crate) fn plain(text: &str, page: &Page) -> String {
    if plain_front(text) == text.len() {
        return text.to_string();
    }
    let shown = |character: char| match character {
        character if !is_shown(character) => SUBSTITUTE,
        '\u{a0}' => '\u{a0}',
        character if !page.unicode && !character.is_ascii() => SUBSTITUTE,
        character => character,
    };
    text.chars().map(shown).collect()
}

/// Where a column's cells stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
    /// Values one below the other by their decimal points, half-widths likewise.
    Point,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) align: Align,
    /// The column with the largest number is the first to be left out; 0 never is.
    pub(crate) rank: u32,
    pub(crate) cells: Vec<String>,
}

impl Column {
    pub(crate) fn new(head: impl Into<String>, align: Align, rank: u32, cells: Vec<String>) -> Self {
        Self { head: head.into(), align, rank, cells }
    }

    pub(crate) fn width(&self) -> usize {
        self.cells.iter().map(|cell| width(cell)).max().unwrap_or(0).max(width(&self.head))
    }
}

/// The text that is made, line by line, within the width of a page.
pub(crate) struct Writer<'a> {
    page: &'a Page,
    text: String,
    /// Parts of the text that stand out, in their order.
    parts: Vec<(Range<usize>, Role)>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(page: &'a Page) -> Self {
        Self { page, text: String::new(), parts: Vec::new() }
    }

    pub(crate) fn glyphs(&self) -> &'static Glyphs {
        self.page.glyphs()
    }

    pub(crate) fn page(&self) -> &'a Page {
        self.page
    }

    fn room(&self) -> usize {
        self.page.width.max(Page::LEAST_WIDTH)
    }

    pub(crate) fn finish(self) -> String {
        if self.page.styled { painted(&self.text, &self.parts) } else { self.text }
    }

    /// Says what a part of the text is that has just been written, or comes next.
    fn stands_out(&mut self, part: Range<usize>, role: Role) {
        if part.start < part.end {
            self.parts.push((part, role));
        }
    }

    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Words in as many lines as they need; lines after the first are indented by `indent`.
    pub(crate) fn words(&mut self, first: &str, indent: usize, text: &str) {
        let room = if self.page.width < Page::UNLIMITED { self.room() } else { Page::SENTENCES };
        let indent = indent.min(room / 2);
        let text = plain(text, self.page);
        let mut line = plain(first, self.page);
        let mut is_empty = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !is_empty && width(&line) + 1 + width(word) > room {
                self.line(&line);
                line = " ".repeat(indent);
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        self.line(&line);
    }

    /// A label in a column of its own, and words beside it.
    pub(crate) fn labelled(&mut self, label: &str, text: &str) {
        let column = if self.room() < 60 { 2 + width(label) + 1 } else { 15 };
        let first = format!("  {label:<width$}", width = column.saturating_sub(2));
        let start = self.text.len() + 2;
        self.stands_out(start..start + label.len(), Role::Heading);
        self.words(&first, column.min(15), text);
    }

    /// The same where the first of the words says how it stands.
    pub(crate) fn judged(&mut self, label: &str, text: &str, role: Role) {
        let before = self.text.len();
        self.labelled(label, text);
        let word = text.split([':', ' ']).next().unwrap_or_default();
        if let Some(at) = self.text[before..].find(word) {
            self.stands_out(before + at..before + at + word.len(), role);
        }
    }

    /// Words behind a number, which stands out.
    pub(crate) fn numbered(&mut self, number: usize, text: &str) {
        let first = format!("  {number}  ");
        let start = self.text.len() + 2;
        self.stands_out(start..start + first.len() - 4, Role::Heading);
        self.words(&first, first.len(), text);
    }

    /// A label, a share as text, and a bar of that length.
    pub(crate) fn bar(&mut self, label: &str, share: &str, part: f64) {
        let head = format!("  {label:<14}  {}{share}", " ".repeat(7_usize.saturating_sub(width(share))));
        let room = self.room().saturating_sub(width(&head) + 2).min(40);
        let bar = self.page.glyphs().bar_of(part, room);
        let start = self.text.len() + head.replace(NO_BREAK, " ").len() + 2;
        self.stands_out(start..start + bar.len(), Role::Bar);
        self.line(&format!("{head}  {bar}"));
    }

    /// A line; what does not fit goes on in the next one, so that nothing is lost.
    pub(crate) fn line(&mut self, line: &str) {
        let line = with_plain_spaces(line);
        let mut rest = line.trim_end();
        while width(rest) > self.room() {
            let head: String = take(rest.chars(), self.room()).into_iter().collect();
            rest = &rest[head.len()..];
            self.text.push_str(head.trim_end());
            self.text.push('\n');
            if rest.is_empty() {
                return;
            }
        }
        self.text.push_str(rest);
        self.text.push('\n');
    }

    /// A line that is to be copied: it stays one however long it is, and where it is too long for a terminal, that goes on in the next one.
    pub(crate) fn whole_line(&mut self, line: &str) {
        let line = plain(line, self.page);
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A table whose first column takes what the others leave; its names are cut in the middle. Returns those for which there was no room.
    pub(crate) fn table(&mut self, names: &Column, others: Vec<Column>) -> Vec<Column> {
        let mut columns: Vec<(usize, Column)> = others.into_iter().map(aligned).map(|column| (column.width(), column)).collect();
        let mut left_out = Vec::new();
        let names_width = names.width();
        let used = |columns: &[(usize, Column)]| 2 + columns.iter().map(|(width, _)| 2 + width).sum::<usize>();
        while used(&columns) + names_width.min(LEAST_NAME) > self.room() && columns.len() > 1 {
            let last = (0..columns.len()).max_by_key(|&index| (columns[index].1.rank, index)).unwrap_or(0);
            left_out.push(columns.remove(last).1);
        }
        let room = self.room().saturating_sub(used(&columns)).max(4).min(names_width);
        let padded = if self.page.width < Page::UNLIMITED { room } else { room.min(MOST_PADDED) };
        let page = self.page;
        let row = |name: &str, cell: &dyn for<'c> Fn(&'c Column) -> &'c str| {
            let name = short_name(name, room, page);
            let mut line = format!("  {}", with_plain_spaces(&name));
            line.extend(blanks(&name, padded));
            let mut parts = Vec::new();
            for (column_width, column) in &columns {
                let cell = with_plain_spaces(cell(column));
                let space = column_width.saturating_sub(width(&cell));
                let (before, after) = if column.align == Align::Left { (0, space) } else { (space, 0) };
                line.extend(repeat_n(' ', 2 + before));
                parts.extend(role_of(&cell, page.glyphs()).map(|role| (line.len()..line.len() + cell.trim_end().len(), role)));
                line.push_str(&cell);
                line.extend(repeat_n(' ', after));
            }
            (line, parts)
        };
        let (head, _) = row(&names.head, &|column| &column.head);
        let start = self.text.len();
        self.line(&head);
        self.stands_out(start + 2..self.text.len() - 1, Role::Heading);
        for index in 0..names.cells.len() {
            let (row, parts) = row(&names.cells[index], &|column| &column.cells[index]);
            let start = self.text.len();
            if !parts.is_empty() && width(&row) <= self.room() {
                parts.into_iter().for_each(|(part, role)| self.stands_out(start + part.start..start + part.end, role));
            }
            self.line(&row);
        }
        left_out.reverse();
        left_out
    }
}

/// What a cell is by what it says.
fn role_of(cell: &str, glyphs: &Glyphs) -> Option<Role> {
    match cell.trim_start() {
        cell if cell.starts_with("slower") => Some(Role::Bad),
        cell if cell.starts_with("faster") => Some(Role::Good),
        cell if cell.contains(glyphs.dagger) => Some(Role::Warn),
        _ => None,
    }
}

/// A name is not cut below this many columns while there are other columns to leave out.
const LEAST_NAME: usize = 16;
/// Where lines have no end, one long name does not fill the lines of all others with blanks: the figures stand behind it.
const MOST_PADDED: usize = 72;

/// Pads the cells of a [`Align::Point`] column so that points stand below each other.
fn aligned(column: Column) -> Column {
    if column.align != Align::Point {
        return column;
    }
    let parts: Vec<[&str; 4]> = column.cells.iter().map(|cell| point_parts(cell)).collect();
    let is_range = |[.., end]: &[&str; 4]| end.starts_with(" (");
    let widest = |part: usize| parts.iter().map(|parts| width(parts[part])).max().unwrap_or(0);
    let widths = [widest(0), widest(1), widest(2)];
    // What stands behind the point of a value, and the columns that it takes.
    let back = |parts: &[&str; 4]| width(parts[3]) + if is_range(parts) { 0 } else { widths[2] };
    let room = parts.iter().map(back).max().unwrap_or(0);
    let cell = |parts: &[&str; 4]| {
        let [whole, fraction, middle, end] = parts;
        let mut cell: String = blanks(whole, widths[0]).collect();
        cell.push_str(whole);
        cell.push_str(fraction);
        cell.extend(blanks(fraction, widths[1]));
        if !is_range(parts) {
            cell.extend(blanks(middle, widths[2]));
        }
        cell.push_str(middle);
        cell.push_str(end);
        cell.extend(repeat_n(' ', room - back(parts)));
        cell
    };
    Column { cells: parts.iter().map(cell).collect(), align: Align::Right, ..column }
}

/// Before the first point, from it to the first space, from there to the point of a half-width, and the rest.
fn point_parts(cell: &str) -> [&str; 4] {
    let (value, rest) = match cell.find(" (").or_else(|| cell.find(" ±")).or_else(|| cell.find(" +/-")).or_else(|| cell.find(" †")) {
        Some(place) => cell.split_at(place),
        None => (cell, ""),
    };
    let (whole, fraction) = value.split_at(value.find('.').unwrap_or(value.len()));
    let (middle, end) = if rest.starts_with(" (") { ("", rest) } else { rest.split_at(rest.find('.').unwrap_or(rest.len())) };
    [whole, fraction, middle, end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_compensate::{Figure, Mark};

    #[test]
    fn a_bar_grows_by_eighths_and_never_beyond_its_room() {
        let bars: Vec<String> = [0.0, 0.2, 0.5, 1.0, 7.0].iter().map(|&part| Glyphs::UNICODE.bar_of(part, 4)).collect();
        assert_eq!(bars, ["", "▊", "██", "████", "████"]);
        assert_eq!(Glyphs::ASCII.bar_of(0.5, 4), "##");
    }

    #[test]
    fn points_stand_below_each_other() {
        let cells = ["21.41 ± 0.09", "9.6 ± 1.0", "0", "<0.01", "3.2 (3.1 … 3.9)"].map(String::from).to_vec();
        let column = aligned(Column::new("s", Align::Point, 0, cells));
        let wanted = ["21.41 ± 0.09     ", " 9.6  ± 1.0      ", " 0               ", "<0.01            ", " 3.2  (3.1 … 3.9)"];
        assert_eq!(column.cells, wanted);
    }

    /// Padding may widen the blanks of a cell and never makes one.
    fn is_whole(column: &Column, cells: &[String]) {
        let words = |cell: &str| cell.split(' ').filter(|word| !word.is_empty()).map(String::from).collect::<Vec<_>>();
        for (aligned, cell) in column.cells.iter().zip(cells) {
            assert_eq!(words(aligned), words(cell), "{aligned:?}");
        }
    }

    #[test]
    fn a_half_width_is_not_torn_apart() {
        let cells = ["402.5 ± 1.8", "70 (10 … 70)", "61.0 ± 0.4", "12 ± 10", "3.479 ± 0.021", "<0.01 †", "≈\u{2009}0.05 †"].map(String::from);
        let column = aligned(Column::new("s", Align::Point, 0, cells.to_vec()));
        is_whole(&column, &cells);
        assert_eq!(column.cells[..3], ["402.5    ± 1.8   ", " 70     (10 … 70)", " 61.0    ± 0.4   "]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..proptest::prelude::ProptestConfig::default() })]

        #[test]
        fn figures_of_any_kind_stay_whole_in_a_column(figures in proptest::collection::vec((-1e4..1e4_f64, 0.0..1e3_f64, 0.0..1e3_f64, 0..4_u8), 1..8)) {
            let figure = |&(value, below, above, kind): &(f64, f64, f64, u8)| Figure {
                value,
                low: value - below,
                high: value + if kind == 0 { above } else { below },
                mark: (kind == 3).then_some(Mark::StillOpen),
            };
            let largest = figures.iter().map(|figure| figure.0.abs()).fold(0.0, f64::max);
            for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
                let unit = crate::number::Column::for_largest(largest);
                let cells: Vec<String> = figures.iter().map(|of| unit.figure(&figure(of), &glyphs)).collect();
                let column = aligned(Column::new("s", Align::Point, 0, cells.clone()));
                is_whole(&column, &cells);
                let widths: Vec<usize> = column.cells.iter().map(|cell| width(cell)).collect();
                assert!(widths.iter().all(|&width| width == widths[0]), "{:?}", column.cells);
            }
        }
    }

    #[test]
    fn where_lines_have_no_end_a_long_name_is_whole_and_makes_no_other_line_longer() {
        let long = "f".repeat(5000);
        let names = Column::new("Region", Align::Left, 0, vec!["main".into(), long.clone()]);
        let page = Page { width: Page::UNLIMITED, ..Page::default() };
        let mut writer = Writer::new(&page);
        writer.table(&names, vec![Column::new("time, s", Align::Right, 0, vec!["1".into(), "2".into()])]);
        let text = writer.finish();
        assert!(text.lines().nth(1).is_some_and(|line| line.len() < 100 && line.ends_with(" 1")), "{text:.200}");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains(&long) && line.ends_with(" 2")));
    }

    #[test]
    fn a_long_word_is_broken_and_nothing_of_it_is_lost() {
        let page = Page { width: 24, ..Page::default() };
        let mut writer = Writer::new(&page);
        writer.words("  ", 4, "/a/very/long/path/that/does/not/fit/anywhere and more");
        let text = writer.finish();
        assert!(text.lines().all(|line| width(line) <= 24), "{text}");
        assert!(text.replace('\n', "").contains("/a/very/long/path/that/does/not/fit/anywhere"));
    }
}
