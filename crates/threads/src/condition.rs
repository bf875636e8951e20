//! Condition variables: who waits for one goes on because of the last signal.
//!
//! A signal is noted only while somebody waits for it.

use crate::operations::Operation;
use crate::real::Real;
use crate::wait::{Awaited, Wait, moment};
use core::ffi::c_int;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;
use tare_runtime::process::now;

/// A condition variable that somebody waits for.
struct Awaiting {
    is_held: AtomicBool,
    /// Which; 0 where there is none.
    condition: AtomicUsize,
    waiters: AtomicU32,
    /// The last signal, and the delay of who sent it.
    at: AtomicU64,
    delay: AtomicI64,
}

/// Condition variables that may be waited for at once: of two that share a place, the second one's signals are not known.
const PLACES: usize = 1024;
/// Tries to hold a place, in each of which a processor pauses.
const TRIES: u32 = 10_000;
static AWAITING: [Awaiting; PLACES] = [const { Awaiting::none() }; PLACES];

impl Awaiting {
    const fn none() -> Self {
        Self {
            is_held: AtomicBool::new(false),
            condition: AtomicUsize::new(0),
            waiters: AtomicU32::new(0),
            at: AtomicU64::new(0),
            delay: AtomicI64::new(0),
        }
    }

    fn of(condition: usize) -> &'static Self {
        &AWAITING[(condition.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % PLACES]
    }

    /// Holds the place for as long as a few words take. `None` where somebody else does for longer: a child of `fork` has its places as they were,
    /// also those that another thread of its parent held.
    fn hold<T>(&self, action: impl FnOnce() -> T) -> Option<T> {
        let mut tries = 0;
        while self.is_held.swap(true, Acquire) {
            tries += 1;
            if tries == TRIES {
                return None;
            }
            spin_loop();
        }
        let result = action();
        self.is_held.store(false, Release);
        Some(result)
    }

    /// One more waits for a condition variable; `None` where another one has the place.
    fn begin(condition: usize) -> Option<&'static Self> {
        let place = Self::of(condition);
        place.hold(|| {
            if place.waiters.load(Relaxed) == 0 {
                place.condition.store(condition, Relaxed);
                place.at.store(0, Relaxed);
            }
            let is_own = place.condition.load(Relaxed) == condition;
            is_own.then(|| place.waiters.store(place.waiters.load(Relaxed) + 1, Relaxed))?;
            Some(place)
        })?
    }

    /// One has ceased to wait: the last signal, if it can be told.
    fn end(&self) -> Option<Moment> {
        self.hold(|| {
            self.waiters.store(self.waiters.load(Relaxed) - 1, Relaxed);
            Moment { at: Ticks(self.at.load(Relaxed)), delay: self.delay.load(Relaxed) }
        })
    }

    /// A signal is about to be sent.
    fn signal(condition: usize) {
        let place = Self::of(condition);
        let is_awaited = || place.waiters.load(Relaxed) > 0 && place.condition.load(Relaxed) == condition;
        if is_awaited() {
            let here = moment();
            place.hold(|| {
                if is_awaited() {
                    place.at.store(here.at.0, Relaxed);
                    place.delay.store(here.delay, Relaxed);
                }
            });
        }
    }
}

type Condition = *mut libc::pthread_cond_t;
type Mutex = *mut libc::pthread_mutex_t;
type Time = *const libc::timespec;
type Signal = unsafe extern "C" fn(Condition) -> c_int;
type WaitFor = unsafe extern "C-unwind" fn(Condition, Mutex) -> c_int;
type TimedWait = unsafe extern "C-unwind" fn(Condition, Mutex, Time) -> c_int;
type ClockWait = unsafe extern "C-unwind" fn(Condition, Mutex, libc::clockid_t, Time) -> c_int;
/// The version whose condition variables are as large as they are.
const VERSION: &core::ffi::CStr = c"GLIBC_2.3.2";
// SAFETY: the types of libc's functions of these names.
static SIGNAL: Real<Signal> = unsafe { Real::of_version(c"pthread_cond_signal", VERSION) };
// SAFETY: as above.
static BROADCAST: Real<Signal> = unsafe { Real::of_version(c"pthread_cond_broadcast", VERSION) };
// SAFETY: as above.
static WAIT: Real<WaitFor> = unsafe { Real::of_version(c"pthread_cond_wait", VERSION) };
// SAFETY: as above.
static TIMED_WAIT: Real<TimedWait> = unsafe { Real::of_version(c"pthread_cond_timedwait", VERSION) };
// SAFETY: as above.
static CLOCK_WAIT: Real<ClockWait> = unsafe { Real::new(c"pthread_cond_clockwait") };

fn waited(condition: Condition, real: impl FnOnce() -> c_int) -> c_int {
    let Some(wait) = Wait::begin(Operation::Condition) else { return real() };
    let place = Awaiting::begin(condition.addr());
    let result = real();
    let end = now();
    let signal = place.and_then(Awaiting::end).filter(|signal| signal.at >= wait.begun().at);
    let awaited = match signal {
        Some(signal) => Awaited::Came(Arrivals::one(signal)),
        // Its time was over.
        None if result != 0 => Awaited::Came(Arrivals::NONE),
        None => Awaited::Unknown,
    };
    wait.end(end, awaited);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(condition: Condition) -> c_int {
    let Some(signal) = SIGNAL.get() else { return libc::EINVAL };
    Awaiting::signal(condition.addr());
    // SAFETY: the program's argument.
    unsafe { signal(condition) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(condition: Condition) -> c_int {
    let Some(broadcast) = BROADCAST.get() else { return libc::EINVAL };
    Awaiting::signal(condition.addr());
    // SAFETY: the program's argument.
    unsafe { broadcast(condition) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_wait(condition: Condition, mutex: Mutex) -> c_int {
    let Some(wait) = WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, || unsafe { wait(condition, mutex) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_timedwait(condition: Condition, mutex: Mutex, until: Time) -> c_int {
    let Some(wait) = TIMED_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, || unsafe { wait(condition, mutex, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_clockwait(condition: Condition, mutex: Mutex, clock: libc::clockid_t, until: Time) -> c_int {
    let Some(wait) = CLOCK_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, || unsafe { wait(condition, mutex, clock, until) })
}
