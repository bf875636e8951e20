//! Profiles that are made rather than measured.

#![allow(dead_code, reason = "each test binary uses the part that it needs")]

use tare_compensate::whole::{CallTree, Finding, findings, wait_places};
use tare_compensate::{Mode, compensate};
use tare_profile::{Clock, DelayModel, Exchanged, Location, Node, Peer, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind, State};

fn region(index: usize) -> Region {
    Region {
        kind: if index == 0 { RegionKind::Program } else { RegionKind::Function },
        name: format!("f{index}").into(),
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
        host: "here".into(),
        pid: 1,
        state: State::Finished,
        executable: "app".into(),
        model: DelayModel::Virtual,
        clock: Clock { seconds_per_tick: 1.0, ticks_per_cycle: None },
        lifetime_s: 1.0,
        hot_pair_cost: 90.0,
        least_pair_cost: 0.0,
        ..Process::default()
    };
    let regions = (0..nodes.len()).map(region).collect();
    let location = Location { nodes, ..Location::default() };
    Profile { processes: vec![process], locations: vec![location], regions, unreadable: Vec::new() }
}

/// What a call path has that waited for so long, as measured and in virtual time.
fn exchanged(waited: u64, peers: Vec<Peer>) -> Option<Box<Exchanged>> {
    Some(Box::new(Exchanged { wait_ticks: waited, virtual_wait_ticks: waited, peers, ..Exchanged::default() }))
}

/// Ranks of a program that works and then waits in MPI, without any cost of probes. For each rank: the seconds it works, the
/// seconds it waits, and the rank whose ten messages it waits for (in a collective there is none).
pub(crate) fn ranks_with(ranks: u32, of: impl Fn(u32) -> (f64, f64, Option<u32>)) -> Profile {
    const TICK: f64 = 1e-9;
    let ticks = |seconds: f64| (seconds / TICK) as i64;
    let mut profile = profile_of(Vec::new());
    let process = profile.processes.remove(0);
    profile.locations.clear();
    profile.regions = (0..3).map(region).collect();
    profile.regions[2] = Region { kind: RegionKind::Mpi, name: "MPI_Operation".into(), image: "MPI".into(), ..region(2) };
    for rank in 0..ranks {
        let (work, wait, sender) = of(rank);
        let clock = Clock { seconds_per_tick: TICK, ticks_per_cycle: None };
        profile.processes.push(Process { rank: Some(rank), world_size: Some(ranks), pid: 100 + rank, clock, hot_pair_cost: 0.0, ..process.clone() });
        let waited = ticks(wait) as u64;
        let peer = |sender| Peer { rank: sender, received: 10, bytes: 1000, wait: waited, virtual_wait: waited, ..Peer::default() };
        let nodes = vec![
            Node::default(),
            Node { region: RegionIndex(1), parent: Some(0), on_calls: 1, exclusive: ticks(work), ..Node::default() },
            Node {
                region: RegionIndex(2),
                parent: Some(1),
                on_calls: 10,
                exclusive: ticks(wait),
                exchanged: exchanged(waited, sender.map(peer).into_iter().collect()),
                ..Node::default()
            },
        ];
        profile.locations.push(Location { process: ProcessIndex(rank as usize), nodes, ..Location::default() });
    }
    profile
}

/// Two ranks that take two phases, in both of which they call the same function. In the first, rank 1 waits for a message of
/// rank 0 that works longer; in the second, both wait in a collective: for each rank the seconds it works there, and waits.
pub(crate) fn two_phases(second: [(f64, f64); 2]) -> Profile {
    let mut profile = ranks_with(2, |rank| if rank == 0 { (0.0, 0.0, None) } else { (0.0, 1.2, Some(0)) });
    profile.regions.extend((3..7).map(region));
    profile.regions[6] = Region { kind: RegionKind::Mpi, name: "MPI_Collective".into(), image: "MPI".into(), ..region(6) };
    let [phase_a, phase_b, work] = [3, 4, 5].map(RegionIndex);
    for (location, (works, waits)) in profile.locations.iter_mut().zip(second) {
        let in_first = if location.process.0 == 0 { 1.2 } else { 0.0 };
        let ticks = |seconds: f64| (seconds * 1e9) as i64;
        let node = |region, parent, seconds| Node { region, parent: Some(parent), on_calls: 40, exclusive: ticks(seconds), ..Node::default() };
        let mut nodes = std::mem::take(&mut location.nodes);
        let receive = nodes.pop().expect("the wait");
        nodes.push(node(phase_a, 1, 0.0));
        nodes.push(node(work, 2, in_first));
        nodes.push(Node { parent: Some(2), ..receive });
        nodes.push(node(phase_b, 1, 0.0));
        nodes.push(node(work, 5, works));
        let waited = ticks(waits) as u64;
        nodes.push(Node { exchanged: exchanged(waited, Vec::new()), ..node(RegionIndex(6), 5, waits) });
        location.nodes = nodes;
    }
    profile
}

/// Threads of a process that work and then wait at a barrier, for so many seconds each.
pub(crate) fn threads_with(of: &[(f64, f64)], operation: &str) -> Profile {
    let mut profile = ranks_with(of.len() as u32, |rank| (of[rank as usize].0, of[rank as usize].1, None));
    profile.regions[2] = Region { kind: RegionKind::Threads, name: operation.into(), ..profile.regions[2].clone() };
    profile.processes.truncate(1);
    (profile.processes[0].rank, profile.processes[0].world_size) = (None, None);
    for (thread, location) in profile.locations.iter_mut().enumerate() {
        (location.process, location.thread) = (ProcessIndex(0), thread as u32);
    }
    profile
}

/// All that is found in a run, with delays taken off.
pub(crate) fn all_findings(profile: &Profile) -> Vec<Finding> {
    let compensated = compensate(profile, Mode::Parallel);
    let tree = CallTree::of(profile, &compensated);
    findings(profile, &compensated, &tree, &wait_places(profile, &compensated, &tree))
}
