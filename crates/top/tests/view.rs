//! The view on screens of several sizes, its keys, and what stays where when a run goes on.

use tare_compensate::{Mode, compensate};
use tare_profile::{
    Clock, DelayModel, HotCounting, Location, MpiLibrary, Node, Peer, Process, ProcessIndex, Profile, Region, RegionIndex, RegionKind, Standing,
};
use tare_top::{About, App, Key, Outcome, Snapshot, json, text};

const TICK: f64 = 1e-9;
const NAMES: [&str; 5] = ["program", "main", "solve<std::vector<double, std::allocator<double>>>(int, double)", "MPI_Recv", "init"];

fn region(index: usize) -> Region {
    Region {
        kind: [RegionKind::Program, RegionKind::Function, RegionKind::Function, RegionKind::Mpi, RegionKind::Function][index],
        name: NAMES[index].into(),
        raw_name: NAMES[index].into(),
        image: "/home/user/app".into(),
        build_id: String::new(),
        address: 0x1000 * index as u64,
        size: 64,
        file: if index == 3 { String::new() } else { "/home/user/app.c".into() },
        line: 10 * index as u32,
        leaf: false,
    }
}

fn process(rank: u32, lifetime_s: f64) -> Process {
    Process {
        file: format!("n01-{rank}.graph"),
        rank: Some(rank),
        world_size: Some(2),
        host: "n01".into(),
        pid: 100 + rank,
        parent_pid: 1,
        executable: "/home/user/app".into(),
        mpi: MpiLibrary::OpenMpi,
        model: DelayModel::Virtual,
        clock: Clock { seconds_per_tick: TICK, ticks_per_cycle: None },
        lifetime_s,
        hot_pair_cost: 40.0,
        least_pair_cost: 0.0,
        hot_clockless: HotCounting { once: 10.0, again: 10.0 },
        hot_counted: HotCounting { once: 8.0, again: 8.0 },
        ..Process::default()
    }
}

/// After so many seconds: rank 0 waits in `MPI_Recv` since the third, rank 1 is in `solve`, which takes all time from there.
fn profile(seconds: f64) -> Profile {
    let node = |region: usize, parent: Option<usize>, calls: u64, seconds: f64| Node {
        region: RegionIndex(region),
        parent,
        on_calls: calls,
        exclusive: (seconds / TICK) as i64,
        ..Node::default()
    };
    let location = |rank: usize, inner: usize, calls: u64| {
        let mut nodes = vec![node(0, None, 1, 0.0), node(1, Some(0), 1, 0.5), node(4, Some(1), 1, 2.0), node(inner, Some(1), calls, seconds - 2.5)];
        if inner == 3 {
            let exchanged = nodes[3].exchanged_mut();
            exchanged.wait_ticks = ((seconds - 2.6) / TICK) as u64;
            exchanged.virtual_wait_ticks = exchanged.wait_ticks;
        }
        let since = if rank == 0 { seconds - 3.0 } else { 0.001 };
        let standing = Some(Standing { node: Some(3), since: (since / TICK) as u64 });
        Location { process: ProcessIndex(rank), events: 2 * (calls + 2), nodes, standing, ..Location::default() }
    };
    Profile {
        processes: vec![process(0, seconds), process(1, seconds)],
        locations: vec![location(0, 3, 1), location(1, 2, (seconds * 1000.0) as u64)],
        regions: (0..NAMES.len()).map(region).collect(),
        unreadable: Vec::new(),
    }
}

fn snapshot(seconds: f64, ended: Option<&str>) -> Snapshot {
    snapshot_of(&profile(seconds), seconds, ended)
}

fn snapshot_of(profile: &Profile, seconds: f64, ended: Option<&str>) -> Snapshot {
    let about = About { program: "app input".into(), at_s: seconds, took_s: 0.001, ended: ended.map(String::from), ..About::default() };
    Snapshot::of(profile, &compensate(profile, Mode::Parallel), about)
}

fn going() -> App {
    let mut app = App::default();
    for seconds in [4.0, 5.0, 6.0] {
        app.read(snapshot(seconds, None));
    }
    app
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        assert_eq!(app.press(if key == '\n' { Key::Enter } else { Key::Char(key) }), Outcome::Stay);
    }
}

