//! Questions that are understood and have no answer say why.

use tare_compensate::{Mode, compensate};
use tare_profile::{Clock, Location, Node, Peer, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind};
use tare_query::{Answer, Jump, Nothing, Puzzle, Question, answer};

fn region(kind: RegionKind, name: &str, line: u32) -> Region {
    Region {
        kind,
        name: name.into(),
        raw_name: name.into(),
        image: "app".into(),
        build_id: String::new(),
        address: u64::from(line),
        size: 16,
        file: if line > 0 { "/home/user/app.c".into() } else { String::new() },
        line,
        leaf: false,
    }
}

fn node(region: usize, parent: Option<usize>) -> Node {
    Node { region: RegionIndex(region), parent, on_calls: 1, exclusive: 1_000, ..Node::default() }
}

/// `main` calls `first` in line 33, which ends with a jump to `second`; that takes part in a collective and receives.
fn with_a_jump() -> Profile {
    let regions = vec![
        region(RegionKind::Program, "program", 0),
        region(RegionKind::Function, "main", 28),
        region(RegionKind::CallSite, "call 1 of first in main", 33),
        region(RegionKind::Function, "first", 22),
        region(RegionKind::Function, "second", 9),
        region(RegionKind::CallSite, "call 1 of MPI_Allreduce in second", 17),
        region(RegionKind::Mpi, "MPI_Allreduce", 0),
        region(RegionKind::CallSite, "call 2 of MPI_Recv in second", 19),
        region(RegionKind::Mpi, "MPI_Recv", 0),
    ];
    let mut nodes = vec![node(0, None), node(1, Some(0)), node(2, Some(1)), node(3, Some(2)), node(4, Some(2))];
    nodes.extend([node(5, Some(4)), node(6, Some(5)), node(7, Some(4)), node(8, Some(7))]);
    nodes[8].exchanged_mut().peers = vec![Peer { rank: 1, received: 1, transmission: 500, ..Peer::default() }];
    let clock = Clock { seconds_per_tick: 1e-9, ticks_per_cycle: None };
    let process = Process { rank: Some(0), clock, ..Process::default() };
    let location = Location { process: ProcessIndex(0), nodes, ..Location::default() };
    Profile { processes: vec![process], locations: vec![location], regions, unreadable: Vec::new() }
}

fn ask(question: &str) -> Result<Answer, Puzzle> {
    let profile = with_a_jump();
    let Ok(Question::Sums(sums)) = Question::parse(question) else { panic!("{question}") };
    answer(&profile, &compensate(&profile, Mode::Off), &sums)
}

#[test]
fn a_call_that_became_a_jump_is_said_with_the_statement_that_has_its_time() {
    for question in ["time of calls in first", "time of call at app.c:23", "call at app.c:22"] {
        let Err(Puzzle::Nothing(Nothing::Jump(Jump { by, callee, statement, place }))) = ask(question) else { panic!("{question}") };
        assert_eq!((by.as_str(), callee.as_str(), statement.as_str()), ("first", "second", "call 1 of first in main"), "{question}");
        assert_eq!(place.as_deref(), Some("app.c:33"), "{question}");
    }
    assert!(ask("call at app.c:33").is_ok());
}

/// `main` calls `phase` in line 6 and in line 7, which calls `crunch` and ends with a jump to a collective.
fn with_jumps_to_mpi() -> Profile {
    let mut profile = with_a_jump();
    profile.regions = vec![
        region(RegionKind::Program, "program", 0),
        region(RegionKind::Function, "main", 6),
        region(RegionKind::CallSite, "call 1 of phase in main", 6),
        region(RegionKind::Function, "phase", 5),
        region(RegionKind::CallSite, "call 1 of crunch in phase", 5),
        region(RegionKind::Function, "crunch", 4),
        region(RegionKind::Mpi, "MPI_Barrier", 0),
        region(RegionKind::CallSite, "call 2 of phase in main", 7),
    ];
    profile.locations[0].nodes = vec![node(0, None), node(1, Some(0))];
    for site in [2, 7] {
        let at = profile.locations[0].nodes.len();
        profile.locations[0].nodes.extend([node(site, Some(1)), node(3, Some(at)), node(4, Some(at + 1)), node(5, Some(at + 2)), node(6, Some(at))]);
    }
    profile
}

