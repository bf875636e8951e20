//! A profile as it grows: locations with call paths of exclusive times.

use std::collections::HashMap;

use tare_profile::{Clock, Location, Node, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind, State};

/// What was read.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// The profile.
    pub profile: Profile,
    /// The tool that measured it, with its version where that is known.
    pub tool: String,
    /// How the overhead of measuring was taken off its times, `local` or `parallel`, where we have written it so.
    pub compensated: Option<&'static str>,
    /// The program, where the file says it.
    pub program: String,
    /// Nanoseconds since 1970 at which it was measured; 0 where unknown.
    pub started_ns: u64,
    /// What the reader of its figures has to know.
    pub notes: Vec<String>,
}

/// What a file of ours says of itself, by how its times were compensated.
pub(crate) const COMPENSATION: &str = "Tareweight compensation";

/// How the times of a file of ours are compensated, by what it says of itself.
pub(crate) fn compensated(compensation: &str) -> Option<&'static str> {
    ["local", "parallel"].into_iter().find(|mode| *mode == compensation)
}

/// Ticks of a clock of one nanosecond.
pub(crate) const SECONDS_PER_TICK: f64 = 1e-9;

/// A region, as another tool knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Known {
    pub(crate) kind: RegionKind,
    pub(crate) name: String,
    pub(crate) raw_name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// Collects regions: each once.
#[derive(Default)]
pub(crate) struct Regions {
    regions: Vec<Region>,
    known: HashMap<Known, RegionIndex>,
}

impl Regions {
    pub(crate) fn intern(&mut self, known: Known) -> RegionIndex {
        if let Some(&index) = self.known.get(&known) {
            return index;
        }
        let index = RegionIndex(self.regions.len());
        let image = if known.kind == RegionKind::Mpi { "MPI" } else { "" };
        self.regions.push(Region {
            raw_name: known.raw_name.clone(),
            file: known.file.clone(),
            line: known.line,
            ..Region::named(known.kind, &known.name, image)
        });
        self.known.insert(known, index);
        index
    }

    /// The region of a root.
    pub(crate) fn program(&mut self) -> RegionIndex {
        let name = "program".to_string();
        self.intern(Known { kind: RegionKind::Program, name: name.clone(), raw_name: name, file: String::new(), line: 0 })
    }

    pub(crate) fn has_mpi(&self) -> bool {
        self.regions.iter().any(|region| region.kind == RegionKind::Mpi)
    }

    pub(crate) fn finish(self) -> Vec<Region> {
        self.regions
    }
}

/// A process of another tool, which has ended.
pub(crate) fn process(file: String, host: String, pid: u32, executable: String) -> Process {
    Process {
        file,
        host,
        pid,
        state: State::Finished,
        executable,
        exact: true,
        clock: Clock { seconds_per_tick: SECONDS_PER_TICK, ticks_per_cycle: None },
        ..Process::default()
    }
}

/// A call path with its calls, exclusive and waiting nanoseconds.
pub(crate) fn node(region: RegionIndex, parent: Option<usize>, calls: u64, exclusive_ns: i64) -> Node {
    Node { region, parent, on_calls: calls, exclusive: exclusive_ns, ..Node::default() }
}

/// A location; its process lives as long as it does, at least.
pub(crate) fn location(process: usize, thread: u32, nodes: Vec<Node>) -> Location {
    let events = nodes.iter().map(|node| node.on_calls.saturating_mul(2)).fold(0, u64::saturating_add);
    Location { process: ProcessIndex(process), thread, nodes, events, ..Location::default() }
}

/// Numbers processes as ranks, where the program had any.
pub(crate) fn finish(mut processes: Vec<Process>, ranks: &[u32], locations: Vec<Location>, regions: Regions) -> Profile {
    if regions.has_mpi() || processes.len() > 1 {
        let world = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        for (process, &rank) in processes.iter_mut().zip(ranks) {
            (process.rank, process.world_size) = (Some(rank), Some(world));
        }
    }
    for location in &locations {
        let all: f64 = location.nodes.iter().map(|node| node.exclusive as f64).sum::<f64>() * SECONDS_PER_TICK;
        let process = &mut processes[location.process.0];
        process.lifetime_s = process.lifetime_s.max(all);
    }
    Profile { processes, locations, regions: regions.finish(), unreadable: Vec::new() }
}

/// Seconds as whole nanoseconds; what no clock can count is none.
pub(crate) fn nanoseconds(seconds: f64) -> i64 {
    // Conversions of floats saturate; what is not a number becomes 0.
    (seconds * 1e9).round() as i64
}
