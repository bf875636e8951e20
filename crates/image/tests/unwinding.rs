//! Unwind and exception tables, held against gimli's own reading of the same bytes.

#[path = "common/workshop.rs"]
mod workshop;

use std::process::Command;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindContext, UnwindSection as _};
use tare_image::{Cfa, Image};
use workshop::{Workshop, run};

const PROGRAM: &str = r#"
#include <stdexcept>
#include <string>
#include <vector>
#include <cstdio>
struct Guard { ~Guard() { std::puts("guard"); } };
__attribute__((noinline)) int deep(int n) {
    Guard guard;
    if (n > 3) throw std::runtime_error("deep");
    return deep(n + 1) + 1;
}
__attribute__((noinline)) int catcher(const std::string &text) {
    std::vector<std::string> all{text, text + "!"};
    try { return deep(static_cast<int>(all.size())); }
    catch (const std::logic_error &) { return 1; }
    catch (const std::exception &error) { std::puts(error.what()); return 2; }
}
int main(int c, char **v) { char buffer[c * 100]; std::snprintf(buffer, 90, "%d", catcher(v[0])); return buffer[0] == '2' ? 0 : 1; }
"#;

struct Expected {
    start: u64,
    end: u64,
    lsda: Option<u64>,
    rows: Vec<(u64, Option<(u16, i64)>)>,
    is_signal: bool,
}

fn oracle(image: &Image<'_>) -> Vec<Expected> {
    let section = image.section(".eh_frame").expect("unwind entries");
    let bytes = image.bytes_at(section.address, section.size).expect("their bytes");
    let frame = EhFrame::new(bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address);
    let mut entries = frame.entries(&bases);
    let mut context = UnwindContext::new();
    let mut found = Vec::new();
    while let Some(entry) = entries.next().expect("an entry") {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(|_, bases, offset| frame.cie_from_offset(bases, offset)).expect("a whole entry");
        let mut rows = Vec::new();
        let mut table = fde.rows(&frame, &bases, &mut context).expect("rows");
        while let Some(row) = table.next_row().expect("a row") {
            let cfa = match row.cfa() {
                gimli::CfaRule::RegisterAndOffset { register, offset } => Some((register.0, *offset)),
                gimli::CfaRule::Expression(_) => None,
            };
            rows.push((row.start_address(), cfa));
        }
        let lsda = fde.lsda().map(|pointer| match pointer {
            gimli::Pointer::Direct(address) | gimli::Pointer::Indirect(address) => address,
        });
        let start = fde.initial_address();
        found.push(Expected { start, end: start + fde.len(), lsda, rows, is_signal: fde.is_signal_trampoline() });
    }
    found.sort_by_key(|one| one.start);
    found
}

fn compare(bytes: &[u8], name: &str) {
    let image = Image::parse(bytes).expect("an image");
    let expected = oracle(&image);
    assert_eq!(image.fdes().len(), expected.len(), "{name}");
    for (found, expected) in image.fdes().iter().zip(&expected) {
        assert_eq!(found.range, expected.start..expected.end, "{name}");
        assert_eq!(found.lsda, expected.lsda, "{name}");
        assert_eq!(found.is_signal_frame, expected.is_signal, "{name}");
        let rows = found.cfa_rows();
        for &(address, cfa) in &expected.rows {
            let cfa = cfa.map_or(Cfa::Expression, |(register, offset)| Cfa::Register { register: register.into(), offset });
            assert_eq!(rows.at(address), Some(cfa), "{name} at {address:#x}");
        }
        let first = expected.rows.first().and_then(|row| row.1);
        assert_eq!(found.starts_at_entry, first == Some((7, 8)), "{name} at {:#x}", expected.start);
        let own: usize = found.cfi().map(|one| one.bytes.len()).sum();
        assert_eq!(own, found.instructions.len(), "{name}: every instruction is understood");
    }
}

#[test]
fn entries_are_those_that_gimli_reads() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 4] =
        [("pie", &["-O2"]), ("fixed", &["-O2", "-no-pie", "-fno-pie"]), ("static", &["-O2", "-static"]), ("unoptimised", &["-O0"])];
    for (name, flags) in cases {
        compare(&shop.compile("g++", name, "cc", PROGRAM, flags), name);
    }
}

#[test]
fn entries_are_found_without_section_headers() {
    let shop = Workshop::new();
    for (name, flags) in [("pie", ["-O2", "-pie"]), ("static", ["-O2", "-static"])] {
        let whole = shop.compile("g++", name, "cc", PROGRAM, &flags);
        let expected = Image::parse(&whole).expect("an image").fdes().len();
        let mut bare = whole.clone();
        bare[40..48].fill(0);
        bare[58..64].fill(0);
        let image = Image::parse(&bare).expect("an image");
        assert!(image.sections().is_empty());
        assert_eq!(image.fdes().len(), expected, "{name}");
        assert!(!image.text().is_empty());
    }
}

#[test]
fn landing_pads_lie_in_the_function_and_throwers_are_covered() {
    let shop = Workshop::new();
    let bytes = shop.compile("g++", "program", "cc", PROGRAM, &["-O2", "-fno-reorder-blocks-and-partition"]);
    let image = Image::parse(&bytes).expect("an image");
    let catcher = image.symbols().iter().find(|symbol| symbol.name.starts_with("_Z7catcher")).expect("catcher");
    let fde = image.fde_at(catcher.address).expect("its unwind entry");
    let lsda = image.lsda(fde).expect("its exception table");
    let pads: Vec<u64> = lsda.call_sites.iter().filter_map(|site| site.landing_pad).collect();
    assert!(pads.len() >= 2 && pads.iter().all(|pad| fde.range.contains(pad)));
    assert!(lsda.call_sites.iter().all(|site| fde.range.contains(&site.range.start) && site.range.end <= fde.range.end));
    assert!(lsda.call_sites.iter().any(|site| site.action != 0) && lsda.type_base.is_some());
    assert!(fde.personality.is_some_and(|(_, slot)| image.segment_at(slot).is_some()));
    run(&mut Command::new(shop.path("program")));
}

#[test]
fn the_start_of_a_program_unwinds_no_further() {
    let shop = Workshop::new();
    let bytes = shop.compile("g++", "program", "cc", PROGRAM, &[]);
    let image = Image::parse(&bytes).expect("an image");
    assert!(image.fde_at(image.entry()).expect("an entry of _start").is_special);
}
