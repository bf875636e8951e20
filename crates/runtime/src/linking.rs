//! Images that come and go while the program runs: `dlopen` connects those that are instrumented, `dlclose` forgets
//! whatever pointed into those that are gone.
//!
//! What the dynamic linker does with a bare name depends on the image that calls it, where that has a search path of its own.
//! Such calls are passed on untouched, and an instrumented image that they load stays unconnected. `$ORIGIN` in what a copy asks for
//! is the directory of its original.

use crate::behind;
use crate::images;
use crate::loaded;
use crate::names;
use crate::process::{self, Mode};
use crate::settings::settings;
use crate::switch;
use crate::sys::SignalsBlocked;
use crate::text::Path;
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
    let found = behind::next(name);
    cached.store(found, Ordering::Relaxed);
    found
}

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Close = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The function of a name in an image that is loaded, or in what that needs; null where there is none.
///
/// # Safety
/// The image must stay meanwhile.
pub(crate) unsafe fn in_loaded(path: &CStr, name: &CStr) -> *mut c_void {
    let (open, close) = (next(&DLOPEN, c"dlopen"), next(&DLCLOSE, c"dlclose"));
    if open.is_null() || close.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the next `dlopen` is libc's, of this type, …
    let open = unsafe { core::mem::transmute::<*mut c_void, Open>(open) };
    // SAFETY: … and so is the next `dlclose`.
    let close = unsafe { core::mem::transmute::<*mut c_void, Close>(close) };
    // SAFETY: a path; nothing is loaded that was not.
    let handle = unsafe { open(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: a lookup by name behind a handle that is open.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: the handle was opened above.
    unsafe { close(handle) };
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
        "2: mov rdx, [rsp]",
        "jmp {own}",
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
        !bytes.contains(&b'$') || beside_original(bytes, caller).is_some()
    } else {
        // Found in the same places, whoever asks, where neither the caller nor this library names any.
        let _signals = SignalsBlocked::new();
        loaded::image_of(caller).is_some_and(|image| !image.has_search_path)
    };
    if is_ours { core::ptr::null_mut() } else { real }
}

/// What a call from an address asks for, with the directory of the original in the place of `$ORIGIN`; `None` where that is not
/// in it, or the caller is no copy.
fn beside_original(path: &[u8], caller: u64) -> Option<Path> {
    if !path.contains(&b'$') {
        return None;
    }
    // SAFETY: the caller is in the image, and waits for the answer.
    with_origin(path, unsafe { images::folder_of_original(caller) }?)
}

/// A path with a directory in the place of `$ORIGIN`, if that is in it, and there is room.
fn with_origin(path: &[u8], folder: &[u8]) -> Option<Path> {
    let continues = |rest: &&[u8]| rest.first().is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let behind = |text: &'_ [u8]| -> Option<usize> {
        let rest = text.strip_prefix(b"${ORIGIN}").or_else(|| text.strip_prefix(b"$ORIGIN").filter(|rest| !continues(rest)))?;
        Some(text.len() - rest.len())
    };
    let (mut replaced, mut is_changed, mut rest) = (Path::EMPTY, false, path);
    while let Some((first, others)) = rest.split_first() {
        let token = behind(rest);
        replaced = replaced.then(if token.is_some() { folder } else { core::slice::from_ref(first) });
        rest = token.and_then(|length| rest.get(length..)).unwrap_or(others);
        is_changed |= token.is_some();
    }
    (is_changed && replaced.as_c_str().is_some()).then_some(replaced)
}

/// # Safety
/// As `dlopen`.
unsafe extern "C" fn open_and_connect(path: *const c_char, flags: c_int, caller: u64) -> *mut c_void {
    let real = next(&DLOPEN, c"dlopen");
    if real.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the next `dlopen` is libc's, of this type.
    let real = unsafe { core::mem::transmute::<*mut c_void, Open>(real) };
    // SAFETY: as the caller vouches; such a path is never null.
    let beside = beside_original(unsafe { CStr::from_ptr(path) }.to_bytes(), caller);
    let path = beside.as_ref().and_then(Path::as_c_str).map_or(path, CStr::as_ptr);
    // SAFETY: as the caller vouches.
    let handle = unsafe { real(path, flags) };
    if !handle.is_null() {
        images::connect();
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
    let real = unsafe { core::mem::transmute::<*mut c_void, Close>(real) };
    // SAFETY: as the caller vouches.
    let result = unsafe { real(handle) };
    behind::forget();
    if process::mode() == Mode::Measure {
        names::forget_addresses();
        images::forget_gone();
        switch::forget_gone();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::with_origin;

    #[test]
    fn origin_is_a_whole_word_or_in_braces() {
        let replaced = |path: &[u8]| with_origin(path, b"/opt/app").map(|path| path.bytes().to_vec());
        assert_eq!(replaced(b"$ORIGIN/../lib/a.so").as_deref(), Some(&b"/opt/app/../lib/a.so"[..]));
        assert_eq!(replaced(b"/x/${ORIGIN}y/$ORIGIN").as_deref(), Some(&b"/x//opt/appy//opt/app"[..]));
        assert_eq!(replaced(b"$ORIGIN2/a.so").as_deref(), None);
        assert_eq!(replaced(b"$LIB/a.so").as_deref(), None);
        assert_eq!(with_origin(b"$ORIGIN/a.so", &[b'x'; 2000]).map(|path| path.bytes().len()), None);
    }
}
