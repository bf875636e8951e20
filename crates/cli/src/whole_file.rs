//! Files that are written whole or not at all: also where the disk is full, and where the tool is interrupted.
//!
//! A file has no name until all its bytes are on the disk, so that whatever ends the tool leaves nothing behind. Where
//! the file system cannot do that, it has the name of a draft. Signals that would end the tool wait until it is done.
//!
//! Of a symbolic link, the file that it leads to is replaced. Devices and pipes are no files: they are written into. So is what
//! this process has open and the path names as such (`/dev/stdout`, or `-`), also where it is a file: whoever opened it reads on there.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::ffi::CString;

/// Symbolic links that are followed, as by Linux.
const MOST_LINKS: usize = 40;

/// Who may read and start an executable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access<'a> {
    /// Its owner.
    Own,
    /// Whoever may read and start this file, as far as the user's mask lets new files have that; nobody by it becomes
    /// another user or group.
    Of(&'a Path),
}

impl Access<'_> {
    fn mode(self) -> std::io::Result<u32> {
        match self {
            Self::Own => Ok(0o700),
            Self::Of(file) => Ok(fs::metadata(file)?.mode() & 0o777),
        }
    }
}

/// Writes an executable file in the place of whatever has its name. A device, a pipe or an open stream is no place for it, but for the
/// one that forgets all.
pub(crate) fn write_executable(path: &Path, bytes: &[u8], access: Access<'_>) -> std::io::Result<()> {
    let is_no_place = match special(path) {
        Some(about) => !forgets(&about),
        None => opened(path).is_some(),
    };
    if is_no_place {
        return Err(std::io::Error::other("it is a device, a pipe or an open stream, and a program cannot be started from there"));
    }
    write_with(path, bytes, access.mode()?)
}

/// Writes a file in the place of whatever has its name.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_with(path, bytes, 0o644)
}

/// Whether writing there would take the place of something: a file that holds anything, or a directory, which cannot be replaced.
pub(crate) fn replaces(path: &Path) -> bool {
    opened(path).is_none() && fs::metadata(path).is_ok_and(|about| about.is_dir() || about.is_file() && about.len() > 0)
}

fn write_with(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    if let Some(mut stream) = opened(path) {
        return stream.write_all(bytes);
    }
    if special(path).is_some() {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let path = &followed(path)?;
    let _undisturbed = Undisturbed::begin();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".tare-{}-{}", std::process::id(), shortened(&name)));
    let placed = write_draft(folder, &draft, bytes, mode).and_then(|()| fs::rename(&draft, path));
    if placed.is_err() {
        let _ = fs::remove_file(&draft);
    }
    placed
}

