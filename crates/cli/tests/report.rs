//! `tare report` and `tare view` on a run: every format, and what is wrong with a command line.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{BOTH, Place, compile_c, text};
use serde_json::Value;

const DOCUMENTS: [(&str, &str); 10] = [
    ("text", "Region"),
    ("json", "{\"schema\":1"),
    ("html", "<!DOCTYPE html>"),
    ("collapsed", "program;main"),
    ("speedscope", "speedscope.app/file-format-schema"),
    ("callgrind", "# callgrind format"),
    ("firefox", "\"threads\":["),
    ("prometheus", "# TYPE tare_run_info gauge"),
    ("csv", "process,host,rank"),
    ("cube", "CUBEX.INDEX"),
];

#[test]
fn a_run_is_written_in_every_format_and_seen_as_a_page() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    place.profile(&[], &[program.display().to_string(), "return".into()]);
    let report = |words: &[&str]| place.tare().args(["report", "run"]).args(words).output().expect("tare can be started");
    for (format, begin) in DOCUMENTS {
        let output = report(&["--format", format]);
        assert!(output.status.success(), "{format}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(begin), "{format}");
        let file = format!("out.{format}");
        assert!(report(&["--format", format, "-o", &file]).status.success());
        assert!(!std::fs::read(place.path().join(&file)).expect("the file").is_empty());
    }
    let page = std::fs::read_to_string(place.path().join("out.html")).expect("the page");
    assert!(page.contains("endings.c"), "regions have their place");
    assert!(!report(&["--format", "pprof"]).stdout.is_empty());
    // Several files want a directory.
    let output = report(&["--format", "tau"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("-o DIR"));
    assert!(report(&["--format", "tau", "-o", "profiles"]).status.success());
    assert!(place.path().join("profiles/profile.0.0.0").is_file());
    // There is nothing to be written of each rank, and nothing is.
    let output = report(&["--format", "callgrind", "--ranks", "all", "-o", "parts"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("run has no ranks"), "{}", text(&output.stderr));
    assert!(!place.path().join("parts").exists());
    // What an earlier export left is not read as part of this one; what another tool left stays, and is alone there.
    let profile = |rank: u32| place.path().join(format!("profiles/profile.{rank}.0.0"));
    std::fs::copy(profile(0), profile(7)).expect("room");
    assert!(report(&["--format", "tau", "-o", "profiles"]).status.success());
    assert!(profile(0).is_file() && !profile(7).exists());
    std::fs::write(profile(7), "1 templated_functions_MULTI_TIME\n# Name Calls\n").expect("room");
    let output = report(&["--format", "tau", "-o", "profiles"]);
    assert_eq!(output.status.code(), Some(73));
    assert!(text(&output.stderr).contains("profiles/profile.7.0.0"), "{}", text(&output.stderr));
    assert!(profile(7).is_file());
    let output = report(&["--format", "csv", "-o", "nowhere/out.csv"]);
    assert_eq!(output.status.code(), Some(73), "{}", text(&output.stderr));
    // Without a display the page is written, and its place said.
    let output = place.tare().args(["view", "run"]).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("tare can be started");
    assert!(output.status.success());
    let address = text(&output.stdout);
    let file = address.trim().strip_prefix("file://").expect("an address");
    assert!(std::path::Path::new(file).ends_with("run/report.html") && std::path::Path::new(file).is_file());
    assert!(text(&output.stderr).contains("scp "));
    // Where a page of somebody else's stands, it stays; one of ours is replaced.
    std::fs::remove_file(profile(7)).expect("it is there");
    for (words, page) in [(&["profiles"][..], "profiles/report.html"), (&["run"], "run/report.html"), (&["run", "-o", "notes.html"], "notes.html")] {
        let view = || {
            let mut line = place.tare();
            line.arg("view").args(words).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("tare can be started")
        };
        let page = place.path().join(page);
        std::fs::write(&page, "notes").expect("room");
        let output = view();
        assert_eq!(output.status.code(), Some(73), "{words:?}");
        assert!(text(&output.stderr).contains("name another place with -o FILE"), "{}", text(&output.stderr));
        assert_eq!(std::fs::read(&page).expect("it is there"), b"notes");
        std::fs::remove_file(&page).expect("it is there");
        assert!(view().status.success() && view().status.success());
    }
}

#[test]
fn ranks_have_documents_of_their_own() {
    for mpi in BOTH {
        let place = Place::new();
        let mut line = mpi.line(2, &mpi.compile("examples/pi/pi.c", place.path()));
        line.push("4e-3".into());
        assert!(place.profile(&[], &line).status.success());
        let report = |words: &[&str]| place.tare().args(["report", "run"]).args(words).output().expect("tare can be started");
        let json = |file: &str| -> Value { serde_json::from_slice(&std::fs::read(place.path().join(file)).expect("the file")).expect("JSON") };
        assert!(report(&["--format", "json", "--ranks", "0-1", "-o", "each"]).status.success());
        let all = place.report().0;
        for rank in [0, 1] {
            let one = json(&format!("each/rank-0000{rank}.json"));
            assert_eq!(one["run"]["ranks"], 1);
            let locations = one["locations"].as_array().expect("locations");
            assert!(locations.iter().all(|location| location["rank"] == rank));
            let same = all["locations"].as_array().expect("locations").iter().find(|location| location["rank"] == rank).expect("the rank");
            assert_eq!(&locations[0], same, "a rank is compensated as among all");
        }
        assert!(report(&["--format", "tau", "--ranks", "1", "-o", "profiles"]).status.success());
        assert!(place.path().join("profiles/profile.1.0.0").is_file() && !place.path().join("profiles/profile.0.0.0").exists());
        // KCachegrind takes these for parts of one run.
        assert!(report(&["--format", "callgrind", "--ranks", "all", "-o", "parts"]).status.success());
        let part = std::fs::read_to_string(place.path().join("parts/callgrind.out.1.00001")).expect("the file");
        assert!(part.contains(" 4e-3, rank 1, compensated (parallel)\n"), "{part}");
        for (words, status) in [(&["--ranks", "2", "-o", "each"][..], 65), (&["--ranks", "1-0", "-o", "each"], 64), (&["--ranks", "all"], 64)] {
            assert_eq!(report(words).status.code(), Some(status), "{words:?}");
        }
        // A page that carries two call paths has the others folded.
        assert!(report(&["--format", "html", "--limit", "2", "-o", "small.html"]).status.success());
        assert!(report(&["--format", "html", "-o", "whole.html"]).status.success());
    }
}

/// A profile of TAU that comes through a pipe, later than a second.
#[test]
fn what_takes_long_is_said_on_stderr() {
    let place = Place::new();
    let profiles = place.path().join("profiles");
    std::fs::create_dir(&profiles).expect("a writable directory");
    let file = profiles.join("profile.0.0.0");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
    let child = place.tare().args(["query", "profiles", "time"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tare can be started");
    let mut pipe = std::fs::OpenOptions::new().write(true).open(&file).expect("it is read");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let profile =
        "1 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls\n\"main\" 1 0 100 100 0 GROUP=\"TAU_DEFAULT\"\n0 aggregates\n";
    pipe.write_all(profile.as_bytes()).expect("a reader");
    drop(pipe);
    let output = child.wait_with_output().expect("tare ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("tare: reading profiles took "), "{}", text(&output.stderr));
}

/// The tool writes graphs by the drawing of their format, not by our code.
#[test]
fn a_run_that_no_machine_at_hand_could_have_is_made_up_and_read() {
    let place = Place::new();
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/large_run.py");
    let output = place.command("python3").args([tool, "run", "--regions", "500", "--ranks", "1200"]).output().expect("python3");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    assert_eq!(report.locations().len(), 1200);
    assert_eq!(report.calls(1199, "MPI_Allreduce"), 1000);
    let said = |words: &[&str]| text(&place.tare().args(words).output().expect("tare can be started").stdout);
    let summary = said(&["report", "run"]);
    assert!(summary.contains("1200 ranks × 1 thread · 19 nodes") && summary.contains("MPI_Waitall in mesh::exchange()"), "{summary}");
    assert!(said(&["query", "run", "waiting by rank top 1"]).contains("(1199 more; they are in the sum of all)"));
    assert!(said(&["report", "run", "--format", "html"]).contains("1200 ranks"));
}
