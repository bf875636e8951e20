//! What rewriting every function of real images costs, over decoding each of their instructions once with iced-x86.
//!
//! Rewriting is everything from the plan to the check of the written image, at function level; the analysis that it
//! begins with is measured with it and without. Every measurement is a process of its own; those of an image take
//! turns, and the least user time of each counts. Arguments are paths of images; without any, large programs of the
//! distribution are taken, those that are there; for small ones the system's clock of user time is too coarse.

mod measured;
mod work;

use std::path::Path;

use measured::{Measured, Task};

/// Rounds of each measurement.
const ROUNDS: usize = 3;

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
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.as_slice() {
        [mark, task, path] if mark == "--work" => println!("{}", work::run(Task::of(task).expect("a task"), Path::new(path))),
        [] => compare(&IMAGES),
        paths => compare(&paths.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn compare(paths: &[&str]) {
    println!("rewriting every function, the check included, over decoding every instruction once: user time with 1 thread and");
    println!("2 threads, with the analysis as well, peak memory over text, output over input\n");
    let names = ["MB text", "instr.", "decode ms", "1 thr.", "2 thr.", "+analys.", "memory", "output", "ns/in.", "same"];
    print!("{:22}", "image");
    println!("{}", names.map(|name| format!("{name:>10}")).concat());
    let costs: Vec<f64> = paths.iter().filter_map(|path| image(path)).collect();
    let bounds = (costs.iter().copied().reduce(f64::min), costs.iter().copied().reduce(f64::max));
    if let (Some(least), Some(most)) = bounds {
        println!("\nlargest over least time an instruction: {:.2} (1 is linear growth)", most / least);
    }
}

/// Prints the line of an image; returns the user time an instruction in nanoseconds, with one thread.
fn image(path: &str) -> Option<f64> {
    if !Path::new(path).exists() {
        println!("{path} is not there");
        return None;
    }
    let tasks = [Task::Decode, Task::Rewrite(1), Task::Rewrite(2)];
    let mut best: [Option<Measured>; 3] = [const { None }; 3];
    for _ in 0..ROUNDS {
        for (task, best) in tasks.iter().zip(&mut best) {
            let found = Measured::of(*task, path);
            *best = Some(best.take().map_or(found, |before| before.least(found)));
        }
    }
    let [decode, one, two] = best.map(|best| best.expect("a measurement"));
    let instructions = decode.instructions as f64;
    let columns = [
        format!("{:.2}", decode.text as f64 / 1e6),
        decode.instructions.to_string(),
        format!("{:.1}", decode.user * 1e3),
        format!("{:.2}", one.user / decode.user),
        format!("{:.2}", two.user / decode.user),
        format!("{:.2}", (one.user + one.analysis) / decode.user),
        format!("{:.1}", one.peak.max(two.peak) / decode.text as f64),
        format!("{:.2}", one.output as f64 / one.input as f64),
        format!("{:.1}", one.user * 1e9 / instructions),
        if one.digest == two.digest { "yes".to_owned() } else { "NO".to_owned() },
    ];
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    println!("{name:22}{}", columns.map(|column| format!("{column:>10}")).concat());
    Some(one.user * 1e9 / instructions)
}
