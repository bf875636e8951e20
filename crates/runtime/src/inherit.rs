//! After the first threads of a process, one goes on in the graph of another that has ended, if there is one: its paths, its
//! counts, its batches. So threads of any number, as long as not too many live at once, are counted in a file of bounded size;
//! how many have shared a location is what its root's calls say.
//!
//! What always holds: a location is taken by one thread at a time, and only when the kernel no longer knows the last
//! one, whose destructors may have called probes to its end.

use crate::arena::{Arena, NODE_CHUNK, PAGE};
use crate::aside;
use crate::batch;
use crate::duty;
use crate::edges::{EdgeTable, Edges, Inserted, key};
use crate::graph_file;
use crate::kit::Kit;
use crate::local::Local;
use crate::process::now;
use crate::state::ThreadState;
use crate::sys;
use crate::thread::{ENDED, RUNS};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, Ordering::Relaxed};
use tare_format::graph::{BatchRecord, MAX_LOCATIONS, Mode, PeerRecord};

/// Where the search goes on: the location after the one that was taken last, whose thread has ended longest ago.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The graph of a thread that has ended, for the calling one. With signals held back; the kit is cleared.
pub(crate) fn inherit(state: &'static ThreadState, kit: &Kit) -> Option<Local> {
    let arena = claim()?;
    kit.equip(state);
    state.high.store(arena.high_half(), Relaxed);
    state.arena.store(arena.start().as_ptr(), Relaxed);
    let local = Local { state, arena };
    know_again(local);
    local.open_root(now().0);
    arena.location().state.store(RUNS, Relaxed);
    Some(local)
}

/// An arena of the file whose thread has ended; its location names the calling thread from now on.
fn claim() -> Option<Arena> {
    let pid = graph_file::header()?.pid.load(Relaxed);
    let first = NEXT.load(Relaxed);
    let others = graph_file::locations().min(MAX_LOCATIONS).saturating_sub(1);
    (0..others).find_map(|step| {
        let index = 1 + (first - 1 + step) % others;
        let arena = graph_file::arena_of(index).filter(|&arena| claims(arena, pid))?;
        NEXT.store(1 + index % others, Relaxed);
        Some(arena)
    })
}

fn claims(arena: Arena, pid: u32) -> bool {
    let location = arena.location();
    let thread = location.tid.load(Ordering::Acquire);
    location.state.load(Relaxed) == ENDED
        && !sys::is_thread(pid, thread)
        && location.tid.compare_exchange(thread, sys::thread_id(), Ordering::AcqRel, Relaxed).is_ok()
}

/// What the state of a thread says of its arena, from the arena itself: which pages there are, what was spent, and where
/// paths lead.
fn know_again(local: Local) {
    let (state, location) = (local.state, local.arena.location());
    let whole_pages = |records: u32, size: usize| records.next_multiple_of(PAGE as u32 / size as u32);
    let nodes = location.nodes.load(Relaxed);
    state.nodes_ready.store(nodes.next_multiple_of(NODE_CHUNK), Relaxed);
    state.batches_ready.store(whole_pages(location.batches.load(Relaxed), BatchRecord::SIZE), Relaxed);
    state.peers_ready.store(whole_pages(location.peers.load(Relaxed), PeerRecord::SIZE), Relaxed);
    state.overhead.store(location.overhead.load(Relaxed).cast_signed(), Relaxed);
    for index in 1..nodes {
        let node = local.arena.node(index);
        let parent = local.arena.word_of(local.arena.node(node.parent.load(Relaxed)));
        enter(&state.edges, key(parent, node.region.load(Relaxed)), local.arena.word_of(node));
        know_partners(local, index);
        let record = local.cold_of(node).batch_record.load(Relaxed).checked_sub(1).map(|record| local.arena.batch(record));
        if node.mode.load(Relaxed) != Mode::On as u8 {
            state.aside.fetch_add(1, Relaxed);
            if !record.is_some_and(|record| duty::goes_on(node, record)) {
                aside::close(local, node);
                batch::wait_for(node, 0);
            }
        }
        if let Some(record) = record {
            batch::take_nothing(record);
        }
    }
}

fn know_partners(local: Local, index: u32) {
    let node = local.arena.word_of(local.arena.node(index));
    let mut next = local.arena.cold(index).first_peer.load(Relaxed);
    while let Some(at) = next.checked_sub(1) {
        if local.state.partners.load(Relaxed).is_null() {
            let table = Edges::first_table().map_or(core::ptr::null_mut(), NonNull::as_ptr);
            local.state.partners.store(table, Relaxed);
        }
        let record = local.arena.peer(at);
        enter(&local.state.partners, key(node, record.peer.load(Relaxed)), at);
        next = record.next.load(Relaxed);
    }
}

/// Adds to one of the thread's tables, which may grow. What finds no room is looked up afresh each time.
fn enter(table: &AtomicPtr<EdgeTable>, key: u64, value: u32) {
    let Some(current) = NonNull::new(table.load(Relaxed)) else { return };
    // SAFETY: the tables of a thread are ones that `Edges` made.
    let edges = unsafe { Edges::at(current) };
    if let Inserted::Grown(larger) = edges.insert(key, value) {
        table.store(larger.as_ptr(), Relaxed);
    }
}
