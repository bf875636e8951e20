//! The next function of a name: the one that the program would have called.

use crate::words::{is_looking_up, set_looking_up};
use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The next function of a name, of type `F`, looked up once.
pub(crate) struct Next<F> {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    kind: PhantomData<F>,
}

impl<F: Copy> Next<F> {
    /// # Safety
    /// `F` must be the type of a pointer to a function, and what libc and allocators have under this name must be of it.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        Self { name, found: AtomicPtr::new(core::ptr::null_mut()), kind: PhantomData }
    }

    /// The function. `None` where there is none, and within a lookup of this thread.
    #[inline]
    pub(crate) fn get(&self) -> Option<F> {
        let found = self.found.load(Relaxed);
        let found = if found.is_null() { self.look_up() } else { found };
        // SAFETY: a pointer to a function of this type, as `new` asks, or null, which is `None`.
        (!found.is_null()).then(|| unsafe { core::mem::transmute_copy(&found) })
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        if is_looking_up() {
            return core::ptr::null_mut();
        }
        set_looking_up(true);
        // SAFETY: a lookup by name.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        set_looking_up(false);
        self.found.store(found, Relaxed);
        found
    }
}

/// A name that ends with a zero, as a C string.
pub(crate) const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with its only zero"),
    }
}