#[test]
fn an_answer_says_which_calls_became_jumps_and_a_statement_whose_function_ends_with_one_is_a_call() {
    let profile = with_jumps_to_mpi();
    let ask = |question: &str| {
        let Ok(Question::Sums(sums)) = Question::parse(question) else { panic!("{question}") };
        answer(&profile, &compensate(&profile, Mode::Off), &sums)
    };
    let jump = Jump { by: "phase".into(), callee: "MPI_Barrier".into(), statement: "call 1 of phase in main".into(), place: Some("app.c:6".into()) };
    for question in ["calls in phase", "events in phase", "self of regions under phase"] {
        let found = ask(question).expect(question);
        assert!(!found.rows.is_empty(), "{question}");
        assert_eq!(found.jumps, std::slice::from_ref(&jump), "{question}: once, whatever statements have it");
    }
    for question in ["communication in phase", "communication at app.c:5", "waiting in phase"] {
        assert_eq!(ask(question), Err(Puzzle::Nothing(Nothing::Jump(jump.clone()))), "{question}");
    }
    for question in ["calls in main", "communication in main", "time of crunch in phase", "call at app.c:6"] {
        assert_eq!(ask(question).expect(question).jumps, [], "{question}");
    }
    let counted = ask("count of calls in main").expect("an answer").rows.len();
    assert_eq!(counted, 2, "both are calls, and have communication below them");
}

#[test]
fn only_places_of_the_kind_that_was_asked_for_are_near() {
    let Err(Puzzle::Unknown { near, .. }) = ask("call at app.c:30") else { panic!("no call begins in line 30") };
    assert_eq!(near, ["app.c:33"]);
    let Err(Puzzle::Unknown { near, .. }) = ask("communication at app.c:30") else { panic!("nor communication") };
    assert_eq!(near, ["app.c:19", "app.c:17"]);
}

#[test]
fn a_line_of_two_statements_is_near_once() {
    let mut profile = with_a_jump();
    profile.regions.push(region(RegionKind::CallSite, "call 3 of MPI_Allreduce in second", 17));
    let nodes = &mut profile.locations[0].nodes;
    nodes.extend([node(9, Some(4)), node(6, Some(nodes.len()))]);
    let Ok(Question::Sums(sums)) = Question::parse("communication at app.c:18") else { panic!("a question") };
    let Err(Puzzle::Unknown { near, .. }) = answer(&profile, &compensate(&profile, Mode::Off), &sums) else { panic!("nothing is there") };
    assert_eq!(near, ["app.c:17", "app.c:19"]);
}

#[test]
fn where_statements_are_not_measured_communication_is_at_the_function_that_makes_it() {
    let mut profile = with_a_jump();
    let nodes = &mut profile.locations[0].nodes;
    // As findings name it: `MPI_Recv in second (app.c:9)`, below which nothing of a function of line 22 stands.
    *nodes = vec![node(0, None), node(1, Some(0)), node(3, Some(1)), node(4, Some(1)), node(6, Some(3)), node(8, Some(3))];
    for site in [2, 5, 7] {
        profile.regions[site] = region(RegionKind::Function, "gone", 0);
    }
    let ask = |question: &str| {
        let Ok(Question::Sums(sums)) = Question::parse(question) else { panic!("{question}") };
        answer(&profile, &compensate(&profile, Mode::Off), &sums)
    };
    let counted = ask("count of communication at app.c:9").expect("an answer").rows[0].values[0].clone().expect("a count");
    assert_eq!(counted.sum.value as u64, 2);
    assert!(ask("communication at app.c:22").is_err());
}

#[test]
fn a_collective_has_no_partners_and_no_time_of_transmission() {
    let found = ask("communication at app.c:17 by peer");
    assert_eq!(found, Err(Puzzle::Nothing(Nothing::NoPartner { operation: "MPI_Allreduce".into() })));
    assert_eq!(ask("call at app.c:17"), Err(Puzzle::Nothing(Nothing::Communication { place: "app.c:17".into() })));
    let transmission = |question| ask(question).expect(question).rows[0].values[0].as_ref().map(|value| value.sum.value > 0.0);
    assert_eq!(transmission("transmission of communication at app.c:17"), None);
    assert_eq!(transmission("transmission of communication at app.c:19"), Some(true));
    assert_eq!(transmission("transmission of communication"), Some(true));
}

#[test]
fn of_a_program_without_mpi_it_is_said_that_no_operation_was_called_and_call_paths_would_not_say_more() {
    let mut profile = with_a_jump();
    profile.regions.truncate(4);
    profile.locations[0].nodes.truncate(4);
    for text in ["waiting", "total transmission", "messages by peer", "communication"] {
        let question = Question::parse(text).expect("a question");
        assert_eq!(question.extent_of_reasons(), question.extent(), "{text}");
        let Question::Sums(sums) = question else { panic!("{text}") };
        let answer = answer(&profile, &compensate(&profile, Mode::Off), &sums);
        assert_eq!(answer, Err(Puzzle::Nothing(Nothing::NoOperation)), "{text}");
    }
    profile.regions.push(region(RegionKind::Threads, "omp parallel", 0));
    for (text, nothing) in
        [("waiting by thread", Nothing::OfThreads), ("total waiting", Nothing::OfThreads), ("messages by peer", Nothing::NoOperation)]
    {
        let Ok(Question::Sums(sums)) = Question::parse(text) else { panic!("{text}") };
        assert_eq!(answer(&profile, &compensate(&profile, Mode::Off), &sums), Err(Puzzle::Nothing(nothing)), "{text}");
    }
}
