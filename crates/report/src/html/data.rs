//! The columns of every view, as the scripts read them.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_compensate::whole::{Among, Exchange, OnProcess, RegionSpread, RegionTotal, exchanges, exchanges_by_region};
use tare_compensate::{CompensatedLocation, Mark};
use tare_profile::Region;

use super::Source;
use super::columns::{Table, packed};
use super::heat::Heat;
use super::matrix::Matrix;
use super::of_ranks::OfRanks;
use super::parts::Parts;
use super::tree::Shown;
use crate::json::SCHEMA;
use crate::layout::{Page, plain};
use crate::view::{MARKS, Size, kind_name, location_label, mark_number};

/// Source lines are carried of regions that take at least this part of the time.
pub(super) const LEAST_SHARE_WITH_SOURCE: f64 = 0.001;

#[derive(Serialize)]
struct Document {
    schema: u32,
    program: String,
    directory: String,
    mode: &'static str,
    /// Whether the times are those of an export, compensated as it was written.
    is_exported: bool,
    /// Whether the run was read from a file of another tool, or from an export.
    is_foreign: bool,
    /// What is divided by for a mean: ranks, or one.
    divisor: usize,
    ranks: usize,
    marks: Vec<&'static str>,
    kinds: [&'static str; KINDS],
    folded_paths: usize,
    tree: Table,
    regions: Table,
    spreads: Spreads,
    times: Table,
    heat: Heat,
    matrix: Matrix,
    of_ranks: OfRanks,
    /// Names, files, images and labels, deflated: see [`Strings`].
    strings: String,
}

#[derive(Serialize, Default)]
struct Strings<'a> {
    names: Vec<String>,
    /// By region: names that cannot be shown as they are, for the commands that ask for them.
    unshown: BTreeMap<usize, &'a str>,
    files: Vec<&'a str>,
    images: Vec<&'a str>,
    labels: Vec<String>,
    hosts: Vec<&'a str>,
    sources: Vec<SourceText<'a>>,
}

#[derive(Serialize)]
struct SourceText<'a> {
    path: &'a str,
    text: &'a str,
}

/// Kinds of regions by number.
const KINDS: usize = 11;
const KIND_NAMES: [&str; KINDS] = ["program", "function", "mpi", "loop", "iteration", "call site", "user", "parameter", "phase", "pause", "threads"];

/// The document that the page carries.
pub(super) fn document(parts: &Parts<'_>, sources: &[Source]) -> String {
    let profile = parts.results.profile;
    let size = Size::of(parts.results);
    let tree = Shown::of(&parts.whole.tree, parts.limit);
    let mut strings = Strings::default();
    let regions = regions(parts, &mut strings);
    let exchanges: Vec<Exchange> = exchanges(profile, &parts.results.shown);
    strings.labels =
        profile.locations.iter().filter(|location| location.thread == 0).map(|location| location_label(parts.results, location)).collect();
    strings.hosts = profile.processes.iter().map(|process| process.host.as_str()).collect();
    strings.sources = sources.iter().map(|source| SourceText { path: &source.path, text: &source.text }).collect();
    let heat = Heat::of(&parts.whole.totals, profile.processes.len());
    crate::json::written(&Document {
        schema: SCHEMA,
        program: shown(&parts.run.program),
        directory: shown(&parts.run.directory),
        mode: parts.results.shown.mode.name(),
        is_exported: parts.run.was_compensated.is_some(),
        is_foreign: parts.results.is_foreign,
        divisor: size.ranks.max(1),
        ranks: size.ranks,
        marks: MARKS.iter().map(|mark| Mark::reason(*mark)).collect(),
        kinds: KIND_NAMES,
        folded_paths: tree.folded,
        tree: tree.table(),
        regions,
        spreads: Spreads::of(parts),
        times: times(parts),
        of_ranks: OfRanks::of(parts, &tree, heat.deviating()),
        heat,
        matrix: Matrix::of(&exchanges, exchanges_by_region(profile, &parts.results.shown), profile.world_size().max(size.ranks as u32)),
        strings: packed(crate::json::written(&strings).as_bytes()),
    })
}

/// A text without characters that act on what stands beside it.
fn shown(text: &str) -> String {
    plain(text, &Page::default())
}

/// Texts that are said once and pointed at.
fn index_of<'a>(known: &mut std::collections::HashMap<&'a str, u32>, all: &mut Vec<&'a str>, text: &'a str) -> u32 {
    *known.entry(text).or_insert_with(|| {
        all.push(text);
        (all.len() - 1) as u32
    })
}

