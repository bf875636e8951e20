//! What makes ranks late: the work by which those that others wait for come later than these.
//!
//! It is looked for on the wait's own call path, within its caller first, then within what called that, and so on up to the whole
//! run. Within such a scope ranks are late by what they spend there more than the others, other waits included. So a subtree that
//! does not hold the wait makes nobody later than by its own inclusive time: where the others waited in it for what one of them did, all
//! left it together. A region is named only where its excess, so bounded, makes up a good part of the waiting.
//!
//! Threads of a team are compared with one another in the same way, within what the team does together.

use std::collections::{BTreeMap, HashMap, HashSet};

use tare_profile::{Profile, RegionIndex, RegionKind};

use crate::Compensated;
use crate::whole::peers::Peers;
use crate::whole::starts_or_ends_mpi;
use crate::whole::tree::CallTree;
use crate::whole::waits::open_region;

/// A region is called the cause if it explains at least this part of the waiting.
const EXPLAINS: f64 = 0.3;
/// A caller of the cause is named if the cause's other calls make those that are late later, or earlier, by this part of that at most.
const ELSEWHERE: f64 = 0.2;

/// A region in which some ranks, or threads of teams, spend more time than the others: those for which others wait; where no few ranks are waited for,
/// those that come later than all others.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// Who spends more, by rank or number of the thread.
    pub late: Vec<u32>,
    /// Which.
    pub region: RegionIndex,
    /// Within which region, where the cause is only what is called there, directly or not.
    pub within: Option<RegionIndex>,
    /// What calls it where they do, where it is called from elsewhere as well and that is alike.
    pub caller: Option<RegionIndex>,
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
    pub(super) peers: &'a Peers,
}

/// A wait whose cause is looked for.
pub(super) struct Wait {
    /// Which paths it stands on.
    is_here: Vec<bool>,
    /// All waiting there.
    pub(super) seconds: f64,
}

impl Wait {
    /// In an operation that a region calls itself.
    pub(super) fn called_by(tree: &CallTree, caller: Option<RegionIndex>, operation: RegionIndex, seconds: f64) -> Self {
        let caller_of = |path: usize| tree.paths[path].parent.map(|parent| tree.paths[parent].region);
        Self::of(tree, operation, seconds, |path| caller_of(path) == caller)
    }

    /// In an operation that a function calls, from whatever part of it; or any, without one.
    pub(super) fn in_function(profile: &Profile, tree: &CallTree, function: Option<RegionIndex>, operation: RegionIndex, seconds: f64) -> Self {
        Self::of(tree, operation, seconds, |path| function.is_none() || tree.wholes_above(profile, path).next() == function)
    }

    fn of(tree: &CallTree, operation: RegionIndex, seconds: f64, is_called: impl Fn(usize) -> bool) -> Self {
        let is_here = tree.paths.iter().enumerate().map(|(path, about)| about.region == operation && is_called(path));
        Self { is_here: is_here.collect(), seconds }
    }
}

