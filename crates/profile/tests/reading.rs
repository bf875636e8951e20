//! Graph files as processes leave them, in every state, and as they must not be.

mod support;

use proptest::prelude::*;
use support::{GraphFile, MPI, descriptions, sample};
use tare_format::graph::{ARENA, FRAMES, HEADER_AREA, NODES, OLDEST_VERSION, PEER_WITHOUT_SIZES, VERSION};
use tare_profile::{Extent, GraphFile as Given, Live, LiveThread, MpiLibrary, Profile, ProfileError, ReadError, RegionKind, State, ThreadWords};

fn read(graphs: &[(&str, &[u8])]) -> Result<Profile, ProfileError> {
    let descriptions = descriptions();
    let descriptions: Vec<&[u8]> = descriptions.iter().map(Vec::as_slice).collect();
    Profile::read(graphs, &descriptions)
}

#[test]
fn a_process_is_read_as_it_was_written() {
    let profile = read(&[("a.graph", &sample().0)]).expect("a sound file");
    let process = &profile.processes[0];
    assert_eq!((process.rank, process.world_size, process.pid), (Some(1), Some(2), 4711));
    assert_eq!((process.host.as_str(), process.executable.as_str()), ("n01", "/usr/bin/app"));
    assert_eq!((process.state, process.mpi, process.damaged_records), (State::Finished, MpiLibrary::OpenMpi, 0));
    assert!((process.clock.seconds_per_tick - 0.5e-9).abs() < 1e-15);
    let span = process.span.expect("it went through MPI_Init and MPI_Finalize");
    assert_eq!((span.ticks(), span.closed, span.start_delay, span.end_delay), (1_899_000_000, true, 5, 77));

    let location = &profile.locations[0];
    let names: Vec<&str> = location.nodes.iter().map(|node| &*profile.region_of(node).name).collect();
    assert_eq!(names, ["program", "main", "work::busy", "leaf", "MPI_Recv"]);
    let parents: Vec<Option<usize>> = location.nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(1)]);
    assert_eq!(profile.region_of(&location.nodes[4]).kind, RegionKind::Mpi);
    assert!(profile.region_of(&location.nodes[3]).leaf);
}

#[test]
fn calls_are_exact_in_the_middle_of_a_batch_that_is_off() {
    let profile = read(&[("a.graph", &sample().0)]).expect("a sound file");
    let leaf = &profile.locations[0].nodes[3];
    assert_eq!((leaf.on_calls, leaf.off_calls, leaf.calls()), (9_000, 2048 + 1000, 12_048));
    assert_eq!(leaf.batches.as_ref().map(|batches| batches.on.batches), Some(7));
}

#[test]
fn descriptions_that_are_missing_or_damaged_are_named() {
    let whole = descriptions();
    let file = sample();
    let read = |descriptions: &[&[u8]]| Profile::read(&[("a.graph", &file.0)], descriptions).expect("a sound file");
    let unreadable = |profile: &Profile| -> Vec<String> { profile.unreadable.iter().map(|file| format!("{}: {}", file.name, file.error)).collect() };
    assert!(read(&[&whole[0], &whole[1]]).is_described());
    let name = |identity: [u8; 16]| {
        identity.map(|byte| format!("{byte:02x}")).concat() + ".regions: regions have no names, as it is missing, damaged or not to be opened"
    };
    let lacking = read(&[&whole[0]]);
    assert!(!lacking.is_described() && !lacking.only(|_| true).is_described());
    assert_eq!(unreadable(&lacking), [name(MPI)]);
    // What is damaged does not say whose it is.
    assert_eq!(unreadable(&read(&[&whole[0], &whole[1][..whole[1].len() / 2]])), [name(MPI)]);
    assert_eq!(read(&[&whole[0], &whole[1], b"something else"]).unreadable[0].name, "description");
}

/// More regions were switched than there is room to list: any may have been off.
#[test]
fn no_calls_are_exact_where_it_is_not_known_which_were_counted() {
    let mut profile = read(&[("a.graph", &sample().0)]).expect("a sound file");
    let leaf = profile.locations[0].nodes[3].region;
    assert!(!profile.processes[0].was_off(leaf));
    profile.processes[0].unlisted_switches = 1;
    assert!(profile.processes[0].was_off(leaf));
}

