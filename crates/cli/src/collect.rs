//! Collecting what a run left in node-local memory: graph files of processes that were killed.
//!
//! A process that ends in order copies its own graph into the run directory. Collecting copies the others byte for
//! byte, holes left out; only then are they removed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tare_format::graph::{DRAFT_ENDING, REQUEST_ENDING, UNWRITTEN};

use crate::ends::header_of;
use crate::failure::{Code, Failure};
use crate::live::this_host;
use crate::rundir::{RunDirectory, node_local};

/// Copies the graphs that run `id` left on this node into its directory; returns how many there were.
///
/// Graphs of processes that still run are copied and left in place.
pub(crate) fn collect(run: &RunDirectory, id: &str) -> Result<usize, Failure> {
    let local = node_local(id);
    remove_drafts(&local);
    remove_drafts(&run.path);
    let Ok(entries) = fs::read_dir(&local) else { return Ok(0) };
    let mut collected = 0;
    let mut alive = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|ending| ending == "graph")) {
        let Some(name) = path.file_name() else { continue };
        let target = run.path.join(name);
        // Asked before the copy is made: a process that ends meanwhile has more to tell, and collects its graph itself.
        let lives = is_alive(&path);
        let copied = copy_sparse(&path, &target).map_err(|error| {
            Failure::io(Code::CannotWrite, "collect a graph into", &target, &error)
                .remedy(format!("make room there and call `tare report` again; the data stands in {}", local.display()))
        })?;
        collected += usize::from(copied);
        if lives {
            alive += 1;
        } else if let Err(error) = fs::remove_file(&path)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(Failure::io(Code::CannotWrite, "remove", &path, &error));
        }
    }
    remove_requests(&local);
    remove_requests(&run.path);
    if alive == 0 {
        keep_mark(run, &local);
        // Something else in there is nobody's loss: the directory then stays, and `tare doctor` names it.
        let _ = fs::remove_dir(&local);
    }
    Ok(collected)
}

/// Removes what processes of this machine have left that were killed while they made or copied a graph.
fn remove_drafts(directory: &Path) {
    let own = this_host();
    let has_ended = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(DRAFT_ENDING));
        let behind_host = name.and_then(|name| name.strip_prefix(own.as_str())).and_then(|name| name.strip_prefix('-'));
        let process = behind_host.and_then(|name| name.split('-').next()).filter(|pid| pid.parse::<u32>().is_ok());
        process.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    for draft in fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).filter(has_ended) {
        // What stays is nothing for readers.
        let _ = fs::remove_file(draft);
    }
}

/// Where a process is asked for something: beside its graph.
pub(crate) fn request_of(graph: &Path) -> PathBuf {
    let mut place = graph.to_path_buf().into_os_string();
    place.push(REQUEST_ENDING);
    PathBuf::from(place)
}

/// Removes what was asked of processes that have ended: no one of them reads it any more.
fn remove_requests(directory: &Path) {
    let graph_of = |request: &Path| Some(PathBuf::from(request.to_str()?.strip_suffix(REQUEST_ENDING)?));
    let is_vain = |request: &PathBuf| graph_of(request).is_some_and(|graph| !is_alive(&graph));
    for request in fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).filter(is_vain) {
        // What stays is nothing for readers.
        let _ = fs::remove_file(request);
    }
}

/// A process of the run has left word that it found no room for its graph: that goes with the run.
fn keep_mark(run: &RunDirectory, local: &Path) {
    if fs::remove_file(local.join(UNWRITTEN)).is_ok() {
        // Where not even that can be written, the process has said so.
        let _ = File::create(run.path.join(UNWRITTEN));
    }
}

/// How long processes may take to end after their launcher has.
const GRACE: Duration = Duration::from_secs(3);

