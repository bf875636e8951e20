//! Programs made by compilers, and what filters make of them.

#![allow(dead_code, reason = "each test binary uses the part that it needs")]

use std::path::Path;
use std::process::Command;

use tare_code::Program;
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;
use tare_select::{Filter, Selection, choose};

/// Runs a command in a directory; it must succeed.
pub(crate) fn run(directory: &Path, command: &str, arguments: &[&str]) {
    let output = Command::new(command).args(arguments).current_dir(directory).output().unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{command} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles source files of C or C++ to a program.
pub(crate) fn compiled(sources: &[(&str, &str)], options: &[&str]) -> Vec<u8> {
    compiled_by("g++", sources, options)
}

/// The same by a compiler of choice.
pub(crate) fn compiled_by(compiler: &str, sources: &[(&str, &str)], options: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut words = options.to_vec();
    for (name, text) in sources {
        std::fs::write(directory.path().join(name), text).expect("a source file");
        words.push(name);
    }
    words.extend(["-o", "app"]);
    run(directory.path(), compiler, &words);
    std::fs::read(directory.path().join("app")).expect("the program")
}

/// The functions of a program, and how filters see them.
pub(crate) struct Analysed<'a> {
    pub(crate) image: Image<'a>,
    pub(crate) program: Program,
}

impl<'a> Analysed<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let image = Image::parse(bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        Self { image, program }
    }

    pub(crate) fn choose(&self, filters: &[Filter]) -> Selection {
        let sections = DebugSections::of(&self.image);
        let lines = Lines::new(&sections);
        choose(&self.program, filters, |function| self.program.metrics(&self.image, function, lines.as_ref()))
    }

    /// Shown names of what filters let in, sorted, of functions that `wanted` is about.
    pub(crate) fn names(&self, filters: &[Filter], wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let selection = self.choose(filters);
        let shown = |one: &tare_select::Decision| tare_image::demangle(&self.program.functions[one.function].name).into_owned();
        let mut names: Vec<String> = selection.selected().map(shown).filter(|name| wanted(name)).collect();
        names.sort();
        names
    }
}
