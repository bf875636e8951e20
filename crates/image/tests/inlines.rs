//! Inlined functions, held against the addr2line of binutils, for every form in which compilers write them.

#[path = "common/workshop.rs"]
mod workshop;

use std::path::PathBuf;
use std::process::Command;

use tare_image::Image;
use tare_image::debug::{DebugFile, DebugSections};
use tare_image::inlines::{InlinedCall, Inlines};
use workshop::{Workshop, run, tool};

const PROGRAM: &str = "#include <cstdio>
#include <cstdlib>

inline __attribute__((always_inline)) int twice(int x)
{
    return 2 * x + std::rand();
}

struct Shape {
    int side;
    __attribute__((always_inline)) int area() const
    {
        int corner = twice(side);
        return corner * side;
    }
};

__attribute__((noinline)) int host(const Shape &shape, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += shape.area();
        if (sum > 1000)
            sum = twice(sum);
    }
    return sum;
}

int main(int c, char **)
{
    return host({c}, c) > 100;
}
";

/// What is said of `host`: names, lines of the calls, and the names of what they are within.
fn shape_of(sections: &DebugSections<'_>, image: &Image<'_>) -> Vec<(String, u32, Option<String>)> {
    let inlines = Inlines::read(sections).expect("debug information");
    assert_eq!(inlines.missing_units(), 0);
    let host = image.symbols().iter().find(|symbol| symbol.name.contains("host")).expect("host");
    let first = inlines.first_at(host.address);
    let calls = inlines.beginning_in(&(host.address..host.address + host.size));
    let name = |index: usize| calls[index - first].name.to_string();
    let mut found: Vec<_> =
        calls.iter().map(|call| (call.name.to_string(), call.call.as_ref().expect("a place").line, call.within.map(name))).collect();
    found.sort();
    found
}

fn expected() -> Vec<(String, u32, Option<String>)> {
    let (twice, area) = ("_Z5twicei".to_string(), "_ZNK5Shape4areaEv".to_string());
    vec![(twice.clone(), 13, Some(area.clone())), (twice, 24, None), (area, 22, None)]
}

/// One call may be several entries, where its code was duplicated; only names, lines and nesting are compared.
fn deduplicated(mut found: Vec<(String, u32, Option<String>)>) -> Vec<(String, u32, Option<String>)> {
    found.dedup();
    found
}

#[test]
fn every_version_of_every_compiler_names_the_same_calls() {
    let shop = Workshop::new();
    for compiler in ["g++", "clang++"] {
        for version in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
            for packing in ["-gz=none", "-gz=zlib"] {
                let bytes = shop.compile(compiler, "program", "cc", PROGRAM, &["-O2", "-g", version, packing]);
                let image = Image::parse(&bytes).expect("an image");
                let found = deduplicated(shape_of(&DebugSections::of(&image), &image));
                assert_eq!(found, expected(), "{compiler} {version} {packing}");
            }
        }
    }
}

#[test]
fn the_calls_at_each_address_are_those_of_addr2line() {
    let shop = Workshop::new();
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let bytes = shop.compile("g++", "program", "cc", PROGRAM, &["-O2", "-g", version]);
        let image = Image::parse(&bytes).expect("an image");
        let inlines = Inlines::read(&DebugSections::of(&image)).expect("debug information");
        let host = image.symbols().iter().find(|symbol| symbol.name.contains("host")).expect("host");
        let calls = inlines.beginning_in(&(host.address..host.address + host.size));
        for address in host.address..host.address + host.size {
            let covers = |call: &&InlinedCall| call.ranges.iter().any(|range| range.contains(&address));
            let mut found: Vec<String> = calls.iter().filter(covers).map(|call| call.name.to_string()).collect();
            found.push(host.name.to_string());
            let told = tool("addr2line", &["-f", "-i", &format!("{address:#x}"), "-e"], &shop.path("program"));
            let mut names: Vec<String> = told.lines().step_by(2).map(str::to_string).collect();
            found.sort();
            names.sort();
            assert_eq!(found, names, "{version} {address:#x}");
        }
    }
}

/// The split files that a compiler left in the workshop.
fn split_files(shop: &Workshop) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(shop.path("")).expect("a directory");
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "dwo")).collect()
}

