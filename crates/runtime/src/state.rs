//! The state of a thread: five cache lines of thread-local storage that the probe routines work on.
//!
//! What always holds: `frame` points to a live frame, at first the dummy whose stack pointer is below every
//! other, so that the first probe of a thread takes the slow path, which sets the thread up. Once `arena` is
//! set, it, `cache` and `edges` are valid for as long as the process lives.

use crate::arena::Arena;
use crate::edges::{EdgeTable, Edges};
use crate::live::{LiveFrame, LiveNode};
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use tare_format::graph::{Mode, ThreadWords};
use tare_format::probe::{slot_offset, state_offset};

/// The words of a thread that probes read and write. Its image stands in `probe/routines.s`.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// The innermost open frame.
    pub(crate) frame: AtomicPtr<LiveFrame>,
    /// Ticks of the last event.
    pub(crate) last: AtomicU64,
    /// The site cache: for each region id the words of its last node (high half) and parent (low half).
    pub(crate) cache: AtomicPtr<AtomicU64>,
    /// The table of edges.
    pub(crate) edges: AtomicPtr<EdgeTable>,
    /// The first frame that has no room above itself.
    pub(crate) limit: AtomicPtr<LiveFrame>,
    /// Overhead so far, in cost units.
    pub(crate) overhead: AtomicI64,
    /// What is added to the 32-bit word of a node to make its address.
    pub(crate) high: AtomicU64,
    /// Nodes of the thread that are not on.
    pub(crate) aside: AtomicU32,
    /// Index plus one of the node that takes batches now; 0 while none does.
    pub(crate) focus: AtomicU32,
    /// Nodes whose pages are allocated.
    pub(crate) nodes_ready: AtomicU32,
    /// Batch records whose pages are allocated.
    pub(crate) batches_ready: AtomicU32,
    /// Peer records whose pages are allocated.
    pub(crate) peers_ready: AtomicU32,
    /// Regions open beyond the deepest frame.
    pub(crate) lost_open: AtomicU32,
    /// Estimates that this thread has made, and batches in company that it has taken.
    pub(crate) findings: AtomicU32,
    /// Open frames that mark where another stack begins.
    pub(crate) segments: AtomicU32,
    /// From a node and a partner to the partner's record; null before the first message.
    pub(crate) partners: AtomicPtr<EdgeTable>,
    /// The start of the thread's arena; null before it is set up.
    pub(crate) arena: AtomicPtr<u8>,
    /// When the node that takes batches last began one.
    pub(crate) focus_since: AtomicU64,
    /// The start of the arena with the thread's metrics; null where it has none.
    pub(crate) metrics: AtomicPtr<u8>,
    /// When the kernel was last asked for how long the thread had no processor.
    pub(crate) queue_read: AtomicU64,
    /// When it was last asked for how long it had one, the same in nanoseconds, and what it said.
    pub(crate) looked: AtomicU64,
    pub(crate) looked_ns: AtomicU64,
    pub(crate) ran: AtomicU64,
    /// Ticks since then in wrapped calls: that spin while they wait, and that sleep.
    pub(crate) spinning: AtomicU64,
    pub(crate) sleeping: AtomicU64,
    /// Nanoseconds without a processor since `queue_read`: in such calls, and outside of both.
    pub(crate) away_spinning: AtomicU64,
    pub(crate) away_sleeping: AtomicU64,
    pub(crate) away_outside: AtomicU64,
    /// The end of the stack that slow paths run on; null while the thread has none, or is on it.
    pub(crate) slow_stack: AtomicPtr<u8>,
    /// When the door was left last; up to when the slow path was counted then, and the node to which it was.
    pub(crate) left: AtomicU64,
    pub(crate) counted: AtomicU64,
    pub(crate) counted_to: AtomicU32,
    /// What pairs of paths of which nothing is known cost together: see [`tare_format::graph::CompanyRecord::multiple`].
    pub(crate) multiple: AtomicU32,
    /// Where calls come back to that may pass; 0 while none may. Their node, the one around it, and how many they were at first.
    pub(crate) asked_at: AtomicU64,
    pub(crate) asked: AtomicPtr<LiveNode>,
    pub(crate) asked_in: AtomicPtr<LiveNode>,
    pub(crate) asked_calls: AtomicU64,
    /// How many times what lets one pass is done for it; and whether that is being done once more.
    pub(crate) asked_times: AtomicU32,
    pub(crate) asked_again: AtomicU32,
    /// When the last slow path closed a region of the program's own, whose end had not come; 0 where it closed none.
    pub(crate) skipped_at: AtomicU64,
    /// The stack pointer of the outermost wrapped call.
    pub(crate) outermost: AtomicU64,
    /// What the overhead was when the batch under way began.
    pub(crate) overhead_before: AtomicI64,
    /// Since when the thread's probes have cost more than the budget allows; 0 while they have not.
    pub(crate) in_debt_since: AtomicU64,
    /// Calls of the thread, for which there was no memory, until that is asked for again: the door counts them down.
    pub(crate) patience: AtomicI64,
    /// How many they were at first.
    pub(crate) refused: AtomicI64,
    /// Delay of the thread besides what its location says: that of who started it, without what earlier threads of the location have left there.
    pub(crate) inherited: AtomicI64,
}

