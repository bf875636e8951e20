//! Who exchanged messages with whom, and who waited where.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use tare_profile::{Location, Node, Profile, RegionIndex, RegionKind, SIZE_CLASSES, State};

use crate::figure::Figure;
use crate::whole::starts_or_ends_mpi;
use crate::whole::tree::CallTree;
use crate::{Compensated, Mode};

/// What went from one rank to another.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Exchange {
    /// The rank that sent.
    pub from: u32,
    /// The rank that received.
    pub to: u32,
    /// Messages received, or sent where the receiver's side is not known.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
    /// Of these messages, those of each class of sizes ([`tare_profile::size_class`]).
    pub sizes: [u64; SIZE_CLASSES],
    /// Seconds between sending and the end of receiving.
    pub transmission_s: f64,
    /// Seconds that the receiver waited, as measured.
    pub measured_wait_s: f64,
    /// Seconds that the receiver waited, compensated.
    pub wait_s: f64,
    /// Seconds that the sender waited until the receiver received, as measured.
    pub measured_sender_wait_s: f64,
    /// The same, compensated.
    pub sender_wait_s: f64,
}

impl Exchange {
    /// Adds what went another way, or in another place.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        add_sizes(&mut self.sizes, &other.sizes);
        self.transmission_s += other.transmission_s;
        self.measured_wait_s += other.measured_wait_s;
        self.wait_s += other.wait_s;
        self.measured_sender_wait_s += other.measured_sender_wait_s;
        self.sender_wait_s += other.sender_wait_s;
    }
}

fn add_sizes(sums: &mut [u64; SIZE_CLASSES], sizes: &[u64; SIZE_CLASSES]) {
    sums.iter_mut().zip(sizes).for_each(|(sum, size)| *sum += size);
}

/// What each rank received from each other, sorted by sender and receiver.
#[must_use]
pub fn exchanges(profile: &Profile, compensated: &Compensated) -> Vec<Exchange> {
    joined(profile, compensated, |_, _| vec![()]).into_iter().map(|((), exchange)| exchange).collect()
}

/// The same for each operation, and for each statement, loop and function in which it stands, sorted by these.
#[must_use]
pub fn exchanges_by_region(profile: &Profile, compensated: &Compensated) -> Vec<(RegionIndex, Exchange)> {
    joined(profile, compensated, |location, node| {
        let mut regions = vec![location.nodes[node].region];
        for above in std::iter::successors(location.nodes[node].parent, |&index| location.nodes[index].parent) {
            let region = location.nodes[above].region;
            if !regions.contains(&region) {
                regions.push(region);
            }
            if profile.regions[region.0].kind == RegionKind::Function {
                break;
            }
        }
        regions
    })
}

/// What each rank received from each other, for each of the keys that a node has.
fn joined<K: Copy + Ord + Hash>(profile: &Profile, compensated: &Compensated, keys: impl Fn(&Location, usize) -> Vec<K>) -> Vec<(K, Exchange)> {
    let mut received: HashMap<(K, u32, u32), Exchange> = HashMap::new();
    let mut sent: HashMap<(K, u32, u32), Exchange> = HashMap::new();
    let is_compensated = compensated.mode == Mode::Parallel;
    for location in &profile.locations {
        let process = profile.process_of(location);
        let Some(own) = process.rank else { continue };
        let seconds = |ticks: u64| process.clock.seconds(ticks as f64);
        for (index, node) in location.nodes.iter().enumerate().filter(|(_, node)| !node.exchanged().peers.is_empty()) {
            for (key, peer) in keys(location, index).into_iter().flat_map(|key| node.exchanged().peers.iter().map(move |peer| (key, peer))) {
                // A record holds the bytes of both ways together.
                let bytes = |one_way| share_of(peer.bytes, one_way, peer.sent.saturating_add(peer.received));
                if peer.received > 0 || peer.wait > 0 {
                    let cell = received.entry((key, peer.rank, own)).or_default();
                    cell.messages += peer.received;
                    cell.bytes += bytes(peer.received);
                    add_sizes(&mut cell.sizes, &peer.received_sizes);
                    cell.transmission_s += seconds(peer.transmission);
                    cell.measured_wait_s += seconds(peer.wait);
                    cell.wait_s += seconds(if is_compensated { peer.virtual_wait } else { peer.wait });
                }
                if peer.held > 0 {
                    let cell = received.entry((key, own, peer.rank)).or_default();
                    cell.measured_sender_wait_s += seconds(peer.held);
                    cell.sender_wait_s += seconds(if is_compensated { peer.virtual_held } else { peer.held });
                }
                if peer.sent > 0 {
                    let cell = sent.entry((key, own, peer.rank)).or_default();
                    cell.messages += peer.sent;
                    cell.bytes += bytes(peer.sent);
                    add_sizes(&mut cell.sizes, &peer.sent_sizes);
                }
            }
        }
    }
    for (pair, sent) in sent {
        let cell = received.entry(pair).or_default();
        if cell.messages == 0 {
            (cell.messages, cell.bytes, cell.sizes) = (sent.messages, sent.bytes, sent.sizes);
        }
    }
    let mut all: Vec<(K, Exchange)> = received.into_iter().map(|((key, from, to), cell)| (key, Exchange { from, to, ..cell })).collect();
    all.sort_by_key(|(key, cell)| (*key, cell.from, cell.to));
    all
}

