//! The types of the model. Times are in ticks of the process they belong to; [`Clock`] turns them into seconds.

mod location;
mod process;

pub use location::{Batches, Company, Location, LocationLosses, Metric, Node, Processors};
pub use process::{File, HotCounting, Process, State, Switch};
use tare_format::description::RegionKind;

use crate::clock::Clock;
use crate::graph::{self, ReadError};
use crate::live::Live;
use crate::region::{Region, RegionTable};

/// Index into [`Profile::processes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProcessIndex(pub usize);

/// Index into [`Profile::regions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RegionIndex(pub usize);

/// What a run left, or has left so far.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// By rank, then host, then process id; those outside of MPI last.
    pub processes: Vec<Process>,
    /// By process, then thread.
    pub locations: Vec<Location>,
    /// Over all images and processes: one entry for each image, address and name.
    pub regions: Vec<Region>,
    /// Files that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// A file that could not be read, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Its name.
    pub name: String,
    /// The reason.
    pub error: ReadError,
}

/// Why there is no profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// There are files, and none of them can be read.
    #[error("{name}: {error}")]
    NothingReadable {
        /// The first of them.
        name: String,
        /// Its reason.
        error: ReadError,
    },
}

/// What is read of region graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// All call paths.
    #[default]
    All,
    /// The regions that are open alone, where that is all that is asked; roots lack the time that no event bounds.
    Open,
    /// Of each location the sums of its regions, where no call path is asked about: no costs of probes, and no inclusive times.
    Regions,
}

/// A graph file.
#[derive(Clone, Copy, Debug)]
pub struct GraphFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it holds, or why it could not be opened.
    pub bytes: Result<&'a [u8], &'a str>,
    /// What is known beside it of its process, if that runs, or its end was seen.
    pub live: Option<&'a Live>,
}

impl Profile {
    /// Makes the model from graph files (name and bytes) and descriptions (bytes; they name themselves).
    ///
    /// # Errors
    /// Where there are graph files and none of them can be read. A file among others that cannot be read
    /// is listed in [`Profile::unreadable`].
    pub fn read(graphs: &[(&str, &[u8])], descriptions: &[&[u8]]) -> Result<Self, ProfileError> {
        let files: Vec<GraphFile<'_>> = graphs.iter().map(|&(name, bytes)| GraphFile { name, bytes: Ok(bytes), live: None }).collect();
        Self::read_live(&files, descriptions, Extent::All)
    }

    /// The same, where processes may still run.
    ///
    /// # Errors
    /// As those of [`Profile::read`].
    pub fn read_live(graphs: &[GraphFile<'_>], descriptions: &[&[u8]], extent: Extent) -> Result<Self, ProfileError> {
        let mut profile = Self::default();
        let mut regions = RegionTable::default();
        let damaged: Vec<_> = descriptions.iter().filter_map(|bytes| regions.add_description(bytes).err()).collect();
        let mut parts = Vec::new();
        for file in graphs {
            match graph::read(file, &mut regions, extent) {
                Ok(part) => parts.push(part),
                Err(error) => profile.unreadable.push(Unreadable { name: file.name.to_string(), error }),
            }
        }
        let name = |identity: &[u8; 16]| tare_image::hexadecimal(identity) + ".regions";
        let undescribed = regions.undescribed().iter().map(|identity| Unreadable { name: name(identity), error: ReadError::Undescribed });
        profile.unreadable.extend(undescribed);
        // Damaged ones that no process needs.
        let others = damaged.into_iter().skip(regions.undescribed().len());
        profile.unreadable.extend(others.map(|error| Unreadable { name: "description".to_string(), error: ReadError::Description(error) }));
        if parts.is_empty() && !graphs.is_empty() {
            let first = profile.unreadable.iter().find(|file| graphs.iter().any(|graph| graph.name == file.name));
            if let Some(first) = first.cloned() {
                return Err(ProfileError::NothingReadable { name: first.name, error: first.error });
            }
        }
        parts.sort_by(|(a, _), (b, _)| a.order().cmp(&b.order()));
        for (process, locations) in parts {
            let index = ProcessIndex(profile.processes.len());
            profile.processes.push(process);
            profile.locations.extend(locations.into_iter().map(|location| Location { process: index, ..location }));
        }
        profile.regions = regions.finish();
        profile.borrow_clocks();
        profile.tell_who_is_in_mpi();
        Ok(profile)
    }

    /// Whether threads took the places of others in a process of which nobody knows how many there were at once: no more than there are locations.
    #[must_use]
    pub fn has_threads_in_turn(&self) -> bool {
        self.locations.iter().any(|location| location.threads() > 1 && self.process_of(location).most_threads.is_none())
    }

    fn tell_who_is_in_mpi(&mut self) {
        for location in self.locations.iter().filter(|location| location.thread == 0) {
            let open = location.standing.and_then(|standing| standing.node);
            let mut path = std::iter::successors(open, |&node| location.nodes[node].parent);
            self.processes[location.process.0].is_in_mpi = path.any(|node| self.region_of(&location.nodes[node]).kind == RegionKind::Mpi);
        }
    }

    /// Whether it is known what all regions are: no description is missing.
    #[must_use]
    pub fn is_described(&self) -> bool {
        !self.unreadable.iter().any(|file| file.error == ReadError::Undescribed)
    }

    /// Ranks that have left their graphs.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.processes.iter().filter(|process| process.rank.is_some()).count()
    }

    /// Whether any process is a rank of MPI.
    #[must_use]
    pub fn has_ranks(&self) -> bool {
        self.processes.iter().any(|process| process.rank.is_some())
    }

    /// The process of a location.
    #[must_use]
    pub fn process_of(&self, location: &Location) -> &Process {
        &self.processes[location.process.0]
    }

    /// The region of a node.
    #[must_use]
    pub fn region_of(&self, node: &Node) -> &Region {
        &self.regions[node.region.0]
    }

    /// The same with some of its processes alone, as if there had been no others.
    pub fn only(&self, belongs: impl Fn(ProcessIndex) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.processes.len()).filter(|&index| belongs(ProcessIndex(index))).collect();
        let size = u32::try_from(kept.len()).ok();
        let process = |&index: &usize| {
            let process = self.processes[index].clone();
            Process { world_size: process.world_size.and(size), ..process }
        };
        let place = |old: ProcessIndex| kept.binary_search(&old.0).ok().map(ProcessIndex);
        let location = |location: &Location| place(location.process).map(|process| Location { process, ..location.clone() });
        Self {
            processes: kept.iter().map(process).collect(),
            locations: self.locations.iter().filter_map(location).collect(),
            regions: self.regions.clone(),
            unreadable: self.unreadable.iter().filter(|file| file.error == ReadError::Undescribed).cloned().collect(),
        }
    }

    /// Ranks of the run: the largest `MPI_COMM_WORLD` that was seen; 0 outside of MPI.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.processes.iter().filter_map(|process| process.world_size).max().unwrap_or(0)
    }

    /// A process killed at once never read its clock a second time: it takes the rate of another one,
    /// of its own host where possible.
    fn borrow_clocks(&mut self) {
        let known: Vec<(String, Clock)> =
            self.processes.iter().filter(|process| process.clock.is_known()).map(|process| (process.host.clone(), process.clock)).collect();
        for process in self.processes.iter_mut().filter(|process| !process.clock.is_known()) {
            let same_host = known.iter().find(|(host, _)| *host == process.host);
            if let Some((_, clock)) = same_host.or(known.first()) {
                process.clock.seconds_per_tick = clock.seconds_per_tick;
            }
        }
    }
}
