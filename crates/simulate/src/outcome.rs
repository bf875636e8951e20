//! What came of a program, rank by rank.

use crate::lanes::Lane;
use crate::machine::{Execution, Failure, execute};
use crate::program::Program;

/// A program that was executed both ways.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulation {
    /// By rank.
    pub ranks: Vec<RankOutcome>,
    /// Wildcard receives whose order the virtual times contradict.
    pub contradicted: u64,
    /// Events of the measured execution.
    pub events: u64,
}

/// The end of a rank, in picoseconds from the begin of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankOutcome {
    /// Without measurement.
    pub unmeasured: u64,
    /// With it.
    pub measured: u64,
    compensated: [i64; Lane::ALL.len()],
}

impl RankOutcome {
    /// The measured end, compensated in one of the ways.
    #[must_use]
    pub fn compensated(&self, lane: Lane) -> i64 {
        self.compensated[lane as usize]
    }

    /// By which part of the unmeasured time an end is off.
    #[must_use]
    pub fn error(&self, end: i64) -> f64 {
        if self.unmeasured == 0 { 0.0 } else { end as f64 / self.unmeasured as f64 - 1.0 }
    }

    /// Whether the interval of the closed form holds the unmeasured end, give or take a picosecond.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        let truth = self.unmeasured.cast_signed();
        self.compensated(Lane::Most) <= truth + 1 && truth - 1 <= self.compensated(Lane::Least)
    }
}

impl Simulation {
    /// How much longer the measured program took: its last end over that of the unmeasured one, less one.
    #[must_use]
    pub fn dilation(&self) -> f64 {
        let last = |end: fn(&RankOutcome) -> u64| self.ranks.iter().map(end).max().unwrap_or(0);
        let unmeasured = last(|rank| rank.unmeasured);
        if unmeasured == 0 { 0.0 } else { last(|rank| rank.measured) as f64 / unmeasured as f64 - 1.0 }
    }

    /// Errors of a way to compensate over all ranks: the mean of their sizes, and the worst one.
    #[must_use]
    pub fn errors(&self, lane: Lane) -> (f64, f64) {
        let sizes = self.ranks.iter().map(|rank| rank.error(rank.compensated(lane)).abs());
        let (sum, worst) = sizes.fold((0.0, 0.0_f64), |(sum, worst), size| (sum + size, worst.max(size)));
        (sum / self.ranks.len().max(1) as f64, worst)
    }
}

/// Executes a program unmeasured and measured.
///
/// # Errors
/// Where the program cannot be executed: the line, the rank and the reason.
pub fn simulate(program: &Program) -> Result<Simulation, Failure> {
    let unmeasured = execute(program, Execution::Unmeasured)?;
    let measured = execute(program, Execution::Measured)?;
    let ranks = unmeasured
        .ends
        .iter()
        .zip(&measured.ends)
        .map(|(unmeasured, measured)| RankOutcome {
            unmeasured: unmeasured.at,
            measured: measured.at,
            compensated: Lane::ALL.map(|lane| measured.moment(lane).virtual_time()),
        })
        .collect();
    Ok(Simulation { ranks, contradicted: measured.contradicted, events: measured.events })
}
