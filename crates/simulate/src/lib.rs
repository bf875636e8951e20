//! Programs of messages, executed unmeasured, measured, and compensated under each model.
//!
//! A description ([`Program::parse`], `docs/simulate.md`) says what each process computes, calls, sends and receives, and
//! what communication and probes cost. [`simulate`] executes it twice, without and with the overhead of measuring, and
//! holds what the models of [`tare_delay`] make of the measured execution against the unmeasured one. [`trees`] does the
//! same for the costs of probes: call trees whose batches are off or on at random.
//!
//! What always holds: the same description gives the same result on every machine; what a rank does depends on
//! its own steps and on the messages that it gets, never on the models; all times are whole picoseconds, so that the exact form
//! of the virtual-time model has nothing to round.
//!
//! What is absent: files, clocks, MPI.

mod collective;
mod expression;
mod groups;
mod lanes;
mod lexer;
mod machine;
mod mailbox;
mod outcome;
mod parser;
mod program;
mod random;
mod rank;
mod settings;
pub mod trees;

pub use expression::Arithmetic;
pub use lanes::Lane;
pub use machine::{Failure, Trouble};
pub use outcome::{RankOutcome, Simulation, simulate};
pub use parser::{Problem, Wrong};
pub use program::Program;
pub use random::Random;
pub use settings::{Probe, Settings};
