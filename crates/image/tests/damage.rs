//! No input makes the parser panic: truncated files, files with bytes changed, and bytes at random behind a header.

mod common;

use common::Workshop;
use proptest::prelude::*;
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;

const PROGRAM: &str = r#"
#include <string>
#include <cstdio>
static int twice(int x) { return 2 * x; }
int (*pointer)(int) = twice;
int main(int c, char **v) {
    try { return pointer(std::stoi(v[c > 1])); } catch (...) { std::puts("no number"); return 1; }
}
"#;

/// Asks an image everything.
fn look_at(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else { return };
    let addresses = image.symbols().iter().map(|symbol| symbol.address).chain([0, 1, u64::MAX, image.entry()]);
    for address in addresses.take(200) {
        let _ = (image.bytes_at(address, 16), image.offset_of(address), image.pointer_at(address));
        let _ = (image.fde_at(address), image.plt_at(address), image.text_at(address), image.name_in_slot(address));
    }
    for fde in image.fdes().iter().take(200) {
        let _ = (fde.cfa_rows(), image.lsda(fde));
    }
    let _ = (image.init_array(), image.fini_array(), image.build_id(), image.interpreter(), image.needed());
    let _ = (image.dynamic().runpath(), image.dynamic().soname(), image.ifunc_resolvers(), image.is_stripped());
    let sections = DebugSections::of(&image);
    if let Some(lines) = Lines::new(&sections) {
        let range = image.entry()..image.entry().saturating_add(64);
        let _ = (lines.location(image.entry()), lines.span(std::slice::from_ref(&range)));
    }
}

fn samples() -> Vec<Vec<u8>> {
    let shop = Workshop::new();
    let packed = ["-O1", "-g", "-Wl,-z,pack-relative-relocs"];
    vec![
        shop.compile("g++", "pie", "cc", PROGRAM, &packed),
        shop.compile("g++", "fixed", "cc", PROGRAM, &["-O1", "-no-pie"]),
        shop.compile("g++", "library", "cc", PROGRAM, &["-O1", "-shared", "-fPIC", "-s"]),
    ]
}

#[test]
fn a_truncated_file_is_damaged_or_less_at_every_length() {
    for whole in samples() {
        let step = (whole.len() / 400).max(1);
        for length in (0..256).chain((256..whole.len()).step_by(step)) {
            look_at(&whole[..length]);
        }
        assert!(Image::parse(&whole[..whole.len() / 2]).is_err());
    }
}

#[test]
fn changed_bytes_never_make_it_panic() {
    // A fixed sequence, so that a failure can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).expect("64-bit")
    };
    for whole in samples() {
        for round in 0..600 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next() % 8 {
                let reach = if round % 3 == 0 { 1024 } else { bytes.len() };
                let at = next() % reach.min(bytes.len());
                bytes[at] = [0, 0xff, 0x80, 0x7f, u8::try_from(next() & 0xff).expect("a byte")][next() % 5];
            }
            look_at(&bytes);
        }
    }
}

proptest! {
    #[test]
    fn bytes_at_random_behind_a_header(mut bytes in proptest::collection::vec(any::<u8>(), 64..2048), tables in 0_u8..8) {
        bytes[..20].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 0]);
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[40..48].copy_from_slice(&(if tables & 1 == 0 { 0 } else { 512_u64 }).to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::from(tables).to_le_bytes());
        for index in 0..usize::from(tables) {
            let at = 64 + index * 56;
            if let Some(kind) = bytes.get_mut(at..at + 56) {
                kind[..4].copy_from_slice(&[1_u32, 2, 4, 0x6474_e550][index % 4].to_le_bytes());
                kind[8..16].copy_from_slice(&0_u64.to_le_bytes());
                kind[32..40].copy_from_slice(&64_u64.to_le_bytes());
                kind[46] = 0;
            }
        }
        look_at(&bytes);
    }
}
