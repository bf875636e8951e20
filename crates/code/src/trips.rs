//! How often a loop goes round, where that is a constant of the code.
//!
//! A loop is counted if one of the tests that leave it, made in every iteration, compares a place that steps by a
//! constant with a bound, and start and bound are constants or stand at a constant distance from each other (as the
//! pointers that compilers make of an index do). Places are registers and slots of the stack frame, so that code
//! without optimisation is counted too.
//!
//! What always holds: a count is given only where every definition on the way was understood; memory that is written
//! through pointers is taken not to change the frame's slots but those whose own address the function makes, so a count is for
//! estimates and never for a rewrite.

mod definitions;
mod induction;
mod test;

use crate::Loops;
use crate::cfg::Cfg;
use crate::close_up::CloseUp;
use crate::program::Body;
use definitions::Definitions;
use induction::Inductions;

/// How often a loop's header is executed each time the loop is entered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Trips {
    /// At most so often, and not at all less than once.
    pub most: u64,
    /// Exactly so often: there is no other way out.
    pub exact: bool,
}

impl CloseUp {
    /// The constant trip counts of the function's loops, one for each of `loops`, which are those of `cfg`; `None` where
    /// nothing constant bounds one.
    #[must_use]
    pub fn trips(&self, body: &Body, cfg: &Cfg, loops: &Loops) -> Vec<Option<Trips>> {
        if loops.is_empty() {
            return Vec::new();
        }
        let mut definitions = Definitions::new(&self.code, body, cfg, loops);
        // Inner loops first: they count for more, should the questions about all become too many.
        let mut trips: Vec<_> = loops.iter().rev().map(|one| Inductions { definitions: &mut definitions, one }.trips()).collect();
        trips.reverse();
        trips
    }
}
