//! Regions are switched off for good, by a rule or from outside while the program runs, and on again.

mod common;

use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use common::{BOTH, Place, Report, compile_c, fits, text};

const ROUNDS: &str = "400";

fn program(place: &Place) -> String {
    compile_c("crates/cli/tests/programs/switched.c", place.path(), &["-pthread", "-O1"]).display().to_string()
}

/// The names of regions that were switched, with what they became.
fn switched(report: &Report) -> Vec<(String, bool, String)> {
    let list = report.0["run"]["switched"].as_array().expect("a list");
    let of = |switch: &serde_json::Value| {
        let region = &report.0["regions"][switch["region"].as_u64().expect("an index") as usize];
        let text = |value: &serde_json::Value| value.as_str().expect("text").to_string();
        (text(&region["name"]), switch["off"].as_bool().expect("a flag"), text(&switch["why"]))
    };
    list.iter().map(of).collect()
}

/// Calls of a region over all locations, and whether all of them were counted.
fn calls(report: &Report, name: &str) -> (u64, bool) {
    let nodes = report.nodes().iter().filter(|node| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name);
    nodes.fold((0, true), |(sum, exact), node| {
        (sum + node["calls"].as_u64().expect("a count"), exact && node["calls_exact"].as_bool().expect("a flag"))
    })
}

fn lost(report: &Report) -> u64 {
    report.locations().iter().map(|location| location["lost"].as_u64().expect("a count")).sum()
}

#[test]
fn the_throttle_switches_off_what_is_short_and_frequent() {
    let place = Place::new();
    let line = [program(&place), ROUNDS.into()];
    let plain = place.plain(&line);
    let output = place.profile(&["--throttle", "20000,1000"], &line);
    assert_eq!(text(&output.stdout), text(&plain.stdout));
    let report = place.report();
    report.check();
    let mut off = switched(&report);
    off.sort();
    for name in ["fib", "middle", "small"] {
        assert!(off.contains(&(name.into(), true, "rule".into())), "{name} was not switched off: {off:?}");
        let (calls, exact) = calls(&report, name);
        assert!(calls > 20_000 && !exact, "{name}: {calls}");
    }
    assert_eq!(calls(&report, "round_of_work"), (800, true));
    assert_eq!(lost(&report), 0, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("by the throttle after"), "{}", text(&output.stderr));
}

#[test]
fn the_throttle_leaves_alone_what_is_called_no_more_than_the_rule_says() {
    let place = Place::new();
    for preset in ["auto", "all"] {
        place.profile(&["--preset", preset, "--throttle", "50,1000000"], &[program(&place), "20".into()]);
        let report = place.report();
        for (name, made) in [("main", 1), ("work", 2), ("round_of_work", 40)] {
            assert_eq!(calls(&report, name), (made, true), "{preset}: {name}, {:?}", switched(&report));
        }
        std::fs::remove_dir_all(place.path().join("run")).expect("the run");
    }
}

#[test]
fn without_a_rule_nothing_is_switched_and_all_calls_are_counted() {
    let place = Place::new();
    place.profile(&[], &[program(&place), ROUNDS.into()]);
    let report = place.report();
    report.check();
    assert_eq!(switched(&report), []);
    // fib(12) takes 465 calls.
    assert_eq!(["fib", "middle", "small"].map(|name| calls(&report, name)), [(372_000, true), (800_000, true), (1_600_000, true)]);
    assert_eq!(lost(&report), 0);
}

#[test]
fn a_region_whose_probes_cannot_be_written_over_stays_on() {
    let place = Place::new();
    let line = [compile_c("crates/cli/tests/programs/few_descriptors.c", place.path(), &[]).display().to_string()];
    let plain = place.plain(&line);
    for rule in [["--throttle", "1000,100"], ["--budget", "2%"]] {
        let output = place.profile(&rule, &line);
        assert_eq!((output.status.code(), &output.stdout), (Some(0), &plain.stdout), "{rule:?}: {}", text(&output.stderr));
        let report = place.report();
        let of_small: Vec<_> = switched(&report).into_iter().filter(|(name, ..)| name == "small").map(|(_, is_off, why)| (is_off, why)).collect();
        let by = if rule[0] == "--budget" { "budget" } else { "rule" };
        if of_small.is_empty() && by == "budget" {
            continue; // Counting its calls was never too dear.
        }
        assert_eq!(of_small, [(true, by.to_string()), (false, "refused".to_string())], "{rule:?}");
        // All but the call that found out.
        assert!(calls(&report, "small").0 >= 1_999_999, "{rule:?}: {:?}", calls(&report, "small"));
        std::fs::remove_dir_all(place.path().join("run")).expect("the run");
    }
}

