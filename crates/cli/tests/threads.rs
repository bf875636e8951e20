//! Threads of a process that wait for one another carry delays.

mod common;

use common::{BOTH, PROGRAMS, Place, Report, build, text};
use serde_json::Value;
use std::process::Command;
use std::sync::Mutex;

fn compile(place: &Place, source: &str, compiler: &str, options: &[&str]) -> String {
    let source = format!("{}/tests/programs/{source}", env!("CARGO_MANIFEST_DIR"));
    let program = place.path().join("program");
    let status = Command::new(compiler).args(["-O2", "-g", "-pthread"]).args(options).arg(source).arg("-o").arg(&program).status();
    assert!(status.expect("installed by `make test`").success());
    program.display().to_string()
}

/// Measures the program without batches that are off; its output is what it is unmeasured.
fn measure(compiler: &str, options: &[&str], how: &str) -> Report {
    let place = Place::new();
    let line = [compile(&place, "waiting_threads.c", compiler, options), how.to_string()];
    let plain = place.plain(&line);
    let measured = place.profile(&["--preset", "all", "--exact"], &line);
    assert_eq!((measured.status.code(), &measured.stdout), (plain.status.code(), &plain.stdout), "{how}");
    let report = place.report();
    report.check();
    report
}

/// Seconds of a field of each thread.
fn of_threads(report: &Report, field: &str) -> [f64; 2] {
    let of = |location: &Value| location[field].as_f64().expect("seconds");
    let all: Vec<f64> = report.locations().iter().map(of).collect();
    all.try_into().expect("two threads")
}

fn calls(report: &Report, name: &str) -> u64 {
    let is_named = |node: &&Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
    report.nodes().iter().filter(is_named).map(|node| node["calls"].as_u64().expect("a count")).sum()
}

const ROUNDS: u64 = 20;
const STEPS: u64 = ROUNDS * (20_000 + 200);

/// Runs that are tried where a machine was so busy that a thread which is waited for had a processor before the one that waits.
const TRIES: usize = 40;

/// Finds delays that are about as large as an overhead in some run of several. One at a time: each has threads that want a processor each.
fn hands_on(run: impl Fn() -> (Vec<f64>, f64), how: &str) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let mut runs = Vec::new();
    while runs.len() < TRIES {
        let (delays, overhead) = run();
        if delays.iter().all(|delay| (0.5..1.5).contains(&(delay / overhead))) {
            return;
        }
        runs.push((delays, overhead));
    }
    panic!("{how}: delays and the overhead that was waited for: {runs:?}");
}

#[test]
fn who_waits_for_a_thread_has_its_delay() {
    let operations = [
        ("join", "pthread_join", 1),
        ("exit", "pthread_join", 1),
        ("barrier", "pthread_barrier_wait", 2 * ROUNDS),
        ("signal", "pthread_cond_wait", 0),
        ("post", "sem_wait", 0),
        ("mutex", "contended pthread_mutex_lock", 0),
        ("rwlock", "contended pthread_rwlock_rdlock", 0),
        ("spin", "contended pthread_spin_lock", 0),
    ];
    for (how, operation, number) in operations {
        let run = || {
            let report = measure("gcc", &[], how);
            assert_eq!(calls(&report, "step"), STEPS, "{how}");
            let waits = calls(&report, operation);
            assert!(if number > 0 { waits == number } else { waits > 0 }, "{how}: {waits}");
            let overheads = of_threads(&report, "overhead_s");
            assert!(overheads[0] < 0.5 * overheads[1], "{how}: {overheads:?}");
            (of_threads(&report, "delay_s").to_vec(), overheads[1])
        };
        hands_on(run, how);
    }
}

#[test]
fn what_came_with_a_wait_for_a_lock_is_not_handed_on_as_gained_with_it() {
    let report = measure("gcc", &[], "turns");
    assert!(calls(&report, "contended pthread_mutex_lock") > 0);
    let (delays, overheads) = (of_threads(&report, "delay_s"), of_threads(&report, "overhead_s"));
    let all: f64 = overheads.iter().sum();
    assert!(delays.iter().all(|delay| *delay < 1.05 * all), "nobody is late by more than all that measuring took: {delays:?}, {overheads:?}");
}

#[test]
fn who_sleeps_while_another_thread_is_late_may_have_waited_for_it() {
    let report = measure("gcc", &[], "system");
    let (own, overhead) = (&report.locations()[0], of_threads(&report, "overhead_s")[1]);
    let seconds = |field: &str| own[field].as_f64().expect("seconds");
    assert!(seconds("compensated_s") - seconds("low_s") > 0.3 * overhead, "{own}, for {overhead} s");
}

#[test]
fn members_of_a_team_wait_for_one_another() {
    for compiler in ["gcc", "clang"] {
        let run = || {
            let report = measure(compiler, &["-fopenmp"], "openmp");
            assert_eq!(calls(&report, "step"), 2 * STEPS, "{compiler}");
            assert_eq!((calls(&report, "omp parallel"), calls(&report, "omp barrier")), (ROUNDS, 2 * ROUNDS), "{compiler}");
            // Each is the busy one in turn: both have as many probes, and each of them waited for all of the other's.
            (of_threads(&report, "delay_s").to_vec(), of_threads(&report, "overhead_s").iter().sum())
        };
        hands_on(run, compiler);
    }
}

