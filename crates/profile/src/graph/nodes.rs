//! The nodes of one location: call paths, with their batches and partners.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use tare_format::description::RegionKind;
use tare_format::graph::{
    BATCHES, BatchRecord, BatchSums, COLD_NODES, ColdNode, CompanyRecord, LocationRecord, MAX_BATCHES, MAX_PATHS, MAX_PEERS, NODE_FOLDED, NODE_HOOK,
    NODE_LEAF, NODE_OVERFLOW, NODE_USER, NODES, Node as RawNode, OVERFLOW, PEER_HELD, PEER_WITHOUT_SIZES, PEERS, PeerRecord,
};
use tare_format::metrics::{VALUES, ValuesRecord};

use super::{Image, MOST_COUNTED, Reader, cost, record};
use crate::exchanged::{Exchanged, Messages, Peer};
use crate::live::{RUNS, open_nodes};
use crate::model::{Batches, Company, Node, RegionIndex};

/// Call paths of a location.
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) places: Places,
    /// An entry and an exit for each call that was on; what damage made of the counts is added up as far as numbers go.
    pub(super) events: u64,
}

/// Where each node of the file stands in the model.
pub(super) struct Places {
    nodes: Vec<u32>,
    overflow: u32,
}

/// What is not in the model.
const NOWHERE: u32 = u32::MAX;

impl Places {
    /// As many as there are nodes, none of which is in the model yet.
    pub(super) fn of_none(location: &LocationRecord) -> Self {
        Self { nodes: vec![NOWHERE; location.nodes.min(OVERFLOW) as usize], overflow: NOWHERE }
    }

    pub(super) fn set(&mut self, node: u32, at: usize) {
        let place = if node == OVERFLOW { Some(&mut self.overflow) } else { self.nodes.get_mut(node as usize) };
        place.into_iter().for_each(|place| *place = at as u32);
    }

    pub(super) fn of(&self, node: u32) -> Option<usize> {
        let place = if node == OVERFLOW { Some(&self.overflow) } else { self.nodes.get(node as usize) };
        place.filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }
}

/// All nodes that are in use, parents before their children: the overflow node, below which those beyond the limit of paths are, stands in
/// front of these.
pub(super) fn all_of(location: &LocationRecord) -> impl ExactSizeIterator<Item = u32> + use<> {
    let count = location.nodes.min(OVERFLOW);
    let has_overflow = location.nodes > MAX_PATHS || location.overflow_calls > 0;
    let paths = if has_overflow { count.min(MAX_PATHS) } else { count };
    (0..count + u32::from(has_overflow)).map(move |at| match at.cmp(&paths) {
        Ordering::Less => at,
        Ordering::Equal => OVERFLOW,
        Ordering::Greater => at - 1,
    })
}

/// Whether a node is the one of all that found no room for a node of their own.
pub(super) fn is_overflow(index: u32, raw: &RawNode) -> bool {
    index == OVERFLOW || raw.flags & NODE_OVERFLOW != 0
}

impl Reader<'_, '_> {
    /// The region graph: of these nodes those that are published, parents before their children. The root is always there.
    pub(super) fn nodes(&mut self, arena: u64, location: &LocationRecord, indices: impl ExactSizeIterator<Item = u32>) -> Nodes {
        let mut places = Places::of_none(location);
        // Grown step by step it would be copied again and again, which is half of the time that an answer takes.
        let mut nodes = Vec::with_capacity(indices.len());
        let mut events: u64 = 0;
        for index in indices {
            let Some(raw) = self.raw_node(arena, index) else { break };
            if raw.region == 0 && index != 0 {
                continue;
            }
            let parent = if index == 0 { None } else { Some(self.parent(raw.parent, &places)) };
            places.set(index, nodes.len());
            if index != 0 {
                events = events.saturating_add(raw.calls.saturating_mul(2));
            }
            let node = self.node(arena, index, parent, &raw, location);
            nodes.push(node);
        }
        if nodes.is_empty() {
            let region = self.root_region();
            nodes.push(Node { region, ..Node::default() });
        }
        for at in location.contradicted_at {
            if let Some(place) = (at as u32).checked_sub(1).and_then(|node| places.of(node)) {
                nodes[place].exchanged_mut().contradicted = at >> 32;
            }
        }
        Nodes { nodes, places, events }
    }

