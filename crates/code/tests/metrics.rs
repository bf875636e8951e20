//! Metrics of functions of known shape, and counts held against objdump.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{SHAPES, Workshop, function, has, tool};
use tare_code::{Flow, Metrics, Program};
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;

fn metrics_of(image: &Image<'_>, program: &Program, name: &str) -> Metrics {
    let function = function(program, name);
    program.metrics(image, function, None)
}

#[test]
fn cyclomatic_complexity_counts_exits_and_does_not_depend_on_how_arms_join() {
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, &["-O0"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let expected = [
            ("straight", 1, 0),
            ("calls", 1, 0),
            ("joined", 2, 0),
            ("arms", 2, 0),
            ("once", 2, 1),
            ("nested", 3, 2),
            ("twice", 3, 2),
            ("fail", 1, 0),
            ("checked", 2, 0),
            ("choice", 8, 0),
            ("hand_over", 1, 0),
            ("odd", 2, 0),
            ("main", 1, 0),
        ];
        for (name, cyclomatic, loops) in expected {
            let found = metrics_of(&image, &program, name);
            assert_eq!((found.cyclomatic, found.loops), (cyclomatic, loops), "{compiler} {name} {found:?}");
            assert_eq!(found.unresolved_jumps, 0, "{compiler} {name}");
        }
        assert_eq!(metrics_of(&image, &program, "nested").loop_depth, 2);
        assert_eq!(metrics_of(&image, &program, "twice").loop_depth, 1);
    }
}

#[test]
fn one_path_is_one_and_one_choice_is_two_in_optimised_code_too() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "shapes", "c", SHAPES, &["-O2"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    for (name, blocks, exits, cyclomatic) in [
        ("straight", 1, 1, 1),
        ("calls", 1, 1, 1),
        ("joined", 3, 2, 2),
        ("arms", 3, 2, 2),
        ("fail", 1, 1, 1),
        ("checked", 3, 2, 2),
        ("choice", 10, 8, 8),
        ("hand_over", 1, 1, 1),
        ("through_pointer", 1, 1, 1),
        ("odd", 3, 2, 2),
    ] {
        let found = metrics_of(&image, &program, name);
        assert_eq!((found.blocks, found.exits, found.cyclomatic), (blocks, exits, cyclomatic), "{name} {found:?}");
    }
}

#[test]
fn callees_are_named_and_pointers_counted() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "shapes", "c", SHAPES, &["-O2"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    assert_eq!(program.callee_names(function(&program, "fail")), ["exit", "puts"]);
    assert_eq!(program.callee_names(function(&program, "hand_over")), ["joined"]);
    assert_eq!(metrics_of(&image, &program, "hand_over").call_sites, 0);
    assert_eq!(metrics_of(&image, &program, "through_pointer").indirect_calls, 1);
    assert_eq!(metrics_of(&image, &program, "threaded").indirect_calls, 0);
    assert!(function(&program, "fail").never_returns && !function(&program, "checked").never_returns);
}

#[test]
fn slots_of_imports_are_no_unknown_calls() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "shapes", "c", SHAPES, &["-O2", "-fno-plt"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    assert_eq!(program.callee_names(function(&program, "fail")), ["exit", "puts"]);
    assert_eq!(metrics_of(&image, &program, "fail").indirect_calls, 0);
    assert!(function(&program, "fail").never_returns);
    assert_eq!(metrics_of(&image, &program, "checked").exits, 2);
}

#[test]
fn lines_reach_from_the_entry_to_the_last_exit() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "shapes", "c", SHAPES, &["-O0", "-g"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let sections = DebugSections::of(&image);
    let lines = Lines::new(&sections);
    let start = 1 + SHAPES.lines().position(|line| line.starts_with("KEEP int choice")).expect("its line");
    let choice = function(&program, "choice");
    let found = program.metrics(&image, choice, lines.as_ref()).source.expect("a place");
    assert!(found.file.ends_with("shapes.c"));
    assert_eq!((found.line as usize, found.lines), (start, 13));
}

const INLINED: &str = "#include <stdlib.h>
static inline __attribute__((always_inline)) void stop(int x);

__attribute__((noinline)) int work(int x)
{
    if (x > 3)
        stop(x);
    return x * 2;
}

int main(int c, char **v)
{
    return work(c) + (v == 0);
}

static inline __attribute__((always_inline)) void stop(int x)
{
    if (x > 5)
        abort();
    exit(x);
}
";

#[test]
fn an_exit_in_inlined_code_is_on_the_line_of_the_call() {
    let shop = Workshop::new();
    let cases = [("gcc", "-gdwarf-2"), ("gcc", "-gdwarf-4"), ("gcc", "-g"), ("gcc", "-g1"), ("clang", "-g"), ("clang", "-gline-tables-only")];
    for (compiler, flag) in cases.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "inlined", "c", INLINED, &["-O2", flag]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let sections = DebugSections::of(&image);
        let lines = Lines::new(&sections);
        let found = program.metrics(&image, function(&program, "work"), lines.as_ref()).source.expect("a place");
        let last = found.line + found.lines - 1;
        assert!((4..=5).contains(&found.line) && (7..=9).contains(&last), "{compiler} {flag}: {} to {last}", found.line);
    }
}

/// Instruction addresses and addresses of calls, as objdump prints them.
fn listing(path: &Path) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let mut addresses = BTreeSet::new();
    let mut calls = BTreeSet::new();
    for line in tool("objdump", &["-d", "--no-show-raw-insn", "-w"], path).lines() {
        let Some((address, text)) = line.split_once(":\t") else { continue };
        let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
        addresses.insert(address);
        let mut words = text.split_whitespace();
        if words.any(|word| word == "call" || word == "lcall") {
            calls.insert(address);
        }
    }
    (addresses, calls)
}

fn compare_with_objdump(path: &Path) {
    let bytes = std::fs::read(path).expect("the program");
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let (addresses, calls) = listing(path);
    for function in &program.functions {
        let body = program.body(&image, function);
        let found: BTreeSet<u64> = body.instructions.iter().map(|one| one.address).collect();
        let inside = |all: &BTreeSet<u64>| -> BTreeSet<u64> { function.parts.iter().flat_map(|part| all.range(part.clone())).copied().collect() };
        assert_eq!(found, inside(&addresses), "{} in {}", function.name, path.display());
        let own = body.instructions.iter().filter(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall));
        let own: BTreeSet<u64> = own.map(|one| one.address).collect();
        assert_eq!(own, inside(&calls), "{} in {}", function.name, path.display());
        let (metrics, cfg) = (program.metrics(&image, function, None), program.cfg(function, &body));
        assert_eq!((metrics.instructions, metrics.call_sites), (found.len(), own.len()), "{} in {}", function.name, path.display());
        assert_eq!((metrics.blocks, metrics.edges, metrics.loops), (cfg.blocks.len(), cfg.edges(), cfg.loops(&body).len()), "{}", function.name);
        assert!(cfg.blocks.iter().all(|block| body.instructions[block.instructions.clone()].first().map(|one| one.address) == Some(block.address)));
    }
}

#[test]
fn instructions_and_calls_are_those_of_objdump() {
    let shop = Workshop::new();
    for (name, flags) in [("slow", ["-O0", "-pie"]), ("fast", ["-O3", "-no-pie"])] {
        shop.compile("gcc", name, "c", SHAPES, &flags);
        compare_with_objdump(&shop.path(name));
    }
    for path in ["/usr/bin/hpcc", "/usr/bin/git"].map(Path::new) {
        if path.exists() {
            compare_with_objdump(path);
        }
    }
}
