//! How close the probes of a call path stand to those of others.
//!
//! What a pair costs in place is told by switching off the probes of one path while all others are on. Where those of several paths stand
//! so close together that the processor hides them behind the same work, each of them saves by its absence what together they save but
//! once: four pairs in a chain of multiplications cost 12 to 15 ns each on a Zen 4, one by one, and 25 ns together. Where nothing but the
//! path's own probes is near, as in a loop around one function, its batches switch off all that there are.
//!
//! With a budget the others are quiet as well, and a path costs what it does alone.

use tare_profile::{Location, Node, Profile};

/// Pairs in a hot loop, in the time of which a processor works ahead.
const AHEAD: f64 = 4.0;
/// Less nearness than this changes nothing that shows.
const NO_REACH: f64 = 0.05;

/// What stands near the probes of the nodes of a location.
pub(crate) struct Neighbours {
    /// By node, its own ticks: its exclusive time without the tool's, and without what its children took while they were quiet.
    own: Vec<f64>,
    /// By node, calls of itself and its children: as many stretches is its own time in.
    stretches: Vec<u64>,
    /// Ticks in which a processor works ahead.
    ahead: f64,
    /// Whether others are quiet while a path is measured.
    others_are_quiet: bool,
}

impl Neighbours {
    pub(crate) fn of(profile: &Profile, location: &Location) -> Self {
        let process = profile.process_of(location);
        let others_are_quiet = process.budget.is_some();
        let gross = |node: &Node| node.exclusive as f64 - node.tool_ticks as f64;
        let mut own: Vec<f64> = location.nodes.iter().map(gross).collect();
        let mut stretches = vec![0; location.nodes.len()];
        for (index, node) in location.nodes.iter().enumerate() {
            let Some(parent) = node.parent.filter(|_| !profile.region_of(node).kind.is_wrapped()) else { continue };
            stretches[index] += node.calls();
            stretches[parent] += node.calls();
            if node.on_calls > 0 && !others_are_quiet {
                own[parent] -= node.off_calls as f64 * gross(node) / node.on_calls as f64;
            }
        }
        Self { own, stretches, ahead: AHEAD * process.hot_pair_cost, others_are_quiet }
    }

    /// Ticks of a node's own.
    pub(crate) fn own(&self, index: usize) -> f64 {
        self.own[index]
    }

    /// The part of the probes near those of a node, from 0 to 1, that are its own.
    pub(crate) fn alone(&self, location: &Location, index: usize) -> f64 {
        if self.others_are_quiet {
            return 1.0;
        }
        let calls = |node: usize| location.nodes[node].calls() as f64;
        let mut alone = 1.0 - self.company(index, calls(index));
        // As far as its caller's probes are near, so is what is near those.
        let (mut reach, mut below) = (1.0, index);
        while let Some(within) = location.nodes[below].parent.filter(|_| reach > NO_REACH) {
            alone *= 1.0 - reach * self.company(within, calls(below));
            let boundaries = 2.0 * calls(within) / self.stretches(within);
            reach *= self.nearness(within) * boundaries.min(1.0);
            below = within;
        }
        alone
    }

    /// Whether a node is left about as often as it calls another one: what that leaves to be done may then pass behind its own exit.
    pub(crate) fn passes_on(&self, location: &Location, index: usize) -> bool {
        location.nodes[index].parent.is_some_and(|parent| 2 * location.nodes[parent].calls() > location.nodes[index].calls())
    }

    /// Of the probes within the time of a node, the part that are not those of so many calls, as far as they are near.
    fn company(&self, within: usize, calls: f64) -> f64 {
        self.nearness(within) * (1.0 - calls / self.stretches(within)).max(0.0)
    }

    /// How near to one another the probes within the time of a node stand, from 0 to 1.
    fn nearness(&self, within: usize) -> f64 {
        let stretch = self.own[within].max(0.0) / self.stretches(within);
        if stretch > self.ahead { self.ahead / stretch } else { 1.0 }
    }

    fn stretches(&self, within: usize) -> f64 {
        self.stretches[within].max(1) as f64
    }
}
