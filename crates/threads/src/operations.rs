//! The operations, which are the regions of a pseudo image.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use tare_format::description::{RegionKind, length_of_names, of_names};
use tare_format::ids::RegionId;
use tare_runtime::process::{IdBase, register_pseudo_image};

/// An operation: its place among the names, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Operation {
    Join = 1,
    Condition = 2,
    Barrier = 3,
    Parallel = 4,
    TeamBarrier = 5,
    Mutex = 6,
    ReadLock = 7,
    WriteLock = 8,
    SpinLock = 9,
    Critical = 10,
    TeamLock = 11,
    Semaphore = 12,
}

impl Operation {
    /// Whether a library of OpenMP may wait by it for what it tells itself.
    pub(crate) const fn serves_teams(self) -> bool {
        matches!(self, Self::Condition | Self::Mutex | Self::Semaphore)
    }
}

/// Of locks there are calls that wait alone.
const NAMES: [&str; 12] = [
    "pthread_join",
    "pthread_cond_wait",
    "pthread_barrier_wait",
    "omp parallel",
    "omp barrier",
    "contended pthread_mutex_lock",
    "contended pthread_rwlock_rdlock",
    "contended pthread_rwlock_wrlock",
    "contended pthread_spin_lock",
    "contended omp critical",
    "contended omp_set_lock",
    "sem_wait",
];
/// Changes with the names.
const IDENTITY: [u8; 16] = *b"tare threads 003";
const PATH: &str = "threads";
/// Made beforehand: a program that starts threads may have no memory left for it.
static DESCRIPTION: [u8; length_of_names(PATH, &NAMES)] = of_names(RegionKind::Threads, IDENTITY, PATH, &NAMES);

/// The region of an operation; `None` where nothing is to be recorded, and while another thread gives them their ids: nobody waits for that.
pub(crate) fn region(operation: Operation) -> Option<RegionId> {
    /// The base of the ids, plus one; 0 before it is known.
    static BASE: AtomicU64 = AtomicU64::new(0);
    static IS_BEGUN: AtomicBool = AtomicBool::new(false);
    if BASE.load(Acquire) == 0 && !IS_BEGUN.swap(true, AcqRel) {
        BASE.store(register().map_or(0, |base| u64::from(base.0) + 1), Release);
    }
    let base = BASE.load(Acquire).checked_sub(1)?;
    Some(IdBase(u32::try_from(base).ok()?).region(operation as u32))
}

/// Gives the operations their ids before there are threads that might need them at once.
pub(crate) fn make_known() {
    let _ = region(Operation::Join);
}

fn register() -> Option<IdBase> {
    register_pseudo_image(&DESCRIPTION, NAMES.len() as u32, IDENTITY)
}
