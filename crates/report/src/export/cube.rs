//! CUBE4 (`.cubex`) as Score-P writes it: a tar of `anchor.xml` and, for each metric, an index and its values.
//!
//! Rows of values stand for call paths, in the order in which Cube counts them: exclusive metrics depth first, inclusive ones
//! with all children of a path before what is below them. Row after row holds a value for each location; rows of zeros only
//! are left out. Format: the documentation of CubeLib 4.8, and the reader pycubexr 2.1.

use std::fmt::Write as _;

use tare_compensate::whole::CallTree;
use tare_profile::{Profile, Region, RegionKind};

use super::{COMPENSATION, TooLarge, held, title};
use crate::run::{Results, Run};

/// A metric of the file.
struct Metric {
    name: &'static str,
    shown: &'static str,
    kind: &'static str,
    unit: &'static str,
    is_inclusive: bool,
    says: &'static str,
}

const METRICS: [Metric; 4] = [
    Metric { name: "visits", shown: "Visits", kind: "UINT64", unit: "occ", is_inclusive: false, says: "Number of visits" },
    Metric { name: "time", shown: "Time", kind: "DOUBLE", unit: "sec", is_inclusive: true, says: "Time, compensated as the title says" },
    Metric { name: "tare_measured_time", shown: "Measured time", kind: "DOUBLE", unit: "sec", is_inclusive: true, says: "Time as measured" },
    Metric { name: "tare_waiting_time", shown: "Waiting", kind: "DOUBLE", unit: "sec", is_inclusive: false, says: "Time waited, compensated" },
];

/// Most bytes of values that a file is written with: Cube has no sparse rows, and whoever reads one takes as much memory.
const MOST_BYTES: u64 = 1 << 30;

pub(super) fn write(run: &Run, results: &Results<'_>) -> Result<Vec<u8>, TooLarge> {
    let tree = CallTree::of(results.profile, &results.shown);
    let order = Order::of(&tree);
    let kept: Vec<Vec<usize>> = (0..METRICS.len()).map(|number| kept(results, &tree, &order, number)).collect();
    let bytes = kept.iter().map(|rows| rows.len() as u64 * 8 * results.profile.locations.len() as u64).sum();
    if bytes > MOST_BYTES {
        return Err(TooLarge { bytes, most: MOST_BYTES });
    }
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "anchor.xml", anchor(run, results, &tree, &order).as_bytes());
    for (number, kept) in kept.iter().enumerate() {
        let rows = order.rows(&METRICS[number]);
        add(&mut archive, &format!("{number}.index"), &index(kept));
        add(&mut archive, &format!("{number}.data"), &data(results, &tree, number, &kept.iter().map(|&place| rows[place]).collect::<Vec<_>>()));
    }
    // Writing into memory does not fail.
    Ok(archive.into_inner().unwrap_or_default())
}

fn add(archive: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    let _ = archive.append_data(&mut header, name, bytes);
}

/// The two orders in which Cube counts call paths.
struct Order {
    children: Vec<Vec<usize>>,
    depth_first: Vec<usize>,
    wide: Vec<usize>,
}

impl Order {
    fn of(tree: &CallTree) -> Self {
        let children = tree.children();
        let roots: Vec<usize> = (0..tree.paths.len()).filter(|&index| tree.paths[index].parent.is_none()).collect();
        let (mut depth_first, mut wide) = (Vec::new(), Vec::new());
        for root in roots {
            wide.push(root);
            let mut stack = vec![root];
            while let Some(path) = stack.pop() {
                depth_first.push(path);
                wide.extend(&children[path]);
                stack.extend(children[path].iter().rev());
            }
        }
        Self { children, depth_first, wide }
    }

    /// The paths in the order in which a metric has its rows.
    fn rows(&self, metric: &Metric) -> &[usize] {
        if metric.is_inclusive { &self.wide } else { &self.depth_first }
    }
}

/// The values of a metric that are not zero: of the path, at the place of the location.
fn cells(results: &Results<'_>, tree: &CallTree, number: usize, mut each: impl FnMut(usize, usize, f64)) {
    for (place, ((location, figures), paths)) in results.profile.locations.iter().zip(&results.shown.locations).zip(&tree.of_location).enumerate() {
        for ((node, figures), &path) in location.nodes.iter().zip(&figures.nodes).zip(paths) {
            let value = match number {
                0 => node.calls() as f64,
                1 => figures.exclusive.value,
                2 => figures.measured_exclusive_s,
                _ => figures.wait_s,
            };
            if value > 0.0 {
                each(path as usize, place, value);
            }
        }
    }
}