#[test]
fn partners_are_listed_in_their_order() {
    let mut file = sample();
    let profile = read(&[("a.graph", &file.sizes(0, 5, 7).0)]).expect("a sound file");
    let receive = &profile.locations[0].nodes[4];
    let peers: Vec<(u32, u64)> = receive.exchanged().peers.iter().map(|peer| (peer.rank, peer.bytes)).collect();
    assert_eq!(peers, [(0, 64), (3, 8)]);
    let sizes = |peer: usize| (receive.exchanged().peers[peer].sent_sizes, receive.exchanged().peers[peer].received_sizes);
    assert_eq!(sizes(0), ([5, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 7]));
    assert_eq!(sizes(1), ([0; 8], [0; 8]));
    assert_eq!((receive.tool_ticks, receive.exchanged().delay_gain), (300, -40));
}

#[test]
fn where_a_thread_stands_the_open_regions_alone_say() {
    const LOADED: u64 = 7 * ARENA;
    let mut file = sample();
    // It runs, and is in the leaf.
    file.u32(12, 1).u64(88, 0).u32(HEADER_AREA + 20, 1);
    file.u64(HEADER_AREA + FRAMES + 64, LOADED + NODES + 64 * 3).u64(HEADER_AREA + FRAMES + 64 + 24, 0x7fef);
    let words = |frame: u64| Some(ThreadWords { frame: LOADED + FRAMES + 32 * frame, last: 2_000_001_000 });
    let thread = |words| Live { ticks: 2_000_004_000, ns: 6_000_001_500, has_ended: false, threads: vec![LiveThread { words, queued_ns: None }] };
    let descriptions = descriptions();
    let descriptions: Vec<&[u8]> = descriptions.iter().map(Vec::as_slice).collect();
    for words in [words(2), None] {
        let live = thread(words);
        let paths = [Extent::All, Extent::Open].map(|extent| {
            let given = Given { name: "a.graph", bytes: Ok(&file.0), live: Some(&live) };
            let profile = Profile::read_live(&[given], &descriptions, extent).expect("a sound file");
            let location = &profile.locations[0];
            let standing = location.standing.expect("it runs");
            let path = std::iter::successors(standing.node, |&node| location.nodes[node].parent);
            let names = path.map(|node| profile.region_of(&location.nodes[node]).name.to_string()).collect::<Vec<_>>();
            (standing.since, names, location.nodes.len())
        });
        let [(since, names, all), open] = paths;
        let known = if words.is_some() { 4 } else { all };
        assert_eq!(names.len(), if words.is_some() { 4 } else { 0 }, "{names:?}");
        assert_eq!(open, (since, names, known), "MPI_Recv is not open");
    }
}

#[test]
fn regions_alone_have_the_sums_of_their_call_paths() {
    let mut file = sample();
    // The leaf is called from the root as well, by another path.
    file.node(4, 3, 0, 7, 1_000);
    let descriptions = descriptions();
    let descriptions: Vec<&[u8]> = descriptions.iter().map(Vec::as_slice).collect();
    let [all, regions] = [Extent::All, Extent::Regions].map(|extent| {
        let profile = Profile::read_live(&[Given { name: "a.graph", bytes: Ok(&file.0), live: None }], &descriptions, extent).expect("a sound file");
        let location = &profile.locations[0];
        let mut sums = std::collections::BTreeMap::<String, (u64, u64, i64, u64, u64, usize)>::new();
        for node in &location.nodes {
            let sum = sums.entry(profile.region_of(node).name.to_string()).or_default();
            let exchanged = node.exchanged();
            (sum.0, sum.1, sum.2) = (sum.0 + node.on_calls, sum.1 + node.off_calls, sum.2 + node.exclusive);
            (sum.3, sum.4, sum.5) = (sum.3 + exchanged.wait_ticks, sum.4 + exchanged.messages.bytes, sum.5 + exchanged.peers.len());
        }
        (sums, location.nodes.len(), (location.events, location.end_ticks))
    });
    assert_eq!((&all.0, all.2), (&regions.0, regions.2));
    assert!(regions.1 == all.0.len() && regions.1 < all.1, "{} nodes for {} regions, {} paths", regions.1, all.0.len(), all.1);
}

