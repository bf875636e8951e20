//! A forked child gets a graph file of its own, before it does anything else.
//!
//! The child's thread goes on inside the regions that its parent had open. So the graph of the forking thread
//! is taken over, its paths and open frames at the same addresses, with all counters at zero and all times
//! beginning now. What the parent's other threads had is the parent's.
//!
//! The parent goes on meanwhile, and writes where the child's open frames are. So these are kept before the fork, in memory that becomes the child's.
//!
//! Libc tells of `fork` alone. A child of `clone`, or of a bare system call, gets to know what it is at its first slow path, from a page
//! that the kernel empties in every child with memory of its own. Until then it has counted into its parent's graph, but changed nothing
//! of its structure: that is left to slow paths.

use crate::arena::{Arena, PAGE};
use crate::graph_file::{self, FilePlace};
use crate::kit::Kit;
use crate::live::{LiveFrame, LiveHeader, LiveImage, LiveSwitch};
use crate::local::{Local, restart_node};
use crate::metrics;
use crate::names;
use crate::process::now;
use crate::queued;
use crate::state::ThreadState;
use crate::sys::{self, Errno};
use crate::thread;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed};
use tare_format::graph::{ARENA, HEADER_AREA, IMAGE_TABLE, IMAGES, OVERFLOW, SWITCH_TABLE, SWITCHES};

/// A word that is 1, and 0 in a child that has not become a process of its own. Null where the kernel cannot empty it.
static TOLD: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// What a thread had when it last forked, and its parent may have changed since.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Those that were open.
    frames: AtomicPtr<LiveFrame>,
    count: AtomicUsize,
    /// For how many there is room.
    room: AtomicUsize,
    /// How many nodes there were.
    nodes: AtomicU32,
}

impl Kept {
    fn keep(&self, local: Local) {
        let count = local.arena.frame_index(local.state.frame()) as usize + 1;
        self.count.store(0, Relaxed);
        if self.make_room(count).is_none() {
            return;
        }
        self.count.store(count, Relaxed);
        self.nodes.store(local.arena.location().nodes.load(Relaxed), Relaxed);
        for (index, kept) in self.frames().iter().enumerate() {
            let open = local.arena.frame(index as u64);
            copy_frame(open, kept);
            kept.base.store(open.base.load(Relaxed), Relaxed);
        }
    }

    fn make_room(&self, count: usize) -> Option<()> {
        if count <= self.room.load(Relaxed) {
            return Some(());
        }
        let bytes = |frames: usize| (frames * size_of::<LiveFrame>()).next_multiple_of(PAGE as usize);
        let larger = sys::map_memory(bytes(2 * count)).ok()?;
        let smaller = NonNull::new(self.frames.swap(larger.cast().as_ptr(), Relaxed));
        let room = self.room.swap(2 * count, Relaxed);
        if let Some(smaller) = smaller {
            // SAFETY: our mapping of this length, which only the calling thread has used.
            unsafe { sys::unmap(smaller.cast(), bytes(room)) };
        }
        Some(())
    }

    fn frames(&self) -> &[LiveFrame] {
        let (start, count) = (self.frames.load(Relaxed), self.count.load(Relaxed));
        if start.is_null() {
            return &[];
        }
        // SAFETY: mapped with room for so many, zeroed at first, and made of atomics.
        unsafe { core::slice::from_raw_parts(start, count) }
    }
}

/// Asks to be called before every fork, and in every forked child.
pub(crate) fn watch() {
    if let Ok(page) = sys::map_memory(PAGE as usize)
        && sys::empty_in_children(page, PAGE as usize).is_ok()
    {
        let word = page.cast::<AtomicU32>();
        // SAFETY: a fresh zeroed mapping, never unmapped.
        unsafe { word.as_ref() }.store(1, Relaxed);
        TOLD.store(word.as_ptr(), Relaxed);
    }
    // SAFETY: the handlers have the right type, do not unwind, and only make system calls.
    unsafe { libc::pthread_atfork(Some(keep), None, Some(in_child)) };
}

fn told() -> Option<&'static AtomicU32> {
    // SAFETY: null or the word of a page that stays.
    unsafe { TOLD.load(Relaxed).as_ref() }
}

