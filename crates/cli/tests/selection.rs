//! What is measured: presets and filter files, in the order given.

mod common;

use std::fs;

use common::{Place, compile_c, text};
use serde_json::Value;

/// What `tare select` lets in of the program that is given, sorted.
fn selected(place: &Place, program: &str, words: &[&str]) -> Vec<String> {
    let output = place.tare().args(["select", program, "--format", "json"]).args(words).output().expect("tare can be started");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let names = document["selected"].as_array().expect("a list").iter();
    let mut names: Vec<String> = names.map(|one| one["name"].as_str().expect("a name").to_string()).collect();
    names.sort();
    names
}

fn place_with_program() -> (Place, String) {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/selected.c", place.path(), &["-O1", "-g"]).display().to_string();
    let filters = [
        ("no-leaf.xml", "<filter name='no-leaf'><exclude><functionnames>leaf</functionnames></exclude></filter>"),
        ("leaf.xml", "<filter name='leaf'><include><functionnames match='prefix'>lea</functionnames></include></filter>"),
        ("only-leaf.xml", "<filter name='only-leaf' start='none'><include><functionnames>leaf</functionnames></include></filter>"),
    ];
    for (name, filter) in filters {
        fs::write(place.path().join(name), filter).expect("a writable directory");
    }
    (place, program)
}

#[test]
fn a_filter_goes_on_from_the_preset_and_the_filters_before_it() {
    let (place, program) = place_with_program();
    let select = |words: &[&str]| selected(&place, &program, words);
    assert_eq!(select(&[]), ["branch", "leaf", "main", "search"]);
    assert_eq!(select(&["--filter", "no-leaf.xml"]), ["branch", "main", "search"]);
    assert_eq!(select(&["--preset", "cc3", "--filter", "leaf.xml"]), ["leaf", "main", "search"]);
    assert_eq!(select(&["--preset", "cc3", "--filter", "leaf.xml", "--filter", "no-leaf.xml"]), ["main", "search"]);
    assert_eq!(select(&["--preset", "cc3", "--filter", "only-leaf.xml"]), ["leaf", "main"]);
}

#[test]
fn a_printed_preset_is_a_filter_that_does_the_same() {
    let (place, program) = place_with_program();
    for preset in ["all", "mpi-path", "cc2", "cc3", "loc5", "mpi-path+cc3"] {
        let output = place.tare().args(["select", "--print-preset", preset]).output().expect("tare can be started");
        fs::write(place.path().join("printed.xml"), output.stdout).expect("a writable directory");
        assert_eq!(selected(&place, &program, &["--filter", "printed.xml"]), selected(&place, &program, &["--preset", preset]), "{preset}");
    }
}

#[test]
fn another_filter_makes_another_copy() {
    let (place, program) = place_with_program();
    let instrumented = |filter: &str| {
        let output =
            place.tare().args(["instrument", &program, "-o", "copy", "--format", "json", "--filter", filter]).output().expect("tare can be started");
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        document["functions"]["selected"].as_u64().expect("a number")
    };
    assert_eq!((instrumented("no-leaf.xml"), instrumented("only-leaf.xml")), (3, 2));
    let ran = |filter: &str| {
        let output = place.tare().args(["profile", "--filter", filter, "--", &program]).output().expect("tare can be started");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).contains("leaf")
    };
    assert!(ran("only-leaf.xml") && !ran("no-leaf.xml"), "the cache tells filters apart");
    fs::write(place.path().join("no-leaf.xml"), "<filter name='no-leaf'/>").expect("a writable directory");
    assert!(ran("no-leaf.xml"), "the cache sees that a filter file was changed");
}
