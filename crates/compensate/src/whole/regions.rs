//! Regions, summed over all call paths and locations, and how they spread over the processes.

use tare_profile::{Profile, RegionIndex};

use crate::Compensated;
use crate::figure::Figure;
use crate::whole::tree::CallTree;

/// A region, summed over all locations.
#[derive(Clone, Debug)]
pub struct RegionTotal {
    /// Which.
    pub region: RegionIndex,
    /// Calls.
    pub calls: u64,
    /// Whether all of them were counted.
    pub calls_exact: bool,
    /// Exclusive seconds as measured.
    pub measured_s: f64,
    /// Exclusive time, compensated.
    pub exclusive: Figure,
    /// Inclusive seconds as measured; a call within a call of the same region counts once.
    pub measured_inclusive_s: f64,
    /// Inclusive time, compensated; a call within a call of the same region counts once.
    pub inclusive: Figure,
    /// Seconds waited as measured.
    pub measured_wait_s: f64,
    /// Seconds waited, compensated.
    pub wait_s: f64,
    /// The exclusive time of each process that was in it, in the order of the processes.
    pub of_process: Vec<OnProcess>,
}

/// Exclusive seconds of a region on one process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnProcess {
    /// Index of the process.
    pub process: u32,
    /// Compensated.
    pub value_s: f64,
    /// As measured.
    pub measured_s: f64,
}

impl OnProcess {
    /// What compensation took off.
    #[must_use]
    pub fn taken_off_s(&self) -> f64 {
        self.measured_s - self.value_s
    }
}

/// How a region's exclusive time spreads over processes: seconds, with the process that has them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The least.
    pub least: (u32, f64),
    /// The mean over all processes that were asked about.
    pub mean: f64,
    /// The most.
    pub most: (u32, f64),
}

impl RegionTotal {
    /// Whether there is anything to show of it.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.calls > 0 || self.measured_s != 0.0
    }

    /// The spread of `seconds` over some processes; `None` where they are none. It takes as long as the region has processes,
    /// however many it was never on.
    pub fn spread(&self, among: &Among, seconds: impl Fn(&OnProcess) -> f64) -> Option<Spread> {
        let here = || self.of_process.iter().filter(|here| among.counts[here.process as usize]);
        // Those on which it never was stand for all of their kind by the first: it has spent nothing there.
        let mut present = here().map(|here| here.process).peekable();
        let absent = among.counted.iter().find(|&&process| present.next_if_eq(&process).is_none()).map(|&process| (process, 0.0));
        let mut spread: Option<Spread> = None;
        let mut sum = 0.0;
        for (process, value) in here().map(|here| (here.process, seconds(here))).chain(absent) {
            let here = (process, value);
            let known = spread.get_or_insert(Spread { least: here, mean: 0.0, most: here });
            let is_before = |other: (u32, f64)| value == other.1 && process < other.0;
            if value < known.least.1 || is_before(known.least) {
                known.least = here;
            }
            if value > known.most.1 || is_before(known.most) {
                known.most = here;
            }
            sum += value;
        }
        spread.map(|spread| Spread { mean: sum / among.counted.len() as f64, ..spread })
    }
}

/// Processes over which times are spread.
#[derive(Clone, Debug)]
pub struct Among {
    /// By index of the process.
    counts: Vec<bool>,
    /// Those that count, in their order.
    counted: Vec<u32>,
}

impl Among {
    /// Of so many processes those for which `counts`.
    #[must_use]
    pub fn those(processes: usize, counts: impl Fn(usize) -> bool) -> Self {
        let counts: Vec<bool> = (0..processes).map(counts).collect();
        let counted = (0..).zip(&counts).filter(|(_, counts)| **counts).map(|(process, _)| process).collect();
        Self { counts, counted }
    }

    /// How many they are.
    #[must_use]
    pub fn number(&self) -> usize {
        self.counted.len()
    }
}

/// All regions of a profile, in its order.
#[must_use]
pub fn region_totals(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> Vec<RegionTotal> {
    let mut totals: Vec<RegionTotal> = (0..profile.regions.len()).map(|index| RegionTotal::new(RegionIndex(index))).collect();
    let nested = tree.is_nested(totals.len());
    for (path, nested) in tree.paths.iter().zip(nested) {
        let total = &mut totals[path.region.0];
        total.calls = total.calls.saturating_add(path.calls);
        total.calls_exact &= path.calls_exact;
        total.measured_s += path.measured_s;
        total.exclusive = total.exclusive.added(&path.exclusive);
        total.measured_wait_s += path.measured_wait_s;
        total.wait_s += path.wait_s;
        if !nested {
            total.measured_inclusive_s += path.measured_inclusive_s;
            total.inclusive = total.inclusive.added(&path.inclusive);
        }
    }
    for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
        let process = location.process.0 as u32;
        for (node, figures) in location.nodes.iter().zip(&figures.nodes) {
            let of_process = &mut totals[node.region.0].of_process;
            match of_process.last_mut() {
                Some(last) if last.process == process => {
                    last.value_s += figures.exclusive.value;
                    last.measured_s += figures.measured_exclusive_s;
                }
                _ => of_process.push(OnProcess { process, value_s: figures.exclusive.value, measured_s: figures.measured_exclusive_s }),
            }
        }
    }
    totals
}

impl RegionTotal {
    fn new(region: RegionIndex) -> Self {
        let nothing = Figure::exact(0.0);
        Self {
            region,
            calls: 0,
            calls_exact: true,
            measured_s: 0.0,
            exclusive: nothing,
            measured_inclusive_s: 0.0,
            inclusive: nothing,
            measured_wait_s: 0.0,
            wait_s: 0.0,
            of_process: Vec::new(),
        }
    }
}
