//! Asks a file everything, whatever it holds: shared by the tests with damaged files and by the fuzz targets.

use tare_image::Image;
use tare_image::debug::{DebugFile, DebugSections, embedded_symbols};
use tare_image::inlines::Inlines;
use tare_image::lines::{Inside, Lines};

/// Of each kind of thing in a file, so many are asked about.
const SOME: usize = 64;

/// Headers, symbols, relocations, PLT, unwind and exception tables.
pub(crate) fn ask_image(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else { return };
    let addresses = image.symbols().iter().map(|symbol| symbol.address).chain([0, 1, u64::MAX, image.entry()]);
    for address in addresses.take(SOME) {
        let _ = (image.bytes_at(address, 16), image.offset_of(address), image.pointer_at(address), image.segment_at(address));
        let _ = (image.fde_at(address), image.plt_at(address), image.text_at(address), image.name_in_slot(address));
    }
    for fde in image.fdes().iter().take(SOME) {
        let _ = (fde.cfa_rows(), image.lsda(fde));
    }
    let _ = (image.init_array(), image.fini_array(), image.build_id(), image.interpreter(), image.needed(), image.appended());
    let _ = (image.dynamic().runpath(), image.dynamic().soname(), image.ifunc_resolvers(), image.is_stripped());
    for symbol in image.symbols().iter().take(SOME) {
        let _ = tare_image::demangle(symbol.name);
    }
}

/// Debug information, taking the file for every kind of such file at once.
pub(crate) fn ask_debug_file(bytes: &[u8]) {
    let Some(file) = DebugFile::parse(bytes) else { return };
    let _ = (file.build_id(), file.debug_link(), file.shared_file(), file.symbols(), file.inflation(), embedded_symbols(&file));
    let mut sections = DebugSections::in_file(&file);
    sections.add_shared(&file);
    sections.add_split(&file);
    let _ = sections.split_units();
    if let Some(inlines) = Inlines::read(&sections) {
        let calls = inlines.beginning_in(&(0..u64::MAX));
        assert!(calls.iter().all(|call| call.within.is_none_or(|outer| outer < calls.len())));
        let _ = inlines.missing_units();
    }
    if let Some(lines) = Lines::new(&sections) {
        for address in [0, 0x1000, 0x1139, 0x40_1000, u64::MAX] {
            let _ = (lines.location(address), lines.location_in_host(address), lines.function(address));
            let _ = lines.place(Inside::Loop { header: address, back_edges: &[address, address.saturating_add(8)] });
            let range = address..address.saturating_add(64);
            let _ = lines.span(std::slice::from_ref(&range));
        }
    }
}
