//! Of rows by a place as well, those that are asked for are the greatest.

use tare_compensate::{Mode, compensate};
use tare_profile::{Clock, Location, Node, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind, Span};
use tare_query::{Answer, Question, Who, answer};

/// Ranks with as many calls, and as many milliseconds, of a function.
fn profile(calls: &[u64]) -> Profile {
    let region = |kind: RegionKind, name: &str| {
        let [raw_name, image, build_id, file] = [name, "app", "", ""].map(String::from);
        Region { kind, name: name.into(), raw_name, image, build_id, address: 0, size: 16, file, line: 0, leaf: false }
    };
    let node = |region: usize, parent, calls| Node {
        region: RegionIndex(region),
        parent,
        on_calls: calls,
        exclusive: calls as i64 * 1_000_000,
        ..Node::default()
    };
    let process = |rank: u32| Process {
        rank: Some(rank),
        clock: Clock { seconds_per_tick: 1e-9, ticks_per_cycle: None },
        span: Some(Span { start: 0, end: 1_000_000_000, closed: true, start_delay: 0, end_delay: 0 }),
        host: format!("n{}", rank / 2),
        ..Process::default()
    };
    let location = |(process, &calls): (usize, &u64)| {
        let nodes = vec![node(0, None, 1), node(1, Some(0), calls)];
        Location { process: ProcessIndex(process), nodes, ..Location::default() }
    };
    Profile {
        processes: (0..calls.len() as u32).map(process).collect(),
        locations: calls.iter().enumerate().map(location).collect(),
        regions: vec![region(RegionKind::Program, "program"), region(RegionKind::Function, "solve")],
        unreadable: Vec::new(),
    }
}

fn asked(question: &str) -> Answer {
    let Ok(Question::Sums(sums)) = Question::parse(question) else { panic!("{question}") };
    let profile = profile(&[20, 10, 40, 30]);
    answer(&profile, &compensate(&profile, Mode::Off), &sums).expect("an answer")
}

#[test]
fn ranks_stand_in_their_order_and_the_top_of_them_are_the_greatest() {
    let ranks = |question: &str| asked(question).rows.into_iter().map(|row| row.who).collect::<Vec<_>>();
    assert_eq!(ranks("self of solve by rank"), [0, 1, 2, 3].map(Who::Process));
    assert_eq!(ranks("self of solve by rank top 2"), [2, 3].map(Who::Process));
    assert_eq!(ranks("count of solve by thread top 3"), [2, 3, 0].map(Who::Location));
    assert_eq!(ranks("self of solve by host top 1"), [Who::Host("n1".into())]);
    assert_eq!(asked("self of solve by rank top 3").left_out, 1);
}
