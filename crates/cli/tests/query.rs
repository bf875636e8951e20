//! `tare query`: the questions of paper 3 §6.4.1 to a run of its example, when it has ended and while it goes on.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use common::{OPEN_MPI, Place, Report, compile_c, fits, text};
use serde_json::Value;

const SOURCE: &str = "crates/cli/tests/programs/levels.c";
const LEVELS: [&str; 2] = ["--levels", "functions,loops,callsites"];

/// The line of the source that the paper numbers so.
fn line(number: u32) -> usize {
    let source = fs::read_to_string(format!("{}/../../{SOURCE}", env!("CARGO_MANIFEST_DIR"))).expect("the program");
    let mark = format!("// L{number}");
    source.lines().position(|line| line.ends_with(&mark)).unwrap_or_else(|| panic!("no {mark}")) + 1
}

fn ask(place: &Place, question: &str, options: &[&str]) -> Output {
    place.tare().args(["query", "run"]).args(question.split(' ')).args(options).output().expect("tare can be started")
}

fn answer(place: &Place, question: &str) -> Value {
    let output = ask(place, question, &["--format", "json"]);
    assert!(output.status.success(), "{question}: {}", text(&output.stderr));
    let document = text(&output.stdout);
    fits(place, "query", &document);
    serde_json::from_str(&document).expect("JSON")
}

fn value(row: &Value, measure: &str, part: &str) -> f64 {
    row["values"][measure][part].as_f64().unwrap_or_else(|| panic!("no {measure}.{part} in {row}"))
}

/// The sum over all ranks of a measure of the one row.
fn sum(place: &Place, question: &str, measure: &str) -> f64 {
    let answer = answer(place, question);
    assert_eq!(answer["rows"].as_array().map(Vec::len), Some(1), "{question}: {answer}");
    value(&answer["rows"][0], measure, "sum_s")
}

/// Sum over all nodes of a region of a time, from the report: none of these regions calls itself.
fn reported(report: &Report, belongs: impl Fn(&Value) -> bool, time: impl Fn(&Value) -> f64) -> f64 {
    let regions = report.0["regions"].as_array().expect("regions");
    let of = |node: &&Value| belongs(&regions[node["region"].as_u64().expect("an index") as usize]);
    report.nodes().iter().filter(of).map(time).sum()
}

fn same(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() <= 1e-9 * one.abs().max(1e-6), "{what}: {one} and {other}");
}