/// As much of a name, which may be as long as names may be, as leaves room for some more.
pub(crate) fn shortened(name: &str) -> &str {
    const MOST: usize = 200;
    let end = (0..=MOST.min(name.len())).rfind(|&end| name.is_char_boundary(end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}

/// What has this name, if it is neither a file nor a directory.
fn special(path: &Path) -> Option<fs::Metadata> {
    fs::metadata(path).ok().filter(|about| !about.is_file() && !about.is_dir())
}

/// What this process has open under a path that leads to the list of its descriptors.
fn opened(path: &Path) -> Option<File> {
    let descriptors = fs::canonicalize("/proc/self/fd").ok()?;
    let is_output = path == Path::new("-");
    let mut path = if is_output { descriptors.join(libc::STDOUT_FILENO.to_string()) } else { path.to_path_buf() };
    for _ in 0..MOST_LINKS {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if fs::canonicalize(folder).is_ok_and(|folder| folder == descriptors) {
            let number = path.file_name()?.to_str()?.parse().ok()?;
            // SAFETY: the list named it a moment ago, and nothing closes descriptors meanwhile.
            let stream = fs::symlink_metadata(&path).ok().map(|_| unsafe { BorrowedFd::borrow_raw(number) })?;
            return stream.try_clone_to_owned().ok().map(File::from);
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// Whether it is the null device.
fn forgets(about: &fs::Metadata) -> bool {
    about.file_type().is_char_device() && about.rdev() == libc::makedev(1, 3)
}

/// Where symbolic links lead, whether or not there is something.
fn followed(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::ELOOP))
}

/// Writes the file under the name of the draft.
fn write_draft(folder: &Path, draft: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let nameless = OpenOptions::new().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder);
    match nameless {
        Ok(file) => {
            fill(&file, bytes)?;
            name(&file, draft)
        }
        // Old and network file systems answer in different ways that they do not know files without a name.
        Err(_) => fill(&OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(draft)?, bytes),
    }
}

fn fill(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file without a name its name.
fn name(file: &File, path: &Path) -> std::io::Result<()> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(std::io::Error::from);
    let own = text(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))?;
    let path = text(path)?;
    // SAFETY: both are strings that live until the call returns.
    let linked = unsafe { libc::linkat(libc::AT_FDCWD, own.as_ptr(), libc::AT_FDCWD, path.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if linked == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// While it lives, no signal ends this thread: interrupts wait, and a file that grows beyond its limit is an error.
struct Undisturbed {
    mask: libc::sigset_t,
    file_size: libc::sighandler_t,
}

impl Undisturbed {
    fn begin() -> Self {
        // SAFETY: all bit patterns are valid for a set of signals.
        let mut held: libc::sigset_t = unsafe { std::mem::zeroed() };
        let mut mask = held;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: a live set, and a signal that exists.
            unsafe { libc::sigaddset(&raw mut held, signal) };
        }
        // SAFETY: both sets live until the call returns.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut mask) };
        // SAFETY: ignoring a signal needs no handler.
        let file_size = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        Self { mask, file_size }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: the action that was there before.
        unsafe { libc::signal(libc::SIGXFSZ, self.file_size) };
        // SAFETY: the mask that was there before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_takes_the_place_of_another_and_leaves_no_draft() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("copy");
        for bytes in [&b"one"[..], b"another"] {
            write_executable(&path, bytes, Access::Own).expect("room");
            assert_eq!(fs::read(&path).expect("the file"), bytes);
        }
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o100, 0o100);
        assert_eq!(fs::read_dir(place.path()).expect("the directory").count(), 1);
    }

    #[test]
    fn a_name_may_be_as_long_as_names_may_be() {
        let place = tempfile::tempdir().expect("a temporary directory");
        for name in ["n".repeat(255), "ä".repeat(127)] {
            write_executable(&place.path().join(&name), b"one", Access::Own).expect("room");
            assert!((198..=200).contains(&shortened(&name).len()));
        }
        assert_eq!(fs::read_dir(place.path()).expect("the directory").count(), 2);
    }

    #[test]
    fn what_is_open_is_written_on_and_takes_no_program() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (file, link) = (place.path().join("out"), place.path().join("link"));
        let mut stream = File::create(&file).expect("room");
        stream.write_all(b"head, ").expect("room");
        let path = PathBuf::from(format!("/dev/fd/{}", stream.as_raw_fd()));
        write(&path, b"document").expect("room");
        std::os::unix::fs::symlink(&path, &link).expect("room");
        write(&link, b", more").expect("room");
        assert_eq!(fs::read(&file).expect("the file"), b"head, document, more");
        assert!(replaces(&file) && !replaces(&path) && !replaces(&link), "what is open is written on");
        assert!(write_executable(&path, b"program", Access::Own).is_err());
        assert!(write_executable(Path::new("-"), b"program", Access::Own).is_err());
        assert_eq!(fs::read_dir(place.path()).expect("the directory").count(), 2);
    }

    #[test]
    fn a_place_that_cannot_be_taken_leaves_no_draft() {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(place.path().join("copy/full")).expect("room");
        assert!(write(&place.path().join("copy"), b"bytes").is_err());
        assert_eq!(fs::read_dir(place.path()).expect("the directory").count(), 1);
    }
}
