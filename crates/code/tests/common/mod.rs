//! Compiling small programs, and finding what is looked at in them.

#[path = "../../../image/tests/common/workshop.rs"]
mod workshop;

use std::process::Command;

use tare_code::{Program, Refusal};
#[allow(unused_imports, reason = "not every test needs all of it")]
pub(crate) use workshop::{Workshop, run, tool};

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
