//! Measurements as processes of their own: what the benchmarks of analysis and of rewriting share.
//!
//! The system splits the time of a process into user and system time by where its ticks fall, a hundred a second. Over a
//! process of ten milliseconds that is no figure, and the least of several is the one that was split worst. So tasks
//! take turns until the shortest has run long enough for its share to be right, and the means count.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use tare_image::Image;

/// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As the command does.
fn give_memory_back() {
    unsafe extern "C" {
        fn mi_option_set(option: libc::c_int, value: libc::c_long);
    }
    const PURGE_DELAY: libc::c_int = 15;
    // SAFETY: an option of the allocator, which is linked in; it may be set at any time.
    unsafe { mi_option_set(PURGE_DELAY, 10) };
}

/// Seconds of user time that the first task takes in all its rounds, if [`MOST_ROUNDS`] suffice.
const ENOUGH: f64 = 0.4;
const LEAST_ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 100;

/// What a process is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Decoding every instruction once.
    Decode,
    /// What the benchmark is about, with so many threads.
    Work(usize),
}

impl Task {
    /// A task from the number that stands for it on the command line.
    fn of(number: &str) -> Self {
        match number.parse().expect("a number of threads") {
            0 => Self::Decode,
            threads => Self::Work(threads),
        }
    }

    const fn number(self) -> usize {
        match self {
            Self::Decode => 0,
            Self::Work(threads) => threads,
        }
    }
}

/// What a process found, or the means over several.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Bytes of text.
    pub(crate) text: f64,
    pub(crate) instructions: f64,
    /// Seconds.
    pub(crate) user: f64,
    /// Seconds.
    pub(crate) wall: f64,
    /// Most bytes that were in use, the file's pages included.
    pub(crate) peak: f64,
    /// Of all results, as far as a floating-point number holds it exactly.
    pub(crate) digest: f64,
    /// What else a benchmark counts; first the user time, in seconds, of what the work begins with, if that is not its own.
    pub(crate) more: Vec<f64>,
}

impl Measured {
    /// What was done since `clock` was started.
    pub(crate) fn since(clock: &Clock, image: &Image<'_>, instructions: usize) -> Self {
        let text: u64 = image.text().iter().map(|range| range.end - range.start).sum();
        let (user, wall) = (clock.user(), clock.started.elapsed().as_secs_f64());
        let peak = usage().ru_maxrss as f64 * 1024.0;
        Self { text: text as f64, instructions: instructions as f64, user, wall, peak, digest: 0.0, more: Vec::new() }
    }

    /// User time of the work alone, in seconds.
    pub(crate) fn own(&self) -> f64 {
        self.user - self.more.first().copied().unwrap_or(0.0)
    }

    pub(crate) fn with_digest(self, digest: u64) -> Self {
        Self { digest: (digest >> 12) as f64, ..self }
    }

    /// What goes from the process to the one that started it.
    fn line(&self) -> String {
        let numbers = [self.text, self.instructions, self.user, self.wall, self.peak, self.digest];
        let words: Vec<String> = numbers.iter().chain(&self.more).map(f64::to_string).collect();
        words.join(" ")
    }

    fn read(line: &str) -> Self {
        let numbers: Vec<f64> = line.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let (&[text, instructions, user, wall, peak, digest], more) = numbers.split_first_chunk().expect("six numbers");
        Self { text, instructions, user, wall, peak, digest, more: more.to_vec() }
    }

    /// Runs this program again for one task.
    fn of(task: Task, path: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).args(["--work", &task.number().to_string(), path]).output().expect("a process");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        Self::read(&String::from_utf8(output.stdout).expect("numbers"))
    }

    /// The means of all; the greatest of the peaks.
    fn mean(all: &[Self]) -> Self {
        let first = all.first().expect("a measurement");
        assert!(all.iter().all(|one| (one.instructions, one.digest) == (first.instructions, first.digest)), "one result");
        let mean = |value: &dyn Fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        Self {
            user: mean(&|one| one.user),
            wall: mean(&|one| one.wall),
            peak: all.iter().map(|one| one.peak).fold(0.0, f64::max),
            more: (0..first.more.len()).map(|index| mean(&|one| one.more[index])).collect(),
            ..first.clone()
        }
    }
}

/// Runs tasks in turns, the shortest first.
pub(crate) fn in_turns<const N: usize>(tasks: [Task; N], path: &str) -> [Measured; N] {
    let mut rounds: [Vec<Measured>; N] = [const { Vec::new() }; N];
    let is_enough = |first: &[Measured]| {
        let user: f64 = first.iter().map(|one| one.user).sum();
        first.len() >= MOST_ROUNDS || first.len() >= LEAST_ROUNDS && user >= ENOUGH
    };
    while !is_enough(&rounds[0]) {
        for (task, found) in tasks.iter().zip(&mut rounds) {
            found.push(Measured::of(*task, path));
        }
    }
    rounds.map(|found| Measured::mean(&found))
}

/// Does what the command line asks for: one task, or `compare` with the images that are named, or else with those of
/// `images` that are there.
pub(crate) fn main(images: &[&str], compare: impl Fn(&[&str]), work: impl Fn(Task, &Path) -> Measured) {
    give_memory_back();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.as_slice() {
        [mark, task, path] if mark == "--work" => println!("{}", work(Task::of(task), Path::new(path)).line()),
        [] => compare(&images.iter().copied().filter(|path| is_there(path)).collect::<Vec<_>>()),
        paths => compare(&paths.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn is_there(path: &str) -> bool {
    let is_there = Path::new(path).exists();
    if !is_there {
        println!("{path} is not there");
    }
    is_there
}

/// Decodes every instruction of the text once.
pub(crate) fn decode(bytes: &[u8]) -> Measured {
    let clock = Clock::start();
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
    Measured::since(&clock, &image, count)
}

/// When a task began.
pub(crate) struct Clock {
    /// Seconds of user time before.
    before: f64,
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { before: user_seconds(), started: Instant::now() }
    }

    /// User time since the start, in seconds.
    pub(crate) fn user(&self) -> f64 {
        user_seconds() - self.before
    }
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
