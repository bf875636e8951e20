//! Debug information: separate, shared, split and embedded files, lines, inlined functions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_image::debug::{DebugFile, DebugSections, embedded_symbols};
use tare_image::inlines::Inlines;
use tare_image::lines::Lines;

fuzz_target!(|bytes: &[u8]| {
    let Some(file) = DebugFile::parse(bytes) else { return };
    let _ = (file.build_id(), file.debug_link(), file.shared_file(), file.symbols(), embedded_symbols(&file));
    let mut sections = DebugSections::in_file(&file);
    sections.add_shared(&file);
    sections.add_split(&file);
    let _ = sections.split_units();
    if let Some(inlines) = Inlines::read(&sections) {
        let _ = (inlines.beginning_in(&(0..u64::MAX)), inlines.missing_units());
    }
    if let Some(lines) = Lines::new(&sections) {
        for address in [0, 0x1000, 0x1139, 0x40_1000, u64::MAX] {
            let _ = (lines.location(address), lines.span(&[address..address.saturating_add(64)]));
        }
    }
});
