//! What the regions of a location counted over all their call paths: for questions that follow no path. A location has many times as many
//! paths as regions, and to make a node of each takes most of the time of an answer.

use tare_format::graph::LocationRecord;

use super::Reader;
use super::nodes::{Nodes, Places, all_of, is_overflow, off_calls};
use crate::model::{Node, RegionIndex};

impl Reader<'_, '_> {
    /// The root, and below it one node for each region: calls, exclusive times and what was exchanged are sums, and costs are left out.
    pub(super) fn sums(&mut self, arena: u64, location: &LocationRecord) -> Nodes {
        let mut places = Places::of_none(location);
        let mut nodes = vec![Node { region: self.root_region(), ..Node::default() }];
        // By region: where its node stands; the root stands for no other.
        let mut of_region: Vec<usize> = Vec::new();
        let mut events: u64 = 0;
        for index in all_of(location) {
            let Some(raw) = self.raw_node(arena, index) else { break };
            if raw.region == 0 && index != 0 {
                continue;
            }
            let is_overflow = is_overflow(index, &raw);
            let place = if index == 0 { 0 } else { place_of(self.region(index, &raw, is_overflow), &mut of_region, &mut nodes) };
            places.set(index, place);
            if index != 0 {
                events = events.saturating_add(raw.calls.saturating_mul(2));
            }
            let node = &mut nodes[place];
            node.on_calls = node.on_calls.saturating_add(raw.calls);
            node.off_calls = node.off_calls.saturating_add(off_calls(&raw));
            node.exclusive = node.exclusive.saturating_add(raw.exclusive);
            node.overflow |= is_overflow;
            let cold = self.cold_node(arena, index);
            if let Some(exchanged) = cold.and_then(|cold| self.exchanged(arena, &cold, location)) {
                nodes[place].exchanged_mut().add(*exchanged);
            }
        }
        Nodes { nodes, places, events }
    }
}

/// Where the node of a region stands; it is made where there is none.
fn place_of(region: RegionIndex, of_region: &mut Vec<usize>, nodes: &mut Vec<Node>) -> usize {
    if of_region.len() <= region.0 {
        of_region.resize(region.0 + 1, 0);
    }
    if of_region[region.0] == 0 {
        of_region[region.0] = nodes.len();
        nodes.push(Node { region, parent: Some(0), ..Node::default() });
    }
    of_region[region.0]
}
