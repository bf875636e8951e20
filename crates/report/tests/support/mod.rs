//! Runs to report on: paper 1's master and worker, and the ways a run can fail.

#![allow(dead_code, reason = "each test binary uses the part that it needs")]

use std::path::PathBuf;

use tare_profile::{
    BatchSums, Batches, COST_UNIT, Clock, DelayModel, Location, LocationLosses, Messages, MpiLibrary, Node, Peer, Process, ProcessIndex, Profile,
    Region, RegionIndex, RegionKind, Span, State,
};
use tare_report::select::Decision;
use tare_report::{Exit, InstrumentedImage, Run};

const TICK: f64 = 0.5e-9;

/// A process on host `n01` that has ended well.
pub(crate) fn process(rank: Option<u32>) -> Process {
    Process {
        file: format!("n01-{}.graph", 4710 + rank.unwrap_or(0)),
        rank,
        world_size: rank.map(|_| 2),
        host: "n01".into(),
        pid: 4710 + rank.unwrap_or(0),
        parent_pid: 4700,
        state: State::Finished,
        executable: "/home/user/pi".into(),
        mpi: if rank.is_some() { MpiLibrary::OpenMpi } else { MpiLibrary::None },
        model: DelayModel::Virtual,
        clock: Clock { seconds_per_tick: TICK, ticks_per_cycle: Some(0.6) },
        lifetime_s: 10.0,
        hot_pair_cost: 40.0,
        least_pair_cost: 0.0,
        ..Process::default()
    }
}

fn region(kind: RegionKind, name: &str, address: u64, line: u32) -> Region {
    let image = if kind == RegionKind::Mpi { "MPI" } else { "/home/user/pi" };
    let file = if address > 0 { "/home/user/pi.c" } else { "" };
    Region {
        kind,
        name: name.into(),
        raw_name: name.into(),
        image: image.into(),
        build_id: "ab12".into(),
        address,
        size: 64,
        file: file.into(),
        line,
        leaf: name == "inside",
    }
}

fn regions() -> Vec<Region> {
    vec![
        region(RegionKind::Program, "program", 0, 0),
        region(RegionKind::Function, "main", 0x1000, 80),
        region(RegionKind::Function, "inside", 0x2000, 12),
        region(RegionKind::Mpi, "MPI_Recv", 0, 0),
        region(RegionKind::Function, "std::map<std::string, std::vector<double>>::emplace_hint(key const&)", 0x3000, 40),
    ]
}

fn node(region: usize, parent: Option<usize>, calls: u64, seconds: f64) -> Node {
    Node { region: RegionIndex(region), parent, on_calls: calls, exclusive: (seconds / TICK) as i64, ..Node::default() }
}

/// Batches that say: a pair of probes costs 30 ticks, give or take two, counting 1.
fn batches() -> Batches {
    let sums = |batches: u64, ticks_per_call: u64| {
        let mut sample = BatchSums::NONE.sample;
        for (index, sample) in sample.iter_mut().enumerate() {
            *sample = ((ticks_per_call * COST_UNIT) as i64 + (index as i64 % 9 - 4) * 104) as u32;
        }
        BatchSums { batches, calls: batches * 1024, ticks: batches * 1024 * ticks_per_call, longest: 1100 * ticks_per_call, sample }
    };
    Batches {
        on: sums(2000, 90),
        off: sums(200, 61),
        off_twice: sums(50, 62),
        diverted: sums(200, 90),
        off_cost: 1.0,
        beside: 0.0,
        first_calls: 0,
        first_ticks: 0,
        company: None,
        together: 0,
    }
}

/// Master (rank 0) waits for the worker (rank 1), whose short function runs 100 million times.
pub(crate) fn master_and_worker() -> Profile {
    let location = |process: usize, nodes: Vec<Node>| Location { process: ProcessIndex(process), nodes, events: 200_000_000, ..Location::default() };
    let span = |delay: f64| Some(Span { start: 1_000, end: 18_000_001_000, closed: true, start_delay: 0, end_delay: (delay / TICK) as i64 });
    let mut receive = node(3, Some(1), 1_000, 8.9);
    receive.tool_ticks = 600_000;
    let exchanged = receive.exchanged_mut();
    exchanged.delay_gain = (1.58 / TICK) as i64;
    exchanged.wait_ticks = (8.8 / TICK) as u64;
    exchanged.virtual_wait_ticks = (7.2 / TICK) as u64;
    exchanged.messages = Messages { count: 1_000, bytes: 8_000_000, unpaired: 0 };
    exchanged.peers = vec![Peer {
        rank: 1,
        received: 1_000,
        bytes: 8_000_000,
        transmission: 1_000_000,
        wait: 17_600_000_000,
        virtual_wait: 14_400_000_000,
        ..Peer::default()
    }];
    let mut inside = node(2, Some(1), 90_000_000, 3.2);
    inside.off_calls = 10_000_000;
    inside.cost = 30.0;
    inside.batches = Some(Box::new(batches()));
    let hint = node(4, Some(1), 40, 0.3);
    let master = vec![node(0, None, 0, 0.01), node(1, Some(0), 1, 0.1), receive];
    let worker = vec![node(0, None, 0, 0.01), node(1, Some(0), 1, 5.5), inside, hint];
    Profile {
        processes: vec![Process { span: span(1.58), ..process(Some(0)) }, Process { span: span(1.58), ..process(Some(1)) }],
        locations: vec![location(0, master), location(1, worker)],
        regions: regions(),
        unreadable: Vec::new(),
    }
}

