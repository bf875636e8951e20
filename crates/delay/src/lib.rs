//! Virtual time, delays and probe costs: pure arithmetic.
//!
//! * [`clocks`]: moments that another machine tells, in the own clock.
//! * [`completion`]: what an operation that waits for other locations does to a location's delay, under the
//!   delay model of paper 1 and under the virtual-time model.
//! * [`locks`]: what a lock waits for that another location holds.
//! * [`order`]: whether receives from anywhere met messages as they would have unmeasured.
//! * [`polling`]: the same where a program asks again and again instead of waiting.
//! * [`provisional`]: delays that are corrected when the receiver of a send that waits has answered.
//! * [`visits`]: what an operation waits for that ends only when another location looks for what has come.
//! * [`cost`]: what a probe costs, from batches of calls.
//!
//! The *delay* x of a location says how much earlier its next event would have happened unmeasured; its
//! *virtual time* is real time minus delay. Paper 1 is A. Malony, S. Shende, A. Morris, F. Wolf:
//! *Compensation of Measurement Overhead in Parallel Performance Profiling*, International Journal of High
//! Performance Computing Applications 21(2), 2007.
//!
//! What is absent: reading clocks, MPI, files, allocation. All times are ticks of one common clock, but in [`clocks`].

#![no_std]

#[cfg(test)]
extern crate std;

pub mod clocks;
pub mod completion;
pub mod cost;
pub mod locks;
pub mod order;
pub mod polling;
pub mod provisional;
pub mod visits;
