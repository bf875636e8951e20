//! What the view keeps of one reading.

use std::hash::{DefaultHasher, Hash, Hasher};

use tare_compensate::whole::{CallTree, Classes, OnProcess, exchanges, region_totals};
use tare_compensate::{Compensated, Figure};
use tare_profile::{Profile, Region, RegionKind};
use tare_query::{State, places};
use tare_report::figures::open_regions;

/// What the command line knows of the run and of the reading.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The program with its arguments.
    pub program: String,
    /// When the reading was made, in seconds by a clock of the reader.
    pub at_s: f64,
    /// How long it took, seconds.
    pub took_s: f64,
    /// How the run ended, if it has.
    pub ended: Option<String>,
    /// Whether another tool measured it: what that cost is not known, nor, most often, who waited.
    pub is_foreign: bool,
}

/// A reading of a run.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) about: About,
    pub(crate) ranks: usize,
    pub(crate) processes: usize,
    pub(crate) threads: usize,
    /// Of the process that has lived longest.
    pub(crate) lifetime_s: f64,
    /// The longest measured life, and what is left of it; `None` before anything is left.
    pub(crate) longest: Option<(f64, Figure)>,
    pub(crate) classes: Classes,
    /// As measured, over all threads.
    pub(crate) all_s: f64,
    /// Lives of all threads, as measured.
    pub(crate) measured_s: f64,
    pub(crate) probes_s: f64,
    pub(crate) events: u64,
    pub(crate) nodes: usize,
    pub(crate) off: usize,
    pub(crate) lost: u64,
    pub(crate) regions: Vec<RegionNow>,
    /// By process.
    pub(crate) places: Vec<PlaceNow>,
    pub(crate) pairs: Vec<PairNow>,
    pub(crate) paths: Vec<PathNow>,
}

/// Seconds waited for other ranks, as measured and compensated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    pub(crate) measured_s: f64,
    pub(crate) compensated_s: f64,
}

impl Wait {
    /// What is shown.
    pub(crate) fn shown(self, is_measured: bool) -> f64 {
        if is_measured { self.measured_s } else { self.compensated_s }
    }
}

/// A region so far; times are sums over all threads.
#[derive(Clone, Debug)]
pub(crate) struct RegionNow {
    pub(crate) key: u64,
    pub(crate) name: String,
    pub(crate) place: String,
    pub(crate) own: Figure,
    pub(crate) measured_s: f64,
    pub(crate) calls: u64,
    pub(crate) wait: Wait,
    /// Exclusive seconds by process, of those that have any.
    pub(crate) of_process: Vec<OnProcess>,
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct PlaceNow {
    pub(crate) key: u64,
    pub(crate) name: String,
    pub(crate) state: State,
    /// The innermost open regions first.
    pub(crate) open: Vec<String>,
    /// The same as they are shown, with a place.
    pub(crate) within: Vec<String>,
    pub(crate) is_in_mpi: bool,
    pub(crate) since_s: Option<f64>,
    pub(crate) time: Figure,
    pub(crate) measured_s: f64,
    pub(crate) delay_s: f64,
    pub(crate) wait: Wait,
    pub(crate) events: u64,
}

/// What went from one rank to another.
#[derive(Clone, Debug)]
pub(crate) struct PairNow {
    pub(crate) key: u64,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Of the receiver.
    pub(crate) wait: Wait,
    /// Of the sender.
    pub(crate) sender_wait: Wait,
}

/// A call path over all threads.
#[derive(Clone, Debug)]
pub(crate) struct PathNow {
    pub(crate) key: u64,
    pub(crate) parent: Option<usize>,
    pub(crate) region: u64,
    pub(crate) name: String,
    pub(crate) place: String,
    pub(crate) inclusive: Figure,
    pub(crate) measured_s: f64,
    pub(crate) calls: u64,
    /// Of it and of all that it calls.
    pub(crate) wait: Wait,
}

impl Snapshot {
    /// Of a run that has not begun.
    #[must_use]
    pub fn empty(about: About) -> Self {
        Self { about, ..Self::default() }
    }

    /// Keeps what the view needs.
    #[must_use]
    pub fn of(profile: &Profile, compensated: &Compensated, about: About) -> Self {
        let tree = CallTree::of(profile, compensated);
        let keys: Vec<u64> = profile.regions.iter().map(key_of).collect();
        let mut threads = vec![0_usize; profile.processes.len()];
        profile.locations.iter().for_each(|location| threads[location.process.0] += 1);
        let main = || profile.locations.iter().zip(&compensated.locations).filter(|(location, _)| location.thread == 0).map(|(_, figures)| figures);
        let measured = main().map(|figures| figures.measured_s).fold(0.0, f64::max);
        let left = main().map(|figures| figures.total).max_by(|one, other| one.value.total_cmp(&other.value));
        let regions = regions(profile, compensated, &tree, &keys);
        let is_foreign = about.is_foreign;
        Self {
            about,
            ranks: profile.ranks(),
            processes: profile.processes.len(),
            threads: threads.into_iter().max().unwrap_or(0),
            lifetime_s: profile.processes.iter().map(|process| process.lifetime_s).fold(0.0, f64::max),
            longest: left.filter(|left| left.value > 0.0 && !is_foreign).map(|left| (measured, left)),
            classes: Classes::of(profile, compensated),
            all_s: regions.iter().map(|region| region.measured_s).sum(),
            measured_s: compensated.locations.iter().map(|location| location.measured_s).sum(),
            probes_s: compensated.locations.iter().map(|location| location.probes.value).sum(),
            events: profile.locations.iter().map(|location| location.events).sum(),
            nodes: profile.locations.iter().map(|location| location.nodes.len()).sum(),
            off: profile.processes.iter().map(|process| process.switches.iter().filter(|switch| switch.off).count()).max().unwrap_or(0),
            lost: profile.locations.iter().map(|location| location.losses.lost()).sum(),
            regions,
            places: threads_now(profile, compensated),
            pairs: pairs(profile, compensated),
            paths: paths(profile, &tree, &keys),
        }
    }

