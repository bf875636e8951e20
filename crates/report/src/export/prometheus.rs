//! Prometheus' text format, version 0.0.4, and OpenMetrics 1.0: the run, its ranks, and the regions that take most time.
//!
//! The two differ in the names of counters' families, which OpenMetrics has without `_total`, and in its last line.
//! Compensated times are gauges, because a later message can make one smaller; measured ones are counters.

use std::collections::HashMap;
use std::fmt::Write;

use tare_compensate::whole::Among;

use crate::figures::dilations;
use crate::run::{Results, Run};
use crate::view::{Size, Time, Whole, kind_name, place, rank_rows};

/// Regions that are written.
const MOST_REGIONS: usize = 100;

/// What counters have said so far, by series. A later reading may know better and say less, as where a call has become one that waits; a
/// counter that falls would be taken for one that began anew.
#[derive(Debug, Default)]
pub struct Counters(HashMap<String, f64>);

impl Counters {
    fn at_least(&mut self, series: &str, value: f64) -> f64 {
        let highest = self.0.entry(series.to_string()).or_insert(value);
        *highest = highest.max(value);
        *highest
    }
}

/// How families are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Prometheus' text format.
    Prometheus,
    /// OpenMetrics.
    OpenMetrics,
}

struct Families<'a> {
    text: String,
    dialect: Dialect,
    counters: &'a mut Counters,
    /// Those of the present family are counters.
    are_counters: bool,
}

impl Families<'_> {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        self.are_counters = kind == "counter";
        let family = name.strip_suffix("_total").filter(|_| self.dialect == Dialect::OpenMetrics).unwrap_or(name);
        let _ = writeln!(self.text, "# HELP {family} {help}\n# TYPE {family} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let series = format!("{name}{labels}");
        let value = if self.are_counters { self.counters.at_least(&series, value) } else { value };
        let value = if value == f64::INFINITY { "+Inf".to_string() } else { value.to_string() };
        let _ = writeln!(self.text, "{series} {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(super) fn write(run: &Run, results: &Results<'_>, dialect: Dialect, counters: &mut Counters) -> String {
    let mut all = Families { text: String::new(), dialect, counters, are_counters: false };
    let (whole, size) = (Whole::of(results), Size::of(results));
    all.begin("tare_run_info", "gauge", "The run.");
    let labels = [("program", run.program.as_str()), ("ranks", &size.ranks.to_string()), ("compensate", run.compensation(results.shown.mode))];
    all.sample("tare_run_info", &labels, 1.0);
    if let Some(time) = Time::of(results) {
        all.begin("tare_run_time_seconds", "gauge", "Time of the slowest rank, compensated.");
        all.sample("tare_run_time_seconds", &[], time.shown.value);
        if !results.is_foreign {
            all.begin("tare_run_dilation_ratio", "gauge", "By what part measuring made the run longer.");
            all.sample("tare_run_dilation_ratio", &[], time.dilation);
            let (low, high) = dilations(time.measured_s, &time.shown);
            all.begin("tare_run_dilation_low_ratio", "gauge", "The least that it may be.");
            all.sample("tare_run_dilation_low_ratio", &[], low);
            all.begin("tare_run_dilation_high_ratio", "gauge", "The most that it may be; without end where nothing may be left of the time.");
            all.sample("tare_run_dilation_high_ratio", &[], high.unwrap_or(f64::INFINITY));
        }
    }
    if let Some(efficiency) = whole.efficiency {
        all.begin("tare_run_efficiency_ratio", "gauge", "Parallel efficiency and its factors.");
        for (part, value) in
            [("parallel", efficiency.parallel()), ("load_balance", efficiency.load_balance), ("communication", efficiency.communication)]
        {
            all.sample("tare_run_efficiency_ratio", &[("part", part)], value);
        }
    }
    ranks(&mut all, results);
    regions(&mut all, results, &whole, size.ranks.max(1) as f64);
    all.text + if dialect == Dialect::OpenMetrics { "# EOF\n" } else { "" }
}

fn ranks(all: &mut Families<'_>, results: &Results<'_>) {
    let rows = rank_rows(results);
    let locations = &results.profile.locations;
    let main: Vec<usize> = (0..locations.len()).filter(|&index| locations[index].thread == 0).collect();
    let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(usize) -> f64| {
        all.begin(name, kind, help);
        main.iter().for_each(|&index| all.sample(name, &[("rank", &rows[index].label)], value(index)));
    };
    if !main.is_empty() {
        family("tare_rank_time_seconds", "gauge", "Time of the rank, compensated.", &|index| results.shown.locations[index].total.value);
        family("tare_rank_measured_seconds_total", "counter", "Time of the rank, as measured.", &|index| rows[index].measured_s);
        family("tare_rank_events_total", "counter", "Probe events.", &|index| locations[index].events as f64);
        family("tare_rank_lost_total", "counter", "Calls that are missing at their place.", &|index| rows[index].lost as f64);
    }
}

fn regions(all: &mut Families<'_>, results: &Results<'_>, whole: &Whole, ranks: f64) {
    let processes = &results.profile.processes;
    let mut totals: Vec<_> = whole.totals.iter().filter(|total| total.is_seen()).collect();
    totals.sort_by(|one, other| other.exclusive.value.total_cmp(&one.exclusive.value));
    totals.truncate(MOST_REGIONS);
    if totals.is_empty() {
        return;
    }
    let labels = |index: usize| {
        let region = &results.profile.regions[index];
        (
            region.name.to_string(),
            place(&region.file, region.line).unwrap_or_default(),
            kind_name(region.kind),
            format!("{}+{:#x}", region.image, region.address),
        )
    };
    let among = Among::those(processes.len(), |index| processes[index].rank.is_some() || ranks <= 1.0);
    all.begin("tare_region_time_seconds", "gauge", "Exclusive time of the region on a rank, compensated.");
    for total in &totals {
        let (name, place, kind, id) = labels(total.region.0);
        let Some(spread) = total.spread(&among, |here| here.value_s) else { continue };
        for (stat, value) in [("min", spread.least.1), ("mean", spread.mean), ("max", spread.most.1)] {
            all.sample("tare_region_time_seconds", &[("region", &name), ("file", &place), ("kind", kind), ("id", &id), ("stat", stat)], value);
        }
    }
    type Value = fn(&tare_compensate::whole::RegionTotal) -> f64;
    let counters: [(&str, &str, Value); 3] = [
        ("tare_region_measured_seconds_total", "Exclusive time of the region, as measured, over all ranks.", |total| total.measured_s),
        ("tare_region_calls_total", "Calls of the region over all ranks.", |total| total.calls as f64),
        ("tare_region_waiting_seconds_total", "Time waited in the region, as measured, over all ranks.", |total| total.measured_wait_s),
    ];
    for (name, help, value) in counters {
        all.begin(name, "counter", help);
        for total in &totals {
            let (region, place, kind, id) = labels(total.region.0);
            all.sample(name, &[("region", &region), ("file", &place), ("kind", kind), ("id", &id)], value(total));
        }
    }
}
