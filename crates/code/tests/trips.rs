//! Trip counts of loops that are known, held against the programs themselves, which count their iterations.

mod common;

use std::process::Command;

use common::{Workshop, function, has, run};
use tare_code::{Program, Trips};
use tare_image::Image;

const LOOPS: &str = include_str!("programs/loops.c");

/// Each loop of a function: depth and trips, sorted.
fn trips_of(image: &Image<'_>, program: &Program, name: &str) -> Vec<(usize, Option<Trips>)> {
    let function = function(program, name);
    let body = program.body(image, function);
    let cfg = program.cfg(function, &body);
    let loops = cfg.loops(&body);
    let trips = program.close_up(image, function).trips(&body, &cfg, &loops);
    assert_eq!(trips.len(), loops.len());
    let mut found: Vec<_> = loops.iter().map(|one| one.depth).zip(trips).collect();
    found.sort_unstable();
    found
}

const fn exactly(most: u64) -> Option<Trips> {
    Some(Trips { most, exact: true })
}

#[test]
fn constant_loops_without_optimisation_are_counted_as_they_run() {
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let bytes = shop.compile(compiler, "loops", "c", LOOPS, &["-O0"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let said = run(&mut Command::new(shop.path("loops")));
        for line in said.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [name, bodies] = fields.as_slice() else { panic!("{line}") };
            let bodies: u64 = bodies.parse().expect("a number");
            let found = trips_of(&image, &program, name);
            let [(1, Some(trips))] = found.as_slice() else { panic!("{compiler} {name}: {found:?}") };
            // A test at the head is made once more than the body; a test at the foot as often.
            assert!(trips.exact && (trips.most == bodies || trips.most == bodies + 1), "{compiler} {name}: {trips:?}, the body {bodies}");
        }
        assert!(said.lines().count() >= 6);
    }
}

#[test]
fn constant_loops_are_counted_in_optimised_code() {
    let shop = Workshop::new();
    let flags = ["-O2", "-fno-tree-vectorize", "-fno-unroll-loops"];
    let bytes = shop.compile("gcc", "fast", "c", LOOPS, &flags);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    for (name, expected) in [
        ("up", vec![(1, exactly(100))]),
        ("down", vec![(1, exactly(50))]),
        ("by_three", vec![(1, exactly(34))]),
        ("walk", vec![(1, exactly(64))]),
        ("grid", vec![(1, exactly(12)), (2, exactly(7))]),
        ("found", vec![(1, Some(Trips { most: 1000, exact: false }))]),
        ("calls", vec![(1, exactly(25))]),
    ] {
        let found = trips_of(&image, &program, name);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_counter_that_others_may_write_is_not_counted() {
    let source = "struct box { int i; }; extern void change(int *);
        void shown(void) { for (int i = 0; i < 10; i++) change(&i); }
        void held(struct box *it) { for (it->i = 0; it->i < 10; it->i++) change(0); }
        void own(void) { int other; for (int i = 0; i < 10; i++) change(&other); }";
    let shop = Workshop::new();
    for (compiler, level) in [("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O1")] {
        if !has(compiler) {
            continue;
        }
        let bytes = shop.compile(compiler, "others", "c", source, &[level, "-shared", "-fPIC", "-fno-unroll-loops"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for name in ["shown", "held"] {
            assert_eq!(trips_of(&image, &program, name), [(1, None)], "{compiler} {level} {name}");
        }
        let own = trips_of(&image, &program, "own");
        assert!(matches!(own.as_slice(), [(1, Some(trips))] if trips.exact && (10..12).contains(&trips.most)), "{compiler} {level}: {own:?}");
    }
}

#[test]
fn a_loop_whose_bound_is_not_a_constant_is_not_counted() {
    let shop = Workshop::new();
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let bytes = shop.compile("gcc", "open", "c", LOOPS, &[level]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for name in ["given", "list", "shrinking", "doubling", "sometimes"] {
            let found = trips_of(&image, &program, name);
            assert!(!found.is_empty(), "{level} {name}");
            // What -O3 puts behind a vector loop may well be bounded; the loop over the data is not.
            assert!(found.iter().any(|(_, trips)| trips.is_none_or(|trips| !trips.exact)), "{level} {name}: {found:?}");
        }
    }
}
