//! The one place where the measuring side and the reading side meet.
//!
//! * [`graph`]: the mapped file in which a process keeps its region graphs, one arena a thread.
//! * [`description`]: the table that ties region ids to names, files, lines and addresses.
//! * [`metrics`]: the part of a graph file that holds what is measured beside time.
//! * [`names`]: the part of a graph file that names regions which no description holds.
//! * [`note`]: how an instrumented image tells the runtime where its description and slots are.
//! * [`probe`]: the agreement between a probe site in an image and the runtime that serves it.
//! * [`shared`]: what files in shared memory are called by which processes of a run find each other.
//! * [`tally`]: the agreement between the runtime and the library that counts allocation and I/O, and what it counts by file.
//! * [`ids`]: the numbers that mean something, each with a type of its own.
//!
//! What is absent: this crate depends on nothing, opens no file, and the writing half never allocates.

#![no_std]

extern crate alloc;

pub mod description;
pub mod graph;
pub mod ids;
pub mod metrics;
pub mod names;
pub mod note;
pub mod probe;
mod record;
pub mod shared;
pub mod tally;