#[test]
fn split_files_are_read_loose_and_packed() {
    for compiler in ["g++", "clang++"] {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let shop = Workshop::new();
            std::fs::write(shop.path("program.cc"), PROGRAM).expect("a source file");
            for flags in [&["-c", "-o", "program.o", "program.cc"][..], &["-o", "program", "program.o"]] {
                run(Command::new(compiler).current_dir(shop.path("")).args(["-O2", "-g", version, "-gsplit-dwarf"]).args(flags));
            }
            let bytes = shop.read("program");
            let image = Image::parse(&bytes).expect("an image");
            let alone = DebugSections::of(&image);
            let units = alone.split_units();
            assert_eq!(units.len(), 1, "{compiler} {version}");
            assert_eq!(units[0].path, "program.dwo");
            assert_eq!(Inlines::read(&alone).expect("debug information").missing_units(), 1);

            let files = split_files(&shop);
            let loose = std::fs::read(&files[0]).expect("a split file");
            let mut sections = DebugSections::of(&image);
            sections.add_split(&DebugFile::parse(&loose).expect("a split file"));
            assert_eq!(deduplicated(shape_of(&sections, &image)), expected(), "{compiler} {version}");

            run(Command::new("llvm-dwp").current_dir(shop.path("")).args(["-e", "program", "-o", "program.dwp"]));
            let packed = shop.read("program.dwp");
            let mut sections = DebugSections::of(&image);
            sections.add_split(&DebugFile::parse(&packed).expect("a package"));
            assert_eq!(deduplicated(shape_of(&sections, &image)), expected(), "{compiler} {version}, packed");
        }
    }
}

#[test]
fn what_dwz_moved_to_a_shared_file_is_found_there() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let shop = Workshop::new();
        for name in ["one", "two"] {
            shop.compile("g++", name, "cc", PROGRAM, &["-O2", "-g", version]);
        }
        run(Command::new("dwz").current_dir(shop.path("")).args(["-m", "shared.debug", "one", "two"]));
        let bytes = shop.read("one");
        let image = Image::parse(&bytes).expect("an image");
        let file = DebugFile::parse(&bytes).expect("an ELF file");
        let wanted = file.shared_file().expect("the name of the shared file");
        assert_eq!(wanted.path, "shared.debug");
        let shared = shop.read("shared.debug");
        let shared = DebugFile::parse(&shared).expect("an ELF file");
        assert_eq!(shared.build_id(), Some(wanted.build_id));
        let mut sections = DebugSections::of(&image);
        sections.add_shared(&shared);
        assert_eq!(deduplicated(shape_of(&sections, &image)), expected(), "{version}");
    }
}

#[test]
fn separate_files_hold_what_was_stripped() {
    let shop = Workshop::new();
    let whole = shop.compile("g++", "program", "cc", PROGRAM, &["-O2", "-g"]);
    let image = Image::parse(&whole).expect("an image");
    for words in [
        &["--only-keep-debug", "program", "program.debug"][..],
        &["--strip-all", "program", "stripped"],
        &["--add-gnu-debuglink=program.debug", "stripped"],
    ] {
        run(Command::new("objcopy").current_dir(shop.path("")).args(words));
    }
    let (stripped, debug) = (shop.read("stripped"), shop.read("program.debug"));
    let file = DebugFile::parse(&stripped).expect("an ELF file");
    let link = file.debug_link().expect("a link");
    assert_eq!((link.name, file.has_dwarf(), file.build_id()), ("program.debug", false, image.build_id()));
    let separate = DebugFile::parse(&debug).expect("a debug file");
    assert!(separate.has_dwarf() && separate.build_id() == image.build_id());
    let mut completed = Image::parse(&stripped).expect("an image");
    assert!(!completed.symbols().iter().any(|symbol| symbol.name.contains("host")));
    completed.add_symbols(&separate);
    assert_eq!(deduplicated(shape_of(&DebugSections::in_file(&separate), &completed)), expected());
}

#[test]
fn embedded_symbols_are_unpacked_and_damaged_ones_refused() {
    let shop = Workshop::new();
    shop.compile("g++", "program", "cc", PROGRAM, &["-O2"]);
    run(Command::new("objcopy").current_dir(shop.path("")).args(["--only-keep-debug", "program", "small"]));
    run(Command::new("xz").current_dir(shop.path("")).args(["--keep", "small"]));
    let packed = shop.read("small.xz");
    run(Command::new("objcopy").current_dir(shop.path("")).args(["--strip-all", "--add-section", ".gnu_debugdata=small.xz", "program", "stripped"]));
    let stripped = shop.read("stripped");
    let file = DebugFile::parse(&stripped).expect("an ELF file");
    let unpacked = tare_image::debug::embedded_symbols(&file).expect("a section").expect("symbols");
    assert_eq!(unpacked, shop.read("small"));
    let mut image = Image::parse(&stripped).expect("an image");
    image.add_symbols(&DebugFile::parse(&unpacked).expect("an ELF file"));
    assert!(image.symbols().iter().any(|symbol| symbol.name.contains("host")));

    let at = stripped.windows(packed.len()).position(|window| window == packed).expect("the section's bytes");
    for change in 0..packed.len() {
        let mut damaged = stripped.clone();
        damaged[at + change] ^= 0x55;
        let file = DebugFile::parse(&damaged).expect("an ELF file");
        let outcome = tare_image::debug::embedded_symbols(&file).expect("a section");
        assert!(outcome.is_err() || outcome == Ok(unpacked.clone()), "byte {change} changed what comes out");
    }
}
