//! OpenMP by the tools interface of the standard (OMPT, OpenMP 5.0, section 4), which LLVM's and Intel's library have: it asks for
//! `ompt_start_tool`, and tells by callbacks what its threads do.

use crate::operations::Operation;
use crate::team::{AtBarrier, Place, Team, go_to, joined, makes_task};
use crate::wait::Wait;
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use tare_runtime::process::is_measuring;

static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Whether a library tells what its threads do.
#[inline]
pub(crate) fn is_told() -> bool {
    IS_TOLD.load(Relaxed)
}

/// What a library keeps for its tool.
#[repr(C)]
struct Data {
    team: *const Slot,
}

#[repr(C)]
struct Tool {
    initialize: extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: extern "C" fn(*mut Data),
    data: Data,
}

/// What the library keeps for itself of the record.
struct Shared(UnsafeCell<Tool>);
// SAFETY: the library alone writes to it.
unsafe impl Sync for Shared {}

static TOOL: Shared = Shared(UnsafeCell::new(Tool { initialize, finalize, data: Data { team: core::ptr::null() } }));

type Lookup = extern "C" fn(*const c_char) -> Option<SetCallback>;
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;

/// What a library of OpenMP asks for first of all: null where there is no tool. Another one goes first: the program may have brought it. The
/// library itself has a function of this name, which says that there is none.
#[unsafe(no_mangle)]
extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut c_void {
    type Start = extern "C" fn(c_uint, *const c_char) -> *mut c_void;
    let next = tare_runtime::behind::next(c"ompt_start_tool");
    // SAFETY: the type of functions of this name, or null.
    let other = unsafe { core::mem::transmute::<*mut c_void, Option<Start>>(next) }.map_or(core::ptr::null_mut(), |start| start(version, runtime));
    if other.is_null() && is_measuring() { TOOL.0.get().cast() } else { other }
}

// The numbers of callbacks, of what they tell, and of kinds of synchronisation.
const PARALLEL_BEGIN: c_int = 3;
const PARALLEL_END: c_int = 4;
const TASK_CREATE: c_int = 5;
const IMPLICIT_TASK: c_int = 7;
const SYNC_REGION: c_int = 23;
const BEGIN: c_int = 1;
const END: c_int = 2;
/// Of libraries that do not tell what follows it is all that is not explicit.
const BARRIER_IMPLICIT: c_int = 2;
const BARRIER_EXPLICIT: c_int = 3;
const BARRIER_IMPLICIT_WORKSHARE: c_int = 8;
const BARRIER_IMPLICIT_PARALLEL: c_int = 9;
const TASK_INITIAL: c_int = 1;
const TASK_EXPLICIT: c_int = 4;

extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    let Some(set) = lookup(c"ompt_set_callback".as_ptr()) else { return 0 };
    let callbacks: [(c_int, *const c_void); 5] = [
        (PARALLEL_BEGIN, parallel_begin as *const c_void),
        (PARALLEL_END, parallel_end as *const c_void),
        (TASK_CREATE, task_create as *const c_void),
        (IMPLICIT_TASK, implicit_task as *const c_void),
        (SYNC_REGION, sync_region as *const c_void),
    ];
    for (number, callback) in callbacks {
        // SAFETY: a callback of the type that the standard gives this number.
        unsafe { set(number, callback) };
    }
    IS_TOLD.store(true, Relaxed);
    1
}

extern "C" fn finalize(_data: *mut Data) {
    IS_TOLD.store(false, Relaxed);
}

/// A parallel region under way.
struct Slot {
    is_taken: AtomicBool,
    region: UnsafeCell<MaybeUninit<(Team, Wait)>>,
}
// SAFETY: who has taken a slot writes it before others come to know it, and takes it back after they have left; what is read is shared.
unsafe impl Sync for Slot {}

/// Parallel regions that may be under way at once. What waits in others is not known.
const SLOTS: usize = 128;
static REGIONS: [Slot; SLOTS] = [const { Slot { is_taken: AtomicBool::new(false), region: UnsafeCell::new(MaybeUninit::uninit()) } }; SLOTS];

