//! The lines of loops, in programs that have a mark on each.

mod common;

use std::collections::BTreeSet;

use common::{Workshop, has};
use tare_code::Program;
use tare_image::Image;
use tare_image::debug::{DebugFile, DebugSections};
use tare_image::lines::Lines;

/// A program, the end of its file's name, its compilers, and the levels at which they keep its loops as they are written.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const CASES: [Case; 4] = [
    (include_str!("programs/marked.c"), "c", &["gcc", "clang"], &["-O0", "-O1", "-O2", "-O3"]),
    (include_str!("programs/marked.cpp"), "cpp", &["g++", "clang++"], &["-O0", "-O1", "-O2", "-O3"]),
    (include_str!("programs/marked_inlined.f90"), "f90", &["gfortran"], &["-O0", "-O1", "-O2", "-O3"]),
    // At -O3, what is left over of a loop that became one of vectors has lines of its body alone.
    (include_str!("programs/marked.f90"), "f90", &["gfortran"], &["-O0", "-O1", "-O2"]),
];

/// Lines with a mark for every compiler, or for this one.
fn marked(source: &str, compiler: &str) -> BTreeSet<u32> {
    let own = format!(" loop of {compiler}");
    let is_marked = |line: &str| line.ends_with(" loop") || line.ends_with(&own);
    (1..).zip(source.lines()).filter(|(_, line)| is_marked(line)).map(|(number, _)| number).collect()
}

/// Lines of loops in functions of a file; 0 for a loop without one. Those of what was inlined from other files are left out.
fn listed(image: &Image<'_>, sections: &DebugSections<'_>, file: &str) -> BTreeSet<u32> {
    let program = Program::analyse(image).expect("functions");
    let lines = Lines::new(sections).expect("lines");
    let is_in_file = |function: &&tare_code::Function| lines.function(function.entry).is_some_and(|place| place.file.ends_with(file));
    let loops = program.functions.iter().filter(is_in_file).flat_map(|function| {
        let found = program.loops(function, &program.body(image, function));
        found.iter().map(|one| lines.place(one.inside())).collect::<Vec<_>>()
    });
    loops.filter(|place| place.as_ref().is_none_or(|place| place.file.ends_with(file))).map(|place| place.map_or(0, |place| place.line)).collect()
}

#[test]
fn loops_are_on_the_lines_where_they_are_written() {
    let shop = Workshop::new();
    for (source, suffix, compilers, levels) in CASES {
        for compiler in compilers.iter().filter(|compiler| has(compiler)) {
            for level in levels {
                for version in ["-gdwarf-4", "-gdwarf-5"] {
                    let bytes = shop.compile(compiler, "marked", suffix, source, &[level, version]);
                    let image = Image::parse(&bytes).expect("an image");
                    let found = listed(&image, &DebugSections::of(&image), &format!("marked.{suffix}"));
                    assert_eq!(found, marked(source, compiler), "{compiler} {level} {version}");
                }
            }
        }
    }
}

#[test]
fn loops_of_split_units_are_on_the_lines_where_they_are_written() {
    let shop = Workshop::new();
    let source = CASES[0].0;
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let bytes = shop.compile("gcc", "marked", "c", source, &["-O2", "-gsplit-dwarf", version]);
        let image = Image::parse(&bytes).expect("an image");
        let mut sections = DebugSections::of(&image);
        let units = sections.split_units();
        let files = units.iter().map(|unit| std::fs::read(std::path::Path::new(&unit.directory).join(&unit.path)).expect("a split file"));
        let files: Vec<Vec<u8>> = files.collect();
        assert_eq!(files.len(), 1);
        for bytes in &files {
            sections.add_split(&DebugFile::parse(bytes).expect("a split file"));
        }
        assert_eq!(listed(&image, &sections, "marked.c"), marked(source, "gcc"), "{version}");
    }
}
