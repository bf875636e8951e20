//! Which process of a run ended first: where one is killed, MPI takes down the others a moment later, and nothing that they
//! leave behind says which of them it was.
//!
//! A thread of the tool sleeps until a process ends (`pidfd_open`, Linux 5.3), and looks for new ones now and then. It touches
//! no process, and knows those of this node alone.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tare_format::graph::Header;

use crate::live::clock;
use crate::results::file_name;
use crate::rundir::{End, node_local};

/// How often new processes are looked for; after the first ten seconds there are hardly any.
const OFTEN: Duration = Duration::from_millis(50);
const SELDOM: Duration = Duration::from_secs(2);

/// How long what a failed job has left is waited for.
const MOMENT: Duration = Duration::from_secs(3);

/// A thread that watches the processes of a run.
pub(crate) struct Watch {
    /// Closed, it ends the thread.
    stop: UnixStream,
    thread: JoinHandle<Vec<End>>,
}

impl Watch {
    /// Begins to watch; `None` where the system gives no room for that.
    pub(crate) fn begin(id: &str) -> Option<Self> {
        let (stop, stopped) = UnixStream::pair().ok()?;
        let id = id.to_string();
        let thread = std::thread::Builder::new().name("ends".into()).spawn(move || watch(&id, &stopped)).ok()?;
        Some(Self { stop, thread })
    }

    /// The processes that have ended meanwhile, in their order. Of a job that failed those that are left are waited for a
    /// moment: what a launcher takes down may end after the launcher.
    pub(crate) fn finish(self, has_failed: bool) -> Vec<End> {
        if has_failed {
            // A thread that is gone has nothing to wait for.
            let _ = (&self.stop).write_all(&[1]);
        }
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(id: &str, stopped: &UnixStream) -> Vec<End> {
    let started = Instant::now();
    let (mut known, mut running, mut ends) = (BTreeSet::new(), Vec::new(), Vec::new());
    loop {
        for path in std::fs::read_dir(node_local(id)).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|ending| ending == "graph")
                && !known.contains(&path)
                && let Some(process) = process_of(&path)
            {
                running.push((file_name(&path), process));
                known.insert(path);
            }
        }
        let interval = if started.elapsed() < Duration::from_secs(10) { OFTEN } else { SELDOM };
        let ended = wait(stopped, &running, interval);
        add_ends(&ended.processes, &mut running, started, &mut ends);
        if ended.is_stopped {
            if (&*stopped).read(&mut [0]).is_ok_and(|read| read == 1) {
                wait_for_others(running, started, &mut ends);
            }
            return ends;
        }
    }
}

/// Adds those that end within a moment.
fn wait_for_others(mut running: Vec<(String, OwnedFd)>, started: Instant, ends: &mut Vec<End>) {
    let deadline = Instant::now() + MOMENT;
    while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|_| !running.is_empty()) {
        let ended = ready(running.iter().map(|(_, process)| process.as_raw_fd()), left);
        add_ends(&ended, &mut running, started, ends);
    }
}

fn add_ends(ended: &[usize], running: &mut Vec<(String, OwnedFd)>, started: Instant, ends: &mut Vec<End>) {
    let after_s = started.elapsed().as_secs_f64();
    let (ticks, ns) = clock();
    // From behind, so that the places in front stay what they are.
    ends.extend(ended.iter().rev().map(|&place| End { graph: running.swap_remove(place).0, after_s, ticks, ns }));
}

/// Whether a graph is that of a rank that did not come to the end of MPI: it was killed. Of others nothing tells that from a process that ended
/// by `_exit`, or that has become another program.
pub(crate) fn is_of_open_rank(graph: &Path) -> bool {
    header_of(graph).is_some_and(|header| header.rank_plus_one > 0 && header.span_start > 0 && header.span_end == 0)
}

/// What the file of a graph begins with; `None` while that is not written.
pub(crate) fn header_of(graph: &Path) -> Option<Header> {
    let mut head = [0; Header::SIZE];
    File::open(graph).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    Header::from_bytes(&head)
}

/// The process that writes a graph, to be waited for; `None` while its header is not written, and where it has ended.
fn process_of(graph: &Path) -> Option<OwnedFd> {
    let pid = libc::pid_t::try_from(header_of(graph)?.pid).ok().filter(|&pid| pid > 0)?;
    // SAFETY: the call takes two numbers and touches no memory.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = i32::try_from(opened).ok().filter(|&descriptor| descriptor >= 0)?;
    // SAFETY: the descriptor was just opened, and is nobody else's.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// What a wait was ended by.
struct Ended {
    /// Places in the list of processes, ascending.
    processes: Vec<usize>,
    is_stopped: bool,
}

fn wait(stopped: &UnixStream, running: &[(String, OwnedFd)], limit: Duration) -> Ended {
    let descriptors = running.iter().map(|(_, process)| process.as_raw_fd());
    let mut places = ready(descriptors.chain([stopped.as_raw_fd()]), limit);
    let is_stopped = places.pop_if(|place| *place == running.len()).is_some();
    Ended { processes: places, is_stopped }
}

/// The places, ascending, of the descriptors that have something to say within a time.
fn ready(descriptors: impl Iterator<Item = RawFd>, limit: Duration) -> Vec<usize> {
    let mut polled: Vec<libc::pollfd> = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let count = polled.len() as libc::nfds_t;
    // SAFETY: the list is live, and as long as is said.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), count, limit.as_millis() as libc::c_int) };
    let is_ready = |polled: &libc::pollfd| ready > 0 && polled.revents != 0;
    (0..polled.len()).filter(|&place| is_ready(&polled[place])).collect()
}
