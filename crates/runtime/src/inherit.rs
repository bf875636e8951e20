//! After the first threads of a process, one goes on in the graph of another that has ended, if there is one: its paths, its
//! counts, its batches. So threads of any number, as long as not too many live at once, are counted in a file of bounded size;
//! how many have shared a location is what its root's calls say.
//!
//! What always holds: a location is taken by one thread at a time, and only when the kernel no longer knows the last
//! one, whose destructors may have called probes to its end.

use crate::arena::{Arena, NODE_CHUNK, PAGE};
use crate::batch;
use crate::duty;
use crate::edges::{EdgeTable, Edges, Inserted, key};
use crate::graph_file;
use crate::kit::Kit;
use crate::local::Local;
use crate::state::ThreadState;
use crate::sys;
use crate::thread::{ENDED, connect};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, Ordering::Relaxed};
use tare_format::graph::{BatchRecord, MAX_LOCATIONS, Mode, PeerRecord};

/// The first locations, where a search begins: where few threads live at once their graphs are always the same, which
/// processors still have in their caches.
const NEAR: u32 = 8;
/// Where the search goes on behind them: the location after the one that was taken last, whose thread has ended longest ago.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The graph of a thread that has ended, for the calling one, whose id this is. With signals held back.
pub(crate) fn inherit(state: &'static ThreadState, thread: u32) -> Option<Local> {
    let (arena, kit) = claim(thread)?;
    let local = connect(state, arena, kit);
    if !kit.knows_all_of(local) {
        know_paths(local);
    }
    know_again(local);
    Some(local)
}

/// An arena of the file whose thread has ended, and its kit; its location names the calling thread from now on.
fn claim(thread: u32) -> Option<(Arena, &'static Kit)> {
    let pid = graph_file::header()?.pid.load(Relaxed);
    let first = NEXT.load(Relaxed);
    let others = graph_file::locations().min(MAX_LOCATIONS).saturating_sub(1);
    let far = (0..others).map(|step| 1 + (first - 1 + step) % others);
    (1..=others.min(NEAR)).chain(far).find_map(|index| {
        let kit = Kit::of_location(index)?;
        let arena = graph_file::arena_of(index).filter(|&arena| claims(arena, pid, thread))?;
        if index > NEAR {
            NEXT.store(1 + index % others, Relaxed);
        }
        Some((arena, kit))
    })
}

fn claims(arena: Arena, pid: u32, thread: u32) -> bool {
    let location = arena.location();
    let last = location.tid.load(Relaxed);
    location.state.load(Ordering::Acquire) == ENDED
        && !sys::is_thread(pid, last)
        && location.tid.compare_exchange(last, thread, Ordering::AcqRel, Relaxed).is_ok()
}

/// What the state of a thread says of its arena, from the arena itself: which pages there are, and what was spent. Batches
/// that do not go on are closed.
fn know_again(local: Local) {
    let (state, location) = (local.state, local.arena.location());
    let whole_pages = |records: u32, size: usize| records.next_multiple_of(PAGE as u32 / size as u32);
    state.nodes_ready.store(location.nodes.load(Relaxed).next_multiple_of(NODE_CHUNK), Relaxed);
    state.batches_ready.store(whole_pages(location.batches.load(Relaxed), BatchRecord::SIZE), Relaxed);
    state.peers_ready.store(whole_pages(location.peers.load(Relaxed), PeerRecord::SIZE), Relaxed);
    state.overhead.store(location.overhead.load(Relaxed).cast_signed(), Relaxed);
    // Only nodes with a record are ever quiet.
    for record in (0..location.batches.load(Relaxed)).map(|index| local.arena.batch(index)) {
        let node = local.arena.node(record.node.load(Relaxed));
        if node.mode.load(Relaxed) != Mode::On as u8 {
            state.aside.fetch_add(1, Relaxed);
            if !duty::goes_on(local, node, record) {
                batch::close(local, node, record);
                batch::wait_for(node, 0);
            }
        }
        batch::take_nothing(record);
    }
}

/// Enters into the thread's tables where paths lead.
fn know_paths(local: Local) {
    for index in 1..local.arena.location().nodes.load(Relaxed) {
        let node = local.arena.node(index);
        let parent = local.arena.word_of(local.arena.node(node.parent.load(Relaxed)));
        enter(&local.state.edges, key(parent, node.region.load(Relaxed)), local.arena.word_of(node));
        know_partners(local, index);
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
