//! Compiling small programs, and finding what is looked at in them.

#[path = "../../../image/tests/common/workshop.rs"]
mod workshop;

use std::process::Command;

use tare_code::{Program, Refusal};
#[allow(unused_imports, reason = "not every test needs all of it")]
pub(crate) use workshop::{Workshop, run, tool};

/// A program of many shapes.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) const SHAPES: &str = include_str!("../programs/shapes.c");

/// Compilers with the options that decide on the form of tables.
#[allow(dead_code, reason = "not every test tries all")]
pub(crate) const CASES: [(&str, &[&str]); 15] = [
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
    ("gcc", &["-O0", "-no-pie", "-fno-pie", "-mcmodel=large"]),
    ("clang", &["-O0", "-no-pie", "-fno-pie", "-mcmodel=large"]),
    ("clang", &["-O0", "-pie", "-fPIC", "-mcmodel=medium"]),
    ("clang", &["-O2", "-pie", "-fPIC", "-mcmodel=medium"]),
];

/// Whether a compiler is there.
#[allow(dead_code, reason = "not every test has a choice")]
pub(crate) fn has(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The function of a name.
#[allow(dead_code, reason = "not every test looks at one")]
pub(crate) fn function<'a>(program: &'a Program, name: &str) -> &'a tare_code::Function {
    let found = program.functions.iter().find(|function| function.name == name);
    found.unwrap_or_else(|| panic!("no function {name}"))
}

/// The same file for a loader, which reads no section headers.
#[allow(dead_code, reason = "not every test looks at such files")]
pub(crate) fn without_section_headers(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0x28..0x30].fill(0);
    bytes[0x3a..0x40].fill(0);
    bytes
}

/// Holds that two programs have the same functions, all but those in front of and behind the text, which only symbols name.
#[allow(dead_code, reason = "not every test compares")]
pub(crate) fn assert_same_functions(whole: &Program, stripped: &Program) {
    let parts = |program: &Program| -> Vec<_> {
        let moved = program.functions.iter().filter(|one| one.refusal != Some(Refusal::OutsideText));
        moved.map(|function| (function.entry, function.parts.clone(), function.refusal)).collect()
    };
    assert_eq!(parts(whole), parts(stripped));
}
