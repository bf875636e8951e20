//! The nodes of one location: call paths, with their batches and partners.

use std::collections::HashMap;

use tare_format::description::RegionKind;
use tare_format::graph::{
    BATCHES, BatchRecord, BatchSums, COLD_NODES, ColdNode, LocationRecord, MAX_BATCHES, MAX_NODES, MAX_PEERS, NODE_FOLDED, NODE_HOOK, NODE_LEAF,
    NODE_OVERFLOW, NODE_USER, NODES, Node as RawNode, PEER_HELD, PEERS, PeerRecord,
};
use tare_format::metrics::{VALUES, ValuesRecord};

use super::{Image, NO_DESCRIPTION, Reader, cost, record};
use crate::model::{Batches, Messages, Node, Peer, RegionIndex};

impl Reader<'_, '_> {
    /// The region graph: nodes that are published, in the order of the file, and where each of the file's stands among
    /// them. The root is always there.
    pub(super) fn nodes(&mut self, arena: u64, location: &LocationRecord) -> (Vec<Node>, Vec<Option<usize>>) {
        let overflow = MAX_NODES - 1;
        let count = location.nodes.min(overflow);
        let last = (location.nodes > overflow || location.overflow_calls > 0).then_some(overflow);
        let mut places = vec![None; count as usize];
        // Grown step by step it would be copied again and again, which is half of the time that an answer takes.
        let mut nodes = Vec::with_capacity(count as usize + 1);
        for index in (0..count).chain(last) {
            let Some(raw) = self.record(arena + NODES, u64::from(index), RawNode::SIZE, RawNode::from_bytes) else {
                break;
            };
            if raw.region == 0 && index != 0 {
                continue;
            }
            let parent = if index == 0 { None } else { Some(self.parent(raw.parent, &places)) };
            if let Some(place) = places.get_mut(index as usize) {
                *place = Some(nodes.len());
            }
            let node = self.node(arena, index, &raw, location);
            nodes.push(Node { parent, ..node });
        }
        if nodes.is_empty() {
            let region = self.root_region();
            nodes.push(Node { region, ..Node::default() });
        }
        (nodes, places)
    }

    /// Where a node's parent stands in the model; the root for one that cannot be.
    fn parent(&mut self, parent: u32, places: &[Option<usize>]) -> usize {
        places.get(parent as usize).copied().flatten().unwrap_or_else(|| {
            self.damaged += 1;
            0
        })
    }

    fn node(&mut self, arena: u64, index: u32, raw: &RawNode, location: &LocationRecord) -> Node {
        let cold = self
            .record(arena + COLD_NODES, u64::from(index), ColdNode::SIZE, ColdNode::from_bytes)
            .or_else(|| ColdNode::from_bytes(&[0; ColdNode::SIZE]));
        let overflow = raw.flags & NODE_OVERFLOW != 0 || index == MAX_NODES - 1;
        let mut node = Node {
            region: self.region(index, raw, overflow),
            parent: None,
            on_calls: raw.calls,
            off_calls: off_calls(raw),
            exclusive: raw.exclusive,
            inclusive: raw.inclusive,
            cost: cost(raw.cost),
            leaf: raw.flags & NODE_LEAF != 0,
            hooked: raw.flags & (NODE_HOOK | NODE_USER) != 0,
            folded: raw.flags & NODE_FOLDED != 0,
            overflow,
            contradicted: location.contradicted_at.iter().find(|&&at| at as u32 == index + 1).map_or(0, |at| at >> 32),
            ..Node::default()
        };
        if let Some((arena, count)) = self.values {
            let raw = record(self.bytes, arena + VALUES, u64::from(index), ValuesRecord::SIZE, ValuesRecord::from_bytes);
            node.values = raw.map_or_else(|| vec![0; count], |raw| raw.values[..count].to_vec());
        }
        if let Some(cold) = cold {
            node.tool_ticks = cold.tool_ticks;
            node.wait_ticks = cold.wait_ticks;
            node.virtual_wait_ticks = cold.virtual_wait_ticks;
            node.delay_gain = cold.delay_gain;
            node.messages = Messages { count: cold.messages, bytes: cold.bytes, unpaired: cold.unpaired };
            node.batches = self.batches(arena, cold.batch_record, index, location);
            node.peers = self.peers(arena, cold.first_peer, location);
        }
        node
    }

