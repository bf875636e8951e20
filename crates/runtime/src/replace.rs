//! A program that replaces itself by itself, by the path of the original whose copy it is, goes on as the copy.
//!
//! `argv[0]` and `readlink` say that path, so the rest of such a program would go on unmeasured. Forked children that execute it are other
//! programs: whatever starts many of itself would pay for each.

use crate::executable;
use crate::linking::next;
use crate::settings::settings;
use crate::sys;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

/// The process that the program was started as; forked children have another number.
static STARTED_AS: AtomicU32 = AtomicU32::new(0);

/// The program is started.
pub(crate) fn note_start() {
    STARTED_AS.store(sys::process_id(), Relaxed);
}

type Strings = *const *const c_char;

/// The copy, if the path is that of its original, and what is executed finds in its environment what tells it so.
///
/// # Safety
/// `path` must be null or a string, `environment` null or a list of strings.
unsafe fn copy_of(path: *const c_char, environment: Strings) -> Option<&'static CStr> {
    if path.is_null() || environment.is_null() || STARTED_AS.load(Relaxed) != sys::process_id() || !executable::is_copy() {
        return None;
    }
    let settings = settings();
    // SAFETY: a string, as the caller vouches.
    let path = sys::identity(unsafe { CStr::from_ptr(path) })?;
    let original = sys::identity(settings.executable.as_c_str()?)?;
    // SAFETY: as the caller vouches.
    (path == original && unsafe { names_run(environment) }).then(|| settings.copy.as_c_str().filter(|copy| !copy.is_empty()))?
}

/// Whether an environment names the run.
///
/// # Safety
/// It must be a list of strings.
unsafe fn names_run(environment: Strings) -> bool {
    let mut at = environment;
    loop {
        // SAFETY: the list ends with a null pointer.
        let variable = unsafe { *at };
        if variable.is_null() {
            return false;
        }
        // SAFETY: a string.
        if unsafe { CStr::from_ptr(variable) }.to_bytes().starts_with(b"TARE_RUN_DIR=") {
            return true;
        }
        // SAFETY: not the end of the list.
        at = unsafe { at.add(1) };
    }
}

/// `execve`, which knows the original of a copy.
///
/// # Safety
/// As `execve` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, words: Strings, environment: Strings) -> c_int {
    // SAFETY: as the caller vouches.
    if let Some(copy) = unsafe { copy_of(path, environment) } {
        // SAFETY: as the caller vouches; where the copy cannot be executed, the original is.
        unsafe { libc::syscall(libc::SYS_execve, copy.as_ptr(), words, environment) };
    }
    // SAFETY: the arguments are those of the call; libc sets `errno`.
    unsafe { libc::syscall(libc::SYS_execve, path, words, environment) as c_int }
}

/// `execv`, which knows the original of a copy.
///
/// # Safety
/// As `execv` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, words: Strings) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execve(path, words, environment()) }
}

/// `execvp`, which knows the original of a copy where it is named by a path.
///
/// # Safety
/// As `execvp` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, words: Strings) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execvpe(file, words, environment()) }
}

/// `execvpe`, which knows the original of a copy where it is named by a path.
///
/// # Safety
/// As `execvpe` of the GNU C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, words: Strings, environment: Strings) -> c_int {
    type Execute = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: null, or a string, as the caller vouches.
    let is_path = !file.is_null() && unsafe { CStr::from_ptr(file) }.to_bytes().contains(&b'/');
    // SAFETY: as the caller vouches.
    if let Some(copy) = unsafe { copy_of(file, environment) }.filter(|_| is_path) {
        // SAFETY: as the caller vouches.
        unsafe { libc::syscall(libc::SYS_execve, copy.as_ptr(), words, environment) };
    }
    let next = next(&NEXT, c"execvpe");
    if next.is_null() {
        // SAFETY: as the caller vouches.
        return unsafe { libc::syscall(libc::SYS_execve, file, words, environment) as c_int };
    }
    // SAFETY: the next `execvpe` is libc's, of this type.
    let next = unsafe { core::mem::transmute::<*mut c_void, Execute>(next) };
    // SAFETY: as the caller vouches.
    unsafe { next(file, words, environment) }
}

/// The environment of the process.
fn environment() -> Strings {
    unsafe extern "C" {
        static environ: Strings;
    }
    // SAFETY: libc's variable, which the program may set.
    unsafe { environ }
}
