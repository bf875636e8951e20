//! What a measured process does.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Instant;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use memmap2::Mmap;
use tare_code::{Program, Threads};
use tare_image::Image;

use crate::measured::Task;

/// Does a task; returns text bytes, instructions, user and wall seconds, peak bytes and a digest.
pub(crate) fn run(task: &Task, path: &Path) -> String {
    let file = File::open(path).expect("the image");
    // SAFETY: nobody writes to the image while it is measured.
    let bytes = unsafe { Mmap::map(&file) }.expect("the image in memory");
    // Pages are read before the clock starts.
    let warm: u64 = bytes.iter().step_by(4096).map(|&byte| u64::from(byte)).sum();
    assert!(warm > 0, "an image has some bytes that are not zero");
    let begin = user_seconds();
    let started = Instant::now();
    let stop = || (user_seconds() - begin, started.elapsed().as_secs_f64());
    let (text, instructions, digest, (user, wall)) = match task {
        Task::Decode => decode(&bytes, stop),
        Task::Analyse(threads) => analyse(&bytes, Threads::of(*threads), stop),
    };
    format!("{text} {instructions} {user} {wall} {} {digest}", peak_bytes())
}

fn text_of(image: &Image<'_>) -> u64 {
    image.text().iter().map(|range| range.end - range.start).sum()
}

/// Text, instructions, digest, and what the clock said when the work was done: the digest is no part of it.
type Done = (u64, u64, u64, (f64, f64));

fn decode(bytes: &[u8], stop: impl Fn() -> (f64, f64)) -> Done {
    let image = Image::parse(bytes).expect("an image");
    let mut count = 0;
    let mut instruction = Instruction::default();
    for range in image.text() {
        let code = image.bytes_at(range.start, range.end - range.start).expect("its bytes");
        let mut decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            count += 1;
        }
    }
    (text_of(&image), count, 0, stop())
}

fn analyse(bytes: &[u8], threads: Threads, stop: impl Fn() -> (f64, f64)) -> Done {
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse_on(&image, threads).expect("functions");
    let metrics = threads.map(&program.functions, |function| program.metrics(&image, function, None));
    let times = stop();
    let mut digest = DefaultHasher::new();
    let mut instructions = 0;
    for (index, (function, metrics)) in program.functions.iter().zip(&metrics).enumerate() {
        instructions += metrics.instructions as u64;
        (&function.name, function.entry, function.never_returns, function.refusal, &metrics.callees).hash(&mut digest);
        function.parts.iter().for_each(|part| (part.start, part.end).hash(&mut digest));
        [metrics.instructions, metrics.blocks, metrics.edges, metrics.cyclomatic, metrics.loops, metrics.loop_depth, metrics.indirect_calls]
            .hash(&mut digest);
        program.calls().callees(index).hash(&mut digest);
    }
    // A digest that a floating-point number holds exactly.
    (text_of(&image), instructions, digest.finish() >> 12, times)
}

/// What the system counts of this process.
fn usage() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to room for one `rusage`.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage");
    // SAFETY: the call succeeded, and filled it in.
    unsafe { usage.assume_init() }
}

fn user_seconds() -> f64 {
    let time = usage().ru_utime;
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// The most memory that was in use, the file's pages included.
fn peak_bytes() -> f64 {
    usage().ru_maxrss as f64 * 1024.0
}