fn chosen(shown: &str) -> &str {
    shown.lines().find(|line| line.starts_with('>')).unwrap_or_default()
}

#[test]
fn no_line_is_longer_than_the_screen_and_what_has_no_room_is_said() {
    let mut app = going();
    for page in ["1", "2", "3", "4", "?"] {
        press(&mut app, page);
        for (columns, rows) in [(80, 24), (200, 60), (80, 10), (60, 12), (50, 24), (50, 10), (44, 8), (44, 7), (43, 8), (30, 3), (10, 2)] {
            let shown = text(&app, columns, rows);
            let lines: Vec<&str> = shown.lines().collect();
            assert!(lines.len() <= usize::from(rows), "{columns}×{rows}\n{shown}");
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(columns)), "{columns}×{rows}\n{shown}");
            let has_table = columns >= 44 && rows >= 8;
            assert_eq!(has_table, lines.last().is_some_and(|line| line.starts_with("1 regions")), "{columns}×{rows}\n{shown}");
            assert_eq!(!has_table && columns >= 30, shown.contains("the table needs 44 × 8"), "{columns}×{rows}\n{shown}");
            assert!(!has_table || page != "1" || lines.iter().any(|line| line.starts_with('>')), "{columns}×{rows}\n{shown}");
            assert!(!has_table || shown.contains("dilation ") && shown.contains("running"), "{columns}×{rows}\n{shown}");
            assert!(!has_table || shown.contains("MPI start, end"), "all of the time is told: {columns}×{rows}\n{shown}");
        }
    }
}

#[test]
fn what_is_hot_now_stands_first_and_what_stands_still_is_named() {
    let app = going();
    let shown = text(&app, 120, 30);
    assert!(shown.starts_with("tare top  app input"), "{shown}");
    assert!(shown.contains("2 ranks × 1   running 6.00\u{2009}s"), "{shown}");
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with(" Region")).skip(1).take(NAMES.len()).collect();
    // Of the last two seconds half went to each of the two; before them there was more.
    assert!(rows[0].contains("50.0") && rows[1].contains("50.0"), "{shown}");
    let receive = rows.iter().find(|row| row.contains("MPI_Recv")).expect("the operation");
    assert!(receive.contains("100.0\u{2009}%"), "all of its time now is waiting: {receive}");
    let init = rows.iter().find(|row| row.contains("init")).expect("what is over");
    assert!(init.contains("0\u{2009}%") && init.contains("2.00"), "{init}");
    assert!(shown.contains(" rank 0: no event for 3.00\u{2009}s, in MPI_Recv < main (app.c:10) < program"), "{shown}");
    assert!(!shown.contains(" rank 1: no event"), "{shown}");
}

#[test]
fn the_innermost_region_of_a_rank_is_whole_before_anything_else_of_where_it_is() {
    let mut app = going();
    press(&mut app, "2");
    for (columns, rows, most) in
        [(44, 10, "MPI_Recv < …"), (80, 24, "MPI_Recv < main (app.c:10) < …"), (200, 50, "MPI_Recv < main (app.c:10) < program")]
    {
        let shown = text(&app, columns, rows);
        let head = shown.lines().find(|line| line.contains("Rank")).unwrap_or_default();
        let rank = shown.lines().find(|line| line.contains("rank 0 ")).unwrap_or_default();
        let before = head.split("where").next().unwrap_or_default().chars().count();
        assert!(before < 12 && head.contains("where"), "ranks have as much room as they need: {shown}");
        assert!(rank[before..].starts_with(most), "{columns}×{rows}\n{shown}");
    }
    let mut cut_off = App::default();
    let mut profile = profile(6.0);
    profile.processes.iter_mut().for_each(|process| process.state = tare_profile::State::CutOff);
    cut_off.read(snapshot_of(&profile, 6.0, Some("stopped by SIGKILL")));
    press(&mut cut_off, "2");
    let shown = text(&cut_off, 80, 24);
    assert!(shown.contains("cut off in MPI_Recv") && shown.contains("  solve<…>(int, double)"), "{shown}");
}

