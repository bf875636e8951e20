//! The Firefox Profiler's processed format: the sum over all processes first, then the ranks one by one, each with its threads.
//!
//! A profile of calls has no samples: each call path with exclusive time is one, of that many milliseconds, and they stand one
//! behind the other on an axis that is no time of the run.

use std::time::{Duration, UNIX_EPOCH};

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, ProcessHandle, Profile, SamplingInterval, Timestamp, WeightType,
};
use tare_profile::RegionKind;

use super::sheet::Sheet;
use super::{threads_of, title};
use crate::run::{Results, Run};

/// Processes beside their sum: the profiler becomes slow with many.
const MOST_PROCESSES: usize = 20;
/// Threads of all of them together, of each as many.
const MOST_THREADS: usize = 200;

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> (String, usize) {
    let began = UNIX_EPOCH + Duration::from_nanos(results.profile.processes.iter().map(|process| process.start_ns).min().unwrap_or(0));
    let mut file = File::new(Profile::new(&title(run, results), began.into(), SamplingInterval::from_nanos(1_000_000)));
    let sum = file.process(if results.profile.processes.len() == 1 { "the process" } else { "all processes (sum)" });
    file.thread(sum, None, sheet);
    let (processes, locations) = (&results.profile.processes, &results.profile.locations);
    let shown = processes.len().min(MOST_PROCESSES);
    for (index, about) in processes.iter().enumerate().take(shown) {
        let threads = threads_of(results, index);
        if processes.len() == 1 && threads.is_empty() {
            continue;
        }
        let name = about.rank.map_or_else(|| format!("process {} on {}", about.pid, about.host), |rank| format!("rank {rank:05} on {}", about.host));
        let process = file.process(&name);
        if threads.is_empty() {
            file.thread(process, None, &Sheet::of_process(results, index));
        }
        // Threads stand in the order of their names.
        let digits = threads.iter().map(|&location| locations[location].thread.to_string().len()).max().unwrap_or(0);
        for &location in threads.iter().take(MOST_THREADS / shown) {
            let name = format!("thread {:0digits$}", locations[location].thread);
            file.thread(process, Some(&name), &Sheet::of_location(results, location));
        }
    }
    (serde_json::to_string(&file.profile).unwrap_or_default(), file.removed)
}

struct File {
    profile: Profile,
    program: CategoryHandle,
    mpi: CategoryHandle,
    loops: CategoryHandle,
    /// How many there are.
    processes: u32,
    threads: u32,
    /// Where the last process ends.
    end_ns: u64,
    /// The most call paths of a thread whose time is not to be trusted.
    removed: usize,
}

impl File {
    fn new(mut profile: Profile) -> Self {
        profile.set_symbolicated(true);
        let program = profile.add_category("Program", CategoryColor::Blue);
        let mpi = profile.add_category("MPI", CategoryColor::Orange);
        let loops = profile.add_category("Loops", CategoryColor::Green);
        Self { profile, program, mpi, loops, processes: 0, threads: 0, end_ns: 0, removed: 0 }
    }

    fn process(&mut self, name: &str) -> ProcessHandle {
        self.processes += 1;
        self.end_ns = 0;
        self.profile.add_process(name, self.processes, Timestamp::from_nanos_since_reference(0))
    }

    /// A thread of the last process; the one of a process that has no other is shown by the name of that.
    fn thread(&mut self, process: ProcessHandle, name: Option<&str>, sheet: &Sheet<'_>) {
        let thread = self.profile.add_thread(process, 1_000_000 + self.threads, Timestamp::from_nanos_since_reference(0), name.is_none());
        self.threads += 1;
        self.removed = self.removed.max(sheet.removed);
        name.iter().for_each(|name| self.profile.set_thread_name(thread, name));
        self.profile.set_thread_samples_weight_type(thread, WeightType::TracingMs);
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
                        Some(RegionKind::Mpi) => self.mpi,
                        Some(RegionKind::Loop | RegionKind::Iteration) => self.loops,
                        _ => self.program,
                    };
                    let label = match path.file() {
                        "" => path.name().to_string(),
                        file => format!("{} ({file}:{})", path.name(), path.line()),
                    };
                    FrameInfo { frame: Frame::Label(self.profile.intern_string(&label)), category_pair: category.into(), flags: FrameFlags::empty() }
                })
                .collect();
            let stack = self.profile.intern_stack_frames(thread, frames.into_iter());
            self.profile.add_sample(thread, Timestamp::from_nanos_since_reference(at), stack, CpuDelta::ZERO, weight);
            at += path.exclusive_ns;
        });
        self.profile.add_sample(thread, Timestamp::from_nanos_since_reference(at), None, CpuDelta::ZERO, 0);
        self.end_ns = self.end_ns.max(at);
        self.profile.set_process_end_time(process, Timestamp::from_nanos_since_reference(self.end_ns));
    }
}
