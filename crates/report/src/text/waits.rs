//! Where ranks and threads wait for one another: a table of each.

use tare_compensate::Mode;

use super::Text;
use crate::layout::{Align, Column, Glyphs, Writer};
use crate::number::{Column as Unit, count, exact_count, plural};
use crate::view::{self, ThreadWaitRow, WaitRow, Waited};

impl Text<'_> {
    /// Nothing where no rank waits.
    pub(super) fn waits_of_ranks(&self, writer: &mut Writer<'_>, rows: &[WaitRow<'_>], limit: usize) {
        let glyphs = writer.glyphs();
        let (rows, left) = rows.split_at(limit.min(rows.len()));
        let waited: Vec<&Waited<'_>> = rows.iter().map(|row| &row.waited).collect();
        let Some((unit, names, mut columns)) = self.waited("Waiting", &waited, glyphs) else { return };
        let cells = |cell: &dyn Fn(&WaitRow<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
        columns.push(Column::new("calls", Align::Right, 3, cells(&|row| count(row.calls, glyphs))));
        let most = view::column_of_ranks(rows, |place| &place.waiters, unit);
        let waiters = cells(&|row| view::longest(&row.place.waiters, 1, most, glyphs));
        columns.push(Column::new(format!("waits most, {}", most.name(glyphs)), Align::Left, 4, waiters));
        let unit = view::column_of_ranks(rows, |place| &place.awaited, unit);
        columns.push(Column::new(format!("for, {}", unit.name(glyphs)), Align::Left, 5, cells(&|row| view::for_whom(row, 1, unit, glyphs))));
        self.places(writer, (&names, columns), left.len());
    }

    /// Nothing where no thread waits.
    pub(super) fn waits_of_threads(&self, writer: &mut Writer<'_>, rows: &[ThreadWaitRow<'_>], limit: usize) {
        let glyphs = writer.glyphs();
        let (rows, left) = rows.split_at(limit.min(rows.len()));
        let waited: Vec<&Waited<'_>> = rows.iter().map(|row| &row.waited).collect();
        let Some((_, names, mut columns)) = self.waited("Threads wait", &waited, glyphs) else { return };
        let cells = |cell: &dyn Fn(&ThreadWaitRow<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
        let calls = cells(&|row| row.calls.map_or_else(|| glyphs.unknown.to_string(), |calls| count(calls, glyphs)));
        columns.push(Column::new("calls", Align::Right, 3, calls));
        columns.push(Column::new("threads", Align::Right, 2, cells(&|row| exact_count(row.threads as u64, glyphs))));
        self.places(writer, (&names, columns), left.len());
    }

    /// The columns that both tables begin with, and the unit of their times: the places, and what is waited there. Nothing of no place.
    fn waited(&self, heading: &str, all: &[&Waited<'_>], glyphs: &Glyphs) -> Option<(Unit, Column, Vec<Column>)> {
        if all.is_empty() {
            return None;
        }
        let unit = view::column_of_waits(all.iter().copied());
        let cells = |cell: &dyn Fn(&Waited<'_>) -> String| all.iter().map(|waited| cell(waited)).collect::<Vec<_>>();
        let name = |waited: &Waited<'_>| match waited.caller {
            Some(caller) => format!("{} in {caller}", waited.operation),
            None => waited.operation.to_string(),
        };
        let names = Column::new(format!("{heading}, {}", unit.unit.name(glyphs)), Align::Left, 0, cells(&name));
        let mut columns = vec![Column::new(self.read_as(), Align::Point, 1, cells(&|waited| unit.plain(waited.measured_s, glyphs)))];
        if self.results.shown.mode == Mode::Parallel {
            columns.push(Column::new("parallel", Align::Point, 0, cells(&|waited| unit.plain(waited.shown_s, glyphs))));
        }
        Some((unit, names, columns))
    }

    fn places(&self, writer: &mut Writer<'_>, (names, columns): (&Column, Vec<Column>), left: usize) {
        writer.blank();
        writer.table(names, columns);
        if left > 0 {
            let places = plural(left, "more place", "more places", writer.glyphs());
            writer.words("  ", 2, &format!("({places}{})", self.how_to_see_all()));
        }
    }
}
