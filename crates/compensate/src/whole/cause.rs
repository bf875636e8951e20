//! What makes ranks late: the work by which those that others wait for come later than these.
//!
//! It is looked for on the wait's own call path, within its caller first, then within what called that, and so on up to the whole
//! run. Within such a scope ranks are late by what they spend there more than the others, other waits included. So a subtree that
//! does not hold the wait makes nobody later than by its own inclusive time: where the others waited in it for what one of them did, all
//! left it together. A region is named only where its excess, so bounded, makes up a good part of the waiting.

use std::collections::HashMap;

use tare_profile::{Profile, RegionIndex, RegionKind};

use crate::Compensated;
use crate::whole::finding::Ranks;
use crate::whole::tree::CallTree;
use crate::whole::waits::{WaitPlace, open_region};

/// A region is called the cause if it explains at least this part of the waiting.
const EXPLAINS: f64 = 0.3;

/// A region in which some ranks spend more time than the others: those for which others wait; where no few ranks are waited for,
/// those that come later than all others.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// Who spends more, by rank.
    pub ranks: Vec<u32>,
    /// Which.
    pub region: RegionIndex,
    /// Within which region, where the cause is only what is called there, directly or not.
    pub within: Option<RegionIndex>,
    /// By what part of the others' time; infinite where the others spend none.
    pub ahead: f64,
    /// What part of the waiting that makes up, at most all of it.
    pub explains: f64,
}

/// What causes are found from.
pub(super) struct Search<'a> {
    pub(super) profile: &'a Profile,
    pub(super) compensated: &'a Compensated,
    pub(super) tree: &'a CallTree,
    pub(super) ranks: &'a Ranks,
}

impl Search<'_> {
    /// Why ranks wait at a place for those that are awaited; for those that come last where these are none.
    pub(super) fn cause(&self, place: &WaitPlace, awaited: &[u32]) -> Option<Cause> {
        let scopes = Scopes::around(self.tree, place);
        if !awaited.is_empty() {
            let excess = Excess::of(self, &scopes, awaited)?;
            return (0..scopes.count).find_map(|scope| self.cause_within(scope, &scopes, &excess, place));
        }
        let spent = self.spent(&scopes);
        (0..scopes.count).find_map(|scope| {
            let late = self.late_ranks(&spent[scope])?;
            let excess = Excess::of(self, &scopes, &late)?;
            self.cause_within(scope, &scopes, &excess, place)
        })
    }

    /// What each process spends within each scope but for the wait itself.
    fn spent(&self, scopes: &Scopes) -> Vec<Vec<f64>> {
        let mut spent = vec![vec![0.0; self.profile.processes.len()]; scopes.count];
        self.each_node(|process, _, path, seconds| {
            if !scopes.is_wait[path] {
                spent[scopes.of_path[path]][process] += seconds;
            }
        });
        for scope in 1..scopes.count {
            let (inner, outer) = spent.split_at_mut(scope);
            outer[0].iter_mut().zip(&inner[scope - 1]).for_each(|(outer, inner)| *outer += inner);
        }
        spent
    }

    /// Those ahead of the mean by half as much as the first at least, by rank; `None` where that is more than half of all.
    fn late_ranks(&self, spent: &[f64]) -> Option<Vec<u32>> {
        let of_ranks = || self.ranks.of_process.iter().zip(spent).filter_map(|(rank, seconds)| Some(((*rank)?, *seconds)));
        let mean = of_ranks().map(|(_, seconds)| seconds).sum::<f64>() / self.ranks.count as f64;
        let most = of_ranks().map(|(_, seconds)| seconds).fold(f64::NEG_INFINITY, f64::max) - mean;
        let mut late: Vec<u32> = of_ranks().filter(|(_, seconds)| seconds - mean >= 0.5 * most).map(|(rank, _)| rank).collect();
        late.sort_unstable();
        (most > 0.0 && late.len() * 2 <= self.ranks.count).then_some(late)
    }

    /// Calls `each` with process, rank, path and compensated exclusive seconds of each node of a rank. Waits are those that have ended:
    /// what a rank has been in since its last event, and perhaps did not come out of, made none of them.
    fn each_node(&self, mut each: impl FnMut(usize, u32, usize, f64)) {
        for ((location, figures), paths) in self.profile.locations.iter().zip(&self.compensated.locations).zip(&self.tree.of_location) {
            let process = location.process.0;
            let Some(rank) = self.ranks.of_process[process] else { continue };
            let open = open_region(self.profile, location);
            for (index, (figures, &path)) in figures.nodes.iter().zip(paths).enumerate() {
                let since = open.filter(|(node, _)| *node == index).map_or(0.0, |(_, seconds)| seconds);
                each(process, rank, path as usize, figures.exclusive.value - since);
            }
        }
    }

    fn cause_within(&self, scope: usize, scopes: &Scopes, excess: &Excess<'_>, place: &WaitPlace) -> Option<Cause> {
        let inside = |path: &usize| scopes.of_path[*path] <= scope;
        let late = (0..self.tree.paths.len()).filter(inside).map(|path| excess.own[path]).sum::<f64>();
        let mut by_region: HashMap<RegionIndex, f64> = HashMap::new();
        for path in (0..self.tree.paths.len()).filter(inside).filter(|&path| self.is_work(path)) {
            *by_region.entry(self.tree.paths[path].region).or_default() += excess.own[path].min(excess.bound[path].max(0.0));
        }
        let first = |one: &(RegionIndex, f64), other: &(RegionIndex, f64)| one.1.total_cmp(&other.1).then_with(|| other.0.cmp(&one.0));
        let (region, more) = by_region.into_iter().max_by(first)?;
        let others = (self.ranks.count - excess.late.len()) as f64;
        let explains = (more.min(late) * others / place.wait_s).min(1.0);
        if explains < EXPLAINS {
            return None;
        }
        let of_region = |path: &usize| self.tree.paths[*path].region == region;
        let (more, rest) = (0..self.tree.paths.len())
            .filter(|path| inside(path) && of_region(path))
            .fold((0.0, 0.0), |sum, path| (sum.0 + excess.own[path], sum.1 + excess.rest[path]));
        let is_elsewhere = (0..self.tree.paths.len()).any(|path| of_region(&path) && !inside(&path));
        let within = scopes.names[scope].filter(|within| is_elsewhere && *within != region);
        Some(Cause { ranks: excess.late.to_vec(), region, within, ahead: if rest > 0.0 { more / rest } else { f64::INFINITY }, explains })
    }

    fn is_work(&self, path: usize) -> bool {
        !matches!(self.profile.regions[self.tree.paths[path].region.0].kind, RegionKind::Mpi | RegionKind::Threads | RegionKind::Program)
    }
}

