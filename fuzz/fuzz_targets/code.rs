//! Analysis of any image that can be parsed, with its section headers and without.

#![no_main]

mod analysis;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    analysis::ask(bytes);
    if let Some(&last) = bytes.last().filter(|last| **last & 1 == 1 && bytes.len() > 64) {
        let mut bare = bytes.to_vec();
        bare[0x28..0x30].fill(0);
        bare[0x3a..0x40].fill(last & 2);
        analysis::ask(&bare);
    }
});
