//! Mutexes, reader-writer locks, spin locks, and the locks and critical sections of OpenMP: who meets one that another thread has waits until that one
//! lets go of it.
//!
//! A lock that is free is taken as without us: no clock is read and nothing is recorded. What a lock's waits are is recorded, and from the first of
//! them on also by how much the delay of those who have it grows meanwhile ([`tare_delay::locks::contended`]).

use crate::operations::Operation;
use crate::places::{Known, Place, Places, spread};
use crate::real::Real;
use crate::wait::{Awaited, Wait, moment};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use tare_delay::completion::Moment;
use tare_runtime::wrapper::current_delay;

/// What those who had a lock gained with it in their hands. Who has the lock writes it.
struct Held {
    /// The holder's delay when it got it; `UNKNOWN` where that was before anybody waited.
    had_with: AtomicI64,
    /// All of them so far, in ticks.
    gained: AtomicI64,
}

const UNKNOWN: i64 = i64::MIN;

impl Known for Held {
    const NONE: Self = Self { had_with: AtomicI64::new(UNKNOWN), gained: AtomicI64::new(0) };

    fn clear(&self) {
        self.had_with.store(UNKNOWN, Relaxed);
    }
}

impl Held {
    /// The calling thread has got the lock, with this delay. Out of the way of locks that nobody waits for.
    #[cold]
    #[inline(never)]
    fn had(&self, delay: i64) {
        self.had_with.store(delay, Relaxed);
    }

    /// The calling thread, which has the lock, lets go of it.
    #[cold]
    #[inline(never)]
    fn lets_go(&self) {
        let (with, here) = (self.had_with.load(Relaxed), current_delay());
        if with != UNKNOWN {
            self.gained.store(self.gained.load(Relaxed) + (here - with).max(0), Relaxed);
            // It may have the lock several times.
            self.had_with.store(here, Relaxed);
        }
    }
}

static CONTENDED: Places<Held> = Places::new();

/// The calling thread has got a lock.
#[inline]
pub(crate) fn had(lock: usize) {
    if let Some(place) = CONTENDED.of(lock) {
        place.known.had(current_delay());
    }
}

/// The calling thread has got a lock after a wait: it had this delay then, and this came with the wait. That was gained before; what noting the wait takes
/// is gained with the lock in hand.
pub(crate) fn had_after(lock: usize, delay: i64, gain: i64) {
    if let Some(place) = CONTENDED.of(lock) {
        place.known.had(delay + gain);
    }
}

/// The calling thread, which has a lock, lets go of it.
#[inline]
pub(crate) fn lets_go(lock: usize) {
    if let Some(place) = CONTENDED.of(lock) {
        place.known.lets_go();
    }
}

/// A wait for a lock that another thread has.
pub(crate) struct Contention {
    lock: usize,
    wait: Wait,
    place: Option<(&'static Place<Held>, i64)>,
}

impl Contention {
    /// `None` where nothing is measured.
    pub(crate) fn begin(operation: Operation, lock: usize) -> Option<Self> {
        let wait = Wait::begin(operation)?;
        let place = CONTENDED.begin(lock).map(|place| (place, place.known.gained.load(Relaxed)));
        Some(Self { lock, wait, place })
    }

    /// The wait is over, with the lock or without.
    pub(crate) fn end(self, is_had: bool) {
        let Moment { at: end, delay } = moment();
        let gained = self.place.and_then(|(place, before)| place.end(|known| known.gained.load(Relaxed) - before));
        let gain = self.wait.end(end, gained.map_or(Awaited::Unknown, Awaited::Held));
        if is_had {
            had_after(self.lock, delay, gain);
        }
    }
}

/// Takes a lock: by `without_waiting` where that says anything but that it is held, by `real` otherwise.
#[inline]
fn take(operation: Operation, lock: usize, without_waiting: impl FnOnce() -> Option<c_int>, real: impl FnOnce() -> c_int) -> c_int {
    match without_waiting() {
        Some(result) => {
            if is_taken(result) {
                had(lock);
            }
            result
        }
        None => take_held(operation, lock, real),
    }
}

#[cold]
fn take_held(operation: Operation, lock: usize, real: impl FnOnce() -> c_int) -> c_int {
    let contention = Contention::begin(operation, lock);
    let result = real();
    match contention {
        Some(contention) => contention.end(is_taken(result)),
        None if is_taken(result) => had(lock),
        None => {}
    }
    result
}

/// Whether a function that returns this has taken the lock, perhaps from one who died with it.
const fn is_taken(result: c_int) -> bool {
    matches!(result, 0 | libc::EOWNERDEAD)
}

/// Locks that are had now, of kinds that cannot be asked for without waiting: each at its place, where of two the last one stands.
static HAD: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

fn had_at(lock: usize) -> &'static AtomicUsize {
    &HAD[spread(lock) % HAD.len()]
}

/// The calling thread is about to take a lock of such a kind: the wait, if another thread has it.
#[inline]
pub(crate) fn before(operation: Operation, lock: usize) -> Option<Contention> {
    // Between one that lets go of it and the next one in the queue nobody has it.
    let is_had = had_at(lock).load(Relaxed) == lock || CONTENDED.of(lock).is_some_and(Place::is_awaited);
    if is_had { Contention::begin(operation, lock) } else { None }
}