#[test]
fn a_run_answers_every_question_of_the_paper() {
    let place = Place::new();
    let program = OPEN_MPI.compile(SOURCE, place.path());
    let output = place.profile(&LEVELS, &OPEN_MPI.line(2, &program));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    let inclusive = |node: &Value| node["inclusive"]["compensated_s"].as_f64().expect("a time");
    let peers = |part: fn(&Value) -> &Value| {
        move |node: &Value| node["peers"].as_array().expect("a list").iter().map(|peer| part(peer).as_f64().unwrap_or(0.0)).sum::<f64>()
    };
    let at = |number: u32, kind: &'static str| {
        let line = line(number);
        move |region: &Value| region["kind"] == kind && region["line"].as_u64() == Some(line as u64)
    };

    // Of the whole program: its time, the transmission time of its messages, what they made it wait.
    let longest = report.locations().iter().map(|location| location["compensated_s"].as_f64().expect("a time")).fold(0.0, f64::max);
    same(value(&answer(&place, "time")["rows"][0], "time", "value_s"), longest, "the program");
    same(sum(&place, "total transmission", "transmission"), reported(&report, |_| true, peers(|peer| &peer["transmission_s"])), "transmission");
    let waited = |node: &Value| node["wait"]["compensated_s"].as_f64().unwrap_or(0.0);
    same(sum(&place, "total waiting", "waiting"), reported(&report, |_| true, waited), "waiting");
    assert!(sum(&place, "total waiting", "waiting") > 0.0, "rank 0 waits for rank 1");

    // All procedure calls in the main procedure, and one of them.
    let calls = answer(&place, "time of calls in main");
    let of_line = |number: u32| {
        let rows = calls["rows"].as_array().expect("rows");
        rows.iter().find(|row| row["line"].as_u64() == Some(line(number) as u64)).unwrap_or_else(|| panic!("no call at L{number} in {calls}"))
    };
    for number in [2, 3] {
        same(value(of_line(number), "time", "sum_s"), reported(&report, at(number, "call site"), inclusive), "a call in main");
    }
    let rows: f64 = calls["rows"].as_array().expect("rows").iter().map(|row| value(row, "time", "sum_s")).sum();
    same(value(&calls["sum"], "time", "sum_s"), rows, "all calls in main");
    same(sum(&place, &format!("time of call at levels.c:{}", line(5)), "time"), reported(&report, at(5, "call site"), inclusive), "the call in L5");

    // A procedure: time and count, whoever calls it.
    let procedure = answer(&place, "time and count of P3");
    same(value(&procedure["rows"][0], "time", "sum_s"), reported(&report, |region| region["name"] == "P3", inclusive), "P3");
    assert_eq!(procedure["rows"][0]["values"]["count"]["number"], 4);
    assert_eq!(answer(&place, "calls of P3 by caller")["rows"].as_array().map(Vec::len), Some(2), "P1 and P2 call it");

    // One communication statement, with its partner.
    let statement = format!("communication at levels.c:{}", line(12));
    let all = answer(&place, &format!("time, waiting, transmission, messages of {statement}"));
    assert_eq!(all["rows"][0]["values"]["messages"]["number"], 20, "two calls of ten rounds, received by rank 0");
    assert!(value(&all["rows"][0], "transmission", "sum_s") > 0.0 && value(&all["rows"][0], "time", "sum_s") > 0.0);
    let partners = answer(&place, &format!("{statement} by peer"));
    assert_eq!(partners["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!((&partners["rows"][0]["peer"], &partners["rows"][0]["values"]["messages"]["number"]), (&1.into(), &20.into()));
    same(value(&partners["rows"][0], "waiting", "sum_s"), value(&all["rows"][0], "waiting", "sum_s"), "waiting for rank 1");

    // A loop, and what is in it: the nested loop and the communication; the call in the nested loop is that one's.
    let outer = answer(&place, "loops in P3");
    assert_eq!(outer["rows"].as_array().map(Vec::len), Some(1), "{outer}");
    let outer_line = outer["rows"][0]["line"].as_u64().expect("a line");
    let events = answer(&place, &format!("events in loop at levels.c:{outer_line}"));
    let kinds: Vec<&str> = events["rows"].as_array().expect("rows").iter().filter_map(|row| row["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "loop").count(), 1, "{events}");
    assert!(events["rows"].as_array().expect("rows").iter().any(|row| row["line"].as_u64() == Some(line(12) as u64)), "{events}");
    assert!(value(&events["sum"], "time", "sum_s") <= value(&outer["rows"][0], "time", "sum_s"));

    // As text: the names and the places are there, and what is asked in a wrong way is said.
    let shown = text(&ask(&place, "waiting of communication", &[]).stdout);
    assert!(shown.contains("\n  communication "), "a row is named after what was asked about: {shown}");
    let shown = text(&ask(&place, "time of calls in main", &[]).stdout);
    assert!(shown.contains(&format!("levels.c:{}", line(2))) && shown.contains("all together") && shown.contains("Mean of 2 ranks"), "{shown}");
    assert!(text(&ask(&place, "where", &[]).stdout).contains("ended"));
    let regions = answer(&place, "self by region");
    let of_region =
        |name: &str| regions["rows"].as_array().expect("rows").iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let exclusive = |node: &Value| node["exclusive"]["compensated_s"].as_f64().expect("a time");
    for name in ["MPI_Init", "MPI_Recv", "P3"] {
        let own = value(of_region(name), "self", "sum_s");
        same(own, reported(&report, |region| region["name"] == name, exclusive), "what the report says of it");
        same(own, sum(&place, &format!("self of {name}"), "self"), "what the region alone is said to have");
    }
    same(value(&regions["sum"], "self", "sum_s"), reported(&report, |_| true, exclusive), "all regions together");
    let first = text(&ask(&place, "self by region top 2", &[]).stdout);
    assert!(first.contains("all together") && first.contains("they are in the sum of all"), "{first}");
    let inclusive_alone = text(&ask(&place, "time by region top 2", &[]).stdout);
    assert!(inclusive_alone.contains(" more)") && !inclusive_alone.contains("all together"), "one is part of another: {inclusive_alone}");

    for (question, code, part) in [
        ("time of P", 66, "one of P1, P2"),
        ("time off", 66, "called `off`"),
        ("time of loops in P2", 66, "nothing was measured there"),
        ("communication in P4", 66, "nothing was measured there"),
        ("time on ranks 0-99", 65, "no rank 99"),
        ("where on ranks 7", 65, "no rank 7"),
        ("time by colour", 64, "`colour`"),
    ] {
        let output = ask(&place, question, &[]);
        assert_eq!(output.status.code(), Some(code), "{question}");
        let said = text(&output.stderr);
        assert!(said.contains(part) && said.lines().skip(1).all(|line| line.chars().count() <= 80), "{question}: {said}");
        assert!(said.contains("\n      try: "), "{said}");
    }
}

/// A measured program that goes on until it is told to stop.
struct Going {
    place: Place,
    child: Child,
}

impl Going {
    fn start() -> Self {
        let place = Place::new();
        let program = OPEN_MPI.compile(SOURCE, place.path());
        let mut line = OPEN_MPI.line(2, &program);
        line.push("stop".into());
        let mut tare = place.tare();
        tare.args(["profile", "-o", "run"]).args(LEVELS).arg("--").args(line);
        let child = tare.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tare can be started");
        Self { place, child }
    }

    /// Asks until the answer is as wanted.
    fn wait_for(&self, question: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let output = ask(&self.place, question, &["--format", "json"]);
            if let Some(answer) = serde_json::from_slice(&output.stdout).ok().filter(&wanted) {
                return answer;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{question}: {} {}", text(&output.stdout), text(&output.stderr));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Going {
    /// A test that fails leaves nothing behind that runs.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // SAFETY: the process is our child and has not been waited for; it passes the signal on.
            unsafe { libc::kill(self.child.id().cast_signed(), libc::SIGTERM) };
            let _ = self.child.wait();
        }
    }
}

#[test]
fn a_reader_opens_for_reading_alone_and_stops_nobody() {
    let mut going = Going::start();
    going.wait_for("count of P3", |answer| answer["rows"][0]["values"]["count"]["number"].as_u64().unwrap_or(0) > 8);
    let output = going.place.tare().args(["compare", "run", "run"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(65), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("still runs"), "{}", text(&output.stderr));
    for line in [["query", "run", "where"], ["query", "run", "time"], ["top", "run", "--once"]] {
        let log = going.place.path().join("calls");
        let tare = going.place.tare();
        let mut traced = going.place.command("strace");
        traced.args(["-f", "-y", "-o"]).arg(&log).arg(tare.get_program()).args(line);
        let output = traced.output().expect("strace");
        assert!(output.status.success(), "{line:?}: {}", text(&output.stderr));
        let calls = fs::read_to_string(&log).expect("what strace saw");
        let named = |name: &str| calls.lines().filter(|call| call.split(' ').any(|word| word.starts_with(&format!("{name}(")))).collect::<Vec<_>>();
        assert!(named("openat").iter().any(|call| call.contains(".graph")), "{line:?} reads the graphs: {calls}");
        for call in named("openat") {
            assert!(!["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|way| call.contains(way)), "{line:?}: {call}");
        }
        for call in named("mmap") {
            assert!(!(call.contains(".graph") && call.contains("PROT_WRITE")), "{line:?}: {call}");
        }
        for name in ["ptrace", "kill", "tgkill", "process_vm_writev", "unlink", "rename", "ftruncate", "fallocate", "perf_event_open"] {
            assert_eq!(named(name), Vec::<&str>::new(), "{line:?}");
        }
    }
    fs::write(going.place.path().join("stop"), "").expect("a writable directory");
    assert!(going.child.wait().expect("it ends").success());
}

#[test]
fn a_run_answers_while_it_goes_on_and_is_left_as_it_is() {
    let mut going = Going::start();
    let rounds = |answer: &Value| answer["rows"][0]["values"]["count"]["number"].as_u64().unwrap_or(0);
    let first = going.wait_for("count of P3", |answer| rounds(answer) > 8);
    assert_eq!(first["running"], 2);
    going.wait_for("count of P3", |answer| rounds(answer) > rounds(&first) + 8);
    // Time passes also while nothing ends: the open regions have it, so that all of main is no more than the process's life.
    let time = going.wait_for("time of main by rank", |answer| answer["rows"].as_array().is_some_and(|rows| rows.len() == 2));
    for row in time["rows"].as_array().expect("rows") {
        let seconds = value(row, "time", "value_s");
        assert!(seconds > 0.0 && seconds < 120.0 && row["values"]["time"]["mark"].is_null(), "{row}");
    }
    let threads = going.wait_for("where", |answer| answer["threads"].as_array().is_some_and(|threads| threads.len() == 2));
    fits(&going.place, "query", &threads.to_string());
    for thread in threads["threads"].as_array().expect("threads") {
        assert_eq!(thread["state"], "running", "{thread}");
        assert!(thread["since_s"].as_f64().is_some_and(|since| since < 60.0), "{thread}");
    }
    let graphs = fs::read_dir(going.place.path().join("run")).expect("the run").filter_map(Result::ok);
    assert!(graphs.into_iter().all(|entry| entry.path().extension().is_none_or(|ending| ending != "graph")), "reading copies nothing");
    fs::write(going.place.path().join("stop"), "").expect("a writable directory");
    assert!(going.child.wait().expect("it ends").success());
    assert_eq!(answer(&going.place, "count of P3")["running"], 0);
}

#[test]
fn calls_beyond_the_limit_of_call_paths_keep_their_regions() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/many_paths.c", place.path(), &["-O1"]);
    let mut tare = place.tare();
    tare.args(["profile", "--exact", "--preset", "all", "-o", "run", "--"]).arg(program);
    let mut child = tare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tare can be started");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("what the program prints");
    assert_eq!(line, "there\n");
    let standing = answer(&place, "where");
    let path: Vec<&str> = standing["threads"][0]["path"].as_array().expect("a path").iter().filter_map(Value::as_str).collect();
    assert!(path.iter().any(|name| name.starts_with('f')) && path.contains(&"[beyond the limit of call paths]"), "{standing}");
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());

    for question in ["count of f0", "count of f3 in f4", "count of f7"] {
        let calls = &answer(&place, question)["rows"][0]["values"]["count"]["number"];
        assert_eq!(calls.as_u64().map(|calls| calls == 109_600 / 8), Some(!question.contains("in")), "{question}: {calls}");
    }
    let document = place.tare().args(["report", "run", "--format", "json"]).output().expect("tare can be started").stdout;
    let report = Report(serde_json::from_slice(&document).expect("JSON"));
    report.check();
    let beyond = "has calls beyond the limit of call paths";
    let is_marked = |node: &&Value| node["inclusive"]["mark"].as_str().is_some_and(|mark| mark.contains(beyond));
    // The last paths, those beyond the limit, begin with f7, which none of them calls again.
    assert_eq!(report.nodes().iter().filter(is_marked).count(), 7);
    let shown = place.tare().args(["report", "run"]).output().expect("tare can be started");
    assert!(common::one_line(&shown.stdout).contains("calls are on call paths beyond the limit, counted by region"), "{}", text(&shown.stdout));
}
