//! Places where ranks wait for each other, and threads.

use tare_compensate::whole::{ThreadPlace, WaitPlace, last_to_arrive};
use tare_profile::RegionIndex;

use super::{Size, Whole};
use crate::layout::Glyphs;
use crate::number::{Column, exact_count};
use crate::run::Results;

/// What is waited at a place: all threads together, and the mean over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waited<'a> {
    pub(crate) operation: &'a str,
    /// What called it.
    pub(crate) caller: Option<&'a str>,
    /// Both.
    pub(crate) regions: (RegionIndex, Option<RegionIndex>),
    pub(crate) shown_s: f64,
    pub(crate) measured_s: f64,
}

/// A place where ranks wait.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WaitRow<'a> {
    pub(crate) waited: Waited<'a>,
    pub(crate) calls: u64,
    pub(crate) place: &'a WaitPlace,
    /// Who came last, where ranks meet: messages tell for whom ranks wait, but collective operations do not.
    pub(crate) last: Vec<u32>,
}

/// A place where threads wait for one another.
pub(crate) struct ThreadWaitRow<'a> {
    pub(crate) waited: Waited<'a>,
    /// `None` where members of a team wait that call nothing.
    pub(crate) calls: Option<u64>,
    pub(crate) threads: usize,
}

impl<'a> Waited<'a> {
    /// At an operation and what called it: seconds of so many ranks together, as shown and as measured.
    fn of(results: &Results<'a>, ranks: f64, regions: (RegionIndex, Option<RegionIndex>), [shown_s, measured_s]: [f64; 2]) -> Self {
        let name = |region: RegionIndex| -> &'a str { &results.profile.regions[region.0].name };
        let (operation, caller) = (name(regions.0), regions.1.map(name));
        Self { operation, caller, regions, shown_s: shown_s / ranks, measured_s: measured_s / ranks }
    }
}

/// All places where anybody waits, those with the longest waits first.
pub(crate) fn wait_rows<'a>(results: &Results<'a>, whole: &'a Whole) -> Vec<WaitRow<'a>> {
    let ranks = Size::of(results).ranks.max(1) as f64;
    let row = |place: &'a WaitPlace| WaitRow {
        waited: Waited::of(results, ranks, (place.operation, place.caller), [place.wait_s, place.measured_wait_s]),
        calls: place.calls,
        last: if place.awaited.is_empty() { last_to_arrive(place, &whole.places) } else { Vec::new() },
        place,
    };
    whole.places.iter().filter(|place| place.wait_s > 0.0 || place.measured_wait_s > 0.0).map(row).collect()
}

/// All places where threads wait for one another, those with the longest waits first.
pub(crate) fn thread_wait_rows<'a>(results: &Results<'a>, whole: &Whole) -> Vec<ThreadWaitRow<'a>> {
    let ranks = Size::of(results).ranks.max(1) as f64;
    let row = |place: &ThreadPlace| ThreadWaitRow {
        waited: Waited::of(results, ranks, (place.operation, place.caller), [place.wait_s, place.measured_wait_s]),
        calls: Some(place.calls).filter(|&calls| calls > 0),
        threads: place.threads,
    };
    whole.thread_places.iter().map(row).collect()
}

/// What of a place says seconds for each of some ranks.
pub(crate) type OfRanks = fn(&WaitPlace) -> &[(u32, f64)];

/// The column for what is waited in these rows, as shown and as measured.
pub(crate) fn column_of_waits<'a>(rows: impl Iterator<Item = &'a Waited<'a>>) -> Column {
    Column::for_largest(rows.map(|waited| waited.shown_s.abs().max(waited.measured_s.abs())).fold(0.0, f64::max))
}

/// The column for the longest waits of single ranks in these rows; where there are none, that of the times beside them.
pub(crate) fn column_of_ranks(rows: &[WaitRow<'_>], of: OfRanks, beside: Column) -> Column {
    let longest = rows.iter().flat_map(|row| of(row.place)).map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    if longest > 0.0 { Column::for_largest(longest) } else { beside }
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