/// The parts of the call tree around a wait, each within the next: what its caller holds, what that one's caller holds, and so on;
/// the last holds all.
struct Scopes {
    count: usize,
    /// The smallest scope in which each path lies.
    of_path: Vec<usize>,
    /// The region that is the root of each scope, where it is one.
    names: Vec<Option<RegionIndex>>,
    /// Whether a path is the wait, or leads to it.
    leads_to_wait: Vec<bool>,
    /// Whether a path is the wait itself.
    is_wait: Vec<bool>,
}

impl Scopes {
    fn around(tree: &CallTree, place: &WaitPlace) -> Self {
        let paths = &tree.paths;
        let caller_of = |path: usize| paths[path].parent.map(|parent| paths[parent].region);
        let is_wait: Vec<bool> = (0..paths.len()).map(|path| paths[path].region == place.operation && caller_of(path) == place.caller).collect();
        let mut leads_to_wait = is_wait.clone();
        let mut of_path = vec![usize::MAX; paths.len()];
        let mut roots: Vec<usize> = (0..paths.len()).filter(|&path| is_wait[path]).filter_map(|path| paths[path].parent).collect();
        let mut names = Vec::new();
        while !roots.is_empty() {
            roots.sort_unstable();
            roots.dedup();
            let region = paths[roots[0]].region;
            for &root in &roots {
                of_path[root] = of_path[root].min(names.len());
                leads_to_wait[root] = true;
            }
            names.push(roots.iter().all(|&root| paths[root].region == region).then_some(region));
            roots = roots.iter().filter_map(|&root| paths[root].parent).collect();
        }
        names.push(None);
        for path in 0..paths.len() {
            let above = paths[path].parent.map_or(names.len() - 1, |parent| of_path[parent]);
            of_path[path] = of_path[path].min(above);
        }
        Self { count: names.len(), of_path, names, leads_to_wait, is_wait }
    }
}

/// What late ranks spend more than the others, mean against mean.
struct Excess<'a> {
    late: &'a [u32],
    /// On each path exclusively; the wait itself counts nothing.
    own: Vec<f64>,
    /// The mean of the others there.
    rest: Vec<f64>,
    /// How much later each path can have made them at most: the least inclusive excess of what calls it and does not lead to the wait.
    bound: Vec<f64>,
}

impl<'a> Excess<'a> {
    fn of(search: &Search<'_>, scopes: &Scopes, late: &'a [u32]) -> Option<Self> {
        let paths = &search.tree.paths;
        let (few, others) = (late.len() as f64, search.ranks.count as f64 - late.len() as f64);
        if few == 0.0 || others <= 0.0 {
            return None;
        }
        let (mut own, mut rest) = (vec![0.0; paths.len()], vec![0.0; paths.len()]);
        search.each_node(|_, rank, path, seconds| match late.binary_search(&rank) {
            _ if scopes.is_wait[path] => {}
            Ok(_) => own[path] += seconds / few,
            Err(_) => rest[path] += seconds / others,
        });
        own.iter_mut().zip(&rest).for_each(|(own, rest)| *own -= rest);
        let mut bound = own.clone();
        for path in (0..paths.len()).rev() {
            if let Some(parent) = paths[path].parent {
                bound[parent] += bound[path];
            }
        }
        for path in 0..paths.len() {
            let above = paths[path].parent.map_or(f64::INFINITY, |parent| bound[parent]);
            bound[path] = if scopes.leads_to_wait[path] { f64::INFINITY } else { bound[path].min(above) };
        }
        Some(Self { late, own, rest, bound })
    }
}
