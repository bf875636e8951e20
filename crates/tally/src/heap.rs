//! `malloc` and its kin.
//!
//! Memory that is asked for while the next `malloc` is looked up comes from a small stretch of our own, which is never given
//! back. Bytes in use are those that the allocator says are usable, bytes allocated those that were asked for.

use crate::next::Next;
use crate::words::{add, of};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use tare_format::tally::Word;

type Place = *mut c_void;

/// Bytes of the heap in use, of the whole process.
static IN_USE: AtomicI64 = AtomicI64::new(0);

// SAFETY: as POSIX, C and glibc have them; so for all below.
static MALLOC: Next<unsafe extern "C" fn(usize) -> Place> = unsafe { Next::new(c"malloc") };
// SAFETY: as above.
static FREE: Next<unsafe extern "C" fn(Place)> = unsafe { Next::new(c"free") };
// SAFETY: as above.
static CALLOC: Next<unsafe extern "C" fn(usize, usize) -> Place> = unsafe { Next::new(c"calloc") };
// SAFETY: as above.
static REALLOC: Next<unsafe extern "C" fn(Place, usize) -> Place> = unsafe { Next::new(c"realloc") };
// SAFETY: as above.
static USABLE: Next<unsafe extern "C" fn(Place) -> usize> = unsafe { Next::new(c"malloc_usable_size") };

/// Counts memory that was given.
pub(crate) fn count_allocation(place: Place, asked: usize) {
    if place.is_null() {
        return;
    }
    add(Word::Allocations, 1);
    add(Word::AllocatedBytes, asked as u64);
    let size = usable(place);
    let in_use = (IN_USE.fetch_add(size, Relaxed) + size).max(0).cast_unsigned();
    let peak = of(Word::PeakHeap);
    if in_use > peak.load(Relaxed) {
        peak.store(in_use, Relaxed);
    }
}

/// Counts memory that is given back: what of it was usable.
pub(crate) fn count_free(size: i64) {
    add(Word::Frees, 1);
    IN_USE.fetch_sub(size, Relaxed);
}

/// Bytes that are usable there; 0 where nobody can say.
pub(crate) fn usable(place: Place) -> i64 {
    if place.is_null() || early::has(place) {
        return 0;
    }
    // SAFETY: memory that the next allocator has given.
    USABLE.get().map_or(0, |usable| unsafe { usable(place) } as i64)
}

/// `malloc`.
///
/// # Safety
/// As in C; so for all of this module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> Place {
    allocate(size)
}

/// What [`malloc`] does: that name may be the program's own.
pub(crate) fn allocate(size: usize) -> Place {
    let Some(next) = MALLOC.get() else { return early::take(size) };
    // SAFETY: as in C.
    let place = unsafe { next(size) };
    count_allocation(place, size);
    place
}

/// `free`.
///
/// # Safety
/// See [`malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(place: Place) {
    // SAFETY: as the caller vouches.
    unsafe { release(place) };
}

/// What [`free`] does: that name may be the program's own.
///
/// # Safety
/// See [`malloc`].
pub(crate) unsafe fn release(place: Place) {
    if place.is_null() || early::has(place) {
        return;
    }
    let Some(next) = FREE.get() else { return };
    count_free(usable(place));
    // SAFETY: as the caller vouches.
    unsafe { next(place) };
}

/// `calloc`.
///
/// # Safety
/// See [`malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> Place {
    let Some(next) = CALLOC.get() else { return count.checked_mul(size).map_or(core::ptr::null_mut(), early::take) };
    // SAFETY: as the caller vouches.
    let place = unsafe { next(count, size) };
    count_allocation(place, count.wrapping_mul(size));
    place
}

/// `realloc`.
///
/// # Safety
/// See [`malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(place: Place, size: usize) -> Place {
    let Some(next) = REALLOC.get() else { return core::ptr::null_mut() };
    if early::has(place) {
        let fresh = allocate(size);
        if !fresh.is_null() {
            // SAFETY: both are as long as that, and the stretch is not the allocator's.
            unsafe { core::ptr::copy_nonoverlapping(place.cast::<u8>(), fresh.cast(), size.min(early::room_from(place))) };
        }
        return fresh;
    }
    let before = usable(place);
    // SAFETY: as the caller vouches.
    let fresh = unsafe { next(place, size) };
    if !place.is_null() && (!fresh.is_null() || size == 0) {
        count_free(before);
    }
    count_allocation(fresh, size);
    fresh
}