    fn region(&mut self, index: u32, raw: &RawNode, overflow: bool) -> RegionIndex {
        if index == 0 {
            return self.root_region();
        }
        if overflow {
            return self.regions.made_up(RegionKind::Program, "[beyond the limit of nodes]", &self.executable);
        }
        self.region_with_id(raw.region)
    }

    pub(super) fn region_with_id(&mut self, id: u32) -> RegionIndex {
        let number_in = |image: &Image| id.checked_sub(image.record.id_base).filter(|number| (1..=image.record.regions).contains(number));
        let place = self.images.iter().find_map(|image| Some((image.description, image.record.identity, number_in(image)?)));
        let known = place.and_then(|(description, identity, number)| match identity {
            NO_DESCRIPTION => self.named(number),
            _ => self.regions.of_image(description?, number),
        });
        known.unwrap_or_else(|| {
            let name = format!("[region {} without description]", id);
            self.regions.made_up(RegionKind::Function, &name, &self.executable)
        })
    }

    fn root_region(&mut self) -> RegionIndex {
        self.regions.made_up(RegionKind::Program, "program", &self.executable)
    }

    fn batches(&mut self, arena: u64, place: u32, node: u32, location: &LocationRecord) -> Option<Box<Batches>> {
        let index = place.checked_sub(1)?;
        if index >= location.batches.min(MAX_BATCHES) {
            self.damaged += 1;
            return None;
        }
        let raw = self.record(arena + BATCHES, u64::from(index), BatchRecord::SIZE, BatchRecord::from_bytes)?;
        if raw.node != node {
            self.damaged += 1;
            return None;
        }
        Some(Box::new(Batches {
            on: BatchSums::from_bytes(&raw.on)?,
            off: BatchSums::from_bytes(&raw.off)?,
            off_twice: BatchSums::from_bytes(&raw.off_twice)?,
            off_cost: cost(raw.off_cost),
            first_calls: raw.first_calls,
            first_ticks: raw.first_ticks,
        }))
    }

    /// A list of partners. Each record belongs to one list, so all lists of a location together are no
    /// longer than its table, in damaged files too.
    fn peers(&mut self, arena: u64, first: u32, location: &LocationRecord) -> Vec<Peer> {
        let count = location.peers.min(MAX_PEERS);
        let (mut peers, mut held) = (Vec::new(), Vec::new());
        let mut place = first;
        while let Some(index) = place.checked_sub(1) {
            if index >= count || self.peers_read >= count {
                self.damaged += 1;
                break;
            }
            self.peers_read += 1;
            let Some(raw) = self.record(arena + PEERS, u64::from(index), PeerRecord::SIZE, PeerRecord::from_bytes) else {
                break;
            };
            if raw.peer & PEER_HELD == 0 {
                peers.push(peer(&raw));
            } else {
                held.push(raw);
            }
            place = raw.next;
        }
        add_held(&mut peers, &held);
        peers
    }
}

/// Calls while off: of a batch under way, only those that have come. Below zero is a call that found none left, and is not
/// of this batch.
fn off_calls(raw: &RawNode) -> u64 {
    raw.off_calls.saturating_add_signed(-i64::from(raw.left.max(0)))
}

/// Adds to partners what sends to them waited.
fn add_held(peers: &mut Vec<Peer>, held: &[PeerRecord]) {
    if held.is_empty() {
        return;
    }
    let mut places: HashMap<u32, usize> = peers.iter().enumerate().map(|(place, peer)| (peer.rank, place)).collect();
    for raw in held {
        let rank = raw.peer & !PEER_HELD;
        let place = *places.entry(rank).or_insert(peers.len());
        if place == peers.len() {
            peers.push(Peer { rank, ..Peer::default() });
        }
        let peer = &mut peers[place];
        peer.held = peer.held.saturating_add(raw.wait);
        peer.virtual_held = peer.virtual_held.saturating_add(raw.virtual_wait);
        peer.delay_gain = peer.delay_gain.saturating_add(raw.delay_gain);
    }
}

fn peer(raw: &PeerRecord) -> Peer {
    Peer {
        rank: raw.peer,
        sent: raw.sent,
        received: raw.received,
        bytes: raw.bytes,
        transmission: raw.transmission,
        wait: raw.wait,
        virtual_wait: raw.virtual_wait,
        held: 0,
        virtual_held: 0,
        delay_gain: raw.delay_gain,
    }
}
