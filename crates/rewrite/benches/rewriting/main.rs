//! What rewriting every function of real images costs, over decoding each of their instructions once with iced-x86.
//!
//! Rewriting is everything from the plan to the check of the written image, at function level; the analysis that it
//! begins with is measured with it and without. Every measurement is a process of its own; those of an image take
//! turns, and their means count. Arguments are paths of images; without any, large programs of the distribution are
//! taken, those that are there.

#[path = "../../../code/benches/common/process.rs"]
mod process;
mod work;

use std::path::Path;

use process::{Task, in_turns};

const IMAGES: [&str; 7] = [
    "/usr/bin/git",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
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
    println!("rewriting every function, the check included, over decoding every instruction once: user time with 1 thread and");
    println!("2 threads, with the analysis as well, peak memory over text, output over input\n");
    let names = ["MB text", "instr.", "decode ms", "1 thr.", "2 thr.", "+analys.", "memory", "output", "ns/in.", "same"];
    print!("{:22}", "image");
    println!("{}", names.map(|name| format!("{name:>10}")).concat());
    let costs: Vec<f64> = paths.iter().map(|path| image(path)).collect();
    let bounds = (costs.iter().copied().reduce(f64::min), costs.iter().copied().reduce(f64::max));
    if let (Some(least), Some(most)) = bounds {
        println!("\nlargest over least time an instruction: {:.2} (1 is linear growth)", most / least);
    }
}

/// Prints the line of an image; returns the user time an instruction in nanoseconds, with one thread.
fn image(path: &str) -> f64 {
    let [decode, one, two] = in_turns([Task::Decode, Task::Work(1), Task::Work(2)], path);
    let [analysis, input, output] = one.more[..] else { panic!("what rewriting counts") };
    let columns = [
        format!("{:.2}", decode.text / 1e6),
        decode.instructions.to_string(),
        format!("{:.1}", decode.user * 1e3),
        format!("{:.2}", (one.user - analysis) / decode.user),
        format!("{:.2}", (two.user - two.more[0]) / decode.user),
        format!("{:.2}", one.user / decode.user),
        format!("{:.1}", one.peak.max(two.peak) / decode.text),
        format!("{:.2}", output / input),
        format!("{:.1}", (one.user - analysis) * 1e9 / decode.instructions),
        if one.digest == two.digest { "yes".to_owned() } else { "NO".to_owned() },
    ];
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    println!("{name:22}{}", columns.map(|column| format!("{column:>10}")).concat());
    (one.user - analysis) * 1e9 / decode.instructions
}
