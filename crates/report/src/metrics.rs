//! What was measured beside time: per region as text, per call path as part of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tare_compensate::metric::{Value, of_location};
use tare_profile::{Location, Metric, Profile};

use crate::layout::{Align, Column, Glyphs, Writer};
use crate::number::{byte_size, count, time_with_unit};

/// A metric of the run, over all its threads.
struct Whole<'a> {
    metric: &'a Metric,
    /// By region.
    values: BTreeMap<usize, Value>,
    /// The smallest part of the time in which a thread's counters counted.
    counted: Option<f64>,
}

/// The metrics of a profile by name, in the order of the first location that has any.
fn whole(profile: &Profile) -> Vec<Whole<'_>> {
    let mut found: Vec<Whole<'_>> = Vec::new();
    for location in &profile.locations {
        let values = of_location(profile, location);
        for (index, metric) in location.metrics.iter().enumerate().filter(|(_, metric)| !metric.missing) {
            let place = found.iter().position(|known| known.metric.name == metric.name).unwrap_or_else(|| {
                found.push(Whole { metric, values: BTreeMap::new(), counted: None });
                found.len() - 1
            });
            let one = &mut found[place];
            one.counted = [one.counted, metric.counted].into_iter().flatten().reduce(f64::min);
            for (node, values) in location.nodes.iter().zip(&values) {
                if let Some(value) = values.get(index) {
                    one.values.entry(node.region.0).or_default().join(value, metric.highest);
                }
            }
        }
    }
    found
}

/// A table as it is shown, in text or on a page: names, columns with their headings, and sentences below.
pub(crate) struct Sheet {
    pub(crate) heading: &'static str,
    pub(crate) names: Vec<String>,
    pub(crate) columns: Vec<(String, Vec<String>)>,
    pub(crate) notes: Vec<String>,
}

/// The tables of what was measured beside time, of `top` rows each: regions by metric, then files.
pub(crate) fn sheets(profile: &Profile, top: usize, glyphs: &Glyphs) -> Vec<Sheet> {
    [regions_sheet(profile, top, glyphs), files_sheet(profile, top, glyphs)].into_iter().flatten().collect()
}

/// Writes the tables as text. Nothing where only time was measured. What was asked for is shown: columns without room have a table of their own.
pub(crate) fn tables(writer: &mut Writer<'_>, profile: &Profile, top: usize) {
    for sheet in sheets(profile, top, writer.glyphs()) {
        let names = Column::new(sheet.heading, Align::Left, 0, sheet.names);
        let column = |(rank, (heading, cells))| Column::new(heading, Align::Right, rank, cells);
        let mut columns: Vec<Column> = (0..).zip(sheet.columns).map(column).collect();
        if columns.is_empty() {
            writer.blank();
        }
        while !columns.is_empty() {
            writer.blank();
            columns = writer.table(&names, columns);
        }
        sheet.notes.iter().for_each(|note| writer.words("  ", 2, note));
    }
}

/// The regions with the most of any metric.
fn regions_sheet(profile: &Profile, top: usize, glyphs: &Glyphs) -> Option<Sheet> {
    let metrics = whole(profile);
    let mut notes = missing(profile);
    let Some(first) = metrics.first() else {
        return (!notes.is_empty()).then(|| Sheet { heading: "Region", names: Vec::new(), columns: Vec::new(), notes });
    };
    let share = |region: usize| {
        let of = |one: &Whole<'_>| {
            let all: f64 = one.values.values().map(|value| value.value).sum();
            one.values.get(&region).map_or(0.0, |value| value.value / all.max(1.0))
        };
        metrics.iter().map(of).fold(0.0, f64::max)
    };
    let mut regions: Vec<usize> = first.values.keys().copied().collect();
    regions.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
    regions.truncate(top.max(1));
    let column = |one: &Whole<'_>| {
        let text = |value: f64| match one.metric.name.as_str() {
            name if counts_bytes(name) => byte_size(value, glyphs),
            name if is_time(name) => time_with_unit(value * 1e-9, glyphs),
            _ => count(value.round() as u64, glyphs),
        };
        let cells = regions.iter().map(|region| one.values.get(region).map_or_else(String::new, |value| text(value.value)));
        (one.metric.name.clone(), cells.collect())
    };
    let part = |one: &Whole<'_>| {
        one.counted
            .map(|part| format!("{}: counted in {:.0} % of the time only, because events had to share counters.", one.metric.name, 100.0 * part))
    };
    let is_reduced = metrics.iter().any(|one| one.metric.pair_cost > 0.0);
    let first = if is_reduced { "Exclusive, with what probes added taken off." } else { "Exclusive." };
    notes = [first.to_string()].into_iter().chain(metrics.iter().filter_map(part)).chain(notes).collect();
    let names = regions.iter().map(|&region| profile.regions[region].name.to_string()).collect();
    Some(Sheet { heading: "Region", names, columns: metrics.iter().map(column).collect(), notes })
}