const _: () = assert!(size_of::<ThreadState>() == 320);
/// Monitors read these.
const _: () =
    assert!(offset_of!(ThreadState, frame) == offset_of!(ThreadWords, frame) && offset_of!(ThreadState, last) == offset_of!(ThreadWords, last));

/// The stubs of images work on these.
const _: () = assert!(
    offset_of!(ThreadState, frame) == state_offset::FRAME
        && offset_of!(ThreadState, cache) == state_offset::CACHE
        && offset_of!(ThreadState, limit) == state_offset::LIMIT
        && offset_of!(ThreadState, high) == state_offset::HIGH
        && offset_of!(ThreadState, aside) == state_offset::ASIDE
);

unsafe extern "C" {
    static tare_dummy_frame: LiveFrame;
}

core::arch::global_asm!(
    include_str!("probe/saving.s"),
    include_str!("probe/routines.s"),
    include_str!("../../format/src/probe/stubs.s"),
    include_str!("probe/calibration.s"),
    STATE_SIZE = const size_of::<ThreadState>(),
    FRAME = const offset_of!(ThreadState, frame),
    ENTER_SLOT = const slot_offset::ENTER,
    LEAF_SLOT = const slot_offset::ENTER_LEAF,
    EXIT_SLOT = const slot_offset::EXIT,
    ID_BASE = const slot_offset::ID_BASE,
    STATE = const slot_offset::STATE,
    LAST = const offset_of!(ThreadState, last),
    CACHE = const offset_of!(ThreadState, cache),
    EDGES = const offset_of!(ThreadState, edges),
    LIMIT = const offset_of!(ThreadState, limit),
    OVERHEAD = const offset_of!(ThreadState, overhead),
    HIGH = const offset_of!(ThreadState, high),
    ASIDE = const offset_of!(ThreadState, aside),
    EDGE_TABLE = const size_of::<EdgeTable>(),
    FRAME_NODE = const offset_of!(LiveFrame, node),
    FRAME_BASE = const offset_of!(LiveFrame, base),
    FRAME_SP = const offset_of!(LiveFrame, sp),
    CALLS = const offset_of!(LiveNode, calls),
    EXCLUSIVE = const offset_of!(LiveNode, exclusive),
    INCLUSIVE = const offset_of!(LiveNode, inclusive),
    LAST_CHILD = const offset_of!(LiveNode, last_child),
    UNTIL = const offset_of!(LiveNode, until),
    LEFT = const offset_of!(LiveNode, left),
    COST = const offset_of!(LiveNode, cost),
    MODE = const offset_of!(LiveNode, mode),
    OFF = const Mode::OffCounted as u8,
    CLOCKLESS = const Mode::Clockless as u8,
    OFF_TWICE = const Mode::OffTwice as u8,
    CLOCKLESS_TWICE = const Mode::ClocklessTwice as u8,
    DIVERTED = const Mode::Diverted as u8,
    ID = const tare_format::probe::ID_AFTER_RETURN,
    LEAF_ID = const tare_format::probe::LEAF_ID_AFTER_RETURN,
    REGION_TOKEN = const tare_format::probe::REGION_TOKEN,
    SLOW_STACK = const offset_of!(ThreadState, slow_stack),
    PATIENCE = const offset_of!(ThreadState, patience),
    HEADER = sym crate::graph_file::HEADER,
    REFUSED_CALLS = const offset_of!(crate::live::LiveHeader, refused_calls),
    WAS_LEFT = const offset_of!(ThreadState, left),
    SAVE_AREA = const 2752,
    ROOM = const 1600,
    SET_MASK = const libc::SIG_SETMASK,
    SIGPROCMASK = const libc::SYS_rt_sigprocmask,
    SLOW_PATH = sym crate::slow::slow_path,
    options(att_syntax)
);

