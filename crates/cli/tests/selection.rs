//! What is measured: presets and filter files, in the order given.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::{Place, compile_c, fits, text};
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
    for preset in ["auto", "all", "mpi-path", "cc2", "cc3", "loc5", "mpi-path+cc3"] {
        let output = place.tare().args(["select", "--print-preset", preset]).output().expect("tare can be started");
        fs::write(place.path().join("printed.xml"), output.stdout).expect("a writable directory");
        assert_eq!(selected(&place, &program, &["--filter", "printed.xml"]), selected(&place, &program, &["--preset", preset]), "{preset}");
    }
}

#[test]
fn the_printed_filter_of_auto_has_its_budget() {
    let (place, program) = place_with_program();
    let printed = place.tare().args(["select", "--print-preset", "auto"]).output().expect("tare can be started");
    let printed = text(&printed.stdout);
    fs::write(place.path().join("printed.xml"), &printed).expect("a writable directory");
    fs::write(place.path().join("more.xml"), printed.replace("2%", "30%")).expect("a writable directory");
    let document = |words: &[&str]| -> Value {
        let output = place.tare().args(["select", &program, "--format", "json"]).args(words).output().expect("tare can be started");
        serde_json::from_slice(&output.stdout).expect("a document")
    };
    let (preset, file) = (document(&["--preset", "auto"]), document(&["--filter", "printed.xml"]));
    assert!(preset["expected_dilation"].is_number() && preset["budget"] == 0.02);
    assert_eq!(preset, file);
    assert_eq!(document(&["--filter", "more.xml"])["budget"], 0.3);
    assert_eq!(document(&["--filter", "more.xml", "--budget", "1%"])["budget"], 0.01);
    assert_eq!(document(&["--filter", "printed.xml", "--filter", "no-leaf.xml"]), document(&["--preset", "auto", "--filter", "no-leaf.xml"]));
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
    for format in ["text", "csv", "json"] {
        let line = ["select", &program, "--preset", "cc3", "--explain=loop 1 of search", "--format", format];
        let output = place.tare().args(line).output().expect("tare can be started");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(66), 0), "{format}");
        assert!(text(&output.stderr).contains("has `loop 1 of search` in its name"), "{}", text(&output.stderr));
    }
    let table = printed(&place, &[&program, "--preset", "cc3", "--format", "csv"]);
    assert!(table.lines().any(|line| line.starts_with("search,search,") && line.contains(",true,cc3,3,")), "{table}");
    fits(&place, "select", &printed(&place, &[&program, "--preset", "cc3", "--format", "json"]));
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

/// A constructor has two names in an image and another one of them in the compiler; and nothing is left of `Pair::sum`.
const CLASS: &str = r#"
#include <cstdio>
struct Pair { int a; Pair(int); Pair(int, int); ~Pair(); int sum(int b) { if (b > 7) puts("s"); return a + b; } int most(int); };
__attribute__((noinline)) Pair::Pair(int x) { if (x > 3) printf("%d", x); a = x; }
__attribute__((noinline)) Pair::Pair(int x, int y) { a = 0; for (int i = 0; i < x; i++) a += printf("%d", y); }
__attribute__((noinline)) Pair::~Pair() { if (a > 4) puts("d"); }
__attribute__((noinline)) int Pair::most(int x) { if (x > a) puts("m"); return x; }
int main(int argc, char **) { Pair one(argc), two(argc, 2); return one.most(argc) + two.sum(argc); }
"#;

/// The functions of an assembly file behind whose names a line with this text stands.
fn functions_with(assembly: &str, text: &str) -> BTreeSet<String> {
    let mut function = "";
    let mut found = BTreeSet::new();
    for line in assembly.lines() {
        if let Some((name, _)) = line.split_once(':').filter(|(name, _)| !name.starts_with(['.', '\t', '#'])) {
            function = name;
        } else if line.contains(text) {
            found.insert(function.to_owned());
        }
    }
    found
}

