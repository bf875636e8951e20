//! What the full analysis of real images costs, over decoding each of their instructions once with iced-x86.
//!
//! Full analysis: parsing, functions, and body, control-flow graph, loops and all numbers of every function. Every
//! measurement is a process of its own; those of an image take turns, and their means count.
//! Arguments are paths of images; without any, large programs of the distribution are taken, those that are there.

#[path = "../common/process.rs"]
mod process;
mod work;

use std::path::Path;

use process::{Task, in_turns};

const IMAGES: [&str; 9] = [
    "/usr/bin/hpcc",
    "/usr/bin/git",
    "/usr/bin/python3.11",
    "/usr/bin/gdb",
    "/usr/lib/x86_64-linux-gnu/liblammps.so.0",
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
    "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14",
    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
    "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.16",
];

fn main() {
    process::main(&IMAGES, compare, work::run);
}

fn compare(paths: &[&str]) {
    println!("full analysis over decoding every instruction once: user time, wall time with 2 threads over 1, memory over text\n");
    println!(
        "{:22} {:>7} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}",
        "image", "MB text", "instr.", "decode ms", "1 thr.", "2 thr.", "wall 2", "memory", "ns/in.", "same"
    );
    let costs: Vec<f64> = paths.iter().map(|path| image(path)).collect();
    let bounds = (costs.iter().copied().reduce(f64::min), costs.iter().copied().reduce(f64::max));
    if let (Some(least), Some(most)) = bounds {
        println!("\nlargest over least time an instruction: {:.2} (1 is linear growth)", most / least);
    }
}

/// Prints the line of an image; returns the user time an instruction in nanoseconds, with one thread.
fn image(path: &str) -> f64 {
    let [decode, one, two] = in_turns([Task::Decode, Task::Work(1), Task::Work(2)], path);
    println!(
        "{:22} {:7.2} {:9} {:9.1} {:7.2} {:7.2} {:7.2} {:7.1} {:7.1} {:>6}",
        Path::new(path).file_name().unwrap_or_default().to_string_lossy(),
        decode.text / 1e6,
        decode.instructions,
        decode.user * 1e3,
        one.user / decode.user,
        two.user / decode.user,
        two.wall / one.wall,
        two.peak.max(one.peak) / decode.text,
        one.user * 1e9 / decode.instructions,
        if one.digest == two.digest { "yes" } else { "NO" },
    );
    one.user * 1e9 / decode.instructions
}
