//! What runs inside the measured program: probes, region graphs, threads, batches, the graph file.
//!
//! * [`wrapper`]: what an interposer builds on: regions of wrapped functions, delays, waits, partners.
//! * [`process`]: what is asked of this process, its graph file and header.
//!
//! What always holds: nothing here allocates, locks, prints or unwinds into the program; memory comes from
//! `mmap` alone; every loss is counted in the graph file.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod process;
pub mod wrapper;
