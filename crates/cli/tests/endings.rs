//! However a program ends, `tare` ends with its status and leaves a run that can be read.

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{BOTH, Place, Report, compile_c, fits, text};
use serde_json::{Value, json};

fn ending(place: &Place, how: &str) -> (Option<i32>, String) {
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let output = place.profile(&[], &[program.display().to_string(), how.into()]);
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_return_from_main_is_the_status() {
    let place = Place::new();
    let (status, summary) = ending(&place, "return");
    assert_eq!(status, Some(3), "{summary}");
    let report = place.report();
    report.check();
    assert_eq!(report.0["locations"].as_array().map(Vec::len), Some(1));
    let calls: u64 = report
        .nodes()
        .iter()
        .filter(|node| report.0["regions"][node["region"].as_u64().unwrap() as usize]["name"] == "work")
        .map(|node| node["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(calls, 1001);
}

#[test]
fn the_regions_of_a_short_run_add_up_to_its_time() {
    let place = Place::new();
    ending(&place, "return");
    let report = place.report();
    let sum: f64 = report.nodes().iter().map(|node| node["exclusive"]["measured_s"].as_f64().unwrap()).sum();
    let time = report.locations()[0]["measured_s"].as_f64().unwrap();
    assert!((sum - time).abs() <= 1e-9 + 1e-6 * time, "{sum} s in regions, {time} s in all");
}

#[test]
fn exit_and_quick_exit_are_the_status() {
    for (how, wanted) in [("exit", 7), ("quick", 9)] {
        let place = Place::new();
        let (status, summary) = ending(&place, how);
        assert_eq!(status, Some(wanted), "{how}: {summary}");
        let report = place.report();
        report.check();
        assert!(report.has_region("end"), "{how}");
    }
}

#[test]
fn a_signal_is_128_and_its_number_and_leaves_a_run() {
    for (how, signal) in [("abort", libc::SIGABRT), ("segv", libc::SIGSEGV), ("kill", libc::SIGKILL)] {
        let place = Place::new();
        let (status, summary) = ending(&place, how);
        assert_eq!(status, Some(128 + signal), "{how}: {summary}");
        let report = place.report();
        report.check();
        assert!(report.has_region("work") && report.has_region("end"), "{how}");
        let measured = |value: &Value| value["measured_s"].as_f64().expect("seconds");
        let (whole, root) = (measured(&report.locations()[0]), measured(&report.nodes()[0]["inclusive"]));
        assert!(whole >= 0.99 * root, "{how}: the process took {whole} s, and its root {root} s");
    }
}

#[test]
fn a_program_that_crashes_at_once_is_told_as_cut_off_where_it_was_and_its_regions_add_up_to_its_time() {
    for how in ["abort", "segv", "kill"] {
        let place = Place::new();
        ending(&place, how);
        let report = place.report();
        let sum: f64 = report.nodes().iter().map(|node| node["exclusive"]["measured_s"].as_f64().unwrap()).sum();
        let time = report.locations()[0]["measured_s"].as_f64().unwrap();
        assert!((sum - time).abs() <= 1e-9 + 1e-6 * time, "{how}: {sum} s in regions, {time} s in all");
        let places = places(&place);
        let thread = &places["threads"][0];
        assert_eq!((&thread["state"], &thread["path"]), (&json!("cut off"), &json!(["program", "main", "end"])), "{how}");
    }
}

#[test]
fn an_interrupt_leaves_a_run_and_a_summary() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
        // Whoever runs the tests in the background has their interrupts ignored.
        // SAFETY: the action of no other test is changed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        let mut tare = place
            .tare()
            .args(["profile", "-o", "run", "--"])
            .arg(&program)
            .arg("wait")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tare can be started");
        let mut line = String::new();
        BufReader::new(tare.stdout.take().expect("a pipe")).read_line(&mut line).expect("the program speaks");
        assert_eq!(line, "waiting\n");
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(tare.id().cast_signed(), signal) };
        let output = tare.wait_with_output().expect("tare ends");
        assert_eq!(output.status.code(), Some(128 + signal));
        assert!(text(&output.stderr).contains("Report"), "no summary: {}", text(&output.stderr));
        place.report().check();
    }
}