impl Search<'_> {
    /// Why ranks wait somewhere for those that are awaited; for those that come last where these are none.
    pub(super) fn cause(&self, wait: &Wait, awaited: &[u32]) -> Option<Cause> {
        self.within(&Scopes::around(self.tree, wait), wait, awaited)
    }

    /// Why threads of teams that meet somewhere wait for those that are awaited; for those that come last where these are none.
    pub(super) fn cause_in_team(&self, wait: &Wait, awaited: &[u32]) -> Option<Cause> {
        self.within(&Scopes::of_team(self.profile, self.tree, wait), wait, awaited)
    }

    /// Why those wait that began teams until these are done: by what the last ones took longer.
    pub(super) fn cause_of_end(&self, wait: &Wait, waiting: &[u32]) -> Option<Cause> {
        let scopes = Scopes::below(self.tree, wait);
        let late = self.last(self.spent(&scopes).first()?)?;
        if late.iter().any(|one| waiting.contains(one)) {
            return None;
        }
        self.cause_within(0, &scopes, &Excess::of(self, &scopes, &late, |one| waiting.contains(&one))?, wait)
    }

    fn within(&self, scopes: &Scopes, wait: &Wait, awaited: &[u32]) -> Option<Cause> {
        if !awaited.is_empty() {
            let excess = Excess::of_all_others(self, scopes, awaited)?;
            return (0..scopes.searched).find_map(|scope| self.cause_within(scope, scopes, &excess, wait));
        }
        let spent = self.spent(scopes);
        (0..scopes.searched).find_map(|scope| {
            let late = self.last(&spent[scope])?;
            let excess = Excess::of_all_others(self, scopes, &late)?;
            self.cause_within(scope, scopes, &excess, wait)
        })
    }

    /// What each peer did besides waiting: seconds by number.
    pub(super) fn worked(&self) -> Vec<(u32, f64)> {
        let mut worked = self.peers.sums();
        for (at, (location, figures)) in self.profile.locations.iter().zip(&self.compensated.locations).enumerate() {
            let of_program = location.nodes.iter().zip(&figures.nodes).filter(|(node, _)| !starts_or_ends_mpi(&self.profile.region_of(node).name));
            let seconds = of_program.map(|(_, figures)| figures.exclusive.value - figures.wait_s).sum();
            self.peers.add(&mut worked, at, seconds);
        }
        self.peers.numbered(&worked).collect()
    }

    /// What each peer spends within each scope but for the wait itself.
    fn spent(&self, scopes: &Scopes) -> Vec<Vec<f64>> {
        let mut spent = vec![self.peers.sums(); scopes.count];
        self.each_node(|location, _, path, seconds| {
            if !scopes.is_wait[path] {
                self.peers.add(&mut spent[scopes.of_path[path]], location, seconds);
            }
        });
        for scope in 1..scopes.count {
            let (inner, outer) = spent.split_at_mut(scope);
            outer[0].iter_mut().zip(&inner[scope - 1]).for_each(|(outer, inner)| *outer += inner);
        }
        spent
    }

    /// Those ahead of the mean by half as much as the first at least, by number; `None` where that is more than half of all.
    fn last(&self, spent: &[f64]) -> Option<Vec<u32>> {
        let of_peers = self.peers.numbered(spent);
        let mean = of_peers.clone().map(|(_, seconds)| seconds).sum::<f64>() / self.peers.count as f64;
        let most = of_peers.clone().map(|(_, seconds)| seconds).fold(f64::NEG_INFINITY, f64::max) - mean;
        let mut late: Vec<u32> = of_peers.filter(|(_, seconds)| seconds - mean >= 0.5 * most).map(|(number, _)| number).collect();
        late.sort_unstable();
        (most > 0.0 && late.len() * 2 <= self.peers.count).then_some(late)
    }

    /// Calls `each` with location, number, path and compensated exclusive seconds of each node of a peer, but for what members of teams wait where they
    /// are. Waits are those that have ended: what a rank has been in since its last event, and perhaps did not come out of, made none of them.
    fn each_node(&self, mut each: impl FnMut(usize, u32, usize, f64)) {
        for (at, ((location, figures), paths)) in
            self.profile.locations.iter().zip(&self.compensated.locations).zip(&self.tree.of_location).enumerate()
        {
            let Some(number) = self.peers.number(at) else { continue };
            let open = open_region(self.profile, location);
            for (index, (figures, &path)) in figures.nodes.iter().zip(paths).enumerate() {
                let since = open.filter(|(node, _)| *node == index).map_or(0.0, |(_, seconds)| seconds);
                let idle = if self.kind(location.nodes[index].region).is_wrapped() { 0.0 } else { figures.wait_s };
                each(at, number, path as usize, figures.exclusive.value - since.max(idle));
            }
        }
    }

    fn cause_within(&self, scope: usize, scopes: &Scopes, excess: &Excess<'_>, wait: &Wait) -> Option<Cause> {
        let inside = |path: &usize| scopes.of_path[*path] <= scope;
        let late = (0..self.tree.paths.len()).filter(inside).map(|path| excess.own[path]).sum::<f64>();
        let mut by_region: HashMap<RegionIndex, f64> = HashMap::new();
        for path in (0..self.tree.paths.len()).filter(inside).filter(|&path| self.is_work(path)) {
            *by_region.entry(self.tree.paths[path].region).or_default() += excess.own[path].min(excess.bound[path].max(0.0));
        }
        let first = |one: &(RegionIndex, f64), other: &(RegionIndex, f64)| one.1.total_cmp(&other.1).then_with(|| other.0.cmp(&one.0));
        let (region, more) = by_region.into_iter().max_by(first)?;
        let explains = (more.min(late) * excess.others / wait.seconds).min(1.0);
        if explains < EXPLAINS {
            return None;
        }
        let of_region = |path: &usize| self.tree.paths[*path].region == region;
        let (caller, more, rest) = self.by_caller(region, (0..self.tree.paths.len()).filter(|path| inside(path) && of_region(path)), excess);
        let is_elsewhere = (0..self.tree.paths.len()).any(|path| of_region(&path) && !inside(&path));
        let within = scopes.names[scope].filter(|within| is_elsewhere && *within != region && Some(*within) != caller);
        let ahead = if rest > 0.0 { more / rest } else { f64::INFINITY };
        Some(Cause { late: excess.late.to_vec(), region, within, caller, ahead, explains })
    }

    /// What late peers spend more on paths of a region, and what the others spend there: by what calls it, where it is called from several and
    /// hardly any of that lies elsewhere, or of all.
    fn by_caller(&self, region: RegionIndex, paths: impl Iterator<Item = usize>, excess: &Excess<'_>) -> (Option<RegionIndex>, f64, f64) {
        let mut of_callers: BTreeMap<Option<RegionIndex>, (f64, f64)> = BTreeMap::new();
        for path in paths {
            let caller = self.caller_of(path, region);
            let sums = of_callers.entry(caller).or_default();
            *sums = (sums.0 + excess.own[path], sums.1 + excess.rest[path]);
        }
        let (more, rest) = of_callers.values().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let most = of_callers.iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0)).filter(|_| of_callers.len() > 1);
        match most {
            Some((&caller, of_caller)) if (more - of_caller.0).abs() <= ELSEWHERE * of_caller.0 => (caller, of_caller.0, of_caller.1),
            _ => (None, more, rest),
        }
    }

    /// What calls a region on a path; of a part of a function, what calls the function.
    fn caller_of(&self, path: usize, region: RegionIndex) -> Option<RegionIndex> {
        let mut whole = self.tree.wholes_above(self.profile, path);
        let function = if self.kind(region).is_part() { whole.next()? } else { region };
        whole.find(|&above| above != function)
    }

    fn kind(&self, region: RegionIndex) -> RegionKind {
        self.profile.regions[region.0].kind
    }

    fn is_work(&self, path: usize) -> bool {
        !matches!(self.kind(self.tree.paths[path].region), RegionKind::Mpi | RegionKind::Threads | RegionKind::Program)
    }
}