#[test]
fn a_wrong_rule_is_refused() {
    let place = Place::new();
    let output = place.profile(&["--throttle", "often"], &["true".into()]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("tau"), "{}", text(&output.stderr));
}

/// A program that runs until it is told to stop.
struct Running<'a> {
    place: &'a Place,
    /// Until it has been stopped.
    tare: Option<Child>,
}

impl<'a> Running<'a> {
    /// The program of this file, which ends when it is told to.
    fn start_rounds(place: &'a Place) -> Self {
        Self::start(place, &[program(place), "1".into(), place.path().join("stop").display().to_string()])
    }

    fn start(place: &'a Place, line: &[String]) -> Self {
        Self::start_by(place, "profile", line)
    }

    fn start_by(place: &'a Place, verb: &str, line: &[String]) -> Self {
        let mut tare = place.tare();
        tare.args([verb, "-o", "run", "--"]).args(line);
        Self { place, tare: Some(tare.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tare can be started")) }
    }

    /// Asks until a process is there that knows the region.
    fn ask(&self, options: &[&str]) -> String {
        let started = Instant::now();
        loop {
            let output = self.place.tare().args(["ctl", "run", "--wait", "60"]).args(options).output().expect("tare can be started");
            if output.status.success() {
                return text(&output.stdout);
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{}", text(&output.stderr));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn stop(self) -> Output {
        std::fs::write(self.place.path().join("stop"), "").expect("a writable directory");
        self.end()
    }

    /// Waits for its end.
    fn end(mut self) -> Output {
        self.tare.take().expect("it runs").wait_with_output().expect("tare ends")
    }
}

impl Drop for Running<'_> {
    /// A test that fails leaves nothing behind that runs.
    fn drop(&mut self) {
        let Some(mut tare) = self.tare.take() else { return };
        // SAFETY: the process is our child and has not been waited for; it passes the signal on.
        unsafe { libc::kill(tare.id().cast_signed(), libc::SIGTERM) };
        let _ = tare.wait();
    }
}

#[test]
fn regions_are_switched_while_the_program_runs() {
    let place = Place::new();
    let running = Running::start_rounds(&place);
    let answer = running.ask(&["--off", "/^small$/", "--off", "fib"]);
    assert!(answer.contains("2 regions off, 0 on") && !answer.contains("asked"), "{answer}");
    let answer = running.ask(&["--on", "small"]);
    assert!(answer.contains("0 regions off, 1 on") && !answer.contains("asked"), "{answer}");
    let unknown = running.place.tare().args(["ctl", "run", "--off", "nobody*", "--on", "small"]).output().expect("tare can be started");
    assert!(unknown.status.success() && text(&unknown.stderr).contains("`nobody*`"), "{}", text(&unknown.stderr));
    let answer = running.ask(&["--on", "small", "--format", "json"]);
    fits(&place, "ctl", &answer);
    assert!(answer.contains("\"on\":1") && answer.contains("\"followed\":true"), "{answer}");
    let output = running.stop();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let of = |name: &str, off| (name.to_string(), off, "request".to_string());
    let mut all = switched(&report);
    all.sort();
    assert_eq!(all, [of("fib", true), of("small", false), of("small", true)]);
    assert!(!calls(&report, "small").1 && calls(&report, "middle").1);
    assert_eq!(lost(&report), 0, "{}", text(&output.stderr));
}

#[test]
fn regions_come_on_again_where_all_of_them_were_off() {
    let place = Place::new();
    let running = Running::start_rounds(&place);
    let answer = running.ask(&["--off", "/./"]);
    assert!(!answer.contains("asked"), "{answer}");
    // By now every site that is still reached is off.
    std::thread::sleep(Duration::from_millis(200));
    let answer = running.ask(&["--on", "/^middle$/"]);
    assert!(answer.contains("0 regions off, 1 on") && !answer.contains("asked"), "{answer}");
    let before = running.place.tare().args(["report", "run", "--format", "json"]).output().expect("tare");
    std::thread::sleep(Duration::from_millis(200));
    let output = running.stop();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let before = Report(serde_json::from_slice(&before.stdout).expect("a run that goes on can be read"));
    assert!(calls(&report, "middle").0 > calls(&before, "middle").0, "no call was counted after the region came on");
    // The call that was under way in each of the two threads has an exit and no entry: neither was lost.
    assert_eq!(lost(&report), 0, "{}", text(&output.stderr));
}

#[test]
fn a_call_that_began_while_its_region_was_off_may_end_while_it_is_on() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/open_while_switched.c", place.path(), &["-O1"]).display().to_string();
    let directory = place.path().display().to_string();
    let running = Running::start(&place, &[program, directory]);
    let create = |name: &str| std::fs::write(place.path().join(name), "").expect("a writable directory");
    wait_for(&place.path().join("in1"));
    running.ask(&["--off", "step"]);
    create("1");
    wait_for(&place.path().join("in2"));
    let answer = running.ask(&["--on", "step"]);
    assert!(answer.contains("0 regions off, 1 on") && !answer.contains("asked"), "{answer}");
    create("2");
    let output = running.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    assert_eq!(calls(&report, "step"), (1, false));
    assert_eq!(lost(&report), 0, "{}", text(&output.stderr));
}

#[test]
fn regions_of_the_programs_own_and_functions_with_hooks_are_switched_as_well() {
    let interface = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/include");
    for hooks in [&["-O1"][..], &["-O1", "-finstrument-functions"], &["-O0", "-finstrument-functions"]] {
        let place = Place::new();
        let program = compile_c("crates/cli/tests/programs/own_switched.c", place.path(), &[&[interface, "-ldl"], hooks].concat());
        let line = [program.display().to_string(), place.path().display().to_string()];
        let running = Running::start_by(&place, "run", &line);
        let create = |name: &str| std::fs::write(place.path().join(name), "").expect("a writable directory");
        wait_for(&place.path().join("in1"));
        let mut off = vec!["--off", "inner", "--off", "level = 1"];
        let mut names = vec!["inner region", "level = 1"];
        if hooks.len() > 1 {
            off.extend(["--off", "/^round_of_work$/"]);
            names.push("round_of_work");
        }
        let answer = running.ask(&off);
        assert!(answer.contains(&format!("{} regions off, 0 on", names.len())) && !answer.contains("asked"), "{hooks:?}: {answer}");
        create("1");
        wait_for(&place.path().join("in2"));
        let answer = running.ask(&["--on", "/./"]);
        assert!(!answer.contains("asked"), "{hooks:?}: {answer}");
        create("2");
        let output = running.end();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report = place.report();
        report.check();
        for name in &names {
            let all = if *name == "level = 1" { 25 } else { 50 };
            assert_eq!(calls(&report, name), (all, false), "{hooks:?}: {name}");
        }
        assert_eq!(calls(&report, "level = 0"), (35, true), "{hooks:?}");
        let is_asked = |off| names.iter().all(|name| switched(&report).contains(&(name.to_string(), off, "request".to_string())));
        assert!(is_asked(true) && is_asked(false), "{hooks:?}: {:?}", switched(&report));
        assert_eq!(lost(&report), 0, "{hooks:?}: {}", text(&output.stderr));
    }
}

#[test]
fn operations_of_mpi_stay_on_and_that_is_said() {
    for mpi in BOTH {
        let place = Place::new();
        let mut line = mpi.line(2, &mpi.compile("crates/cli/tests/programs/levels.c", place.path()));
        line.push(place.path().join("stop").display().to_string());
        let running = Running::start(&place, &line);
        running.ask(&["--off", "P4"]);
        let output = place.tare().args(["ctl", "run", "--off", "MPI_Send"]).output().expect("tare can be started");
        assert_eq!(output.status.code(), Some(66), "{}", mpi.name);
        assert!(text(&output.stderr).contains("only operations of MPI or threads have `MPI_Send`"), "{}", text(&output.stderr));
        let answer = running.ask(&["--off", "/./", "--on", "/^P2$/"]);
        assert_eq!(answer.matches(": 4 regions off, 1 on").count(), 2, "{}: {answer}", mpi.name);
        let output = running.stop();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report = place.report();
        report.check();
        assert!(switched(&report).iter().all(|(name, ..)| !name.starts_with("MPI_")), "{}: {:?}", mpi.name, switched(&report));
        assert!(calls(&report, "MPI_Recv").1 && calls(&report, "MPI_Send").1, "{}", mpi.name);
    }
}

/// Waits until there is such a file.
fn wait_for(path: &Path) {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_does_not_run_or_has_no_such_region_is_said() {
    let place = Place::new();
    let running = Running::start_rounds(&place);
    running.ask(&["--off", "fib"]);
    let output = place.tare().args(["ctl", "run", "--off", ""]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("/./ for all regions"), "{}", text(&output.stderr));
    let output = place.tare().args(["ctl", "run", "--off", "no_such_name"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(66));
    running.stop();
    let output = place.tare().args(["ctl", "run", "--off", "fib"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(66));
    assert!(text(&output.stderr).contains("runs on this node"), "{}", text(&output.stderr));
    let output = place.tare().args(["ctl", "run"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn a_run_of_an_instrumented_program_keeps_a_budget_and_says_so() {
    let place = Place::new();
    let original = program(&place);
    let written = place.tare().args(["instrument", &original, "-o", "copy"]).output().expect("tare can be started");
    assert!(written.status.success(), "{}", text(&written.stderr));
    let output = place.tare().args(["run", "-o", "run", "--budget", "2%", "--", "./copy", ROUNDS]).output().expect("tare can be started");
    // Of a run this short the set-up of probes may have been longer than the program: the sentence is another one then.
    let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    let ways = ["2.0 % allowed, probes took", "2.0 % allowed; the program itself took"].map(|way| said.contains(way));
    assert!(output.status.success() && ways.contains(&true), "{said}");
    let report = place.tare().args(["report", "run", "--format", "json"]).output().expect("tare can be started");
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("the report is JSON");
    assert_eq!(report["run"]["budget"]["allowed"], 0.02);
    assert!(report["run"]["budget"]["probes"].as_f64().is_some_and(|part| part > 0.0));
}

#[test]
fn with_a_budget_calls_are_counted_or_their_region_is_named() {
    let place = Place::new();
    let line = [program(&place), ROUNDS.into()];
    let plain = place.plain(&line);
    let output = place.profile(&["--budget", "2%"], &line);
    assert_eq!(text(&output.stdout), text(&plain.stdout), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let off = switched(&report);
    assert!(off.iter().all(|(_, off, why)| *off && why == "budget"), "{off:?}");
    for (name, all) in [("fib", 372_000), ("middle", 800_000), ("small", 1_600_000), ("round_of_work", 800)] {
        let (counted, exact) = calls(&report, name);
        assert_eq!(exact, off.iter().all(|(region, ..)| region != name), "{name}");
        assert!(if exact { counted == all } else { counted < all }, "{name}: {counted} of {all}");
    }
    assert_eq!(lost(&report), 0, "{}", text(&output.stderr));
}

#[test]
fn a_budget_takes_hold_of_a_function_that_is_long_at_first() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/long_first.c", place.path(), &["-O1"]).display().to_string();
    let output = place.profile(&["--budget", "2%"], &[program, "20000000".into()]);
    let report = place.report();
    report.check();
    assert_eq!(switched(&report), [("work".to_owned(), true, "budget".to_owned())], "{}", text(&output.stderr));
}
