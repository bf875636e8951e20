//! The cache of instrumented copies.
//!
//! Place: `TARE_CACHE`, or `$XDG_CACHE_HOME/tareweight`, or `~/.cache/tareweight`; on a cluster it must be visible
//! to all nodes. Key: a hash of the original's bytes and place, of the copy's name, of what is inserted, of this tool's version, and of the user.
//! Limit: `TARE_CACHE_LIMIT` in MB (default 2048); the copies that were used longest ago go first.
//!
//! ```text
//! KEY/NAME         the copy, under the name of its original
//! KEY/entry.json   what was instrumented; its time is that of the last use
//! .tareweight-…/   a draft, to be renamed to KEY
//! ```
//! What always holds: a copy is used only if it is this user's and its bytes are those that were written. Whoever uses a copy holds a lock on its entry (a draft: on
//! the directory) until his run has ended, and what is locked is never removed; what killed processes left is: drafts, and KEYs
//! that were being removed. Other files may stand in the place: what has neither kind of name is never touched.

use std::cell::RefCell;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::failure::{Code, Failure};
use crate::installation::parts_it;
use crate::rundir::ImageRecord;
use crate::whole_file::{Access, write_executable};

/// What to do where the cache cannot be written into.
pub(crate) const REMEDY: &str = "make room there, or set TARE_CACHE to another directory";

/// Default of `TARE_CACHE_LIMIT`, in bytes.
const LIMIT: u64 = 2048 << 20;
/// Where the file system knows no locks, what was used more recently than this counts as in use.
const RECENTLY: Duration = Duration::from_secs(24 * 3600);
/// A draft that is younger may not have its lock yet.
const YOUNG: Duration = Duration::from_secs(60);
/// How often a copy is put in its place, where other processes put theirs and remove them.
const ATTEMPTS: usize = 100;
/// Drafts have names that begin so, and nothing else has: a place may be a directory in which others keep theirs, such as `/tmp`.
const DRAFT: &str = ".tareweight-";
/// Digits of a key.
const DIGITS: usize = 32;

/// A cache of instrumented copies.
#[derive(Debug)]
pub(crate) struct Cache {
    place: PathBuf,
    limit: u64,
    /// Locked entries of the copies that this process is going to use: they stay as long as the cache is open.
    in_use: RefCell<Vec<File>>,
}

/// What is kept beside a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What was instrumented.
    pub(crate) image: ImageRecord,
    /// A hash of the copy's bytes. What was changed since is no copy of this.
    copy: String,
}

