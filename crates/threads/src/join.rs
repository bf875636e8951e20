//! Threads that are joined: who joins one waits for its end, of which the thread itself takes note.

use crate::operations::Operation;
use crate::places::spread;
use crate::real::Real;
use crate::wait::{Awaited, Wait, moment};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;
use tare_runtime::process::now;

/// The end of a thread that was not joined yet.
struct End {
    /// The thread; 0 where there is none.
    thread: AtomicUsize,
    at: AtomicU64,
    delay: AtomicI64,
}

/// Ends for which there is room. Threads that nobody joins leave theirs to others.
const ENDS: usize = 1024;
/// Places where the end of a thread may stand.
const PLACES: usize = 8;
static ENDED: [End; ENDS] = [const { End { thread: AtomicUsize::new(0), at: AtomicU64::new(0), delay: AtomicI64::new(0) } }; ENDS];

fn places(thread: usize) -> impl Iterator<Item = &'static End> {
    let first = spread(thread);
    (0..PLACES).map(move |step| &ENDED[(first + step) % ENDS])
}

fn note_end(thread: usize, here: Moment) {
    let own = places(thread).find(|end| end.thread.load(Relaxed) == thread);
    let free = || places(thread).find(|end| end.thread.compare_exchange(0, thread, AcqRel, Relaxed).is_ok());
    let oldest = || places(thread).min_by_key(|end| end.at.load(Relaxed));
    if let Some(end) = own.or_else(free).or_else(oldest) {
        end.thread.store(0, Relaxed);
        end.at.store(here.at.0, Release);
        end.delay.store(here.delay, Release);
        end.thread.store(thread, Release);
    }
}

/// The end of a thread that has been joined.
fn take_end(thread: usize) -> Option<Moment> {
    let end = places(thread).find(|end| end.thread.load(Acquire) == thread)?;
    let moment = Moment { at: Ticks(end.at.load(Acquire)), delay: end.delay.load(Acquire) };
    end.thread.compare_exchange(thread, 0, AcqRel, Relaxed).is_ok().then_some(moment)
}

/// The key whose destructor takes note of the end of a thread; negative without one.
static KEY: AtomicI64 = AtomicI64::new(-1);

/// Makes the key, if there is none. Of two threads that do so at once, one's is kept.
pub(crate) fn make_key() {
    if KEY.load(Acquire) >= 0 {
        return;
    }
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the destructor has the right type and does not unwind.
    let is_made = unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } == 0;
    if is_made && KEY.compare_exchange(-1, i64::from(key), AcqRel, Acquire).is_err() {
        // SAFETY: a key that nobody has used.
        unsafe { libc::pthread_key_delete(key) };
    }
}

/// Has the calling thread take note of its end, however that comes.
pub(crate) fn expect_end() {
    if let Ok(key) = libc::pthread_key_t::try_from(KEY.load(Acquire)) {
        // SAFETY: the key exists. Any value but null has the destructor called.
        unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(1)) };
    }
}

extern "C" fn at_end(_value: *mut c_void) {
    // SAFETY: asks who this is.
    let thread = unsafe { libc::pthread_self() };
    note_end(thread as usize, moment());
}

type Thread = libc::pthread_t;
type Result = *mut *mut c_void;
type Join = unsafe extern "C-unwind" fn(Thread, Result) -> c_int;
type TimedJoin = unsafe extern "C-unwind" fn(Thread, Result, *const libc::timespec) -> c_int;
type ClockJoin = unsafe extern "C-unwind" fn(Thread, Result, libc::clockid_t, *const libc::timespec) -> c_int;
// SAFETY: the types of libc's functions of these names.
static JOIN: Real<Join> = unsafe { Real::new(c"pthread_join") };
// SAFETY: as above.
static TRY_JOIN: Real<Join> = unsafe { Real::new(c"pthread_tryjoin_np") };
// SAFETY: as above.
static TIMED_JOIN: Real<TimedJoin> = unsafe { Real::new(c"pthread_timedjoin_np") };
// SAFETY: as above.
static CLOCK_JOIN: Real<ClockJoin> = unsafe { Real::new(c"pthread_clockjoin_np") };

/// Waits for a thread by a function that says 0 where the thread has ended.
fn joined(thread: Thread, real: impl FnOnce() -> c_int) -> c_int {
    let wait = Wait::begin(Operation::Join);
    let result = real();
    let end = now();
    let ended = (result == 0).then(|| take_end(thread as usize));
    if let Some(wait) = wait {
        let awaited = match ended {
            Some(Some(ended)) => Awaited::Came(Arrivals::one(ended)),
            Some(None) => Awaited::Unknown,
            None => Awaited::Came(Arrivals::NONE),
        };
        wait.end(end, awaited);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_join(thread: Thread, result: Result) -> c_int {
    let Some(join) = JOIN.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    joined(thread, || unsafe { join(thread, result) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_tryjoin_np(thread: Thread, result: Result) -> c_int {
    let Some(join) = TRY_JOIN.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    joined(thread, || unsafe { join(thread, result) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_timedjoin_np(thread: Thread, result: Result, until: *const libc::timespec) -> c_int {
    let Some(join) = TIMED_JOIN.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    joined(thread, || unsafe { join(thread, result, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_clockjoin_np(thread: Thread, result: Result, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
    let Some(join) = CLOCK_JOIN.get() else { return libc::EINVAL };
    // SAFETY: the program's arguments.
    joined(thread, || unsafe { join(thread, result, clock, until) })
}