/// Makes a process of its own of a child that libc told nothing of; says whether it was one.
#[inline]
pub(crate) fn notice() -> bool {
    let is_untold = told().is_some_and(|word| word.load(Relaxed) == 0);
    if is_untold {
        keep();
        in_child();
    }
    is_untold
}

extern "C" fn keep() {
    let state = ThreadState::current();
    if let (Some(local), Some(kit)) = (Local::of(state), Kit::of(state)) {
        kit.kept.keep(local);
    }
}

extern "C" fn in_child() {
    // Where a handler that came before this one has called probes, the child knows by now.
    if told().is_some_and(|word| word.swap(1, Relaxed) == 1) {
        return;
    }
    let Some(old) = graph_file::header_area() else { return };
    let own = new_file(old);
    crate::request::start_anew();
    let state = ThreadState::current();
    take_over_names(own.as_ref());
    let taken_over = match (&own, Local::of(state)) {
        (Some(place), Some(local)) => take_over(place, local).is_some(),
        (_, None) => true,
        (None, Some(_)) => false,
    };
    if !taken_over {
        state.reset();
    }
    Kit::keep_only(Kit::of(state));
    graph_file::know_only(Local::of(state).map(|local| local.arena));
    // SAFETY: a forked child has a single thread.
    unsafe { graph_file::replace(own) };
    metrics::begin_anew(Local::of(state));
}

/// A new file whose header area takes the place of the parent's.
fn new_file(old: NonNull<u8>) -> Option<FilePlace> {
    // SAFETY: a mapped header area begins with the header.
    let before = unsafe { old.cast::<LiveHeader>().as_ref() };
    let (place, fresh) = graph_file::create().map_err(|why| lose_child(before, why)).ok()?;
    // SAFETY: as above.
    let after = unsafe { fresh.cast::<LiveHeader>().as_ref() };
    after.hot_pair_cost.store(before.hot_pair_cost.load(Relaxed), Relaxed);
    after.least_pair_cost.store(before.least_pair_cost.load(Relaxed), Relaxed);
    after.hot_clockless.store(before.hot_clockless.load(Relaxed), Relaxed);
    after.hot_clockless_again.store(before.hot_clockless_again.load(Relaxed), Relaxed);
    after.hot_counted.store(before.hot_counted.load(Relaxed), Relaxed);
    after.hot_counted_again.store(before.hot_counted_again.load(Relaxed), Relaxed);
    after.hot_diverted.store(before.hot_diverted.load(Relaxed), Relaxed);
    after.throttle_calls.store(before.throttle_calls.load(Relaxed), Relaxed);
    after.throttle_ns.store(before.throttle_ns.load(Relaxed), Relaxed);
    after.hot_hook_cost.store(before.hot_hook_cost.load(Relaxed), Relaxed);
    after.budget.store(before.budget.load(Relaxed), Relaxed);
    after.sites_off.store(before.sites_off.load(Relaxed), Relaxed);
    let (images, switches) = (before.images.load(Acquire), before.switches.load(Acquire));
    after.images.store(images, Relaxed);
    after.switches.store(switches, Relaxed);
    let tables = [
        (IMAGE_TABLE, (images as usize).min(IMAGES) * size_of::<LiveImage>()),
        (SWITCH_TABLE, (switches as usize).min(SWITCHES) * size_of::<LiveSwitch>()),
    ];
    for (at, length) in tables {
        // SAFETY: the table begins there in the old area …
        let table = unsafe { old.add(at as usize) };
        // SAFETY: … and in the new one …
        let copy = unsafe { fresh.add(at as usize) };
        // SAFETY: … and both are no shorter than that, and do not overlap.
        unsafe { copy.copy_from_nonoverlapping(table, length) };
    }
    // SAFETY: both are header areas; the new one is referred to by nobody after this.
    unsafe { sys::move_mapping(fresh, old, HEADER_AREA as usize) }.ok()?;
    Some(place)
}

/// Counts a child without a graph of its own in its parent's, and says so if it is the first.
fn lose_child(parent: &LiveHeader, why: Errno) {
    if parent.lost_children.fetch_add(1, Relaxed) == 0 {
        graph_file::say_unwritten(why);
    }
}

