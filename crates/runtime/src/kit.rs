//! What a thread needs beside its arena: a site cache, a table of edges, a stack for slow paths, and for threads beyond the room
//! of the graph file an arena of their own. The kit of a thread that has a location of the graph file stays with that, and goes to
//! the next thread there as it is: it knows the paths. Others are emptied and used again.
//!
//! What always holds: a kit is used by one thread at a time, from taking it until the kernel knows that thread no
//! longer. So probes in destructors that run after the thread has left its kit still have it. As many kits are made as
//! there are locations, and threads beyond them that live at once. The site cache of each can be written as far as there are regions: what is
//! beyond takes addresses alone, which no limit of data counts.

use crate::arena::{Arena, PAGE};
use crate::edges::{EdgeTable, Edges, FIRST_TABLE};
use crate::fork::Kept;
use crate::graph_file::{self, REGION_CAPACITY};
use crate::idle::Idle;
use crate::local::Local;
use crate::state::ThreadState;
use crate::sys;
use crate::valgrind;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use tare_format::graph::{ARENA, MAX_LOCATIONS};

/// All kits, the newest first. None is ever taken out.
static KITS: AtomicPtr<Kit> = AtomicPtr::new(core::ptr::null_mut());
/// Those that stay with a location, by its number.
static OF_LOCATIONS: [AtomicPtr<Kit>; MAX_LOCATIONS as usize] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_LOCATIONS as usize];

/// Bytes of addresses for a site cache, in front of which its kit stands.
const CACHE: usize = REGION_CAPACITY as usize * size_of::<AtomicU64>();
/// Bytes in front of a site cache.
const FRONT: usize = PAGE as usize;
const _: () = assert!(size_of::<Kit>() <= FRONT);

/// Bytes of a site cache in which the regions that there are have their words.
fn cache_used() -> usize {
    ((graph_file::regions() as usize + 1) * size_of::<AtomicU64>()).next_multiple_of(PAGE as usize)
}

/// Bytes of the stack of slow paths, of which the system gives as many as are touched. The most takes a run that cannot write and says so.
const SLOW_STACK: usize = 64 << 10;

/// Stands in front of its site cache.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Kit {
    cache: AtomicPtr<AtomicU64>,
    /// Bytes of it that can be written.
    cache_ready: AtomicUsize,
    edges: AtomicPtr<EdgeTable>,
    /// Its end.
    slow_stack: AtomicPtr<u8>,
    /// Null until its first thread has left.
    partners: AtomicPtr<EdgeTable>,
    /// Null until a thread was beyond the room.
    scratch: AtomicPtr<u8>,
    next: AtomicPtr<Kit>,
    /// The thread that has left it; 0 while it is in use, or stays with a location.
    left_by: AtomicU32,
    /// Of how many nodes and peers of its location the tables knew when its last thread left.
    nodes: AtomicU32,
    peers: AtomicU32,
    pub(crate) idle: Idle,
    pub(crate) kept: Kept,
}

impl Kit {
    /// Bytes of address space that a thread takes with its arena, while it is set up: an aligned place is found in twice as many.
    pub(crate) const ADDRESS_SPACE: u64 = 2 * ARENA + CACHE as u64;

    /// Bytes of private memory for writing that a thread takes with its arena.
    pub(crate) fn data() -> u64 {
        (FRONT + cache_used() + SLOW_STACK + FIRST_TABLE) as u64
    }

