//! The functions behind ours that depend on who calls: those of a library that may be loaded for itself (`RTLD_LOCAL`), as interpreters do with
//! their extensions.
//!
//! What always holds: what is found for a caller is what its call would reach without us; nothing that was found outlives an image that goes.

use crate::linking;
use crate::loaded;
use crate::sys::SignalsBlocked;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};

/// What was found for a name and a caller. The sequence is odd while that is written.
struct Found {
    sequence: AtomicUsize,
    name: AtomicUsize,
    caller: AtomicUsize,
    function: AtomicPtr<c_void>,
}

/// Callers for which there is room; they take the places of others.
const PLACES: usize = 256;
static FOUND: [Found; PLACES] = [const {
    Found { sequence: AtomicUsize::new(0), name: AtomicUsize::new(0), caller: AtomicUsize::new(0), function: AtomicPtr::new(core::ptr::null_mut()) }
}; PLACES];

fn place(name: usize, caller: usize) -> &'static Found {
    let spread = (caller ^ name.rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &FOUND[(spread >> 56) % PLACES]
}

impl Found {
    fn get(&self, name: usize, caller: usize) -> Option<*mut c_void> {
        let before = self.sequence.load(Acquire);
        let is_it = self.name.load(Relaxed) == name && self.caller.load(Relaxed) == caller;
        let function = self.function.load(Relaxed);
        fence(Acquire);
        let is_whole = before.is_multiple_of(2) && self.sequence.load(Relaxed) == before;
        (is_it && is_whole && !function.is_null()).then_some(function)
    }

    /// Writes it, where nobody else does so at this moment.
    fn set(&self, name: usize, caller: usize, function: *mut c_void) {
        let before = self.sequence.load(Relaxed);
        let is_mine = before.is_multiple_of(2) && self.sequence.compare_exchange(before, before + 1, AcqRel, Relaxed).is_ok();
        if is_mine {
            fence(Release);
            self.name.store(name, Relaxed);
            self.caller.store(caller, Relaxed);
            self.function.store(function, Relaxed);
            self.sequence.store(before + 2, Release);
        }
    }
}

/// The function of a name that the code at an address would call if we were not there; null where there is none.
#[must_use]
pub fn find(name: &'static CStr, caller: usize) -> *mut c_void {
    let place = place(name.as_ptr().addr(), caller);
    place.get(name.as_ptr().addr(), caller).unwrap_or_else(|| {
        let found = look_up(name, caller);
        place.set(name.as_ptr().addr(), caller, found);
        found
    })
}

/// Images go: nothing that was found is known any more.
pub(crate) fn forget() {
    FOUND.iter().for_each(|found| found.set(0, 0, core::ptr::null_mut()));
}

#[cold]
fn look_up(name: &'static CStr, caller: usize) -> *mut c_void {
    // SAFETY: a lookup by name.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if next.is_null() { of_caller(name, caller) } else { next }
}

/// By the path under which the dynamic linker has the image, which `dladdr` does not say of copies.
fn of_caller(name: &CStr, caller: usize) -> *mut c_void {
    let image = {
        let _signals = SignalsBlocked::new();
        loaded::image_of(caller as u64)
    };
    // SAFETY: a string; the image stays, since its code called us.
    image.as_ref().and_then(|image| image.path.as_c_str()).map_or(core::ptr::null_mut(), |path| unsafe { linking::in_loaded(path, name) })
}
