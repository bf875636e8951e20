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

#[test]
fn filters_say_which_levels_are_measured() {
    let (place, program) = place_with_program();
    fs::write(
        place.path().join("levels.xml"),
        "<filter name='levels' start='none' instrument='functions,loops'>
            <include><functionnames>search</functionnames></include>
            <include instrument='callsites,functions=none'><functionnames>branch</functionnames></include>
        </filter>",
    )
    .expect("a writable directory");
    let output = place.tare().args(["profile", "-o", "run", "--filter", "levels.xml", "--", &program]).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = place.tare().args(["report", "run", "--format", "json"]).output().expect("tare can be started");
    let document: Value = serde_json::from_slice(&report.stdout).expect("a document");
    let mut names: Vec<String> = document["regions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|region| !matches!(region["kind"].as_str(), Some("program")))
        .map(|region| format!("{} {}", region["kind"].as_str().unwrap_or_default(), region["name"].as_str().unwrap_or_default()))
        .collect();
    names.sort();
    assert_eq!(names, ["call site call 1 of leaf in branch", "function main", "function search", "loop loop 1 of search"]);
}

#[test]
fn snippets_by_name_need_an_adapter() {
    let (place, program) = place_with_program();
    fs::write(place.path().join("named.xml"), "<filter name='named' instrument='functions=mine'/>").expect("a writable directory");
    let output = place.tare().args(["profile", "--filter", "named.xml", "--", &program]).output().expect("tare can be started");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{message}");
    assert!(message.contains("`mine`") && message.contains("try:"), "{message}");
}

/// What `tare select` prints.
fn printed(place: &Place, words: &[&str]) -> String {
    let output = place.tare().env_remove("TARE_PRESET").arg("select").args(words).output().expect("tare can be started");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).to_string()
}

#[test]
fn every_function_is_explained_by_the_rule_that_decided() {
    let (place, program) = place_with_program();
    let all = printed(&place, &[&program, "--preset", "cc3", "--filter", "leaf.xml", "--explain"]);
    let line = |name: &str| all.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{name} in {all}")).to_string();
    for (name, parts) in [
        ("search", ["in", "cyclomatic complexity of 3 or more: ", "cc3:3"]),
        ("branch", ["out", "cyclomatic complexity", "cc3:2"]),
        ("leaf", ["in", "name matches lea*", "leaf:1"]),
        ("main", ["in", "main program", "main program"]),
    ] {
        assert!(parts.iter().all(|part| line(name).contains(part)), "{}", line(name));
    }
    let some = printed(&place, &[&program, "--preset", "cc3", "--explain=/^sea/"]);
    assert_eq!(some.lines().count(), 2, "{some}");
    let table = printed(&place, &[&program, "--preset", "cc3", "--format", "csv"]);
    assert!(table.lines().any(|line| line.starts_with("search,search,") && line.contains(",true,cc3,3,")), "{table}");
    let document: Value = serde_json::from_str(&printed(&place, &[&program, "--preset", "cc3", "--format", "json"])).expect("a document");
    let branch = document["rejected"].as_array().expect("a list").iter().find(|one| one["name"] == "branch").expect("a function");
    assert_eq!((&branch["rule"]["filter"], &branch["rule"]["text"]), (&Value::from("cc3"), &Value::from("start=\"none\"")));
    assert_eq!(branch["reason"], "cyclomatic complexity below 3: 2");
}

#[test]
fn lists_for_other_tools_and_of_names_are_filters_that_say_the_same() {
    let (place, program) = place_with_program();
    let wanted = selected(&place, &program, &["--preset", "cc3"]);
    for format in ["scorep", "tau", "gcc", "xray", "names"] {
        let list = match format {
            "names" => printed(&place, &[&program, "--preset", "cc3", "--list"]),
            format => printed(&place, &[&program, "--preset", "cc3", "--format", format]),
        };
        fs::write(place.path().join("list"), list).expect("a writable directory");
        assert_eq!(selected(&place, &program, &["--filter", "list"]), wanted, "{format}");
        assert_eq!(selected(&place, &program, &["--filter", "list", "--filter-format", format]), wanted, "{format}");
    }
}

