//! Where each thread of a run stands.

use tare_profile::{Location, Profile, RegionIndex, State as ProcessState};

/// A thread and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// Index of its location in the profile.
    pub location: usize,
    /// What it does.
    pub state: State,
    /// Open regions, the outermost first; empty where they are not known.
    pub path: Vec<RegionIndex>,
    /// Seconds since its last event: while it runs until now, and where it was cut off until its end. `None` where that was not seen.
    pub since_s: Option<f64>,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It runs.
    Running,
    /// Its process was cut off.
    CutOff,
    /// It has ended.
    Ended,
    /// It runs where it cannot be seen from here.
    Unseen,
}

impl State {
    /// The name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::CutOff => "cut off",
            Self::Ended => "ended",
            Self::Unseen => "unseen",
        }
    }
}

/// Where the threads of these ranks stand; of all where `None`.
#[must_use]
pub fn places(profile: &Profile, ranks: Option<&[(u32, u32)]>) -> Vec<Place> {
    let counts = |location: &Location| match (ranks, profile.process_of(location).rank) {
        (None, _) => true,
        (Some(ranges), Some(rank)) => ranges.iter().any(|&(from, to)| (from..=to).contains(&rank)),
        (Some(_), None) => false,
    };
    let asked = profile.locations.iter().enumerate().filter(|(_, location)| counts(location));
    asked.map(|(index, location)| place(profile, index, location)).collect()
}

fn place(profile: &Profile, index: usize, location: &Location) -> Place {
    let process = profile.process_of(location);
    let state = match (location.standing, process.state) {
        (Some(_), ProcessState::CutOff) => State::CutOff,
        // Other threads may have ended before; the main one does with the process.
        (None, ProcessState::CutOff) if location.thread == 0 => State::CutOff,
        (Some(_), ProcessState::Running) => State::Running,
        (None, ProcessState::Running) => State::Unseen,
        _ => State::Ended,
    };
    let open = location.standing.and_then(|standing| standing.node);
    let mut path: Vec<RegionIndex> =
        std::iter::successors(open, |&node| location.nodes[node].parent).map(|node| location.nodes[node].region).collect();
    path.reverse();
    // Nothing is the last event itself, which was the last sign of life.
    let since = location.standing.map(|standing| standing.since).filter(|&since| state != State::CutOff || since > 0);
    Place { location: index, state, path, since_s: since.map(|since| process.clock.seconds(since as f64)) }
}
