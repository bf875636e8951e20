//! Ranks that share a processor: that is said, and is no fault of the program.

mod common;

use common::{BOTH, Place, text};
use serde_json::Value;

/// What the report finds, once two ranks had to share processor 0.
fn findings(place: &Place, mpi: common::Mpi, slow: &str) -> (Vec<Value>, Vec<Value>, String) {
    let mut line = vec!["taskset".into(), "-c".into(), "0".into()];
    line.extend(mpi.line(2, &mpi.compile("crates/cli/tests/programs/shared.c", place.path())));
    if mpi.name == "openmpi" {
        line.splice(4..4, ["--bind-to".to_string(), "none".to_string()]);
    }
    line.push(slow.into());
    let output = place.tare().args(["profile", "-o", slow, "--"]).args(&line).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output_of = place.tare().args(["report", slow, "--format", "json"]).output().expect("tare can be started");
    common::fits(place, "report", &text(&output_of.stdout));
    let report: Value = serde_json::from_slice(&output_of.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    (list(&report["locations"]), list(&report["whole"]["findings"]), text(&output.stderr))
}

#[test]
fn ranks_that_share_a_processor_are_told_so() {
    for mpi in BOTH {
        let place = Place::new();
        let (locations, found, summary) = findings(&place, mpi, "1");
        for location in &locations {
            let queued = |field: &str| location[field].as_f64().unwrap_or_else(|| panic!("{}: {location}", mpi.name));
            assert!(queued("queued_s") > queued("queued_in_calls_s"), "{}: {location}", mpi.name);
            assert_eq!(location["processors"], 1, "{}", mpi.name);
        }
        let processors = found.iter().find(|finding| finding["id"] == "F-no-processor").unwrap_or_else(|| panic!("{}: {found:?}", mpi.name));
        let what = processors["what"].as_str().expect("words");
        assert!(what.contains("2 threads share a processor"), "{}: {what}", mpi.name);
        assert!(summary.contains("  Processors   rank "), "{}: {summary}", mpi.name);
    }
}

/// Runs that are tried where a machine was so busy that what the ranks had no processor for explains all they waited for.
const TRIES: usize = 3;

#[test]
fn work_that_differs_is_found_on_a_shared_processor_too() {
    for mpi in BOTH {
        let late = |_| {
            let (_, found, _) = findings(&Place::new(), mpi, "4");
            found.into_iter().find(|finding| finding["id"] == "F-wait-late-arrival")
        };
        let late = (0..TRIES).find_map(late).unwrap_or_else(|| panic!("{}: it is not told", mpi.name));
        let what = late["what"].as_str().expect("words");
        assert!(what.contains("rank 1 waits until rank 0 arrives") && what.contains("longer in work"), "{}: {what}", mpi.name);
    }
}

#[test]
fn a_program_that_sleeps_is_told_so() {
    let place = Place::new();
    let asleep = |run: &str, line: &[String]| {
        let output = place.tare().args(["profile", "-o", run, "--preset", "all", "--"]).args(line).output().expect("tare can be started");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let output = place.tare().args(["report", run, "--format", "json"]).output().expect("tare can be started");
        common::fits(&place, "report", &text(&output.stdout));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = report["whole"]["findings"].as_array().expect("a list");
        let asleep = found.iter().find(|finding| finding["id"] == "F-asleep").unwrap_or_else(|| panic!("{run}: {found:?}"));
        asleep["what"].as_str().expect("words").to_string()
    };
    let alone = common::compile_c("crates/cli/tests/programs/sleeps.c", place.path(), &["-DALONE"]);
    assert!(asleep("alone", &[alone.display().to_string()]).starts_with("the program waits for files, timers or other processes"));
    for mpi in BOTH {
        let what = asleep(mpi.name, &mpi.line(2, &mpi.compile("crates/cli/tests/programs/sleeps.c", place.path())));
        assert!(what.starts_with("rank 1 waits for files, timers or other processes"), "{}: {what}", mpi.name);
    }
}
