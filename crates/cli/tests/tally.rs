//! What a program allocates, reads and writes is counted where it happens, and no other than by tools that count in other ways.

mod common;

use common::{Place, Report, compile_c, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

const HEAP: &str = "allocations,allocated-bytes,frees,peak-heap";
const IO: &str = "reads,bytes-read,writes,bytes-written,io-calls,io-time";

/// A metric of a region as measured, over all locations and paths.
fn sum(report: &Report, region: Option<&str>, metric: &str) -> f64 {
    let of = |node: &&Value| region.is_none_or(|region| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == region);
    report.nodes().iter().filter(of).map(|node| node["metrics"][metric]["measured"].as_f64().expect("a number")).sum()
}

fn highest(report: &Report, region: &str) -> f64 {
    let of = |node: &&Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == region;
    report.nodes().iter().filter(of).map(|node| node["metrics"]["peak-heap"]["compensated"].as_f64().expect("a number")).fold(0.0, f64::max)
}

fn profile(place: &Place, metrics: &str, line: &[String]) -> (Report, String) {
    let run = place.path().join("run");
    if run.exists() {
        std::fs::remove_dir_all(&run).expect("the last run");
    }
    let output = place.profile(&["--metrics", metrics], line);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    (report, text(&output.stderr))
}

fn compile(place: &Place, compiler: &str, name: &str, options: &[&str]) -> PathBuf {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let program = place.path().join(name.replace('.', "-"));
    let status = Command::new(compiler).args(["-O1", "-g", "-o"]).arg(&program).arg(source).args(options).current_dir(place.path()).status();
    assert!(status.expect("a compiler").success(), "{name}");
    program
}

/// By file what system calls of a kind there were, and how many bytes they moved, as strace says.
fn system_calls(place: &Place, line: &[String], kinds: &str) -> BTreeMap<String, (u64, u64)> {
    let log = place.path().join("strace.log");
    let status = place.command("strace").args(["-f", "-y", "-e"]).arg(format!("trace={kinds}")).arg("-o").arg(&log).args(line).status();
    assert!(status.expect("strace").success());
    let mut files: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in std::fs::read_to_string(&log).expect("a log").lines() {
        let name = line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(name, _)| name.to_string());
        let bytes = line.rsplit_once("= ").and_then(|(_, answer)| answer.trim().parse::<u64>().ok());
        if let (Some(name), Some(bytes)) = (name, bytes) {
            let file = files.entry(name).or_default();
            *file = (file.0 + 1, file.1 + bytes);
        }
    }
    files
}

#[test]
fn allocations_stand_where_they_were_made_and_agree_with_a_counting_malloc() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/tally.c", place.path(), &["-pthread"]).display().to_string();
    let counting = compile(&place, "gcc", "counting_malloc.c", &["-shared", "-fPIC"]);
    let counted = |n: &str| {
        let output = place.command(&program).arg(n).env("LD_PRELOAD", &counting).output().expect("the program");
        let numbers = |line: &str| line.split(' ').filter_map(|word| word.parse::<f64>().ok()).collect::<Vec<_>>();
        text(&output.stderr).lines().map(numbers).fold((0.0, 0.0), |sum, line| (sum.0 + line[0], sum.1 + line[1]))
    };
    let measured = |n: &str| {
        let (report, _) = profile(&place, HEAP, &[program.clone(), n.to_string()]);
        let n: f64 = n.parse().expect("a number");
        // The main thread, the other one, and the child.
        assert_eq!((sum(&report, Some("passes"), "allocations"), sum(&report, Some("passes"), "frees")), (12.0 * n, 12.0 * n));
        assert_eq!(sum(&report, Some("passes"), "allocated-bytes"), 3.0 * n * (1000.0 + 5000.0 + 640.0 + 13.0));
        assert_eq!(sum(&report, Some("keeps"), "allocations"), n + 1.0);
        let peak = highest(&report, "keeps");
        assert!((n * 10_008.0..n * 10_100.0 + 20_000.0).contains(&peak), "{peak} bytes in use at most");
        assert_eq!(highest(&report, "moves"), 0.0);
        (sum(&report, None, "allocations"), sum(&report, None, "allocated-bytes"))
    };
    // What comes before the program, and before the child, is in one count and not in the other, but does not depend on N.
    let (few, many, few_measured, many_measured) = (counted("100"), counted("300"), measured("100"), measured("300"));
    // The child has what its parent had counted at the fork: all but its own.
    let of_child = |n: f64| 4.0 * n;
    let inherited = |whole: f64, n: f64| (whole - of_child(n)) / 2.0;
    let truth = (inherited(many.0, 300.0) + of_child(300.0)) - (inherited(few.0, 100.0) + of_child(100.0));
    assert_eq!(many_measured.0 - few_measured.0, truth);
}

