//! Threads: set up at their first probe, with a graph of their own or that of a thread that has ended, marked at their end.

use crate::arena::Arena;
use crate::duty;
use crate::graph_file;
use crate::idle;
use crate::inherit::inherit;
use crate::kit::Kit;
use crate::live::add;
use crate::local::Local;
use crate::metrics;
use crate::process::{self, now};
use crate::queued;
use crate::settings::settings;
use crate::state::ThreadState;
use crate::sys::{self, Free};
use crate::wrapper;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI64, Ordering::Relaxed, Ordering::Release};

/// State of a location whose thread runs.
pub(crate) const RUNS: u32 = 1;
/// State of a location whose thread has ended.
pub(crate) const ENDED: u32 = 2;

/// Threads that have a graph of their own, as long as a budget allows it. Of programs with more, most start one for each of many tasks:
/// a thread then goes on where one has ended, whose paths are known, and has a graph of its own only where none has.
const OWN_GRAPHS: u32 = 64;

/// The key whose destructor marks the end of a thread; negative without one.
static KEY: AtomicI64 = AtomicI64::new(-1);
/// Keys from here on would make `pthread_setspecific` allocate.
const KEYS_WITHOUT_ALLOCATION: u32 = 32;

/// Makes the key. Called from the constructor, where few keys are taken.
pub(crate) fn make_key() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the destructor has the right type and does not unwind.
    let result = unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) };
    if result == 0 && key < KEYS_WITHOUT_ALLOCATION {
        KEY.store(i64::from(key), Relaxed);
    }
}

/// The thread, set up now if it is not yet, which has begun at that moment. `None` where nothing is to be recorded, or there is
/// no memory.
pub(crate) fn ready(state: &'static ThreadState, since: u64) -> Option<Local> {
    match Local::of(state) {
        Some(local) => Some(local),
        None => process::is_measuring().then(|| set_up_or_refuse(state, since)).flatten(),
    }
}

/// The patience of a thread that is being set up: what that calls of the program's own, such as a `memcpy` that it defines, may have
/// probes, which find nothing to work on yet.
const IN_SET_UP: i64 = i64::MIN;

/// Where there is no memory, the thread is not set up at each call, but when twice as many have been refused: asking takes microseconds, and is
/// in vain most often.
fn set_up_or_refuse(state: &'static ThreadState, since: u64) -> Option<Local> {
    let patience = state.patience.load(Relaxed);
    if patience == IN_SET_UP {
        return None;
    }
    let local = if patience > 0 {
        state.patience.store(patience - 1, Relaxed);
        None
    } else {
        state.patience.store(IN_SET_UP, Relaxed);
        let local = set_up(state, since);
        let refused = if local.is_some() { 0 } else { state.refused.load(Relaxed).saturating_mul(2).max(1) };
        state.refused.store(refused, Relaxed);
        state.patience.store((refused - 1).max(0), Relaxed);
        local
    };
    if local.is_none() {
        graph_file::count_refused_call();
    }
    local
}

fn set_up(state: &'static ThreadState, since: u64) -> Option<Local> {
    let thread = sys::thread_id();
    let own = if may_have_own() { begin(state, thread) } else { None };
    let local = own.or_else(|| inherit(state, thread)).or_else(|| begin(state, thread)).or_else(|| beyond_room(state))?;
    let location = local.arena.location();
    location.tid.store(thread, Relaxed);
    location.thread_state.store(core::ptr::from_ref(state).addr() as u64, Relaxed);
    queued::begin(local);
    metrics::begin(local);
    if let Ok(key) = u32::try_from(KEY.load(Relaxed)) {
        let value = core::ptr::from_ref(state).cast::<c_void>();
        // SAFETY: the key exists, and is one of those that need no memory.
        unsafe { libc::pthread_setspecific(key, value) };
    }
    let ticks = now().0;
    if location.start_ticks.load(Relaxed) == 0 {
        location.start_ticks.store(ticks, Relaxed);
    }
    local.open_root(ticks);
    publish(local);
    graph_file::count_thread();
    wrapper::inherit_delay(state, state.inherited.load(Relaxed));
    location.state.store(RUNS, Relaxed);
    add(&location.setup_ticks, ticks.saturating_sub(since));
    Some(local)
}

/// Whether the thread has a graph of its own also where another thread's has ended.
fn may_have_own() -> bool {
    let graphs = graph_file::locations();
    graphs < OWN_GRAPHS && settings().budget.is_none_or(|budget| duty::allows_graph(graphs, budget))
}

/// A graph of its own in the file.
fn begin(state: &'static ThreadState, thread: u32) -> Option<Local> {
    let kit = take_kit()?;
    let Some((index, arena)) = graph_file::new_arena(thread) else {
        kit.leave();
        return None;
    };
    kit.stay(index);
    Some(connect(state, arena, kit))
}

/// A thread for which there is no room, because too many live at once: it is counted as lost.
fn beyond_room(state: &'static ThreadState) -> Option<Local> {
    let kit = take_kit()?;
    let Some(arena) = kit.scratch_arena().filter(|arena| arena.allocate_first()) else {
        kit.leave();
        return None;
    };
    graph_file::count_lost_thread();
    Some(connect(state, arena, kit))
}

/// Of what limits leave free of the address space and of data a thread takes one in so many bytes at most: the program's own threads and memory come
/// first.
const PART_OF_FREE: u64 = 8;

/// What a thread needs, if one that is set up now leaves enough memory to the program, where a limit is set to it.
fn take_kit() -> Option<&'static Kit> {
    let leaves_enough = |free: Free| Kit::ADDRESS_SPACE <= free.address_space / PART_OF_FREE && Kit::data() <= free.data / PART_OF_FREE;
    sys::free_memory().is_none_or(leaves_enough).then(Kit::take).flatten()
}

/// Connects a thread with an arena: site cache, table of edges, stack for slow paths. Others than its caller come to know the arena by [`publish`].
pub(crate) fn connect(state: &'static ThreadState, arena: Arena, kit: &Kit) -> Local {
    kit.equip(state);
    state.high.store(arena.high_half(), Relaxed);
    Local { state, arena }
}

/// The thread is set up: from here on its arena is found by its state.
fn publish(local: Local) {
    local.state.arena.store(local.arena.start().as_ptr(), Relaxed);
}

/// Connects a thread with a fresh arena, and opens the root.
pub(crate) fn set_up_on(state: &'static ThreadState, arena: Arena, kit: &Kit) -> Local {
    let local = connect(state, arena, kit);
    local.open_root(now().0);
    publish(local);
    local
}

/// The end of a thread, called by the thread itself with its state.
extern "C" fn at_end(state: *mut c_void) {
    let own = ThreadState::current();
    if core::ptr::from_ref(own).addr() != state.addr() {
        return;
    }
    if let Some(local) = Local::of(own) {
        idle::ends_with_thread(local);
        close_location(local);
        metrics::end(own);
        queued::leave(local);
        if let Some(kit) = Kit::of(own) {
            kit.leave_with(local);
        }
        // Behind what the next thread of the location goes on with.
        local.arena.location().state.store(ENDED, Release);
        graph_file::count_end_of_thread();
    }
}

/// Brings the location of the calling thread up to date: its time so far, and the root's.
pub(crate) fn close_location(local: Local) {
    let ticks = now().0;
    local.attribute(local.owner(), ticks);
    let root = local.arena.node(0);
    root.inclusive.store(ticks.wrapping_sub(local.arena.frame(0).base.load(Relaxed)), Relaxed);
    local.publish(ticks);
    metrics::publish(local.state);
}