/// The node of the region of this name of a thread, with its seconds.
fn node_of<'a>(report: &'a Report, thread: u64, name: &str) -> &'a Value {
    let is_named = |node: &Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
    report.nodes().iter().find(|node| node["location"] == thread && is_named(node)).unwrap_or_else(|| panic!("{name} of thread {thread}"))
}

#[test]
fn members_of_the_last_team_wait_to_the_end_for_what_the_first_thread_does_alone() {
    for (compiler, how) in ["gcc", "clang"].into_iter().flat_map(|compiler| ["return", "exit", "pause"].map(|how| (compiler, how))) {
        let place = Place::new();
        let line = [compile(&place, "idle_team.c", compiler, &["-fopenmp"]), how.to_string()];
        let measured = place.profile(&["--preset", "all"], &line);
        assert_eq!(measured.status.code(), Some(0), "{compiler}, {how}: {}", text(&measured.stderr));
        let report = place.report();
        report.check();
        let seconds = |node: &Value, field: &str| node[field]["measured_s"].as_f64().expect("seconds");
        let (alone, waited) = (seconds(node_of(&report, 0, "alone"), "inclusive"), seconds(node_of(&report, 1, "program"), "wait"));
        assert!(waited >= 0.99 * alone, "{compiler}, {how}: {waited} s of {alone} s");
        let findings = report.0["whole"]["findings"].as_array().expect("a list");
        let blames = |what: &str| what.contains("until thread 0 is done") && what.contains("in alone");
        let is_told = findings.iter().any(|found| found["id"] == "F-wait-threads" && found["what"].as_str().is_some_and(blames));
        assert!(is_told, "{compiler}, {how}: {findings:?}");
    }
}

#[test]
fn who_waits_for_a_lock_of_openmp_gains_what_its_holder_gained() {
    for (how, operation) in [("critical", "contended omp critical"), ("team lock", "contended omp_set_lock")] {
        for compiler in ["gcc", "clang"] {
            let run = || {
                let report = measure(compiler, &["-fopenmp"], how);
                assert_eq!(calls(&report, "step"), STEPS, "{how}, {compiler}");
                let waits = calls(&report, operation);
                assert!((1..=ROUNDS).contains(&waits), "{how}, {compiler}: {waits}");
                (of_threads(&report, "delay_s").to_vec(), of_threads(&report, "overhead_s")[1])
            };
            hands_on(run, how);
        }
    }
}

#[test]
fn a_copy_of_a_library_that_is_loaded_for_itself_runs_its_teams() {
    let place = Place::new();
    build(&place, &format!("gcc -O2 -g -fopenmp -fPIC -shared -o original.so {PROGRAMS}/team_in_library.c"));
    build(&place, &format!("gcc -O2 -g -o host {PROGRAMS}/team_host.c"));
    let made = place.tare().args(["instrument", "original.so", "-o", "libteam.so"]).output().expect("tare can be started");
    assert!(made.status.success(), "{}", text(&made.stderr));
    // The original cannot stand in for the copy.
    std::fs::remove_file(place.path().join("original.so")).expect("the original");
    let output = place.tare().args(["run", "-o", "run", "--", "./host"]).output().expect("tare can be started");
    assert_eq!(text(&output.stdout), "3 members\n", "{}", text(&output.stderr));
}

#[test]
fn whatever_threads_do_they_do_as_unmeasured() {
    let programs =
        [("thread_storm.c", "gcc", None), ("openmp_constructs.c", "gcc", Some("-fopenmp")), ("openmp_constructs.c", "clang", Some("-fopenmp"))];
    for (source, compiler, option) in programs {
        let place = Place::new();
        let line = [compile(&place, source, compiler, option.as_slice())];
        let plain = place.plain(&line);
        assert!(plain.status.success(), "{source}: {}", text(&plain.stderr));
        for options in [&["--exact"][..], &["--budget", "2%"], &["--compensate", "off"], &["--model", "delay"]] {
            let mut tare = place.tare();
            tare.args(["profile", "--preset", "all", "-o", "run"]).args(options).env("OMP_CANCELLATION", "true").arg("--").args(&line);
            let measured = tare.output().expect("tare can be started");
            let (is, should_be) = (text(&measured.stdout), text(&plain.stdout));
            assert_eq!((measured.status.code(), is), (Some(0), should_be), "{source}, {compiler}, {options:?}: {}", text(&measured.stderr));
        }
    }
}

#[test]
fn the_delay_of_a_thread_goes_on_to_other_ranks() {
    for mpi in BOTH {
        let place = Place::new();
        let program = place.path().join("hybrid");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/hybrid.c");
        let status = Command::new(format!("mpicc.{}", mpi.name)).args(["-O2", "-g", "-fopenmp", source, "-o"]).arg(&program).status();
        assert!(status.expect("installed by `make test`").success());
        let run = || {
            let measured = place.profile(&["--preset", "all", "--exact"], &mpi.line(2, &program));
            assert!(measured.status.success(), "{}", text(&measured.stderr));
            let report = place.report();
            report.check();
            let of = |rank: u64, thread: u64, field: &str| {
                let is_it = |location: &&Value| location["rank"] == rank && location["thread"] == thread;
                report.locations().iter().find(is_it).expect("a thread")[field].as_f64().expect("seconds")
            };
            (vec![of(0, 0, "delay_s"), of(1, 0, "delay_s")], of(0, 1, "overhead_s"))
        };
        hands_on(run, mpi.name);
    }
}
