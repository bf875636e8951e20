//! What a file is, told from its bytes alone.

#[path = "common/workshop.rs"]
mod workshop;

use std::process::Command;
use tare_image::{Foreign, Image, ImageError, Kind};
use workshop::{Workshop, run, tool};

const PROGRAM: &str = r#"
#include <math.h>
#include <stdio.h>
#include <string.h>
int counter = 7;
int *pointer = &counter;
int twice(int x) { return 2 * x; }
int (*table[3])(int) = {twice, twice, 0};
int main(int c, char **v) {
    printf("%d %g %zu\n", table[c & 1](*pointer), sqrt(c), strlen(v[0]));
    return 0;
}
"#;

#[test]
fn five_kinds_of_image() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str], Kind); 5] = [
        ("pie", &["-pie", "-fPIE", "-lm"], Kind::Pie),
        ("fixed", &["-no-pie", "-fno-pie", "-lm"], Kind::NonPie),
        ("static", &["-static", "-no-pie", "-lm"], Kind::Static),
        ("static-pie", &["-static-pie", "-fPIE", "-lm"], Kind::StaticPie),
        ("library", &["-shared", "-fPIC", "-lm", "-Wl,-soname,libprogram.so.1"], Kind::SharedLibrary),
    ];
    for (name, flags, kind) in cases {
        let bytes = shop.compile("gcc", name, "c", PROGRAM, flags);
        let image = Image::parse(&bytes).expect("an image");
        assert_eq!(image.kind(), kind, "{name}");
        let has_loader = matches!(kind, Kind::Pie | Kind::NonPie);
        assert_eq!(image.interpreter().is_some(), has_loader, "{name}");
        assert_eq!(image.needed().contains(&"libc.so.6"), has_loader || kind == Kind::SharedLibrary, "{name}");
        assert!(!image.is_stripped());
        assert_eq!(image.build_id().map(<[u8]>::len), Some(20), "{name}");
        run(Command::new("strip").arg(shop.path(name)));
        let bytes = shop.read(name);
        assert!(Image::parse(&bytes).expect("an image").is_stripped(), "{name}");
    }
    let library = shop.read("library");
    assert_eq!(Image::parse(&library).expect("an image").dynamic().soname(), Some("libprogram.so.1"));
}

#[test]
fn what_cannot_be_worked_on_is_named() {
    let shop = Workshop::new();
    let object = shop.compile("gcc", "object", "c", PROGRAM, &["-c"]);
    let script = b"#!/bin/sh -e\necho\n";
    assert!(matches!(Image::parse(b"").err(), Some(ImageError::NotElf { what: Foreign::Empty })));
    assert!(matches!(Image::parse(script).err(), Some(ImageError::NotElf { what: Foreign::Script(line) }) if line == "/bin/sh -e"));
    assert!(matches!(Image::parse(&object).err(), Some(ImageError::NotLoadable { what }) if what == "object file"));
    let with = |at: usize, value: u8| {
        let mut bytes = object.clone();
        bytes[at] = value;
        Image::parse(&bytes).err().map(|error| error.to_string())
    };
    assert_eq!(with(18, 183).as_deref(), Some("an ELF file for AArch64, not for x86-64"));
    assert_eq!(with(16, 4).as_deref(), Some("an ELF core file, neither an executable nor a shared library"));
    let mut narrow = object.clone();
    (narrow[4], narrow[18]) = (1, 3);
    let error = Image::parse(&narrow).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("an ELF file for 32-bit x86, not for x86-64"));
}

#[test]
fn a_search_path_is_found_with_its_place() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "path", "c", PROGRAM, &["-lm", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib"]);
    let image = Image::parse(&bytes).expect("an image");
    let path = image.dynamic().runpath().expect("a search path");
    assert_eq!(path.text, "$ORIGIN/../lib");
    assert_eq!(image.dynamic().rpath(), None);
    let at = usize::try_from(path.entry.value_offset).expect("an offset");
    assert_eq!(bytes[at..at + 8], path.entry.value.to_le_bytes());
    assert_eq!(image.offset_of(path.entry.value_address), Some(path.entry.value_offset));
}

#[test]
fn pointers_are_known_however_they_are_relocated() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 4] = [
        ("rela", &["-pie", "-fPIE", "-lm"]),
        ("relr", &["-pie", "-fPIE", "-lm", "-Wl,-z,pack-relative-relocs"]),
        ("fixed", &["-no-pie", "-fno-pie", "-lm"]),
        ("static-pie", &["-static-pie", "-fPIE", "-lm"]),
    ];
    for (name, flags) in cases {
        let bytes = shop.compile("gcc", name, "c", PROGRAM, flags);
        let image = Image::parse(&bytes).expect("an image");
        let address = |symbol: &str| {
            let found = image.symbols().iter().find(|one| one.name == symbol && one.is_defined);
            found.unwrap_or_else(|| panic!("{symbol} in {name}")).address
        };
        assert_eq!(image.pointer_at(address("pointer")), Some(address("counter")), "{name}");
        assert_eq!(image.pointer_at(address("table") + 8), Some(address("twice")), "{name}");
        assert_ne!(image.pointer_at(address("table") + 16), Some(address("twice")), "{name}");
    }
}

#[test]
fn plt_entries_have_the_names_that_objdump_gives_them() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 4] = [
        ("lazy", &["-pie", "-fPIE", "-lm", "-Wl,-z,lazy"]),
        ("now", &["-pie", "-fPIE", "-lm", "-Wl,-z,now"]),
        ("marked", &["-pie", "-fPIE", "-lm", "-fcf-protection", "-Wl,-z,ibtplt"]),
        ("fixed", &["-no-pie", "-fno-pie", "-lm"]),
    ];
    for (name, flags) in cases {
        let bytes = shop.compile("gcc", name, "c", PROGRAM, flags);
        let image = Image::parse(&bytes).expect("an image");
        let listing = tool("objdump", &["-d"], &shop.path(name));
        let expected: Vec<(u64, String)> = listing.lines().filter_map(plt_label).collect();
        let found: Vec<(u64, String)> = image.plt().iter().map(|entry| (entry.address, entry.name.unwrap_or("").to_owned())).collect();
        assert_eq!(found, expected, "{name}");
        assert!(found.iter().any(|entry| entry.1 == "printf"), "{name}");
        assert!(image.text().iter().all(|text| found.iter().all(|entry| !text.contains(&entry.0))), "{name}");
    }
}

/// `0000000000001030 <puts@plt>:`
fn plt_label(line: &str) -> Option<(u64, String)> {
    let (address, label) = line.strip_suffix(">:")?.split_once(" <")?;
    let name = label.strip_suffix("@plt")?;
    Some((u64::from_str_radix(address, 16).ok()?, name.to_owned()))
}

#[test]
fn symbols_are_those_of_nm() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "program", "c", PROGRAM, &["-lm"]);
    let image = Image::parse(&bytes).expect("an image");
    let listing = tool("nm", &["--defined-only"], &shop.path("program"));
    for line in listing.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, name] = fields.as_slice() else { continue };
        let address = u64::from_str_radix(address, 16).expect("an address");
        assert!(image.symbols_at(address).any(|symbol| symbol.name == *name), "{name}");
    }
}
