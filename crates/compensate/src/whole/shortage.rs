//! Processors that ranks did not have: time in which they could run and others ran in their place, more ranks than processors or
//! another program. In MPI it harms those alone who wait for them: a rank that waits looks again and again whether its message is
//! there, and queues like any other.

use tare_profile::{Profile, RegionKind};

use crate::Compensated;

/// How long a process had no processor, by the thread of it that had none longest: seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shortage {
    /// Which, as an index into [`Profile::processes`].
    pub process: usize,
    /// For how long it could have run outside of MPI and had none.
    pub queued_s: f64,
    /// For how long it could have run in MPI and had none.
    pub in_mpi_s: f64,
    /// For how long it was outside of MPI, as measured.
    pub outside_s: f64,
}

/// The kernel is asked some 100 times a second; what passed between two times is divided by how long the thread was in MPI and
/// outside of it: below this many seconds that is a guess.
const LEAST_TOLD_S: f64 = 0.01;

impl Shortage {
    /// Whether it is long enough for its part outside of MPI to be told.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.queued_s >= LEAST_TOLD_S
    }

    /// For how long it had a processor outside of MPI.
    #[must_use]
    pub fn worked_s(&self) -> f64 {
        self.outside_s - self.queued_s
    }
}

/// How long each process had no processor, as far as that is known; in their order.
#[must_use]
pub fn shortages(profile: &Profile, compensated: &Compensated) -> Vec<Shortage> {
    let mut of_process: Vec<Option<Shortage>> = vec![None; profile.processes.len()];
    for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
        let Some(queued_s) = location.queued_s else { continue };
        let outside = location.nodes.iter().zip(&figures.nodes).filter(|(node, _)| profile.region_of(node).kind != RegionKind::Mpi);
        let outside_s = outside.map(|(_, figures)| figures.measured_exclusive_s).sum::<f64>().max(0.0);
        let queued_s = (queued_s - location.queued_in_mpi_s).clamp(0.0, outside_s);
        let known = &mut of_process[location.process.0];
        if known.is_none_or(|known| queued_s > known.queued_s) {
            *known = Some(Shortage { process: location.process.0, queued_s, in_mpi_s: location.queued_in_mpi_s, outside_s });
        }
    }
    of_process.into_iter().flatten().collect()
}
