//! Requests of `tare ctl`: regions to be switched off or on while the program runs.
//!
//! The command writes the regions into a file beside the graph file, then the request's number into the header, and
//! lets nodes take the slow path. The first thread that comes there follows the request and removes the file. Once a request has
//! switched something off there is a thread for it ([`watcher`]): where all is off, no other would come.

use crate::arena::Arena;
use crate::graph_file;
use crate::live::LiveHeader;
use crate::switch::{self, Decision};
use crate::sys;
use crate::watcher;
use core::sync::atomic::{AtomicU64, Ordering};
use tare_format::graph::Why;

/// Number of the last request that a thread has taken up.
static TAKEN_UP: AtomicU64 = AtomicU64::new(0);

/// Whether a request has come that no thread has taken up.
#[inline]
pub(crate) fn waits(header: &LiveHeader) -> bool {
    header.request.load(Ordering::Relaxed) != TAKEN_UP.load(Ordering::Relaxed)
}

/// Follows a request that has come since the last time.
#[inline]
pub(crate) fn follow(by: Arena, header: &LiveHeader) {
    let number = header.request.load(Ordering::Acquire);
    let known = TAKEN_UP.load(Ordering::Relaxed);
    if number == known || TAKEN_UP.compare_exchange(known, number, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    switch_named(by);
    switch::look_again(header);
    if switch::any_is_off() {
        watcher::begin();
    }
    header.followed.store(number, Ordering::Release);
}

/// A forked child has followed what its parent has.
pub(crate) fn start_anew() {
    TAKEN_UP.store(0, Ordering::Relaxed);
    watcher::start_anew();
}

/// Takes away what no thread has followed.
pub(crate) fn withdraw() {
    if let Some(header) = graph_file::header().filter(|header| header.request.load(Ordering::Relaxed) != header.followed.load(Ordering::Relaxed)) {
        if let Some(path) = graph_file::place().and_then(|place| place.request.as_c_str()) {
            sys::unlink(path);
        }
        header.followed.store(header.request.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Switches the regions that the file names. One that cannot be read asks for nothing.
fn switch_named(by: Arena) -> Option<()> {
    let path = graph_file::place()?.request.as_c_str()?;
    let file = sys::open(path, libc::O_RDONLY, 0).ok()?;
    // The stack is the program's, and may be small.
    let mut bytes = [0; 256];
    let mut at = 0;
    while let Ok(length @ 1..) = sys::read_at(file, &mut bytes, at) {
        at += length as u64;
        for pair in bytes.get(..length).unwrap_or(&[]).chunks_exact(8) {
            let word = |at: usize| pair.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes);
            if word(4) == 0 {
                switch::on(by, word(0), Why::Request);
            } else {
                switch::off(by, word(0), Decision::asked(Why::Request));
            }
        }
    }
    sys::close(file);
    sys::unlink(path);
    Some(())
}
