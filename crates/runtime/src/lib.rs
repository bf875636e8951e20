//! What runs inside the measured program: probes, region graphs, threads, batches, the graph file.
//!
//! * [`wrapper`]: what an interposer builds on: regions of wrapped functions, delays, waits, partners.
//! * [`process`]: what is asked of this process, its graph file and header.
//! * [`probe`]: the routines behind the probes of instrumented images.
//! * [`user`]: regions, parameters and phases that the program itself names.
//! * [`behind`]: the functions that a program would reach without those that stand before them.
//! * [`executable`]: the functions by which a program asks for its own path.
//!
//! A process goes through `start` (environment, images, prior of the cost), `thread` (each thread at its
//! first probe), then the probe routines alone, with `slow` for what they cannot do, and `finish`.
//!
//! What always holds: nothing here allocates, locks, prints or unwinds into the program; memory comes from
//! `mmap` alone; every loss is counted in the graph file.

#![no_std]

#[cfg(test)]
extern crate std;

mod arena;
mod aside;
mod batch;
pub mod behind;
mod calibration;
mod clock;
mod company;
mod costs;
mod draft;
mod duty;
mod edges;
pub mod executable;
mod finish;
mod fork;
mod graph_file;
mod hook;
mod idle;
mod images;
mod inherit;
mod kit;
mod landing;
mod linking;
mod live;
mod loaded;
mod local;
mod metered;
mod metrics;
mod names;
mod once;
mod origin;
pub mod passing;
mod pause;
mod place;
pub mod probe;
pub mod process;
mod queued;
pub mod replace;
mod request;
mod settings;
mod slow;
mod start;
mod state;
mod switch;
mod sys;
mod text;
mod thread;
mod throttle;
mod unwritten;
pub mod user;
mod valgrind;
mod vectors;
mod watcher;
pub mod wrapper;