#[test]
fn ranks_share_their_regions_and_stand_in_order() {
    let mut other = sample();
    // Another rank on another host, whose loader gave the images other ids.
    other.u32(32, 1).bytes(256, b"n02").image(0, 200, 3, support::APP);
    other.node(1, 201, 0, 1, 1_000).node(2, 202, 1, 10, 20_000).node(3, 203, 2, 9_000, 300_000);
    let profile = read(&[("b.graph", &sample().0), ("a.graph", &other.0)]).expect("sound files");
    let ranks: Vec<Option<u32>> = profile.processes.iter().map(|process| process.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1)]);
    assert_eq!(profile.regions.len(), 5);
    let regions = |index: usize| profile.locations[index].nodes.iter().map(|node| node.region).collect::<Vec<_>>();
    assert_eq!(regions(0), regions(1));
}

#[test]
fn a_process_that_was_killed_is_read_up_to_its_last_sign_of_life() {
    let mut file = sample();
    file.u32(12, 1).u64(88, 0);
    let profile = read(&[("a.graph", &file.0)]).expect("a sound file");
    let span = profile.processes[0].span.expect("it went through MPI_Init");
    assert_eq!((profile.processes[0].state, span.closed, span.end), (State::Running, false, 2_000_001_000));
}

#[test]
fn a_process_killed_at_once_borrows_the_clock_of_its_neighbour() {
    let mut file = sample();
    file.u64(64, 1_000).u64(72, 5_000_000_000).u32(32, 1);
    let profile = read(&[("a.graph", &file.0), ("b.graph", &sample().0)]).expect("sound files");
    assert!(profile.processes.iter().all(|process| process.clock.is_known()));
}

#[test]
fn a_node_that_is_not_yet_published_is_left_out() {
    let mut file = sample();
    file.counts(6, 1, 2).node(5, 0, 2, 3, 3);
    let profile = read(&[("a.graph", &file.0)]).expect("a sound file");
    assert_eq!(profile.locations[0].nodes.len(), 5);
    assert_eq!(profile.processes[0].damaged_records, 0);
}

#[test]
fn regions_without_a_description_keep_their_numbers_and_their_figures() {
    let profile = Profile::read(&[("a.graph", &sample().0)], &[]).expect("a sound file");
    let busy = &profile.locations[0].nodes[2];
    assert_eq!((&*profile.region_of(busy).name, busy.exclusive), ("[region 2 without description]", 20_000));
}

#[test]
fn partners_of_the_oldest_version_have_no_sizes() {
    let mut file = sample();
    file.u32(8, OLDEST_VERSION).peer_at(PEER_WITHOUT_SIZES as u64, 3, 0, 8);
    let profile = read(&[("a.graph", &file.0)]).expect("a sound file");
    let peers = &profile.locations[0].nodes[4].exchanged().peers;
    assert_eq!(peers.iter().map(|peer| (peer.rank, peer.bytes)).collect::<Vec<_>>(), [(0, 64), (3, 8)]);
    assert!(peers.iter().all(|peer| peer.sent_sizes == [0; 8] && peer.received_sizes == [0; 8]));
    assert_eq!(profile.processes[0].damaged_records, 0);
}

#[test]
fn foreign_and_future_files_are_named() {
    let of_version = |number: u32| {
        let mut file = sample();
        file.u32(8, number);
        file
    };
    let future = of_version(VERSION + 1);
    for unknown in [1, VERSION + 1] {
        let error = read(&[("x.graph", &of_version(unknown).0)]).expect_err("another version");
        assert_eq!(error.to_string(), format!("x.graph: graph file of version {unknown}, this tool reads version {VERSION}"));
    }
    let error = read(&[("x.graph", b"\x7fELF and so on")]).expect_err("not ours");
    assert_eq!(error.to_string(), "x.graph: not a graph file of Tareweight");
    for length in [0, 3, 300] {
        let error = read(&[("x.graph", &sample().0[..length])]).expect_err("cut off");
        assert_eq!(error, ProfileError::NothingReadable { name: "x.graph".into(), error: ReadError::Short });
    }
    let profile = read(&[("x.graph", &future.0), ("a.graph", &sample().0)]).expect("one of two is sound");
    assert_eq!((profile.processes.len(), profile.unreadable.len()), (1, 1));
    assert_eq!(read(&[]).map(|profile| profile.processes.len()), Ok(0));
}

#[test]
fn a_file_that_ends_early_keeps_what_it_holds_and_counts_the_rest() {
    let whole = sample().0;
    // Within the nodes: the first two are there.
    let cut = support_nodes() + 64 * 2 + 10;
    let profile = read(&[("a.graph", &whole[..cut])]).expect("its header is whole");
    assert_eq!(profile.locations[0].nodes.len(), 2);
    assert!(profile.processes[0].damaged_records > 0);
}

