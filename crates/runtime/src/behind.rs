//! The functions behind ours: the next ones in the order of loading, and those that depend on who calls, of a library that may be loaded for itself
//! (`RTLD_LOCAL`), as interpreters do with their extensions.
//!
//! What always holds: what is found for a caller is what its call would reach without us; nothing that was found outlives an image that goes.

use crate::linking;
use crate::loaded;
use crate::sys::SignalsBlocked;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};

/// What was found for a name and a caller, before so many images went. The sequence is odd while that is written.
struct Found {
    sequence: AtomicUsize,
    name: AtomicUsize,
    caller: AtomicUsize,
    generation: AtomicUsize,
    function: AtomicPtr<c_void>,
}

/// Callers for which there is room; they take the places of others.
const PLACES: usize = 256;
static FOUND: [Found; PLACES] = [const {
    Found {
        sequence: AtomicUsize::new(0),
        name: AtomicUsize::new(0),
        caller: AtomicUsize::new(0),
        generation: AtomicUsize::new(0),
        function: AtomicPtr::new(core::ptr::null_mut()),
    }
}; PLACES];

/// How often images went.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Of a function: address of its name, where its call comes back to, how often images have gone.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    name: usize,
    caller: usize,
    generation: usize,
}

impl Key {
    fn place(self) -> &'static Found {
        let spread = (self.caller ^ self.name.rotate_left(7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &FOUND[(spread >> 56) % PLACES]
    }
}

impl Found {
    fn get(&self, key: Key) -> Option<*mut c_void> {
        let before = self.sequence.load(Acquire);
        let known = Key { name: self.name.load(Relaxed), caller: self.caller.load(Relaxed), generation: self.generation.load(Relaxed) };
        let function = self.function.load(Relaxed);
        fence(Acquire);
        let is_whole = before.is_multiple_of(2) && self.sequence.load(Relaxed) == before;
        (known == key && is_whole && !function.is_null()).then_some(function)
    }

    /// Writes it, where nobody else does so at this moment.
    fn set(&self, key: Key, function: *mut c_void) {
        let before = self.sequence.load(Relaxed);
        let is_mine = before.is_multiple_of(2) && self.sequence.compare_exchange(before, before + 1, AcqRel, Relaxed).is_ok();
        if is_mine {
            fence(Release);
            self.name.store(key.name, Relaxed);
            self.caller.store(key.caller, Relaxed);
            self.generation.store(key.generation, Relaxed);
            self.function.store(function, Relaxed);
            self.sequence.store(before + 2, Release);
        }
    }
}

/// The function of a name that the code at an address would call if we were not there; where the caller does not name the library that it uses, since
/// that was loaded for another image which does, that of the first of these that is loaded. Null where there is none.
#[must_use]
pub fn find(name: &'static CStr, caller: usize, libraries: &[&CStr]) -> *mut c_void {
    let key = Key { name: name.as_ptr().addr(), caller, generation: GENERATION.load(Acquire) };
    key.place().get(key).unwrap_or_else(|| {
        let found = look_up(name, caller, libraries);
        key.place().set(key, found);
        found
    })
}

/// The function of a name behind ours in the order of loading; null where there is none.
#[must_use]
pub fn next(name: &CStr) -> *mut c_void {
    // SAFETY: a lookup by name.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// An image has gone: nothing that was found before is known any more.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Release);
}

#[cold]
fn look_up(name: &'static CStr, caller: usize, libraries: &[&CStr]) -> *mut c_void {
    let of_caller = || of_caller(name, caller);
    // SAFETY: a library stays as long as something of it is called.
    let of_library = |library: &&CStr| unsafe { linking::in_loaded(library, name) };
    let all = core::iter::once_with(|| next(name)).chain(core::iter::once_with(of_caller)).chain(libraries.iter().map(of_library));
    { all }.find(|found| !found.is_null()).unwrap_or(core::ptr::null_mut())
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
