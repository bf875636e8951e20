//! The region graphs of all locations as one tree: a node for each call path that any of them took.

use std::collections::HashMap;

use tare_profile::{Profile, RegionIndex, RegionKind};

use crate::figure::Figure;
use crate::{Compensated, CompensatedNode};

/// A call path, over all locations.
#[derive(Clone, Debug)]
pub struct CallPath {
    /// Its region.
    pub region: RegionIndex,
    /// Index of its parent, which is smaller than its own; `None` for the root.
    pub parent: Option<usize>,
    /// Calls.
    pub calls: u64,
    /// Whether all of them were counted.
    pub calls_exact: bool,
    /// Locations that took it.
    pub locations: u32,
    /// Exclusive seconds as measured, summed over the locations.
    pub measured_s: f64,
    /// Exclusive time, compensated, summed.
    pub exclusive: Figure,
    /// Inclusive seconds as measured, summed.
    pub measured_inclusive_s: f64,
    /// Inclusive time, compensated, summed.
    pub inclusive: Figure,
    /// Seconds waited as measured, summed.
    pub measured_wait_s: f64,
    /// Seconds waited, compensated, summed.
    pub wait_s: f64,
}

/// All call paths of a run.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// Roots and parents before what is below them.
    pub paths: Vec<CallPath>,
    /// For each location that was joined, the path of each of its nodes.
    pub of_location: Vec<Vec<u32>>,
}

impl CallTree {
    /// Joins the region graphs of all locations.
    #[must_use]
    pub fn of(profile: &Profile, compensated: &Compensated) -> Self {
        Self::of_those(profile, compensated, |_| true)
    }

    /// Joins the region graphs of the locations with these indices.
    pub fn of_those(profile: &Profile, compensated: &Compensated, belongs: impl Fn(usize) -> bool) -> Self {
        let mut joining = Joining::default();
        let those = (0..profile.locations.len()).filter(|&index| belongs(index));
        let of_location = those.map(|index| joining.join(profile, compensated, index, |_| None)).collect();
        Self { paths: joining.paths, of_location }
    }

    /// Joins the region graphs of all locations so that what the threads of a team do stands where who began it does the same.
    pub(super) fn of_teams(profile: &Profile, compensated: &Compensated) -> Self {
        let mut joining = Joining::default();
        let mut of_location = vec![Vec::new(); profile.locations.len()];
        let (first, others): (Vec<usize>, Vec<usize>) = (0..profile.locations.len()).partition(|&index| profile.locations[index].thread == 0);
        for index in first {
            of_location[index] = joining.join(profile, compensated, index, |_| None);
        }
        let begun = joining.begun(profile);
        for index in others {
            of_location[index] = joining.join(profile, compensated, index, |region| begun.get(&region).copied());
        }
        Self { paths: joining.paths, of_location }
    }

    /// The regions that a path lies in and that are wholes, from the innermost on: parts of functions, as loops and call sites are, are passed over.
    pub(super) fn wholes_above<'a>(&'a self, profile: &'a Profile, path: usize) -> impl Iterator<Item = RegionIndex> + 'a {
        let above = std::iter::successors(self.paths[path].parent, |&above| self.paths[above].parent);
        above.map(|above| self.paths[above].region).filter(|&region| !profile.regions[region.0].kind.is_part())
    }

    /// The indices of the paths directly below each path.
    #[must_use]
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.paths.len()];
        for (index, path) in self.paths.iter().enumerate() {
            if let Some(parent) = path.parent {
                children[parent].push(index);
            }
        }
        children
    }

    /// For each path whether a region above it is the same: its inclusive time is part of that one's.
    #[must_use]
    pub fn is_nested(&self, regions: usize) -> Vec<bool> {
        let children = self.children();
        let mut open = vec![0_u32; regions];
        let mut nested = vec![false; self.paths.len()];
        let roots = (0..self.paths.len()).filter(|&index| self.paths[index].parent.is_none());
        let mut stack: Vec<(usize, bool)> = roots.map(|root| (root, false)).collect();
        while let Some((index, is_left)) = stack.pop() {
            let region = self.paths[index].region.0;
            if is_left {
                open[region] -= 1;
                continue;
            }
            nested[index] = open[region] > 0;
            open[region] += 1;
            stack.push((index, true));
            stack.extend(children[index].iter().map(|&child| (child, false)));
        }
        nested
    }
}

/// A tree while region graphs are joined.
#[derive(Default)]
struct Joining {
    paths: Vec<CallPath>,
    /// By parent and region; the parent of a root is `u32::MAX`.
    known: HashMap<(u32, RegionIndex), u32>,
}

impl Joining {
    /// Adds the region graph of a location, and answers the path of each of its nodes. What stands directly below its root may be put below
    /// another path.
    fn join(&mut self, profile: &Profile, compensated: &Compensated, location: usize, put: impl Fn(RegionIndex) -> Option<u32>) -> Vec<u32> {
        let (location, figures) = (&profile.locations[location], &compensated.locations[location]);
        let process = profile.process_of(location);
        let mut paths: Vec<u32> = Vec::with_capacity(location.nodes.len());
        for (node, figures) in location.nodes.iter().zip(&figures.nodes) {
            let parent = node.parent.map(|parent| if parent == 0 { put(node.region).unwrap_or(paths[0]) } else { paths[parent] });
            let path = *self.known.entry((parent.unwrap_or(u32::MAX), node.region)).or_insert_with(|| {
                self.paths.push(CallPath::new(node.region, parent.map(|parent| parent as usize)));
                (self.paths.len() - 1) as u32
            });
            self.paths[path as usize].add(figures, node.calls(), !node.overflow && process.counts_all_of(node.region));
            paths.push(path);
        }
        paths
    }

    /// Under which path each region stands that is called below a root's own callees: under one that begins teams, if there is one.
    fn begun(&self, profile: &Profile) -> HashMap<RegionIndex, u32> {
        let begins_team = |path: usize| profile.regions[self.paths[path].region.0].kind == RegionKind::Threads;
        let mut begun: HashMap<RegionIndex, u32> = HashMap::new();
        for path in &self.paths {
            let Some(parent) = path.parent.filter(|&parent| self.paths[parent].parent.is_some()) else { continue };
            let known = begun.entry(path.region).or_insert(parent as u32);
            if begins_team(parent) && !begins_team(*known as usize) {
                *known = parent as u32;
            }
        }
        begun
    }
}

impl CallPath {
    fn new(region: RegionIndex, parent: Option<usize>) -> Self {
        let nothing = Figure::exact(0.0);
        Self {
            region,
            parent,
            calls: 0,
            calls_exact: true,
            locations: 0,
            measured_s: 0.0,
            exclusive: nothing,
            measured_inclusive_s: 0.0,
            inclusive: nothing,
            measured_wait_s: 0.0,
            wait_s: 0.0,
        }
    }

    fn add(&mut self, figures: &CompensatedNode, calls: u64, calls_exact: bool) {
        self.calls = self.calls.saturating_add(calls);
        self.calls_exact &= calls_exact;
        self.locations += 1;
        self.measured_s += figures.measured_exclusive_s;
        self.exclusive = self.exclusive.added(&figures.exclusive);
        self.measured_inclusive_s += figures.measured_inclusive_s;
        self.inclusive = self.inclusive.added(&figures.inclusive);
        self.measured_wait_s += figures.measured_wait_s;
        self.wait_s += figures.wait_s;
    }
}