#[test]
fn ranks_that_are_killed_leave_what_they_measured() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/killed.c", place.path());
        let output = place.profile(&[], &mpi.line(2, &program));
        let said = text(&output.stderr);
        let named = said.lines().find(|line| line.trim_start().starts_with("Cut off")).unwrap_or_else(|| panic!("{}: {said}", mpi.name));
        // What starts the ranks may end the other one before it is done.
        assert!(["rank 1 ", "ranks 0–1 "].iter().any(|who| named.contains(who)) && named.contains("did not come to"), "{}: {named}", mpi.name);
        // The sentence goes on in further lines.
        let all = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!all.contains("rank 0 ended first"), "{}: {said}", mpi.name);
        assert!(!output.status.success(), "{}", mpi.name);
        let report = place.report();
        report.check();
        assert_eq!(report.locations().len(), 2, "{}: {}", mpi.name, text(&output.stderr));
        assert_eq!(report.calls(1, "step"), 500, "{}", mpi.name);
        assert_eq!(report.calls(1, "MPI_Barrier"), 1, "{}", mpi.name);
    }
}

/// Seconds on a rank in a region, from the report.
fn time_in(report: &Report, rank: u64, name: &str) -> f64 {
    let of = |node: &&Value| {
        report.0["locations"][node["location"].as_u64().unwrap() as usize]["rank"] == rank
            && report.0["regions"][node["region"].as_u64().unwrap() as usize]["name"] == name
    };
    report.nodes().iter().filter(of).map(|node| node["inclusive"]["measured_s"].as_f64().unwrap()).sum()
}

fn places(place: &Place) -> Value {
    let output = place.tare().args(["query", "run", "where", "--format", "json"]).output().expect("tare can be started");
    fits(place, "query", &text(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn calls_that_were_open_at_the_end_are_in_the_figures() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/hanging.c", place.path());
        let mut line = mpi.line(2, &program);
        line.push("2".into());
        let output = place.profile(&["--preset", "all"], &line);
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("MPI_Recv in ask"), "{}: {said}", mpi.name);
        assert!(said.contains("rank 0 was still in it when the run was cut off, for "), "{}: {said}", mpi.name);
        let report = place.report();
        report.check();
        // Rank 1 sleeps in `ponder`, outside of MPI, while rank 0 waits.
        for (rank, region) in [(0, "MPI_Recv"), (0, "ask"), (0, "main"), (1, "ponder")] {
            let seconds = time_in(&report, rank, region);
            assert!((1.5..30.0).contains(&seconds), "{}: {seconds} s in {region}", mpi.name);
        }
        let places = places(&place);
        let of_rank = |rank: u64| places["threads"].as_array().expect("threads").iter().find(|thread| thread["rank"] == rank).expect("the rank");
        assert_eq!((&of_rank(0)["state"], &of_rank(0)["path"]), (&json!("cut off"), &json!(["program", "main", "ask", "MPI_Recv"])), "{}", mpi.name);
        assert_eq!(of_rank(1)["path"][1], "main", "{}", mpi.name);
    }
}

#[test]
fn who_is_killed_in_finalize_was_cut_off_in_it() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/killed_in_finalize.c", place.path());
        let output = place.profile(&["--preset", "all"], &mpi.line(2, &program));
        let said = text(&output.stderr);
        let named = said.lines().find(|line| line.trim_start().starts_with("Cut off")).unwrap_or_else(|| panic!("{}: {said}", mpi.name));
        assert!(named.contains("rank 1") || named.contains("ranks 0"), "{}: {named}", mpi.name);
        let report = place.report();
        report.check();
        let findings = report.0["whole"]["findings"].as_array().expect("findings");
        let cut_off = findings.iter().find(|finding| finding["id"] == "F-cut-off").unwrap_or_else(|| panic!("{}: {findings:?}", mpi.name));
        assert!(cut_off["at"].as_str().is_some_and(|at| at.starts_with("MPI_Finalize in main")), "{}: {cut_off}", mpi.name);
        assert!(report.0["whole"]["classes"]["open_s"].as_f64() >= Some(0.4), "{}: {}", mpi.name, report.0["whole"]["classes"]);
    }
}

