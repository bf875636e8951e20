//! Compiles a C program with hand-made probe sites, runs it with the library preloaded, reads what it left.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use tare_format::description::{Description, FLAG_LEAF, Region, RegionKind};
use tare_format::graph::{
    ARENA, BatchRecord, COLD_NODES, ColdNode, CompanyRecord, HEADER_AREA, Header, IMAGE_TABLE, ImageRecord, LocationRecord, MAX_PATHS, NODES, Node,
    OVERFLOW,
};
use tare_format::probe::stubs;
use tempfile::TempDir;

/// A compiled program in a directory of its own, which is also its run directory.
pub(crate) struct Program {
    directory: TempDir,
    names: Vec<String>,
    id: String,
}

impl Program {
    /// Compiles a program; a region's number is its place in `names`, counted from 1.
    pub(crate) fn compile(source: &str, names: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, bytes: &[u8]| std::fs::write(path(name), bytes).expect("a file");
        write("regions.bin", &description(names).to_bytes());
        write("sites.h", include_bytes!("sites.h"));
        write("image.S", include_bytes!("image.S"));
        write("registers.S", include_bytes!("registers.S"));
        write("program.c", source.as_bytes());
        let stubs = stubs();
        write("stubs.bin", stubs.bytes);
        let places = ["ENTER", "LEAF", "EXIT", "ENTER_REGION", "EXIT_REGION"].into_iter().zip(stubs.starts);
        let status = Command::new("gcc")
            .current_dir(directory.path())
            .args(["-O1", "-g", "-pthread", "-D_GNU_SOURCE", "-Wall", "-Wl,--no-warn-rwx-segments"])
            .arg(format!("-DREGIONS={}", names.len()))
            .args(places.map(|(name, start)| format!("-DAT_{name}={start}")))
            .args(["-o", "program", "program.c", "image.S", "registers.S"])
            .status()
            .expect("gcc is installed");
        assert!(status.success(), "the program does not compile");
        let id = directory.path().file_name().expect("a name").to_string_lossy().replace(['.', '_'], "");
        Self { directory, names: names.iter().map(ToString::to_string).collect(), id }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The command that runs it measured.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.directory.path().join("program"));
        command.env("LD_PRELOAD", library()).env("TARE_RUN_DIR", self.directory.path()).env("TARE_RUN_ID", &self.id).env_remove("TARE_EXACT");
        command
    }

    /// Runs it measured, to its successful end.
    pub(crate) fn run(&self) -> Output {
        let output = self.command().output().expect("the program runs");
        assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Starts it measured.
    pub(crate) fn spawn(&self) -> Child {
        self.command().stdout(std::process::Stdio::piped()).spawn().expect("the program runs")
    }

    /// Graph files that were collected, by name.
    pub(crate) fn graphs(&self) -> Vec<Graph> {
        self.graphs_in(self.directory.path())
    }

    /// Where graph files stand while the program runs.
    pub(crate) fn memory(&self) -> PathBuf {
        let user = Command::new("id").arg("-u").output().expect("id is installed").stdout;
        let user = String::from_utf8_lossy(&user).trim().to_string();
        PathBuf::from(format!("/dev/shm/tare-{user}-{}", self.id))
    }

    pub(crate) fn graphs_in(&self, directory: &Path) -> Vec<Graph> {
        let mut paths: Vec<_> = std::fs::read_dir(directory)
            .expect("the directory")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "graph"))
            .collect();
        paths.sort();
        paths.iter().map(|path| Graph::read(path, &self.names)).collect()
    }

    /// The one graph file of a program that has one process.
    pub(crate) fn graph(&self) -> Graph {
        let mut graphs = self.graphs();
        assert_eq!(graphs.len(), 1, "graph files");
        graphs.remove(0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.memory());
    }
}

/// The preloaded library, which cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let directory = test.parent().expect("a directory");
    let library = directory.join("libtare.so");
    assert!(library.is_file(), "{} is not built", library.display());
    library
}

fn description(names: &[&str]) -> Description {
    let region = |name: &&str| Region {
        kind: RegionKind::Function,
        flags: if name.starts_with("leaf") { FLAG_LEAF } else { 0 },
        name: name.to_string(),
        file: String::new(),
        line: 0,
        last_line: 0,
        address: 0,
        size: 0,
        ..Region::default()
    };
    Description { identity: [0xab; 16], path: "program".into(), build_id: String::new(), regions: names.iter().map(region).collect() }
}

/// Bytes of a graph file, which is long and mostly holes.
fn part(file: &std::fs::File, at: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).expect("a whole graph file");
    bytes
}

