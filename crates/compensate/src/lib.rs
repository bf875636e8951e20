//! From a raw profile to a compensated one, with intervals (papers 1 and 4).
//!
//! The phases, each a file: [`cost`] says what a pair of probes costs on every call path; `exclusive` takes
//! it off the exclusive times, and gives back to a region what it did while its probes were off; `balance`
//! shifts what is uncertain, within its interval, so that no region has less than nothing; `total` sums
//! inclusive times from exclusive ones and says how long each location really took; what ranks that share processors may have waited for
//! each other's overhead widens their intervals (`crowd`). [`whole`] looks at all locations together,
//! [`difference`] at several runs.
//!
//! What always holds: `low ≤ value ≤ high` for every figure; a child never exceeds its parent; [`Mode::Off`]
//! returns what was measured; a figure that the overhead exceeds is marked with the reason and stays as the
//! arithmetic has it.
//!
//! What is absent: no clock, no file, no text for people but the reasons of marks.

mod balance;
mod company;
pub mod cost;
mod crowd;
pub mod difference;
mod exclusive;
mod figure;
pub mod metric;
mod neighbours;
mod pairs;
mod reuse;
mod share;
mod sites;
mod total;
pub mod validation;
pub mod whole;

use crate::crowd::Crowd;
use tare_profile::{Location, Profile};

pub use figure::{Figure, Mark};
pub use pairs::PairCost;
pub use sites::OffSites;

/// How much is taken off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Nothing: as measured.
    Off,
    /// The overhead of each location from itself (paper 4).
    Local,
    /// Also what came with messages from others (paper 1).
    #[default]
    Parallel,
}

impl Mode {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Local => "local",
            Self::Parallel => "parallel",
        }
    }
}

/// A compensated profile. Locations and nodes stand in the order of the [`Profile`] it was made from.
#[derive(Clone, Debug)]
pub struct Compensated {
    /// What was taken off.
    pub mode: Mode,
    /// As in the profile.
    pub locations: Vec<CompensatedLocation>,
}

/// A location: seconds.
#[derive(Clone, Debug, Default)]
pub struct CompensatedLocation {
    /// How long it took as measured: from `MPI_Init` to `MPI_Finalize`, or the whole program, or the thread.
    pub measured_s: f64,
    /// How long it would have taken.
    pub total: Figure,
    /// How much later its end came than it would have unmeasured (negative: earlier).
    pub delay_s: f64,
    /// The work of its own probes and wrappers over its whole life.
    pub overhead_s: f64,
    /// Of that, what its probes took, their slow paths included.
    pub probes: Figure,
    /// Of all of it, what rests on costs measured in place rather than on the prior.
    pub certain_overhead_s: f64,
    /// As in the profile; empty where they were not asked for ([`compensate_wanted`]).
    pub nodes: Vec<CompensatedNode>,
}

/// A call path: seconds.
#[derive(Clone, Debug)]
pub struct CompensatedNode {
    /// Inclusive time as measured (the sum of the exclusive times below).
    pub measured_inclusive_s: f64,
    /// Exclusive time as measured.
    pub measured_exclusive_s: f64,
    /// Inclusive time, compensated.
    pub inclusive: Figure,
    /// Exclusive time, compensated.
    pub exclusive: Figure,
    /// Time waited as measured.
    pub measured_wait_s: f64,
    /// Time waited in virtual time; as measured where delays of others are not taken off.
    pub wait_s: f64,
}

/// Compensates every location of a profile.
#[must_use]
pub fn compensate(profile: &Profile, mode: Mode) -> Compensated {
    RunCosts::of(profile).compensate(profile, mode)
}

/// What of a compensated profile somebody looks at. The rest is left empty, and is most of the work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wanted {
    /// No time that measuring changes.
    Nothing,
    /// What the locations took, without their call paths: `nodes` is empty.
    Whole,
    /// All.
    Paths,
}

/// The same as far as it is looked at.
#[must_use]
pub fn compensate_wanted(profile: &Profile, mode: Mode, wanted: Wanted) -> Compensated {
    let locations = match wanted {
        Wanted::Nothing => profile.locations.iter().map(|_| CompensatedLocation::default()).collect(),
        Wanted::Whole => {
            let run = RunCosts::of(profile);
            (0..profile.locations.len()).map(|index| run.whole(profile, index, mode)).collect()
        }
        Wanted::Paths => return compensate(profile, mode),
    };
    Compensated { mode, locations }
}

