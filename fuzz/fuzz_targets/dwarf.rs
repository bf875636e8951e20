//! Debug information: separate, shared, split and embedded files, lines, inlined functions.

#![no_main]

#[path = "../../crates/image/tests/common/questions.rs"]
#[allow(dead_code, reason = "images have a target of their own")]
mod questions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| questions::ask_debug_file(bytes));
