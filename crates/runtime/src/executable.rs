//! A program that asks for its own path gets that of the original whose instrumented copy it is.
//!
//! Programs find their data beside their executable by `/proc/self/exe`; so does an `$ORIGIN` of their own
//! making. Only the process that is the copy is answered so: the program itself must be an instrumented image, and the
//! very file that the environment names, because children inherit the environment and may be instrumented too.

use crate::images;
use crate::linking::next;
use crate::once::Once;
use crate::settings::settings;
use crate::sys;
use crate::text::Path;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Whether the environment names an original.
pub(crate) fn is_named() -> bool {
    !settings().executable.bytes().is_empty()
}

/// Whether this process is the instrumented copy of the original that the environment names.
pub(crate) fn is_copy() -> bool {
    is_named() && images::program_is_image() && is_named_copy()
}

/// Whether the environment names this process's file as the copy, or no file. Looked at once: a copy may be deleted
/// while it runs.
fn is_named_copy() -> bool {
    const UNKNOWN: u32 = 0;
    const NO: u32 = 1;
    const YES: u32 = 2;
    static ANSWER: AtomicU32 = AtomicU32::new(UNKNOWN);
    if ANSWER.load(Ordering::Relaxed) == UNKNOWN {
        let copy = settings().copy.bytes();
        let answer = if copy.is_empty() || runs(copy) { YES } else { NO };
        ANSWER.store(answer, Ordering::Relaxed);
    }
    ANSWER.load(Ordering::Relaxed) == YES
}

/// Whether this process is the original itself.
pub(crate) fn is_original() -> bool {
    is_named() && runs(settings().executable.bytes())
}

/// Whether the file that this process runs has this path.
fn runs(path: &[u8]) -> bool {
    let mut link = [0; LONGEST];
    own_link(&mut link) == Some(path)
}

/// Bytes of a path for which there is room.
const LONGEST: usize = 1024;

/// The path of the file that this process runs, as the system has it.
fn own_link(link: &mut [u8; LONGEST]) -> Option<&[u8]> {
    let length = sys::read_link_at(libc::AT_FDCWD, c"/proc/self/exe", link).ok()?;
    link.get(..length)
}

/// The path of the original, if `path` is a link to this process's executable and this is a copy: `/proc/self/exe` has many
/// names.
///
/// # Safety
/// `path` must be null or a string.
unsafe fn original(directory: c_int, path: *const c_char) -> Option<&'static CStr> {
    if path.is_null() || !is_copy() {
        return None;
    }
    let (mut target, mut own) = ([0; LONGEST], [0; LONGEST]);
    // SAFETY: not null, and a string, as the caller vouches.
    let length = sys::read_link_at(directory, unsafe { CStr::from_ptr(path) }, &mut target).ok()?;
    let target = target.get(..length).filter(|target| target.starts_with(settings().copy.bytes()))?;
    if own_link(&mut own) == Some(target) { settings().executable.as_c_str() } else { None }
}

/// Has the auxiliary vector say that the original was executed, by the path by which it was called: `getauxval(AT_EXECFN)` reads it there.
///
/// # Safety
/// `words` must be what `main` gets, and `environment` the environment where the kernel put it, in front of the auxiliary vector, or null.
pub(crate) unsafe fn name_original(words: *const *const c_char, environment: *mut *mut c_char) {
    let Some(original) = settings().executable.as_c_str().filter(|_| !environment.is_null() && is_copy()) else { return };
    // SAFETY: as the caller vouches.
    let original = unsafe { called_by(words, original) }.unwrap_or(original);
    let mut end = environment;
    // SAFETY: the environment ends with a null pointer.
    while !unsafe { *end }.is_null() {
        // SAFETY: as above.
        end = unsafe { end.add(1) };
    }
    // SAFETY: the vector begins behind that pointer.
    let mut entry = unsafe { end.add(1) }.cast::<[u64; 2]>();
    loop {
        // SAFETY: the vector ends with an entry of kind AT_NULL.
        match unsafe { &mut *entry } {
            [libc::AT_NULL, _] => return,
            [libc::AT_EXECFN, value] => *value = original.as_ptr() as u64,
            _ => {}
        }
        // SAFETY: as above.
        entry = unsafe { entry.add(1) };
    }
}

