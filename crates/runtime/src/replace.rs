//! A program that replaces itself by itself, by the path of the original whose copy it is, goes on as the copy; one that replaces itself by another says by
//! which, and its graph is closed.
//!
//! `argv[0]` and `readlink` say that path, so the rest of such a program would go on unmeasured. Forked children that execute it are other
//! programs: whatever starts many of itself would pay for each.
//!
//! What always holds: where nothing could be executed, the graph is open again.

use crate::executable;
use crate::graph_file;
use crate::linking::next;
use crate::live::LiveHeader;
use crate::local::Local;
use crate::settings::settings;
use crate::state::ThreadState;
use crate::sys;
use crate::text::Path;
use crate::{clock, thread};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed, Ordering::Release};
use tare_format::graph::ProcessState;

/// The process that the program was started as; forked children have another number.
static STARTED_AS: AtomicU32 = AtomicU32::new(0);

/// The program is started.
pub(crate) fn note_start() {
    STARTED_AS.store(sys::process_id(), Relaxed);
}

type Strings = *const *const c_char;

/// Executes what a path leads to, by `execute`; if that is the program itself, its copy.
///
/// # Safety
/// `words` and `environment` must be what `execve` takes, and `execute` sound to call.
unsafe fn replace(path: &Path, words: Strings, environment: Strings, execute: impl FnOnce() -> c_int) -> c_int {
    let path = path.as_c_str().filter(|_| STARTED_AS.load(Relaxed) == sys::process_id());
    let (Some(path), Some(header)) = (path, graph_file::header()) else { return execute() };
    // SAFETY: as the caller vouches.
    if is_own(path) && unsafe { variable(environment, b"TARE_RUN_DIR=") }.is_some() {
        if let Some(copy) = settings().copy.as_c_str().filter(|copy| !copy.is_empty()) {
            // SAFETY: as the caller vouches; where the copy cannot be executed, the original is.
            unsafe { libc::syscall(libc::SYS_execve, copy.as_ptr(), words, environment) };
        }
        return execute();
    }
    note_leaving(header, path);
    let result = execute();
    header.state.store(ProcessState::Running as u32, Release);
    header.successor.iter().for_each(|byte| byte.store(0, Relaxed));
    result
}

/// Whether a path is that of the program, or of the copy that this process is.
fn is_own(path: &CStr) -> bool {
    let is_same = |own: &CStr| sys::identity(path).is_some_and(|file| sys::identity(own) == Some(file));
    is_same(c"/proc/self/exe") || executable::is_copy() && settings().executable.as_c_str().is_some_and(is_same)
}

/// What was measured is up to date, and is all.
fn note_leaving(header: &LiveHeader, path: &CStr) {
    if let Some(local) = Local::of(ThreadState::current()) {
        thread::close_location(local);
    }
    clock::anchor(header);
    graph_file::store_path(&header.successor, path.to_bytes());
    header.state.store(ProcessState::Replaced as u32, Release);
}

/// What stands in an environment behind a name with its `=`.
///
/// # Safety
/// It must be null or a list of strings, which stay for as long as the result.
unsafe fn variable<'a>(environment: Strings, name: &[u8]) -> Option<&'a [u8]> {
    let mut at = environment;
    while !at.is_null() {
        // SAFETY: the list ends with a null pointer.
        let variable = unsafe { *at };
        if variable.is_null() {
            break;
        }
        // SAFETY: a string.
        if let Some(value) = unsafe { CStr::from_ptr(variable) }.to_bytes().strip_prefix(name) {
            return Some(value);
        }
        // SAFETY: not the end of the list.
        at = unsafe { at.add(1) };
    }
    None
}

/// A path as the program names it; one that is too long for us where it names none.
///
/// # Safety
/// It must be null or a string.
unsafe fn named(path: *const c_char) -> Path {
    // SAFETY: as the caller vouches.
    Path::EMPTY.then(if path.is_null() { b"\0" } else { unsafe { CStr::from_ptr(path) }.to_bytes() })
}

/// The file that a directory's descriptor and a path lead to; the one of the descriptor where the path is empty.
fn beneath(directory: c_int, path: Path) -> Path {
    if directory == libc::AT_FDCWD || path.bytes().starts_with(b"/") {
        return path;
    }
    let directory = Path::EMPTY.then(b"/proc/self/fd/").number(u64::from(directory.cast_unsigned()));
    let within = if path.bytes().is_empty() { directory } else { directory.then(b"/").then(path.bytes()) };
    let mut target = [0; 1024];
    let length = directory.as_c_str().and_then(|link| sys::read_link_at(libc::AT_FDCWD, link, &mut target).ok());
    match length.and_then(|length| target.get(..length)) {
        Some(target) if path.bytes().is_empty() && target.starts_with(b"/") => Path::EMPTY.then(target),
        _ => within,
    }
}

/// The file of a name in the search path of this process, as libc finds it.
fn searched(name: Path) -> Path {
    if name.bytes().contains(&b'/') {
        return name;
    }
    // SAFETY: the environment is a list of strings.
    let folders = unsafe { variable(environment(), b"PATH=") }.unwrap_or(b"/bin:/usr/bin");
    let beside = |folder: &[u8]| if folder.is_empty() { name } else { Path::EMPTY.then(folder).then(b"/").then(name.bytes()) };
    let mut candidates = folders.split(|&byte| byte == b':').map(beside);
    candidates.find(|path| path.as_c_str().is_some_and(sys::is_executable)).unwrap_or(name)
}

