//! What an interposer's wrappers leave in the graph file.
//!
//! The test runs itself again as a measured process: the environment is read before `main`.

use std::process::Command;
use tare_format::graph::{ARENA, COLD_NODES, ColdNode, HEADER_AREA, Header, LocationRecord, MAX_PEERS, NODES, Node, PEERS, PeerRecord, ProcessState};
use tare_format::ids::{Rank, Ticks};
use tare_runtime::process::{self, now, register_pseudo_image};
use tare_runtime::wrapper::{Exchange, Waits, thread};

/// Partners beyond the room for them.
const BEYOND: u32 = 3;

/// What the measured process does: a call with waits and partners, inside another, on two threads.
fn measured() {
    let base = register_pseudo_image(b"not read here", 2, [7; 16]).expect("a graph file");
    process::set_rank(Rank(3), 8, tare_format::graph::MpiLibrary::Mpich);
    process::span_start();
    let call = move || {
        let thread = thread().expect("a measured thread");
        let outer = thread.enter(base.region(1));
        let before = thread.delay();
        for round in 0..100 {
            let open = thread.enter(base.region(2));
            open.add_tool(1000);
            let place = open.place();
            place.add_wait(50, 20);
            place.add_delay_gain(-100);
            open.add_messages(1, 8);
            let exchange = Exchange { sent: 1, bytes: 8, wait: 5, ..Exchange::default() };
            place.add_peer(Rank(round % 70), &exchange);
            thread.exit(open, now(), Waits::Spinning);
        }
        let gained = thread.delay() - before;
        assert!(gained >= 100 * (1000 - 100), "delay grew by {gained}");
        outer.add_unpaired(2);
        thread.exit(outer, now(), Waits::Spinning);
    };
    call();
    std::thread::spawn(call).join().expect("the thread ends well");
    let many_partners = move || {
        let thread = thread().expect("a measured thread");
        let open = thread.enter(base.region(2));
        (0..MAX_PEERS + BEYOND).for_each(|rank| open.place().add_peer(Rank(rank), &Exchange { sent: 1, ..Exchange::default() }));
        thread.exit(open, now(), Waits::Spinning);
    };
    std::thread::spawn(many_partners).join().expect("the thread ends well");
    process::count_uncovered(5);
    process::span_end();
}

#[test]
fn wrapped_regions_are_nodes_like_any_other() {
    if std::env::var_os("TARE_RUN_DIR").is_some() {
        measured();
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let program = std::env::current_exe().expect("this test");
    let output = Command::new(program)
        .args(["wrapped_regions_are_nodes_like_any_other", "--exact", "--test-threads=1"])
        .env("TARE_RUN_DIR", directory.path())
        .env("TARE_RUN_ID", format!("wrapper{}", std::process::id()))
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let files: Vec<_> = std::fs::read_dir(directory.path()).expect("the directory").flatten().collect();
    let ending = |end: &str| files.iter().find(|file| file.path().to_string_lossy().ends_with(end));
    let regions = ending("07070707070707070707070707070707.regions").expect("the description");
    assert_eq!(std::fs::read(regions.path()).expect("it reads"), b"not read here");
    let bytes = std::fs::read(ending(".graph").expect("a graph file").path()).expect("it reads");
    check(&bytes);
}

fn check(bytes: &[u8]) {
    let header = Header::from_bytes(bytes).expect("a header");
    assert_eq!(header.state, ProcessState::Finished as u32);
    assert_eq!((header.rank_plus_one, header.world_size, header.images), (4, 8, 1));
    assert_eq!((header.unpaired_messages, header.uncovered_calls), (4, 5));
    assert!(Ticks(header.span_start) < Ticks(header.span_end));
    let arenas = (0..u64::from(header.locations)).map(|index| &bytes[(HEADER_AREA + index * ARENA) as usize..]);
    let used: Vec<_> = arenas.filter(|arena| LocationRecord::from_bytes(arena).is_some_and(|it| it.state != 0)).collect();
    assert_eq!(used.len(), 3, "threads");
    let crowded = LocationRecord::from_bytes(used[2]).expect("a location");
    assert_eq!((crowded.peers, crowded.lost_peers), (MAX_PEERS, u64::from(BEYOND)));
    for arena in &used[..2] {
        check_location(arena);
    }
}

fn check_location(arena: &[u8]) {
    let at = |table: u64, index: usize| &arena[table as usize + 64 * index..];
    let location = LocationRecord::from_bytes(arena).expect("a location");
    assert_eq!((location.nodes, location.peers, location.delay_gain), (3, 70, -10_000));
    let [outer, inner] = [1, 2].map(|index| Node::from_bytes(at(NODES, index)).expect("a node"));
    assert_eq!((outer.region, inner.region, inner.parent), (1, 2, 1));
    assert_eq!((outer.calls, inner.calls, inner.cost), (1, 100, 0));
    assert!(outer.inclusive >= inner.inclusive);
    let cold = ColdNode::from_bytes(at(COLD_NODES, 2)).expect("a cold node");
    assert_eq!((cold.wait_ticks, cold.virtual_wait_ticks, cold.delay_gain), (5000, 2000, -10_000));
    assert_eq!((cold.messages, cold.bytes), (100, 800));
    assert!(cold.tool_ticks >= 100_000);
    let mut sent = vec![0; 70];
    let mut next = cold.first_peer;
    while let Some(index) = next.checked_sub(1) {
        let peer = PeerRecord::from_bytes(&arena[PEERS as usize + PeerRecord::SIZE * index as usize..]).expect("a partner");
        sent[peer.peer as usize] += peer.sent;
        assert_eq!((peer.bytes, peer.wait), (8 * peer.sent, 5 * peer.sent));
        assert_eq!((u64::from(peer.sent_sizes[0]), peer.sent_sizes[1..].iter().sum::<u32>(), peer.received_sizes), (peer.sent, 0, [0; 8]));
        next = peer.next;
    }
    assert!(sent.iter().enumerate().all(|(rank, &sent)| sent == if rank < 30 { 2 } else { 1 }));
}