/// What probes cost, of all locations in the order of the profile. It is the same for all modes.
#[derive(Clone, Debug)]
pub struct RunCosts {
    paths: Vec<cost::PathCosts>,
    overheads: Vec<total::Overhead>,
    doubt: total::Doubt,
    crowds: Vec<Crowd>,
}

impl RunCosts {
    /// Of this profile.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let paths = cost::of_profile(profile);
        let overheads: Vec<total::Overhead> =
            profile.locations.iter().zip(&paths).map(|(location, costs)| total::Overhead::of(profile, location, costs)).collect();
        let doubt = total::Doubt::of_run(profile, &overheads);
        let crowds = Crowd::of_run(profile, &overheads);
        Self { paths, overheads, doubt, crowds }
    }

    /// What the sites of regions that were switched off took altogether.
    #[must_use]
    pub fn off_sites(&self) -> OffSites {
        let mut sum = OffSites::default();
        self.overheads.iter().flat_map(|overhead| &overhead.sites).for_each(|(_, sites)| sum.add(*sites));
        sum
    }

    /// Compensates every location of the same profile.
    #[must_use]
    pub fn compensate(&self, profile: &Profile, mode: Mode) -> Compensated {
        let locations = (0..profile.locations.len()).map(|index| self.location(profile, index, mode)).collect();
        Compensated { mode, locations }
    }

    /// Those of some of the locations, as they are among all.
    #[must_use]
    pub fn only(&self, belongs: impl Fn(usize) -> bool) -> Self {
        Self {
            paths: kept(&self.paths, &belongs),
            overheads: kept(&self.overheads, &belongs),
            doubt: self.doubt,
            crowds: kept(&self.crowds, &belongs),
        }
    }

    fn location(&self, profile: &Profile, index: usize, mode: Mode) -> CompensatedLocation {
        let location = &profile.locations[index];
        let nodes = match mode {
            Mode::Off => as_measured(profile, location),
            Mode::Local | Mode::Parallel => self.compensated(profile, index, mode),
        };
        self.with_nodes(profile, index, mode, nodes)
    }

    fn compensated(&self, profile: &Profile, index: usize, mode: Mode) -> Vec<CompensatedNode> {
        let (location, overhead) = (&profile.locations[index], &self.overheads[index]);
        let mut terms = exclusive::terms(profile, location, &self.paths[index], overhead, mode, &self.doubt, &self.crowds[index]);
        balance::balance(location, &mut terms);
        total::nodes(location, &terms, mode, profile.process_of(location).clock.seconds_per_tick)
    }

    /// A location without span takes as long as its root.
    fn whole(&self, profile: &Profile, index: usize, mode: Mode) -> CompensatedLocation {
        match total::span(profile, &profile.locations[index]) {
            Some(_) => self.with_nodes(profile, index, mode, Vec::new()),
            None => CompensatedLocation { nodes: Vec::new(), ..self.location(profile, index, mode) },
        }
    }

    fn with_nodes(&self, profile: &Profile, index: usize, mode: Mode, nodes: Vec<CompensatedNode>) -> CompensatedLocation {
        let (location, overhead) = (&profile.locations[index], &self.overheads[index]);
        match mode {
            Mode::Off => total::location_as_measured(profile, location, overhead, nodes),
            Mode::Local | Mode::Parallel => total::location(profile, location, overhead, mode, &self.doubt, &self.crowds[index], nodes),
        }
    }
}

fn kept<T: Clone>(all: &[T], belongs: impl Fn(usize) -> bool) -> Vec<T> {
    all.iter().enumerate().filter(|(index, _)| belongs(*index)).map(|(_, one)| one.clone()).collect()
}

fn as_measured(profile: &Profile, location: &Location) -> Vec<CompensatedNode> {
    let clock = profile.process_of(location).clock;
    let inclusive = total::measured_inclusive(location);
    location
        .nodes
        .iter()
        .zip(inclusive)
        .map(|(node, inclusive)| {
            let (inclusive, exclusive) = (clock.seconds(inclusive), clock.seconds(node.exclusive as f64));
            let wait = clock.seconds(node.exchanged().wait_ticks as f64);
            CompensatedNode {
                measured_inclusive_s: inclusive,
                measured_exclusive_s: exclusive,
                inclusive: Figure::exact(inclusive),
                exclusive: Figure::exact(exclusive),
                measured_wait_s: wait,
                wait_s: wait,
            }
        })
        .collect()
}
