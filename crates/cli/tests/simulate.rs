//! `tare simulate`: descriptions to tables and documents.

mod common;

use std::path::Path;

use common::{Place, fits, text};
use serde_json::Value;

fn example(name: &str) -> String {
    format!("{}/../../docs/examples/{name}.sim", env!("CARGO_MANIFEST_DIR"))
}

fn document(words: &[&str]) -> Value {
    let output = Place::new().tare().arg("simulate").args(words).args(["--format", "json"]).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    fits(&Place::new(), "simulate", &text(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn worst_error(document: &Value, model: &str) -> f64 {
    let models = document["models"].as_array().expect("models");
    models.iter().find(|each| each["model"] == model).and_then(|each| each["worst_error"].as_f64()).expect("the model")
}

#[test]
fn the_models_come_as_close_as_the_page_says() {
    let slack = document(&[&example("slack")]);
    assert!(worst_error(&slack, "delay") > 0.2, "{slack}");
    // Probes are known to 10 %, so the exact form is not exact here.
    assert!(worst_error(&slack, "virtual") < 0.05, "{slack}");
    assert_eq!(slack["covered"], 1.0);
    let workers = document(&[&example("master-worker")]);
    assert!(worst_error(&workers, "local") > 0.5 && worst_error(&workers, "virtual") < 0.01, "{workers}");
    let halo = document(&[&example("halo"), "--ranks", "1000"]);
    assert_eq!(halo["ranks"].as_array().map(Vec::len), Some(1000));
}

#[test]
fn the_table_names_models_and_ranks() {
    let output = Place::new().tare().args(["simulate", &example("slack"), "--top", "2"]).output().expect("tare can be started");
    let said = text(&output.stdout);
    for part in ["delay model", "virtual time, exact form", "rank 1", "Further ranks"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("rank 2"), "{said}");
}

#[test]
fn text_is_coloured_where_that_is_wanted() {
    let place = Place::new();
    let is_coloured = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.tare();
        command.args(["simulate", &example("slack")]).args(words).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        text(&command.output().expect("tare can be started").stdout).contains('\u{1b}')
    };
    assert!(!is_coloured(&[], &[]), "a pipe is no terminal");
    assert!(is_coloured(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(is_coloured(&[], &[("TARE_COLOR", "always")]));
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!is_coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn what_is_wrong_is_named_with_its_file_and_line() {
    let place = Place::new();
    let cases = [("ranks 2\nsned to 1\n", "line 2: no statement begins with `sned`"), ("recv from 1\n", "waits for something that never comes")];
    for (description, part) in cases {
        std::fs::write(place.path().join("wrong.sim"), description).expect("a writable directory");
        let output = place.tare().args(["simulate", "wrong.sim"]).output().expect("tare can be started");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{message}");
        assert!(message.contains("wrong.sim: line") && message.contains(part) && message.contains("try:"), "{message}");
    }
    let missing = place.tare().args(["simulate", "missing.sim"]).output().expect("tare can be started");
    assert_eq!(missing.status.code(), Some(66));
}

#[test]
fn every_example_of_the_page_is_there() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulate.md")).expect("the page");
    for word in page.split(['`', ' ', '\n']).filter(|word| word.ends_with(".sim") && word.starts_with("docs/")) {
        assert!(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(word).exists(), "{word}");
    }
}
