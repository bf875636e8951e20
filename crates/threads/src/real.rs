//! The functions behind ours.

use core::ffi::{CStr, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use tare_runtime::behind;

/// A function of libc's, of type `F`, looked up once.
pub(crate) struct Real<F> {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
    kind: PhantomData<F>,
}

impl<F: Copy> Real<F> {
    /// # Safety
    /// `F` must be the type of a pointer to a function, and what libc has under this name must be of it.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        Self { name, version: None, found: AtomicPtr::new(core::ptr::null_mut()), kind: PhantomData }
    }

    /// Of several versions this one, if there is one.
    ///
    /// # Safety
    /// As of [`Real::new`].
    pub(crate) const unsafe fn of_version(name: &'static CStr, version: &'static CStr) -> Self {
        // SAFETY: as the caller vouches.
        Self { version: Some(version), ..unsafe { Self::new(name) } }
    }

    /// The function; `None` where there is none.
    #[inline]
    pub(crate) fn get(&self) -> Option<F> {
        let found = self.found.load(Relaxed);
        let found = if found.is_null() { self.look_up() } else { found };
        // SAFETY: a pointer to a function of this type, as `new` asks, or null, which is `None`.
        (!found.is_null()).then(|| unsafe { core::mem::transmute_copy(&found) })
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let of_version = |version: &CStr| {
            // SAFETY: a lookup by name and version.
            unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) }
        };
        let mut found = self.version.map_or(core::ptr::null_mut(), of_version);
        if found.is_null() {
            found = behind::next(self.name);
        }
        self.found.store(found, Relaxed);
        found
    }
}
