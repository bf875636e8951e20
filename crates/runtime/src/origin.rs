//! An instrumented image says that it lies where its original lies: `dladdr` names the original of a library, and `dlinfo` the
//! directory of any.
//!
//! Libraries find their data beside themselves by either. The dynamic linker's own list keeps the path of the copy, and so does
//! `dl_iterate_phdr`: debuggers and those who print call stacks read the symbols of what is loaded there.

use crate::images;
use crate::linking::next;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicPtr;

const RTLD_DI_LINKMAP: c_int = 2;
const RTLD_DI_ORIGIN: c_int = 6;

/// The start of the dynamic linker's record of an image, `struct link_map` in `<link.h>`.
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
    /// Address of the image's dynamic section.
    dynamic: u64,
}

/// Names the original in what the dynamic linker has found out about an address.
///
/// # Safety
/// `found` must be null or writable, and the image of the address stay loaded.
unsafe fn name_original(address: *const c_void, found: *mut libc::Dl_info) {
    // SAFETY: as the caller vouches.
    if let Some(path) = unsafe { images::original_library(address.addr() as u64) }
        && !found.is_null()
    {
        // SAFETY: as the caller vouches.
        unsafe { (*found).dli_fname = path.as_ptr() };
    }
}

/// `dladdr`, which knows the original of an instrumented library.
///
/// # Safety
/// As `dladdr` in glibc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dladdr(address: *const c_void, found: *mut libc::Dl_info) -> c_int {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let real = next(&NEXT, c"dladdr");
    if real.is_null() {
        return 0;
    }
    // SAFETY: the next `dladdr` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void, *mut libc::Dl_info) -> c_int>(real) };
    // SAFETY: as the caller vouches.
    let result = unsafe { real(address, found) };
    if result != 0 {
        // SAFETY: the record has been filled.
        unsafe { name_original(address, found) };
    }
    result
}

type AddressAndMore = unsafe extern "C" fn(*const c_void, *mut libc::Dl_info, *mut *mut c_void, c_int) -> c_int;

/// `dladdr1`, which knows the original of an instrumented library.
///
/// # Safety
/// As `dladdr1` in glibc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dladdr1(address: *const c_void, found: *mut libc::Dl_info, more: *mut *mut c_void, flags: c_int) -> c_int {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let real = next(&NEXT, c"dladdr1");
    if real.is_null() {
        return 0;
    }
    // SAFETY: the next `dladdr1` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, AddressAndMore>(real) };
    // SAFETY: as the caller vouches.
    let result = unsafe { real(address, found, more, flags) };
    if result != 0 {
        // SAFETY: the record has been filled.
        unsafe { name_original(address, found) };
    }
    result
}

/// `dlinfo`, which knows the directory of an instrumented image's original.
///
/// # Safety
/// As `dlinfo` in glibc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlinfo(handle: *mut c_void, request: c_int, answer: *mut c_void) -> c_int {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let real = next(&NEXT, c"dlinfo");
    if real.is_null() {
        return -1;
    }
    // SAFETY: the next `dlinfo` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int>(real) };
    let mut map: *const LinkMap = core::ptr::null();
    // SAFETY: this request writes a pointer.
    if request != RTLD_DI_ORIGIN || unsafe { real(handle, RTLD_DI_LINKMAP, (&raw mut map).cast()) } != 0 || map.is_null() {
        // SAFETY: as the caller vouches.
        return unsafe { real(handle, request, answer) };
    }
    // SAFETY: the dynamic linker's record of an image that the handle keeps loaded.
    let dynamic = unsafe { (*map).dynamic };
    // SAFETY: as above.
    let Some(folder) = (unsafe { images::folder_of_original(dynamic) }) else {
        // SAFETY: as the caller vouches.
        return unsafe { real(handle, request, answer) };
    };
    let to = answer.cast::<u8>();
    // SAFETY: the program gives room for any directory and its zero; ours is not in it.
    unsafe { core::ptr::copy_nonoverlapping(folder.as_ptr(), to, folder.len()) };
    // SAFETY: as above.
    let end = unsafe { to.add(folder.len()) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    0
}
