//! Questions about the time of the whole run are answered without the call paths, and the answer is the same.

use tare_compensate::{Mode, Wanted, compensate, compensate_wanted};
use tare_profile::{Clock, Location, Node, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind, Span};
use tare_query::{Question, Sums, answer};

fn region(kind: RegionKind, name: &str) -> Region {
    let [raw_name, image, build_id, file] = [name, "app", "", ""].map(String::from);
    Region { kind, name: name.into(), raw_name, image, build_id, address: 0, size: 16, file, line: 0, leaf: false }
}

/// Two ranks, of which the second has a thread without a span.
fn profile() -> Profile {
    let node = |region: usize, parent, calls| Node { region: RegionIndex(region), parent, on_calls: calls, exclusive: 1_000_000, ..Node::default() };
    let clock = Clock { seconds_per_tick: 1e-9, ticks_per_cycle: None };
    let process = |rank: u32| Process {
        rank: Some(rank),
        clock,
        span: Some(Span { start: 0, end: 2_000_000 + u64::from(rank) * 7_000, closed: true, start_delay: 0, end_delay: 400 }),
        hot_pair_cost: 90.0,
        ..Process::default()
    };
    let location = |process: usize, thread: u32| {
        let nodes = vec![node(0, None, 1), node(1, Some(0), 700)];
        Location { process: ProcessIndex(process), thread, nodes, ..Location::default() }
    };
    Profile {
        processes: vec![process(0), process(1)],
        locations: vec![location(0, 0), location(1, 0), location(1, 1)],
        regions: vec![region(RegionKind::Program, "program"), region(RegionKind::Function, "solve")],
        unreadable: Vec::new(),
    }
}

fn sums(question: &str) -> Sums {
    match Question::parse(question) {
        Ok(Question::Sums(sums)) => sums,
        other => panic!("{question}: {other:?}"),
    }
}

#[test]
fn what_an_answer_is_not_made_of_is_not_compensated() {
    let profile = profile();
    let whole =
        ["time", "total time", "time by rank", "time by thread", "time, measured and correction", "time of program by host", "time and count"];
    let nothing = ["waiting of program by rank", "count by region", "bytes of program", "count of solve", "count of regions by thread"];
    let paths = ["self", "self and count", "time of solve", "time by region", "time of functions", "waiting and time of solve"];
    let asked = [(Wanted::Whole, whole.as_slice()), (Wanted::Nothing, nothing.as_slice()), (Wanted::Paths, paths.as_slice())];
    for (wanted, question) in asked.into_iter().flat_map(|(wanted, questions)| questions.iter().map(move |question| (wanted, question))) {
        let sums = sums(question);
        assert_eq!(sums.wanted(), wanted, "{question}");
        for mode in [Mode::Off, Mode::Local, Mode::Parallel] {
            let [part, all] = [compensate_wanted(&profile, mode, wanted), compensate(&profile, mode)].map(|made| answer(&profile, &made, &sums));
            assert!(part.as_ref().is_ok_and(|answer| !answer.rows.is_empty()), "{question}: {part:?}");
            assert_eq!(part, all, "{question}");
        }
    }
}