/// The part of a record's bytes that went one way.
fn share_of(bytes: u64, one_way: u64, both: u64) -> u64 {
    if both == 0 { 0 } else { (u128::from(bytes) * u128::from(one_way) / u128::from(both)) as u64 }
}

/// A place where ranks wait: an MPI operation and the region that calls it.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitPlace {
    /// The operation.
    pub operation: RegionIndex,
    /// What called it; `None` at a root.
    pub caller: Option<RegionIndex>,
    /// Seconds waited as measured, over all ranks.
    pub measured_wait_s: f64,
    /// Seconds waited, compensated, over all ranks.
    pub wait_s: f64,
    /// How far `wait_s` may be off below.
    pub below_s: f64,
    /// How far it may be off above.
    pub above_s: f64,
    /// Seconds in ended calls of the operation besides waiting, over all ranks.
    pub working: Figure,
    /// Seconds in calls that were open when their process was cut off, by rank: nothing says what part of them was waiting.
    pub cut_off: Vec<(u32, f64)>,
    /// Seconds so far in calls that are open, by rank: what part of them is waiting is known when they return.
    pub open: Vec<(u32, f64)>,
    /// Calls.
    pub calls: u64,
    /// Messages and bytes that were moved, each once, also where both of its ends are calls of this place.
    pub messages: (u64, u64),
    /// What each rank waited, compensated, by rank.
    pub waiters: Vec<(u32, f64)>,
    /// For which ranks, where messages tell; by rank.
    pub awaited: Vec<(u32, f64)>,
    /// Of these seconds, those of sends that waited until the other one received.
    pub held_s: f64,
}

/// The node in which a thread stands, and the seconds for which it has had no event there, or had none when it was cut off.
pub(super) fn open_region(profile: &Profile, location: &Location) -> Option<(usize, f64)> {
    let standing = location.standing?;
    Some((standing.node?, profile.process_of(location).clock.seconds(standing.since as f64)))
}

/// Places of MPI operations, of its start and end only calls that have not returned; those with the longest waits first.
#[must_use]
pub fn wait_places(profile: &Profile, compensated: &Compensated, tree: &CallTree) -> Vec<WaitPlace> {
    let mut places: HashMap<(RegionIndex, Option<RegionIndex>), Sums> = HashMap::new();
    for ((location, figures), paths) in profile.locations.iter().zip(&compensated.locations).zip(&tree.of_location) {
        let process = profile.process_of(location);
        let Some(rank) = process.rank else { continue };
        let open = open_region(profile, location);
        for (index, ((node, figures), &path)) in location.nodes.iter().zip(&figures.nodes).zip(paths).enumerate() {
            let region = profile.region_of(node);
            let is_open = process.is_open() && open.is_some_and(|(node, _)| node == index);
            if region.kind != RegionKind::Mpi || (starts_or_ends_mpi(&region.name) && !is_open) {
                continue;
            }
            let caller = tree.paths[path as usize].parent.map(|parent| tree.paths[parent].region);
            let sums = places.entry((node.region, caller)).or_default();
            sums.measured_wait_s += figures.measured_wait_s;
            sums.wait_s += figures.wait_s;
            sums.below_s += figures.exclusive.value - figures.exclusive.low;
            sums.above_s += figures.exclusive.high - figures.exclusive.value;
            sums.working = sums.working.added(&figures.exclusive);
            if let Some((_, seconds)) = open.filter(|(node, _)| *node == index) {
                sums.working = sums.working.added(&Figure::exact(-seconds));
                if is_open {
                    let calls = if process.state == State::CutOff { &mut sums.cut_off } else { &mut sums.open };
                    *calls.entry(rank).or_default() += seconds;
                }
            }
            sums.calls += node.calls();
            sums.moved.add(rank, node);
            *sums.waiters.entry(rank).or_default() += figures.wait_s;
            for peer in node.exchanged().peers.iter().filter(|peer| peer.wait > 0 || peer.held > 0) {
                let (wait, held) = if compensated.mode == Mode::Parallel { (peer.virtual_wait, peer.virtual_held) } else { (peer.wait, peer.held) };
                *sums.awaited.entry(peer.rank).or_default() += process.clock.seconds(wait.saturating_add(held) as f64);
                sums.held_s += process.clock.seconds(held as f64);
            }
        }
    }
    let mut places: Vec<WaitPlace> = places.into_iter().map(|((operation, caller), sums)| sums.finish(operation, caller)).collect();
    places.sort_by(|one, other| other.wait_s.total_cmp(&one.wait_s).then_with(|| (one.operation, one.caller).cmp(&(other.operation, other.caller))));
    places
}

