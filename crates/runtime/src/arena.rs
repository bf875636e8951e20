//! The part of the graph file that belongs to one thread.
//!
//! What always holds: an index is handed out only while its pages are allocated (`…_ready` of the thread
//! state), because touching a hole of a full file system ends the program by a signal.

use crate::live::{LiveBatch, LiveCold, LiveCompany, LiveFrame, LiveLocation, LiveNode, LivePeer};
use crate::sys;
use core::ptr::NonNull;
use tare_format::graph::{
    ARENA, BATCHES, BatchRecord, COLD_NODES, ColdNode, CompanyRecord, FRAMES, MAX_BATCHES, MAX_FRAMES, MAX_PEERS, NODES, Node, OVERFLOW, PEERS,
    PeerRecord,
};

/// Bytes that are allocated together.
pub(crate) const PAGE: u64 = 4096;
/// Frames that are allocated together.
pub(crate) const FRAME_CHUNK: u64 = 4 * PAGE / size_of::<LiveFrame>() as u64;
/// Nodes that are allocated together.
pub(crate) const NODE_CHUNK: u32 = PAGE as u32 / Node::SIZE as u32;

/// A mapped arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arena {
    start: NonNull<u8>,
}

impl Arena {
    /// The arena that is mapped at `start`.
    ///
    /// # Safety
    /// [`ARENA`] bytes, aligned to as many, must be mapped there for writing for as long as the process lives.
    pub(crate) unsafe fn at(start: NonNull<u8>) -> Self {
        Self { start }
    }

    #[inline]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.start
    }

    /// A record at an offset.
    ///
    /// # Safety
    /// The offset must be that of a record of type `T` within the arena.
    #[inline]
    unsafe fn record<T>(self, offset: u64) -> &'static T {
        // SAFETY: within the arena, as the caller vouches.
        let record = unsafe { self.start.add(offset as usize) };
        // SAFETY: aligned as arenas and tables are, mapped for good, and made of atomics alone.
        unsafe { record.cast::<T>().as_ref() }
    }

    #[inline]
    pub(crate) fn location(self) -> &'static LiveLocation {
        // SAFETY: the record stands at the arena's start.
        unsafe { self.record(0) }
    }

    /// Frame number `index` (clamped to the table).
    #[inline]
    pub(crate) fn frame(self, index: u64) -> &'static LiveFrame {
        let index = index.min(MAX_FRAMES - 1);
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(FRAMES + index * size_of::<LiveFrame>() as u64) }
    }

    /// Node number `index` (clamped to the table, whose last is the overflow node).
    #[inline]
    pub(crate) fn node(self, index: u32) -> &'static LiveNode {
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(NODES + u64::from(index.min(OVERFLOW)) * Node::SIZE as u64) }
    }

    #[inline]
    pub(crate) fn cold(self, index: u32) -> &'static LiveCold {
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(COLD_NODES + u64::from(index.min(OVERFLOW)) * ColdNode::SIZE as u64) }
    }

    pub(crate) fn batch(self, index: u32) -> &'static LiveBatch {
        let index = u64::from(index.min(MAX_BATCHES - 1));
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(BATCHES + index * BatchRecord::SIZE as u64) }
    }

    /// A record of the same table that is of a path's batches in company.
    pub(crate) fn company(self, index: u32) -> &'static LiveCompany {
        let index = u64::from(index.min(MAX_BATCHES - 1));
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(BATCHES + index * CompanyRecord::SIZE as u64) }
    }

    #[inline]
    pub(crate) fn peer(self, index: u32) -> &'static LivePeer {
        let index = u64::from(index.min(MAX_PEERS - 1));
        // SAFETY: the clamped index is within the table.
        unsafe { self.record(PEERS + index * PeerRecord::SIZE as u64) }
    }

    /// The index of a node of this arena.
    #[inline]
    pub(crate) fn index_of(self, node: &LiveNode) -> u32 {
        let offset = core::ptr::from_ref(node).addr().wrapping_sub(self.start.addr().get()) as u64;
        ((offset.saturating_sub(NODES) / Node::SIZE as u64) as u32).min(OVERFLOW)
    }

    /// The word that stands for a node in site cache and edges: the low half of its address.
    #[inline]
    pub(crate) fn word_of(self, node: &LiveNode) -> u32 {
        core::ptr::from_ref(node).addr() as u32
    }

    /// What is added to such a word to make an address; the same for all nodes of an aligned arena.
    #[inline]
    pub(crate) fn high_half(self) -> u64 {
        self.start.addr().get() as u64 & !u64::from(u32::MAX)
    }

    /// The node that a word stands for.
    #[inline]
    pub(crate) fn node_of_word(self, word: u32) -> &'static LiveNode {
        let offset = u64::from(word.wrapping_sub(self.start.addr().get() as u32));
        self.node((offset.saturating_sub(NODES) / Node::SIZE as u64) as u32)
    }

    /// The node of a frame.
    #[inline]
    pub(crate) fn node_of(self, frame: &LiveFrame) -> &'static LiveNode {
        self.node_of_word(frame.node.load(core::sync::atomic::Ordering::Relaxed) as u32)
    }

    /// The index of a frame of this arena.
    #[inline]
    pub(crate) fn frame_index(self, frame: &LiveFrame) -> u64 {
        let offset = core::ptr::from_ref(frame).addr().wrapping_sub(self.start.addr().get()) as u64;
        (offset.saturating_sub(FRAMES) / size_of::<LiveFrame>() as u64).min(MAX_FRAMES - 1)
    }

    /// Allocates the pages of a range; says whether they may be touched.
    pub(crate) fn allocate(self, offset: u64, length: u64) -> bool {
        if offset + length > ARENA {
            return false;
        }
        // SAFETY: within the arena, as just checked.
        let start = unsafe { self.start.add(offset as usize) };
        match sys::populate(start, length as usize) {
            Ok(()) => true,
            Err(sys::Errno(libc::EINVAL)) => crate::graph_file::allocate_in_file(self, offset, length),
            Err(_) => false,
        }
    }

    /// The room that a thread needs before its first frame.
    pub(crate) fn allocate_first(self) -> bool {
        self.allocate_for(FRAME_CHUNK, NODE_CHUNK)
    }

    /// The room that a thread needs with so many frames and nodes.
    pub(crate) fn allocate_for(self, frames: u64, nodes: u32) -> bool {
        const _: () = assert!(Node::SIZE == ColdNode::SIZE);
        let overflow = u64::from(OVERFLOW) * Node::SIZE as u64 / PAGE * PAGE;
        let frames = (frames * size_of::<LiveFrame>() as u64).next_multiple_of(PAGE);
        let nodes = u64::from(nodes.div_ceil(NODE_CHUNK)) * PAGE;
        let ranges = [(0, FRAMES + frames), (NODES, nodes), (COLD_NODES, nodes), (NODES + overflow, PAGE), (COLD_NODES + overflow, PAGE)];
        ranges.into_iter().all(|(offset, length)| self.allocate(offset, length))
    }
}
