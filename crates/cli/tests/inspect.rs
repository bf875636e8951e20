//! What `tare inspect` shows of a program whose source is known.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Place, text};
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
    assert!(table.contains("1 of the functions match") && table.contains("shown.c:8"), "{table}");
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
    let lines = column(&csv, "line");
    assert!(lines.iter().all(|line| ["10", "11", "12", "13"].contains(&line.as_str())), "{lines:?}");
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
        (&["--sort", "weight"], &["no column `weight`", "instructions", ":desc"]),
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
    assert!(text(&output.stderr).contains("is not here"));
}