/// A place while it is summed.
struct Sums {
    measured_wait_s: f64,
    wait_s: f64,
    below_s: f64,
    above_s: f64,
    working: Figure,
    calls: u64,
    moved: Moved,
    cut_off: BTreeMap<u32, f64>,
    open: BTreeMap<u32, f64>,
    waiters: BTreeMap<u32, f64>,
    awaited: BTreeMap<u32, f64>,
    held_s: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            measured_wait_s: 0.0,
            wait_s: 0.0,
            below_s: 0.0,
            above_s: 0.0,
            working: Figure::exact(0.0),
            calls: 0,
            moved: Moved::default(),
            cut_off: BTreeMap::new(),
            open: BTreeMap::new(),
            waiters: BTreeMap::new(),
            awaited: BTreeMap::new(),
            held_s: 0.0,
        }
    }
}

impl Sums {
    fn finish(self, operation: RegionIndex, caller: Option<RegionIndex>) -> WaitPlace {
        let less = Figure { value: -self.wait_s, low: -self.wait_s, high: -self.wait_s, mark: None };
        let working = Figure { mark: self.working.mark, ..self.working.added(&less) };
        WaitPlace {
            operation,
            caller,
            measured_wait_s: self.measured_wait_s,
            wait_s: self.wait_s,
            below_s: self.below_s,
            above_s: self.above_s,
            working,
            calls: self.calls,
            messages: self.moved.messages_and_bytes(),
            cut_off: self.cut_off.into_iter().collect(),
            open: self.open.into_iter().collect(),
            waiters: self.waiters.into_iter().collect(),
            awaited: self.awaited.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect(),
            held_s: self.held_s,
        }
    }
}

/// What the calls of a place moved. A message that was sent in one of them and received in another has two records.
#[derive(Default)]
struct Moved {
    /// By sender and receiver: messages and bytes as senders counted them, and as receivers did.
    between: HashMap<(u32, u32), [(u64, u64); 2]>,
    /// What has no partner: collectives, and messages for whose partners there was no room.
    others: (u64, u64),
}

impl Moved {
    fn add(&mut self, own: u32, node: &Node) {
        let (mut messages, mut bytes) = (node.exchanged().messages.count, node.exchanged().messages.bytes);
        for peer in &node.exchanged().peers {
            let both = peer.sent.saturating_add(peer.received);
            for (end, pair, count) in [(0, (own, peer.rank), peer.sent), (1, (peer.rank, own), peer.received)] {
                if count > 0 {
                    let side = &mut self.between.entry(pair).or_default()[end];
                    *side = (side.0.saturating_add(count), side.1.saturating_add(share_of(peer.bytes, count, both)));
                }
            }
            (messages, bytes) = (messages.saturating_sub(both), bytes.saturating_sub(peer.bytes));
        }
        self.others = (self.others.0.saturating_add(messages), self.others.1.saturating_add(bytes));
    }

    fn messages_and_bytes(&self) -> (u64, u64) {
        let moved = self.between.values().map(|[sent, received]| sent.max(received));
        moved.fold(self.others, |sum, more| (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1)))
    }
}
