//! Places where ranks wait for each other.

use tare_compensate::whole::{ThreadPlace, WaitPlace, last_to_arrive};

use super::{Size, Whole};
use crate::layout::Glyphs;
use crate::number::{Column, exact_count};
use crate::run::Results;

/// A place where ranks wait: means over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WaitRow<'a> {
    pub(crate) operation: &'a str,
    /// What called it.
    pub(crate) caller: Option<&'a str>,
    pub(crate) shown_s: f64,
    pub(crate) measured_s: f64,
    pub(crate) calls: u64,
    pub(crate) place: &'a WaitPlace,
    /// Who came last, where ranks meet: messages tell for whom ranks wait, but collective operations do not.
    pub(crate) last: Vec<u32>,
}

/// All places where anybody waits, those with the longest waits first.
pub(crate) fn wait_rows<'a>(results: &Results<'a>, whole: &'a Whole) -> Vec<WaitRow<'a>> {
    let ranks = Size::of(results).ranks.max(1) as f64;
    let regions = &results.profile.regions;
    let row = |place: &'a WaitPlace| WaitRow {
        operation: &regions[place.operation.0].name,
        caller: place.caller.map(|caller| &*regions[caller.0].name),
        shown_s: place.wait_s / ranks,
        measured_s: place.measured_wait_s / ranks,
        calls: place.calls,
        last: if place.awaited.is_empty() { last_to_arrive(place, &whole.places) } else { Vec::new() },
        place,
    };
    whole.places.iter().filter(|place| place.wait_s > 0.0 || place.measured_wait_s > 0.0).map(row).collect()
}

/// A place where threads wait, ready to be read: all threads together, and the mean over the ranks.
pub(crate) struct ThreadWaitRow<'a> {
    pub(crate) operation: &'a str,
    pub(crate) caller: Option<&'a str>,
    pub(crate) shown_s: f64,
    pub(crate) measured_s: f64,
    /// `None` where members of a team wait that call nothing.
    pub(crate) calls: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) place: &'a ThreadPlace,
}

/// All places where threads wait for one another, those with the longest waits first.
pub(crate) fn thread_wait_rows<'a>(results: &Results<'a>, whole: &'a Whole) -> Vec<ThreadWaitRow<'a>> {
    let ranks = Size::of(results).ranks.max(1) as f64;
    let regions = &results.profile.regions;
    let row = |place: &'a ThreadPlace| ThreadWaitRow {
        operation: &regions[place.operation.0].name,
        caller: place.caller.map(|caller| &*regions[caller.0].name),
        shown_s: place.wait_s / ranks,
        measured_s: place.measured_wait_s / ranks,
        calls: Some(place.calls).filter(|&calls| calls > 0),
        threads: place.threads,
        place,
    };
    whole.thread_places.iter().map(row).collect()
}

/// What of a place says seconds for each of some ranks.
pub(crate) type OfRanks = fn(&WaitPlace) -> &[(u32, f64)];

/// The column for the longest waits of single ranks in these rows.
pub(crate) fn column_of_ranks(rows: &[WaitRow<'_>], of: OfRanks) -> Column {
    Column::for_largest(rows.iter().flat_map(|row| of(row.place)).map(|(_, seconds)| *seconds).fold(0.0, f64::max))
}

/// For whom ranks wait: for how long, or who came last.
pub(crate) fn for_whom(row: &WaitRow<'_>, shown: usize, column: Column, glyphs: &Glyphs) -> String {
    let first: Vec<String> = row.last.iter().take(shown).map(ToString::to_string).collect();
    match row.last.len() {
        0 => longest(&row.place.awaited, shown, column, glyphs),
        number if number > shown => format!("{} and {} more (last)", first.join(", "), exact_count((number - shown) as u64, glyphs)),
        _ => format!("{} (last)", first.join(", ")),
    }
}

/// The ranks with the longest waits, each with them behind it, and how many more there are.
pub(crate) fn longest(ranks: &[(u32, f64)], shown: usize, column: Column, glyphs: &Glyphs) -> String {
    let mut by_time: Vec<&(u32, f64)> = ranks.iter().filter(|(_, seconds)| *seconds > 0.0).collect();
    by_time.sort_by(|one, other| other.1.total_cmp(&one.1));
    let first: Vec<String> = by_time.iter().take(shown).map(|(rank, seconds)| format!("{rank} ({})", column.plain(*seconds, glyphs))).collect();
    let more = by_time.len().saturating_sub(shown);
    let more = if more > 0 { format!(" and {} more", exact_count(more as u64, glyphs)) } else { String::new() };
    if first.is_empty() { glyphs.unknown.to_string() } else { format!("{}{more}", first.join(", ")) }
}
