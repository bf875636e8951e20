//! Jump tables: every form that compilers make, with the targets that the source implies.

mod common;

use std::collections::BTreeSet;

use common::{Workshop, function, has};
use tare_code::{Flow, Function, Program, TableForm};
use tare_image::Image;

const SHAPES: &str = include_str!("programs/shapes.c");

const CASES: [(&str, &[&str]); 11] = [
    ("gcc", &["-O0", "-pie", "-fPIE"]),
    ("gcc", &["-O2", "-pie", "-fPIE"]),
    ("gcc", &["-O0", "-no-pie", "-fno-pie"]),
    ("gcc", &["-O2", "-no-pie", "-fno-pie"]),
    ("gcc", &["-O2", "-fcf-protection"]),
    ("gcc", &["-Os"]),
    ("gcc", &["-O2", "-fno-asynchronous-unwind-tables"]),
    ("gcc", &["-O3", "-no-pie", "-fno-pie", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"]),
    ("clang", &["-O0", "-pie", "-fPIE"]),
    ("clang", &["-O2", "-pie", "-fPIE"]),
    ("clang", &["-O2", "-no-pie", "-fno-pie"]),
];

#[test]
fn a_switch_has_its_seven_targets() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let choice = function(&program, "choice");
        let body = program.body(&image, choice);
        let about = format!("{compiler} {flags:?}");
        let [table] = body.tables.as_slice() else { panic!("{about}: {:?}", body.tables) };
        assert_eq!(choice.refusal, None, "{about}");
        assert!(table.targets.len() >= 7, "{about}");
        let own: BTreeSet<u64> = table.targets[..7].iter().copied().collect();
        assert!((6..=7).contains(&own.len()) && own.iter().all(|&target| choice.contains(target)), "{about}");
        let starts: BTreeSet<u64> = body.instructions.iter().map(|one| one.address).collect();
        assert!(own.is_subset(&starts), "{about}");
        let jumps = body.instructions.iter().filter(|one| matches!(one.flow, Flow::TableJump { .. }));
        assert_eq!(jumps.map(|one| one.address).collect::<Vec<_>>(), table.jumps, "{about}");
        assert!(!table.references.is_empty() && table.references.iter().all(|one| starts.contains(one)), "{about}");
        let form = if flags.contains(&"-no-pie") { TableForm::Absolute64 } else { TableForm::Relative32 };
        assert_eq!(table.form, form, "{about}");
    }
}

#[test]
fn a_computed_goto_in_a_leaf_is_no_tail_call() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let threaded = function(&program, "threaded");
        let body = program.body(&image, threaded);
        let about = format!("{compiler} {flags:?}");
        let count = |wanted: fn(&Flow) -> bool| body.instructions.iter().filter(|one| wanted(&one.flow)).count();
        assert_eq!(count(|flow| matches!(flow, Flow::IndirectTailCall | Flow::UnknownJump)), 0, "{about}");
        assert!(count(|flow| matches!(flow, Flow::TableJump { .. })) >= 1, "{about}");
        assert_eq!(body.tables.len(), 1, "{about}");
        let own: BTreeSet<u64> = body.tables[0].targets[..3].iter().copied().collect();
        assert!(own.len() == 3 && own.iter().all(|&target| threaded.contains(target)), "{about}");
        let tail = function(&program, "through_pointer");
        let is_known = |one: &tare_code::Instruction| matches!(one.flow, Flow::IndirectTailCall | Flow::IndirectCall);
        assert!(program.body(&image, tail).instructions.iter().any(is_known), "{about}");
    }
}

/// A switch in every second function, each with its own number of cases, so that tables stand side by side.
fn many_switches() -> String {
    let mut source = "#include <stdio.h>\n#include <stdlib.h>\n".to_owned();
    for number in 0..20 {
        source += &format!("__attribute__((noinline)) int f{number}(int x, int y) {{ int s = y; switch (x) {{\n");
        for case in 0..5 + number {
            let more = ["puts(\"a\")", "rand() + puts(\"b\")", "getchar() * 3"][case % 3];
            source += &format!("case {case}: s = printf(\"%d\", y + {case}) + {more} + {number}; break;\n");
        }
        source += "} if (y > 3) switch (s) {";
        for case in 0..7_usize {
            let more = ["puts(\"c\")", "rand() - puts(\"d\")", "getchar() * 5"][case % 3];
            source += &format!("case {}: s += printf(\"%d\", {number} + y) * {more} - {case}; break;\n", case + 10);
        }
        source += "default: s = 1; } return s; }\n";
    }
    let calls: Vec<String> = (0..20).map(|number| format!("f{number}(c, c + 1)")).collect();
    source + &format!("int main(int c, char **v) {{ return {} + (v == 0); }}\n", calls.join(" + "))
}

#[test]
fn neighbouring_tables_do_not_run_into_each_other() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "many", "c", &many_switches(), flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let about = format!("{compiler} {flags:?}");
        let mut ends: Vec<(u64, u64)> = Vec::new();
        for number in 0..20_usize {
            let function: &Function = function(&program, &format!("f{number}"));
            assert_eq!(function.refusal, None, "{about}");
            let body = program.body(&image, function);
            assert_eq!(body.tables.len(), 2, "{about} f{number}");
            let mut lengths: Vec<usize> =
                body.tables.iter().map(|table| table.targets.iter().take_while(|&&target| function.contains(target)).count()).collect();
            lengths.sort_unstable();
            let mut expected = [5 + number, 7];
            expected.sort_unstable();
            assert_eq!(lengths, expected, "{about} f{number}");
            for table in &body.tables {
                let size = table.targets.len() as u64 * table.form.entry_size();
                ends.push((table.address, table.address + size));
                assert_eq!(table.jumps.len(), 1, "{about} f{number}");
            }
        }
        ends.sort_unstable();
        assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{about}");
    }
}