#[test]
fn compilers_read_what_is_written_for_them() {
    let place = Place::new();
    fs::write(place.path().join("class.cpp"), CLASS).expect("a writable directory");
    let run = |words: &str| {
        let mut words = words.split_whitespace();
        let output = Command::new(words.next().expect("a compiler")).args(words).current_dir(place.path()).output().expect("a compiler");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let assembly = || fs::read_to_string(place.path().join("class.s")).expect("an assembly file");
    fs::write(place.path().join("wanted"), "Pair::Pair(int)\nPair::~Pair()\nPair::most(int)\n").expect("a writable directory");
    let write = |format: &str| {
        let program = place.path().join("class").display().to_string();
        let words = ["select", &program, "--filter", "wanted", "--filter-format", "names", "--format", format];
        let output = place.tare().args(words).output().expect("tare can be started");
        fs::write(place.path().join("list"), output.stdout).expect("a writable directory");
        text(&output.stderr)
    };
    run("clang++ -O2 -g class.cpp -o class");
    assert!(!write("xray").contains("cannot be told"));
    run("clang++ -O2 -S -fxray-instrument -fxray-attr-list=list class.cpp");
    let wanted = ["_ZN4Pair4mostEi", "_ZN4PairC2Ei", "_ZN4PairD2Ev"].map(str::to_owned);
    assert_eq!(functions_with(&assembly(), "xray_sled_"), BTreeSet::from(wanted.clone()));

    run("g++ -O2 -g class.cpp -o class");
    let said = write("gcc");
    assert!(said.contains("tare: 1 function that is not selected cannot be told"), "{said}");
    run("g++ -O2 -fno-pie -S @list class.cpp");
    let hooked = assembly();
    let named: BTreeSet<String> = hooked
        .lines()
        .filter_map(|line| line.trim().strip_prefix("movl\t$")?.strip_suffix(", %edi"))
        .filter(|name| name.starts_with("_Z") || *name == "main")
        .map(str::to_owned)
        .collect();
    // To GCC, both constructors have one name.
    let [most, first, last] = wanted;
    assert_eq!(named, BTreeSet::from([most, first, last, "_ZN4PairC2Eii".to_owned()]), "{hooked}");
}

#[test]
fn lists_for_other_tools_say_that_functions_have_no_name() {
    let place = Place::new();
    let source = "#include <stdio.h>\n__attribute__((noinline)) int deep(int a) { for (int i = 0; i < a; i++) puts(\"a\"); return a; }\n\
        int main(int c, char **v) { return deep(c) + (v == 0); }\n";
    fs::write(place.path().join("bare.c"), source).expect("a writable directory");
    assert!(Command::new("gcc").args(["-O1", "-s", "bare.c", "-o", "bare"]).current_dir(place.path()).status().expect("gcc").success());
    for format in ["scorep", "tau", "gcc", "xray"] {
        let words = ["select", "bare", "--preset", "all", "--format", format];
        let output = place.tare().args(words).current_dir(place.path()).output().expect("tare can be started");
        let (list, said) = (text(&output.stdout), text(&output.stderr));
        assert!(!list.contains("fn_"), "{format}: {list}");
        assert!(said.contains("have no name that another tool could know, and are not in the list\n      try: "), "{format}: {said}");
    }
    let output = place.tare().args(["select", "bare", "--preset", "all", "--list"]).current_dir(place.path()).output().expect("tare can be started");
    assert!(text(&output.stdout).contains("fn_") && !text(&output.stderr).contains("no name"));
}

/// Sure edges do not have the calls that unoptimised code of the large model makes by what it keeps in the frame.
#[test]
fn paths_that_the_large_model_hides_are_told_of() {
    let place = Place::new();
    let source = "#include <stdio.h>\nvoid deep(int a) { puts(\"a\"); }\nvoid mid(int a) { for (int i = 0; i < a; i++) deep(a); }\n\
        int main(int c, char **v) { mid(c); printf(\"%d\", c); return v == 0; }\n";
    fs::write(place.path().join("large.c"), source).expect("a writable directory");
    for (level, preset, is_told) in [("-O0", "mpi-path", true), ("-O0", "auto", true), ("-O0", "cc3", false), ("-O1", "mpi-path", false)] {
        let words = [level, "-mcmodel=large", "-fPIC", "-fno-inline", "large.c", "-o", "large"];
        assert!(Command::new("clang").args(words).current_dir(place.path()).status().expect("clang").success());
        let output = place.tare().args(["select", "large", "--preset", preset]).current_dir(place.path()).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert_eq!(said.contains("may lead to anything: paths over them are not known\n      try: "), is_told, "{level} {preset}: {said}");
    }
}

#[test]
fn the_table_of_paper_2_has_a_row_for_each_image() {
    let (place, program) = place_with_program();
    fits(&place, "select-table", &printed(&place, &["--table", &program, &program, "--format", "json"]));
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
    fs::write(place.path().join("script"), "#!/bin/sh\nexec true\n").expect("a writable directory");
    let with_script = |format: &str| {
        let words = ["select", "--table", "script", &program, "--format", format];
        let output = place.tare().env_remove("TARE_PRESET").args(words).output().expect("tare can be started");
        assert_eq!(output.status.code(), Some(65), "{format}");
        text(&output.stdout).to_string()
    };
    let (shown, csv, json) = (with_script("text"), with_script("csv"), with_script("json"));
    assert!(shown.lines().any(|line| line.trim_start().starts_with("script ") && line.contains("a script for /bin/sh")), "{shown}");
    assert!(csv.lines().any(|line| line.starts_with("script,,,,,,,\"a script for /bin/sh,")), "{csv}");
    fits(&place, "select-table", &json);
    let document: Value = serde_json::from_str(&json).expect("a document");
    assert_eq!((&document["unread"][0]["path"], document["images"].as_array().map(Vec::len)), (&Value::from("script"), Some(1)));
    let text = printed(&place, &["--table", &program]);
    assert!(text.contains("CC 2+") && text.contains("75 %") && !text.contains("not read"), "{text}");
    assert!(printed(&place, &["--table", &program, "--format", "csv"]).starts_with("image,functions,has_lines,cc2,cc3,loc5,mpi-path,unread\r\n"));
}

#[test]
fn a_percentage_with_a_sign_is_refused_as_one() {
    let (place, program) = place_with_program();
    let cases = [["select", "--budget", "-1%", &program], ["run", "--budget", "-0.5%", "--"], ["compare", "--least", "-3%", &program]];
    for words in cases {
        let output = place.tare().args(words).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(64) && said.contains("expected a percentage") && said.contains(words[2]), "{words:?}: {said}");
    }
}