    /// The outermost call paths, and what each path calls.
    pub(crate) fn tree(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut below = vec![Vec::new(); self.paths.len()];
        let mut roots = Vec::new();
        for (index, path) in self.paths.iter().enumerate() {
            match path.parent {
                Some(parent) => below[parent].push(index),
                None => roots.push(index),
            }
        }
        (roots, below)
    }

    /// Whether the command has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.about.ended.is_some()
    }
}

fn hash(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

/// What tells a region from others from one reading to the next: numbers of regions follow from who was first.
fn key_of(region: &Region) -> u64 {
    hash((&region.image, region.address, region.kind, &region.name))
}

fn place_of(region: &Region) -> String {
    let file = region.file.rsplit('/').next().unwrap_or_default();
    if file.is_empty() { String::new() } else { format!("{file}:{}", region.line) }
}

fn regions(profile: &Profile, compensated: &Compensated, tree: &CallTree, keys: &[u64]) -> Vec<RegionNow> {
    let totals = region_totals(profile, compensated, tree);
    let now = |total: tare_compensate::whole::RegionTotal| {
        let region = &profile.regions[total.region.0];
        RegionNow {
            key: keys[total.region.0],
            name: region.name.to_string(),
            place: place_of(region),
            own: total.exclusive,
            measured_s: total.measured_s,
            calls: total.calls,
            wait: Wait { measured_s: total.measured_wait_s, compensated_s: total.wait_s },
            of_process: total.of_process,
        }
    };
    totals.into_iter().filter(|total| total.is_seen()).map(now).collect()
}

fn threads_now(profile: &Profile, compensated: &Compensated) -> Vec<PlaceNow> {
    let places = places(profile, None);
    let now = |place: tare_query::Place| {
        let location = &profile.locations[place.location];
        let process = profile.process_of(location);
        let figures = &compensated.locations[place.location];
        let name = |region: &tare_profile::RegionIndex| profile.regions[region.0].name.to_string();
        PlaceNow {
            key: hash((process.pid, &process.host, location.thread)),
            name: tare_report::figures::thread_label(profile, location),
            state: place.state,
            is_in_mpi: place.path.last().is_some_and(|region| profile.regions[region.0].kind == RegionKind::Mpi),
            open: place.path.iter().rev().map(name).collect(),
            within: open_regions(profile, &place.path),
            since_s: place.since_s,
            time: figures.total,
            measured_s: figures.measured_s,
            delay_s: figures.delay_s,
            wait: Wait {
                measured_s: figures.nodes.iter().map(|node| node.measured_wait_s).sum(),
                compensated_s: figures.nodes.iter().map(|node| node.wait_s).sum(),
            },
            events: location.events,
        }
    };
    places.into_iter().map(now).collect()
}

fn pairs(profile: &Profile, compensated: &Compensated) -> Vec<PairNow> {
    let now = |exchange: tare_compensate::whole::Exchange| PairNow {
        key: hash((exchange.from, exchange.to)),
        from: exchange.from,
        to: exchange.to,
        messages: exchange.messages,
        bytes: exchange.bytes,
        wait: Wait { measured_s: exchange.measured_wait_s, compensated_s: exchange.wait_s },
        sender_wait: Wait { measured_s: exchange.measured_sender_wait_s, compensated_s: exchange.sender_wait_s },
    };
    exchanges(profile, compensated).into_iter().map(now).collect()
}

fn paths(profile: &Profile, tree: &CallTree, keys: &[u64]) -> Vec<PathNow> {
    let mut paths: Vec<PathNow> = Vec::with_capacity(tree.paths.len());
    for path in &tree.paths {
        let region = &profile.regions[path.region.0];
        let own = keys[path.region.0];
        let key = hash((path.parent.map(|parent| paths[parent].key), own));
        paths.push(PathNow {
            key,
            parent: path.parent,
            region: own,
            name: region.name.to_string(),
            place: place_of(region),
            inclusive: path.inclusive,
            measured_s: path.measured_inclusive_s,
            calls: path.calls,
            wait: Wait { measured_s: path.measured_wait_s, compensated_s: path.wait_s },
        });
    }
    for index in (0..paths.len()).rev() {
        let Wait { measured_s, compensated_s } = paths[index].wait;
        if let Some(parent) = paths[index].parent {
            paths[parent].wait.measured_s += measured_s;
            paths[parent].wait.compensated_s += compensated_s;
        }
    }
    paths
}
