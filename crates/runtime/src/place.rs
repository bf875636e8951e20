//! The place of a wait in a region graph: what a thread has waited for in a wrapped region, and what it exchanged with whom, also
//! where that gets known only when the region has ended.

use crate::arena::PAGE;
use crate::edges::{Edges, Inserted, key};
use crate::live::{LiveCold, LiveNode, LivePeer, add, add_signed};
use crate::local::Local;
use crate::sys::SignalsBlocked;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::Release};
use tare_format::graph::{MAX_PEERS, PEER_HELD, PEERS, PeerRecord, SIZE_CLASSES, size_class};
use tare_format::ids::Rank;

/// A region of the calling thread, in its path.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(crate) local: Local,
    pub(crate) node: &'static LiveNode,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.node, other.node)
    }
}

impl Eq for Place {}

impl Place {
    /// Counts ticks waited, as measured and in virtual time.
    #[inline]
    pub fn add_wait(&self, measured: u64, in_virtual_time: u64) {
        add(&self.cold().wait_ticks, measured);
        add(&self.cold().virtual_wait_ticks, in_virtual_time);
    }

    /// Counts delay gained (negative: lost) here; changes the thread's delay.
    #[inline]
    pub fn add_delay_gain(&self, ticks: i64) {
        add_signed(&self.cold().delay_gain, ticks);
        add_signed(&self.local.arena.location().delay_gain, ticks);
    }

    /// Adds to what this region exchanged with one partner. Where there is no room for the partner, it is counted by
    /// the location.
    pub fn add_peer(&self, peer: Rank, exchange: &Exchange) {
        let Some(record) = self.peer(peer) else {
            add(&self.local.arena.location().lost_peers, 1);
            return;
        };
        add(&record.sent, exchange.sent);
        add(&record.received, exchange.received);
        add(&record.bytes, exchange.bytes);
        add(&record.transmission, exchange.transmission);
        add(&record.wait, exchange.wait);
        add(&record.virtual_wait, exchange.virtual_wait);
        add_signed(&record.delay_gain, exchange.delay_gain);
        if let Some(size) = exchange.bytes.checked_div(exchange.sent + exchange.received) {
            add_sizes(&record.sent_sizes, exchange.sent, size);
            add_sizes(&record.received_sizes, exchange.received, size);
        }
    }

    /// Adds what a send to one partner waited until that received.
    pub fn add_held(&self, peer: Rank, waited: &Exchange) {
        self.add_peer(Rank(peer.0 | PEER_HELD), waited);
    }

    #[inline]
    pub(crate) fn cold(&self) -> &'static LiveCold {
        self.local.cold_of(self.node)
    }

    /// The record of a partner, found through a table of the thread, or a new one at the list's head.
    fn peer(&self, peer: Rank) -> Option<&'static LivePeer> {
        let arena = self.local.arena;
        let key = key(arena.word_of(self.node), peer.0);
        if let Some(index) = self.local.state.partners().and_then(|partners| partners.find(key)) {
            return Some(arena.peer(index));
        }
        let _signals = SignalsBlocked::new();
        let index = self.new_peer(peer)?;
        let partners = match self.local.state.partners() {
            Some(partners) => partners,
            None => {
                let table = Edges::first_table()?;
                self.local.state.partners.store(table.as_ptr(), Release);
                self.local.state.partners()?
            }
        };
        if let Inserted::Grown(table) = partners.insert(key, index) {
            self.local.state.partners.store(table.as_ptr(), Release);
        }
        Some(arena.peer(index))
    }

    fn new_peer(&self, peer: Rank) -> Option<u32> {
        let (arena, location) = (self.local.arena, self.local.arena.location());
        let index = location.peers.load(Relaxed);
        let ready = &self.local.state.peers_ready;
        if index >= MAX_PEERS {
            return None;
        }
        if index >= ready.load(Relaxed) {
            let offset = PEERS + u64::from(index) * PeerRecord::SIZE as u64;
            if !arena.allocate(offset, PAGE) {
                return None;
            }
            ready.store(index + PAGE as u32 / PeerRecord::SIZE as u32, Relaxed);
        }
        let record = arena.peer(index);
        record.peer.store(peer.0, Relaxed);
        record.next.store(self.cold().first_peer.load(Relaxed), Relaxed);
        location.peers.store(index + 1, Release);
        self.cold().first_peer.store(index + 1, Release);
        Some(index)
    }
}

/// Counts messages of one size. The only writer is the calling thread, and no MPI call may interrupt another one.
fn add_sizes(classes: &[AtomicU32; SIZE_CLASSES], messages: u64, size: u64) {
    let class = &classes[size_class(size)];
    let count = u64::from(class.load(Relaxed)) + messages;
    class.store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
}

/// What passed between this location and one partner in one call. Added field by field to the
/// `PeerRecord` of the partner; not added to the region's own sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes, both ways.
    pub bytes: u64,
    /// Ticks between sending and the end of receiving.
    pub transmission: u64,
    /// Ticks waited.
    pub wait: u64,
    /// Ticks waited in virtual time.
    pub virtual_wait: u64,
    /// Delay gained.
    pub delay_gain: i64,
}
