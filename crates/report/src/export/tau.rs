//! TAU's profiles, `profile.N.0.T`: for each thread its functions, flat and by call path, in microseconds.
//!
//! Readers expect the metric's name as the first attribute, and the root, in whole microseconds, as the first entry. Quotation marks
//! are around names, and braces around the file and the line in them: no name has its own.

use std::collections::BTreeMap;
use std::fmt::Write;

use tare_profile::{Region, RegionKind};

use super::sheet::Sheet;
use super::{COMPENSATION, held, title};
use crate::run::{Results, Run};

/// Characters that the format takes for itself.
const TAKEN: [char; 3] = ['"', '{', '}'];

/// The name of a root.
const ROOT: &str = ".TAU application";

/// What all our profiles hold, and no other tool's, in their second line.
const OWN: &str = "<attribute><name>Tareweight</name>";

/// Whether a profile of TAU is one that was exported from here.
pub(super) fn is_own(profile: &[u8]) -> bool {
    let head = profile.split(|&byte| byte == b'\n').nth(1).unwrap_or_default();
    head.windows(OWN.len()).any(|bytes| bytes == OWN.as_bytes())
}

/// A line of a profile.
#[derive(Default)]
struct Entry {
    calls: u64,
    calls_below: u64,
    exclusive_ns: u64,
    inclusive_ns: u64,
    group: &'static str,
    is_path: bool,
}

pub(super) fn write(run: &Run, results: &Results<'_>) -> (Vec<(String, String)>, usize) {
    let (profile, mut removed) = (results.profile, 0);
    let node = |index: usize| profile.locations[index].process.0;
    let files = (0..profile.locations.len())
        .map(|index| {
            let number = profile.process_of(&profile.locations[index]).rank.map_or(node(index), |rank| rank as usize);
            let name = format!("profile.{number}.0.{}", profile.locations[index].thread);
            let sheet = Sheet::of_location(results, index);
            removed += sheet.removed;
            (name, thread(run, results, &sheet))
        })
        .collect();
    (files, removed)
}

fn thread(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> String {
    let entries = entries(sheet);
    let mut text = format!("{} templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # ", entries.len());
    text.push_str("<metadata><attribute><name>Metric Name</name><value>TIME</value></attribute>");
    let _ = write!(text, "{OWN}<value>{}</value></attribute>", escaped(&title(run, results)));
    let _ = write!(text, "<attribute><name>{COMPENSATION}</name><value>{}</value></attribute>", run.compensation(results.shown.mode));
    let _ = writeln!(text, "<attribute><name>Command Line</name><value>{}</value></attribute></metadata>", escaped(&run.program));
    let (root, others): (Vec<_>, Vec<_>) = entries.iter().partition(|(name, _)| *name == ROOT);
    for (name, entry) in root.into_iter().chain(others) {
        let microseconds = |nanoseconds: u64| if name == ROOT { (nanoseconds as f64 / 1e3).round() } else { nanoseconds as f64 / 1e3 };
        let _ = writeln!(
            text,
            "\"{name}\" {} {} {} {} 0 GROUP=\"{}{}\"",
            entry.calls,
            entry.calls_below,
            microseconds(entry.exclusive_ns),
            microseconds(entry.inclusive_ns),
            if entry.is_path { "TAU_CALLPATH|" } else { "" },
            entry.group
        );
    }
    text.push_str("0 aggregates\n");
    text
}

/// Flat entries and, for paths of two and more, one for each path.
fn entries(sheet: &Sheet<'_>) -> BTreeMap<String, Entry> {
    let names: Vec<String> = sheet.paths.iter().map(|path| path.region.map_or_else(|| path.name().to_string(), name)).collect();
    let mut calls_below = vec![0_u64; sheet.paths.len()];
    for path in &sheet.paths {
        if let Some(parent) = path.parent {
            calls_below[parent] += path.calls;
        }
    }
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    sheet.stacks(|stack, path| {
        let Some(&index) = stack.last() else { return };
        // TAU's root is the program: it is called once. What was never called, its readers leave out.
        let calls = if path.parent.is_none() || path.region.is_none() { path.calls.max(1) } else { path.calls };
        let mut add = |key: String, is_path: bool, inclusive_ns: u64| {
            let entry = entries.entry(key).or_default();
            entry.calls += calls;
            entry.calls_below += calls_below[index];
            entry.exclusive_ns += path.exclusive_ns;
            entry.inclusive_ns += inclusive_ns;
            (entry.group, entry.is_path) = (group(path.region), is_path);
        };
        // A call within a call of the same function counts once in what that includes.
        add(names[index].clone(), false, if path.recursion == 0 { path.inclusive_ns } else { 0 });
        if stack.len() > 1 {
            let joined: Vec<&str> = stack.iter().map(|&index| names[index].as_str()).collect();
            add(joined.join(" => "), true, path.inclusive_ns);
        }
    });
    entries
}

/// `solve [{solver.f90} {212,1}]`
fn name(region: &Region) -> String {
    let name = held(&region.name, &TAKEN);
    let name = if region.kind == RegionKind::Program { ROOT } else { name.trim_end() };
    if region.file.is_empty() || region.line == 0 {
        name.to_string()
    } else {
        format!("{name} [{{{}}} {{{},1}}]", held(&region.file, &TAKEN), region.line)
    }
}

fn group(region: Option<&Region>) -> &'static str {
    match region.map(|region| region.kind) {
        Some(RegionKind::Program) => "TAU_DEFAULT",
        Some(RegionKind::Mpi) => "MPI",
        Some(RegionKind::Threads) => "THREADS",
        Some(RegionKind::Loop | RegionKind::Iteration) => "TAU_LOOP",
        _ => "TAU_USER",
    }
}

fn escaped(text: &str) -> String {
    held(text, &[]).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
