//! The table of regions.

use tare_compensate::Figure;
use tare_compensate::whole::{Among, RegionTotal};
use tare_profile::Process;

use super::{Size, Whole, place};
use crate::layout::Glyphs;
use crate::number::count;
use crate::run::Results;

/// A row of the table of regions: means over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RegionRow {
    /// Index of the region in the profile.
    pub(crate) region: usize,
    pub(crate) name: String,
    pub(crate) place: Option<String>,
    pub(crate) measured_s: f64,
    pub(crate) local_s: f64,
    pub(crate) shown: Figure,
    /// With what it calls.
    pub(crate) inclusive: Figure,
    /// Of the time of all locations.
    pub(crate) share: f64,
    pub(crate) calls: u64,
    /// All of them were counted.
    pub(crate) calls_exact: bool,
    pub(crate) waiting_s: f64,
    /// The rank with the largest exclusive time, and by what part it is above the mean.
    pub(crate) slowest: Option<(u32, f64)>,
}

impl RegionRow {
    /// Its calls: at least so many, where not all were counted.
    pub(crate) fn calls_in_words(&self, glyphs: &Glyphs) -> String {
        glyphs.bounded(count(self.calls, glyphs), self.calls_exact)
    }
}

/// Regions by exclusive time, those that take most first; times are means over the ranks.
pub(crate) fn region_rows(results: &Results<'_>, whole: &Whole) -> Vec<RegionRow> {
    let all: f64 = whole.totals.iter().map(|total| total.exclusive.value.max(0.0)).sum();
    let ranks = Size::of(results).ranks.max(1) as f64;
    let processes = &results.profile.processes;
    let with_rank = Among::those(processes.len(), |index| processes[index].rank.is_some());
    let row = |total: &RegionTotal| {
        let region = &results.profile.regions[total.region.0];
        RegionRow {
            region: total.region.0,
            name: region.name.to_string(),
            place: place(&region.file, region.line),
            measured_s: total.measured_s / ranks,
            local_s: whole.local_s[total.region.0] / ranks,
            shown: total.exclusive.divided(ranks),
            inclusive: total.inclusive.divided(ranks),
            share: if all > 0.0 { total.exclusive.value / all } else { 0.0 },
            calls: total.calls,
            calls_exact: total.calls_exact,
            waiting_s: total.wait_s / ranks,
            slowest: slowest(processes, &with_rank, total),
        }
    };
    let mut rows: Vec<RegionRow> = whole.totals.iter().filter(|total| total.is_seen()).map(row).collect();
    rows.sort_by(|a, b| b.shown.value.total_cmp(&a.shown.value).then_with(|| a.name.cmp(&b.name)));
    rows
}

fn slowest(processes: &[Process], ranks: &Among, total: &RegionTotal) -> Option<(u32, f64)> {
    let spread = total.spread(ranks, |here| here.value_s)?;
    let rank = processes[spread.most.0 as usize].rank?;
    (ranks.number() > 1 && spread.mean > 0.0).then(|| (rank, spread.most.1 / spread.mean - 1.0))
}