/// The first of a program's words, kept where the program cannot change it, if it is a path and leads to this file.
///
/// # Safety
/// `words` must be what `main` gets.
unsafe fn called_by(words: *const *const c_char, original: &CStr) -> Option<&'static CStr> {
    static CALLED: Once<Path> = Once::new(Path::EMPTY);
    // SAFETY: the list ends with a null pointer, so that it has a first element.
    let word = unsafe { *words };
    // SAFETY: a word that is not null is a string.
    let word = (!word.is_null()).then(|| unsafe { CStr::from_ptr(word) })?;
    let is_file = |word: &CStr| sys::identity(word).is_some_and(|file| sys::identity(original) == Some(file));
    if !word.to_bytes().contains(&b'/') || !is_file(word) {
        return None;
    }
    // SAFETY: the constructor runs once, in one thread, before any reader.
    unsafe { CALLED.set(Path::EMPTY.then(word.to_bytes())) };
    CALLED.get()?.as_c_str()
}

/// Copies a path without its terminating zero, as `readlink` does.
///
/// # Safety
/// `size` bytes must be writable at `buffer`.
unsafe fn answer(path: &CStr, buffer: *mut c_char, size: usize) -> isize {
    let length = path.to_bytes().len().min(size);
    // SAFETY: at most `size` bytes, which the caller vouches for; the path is not in the program's buffer.
    unsafe { core::ptr::copy_nonoverlapping(path.as_ptr(), buffer, length) };
    length as isize
}

/// `readlink`, which knows the original of a copy.
///
/// # Safety
/// As `readlink` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    // SAFETY: as the caller vouches.
    unsafe { readlinkat(libc::AT_FDCWD, path, buffer, size) }
}

/// `readlinkat`, which knows the original of a copy.
///
/// # Safety
/// As `readlinkat` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlinkat(directory: c_int, path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    // SAFETY: as the caller vouches.
    match unsafe { original(directory, path) } {
        // SAFETY: as the caller vouches.
        Some(original) => unsafe { answer(original, buffer, size) },
        // SAFETY: the arguments are those of the call; libc sets `errno`.
        None => unsafe { libc::syscall(libc::SYS_readlinkat, directory, path, buffer, size) as isize },
    }
}

/// `readlink` as fortified programs call it.
///
/// # Safety
/// As `readlink`, with a buffer of `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __readlink_chk(path: *const c_char, buffer: *mut c_char, size: usize, room: usize) -> isize {
    if size > room {
        overflow();
    }
    // SAFETY: as the caller vouches.
    unsafe { readlink(path, buffer, size) }
}

/// `readlinkat` as fortified programs call it.
///
/// # Safety
/// As `readlinkat`, with a buffer of `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __readlinkat_chk(directory: c_int, path: *const c_char, buffer: *mut c_char, size: usize, room: usize) -> isize {
    if size > room {
        overflow();
    }
    // SAFETY: as the caller vouches.
    unsafe { readlinkat(directory, path, buffer, size) }
}

type RealPath = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;

/// `realpath`, which knows the original of a copy.
///
/// # Safety
/// As `realpath` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let next = next(&NEXT, c"realpath");
    if next.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the next `realpath` is libc's, of this type.
    let next = unsafe { core::mem::transmute::<*mut c_void, RealPath>(next) };
    // SAFETY: as the caller vouches.
    let path = unsafe { original(libc::AT_FDCWD, path) }.map_or(path, CStr::as_ptr);
    // SAFETY: as the caller vouches.
    unsafe { next(path, resolved) }
}

/// `realpath` as fortified programs call it.
///
/// # Safety
/// As `realpath`, with a buffer of `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __realpath_chk(path: *const c_char, resolved: *mut c_char, room: usize) -> *mut c_char {
    if room < libc::PATH_MAX as usize {
        overflow();
    }
    // SAFETY: as the caller vouches.
    unsafe { realpath(path, resolved) }
}

/// `canonicalize_file_name`, which knows the original of a copy.
///
/// # Safety
/// As `canonicalize_file_name` in glibc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: as the caller vouches; null asks for memory.
    unsafe { realpath(path, core::ptr::null_mut()) }
}

/// What libc does where a fortified call would write beyond its buffer.
fn overflow() -> ! {
    unsafe extern "C" {
        fn __chk_fail() -> !;
    }
    // SAFETY: ends the process.
    unsafe { __chk_fail() }
}