/// The places of the rows of a metric that are not all zero; one at least, where there are any.
fn kept(results: &Results<'_>, tree: &CallTree, order: &Order, number: usize) -> Vec<usize> {
    let mut has_value = vec![false; tree.paths.len()];
    cells(results, tree, number, |path, _, _| has_value[path] = true);
    if METRICS[number].is_inclusive {
        for index in (0..tree.paths.len()).rev() {
            if let Some(parent) = tree.paths[index].parent {
                has_value[parent] |= has_value[index];
            }
        }
    }
    let rows = order.rows(&METRICS[number]);
    let mut kept: Vec<usize> = (0..rows.len()).filter(|&place| has_value[rows[place]]).collect();
    if kept.is_empty() && !rows.is_empty() {
        kept.push(0);
    }
    kept
}

fn index(kept: &[usize]) -> Vec<u8> {
    let mut index = b"CUBEX.INDEX".to_vec();
    index.extend(1_i32.to_le_bytes());
    index.extend(0_i16.to_le_bytes());
    index.push(1);
    index.extend((kept.len() as i32).to_le_bytes());
    kept.iter().for_each(|&place| index.extend((place as i32).to_le_bytes()));
    index
}

/// The values of these paths, a row after the other.
fn data(results: &Results<'_>, tree: &CallTree, number: usize, paths: &[usize]) -> Vec<u8> {
    let locations = results.profile.locations.len();
    let mut row_of = vec![None; tree.paths.len()];
    paths.iter().enumerate().for_each(|(row, &path)| row_of[path] = Some(row));
    let mut values = vec![0.0_f64; paths.len() * locations];
    cells(results, tree, number, |path, place, value| {
        if let Some(row) = row_of[path] {
            values[row * locations + place] += value;
        }
    });
    // Where a path has a row, its parent has one.
    let has_parts = |path: &usize| METRICS[number].is_inclusive && row_of[*path].is_some();
    for path in (0..tree.paths.len()).rev().filter(has_parts) {
        if let (Some(row), Some(above)) = (row_of[path], tree.paths[path].parent.and_then(|parent| row_of[parent])) {
            (0..locations).for_each(|place| values[above * locations + place] += values[row * locations + place]);
        }
    }
    let mut data = b"CUBEX.DATA".to_vec();
    data.reserve_exact(values.len() * 8);
    for value in values {
        data.extend(if METRICS[number].kind == "UINT64" { (value as u64).to_le_bytes() } else { value.to_le_bytes() });
    }
    data
}