/// Waits for the processes of a run whose launcher has ended: one that was told to stop may need a moment.
pub(crate) fn wait_for_stragglers(id: &str) {
    let started = Instant::now();
    let graphs = || fs::read_dir(node_local(id)).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    while graphs().any(|path| is_alive(&path)) && started.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the process that writes a graph still runs on this node.
pub(crate) fn is_alive(graph: &Path) -> bool {
    header_of(graph).is_some_and(|header| Path::new(&format!("/proc/{}", header.pid)).exists())
}

/// Copies a file and leaves its holes holes; false where its process has collected it meanwhile.
fn copy_sparse(from: &Path, to: &Path) -> std::io::Result<bool> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let length = source.metadata()?.len();
    let draft = to.with_extension("part");
    let copied = copy_data(&mut source, length, &draft);
    if copied.is_err() || source.metadata()?.nlink() == 0 {
        // Whatever of it was written takes room that others lack.
        let _ = fs::remove_file(draft);
        return copied.map(|()| false);
    }
    fs::rename(draft, to)?;
    Ok(true)
}

fn copy_data(source: &mut File, length: u64, to: &Path) -> std::io::Result<()> {
    let mut target = File::create(to)?;
    target.set_len(length)?;
    let mut at = 0;
    while let Some((start, end)) = next_data(source, at, length)? {
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        std::io::copy(&mut source.take(end - start), &mut target)?;
        at = end;
    }
    target.flush()
}

/// The next stretch of a file that is not a hole. A file system that knows no holes has data all over.
fn next_data(file: &File, from: u64, length: u64) -> std::io::Result<Option<(u64, u64)>> {
    if from >= length {
        return Ok(None);
    }
    match seek(file, from, libc::SEEK_DATA) {
        Ok(start) => Ok(Some((start, seek(file, start, libc::SEEK_HOLE)?))),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(Some((from, length))),
        Err(error) => Err(error),
    }
}

fn seek(file: &File, from: u64, whence: libc::c_int) -> std::io::Result<u64> {
    let from = libc::off_t::try_from(from).map_err(|_| ErrorKind::InvalidInput)?;
    // SAFETY: the descriptor is open; lseek touches no memory.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from, whence) };
    u64::try_from(found).map_err(|_| std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_of_processes_that_have_ended_are_removed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let (host, own) = (host.trim(), std::process::id());
        // The first process of the system runs as long as it; no process has a number that large.
        let kept = [
            format!("{host}-1-0.draft"),
            format!("{host}-{own}-0.graph.draft"),
            format!("{host}-4000000000-0.graph"),
            "elsewhere-4000000000-0.draft".into(),
        ];
        let gone = [format!("{host}-4000000000-0.draft"), format!("{host}-4000000000-3.graph.draft")];
        for name in kept.iter().chain(&gone) {
            File::create(place.path().join(name)).expect("a writable directory");
        }
        remove_drafts(place.path());
        assert!(kept.iter().all(|name| place.path().join(name).exists()));
        assert!(!gone.iter().any(|name| place.path().join(name).exists()));
    }

    #[test]
    fn requests_of_processes_that_have_ended_are_removed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (gone, other) = (place.path().join("node-4000000000-0.graph.request"), place.path().join("node-4000000000-0.regions"));
        [&gone, &other].into_iter().for_each(|path| drop(File::create(path).expect("a writable directory")));
        remove_requests(place.path());
        assert_eq!((gone.exists(), other.exists()), (false, true));
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let from = place.path().join("a.graph");
        let mut file = File::create(&from).expect("a writable directory");
        file.set_len(64 << 20).expect("room for a sparse file");
        for (at, byte) in [(0, 1), (8 << 20, 2), (40 << 20, 3)] {
            file.seek(SeekFrom::Start(at)).expect("a seekable file");
            file.write_all(&[byte; 5000]).expect("room for data");
        }
        drop(file);
        let to = place.path().join("b.graph");
        copy_sparse(&from, &to).expect("a copy");
        assert!(fs::read(&from).expect("original") == fs::read(&to).expect("copy"));
        assert!(fs::metadata(&to).expect("metadata").blocks() * 512 < 1 << 20, "holes were filled");
    }
}
