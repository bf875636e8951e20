//! What the full analysis of real images costs, over decoding each of their instructions once with iced-x86.
//!
//! Full analysis: parsing, functions, and body, control-flow graph, loops and all numbers of every function. Every
//! measurement is a process of its own; those of an image take turns, and their means count.
//! Arguments are paths of images; without any, large programs of the distribution are taken, those that are there.

#[path = "../common/process.rs"]
mod process;
#[path = "../common/table.rs"]
mod table;
mod work;

use table::{Column, Turns};

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
    let columns: [Column; 4] =
        [("1 thr.", 2, |turns| turns.own()[0]), ("2 thr.", 2, |turns| turns.own()[1]), ("wall 2", 2, Turns::wall), ("memory", 1, Turns::memory)];
    table::print(paths, &columns);
}
