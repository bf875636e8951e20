//! `tare instrument --bisect` finds the functions of programs that really break when they are moved.

mod common;

use common::{Place, compile_c, fits, one_line, text};
use serde_json::Value;

/// What is found for `self_aware`, called with a word that says what it looks at.
fn found(word: &str) -> Value {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/self_aware.c", place.path(), &["-O1"]);
    let line = ["instrument", "./self_aware", "--bisect", "--format", "json", "--", "nice", "./self_aware", word];
    let output = place.tare().args(line).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(if ["-", "p"].contains(&word) { 66 } else { 0 }), "{}", text(&output.stderr));
    let left: Vec<_> = std::fs::read_dir(place.path().join("cache")).expect("the cache").collect();
    assert!(left.is_empty(), "trials are left behind: {left:?}");
    fits(&place, "instrument-bisect", &text(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The functions that are each enough to break it, and how it then ends.
fn culprits(found: &Value) -> Vec<(&str, &str)> {
    let word = |value: &'_ Value| -> String { value.as_str().expect("a word").into() };
    let mut all = Vec::new();
    for set in found["culprits"].as_array().expect("a list") {
        let functions = set["functions"].as_array().expect("a list");
        assert_eq!(functions.len(), 1, "{set}");
        assert!(word(&functions[0]["file"]).ends_with("self_aware.c") && functions[0]["line"].as_u64() > Some(1), "{set}");
        all.push((functions[0]["name"].as_str().expect("a name"), set["outcome"].as_str().expect("words")));
    }
    all.sort_unstable();
    all
}

#[test]
fn a_function_whose_callee_looks_where_it_came_from_is_found() {
    assert_eq!(culprits(&found("c")), [("caller", "ends with status 1")]);
}

#[test]
fn a_function_whose_bytes_are_summed_is_found() {
    assert_eq!(culprits(&found("s")), [("summed", "ends with status 0 with other output")]);
}

#[test]
fn two_that_break_it_independently_are_both_found() {
    assert_eq!(culprits(&found("cs")), [("caller", "ends with status 1"), ("summed", "ends with status 0 with other output")]);
}

#[test]
fn a_program_that_looks_at_its_own_file_is_told_from_a_function() {
    let found = found("f");
    assert_eq!(found["bare_copy"], "ends with status 0 with other output");
    assert!(culprits(&found).is_empty());
}

#[test]
fn nothing_is_found_where_nothing_breaks() {
    for word in ["-", "p"] {
        let found = found(word);
        assert!(culprits(&found).is_empty() && found["bare_copy"].is_null(), "{word}: {found}");
    }
}

#[test]
fn a_library_that_the_command_loads_can_be_searched() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/self_aware.c");
    let gcc = |arguments: &[&str]| assert!(place.command("gcc").args(arguments).status().expect("gcc").success());
    gcc(&["-O1", "-g", "-shared", "-fPIC", "-Dmain=whole", "-o", "libself.so", source]);
    std::fs::write(place.path().join("start.c"), "int whole(int, char **);\nint main(int c, char **v) { return whole(c, v); }\n").expect("room");
    gcc(&["-o", "start", "start.c", "-L.", "-lself", "-Wl,-rpath,$ORIGIN"]);
    let line = ["instrument", "libself.so", "--bisect", "--format", "json", "--", "./start", "c"];
    let output = place.tare().args(line).output().expect("tare can be started");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(culprits(&found), [("caller", "ends with status 1")]);
}

/// What is found for `self_aware`, compiled with these flags, with these words in front of the command.
fn found_with(flags: &[&str], words: &[&str]) -> Value {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/self_aware.c", place.path(), flags);
    let line = ["instrument", "./self_aware", "--bisect", "--format", "json"].into_iter().chain(words.iter().copied());
    let output = place.tare().args(line.chain(["--", "./self_aware", "cs"])).output().expect("tare can be started");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn static_programs_can_be_searched() {
    let found = found_with(&["-O1", "-static"], &[]);
    assert_eq!(culprits(&found), [("caller", "ends with status 1"), ("summed", "ends with status 0 with other output")]);
}

#[test]
fn what_an_adapter_does_is_searched_also_where_it_prints() {
    let found = found_with(&["-O1"], &["--adapter", "cyg-profile"]);
    assert_eq!(culprits(&found), [("caller", "ends with status 1"), ("summed", "ends with status 0 with other output")]);
    let found = found_with(&["-O1"], &["--adapter", "counting"]);
    assert_eq!(culprits(&found), [("caller", "ends with status 1")]);
}

#[test]
fn a_command_that_does_not_use_the_image_is_refused() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/self_aware.c", place.path(), &["-O1"]);
    let output = place.tare().args(["instrument", "./self_aware", "--bisect", "--", "true"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("neither starts ./self_aware nor loads it at its start"), "{}", text(&output.stderr));
    let output =
        place.tare().args(["instrument", "./self_aware", "--bisect", "--", "sh", "-c", "./self_aware"]).output().expect("tare can be started");
    let said = one_line(&output.stderr);
    assert!(said.contains("is a script") && said.contains("--bisect -- mpirun -n 2 ./app") && !said.contains("tare run"), "{said}");
}

#[test]
fn a_search_in_a_part_of_the_functions_that_finds_nothing_says_so() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/self_aware.c", place.path(), &["-O1"]);
    let none = r#"<filter name="one" start="none"><include><functionnames>main</functionnames></include></filter>"#;
    std::fs::write(place.path().join("one.xml"), none).expect("room");
    let line = ["instrument", "./self_aware", "--bisect", "--filter", "one.xml", "--", "./self_aware", "c"];
    let output = place.tare().args(line).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(66));
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Found nothing") && said.contains("--preset all, if it misbehaves with more"), "{said}");
}