#[test]
fn the_table_of_paper_2_has_a_row_for_each_image() {
    let (place, program) = place_with_program();
    let document: Value = serde_json::from_str(&printed(&place, &["--table", &program, &program, "--format", "json"])).expect("a document");
    let [row, again] = document["images"].as_array().expect("a list").as_slice() else { panic!("two rows: {document}") };
    assert_eq!(row, again);
    assert_eq!((&row["functions"], &row["has_lines"]), (&Value::from(4), &Value::from(true)));
    let left: Vec<(&str, u64)> = row["left"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["preset"].as_str().unwrap_or_default(), one["functions"].as_u64().unwrap_or_default()))
        .collect();
    assert_eq!(left, [("cc2", 3), ("cc3", 2), ("loc5", 3), ("mpi-path", 1)]);
    assert_eq!(row["left"][0]["share"], 0.75);
    let output = place.tare().env_remove("TARE_PRESET").args(["select", "--table", "missing", &program]).output().expect("tare can be started");
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.code() == Some(66) && shown.contains("75 %") && said.contains("missing"), "{shown}{said}");
    let text = printed(&place, &["--table", &program]);
    assert!(text.contains("CC 2+") && text.contains("75 %"), "{text}");
    assert!(printed(&place, &["--table", &program, "--format", "csv"]).starts_with("image,functions,has_lines,cc2,cc3,loc5,mpi-path\r\n"));
}

/// The JSON document of `tare select`.
fn document(place: &Place, program: &str, words: &[&str]) -> Value {
    let output = place.tare().args(["select", program, "--format", "json"]).args(words).output().expect("tare can be started");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document")
}

#[test]
fn a_budget_is_named_with_what_it_is_expected_to_allow() {
    let (place, program) = place_with_program();
    let limited = document(&place, &program, &["--preset", "auto", "--budget", "1%"]);
    assert_eq!(limited["budget"], 0.01);
    // In a program of a few thousand cycles main's own probes may be all that is left, and too much.
    let figure = |name: &str| limited[name].as_f64().expect("a number");
    assert!(figure("expected_dilation") > 0.0 && figure("expected_dilation") <= figure("kept_dilation").max(0.01), "{limited}");
    let functions = |row: &Value| row["functions"].as_u64().expect("a number");
    let rows = limited["certainty"].as_array().expect("a list");
    assert_eq!(rows.iter().map(functions).sum::<u64>(), limited["selected"].as_array().expect("a list").len() as u64);
    let output = place.tare().env_remove("TARE_PRESET").args(["select", &program, "--format", "json"]).output().expect("tare can be started");
    let unasked: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(unasked["budget"], 0.02);
    let free = document(&place, &program, &["--preset", "all"]);
    assert!(free["budget"].is_null() && free["expected_dilation"].is_null());
    let output = place.tare().args(["select", &program, "--preset", "auto"]).output().expect("tare can be started");
    let shown = text(&output.stdout);
    assert!(shown.contains("expected dilation") && shown.contains("allowed") && shown.contains("The estimate is"), "{shown}");
}

#[test]
fn a_budget_goes_with_auto_alone_and_other_presets_refuse_it() {
    let (place, program) = place_with_program();
    let cases: [(&[&str], &str); 4] = [
        (&["--preset", "cc2", "--budget", "2%"], "--preset auto"),
        (&["--filter", "leaf.xml", "--budget", "2%"], "--preset auto"),
        (&["--preset", "all", "--from-run", "run"], "--from-run has no meaning"),
        (&["--preset", "auto", "--budget", "much"], "such as 2%"),
    ];
    for (words, named) in cases {
        let output = place.tare().args(["select", &program]).args(words).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(64) && said.contains(named), "{words:?}: {said}");
    }
}

#[test]
fn what_a_run_or_a_trial_showed_takes_the_place_of_estimates() {
    let (place, program) = place_with_program();
    let output = place.profile(&["--preset", "all"], std::slice::from_ref(&program));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let learnt = document(&place, &program, &["--preset", "auto", "--budget", "1000%", "--from-run", "run"]);
    let rests = |document: &Value| -> Vec<String> {
        let rows = document["certainty"].as_array().expect("a list").iter();
        rows.map(|row| row["rests_on"].as_str().expect("a word").to_string()).collect()
    };
    assert!(rests(&learnt).contains(&"measured".to_string()), "{learnt}");
    let output = place.tare().args(["profile", "--preset", "auto", "--trial", "-o", "after", "--", &program]).output().expect("tare can be started");
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("the trial run took"), "{said}");
    assert!(said.contains("probes were expected to take"), "{said}");
    let output = place.tare().args(["profile", "--preset", "cc2", "--trial", "--", &program]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(64), "{}", text(&output.stderr));
}

