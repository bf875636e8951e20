//! From a parent and a region to a node: a table with open addressing, searched by the probe routines too.
//!
//! What always holds: a key is stored after its value, so that a handler that interrupts an insertion finds
//! a whole edge or none; a table that has grown out of use is never unmapped, because an interrupted probe
//! may still be searching it.

use crate::sys;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

/// Edges of the first table.
const FIRST: usize = 1 << 10;
/// Edges of the largest table; what is beyond takes the slow path each time.
const LARGEST: usize = 1 << 22;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The head of a table; the edges follow it.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct EdgeTable {
    /// Bytes of the table minus the size of an edge.
    mask: AtomicU64,
    used: AtomicU64,
}

/// An edge: the parent's word in the high half of the key, the region id in the low one; the node's word.
#[repr(C, align(16))]
#[derive(Debug)]
struct Edge {
    key: AtomicU64,
    node: AtomicU64,
}

/// A table of edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    table: NonNull<EdgeTable>,
}

/// What an insertion came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inserted {
    /// The edge is in the table.
    Here,
    /// The edge is in a larger table, which takes the place of this one.
    Grown(NonNull<EdgeTable>),
    /// There is no room for it.
    Nowhere,
}

#[inline]
pub(crate) fn key(parent: u32, region: u32) -> u64 {
    u64::from(parent) << 32 | u64::from(region)
}

/// Bytes of a table of the first size.
pub(crate) const FIRST_TABLE: usize = length_of(FIRST);

const fn length_of(edges: usize) -> usize {
    size_of::<EdgeTable>() + edges * size_of::<Edge>()
}

impl Edges {
    /// The table at an address.
    ///
    /// # Safety
    /// It must be one that [`Edges::first_table`] or [`Edges::insert`] made.
    pub(crate) unsafe fn at(table: NonNull<EdgeTable>) -> Self {
        Self { table }
    }

    /// An empty table of the first size.
    pub(crate) fn first_table() -> Option<NonNull<EdgeTable>> {
        Self::with_room(FIRST)
    }

    /// Takes all edges out.
    ///
    /// # Safety
    /// Nobody may use the table meanwhile.
    pub(crate) unsafe fn clear(&self) -> Result<(), sys::Errno> {
        let mask = self.head().mask.load(Ordering::Relaxed);
        let length = size_of::<EdgeTable>() + size_of_val(self.edges());
        // SAFETY: this is the length of the table's mapping, which nobody uses.
        unsafe { sys::clear(self.table.cast(), length, length) }?;
        self.head().mask.store(mask, Ordering::Relaxed);
        Ok(())
    }

    fn with_room(edges: usize) -> Option<NonNull<EdgeTable>> {
        let length = length_of(edges);
        let table = sys::map_memory(length).ok()?.cast::<EdgeTable>();
        // SAFETY: a fresh zeroed mapping that is large enough, and page aligned.
        let head = unsafe { table.as_ref() };
        head.mask.store(((edges - 1) * size_of::<Edge>()) as u64, Ordering::Relaxed);
        Some(table)
    }

    #[inline]
    fn head(&self) -> &EdgeTable {
        // SAFETY: a table is never unmapped.
        unsafe { self.table.as_ref() }
    }

    #[inline]
    fn edges(&self) -> &[Edge] {
        let count = self.head().mask.load(Ordering::Relaxed) as usize / size_of::<Edge>() + 1;
        // SAFETY: the edges follow the head.
        let first = unsafe { self.table.add(1) };
        // SAFETY: as many as the mask says were mapped, and they are made of atomics.
        unsafe { core::slice::from_raw_parts(first.cast::<Edge>().as_ptr(), count) }
    }

    /// The place of a key: where it is, or the free one where it would go. `None` in a full table.
    #[inline]
    fn place(&self, key: u64) -> Option<&Edge> {
        let edges = self.edges();
        let first = (key.wrapping_mul(MULTIPLIER) >> 28) as usize / size_of::<Edge>();
        (0..edges.len()).find_map(|step| {
            let edge = edges.get((first + step) & (edges.len() - 1))?;
            let found = edge.key.load(Ordering::Relaxed);
            (found == key || found == 0).then_some(edge)
        })
    }

    /// The word of the node that an edge leads to.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let edge = self.place(key)?;
        (edge.key.load(Ordering::Relaxed) == key).then(|| edge.node.load(Ordering::Relaxed) as u32)
    }

    /// Adds an edge, with signals held back. Grows at half full.
    pub(crate) fn insert(&self, key: u64, node: u32) -> Inserted {
        let edges = self.edges();
        let used = self.head().used.load(Ordering::Relaxed);
        if (used as usize) < edges.len() / 2 {
            self.put(key, node);
            return Inserted::Here;
        }
        if edges.len() >= LARGEST {
            return Inserted::Nowhere;
        }
        let Some(table) = Self::with_room(edges.len() * 2) else {
            return Inserted::Nowhere;
        };
        let larger = Self { table };
        for edge in edges.iter().filter(|edge| edge.key.load(Ordering::Relaxed) != 0) {
            larger.put(edge.key.load(Ordering::Relaxed), edge.node.load(Ordering::Relaxed) as u32);
        }
        larger.put(key, node);
        Inserted::Grown(table)
    }

    fn put(&self, key: u64, node: u32) {
        let Some(edge) = self.place(key) else { return };
        if edge.key.load(Ordering::Relaxed) == 0 {
            crate::live::add(&self.head().used, 1);
        }
        edge.node.store(u64::from(node), Ordering::Relaxed);
        edge.key.store(key, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::{Edges, Inserted, key};

    #[test]
    fn edges_are_found_after_the_table_has_grown() {
        let mut table = Edges::first_table().expect("memory");
        for number in 1..5000_u32 {
            // SAFETY: `first_table` or `insert` made the table.
            let edges = unsafe { Edges::at(table) };
            match edges.insert(key(number * 64, number % 7), number) {
                Inserted::Here => {}
                Inserted::Grown(larger) => table = larger,
                Inserted::Nowhere => panic!("no room for edge {number}"),
            }
        }
        // SAFETY: as above.
        let edges = unsafe { Edges::at(table) };
        for number in 1..5000_u32 {
            assert_eq!(edges.find(key(number * 64, number % 7)), Some(number));
        }
        assert_eq!(edges.find(key(64, 6)), None);
        // SAFETY: no other thread knows the table.
        unsafe { edges.clear() }.expect("memory");
        assert_eq!(edges.find(key(64, 1)), None);
        assert!(matches!(edges.insert(key(64, 1), 7), Inserted::Here));
        assert_eq!(edges.find(key(64, 1)), Some(7));
    }
}
