//! Semaphores: who finds one empty waits until another thread posts to it. One that is not empty is taken as without us.

use crate::operations::Operation;
use crate::real::Real;
use crate::signals::{self, Signals};
use crate::wait::{Wait, moment};
use core::ffi::c_int;
use libc::{clockid_t, sem_t, timespec};

static SEMAPHORES: Signals = Signals::new();

type Semaphore = *mut sem_t;
type Time = *const timespec;
type OfSemaphore = unsafe extern "C-unwind" fn(Semaphore) -> c_int;
// SAFETY: the types of libc's functions of these names.
static POST: Real<OfSemaphore> = unsafe { Real::new(c"sem_post") };
// SAFETY: as above.
static VALUE: Real<unsafe extern "C" fn(Semaphore, *mut c_int) -> c_int> = unsafe { Real::new(c"sem_getvalue") };
// SAFETY: as above.
static WAIT: Real<OfSemaphore> = unsafe { Real::new(c"sem_wait") };
// SAFETY: as above.
static TIMED_WAIT: Real<unsafe extern "C-unwind" fn(Semaphore, Time) -> c_int> = unsafe { Real::new(c"sem_timedwait") };
// SAFETY: as above.
static CLOCK_WAIT: Real<unsafe extern "C-unwind" fn(Semaphore, clockid_t, Time) -> c_int> = unsafe { Real::new(c"sem_clockwait") };

/// Whether nobody need wait for it now.
fn is_free(semaphore: Semaphore) -> bool {
    let mut value = 0;
    // SAFETY: the program's argument, and a word of ours.
    VALUE.get().is_some_and(|read| unsafe { read(semaphore, &raw mut value) } == 0 && value > 0)
}

/// Waits by a function of libc's.
fn waited(semaphore: Semaphore, real: impl FnOnce() -> c_int) -> c_int {
    let wait = if is_free(semaphore) { None } else { Wait::begin(Operation::Semaphore) };
    let Some(wait) = wait else { return real() };
    let awaiting = SEMAPHORES.begin(semaphore.addr());
    let result = real();
    let end = moment().at;
    let awaited = signals::end(awaiting, &wait, result == 0);
    wait.end(end, awaited);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_post(semaphore: Semaphore) -> c_int {
    let Some(post) = POST.get() else { return libc::EINVAL };
    SEMAPHORES.note(semaphore.addr());
    // SAFETY: the program's argument.
    unsafe { post(semaphore) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_wait(semaphore: Semaphore) -> c_int {
    let Some(wait) = WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's argument.
    waited(semaphore, || unsafe { wait(semaphore) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_timedwait(semaphore: Semaphore, until: Time) -> c_int {
    let Some(wait) = TIMED_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(semaphore, || unsafe { wait(semaphore, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_clockwait(semaphore: Semaphore, clock: clockid_t, until: Time) -> c_int {
    let Some(wait) = CLOCK_WAIT.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    waited(semaphore, || unsafe { wait(semaphore, clock, until) })
}
