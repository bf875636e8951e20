#![allow(dead_code, unreachable_pub, reason = "shared by test programs that each use a part")]
//! Builds a program, instruments all of its functions, runs both, and compares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_code::{Flow, Program};
use tare_format::description::{Description, Region};
use tare_format::note::{ImageNote, NOTE_TYPE};
use tare_image::Image;
use tare_rewrite::{Levels, Native, Output, Request, Selection, instrument};
use tempfile::TempDir;

/// How a program ended: its status, output and complaints.
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: String,
}

/// How often a region was entered and left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Entries that ran with probes.
    pub entries: u64,
    /// Entries of leaves, with probes or without.
    pub leaves: u64,
    pub exits: u64,
}

/// A directory with a program in it.
pub struct Bench {
    directory: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { directory: TempDir::new().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles one of the programs beside this file; flags may begin with the name of a compiler.
    pub fn build(&self, source: &str, flags: &str, name: &str) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let named = flags.split_whitespace().next().filter(|word| !word.starts_with('-'));
        let compiler = named.unwrap_or(match source.extension().and_then(|one| one.to_str()) {
            Some("cpp") => "g++",
            Some("f90") => "gfortran",
            Some("rs") => "rustc",
            Some("go") => "go",
            _ => "gcc",
        });
        let versions = format!("-Wl,--version-script={}", source.with_file_name("versions.map").display());
        let flags = flags.replace("-DVERSIONS", &format!("-DVERSIONS {versions}"));
        let out = self.path(name);
        let mut command = Command::new(compiler);
        command.args((compiler == "go").then_some("build")).current_dir(self.directory.path()).arg("-o").arg(&out).arg(&source);
        command.args(flags.split_whitespace().skip(usize::from(named.is_some())));
        let done = command.output().expect("the compiler starts");
        assert!(done.status.success(), "{compiler} {flags}: {}", String::from_utf8_lossy(&done.stderr));
        out
    }

    /// Instruments these levels of every function of a program.
    pub fn instrument(&self, program: &Path, name: &str, levels: Levels, poison: bool) -> (PathBuf, Output) {
        let data = std::fs::read(program).expect("the program is there");
        let output = at_levels(&data, levels, poison);
        let out = self.path(name);
        std::fs::write(&out, &output.bytes).expect("room for the copy");
        let mode = std::fs::metadata(program).expect("the program is there").permissions();
        std::fs::set_permissions(&out, mode).expect("a mode can be set");
        (out, output)
    }

    /// Runs a program.
    pub fn run(&self, program: &Path) -> Outcome {
        outcome(Command::new(program).current_dir(self.directory.path()))
    }

    /// Runs a program under the runtime that counts.
    pub fn count(&self, program: &Path) -> (Outcome, BTreeMap<u32, Count>) {
        let runtime = self.path("count.so");
        if !runtime.exists() {
            self.build("count.c", "-O2 -shared -fPIC", "count.so");
        }
        let file = self.path("counts");
        let mut command = Command::new(program);
        command.current_dir(self.directory.path()).env("LD_PRELOAD", &runtime).env("COUNT_FILE", &file);
        let outcome = outcome(&mut command);
        let text = std::fs::read_to_string(&file).expect("the counts were written");
        (outcome, text.lines().filter_map(count).collect())
    }
}

fn outcome(command: &mut Command) -> Outcome {
    // Another test may start a program between the writing of this one and its end in a forked child.
    let done = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            done => break done.expect("the program starts"),
        }
    };
    Outcome { status: done.status.code(), stdout: String::from_utf8_lossy(&done.stdout).into_owned() }
}

fn count(line: &str) -> Option<(u32, Count)> {
    let mut words = line.split_whitespace().map(|word| word.parse::<u64>().ok());
    let region = u32::try_from(words.next()??).ok()?;
    Some((region, Count { entries: words.next()??, leaves: words.next()??, exits: words.next()?? }))
}

/// Instruments every function of an image; leaves are those that call nothing.
pub fn all(data: &[u8], poison: bool) -> Output {
    at_levels(data, Levels::FUNCTION, poison)
}

/// Instruments these levels of every function of an image.
pub fn at_levels(data: &[u8], levels: Levels, poison: bool) -> Output {
    let image = Image::parse(data).expect("an image");
    let program = Program::analyse(&image).expect("there is code in it");
    let selection = |(index, function)| {
        let body = program.body(&image, function);
        let stays = |flow| matches!(flow, Flow::Next | Flow::Jump { .. } | Flow::Branch { .. } | Flow::TableJump { .. } | Flow::Return | Flow::Stop);
        let is_leaf = body.instructions.iter().all(|one| stays(one.flow));
        Selection { is_leaf, levels, ..Selection::of(index) }
    };
    let selected: Vec<Selection> = program.functions.iter().enumerate().map(selection).collect();
    let request = Request { selected: &selected, poison, path: "program", ..Request::default() };
    instrument(&image, &program, &request, &Native).expect("it can be instrumented")
}

/// The regions of an instrumented image.
pub fn regions(copy: &[u8]) -> Vec<Region> {
    let image = Image::parse(copy).expect("an image");
    let note = image.notes().into_iter().find(|note| note.kind == NOTE_TYPE).expect("our note");
    let content = ImageNote::from_bytes(note.content).expect("of full length");
    let at = usize::try_from(note.content_offset).expect("small");
    let start = at.checked_add_signed(isize::try_from(content.description).expect("near")).expect("in the file");
    let length = usize::try_from(content.description_length).expect("small");
    Description::from_bytes(&copy[start..start + length]).expect("a description").regions
}