/// The JSON document of `tare select`.
#[test]
fn the_table_of_paper_2_has_its_own_columns_whatever_the_environment_asks_of_runs() {
    let (place, program) = place_with_program();
    let table = |words: &[&str]| place.tare().env("TARE_PRESET", "cc2").args(["select", "--table", &program]).args(words).output().expect("tare");
    assert!(text(&table(&[]).stdout).contains("CC 3+"), "{}", text(&table(&[]).stderr));
    let refused = table(&["--preset", "cc3"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(text(&refused.stderr).contains("--preset asks for another choice"), "{}", text(&refused.stderr));
}

#[test]
fn snippets_are_explained_by_the_rule_that_chose_them() {
    let (place, program) = place_with_program();
    let filter = "<filter name='levels' start='none' instrument='functions=count'>\n <include><functionnames>leaf search</functionnames></include>\n \
                  <include instrument='loops=tick'><functionnames>search</functionnames></include>\n</filter>";
    fs::write(place.path().join("levels.xml"), filter).expect("a writable directory");
    let said = |words: &[&str]| text(&place.tare().args(["select", &program, "--filter", "levels.xml"]).args(words).output().expect("tare").stdout);
    let table = said(&["--explain=search"]);
    assert!(table.contains("functions=count (levels:1), loops=tick (levels:3)"), "{table}");
    let document = document(&place, &program, &["--filter", "levels.xml"]);
    let of = |name: &str| document["selected"].as_array().expect("a list").iter().find(|one| one["name"] == name).expect("selected").clone();
    assert_eq!((&of("search")["snippet_rules"]["loops"]["line"], &of("leaf")["snippet_rules"]["functions"]["line"]), (&3.into(), &1.into()));
    assert!(of("leaf")["snippet_rules"]["loops"].is_null());
    let plain = text(&place.tare().args(["select", &program, "--preset", "cc3", "--explain"]).output().expect("tare").stdout);
    assert!(!plain.contains("inserted"), "default snippets need no word: {plain}");
    fs::write(place.path().join("levels.xml"), filter.replace("functions=count", "functions=function")).expect("a writable directory");
    let table = said(&["--explain=search"]);
    assert!(table.contains("functions=function (levels:1), loops=tick (levels:3)"), "snippets are called as the filter calls them: {table}");
}

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
fn a_trial_run_is_stopped_after_its_time_and_what_it_showed_counts() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/first_time.c", place.path(), &["-O1", "-g"]).display().to_string();
    let words = ["profile", "--preset", "auto", "--trial=1s", "-o", "after", "--", &program];
    let output = place.tare().current_dir(place.path()).args(words).output().expect("tare can be started");
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("the trial run was stopped after"), "{said}");
    assert_eq!(said.matches("trial run").count(), 1, "{said}");
    // The first run goes on for ten minutes and counts its steps; the second one, which counts, makes three.
    assert_eq!(text(&output.stdout), "3 steps\n", "{said}");
    for wrong in ["--trial=10", "--trial=soon"] {
        let output = place.tare().args(["profile", wrong, "--", &program]).output().expect("tare can be started");
        assert!(output.status.code() == Some(64) && text(&output.stderr).contains("10s"), "{wrong}: {}", text(&output.stderr));
    }
}

