//! Presets on a program that the compiler made.

use std::path::Path;
use std::process::Command;

use tare_code::Program;
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;
use tare_select::budget::{Estimate, Estimates, Keeper, Limit, ProbeCost, limited};
use tare_select::{Preset, Selection, choose};

/// `exchange` calls MPI, `step` calls `exchange`; `getter` has one path, `branch` two, `search` a loop with a branch.
const SOURCE: &str = r#"
int MPI_Send(int);
int state;
__attribute__((noinline)) int getter(void) { return state; }
__attribute__((noinline)) int branch(int a) {
    if (a > state)
        state = getter();
    return state + 1;
}
__attribute__((noinline)) int search(const int *field, int length) {
    for (int index = 0; index < length; index++)
        if (field[index] == state)
            return index;
    return -1;
}
__attribute__((noinline)) int exchange(int a) { return MPI_Send(a) + 1; }
__attribute__((noinline)) int step(int a) { return exchange(a) + search(&state, a); }
int main(int argc, char **argv) { return step(argc) + branch(argc); }
"#;

/// `exchange` calls MPI, and `through` may call it through a table.
const THROUGH: &str = r#"
int MPI_Send(int);
__attribute__((noinline)) static int exchange(int a) { return MPI_Send(a) + 1; }
__attribute__((noinline)) static int other(int a) { return a + 2; }
int (*table[])(int) = {exchange, other};
__attribute__((noinline)) int through(int a) { return table[a & 1](a) + 1; }
__attribute__((noinline)) int apart(int a) { return a * a; }
int main(int argc, char **argv) { return through(argc) + apart(argc); }
"#;

fn compiled(options: &[&str]) -> Vec<u8> {
    compiled_from(SOURCE, options)
}

fn compiled_from(source: &str, options: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("mpi.c"), "int MPI_Send(int a) { return a; }\n").expect("a source file");
    std::fs::write(at("app.c"), source).expect("a source file");
    gcc(directory.path(), &["-shared", "-fPIC", "-o", "libmpistub.so", "mpi.c"]);
    gcc(directory.path(), &[&["-O1", "-o", "app", "app.c", "libmpistub.so"], options].concat());
    std::fs::read(at("app")).expect("the program")
}

fn gcc(directory: &Path, arguments: &[&str]) {
    let status = Command::new("gcc").args(arguments).current_dir(directory).status().expect("gcc");
    assert!(status.success());
}

fn chosen(bytes: &[u8], preset: &str) -> (Selection, Vec<String>) {
    let filter = preset.parse::<Preset>().expect("a preset").filter().expect("a filter");
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let sections = DebugSections::of(&image);
    let lines = Lines::new(&sections);
    let selection = choose(&program, &[filter], |function| program.metrics(&image, function, lines.as_ref()));
    let mut names: Vec<String> = selection.selected().map(|decision| program.functions[decision.function].name.clone()).collect();
    names.sort();
    (selection, names)
}

fn reasons(selection: &Selection) -> Vec<&str> {
    selection.rejected().map(|decision| decision.reason.what.as_str()).collect()
}

#[test]
fn the_mpi_path_is_who_calls_mpi_and_nobody_else() {
    let (selection, names) = chosen(&compiled(&[]), "mpi-path");
    assert_eq!(names, ["exchange", "main", "step"]);
    assert!(reasons(&selection).iter().all(|reason| *reason == "no path to MPI_* PMPI_* /^p?mpi_.*_$/"), "{selection:?}");
}

#[test]
fn who_reaches_mpi_by_possible_calls_alone_is_told_so() {
    let bytes = compiled_from(THROUGH, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let of = |selection: &Selection, name: &str| {
        let decision = selection.decisions.iter().find(|decision| program.functions[decision.function].name == name);
        decision.map(|decision| (decision.is_selected, decision.reason.what.clone())).expect("a decision")
    };
    let (by_path, _) = chosen(&bytes, "mpi-path");
    let (is_in, why) = of(&by_path, "through");
    assert!(!is_in && why.contains("of sure calls (edges=\"possible\" counts possible ones"), "{why}");
    assert_eq!(of(&by_path, "apart").1, "no path to MPI_* PMPI_* /^p?mpi_.*_$/");
    let limit = Limit { budget: "1%".parse().expect("a budget"), keeper: Keeper::Choice };
    let estimates = Estimates::of(&program, &image);
    // By what structure says alone a few calls would fit.
    let unbounded = Estimates { functions: estimates.functions.iter().map(|one| Estimate { most: None, ..*one }).collect(), ..estimates };
    let (by_budget, _) = limited(chosen(&bytes, "auto").0, &program, &unbounded, ProbeCost::DEFAULT, limit);
    let (is_in, why) = of(&by_budget, "through");
    assert!(!is_in && why.starts_with("it reaches MPI by possible calls alone"), "{why}");
    assert!(!of(&by_budget, "apart").1.contains("possible"), "{by_budget:?}");
    assert!(of(&by_budget, "exchange").0, "{by_budget:?}");
}

#[test]
fn complexity_drops_functions_with_one_path() {
    let bytes = compiled(&[]);
    assert_eq!(chosen(&bytes, "cc2").1, ["branch", "main", "search"]);
    assert_eq!(chosen(&bytes, "cc3").1, ["main", "search"]);
    let (selection, names) = chosen(&bytes, "mpi-path+cc3");
    assert_eq!(names, ["exchange", "main", "search", "step"]);
    let out = "no path to MPI_* PMPI_* /^p?mpi_.*_$/, and cyclomatic complexity below 3";
    assert!(reasons(&selection).contains(&out), "{selection:?}");
}

#[test]
fn lines_come_from_debug_information() {
    let (selection, names) = chosen(&compiled(&["-g"]), "loc5");
    assert!(!names.contains(&"getter".to_string()), "{names:?}");
    assert!(names.contains(&"search".to_string()), "{names:?}");
    assert!(reasons(&selection).iter().all(|reason| reason.starts_with("lines below 5")), "{selection:?}");
}

#[test]
fn without_line_information_instructions_stand_for_lines_and_the_reason_says_so() {
    let (selection, _) = chosen(&compiled(&[]), "loc5");
    assert!(reasons(&selection).iter().all(|reason| *reason == "lines unknown, and instructions below 20"), "{selection:?}");
}

#[test]
fn start_up_code_is_neither_selected_nor_rejected() {
    let (selection, names) = chosen(&compiled(&[]), "all");
    assert!(["branch", "exchange", "getter", "main", "search", "step"].iter().all(|name| names.contains(&(*name).to_string())));
    assert!(!names.iter().any(|name| name == "_start" || name == "_init"));
    assert_eq!(selection.rejected().count(), 0);
}

#[test]
fn every_preset_is_a_filter_that_bears_its_name_and_an_unknown_one_lists_them() {
    for preset in Preset::ALL {
        assert_eq!(preset.to_string().parse(), Ok(preset));
        assert_eq!(*preset.filter().expect("a filter").name, *preset.name());
    }
    let error = "cc4".parse::<Preset>().expect_err("there is no such preset");
    assert_eq!(error.to_string(), "unknown preset `cc4`; known are auto, all, mpi-path, cc2, cc3, loc5, mpi-path+cc3");
}
