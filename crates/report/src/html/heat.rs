//! Ranks × regions: what each process spent in the regions that differ most between them.

use tare_compensate::whole::RegionTotal;

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
    /// A row of bins for each region, then of outliers.
    cells: Table,
    /// Processes that are named of each region.
    carried: usize,
    /// A row of them for each region, the slowest first; no process beyond those that were in it.
    slowest: Table,
    /// Regions that are left out.
    left_out: usize,
}

impl Heat {
    pub(super) fn of(totals: &[RegionTotal], processes: usize) -> Self {
        let mut order: Vec<(f64, &RegionTotal)> =
            totals.iter().filter(|total| total.is_seen()).map(|total| (deviation(total, processes), total)).collect();
        order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.region.cmp(&other.1.region)));
        let left_out = order.len().saturating_sub(MOST_REGIONS);
        order.truncate(MOST_REGIONS);
        let per_bin = processes.div_ceil(MOST_BINS).max(1);
        let bins = processes.div_ceil(per_bin);
        let outliers = if per_bin > 1 { outliers(&order, processes) } else { Vec::new() };
        let (mut means, mut greatest) = (Vec::new(), Vec::new());
        for (_, total) in &order {
            let (mut sums, mut most) = (vec![0.0; bins], vec![0.0_f64; bins]);
            for &(process, seconds) in &total.of_process {
                sums[process as usize / per_bin] += seconds;
                most[process as usize / per_bin] = most[process as usize / per_bin].max(seconds);
            }
            let in_bin = |bin: usize| (processes - bin * per_bin).min(per_bin) as f64;
            means.extend(sums.iter().enumerate().map(|(bin, sum)| sum / in_bin(bin)));
            greatest.extend(most);
            let exact = outliers.iter().map(|&process| of_process(total, process));
            means.extend(exact.clone());
            greatest.extend(exact);
        }
        let mut cells = Table::new(order.len() * (bins + outliers.len())).rough("mean", means.into_iter());
        if per_bin > 1 {
            cells = cells.rough("most", greatest.into_iter());
        }
        let regions = Table::new(order.len()).u32("region", order.iter().map(|(_, total)| total.region.0 as u32));
        let carried = processes.min(MOST_SLOWEST);
        let slowest = Table::new(order.len() * carried).u32("process", order.iter().flat_map(|(_, total)| slowest(total, carried)));
        Self { processes, per_bin, bins, outliers, regions, cells, carried, slowest, left_out }
    }
}

fn of_process(total: &RegionTotal, process: u32) -> f64 {
    total.of_process.binary_search_by_key(&process, |(process, _)| *process).map_or(0.0, |place| total.of_process[place].1)
}

/// So many processes, those that spend most in a region first; `u32::MAX` beyond those that were in it.
fn slowest(total: &RegionTotal, carried: usize) -> impl Iterator<Item = u32> {
    let mut order = total.of_process.clone();
    order.sort_by(|(one, time), (other, its_time)| its_time.total_cmp(time).then(one.cmp(other)));
    order.into_iter().map(|(process, _)| process).chain(std::iter::repeat(u32::MAX)).take(carried)
}

/// Seconds between the process that spends most and the mean.
fn deviation(total: &RegionTotal, processes: usize) -> f64 {
    let sum: f64 = total.of_process.iter().map(|(_, seconds)| seconds).sum();
    let most = total.of_process.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    most - sum / processes.max(1) as f64
}

/// Processes whose times are furthest from the means, over the regions that are shown.
fn outliers(order: &[(f64, &RegionTotal)], processes: usize) -> Vec<u32> {
    let mut off = vec![0.0; processes];
    for (_, total) in order {
        let mean = total.of_process.iter().map(|(_, seconds)| seconds).sum::<f64>() / processes as f64;
        // Those that never were in it are off by the mean: all are, and for the others it is taken off again.
        for &(process, seconds) in &total.of_process {
            off[process as usize] += (seconds - mean).abs() - mean;
        }
    }
    let mut order: Vec<u32> = (0..processes as u32).collect();
    order.sort_by(|&one, &other| off[other as usize].total_cmp(&off[one as usize]).then(one.cmp(&other)));
    order.truncate(MOST_OUTLIERS);
    order.sort_unstable();
    order
}
