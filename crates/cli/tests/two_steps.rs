//! `tare instrument` and `tare run`: the way for programs that a script hides.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{BOTH, OPEN_MPI, Place, compile_c, text};

#[test]
fn a_script_may_start_an_instrumented_program() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("examples/pi/pi.c", place.path());
        let done = place.tare().arg("instrument").arg(&program).args(["-o", "pi.tare", "--format", "json"]).output().expect("tare can be started");
        assert!(done.status.success(), "{}", text(&done.stderr));
        let document: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(document["schema"], 1);
        assert!(document["functions"]["instrumented"].as_u64() >= Some(3), "{document}");
        let script = format!("#!/bin/sh\nexec mpirun.{} -n 2 ./pi.tare 2e-3\n", mpi.name);
        fs::write(place.path().join("job.sh"), script).expect("a writable directory");
        fs::set_permissions(place.path().join("job.sh"), fs::Permissions::from_mode(0o755)).expect("our own file");
        let plain = place.plain(&["./job.sh".into()]);
        assert!(text(&plain.stdout).starts_with("pi is 3.1"), "an instrumented program runs without us: {}", text(&plain.stderr));
        let output = place.tare().args(["run", "-o", "run", "--mpi", mpi.name, "--", "./job.sh"]).output().expect("tare can be started");
        assert_eq!(text(&output.stdout), text(&plain.stdout), "{}", text(&output.stderr));
        let report = place.report();
        report.check();
        assert_eq!(report.calls(1, "throw_dart"), report.calls(0, "fill_packet") * 8000);
        assert_eq!(report.calls(0, "MPI_Init"), 1);
    }
}

#[test]
fn run_times_mpi_in_a_program_that_was_never_touched() {
    let place = Place::new();
    let program = OPEN_MPI.compile("examples/pi/pi.c", place.path());
    let mut line = OPEN_MPI.line(2, &program);
    line.push("2e-3".into());
    let output = place.tare().args(["run", "-o", "run", "--"]).args(&line).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    assert!(report.calls(0, "MPI_Recv") > 10);
    assert!(!report.has_region("throw_dart"));
}

#[test]
fn a_failed_instrumentation_writes_nothing() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let output = place.tare().arg("instrument").arg(&program).args(["-o", "no/such/place"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(73), "{}", text(&output.stderr));
}

#[test]
fn the_original_is_never_overwritten_and_a_copy_not_instrumented_again() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let before = fs::read(&program).expect("the program");
    let instrument = |image: &str, out: &str| place.tare().args(["instrument", image, "-o", out]).output().expect("tare can be started");
    let output = instrument("./endings", "endings");
    assert_eq!(output.status.code(), Some(73), "{}", text(&output.stderr));
    assert!(fs::read(&program).expect("the program") == before);
    assert!(instrument("./endings", "endings.tare").status.success());
    for refused in [instrument("./endings.tare", "again"), place.profile(&[], &["./endings.tare".into()])] {
        assert_eq!(refused.status.code(), Some(65));
        assert!(text(&refused.stderr).contains("an instrumented copy already"), "{}", text(&refused.stderr));
    }
}

/// Calls of regions, by kind and name, of every path together.
fn calls_of(report: &serde_json::Value) -> std::collections::BTreeMap<(String, String), u64> {
    let mut calls = std::collections::BTreeMap::new();
    for node in report["nodes"].as_array().expect("nodes") {
        let region = &report["regions"][usize::try_from(node["region"].as_u64().expect("an index")).expect("small")];
        let name = |field: &str| region[field].as_str().expect("a text").to_owned();
        *calls.entry((name("kind"), name("name"))).or_default() += node["calls"].as_u64().expect("a number");
    }
    calls
}

#[test]
fn loops_iterations_and_call_sites_are_counted_to_the_last_one() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/counted.c", place.path(), &[]);
    let levels = ["counted", "-o", "copy", "--preset", "all", "--levels", "functions,loops,iterations,callsites"];
    let done = place.tare().arg("instrument").args(levels).output().expect("tare can be started");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let output = place.tare().args(["run", "-o", "run", "--", "./copy"]).output().expect("tare can be started");
    assert_eq!(text(&output.stdout), "240 7\n", "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let calls = calls_of(&report.0);
    let count = |kind: &str, name: &str| calls.get(&(kind.to_owned(), name.to_owned())).copied().unwrap_or(0);
    let nest = ["loop 1 of nest", "loop 2 of nest"];
    assert_eq!(nest.map(|name| count("loop", name)), [3, 12], "{calls:?}");
    assert_eq!(nest.map(|name| count("iteration", &format!("iteration of {name}"))), [12, 60], "{calls:?}");
    assert_eq!((count("call site", "call 1 of leaf in nest"), count("function", "leaf")), (60, 60), "{calls:?}");
    // `longjmp` leaves the loop, the call and the function in the third round.
    assert_eq!((count("loop", "loop 1 of away"), count("iteration", "iteration of loop 1 of away")), (1, 3), "{calls:?}");
    assert_eq!((count("call site", "call 1 of jump in away"), count("function", "jump")), (3, 3), "{calls:?}");
}

/// By its stack pointer the runtime knows again which region ends: arguments that were pushed for a call are off the stack where its
/// exception lands.
#[test]
fn calls_with_pushed_arguments_end_where_their_exceptions_land() {
    let place = Place::new();
    compile_c("crates/rewrite/tests/programs/pushed.cpp", place.path(), &["-lstdc++"]);
    let levels = ["pushed", "-o", "copy", "--preset", "all", "--levels", "functions,loops,iterations,callsites"];
    let done = place.tare().arg("instrument").args(levels).output().expect("tare can be started");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let output = place.tare().args(["run", "-o", "run", "--", "./copy"]).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report().0;
    let nodes = report["nodes"].as_array().expect("nodes");
    let region = |node: &serde_json::Value| &report["regions"][usize::try_from(node["region"].as_u64().expect("an index")).expect("small")];
    assert!(nodes.iter().filter(|node| region(node)["kind"] == "call site").count() > 5);
    assert_eq!(report["locations"][0]["lost"], 0, "an exit has met no entry");
}
