//! Members of teams that wait for the next one, which may never come: such a wait lasts until its thread ends, or the process does.
//!
//! What always holds: a thread that idles says since when, in its kit; who takes that away, the thread itself or who ends the process, counts the wait.

use crate::arena::Arena;
use crate::kit::Kit;
use crate::live::{LiveCold, add, add_signed};
use crate::local::Local;
use crate::process::{delay_model, now};
use crate::queued::{self, Waits};
use crate::state::ThreadState;
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Relaxed, Ordering::Release};
use tare_delay::completion::{Arrivals, Moment, complete};
use tare_format::graph::ThreadWords;
use tare_format::ids::Ticks;

/// What a thread says while it idles.
#[derive(Debug)]
pub(crate) struct Idle {
    /// Since when, in ticks; 0 where it does not.
    since: AtomicU64,
    /// Its delay then.
    delay: AtomicI64,
    /// Load address of its innermost open frame, and the index of the node that its time goes to.
    frame: AtomicU64,
    node: AtomicU32,
}

impl Idle {
    /// The thread goes on, or is another one.
    pub(crate) fn clear(&self) {
        self.since.store(0, Relaxed);
    }

    /// Since when the thread idles, for the one who counts that.
    fn take(&self) -> Option<Moment> {
        let since = self.since.swap(0, AcqRel);
        (since != 0).then(|| Moment { at: Ticks(since), delay: self.delay.load(Relaxed) })
    }
}

/// The calling thread idles from this moment on.
#[inline]
pub(crate) fn begins(local: Local, since: Moment) {
    let Some(Kit { idle, .. }) = Kit::of(local.state) else { return };
    idle.delay.store(since.delay, Relaxed);
    idle.frame.store(frame_of(local.state), Relaxed);
    idle.node.store(local.arena.index_of(local.owner()), Relaxed);
    idle.since.store(since.at.0, Release);
}

/// It goes on.
#[inline]
pub(crate) fn ends(local: Local) {
    if let Some(kit) = Kit::of(local.state) {
        kit.idle.clear();
    }
}

/// The calling thread ends: for the next team it waits no longer.
pub(crate) fn ends_with_thread(local: Local) {
    let Some(Kit { idle, .. }) = Kit::of(local.state) else { return };
    let Some(since) = idle.take().filter(|_| idle.frame.load(Relaxed) == frame_of(local.state)) else { return };
    let end = now();
    queued::call_ends(local, since.at.0, end.0, Waits::AsleepSince(since.at));
    let waited = end.0.saturating_sub(since.at.0);
    add_wait(local.arena.cold(idle.node.load(Relaxed)), waited, waited);
}

/// The process ends by the calling thread, for which another one idled that stands where these words say, if it does.
pub(crate) fn ends_with_process(index: u32, arena: Arena, words: &ThreadWords, end: Moment) {
    let Some(Kit { idle, .. }) = Kit::of_location(index) else { return };
    let Some(since) = idle.take().filter(|_| idle.frame.load(Relaxed) == words.frame) else { return };
    // Tasks that it did meanwhile were no wait.
    let begin = Moment { at: Ticks(since.at.0.max(words.last)), ..since };
    let done = complete(delay_model(), begin, end.at, &Arrivals::one(end));
    let cold = arena.cold(idle.node.load(Relaxed));
    add_wait(cold, done.wait, done.virtual_wait);
    add_signed(&cold.delay_gain, done.gain());
    add_signed(&arena.location().delay_gain, done.gain());
}

fn add_wait(cold: &LiveCold, measured: u64, in_virtual_time: u64) {
    add(&cold.wait_ticks, measured);
    add(&cold.virtual_wait_ticks, in_virtual_time);
}

fn frame_of(state: &ThreadState) -> u64 {
    state.frame.load(Relaxed).addr() as u64
}
