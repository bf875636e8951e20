//! What all tests of the command share: programs compiled for one MPI or the other, and `tare` run on them.

#![allow(dead_code, reason = "each test binary uses the part that it needs")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// An MPI library that is installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
}

/// Both libraries that are supported.
pub(crate) const BOTH: [Mpi; 2] = [Mpi { name: "openmpi" }, Mpi { name: "mpich" }];
/// The library that Debian's programs are built with.
pub(crate) const OPEN_MPI: Mpi = BOTH[0];

impl Mpi {
    /// The launcher, with a number of ranks.
    pub(crate) fn line(self, ranks: usize, program: &Path) -> Vec<String> {
        vec![format!("mpirun.{}", self.name), "-n".into(), ranks.to_string(), program.display().to_string()]
    }

    /// Compiles a source file of the examples or of the tests.
    pub(crate) fn compile(self, source: &str, place: &Path) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
        let compiler = match source.extension().and_then(OsStr::to_str) {
            Some("c") => "mpicc",
            Some("cpp") => "mpicxx",
            _ => "mpifort",
        };
        let program = place.join(format!("{}-{}", source.file_stem().and_then(OsStr::to_str).expect("a file name"), self.name));
        let status = Command::new(format!("{compiler}.{}", self.name))
            .args(["-O2", "-g", "-o"])
            .arg(&program)
            .arg(&source)
            .arg("-lm")
            .current_dir(place)
            .status()
            .expect("the MPI compiler is installed by `make test`");
        assert!(status.success(), "{} does not compile", source.display());
        program
    }
}

/// Where the programs of these tests are.
pub(crate) const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");

/// Runs a compiler in the place.
pub(crate) fn build(place: &Place, line: &str) {
    let mut words = line.split_whitespace();
    let status = place.command(words.next().expect("a compiler")).args(words).status().expect("the compiler is installed by `make test`");
    assert!(status.success(), "{line}");
}

/// Compiles a C program without MPI.
pub(crate) fn compile_c(source: &str, place: &Path, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let program = place.join(source.file_stem().expect("a file name"));
    let status = Command::new("gcc").arg("-o").arg(&program).arg(&source).args(["-O2", "-g"]).args(options).status().expect("gcc");
    assert!(status.success(), "{} does not compile", source.display());
    program
}

/// A place for one test: programs, runs, a cache of its own.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A command with the environment that tests need: a cache of its own, Open MPI as root, no spinning.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path())
            .stdin(Stdio::null())
            .env("TARE_CACHE", self.path().join("cache"))
            // Test programs are small: within a budget next to nothing of them would be measured.
            .env("TARE_PRESET", "all")
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("OMPI_MCA_mpi_yield_when_idle", "1")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    pub(crate) fn tare(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_tare"))
    }

    /// Runs a command line without us.
    pub(crate) fn plain(&self, line: &[String]) -> Output {
        self.command(&line[0]).args(&line[1..]).output().expect("the command can be started")
    }

    /// `tare profile -o run … -- line`.
    pub(crate) fn profile(&self, options: &[&str], line: &[String]) -> Output {
        self.tare().args(["profile", "-o", "run"]).args(options).arg("--").args(line).output().expect("tare can be started")
    }

    /// The JSON report of the run.
    pub(crate) fn report(&self) -> Report {
        let output = self.tare().args(["report", "run", "--format", "json"]).output().expect("tare can be started");
        assert!(output.status.success(), "report failed: {}", text(&output.stderr));
        fits(self, "report", &text(&output.stdout));
        Report(serde_json::from_slice(&output.stdout).expect("the report is JSON"))
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A message as one line: what to try next takes as many as it needs.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    text(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Holds a document against a schema in `docs/schema`. Our own say all fields that there are: one that they do not know is an error.
pub(crate) fn fits(place: &Place, schema: &str, document: &str) {
    const HOLD: &str = "import json, jsonschema, sys
def strict(part):
    if isinstance(part, dict):
        if part.get('type') == 'object' and 'tare' in title:
            part.setdefault('additionalProperties', False)
        part = list(part.values())
    if isinstance(part, list):
        for each in part: strict(each)
schema = json.load(open(sys.argv[1]))
title = schema['title']
jsonschema.Draft202012Validator.check_schema(schema)
strict(schema)
jsonschema.Draft202012Validator(schema).validate(json.load(open('document.json')))";
    std::fs::write(place.path().join("document.json"), document).expect("a writable directory");
    let file = format!("{}/../../docs/schema/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let output = place.command("/usr/bin/python3").args(["-c", HOLD, &file]).output().expect("python3");
    assert!(output.status.success(), "{schema}: {}", text(&output.stderr));
}

/// The verbs that `tare --help` lists.
pub(crate) fn verbs(place: &Place) -> Vec<String> {
    let help = text(&place.tare().arg("--help").output().expect("tare can be started").stdout);
    let list = help.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next()).expect("a list of verbs");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

/// A JSON report.
pub(crate) struct Report(pub(crate) Value);

impl Report {
    fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().unwrap_or_else(|| panic!("no {name} in the report"))
    }

    pub(crate) fn locations(&self) -> &[Value] {
        self.list("locations")
    }

    pub(crate) fn nodes(&self) -> &[Value] {
        self.list("nodes")
    }

    /// Calls of a region on a rank, over all its paths.
    pub(crate) fn calls(&self, rank: u64, name: &str) -> u64 {
        let regions = self.list("regions");
        self.nodes()
            .iter()
            .filter(|node| {
                let location = &self.locations()[node["location"].as_u64().expect("an index") as usize];
                let region = &regions[node["region"].as_u64().expect("an index") as usize];
                location["rank"].as_u64() == Some(rank) && region["name"] == name
            })
            .map(|node| node["calls"].as_u64().expect("a count"))
            .sum()
    }

    pub(crate) fn has_region(&self, name: &str) -> bool {
        self.list("regions").iter().any(|region| region["name"] == name)
    }

    /// What must hold in every report: intervals hold their values, a child never exceeds its parent.
    pub(crate) fn check(&self) {
        for (index, node) in self.nodes().iter().enumerate() {
            for kind in ["inclusive", "exclusive"] {
                let value = |name: &str| node[kind][name].as_f64().unwrap_or_else(|| panic!("node {index} has no {kind}.{name}"));
                let slack = 1e-9 * value("compensated_s").abs();
                assert!(
                    value("low_s") <= value("compensated_s") + slack && value("compensated_s") <= value("high_s") + slack,
                    "interval of node {index}: {node}"
                );
            }
            if let Some(parent) = node["parent"].as_u64() {
                let inclusive = |node: &Value| node["inclusive"]["compensated_s"].as_f64().expect("a time");
                let (child, parent) = (inclusive(node), inclusive(&self.nodes()[parent as usize]));
                assert!(child <= parent * (1.0 + 1e-9) + 1e-12, "node {index} takes {child} s within {parent} s");
            }
        }
    }
}
