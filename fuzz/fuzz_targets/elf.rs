//! ELF: headers, symbols, relocations, PLT, unwind and exception tables of any bytes.

#![no_main]

#[path = "../../crates/image/tests/common/questions.rs"]
#[allow(dead_code, reason = "debug information has a target of its own")]
mod questions;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| questions::ask_image(bytes));