impl Entry {
    fn new(image: &ImageRecord, bytes: &[u8]) -> Self {
        Self { image: image.clone(), copy: digest(bytes) }
    }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Names a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key(String);

impl Key {
    /// The key for an original at a path, with whatever else decides on the copy's bytes and name. Of two users who share a place neither
    /// can read, nor should trust, what the other keeps there.
    pub(crate) fn new(bytes: &[u8], path: &Path, choices: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes);
        let user = user().to_string();
        for part in [path.as_os_str().as_encoded_bytes(), env!("CARGO_PKG_VERSION").as_bytes(), build().as_bytes(), user.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        for choice in choices {
            hasher.update(&(choice.len() as u64).to_le_bytes());
            hasher.update(choice.as_bytes());
        }
        Self(hasher.finalize().to_hex()[..DIGITS].to_string())
    }
}

/// Who runs this.
fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Tells one build of the tool from another of the same version.
fn build() -> String {
    let changed = std::env::current_exe().and_then(fs::metadata).and_then(|about| about.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or_else(String::new, |since| since.as_nanos().to_string())
}

impl Cache {
    /// Opens the cache, making its directory where it is missing.
    pub(crate) fn open() -> Result<Self, Failure> {
        let place = place().ok_or_else(|| {
            Failure::new(Code::CannotWrite, "there is no place for instrumented copies: this user has no home directory")
                .remedy("set TARE_CACHE to a directory that all nodes can see")
        })?;
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&place).map_err(|error| {
            Failure::io(Code::CannotWrite, "make the cache of instrumented copies", &place, &error)
                .remedy("set TARE_CACHE to a directory that you may write to")
        })?;
        Ok(Self { place, limit: limit()?, in_use: RefCell::default() })
    }

    /// The directory.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Copies of libraries are found by the loader, in a list of directories.
    pub(crate) fn refuse_where_libraries_are_not_found(&self) -> Result<(), Failure> {
        let Some(sign) = parts_it(&self.place, ":;$") else { return Ok(()) };
        Err(Failure::new(Code::Usage, format!("the loader looks for libraries in no directory whose path has a `{sign}`: {}", self.place.display()))
            .remedy("set TARE_CACHE to another directory, or leave out --library"))
    }

    /// A directory for files that nobody else looks for. It is removed when dropped, or by others once this process has ended.
    pub(crate) fn draft(&self) -> std::io::Result<Draft> {
        let folder = tempfile::Builder::new().prefix(DRAFT).tempdir_in(&self.place)?;
        let lock = File::open(folder.path())?;
        // Without locks, time tells what is in use.
        lock_for(&lock, libc::LOCK_EX);
        Ok(Draft { folder, _lock: lock })
    }

    /// A copy that was made before.
    pub(crate) fn find(&self, key: &Key, name: &str) -> Option<(PathBuf, Entry)> {
        let folder = self.place.join(&key.0);
        let file = self.claim(&folder)?;
        let entry: Entry = serde_json::from_reader(&file).ok()?;
        let copy = folder.join(name);
        if entry.copy != digest(&fs::read(&copy).ok()?) {
            return None;
        }
        // The time of use decides who goes first; failing to note it does no harm.
        let _ = file.set_modified(SystemTime::now());
        self.in_use.borrow_mut().push(file);
        Some((copy, entry))
    }

    /// The entry of a directory, locked against removal; `None` where it is being removed, or is another user's.
    fn claim(&self, folder: &Path) -> Option<File> {
        let file = File::open(folder.join(ENTRY)).ok()?;
        lock_for(&file, libc::LOCK_SH);
        file.metadata().is_ok_and(|about| about.nlink() > 0 && about.uid() == user()).then_some(file)
    }

    /// Keeps a copy: whole or not at all, also when several processes make the same one.
    pub(crate) fn keep(&self, key: &Key, name: &str, bytes: &[u8], image: &ImageRecord) -> Result<PathBuf, Failure> {
        let failed = |error: std::io::Error| Failure::io(Code::CannotWrite, "write an instrumented copy into", &self.place, &error).remedy(REMEDY);
        if name == ENTRY {
            let what = format!("no copy can be kept of a program that is called {ENTRY}: so is what is kept beside it");
            return Err(Failure::new(Code::BadInput, what).remedy("give it another name"));
        }
        let draft = self.draft().map_err(failed)?;
        write_executable(&draft.path().join(name), bytes, Access::Own).map_err(failed)?;
        let text = serde_json::to_vec(&Entry::new(image, bytes)).map_err(|error| failed(error.into()))?;
        fs::write(draft.path().join(ENTRY), text).map_err(failed)?;
        let folder = self.place.join(&key.0);
        // Before it can be seen, so that nobody removes it in between.
        let claimed = self.claim(draft.path());
        for attempt in 1.. {
            match fs::rename(draft.path(), &folder) {
                Ok(()) => {
                    self.in_use.borrow_mut().extend(claimed);
                    break;
                }
                Err(error) if attempt == ATTEMPTS => return Err(failed(error)),
                Err(_) if self.find(key, name).is_some() => break,
                // What stands there is no copy or a damaged one, or another process is removing it.
                Err(_) => remove(&folder).map_err(failed)?,
            }
        }
        Ok(folder.join(name))
    }

    /// Removes what killed processes left, and the copies used longest ago until the cache keeps within its limit.
    pub(crate) fn trim(&self) {
        let mut copies = Vec::new();
        for folder in fs::read_dir(&self.place).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            match Kind::of(&folder) {
                None => {}
                Some(Kind::Copy) if fs::exists(folder.join(ENTRY)).unwrap_or(true) => {
                    copies.extend(used(&folder.join(ENTRY)).map(|(time, size)| (time, size, folder)));
                }
                // A copy without an entry is one that was being removed; nobody can use it.
                Some(Kind::Copy | Kind::Draft) if !is_younger(&folder, YOUNG) => drop(remove_unused(&folder, &folder)),
                Some(_) => {}
            }
        }
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, size, _)| size).sum();
        for (_, size, folder) in copies {
            if total <= self.limit {
                break;
            }
            if remove_unused(&folder, &folder.join(ENTRY)) {
                total -= size;
            }
        }
    }
}

/// The name of what is kept beside a copy.
const ENTRY: &str = "entry.json";

/// A directory in the cache for as long as this lives.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Draft {
    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What stands in the place under a name of ours.
enum Kind {
    Copy,
    Draft,
}

impl Kind {
    fn of(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?.to_str()?;
        let is_key = name.len() == DIGITS && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_key {
            return Some(Self::Copy);
        }
        name.starts_with(DRAFT).then_some(Self::Draft)
    }
}

/// When the copy of an entry was used last, and the bytes that it takes.
fn used(entry: &Path) -> Option<(SystemTime, u64)> {
    let time = fs::metadata(entry).ok()?.modified().ok()?;
    let size = fs::read_dir(entry.parent()?).ok()?.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum();
    Some((time, size))
}