#[test]
fn calls_and_bytes_of_each_file_are_those_that_strace_sees() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/tally.c", place.path(), &["-pthread"]).display().to_string();
    let line = [program, "100".to_string()];
    let writes = system_calls(&place, &line, "write");
    let reads = system_calls(&place, &line, "pread64");
    let (report, summary) = profile(&place, &format!("{IO},frees,allocated-bytes"), &line);
    let file = |name: &str| {
        let ends = |file: &&Value| file["name"].as_str().is_some_and(|found| found.ends_with(name));
        let found = report.0["files"].as_array().expect("files").iter().find(ends);
        found.unwrap_or_else(|| panic!("no {name} in {}", report.0["files"]))
    };
    let seen = |of: &BTreeMap<String, (u64, u64)>, name: &str| *of.iter().find(|(file, _)| file.ends_with(name)).expect("a file").1;
    for name in ["first.data", "second.data", "thread.data", "child.data"] {
        let file = file(name);
        let number = |what: &str| file[what].as_u64().expect("a number");
        assert_eq!((number("writes"), number("bytes_written")), seen(&writes, name), "{name}");
        assert_eq!((number("reads"), number("bytes_read")), seen(&reads, name), "{name}");
        assert!(file["write_s"].as_f64().expect("a number") > 1e-5, "a hundred system calls in less than 10 µs: {file}");
    }
    // stdio gathers: calls are the program's, bytes those that reach the file.
    let printed = file("printed.data");
    assert_eq!((printed["writes"].as_u64(), printed["bytes_written"].as_u64()), (Some(100), Some(seen(&writes, "printed.data").1)));
    assert_eq!((printed["reads"].as_u64(), &printed["bytes_read"]), (Some(100), &printed["bytes_written"]));
    assert_eq!(sum(&report, Some("moves"), "writes"), 504.0);
    assert_eq!(sum(&report, Some("moves"), "bytes-read"), 50_000.0);
    assert_eq!(sum(&report, Some("passes"), "io-calls"), 0.0);
    // Opening and closing are among the calls of a file, so that files and regions have the same.
    let of_files = |fields: [&str; 3]| -> f64 {
        let of = |file: &Value| fields.iter().map(|field| file[field].as_f64().expect("a number")).sum::<f64>();
        report.0["files"].as_array().expect("files").iter().map(of).sum()
    };
    assert_eq!(sum(&report, None, "io-calls"), of_files(["reads", "writes", "other_calls"]));
    let (regions, files) = (sum(&report, None, "io-time") * 1e-9, of_files(["read_s", "write_s", "other_s"]));
    assert!((regions - files).abs() < 1e-3 * regions, "{files} s of {regions} s");
    assert!(summary.contains("second.data"), "{summary}");
    // More columns than there is room for stand in a second table.
    for name in IO.split(',').chain(["frees", "allocated-bytes"]) {
        assert!(summary.contains(&format!(" {name}")), "no {name} in {summary}");
    }
    let page = place.tare().args(["report", "run", "--format", "html"]).output().expect("tare");
    let page = text(&page.stdout);
    let section = page.split("<section id=\"metrics\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("a section of metrics");
    for word in ["io-time", "moves", "second.data", "Bytes written"] {
        assert!(section.contains(word), "no {word} in {section}");
    }
}

#[test]
fn operators_of_cpp_are_counted_once_also_where_they_throw() {
    let place = Place::new();
    let program = compile(&place, "g++", "tally.cpp", &["-pthread"]);
    let (report, _) = profile(&place, &format!("{HEAP},bytes-written"), &[program.display().to_string()]);
    assert_eq!(sum(&report, Some("creates(long)"), "allocations"), 4500.0);
    assert_eq!(sum(&report, Some("creates(long)"), "frees"), 4500.0);
    assert_eq!(sum(&report, Some("creates(long)"), "allocated-bytes"), 1500.0 * (400.0 + 8.0 + 128.0));
    assert_eq!(sum(&report, Some("fails(long)"), "allocations"), 10.0);
    assert_eq!(sum(&report, Some("streams(long)"), "bytes-written"), 70_000.0);
}

#[test]
fn fortran_allocates_and_writes_through_its_library() {
    let place = Place::new();
    let program = compile(&place, "gfortran", "tally.f90", &[]);
    let (report, _) = profile(&place, &format!("{HEAP},bytes-written"), &[program.display().to_string()]);
    assert_eq!(sum(&report, Some("work::grows"), "allocations"), 300.0);
    assert_eq!(sum(&report, Some("work::grows"), "allocated-bytes"), 300.0 * 8000.0);
    assert_eq!(sum(&report, Some("work::writes"), "bytes-written"), 200_000.0);
}

#[test]
fn a_program_with_its_own_malloc_is_named_as_one() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/own_malloc.c", place.path(), &["-fno-builtin"]);
    let (report, summary) = profile(&place, "allocations,writes", &[program.display().to_string()]);
    assert!(summary.contains("allocations: a program defines its own malloc, which is not seen."), "{summary}");
    assert_eq!(sum(&report, None, "writes"), 1.0);
    assert!(report.nodes().iter().all(|node| node["metrics"]["allocations"].is_null()));
}

#[test]
fn what_counting_takes_is_taken_off() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/tally.c", place.path(), &["-pthread"]);
    let (report, _) = profile(&place, HEAP, &[program.display().to_string(), "20000".to_string()]);
    let times = |what: &str| {
        let of = |node: &&Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == "passes";
        report.nodes().iter().filter(of).map(|node| node["exclusive"][what].as_f64().expect("a number")).sum::<f64>()
    };
    // Twelve calls a round, of which each takes some instructions more.
    assert!(times("compensated_s") < times("measured_s"), "{} of {}", times("compensated_s"), times("measured_s"));
}
