//! Where exceptions and jumps land: what passes then stands with who goes on.

mod common;

use std::fs;
use std::process::Command;

use common::{PROGRAMS, Place, Report, build, text};

/// Runs a command measured; says for each function that goes on how many seconds it says that took, and how many it has without what it called first.
fn landed(place: &Place, mut command: Command) -> Vec<(String, f64, f64)> {
    let output = command.output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let mut told = std::collections::BTreeMap::<String, f64>::new();
    for line in text(&output.stdout).lines() {
        let (name, seconds) = line.split_once(' ').expect("a name and seconds");
        *told.entry(name.to_owned()).or_default() += seconds.parse::<f64>().expect("seconds");
    }
    let left = [("catches", "between"), ("is_come_to", "jumps"), ("is_come_to_with_signals", "jumps_with_signals")];
    let of = |(name, left): (&str, &str)| (name.to_owned(), told[name], inclusive(&report, name) - inclusive(&report, left));
    left.into_iter().map(of).collect()
}

fn inclusive(report: &Report, name: &str) -> f64 {
    let is_it = |node: &&serde_json::Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
    report.nodes().iter().filter(is_it).map(|node| node["inclusive"]["measured_s"].as_f64().expect("seconds")).sum()
}

#[test]
fn what_passes_behind_an_exception_or_a_jump_stands_with_who_goes_on() {
    for (options, verb) in [
        ("-O2", &["profile", "--preset", "all"][..]),
        ("-O2 -D_FORTIFY_SOURCE=2", &["profile", "--preset", "all"]),
        ("-O1 -finstrument-functions", &["run"]),
    ] {
        let place = Place::new();
        build(&place, &format!("g++ {options} -g -o landings {PROGRAMS}/landings.cpp"));
        let mut command = place.tare();
        command.args(verb).args(["-o", "run", "--", "./landings"]);
        for (name, told, has) in landed(&place, command) {
            assert!(has >= 0.99 * told, "{options}: {name} worked for {told} s and has {has}");
        }
    }
}

#[test]
fn a_library_that_is_loaded_for_itself_catches_what_it_throws() {
    let place = Place::new();
    build(&place, &format!("g++ -O2 -g -fPIC -shared -DLIBRARY -o original.so {PROGRAMS}/landings.cpp"));
    let output = place.tare().args(["instrument", "original.so", "--preset", "all", "-o", "liblandings.so"]).output().expect("tare");
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::remove_file(place.path().join("original.so")).expect("the original");
    build(&place, &format!("gcc -O1 -g -o host {PROGRAMS}/landings_host.c"));
    let mut command = place.tare();
    command.args(["run", "-o", "run", "--", "./host"]);
    for (name, told, has) in landed(&place, command) {
        assert!(has >= 0.99 * told, "{name} worked for {told} s and has {has}");
    }
}
