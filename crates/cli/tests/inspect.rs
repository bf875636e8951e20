//! What `tare inspect` shows of a program whose source is known.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Place, fits, text};
use serde_json::Value;

const PROGRAM: &str = r#"#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) double leaf(double x) { return x * 3.0 + 1.0; }

__attribute__((noinline)) double nest(int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < j; k++)
                sum += leaf(sum + k);
    return sum;
}

static inline double squared(double x) { return x * x; }

__attribute__((noinline)) double host(double x)
{
    return squared(leaf(x)) + 2.0;
}

int main(int argc, char **argv)
{
    double (*chosen)(double) = argc > 5 ? leaf : host;
    printf("%g\n", nest(argc) + chosen(argc));
    return 0;
}
"#;

fn program(place: &Place, flags: &[&str]) -> PathBuf {
    fs::write(place.path().join("shown.c"), PROGRAM).expect("a writable directory");
    let built = place.command("gcc").args(["-O1", "-o", "shown", "shown.c", "-lm"]).args(flags).status().expect("gcc");
    assert!(built.success());
    place.path().join("shown")
}

fn shown(place: &Place, words: &[&str]) -> String {
    let output = place.tare().arg("inspect").args(words).output().expect("tare can be started");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn document(place: &Place, words: &[&str]) -> Value {
    let mut all = words.to_vec();
    all.extend(["--format", "json"]);
    serde_json::from_str(&shown(place, &all)).expect("JSON")
}

fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let list = document["functions"].as_array().expect("a list");
    list.iter().find(|function| function["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The cells of one column of a CSV document without quoted fields.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let place = lines.next().expect("a head").split(',').position(|head| head == name).expect("the column");
    lines.map(|line| line.split(',').nth(place).unwrap_or_default().to_string()).collect()
}

#[test]
fn rows_are_chosen_sorted_and_cut() {
    let place = Place::new();
    program(&place, &["-g"]);
    let csv = shown(&place, &["shown", "--format", "csv", "--sort", "instructions:desc", "--top", "3"]);
    let counts: Vec<u64> = column(&csv, "instructions").iter().map(|cell| cell.parse().expect("a number")).collect();
    assert_eq!(counts.len(), 3);
    assert!(counts.is_sorted_by(|one, other| one >= other), "{counts:?}");
    assert_eq!(column(&shown(&place, &["shown", "--format", "csv", "--functions", "/^(leaf|nest)$/", "--sort", "name"]), "name"), ["leaf", "nest"]);
    let table = shown(&place, &["shown", "--functions", "nest", "--sort", "CC:desc"]);
    assert!(table.contains("1 of the functions matches") && table.contains("shown.c:7"), "{table}");
    let document = document(&place, &["shown", "--sort", "address:desc", "--functions", "e"]);
    let addresses: Vec<u64> =
        document["functions"].as_array().expect("a list").iter().map(|one| one["address"].as_u64().expect("an address")).collect();
    assert!(addresses.len() > 2 && addresses.is_sorted_by(|one, other| one > other), "{addresses:?}");
}

#[test]
fn loops_and_calls_are_listed_with_their_lines() {
    let place = Place::new();
    program(&place, &["-g"]);
    let csv = shown(&place, &["shown", "--loops", "--format", "csv", "--functions", "nest", "--sort", "depth"]);
    assert_eq!(column(&csv, "depth"), ["1", "2", "3"]);
    assert_eq!(column(&csv, "line"), ["10", "11", "12"]);
    let csv = shown(&place, &["shown", "--calls", "--format", "csv", "--sort", "line"]);
    let calls: Vec<(String, String)> = column(&csv, "name").into_iter().zip(column(&csv, "callee")).collect();
    for (caller, callee) in [("nest", "leaf"), ("host", "leaf"), ("main", "nest"), ("main", "printf")] {
        assert!(calls.iter().any(|call| call.0 == caller && call.1 == callee), "{caller} calls {callee}: {csv}");
    }
    assert!(csv.contains("indirect call"), "{csv}");
    let document = document(&place, &["shown", "--loops", "--calls"]);
    assert_eq!(function(&document, "nest")["loop_list"].as_array().map(Vec::len), Some(3));
    assert_eq!(function(&document, "nest")["call_list"][0]["callee"], "leaf");
    assert_eq!(function(&document, "nest")["call_list"][0]["line"], 13);
}

#[test]
fn bad_words_are_answered_with_the_good_ones() {
    let place = Place::new();
    program(&place, &[]);
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--sort", "weight"], &["no column `weight`", "instructions", "cyclomatic (CC)", ":desc"]),
        (&["--loops", "--calls"], &["--loops", "--calls", "--format json"]),
        (&["--functions", "/(/"], &["/(/", "unclosed group", "try:"]),
        (&["--top", "many"], &["many", "--top"]),
    ];
    for (words, parts) in cases {
        let output = place.tare().args(["inspect", "shown"]).args(words).output().expect("tare can be started");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{words:?}: {message}");
    }
}

#[test]
fn inlined_functions_come_from_wherever_the_debug_information_is() {
    let place = Place::new();
    program(&place, &["-O2", "-g"]);
    for words in [&["--only-keep-debug", "shown", "shown.debug"][..], &["--strip-all", "--add-gnu-debuglink=shown.debug", "shown", "lean"]] {
        assert!(place.command("objcopy").args(words).status().expect("objcopy").success());
    }
    let inlined = |document: &Value| {
        let list = function(document, "host")["inlined"].as_array().expect("a list").clone();
        list.iter().map(|one| (one["name"].as_str().expect("a name").to_string(), one["call_line"].as_u64().expect("a line"))).collect::<Vec<_>>()
    };
    let whole = inlined(&document(&place, &["shown"]));
    assert_eq!(whole, [("squared".to_string(), 21)]);
    assert_eq!(inlined(&document(&place, &["lean"])), whole);
    assert!(shown(&place, &["lean", "--inlined"]).contains("shown.c:21"));

    let id = document(&place, &["shown"])["image"]["build_id"].as_str().expect("a build id").to_string();
    let directory = place.path().join("debug/.build-id").join(&id[..2]);
    fs::create_dir_all(&directory).expect("a writable directory");
    fs::rename(place.path().join("shown.debug"), directory.join(format!("{}.debug", &id[2..]))).expect("the same file system");
    let output = place.tare().args(["inspect", "lean", "--format", "json"]).output().expect("tare can be started");
    let message = text(&output.stderr);
    assert!(
        output.status.success() && message.contains("lean") && message.contains("shown.debug") && message.contains("TARE_DEBUG_PATH"),
        "{message}"
    );
    let output: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(output["functions"].as_array().expect("a list").iter().all(|one| one["inlined"].is_null() && one["line"].is_null()));
    assert_eq!(inlined(&document(&place, &["lean", "--debug-path", "debug"])), whole);

    // A debug file of another build is none.
    let other = directory.join(format!("{}.debug", &id[2..]));
    program(&place, &["-O1", "-g", "-o", "other"]);
    fs::copy(place.path().join("other"), &other).expect("a writable directory");
    let output = place.tare().args(["inspect", "lean", "--debug-path", "debug"]).output().expect("tare can be started");
    let message = text(&output.stderr);
    assert!(message.contains(".debug is of another build: its build id is") && message.contains(&id), "{message}");
}

#[test]
fn a_debug_file_that_was_changed_is_refused_and_a_missing_one_is_said_to_be_looked_for() {
    let place = Place::new();
    program(&place, &["-O2", "-g"]);
    for words in [&["--only-keep-debug", "shown", "shown.debug"][..], &["--strip-all", "--add-gnu-debuglink=shown.debug", "shown", "lean"]] {
        assert!(place.command("objcopy").args(words).status().expect("objcopy").success());
    }
    let inspected = || {
        let output = place.tare().args(["inspect", "lean", "--debug-path", "debug:more", "--functions", "host"]).output().expect("tare");
        (text(&output.stdout), text(&output.stderr))
    };
    let (table, message) = inspected();
    assert!(table.contains("shown.c:") && message.is_empty(), "{table}{message}");
    let file = place.path().join("shown.debug");
    let mut bytes = fs::read(&file).expect("a debug file");
    bytes.push(0);
    fs::write(&file, bytes).expect("a writable directory");
    let (table, message) = inspected();
    assert!(!table.contains("shown.c:") && message.contains("shown.debug was changed: its checksum is"), "{table}{message}");
    fs::remove_file(&file).expect("a writable directory");
    let (_, message) = inspected();
    let home = place.path().canonicalize().expect("a directory").display().to_string();
    for directory in [&home, &format!("{home}/.debug"), "debug", "more"] {
        assert!(message.contains(&format!("in {directory} ")) || message.contains(&format!("in {directory}\n")), "{directory}: {message}");
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_named() {
    let place = Place::new();
    program(&place, &["-O2"]);
    for words in [&["inspect", "shown", "--functions", "nobody"][..], &["inspect", "shown", "--functions", "nobody", "--format", "json"]] {
        let output = place.tare().args(words).output().expect("tare can be started");
        assert!(output.status.success() && text(&output.stderr) == "tare: `nobody` matches no function of shown\n", "{}", text(&output.stderr));
    }
}

/// What graphviz reads out of a drawing: lines of nodes and edges in its plain form.
fn drawn(place: &Place, drawing: &str) -> Vec<String> {
    fs::write(place.path().join("drawing.dot"), drawing).expect("a writable directory");
    let output = place.command("dot").args(["-Tplain", "drawing.dot"]).output().expect("graphviz is installed by `make test`");
    assert!(output.status.success() && output.stderr.is_empty(), "{}\n{drawing}", text(&output.stderr));
    text(&output.stdout).lines().map(str::to_string).collect()
}

fn edge(plain: &[String], from: &str, to: &str) -> Option<String> {
    let id = |name: &str| {
        let node =
            plain.iter().find(|line| line.starts_with("node ") && (line.contains(&format!(" {name} ")) || line.contains(&format!("\"{name}\\n"))));
        node.and_then(|line| line.split(' ').nth(1)).unwrap_or_else(|| panic!("no {name} in {plain:?}")).to_string()
    };
    let head = format!("edge {} {} ", id(from), id(to));
    plain.iter().find(|line| line.starts_with(&head)).cloned()
}

#[test]
fn call_graphs_are_drawn_with_possible_calls_dashed() {
    let place = Place::new();
    program(&place, &["-g"]);
    let whole = drawn(&place, &shown(&place, &["shown", "--format", "dot"]));
    for (from, to) in [("main", "nest"), ("nest", "leaf"), ("host", "leaf"), ("main", "printf")] {
        assert!(edge(&whole, from, to).is_some_and(|edge| edge.contains("solid")), "{from} calls {to}");
    }
    assert!(edge(&whole, "main", "host").is_none(), "an indirect call is not sure");
    let possible = drawn(&place, &shown(&place, &["shown", "--format", "dot", "--edges", "possible"]));
    assert!(edge(&possible, "main", "host").is_some_and(|edge| edge.contains("dashed")));
    let near = shown(&place, &["shown", "--format", "dot", "--from", "main", "--depth", "1"]);
    assert!(near.contains("nest") && !near.contains("leaf"), "{near}");
    let callers = shown(&place, &["shown", "--format", "dot", "--functions", "host"]);
    assert!(callers.contains("leaf") && !callers.contains("nest"), "{callers}");
}

/// As many functions that call through a pointer as functions that are pointed at.
fn crowd(place: &Place, name: &str, count: usize) {
    let each = |line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let targets = each(&|n| format!("__attribute__((noinline)) int target{n}(int x) {{ return x * {} + volatile_; }}\n", n + 3));
    let table = each(&|n| format!("target{n}, "));
    let callers = each(&|n| format!("int caller{n}(int x) {{ return table[(x + {n}) % {count}](x) + {n}; }}\n"));
    let calls = each(&|n| format!("sum += caller{n}(argc);\n"));
    let source = format!(
        "volatile int volatile_;\n{targets}int (*table[])(int) = {{ {table} }};\n{callers}int main(int argc, char **argv)\n{{ int sum = 0;\n{calls}return sum & 1; }}\n"
    );
    fs::write(place.path().join("crowd.c"), source).expect("a writable directory");
    assert!(place.command("gcc").args(["-O0", "-o", name, "crowd.c"]).status().expect("gcc").success());
}

#[test]
fn possible_edges_grow_with_the_program_and_reach_what_they_reached() {
    let place = Place::new();
    let edges = |count: usize| {
        crowd(&place, "crowd", count);
        let drawing = shown(&place, &["crowd", "--format", "dot", "--edges", "possible"]);
        let graph: Value = serde_json::from_str(&shown(&place, &["crowd", "--format", "metacg", "--edges", "possible"])).expect("JSON");
        let nodes = graph["_CG"]["nodes"].as_object().expect("nodes");
        let named = |name: &str| nodes.values().find(|node| node["functionName"] == name).unwrap_or_else(|| panic!("no {name}"));
        let is_set = |node: &Value| node["functionName"].as_str().is_some_and(|name| name.starts_with("__tare_possible_targets_"));
        let keys = |node: &Value| node["callees"].as_object().expect("callees").keys().cloned().collect::<Vec<_>>();
        let set = keys(named("caller7")).into_iter().map(|id| &nodes[&id]).find(|node| is_set(node)).expect("a set");
        assert_eq!(set["hasBody"], false);
        let reached: Vec<&str> = keys(set).iter().filter_map(|id| nodes[id]["functionName"].as_str()).collect();
        assert!((0..count).all(|n| reached.contains(&format!("target{n}").as_str())), "{reached:?}");
        let drawn = drawing.lines().filter(|line| line.contains(" -> ")).count();
        assert_eq!(drawn, nodes.values().map(|node| keys(node).len()).sum::<usize>());
        drawn
    };
    let (few, many) = (edges(100), edges(400));
    assert!(few > 300 && many < 5 * few, "{few} edges, then {many}");
    let near = shown(&place, &["crowd", "--format", "dot", "--edges", "possible", "--from", "caller7", "--depth", "1"]);
    assert!(near.contains("target399") && !near.contains("caller8"), "a set is no call of its own");
}

#[test]
fn control_flow_is_drawn_with_all_blocks_and_edges() {
    let place = Place::new();
    program(&place, &["-g"]);
    let flow = drawn(&place, &shown(&place, &["shown", "--cfg", "nest"]));
    let count = |kind: &str| flow.iter().filter(|line| line.starts_with(kind)).count() as u64;
    let document = document(&place, &["shown"]);
    let nest = function(&document, "nest");
    assert_eq!((Some(count("node ")), Some(count("edge "))), (nest["blocks"].as_u64(), nest["edges"].as_u64()));
    assert_eq!(flow.iter().filter(|line| line.contains("firebrick")).count() as u64, nest["loops"].as_u64().expect("a count"));
    let address = nest["address"].as_u64().expect("an address");
    for name in [format!("{address:#x}"), format!("nest@{address:#x}")] {
        assert_eq!(drawn(&place, &shown(&place, &["shown", "--cfg", &name])), flow, "{name}");
    }
}

#[test]
fn metacg_has_what_its_reader_asks_for() {
    let place = Place::new();
    program(&place, &["-g"]);
    let graph: Value = serde_json::from_str(&shown(&place, &["shown", "--format", "metacg"])).expect("JSON");
    assert_eq!(graph["_MetaCG"]["version"], "4.0");
    for name in ["name", "version", "sha"] {
        assert!(graph["_MetaCG"]["generator"][name].is_string());
    }
    let nodes = graph["_CG"]["nodes"].as_object().expect("nodes");
    let id = |name: &str| nodes.iter().find(|(_, node)| node["functionName"] == name).unwrap_or_else(|| panic!("no {name}")).0.clone();
    for node in nodes.values() {
        assert!(node["hasBody"].is_boolean() && node["meta"].is_object() && node.get("origin").is_some());
        assert!(node["callees"].as_object().expect("callees").keys().all(|callee| nodes.contains_key(callee)));
    }
    let (nest, printf) = (&nodes[&id("nest")], &nodes[&id("printf")]);
    assert!(nest["callees"].get(id("leaf")).is_some());
    assert_eq!((&nest["meta"]["loopDepth"], &nest["hasBody"], &printf["hasBody"]), (&3.into(), &true.into(), &false.into()));
    assert!(nest["origin"].as_str().is_some_and(|file| file.ends_with("shown.c")) && printf["origin"].is_null());
    assert_eq!(graph["_CG"]["meta"]["entryFunction"], id("main"));
}

#[test]
fn two_builds_differ_where_their_sources_do() {
    let place = Place::new();
    program(&place, &["-g"]);
    fs::rename(place.path().join("shown"), place.path().join("before")).expect("the same directory");
    let same = shown(&place, &["before", "--compare", "before"]);
    assert!(same.contains("0 functions changed, 0 added, 0 removed"), "{same}");
    let later = PROGRAM
        .replace("squared(leaf(x)) + 2.0", "squared(leaf(x)) + sqrt(x)")
        .replace("int main(", "__attribute__((noinline, used)) int more(int x) { return x + 7; }\n\nint main(");
    fs::write(place.path().join("later.c"), later).expect("a writable directory");
    let built = place.command("gcc").args(["-O1", "-g", "-o", "later", "later.c", "-lm"]).status().expect("gcc");
    assert!(built.success());
    let output = shown(&place, &["before", "--compare", "later", "--format", "json"]);
    let document: Value = serde_json::from_str(&output).expect("JSON");
    let names =
        |list: &Value| list.as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name").to_string()).collect::<Vec<_>>();
    assert_eq!(document["schema"], 1);
    assert_eq!(
        (names(&document["changed"]), names(&document["added"]), names(&document["removed"])),
        (vec!["host".to_string()], vec!["more".to_string()], vec![])
    );
    assert_eq!(document["changed"][0]["callees_added"], serde_json::json!(["sqrt"]));
    let table = shown(&place, &["before", "--compare", "later"]);
    assert!(table.contains("1 function changed, 1 added, 0 removed") && table.contains("+sqrt"), "{table}");
}

#[test]
fn callees_that_came_and_went_have_the_names_that_people_read() {
    let place = Place::new();
    let source = |callee: &str| format!("namespace far {{ int away(int); int near(int); }}\nint caller(int x) {{ return far::{callee}(x) + 1; }}\n");
    for (name, callee) in [("before", "away"), ("after", "near")] {
        fs::write(place.path().join("one.cc"), source(callee)).expect("a writable directory");
        assert!(place.command("g++").args(["-O1", "-shared", "-fPIC", "-o", name, "one.cc"]).status().expect("g++").success());
    }
    let table = shown(&place, &["before", "--compare", "after"]);
    assert!(table.contains("+far::near(int)") && table.contains("far::away(int)") && !table.contains("_ZN"), "{table}");
    let document: Value = serde_json::from_str(&shown(&place, &["before", "--compare", "after", "--format", "json"])).expect("JSON");
    assert_eq!(document["changed"][0]["callees_added"], serde_json::json!(["_ZN3far4nearEi"]), "{document}");
}

const OPERANDS: &str = "#include <stdio.h>
    #define APART __attribute__((noinline, noclone, used))
    APART int adds(int x) { return x + 7; }
    APART double scales(double x) { return x * 2.5; }
    APART int joins(int x, int y) { return x & y; }
    APART void says(void) { puts(\"one text\"); }
    struct pair { int first, second; } kept = {1, 2};
    APART int picks(struct pair *p) { return p->first; }
    int one = 1, other = 2; static const int table[] = {3, 1, 4, 1, 5}; static const char *const words[] = {\"a\", \"bc\", \"def\"};
    APART const void *widely(void) { return L\"a wide text\"; }
    APART const void *half(void) { return u\"a text\"; }
    APART const char *names(int x) { return words[x]; }
    APART void tells(void) { fputs(\"told\", stdout); }
    APART int reads(void) { return one; }
    APART int looks_up(int x) { return table[x] + words[x][0]; }
    APART int calls(int x) { return adds(x) * joins(x, 3); }
    APART int counts(int x) { switch (x) { case 0: one++; case 1: return table[x + 1]; case 2: puts(\"more\"); case 3: return 9;
        case 4: return one; case 5: puts(\"still\"); case 6: return other; } return adds(x); }
    int main(int n, char **v) { says(); other = picks(&kept);
        tells(); return *(int *)widely() + *(short *)half() + *names(n) + counts(n) + joins(n, 3) + (int)scales(n) + reads() + looks_up(n) + calls(n); }";

/// Constants, operators, fields and texts are no numbers about a function; that data moved is none of these.
#[test]
fn other_operands_are_a_change_and_other_addresses_are_not() {
    let place = Place::new();
    let build = |name: &str, source: &str, kind: &str, more: &[&str]| {
        fs::write(place.path().join("operands.c"), source).expect("a writable directory");
        assert!(place.command("gcc").args(["-O1", kind, "-o", name, "operands.c"]).args(more).status().expect("gcc").success());
    };
    let moved = OPERANDS.replace(
        "APART int adds",
        "int room[999] = {1}; const char *text = \"a text in front\"; APART int first(int x) { return room[x]; }\nAPART int adds",
    );
    for kind in ["-pie", "-no-pie"] {
        build("before", OPERANDS, kind, &[]);
        build("moved", &moved, kind, &["-Wl,-Ttext-segment=0x10000000", "-Wl,--build-id=none"]);
        let table = shown(&place, &["before", "--compare", "moved"]);
        assert!(table.contains("0 functions changed, 1 added, 0 removed"), "{kind}: {table}");
        build("bare", OPERANDS, kind, &["-s"]);
        build("elsewhere", OPERANDS, kind, &["-s", "-Wl,-Ttext-segment=0x10000000", "-Wl,--build-id=none"]);
        let table = shown(&place, &["bare", "--compare", "elsewhere"]);
        assert!(table.contains("0 functions changed, 0 added, 0 removed") && !table.contains("could not be matched"), "{kind}: {table}");
        let changes = [
            ("x + 7", "x + 8", "adds"),
            ("2.5", "3.5", "scales"),
            ("x & y", "x | y", "joins"),
            ("one text", "two text", "says"),
            ("p->first", "p->second", "picks"),
            ("return one; }\n    APART int looks", "return other; }\n    APART int looks", "reads"),
            ("adds(x) * joins(x, 3)", "joins(x, 3) * adds(x)", "calls"),
            ("return 9", "return 8", "counts"),
            ("a wide text", "a wide tent", "widely"),
            ("u\"a text", "u\"a tent", "half"),
            ("stdout", "stderr", "tells"),
            ("case 3: return 9;\n        case 4: return one;", "case 4: return 9;\n        case 3: return one;", "counts"),
        ];
        for (old, new, name) in changes {
            assert!(OPERANDS.contains(old), "{old}");
            build("after", &OPERANDS.replace(old, new), kind, &[]);
            let table = shown(&place, &["before", "--compare", "after"]);
            assert!(table.contains("1 function changed, 0 added, 0 removed") && table.contains(&format!("\n  {name} ")), "{kind} {new}: {table}");
            let document: Value = serde_json::from_str(&shown(&place, &["before", "--compare", "after", "--format", "json"])).expect("JSON");
            assert_eq!(document["changed"][0]["operands_only"], table.contains("operands"), "{table}");
        }
        build("after", &OPERANDS.replace("x + 7", "x + 8"), kind, &["-s"]);
        let table = shown(&place, &["bare", "--compare", "after"]);
        assert!(table.contains("1 function changed, 0 added, 0 removed"), "{kind}: {table}");
        let unnamed = OPERANDS.replace("{3, 1, 4, 1, 5}", "{3, 1, 4, 2, 5}");
        build("after", &unnamed, kind, &[]);
        let table = shown(&place, &["before", "--compare", "after"]);
        let table_of = |old: &str, new: &str| {
            build("after", &OPERANDS.replace(old, new), kind, &[]);
            shown(&place, &["before", "--compare", "after"])
        };
        let words = table_of("\"bc\"", "\"bd\"");
        assert!(["looks_up", "names"].iter().all(|name| words.contains(&format!("\n  {name} "))), "{kind}: {words}");
        assert!(["looks_up", "counts"].iter().all(|name| table.contains(&format!("\n  {name} "))), "{kind}: {table}");
    }
}

#[test]
fn a_stripped_file_is_the_twin_of_the_one_with_symbols() {
    let place = Place::new();
    for flags in [&["-g"][..], &["-Wl,--build-id=none"]] {
        program(&place, flags);
        assert!(place.command("strip").args(["-o", "bare", "shown"]).status().expect("strip").success());
        for (one, other) in [("shown", "bare"), ("bare", "shown")] {
            let document: Value = serde_json::from_str(&shown(&place, &[one, "--compare", other, "--format", "json"])).expect("JSON");
            let names = |list: &str| -> Vec<String> {
                let names = document[list].as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name").to_string());
                // No unwind entry leads to these two in a file without symbols.
                names.filter(|name| !["_init", "_fini"].contains(&name.as_str())).collect()
            };
            assert_eq!((names("changed"), names("added"), names("removed")), (vec![], vec![], vec![]), "{one} against {other}: {document}");
            assert!(document["unchanged"].as_u64().expect("a number") >= 6, "{document}");
        }
    }
}

#[test]
fn names_are_whole_where_no_terminal_cuts_them() {
    let place = Place::new();
    let name = "a_function_with_a_name_that_no_terminal_of_eighty_columns_could_show_beside_its_numbers_and_its_place";
    fs::write(place.path().join("long.c"), format!("int {name}(int x) {{ return x * 3; }}\nint main(void) {{ return {name}(0); }}\n"))
        .expect("a file");
    assert!(place.command("gcc").args(["-O0", "-g", "-o", "long", "long.c"]).status().expect("gcc").success());
    assert!(shown(&place, &["long"]).lines().any(|line| line.contains(name) && line.contains("long.c:1")));
    let output = place.tare().args(["select", "long", "--preset", "all", "--explain"]).output().expect("tare can be started");
    assert!(text(&output.stdout).contains(&format!("{name}  in")), "{}", text(&output.stdout));
    let narrow = place.tare().args(["inspect", "long"]).env("COLUMNS", "60").output().expect("tare can be started");
    assert!(text(&narrow.stdout).lines().all(|line| line.chars().count() <= 60), "{}", text(&narrow.stdout));
}

#[test]
fn split_debug_files_are_found_in_the_directories_that_are_named() {
    let place = Place::new();
    program(&place, &["-g", "-gsplit-dwarf"]);
    let split = fs::read_dir(place.path()).expect("a directory").filter_map(Result::ok).map(|entry| entry.file_name());
    let split: Vec<_> = split.filter(|name| name.to_string_lossy().ends_with(".dwo")).collect();
    let [split] = split.as_slice() else { panic!("one .dwo: {split:?}") };
    let inlined = |words: &[&str]| -> bool { function(&document(&place, words), "host")["inlined"].as_array().is_some_and(|list| !list.is_empty()) };
    assert!(inlined(&["shown"]));
    fs::create_dir_all(place.path().join("elsewhere")).expect("a directory");
    fs::rename(place.path().join(split), place.path().join("elsewhere").join(split)).expect("the same file system");
    assert!(!inlined(&["shown"]) && inlined(&["shown", "--debug-path", "/nowhere:elsewhere"]));
}

#[test]
fn split_debug_files_of_another_build_are_named() {
    let place = Place::new();
    program(&place, &["-g", "-gsplit-dwarf"]);
    let split = fs::read_dir(place.path()).expect("a directory").filter_map(Result::ok).map(|entry| entry.path());
    let split = split.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "dwo")).expect("a split file");
    let said = || text(&place.tare().args(["inspect", "shown"]).output().expect("tare can be started").stderr);
    assert_eq!(said(), "");
    let whole = fs::read(&split).expect("a file");
    fs::write(&split, &whole[..whole.len() / 2]).expect("a writable file");
    let damaged = said();
    fs::write(place.path().join("other.c"), "int other(int x) { return x * 3; }\n").expect("a writable directory");
    assert!(place.command("gcc").args(["-g", "-gsplit-dwarf", "-c", "other.c"]).status().expect("gcc").success());
    fs::rename(place.path().join("other.dwo"), &split).expect("the same file system");
    for message in [damaged, said()] {
        assert!(message.contains("of another build, or damaged") && message.contains(".dwo"), "{message}");
    }
}

#[test]
fn the_main_program_is_called_main_in_fortran_too() {
    let place = Place::new();
    let source = "program hello\n  call work(3)\ncontains\n  subroutine work(n)\n    integer :: n\n    print *, n\n  end subroutine\nend program\n";
    fs::write(place.path().join("hello.f90"), source).expect("a writable directory");
    assert!(place.command("gfortran").args(["-O0", "-o", "hello", "hello.f90"]).status().expect("gfortran").success());
    let document = document(&place, &["hello"]);
    assert_eq!(function(&document, "MAIN__")["demangled"], "main");
    let output = place.tare().args(["select", "hello", "--preset", "all", "--explain=main"]).output().expect("tare can be started");
    let said = text(&output.stdout);
    assert!(said.lines().any(|line| line.trim_start().starts_with("main ") && line.contains("main program")) && !said.contains("MAIN__"), "{said}");
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let place = Place::new();
    program(&place, &[]);
    let cases: [(&[&str], i32, &[&str]); 8] = [
        (&["--edges", "possible"], 64, &["--edges", "--format dot"]),
        (&["--cfg", "nosuch"], 65, &["no function has `nosuch`", "tare inspect"]),
        (&["--cfg", "e"], 65, &["stands for", "nest"]),
        (&["--cfg", "nest", "--format", "csv"], 64, &["--cfg", "graphviz"]),
        (&["--from", "main"], 64, &["--from", "--format dot"]),
        (&["--depth", "2", "--format", "dot"], 64, &["--from"]),
        (&["--format", "dot", "--top", "3"], 64, &["--top", "--depth"]),
        (&["--compare", "shown", "--format", "csv"], 64, &["comparison", "--format json"]),
    ];
    for (words, status, parts) in cases {
        let output = place.tare().args(["inspect", "shown"]).args(words).output().expect("tare can be started");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{words:?}: {message}");
    }
}

#[test]
fn documents_fit_their_schemas() {
    let place = Place::new();
    program(&place, &["-g"]);
    assert!(place.command("strip").args(["-o", "bare", "shown"]).status().expect("strip").success());
    for image in ["shown", "bare"] {
        fits(&place, "inspect", &shown(&place, &[image, "--format", "json"]));
        fits(&place, "inspect", &shown(&place, &[image, "--format", "json", "--loops", "--calls"]));
        fits(&place, "metacg-v4", &shown(&place, &[image, "--format", "metacg", "--edges", "possible"]));
        fits(&place, "inspect-compare", &shown(&place, &["shown", "--compare", image, "--format", "json"]));
    }
}
