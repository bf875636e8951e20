//! A graph file that is being made: it has its name only when its header is whole.
//!
//! What always holds: whoever finds a graph file by its name finds a header, whenever its process was killed. While it is made it
//! has no name at all, and goes with its process; on file systems that know no such files (NFS) it has the name of a
//! draft, which `tare` removes once its process has ended.

use crate::sys::{self, Descriptor, Errno};
use crate::text::{Path, Text};
use core::ffi::CStr;
use tare_format::graph::DRAFT_ENDING;

const TOO_LONG: Errno = Errno(libc::ENAMETOOLONG);
/// Drafts of one process id in one directory: more than one are those of killed processes.
const DRAFTS: u64 = 100;

/// An open file that readers do not find yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) file: Descriptor,
    /// Where the file system wants one.
    name: Option<Path>,
}

impl Draft {
    /// Opens a new file in the directory where graph files begin with `stem`.
    pub(crate) fn without_name(stem: &Path) -> Result<Self, Errno> {
        let end = stem.bytes().iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let directory = Path::EMPTY.then(stem.bytes().get(..end).unwrap_or(&[]));
        let file = sys::open(directory.as_c_str().ok_or(TOO_LONG)?, libc::O_RDWR | libc::O_TMPFILE, 0o600)?;
        Ok(Self { file, name: None })
    }

    /// The same, under the name of a draft.
    pub(crate) fn named(stem: &Path) -> Result<Self, Errno> {
        for number in 0..DRAFTS {
            let name = stem.then(b"-").number(number).then(DRAFT_ENDING.as_bytes());
            match sys::open(name.as_c_str().ok_or(TOO_LONG)?, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) {
                Ok(file) => return Ok(Self { file, name: Some(name) }),
                Err(Errno(libc::EEXIST)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Gives the file its name, unless something has it (`EEXIST`).
    pub(crate) fn publish(&self, path: &CStr) -> Result<(), Errno> {
        let Some(name) = &self.name else {
            // A thread may have descriptors of its own.
            let own = Text::<64>::EMPTY.then(b"/proc/thread-self/fd/").number(self.file.number().unsigned_abs().into());
            return sys::link(own.as_c_str().ok_or(TOO_LONG)?, path);
        };
        let name = name.as_c_str().ok_or(TOO_LONG)?;
        // Other machines may see the name before they see what is still in this one's memory.
        sys::flush(self.file);
        match sys::link(name, path) {
            Ok(()) => {
                sys::unlink(name);
                Ok(())
            }
            // Not every file system has a second name for a file.
            Err(why) if why != Errno(libc::EEXIST) && !sys::is_there(path) => sys::rename(name, path),
            Err(_) => Err(Errno(libc::EEXIST)),
        }
    }

    /// Takes away what was not published.
    pub(crate) fn discard(&self) {
        if let Some(name) = self.name.as_ref().and_then(Path::as_c_str) {
            sys::unlink(name);
        }
    }
}