#[test]
fn waiting_is_compensated_as_the_time_beside_it_and_measured_with_it() {
    let reading = || {
        let mut profile = profile(6.0);
        let exchanged = profile.locations[0].nodes[3].exchanged_mut();
        // Of 3.4 s that it waited, 2.4 s were for what measuring cost the other rank, and of the 3.5 s that it took.
        (exchanged.virtual_wait_ticks, exchanged.delay_gain) = (1_000_000_000, 2_400_000_000);
        exchanged.peers = vec![Peer { rank: 1, received: 1, wait: 3_400_000_000, virtual_wait: 1_000_000_000, ..Peer::default() }];
        let about = About { program: "app".into(), at_s: 6.0, took_s: 0.001, ended: Some("ended well".into()), ..About::default() };
        let mut app = App::default();
        app.read(Snapshot::of(&profile, &compensate(&profile, Mode::Parallel), about));
        app
    };
    for (page, row) in [("1", "MPI_Recv"), ("2", "rank 0"), ("3", "rank 1")] {
        let mut app = reading();
        press(&mut app, page);
        let line = |app: &App| text(app, 160, 30).lines().find(|line| line.contains(row) && !line.contains("no event")).map(String::from).expect(row);
        let compensated = line(&app);
        press(&mut app, "c");
        let measured = line(&app);
        let (less, more) = if page == "1" { ("90.", "97.") } else { ("1.0", "3.4") };
        assert!(compensated.contains(less) && !compensated.contains(more), "{page}: {compensated}");
        assert!(measured.contains(more), "{page}: {measured}");
    }
    let document = json(&reading());
    assert!(document.contains("\"waiting_s\":1.0,\"measured_waiting_s\":3.4"), "{document}");
}

#[test]
fn the_cursor_stays_on_its_row_when_the_order_changes() {
    let mut app = going();
    press(&mut app, "/init\n");
    app.press(Key::Down);
    app.press(Key::Escape);
    assert!(chosen(&text(&app, 100, 30)).contains("init"));
    for _ in 0..7 {
        press(&mut app, "s");
        assert!(chosen(&text(&app, 100, 30)).contains("init"), "{}", text(&app, 100, 30));
    }
    press(&mut app, "r");
    assert!(chosen(&text(&app, 100, 30)).contains("init"));
    app.read(snapshot(9.0, None));
    assert!(chosen(&text(&app, 100, 30)).contains("init"));
    app.read(snapshot(9.5, Some("exit status 0")));
    let over = text(&app, 100, 30);
    assert!(over.contains("self, s") && !over.contains("so far"), "{over}");
}

#[test]
fn keys_lead_from_a_region_to_its_path_and_back() {
    let mut app = going();
    press(&mut app, "/recv\n");
    press(&mut app, "\n");
    let shown = text(&app, 100, 30);
    assert!(shown.contains("Call path") && chosen(&shown).contains("MPI_Recv"), "{shown}");
    press(&mut app, "u");
    assert!(chosen(&text(&app, 100, 30)).contains("main"));
    press(&mut app, "\n");
    let folded = text(&app, 100, 30);
    assert!(chosen(&folded).contains("▸ main") && !folded.contains("  init"), "{folded}");
    let waits = |line: &str| line.split_whitespace().filter(|word| *word == "%").count();
    assert_eq!(waits(chosen(&folded)), waits(chosen(&shown)), "what a callee waits is part of its caller's time: {folded}\n{shown}");
    app.press(Key::Right);
    assert!(text(&app, 100, 30).contains("init"));
    press(&mut app, "u");
    press(&mut app, "u");
    assert!(text(&app, 100, 30).contains("self so far"), "from the outermost path to the regions");
    assert_eq!(app.press(Key::Char('q')), Outcome::Quit);
}

#[test]
fn frozen_or_over_it_stands_still() {
    let mut app = going();
    press(&mut app, " ");
    let frozen = text(&app, 100, 30);
    app.read(snapshot(20.0, None));
    assert_eq!(text(&app, 100, 30), frozen);
    press(&mut app, " ");
    app.read(snapshot(20.0, Some("exit status 0")));
    let over = text(&app, 100, 30);
    assert!(over.contains("exit status 0") && !over.contains("running"), "{over}");
    let empty = text(&App::default(), 100, 30);
    assert!(empty.contains("starting") && empty.contains("nothing yet"), "{empty}");
    let mut app = App::default();
    app.read(snapshot_of(&Profile::default(), 20.0, Some("exit status 0")));
    let nothing = text(&app, 100, 30);
    assert!(nothing.contains("nothing was measured"), "{nothing}");
}