impl Slot {
    fn take() -> Option<&'static Self> {
        REGIONS.iter().find(|slot| !slot.is_taken.load(Relaxed) && !slot.is_taken.swap(true, Acquire))
    }

    /// # Safety
    /// The slot must be taken and written.
    unsafe fn team(&self) -> &Team {
        // SAFETY: nobody writes to a slot whose region is under way …
        let region = unsafe { &*self.region.get() };
        // SAFETY: … which was written when it began.
        &unsafe { region.assume_init_ref() }.0
    }
}

/// The region that a library keeps with this, if it is known.
fn slot_of(data: *mut Data) -> Option<&'static Slot> {
    // SAFETY: null, or what the library keeps for this tool …
    let team = unsafe { data.as_ref() }?.team;
    // SAFETY: … which is null or one of the slots.
    unsafe { team.as_ref() }
}

/// Parallel regions within one another for which there is room.
const DEPTH: usize = 16;

thread_local! {
    /// Where the thread was outside of each parallel region that it is in, and how many these are.
    static OUTSIDE: Cell<([Place; DEPTH], usize)> = const { Cell::new(([Place::NONE; DEPTH], 0)) };
    /// The barrier that the thread is at.
    static BARRIER: Cell<Option<AtBarrier>> = const { Cell::new(None) };
}

extern "C" fn parallel_begin(_task: *mut Data, _frame: *const c_void, parallel: *mut Data, _threads: c_uint, _flags: c_int, _code: *const c_void) {
    // SAFETY: what the library keeps for this tool.
    let Some(data) = (unsafe { parallel.as_mut() }) else { return };
    data.team = core::ptr::null();
    let Some(slot) = Slot::take() else { return };
    let Some(wait) = Wait::begin(Operation::Parallel) else {
        slot.is_taken.store(false, Release);
        return;
    };
    // SAFETY: the slot has just been taken.
    unsafe { (*slot.region.get()).write((Team::new(wait.begun()), wait)) };
    data.team = slot;
}

extern "C" fn parallel_end(parallel: *mut Data, _task: *mut Data, _flags: c_int, _code: *const c_void) {
    let Some(slot) = slot_of(parallel) else { return };
    // SAFETY: all others have left the region …
    let region = unsafe { &*slot.region.get() };
    // SAFETY: … which was written when it began, and is read this once.
    let (team, wait) = unsafe { region.assume_init_read() };
    joined(&team, wait);
    slot.is_taken.store(false, Release);
}

extern "C" fn task_create(_task: *mut Data, _frame: *const c_void, _new: *mut Data, flags: c_int, _depends: c_int, _code: *const c_void) {
    if flags & TASK_EXPLICIT != 0 {
        makes_task();
    }
}

extern "C" fn implicit_task(endpoint: c_int, parallel: *mut Data, _task: *mut Data, _threads: c_uint, index: c_uint, flags: c_int) {
    if flags & TASK_INITIAL != 0 {
        return;
    }
    let (mut outside, depth) = OUTSIDE.get();
    match endpoint {
        BEGIN => {
            let before = match slot_of(parallel) {
                // SAFETY: a region that is under way.
                Some(slot) => unsafe { slot.team() }.enter(index == 0),
                None => go_to(Place::NONE),
            };
            if let Some(place) = outside.get_mut(depth) {
                *place = before;
            }
            OUTSIDE.set((outside, depth + 1));
        }
        END => {
            let depth = depth.saturating_sub(1);
            go_to(outside.get(depth).copied().unwrap_or(Place::NONE));
            OUTSIDE.set((outside, depth));
        }
        _ => {}
    }
}

extern "C" fn sync_region(kind: c_int, endpoint: c_int, parallel: *mut Data, _task: *mut Data, _code: *const c_void) {
    match (kind, endpoint) {
        (BARRIER_EXPLICIT | BARRIER_IMPLICIT_WORKSHARE, BEGIN) => BARRIER.set(AtBarrier::come()),
        (BARRIER_IMPLICIT | BARRIER_IMPLICIT_PARALLEL, BEGIN) => BARRIER.set(AtBarrier::come_perhaps()),
        // At the end of a parallel region a thread is in no region any more when it goes on.
        (BARRIER_EXPLICIT | BARRIER_IMPLICIT_WORKSHARE | BARRIER_IMPLICIT, END) if !parallel.is_null() => {
            if let Some(at) = BARRIER.take() {
                at.leave();
            }
        }
        _ => {}
    }
}
