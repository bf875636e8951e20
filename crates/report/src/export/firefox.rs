//! The Firefox Profiler's processed format: the sum over all processes first, then the ranks one by one.
//!
//! A profile of calls has no samples: each call path with exclusive time is one, of that many milliseconds, and they stand one
//! behind the other on an axis that is no time of the run.

use std::time::{Duration, UNIX_EPOCH};

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, SamplingInterval, Timestamp, WeightType,
};
use tare_profile::RegionKind;

use super::sheet::Sheet;
use super::title;
use crate::run::{Results, Run};

/// Processes beside their sum: the profiler becomes slow with many.
const MOST_PROCESSES: usize = 20;

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> String {
    let began = UNIX_EPOCH + Duration::from_nanos(results.profile.processes.iter().map(|process| process.start_ns).min().unwrap_or(0));
    let mut profile = Profile::new(&title(run, results), began.into(), SamplingInterval::from_nanos(1_000_000));
    profile.set_symbolicated(true);
    let categories = Categories {
        program: profile.add_category("Program", CategoryColor::Blue),
        mpi: profile.add_category("MPI", CategoryColor::Orange),
        loops: profile.add_category("Loops", CategoryColor::Green),
    };
    let processes = &results.profile.processes;
    process(&mut profile, &categories, "all processes (sum)", 0, sheet);
    if processes.len() > 1 {
        for (index, about) in processes.iter().enumerate().take(MOST_PROCESSES) {
            let name =
                about.rank.map_or_else(|| format!("process {} on {}", about.pid, about.host), |rank| format!("rank {rank:05} on {}", about.host));
            process(&mut profile, &categories, &name, index as u32 + 1, &Sheet::of_process(results, index));
        }
    }
    serde_json::to_string(&profile).unwrap_or_default()
}

struct Categories {
    program: CategoryHandle,
    mpi: CategoryHandle,
    loops: CategoryHandle,
}

fn process(profile: &mut Profile, categories: &Categories, name: &str, number: u32, sheet: &Sheet<'_>) {
    let start = Timestamp::from_nanos_since_reference(0);
    let process = profile.add_process(name, number + 1, start);
    let thread = profile.add_thread(process, 1_000_000 + number, start, true);
    profile.set_thread_name(thread, name);
    profile.set_thread_samples_weight_type(thread, WeightType::TracingMs);
    let mut at = 0;
    sheet.stacks(|stack, path| {
        // Weights are whole numbers of milliseconds: what is less than half of one is not seen.
        let weight = (path.exclusive_ns as f64 / 1e6).round() as i32;
        if weight == 0 {
            return;
        }
        let frames: Vec<FrameInfo> = stack
            .iter()
            .map(|&index| {
                let path = &sheet.paths[index];
                let category = match path.region.map(|region| region.kind) {
                    Some(RegionKind::Mpi) => categories.mpi,
                    Some(RegionKind::Loop | RegionKind::Iteration) => categories.loops,
                    _ => categories.program,
                };
                let label = match path.file() {
                    "" => path.name().to_string(),
                    file => format!("{} ({file}:{})", path.name(), path.line()),
                };
                FrameInfo { frame: Frame::Label(profile.intern_string(&label)), category_pair: category.into(), flags: FrameFlags::empty() }
            })
            .collect();
        let stack = profile.intern_stack_frames(thread, frames.into_iter());
        profile.add_sample(thread, Timestamp::from_nanos_since_reference(at), stack, CpuDelta::ZERO, weight);
        at += path.exclusive_ns;
    });
    profile.add_sample(thread, Timestamp::from_nanos_since_reference(at), None, CpuDelta::ZERO, 0);
    profile.set_process_end_time(process, Timestamp::from_nanos_since_reference(at));
}