    /// The root and the regions that are open; all nodes where they have to tell which are.
    pub(super) fn open_alone(&mut self, index: u64, arena: u64, location: &LocationRecord) -> Nodes {
        let words = self.last_words(index, location);
        if words.is_none() && self.live.is_some() && location.state == RUNS {
            return self.nodes(arena, location, all_of(location));
        }
        let open = words.and_then(|(words, _)| open_nodes(self.bytes, arena, &words));
        let mut kept = BTreeSet::from([0]);
        for from in open.into_iter().flat_map(|(open, owner)| [open, owner]) {
            let mut at = from;
            while (at < location.nodes || at == OVERFLOW) && kept.insert(at) {
                let raw = record(self.bytes, arena + NODES, u64::from(at), RawNode::SIZE, RawNode::from_bytes);
                at = raw.map_or(0, |raw| raw.parent);
            }
        }
        let mut kept: Vec<u32> = kept.into_iter().collect();
        let is_beyond = |at: u32| at >= MAX_PATHS && at != OVERFLOW;
        kept.sort_by_key(|&at| (is_beyond(at), at));
        self.nodes(arena, location, kept.into_iter())
    }

    /// A node as it stands in the file; it keeps its place, and has no counts, where these are no program's.
    pub(super) fn raw_node(&mut self, arena: u64, index: u32) -> Option<RawNode> {
        let raw = self.record(arena + NODES, u64::from(index), RawNode::SIZE, RawNode::from_bytes)?;
        let is_possible = [raw.calls, raw.off_calls, raw.exclusive.unsigned_abs()].into_iter().all(|count| count < MOST_COUNTED);
        self.damaged += u64::from(!is_possible);
        Some(if is_possible { raw } else { RawNode { calls: 0, off_calls: 0, left: 0, exclusive: 0, inclusive: 0, ..raw } })
    }

    /// What was exchanged and waited at a node; nothing where the counts are no program's.
    pub(super) fn cold_node(&mut self, arena: u64, index: u32) -> Option<ColdNode> {
        let cold = self.record(arena + COLD_NODES, u64::from(index), ColdNode::SIZE, ColdNode::from_bytes)?;
        let counts = [cold.tool_ticks, cold.wait_ticks, cold.virtual_wait_ticks, cold.messages, cold.bytes, cold.unpaired];
        let is_possible = counts.into_iter().all(|count| count < MOST_COUNTED);
        self.damaged += u64::from(!is_possible);
        Some(cold).filter(|_| is_possible)
    }

    /// Where a node's parent stands in the model; the root for one that cannot be.
    fn parent(&mut self, parent: u32, places: &Places) -> usize {
        places.of(parent).unwrap_or_else(|| {
            self.damaged += 1;
            0
        })
    }

    fn node(&mut self, arena: u64, index: u32, parent: Option<usize>, raw: &RawNode, location: &LocationRecord) -> Node {
        let cold = self.cold_node(arena, index).or_else(|| ColdNode::from_bytes(&[0; ColdNode::SIZE]));
        let overflow = is_overflow(index, raw);
        let mut node = Node {
            region: self.region(index, raw, overflow),
            parent,
            on_calls: raw.calls,
            off_calls: off_calls(raw),
            exclusive: raw.exclusive,
            inclusive: raw.inclusive,
            cost: cost(raw.cost),
            leaf: raw.flags & NODE_LEAF != 0,
            hooked: raw.flags & (NODE_HOOK | NODE_USER) != 0,
            folded: raw.flags & NODE_FOLDED != 0,
            overflow,
            ..Node::default()
        };
        if let Some((arena, count)) = self.values {
            let raw = record(self.bytes, arena + VALUES, u64::from(index), ValuesRecord::SIZE, ValuesRecord::from_bytes);
            node.values = raw.map_or_else(|| vec![0; count], |raw| raw.values[..count].to_vec());
        }
        if let Some(cold) = cold {
            node.tool_ticks = cold.tool_ticks;
            node.batches = self.batches(arena, cold.batch_record, index, location);
            node.exchanged = self.exchanged(arena, &cold, location);
        }
        node
    }

    /// `None` where there is nothing, as for most nodes.
    pub(super) fn exchanged(&mut self, arena: u64, cold: &ColdNode, location: &LocationRecord) -> Option<Box<Exchanged>> {
        let counts = cold.wait_ticks | cold.virtual_wait_ticks | cold.delay_gain.cast_unsigned() | cold.messages | cold.bytes | cold.unpaired;
        if counts == 0 && cold.first_peer == 0 {
            return None;
        }
        let peers = self.peers(arena, cold.first_peer, location);
        Some(Box::new(Exchanged {
            wait_ticks: cold.wait_ticks,
            virtual_wait_ticks: cold.virtual_wait_ticks,
            delay_gain: cold.delay_gain,
            messages: Messages { count: cold.messages, bytes: cold.bytes, unpaired: cold.unpaired },
            contradicted: 0,
            peers,
        }))
    }

