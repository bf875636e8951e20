//! The in-memory model of a run: processes, locations, regions, and a region graph for each location.
//!
//! [`Profile::read`] makes it from the bytes of graph files and descriptions; the bytes may come from a
//! finished run, from one that was killed, or from one that is still going on ([`Live`]).
//!
//! What always holds: a node's parent stands before it, so a loop from the last node to the first sums
//! subtrees; every index of the model is valid within the model; what was damaged or lost is counted.
//!
//! What is absent: no clock is read, no value is corrected, no file is opened, nothing is serialised.

mod clock;
mod exchanged;
mod graph;
mod live;
mod model;
mod name;
mod region;

pub use clock::{Clock, Span};
pub use exchanged::{Exchanged, Messages, Peer};
pub use graph::{ReadError, named};
pub use live::{Live, LiveThread, Standing};
pub use model::{
    Batches, Company, Extent, File, GraphFile, HotCounting, Location, LocationLosses, Metric, Node, Process, ProcessIndex, Processors, Profile,
    ProfileError, RegionIndex, State, Switch, Unreadable,
};
pub use name::Name;
pub use region::{Region, described};
/// Parts of the format that appear in the model as they are.
pub use tare_format::description::RegionKind;
pub use tare_format::graph::{
    BatchSums, COST_UNIT, DelayModel, MOST_CLOCK_DOUBT_NS, MpiLibrary, SIZE_CLASSES, ThreadWords, Why, most_of_class, size_class,
};