/// What came of asking for a lock.
enum Lock {
    Held,
    HeldByOthers,
    /// The file system knows no locks.
    Unknown,
}

/// Asks for a lock on an open file, which it keeps until it is closed.
fn lock_for(file: &File, operation: libc::c_int) -> Lock {
    // SAFETY: the descriptor is open; flock touches no memory.
    if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
        return Lock::Held;
    }
    match std::io::Error::last_os_error().kind() {
        std::io::ErrorKind::WouldBlock => Lock::HeldByOthers,
        _ => Lock::Unknown,
    }
}

/// Removes a directory unless some process holds a lock on this, or may do so. Nobody gets one before it is gone. Says whether it was removed.
fn remove_unused(folder: &Path, locked: &Path) -> bool {
    let Ok(file) = File::open(locked) else { return false };
    let is_in_use = match lock_for(&file, libc::LOCK_EX | libc::LOCK_NB) {
        Lock::Held => false,
        Lock::HeldByOthers => true,
        Lock::Unknown => is_younger(locked, RECENTLY),
    };
    !is_in_use && remove(folder).is_ok()
}

/// Whether this was changed more recently, or cannot be looked at.
fn is_younger(path: &Path, age: Duration) -> bool {
    let time = fs::metadata(path).and_then(|about| about.modified()).ok();
    time.and_then(|time| time.elapsed().ok()).is_none_or(|since| since < age)
}

/// Removes a directory, which another process may be removing as well.
fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// `TARE_CACHE_LIMIT`, in bytes.
fn limit() -> Result<u64, Failure> {
    let Some(text) = std::env::var_os("TARE_CACHE_LIMIT").filter(|text| !text.is_empty()) else { return Ok(LIMIT) };
    let megabytes = text.to_str().and_then(|text| text.parse::<u64>().ok());
    megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20)).ok_or_else(|| {
        Failure::new(Code::Usage, format!("TARE_CACHE_LIMIT is `{}`, which is no number of MB", text.to_string_lossy()))
            .remedy("TARE_CACHE_LIMIT=2048 keeps 2 GB of instrumented copies")
    })
}

/// Where the cache is; absolute, since programs may be started in other directories.
fn place() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let place = named("TARE_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("tareweight")))
        .or_else(|| named("HOME").or_else(home).map(|folder| folder.join(".cache/tareweight")))?;
    std::path::absolute(place).ok()
}