#[test]
fn images_for_which_there_was_no_room_are_counted() {
    let mut file = sample();
    assert_eq!(read(&[("a.graph", &file.0)]).expect("a sound file").processes[0].lost_images, 0);
    const IMAGES_AT: u64 = 28;
    file.u32(IMAGES_AT, tare_format::graph::IMAGES as u32 + 3);
    let profile = read(&[("a.graph", &file.0)]).expect("a sound file");
    assert_eq!(profile.processes[0].lost_images, 3);
}

fn support_nodes() -> usize {
    (tare_format::graph::HEADER_AREA + tare_format::graph::NODES) as usize
}

#[test]
fn counts_that_no_program_can_have_are_left_out_and_counted() {
    let sound = read(&[("a.graph", &sample().0)]).expect("a sound file");
    for (field, of_cold) in [(0, false), (8, false), (16, true), (48, true)] {
        let mut file = sample();
        let table = if of_cold { tare_format::graph::COLD_NODES } else { tare_format::graph::NODES };
        file.bytes(tare_format::graph::HEADER_AREA + table + 64 * 4 + field, &[0x61; 8]);
        let profile = read(&[("a.graph", &file.0)]).expect("a sound file but for one count");
        assert_eq!(profile.processes[0].damaged_records, 1, "{field}");
        let (node, whole) = (&profile.locations[0].nodes[4], &sound.locations[0].nodes[4]);
        assert_eq!(node.on_calls, if of_cold { whole.on_calls } else { 0 });
        assert_eq!(node.exchanged().wait_ticks, if of_cold { 0 } else { whole.exchanged().wait_ticks });
    }
}

#[test]
fn what_cannot_be_opened_is_listed_among_what_can() {
    let (file, descriptions) = (sample(), descriptions());
    let descriptions: Vec<&[u8]> = descriptions.iter().map(|bytes| &bytes[..]).collect();
    let closed = Given { name: "b.graph", bytes: Err("Permission denied"), live: None };
    let profile = Profile::read_live(&[Given { name: "a.graph", bytes: Ok(&file.0), live: None }, closed], &descriptions, Extent::All);
    let profile = profile.expect("one of two can be opened");
    let unreadable: Vec<_> = profile.unreadable.iter().map(|file| format!("{}: {}", file.name, file.error)).collect();
    assert_eq!((profile.processes.len(), unreadable), (1, vec!["b.graph: Permission denied".to_string()]));
    let error = Profile::read_live(&[closed], &descriptions, Extent::All).expect_err("nothing can be read");
    assert_eq!(error.to_string(), "b.graph: Permission denied");
}

#[test]
fn lists_that_bite_their_tail_end() {
    let mut file = sample();
    file.peer(1, 3, 1, 8);
    let profile = read(&[("a.graph", &file.0)]).expect("a sound file but for the list");
    assert_eq!(profile.locations[0].nodes[4].exchanged().peers.len(), 2);
    assert_eq!(profile.processes[0].damaged_records, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics_and_the_model_stays_sound(
        hits in prop::collection::vec((0..4_usize, any::<prop::sample::Index>(), any::<u64>()), 1..40),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = sample();
        let length = file.0.len() as u64;
        for (area, place, value) in hits {
            let (start, size) = [(8, 248), (4096, 128), (1 << 16, 256), ((1 << 16) + (8 << 20), 64 * 6)][area];
            let at = (start + place.index(size / 4) * 4) as u64;
            if at + 8 < length {
                // Words of any kind, small ones above all: those are indices.
                let value = if value % 3 == 0 { value } else { value % 200 };
                file.bytes(at, &value.to_le_bytes()[..4]);
            }
        }
        if let Some(cut) = cut {
            let keep = cut.index(file.0.len());
            file.0.truncate(keep);
        }
        check(&file);
    }
}

fn check(file: &GraphFile) {
    let Ok(profile) = read(&[("a.graph", &file.0)]) else { return };
    for location in &profile.locations {
        assert!(location.process.0 < profile.processes.len() && !location.nodes.is_empty());
        for (index, node) in location.nodes.iter().enumerate() {
            assert!(node.region.0 < profile.regions.len());
            assert!(node.parent.map_or(index == 0, |parent| parent < index));
        }
    }
}
