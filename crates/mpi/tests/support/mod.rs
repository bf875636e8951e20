//! Running MPI programs under the interposer, and reading what it recorded.
//!
//! A program carries its expectations: `//ranks: 4`, `//spawns: 2` more, `//options:` of the compiler, and a line for each MPI function that it calls, `//: MPI_Send 1 0` (calls by
//! rank; one number for all; `*` for any positive one). `unpaired` and `uncovered` are the header's counters. Functions without a line are not
//! called, as the program sees it. In Fortran the lines begin with `!`.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tare_format::description::{Description, RegionKind};
use tare_format::graph::{
    ARENA, COLD_NODES, ColdNode, HEADER_AREA, Header, IMAGE_TABLE, ImageRecord, LocationRecord, NODES, Node, PEERS, PeerRecord,
};

/// An MPI library.
#[expect(clippy::enum_variant_names, reason = "Open MPI is the library's name")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mpi {
    /// `libmpi.so.40`.
    OpenMpi,
    /// `libmpich.so.12`.
    Mpich,
    /// `libmpi_abi.so.1`, where one was unpacked (`tools/install-mpi-abi`).
    Standard,
}

impl Mpi {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
            Self::Standard => "mpiabi",
        }
    }

    /// Whether it is here; says so where it is not. Those of Debian have to be.
    pub(crate) fn is_here(self) -> bool {
        let is_here = self != Self::Standard || Self::unpacked().join("lib/libmpi_abi.so.1").is_file();
        if !is_here {
            eprintln!("left out: no MPI library of the standard's ABI is in {}", Self::unpacked().display());
        }
        is_here
    }

    /// Where the library of the standard's ABI is unpacked.
    pub(crate) fn unpacked() -> PathBuf {
        target().join("tools/mpi-abi")
    }

    /// What starts its programs.
    fn launcher(self) -> PathBuf {
        match self {
            Self::OpenMpi | Self::Mpich => format!("mpirun.{}", self.name()).into(),
            Self::Standard => Self::unpacked().join("bin/mpiexec"),
        }
    }

    /// The library to preload; builds it first.
    pub(crate) fn preload(self) -> PathBuf {
        target().join(format!("debug/libtare_{}.so", self.name()))
    }

    /// What its header declares, as the preprocessor leaves it.
    pub(crate) fn header(self) -> String {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = directory.path().join("header.c");
        std::fs::write(&source, "#include <mpi.h>\n").expect("room for a file");
        let output = self.compiler(&source).args(["-E", "-P"]).arg(&source).output().expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn compiler(self, source: &Path) -> Command {
        let fortran = source.extension().is_some_and(|extension| extension == "f90" || extension == "f");
        let options = if fortran { &["-std=legacy"][..] } else { &[] };
        let mut compiler = match self {
            Self::OpenMpi | Self::Mpich => Command::new(format!("{}.{}", if fortran { "mpif90" } else { "mpicc" }, self.name())),
            Self::Standard => Command::new(Self::unpacked().join("bin/mpicc_abi")),
        };
        compiler.args(options);
        compiler
    }
}

/// Builds the libraries once; the target directory.
fn target() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp lies in the target directory").to_path_buf();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "tare-preload-openmpi", "-p", "tare-preload-mpich", "-p", "tare-preload-mpiabi", "--target-dir"]);
        assert!(cargo.arg(&target).status().expect("cargo runs").success());
        target
    })
}

/// A compiled test program.
pub(crate) struct Program {
    directory: tempfile::TempDir,
    text: String,
    mpi: Mpi,
    pub(crate) ranks: usize,
    /// Processes that it spawns.
    spawns: usize,
}

/// How a run ended.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) processes: Vec<Process>,
    _directory: tempfile::TempDir,
}

impl Program {
    /// Compiles a file of `tests/programs`.
    pub(crate) fn compile(mpi: Mpi, name: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        let text = std::fs::read_to_string(&source).expect("the program is there");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = mpi
            .compiler(&source)
            .current_dir(&directory)
            .args(["-O1", "-g", "-w", "-pthread"])
            .args(directive(&text, "options").into_iter().flat_map(str::split_whitespace))
            .args(["-o", "program"])
            .arg(&source)
            .output()
            .expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let ranks = directive(&text, "ranks").map_or(2, |value| value.parse().expect("a number of ranks"));
        let spawns = directive(&text, "spawns").map_or(0, |value| value.parse().expect("a number of processes"));
        Self { directory, text, mpi, ranks, spawns }
    }

