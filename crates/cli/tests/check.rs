//! `tare instrument --check` tells copies that are whole from those that are not.

mod common;

use std::path::Path;
use std::process::Output;

use common::{Place, compile_c, fits, text};
use serde_json::Value;

fn tare(place: &Place, words: &[&str]) -> Output {
    place.tare().arg("instrument").args(words).output().expect("tare can be started")
}

/// A program and its copy with probes at all levels.
fn place() -> Place {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-Wl,--build-id"]);
    let output = tare(&place, &["endings", "-o", "copy", "--preset", "all", "--levels", "functions,loops,callsites", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fits(&place, "instrument", &text(&output.stdout));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(document["sites"]["patched"].as_u64().expect("a number") > 4, "{document}");
    let refused = document["refused_sites"].as_array().expect("a list");
    assert_eq!(document["sites"]["refused"], refused.len(), "{document}");
    place
}

fn refused(place: &Place, words: &[&str], code: i32, sentence: &[&str]) {
    let output = tare(place, words);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    assert!(sentence.iter().all(|word| said.contains(word)) && said.contains("try:"), "{words:?}: {said}");
}

#[test]
fn a_whole_copy_passes_wherever_its_original_is() {
    let place = place();
    let output = tare(&place, &["--check", "copy", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fits(&place, "instrument-check", &text(&output.stdout));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(document["regions"]["functions"].as_u64() > Some(1) && document["regions"]["callsites"].as_u64() > Some(1), "{document}");
    std::fs::rename(place.path().join("endings"), place.path().join("elsewhere")).expect("it can be moved");
    refused(&place, &["--check", "copy"], 66, &["endings", "--original FILE"]);
    let output = tare(&place, &["--check", "copy", "--original", "elsewhere"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("is what instrumenting elsewhere gives"), "{}", text(&output.stdout));
}

#[test]
fn what_is_wrong_is_an_error_with_its_place() {
    let place = place();
    let copy = place.path().join("copy");
    let whole = std::fs::read(&copy).expect("the copy");
    let middle = whole.len() * 3 / 5;
    let mut bytes = whole.clone();
    bytes[middle] ^= 4;
    std::fs::write(&copy, &bytes).expect("room");
    refused(&place, &["--check", "copy"], 65, &["copy", &format!("offset {middle:#x}")]);
    std::fs::write(&copy, &whole[..whole.len() - 1]).expect("room");
    refused(&place, &["--check", "copy"], 65, &["copy"]);
    std::fs::write(&copy, &whole).expect("room");
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-Wl,--build-id", "-O1"]);
    refused(&place, &["--check", "copy"], 65, &["build", "--original FILE"]);
    refused(&place, &["--check", "endings"], 65, &["no instrumented copy"]);
    assert!(Path::new(&copy).exists());
}

#[test]
fn a_copy_that_an_adapter_made_is_held_against_what_that_gives() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-g"]);
    let made = tare(&place, &["endings", "-o", "copy", "--adapter", "counting", "--preset", "all", "--poison"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    std::fs::rename(place.path().join("endings"), place.path().join("elsewhere")).expect("it can be moved");
    let check = ["--check", "copy", "--original", "elsewhere"];
    let with = |words: &[&'static str]| [&check, words].concat();
    let output = tare(&place, &with(&["--adapter", "counting", "--preset", "all", "--format", "json"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    fits(&place, "instrument-check", &text(&output.stdout));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&document["adapter"], &document["poisoned"]), (&"counting".into(), &true.into()), "{document}");
    let functions = document["regions"]["functions"].as_u64().expect("a number");
    std::fs::write(place.path().join("main.txt"), "main\n").expect("room");
    let fewer = with(&["--adapter", "counting", "--preset", "all", "--filter", "main.txt"]);
    refused(&place, &fewer, 65, &[&format!("it has {functions} regions, and what was asked for gives 1"), "the options"]);
    refused(&place, &with(&["--adapter", "cyg-profile", "--preset", "all"]), 65, &["copy", "give the adapter"]);
    refused(&place, &check, 65, &["copy", "--adapter"]);
    let copy = place.path().join("copy");
    let mut bytes = std::fs::read(&copy).expect("the copy");
    // The texts of snippets are the adapter's alone: only the copy made again tells them.
    let at = bytes.windows(9).position(|word| word == b"entering ").expect("a text of a snippet");
    bytes[at] ^= 0x20;
    std::fs::write(&copy, &bytes).expect("room");
    refused(&place, &with(&["--adapter", "counting", "--preset", "all"]), 65, &[&format!("offset {at:#x}")]);
}

/// What snippets call is left as it is, here most of the program: that tells nothing of whether the rest was overwritten.
#[test]
fn a_poisoned_copy_passes_where_most_functions_are_refused() {
    let place = Place::new();
    let one = |number: u32| format!("__attribute__((noipa)) int one{number}(int x) {{ return x * {number} + x / (x + {number}) + x % (x + 7); }}\n");
    let program: String = (1..9).map(one).collect();
    let calls: Vec<String> = (1..9).map(|number| format!("one{number}(9)")).collect();
    let hook = format!("__attribute__((noipa)) int hook(void) {{ return {}; }}\n", calls.join(" + "));
    let main = "int main(int count, char **words) { (void)words; return count * 3 / (count + 1) - 1; }\n";
    std::fs::write(place.path().join("program.c"), program + &hook + main).expect("room");
    std::fs::write(place.path().join("own.xml"), "<adapter><functions><enter>hook();</enter></functions></adapter>").expect("room");
    let built = std::process::Command::new("gcc").current_dir(place.path()).args(["-O1", "-o", "program", "program.c"]).status();
    assert!(built.expect("gcc").success());
    let options = ["--adapter", "own.xml", "--preset", "all", "--format", "json"];
    let made = tare(&place, &[&["program", "-o", "copy", "--poison"][..], &options].concat());
    let document: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    assert_eq!(document["functions"]["refused"], 9, "{document}");
    let output = tare(&place, &[&["--check", "copy"][..], &options].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["poisoned"], true, "{document}");
}

#[test]
fn a_copy_is_not_instrumented_again() {
    let place = place();
    refused(&place, &["copy", "-o", "again"], 65, &["an instrumented copy already"]);
    assert!(!place.path().join("again").exists());
}
