//! Patterns of communication under measurement, on both MPIs: no message and no collective goes without its delay.

mod common;

use common::{BOTH, Mpi, Place, text};
use serde_json::Value;

/// The report of a measured run with these arguments.
fn report(mpi: Mpi, source: &str, arguments: &[&str]) -> Value {
    let place = Place::new();
    let program = mpi.compile(source, place.path());
    let mut line = mpi.line(2, &program);
    line.extend(arguments.iter().map(|argument| (*argument).to_string()));
    let output = place.tare().args(["profile", "--preset", "all", "-o", "run", "--"]).args(&line).output().expect("tare can be started");
    assert!(output.status.success(), "{line:?}: {}", text(&output.stderr));
    let output = place.tare().args(["report", "run", "--format", "json"]).output().expect("tare can be started");
    serde_json::from_slice(&output.stdout).expect("a document")
}

/// Every message and collective of the program carries its delay. How much that is, `tare validate` tells on an idle machine.
fn loses_no_delay(source: &str, arguments: &[&str]) {
    for mpi in BOTH {
        let run = &report(mpi, source, arguments)["run"];
        assert_eq!((&run["unpaired_messages"], &run["uncovered_calls"]), (&Value::from(0), &Value::from(0)), "{}: {run}", mpi.name);
    }
}

macro_rules! patterns {
    ($($name:ident)*) => { $(#[test] fn $name() { loses_no_delay("examples/patterns/patterns.c", &[stringify!($name), "300"]); })* };
}

patterns! { pipeline halo rendezvous trees onesided started neighbours workers }

#[test]
fn halo_in_fortran() {
    loses_no_delay("examples/patterns/halo.f90", &[]);
}

#[test]
fn a_send_that_waits_says_for_whom() {
    for mpi in BOTH {
        let report = report(mpi, "examples/patterns/patterns.c", &["rendezvous", "300"]);
        let waits = report["whole"]["waits"].as_array().expect("places");
        let of_sends = waits.iter().find(|place| place["waiters"][0]["rank"] == 0).unwrap_or_else(|| panic!("{}: {waits:?}", mpi.name));
        assert_eq!(of_sends["awaited"][0]["rank"], 1, "{}: {of_sends}", mpi.name);
        let peers = report["nodes"].as_array().into_iter().flatten().flat_map(|node| node["peers"].as_array()).flatten();
        let held: Vec<_> = peers.filter(|peer| peer["send_wait"]["measured_s"].as_f64() > Some(0.0)).map(|peer| peer["rank"].clone()).collect();
        assert_eq!(held, [Value::from(1)], "{}", mpi.name);
    }
}

/// What rank 0 waits for rank 1 in `MPI_Test`, in virtual time.
fn wait_in_questions(mpi: Mpi, mode: &str) -> f64 {
    let report = report(mpi, "crates/cli/tests/programs/asking.c", &[mode]);
    let regions = report["regions"].as_array().expect("regions");
    let test = regions.iter().position(|region| region["name"] == "MPI_Test").expect("questions");
    let nodes = report["nodes"].as_array().expect("nodes").iter().filter(|node| node["region"] == test);
    let peers: Vec<&Value> = nodes.flat_map(|node| node["peers"].as_array().expect("peers")).collect();
    let [peer] = peers.as_slice() else { panic!("{} {mode}: {peers:?}", mpi.name) };
    assert_eq!(peer["rank"], 1, "{} {mode}: {peer}", mpi.name);
    assert!(peer["received"].as_u64() >= Some(1), "{} {mode}: {peer}", mpi.name);
    peer["wait"]["compensated_s"].as_f64().expect("a time")
}

#[test]
fn who_asks_in_passing_waits_for_nobody() {
    for mpi in BOTH {
        assert!(wait_in_questions(mpi, "waits") > 0.0, "{}: the overhead of the work before it is waited for as well", mpi.name);
        assert!(wait_in_questions(mpi, "passes") == 0.0, "{}", mpi.name);
    }
}

/// Of questions asked in passing most are only counted; each message is received once all the same, as what it was.
#[test]
fn questions_that_pass_are_counted_and_answered() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/passing.c", place.path());
        let profile = |options: &[&str], run: &str| {
            let line = mpi.line(2, &program);
            let words = ["profile", "--preset", "all", "-o", run];
            // Who lets go of the processor at each question asks too seldom.
            let output = place
                .tare()
                .env("OMPI_MCA_mpi_yield_when_idle", "0")
                .args(words)
                .args(options)
                .arg("--")
                .args(&line)
                .output()
                .expect("tare can be started");
            assert!(output.status.success(), "{}: {}", mpi.name, text(&output.stderr));
            let said = text(&output.stdout).lines().find_map(|line| line.strip_prefix("asked ")).expect("how often it has asked").to_string();
            let (asked, sum) = said.split_once(", ").expect("two numbers");
            // The numbers of all messages.
            assert_eq!(sum.trim(), "79800", "{}", mpi.name);
            let report = place.tare().args(["report", run, "--format", "json"]).output().expect("tare can be started");
            let report: Value = serde_json::from_slice(&report.stdout).expect("a document");
            assert_eq!((&report["run"]["unpaired_messages"], &report["run"]["uncovered_calls"]), (&Value::from(0), &Value::from(0)), "{}", mpi.name);
            let regions = report["regions"].as_array().expect("regions");
            let questions = regions.iter().position(|region| region["name"] == "MPI_Testany").expect("questions");
            let nodes: Vec<_> = report["nodes"].as_array().expect("nodes").iter().filter(|node| node["region"] == questions).cloned().collect();
            let calls: u64 = nodes.iter().filter_map(|node| node["calls"].as_u64()).sum();
            assert_eq!(calls.to_string(), asked, "{}: every question is counted", mpi.name);
            let received: u64 =
                nodes.iter().flat_map(|node| node["peers"].as_array().expect("peers")).filter_map(|peer| peer["received"].as_u64()).sum();
            assert_eq!(received, 400, "{}", mpi.name);
            passed(&place.path().join(run)) as f64 / calls as f64
        };
        let (some, none) = (profile(&[], "some"), profile(&["--exact"], "all"));
        assert!(some > 0.1 && none == 0.0, "{}: {some} of all questions passed, and with all of them measured {none}", mpi.name);
    }
}

/// Calls of `MPI_Testany` in a run that were only counted.
fn passed(run: &std::path::Path) -> u64 {
    let files = || std::fs::read_dir(run).expect("a run").map(|entry| entry.expect("an entry").path());
    let ends_with = |end: &'static str| files().filter(move |path| path.extension().is_some_and(|other| other == end));
    let read = |path: std::path::PathBuf| std::fs::read(path).expect("a file of the run");
    let (graphs, descriptions): (Vec<_>, Vec<_>) = (ends_with("graph").map(read).collect(), ends_with("regions").map(read).collect());
    let graphs: Vec<(&str, &[u8])> = graphs.iter().map(|bytes| ("graph", bytes.as_slice())).collect();
    let profile = tare_profile::Profile::read(&graphs, &descriptions.iter().map(Vec::as_slice).collect::<Vec<_>>()).expect("a profile");
    let nodes = profile.locations.iter().flat_map(|location| &location.nodes);
    nodes.filter(|node| profile.region_of(node).name == "MPI_Testany").map(|node| node.off_calls).sum()
}