    pub(super) fn region(&mut self, index: u32, raw: &RawNode, overflow: bool) -> RegionIndex {
        if index == 0 {
            return self.root_region();
        }
        if overflow {
            return self.regions.made_up(RegionKind::Program, "[beyond the limit of call paths]", &self.executable);
        }
        self.region_with_id(raw.region)
    }

    pub(super) fn region_with_id(&mut self, id: u32) -> RegionIndex {
        let number_in = |image: &Image| id.checked_sub(image.record.id_base).filter(|number| (1..=image.record.regions).contains(number));
        let place = self.images.iter().find_map(|image| Some((image.description, image.is_named, number_in(image)?)));
        if let Some((Some(description), _, number)) = place
            && let Some(region) = self.regions.of_image(description, number)
        {
            return region;
        }
        if let Some(&met) = self.met.get(&id) {
            return met;
        }
        let named = place.filter(|(_, is_named, _)| *is_named).and_then(|(.., number)| self.named(number));
        let found = named.unwrap_or_else(|| {
            let name = format!("[region {id} without description]");
            self.regions.made_up(RegionKind::Function, &name, &self.executable)
        });
        self.met.insert(id, found);
        found
    }

    pub(super) fn root_region(&mut self) -> RegionIndex {
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
            diverted: BatchSums::from_bytes(&raw.diverted)?,
            company: self.company(arena, raw.company, node, location).map(Box::new),
            together: raw.together,
            off_cost: cost(raw.off_cost),
            beside: cost(raw.beside),
            first_calls: raw.first_calls,
            first_ticks: raw.first_ticks,
        }))
    }

    fn company(&mut self, arena: u64, place: u32, node: u32, location: &LocationRecord) -> Option<Company> {
        let index = place.checked_sub(1)?;
        if index >= location.batches.min(MAX_BATCHES) {
            self.damaged += 1;
            return None;
        }
        let raw = self.record(arena + BATCHES, u64::from(index), CompanyRecord::SIZE, CompanyRecord::from_bytes)?;
        if raw.node != node {
            self.damaged += 1;
            return None;
        }
        let CompanyRecord { counted, counted_again, all, others, .. } = raw;
        let [on, quiet, twice] = [raw.on, raw.quiet, raw.twice].map(|sums| BatchSums::from_bytes(&sums));
        Some(Company { on: on?, quiet: quiet?, twice: twice?, counted, counted_again, all, others })
    }

    /// A list of partners. Each record belongs to one list, so all lists of a location together are no
    /// longer than its table, in damaged files too.
    fn peers(&mut self, arena: u64, first: u32, location: &LocationRecord) -> Vec<Peer> {
        let most = if self.has_sizes { MAX_PEERS } else { MAX_PEERS * (PeerRecord::SIZE / PEER_WITHOUT_SIZES) as u32 };
        let count = location.peers.min(most);
        let (mut peers, mut held) = (Vec::new(), Vec::new());
        let mut place = first;
        while let Some(index) = place.checked_sub(1) {
            if index >= count || self.peers_read >= count {
                self.damaged += 1;
                break;
            }
            self.peers_read += 1;
            let Some(raw) = self.peer_record(arena, index) else { break };
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

    fn peer_record(&mut self, arena: u64, index: u32) -> Option<PeerRecord> {
        if self.has_sizes {
            return self.record(arena + PEERS, u64::from(index), PeerRecord::SIZE, PeerRecord::from_bytes);
        }
        self.record(arena + PEERS, u64::from(index), PEER_WITHOUT_SIZES, |bytes| {
            let mut whole = [0; PeerRecord::SIZE];
            whole[..PEER_WITHOUT_SIZES].copy_from_slice(bytes.get(..PEER_WITHOUT_SIZES)?);
            PeerRecord::from_bytes(&whole)
        })
    }
}

/// Calls while off: of a batch under way, only those that have come. Below zero is a call that found none left, and is not
/// of this batch.
pub(super) fn off_calls(raw: &RawNode) -> u64 {
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
        sent_sizes: raw.sent_sizes.map(u64::from),
        received_sizes: raw.received_sizes.map(u64::from),
    }
}
