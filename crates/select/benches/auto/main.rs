//! What the choice of preset `auto` costs on real images, over decoding each of their instructions once with iced-x86.
//!
//! Estimates of visits and work of every function, and the choice within 2 %; the analysis that they begin with is
//! measured with them and without. Every measurement is a process of its own; those of an image take turns, and their
//! means count. Arguments are paths of images; without any, large programs of the distribution are taken, those that
//! are there.

#[path = "../../../code/benches/common/process.rs"]
mod process;
mod work;

use std::path::Path;

use process::{Task, in_turns};

const IMAGES: [&str; 6] = [
    "/usr/bin/git",
    "/usr/bin/python3.11",
    "/usr/bin/gdb",
    "/usr/lib/x86_64-linux-gnu/liblammps.so.0",
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
    "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14",
];

fn main() {
    process::main(&IMAGES, compare, work::run);
}

fn compare(paths: &[&str]) {
    println!("estimates and choice over decoding every instruction once: user time with 1 thread and 2 threads, with the analysis as");
    println!("well, wall time with 2 threads over 1, analysis included, peak memory over text\n");
    let names = ["MB text", "instr.", "decode ms", "1 thr.", "2 thr.", "+analys.", "wall 2", "memory", "ns/in.", "same"];
    println!("{:22}{}", "image", names.map(|name| format!("{name:>10}")).concat());
    let costs: Vec<f64> = paths.iter().map(|path| image(path)).collect();
    let bounds = (costs.iter().copied().reduce(f64::min), costs.iter().copied().reduce(f64::max));
    if let (Some(least), Some(most)) = bounds {
        println!("\nlargest over least time an instruction: {:.2} (1 is linear growth)", most / least);
    }
}

/// Prints the line of an image; returns the user time an instruction in nanoseconds, with one thread.
fn image(path: &str) -> f64 {
    let [decode, one, two] = in_turns([Task::Decode, Task::Work(1), Task::Work(2)], path);
    let own = |measured: &process::Measured| measured.user - measured.more.first().copied().unwrap_or(0.0);
    let columns = [
        format!("{:.2}", decode.text / 1e6),
        decode.instructions.to_string(),
        format!("{:.1}", decode.user * 1e3),
        format!("{:.2}", own(&one) / decode.user),
        format!("{:.2}", own(&two) / decode.user),
        format!("{:.2}", one.user / decode.user),
        format!("{:.2}", two.wall / one.wall),
        format!("{:.1}", one.peak.max(two.peak) / decode.text),
        format!("{:.1}", own(&one) * 1e9 / decode.instructions),
        if one.digest == two.digest { "yes".to_owned() } else { "NO".to_owned() },
    ];
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    println!("{name:22}{}", columns.map(|column| format!("{column:>10}")).concat());
    own(&one) * 1e9 / decode.instructions
}