/// Whether a metric counts bytes: ours, and those of other tools' files.
fn counts_bytes(name: &str) -> bool {
    name == "peak-heap" || name.split(['-', '_']).any(|word| word == "bytes")
}

/// Whether a metric is a time: ours, in nanoseconds.
fn is_time(name: &str) -> bool {
    matches!(name, "task-clock" | "cpu-clock" | "user-time" | "system-time" | "io-time")
}

/// Which metrics are missing, and why.
fn missing(profile: &Profile) -> Vec<String> {
    let missing = profile.locations.iter().flat_map(|location| &location.metrics).filter(|metric| metric.missing);
    let names: BTreeSet<(&str, bool)> = missing.map(|metric| (metric.name.as_str(), metric.unseen)).collect();
    let why = |unseen| if unseen { "a program defines its own malloc, which is not seen" } else { "a thread or more could not read it" };
    names.into_iter().map(|(name, unseen)| format!("{name}: {}.", why(unseen))).collect()
}

/// Files over all processes, by name: the metrics of I/O are asked for where there are any.
pub(crate) fn files(profile: &Profile) -> Vec<FileDocument> {
    let mut files: BTreeMap<&str, FileDocument> = BTreeMap::new();
    for process in &profile.processes {
        for file in &process.files {
            let whole = files.entry(&file.name).or_insert_with(|| FileDocument { name: file.name.clone(), ..FileDocument::default() });
            let seconds = |ticks: u64| process.clock.seconds(ticks as f64);
            whole.reads += file.reads;
            whole.bytes_read += file.bytes_read;
            whole.read_s += seconds(file.read_ticks);
            whole.writes += file.writes;
            whole.bytes_written += file.bytes_written;
            whole.write_s += seconds(file.write_ticks);
            whole.other_calls += file.others;
            whole.other_s += seconds(file.other_ticks);
        }
    }
    let mut files: Vec<FileDocument> = files.into_values().collect();
    files.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    files
}

/// The files that took most time.
fn files_sheet(profile: &Profile, top: usize, glyphs: &Glyphs) -> Option<Sheet> {
    let all = files(profile);
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(top.max(1))];
    let column = |heading: &str, of: fn(&FileDocument) -> u64| (heading.to_string(), shown.iter().map(|file| count(of(file), glyphs)).collect());
    let size =
        |heading: &str, of: fn(&FileDocument) -> u64| (heading.to_string(), shown.iter().map(|file| byte_size(of(file) as f64, glyphs)).collect());
    let columns = vec![
        ("I/O time".to_string(), shown.iter().map(|file| time_with_unit(file.seconds(), glyphs)).collect()),
        column("Reads", |file| file.reads),
        size("Bytes read", |file| file.bytes_read),
        column("Writes", |file| file.writes),
        size("Bytes written", |file| file.bytes_written),
    ];
    let more = (shown.len() < all.len()).then(|| format!("{} files more.", all.len() - shown.len()));
    Some(Sheet { heading: "File", names: shown.iter().map(|file| file.name.clone()).collect(), columns, notes: more.into_iter().collect() })
}

/// A file, over all processes of the run.
#[derive(Serialize, Default)]
pub(crate) struct FileDocument {
    name: String,
    reads: u64,
    bytes_read: u64,
    read_s: f64,
    writes: u64,
    bytes_written: u64,
    write_s: f64,
    other_calls: u64,
    other_s: f64,
}

impl FileDocument {
    fn seconds(&self) -> f64 {
        self.read_s + self.write_s + self.other_s
    }
}

/// A metric of a node, exclusive.
#[derive(Serialize)]
pub(crate) struct ValueDocument {
    measured: f64,
    compensated: f64,
    low: f64,
    high: f64,
}

/// A metric of a location.
#[derive(Serialize)]
pub(crate) struct MetricDocument<'a> {
    name: &'a str,
    missing: bool,
    own_allocator: bool,
    highest: bool,
    counted_part: Option<f64>,
    pair_cost: f64,
}

/// The metrics of a location.
pub(crate) fn of_thread(location: &Location) -> Vec<MetricDocument<'_>> {
    location.metrics.iter().map(MetricDocument::of).collect()
}

impl<'a> MetricDocument<'a> {
    fn of(metric: &'a Metric) -> Self {
        let Metric { name, missing, unseen, highest, counted, pair_cost, .. } = metric;
        Self { name, missing: *missing, own_allocator: *unseen, highest: *highest, counted_part: *counted, pair_cost: *pair_cost }
    }
}

/// For each node of a location its metrics by name.
pub(crate) fn of_nodes(profile: &Profile, location: &Location) -> Vec<BTreeMap<String, ValueDocument>> {
    let document = |value: &Value| ValueDocument { measured: value.measured, compensated: value.value, low: value.low, high: value.high };
    let named = |values: Vec<Value>| {
        let pairs = location.metrics.iter().zip(&values).filter(|(metric, _)| !metric.missing);
        pairs.map(|(metric, value)| (metric.name.clone(), document(value))).collect()
    };
    of_location(profile, location).into_iter().map(named).collect()
}