/// The home directory of the user, where the environment names none.
fn home() -> Option<PathBuf> {
    let mut buffer = vec![0; 1 << 14];
    // SAFETY: all bit patterns are valid for the record.
    let mut record: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: getuid has no preconditions and cannot fail.
    let user = unsafe { libc::getuid() };
    // SAFETY: record, buffer and result live until the call returns, and the length is that of the buffer.
    let failed = unsafe { libc::getpwuid_r(user, &raw mut record, buffer.as_mut_ptr(), buffer.len(), &raw mut found) };
    if failed != 0 || found.is_null() || record.pw_dir.is_null() {
        return None;
    }
    // SAFETY: a string in the buffer, which still lives.
    let folder = unsafe { std::ffi::CStr::from_ptr(record.pw_dir) }.to_bytes().to_vec();
    Some(PathBuf::from(std::ffi::OsString::from_vec(folder))).filter(|folder| folder.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(place: &Path, limit: u64) -> Cache {
        Cache { place: place.to_path_buf(), limit, in_use: RefCell::default() }
    }

    fn image() -> ImageRecord {
        ImageRecord { path: "app".into(), found: 1, selected: 1, instrumented: 1, refusals: Vec::new(), expected_dilation: None }
    }

    #[test]
    fn a_copy_is_found_again_by_its_key_alone() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let key = Key::new(b"bytes", Path::new("/bin/app"), &["all"]);
        cache.keep(&key, "app", b"copy", &image()).expect("room for a copy");
        let (path, _) = cache.find(&key, "app").expect("the copy");
        assert_eq!(fs::read(path).expect("a readable copy"), b"copy");
        assert!(cache.find(&Key::new(b"bytes", Path::new("/bin/app"), &["cc2"]), "app").is_none());
        assert!(cache.find(&Key::new(b"bytes", Path::new("/usr/bin/app"), &["all"]), "app").is_none());
    }

    #[test]
    fn a_copy_that_was_changed_is_made_anew() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let key = Key::new(b"bytes", Path::new("/bin/app"), &["all"]);
        let path = cache.keep(&key, "app", b"copy", &image()).expect("room for a copy");
        let about = fs::metadata(&path).and_then(|about| about.modified()).expect("the copy");
        fs::write(&path, b"cope").expect("our own file");
        File::options().append(true).open(&path).and_then(|file| file.set_modified(about)).expect("our own file");
        assert!(cache.find(&key, "app").is_none(), "a changed copy is used");
        let path = cache.keep(&key, "app", b"copy", &image()).expect("room for a copy");
        assert_eq!(fs::read(path).expect("the copy"), b"copy");
        assert!(cache.find(&key, "app").is_some());
    }

    #[test]
    fn the_cache_keeps_within_its_limit() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), 2500);
        let keys: Vec<Key> = (0..4).map(|index: u8| Key::new(&[index], Path::new("/bin/app"), &[])).collect();
        for key in &keys {
            cache.keep(key, "app", &[0; 1000], &image()).expect("room for a copy");
            cache.trim();
            cache.in_use.borrow_mut().clear();
        }
        let left = keys.iter().filter(|key| cache.find(key, "app").is_some()).count();
        assert!((1..=2).contains(&left), "{left} copies of 1000 bytes in 2500");
        assert!(cache.find(&keys[3], "app").is_some(), "the latest copy stays");
    }

    #[test]
    fn a_copy_that_another_process_uses_stays() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let keys: Vec<Key> = (0..3).map(|index: u8| Key::new(&[index], Path::new("/bin/app"), &[])).collect();
        let running = cache(place.path(), LIMIT);
        running.keep(&keys[0], "app", &[0; 1000], &image()).expect("room for a copy");
        let another = cache(place.path(), 1500);
        for key in &keys[1..] {
            another.keep(key, "app", &[0; 1000], &image()).expect("room for a copy");
            another.trim();
        }
        assert!(cache(place.path(), LIMIT).find(&keys[0], "app").is_some(), "it was removed while it was in use");
        drop(running);
        another.trim();
        assert!(cache(place.path(), LIMIT).find(&keys[0], "app").is_none(), "it stays beyond the limit");
    }

    #[test]
    fn drafts_of_killed_processes_are_removed_and_those_of_others_are_not() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let left = place.path().join(format!("{DRAFT}left"));
        fs::create_dir(&left).expect("room");
        fs::write(left.join("app"), "half").expect("room");
        File::open(&left).and_then(|left| left.set_modified(SystemTime::now() - 2 * YOUNG)).expect("our own directory");
        let live = cache.draft().expect("room");
        File::open(live.path()).and_then(|live| live.set_modified(SystemTime::now() - 2 * YOUNG)).expect("our own directory");
        cache.trim();
        assert!(!left.exists() && live.path().exists());
    }

    #[test]
    fn what_was_being_removed_when_its_process_was_killed_is_removed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let path = cache.keep(&Key::new(b"x", Path::new("/bin/app"), &[]), "app", b"copy", &image()).expect("room for a copy");
        let folder = path.parent().expect("a directory");
        cache.in_use.borrow_mut().clear();
        fs::remove_file(folder.join(ENTRY)).expect("our own file");
        File::open(folder).and_then(|folder| folder.set_modified(SystemTime::now() - 2 * YOUNG)).expect("our own directory");
        cache.trim();
        assert!(!folder.exists());
    }

    #[test]
    fn what_others_keep_in_the_place_is_never_touched() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), 0);
        for name in ["project", ".tmpAbCdEf"] {
            let folder = place.path().join(name);
            fs::create_dir(&folder).expect("room");
            fs::write(folder.join(ENTRY), "{}").expect("room");
            File::open(&folder).and_then(|folder| folder.set_modified(SystemTime::now() - 2 * YOUNG)).expect("our own directory");
        }
        cache.trim();
        assert!(["project", ".tmpAbCdEf"].iter().all(|name| place.path().join(name).join(ENTRY).exists()));
    }

    #[test]
    fn a_program_that_has_the_name_of_the_entry_is_refused() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let key = Key::new(b"x", Path::new("/bin/entry.json"), &[]);
        assert!(cache.keep(&key, ENTRY, b"copy", &image()).is_err_and(|failure| failure.what.contains(ENTRY)));
    }

    #[test]
    fn many_threads_find_and_keep_and_evict_whole_copies() {
        let place = tempfile::tempdir().expect("a temporary directory");
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let place = place.path();
                scope.spawn(move || {
                    for round in 0..40_u8 {
                        let cache = cache(place, 30_000);
                        let key = Key::new(&[round.wrapping_mul(7).wrapping_add(thread) % 9], Path::new("/bin/app"), &[]);
                        let bytes = [key.0.as_bytes()[0]; 9000];
                        let copy = match cache.find(&key, "app") {
                            Some((copy, _)) => copy,
                            None => cache.keep(&key, "app", &bytes, &image()).expect("room for a copy"),
                        };
                        cache.trim();
                        assert!(fs::read(copy).is_ok_and(|found| found == bytes), "a copy in use is not whole");
                    }
                });
            }
        });
    }
}