    /// A kit for the calling thread, cleared. With signals held back.
    pub(crate) fn take() -> Option<&'static Self> {
        Self::left().filter(|kit| kit.clear().is_some() && kit.has_room_for_regions()).or_else(Self::make)
    }

    /// One whose thread has ended.
    fn left() -> Option<&'static Self> {
        Self::all().find(|kit| kit.claim())
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        // SAFETY: null or a kit; kits are never unmapped.
        let kit = |place: &AtomicPtr<Self>| unsafe { place.load(Ordering::SeqCst).as_ref() };
        core::iter::successors(kit(&KITS), move |last| kit(&last.next))
    }

    /// The kit that stays with a location.
    pub(crate) fn of_location(index: u32) -> Option<&'static Self> {
        // SAFETY: null or a kit; kits are never unmapped.
        unsafe { OF_LOCATIONS.get(index as usize)?.load(Ordering::Acquire).as_ref() }
    }

    /// It stays with a location from now on.
    pub(crate) fn stay(&self, index: u32) {
        if let Some(place) = OF_LOCATIONS.get(index as usize) {
            place.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
        }
    }

    /// Whether its thread has ended; then it belongs to the calling thread.
    fn claim(&self) -> bool {
        let thread = self.left_by.load(Ordering::Relaxed);
        if thread == 0 || self.left_by.compare_exchange(thread, 0, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let has_ended =
            thread == sys::thread_id() || graph_file::header().is_some_and(|header| !sys::is_thread(header.pid.load(Ordering::Relaxed), thread));
        if !has_ended {
            self.left_by.store(thread, Ordering::Release);
        }
        has_ended
    }

    /// Empties what the last thread wrote. `None` where the kernel refuses; such a kit is not used again.
    fn clear(&self) -> Option<()> {
        let cache = NonNull::new(self.cache.load(Ordering::Relaxed))?;
        let ready = self.cache_ready.load(Ordering::Relaxed);
        // SAFETY: the cache is our mapping, of which so much is for writing, and its last user has ended.
        unsafe { sys::clear(cache.cast(), ready, ready) }.ok()?;
        for table in [&self.edges, &self.partners] {
            if let Some(table) = NonNull::new(table.load(Ordering::Relaxed)) {
                // SAFETY: a table that `Edges` made.
                let edges = unsafe { Edges::at(table) };
                // SAFETY: the last user has ended.
                unsafe { edges.clear() }.ok()?;
            }
        }
        if let Some(scratch) = NonNull::new(self.scratch.load(Ordering::Relaxed)) {
            // SAFETY: our mapping of this length, and its last user has ended.
            unsafe { sys::clear_scratch(scratch, ARENA as usize) }.ok()?;
        }
        Some(())
    }

    fn make() -> Option<&'static Self> {
        let edges = Edges::first_table()?;
        let slow_stack = sys::map_memory(SLOW_STACK).ok()?;
        valgrind::register_stack(slow_stack, SLOW_STACK);
        let place = sys::map_addresses(FRONT + CACHE).ok()?;
        sys::make_writable(place, FRONT).ok()?;
        // SAFETY: zeroed, page aligned, long enough, made of atomics, and never unmapped.
        let kit = unsafe { place.cast::<Self>().as_ref() };
        // SAFETY: the mapping is longer than what is in front of the cache.
        let cache = unsafe { place.add(FRONT) };
        kit.cache.store(cache.cast().as_ptr(), Ordering::Relaxed);
        kit.edges.store(edges.as_ptr(), Ordering::Relaxed);
        kit.slow_stack.store(slow_stack.as_ptr().wrapping_add(SLOW_STACK), Ordering::Relaxed);
        kit.enter();
        // Whoever has regions entered meanwhile has seen the kit, or is seen here.
        if kit.has_room_for_regions() {
            return Some(kit);
        }
        kit.leave();
        None
    }

    /// Enters the kit among all.
    fn enter(&'static self) {
        let place = core::ptr::from_ref(self).cast_mut();
        let mut first = KITS.load(Ordering::Relaxed);
        loop {
            self.next.store(first, Ordering::Relaxed);
            match KITS.compare_exchange_weak(first, place, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(newer) => first = newer,
            }
        }
    }

    /// Makes room in all site caches for the regions that there are; says whether there is memory for it.
    pub(crate) fn make_room_for_regions() -> bool {
        Self::all().all(Self::has_room_for_regions)
    }

    /// Whether the regions that there are have room in the site cache; makes it.
    fn has_room_for_regions(&self) -> bool {
        let wanted = cache_used().min(CACHE);
        if wanted <= self.cache_ready.load(Ordering::Relaxed) {
            return true;
        }
        let cache = NonNull::new(self.cache.load(Ordering::Relaxed));
        let is_ready = cache.is_some_and(|cache| sys::make_writable(cache.cast(), wanted).is_ok());
        if is_ready {
            self.cache_ready.fetch_max(wanted, Ordering::Relaxed);
        }
        is_ready
    }

    /// The kit of a thread that is set up.
    pub(crate) fn of(state: &ThreadState) -> Option<&'static Self> {
        let cache = NonNull::new(state.cache.load(Ordering::Relaxed))?;
        // SAFETY: a kit stands in front of each cache.
        let place = unsafe { cache.cast::<u8>().sub(FRONT) };
        // SAFETY: as above; kits are never unmapped.
        Some(unsafe { place.cast::<Self>().as_ref() })
    }

    /// Hands cache, tables and stack to the calling thread, whose slow paths run on it from the next one on.
    pub(crate) fn equip(&self, state: &ThreadState) {
        self.idle.clear();
        state.slow_stack.store(self.slow_stack.load(Ordering::Relaxed), Ordering::Relaxed);
        state.cache.store(self.cache.load(Ordering::Relaxed), Ordering::Relaxed);
        state.edges.store(self.edges.load(Ordering::Relaxed), Ordering::Relaxed);
        state.partners.store(self.partners.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// An arena that is not in the file.
    pub(crate) fn scratch_arena(&self) -> Option<Arena> {
        let arena = match NonNull::new(self.scratch.load(Ordering::Relaxed)) {
            Some(start) => graph_file::scratch_arena_at(start),
            None => graph_file::scratch_arena()?,
        };
        self.scratch.store(arena.start().as_ptr(), Ordering::Relaxed);
        Some(arena)
    }

    /// The calling thread is at its end: its tables, which have grown since it took the kit, stay with it. One that
    /// stays with no location is left to others.
    pub(crate) fn leave_with(&self, local: Local) {
        let location = local.arena.location();
        self.edges.store(local.state.edges.load(Ordering::Relaxed), Ordering::Relaxed);
        self.partners.store(local.state.partners.load(Ordering::Relaxed), Ordering::Relaxed);
        self.nodes.store(location.nodes.load(Ordering::Relaxed), Ordering::Relaxed);
        self.peers.store(location.peers.load(Ordering::Relaxed), Ordering::Relaxed);
        if location.thread.load(Ordering::Relaxed) == graph_file::SCRATCH {
            self.leave();
        }
    }

    /// Whether the tables know all nodes and peers of the location: destructors may have called probes after the thread had left.
    pub(crate) fn knows_all_of(&self, local: Local) -> bool {
        let location = local.arena.location();
        self.nodes.load(Ordering::Relaxed) == location.nodes.load(Ordering::Relaxed)
            && self.peers.load(Ordering::Relaxed) == location.peers.load(Ordering::Relaxed)
    }

    /// In a forked child: this kit is that of its only thread, and stays with its location; all others are free.
    pub(crate) fn keep_only(own: Option<&Self>) {
        let thread = sys::thread_id();
        Self::all().for_each(|kit| kit.left_by.store(thread, Ordering::Relaxed));
        OF_LOCATIONS.iter().for_each(|place| place.store(core::ptr::null_mut(), Ordering::Relaxed));
        if let Some(kit) = own {
            kit.left_by.store(0, Ordering::Release);
            kit.stay(0);
        }
    }

    /// The calling thread leaves the kit to others, once it has ended.
    pub(crate) fn leave(&self) {
        self.left_by.store(sys::thread_id(), Ordering::Release);
    }
}
