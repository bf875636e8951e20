//! Processors that ranks did not have: time in which they could run and others ran in their place, more ranks than processors or
//! another program. In MPI it harms those alone who wait for them: a rank that waits looks again and again whether its message is
//! there, and queues like any other.

use tare_profile::{Location, Profile, RegionKind};

use crate::whole::starts_or_ends_mpi;
use crate::whole::waits::open_region;
use crate::{Compensated, CompensatedLocation};

/// How long a process had no processor, by the thread of it that had none longest: seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shortage {
    /// Which, as an index into [`Profile::processes`].
    pub process: usize,
    /// The number of that thread.
    pub thread: u32,
    /// For how long it could have run outside of MPI and had none.
    pub queued_s: f64,
    /// The same, in MPI or outside of it, as the kernel says it.
    pub in_all_s: f64,
    /// For how long it could have run in MPI and had none.
    pub in_mpi_s: f64,
    /// What of that may have passed in messages themselves: no more than these took besides waiting.
    pub stalled_s: f64,
    /// For how long it waited for others, compensated.
    pub waited_s: f64,
    /// For how long it was outside of MPI, as measured.
    pub outside_s: f64,
    /// What may have passed in MPI rather than outside of it, or the other way round: the kernel is asked some 1000 times a second, at the begin
    /// and the end of operations of MPI, so that a short operation shares its answer with what was before it, a long one only
    /// a thousandth of a second, and one that has not returned none.
    pub unsure_s: f64,
}

/// What passes between two looks at where a thread has no processor, about.
const BETWEEN_LOOKS_S: f64 = 0.001;
/// What passes between two answers of the kernel, at least. Less than that is not told.
pub(super) const BETWEEN_ANSWERS_S: f64 = 0.01;

impl Shortage {
    fn of(profile: &Profile, location: &Location, figures: &CompensatedLocation) -> Option<Self> {
        let queued_s = location.queued_s?;
        let (mut outside_s, mut waited_s, mut working_s, mut unsure_s) = (0.0, 0.0, 0.0, 0.0);
        for (node, figures) in location.nodes.iter().zip(&figures.nodes) {
            let region = profile.region_of(node);
            if region.kind != RegionKind::Mpi {
                // Where another thread than the first is in nothing that is known, it may have nothing to do.
                let is_idle = region.kind == RegionKind::Program && location.thread > 0;
                outside_s += if is_idle { 0.0 } else { figures.measured_exclusive_s };
                continue;
            }
            unsure_s += figures.measured_exclusive_s.max(0.0).min(BETWEEN_LOOKS_S * node.on_calls as f64);
            waited_s += figures.wait_s;
            if !starts_or_ends_mpi(&region.name) {
                working_s += (figures.exclusive.value - figures.wait_s).max(0.0);
            }
        }
        // Of an operation that has not returned, the kernel has not been asked yet.
        let open = open_region(profile, location).filter(|&(node, _)| profile.region_of(&location.nodes[node]).kind == RegionKind::Mpi);
        unsure_s += open.map_or(0.0, |(_, seconds)| seconds);
        let outside_s = outside_s.max(0.0);
        Some(Self {
            process: location.process.0,
            thread: location.thread,
            in_all_s: queued_s,
            queued_s: (queued_s - location.queued_in_calls_s).clamp(0.0, outside_s),
            in_mpi_s: location.queued_in_calls_s,
            stalled_s: location.queued_in_calls_s.min(working_s),
            waited_s,
            outside_s,
            unsure_s,
        })
    }

    /// Of a thread among those of its process.
    pub(super) fn of_thread(profile: &Profile, location: &Location, figures: &CompensatedLocation) -> Option<Self> {
        let queued_s = location.queued_s?;
        let is_work = |kind: RegionKind| !matches!(kind, RegionKind::Mpi | RegionKind::Threads | RegionKind::Program);
        let work = location.nodes.iter().zip(&figures.nodes).filter(|(node, _)| is_work(profile.region_of(node).kind));
        let outside_s = work.map(|(_, figures)| figures.measured_exclusive_s).sum::<f64>().max(0.0);
        Some(Self {
            process: location.process.0,
            thread: location.thread,
            queued_s: (queued_s - location.queued_in_calls_s).clamp(0.0, outside_s),
            in_all_s: queued_s,
            in_mpi_s: 0.0,
            stalled_s: 0.0,
            waited_s: 0.0,
            outside_s,
            unsure_s: 0.0,
        })
    }

    /// Whether it is long enough for its part outside of MPI to be told.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.queued_s >= BETWEEN_ANSWERS_S
    }

    /// Whether all of it is long enough to be told.
    #[must_use]
    pub fn is_told_in_all(&self) -> bool {
        self.in_all_s >= BETWEEN_ANSWERS_S
    }

    /// Whether it is known to a half how much of it passed outside of MPI; else the sum alone is.
    #[must_use]
    pub fn is_split_known(&self) -> bool {
        self.unsure_s <= 0.5 * self.queued_s
    }

    /// Whether its part in MPI is told beside that: it is long enough, and both are known apart.
    #[must_use]
    pub fn is_told_in_mpi(&self) -> bool {
        self.in_mpi_s >= BETWEEN_ANSWERS_S && self.is_split_known()
    }

    /// For how long it had a processor outside of MPI.
    #[must_use]
    pub fn worked_s(&self) -> f64 {
        self.outside_s - self.queued_s
    }

    /// How many times as long its work took as it would have with a processor all the time.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        if self.worked_s() > 0.0 { self.outside_s / self.worked_s() } else { 1.0 }
    }
}

/// How long each process had no processor, as far as that is known; in their order.
#[must_use]
pub fn shortages(profile: &Profile, compensated: &Compensated) -> Vec<Shortage> {
    let mut of_process: Vec<Option<Shortage>> = vec![None; profile.processes.len()];
    for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
        let Some(shortage) = Shortage::of(profile, location, figures) else { continue };
        let known = &mut of_process[shortage.process];
        if known.is_none_or(|known| shortage.queued_s > known.queued_s) {
            *known = Some(shortage);
        }
    }
    of_process.into_iter().flatten().collect()
}
