//! The cache of instrumented copies.
//!
//! Place: `TARE_CACHE`, or `$XDG_CACHE_HOME/tareweight`, or `~/.cache/tareweight`; on a cluster it must be visible
//! to all nodes. Key: a hash of the original's bytes and place, of what is inserted, and of this tool's version.
//! Limit: `TARE_CACHE_LIMIT` in MB (default 2048); the copies that were used longest ago go first.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::failure::{Code, Failure};
use crate::rundir::ImageRecord;

/// Default of `TARE_CACHE_LIMIT`, in bytes.
const LIMIT: u64 = 2048 << 20;

/// A cache of instrumented copies.
#[derive(Debug)]
pub(crate) struct Cache {
    place: PathBuf,
    limit: u64,
    /// Copies that this process is going to use: they stay.
    in_use: RefCell<Vec<PathBuf>>,
}

/// What is kept beside a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What was instrumented.
    pub(crate) image: ImageRecord,
}

/// Names a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key(String);

impl Key {
    /// The key for an original at a path, with whatever else decides on the copy's bytes.
    pub(crate) fn new(bytes: &[u8], path: &Path, choices: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes);
        for part in [path.as_os_str().as_encoded_bytes(), env!("CARGO_PKG_VERSION").as_bytes(), build().as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        for choice in choices {
            hasher.update(&(choice.len() as u64).to_le_bytes());
            hasher.update(choice.as_bytes());
        }
        Self(hasher.finalize().to_hex()[..32].to_string())
    }

    /// The sixteen bytes by which the description of the copy is named.
    pub(crate) fn identity(&self) -> [u8; 16] {
        std::array::from_fn(|index| u8::from_str_radix(&self.0[2 * index..2 * index + 2], 16).unwrap_or(0))
    }
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
            Failure::new(Code::CannotWrite, "there is no place for instrumented copies: HOME is not set")
                .remedy("set TARE_CACHE to a directory that all nodes can see")
        })?;
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&place).map_err(|error| {
            Failure::io(Code::CannotWrite, "make the cache of instrumented copies", &place, &error)
                .remedy("set TARE_CACHE to a directory that you may write to")
        })?;
        let limit = std::env::var("TARE_CACHE_LIMIT").ok().and_then(|text| text.parse::<u64>().ok()).map_or(LIMIT, |megabytes| megabytes << 20);
        Ok(Self { place, limit, in_use: RefCell::default() })
    }

    /// The directory.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// A copy that was made before.
    pub(crate) fn find(&self, key: &Key, name: &str) -> Option<(PathBuf, Entry)> {
        let folder = self.place.join(&key.0);
        let text = fs::read(folder.join("entry.json")).ok()?;
        let entry = serde_json::from_slice(&text).ok()?;
        let copy = folder.join(name);
        if !copy.is_file() {
            return None;
        }
        // The time of use decides who goes first; failing to note it does no harm.
        self.in_use.borrow_mut().push(folder.clone());
        let _ = fs::File::open(folder.join("entry.json")).and_then(|file| file.set_modified(SystemTime::now()));
        Some((copy, entry))
    }

    /// Keeps a copy: whole or not at all, also when several processes make the same one.
    pub(crate) fn keep(&self, key: &Key, name: &str, bytes: &[u8], entry: &Entry) -> Result<PathBuf, Failure> {
        let failed = |error: std::io::Error| {
            Failure::io(Code::CannotWrite, "write an instrumented copy into", &self.place, &error)
                .remedy("make room there, or set TARE_CACHE to another directory")
        };
        let draft = tempfile::tempdir_in(&self.place).map_err(failed)?;
        write_executable(&draft.path().join(name), bytes).map_err(failed)?;
        let text = serde_json::to_vec(entry).map_err(|error| failed(error.into()))?;
        fs::write(draft.path().join("entry.json"), text).map_err(failed)?;
        let folder = self.place.join(&key.0);
        if fs::rename(draft.path(), &folder).is_err() && !folder.join(name).is_file() {
            fs::remove_dir_all(&folder).and_then(|()| fs::rename(draft.path(), &folder)).map_err(failed)?;
        }
        let copy = folder.join(name);
        self.in_use.borrow_mut().push(folder);
        self.trim();
        Ok(copy)
    }

    /// Removes the copies used longest ago until the cache keeps within its limit.
    fn trim(&self) {
        let mut copies: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(&self.place)
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let folder = entry.ok()?.path();
                let used = fs::metadata(folder.join("entry.json")).ok()?.modified().ok()?;
                let size = fs::read_dir(&folder).ok()?.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum();
                Some((used, size, folder))
            })
            .collect();
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, size, _)| size).sum();
        for (_, size, folder) in copies {
            if total <= self.limit {
                break;
            }
            if !self.in_use.borrow().contains(&folder) && fs::remove_dir_all(&folder).is_ok() {
                total -= size;
            }
        }
    }
}

/// Writes a file that can be executed.
pub(crate) fn write_executable(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn place() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("TARE_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("tareweight")))
        .or_else(|| named("HOME").map(|folder| folder.join(".cache/tareweight")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(place: &Path, limit: u64) -> Cache {
        Cache { place: place.to_path_buf(), limit, in_use: RefCell::default() }
    }

    fn entry() -> Entry {
        Entry { image: ImageRecord { path: "app".into(), found: 1, selected: 1, instrumented: 1, refusals: Vec::new() } }
    }

    #[test]
    fn a_copy_is_found_again_by_its_key_alone() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), LIMIT);
        let key = Key::new(b"bytes", Path::new("/bin/app"), &["all"]);
        cache.keep(&key, "app", b"copy", &entry()).expect("room for a copy");
        let (path, _) = cache.find(&key, "app").expect("the copy");
        assert_eq!(fs::read(path).expect("a readable copy"), b"copy");
        assert!(cache.find(&Key::new(b"bytes", Path::new("/bin/app"), &["cc2"]), "app").is_none());
        assert!(cache.find(&Key::new(b"bytes", Path::new("/usr/bin/app"), &["all"]), "app").is_none());
    }

    #[test]
    fn the_cache_keeps_within_its_limit() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let cache = cache(place.path(), 2500);
        let keys: Vec<Key> = (0..4).map(|index: u8| Key::new(&[index], Path::new("/bin/app"), &[])).collect();
        for key in &keys {
            cache.keep(key, "app", &[0; 1000], &entry()).expect("room for a copy");
            cache.in_use.borrow_mut().clear();
        }
        let left = keys.iter().filter(|key| cache.find(key, "app").is_some()).count();
        assert!((1..=2).contains(&left), "{left} copies of 1000 bytes in 2500");
        assert!(cache.find(&keys[3], "app").is_some(), "the latest copy stays");
    }
}
