//! From a raw profile to a compensated one, with intervals (papers 1 and 4).
//!
//! The phases, each a file: [`cost`] says what a pair of probes costs on every call path; `exclusive` takes
//! it off the exclusive times, and gives back to a region what it did while its probes were off; `balance`
//! shifts what is uncertain, within its interval, so that no region has less than nothing; `total` sums
//! inclusive times from exclusive ones and says how long each location really took. [`whole`] looks at all locations together,
//! [`difference`] at several runs.
//!
//! What always holds: `low ≤ value ≤ high` for every figure; a child never exceeds its parent; [`Mode::Off`]
//! returns what was measured; a figure that the overhead exceeds is marked with the reason and stays as the
//! arithmetic has it.
//!
//! What is absent: no clock, no file, no text for people but the reasons of marks.

mod balance;
pub mod cost;
pub mod difference;
mod exclusive;
mod figure;
pub mod metric;
mod total;
pub mod validation;
pub mod whole;

use tare_profile::{Location, Profile};

pub use figure::{Figure, Mark};

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
#[derive(Clone, Debug)]
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
    /// As in the profile.
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
    let costs = cost::of_profile(profile);
    let doubt = total::Doubt::of_run(profile, &costs);
    let locations = profile
        .locations
        .iter()
        .zip(&costs)
        .map(|(location, costs)| match mode {
            Mode::Off => as_measured(profile, location, costs),
            Mode::Local | Mode::Parallel => compensated(profile, location, costs, mode, &doubt),
        })
        .collect();
    Compensated { mode, locations }
}

fn compensated(profile: &Profile, location: &Location, costs: &[cost::ProbeCost], mode: Mode, doubt: &total::Doubt) -> CompensatedLocation {
    let seconds_per_tick = profile.process_of(location).clock.seconds_per_tick;
    let mut terms = exclusive::terms(profile, location, costs, mode, doubt);
    balance::balance(location, &mut terms);
    let nodes = total::nodes(location, &terms, mode, seconds_per_tick);
    total::location(profile, location, costs, mode, doubt, nodes)
}

fn as_measured(profile: &Profile, location: &Location, costs: &[cost::ProbeCost]) -> CompensatedLocation {
    let clock = profile.process_of(location).clock;
    let inclusive = total::measured_inclusive(location);
    let nodes = location
        .nodes
        .iter()
        .zip(inclusive)
        .map(|(node, inclusive)| {
            let (inclusive, exclusive) = (clock.seconds(inclusive), clock.seconds(node.exclusive as f64));
            let wait = clock.seconds(node.wait_ticks as f64);
            CompensatedNode {
                measured_inclusive_s: inclusive,
                measured_exclusive_s: exclusive,
                inclusive: Figure::exact(inclusive),
                exclusive: Figure::exact(exclusive),
                measured_wait_s: wait,
                wait_s: wait,
            }
        })
        .collect();
    total::location_as_measured(profile, location, costs, nodes)
}
