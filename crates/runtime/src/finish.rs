//! The end of a process: the graph file is closed and collected into the run directory.

use crate::clock;
use crate::graph_file::{self, FilePlace};
use crate::idle;
use crate::live::LiveHeader;
use crate::local::Local;
use crate::process;
use crate::queued;
use crate::request;
use crate::state::ThreadState;
use crate::sys::{self, Descriptor, Errno};
use crate::thread;
use crate::wrapper;
use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, Release};
use tare_delay::completion::Moment;
use tare_format::graph::{DRAFT_ENDING, ProcessState, ThreadWords};

/// Samples of the core clock at the end.
const LAST_SAMPLES: usize = 4;
/// Bytes that are copied at a time.
const BUFFER: usize = 1 << 18;

/// Closes the graph file. Does nothing in a child that shares its parent's memory.
pub(crate) fn finish() {
    let Some(header) = graph_file::header() else { return };
    if header.pid.load(Relaxed) != sys::process_id() {
        return;
    }
    close(header);
    request::withdraw();
    if let Some(place) = graph_file::place().filter(|place| place.is_moved) {
        // What cannot be copied stays where it is; `tare` looks there too.
        if collect(place).is_ok()
            && let Some(live) = place.live.as_c_str()
        {
            sys::unlink(live);
            // The last process of the run takes the directory with it.
            if let Some(directory) = place.directory.as_c_str() {
                sys::remove_directory(directory);
            }
        }
    }
}

fn close(header: &LiveHeader) {
    if let Some(local) = Local::of(ThreadState::current()) {
        thread::close_location(local);
        queued::leave(local);
    }
    // The delay at the end of the span is that of the main thread; others leave the span open.
    if header.span_end.load(Relaxed) == 0 && sys::thread_id() == header.pid.load(Relaxed) {
        process::span_end();
    }
    for _ in 0..LAST_SAMPLES {
        clock::sample_core_clock(header);
    }
    clock::anchor(header);
    note_others(header);
    header.state.store(ProcessState::Finished as u32, Release);
}

/// Notes where the other threads stand that end with the process: their open regions last until now, and so do the waits of those that idle. Their states are read
/// through the kernel, since one that has gone without being seen may have taken its state with it.
fn note_others(header: &LiveHeader) {
    let Ok(memory) = sys::open(c"/proc/self/mem", libc::O_RDONLY, 0) else { return };
    let own = core::ptr::from_ref(ThreadState::current()).addr() as u64;
    let end = Moment { at: process::now(), delay: wrapper::current_delay() };
    for index in 0..graph_file::locations() {
        let Some(arena) = graph_file::arena_of(index) else { continue };
        let location = arena.location();
        let state = location.thread_state.load(Relaxed);
        let runs = location.state.load(Relaxed) == thread::RUNS && sys::is_thread(header.pid.load(Relaxed), location.tid.load(Relaxed));
        if runs {
            queued::end(location);
        }
        let mut words = [0; ThreadWords::SIZE];
        let is_read = runs && state != own && sys::read_at(memory, &mut words, state).is_ok_and(|read| read == words.len());
        if let Some(words) = ThreadWords::from_bytes(&words).filter(|_| is_read) {
            idle::ends_with_process(index, arena, &words, end);
            location.last_event.store(words.last, Relaxed);
            location.last_frame.store(words.frame, Relaxed);
        }
    }
    sys::close(memory);
}

fn collect(place: &FilePlace) -> Result<(), Errno> {
    const TOO_LONG: Errno = Errno(libc::ENAMETOOLONG);
    let draft = place.collected.then(DRAFT_ENDING.as_bytes());
    let draft = draft.as_c_str().ok_or(TOO_LONG)?;
    let collected = place.collected.as_c_str().ok_or(TOO_LONG)?;
    let copied = copy(place.live.as_c_str().ok_or(TOO_LONG)?, draft).and_then(|()| sys::rename(draft, collected));
    if copied.is_err() {
        sys::unlink(draft);
    }
    copied
}

/// Copies a file, its holes as holes.
fn copy(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let source = sys::open(from, libc::O_RDONLY, 0)?;
    let target = sys::open(to, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o644);
    let result = target.and_then(|target| {
        let buffer = sys::map_memory(BUFFER)?;
        let result = copy_data(source, target, buffer);
        // SAFETY: the buffer was used by the copying alone.
        unsafe { sys::unmap(buffer, BUFFER) };
        sys::close(target);
        result
    });
    sys::close(source);
    result
}

fn copy_data(source: Descriptor, target: Descriptor, buffer: NonNull<u8>) -> Result<(), Errno> {
    // SAFETY: the buffer is mapped with this length, and nobody else uses it.
    let buffer = unsafe { core::slice::from_raw_parts_mut(buffer.as_ptr(), BUFFER) };
    let length = sys::seek(source, 0, libc::SEEK_END)?;
    sys::set_length(target, length)?;
    let mut at = 0;
    while let Some((start, end)) = next_data(|at, what| sys::seek(source, at, what), at, length)? {
        at = start;
        while at < end {
            let room = BUFFER.min((end - at) as usize);
            let Some(room) = buffer.get_mut(..room) else { break };
            let read = sys::read_at(source, room, at)?;
            let written = sys::write_at(target, room.get(..read).unwrap_or(&[]), at)?;
            if written == 0 {
                return Err(Errno(libc::ENOSPC));
            }
            at += written as u64;
        }
    }
    Ok(())
}

/// The next range of data at or after `at` in a file of this length; `None` where only a hole is left. On file systems
/// that know no holes, all is data.
fn next_data(seek: impl Fn(u64, i32) -> Result<u64, Errno>, at: u64, length: u64) -> Result<Option<(u64, u64)>, Errno> {
    const UNKNOWN: Errno = Errno(libc::EINVAL);
    if at >= length {
        return Ok(None);
    }
    let start = match seek(at, libc::SEEK_DATA) {
        Err(Errno(libc::ENXIO)) => return Ok(None),
        Err(UNKNOWN) => return Ok(Some((at, length))),
        start => start?,
    };
    match seek(start, libc::SEEK_HOLE) {
        Err(UNKNOWN) => Ok(Some((start, length))),
        end => end.map(|end| Some((start, end))),
    }
}

#[cfg(test)]
mod tests {
    use super::next_data;
    use crate::sys::Errno;

    #[test]
    fn only_a_hole_up_to_the_end_ends_the_copy() {
        let refuses = |error: i32| move |_, _| Err(Errno(error));
        let holes = |at: u64, what: i32| Ok(if what == libc::SEEK_DATA { at + 10 } else { at + 5 });
        assert_eq!(next_data(holes, 20, 100), Ok(Some((30, 35))));
        assert_eq!(next_data(refuses(libc::ENXIO), 20, 100), Ok(None));
        assert_eq!(next_data(refuses(libc::EINVAL), 20, 100), Ok(Some((20, 100))));
        assert_eq!(next_data(refuses(libc::EINVAL), 100, 100), Ok(None));
        assert_eq!(next_data(refuses(libc::EIO), 20, 100), Err(Errno(libc::EIO)));
    }
}
