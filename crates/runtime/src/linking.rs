//! Images that come and go while the program runs: `dlopen` connects those that are instrumented, `dlclose` forgets
//! whatever pointed into those that are gone.
//!
//! What the dynamic linker does with a bare name depends on the image that calls it, where that has a search path of its own.
//! Such calls are passed on untouched, and an instrumented image that they load stays unconnected.

use crate::images;
use crate::loaded;
use crate::names;
use crate::process::{self, Mode};
use crate::settings::settings;
use crate::switch;
use crate::sys::SignalsBlocked;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static DLCLOSE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The next definition of a function behind ours, looked up once; null where there is none.
pub(crate) fn next(cached: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cached.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a lookup by name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    cached.store(found, Ordering::Relaxed);
    found
}

/// `dlopen`, after which instrumented images are connected. A bare name is looked for on behalf of the caller, whom the
/// dynamic linker knows by the return address: where that matters, the real function is jumped to.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn dlopen(_path: *const c_char, _flags: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        "endbr64",
        "push rdi",
        "push rsi",
        "mov rdx, [rsp + 16]",
        "sub rsp, 8",
        "call {whose}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2: jmp {own}",
        whose = sym passed_on,
        own = sym open_and_connect,
    )
}

/// The function to which a call from an address is passed on; null where it is ours to make.
///
/// # Safety
/// `path` must be null or a string.
unsafe extern "C" fn passed_on(path: *const c_char, _flags: c_int, caller: u64) -> *mut c_void {
    let real = next(&DLOPEN, c"dlopen");
    if path.is_null() || settings().mode != Mode::Measure {
        return real;
    }
    // SAFETY: as the caller vouches.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    let is_ours = if bytes.contains(&b'/') {
        !bytes.contains(&b'$')
    } else {
        // Found in the same places, whoever asks, where neither the caller nor this library names any.
        let _signals = SignalsBlocked::new();
        loaded::image_of(caller).is_some_and(|image| !image.has_search_path)
    };
    if is_ours { core::ptr::null_mut() } else { real }
}

/// # Safety
/// As `dlopen`.
unsafe extern "C" fn open_and_connect(path: *const c_char, flags: c_int) -> *mut c_void {
    let real = next(&DLOPEN, c"dlopen");
    if real.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the next `dlopen` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void>(real) };
    // SAFETY: as the caller vouches.
    let handle = unsafe { real(path, flags) };
    if !handle.is_null() {
        images::connect_new();
    }
    handle
}

/// `dlclose`, after which nothing points any more into images that are gone.
///
/// # Safety
/// As `dlclose` in POSIX.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let real = next(&DLCLOSE, c"dlclose");
    if real.is_null() {
        return -1;
    }
    // SAFETY: the next `dlclose` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(real) };
    // SAFETY: as the caller vouches.
    let result = unsafe { real(handle) };
    if process::mode() == Mode::Measure {
        names::forget_addresses();
        images::forget_gone();
        switch::forget_gone();
    }
    result
}
