//! Profiles that are made rather than measured.

use tare_profile::{Clock, DelayModel, Location, MpiLibrary, Node, Process, Profile, Region, RegionKind, State};

fn region(index: usize) -> Region {
    Region {
        kind: if index == 0 { RegionKind::Program } else { RegionKind::Function },
        name: format!("f{index}"),
        raw_name: format!("f{index}"),
        image: "app".into(),
        build_id: String::new(),
        address: index as u64,
        size: 16,
        file: String::new(),
        line: 0,
        leaf: false,
    }
}

/// A process outside of MPI with one location, whose tick is a second.
pub(crate) fn profile_of(nodes: Vec<Node>) -> Profile {
    let process = Process {
        file: "a.graph".into(),
        rank: None,
        world_size: None,
        host: "here".into(),
        pid: 1,
        parent_pid: 0,
        state: State::Finished,
        executable: "app".into(),
        mpi: MpiLibrary::None,
        model: DelayModel::Virtual,
        exact: false,
        clock: Clock { seconds_per_tick: 1.0, ticks_per_cycle: None },
        span: None,
        start_ns: 0,
        lifetime_s: 1.0,
        hot_pair_cost: 90.0,
        lost_threads: 0,
        unpaired_messages: 0,
        uncovered_calls: 0,
        setup_ticks: 0,
        damaged_records: 0,
        budget: None,
        switches: Vec::new(),
        unlisted_switches: 0,
        refused_sites: 0,
    };
    let regions = (0..nodes.len()).map(region).collect();
    let location = Location { nodes, ..Location::default() };
    Profile { processes: vec![process], locations: vec![location], regions, unreadable: Vec::new() }
}