/// A program without MPI that lost its way: deep recursion, no room, no batches.
pub(crate) fn alone_and_lossy() -> Profile {
    let nodes = vec![node(0, None, 0, 0.000_4), node(1, Some(0), 1, 0.002), node(2, Some(1), 5_000, 0.000_08)];
    let losses = LocationLosses { overflow_calls: 12_345, depth: 7, unmatched_exits: 0, skipped_frames: 3, skipped_ticks: 0 };
    let location = Location { nodes, losses, events: 10_002, ..Location::default() };
    Profile { processes: vec![process(None)], locations: vec![location], regions: regions(), unreadable: Vec::new() }
}

fn refused(name: &str, address: u64, reason: &str) -> Decision {
    Decision { name: name.into(), shown: name.into(), address, reason: reason.into() }
}

/// What the command line knows.
pub(crate) fn run() -> Run {
    Run {
        command: ["mpirun", "-n", "2", "./pi", "100"].map(String::from).to_vec(),
        program: "pi 100".into(),
        started: "2026-11-20T09:12:00+00:00".into(),
        wall_s: 10.0,
        exit: Exit::Status(0),
        stopped_by: None,
        ends: Vec::new(),
        is_unwritten: false,
        directory: "tare-pi-20261120-0912".into(),
        measured_by: None,
        was_compensated: None,
        notes: Vec::new(),
        images: vec![InstrumentedImage {
            path: "/home/user/pi".into(),
            found: 14,
            selected: 9,
            instrumented: 6,
            expected_dilation: None,
            refusals: vec![refused("tangle", 0x5000, "unknown jump"), refused("a", 0x5100, "short entry"), refused("b", 0x5104, "short entry")],
        }],
        ..Run::default()
    }
}

/// Many regions on many ranks: a few that all ranks share, and on each rank some that are nearly its own.
pub(crate) fn many(regions: usize, ranks: u32) -> Profile {
    const SHARED: usize = 16;
    const OWN: usize = 24;
    let name = |index: usize| match index {
        0 => "program".to_string(),
        index if index < SHARED => format!("shared_{index}"),
        index => format!("name::space_{}::own_{index}", index % 97),
    };
    let kind = |index: usize| match index {
        0 => RegionKind::Program,
        3 => RegionKind::Mpi,
        _ => RegionKind::Function,
    };
    let mut profile = Profile {
        regions: (0..regions).map(|index| region(kind(index), &name(index), 0x1000 + index as u64 * 64, 1 + index as u32 % 2000)).collect(),
        ..Profile::default()
    };
    for rank in 0..ranks {
        let slow = 1.0 + f64::from(rank % 64 == 3) * 0.5;
        let mut nodes = vec![node(0, None, 0, 0.001)];
        nodes.extend((1..SHARED).map(|index| node(index, Some(index / 3), 100, slow * 0.2 / index as f64)));
        let waited = ((1.5 - slow) * 0.1 / TICK) as u64;
        let exchanged = nodes[3].exchanged_mut();
        (exchanged.wait_ticks, exchanged.virtual_wait_ticks) = (waited, waited);
        let neighbour = (rank + 1) % ranks;
        exchanged.peers = vec![Peer { rank: neighbour, received: 10, sent: 10, bytes: 8_000, wait: waited, virtual_wait: waited, ..Peer::default() }];
        let own = |number: usize| SHARED + (rank as usize * OWN / 2 + number) % (regions - SHARED);
        // Times that no compression can foresee.
        let noise = |number: usize| (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        let mut own_node = |number: usize| {
            let noise = noise(rank as usize * OWN + number);
            node(own(number), Some(4 + number % 8), 10 + noise % 9973, 1e-4 * (1.0 + noise as f64 / 1e6))
        };
        nodes.extend((0..OWN).map(&mut own_node));
        profile.processes.push(Process { world_size: Some(ranks), ..process(Some(rank)) });
        profile.locations.push(Location { process: ProcessIndex(rank as usize), nodes, events: 1_000, ..Location::default() });
    }
    profile
}

/// Holds a text against the file of this name in `golden/`; `TARE_BLESS=1` writes it anew.
pub(crate) fn golden(name: &str, text: &str) {
    let torn = |pair: &[u8]| matches!(pair, [b' ', b'.', digit] if digit.is_ascii_digit());
    assert!(!text.as_bytes().windows(3).any(torn), "a number is torn apart in\n{text}");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("TARE_BLESS").is_some() {
        std::fs::write(&path, text).expect("the golden file is written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{} differs; it is now\n{text}", path.display());
}
