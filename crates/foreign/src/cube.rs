//! Cube's files: `.cubex`, a tar of `anchor.xml` with an index and values for each metric, and the older `.cube`, one XML file.
//!
//! Read are the metrics `time` (seconds) and `visits`, of our own files the waiting, and up to eight metrics of whole numbers:
//! counters of the processor, bytes. Rows of a `.cubex` stand for call paths:
//! those of exclusive metrics are counted depth first, those of inclusive ones with all children of a path before what is below them.
//! Values stand in the order of the ids of the locations. Format: the documentation of CubeLib 4.8; values that Score-P wrote were
//! held against what Cube's own tools say of them.

mod anchor;
mod rows;

use tare_profile::{Location, Metric, Node};

use crate::archive;
use crate::error::ForeignError;
use crate::model::{Foreign, finish, location, nanoseconds, node};
use anchor::Anchor;
use rows::Rows;

/// Metrics of whole numbers that are read of a file: its first ones.
const MOST_COUNTS: usize = 8;

/// Whether bytes are to be read as a file of Cube: a tar that holds an `anchor.xml`, or XML of Cube, packed or not.
#[must_use]
pub fn is_cube(bytes: &[u8]) -> bool {
    let begin = &bytes[..bytes.len().min(4096)];
    archive::is_packed(bytes) || begin.get(257..262) == Some(b"ustar") || begin.windows(5).any(|word| word == b"<cube")
}

/// Reads a file.
///
/// # Errors
/// Where it is none of Cube's, has no times, or makes no sense.
pub fn read(bytes: &[u8]) -> Result<Foreign, ForeignError> {
    if archive::is_packed(bytes) {
        return read(&archive::unpacked("the file", bytes)?);
    }
    let files = archive::files(bytes);
    let Some(anchor) = files.get("anchor.xml") else {
        return if bytes.trim_ascii_start().starts_with(b"<") { read_xml(bytes) } else { Err(ForeignError::Missing("anchor.xml".to_string())) };
    };
    let text = if archive::is_packed(anchor) { archive::unpacked("anchor.xml", anchor)? } else { anchor.to_vec() };
    let text = String::from_utf8_lossy(&text);
    let document = parse(&text)?;
    let anchor = Anchor::of(&document)?;
    let values = |name: &str| {
        let Some(metric) = anchor.metrics.iter().find(|metric| metric.name == name) else { return Ok(None) };
        let (index, data) = (format!("{}.index", metric.id), format!("{}.data", metric.id));
        match (files.get(&index), files.get(&data)) {
            (Some(rows), Some(values)) => Rows::read(&anchor, metric, (index.as_str(), *rows), (data.as_str(), *values)).map(Some),
            _ => Ok(None),
        }
    };
    let time = values("time")?.ok_or_else(|| ForeignError::Missing("times: there are no values of the metric `time`".to_string()))?;
    let (visits, waiting) = (values("visits")?, values("tare_waiting_time")?);
    let mut counts = Vec::new();
    for name in anchor.counts() {
        counts.extend(values(name)?.map(|rows| (name.to_string(), rows)));
    }
    Ok(profile(anchor, &time, visits.as_ref(), waiting.as_ref(), &counts))
}

/// The older format: values stand in the XML, exclusive of the paths and metrics below.
fn read_xml(bytes: &[u8]) -> Result<Foreign, ForeignError> {
    let text = String::from_utf8_lossy(bytes);
    let document = parse(&text)?;
    let anchor = Anchor::of(&document)?;
    let find = |name: &str| anchor.metrics.iter().find(|metric| metric.name == name);
    let time = find("time").ok_or_else(|| ForeignError::Missing("metric `time`".to_string()))?;
    let time = Rows::of_matrices(&anchor, &document, &anchor.metrics_below(time))?;
    let visits = find("visits").map(|visits| Rows::of_matrices(&anchor, &document, &[visits.id])).transpose()?;
    let count = |name: &str| find(name).map(|metric| Ok((name.to_string(), Rows::of_matrices(&anchor, &document, &[metric.id])?)));
    let counts = anchor.counts().into_iter().filter_map(count).collect::<Result<Vec<_>, ForeignError>>()?;
    Ok(profile(anchor, &time, visits.as_ref(), None, &counts))
}