/// It has taken it.
#[inline]
pub(crate) fn after(lock: usize, contention: Option<Contention>) {
    had_at(lock).store(lock, Relaxed);
    match contention {
        Some(contention) => contention.end(true),
        None => had(lock),
    }
}

/// It is about to let go of it.
#[inline]
pub(crate) fn at_release(lock: usize) {
    lets_go(lock);
    let had = had_at(lock);
    if had.load(Relaxed) == lock {
        had.store(0, Relaxed);
    }
}

type Lock = *mut c_void;
type Time = *const libc::timespec;
type OfLock = unsafe extern "C" fn(Lock) -> c_int;
type Timed = unsafe extern "C" fn(Lock, Time) -> c_int;
type Clocked = unsafe extern "C" fn(Lock, libc::clockid_t, Time) -> c_int;

/// What is returned by a function that takes a lock only where it is free; `None` where it is held.
///
/// # Safety
/// The argument must be the program's.
#[inline]
unsafe fn take_free(function: &Real<OfLock>, lock: Lock) -> Option<c_int> {
    // SAFETY: as the caller vouches.
    function.get().map(|take| unsafe { take(lock) }).filter(|&result| result != libc::EBUSY)
}

macro_rules! taking_free {
    ($($name:ident = $text:literal, $real:ident;)*) => {
        // SAFETY: the types of libc's functions of these names.
        $(static $real: Real<OfLock> = unsafe { Real::new($text) };
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: Lock) -> c_int {
            let Some(take) = $real.get() else { return libc::EINVAL };
            // SAFETY: the program's argument.
            let result = unsafe { take(lock) };
            if is_taken(result) {
                had(lock.addr());
            }
            result
        })*
    };
}

macro_rules! taking {
    ($($name:ident = $operation:ident, $text:literal, $free:ident, $kind:ty, ($($argument:ident: $type:ty),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: Lock, $($argument: $type),*) -> c_int {
            // SAFETY: the type of libc's function of this name.
            static REAL: Real<$kind> = unsafe { Real::new($text) };
            // SAFETY: the program's arguments, here …
            let real = || REAL.get().map_or(libc::EINVAL, |real| unsafe { real(lock, $($argument),*) });
            // SAFETY: … and here.
            take(Operation::$operation, lock.addr(), || unsafe { take_free(&$free, lock) }, real)
        })*
    };
}

macro_rules! letting_go {
    ($($name:ident = $text:literal;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: Lock) -> c_int {
            // SAFETY: the type of libc's function of this name.
            static REAL: Real<OfLock> = unsafe { Real::new($text) };
            let Some(real) = REAL.get() else { return libc::EINVAL };
            lets_go(lock.addr());
            // SAFETY: the program's argument.
            unsafe { real(lock) }
        })*
    };
}

taking_free! {
    pthread_mutex_trylock = c"pthread_mutex_trylock", FREE_MUTEX;
    pthread_rwlock_tryrdlock = c"pthread_rwlock_tryrdlock", FREE_TO_READ;
    pthread_rwlock_trywrlock = c"pthread_rwlock_trywrlock", FREE_TO_WRITE;
    pthread_spin_trylock = c"pthread_spin_trylock", FREE_TO_SPIN;
}
taking! {
    pthread_mutex_lock = Mutex, c"pthread_mutex_lock", FREE_MUTEX, OfLock, ();
    pthread_mutex_timedlock = Mutex, c"pthread_mutex_timedlock", FREE_MUTEX, Timed, (until: Time);
    pthread_mutex_clocklock = Mutex, c"pthread_mutex_clocklock", FREE_MUTEX, Clocked, (clock: libc::clockid_t, until: Time);
    pthread_rwlock_rdlock = ReadLock, c"pthread_rwlock_rdlock", FREE_TO_READ, OfLock, ();
    pthread_rwlock_timedrdlock = ReadLock, c"pthread_rwlock_timedrdlock", FREE_TO_READ, Timed, (until: Time);
    pthread_rwlock_clockrdlock = ReadLock, c"pthread_rwlock_clockrdlock", FREE_TO_READ, Clocked, (clock: libc::clockid_t, until: Time);
    pthread_rwlock_wrlock = WriteLock, c"pthread_rwlock_wrlock", FREE_TO_WRITE, OfLock, ();
    pthread_rwlock_timedwrlock = WriteLock, c"pthread_rwlock_timedwrlock", FREE_TO_WRITE, Timed, (until: Time);
    pthread_rwlock_clockwrlock = WriteLock, c"pthread_rwlock_clockwrlock", FREE_TO_WRITE, Clocked, (clock: libc::clockid_t, until: Time);
    pthread_spin_lock = SpinLock, c"pthread_spin_lock", FREE_TO_SPIN, OfLock, ();
}
letting_go! {
    pthread_mutex_unlock = c"pthread_mutex_unlock";
    pthread_rwlock_unlock = c"pthread_rwlock_unlock";
    pthread_spin_unlock = c"pthread_spin_unlock";
}
