//! What a measured process does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use tare_code::{Program, Threads};
use tare_image::Image;
use tare_rewrite::{Native, Request, Selection, instrument};

use crate::measured::Task;

/// Does a task; returns text bytes, instructions, user seconds of the analysis and of the task, peak bytes, bytes of
/// the image and of the copy, and a digest.
pub(crate) fn run(task: Task, path: &Path) -> String {
    let bytes = std::fs::read(path).expect("the image");
    match task {
        Task::Decode => decode(&bytes),
        Task::Rewrite(threads) => rewrite(&bytes, Threads::of(threads)),
    }
}

fn text_of(image: &Image<'_>) -> u64 {
    image.text().iter().map(|range| range.end - range.start).sum()
}

fn decode(bytes: &[u8]) -> String {
    let begin = user_seconds();
    let image = Image::parse(bytes).expect("an image");
    let mut count = 0_u64;
    let mut instruction = Instruction::default();
    for range in image.text() {
        let code = image.bytes_at(range.start, range.end - range.start).expect("its bytes");
        let mut decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            count += 1;
        }
    }
    let user = user_seconds() - begin;
    format!("{} {count} 0 {user} {} {} 0 0", text_of(&image), peak_bytes(), bytes.len())
}

fn rewrite(bytes: &[u8], threads: Threads) -> String {
    let begin = user_seconds();
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse_on(&image, threads).expect("functions");
    let analysed = user_seconds();
    let leaves = program.leaves(&vec![true; program.functions.len()]);
    let selected: Vec<Selection> = (0..).zip(leaves).map(|(index, is_leaf)| Selection { is_leaf, ..Selection::of(index) }).collect();
    let request = Request { selected: &selected, path: "program", threads: Some(threads), ..Request::default() };
    let output = instrument(&image, &program, &request, &Native).expect("a copy");
    let user = user_seconds() - analysed;
    let peak = peak_bytes();
    let mut digest = DefaultHasher::new();
    output.bytes.hash(&mut digest);
    // A digest that a floating-point number holds exactly.
    let digest = digest.finish() >> 12;
    format!("{} 0 {} {user} {peak} {} {} {digest}", text_of(&image), analysed - begin, bytes.len(), output.bytes.len())
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

/// The most memory that was in use, the image included.
fn peak_bytes() -> f64 {
    usage().ru_maxrss as f64 * 1024.0
}
