//! The functions behind ours: the next `PMPI_X` in the order of loading.

use crate::abi::{Abi, Constant};
use crate::export::{ARGUMENTS, Arguments};
use crate::table::{FUNCTIONS, Id, function};
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Addresses found so far, in the order of the table.
static FOUND: [AtomicPtr<c_void>; FUNCTIONS.len()] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FUNCTIONS.len()];

type Words = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> usize;
type Double = unsafe extern "C-unwind" fn() -> f64;

/// A function of the real library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real(*mut c_void);

impl Real {
    /// Finds a function; `None` where the library has none of this name.
    pub(crate) fn find(abi: &Abi, id: Id) -> Option<Self> {
        let found = FOUND[id as usize].load(Ordering::Relaxed);
        if !found.is_null() {
            return Some(Self(found));
        }
        let symbol = find(abi, libc::RTLD_NEXT, function(id).profiling_name)?;
        FOUND[id as usize].store(symbol, Ordering::Relaxed);
        Some(Self(symbol))
    }

    /// Our own function, as the program finds it.
    pub(crate) fn exported(id: Id) -> Option<Self> {
        let mut own = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the address is one of this library's, and there is room for the answer.
        let found = unsafe { libc::dladdr(core::ptr::from_ref(&FOUND).cast(), own.as_mut_ptr()) };
        // SAFETY: zeros are a value of this type.
        let path = unsafe { own.assume_init() }.dli_fname;
        if found == 0 || path.is_null() {
            return None;
        }
        // SAFETY: a path, terminated, of a library that stays.
        look_in(unsafe { CStr::from_ptr(path) }, function(id).profiling_name).map(Self)
    }

    /// Calls it. The result is the word returned, of a `double` its bits.
    ///
    /// # Safety
    /// The arguments are those of a call of this function, and `real` says whether it returns a `double`.
    pub(crate) unsafe fn invoke(self, real: bool, arguments: &Arguments) -> usize {
        if real {
            // SAFETY: the functions of the table that return a `double` have no arguments.
            let function = unsafe { core::mem::transmute::<*mut c_void, Double>(self.0) };
            // SAFETY: as the caller's.
            return unsafe { function() }.to_bits() as usize;
        }
        // SAFETY: words beyond a function's own arguments are ignored under the C ABI, whose caller cleans the stack.
        let function = unsafe { core::mem::transmute::<*mut c_void, Words>(self.0) };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *arguments;
        // SAFETY: as the caller's.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n) }
    }

    /// Calls a function of one argument, an address, as compiled code does.
    ///
    /// # Safety
    /// The function must be one.
    pub(crate) unsafe fn call_with_address(self, address: *mut i32) {
        // SAFETY: as the caller vouches.
        let function = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(*mut i32) -> i32>(self.0) };
        // SAFETY: as above.
        unsafe { function(address) };
    }

    /// Calls a function that returns an `int`.
    ///
    /// # Safety
    /// As [`Real::invoke`].
    pub(crate) unsafe fn call<const N: usize>(self, given: [usize; N]) -> i32 {
        let mut arguments = [0; ARGUMENTS];
        arguments[..N].copy_from_slice(&given);
        // SAFETY: as the caller's.
        unsafe { self.invoke(false, &arguments) as i32 }
    }
}

impl Constant {
    /// The handle; `None` where the library has no such symbol.
    pub(crate) fn resolve(self, abi: &Abi) -> Option<usize> {
        match self {
            Self::Value(value) => Some(value),
            Self::Symbol(name) => find(abi, libc::RTLD_DEFAULT, name).map(|address| address as usize),
        }
    }
}

/// Looks where `place` says, and then in a library that was loaded for itself (`RTLD_LOCAL`), as interpreters do with
/// their extensions. Functions are looked for behind us in the order of loading; data from the front, because the
/// executable may hold the copy that everybody uses.
fn find(abi: &Abi, place: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    look(place, name).or_else(|| abi.names.iter().find_map(|library| look_in(library, name)))
}

/// Looks in a library, if it is loaded.
fn look_in(library: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is terminated; nothing is loaded that was not.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() { None } else { look(handle, name) }
}

/// Looks behind a handle that is open, or one of the two that always are.
fn look(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is one of these; the name is terminated.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}