/// `reallocarray`.
///
/// # Safety
/// See [`malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(place: Place, count: usize, size: usize) -> Place {
    let Some(bytes) = count.checked_mul(size) else {
        // SAFETY: the thread's `errno`.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above; this is what the function is to do.
        unsafe { *errno = libc::ENOMEM };
        return core::ptr::null_mut();
    };
    // SAFETY: as the caller vouches.
    unsafe { realloc(place, bytes) }
}

macro_rules! aligned {
    ($($name:ident($($argument:ident: $kind:ty),*) asks $size:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// See [`malloc`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> Place {
            static NEXT: Next<unsafe extern "C" fn($($kind),*) -> Place> =
                // SAFETY: as above.
                unsafe { Next::new(crate::next::name(concat!(stringify!($name), "\0"))) };
            let Some(next) = NEXT.get() else { return core::ptr::null_mut() };
            // SAFETY: as the caller vouches.
            let place = unsafe { next($($argument),*) };
            count_allocation(place, $size);
            place
        }
    )*};
}

aligned! {
    memalign(alignment: usize, size: usize) asks size;
    aligned_alloc(alignment: usize, size: usize) asks size;
    valloc(size: usize) asks size;
    pvalloc(size: usize) asks size;
}

/// `posix_memalign`.
///
/// # Safety
/// See [`malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(to: *mut Place, alignment: usize, size: usize) -> c_int {
    // SAFETY: as above.
    static NEXT: Next<unsafe extern "C" fn(*mut Place, usize, usize) -> c_int> = unsafe { Next::new(c"posix_memalign") };
    let Some(next) = NEXT.get() else { return libc::ENOMEM };
    // SAFETY: as the caller vouches.
    let result = unsafe { next(to, alignment, size) };
    if result == 0 {
        // SAFETY: the function has succeeded, so it has written there.
        count_allocation(unsafe { *to }, size);
    }
    result
}

/// Allocations and frees through this module, and by the next allocator alone, which tell what counting costs.
pub(crate) fn pair_through(size: usize) {
    // SAFETY: memory that is given back at once.
    unsafe { release(core::hint::black_box(allocate(size))) };
}

/// See [`pair_through`].
pub(crate) fn pair_past(size: usize) {
    if let (Some(malloc), Some(free)) = (MALLOC.get(), FREE.get()) {
        // SAFETY: as in C.
        let place = unsafe { malloc(size) };
        // SAFETY: memory that was just given.
        unsafe { free(core::hint::black_box(place)) };
    }
}

/// Memory for the time in which the next allocator is looked up.
mod early {
    use super::{AtomicUsize, Place, Relaxed};
    use core::cell::UnsafeCell;

    const BYTES: usize = 1 << 14;

    #[repr(align(64))]
    struct Stretch(UnsafeCell<[u8; BYTES]>);
    // SAFETY: each byte is handed out once.
    unsafe impl Sync for Stretch {}

    static STRETCH: Stretch = Stretch(UnsafeCell::new([0; BYTES]));
    static TAKEN: AtomicUsize = AtomicUsize::new(0);

    /// Zeroed memory; null where there is no more.
    pub(super) fn take(size: usize) -> Place {
        let next = |taken: usize| size.checked_next_multiple_of(16).and_then(|size| taken.checked_add(size)).filter(|&end| end <= BYTES);
        let at = TAKEN.fetch_update(Relaxed, Relaxed, next);
        at.map_or(core::ptr::null_mut(), |at| STRETCH.0.get().cast::<u8>().wrapping_add(at).cast())
    }

    pub(super) fn has(place: Place) -> bool {
        place.addr().wrapping_sub(STRETCH.0.get().addr()) < BYTES
    }

    /// Bytes from there to the end of the stretch.
    pub(super) fn room_from(place: Place) -> usize {
        BYTES - place.addr().wrapping_sub(STRETCH.0.get().addr())
    }
}
