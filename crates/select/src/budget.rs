//! What measuring would cost, and what to leave out so that it stays cheap.
//!
//! `frequency` (how often each block runs in one visit), `visits` (how often each function is visited in a run, and
//! the work below a visit), `estimate` (both for a program), `limit` (the choice within a budget).

mod cost;
mod estimate;
mod frequency;
mod imports;
mod limit;
mod visits;

pub use cost::{Budget, NoBudget, ProbeCost};
pub use estimate::{Certainty, Estimate, Estimates, Observed};
pub use limit::{Expectation, Keeper, Limit, limited};
