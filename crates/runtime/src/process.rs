//! The process as a whole: what is asked of it, and what its graph file says about it.

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

/// What is asked of this process.
#[must_use]
pub fn mode() -> Mode {
    Mode::None
}

/// Whether regions are recorded: [`Mode::Measure`], and there is a graph file to write to.
#[must_use]
pub fn is_measuring() -> bool {
    false
}

/// The model by which delays travel through messages, as the environment names it.
#[must_use]
pub fn delay_model() -> DelayModel {
    DelayModel::Virtual
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
/// created, and [`crate::wrapper::thread`] still says `None`.
#[must_use]
pub fn register_pseudo_image(description: &[u8], regions: u32, identity: [u8; 16]) -> Option<IdBase> {
    let _ = (description, regions, identity);
    None
}

/// Where the region ids of an image begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdBase(pub u32);

impl IdBase {
    /// The id of region `number` of the image, counted from 1.
    #[must_use]
    pub const fn region(self, number: u32) -> RegionId {
        RegionId(self.0 + number)
    }
}

/// Notes who this process is in MPI. Does nothing without a graph file.
pub fn set_rank(rank: Rank, world_size: u32, library: MpiLibrary) {
    let _ = (rank, world_size, library);
}

/// Notes the moment when the program proper begins (the return of `MPI_Init`) with the delay of the calling
/// thread at that moment.
pub fn span_start() {}

/// Notes the moment when the program proper ends (the entry of `MPI_Finalize`), as [`span_start`].
pub fn span_end() {}

/// Counts messages whose delay did not arrive with them.
pub fn count_unpaired(messages: u64) {
    let _ = messages;
}

/// Counts messages or collective calls that carry no delay.
pub fn count_uncovered(calls: u64) {
    let _ = calls;
}
