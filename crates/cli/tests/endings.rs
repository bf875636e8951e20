//! However a program ends, `tare` ends with its status and leaves a run that can be read.

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use common::{BOTH, Place, compile_c, text};

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
    }
}

#[test]
fn an_interrupt_leaves_a_run_and_a_summary() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
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
        assert!(named.contains("rank 1") && named.contains("did not come to"), "{}: {named}", mpi.name);
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
