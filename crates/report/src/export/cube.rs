//! CUBE4 (`.cubex`) as Score-P writes it: a tar of `anchor.xml` and, for each metric, an index and its values.
//!
//! Rows of values stand for call paths, in the order in which Cube counts them: exclusive metrics depth first, inclusive ones
//! with all children of a path before what is below them. Row after row holds a value for each location; rows of zeros only
//! are left out. Format: the documentation of CubeLib 4.8, and the reader pycubexr 2.1.

use std::fmt::Write as _;

use tare_compensate::whole::CallTree;
use tare_profile::{Profile, Region, RegionKind};

use super::{COMPENSATION, title};
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

pub(super) fn write(run: &Run, results: &Results<'_>) -> Vec<u8> {
    let tree = CallTree::of(results.profile, &results.shown);
    let order = Order::of(&tree);
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "anchor.xml", anchor(run, results, &tree, &order).as_bytes());
    for (number, metric) in METRICS.iter().enumerate() {
        let (index, data) = values(results, &tree, &order, number, metric);
        add(&mut archive, &format!("{number}.index"), &index);
        add(&mut archive, &format!("{number}.data"), &data);
    }
    // Writing into memory does not fail.
    archive.into_inner().unwrap_or_default()
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
}

/// The rows of a metric that are not all zero.
fn values(results: &Results<'_>, tree: &CallTree, order: &Order, number: usize, metric: &Metric) -> (Vec<u8>, Vec<u8>) {
    let locations = results.profile.locations.len();
    let mut cells = vec![0.0_f64; tree.paths.len() * locations];
    for (place, ((location, figures), paths)) in results.profile.locations.iter().zip(&results.shown.locations).zip(&tree.of_location).enumerate() {
        for ((node, figures), &path) in location.nodes.iter().zip(&figures.nodes).zip(paths) {
            let value = match number {
                0 => node.calls() as f64,
                1 => figures.exclusive.value,
                2 => figures.measured_exclusive_s,
                _ => figures.wait_s,
            };
            cells[path as usize * locations + place] += value.max(0.0);
        }
    }
    if metric.is_inclusive {
        for index in (0..tree.paths.len()).rev() {
            if let Some(parent) = tree.paths[index].parent {
                (0..locations).for_each(|place| cells[parent * locations + place] += cells[index * locations + place]);
            }
        }
    }
    let rows = if metric.is_inclusive { &order.wide } else { &order.depth_first };
    let row = |path: usize| &cells[path * locations..(path + 1) * locations];
    let mut kept: Vec<usize> = (0..rows.len()).filter(|&place| row(rows[place]).iter().any(|&value| value != 0.0)).collect();
    if kept.is_empty() && !rows.is_empty() {
        kept.push(0);
    }
    let mut index = b"CUBEX.INDEX".to_vec();
    index.extend(1_i32.to_le_bytes());
    index.extend(0_i16.to_le_bytes());
    index.push(1);
    index.extend((kept.len() as i32).to_le_bytes());
    kept.iter().for_each(|&place| index.extend((place as i32).to_le_bytes()));
    let mut data = b"CUBEX.DATA".to_vec();
    for &value in kept.iter().flat_map(|&place| row(rows[place])) {
        data.extend(if metric.kind == "UINT64" { (value as u64).to_le_bytes() } else { value.to_le_bytes() });
    }
    (index, data)
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
        RegionKind::Loop | RegionKind::Iteration => ("user", "loop"),
        RegionKind::Program => ("user", "artificial"),
        _ => ("compiler", "function"),
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
    let plain: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
