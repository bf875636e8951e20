//! Barriers of POSIX threads: who comes to one waits for the last one.

use crate::operations::Operation;
use crate::phases::Phases;
use crate::real::Real;
use crate::wait::{Awaited, Wait, moment};
use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use tare_runtime::process::now;

/// A barrier of which is known for how many threads it is.
struct Known {
    /// Which; 0 where there is none.
    barrier: AtomicUsize,
    threads: AtomicU64,
    /// How often threads have come.
    comings: AtomicU64,
    phases: Phases,
}

/// Barriers for which there is room.
const PLACES: usize = 64;
static KNOWN: [Known; PLACES] = [const { Known::none() }; PLACES];

impl Known {
    const fn none() -> Self {
        Self { barrier: AtomicUsize::new(0), threads: AtomicU64::new(0), comings: AtomicU64::new(0), phases: Phases::new() }
    }

    fn of(barrier: usize) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.barrier.load(Acquire) == barrier)
    }

    fn add(barrier: usize, threads: u64) {
        let free = || KNOWN.iter().find(|known| known.barrier.compare_exchange(0, barrier, AcqRel, Acquire).is_ok());
        if let Some(known) = Self::of(barrier).or_else(free) {
            known.threads.store(threads, Release);
            known.comings.store(0, Release);
            known.phases.clear();
        }
    }

    fn forget(barrier: usize) {
        if let Some(known) = Self::of(barrier) {
            known.barrier.store(0, Release);
        }
    }
}

type Barrier = *mut libc::pthread_barrier_t;
type Init = unsafe extern "C" fn(Barrier, *const c_void, c_uint) -> c_int;
type OfBarrier = unsafe extern "C" fn(Barrier) -> c_int;
// SAFETY: the types of libc's functions of these names.
static INIT: Real<Init> = unsafe { Real::new(c"pthread_barrier_init") };
// SAFETY: as above.
static DESTROY: Real<OfBarrier> = unsafe { Real::new(c"pthread_barrier_destroy") };
// SAFETY: as above.
static WAIT: Real<OfBarrier> = unsafe { Real::new(c"pthread_barrier_wait") };

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(barrier: Barrier, attributes: *const c_void, threads: c_uint) -> c_int {
    let Some(init) = INIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    let result = unsafe { init(barrier, attributes, threads) };
    // SAFETY: attributes that the real function has taken.
    if result == 0 && !unsafe { is_shared(attributes) } {
        Known::add(barrier.addr(), u64::from(threads));
    }
    result
}

/// Whether a barrier with these attributes is one of several processes.
///
/// # Safety
/// They must be null or the attributes of a barrier.
unsafe fn is_shared(attributes: *const c_void) -> bool {
    let mut shared = libc::PTHREAD_PROCESS_PRIVATE;
    // SAFETY: as the caller vouches.
    !attributes.is_null()
        && unsafe { libc::pthread_barrierattr_getpshared(attributes.cast(), &raw mut shared) } == 0
        && shared == libc::PTHREAD_PROCESS_SHARED
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_destroy(barrier: Barrier) -> c_int {
    let Some(destroy) = DESTROY.get() else { return libc::EINVAL };
    Known::forget(barrier.addr());
    // SAFETY: the program's argument.
    unsafe { destroy(barrier) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: Barrier) -> c_int {
    let Some(real) = WAIT.get() else { return libc::EINVAL };
    let wait = Wait::begin(Operation::Barrier);
    let known = Known::of(barrier.addr());
    let phase = known.map(|known| {
        let phase = known.comings.fetch_add(1, AcqRel) / known.threads.load(Acquire).max(1);
        known.phases.come(phase, wait.as_ref().map_or_else(moment, Wait::begun));
        phase
    });
    // SAFETY: the program's argument.
    let result = unsafe { real(barrier) };
    let end = now();
    if let Some(wait) = wait {
        let came = known.zip(phase).map(|(known, phase)| known.phases.came(phase));
        wait.end(end, came.map_or(Awaited::Unknown, Awaited::Came));
    }
    result
}