#[test]
fn a_trial_run_counts_whatever_its_status_and_leaves_nothing_behind() {
    let place = Place::new();
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).expect("a writable directory");
    let program = compile_c("crates/cli/tests/programs/ends_with_three.c", place.path(), &["-O1", "-g"]).display().to_string();
    let profile = |run: &str, options: &[&str], line: &[&str]| {
        let words = [&["profile", "--preset", "auto", "-o", run], options, &["--"], line].concat();
        let output = place.tare().current_dir(place.path()).env("TMPDIR", &temporary).args(words).output().expect("tare can be started");
        assert_eq!(fs::read_dir(&temporary).expect("a directory").count(), 0, "{}", text(&output.stderr));
        output
    };
    let calls_of_step = |run: &str| {
        let learnt = fs::read(place.path().join(run).join("learnt.json")).expect("what was learnt");
        let learnt: Value = serde_json::from_slice(&learnt).expect("a document");
        let functions = learnt["functions"].as_array().expect("a list").iter();
        functions.map(|one| one["calls"].as_f64().expect("a number")).fold(0.0, f64::max)
    };
    let output = profile("after", &["--trial"], &[&program]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("ended with status 3, and what it showed until then counts"), "{said}");
    assert!((calls_of_step("after") - 20.0).abs() < 1e-9, "{said}");
    // What a run leaves out, it knows from the run before, and so does who learns from it.
    fs::write(place.path().join("no.xml"), "<filter name='no'><exclude><functionnames>step</functionnames></exclude></filter>").expect("a file");
    let output = profile("without", &["--filter", "no.xml", "--from-run", "after"], &[&program]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let output = profile("again", &["--from-run", "without"], &[&program]);
    assert!(output.status.code() == Some(3) && calls_of_step("again") > 2.0, "{}", text(&output.stderr));
    let output = profile("never", &["--trial"], &["env", "--chdir=/nowhere", &program]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(65) && said.contains("nothing was measured in it") && said.contains("/nowhere"), "{said}");
}