/// The parts of the call tree around a wait, each within the next: what its caller holds, what that one's caller holds, and so on;
/// the last holds all.
struct Scopes {
    count: usize,
    /// Among how many of them, from the first on, a cause is looked for.
    searched: usize,
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
    fn around(tree: &CallTree, wait: &Wait) -> Self {
        let scopes = Self::grown(tree, parents(tree, &indices(&wait.is_here)), wait, |_| true);
        Self { searched: scopes.count, ..scopes }
    }

    /// Within what a team does together: outward as far as to what its threads begin with.
    fn of_team(profile: &Profile, tree: &CallTree, wait: &Wait) -> Self {
        let others = profile.locations.iter().filter(|location| location.thread > 0);
        let first = others.flat_map(|location| location.nodes.iter().filter(|node| node.parent == Some(0)).map(|node| node.region));
        let first: HashSet<RegionIndex> = first.collect();
        let goes_on = |roots: &[usize]| !roots.iter().any(|&root| first.contains(&tree.paths[root].region));
        Self::grown(tree, parents(tree, &indices(&wait.is_here)), wait, goes_on)
    }

    /// What is called from where the wait is.
    fn below(tree: &CallTree, wait: &Wait) -> Self {
        Self::grown(tree, indices(&wait.is_here), wait, |_| false)
    }

    fn grown(tree: &CallTree, mut roots: Vec<usize>, wait: &Wait, goes_on: impl Fn(&[usize]) -> bool) -> Self {
        let paths = &tree.paths;
        let is_wait = wait.is_here.clone();
        let mut leads_to_wait = is_wait.clone();
        let mut of_path = vec![usize::MAX; paths.len()];
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
            roots = if goes_on(&roots) { parents(tree, &roots) } else { Vec::new() };
        }
        let searched = names.len();
        names.push(None);
        for path in 0..paths.len() {
            let above = paths[path].parent.map_or(names.len() - 1, |parent| of_path[parent]);
            of_path[path] = of_path[path].min(above);
        }
        Self { count: names.len(), searched, of_path, names, leads_to_wait, is_wait }
    }
}

fn indices(is_wait: &[bool]) -> Vec<usize> {
    (0..is_wait.len()).filter(|&path| is_wait[path]).collect()
}

fn parents(tree: &CallTree, paths: &[usize]) -> Vec<usize> {
    paths.iter().filter_map(|&path| tree.paths[path].parent).collect()
}

/// What late peers spend more than others, mean against mean.
struct Excess<'a> {
    late: &'a [u32],
    /// How many others.
    others: f64,
    /// On each path exclusively; the wait itself counts nothing.
    own: Vec<f64>,
    /// The mean of the others there.
    rest: Vec<f64>,
    /// How much later each path can have made them at most: the least inclusive excess of what calls it and does not lead to the wait.
    bound: Vec<f64>,
}

impl<'a> Excess<'a> {
    fn of_all_others(search: &Search<'_>, scopes: &Scopes, late: &'a [u32]) -> Option<Self> {
        Self::of(search, scopes, late, |one| late.binary_search(&one).is_err())
    }

    /// Against those others that `counts`.
    fn of(search: &Search<'_>, scopes: &Scopes, late: &'a [u32], counts: impl Fn(u32) -> bool) -> Option<Self> {
        let paths = &search.tree.paths;
        let few = late.len() as f64;
        let others = search.peers.numbers().filter(|&number| counts(number)).count() as f64;
        if few == 0.0 || others <= 0.0 {
            return None;
        }
        let (mut own, mut rest) = (vec![0.0; paths.len()], vec![0.0; paths.len()]);
        search.each_node(|_, number, path, seconds| match late.binary_search(&number) {
            _ if scopes.is_wait[path] => {}
            Ok(_) => own[path] += seconds / few,
            Err(_) if counts(number) => rest[path] += seconds / others,
            Err(_) => {}
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
        Some(Self { late, others, own, rest, bound })
    }
}
