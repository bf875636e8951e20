//! How much of the time was useful work.
//!
//! Efficiency is POP's (pop-coe.eu): the mean of the ranks' useful time over the run's time is load balance (mean over
//! greatest useful time) times communication efficiency (greatest useful time over the run's time).

use tare_profile::{Profile, RegionKind};

use crate::Compensated;
use crate::whole::starts_or_ends_mpi;
use crate::whole::waits::open_region;

/// Where the time of all locations went: compensated seconds, over their whole life.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Classes {
    /// Outside of MPI.
    pub useful_s: f64,
    /// Waiting for others, in MPI or for threads of the same process.
    pub waiting_s: f64,
    /// In MPI besides waiting: the work of messages and collectives.
    pub messages_s: f64,
    /// In calls of MPI that have not returned, or were cut off: nothing says what part of them is waiting.
    pub open_s: f64,
    /// In `MPI_Init` and `MPI_Finalize`.
    pub start_end_s: f64,
}

impl Classes {
    /// Of the run.
    #[must_use]
    pub fn of(profile: &Profile, compensated: &Compensated) -> Self {
        Self::of_processes(profile, compensated).into_iter().fold(Self::default(), |sum, more| Self {
            useful_s: sum.useful_s + more.useful_s,
            waiting_s: sum.waiting_s + more.waiting_s,
            messages_s: sum.messages_s + more.messages_s,
            open_s: sum.open_s + more.open_s,
            start_end_s: sum.start_end_s + more.start_end_s,
        })
    }

    /// Of each process.
    #[must_use]
    pub fn of_processes(profile: &Profile, compensated: &Compensated) -> Vec<Self> {
        let mut all = vec![Self::default(); profile.processes.len()];
        for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
            let classes = &mut all[location.process.0];
            let open = open_region(profile, location).filter(|_| profile.process_of(location).is_open());
            for (index, (node, figures)) in location.nodes.iter().zip(&figures.nodes).enumerate() {
                let region = profile.region_of(node);
                let exclusive = figures.exclusive.value;
                let waiting = figures.wait_s.clamp(0.0, exclusive.max(0.0));
                let open = open.filter(|(node, _)| *node == index).map_or(0.0, |(_, seconds)| seconds.clamp(0.0, (exclusive - waiting).max(0.0)));
                match region.kind {
                    RegionKind::Mpi if starts_or_ends_mpi(&region.name) => {
                        classes.open_s += open;
                        classes.start_end_s += exclusive - open;
                    }
                    RegionKind::Mpi => {
                        classes.waiting_s += waiting;
                        classes.open_s += open;
                        classes.messages_s += exclusive - waiting - open;
                    }
                    // Members of a team that another thread forks wait where they are.
                    _ => {
                        classes.waiting_s += waiting;
                        classes.useful_s += exclusive - waiting;
                    }
                }
            }
        }
        all
    }

    /// All of it.
    #[must_use]
    pub fn all_s(&self) -> f64 {
        self.useful_s + self.waiting_s + self.messages_s + self.open_s + self.start_end_s
    }
}

/// Parallel efficiency of a run of several ranks, between `MPI_Init` and `MPI_Finalize`; where a profile does not say when these
/// were, without the time in them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Efficiency {
    /// Mean over greatest useful time of a rank.
    pub load_balance: f64,
    /// Greatest useful time of a rank over the time of the run.
    pub communication: f64,
}

impl Efficiency {
    /// `None` outside of MPI, with one rank, where no rank has done anything, and where it is not known which regions are MPI's.
    #[must_use]
    pub fn of(profile: &Profile, compensated: &Compensated) -> Option<Self> {
        let (mut sum, mut greatest, mut time, mut ranks) = (0.0_f64, 0.0_f64, 0.0_f64, 0_u32);
        for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
            if location.thread != 0 || profile.process_of(location).rank.is_none() {
                continue;
            }
            let seconds_in_mpi = |starts_or_ends: bool| {
                let in_mpi = location.nodes.iter().zip(&figures.nodes).filter(move |(node, _)| {
                    let region = profile.region_of(node);
                    region.kind == RegionKind::Mpi && starts_or_ends_mpi(&region.name) == starts_or_ends
                });
                in_mpi.map(|(_, figures)| figures.exclusive.value.max(0.0)).sum::<f64>()
            };
            let around = if profile.process_of(location).span.is_none() { seconds_in_mpi(true) } else { 0.0 };
            let all = (figures.total.value - around).max(0.0);
            let useful = (all - seconds_in_mpi(false)).max(0.0);
            sum += useful;
            greatest = greatest.max(useful);
            time = time.max(all);
            ranks += 1;
        }
        let known = profile.is_described() && ranks > 1 && greatest > 0.0 && time > 0.0;
        known.then(|| Self { load_balance: sum / f64::from(ranks) / greatest, communication: (greatest / time).min(1.0) })
    }

    /// The product of the two.
    #[must_use]
    pub fn parallel(&self) -> f64 {
        self.load_balance * self.communication
    }
}
