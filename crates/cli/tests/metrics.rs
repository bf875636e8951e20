//! What is measured beside time stands at the region that caused it.

mod common;

use common::{BOTH, Place, Report, compile_c, text};

/// Compensated values of a metric at a region, over all its paths, for each location.
fn values(report: &Report, region: &str, metric: &str) -> Vec<f64> {
    let mut values = vec![0.0; report.locations().len()];
    for node in report.nodes() {
        let name = &report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"];
        if name == region {
            values[node["location"].as_u64().expect("an index") as usize] += node["metrics"][metric]["compensated"].as_f64().unwrap_or(0.0);
        }
    }
    values
}

fn measured(place: &Place, metrics: &str) -> (Report, String) {
    let program = compile_c("crates/cli/tests/programs/metrics.c", place.path(), &["-pthread", "-O1"]);
    let output = place.profile(&["--metrics", metrics], &[program.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "done\n");
    let report = place.report();
    report.check();
    (report, text(&output.stderr))
}

#[test]
fn threads_may_be_cancelled_at_any_instruction_of_a_probe() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/cancelled.c", place.path(), &["-pthread", "-O1"]).display().to_string();
    for metrics in ["task-clock", "page-faults,allocations,io-calls"] {
        let output = place.profile(&["--preset", "all", "--metrics", metrics], std::slice::from_ref(&program));
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "0 not cancelled\n"), "{}", text(&output.stderr));
    }
}

#[test]
fn page_faults_stand_where_pages_were_touched_first() {
    let place = Place::new();
    let (report, summary) = measured(&place, "page-faults,task-clock,context-switches");
    let mut faults = values(&report, "touches", "page-faults");
    faults.sort_by(f64::total_cmp);
    // The child, the other thread, and the main thread, each with a few more for the pages of the allocator.
    assert_eq!(faults.len(), 3, "{faults:?}");
    let mut threads: Vec<_> = report.locations().iter().map(|location| location["thread"].as_u64()).collect();
    threads.sort_unstable();
    assert_eq!(threads, [Some(0), Some(0), Some(1)], "arenas of metrics are no threads");
    for (faults, pages) in faults.iter().zip([1000.0, 2000.0, 5000.0]) {
        assert!((pages..pages + 60.0).contains(faults), "{faults} faults for {pages} pages");
    }
    assert!(values(&report, "counts", "page-faults").iter().sum::<f64>() < 5.0);
    assert!(values(&report, "counts", "task-clock").iter().sum::<f64>() > 1e5, "a million additions in less than 0.1 ms");
    assert!(summary.contains("page-faults"), "{summary}");
    for node in report.nodes() {
        for (name, value) in node["metrics"].as_object().expect("metrics") {
            let number = |what: &str| value[what].as_f64().expect("a number");
            assert!(number("low") <= number("compensated") && number("compensated") <= number("high"), "{name}: {value}");
        }
    }
}

#[test]
fn counters_of_the_processor_count_or_are_said_to_be_missing() {
    let place = Place::new();
    let (report, summary) = measured(&place, "PAPI_TOT_INS,page-faults");
    let instructions: f64 = values(&report, "counts", "PAPI_TOT_INS").iter().sum();
    if summary.contains("PAPI_TOT_INS is not available here") {
        assert_eq!(instructions, 0.0);
    } else {
        // A million rounds of a load, an addition, a store, a counter and a jump.
        assert!((4e6..10e6).contains(&instructions), "{instructions} instructions");
    }
    assert!(values(&report, "touches", "page-faults").iter().sum::<f64>() >= 8000.0);
}

#[test]
fn metrics_of_ranks_stand_beside_mpi_operations() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("examples/pi/pi.c", place.path());
        let output = place.profile(&["--preset", "mpi-path", "--metrics", "task-clock"], &mpi.line(2, &program));
        assert!(output.status.success(), "{}: {}", mpi.name, text(&output.stderr));
        let report = place.report();
        let clocks = values(&report, "MPI_Init", "task-clock");
        assert!(clocks.len() == 2 && clocks.iter().all(|&clock| clock > 1e5), "{}: {clocks:?}", mpi.name);
    }
}

#[test]
fn names_that_are_not_known_are_refused() {
    let place = Place::new();
    let output = place.tare().args(["run", "--metrics", "page-faults,no-such-thing", "--", "true"]).output().expect("tare");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("no-such-thing") && text(&output.stderr).contains("try:"), "{}", text(&output.stderr));
}
