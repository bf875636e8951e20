//! No input makes the parser panic: truncated files, files with bytes changed, and bytes at random behind a header.

#[path = "common/questions.rs"]
mod questions;
#[path = "common/workshop.rs"]
mod workshop;

use proptest::prelude::*;
use questions::{ask_debug_file, ask_image};
use tare_image::Image;
use workshop::Workshop;

const PROGRAM: &str = r#"
#include <string>
#include <cstdio>
static int twice(int x) { return 2 * x; }
int (*pointer)(int) = twice;
int main(int c, char **v) {
    try { return pointer(std::stoi(v[c > 1])); } catch (...) { std::puts("no number"); return 1; }
}
"#;

fn look_at(bytes: &[u8]) {
    ask_image(bytes);
    ask_debug_file(bytes);
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

/// Where the bytes of a file's sections of some kind of name are.
fn sections_named(bytes: &[u8], prefix: &str) -> Vec<std::ops::Range<usize>> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let named = object::Object::sections(&file).filter(|section| object::ObjectSection::name(section).is_ok_and(|name| name.starts_with(prefix)));
    let ranges = named.filter_map(|section| object::ObjectSection::file_range(&section));
    ranges
        .map(|(start, size)| usize::try_from(start).expect("64-bit")..usize::try_from(start + size).expect("64-bit"))
        .filter(|range| !range.is_empty())
        .collect()
}

#[test]
fn code_is_no_larger_than_the_file_whatever_headers_promise() {
    for whole in samples() {
        let offset = u64::from_le_bytes(whole[40..48].try_into().expect("eight bytes"));
        let headers = usize::try_from(offset).expect("64-bit");
        for header in (headers..whole.len() - 63).step_by(64) {
            let mut bytes = whole.clone();
            bytes[header + 32..header + 40].copy_from_slice(&(1_u64 << 58).to_le_bytes());
            let Ok(image) = Image::parse(&bytes) else { continue };
            let code: u64 = image.text().iter().map(|range| range.end - range.start).sum();
            assert!(code <= bytes.len() as u64, "{code} bytes of code in a file of {}", bytes.len());
        }
    }
}

#[test]
fn many_sections_with_the_name_of_the_linkage_table_take_no_more_room_than_one() {
    for whole in samples() {
        let number = |at: usize| usize::try_from(u64::from_le_bytes(whole[at..at + 8].try_into().expect("eight bytes"))).expect("64-bit");
        let headers: Vec<usize> = (number(40)..whole.len() - 63).step_by(64).collect();
        let names = headers[usize::from(u16::from_le_bytes([whole[62], whole[63]]))];
        let names = &whole[number(names + 24)..number(names + 24) + number(names + 32)];
        let name_at =
            |header: usize| &names[usize::try_from(u32::from_le_bytes(whole[header..header + 4].try_into().expect("four bytes"))).expect("64-bit")..];
        let table = headers.iter().copied().find(|&header| name_at(header).starts_with(b".plt\0")).expect("a linkage table");
        let mut bytes = whole.clone();
        for &header in headers.iter().filter(|&&header| number(header + 8) & 2 != 0 && !name_at(header).starts_with(b".text\0")) {
            bytes[header..header + 4].copy_from_slice(&whole[table..table + 4]);
        }
        assert_eq!(Image::parse(&bytes).expect("an image").text().len(), 1, "{} sections", headers.len());
    }
}

#[test]
fn changed_debug_information_never_makes_it_panic() {
    let shop = Workshop::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 16).expect("64-bit")
    };
    for flags in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5"] {
        for extra in ["-gno-split-dwarf", "-gsplit-dwarf"] {
            shop.compile("g++", "one.o", "cc", INLINING, &["-O2", "-c", flags, extra]);
            let mut files = vec![shop.compile("g++", "one", "cc", INLINING, &["-O2", flags, "-gno-split-dwarf", "-nostdlib", "-shared", "-fPIC"])];
            files.extend(std::fs::read(shop.path("one.dwo")).ok());
            for whole in files {
                let ranges = sections_named(&whole, ".debug_");
                for _ in 0..400 {
                    let mut bytes = whole.clone();
                    for _ in 0..1 + next() % 4 {
                        let range = &ranges[next() % ranges.len()];
                        bytes[range.start + next() % range.len()] = [0, 0xff, 0x80, 0x7f, u8::try_from(next() & 0xff).expect("a byte")][next() % 5];
                    }
                    ask_debug_file(&bytes);
                }
            }
        }
    }
}

/// Little code with inlined calls within inlined calls: no header makes its debug information large.
const INLINING: &str = "
inline __attribute__((always_inline)) int twice(int x) { return 2 * x + 1; }
struct Shape { int side; __attribute__((always_inline)) int area() const { return twice(side) * side; } };
int host(const Shape &shape, int n) { int sum = 0; for (int i = 0; i < n; i++) sum += shape.area() + twice(i); return sum; }
";

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
