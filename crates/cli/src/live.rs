//! The graphs of a run as they stand now: those of processes that run on this node in the memory where they are written.
//!
//! Nothing is copied, moved or stopped. A process that ends while we look has moved its graph into the run directory, where
//! we look next.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use memmap2::Mmap;
use tare_format::graph::{Header, ThreadWords};
use tare_profile::{Extent, GraphFile, Live, LiveThread, Profile, ProfileError};

use crate::collect::is_alive;
use crate::failure::Failure;
use crate::results::{file_name, map};
use crate::rundir::{End, RunDirectory, RunRecord, node_local};

/// A graph file, mapped.
pub(crate) struct Graph {
    name: String,
    /// Why it could not be opened is said in the place of what it holds.
    bytes: Result<Mmap, String>,
    /// Whether its process is one of this node.
    is_here: bool,
    /// Whether that runs.
    runs: bool,
}

impl Graph {
    /// Whether it is that of a process, by the name of its file, that runs on this node.
    pub(crate) fn is_of_running(&self, file: &str) -> bool {
        self.runs && self.name == file
    }

    fn file<'a>(&'a self, live: Option<&'a Live>) -> GraphFile<'a> {
        GraphFile { name: &self.name, bytes: self.bytes.as_deref().map_err(String::as_str), live }
    }
}

/// All graphs of a run: a process's own memory before what was copied from it.
pub(crate) fn graphs(run: &RunDirectory, id: &str) -> Result<Vec<Graph>, Failure> {
    let host = this_host();
    let mut graphs = Vec::new();
    let mut known = BTreeSet::new();
    let entries = fs::read_dir(node_local(id)).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut local: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "graph")).collect();
    local.sort();
    for (path, is_local) in local.into_iter().map(|path| (path, true)).chain(run.files("graph")?.into_iter().map(|path| (path, false))) {
        if known.contains(&file_name(&path)) {
            continue;
        }
        let bytes = map(&path).map_err(|error| error.to_string());
        // One that has ended stands in the run directory.
        if is_local && bytes.is_err() {
            continue;
        }
        known.insert(file_name(&path));
        // A run directory on the file system of several nodes may hold the graph of a process of another one.
        let is_here = bytes.as_ref().is_ok_and(|bytes| is_local || is_of(bytes, &host));
        let runs = is_here && is_alive(&path);
        graphs.push(Graph { name: file_name(&path), bytes, is_here, runs });
    }
    Ok(graphs)
}

/// The name of this node, as graphs have it.
pub(crate) fn this_host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

/// Whether a graph is that of a process of a host.
fn is_of(graph: &[u8], host: &str) -> bool {
    Header::from_bytes(graph).is_some_and(|header| header.host.starts_with(host.as_bytes()) && header.host.get(host.len()) == Some(&0))
}

/// The profile of graphs as they stand now, those of processes that were cut off as they stood at their end. `record` says how the
/// run ended, and which ends of processes were seen.
pub(crate) fn profile(graphs: &[Graph], descriptions: &[&[u8]], record: &RunRecord, extent: Extent) -> Result<Profile, ProfileError> {
    let end = |graph: &Graph| record.ends.iter().find(|end| end.graph == graph.name);
    let about = |graph: &Graph| match &graph.bytes {
        Ok(bytes) if graph.runs => Some(look(bytes)),
        // A process of moments has ended before it is looked for.
        Ok(_) if record.exit.is_some() || graph.is_here => Some(at_end(end(graph))),
        _ => end(graph).map(|end| at_end(Some(end))),
    };
    let live: Vec<Option<Live>> = graphs.iter().map(about).collect();
    let files: Vec<GraphFile<'_>> = graphs.iter().zip(&live).map(|(graph, live)| graph.file(live.as_ref())).collect();
    Profile::read_live(&files, descriptions, extent)
}

fn at_end(seen: Option<&End>) -> Live {
    let (ticks, ns) = seen.map_or((0, 0), |end| (end.ticks, end.ns));
    Live { ticks, ns, has_ended: true, threads: Vec::new() }
}

/// The clock, and what the threads of a process say of themselves.
fn look(bytes: &[u8]) -> Live {
    let pid = Header::from_bytes(bytes).map_or(0, |header| header.pid);
    let about = |(thread, address)| LiveThread { words: words_of(pid, address), queued_ns: queued_ns(pid, thread) };
    let threads = Live::threads_of(bytes).into_iter().map(|thread| thread.map_or_else(LiveThread::default, about)).collect();
    let (ticks, ns) = clock();
    Live { ticks, ns, has_ended: false, threads }
}

/// Now: the time-stamp counter, and nanoseconds since 1970.
pub(crate) fn clock() -> (u64, u64) {
    let ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    // SAFETY: reading the time-stamp counter touches no memory.
    (unsafe { core::arch::x86_64::_rdtsc() }, ns)
}

/// For how long a thread could have run and had no processor, as the kernel says: the second number of its `schedstat`.
fn queued_ns(pid: u32, thread: u32) -> Option<u64> {
    let numbers = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    numbers.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The first words of a thread's state; `None` where the system does not let us read the process's memory.
fn words_of(pid: u32, address: u64) -> Option<ThreadWords> {
    let address = usize::try_from(address).ok().filter(|&address| address != 0)?;
    let mut bytes = [0_u8; ThreadWords::SIZE];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: bytes.len() };
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: `here` is a live buffer of that length; `there` is only looked at in the other process.
    let read = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    (read == bytes.len() as isize).then(|| ThreadWords::from_bytes(&bytes))?
}
