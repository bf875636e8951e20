//! A forked child gets a graph file of its own, before it does anything else.
//!
//! The child's thread goes on inside the regions that its parent had open. So the graph of the forking thread
//! is taken over, its paths and open frames at the same addresses, with all counters at zero and all times
//! beginning now. What the parent's other threads had is the parent's.
//!
//! Libc tells of `fork` alone. A child of `clone`, or of a bare system call, gets to know what it is at its first slow path, from a page
//! that the kernel empties in every child with memory of its own. Until then it has counted into its parent's graph, but changed nothing
//! of its structure: that is left to slow paths.

use crate::arena::{Arena, NODE_CHUNK, PAGE};
use crate::graph_file::{self, FilePlace};
use crate::kit::Kit;
use crate::live::{LiveFrame, LiveHeader};
use crate::local::{Local, restart_node};
use crate::metrics;
use crate::names;
use crate::process::now;
use crate::queued;
use crate::state::ThreadState;
use crate::sys::{self, Errno};
use crate::thread;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};
use tare_format::graph::{ARENA, COLD_NODES, ColdNode, FRAMES, HEADER_AREA, IMAGE_TABLE, NODES, Node};

/// A word that is 1, and 0 in a child that has not become a process of its own. Null where the kernel cannot empty it.
static TOLD: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());

/// Asks to be called in every forked child.
pub(crate) fn watch() {
    if let Ok(page) = sys::map_memory(PAGE as usize)
        && sys::empty_in_children(page, PAGE as usize).is_ok()
    {
        let word = page.cast::<AtomicU32>();
        // SAFETY: a fresh zeroed mapping, never unmapped.
        unsafe { word.as_ref() }.store(1, Relaxed);
        TOLD.store(word.as_ptr(), Relaxed);
    }
    // SAFETY: the handler has the right type, does not unwind, and only makes system calls.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
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
        in_child();
    }
    is_untold
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
    after.switches.store(before.switches.load(Relaxed), Relaxed);
    after.sites_off.store(before.sites_off.load(Relaxed), Relaxed);
    after.images.store(before.images.load(Relaxed), Relaxed);
    let length = (HEADER_AREA - IMAGE_TABLE) as usize;
    // SAFETY: the table begins there in the old area …
    let table = unsafe { old.add(IMAGE_TABLE as usize) };
    // SAFETY: … and in the new one …
    let copy = unsafe { fresh.add(IMAGE_TABLE as usize) };
    // SAFETY: … and both reach to the end of their areas, which do not overlap.
    unsafe { copy.copy_from_nonoverlapping(table, length) };
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
    let fresh = graph_file::map_arena(place, 0).ok()?;
    let depth = old.frame_index(local.state.frame());
    let nodes = old.location().nodes.load(Relaxed);
    if !allocate(fresh, local, nodes) {
        return None;
    }
    let ticks = now().0;
    for index in 0..nodes {
        restart_node(old.node(index), fresh.node(index));
    }
    for index in 0..=depth {
        restart_frame(old.frame(index), fresh.frame(index), ticks);
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
    let chunks = u64::from(nodes.div_ceil(NODE_CHUNK).max(local.state.nodes_ready.load(Relaxed) / NODE_CHUNK));
    let last = local.state.limit.load(Relaxed);
    // SAFETY: the limit is a frame of the thread's arena.
    let frames = local.arena.frame_index(unsafe { &*last }) + 1;
    let frames = (frames * size_of::<LiveFrame>() as u64).next_multiple_of(PAGE);
    const _: () = assert!(Node::SIZE == ColdNode::SIZE);
    fresh.allocate_first() && fresh.allocate(FRAMES, frames) && fresh.allocate(NODES, chunks * PAGE) && fresh.allocate(COLD_NODES, chunks * PAGE) && {
        restart_node(local.arena.node(tare_format::graph::OVERFLOW), fresh.node(tare_format::graph::OVERFLOW));
        true
    }
}

fn restart_frame(old: &LiveFrame, fresh: &LiveFrame, ticks: u64) {
    let base = old.base.load(Relaxed);
    let is_time = base != crate::local::SEGMENT && !crate::local::is_clockless(old);
    fresh.node.store(old.node.load(Relaxed), Relaxed);
    fresh.sp.store(old.sp.load(Relaxed), Relaxed);
    fresh.base.store(if is_time { ticks } else { base }, Relaxed);
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