#[test]
fn names_that_match_nothing_are_told_with_their_rule() {
    let (place, program) = place_with_program();
    let rules = "<filter name='f' start='none'>\n<include><functionnames>leaf leav</functionnames></include>\n\
        <include><functionnames match='prefix'>lea zzz</functionnames></include>\n\
        <exclude><property name='path'><functionnames match='suffix'>_nowhere</functionnames></property></exclude>\n\
        <include><or><functionnames match='find'>eaf</functionnames><functionnames match='regex'>^zz</functionnames></or></include>\n</filter>";
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

/// What `tare select` says on stdout and stderr.
fn said(place: &Place, words: &[&str]) -> (String, String) {
    let output = place.tare().arg("select").args(words).output().expect("tare can be started");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn rules_in_one_line_are_told_apart_by_their_column() {
    let (place, program) = place_with_program();
    let filter = "<filter name='o' start='none'><include><functionnames>leaf</functionnames></include><include><functionnames>search</functionnames></include></filter>";
    fs::write(place.path().join("o.xml"), filter).expect("a writable directory");
    let (table, _) = said(&place, &[&program, "--filter", "o.xml", "--explain"]);
    assert!(table.contains("o:1:31 ") && table.contains("o:1:85 "), "{table}");
    let (table, _) = said(&place, &[&program, "--filter", "only-leaf.xml", "--explain"]);
    assert!(table.contains("only-leaf:1 ") && !table.contains("only-leaf:1:"), "{table}");
}

#[test]
fn what_a_filter_asks_for_and_nothing_has_is_said() {
    let (place, program) = place_with_program();
    fs::write(place.path().join("snippet.xml"), "<filter name='s' instrument='functions=wrong'/>").expect("a writable directory");
    let (_, message) = said(&place, &[&program, "--filter", "snippet.xml"]);
    assert!(message.contains("`wrong`") && message.contains("--adapter"), "{message}");
    let (_, message) = said(&place, &[&program, "--filter", "leaf.xml"]);
    assert!(message.is_empty(), "{message}");
    // Return types and parameters of TAU's names are read past, and not missed then.
    for entry in ["int leaf(int, int) C", "int leaf#", "double leaf(double)"] {
        fs::write(place.path().join("list.tau"), format!("BEGIN_INCLUDE_LIST\n{entry}\nEND_INCLUDE_LIST\n")).expect("a writable directory");
        let (_, message) = said(&place, &[&program, "--filter", "list.tau"]);
        assert_eq!(message.contains("matches no function"), entry.starts_with("double"), "{entry}: {message}");
    }
}

#[test]
fn a_run_of_another_program_is_said_to_teach_nothing() {
    let (place, program) = place_with_program();
    let other = compile_c("crates/cli/tests/programs/quiet.c", place.path(), &["-O1"]).display().to_string();
    let run = place.tare().args(["profile", "-o", "run", "--preset", "all", "--", &program]).output().expect("tare can be started");
    assert!(place.path().join("run").exists(), "{}", text(&run.stderr));
    let counted = "4 of 4 functions selected";
    assert!(text(&run.stdout).contains(counted) || text(&run.stderr).contains(counted), "{}{}", text(&run.stdout), text(&run.stderr));
    assert!(said(&place, &[&program, "--preset", "all"]).0.contains(counted), "one count for both");
    let (_, message) = said(&place, &[&program, "--preset", "auto", "--from-run", "run"]);
    assert!(!message.contains("no function of"), "{message}");
    let (_, message) = said(&place, &[&other, "--preset", "auto", "--from-run", "run"]);
    assert!(message.contains("no function of") && message.contains("quiet"), "{message}");
}
