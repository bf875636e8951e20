//! What a measured process does.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use memmap2::Mmap;
use tare_code::{Program, Threads};
use tare_image::Image;

use crate::process::{Clock, Measured, Task, decode};

/// Does a task.
pub(crate) fn run(task: Task, path: &Path) -> Measured {
    let file = File::open(path).expect("the image");
    // SAFETY: nobody writes to the image while it is measured.
    let bytes = unsafe { Mmap::map(&file) }.expect("the image in memory");
    // Pages are read before the clock starts.
    let warm: u64 = bytes.iter().step_by(4096).map(|&byte| u64::from(byte)).sum();
    assert!(warm > 0, "an image has some bytes that are not zero");
    match task {
        Task::Decode => decode(&bytes),
        Task::Work(threads) => analyse(&bytes, Threads::of(threads)),
    }
}

fn analyse(bytes: &[u8], threads: Threads) -> Measured {
    let clock = Clock::start();
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse_on(&image, threads).expect("functions");
    let metrics = threads.map(&program.functions, |function| program.metrics(&image, function, None));
    let measured = Measured::since(&clock, &image, metrics.iter().map(|metrics| metrics.instructions).sum());
    let mut digest = DefaultHasher::new();
    for (index, (function, metrics)) in program.functions.iter().zip(&metrics).enumerate() {
        (&function.name, function.entry, function.never_returns, function.refusal, program.callee_names(function)).hash(&mut digest);
        function.parts.iter().for_each(|part| (part.start, part.end).hash(&mut digest));
        [metrics.instructions, metrics.blocks, metrics.edges, metrics.cyclomatic, metrics.loops, metrics.loop_depth, metrics.indirect_calls]
            .hash(&mut digest);
        program.calls().callees(index).hash(&mut digest);
    }
    measured.with_digest(digest.finish())
}