fn regions<'a>(parts: &Parts<'a>, strings: &mut Strings<'a>) -> Table {
    let profile = parts.results.profile;
    let totals: &[RegionTotal] = &parts.whole.totals;
    let (mut files, mut images) = (std::collections::HashMap::new(), std::collections::HashMap::new());
    strings.names = profile.regions.iter().map(|region| shown(&region.name)).collect();
    let is_unshown = |(index, region): &(usize, &Region)| *region.name != *strings.names[*index];
    strings.unshown = profile.regions.iter().enumerate().filter(is_unshown).map(|(index, region)| (index, &*region.name)).collect();
    let of_file: Vec<u32> = profile.regions.iter().map(|region| index_of(&mut files, &mut strings.files, &region.file)).collect();
    let of_image: Vec<u32> = profile.regions.iter().map(|region| index_of(&mut images, &mut strings.images, &region.image)).collect();
    let kind = |region: &Region| KIND_NAMES.iter().position(|name| *name == kind_name(region.kind)).unwrap_or(0) as u8;
    Table::new(totals.len())
        .u8("kind", profile.regions.iter().map(kind))
        .u32("file", of_file.into_iter())
        .u32("line", profile.regions.iter().map(|region| region.line))
        .u32("image", of_image.into_iter())
        .whole("calls", totals.iter().map(|total| total.calls))
        .u8("inexact", totals.iter().map(|total| u8::from(!total.calls_exact)))
        .seconds("measured", totals.iter().map(|total| total.measured_s))
        .seconds("value", totals.iter().map(|total| total.exclusive.value))
        .rough("below", totals.iter().map(|total| total.exclusive.value - total.exclusive.low))
        .rough("above", totals.iter().map(|total| total.exclusive.high - total.exclusive.value))
        .u8("mark", totals.iter().map(|total| mark_number(total.exclusive.mark)))
        .seconds("inclusive", totals.iter().map(|total| total.inclusive.value))
        .seconds("measured_inclusive", totals.iter().map(|total| total.measured_inclusive_s))
        .rough("inclusive_below", totals.iter().map(|total| total.inclusive.value - total.inclusive.low))
        .rough("inclusive_above", totals.iter().map(|total| total.inclusive.high - total.inclusive.value))
        .rough("measured_wait", totals.iter().map(|total| total.measured_wait_s))
        .rough("wait", totals.iter().map(|total| total.wait_s))
}

/// What each process took.
fn times(parts: &Parts<'_>) -> Table {
    let locations = parts.results.profile.locations.iter().zip(&parts.results.shown.locations);
    let main: Vec<&CompensatedLocation> = locations.filter(|(location, _)| location.thread == 0).map(|(_, figures)| figures).collect();
    Table::new(main.len())
        .seconds("measured", main.iter().map(|figures| figures.measured_s))
        .seconds("value", main.iter().map(|figures| figures.total.value))
        .rough("below", main.iter().map(|figures| figures.total.value - figures.total.low))
        .rough("above", main.iter().map(|figures| figures.total.high - figures.total.value))
        .u8("mark", main.iter().map(|figures| mark_number(figures.total.mark)))
}

/// How the exclusive times of regions spread over the ranks, or the processes where there are none.
#[derive(Serialize)]
struct Spreads {
    value: Table,
    measured: Table,
    difference: Table,
}

impl Spreads {
    fn of(parts: &Parts<'_>) -> Self {
        let processes = &parts.results.profile.processes;
        let any_rank = parts.results.profile.has_ranks();
        let among = Among::those(processes.len(), |index| !any_rank || processes[index].rank.is_some());
        let table = |seconds: fn(&OnProcess) -> f64| {
            let nothing = RegionSpread { least: (0, 0.0), mean: 0.0, most: (0, 0.0) };
            let of = |total: &RegionTotal| total.spread(&among, seconds).unwrap_or(nothing);
            let spread: Vec<RegionSpread> = parts.whole.totals.iter().map(of).collect();
            Table::new(spread.len())
                .rough("least", spread.iter().map(|spread| spread.least.1))
                .u32("least_at", spread.iter().map(|spread| spread.least.0))
                .fine("mean", spread.iter().map(|spread| spread.mean))
                .fine("most", spread.iter().map(|spread| spread.most.1))
                .u32("most_at", spread.iter().map(|spread| spread.most.0))
        };
        Self { value: table(|here| here.value_s), measured: table(|here| here.measured_s), difference: table(OnProcess::taken_off_s) }
    }
}
