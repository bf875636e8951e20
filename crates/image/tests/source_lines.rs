//! Files and lines, held against the addr2line of binutils.

#[path = "common/workshop.rs"]
mod workshop;

use tare_image::Image;
use tare_image::debug::{DebugFile, DebugSections};
use tare_image::lines::Lines;
use workshop::{Workshop, tool};

const PROGRAM: &str = "#include <stdio.h>

int first(int x)
{
    int y = x * 2;
    if (y > 3)
        puts(\"big\");
    return y;
}

int main(int c, char **v)
{
    return first(c) > 100;
}
";

#[test]
fn lines_are_those_of_addr2line_for_every_version_of_dwarf() {
    let shop = Workshop::new();
    let mut flags = vec!["-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"];
    flags.push("-gz");
    for flag in flags {
        let bytes = shop.compile("gcc", "program", "c", PROGRAM, &["-O1", "-fno-inline", "-g", flag]);
        let image = Image::parse(&bytes).expect("an image");
        let sections = DebugSections::of(&image);
        let lines = Lines::new(&sections).expect("lines");
        let first = image.symbols().iter().find(|symbol| symbol.name == "first").expect("first");
        for address in first.address..first.address + first.size {
            let found = lines.location(address).expect("a place");
            let told = tool("addr2line", &[&format!("{address:#x}"), "-e"], &shop.path("program"));
            let line = told.trim().rsplit(':').next().and_then(|line| line.split(' ').next()?.parse().ok());
            assert_eq!(Some(found.line), line, "{flag} {told}");
            assert!(told.starts_with(&found.file), "{told} {}", found.file);
        }
        let range = first.address..first.address + first.size;
        let span = lines.span(std::slice::from_ref(&range)).expect("a span");
        assert_eq!((span.entry, span.first, span.last), (3, 3, 9), "{flag}");
    }
}

#[test]
fn an_image_without_lines_says_so() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "program", "c", PROGRAM, &["-g0"]);
    let image = Image::parse(&bytes).expect("an image");
    assert!(Lines::new(&DebugSections::of(&image)).is_none());
}

const OPTIMISED: &str = "#include <regex>
#include <string>
#include <vector>

struct Grid {
    std::vector<double> cells;
    explicit Grid(int n);
    double smooth();
    bool holds(double x) const { return cells.size() > 2 && cells[1] == x; }
};

Grid::Grid(int n)
    : cells(n)
{
}

double Grid::smooth()
{
    double sum = 0;
    for (double &cell : cells)
        sum += cell *= 0.5;
    return sum;
}

template <class T> __attribute__((noinline)) T *
last(std::vector<T> &all)
{
    return &all.back();
}

int main(int c, char **v)
{
    Grid grid(c);
    std::vector<std::string> words(v, v + c);
    auto long_ones = [](const std::string &word) { return word.size() > 3; };
    int n = 0;
    for (auto &word : words)
        n += long_ones(word) + std::regex_search(word, std::regex(\"a+(b|c)*\"));
    return grid.smooth() > 1 || grid.holds(n) || last(words)->empty();
}
";

/// What llvm-symbolizer says of the functions at some addresses: file and line of the declaration.
fn declarations(program: &std::path::Path, addresses: &[u64]) -> Vec<(String, u32)> {
    let list: Vec<String> = addresses.iter().map(|address| format!("{address:#x}")).collect();
    let mut words = vec!["--verbose".to_string(), "--no-demangle".to_string()];
    words.extend(list);
    words.push("-e".to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = tool("llvm-symbolizer", &words, program);
    // A paragraph for each address; the last frame in it is the function that has the code.
    let last = |text: &str, label: &str| text.lines().filter_map(|line| line.trim().strip_prefix(label)).next_back().map(str::to_string);
    told.split("\n\n")
        .filter(|text| !text.trim().is_empty())
        .map(|text| {
            let file = last(text, "Function start filename: ").unwrap_or_default();
            (file, last(text, "Function start line: ").and_then(|line| line.parse().ok()).unwrap_or(0))
        })
        .collect()
}

#[test]
fn functions_of_optimised_code_are_where_they_are_declared() {
    let shop = Workshop::new();
    for (compiler, flags) in [("g++", vec!["-gdwarf-4"]), ("g++", vec!["-g", "-gsplit-dwarf"]), ("clang++", vec!["-gdwarf-5"])] {
        let is_split = flags.contains(&"-gsplit-dwarf");
        let flags: Vec<&str> = flags.into_iter().chain(["-O2"]).collect();
        let bytes = shop.compile(compiler, "optimised", "cpp", OPTIMISED, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let mut sections = DebugSections::of(&image);
        let split: Vec<Vec<u8>> = sections
            .split_units()
            .iter()
            .map(|unit| std::fs::read(std::path::Path::new(&unit.directory).join(&unit.path)).expect("a file"))
            .collect();
        assert_eq!(split.len(), usize::from(is_split));
        for bytes in &split {
            sections.add_split(&DebugFile::parse(bytes).expect("a split file"));
        }
        let lines = Lines::new(&sections).expect("lines");
        let mut entries: Vec<u64> = image.symbols().iter().filter(|one| one.name.starts_with("_Z") && one.size > 0).map(|one| one.address).collect();
        entries.sort_unstable();
        entries.dedup();
        let told = declarations(&shop.path("optimised"), &entries);
        assert_eq!(told.len(), entries.len());
        let mut held = 0;
        for (&entry, (file, line)) in entries.iter().zip(&told).filter(|(_, (_, line))| *line > 0) {
            let found = lines.function(entry).expect("a place");
            assert_eq!((&found.file, found.line), (file, *line), "{compiler} {flags:?} {entry:#x}");
            held += 1;
        }
        assert!(held > 50, "{compiler} {flags:?}: {held} of {}", entries.len());
        let smooth = image.symbols().iter().find(|symbol| symbol.name == "_ZN4Grid6smoothEv").expect("smooth");
        let range = smooth.address..smooth.address + smooth.size;
        let span = lines.span(std::slice::from_ref(&range)).expect("a span");
        assert_eq!((span.file.ends_with("optimised.cpp"), span.entry), (true, 17), "{compiler} {flags:?}");
        assert!((20..=23).contains(&span.last), "{compiler} {flags:?} {span:?}");
    }
}