/// Gives the thread an arena in the new file, at the address of the one it had.
fn take_over(place: &FilePlace, local: Local) -> Option<()> {
    let old = local.arena;
    let kept = &Kit::of(local.state)?.kept;
    let open = kept.frames().get(..=old.frame_index(local.state.frame()) as usize)?;
    let fresh = graph_file::map_arena(place, 0).ok()?;
    let nodes = kept.nodes.load(Relaxed);
    if !allocate(fresh, local, nodes) {
        return None;
    }
    let ticks = now().0;
    for index in (0..nodes).chain([OVERFLOW]) {
        restart_node(old.node(index), fresh.node(index));
    }
    for (index, frame) in open.iter().enumerate() {
        restart_frame(frame, fresh.frame(index as u64), ticks);
    }
    let location = fresh.location();
    location.nodes.store(nodes, Relaxed);
    location.tid.store(sys::thread_id(), Relaxed);
    location.start_ticks.store(ticks, Relaxed);
    location.thread_state.store(old.location().thread_state.load(Relaxed), Relaxed);
    location.state.store(thread::RUNS, Relaxed);
    // SAFETY: both are arenas; nothing refers to the new one at its first address after this.
    unsafe { sys::move_mapping(fresh.start(), old.start(), ARENA as usize) }.ok()?;
    restart_state(local.state, ticks);
    queued::begin(local);
    graph_file::header()?.locations.fetch_max(1, Relaxed);
    graph_file::count_thread();
    Some(())
}

/// Gives the names an arena in the new file, at the address of the one they had. Where that fails there are none.
fn take_over_names(place: Option<&FilePlace>) {
    let Some(old) = names::arena() else { return };
    if place.and_then(|place| copy_names(place, old)).is_none() {
        names::give_up();
    }
}

/// The number of the arena with names in a child's file, behind that of its only thread.
const NAMES_INDEX: u32 = 1;

fn copy_names(place: &FilePlace, old: Arena) -> Option<()> {
    let fresh = graph_file::map_arena(place, NAMES_INDEX).ok()?;
    for (offset, length) in names::ranges_in_use(old) {
        let room = length.next_multiple_of(PAGE);
        if room == 0 {
            continue;
        }
        if !fresh.allocate(offset, room) {
            return None;
        }
        // SAFETY: within the old arena …
        let from = unsafe { old.start().add(offset as usize) };
        // SAFETY: … and within the new one.
        let to = unsafe { fresh.start().add(offset as usize) };
        // SAFETY: both are as long as that, and are two mappings.
        unsafe { to.copy_from_nonoverlapping(from, length as usize) };
    }
    fresh.location().thread.store(NAMES_INDEX, Relaxed);
    // SAFETY: both are arenas; nothing refers to the new one at its first address after this.
    unsafe { sys::move_mapping(fresh.start(), old.start(), ARENA as usize) }.ok()?;
    graph_file::header()?.locations.fetch_max(NAMES_INDEX + 1, Relaxed);
    Some(())
}

/// Room for as many nodes and frames as the thread may touch without asking.
fn allocate(fresh: Arena, local: Local, nodes: u32) -> bool {
    // SAFETY: the limit is a frame of the thread's arena.
    let last = local.arena.frame_index(unsafe { &*local.state.limit.load(Relaxed) });
    fresh.allocate_for(last + 1, nodes.max(local.state.nodes_ready.load(Relaxed)))
}

fn restart_frame(old: &LiveFrame, fresh: &LiveFrame, ticks: u64) {
    let base = old.base.load(Relaxed);
    let is_time = base != crate::local::SEGMENT && !crate::local::is_clockless(old);
    copy_frame(old, fresh);
    fresh.base.store(if is_time { ticks } else { base }, Relaxed);
}

/// All but the time.
fn copy_frame(from: &LiveFrame, to: &LiveFrame) {
    to.node.store(from.node.load(Relaxed), Relaxed);
    to.sp.store(from.sp.load(Relaxed), Relaxed);
    to.spare.store(from.spare.load(Relaxed), Relaxed);
}

fn restart_state(state: &ThreadState, ticks: u64) {
    state.last.store(ticks, Relaxed);
    state.overhead.store(0, Relaxed);
    for word in [&state.spinning, &state.sleeping, &state.away_spinning, &state.away_sleeping, &state.away_outside] {
        word.store(0, Relaxed);
    }
    state.partners.store(core::ptr::null_mut(), Relaxed);
    for count in [&state.batches_ready, &state.peers_ready, &state.lost_open, &state.findings, &state.multiple, &state.aside, &state.focus] {
        count.store(0, Relaxed);
    }
}