fn parse(text: &str) -> Result<roxmltree::Document<'_>, ForeignError> {
    roxmltree::Document::parse(text).map_err(|error| ForeignError::part("anchor.xml", error.to_string()))
}

/// The model of what was read.
fn profile(mut anchor: Anchor, time: &Rows, visits: Option<&Rows>, waiting: Option<&Rows>, counts: &[(String, Rows)]) -> Foreign {
    let program = anchor.regions.program();
    let mut locations: Vec<Location> = Vec::new();
    for (place, of) in anchor.locations.iter().enumerate() {
        let mut nodes = vec![node(program, None, 0, 0)];
        let mut known: Vec<Option<usize>> = vec![None; anchor.paths.len()];
        for path in (0..anchor.paths.len()).filter(|&path| anchor.is_taken(path, place, &[Some(time), visits])) {
            place_path(&anchor, path, &mut nodes, &mut known);
            let (Some(at), value) = (known[path], |rows: Option<&Rows>| rows.map_or(0.0, |rows| rows.exclusive(&anchor, path, place))) else {
                continue;
            };
            let node = &mut nodes[at];
            node.exclusive = node.exclusive.saturating_add(nanoseconds(value(Some(time))));
            node.on_calls = node.on_calls.saturating_add(value(visits).max(0.0) as u64);
            let waited = nanoseconds(value(waiting)).max(0).cast_unsigned();
            if waited > 0 {
                let exchanged = node.exchanged_mut();
                exchanged.wait_ticks = exchanged.wait_ticks.saturating_add(waited);
                exchanged.virtual_wait_ticks = exchanged.wait_ticks;
            }
            node.values.resize(counts.len(), 0);
            for (sum, (_, rows)) in node.values.iter_mut().zip(counts) {
                // Conversions of floats saturate.
                *sum = sum.saturating_add(rows.exclusive(&anchor, path, place).round() as i64);
            }
        }
        nodes.iter_mut().for_each(|node| node.values.resize(counts.len(), 0));
        if nodes.len() > 1 || nodes[0].exclusive != 0 {
            let metrics = counts.iter().map(|(name, _)| counted(name)).collect();
            locations.push(Location { metrics, ..location(of.process, of.thread, nodes) });
        }
    }
    let ranks: Vec<u32> = anchor.ranks;
    let profile = finish(anchor.processes, &ranks, locations, anchor.regions);
    Foreign { profile, tool: anchor.tool, compensated: anchor.compensated, program: anchor.program, started_ns: 0, notes: Vec::new() }
}

/// A metric from which nothing is to be taken off.
fn counted(name: &str) -> Metric {
    Metric { name: name.to_string(), pair_cost: 0.0, missing: false, unseen: false, highest: false, in_ticks: false, counted: None }
}

/// Places a path and those above it that have no place yet.
fn place_path(anchor: &Anchor, path: usize, nodes: &mut Vec<Node>, known: &mut [Option<usize>]) {
    let mut missing = Vec::new();
    let mut at = Some(path);
    while let Some(path) = at.filter(|&path| known[path].is_none()) {
        missing.push(path);
        at = anchor.paths[path].parent;
    }
    for path in missing.into_iter().rev() {
        let of = &anchor.paths[path];
        // A root that stands for the program is ours.
        known[path] = Some(if of.parent.is_none() && of.is_program {
            0
        } else {
            nodes.push(node(of.region, Some(of.parent.and_then(|parent| known[parent]).unwrap_or(0)), 0, 0));
            nodes.len() - 1
        });
    }
}