    fn launch(&self, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new("timeout");
        command.arg("60").arg(self.mpi.launcher()).arg("-n").arg(self.ranks.to_string()).arg("env");
        command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(self.directory.path().join("program")).current_dir(&self.directory);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
        command.output().expect("mpirun runs")
    }

    /// Runs it as it is.
    pub(crate) fn plain(&self, variables: &[(&str, &str)]) -> Output {
        self.launch(variables)
    }

    /// Runs it under the interposer.
    pub(crate) fn measured(&self, variables: &[(&str, &str)]) -> Run {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (path, preload) = (directory.path().display().to_string(), self.mpi.preload().display().to_string());
        let id = format!("{:08x}{:08x}", std::process::id(), path.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte)));
        let mut all = vec![("TARE_RUN_DIR", path.as_str()), ("TARE_RUN_ID", id.as_str()), ("LD_PRELOAD", preload.as_str())];
        all.extend(variables);
        let output = self.launch(&all);
        let left = format!("/dev/shm/tare-{}-{id}", effective_user());
        let mut processes = read_processes(directory.path());
        processes.extend(read_processes_with(Path::new(&left), directory.path()));
        processes.sort_by_key(|process| process.header.rank_plus_one);
        let _ = std::fs::remove_dir_all(left);
        Run { output, processes, _directory: directory }
    }

    /// Runs it both ways: the same output, and the counts that it expects.
    pub(crate) fn check(&self, variables: &[(&str, &str)]) -> Run {
        let (plain, run) = (self.plain(variables), self.measured(variables));
        // A launcher may cut the lines of two ranks in their middles; then at least nothing came or went.
        if sorted_bytes(&run.output) != sorted_bytes(&plain) {
            assert_eq!(sorted_lines(&run.output), sorted_lines(&plain), "{}", String::from_utf8_lossy(&run.output.stderr));
        }
        assert!(plain.status.success(), "plain run: {}", String::from_utf8_lossy(&plain.stderr));
        assert_eq!(run.output.status, plain.status, "{}", String::from_utf8_lossy(&run.output.stderr));
        self.check_counts(&run);
        run
    }

    /// The counts that the program expects, and no others.
    pub(crate) fn check_counts(&self, run: &Run) {
        assert_eq!(run.processes.len(), self.ranks + self.spawns, "{}", String::from_utf8_lossy(&run.output.stderr));
        let expected = self.expectations();
        for (rank, process) in run.processes.iter().enumerate() {
            assert_eq!(process.header.rank_plus_one as usize, rank + 1);
            let mut counts = process.calls();
            counts.insert("unpaired".into(), process.header.unpaired_messages);
            counts.insert("uncovered".into(), process.header.uncovered_calls);
            counts.retain(|_, count| *count > 0);
            let mut wrong = Vec::new();
            for (name, want) in &expected {
                let want = if want.len() == 1 { &want[0] } else { &want[rank] };
                let got = counts.remove(name).unwrap_or(0);
                let fits = if want == "*" { got > 0 } else { want.parse() == Ok(got) };
                if !fits {
                    wrong.push(format!("{name} is {got}, not {want}"));
                }
            }
            assert!(wrong.is_empty() && counts.is_empty(), "rank {rank}: {wrong:?}, and nobody called {counts:?}");
        }
    }

    fn expectations(&self) -> Vec<(String, Vec<String>)> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("//: ").or_else(|| line.strip_prefix("!: ")));
        let only = format!("{}:", self.mpi.name());
        lines
            .filter_map(|line| {
                let mut words = line.split_whitespace().map(str::to_string).peekable();
                if words.peek()?.ends_with(':') && words.next()? != only {
                    return None;
                }
                Some((words.next()?, words.collect()))
            })
            .collect()
    }
}

fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start_matches(['/', '!']).strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn sorted_lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect();
    lines.sort();
    lines
}

