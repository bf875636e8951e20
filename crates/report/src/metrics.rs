//! What was measured beside time: per region as text, per call path as part of the document.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_compensate::metric::{Value, of_location};
use tare_profile::{Location, Metric, Profile};

use crate::layout::{Align, Column, Writer};
use crate::number::count;

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
                    one.values.entry(node.region.0).or_default().add(value);
                }
            }
        }
    }
    found
}

/// The table of regions and metrics, for the regions with the most of any. Nothing where only time was measured.
pub(crate) fn table(writer: &mut Writer<'_>, profile: &Profile, top: usize) {
    let metrics = whole(profile);
    let Some(first) = metrics.first() else { return };
    let glyphs = writer.glyphs();
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
    let names = regions.iter().map(|&region| profile.regions[region].name.clone()).collect();
    let column = |(rank, one): (u32, &Whole<'_>)| {
        let cells = regions.iter().map(|region| one.values.get(region).map_or_else(String::new, |value| count(value.value.round() as u64, glyphs)));
        Column::new(one.metric.name.clone(), Align::Right, rank, cells.collect())
    };
    writer.blank();
    writer.table(&Column::new("Region", Align::Left, 0, names), (0..).zip(&metrics).map(column).collect());
    writer.words("  ", 2, "Exclusive, with what probes added taken off.");
    for one in &metrics {
        if let Some(part) = one.counted {
            let text = format!("{}: counted in {:.0} % of the time only, because events had to share counters.", one.metric.name, 100.0 * part);
            writer.words("  ", 2, &text);
        }
    }
    let missing = profile.locations.iter().flat_map(|location| &location.metrics).filter(|metric| metric.missing);
    for name in missing.map(|metric| metric.name.as_str()).collect::<std::collections::BTreeSet<_>>() {
        writer.words("  ", 2, &format!("{name}: a thread or more could not read it."));
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
    counted_part: Option<f64>,
    pair_cost: f64,
}

/// The metrics of a location.
pub(crate) fn of_thread(location: &Location) -> Vec<MetricDocument<'_>> {
    location.metrics.iter().map(MetricDocument::of).collect()
}

impl<'a> MetricDocument<'a> {
    fn of(metric: &'a Metric) -> Self {
        let Metric { name, missing, counted, pair_cost } = metric;
        Self { name, missing: *missing, counted_part: *counted, pair_cost: *pair_cost }
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
