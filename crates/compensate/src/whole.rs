//! The run as a whole: what its locations have in common, summed from their compensated figures.
//!
//! The rooms: [`CallTree`] joins the region graphs of all locations by call path; [`RegionTotal`] sums each region and keeps
//! what each process spent in it; [`Classes`] and [`Efficiency`] say how much of the time was useful work; [`WaitPlace`] says who
//! waited for whom and where, [`Shortage`] who had no processor meanwhile, [`crowded`] where threads share processors; [`Finding`] what of that could be won, and [`Cause`] what
//! makes ranks and threads late.
//!
//! What always holds: in a [`CallTree`] a parent stands before its children, and a child never exceeds its parent; sums are
//! those of unrounded values.

mod asleep;
mod cause;
mod classes;
mod finding;
mod last;
mod peers;
mod queue;
mod regions;
mod shortage;
mod teams;
mod tree;
mod waits;

pub use crate::crowd::crowded;
pub use cause::Cause;
pub use classes::{Classes, Efficiency};
pub use finding::{Certainty, Finding, FindingKind, InFiles, LEAST_PART, findings, last_to_arrive};
pub use regions::{Among, OnProcess, RegionTotal, Spread as RegionSpread, region_totals};
pub use shortage::{Shortage, shortages};
pub use teams::{ThreadPlace, thread_places};
pub use tree::{CallPath, CallTree};
pub use waits::{Exchange, WaitPlace, exchanges, exchanges_by_region, wait_places};

use crate::figure::Figure;

impl Figure {
    /// The sum of two figures whose intervals move together. A mark stays where what it marks is the greater part; one that
    /// doubts the interval, too, already from a tenth on; one of an interval that is too wide where that of the sum is.
    #[must_use]
    pub fn added(&self, more: &Self) -> Self {
        let (less, greater) = if more.value.abs() > self.value.abs() { (self, more) } else { (more, self) };
        let of_less = less.mark.filter(|mark| mark.doubts_interval() && less.value.abs() >= 0.1 * greater.value.abs());
        let sum = Self { value: self.value + more.value, low: self.low + more.low, high: self.high + more.high, mark: None };
        let of_width = less.mark.filter(|mark| mark.is_of_width() && sum.half_width() > sum.value);
        Self { mark: greater.mark.or(of_less).or(of_width), ..sum }
    }

    /// The figure divided by a number that is known.
    #[must_use]
    pub fn divided(&self, by: f64) -> Self {
        self.scaled(1.0 / by)
    }
}

/// Whether an MPI operation only starts or ends the library: its time is not spent on the program's messages.
#[must_use]
pub fn starts_or_ends_mpi(name: &str) -> bool {
    matches!(name, "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize" | "MPI_Session_init" | "MPI_Session_finalize")
}