fn sorted_bytes(output: &Output) -> Vec<u8> {
    let mut bytes = output.stdout.clone();
    bytes.sort_unstable();
    bytes
}

fn effective_user() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").expect("this process is there").uid()
}

/// A graph file that was read.
pub(crate) struct Process {
    pub(crate) header: Header,
    pub(crate) locations: Vec<Location>,
    names: BTreeMap<u32, String>,
}

/// A thread of it.
pub(crate) struct Location {
    pub(crate) record: LocationRecord,
    pub(crate) nodes: Vec<(Node, ColdNode)>,
    pub(crate) peers: Vec<PeerRecord>,
}

impl Process {
    /// Calls by name of the MPI function.
    pub(crate) fn calls(&self) -> BTreeMap<String, u64> {
        let mut calls = BTreeMap::new();
        for (node, _) in self.locations.iter().flat_map(|location| &location.nodes) {
            if let Some(name) = self.names.get(&node.region) {
                *calls.entry(name.clone()).or_default() += node.calls;
            }
        }
        calls
    }

    /// What is known of the calls of one function.
    pub(crate) fn cold(&self, name: &str) -> Vec<&ColdNode> {
        self.nodes_of(name).map(|(_, cold)| cold).collect()
    }

    /// What the calls of one function took, measured.
    pub(crate) fn ticks_in(&self, name: &str) -> u64 {
        self.nodes_of(name).map(|(node, _)| node.inclusive).sum()
    }

    fn nodes_of(&self, name: &str) -> impl Iterator<Item = &(Node, ColdNode)> {
        let nodes = self.locations.iter().flat_map(|location| &location.nodes);
        nodes.filter(move |(node, _)| self.names.get(&node.region).is_some_and(|known| known == name))
    }
}

fn read_processes(directory: &Path) -> Vec<Process> {
    read_processes_with(directory, directory)
}

fn read_processes_with(directory: &Path, descriptions: &Path) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let graphs = files.filter(|path| path.extension().is_some_and(|extension| extension == "graph"));
    graphs.map(|path| read_process(&std::fs::read(path).expect("a graph file"), descriptions)).collect()
}

fn read_process(bytes: &[u8], descriptions: &Path) -> Process {
    let header = Header::from_bytes(bytes).expect("a header");
    let mut names = BTreeMap::new();
    for index in 0..header.images as usize {
        let image = ImageRecord::from_bytes(&bytes[IMAGE_TABLE as usize + index * ImageRecord::SIZE..]).expect("an image");
        // Regions that the process names itself have no description.
        if image.identity == [0; 16] {
            continue;
        }
        let hex: String = image.identity.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = std::fs::read(descriptions.join(format!("{hex}.regions"))).expect("a description");
        let description = Description::from_bytes(&text).expect("a whole description");
        for (number, region) in (1..).zip(description.regions) {
            if region.kind == RegionKind::Mpi {
                names.insert(image.id_base + number, region.name);
            }
        }
    }
    let arenas = (0..header.locations as usize).map(|index| &bytes[(HEADER_AREA + index as u64 * ARENA) as usize..]);
    let of_threads = arenas.filter(|arena| LocationRecord::from_bytes(arena).expect("a record").state < tare_format::names::NAMES);
    let locations = of_threads.map(read_location);
    Process { header, locations: locations.collect(), names }
}

fn read_location(arena: &[u8]) -> Location {
    let record = LocationRecord::from_bytes(arena).expect("a location");
    let node = |index: usize| {
        let hot = Node::from_bytes(&arena[NODES as usize + index * Node::SIZE..]).expect("a node");
        let cold = ColdNode::from_bytes(arena.get(COLD_NODES as usize + index * ColdNode::SIZE..).unwrap_or(&[0; ColdNode::SIZE]));
        (hot, cold.expect("a cold node"))
    };
    let peer = |index: usize| PeerRecord::from_bytes(&arena[PEERS as usize + index * PeerRecord::SIZE..]).expect("a partner");
    Location { record, nodes: (0..record.nodes as usize).map(node).collect(), peers: (0..record.peers as usize).map(peer).collect() }
}