/// A graph file.
pub(crate) struct Graph {
    pub(crate) header: Header,
    pub(crate) locations: Vec<Location>,
}

/// One thread of it.
pub(crate) struct Location {
    pub(crate) record: LocationRecord,
    pub(crate) nodes: Vec<CallPath>,
}

/// One call path: the names from the root down, joined by `/`.
pub(crate) struct CallPath {
    pub(crate) path: String,
    pub(crate) node: Node,
    pub(crate) batches: Option<BatchRecord>,
    pub(crate) company: Option<CompanyRecord>,
}

impl Graph {
    fn read(path: &Path, names: &[String]) -> Self {
        let file = std::fs::File::open(path).expect("a graph file");
        let bytes = part(&file, 0, HEADER_AREA as usize);
        let header = Header::from_bytes(&bytes).expect("a header");
        assert_eq!(header.magic, tare_format::graph::MAGIC);
        let image = ImageRecord::from_bytes(&bytes[IMAGE_TABLE as usize..]).expect("an image");
        let name = |id: u32| {
            let number = id.checked_sub(image.id_base + 1).map(|number| number as usize);
            number.and_then(|number| names.get(number)).cloned().unwrap_or_else(|| format!("?{id}"))
        };
        let locations = (0..u64::from(header.locations))
            .map(|index| Location::read(|at, length| part(&file, HEADER_AREA + index * ARENA + at, length), &name))
            // Names and metrics have arenas of their own.
            .filter(|location| (1..tare_format::names::NAMES).contains(&location.record.state))
            .collect();
        Self { header, locations }
    }

    /// Calls of each region over all paths and threads.
    pub(crate) fn calls(&self) -> BTreeMap<String, u64> {
        let mut calls = BTreeMap::new();
        for path in self.locations.iter().flat_map(|location| &location.nodes[1..]) {
            let name = path.path.rsplit('/').next().unwrap_or_default().to_string();
            *calls.entry(name).or_insert(0) += path.calls();
        }
        calls
    }

    /// The only node with this path.
    pub(crate) fn path(&self, path: &str) -> &CallPath {
        let mut found = self.locations.iter().flat_map(|location| &location.nodes).filter(|node| node.path == path);
        let first = found.next().unwrap_or_else(|| panic!("no path {path} among {:?}", self.paths()));
        assert!(found.next().is_none(), "two of {path}");
        first
    }

    pub(crate) fn paths(&self) -> Vec<&str> {
        self.locations.iter().flat_map(|location| &location.nodes).map(|node| node.path.as_str()).collect()
    }
}

impl CallPath {
    pub(crate) fn calls(&self) -> u64 {
        (self.node.calls + self.node.off_calls).saturating_add_signed(-i64::from(self.node.left))
    }
}

impl Location {
    fn read(arena: impl Fn(u64, usize) -> Vec<u8>, name: &impl Fn(u32) -> String) -> Self {
        let record = LocationRecord::from_bytes(&arena(0, LocationRecord::SIZE)).expect("a location");
        let mut nodes: Vec<CallPath> = Vec::new();
        for index in (0..record.nodes).chain((record.nodes > MAX_PATHS || record.overflow_calls > 0).then_some(OVERFLOW)) {
            let at = |table: u64| arena(table + u64::from(index) * Node::SIZE as u64, Node::SIZE);
            let node = Node::from_bytes(&at(NODES)).expect("a node");
            let cold = ColdNode::from_bytes(&at(COLD_NODES)).expect("a cold node");
            let path = match index {
                0 => String::new(),
                _ if index == OVERFLOW => "overflow".into(),
                _ if node.parent == OVERFLOW => format!("overflow/{}", name(node.region)),
                _ => format!("{}/{}", nodes[node.parent as usize].path, name(node.region)),
            };
            let batches = cold.batch_record.checked_sub(1).map(|index| {
                let at = tare_format::graph::BATCHES + u64::from(index) * BatchRecord::SIZE as u64;
                BatchRecord::from_bytes(&arena(at, BatchRecord::SIZE)).expect("a batch record")
            });
            let company = batches.as_ref().and_then(|batches| batches.company.checked_sub(1)).map(|index| {
                let at = tare_format::graph::BATCHES + u64::from(index) * CompanyRecord::SIZE as u64;
                CompanyRecord::from_bytes(&arena(at, CompanyRecord::SIZE)).expect("a record of batches in company")
            });
            nodes.push(CallPath { path, node, batches, company });
        }
        Self { record, nodes }
    }

    /// Sum of the exclusive ticks of all nodes.
    pub(crate) fn exclusive(&self) -> i64 {
        self.nodes.iter().map(|node| node.node.exclusive).sum()
    }
}
