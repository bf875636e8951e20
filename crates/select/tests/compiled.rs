//! Presets on a program that the compiler made.

use std::path::Path;
use std::process::Command;

use tare_code::Program;
use tare_image::Image;
use tare_image::lines::{DebugSections, Lines};
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

fn compiled(options: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("mpi.c"), "int MPI_Send(int a) { return a; }\n").expect("a source file");
    std::fs::write(at("app.c"), SOURCE).expect("a source file");
    gcc(directory.path(), &["-shared", "-fPIC", "-o", "libmpistub.so", "mpi.c"]);
    gcc(directory.path(), &[&["-O1", "-o", "app", "app.c", "libmpistub.so"], options].concat());
    std::fs::read(at("app")).expect("the program")
}

fn gcc(directory: &Path, arguments: &[&str]) {
    let status = Command::new("gcc").args(arguments).current_dir(directory).status().expect("gcc");
    assert!(status.success());
}

fn chosen(bytes: &[u8], preset: Preset) -> (Selection, Vec<String>) {
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let sections = DebugSections::of(&image);
    let lines = Lines::new(&sections);
    let selection = choose(&program, preset, |function| {
        let body = program.body(&image, function);
        program.metrics(&image, function, &body, lines.as_ref())
    });
    let mut names: Vec<String> = selection.selected.iter().map(|decision| program.functions[decision.function].name.clone()).collect();
    names.sort();
    (selection, names)
}

#[test]
fn the_mpi_path_is_who_calls_mpi_and_nobody_else() {
    let (selection, names) = chosen(&compiled(&[]), Preset::MpiPath);
    assert_eq!(names, ["exchange", "main", "step"]);
    assert!(selection.rejected.iter().all(|decision| decision.reason == "no path to MPI"));
}

#[test]
fn complexity_drops_functions_with_one_path() {
    let bytes = compiled(&[]);
    assert_eq!(chosen(&bytes, Preset::Cyclomatic2).1, ["branch", "main", "search"]);
    assert_eq!(chosen(&bytes, Preset::Cyclomatic3).1, ["main", "search"]);
    assert_eq!(chosen(&bytes, Preset::MpiPathAndCyclomatic3).1, ["exchange", "main", "search", "step"]);
}

#[test]
fn lines_come_from_debug_information() {
    let (selection, names) = chosen(&compiled(&["-g"]), Preset::Lines5);
    assert!(!names.contains(&"getter".to_string()), "{names:?}");
    assert!(names.contains(&"search".to_string()), "{names:?}");
    assert!(selection.rejected.iter().all(|decision| decision.reason.starts_with("below 5 lines: ")));
}

#[test]
fn start_up_code_is_neither_selected_nor_rejected() {
    let (selection, names) = chosen(&compiled(&[]), Preset::All);
    assert!(["branch", "exchange", "getter", "main", "search", "step"].iter().all(|name| names.contains(&(*name).to_string())));
    assert!(!names.iter().any(|name| name == "_start" || name == "_init"));
    assert!(selection.rejected.is_empty());
}
