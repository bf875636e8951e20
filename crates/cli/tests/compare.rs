//! `tare compare`: what got slower, and how the command ends.

mod common;

use std::fs;
use std::mem::offset_of;
use std::process::Output;

use common::{Place, compile_c, fits, text};
use serde_json::Value;
use tare_format::graph::{HEADER_AREA, Header, LocationRecord, NODES, Node};

/// Runs that are measured of one program, with what it is told to do.
fn measured(place: &Place, runs: &[(&str, &str)]) {
    let program = compile_c("crates/cli/tests/programs/work.c", place.path(), &[]);
    for (run, rounds) in runs {
        let output = place.tare().args(["profile", "-o", run, "--"]).arg(&program).args(["400", rounds]).output().expect("tare can be started");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// A run that took so many times as long in all of its regions, made of another one: how two that are measured differ, other programs have a
/// say in.
fn slowed(place: &Place, run: &str, times: u64, slower: &str) {
    let [from, to] = [run, slower].map(|run| place.path().join(run));
    fs::create_dir(&to).expect("room");
    for file in fs::read_dir(from).expect("the run").flatten() {
        let mut bytes = fs::read(file.path()).expect("a file of the run");
        if file.path().extension().is_some_and(|ending| ending == "graph") {
            slow_down(&mut bytes, times);
        }
        fs::write(to.join(file.file_name()), bytes).expect("room");
    }
}

fn slow_down(graph: &mut [u8], times: u64) {
    let header = Header::from_bytes(graph).expect("a header");
    let arena = HEADER_AREA as usize;
    let location = LocationRecord::from_bytes(&graph[arena..]).expect("a location");
    let mut set = |at: usize, value: u64| graph[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let since = |begin: u64, moment: u64| begin + times * moment.saturating_sub(begin);
    let later = |moment: u64| since(header.start_ticks, moment);
    set(offset_of!(Header, last_ns), since(header.start_ns, header.last_ns));
    set(offset_of!(Header, last_ticks), later(header.last_ticks));
    set(offset_of!(Header, span_start), later(header.span_start));
    set(offset_of!(Header, span_end), later(header.span_end));
    set(arena + offset_of!(LocationRecord, start_ticks), later(location.start_ticks));
    set(arena + offset_of!(LocationRecord, end_ticks), later(location.end_ticks));
    for at in (0..location.nodes as usize).map(|index| arena + NODES as usize + index * Node::SIZE) {
        let node = Node::from_bytes(&graph[at..]).expect("a node");
        graph[at + offset_of!(Node, exclusive)..][..8].copy_from_slice(&(node.exclusive * times as i64).to_le_bytes());
        graph[at + offset_of!(Node, inclusive)..][..8].copy_from_slice(&(node.inclusive * times).to_le_bytes());
    }
}

fn compare(place: &Place, words: &[&str]) -> Output {
    place.tare().arg("compare").args(words).output().expect("tare can be started")
}

#[test]
fn single_runs_can_only_look_slower_and_end_with_two() {
    let place = Place::new();
    measured(&place, &[("old", "400")]);
    slowed(&place, "old", 4, "new");
    let output = compare(&place, &["old", "new"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}{}", text(&output.stderr));
    let row = said.lines().find(|line| line.trim_start().starts_with("growing")).expect("a row");
    assert!(row.contains("slower? "), "{said}");
    assert!(said.contains("the run looks slower") && said.contains("Noise between runs is not known"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    // The other way round it looks faster, which is no failure.
    let output = compare(&place, &["new", "old", "--format", "json"]);
    fits(&place, "compare", &text(&output.stdout));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["slower"], false, "a single run each tells no noise");
    assert_eq!((document["looks_slower"].as_bool(), output.status.code()), (Some(false), Some(0)));
    let region = document["regions"].as_array().expect("regions").iter().find(|region| region["name"] == "growing").expect("the region");
    assert_eq!(region["changes"][0]["verdict"], "looks faster");
    assert_eq!(region["sides"][0]["calls"], 1);
    let fraction = region["changes"][0]["fraction"].as_f64().expect("a fraction");
    assert!((-0.76..-0.74).contains(&fraction), "a quarter of the time is {fraction} less");
    assert_eq!(compare(&place, &["old", "old"]).status.code(), Some(0), "a run does not differ from itself");
    let output = compare(&place, &["old", "new", "--inclusive", "--format", "json"]);
    fits(&place, "compare", &text(&output.stdout));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let main = document["regions"].as_array().expect("regions").iter().find(|region| region["name"] == "main").expect("the main program");
    assert_eq!(main["changes"][0]["verdict"], "looks slower", "what it calls is");
}

#[test]
fn what_got_slower_beyond_the_noise_is_named_and_ends_with_one() {
    let place = Place::new();
    measured(&place, &[("a", "400")]);
    ["b", "c"].into_iter().for_each(|slower| slowed(&place, "a", 8, slower));
    // A run repeats itself without noise.
    let output = compare(&place, &["a", "a", "a", "--with", "b", "b"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the run is slower, ") && said.contains("a, a, a:") && !said.contains("Noise between runs is not known"), "{said}");
    let output = compare(&place, &["a", "b", "c"]);
    let said = text(&output.stdout);
    let row = said.lines().find(|line| line.trim_start().starts_with("growing")).expect("a row");
    assert_eq!(row.matches("slower? ").count(), 2, "{said}");
    assert_eq!(output.status.code(), Some(2), "three sides of one run each");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let place = Place::new();
    let output = compare(&place, &["nowhere"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("two runs"));
    assert_eq!(compare(&place, &["nowhere", "nowhere"]).status.code(), Some(66));
    assert_eq!(compare(&place, &["--least", "much", "a", "b"]).status.code(), Some(64));
}

#[test]
fn a_run_that_failed_is_no_faster_than_one_that_did_not() {
    let place = Place::new();
    measured(&place, &[("whole", "100")]);
    let program = place.path().join("work");
    for (run, status, said) in [("failed", "7", "failed with exit status 7"), ("dead", "-1", "dead was stopped by SIGABRT")] {
        let output = place.tare().args(["profile", "-o", run, "--"]).arg(&program).args(["4", "1", status]).output().expect("tare can be started");
        assert!(!output.status.success());
        let output = compare(&place, &["whole", run]);
        assert_eq!(output.status.code(), Some(65), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
    assert_eq!(compare(&place, &["failed", "failed"]).status.code(), Some(0), "both ended alike");
    let said = place.tare().args(["query", "dead", "time"]).output().expect("tare can be started");
    assert!(!text(&said.stdout).contains("still run"), "{}", text(&said.stdout));
}

#[test]
fn what_other_tools_measured_is_read_and_compared() {
    let place = Place::new();
    measured(&place, &[("own", "400")]);
    let report = |words: &[&str]| place.tare().arg("report").args(words).output().expect("tare can be started");
    assert!(report(&["own", "--format", "tau", "-o", "profiles"]).status.success());
    assert!(report(&["own", "--format", "cube", "-o", "own.cubex"]).status.success());
    for foreign in ["profiles", "own.cubex"] {
        let said = text(&report(&[foreign]).stdout);
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("measured by") && words.contains("an export, in which the overhead is taken off"), "{said}");
        let compensates = |line: &str| line.trim_start().starts_with("Process,") && line.contains("parallel");
        assert!(!said.lines().any(compensates) && said.lines().any(|line| line.trim_start().starts_with("growing")), "{said}");
        let output = report(&[foreign, "--format", "json"]);
        fits(&place, "report", &text(&output.stdout));
        // Documents say what the text says, and the command is that of the run.
        let read: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(read["run"]["compensate"], "parallel", "{foreign}");
        assert!(!read["run"]["command"].to_string().contains("compensated") && read["run"]["command"][0].is_string(), "{}", read["run"]);
        assert!(text(&report(&[foreign, "--format", "prometheus"]).stdout).contains("compensate=\"parallel\""), "{foreign}");
        assert!(report(&[foreign, "--format", "html"]).status.success());
        let frame = text(&place.tare().args(["top", foreign, "--once"]).output().expect("tare can be started").stdout);
        assert!(frame.contains("measured by") && frame.contains("growing") && !frame.contains("running"), "{frame}");
        // It is the same run: nothing differs but roundings.
        let output = compare(&place, &["own", foreign, "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let region = document["regions"].as_array().expect("regions").iter().find(|region| region["name"] == "growing").expect("growing");
        let value = |side: usize| region["sides"][side]["runs"][0]["value_s"].as_f64().expect("a time");
        assert!((value(0) - value(1)).abs() <= 2e-9, "{foreign}: {region}");
        assert_eq!(region["changes"][0]["verdict"], "same");
        assert!(document["time"]["changes"][0].is_null(), "spans that begin and end elsewhere are not compared: {}", document["time"]);
        assert!(document["sides"][1]["runs"][0]["measured_by"].is_string());
        assert!(region["sides"][0]["runs"][0]["low_s"].is_number() && region["sides"][1]["runs"][0]["low_s"].is_null(), "{region}");
        // It is asked as a run is; what it does not hold is no nought.
        let ask = |words: &[&str]| place.tare().arg("query").arg(foreign).args(words).output().expect("tare can be started");
        let output = ask(&["time and count of growing", "--format", "json"]);
        fits(&place, "query", &text(&output.stdout));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        assert_eq!(answer["compensate"], "parallel", "{foreign}");
        let time = &answer["rows"][0]["values"]["time"];
        assert!(time["value_s"].is_number() && time["low_s"].is_null() && time["high_s"].is_null(), "{answer}");
        let said = text(&ask(&["self", "by", "region"]).stdout);
        assert!(said.contains("growing") && said.contains("as it was exported") && !said.contains("As measured"), "{said}");
        let output = ask(&["waiting"]);
        assert_eq!(output.status.code(), Some(66), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains("do not say the waiting"), "{}", text(&output.stderr));
    }
    // As measured, the overhead is in them.
    assert!(report(&["own", "--compensate", "off", "--format", "cube", "-o", "raw.cubex"]).status.success());
    let raw: Value = serde_json::from_slice(&report(&["raw.cubex", "--format", "json"]).stdout).expect("a document");
    assert!(raw["run"]["compensate"] == "off" && !raw["run"]["command"].to_string().contains("as measured"), "{}", raw["run"]);
    let said = text(&report(&["raw.cubex"]).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("whose overhead is in all times"), "{said}");
    // A page of a comparison can go to a file, as any other document.
    let output = compare(&place, &["own", "own", "--format", "html", "-o", "compare.html"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(place.path().join("compare.html")).expect("the page").contains("</html>"));
    std::fs::write(place.path().join("profiles/profile.0.0.0"), "5 templated_functions\n").expect("a writable file");
    let output = report(&["profiles"]);
    assert_eq!(output.status.code(), Some(65));
    assert!(text(&output.stderr).contains("profile.0.0.0, line 2"), "{}", text(&output.stderr));
    std::fs::write(place.path().join("none.txt"), "no profile").expect("a writable directory");
    assert_eq!(report(&["none.txt"]).status.code(), Some(65));
}
