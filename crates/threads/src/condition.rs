//! Condition variables.

use crate::lock;
use crate::operations::Operation;
use crate::real::Real;
use crate::signals::{self, Signals};
use crate::wait::{Wait, moment};
use core::ffi::c_int;
use tare_delay::completion::Moment;

static CONDITIONS: Signals = Signals::new();

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

/// Waits by a function that lets go of the mutex meanwhile, and has it again when it returns.
fn waited(condition: Condition, mutex: Mutex, real: impl FnOnce() -> c_int) -> c_int {
    lock::lets_go(mutex.addr());
    let Some(wait) = Wait::begin(Operation::Condition) else {
        let result = real();
        lock::had(mutex.addr());
        return result;
    };
    let awaiting = CONDITIONS.begin(condition.addr());
    let result = real();
    let Moment { at: end, delay } = moment();
    let awaited = signals::end(awaiting, &wait, result == 0);
    let gain = wait.end(end, awaited);
    lock::had_after(mutex.addr(), delay, gain);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(condition: Condition) -> c_int {
    let Some(signal) = SIGNAL.get() else { return libc::EINVAL };
    CONDITIONS.note(condition.addr());
    // SAFETY: the program's argument.
    unsafe { signal(condition) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(condition: Condition) -> c_int {
    let Some(broadcast) = BROADCAST.get() else { return libc::EINVAL };
    CONDITIONS.note(condition.addr());
    // SAFETY: the program's argument.
    unsafe { broadcast(condition) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_wait(condition: Condition, mutex: Mutex) -> c_int {
    let Some(wait) = WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, mutex, || unsafe { wait(condition, mutex) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_timedwait(condition: Condition, mutex: Mutex, until: Time) -> c_int {
    let Some(wait) = TIMED_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, mutex, || unsafe { wait(condition, mutex, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_clockwait(condition: Condition, mutex: Mutex, clock: libc::clockid_t, until: Time) -> c_int {
    let Some(wait) = CLOCK_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(condition, mutex, || unsafe { wait(condition, mutex, clock, until) })
}
