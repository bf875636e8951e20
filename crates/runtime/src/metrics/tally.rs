//! Allocation and I/O: counted by a library of its own (`tare_format::tally`), which is there where they are asked for, and
//! read here. What its counting took goes to the tool's account of the node that called.
//!
//! `private` of the thread's record: word 9 the address of the thread's tally.

use crate::arena::{Arena, PAGE};
use crate::graph_file;
use crate::live::{LiveFiles, LiveMetrics, LiveNode, add};
use crate::local::Local;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::Release};
use tare_format::graph::COST_UNIT;
use tare_format::tally::{FILES, FileRecord, Interface, SYMBOL, TABLE, VERSION, WORDS, Word};

/// Where in a record's private words the tally's address stands.
const ADDRESS: usize = 9;

/// What the library offers; null where it is not there, or not of our version.
static INTERFACE: AtomicPtr<Interface> = AtomicPtr::new(core::ptr::null_mut());
/// What counting takes, in cost units: of an allocation, of an I/O call.
static COSTS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The arena with files; null where there is none.
static FILES_ARENA: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

fn interface() -> Option<&'static Interface> {
    // SAFETY: null, or what the library has said, which stays.
    unsafe { INTERFACE.load(Relaxed).as_ref() }
}

/// Looks for the library, and measures what its counting takes.
pub(crate) fn connect() {
    // SAFETY: a lookup by name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr()) };
    if found.is_null() {
        return;
    }
    // SAFETY: the function of that name is the library's, of this type.
    let say = unsafe { core::mem::transmute::<*mut core::ffi::c_void, extern "C" fn() -> *const Interface>(found) };
    let offered = say().cast_mut();
    // SAFETY: null, or a record that stays.
    let Some(interface) = (unsafe { offered.as_ref() }) else { return };
    if interface.version == VERSION && interface.size as usize == size_of::<Interface>() {
        let mut costs = [0; 2];
        (interface.costs)(&mut costs);
        COSTS.iter().zip(costs).for_each(|(to, cost)| to.store(cost, Relaxed));
        INTERFACE.store(offered, Release);
    }
}

/// Connects a thread's record with its tally. Says whether there is one, and whether allocations pass it.
pub(crate) fn begin(head: &LiveMetrics) -> (bool, bool) {
    let Some(interface) = interface() else { return (false, false) };
    if let Some(word) = head.private.get(ADDRESS) {
        word.store((interface.words)().expose_provenance() as u64, Relaxed);
    }
    head.tally_costs.iter().zip(&COSTS).for_each(|(to, cost)| to.store(cost.load(Relaxed), Relaxed));
    head.tally_ticks.store(own_ticks(head), Relaxed);
    (true, (interface.sees_heap)() != 0)
}

fn words(head: &LiveMetrics) -> Option<&'static [AtomicU64; WORDS]> {
    let address = head.private.get(ADDRESS)?.load(Relaxed);
    // SAFETY: 0, or the address of as many words of the thread whose record this is, which alone asks.
    unsafe { core::ptr::with_exposed_provenance::<[AtomicU64; WORDS]>(address as usize).as_ref() }
}

/// What a word of the thread's tally is now.
///
/// # Probe-safe
pub(crate) fn count(head: &LiveMetrics, word: Word) -> u64 {
    words(head).and_then(|words| words.get(word as usize)).map_or(0, |word| word.load(Relaxed))
}

/// The highest value of a word since it was last taken.
///
/// # Probe-safe
pub(crate) fn take(head: &LiveMetrics, word: Word) -> u64 {
    words(head).and_then(|words| words.get(word as usize)).map_or(0, |word| word.swap(0, Relaxed))
}

/// Ticks that the thread's counting has taken so far.
fn own_ticks(head: &LiveMetrics) -> u64 {
    let count = |word| count(head, word);
    let [allocation, call] = &COSTS;
    let memory = (count(Word::Allocations) + count(Word::Frees)).wrapping_mul(allocation.load(Relaxed));
    let io = count(Word::IoCalls).wrapping_mul(call.load(Relaxed));
    count(Word::OwnTicks) + memory.wrapping_add(io) / COST_UNIT
}

/// Gives what counting took since the last event to the tool's account of a node.
///
/// # Probe-safe
pub(crate) fn attribute(local: Local, head: &LiveMetrics, node: &LiveNode) {
    if words(head).is_some() {
        let passed = own_ticks(head).wrapping_sub(head.tally_ticks.load(Relaxed));
        add(&head.tally_ticks, passed);
        if passed != 0 {
            local.count_tool(node, passed);
        }
    }
}

/// Files are counted in an arena of this process's file from now on.
pub(crate) fn keep_files() {
    let Some(interface) = interface().filter(|_| FILES_ARENA.load(Relaxed).is_null()) else { return };
    let Some(arena) = graph_file::new_extra_arena().filter(|arena| arena.allocate(0, PAGE)) else { return };
    FILES_ARENA.store(arena.start().as_ptr(), Relaxed);
    (interface.keep_files)(Some(room));
    head_of(arena).state.store(FILES, Release);
}

/// In a forked child: the arena is the parent's.
pub(crate) fn leave_files() {
    if let Some(interface) = interface() {
        (interface.keep_files)(None);
    }
    FILES_ARENA.store(core::ptr::null_mut(), Relaxed);
}

fn head_of(arena: Arena) -> &'static LiveFiles {
    // SAFETY: stands at the arena's start, made of atomics.
    unsafe { arena.start().cast::<LiveFiles>().as_ref() }
}

/// The place of a file's record, its page allocated.
extern "C" fn room(file: u32) -> *mut u8 {
    let Some(start) = NonNull::new(FILES_ARENA.load(Relaxed)) else { return core::ptr::null_mut() };
    // SAFETY: an arena of the file, which is never unmapped.
    let arena = unsafe { Arena::at(start) };
    let offset = TABLE + u64::from(file) * FileRecord::SIZE as u64;
    if !arena.allocate(offset / PAGE * PAGE, PAGE) {
        return core::ptr::null_mut();
    }
    head_of(arena).files.fetch_max(file + 1, Release);
    // SAFETY: within the arena, of which `allocate` has made sure.
    unsafe { start.add(offset as usize) }.as_ptr()
}
