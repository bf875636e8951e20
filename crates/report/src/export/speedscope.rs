//! speedscope's file format (<https://www.speedscope.app/file-format-schema.json>): the sum over all ranks, then rank by rank.
//!
//! It opens in order of time, of which an aggregate has none: stacks stand depth first, the heaviest first, so that this order
//! is that of its left-heavy view.

use std::collections::HashMap;

use serde::Serialize;

use super::sheet::{Path, Sheet};
use super::{MOST_PROCESSES, title};
use crate::run::{Results, Run};

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

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> String {
    let mut frames = Frames::default();
    let processes = &results.profile.processes;
    let mut profiles = vec![frames.profile(format!("all {} processes (sum, no time axis)", processes.len()), sheet)];
    if processes.len() > 1 {
        for (index, process) in processes.iter().enumerate().take(MOST_PROCESSES) {
            let name = process.rank.map_or_else(|| format!("process {}", process.pid), |rank| format!("rank {rank}"));
            profiles.push(frames.profile(name, &Sheet::of_process(results, index)));
        }
    }
    crate::json::written(&File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("tareweight {}", env!("CARGO_PKG_VERSION")),
        name: title(run, results),
        active: 0,
        shared: frames.shared,
        profiles,
    })
}