/// Distance of a thread's state from its thread pointer.
pub(crate) fn distance() -> i64 {
    let distance;
    // SAFETY: reads the offset of an initial-exec thread-local.
    unsafe { core::arch::asm!("mov {0}, qword ptr [rip + tare_thread_state@GOTTPOFF]", out(reg) distance, options(nostack, readonly)) };
    distance
}

/// Distance of the words that stand for a thread's state where stubs are to leave everything to the routines.
pub(crate) fn distance_of_none() -> i64 {
    let distance;
    // SAFETY: as above.
    unsafe { core::arch::asm!("mov {0}, qword ptr [rip + tare_no_state@GOTTPOFF]", out(reg) distance, options(nostack, readonly)) };
    distance
}

impl ThreadState {
    /// The state of the calling thread.
    ///
    /// # Probe-safe
    #[inline]
    pub(crate) fn current() -> &'static Self {
        let address: *const Self;
        // SAFETY: reads the offset of an initial-exec thread-local and the thread pointer, no memory else.
        unsafe {
            core::arch::asm!("mov {0}, qword ptr [rip + tare_thread_state@GOTTPOFF]", "add {0}, qword ptr fs:[0]",
                out(reg) address, options(nostack, readonly));
        }
        // SAFETY: thread-local storage of this layout, only handed to the thread itself, lives as long as it.
        unsafe { &*address }
    }

    /// Whether the thread has been set up.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.arena.load(Relaxed).is_null()
    }

    /// The thread's arena. `None` before it is set up.
    #[inline]
    pub(crate) fn arena(&self) -> Option<Arena> {
        NonNull::new(self.arena.load(Relaxed)).map(|start| {
            // SAFETY: `arena` is set to the start of a mapped arena, once, and never unmapped.
            unsafe { Arena::at(start) }
        })
    }

    /// The innermost open frame.
    #[inline]
    pub(crate) fn frame(&self) -> &'static LiveFrame {
        // SAFETY: `frame` always points to a live frame: the dummy, or one inside the thread's arena.
        unsafe { &*self.frame.load(Relaxed) }
    }

    /// The table of edges. `None` before the thread is set up.
    #[inline]
    pub(crate) fn edges(&self) -> Option<Edges> {
        NonNull::new(self.edges.load(Relaxed)).map(|table| {
            // SAFETY: `edges` is set to tables that `Edges` made; they are never unmapped.
            unsafe { Edges::at(table) }
        })
    }

    /// The table of partners. `None` before the first message.
    #[inline]
    pub(crate) fn partners(&self) -> Option<Edges> {
        NonNull::new(self.partners.load(Relaxed)).map(|table| {
            // SAFETY: `partners` is set to tables that `Edges` made; they are never unmapped.
            unsafe { Edges::at(table) }
        })
    }

    /// All words of the thread, for [`ThreadState::restore`].
    pub(crate) fn words(&self) -> [u64; size_of::<Self>() / 8] {
        // SAFETY: as many aligned words, which only this thread writes, with signals held back.
        unsafe { core::ptr::from_ref(self).cast::<[u64; size_of::<Self>() / 8]>().read_volatile() }
    }

    /// Puts the thread back to how it was.
    pub(crate) fn restore(&self, words: &[u64; size_of::<Self>() / 8]) {
        // SAFETY: the words are those of a state of this thread; all of its fields are atomics.
        unsafe { core::ptr::from_ref(self).cast_mut().cast::<[u64; size_of::<Self>() / 8]>().write_volatile(*words) };
    }

    /// Puts the thread back to how a fresh thread begins.
    pub(crate) fn reset(&self) {
        let dummy = &raw const tare_dummy_frame;
        self.frame.store(dummy.cast_mut(), Relaxed);
        self.cache.store(core::ptr::null_mut(), Relaxed);
        self.edges.store(core::ptr::null_mut(), Relaxed);
        self.partners.store(core::ptr::null_mut(), Relaxed);
        self.limit.store(core::ptr::null_mut(), Relaxed);
        self.arena.store(core::ptr::null_mut(), Relaxed);
        self.slow_stack.store(core::ptr::null_mut(), Relaxed);
        self.metrics.store(core::ptr::null_mut(), Relaxed);
        for word in [&self.last, &self.focus_since, &self.left, &self.counted, &self.asked_at, &self.in_debt_since] {
            word.store(0, Relaxed);
        }
        for word in [&self.overhead, &self.inherited, &self.patience, &self.refused] {
            word.store(0, Relaxed);
        }
        let counts = [&self.nodes_ready, &self.batches_ready, &self.peers_ready];
        for word in counts.into_iter().chain([&self.lost_open, &self.findings, &self.multiple, &self.segments, &self.aside, &self.focus]) {
            word.store(0, Relaxed);
        }
    }
}