/// `execve`, which knows the original of a copy.
///
/// # Safety
/// As `execve` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, words: Strings, environment: Strings) -> c_int {
    // SAFETY: the arguments are those of the call; libc sets `errno`.
    let execute = || unsafe { libc::syscall(libc::SYS_execve, path, words, environment) as c_int };
    // SAFETY: as the caller vouches.
    let path = unsafe { named(path) };
    // SAFETY: as the caller vouches.
    unsafe { replace(&path, words, environment, execute) }
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

/// `execvp`, which knows the original of a copy.
///
/// # Safety
/// As `execvp` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, words: Strings) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execvpe(file, words, environment()) }
}

/// `execvpe`, which knows the original of a copy.
///
/// # Safety
/// As `execvpe` of the GNU C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, words: Strings, environment: Strings) -> c_int {
    type Execute = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    let execute = || {
        let next = next(&NEXT, c"execvpe");
        if next.is_null() {
            // SAFETY: as the caller vouches.
            return unsafe { libc::syscall(libc::SYS_execve, file, words, environment) as c_int };
        }
        // SAFETY: the next `execvpe` is libc's, of this type.
        let next = unsafe { core::mem::transmute::<*mut c_void, Execute>(next) };
        // SAFETY: as the caller vouches.
        unsafe { next(file, words, environment) }
    };
    // SAFETY: as the caller vouches.
    let name = unsafe { named(file) };
    // SAFETY: as the caller vouches.
    unsafe { replace(&searched(name), words, environment, execute) }
}

/// `fexecve`, which knows the original of a copy.
///
/// # Safety
/// As `fexecve` in POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(file: c_int, words: Strings, environment: Strings) -> c_int {
    // SAFETY: as the caller vouches.
    unsafe { execveat(file, c"".as_ptr(), words, environment, libc::AT_EMPTY_PATH) }
}

/// `execveat`, which knows the original of a copy.
///
/// # Safety
/// As `execveat` of the GNU C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(directory: c_int, path: *const c_char, words: Strings, environment: Strings, flags: c_int) -> c_int {
    // SAFETY: the arguments are those of the call; libc sets `errno`.
    let execute = || unsafe { libc::syscall(libc::SYS_execveat, directory, path, words, environment, flags) as c_int };
    // A link is not followed then, and is all that a copy is told by.
    if flags & libc::AT_SYMLINK_NOFOLLOW != 0 {
        return execute();
    }
    // SAFETY: as the caller vouches.
    let path = unsafe { named(path) };
    // SAFETY: as the caller vouches.
    unsafe { replace(&beneath(directory, path), words, environment, execute) }
}

/// Defines a function that takes words one by one, of which those in registers are put in front of the others: a list.
macro_rules! by_list {
    ($(#[$doc:meta])* $name:ident = $of_list:ident) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(_path: *const c_char, _word: *const c_char) -> c_int {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "pop rax",
                ".cfi_adjust_cfa_offset -8",
                ".cfi_register rip, rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rax",
                ".cfi_def_cfa_offset 48",
                ".cfi_offset rip, -48",
                "lea rsi, [rsp + 8]",
                "call {of_list}",
                "pop rcx",
                "add rsp, 40",
                ".cfi_def_cfa_offset 0",
                ".cfi_register rip, rcx",
                "push rcx",
                ".cfi_def_cfa_offset 8",
                ".cfi_offset rip, -8",
                "ret",
                ".cfi_endproc",
                of_list = sym $of_list,
            )
        }
    };
}

by_list! {
    /// `execl`, which knows the original of a copy.
    ///
    /// # Safety
    /// As `execl` in POSIX.
    execl = execv
}

by_list! {
    /// `execlp`, which knows the original of a copy.
    ///
    /// # Safety
    /// As `execlp` in POSIX.
    execlp = execvp
}

by_list! {
    /// `execle`, which knows the original of a copy.
    ///
    /// # Safety
    /// As `execle` in POSIX.
    execle = execute_with_environment
}

/// `execve` of a list behind whose end stands the environment.
///
/// # Safety
/// As `execle` in POSIX.
unsafe extern "C" fn execute_with_environment(path: *const c_char, words: Strings) -> c_int {
    let mut end = words;
    // SAFETY: the list ends with a null pointer.
    while !unsafe { *end }.is_null() {
        // SAFETY: not the end of the list.
        end = unsafe { end.add(1) };
    }
    // SAFETY: not beyond what was passed: …
    let behind = unsafe { end.add(1) }.cast::<Strings>();
    // SAFETY: … the environment stands there.
    let environment = unsafe { *behind };
    // SAFETY: as the caller vouches.
    unsafe { execve(path, words, environment) }
}

/// The environment of the process.
fn environment() -> Strings {
    unsafe extern "C" {
        static environ: Strings;
    }
    // SAFETY: libc's variable, which the program may set.
    unsafe { environ }
}
