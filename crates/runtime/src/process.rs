//! The process as a whole: what is asked of it, and what its graph file says about it.

use crate::live::LiveHeader;
use crate::settings::settings;
use crate::{clock, graph_file, images, sys, wrapper};
use core::sync::atomic::Ordering::{Relaxed, Release};
use tare_format::graph::{DelayModel, MpiLibrary};
use tare_format::ids::{Rank, RegionId, Ticks};

/// What the environment asks of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Nothing: no run directory is named.
    None,
    /// Measure.
    Measure,
    /// Record the span of the program and the core clock, nothing else.
    Clock,
}

/// A process that is to believe that it runs on another machine, whose clock is ahead and runs faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImitatedClock {
    /// Its rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// By how much its clock is ahead.
    pub ahead_ns: i64,
    /// By how many millionths it is faster.
    pub ppm: i32,
}

/// What is asked of this process.
#[must_use]
pub fn mode() -> Mode {
    settings().mode
}

/// Whether regions are recorded: [`Mode::Measure`], and there is a graph file to write to.
#[must_use]
pub fn is_measuring() -> bool {
    settings().mode == Mode::Measure && graph_file::header().is_some()
}

/// The model by which delays travel through messages, as the environment names it.
#[must_use]
pub fn delay_model() -> DelayModel {
    settings().model
}

/// The time-stamp counter now.
///
/// # Probe-safe
#[inline]
#[must_use]
pub fn now() -> Ticks {
    // SAFETY: every x86-64 processor has a time-stamp counter.
    Ticks(unsafe { core::arch::x86_64::_rdtsc() })
}

/// Gives the regions of a description that belongs to no image (such as the functions of MPI) ids in this
/// process, copies it to the run directory, and creates the graph file where there is none yet.
///
/// `description` is what `Description::to_bytes` made, `regions` the number of its regions and `identity`
/// its identity. Region number `i` (from 1) has the id that [`IdBase::region`] says. `None` while nothing
/// is to be recorded ([`Mode::None`]) or where no file can be created. In [`Mode::Clock`] the file is
/// created, and [`wrapper::thread`] still says `None`.
#[must_use]
pub fn register_pseudo_image(description: &[u8], regions: u32, identity: [u8; 16]) -> Option<IdBase> {
    images::register(description, regions, &identity, 0)
}

/// Where the region ids of an image begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdBase(pub u32);

impl IdBase {
    /// The id of region `number` of the image, counted from 1.
    #[must_use]
    #[inline]
    pub const fn region(self, number: u32) -> RegionId {
        RegionId(self.0 + number)
    }
}

/// Notes who this process is in MPI. Does nothing without a graph file.
pub fn set_rank(rank: Rank, world_size: u32, library: MpiLibrary) {
    if let Some(header) = graph_file::header() {
        header.mpi.store(library as u32, Relaxed);
        header.world_size.store(world_size, Relaxed);
        header.rank_plus_one.store(rank.0.saturating_add(1), Release);
    }
}

/// Notes the moment when the program proper begins (the return of `MPI_Init`) with the delay of the calling
/// thread at that moment. Without it the program begins when the runtime starts.
pub fn span_start() {
    at_boundary(|header, delay| {
        header.span_start_delay.store(delay, Relaxed);
        header.span_start.store(now().0, Release);
    });
}

/// Notes the moment when the program proper ends (the entry of `MPI_Finalize`), as [`span_start`]. Without it
/// the program ends when the process exits.
pub fn span_end() {
    at_boundary(|header, delay| {
        header.span_end_delay.store(delay, Relaxed);
        header.span_end.store(now().0, Release);
    });
}

fn at_boundary(note: impl FnOnce(&LiveHeader, i64)) {
    if let Some(header) = graph_file::header() {
        clock::sample_core_clock(header);
        clock::anchor(header);
        note(header, wrapper::current_delay());
    }
}

/// Samples the core clock and ties ticks to nanoseconds, where the last time is some 10 ms ago. What
/// interposers call now and then in [`Mode::Clock`], in which nothing else does.
pub fn refresh_clocks() {
    if let Some(header) = graph_file::header() {
        clock::refresh(header, now().0);
    }
}

/// Counts messages whose delay did not arrive with them.
pub fn count_unpaired(messages: u64) {
    if let Some(header) = graph_file::header() {
        header.unpaired_messages.fetch_add(messages, Relaxed);
    }
}

/// Notes by how many nanoseconds the clock of this machine and those of others may differ, after they were put in line.
pub fn note_clock_doubt(ns: u64) {
    if let Some(header) = graph_file::header() {
        header.clock_doubt_ns.fetch_max(ns, Relaxed);
    }
}

/// Nanoseconds since some moment of this machine, whose pace the system keeps right.
#[must_use]
pub fn monotonic_ns() -> u64 {
    sys::clock_ns(libc::CLOCK_MONOTONIC)
}

/// Whose clock is to be taken for that of another machine, and how it differs. For tests.
#[must_use]
pub fn imitated_clock() -> Option<ImitatedClock> {
    settings().imitated_clock
}

/// Counts messages or collective calls that carry no delay.
pub fn count_uncovered(calls: u64) {
    if let Some(header) = graph_file::header() {
        header.uncovered_calls.fetch_add(calls, Relaxed);
    }
}
