//! Regions, parameters and phases that a program names itself.
//!
//! A program that uses this crate links and runs without Tareweight: it looks the runtime up once, and every call does
//! nothing where there is none. For C and C++ there is `tare.h`, for Fortran `tare.f90`; all give the same graph.
//!
//! ```
//! use tare_api::{Region, parameter, record};
//!
//! static SOLVE: Region = Region::new(c"solve");
//!
//! for level in 0..3 {
//!     let _open = SOLVE.enter();
//!     parameter(c"level", level);
//! }
//! record(false);
//! ```

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The functions of the runtime, as `tare.h` has them.
#[repr(C)]
struct Table {
    version: c_uint,
    size: c_uint,
    region: unsafe extern "C" fn(kind: c_uint, name: *const c_char, file: *const c_char, line: c_uint) -> c_uint,
    begin: extern "C" fn(region: c_uint),
    end: extern "C" fn(region: c_uint),
    parameter: unsafe extern "C" fn(name: *const c_char, value: *const c_char),
    parameter_number: unsafe extern "C" fn(name: *const c_char, value: i64),
    record: extern "C" fn(on: c_uint),
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The runtime, if it is there.
fn runtime() -> Option<&'static Table> {
    static FOUND: OnceLock<Option<&'static Table>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: a lookup by name in the images of the program.
        let found = unsafe { dlsym(core::ptr::null_mut(), c"tare_api".as_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: under this name the runtime exports a function of this type.
        let get = unsafe { core::mem::transmute::<*mut c_void, extern "C" fn() -> *const Table>(found) };
        // SAFETY: null, or a table that stays as long as the process.
        unsafe { get().as_ref() }
    })
}

/// A region: the code between [`Region::enter`] and the drop of what that returns.
#[derive(Debug)]
pub struct Region {
    name: &'static CStr,
    kind: c_uint,
    id: AtomicU32,
}

impl Region {
    /// A region with this name. Regions of one name are one region.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, kind: 0, id: AtomicU32::new(0) }
    }

    /// A phase of the program.
    #[must_use]
    pub const fn phase(name: &'static CStr) -> Self {
        Self { name, kind: 1, id: AtomicU32::new(0) }
    }

    /// Begins the region. It ends when what is returned is dropped, in the same function and thread.
    #[must_use = "the region ends when this is dropped"]
    pub fn enter(&'static self) -> Open {
        let id = runtime().map_or(0, |runtime| {
            let id = self.id(runtime);
            (runtime.begin)(id);
            id
        });
        Open { id, not_send: PhantomData }
    }

    fn id(&self, runtime: &Table) -> c_uint {
        let known = self.id.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: both are strings.
        let id = unsafe { (runtime.region)(self.kind, self.name.as_ptr(), c"".as_ptr(), 0) };
        self.id.store(id, Ordering::Relaxed);
        id
    }
}

/// A region that is open.
#[derive(Debug)]
pub struct Open {
    id: c_uint,
    not_send: PhantomData<*const ()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(runtime) = runtime() {
            (runtime.end)(self.id);
        }
    }
}

/// Says that what is below runs with this value, up to the end of the region around, or another value of the parameter.
pub fn parameter(name: &CStr, value: i64) {
    if let Some(runtime) = runtime() {
        // SAFETY: the name is a string.
        unsafe { (runtime.parameter_number)(name.as_ptr(), value) };
    }
}

/// As [`parameter`], for values that are texts.
pub fn parameter_text(name: &CStr, value: &CStr) {
    if let Some(runtime) = runtime() {
        // SAFETY: both are strings.
        unsafe { (runtime.parameter)(name.as_ptr(), value.as_ptr()) };
    }
}

/// Says whether anything is recorded from now on.
pub fn record(on: bool) {
    if let Some(runtime) = runtime() {
        (runtime.record)(c_uint::from(on));
    }
}
