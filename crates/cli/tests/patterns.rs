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
