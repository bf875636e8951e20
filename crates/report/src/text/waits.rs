//! Where ranks and threads wait for one another: a table of each.

use tare_compensate::Mode;

use super::Text;
use crate::layout::{Align, Column, Writer};
use crate::number::{Column as Unit, count, exact_count, plural};
use crate::view::{self, ThreadWaitRow, WaitRow};

impl Text<'_> {
    /// Nothing where no rank waits.
    pub(super) fn waits_of_ranks(&self, writer: &mut Writer<'_>, rows: &[WaitRow<'_>], limit: usize) {
        let glyphs = writer.glyphs();
        let (rows, left) = rows.split_at(limit.min(rows.len()));
        let Some(longest) = rows.iter().map(|row| row.shown_s.max(row.measured_s)).reduce(f64::max) else { return };
        let unit = Unit::for_largest(longest);
        let cells = |cell: &dyn Fn(&WaitRow<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
        writer.blank();
        let names = Column::new(format!("Waiting, {}", unit.unit.name(glyphs)), Align::Left, 0, cells(&|row| at(row.operation, row.caller)));
        let mut columns = vec![Column::new(self.read_as(), Align::Point, 1, cells(&|row| unit.plain(row.measured_s, glyphs)))];
        if self.results.shown.mode == Mode::Parallel {
            columns.push(Column::new("parallel", Align::Point, 0, cells(&|row| unit.plain(row.shown_s, glyphs))));
        }
        columns.push(Column::new("calls", Align::Right, 3, cells(&|row| count(row.calls, glyphs))));
        let most = view::column_of_ranks(rows, |place| &place.waiters);
        let waiters = cells(&|row| view::longest(&row.place.waiters, 1, most, glyphs));
        columns.push(Column::new(format!("waits most, {}", most.name(glyphs)), Align::Left, 4, waiters));
        let unit = view::column_of_ranks(rows, |place| &place.awaited);
        columns.push(Column::new(format!("for, {}", unit.name(glyphs)), Align::Left, 5, cells(&|row| view::for_whom(row, 1, unit, glyphs))));
        writer.table(&names, columns);
        self.places_left(writer, left.len());
    }

    /// Nothing where no thread waits.
    pub(super) fn waits_of_threads(&self, writer: &mut Writer<'_>, rows: &[ThreadWaitRow<'_>], limit: usize) {
        let glyphs = writer.glyphs();
        let (rows, left) = rows.split_at(limit.min(rows.len()));
        let Some(longest) = rows.iter().map(|row| row.shown_s.max(row.measured_s)).reduce(f64::max) else { return };
        let unit = Unit::for_largest(longest);
        let cells = |cell: &dyn Fn(&ThreadWaitRow<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
        writer.blank();
        let names = Column::new(format!("Threads wait, {}", unit.unit.name(glyphs)), Align::Left, 0, cells(&|row| at(row.operation, row.caller)));
        let mut columns = vec![Column::new(self.read_as(), Align::Point, 1, cells(&|row| unit.plain(row.measured_s, glyphs)))];
        if self.results.shown.mode == Mode::Parallel {
            columns.push(Column::new("parallel", Align::Point, 0, cells(&|row| unit.plain(row.shown_s, glyphs))));
        }
        let calls = cells(&|row| row.calls.map_or_else(|| glyphs.unknown.to_string(), |calls| count(calls, glyphs)));
        columns.push(Column::new("calls", Align::Right, 3, calls));
        columns.push(Column::new("threads", Align::Right, 2, cells(&|row| exact_count(row.threads as u64, glyphs))));
        writer.table(&names, columns);
        self.places_left(writer, left.len());
    }

    fn places_left(&self, writer: &mut Writer<'_>, left: usize) {
        if left > 0 {
            let places = plural(left, "more place", "more places", writer.glyphs());
            writer.words("  ", 2, &format!("({places}{})", self.how_to_see_all()));
        }
    }
}

fn at(operation: &str, caller: Option<&str>) -> String {
    caller.map_or_else(|| operation.to_string(), |caller| format!("{operation} in {caller}"))
}
