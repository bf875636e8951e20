//! C++'s `new` and `delete`. Where the next one calls `malloc` or `free`, as libstdc++'s does, those have counted the
//! call; where it does not, as in allocators that define the operators themselves, it is counted here.
//!
//! `new` may throw: nothing here has anything to undo.

use crate::heap::{self, count_allocation, count_free, usable};
use crate::next::Next;
use crate::words::of;
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use tare_format::tally::Word;

type Place = *mut c_void;

macro_rules! new {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        /// An operator `new`.
        ///
        /// # Safety
        /// As in C++.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the mangled names of C++")]
        pub unsafe extern "C-unwind" fn $name(size: usize $(, $argument: $kind)*) -> Place {
            static NEXT: Next<unsafe extern "C-unwind" fn(usize $(, $kind)*) -> Place> =
                // SAFETY: as C++ has it.
                unsafe { Next::new(crate::next::name(concat!(stringify!($name), "\0"))) };
            // Where there is no C++, there is nothing to throw either.
            let Some(next) = NEXT.get() else { return heap::allocate(size) };
            let before = of(Word::Allocations).load(Relaxed);
            // SAFETY: as the caller vouches.
            let place = unsafe { next(size $(, $argument)*) };
            if of(Word::Allocations).load(Relaxed) == before {
                count_allocation(place, size);
            }
            place
        }
    )*};
}

macro_rules! delete {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        /// An operator `delete`.
        ///
        /// # Safety
        /// As in C++.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the mangled names of C++")]
        pub unsafe extern "C-unwind" fn $name(place: Place $(, $argument: $kind)*) {
            static NEXT: Next<unsafe extern "C-unwind" fn(Place $(, $kind)*)> =
                // SAFETY: as C++ has it.
                unsafe { Next::new(crate::next::name(concat!(stringify!($name), "\0"))) };
            // SAFETY: what `allocate` gave above.
            let Some(next) = NEXT.get() else { return unsafe { heap::release(place) } };
            let (before, size) = (of(Word::Frees).load(Relaxed), usable(place));
            // SAFETY: as the caller vouches.
            unsafe { next(place $(, $argument)*) };
            if of(Word::Frees).load(Relaxed) == before && !place.is_null() {
                count_free(size);
            }
        }
    )*};
}

new! {
    _Znwm();
    _Znam();
    _ZnwmRKSt9nothrow_t(tag: *const c_void);
    _ZnamRKSt9nothrow_t(tag: *const c_void);
    _ZnwmSt11align_val_t(alignment: usize);
    _ZnamSt11align_val_t(alignment: usize);
    _ZnwmSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: *const c_void);
    _ZnamSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: *const c_void);
}

delete! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(size: usize);
    _ZdaPvm(size: usize);
    _ZdlPvRKSt9nothrow_t(tag: *const c_void);
    _ZdaPvRKSt9nothrow_t(tag: *const c_void);
    _ZdlPvSt11align_val_t(alignment: usize);
    _ZdaPvSt11align_val_t(alignment: usize);
    _ZdlPvmSt11align_val_t(size: usize, alignment: usize);
    _ZdaPvmSt11align_val_t(size: usize, alignment: usize);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: *const c_void);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: *const c_void);
}
