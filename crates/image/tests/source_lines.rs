//! Files and lines, held against the addr2line of binutils.

mod common;

use common::{Workshop, tool};
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;

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
        assert_eq!((span.entry, span.first, span.last), (4, 4, 9), "{flag}");
    }
}

#[test]
fn an_image_without_lines_says_so() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "program", "c", PROGRAM, &["-g0"]);
    let image = Image::parse(&bytes).expect("an image");
    assert!(Lines::new(&DebugSections::of(&image)).is_none());
}
