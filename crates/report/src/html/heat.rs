//! Ranks × regions: what each process spent in the regions that differ most between them.

use tare_compensate::whole::{OnProcess, RegionTotal};

use super::columns::Table;

/// Regions that are carried by process.
const MOST_REGIONS: usize = 512;
/// Cells that are carried beside each other; with more processes, bins of equal size.
const MOST_BINS: usize = 1024;
/// Processes that are carried exactly beside bins: those that deviate most.
const MOST_OUTLIERS: usize = 32;

/// Processes that are named of each region: those that spend most there.
const MOST_SLOWEST: usize = 32;

/// What the heat map shows.
#[derive(serde::Serialize, Default)]
pub(super) struct Heat {
    processes: usize,
    /// Processes in a bin; the last one may have fewer.
    per_bin: usize,
    bins: usize,
    /// Processes that are carried exactly beside the bins.
    outliers: Vec<u32>,
    /// Regions, those that differ most first.
    regions: Table,
    /// A row of bins for each region, then of outliers: compensated, as measured, and what was taken off.
    cells: Table,
    /// Processes that are named of each region.
    carried: usize,
    /// A row of them for each region, the slowest first, by each of the values; no process beyond those that were in it.
    slowest: Table,
    /// Regions that are left out.
    left_out: usize,
}

impl Heat {
    /// The processes that deviate most, where not all are carried.
    pub(super) fn deviating(&self) -> &[u32] {
        &self.outliers
    }

    pub(super) fn of(totals: &[RegionTotal], processes: usize) -> Self {
        let mut order: Vec<(f64, &RegionTotal)> =
            totals.iter().filter(|total| total.is_seen()).map(|total| (deviation(total, processes), total)).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.region.cmp(&other.1.region)));
        let left_out = order.len().saturating_sub(MOST_REGIONS);
        order.truncate(MOST_REGIONS);
        let per_bin = processes.div_ceil(MOST_BINS).max(1);
        let bins = processes.div_ceil(per_bin);
        let outliers = if per_bin > 1 { outliers(&order, processes) } else { Vec::new() };
        let bins_of = Bins { processes, per_bin, outliers: &outliers };
        let mut cells = Table::new(order.len() * (bins + outliers.len()));
        for (name, most, seconds) in VALUES {
            let (means, greatest): (Vec<Row>, Vec<Row>) = order.iter().map(|(_, total)| bins_of.rows(total, seconds)).unzip();
            cells = cells.rough(name, means.into_iter().flatten());
            if per_bin > 1 {
                cells = cells.rough(most, greatest.into_iter().flatten());
            }
        }
        let regions = Table::new(order.len()).u32("region", order.iter().map(|(_, total)| total.region.0 as u32));
        let carried = processes.min(MOST_SLOWEST);
        let slowest = VALUES.into_iter().fold(Table::new(order.len() * carried), |table, (name, _, seconds)| {
            table.u32(name, order.iter().flat_map(|(_, total)| slowest(total, carried, seconds)))
        });
        Self { processes, per_bin, bins, outliers, regions, cells, carried, slowest, left_out }
    }
}

/// Seconds of a region on a process, of one kind.
type Seconds = fn(&OnProcess) -> f64;
/// A region's cells.
type Row = Vec<f64>;

/// What cells hold: the name of their means, and of their greatest where bins have several processes.
const VALUES: [(&str, &str, Seconds); 3] = [
    ("value", "most_value", |here| here.value_s),
    ("measured", "most_measured", |here| here.measured_s),
    ("difference", "most_difference", OnProcess::taken_off_s),
];

/// How processes are put into columns.
struct Bins<'a> {
    processes: usize,
    per_bin: usize,
    outliers: &'a [u32],
}

impl Bins<'_> {
    /// A region's means and greatest values: of the bins, then of the outliers.
    fn rows(&self, total: &RegionTotal, seconds: Seconds) -> (Row, Row) {
        let bins = self.processes.div_ceil(self.per_bin);
        let (mut sums, mut most) = (vec![0.0; bins], vec![0.0_f64; bins]);
        for here in &total.of_process {
            let bin = here.process as usize / self.per_bin;
            sums[bin] += seconds(here);
            most[bin] = most[bin].max(seconds(here));
        }
        let in_bin = |bin: usize| (self.processes - bin * self.per_bin).min(self.per_bin) as f64;
        let means = sums.iter().enumerate().map(|(bin, sum)| sum / in_bin(bin));
        let exact = self.outliers.iter().map(|&process| on_process(total, process).map_or(0.0, seconds));
        (means.chain(exact.clone()).collect(), most.iter().copied().chain(exact).collect())
    }
}

fn on_process(total: &RegionTotal, process: u32) -> Option<&OnProcess> {
    total.of_process.binary_search_by_key(&process, |here| here.process).ok().map(|place| &total.of_process[place])
}

/// So many processes, those that spend most in a region first; `u32::MAX` beyond those that were in it.
fn slowest(total: &RegionTotal, carried: usize, seconds: Seconds) -> impl Iterator<Item = u32> {
    let mut order: Vec<&OnProcess> = total.of_process.iter().collect();
    order.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)).then(one.process.cmp(&other.process)));
    order.into_iter().map(|here| here.process).chain(std::iter::repeat(u32::MAX)).take(carried)
}

/// Seconds above the mean, over all processes: many that are a little above it weigh as much as one that is far above.
fn deviation(total: &RegionTotal, processes: usize) -> f64 {
    let mean = total.of_process.iter().map(|here| here.value_s).sum::<f64>() / processes.max(1) as f64;
    total.of_process.iter().map(|here| (here.value_s - mean).max(0.0)).sum()
}

/// Processes whose times are furthest from the means, over the regions that are shown.
fn outliers(order: &[(f64, &RegionTotal)], processes: usize) -> Vec<u32> {
    let mut off = vec![0.0; processes];
    for (_, total) in order {
        let mean = total.of_process.iter().map(|here| here.value_s).sum::<f64>() / processes as f64;
        // Those that never were in it are off by the mean: all are, and for the others it is taken off again.
        for here in &total.of_process {
            off[here.process as usize] += (here.value_s - mean).abs() - mean;
        }
    }
    let mut order: Vec<u32> = (0..processes as u32).collect();
    order.sort_by(|&one, &other| off[other as usize].total_cmp(&off[one as usize]).then(one.cmp(&other)));
    order.truncate(MOST_OUTLIERS);
    order.sort_unstable();
    order
}
