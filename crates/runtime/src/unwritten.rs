//! Says, once in a run and node, that no graph can be written: the program goes on unmeasured.
//!
//! Who says so leaves an empty file, by which the others and the tools know.

use crate::sys::{self, Errno};
use crate::text::{Path, Text};
use tare_format::graph::UNWRITTEN;

/// Says that a graph file could not be made in any of these directories, unless that has been said.
pub(crate) fn say(directories: &[Option<&Path>], why: Errno) {
    let places = || directories.iter().copied().flatten();
    if places().map(mark).find(|marked| *marked != Marked::Refused) == Some(Marked::Before) {
        return;
    }
    let mut text = Text::<4096>::EMPTY.then(b"tare: no graph can be written");
    for (index, place) in places().enumerate() {
        text = text.then(if index == 0 { b" to " } else { b" nor to " }).then(place.bytes());
    }
    text = text.then(b" (").then(reason(why)).then(b", error ").number(u64::from(why.0.unsigned_abs()));
    text = text.then(b"): the program goes on unmeasured\n");
    text = text.then(b"      try: make room there, or name a place that you may write to with -o DIR\n");
    sys::write_to_stderr(text.bytes());
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

fn reason(why: Errno) -> &'static [u8] {
    match why.0 {
        libc::ENOSPC | libc::EDQUOT => b"no space",
        libc::EACCES | libc::EPERM | libc::EROFS => b"no permission",
        libc::ENOENT | libc::ENOTDIR => b"no such directory",
        libc::EFBIG => b"files may not be that large",
        _ => b"refused",
    }
}
