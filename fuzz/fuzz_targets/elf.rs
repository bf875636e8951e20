//! ELF: headers, symbols, relocations, PLT, unwind and exception tables of any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tare_image::Image;

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::parse(bytes) else { return };
    let addresses = image.symbols().iter().map(|symbol| symbol.address).chain([0, 1, u64::MAX, image.entry()]);
    for address in addresses.take(64) {
        let _ = (image.bytes_at(address, 16), image.offset_of(address), image.pointer_at(address), image.segment_at(address));
        let _ = (image.fde_at(address), image.plt_at(address), image.text_at(address), image.name_in_slot(address));
    }
    for fde in image.fdes().iter().take(64) {
        let _ = (fde.cfa_rows(), image.lsda(fde));
    }
    let _ = (image.init_array(), image.fini_array(), image.build_id(), image.interpreter(), image.needed(), image.appended());
    let _ = (image.dynamic().runpath(), image.dynamic().soname(), image.ifunc_resolvers(), image.is_stripped());
    for symbol in image.symbols().iter().take(64) {
        let _ = tare_image::demangle(symbol.name);
    }
});
