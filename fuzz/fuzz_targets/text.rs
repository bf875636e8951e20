//! Analysis of any code: the bytes are instructions and a table of constants, in an image that is made around them. It has no
//! section headers, symbols or unwind entries; functions come from its entry, and from calls and pointers in it.
//!
//! ```text
//! byte 0    bit 0: position independent; bit 1: what follows the text may be written to
//! byte 1    16 bytes of text for each, at 0x401000; the rest stands at 0x402000
//! ```

#![no_main]

mod analysis;

use libfuzzer_sys::fuzz_target;

const BASE: u64 = 0x40_0000;
const TEXT: u64 = 0x1000;
const DATA: u64 = 0x2000;

fuzz_target!(|bytes: &[u8]| {
    let [kind, size, bytes @ ..] = bytes else { return };
    let (text, data) = bytes.split_at(bytes.len().min(16 * usize::from(*size)));
    let data = &data[..data.len().min(0x1000)];
    analysis::ask(&image(text, data, kind & 1 != 0, kind & 2 != 0));
});

fn image(text: &[u8], data: &[u8], is_pie: bool, may_be_written: bool) -> Vec<u8> {
    let segment = |flags: u32, offset: u64, size: usize| {
        let words = [offset, BASE + offset, BASE + offset, size as u64, size as u64, 0x1000];
        let mut header = [1_u32, flags].map(u32::to_le_bytes).concat();
        header.extend(words.into_iter().flat_map(u64::to_le_bytes));
        header
    };
    let mut image = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    image.extend([if is_pie { 3_u16 } else { 2 }, 62, 1, 0].into_iter().flat_map(u16::to_le_bytes));
    image.extend([BASE + TEXT, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    image.extend([0_u16, 0, 64, 56, 2, 64, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    image.extend(segment(5, TEXT, text.len()));
    image.extend(segment(if may_be_written { 6 } else { 4 }, DATA, data.len()));
    image.resize(TEXT as usize, 0);
    image.extend(text);
    image.resize(DATA as usize, 0);
    image.extend(data);
    image
}
