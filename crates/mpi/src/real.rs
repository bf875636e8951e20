//! The functions behind ours: the next `PMPI_X` in the order of loading.

use crate::abi::{Abi, Constant};
use crate::absent;
use crate::export::{ARGUMENTS, Arguments};
use crate::table::{FUNCTIONS, Id, function};
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Addresses found so far, in the order of the table.
static FOUND: [AtomicPtr<c_void>; FUNCTIONS.len()] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FUNCTIONS.len()];
/// Those of our own.
static EXPORTED: [AtomicPtr<c_void>; FUNCTIONS.len()] = [const { AtomicPtr::new(core::ptr::null_mut()) }; FUNCTIONS.len()];

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
        let found = EXPORTED[id as usize].load(Ordering::Relaxed);
        if !found.is_null() {
            return Some(Self(found));
        }
        let symbol = look(own_handle()?, function(id).profiling_name)?;
        EXPORTED[id as usize].store(symbol, Ordering::Relaxed);
        Some(Self(symbol))
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

    /// Calls a function of no more than six arguments, which are passed in registers.
    ///
    /// # Safety
    /// As [`Real::invoke`].
    #[inline]
    pub(crate) unsafe fn invoke_few(self, arguments: &Arguments) -> usize {
        type Few = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;
        // SAFETY: as in `invoke`.
        let function = unsafe { core::mem::transmute::<*mut c_void, Few>(self.0) };
        let [a, b, c, d, e, f, ..] = *arguments;
        // SAFETY: as the caller's.
        unsafe { function(a, b, c, d, e, f) }
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

/// Whether the library whose interface this is has been loaded.
pub(crate) fn is_loaded(abi: &Abi) -> bool {
    abi.names.iter().any(|library| !handle_of(library).is_null())
}

/// Whether that or one of the others has been.
pub(crate) fn is_any_loaded(abi: &Abi) -> bool {
    known(abi).any(|library| !handle_of(library).is_null())
}

/// Looks where `place` says, and then in a library that was loaded for itself (`RTLD_LOCAL`), as interpreters do with
/// their extensions. Functions are looked for behind us in the order of loading; data from the front, because the
/// executable may hold the copy that everybody uses.
fn find(abi: &Abi, place: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    find_loaded(abi, place, name).or_else(|| {
        // Whoever looks in the whole process for a library of MPI finds us, before there is one, and goes no further.
        if !is_any_loaded(abi) && load(abi) { find_loaded(abi, place, name) } else { None }
    })
}

fn find_loaded(abi: &Abi, place: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    look(place, name).or_else(|| known(abi).find_map(|library| look_in(library, name)))
}

/// Where functions are looked for, of a library that is loaded.
pub(crate) struct Behind(Vec<*mut c_void>);

impl Behind {
    pub(crate) fn of(abi: &Abi) -> Self {
        let loaded = known(abi).map(handle_of).filter(|handle| !handle.is_null());
        Self([libc::RTLD_NEXT].into_iter().chain(loaded).collect())
    }

    /// Whether there is a function.
    pub(crate) fn has(&self, name: &CStr) -> bool {
        self.0.iter().any(|place| look(*place, name).is_some())
    }
}

/// The names of this library, and then those of others: what these bring is passed on to them and not measured.
fn known(abi: &Abi) -> impl Iterator<Item = &'static CStr> {
    let others = [&crate::openmpi::ABI, &crate::mpich::ABI, &crate::mpiabi::ABI];
    abi.names.iter().copied().chain(others.into_iter().flat_map(|abi| abi.names.iter().copied()))
}

/// Loads the library whose interface this is, for everybody.
fn load(abi: &Abi) -> bool {
    // SAFETY: the names are terminated, and what is loaded stays.
    let is_there = abi.names.iter().any(|library| !unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) }.is_null());
    if is_there {
        absent::strike_now(abi);
    }
    is_there
}

/// Our own library.
pub(crate) fn own_handle() -> Option<*mut c_void> {
    let mut own = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is one of this library's, and there is room for the answer.
    let found = unsafe { libc::dladdr(core::ptr::from_ref(&FOUND).cast(), own.as_mut_ptr()) };
    // SAFETY: zeros are a value of this type.
    let path = unsafe { own.assume_init() }.dli_fname;
    if found == 0 || path.is_null() {
        return None;
    }
    // SAFETY: a path, terminated, of a library that stays.
    let handle = handle_of(unsafe { CStr::from_ptr(path) });
    (!handle.is_null()).then_some(handle)
}

/// Looks in a library, if it is loaded.
fn look_in(library: &CStr, name: &CStr) -> Option<*mut c_void> {
    let handle = handle_of(library);
    if handle.is_null() { None } else { look(handle, name) }
}

/// A library that is loaded; null where it is not.
fn handle_of(library: &CStr) -> *mut c_void {
    // SAFETY: the name is terminated; nothing is loaded that was not.
    unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
}

/// Looks behind a handle that is open, or one of the two that always are.
fn look(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is one of these; the name is terminated.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}