#[test]
fn names_that_match_nothing_are_told_with_their_rule() {
    let (place, program) = place_with_program();
    let rules = "<filter name='f' start='none'>\n<include><functionnames>leaf leav</functionnames></include>\n\
        <include><functionnames match='prefix'>lea zzz</functionnames></include>\n\
        <exclude><property name='path'><functionnames match='suffix'>_nowhere</functionnames></property></exclude>\n</filter>";
    fs::write(place.path().join("f.xml"), rules).expect("a writable directory");
    fs::write(place.path().join("names"), "leaf\n# a comment\nnf\nleaf@0x1\n").expect("a writable directory");
    for (file, wanted) in [("f.xml", [("f", 2, "leav"), ("f", 4, "*_nowhere")]), ("names", [("names", 3, "nf"), ("names", 4, "leaf@0x1")])] {
        let told = |output: &std::process::Output| {
            assert!(output.status.success(), "{}", text(&output.stderr));
            for (filter, line, pattern) in wanted {
                let sentence = format!("tare: {filter}:{line}: `{pattern}` matches no function of {program}");
                assert!(text(&output.stderr).contains(&sentence), "{sentence} is not in {}", text(&output.stderr));
            }
            assert_eq!(text(&output.stderr).matches("matches no function").count(), 2, "{}", text(&output.stderr));
        };
        let wanted_fields: Vec<Value> =
            wanted.iter().map(|(filter, line, pattern)| serde_json::json!({"filter": filter, "line": line, "pattern": pattern})).collect();
        for words in [&["select", &program][..], &["instrument", &program, "-o", "copy"]] {
            let output = place.tare().args(words).args(["--filter", file, "--format", "json"]).output().expect("tare can be started");
            told(&output);
            let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
            assert_eq!(document["unmatched"].as_array(), Some(&wanted_fields), "{document}");
        }
        told(&place.tare().args(["profile", "--filter", file, "-o", &format!("run-{file}"), "--", &program]).output().expect("tare can be started"));
    }
    let output = place.tare().args(["select", &program, "--preset", "mpi-path", "--filter", "no-leaf.xml"]).output().expect("tare can be started");
    assert!(!text(&output.stderr).contains("matches no function"), "{}", text(&output.stderr));
}

#[test]
fn reasons_of_a_list_are_whole_sentences_said_once() {
    let (place, program) = place_with_program();
    fs::write(place.path().join("names"), "nosuchfunction\n").expect("a writable directory");
    let listed = document(&place, &program, &["--filter", "names"]);
    let leaf = listed["rejected"].as_array().expect("a list").iter().find(|one| one["name"] == "leaf").expect("a function");
    assert_eq!(leaf["reason"], "name does not match nosuchfunction");
    let twice = "<include><functionnames>search</functionnames></include>".repeat(2);
    fs::write(place.path().join("twice.xml"), format!("<filter name='twice' start='none'>{twice}</filter>")).expect("a writable directory");
    let twice = document(&place, &program, &["--filter", "twice.xml"]);
    let leaf = twice["rejected"].as_array().expect("a list").iter().find(|one| one["name"] == "leaf").expect("a function");
    assert_eq!(leaf["reason"], "name does not match search");
}

#[test]
fn an_empty_selection_is_written_and_read_back_as_empty() {
    let (place, program) = place_with_program();
    fs::write(place.path().join("none.xml"), "<filter name='none' start='none'><exclude><functionnames>main</functionnames></exclude></filter>")
        .expect("a writable directory");
    let list = printed(&place, &[&program, "--filter", "none.xml", "--list"]);
    fs::write(place.path().join("list"), list).expect("a writable directory");
    assert!(selected(&place, &program, &["--filter", "list"]).is_empty());
}