fn anchor(run: &Run, results: &Results<'_>, tree: &CallTree, order: &Order) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n");
    let _ = writeln!(xml, "<attr key=\"Creator\" value=\"tareweight {}\"/>", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(xml, "<attr key=\"{COMPENSATION}\" value=\"{}\"/>", run.compensation(results.shown.mode));
    let _ = writeln!(xml, "<attr key=\"Title\" value=\"{}\"/>", escaped(&title(run, results)));
    xml.push_str("<metrics>\n");
    for (number, metric) in METRICS.iter().enumerate() {
        let kind = if metric.is_inclusive { "INCLUSIVE" } else { "EXCLUSIVE" };
        let _ = writeln!(
            xml,
            "<metric id=\"{number}\" type=\"{kind}\"><disp_name>{}</disp_name><uniq_name>{}</uniq_name><dtype>{}</dtype><uom>{}</uom><val></val>\
             <url></url><descr>{}</descr></metric>",
            metric.shown, metric.name, metric.kind, metric.unit, metric.says
        );
    }
    xml.push_str("</metrics>\n<program>\n");
    for (number, region) in results.profile.regions.iter().enumerate() {
        let line = if region.line > 0 { i64::from(region.line) } else { -1 };
        let (paradigm, role) = paradigm_and_role(region);
        let _ = writeln!(
            xml,
            "<region id=\"{number}\" mod=\"{}\" begin=\"{line}\" end=\"-1\"><name>{}</name><mangled_name>{}</mangled_name><paradigm>{paradigm}</paradigm>\
             <role>{role}</role><url></url><descr></descr></region>",
            escaped(&region.file),
            escaped(&region.name),
            escaped(&region.raw_name)
        );
    }
    call_paths(&mut xml, tree, order);
    xml.push_str("</program>\n");
    system(&mut xml, results.profile);
    xml.push_str("</cube>\n");
    xml
}

fn call_paths(xml: &mut String, tree: &CallTree, order: &Order) {
    let roots = order.depth_first.iter().filter(|&&path| tree.paths[path].parent.is_none());
    let mut stack: Vec<(usize, bool)> = roots.rev().map(|&root| (root, false)).collect();
    while let Some((path, is_left)) = stack.pop() {
        if is_left {
            xml.push_str("</cnode>\n");
            continue;
        }
        let _ = writeln!(xml, "<cnode id=\"{path}\" calleeId=\"{}\">", tree.paths[path].region.0);
        stack.push((path, true));
        stack.extend(order.children[path].iter().rev().map(|&child| (child, false)));
    }
}

/// The machine, its nodes, their processes, and their threads, numbered as the locations of the profile.
fn system(xml: &mut String, profile: &Profile) {
    xml.push_str("<system>\n<systemtreenode Id=\"0\"><name>machine</name><class>machine</class>\n");
    let mut hosts: Vec<&str> = profile.processes.iter().map(|process| process.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    for (number, host) in hosts.iter().enumerate() {
        let _ = writeln!(xml, "<systemtreenode Id=\"{}\"><name>{}</name><class>node</class>", number + 1, escaped(host));
        for (index, process) in profile.processes.iter().enumerate().filter(|(_, process)| process.host == *host) {
            let (rank, name) = match process.rank {
                Some(rank) => (rank as usize, format!("MPI Rank {rank}")),
                None => (index, format!("Process {}", process.pid)),
            };
            let _ = writeln!(xml, "<locationgroup Id=\"{index}\"><name>{name}</name><rank>{rank}</rank><type>process</type>");
            for (place, location) in profile.locations.iter().enumerate().filter(|(_, location)| location.process.0 == index) {
                let name = if location.thread == 0 { "Master thread".to_string() } else { format!("Thread {}", location.thread) };
                let _ = writeln!(xml, "<location Id=\"{place}\"><name>{name}</name><rank>{}</rank><type>thread</type></location>", location.thread);
            }
            xml.push_str("</locationgroup>\n");
        }
        xml.push_str("</systemtreenode>\n");
    }
    xml.push_str("</systemtreenode>\n</system>\n");
}

fn paradigm_and_role(region: &Region) -> (&'static str, &'static str) {
    match region.kind {
        RegionKind::Mpi => ("mpi", mpi_role(&region.name)),
        RegionKind::Threads => threads_paradigm_and_role(&region.name),
        RegionKind::Loop | RegionKind::Iteration => ("user", "loop"),
        RegionKind::Program => ("user", "artificial"),
        _ => ("compiler", "function"),
    }
}

fn threads_paradigm_and_role(name: &str) -> (&'static str, &'static str) {
    match name {
        "omp parallel" => ("openmp", "parallel"),
        "omp barrier" => ("openmp", "barrier"),
        "pthread_join" => ("pthread", "thread_wait"),
        "pthread_barrier_wait" => ("pthread", "barrier"),
        "contended omp critical" => ("openmp", "critical"),
        "contended omp_set_lock" => ("openmp", "function"),
        _ => ("pthread", "function"),
    }
}

fn mpi_role(name: &str) -> &'static str {
    match name.trim_start_matches("MPI_I").trim_start_matches("MPI_") {
        "Barrier" | "barrier" => "barrier",
        "Bcast" | "bcast" | "Scatter" | "Scatterv" | "scatter" | "scatterv" => "coll_one2all",
        "Reduce" | "reduce" | "Gather" | "Gatherv" | "gather" | "gatherv" => "coll_all2one",
        "Send" | "Recv" | "send" | "recv" | "Sendrecv" | "Ssend" | "Rsend" | "Bsend" => "point2point",
        name if name.starts_with("All") || name.starts_with("all") || name.starts_with("Reduce_scatter") => "coll_all2all",
        _ => "function",
    }
}

fn escaped(text: &str) -> String {
    held(text, &[]).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
