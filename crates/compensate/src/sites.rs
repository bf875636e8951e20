//! What is left of the probes of a region while it is switched off: two instructions that do nothing, or two calls of hooks that return at once.
//!
//! Nobody counts those calls. They are taken to have come as often as before: from the start on, or as in the batch after which the region went; and
//! no oftener than as in that batch for as long as their caller ran. What the instructions took is time of that caller, which may have been shorter by it.

use std::collections::HashMap;
use tare_profile::{Location, Node, Process, Profile, Switch};

use crate::total::measured_inclusive;

/// Seconds that the two sites take in a call: 0.86 ns on a Xeon of 2023 (docs/probes.md).
const PAIR_OF_SITES_S: f64 = 0.86e-9;
/// The part of a pair of hooks in a hot loop that is left of one that returns at once (12.7 of some 50 ns there).
const PART_OF_HOOKS: f64 = 0.25;

/// Seconds between the least and the most that sites took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OffSites {
    /// Had calls come as seldom as they ever did.
    pub low_s: f64,
    /// Had they come as often.
    pub high_s: f64,
}

impl OffSites {
    pub(crate) fn add(&mut self, other: Self) {
        self.low_s += other.low_s;
        self.high_s += other.high_s;
    }
}

/// What the sites of a location's nodes took, each with the node's place; those that were never off are left out.
pub(crate) fn of_location(profile: &Profile, location: &Location) -> Vec<(usize, OffSites)> {
    let process = profile.process_of(location);
    let mut offs: HashMap<usize, Vec<&Switch>> = HashMap::new();
    for switch in process.switches.iter().filter(|switch| switch.off && switch.at_s > 0.0) {
        offs.entry(switch.region.0).or_default().push(switch);
    }
    if offs.is_empty() {
        return Vec::new();
    }
    let inclusive = measured_inclusive(location);
    let of_node = |(index, node): (usize, &Node)| {
        let switches = offs.get(&node.region.0)?;
        let caller_s = process.clock.seconds(inclusive[node.parent?]);
        let mut sum = OffSites::default();
        for switch in switches {
            sum.add(of_switch(process, switch, node, caller_s));
        }
        (sum.high_s > 0.0).then_some((index, sum))
    };
    location.nodes.iter().enumerate().filter_map(of_node).collect()
}

/// What the sites of a node took between a switch and the next one of its region, or the end.
fn of_switch(process: &Process, switch: &Switch, node: &Node, caller_s: f64) -> OffSites {
    let again = process.switches.iter().find(|other| !other.off && other.region == switch.region && other.at_s >= switch.at_s);
    let lasted_s = (again.map_or(process.lifetime_s, |other| other.at_s) - switch.at_s).max(0.0);
    let cost_s = if node.hooked { process.clock.seconds(process.hot_hook_cost) * PART_OF_HOOKS } else { PAIR_OF_SITES_S };
    // How much oftener than before the calls came in the end, on the path that led to the switch.
    let hurry = switch.period_s.filter(|_| switch.calls > 0).map_or(1.0, |period| switch.at_s / (period * switch.calls as f64));
    let as_before = node.calls() as f64 / switch.at_s * lasted_s;
    let most = switch.period_s.map_or(f64::INFINITY, |period| caller_s / period);
    let [low_s, high_s] = [hurry.min(1.0), hurry.max(1.0)].map(|hurry| (as_before * hurry).min(most) * cost_s);
    OffSites { low_s, high_s }
}
