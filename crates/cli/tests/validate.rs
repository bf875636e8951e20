//! `tare validate` compares unmeasured and measured runs, with and without MPI. How close they come is not tested here:
//! that depends on the machine, and `make demo` shows it.

mod common;

use common::{BOTH, Place, compile_c, fits, text};
use serde_json::Value;

fn validate(place: &Place, options: &[&str], line: &[String]) -> (Option<i32>, String, String) {
    let output = place.tare().args(["validate", "-n", "2", "-o", "runs"]).args(options).arg("--").args(line).output().expect("tare can be started");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn check(document: &str, ranks: usize) {
    let document: Value = serde_json::from_str(document).expect("the document is JSON");
    assert_eq!((&document["schema"], &document["pairs"]), (&Value::from(1), &Value::from(2)));
    let rows = document["ranks"].as_array().expect("a list of ranks");
    assert_eq!(rows.len(), ranks, "{document}");
    for row in rows {
        for name in ["uninstrumented_s", "uncompensated_s", "local_s", "parallel_s"] {
            assert!(row[name].as_f64().is_some_and(f64::is_finite), "{name} of {row}");
        }
        assert!(row["uninstrumented_s"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn ranks_are_compared_on_both_mpis() {
    for mpi in BOTH {
        let place = Place::new();
        let mut line = mpi.line(2, &mpi.compile("examples/pi/pi.c", place.path()));
        line.push("4e-3".into());
        let (status, document, talk) = validate(&place, &["--format", "json"], &line);
        assert_eq!(status, Some(0), "{}: {talk}", mpi.name);
        fits(&place, "validate", &document);
        check(&document, 2);
    }
}

#[test]
fn a_program_without_mpi_is_compared_by_its_main_program() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/quiet.c", place.path(), &[]);
    let line = [program.display().to_string()];
    let (status, document, talk) = validate(&place, &["--format", "json"], &line);
    assert_eq!(status, Some(0), "{talk}");
    check(&document, 1);
    let (status, table, talk) = validate(&place, &[], &line);
    assert_eq!(status, Some(0), "{talk}");
    assert!(table.contains("unmeasured") && table.contains("dilation"), "{table}");
    let (status, picture, talk) = validate(&place, &["--format", "svg"], &line);
    assert_eq!(status, Some(0), "{talk}");
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"), "{picture}");
}

#[test]
fn a_command_that_fails_is_named_with_its_output() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let (status, table, talk) = validate(&place, &[], &[program.display().to_string(), "abort".into()]);
    assert_eq!(status, Some(65), "{talk}");
    assert!(table.is_empty() && talk.contains("000-unmeasured") && talk.contains("output"), "{talk}");
}
