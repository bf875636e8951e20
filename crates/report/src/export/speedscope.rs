//! speedscope's file format (<https://www.speedscope.app/file-format-schema.json>): the sum over all ranks, then rank by rank, each
//! with its threads.
//!
//! It opens in order of time, of which an aggregate has none: stacks stand depth first, the heaviest first, so that this order
//! is that of its left-heavy view.

use std::collections::HashMap;

use serde::Serialize;

use super::sheet::{Path, Sheet};
use super::{threads_of, title};
use crate::run::{Results, Run};
use crate::view::process_label;

/// Processes that are written one by one beside their sum: the first ones.
const MOST_PROCESSES: usize = 64;
/// Threads of all processes together that are, of each of them as many.
const MOST_THREADS: usize = 1024;

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Sampled>,
}

#[derive(Serialize, Default)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Frames that are known, each once.
#[derive(Default)]
struct Frames {
    shared: Shared,
    known: HashMap<(String, String, u32), usize>,
    /// The most call paths of a profile whose time is not to be trusted.
    removed: usize,
}

impl Frames {
    fn index(&mut self, path: &Path<'_>) -> usize {
        let key = (path.name().to_string(), path.file().to_string(), path.line());
        *self.known.entry(key).or_insert_with(|| {
            let file = Some(path.file().to_string()).filter(|file| !file.is_empty());
            self.shared.frames.push(Frame { name: path.name().to_string(), file, line: Some(path.line()).filter(|&line| line > 0) });
            self.shared.frames.len() - 1
        })
    }

    fn profile(&mut self, name: String, sheet: &Sheet<'_>) -> Sampled {
        self.removed = self.removed.max(sheet.removed);
        let indices: Vec<usize> = sheet.paths.iter().map(|path| self.index(path)).collect();
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        sheet.stacks(|stack, path| {
            if path.exclusive_ns > 0 {
                samples.push(stack.iter().map(|&index| indices[index]).collect());
                weights.push(path.exclusive_ns);
            }
        });
        Sampled { kind: "sampled", name, unit: "nanoseconds", start: 0, end: weights.iter().sum(), samples, weights }
    }
}

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> (String, usize) {
    let mut frames = Frames::default();
    let processes = &results.profile.processes;
    let all = if processes.len() == 1 {
        "the process (no time axis)".to_string()
    } else {
        format!("all {} processes (sum, no time axis)", processes.len())
    };
    let mut profiles = vec![frames.profile(all, sheet)];
    let shown = processes.len().min(MOST_PROCESSES);
    for (index, process) in processes.iter().enumerate().take(shown) {
        let (name, threads) = (process_label(process), threads_of(results, index));
        if processes.len() > 1 {
            let of_threads = if threads.is_empty() { String::new() } else { format!(", all {} threads (sum)", threads.len()) };
            profiles.push(frames.profile(format!("{name}{of_threads}"), &Sheet::of_process(results, index)));
        }
        for &location in threads.iter().take(MOST_THREADS / shown) {
            let thread = results.profile.locations[location].thread;
            profiles.push(frames.profile(format!("{name}, thread {thread}"), &Sheet::of_location(results, location)));
        }
    }
    let document = crate::json::written(&File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("tareweight {}", env!("CARGO_PKG_VERSION")),
        name: title(run, results),
        active: 0,
        shared: frames.shared,
        profiles,
    });
    (document, frames.removed)
}
