//! Says, once in a run and node, that no graph can be written: the program goes on unmeasured.
//!
//! Of its threads each process says it once itself. Who says so leaves an empty file, by which the others and the tools know.

use crate::sys::{self, Errno};
use crate::text::{Path, Text};
use core::sync::atomic::{AtomicBool, Ordering};
use tare_format::graph::UNWRITTEN;

/// Whose graph cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Process,
    /// Of a process that has a graph file.
    Threads,
}

/// Whether this process has said it of its threads: behind a `chroot`, or without descriptors, no file tells.
static THREADS_SAID: AtomicBool = AtomicBool::new(false);

/// Says that a graph file could not be made or grow in a directory, nor in the one that was tried before, unless that has been said.
pub(crate) fn say(whose: Whose, before: Option<&Path>, directory: &Path, why: Errno) {
    if whose == Whose::Threads && THREADS_SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let places = || before.into_iter().chain([directory]);
    if places().map(mark).find(|marked| *marked != Marked::Refused) == Some(Marked::Before) {
        return;
    }
    let first = before.map_or([b"".as_slice(), b""], |before| [before.bytes(), b" nor to "]);
    let number = Text::<24>::EMPTY.number(u64::from(why.0.unsigned_abs()));
    let (what, goes_on): (&[u8], &[u8]) = match whose {
        Whose::Process => (b"no graph", b"the program goes on"),
        Whose::Threads => (b"no more graphs of threads", b"threads go on"),
    };
    // The program's stack may be short: nothing is copied here.
    sys::write_to_stderr([
        b"tare: ",
        what,
        b" can be written to ",
        first[0],
        first[1],
        directory.bytes(),
        b" (",
        reason(why),
        b", error ",
        number.bytes(),
        b"): ",
        goes_on,
        b" unmeasured\n",
        b"      try: ",
        remedy(why),
        b"\n",
    ]);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Marked {
    Now,
    Before,
    Refused,
}

fn mark(directory: &Path) -> Marked {
    let path = directory.then(UNWRITTEN.as_bytes());
    let Some(path) = path.as_c_str() else { return Marked::Refused };
    match sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600) {
        Ok(file) => {
            sys::close(file);
            Marked::Now
        }
        Err(Errno(libc::EEXIST)) => Marked::Before,
        Err(_) => Marked::Refused,
    }
}

fn remedy(why: Errno) -> &'static [u8] {
    match why.0 {
        libc::ENOMEM => b"a larger limit of address space (ulimit -v), or none",
        libc::EFBIG => b"a larger limit of the size of files (ulimit -f), or none",
        _ => b"make room there, or name a place that you may write to with -o DIR",
    }
}

fn reason(why: Errno) -> &'static [u8] {
    match why.0 {
        libc::ENOSPC | libc::EDQUOT => b"no space",
        libc::EACCES | libc::EPERM | libc::EROFS => b"no permission",
        libc::ENOENT | libc::ENOTDIR => b"no such directory",
        libc::EFBIG => b"files may not be that large",
        libc::ENOMEM => b"no memory",
        _ => b"refused",
    }
}