#[test]
fn a_job_that_is_stopped_with_its_launcher_counts_up_to_its_end() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/hanging.c", place.path());
        let mut line = mpi.line(2, &program);
        line.push("60".into());
        let mut tare = place.tare();
        tare.args(["profile", "--preset", "all", "-o", "run", "--"]).args(line).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = tare.process_group(0).spawn().expect("tare can be started");
        let begun = Instant::now();
        let is_inside = || {
            let output = place.tare().args(["query", "run", "where", "--format", "json"]).output().expect("tare can be started");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            answer["threads"].as_array().is_some_and(|threads| threads.iter().any(|thread| thread["path"][3] == "MPI_Recv"))
        };
        while !is_inside() && begun.elapsed() < Duration::from_secs(50) {
            std::thread::sleep(Duration::from_millis(50));
        }
        // SAFETY: the group is that of our child, which has not been waited for.
        unsafe { libc::kill(-child.id().cast_signed(), libc::SIGTERM) };
        child.wait().expect("tare ends");
        let after = places(&place);
        let of_rank_0 = after["threads"].as_array().expect("threads").iter().find(|thread| thread["rank"] == 0).expect("the rank");
        // Processes that notice that their launcher is gone before they are ended themselves exit, and close what is open.
        assert!(of_rank_0["state"] == "cut off" && of_rank_0["path"][3] == "MPI_Recv", "{}: {after}", mpi.name);
    }
}

#[test]
fn what_is_open_when_another_thread_ends_the_process_counts_up_to_its_end() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/ended_by_thread.c", place.path(), &["-pthread", "-O1"]).display().to_string();
    let output = place.profile(&["--preset", "all"], &[program]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let seconds = |name: &str| {
        let is_it = |node: &&Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
        report.nodes().iter().filter(is_it).map(|node| node["inclusive"]["measured_s"].as_f64().expect("a time")).sum::<f64>()
    };
    // It begins a little later, or much, where its thread waits for a processor.
    assert!(seconds("sit") > 0.1 * seconds("busy"), "{} s in sit, {} s in busy", seconds("sit"), seconds("busy"));
}

#[test]
fn probes_have_room_where_the_program_has_little() {
    let place = Place::new();
    let line = [compile_c("crates/cli/tests/programs/small_stack.c", place.path(), &["-O1", "-pthread"]).display().to_string()];
    let output = place.profile(&["--preset", "all"], &line);
    assert_eq!(text(&output.stdout), text(&place.plain(&line).stdout), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "3000 handled, 3000 run, touched 0 0 0\n");
    let report = place.report();
    report.check();
    let calls = |name: &str| {
        let is_it = |node: &&Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
        report.nodes().iter().filter(is_it).map(|node| node["calls"].as_u64().expect("a number")).sum::<u64>()
    };
    assert_eq!((calls("middle"), calls("inner")), (9000, 18000));
}

#[test]
fn programs_survive_that_run_out_of_the_stack_and_leave() {
    let place = Place::new();
    for level in ["-O1", "-O2"] {
        let line = [compile_c("crates/cli/tests/programs/overflow.c", place.path(), &[level]).display().to_string()];
        let output = place.profile(&["--preset", "all"], &line);
        assert_eq!(text(&output.stdout), "5 caught\n", "{level}: {}", text(&output.stderr));
    }
}

#[test]
fn a_report_of_a_run_that_goes_on_counts_what_is_open() {
    let place = Place::new();
    let program = BOTH[0].compile("crates/cli/tests/programs/hanging.c", place.path());
    let mut line = BOTH[0].line(2, &program);
    line.push("60".into());
    let mut tare = place.tare();
    tare.args(["profile", "--preset", "all", "-o", "run", "--"]).args(line).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = tare.spawn().expect("tare can be started");
    let begun = Instant::now();
    let since = |thread: &Value| thread["since_s"].as_f64().filter(|_| thread["path"][3] == "MPI_Recv").unwrap_or(0.0);
    let waited = loop {
        std::thread::sleep(Duration::from_millis(50));
        let output = place.tare().args(["query", "run", "where", "--format", "json"]).output().expect("tare can be started");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let waited = answer["threads"].as_array().into_iter().flatten().map(since).fold(0.0, f64::max);
        if waited > 1.0 || begun.elapsed() > Duration::from_secs(50) {
            break waited;
        }
    };
    let report = place.report();
    let seconds = time_in(&report, 0, "MPI_Recv");
    assert!(report.0["locations"][0]["queued_s"].is_f64(), "the kernel says of a thread that runs how long it had no processor");
    // SAFETY: the process is our child and has not been waited for; it passes the signal on.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    child.wait().expect("tare ends");
    assert!(waited > 1.0, "rank 0 was not seen in MPI_Recv");
    assert!(seconds >= waited, "{seconds} s in the report, {waited} s in the answer before it");
}
