//! What the choice of preset `auto` costs on real images, over decoding each of their instructions once with iced-x86.
//!
//! Estimates of visits and work of every function, and the choice within 2 %; the analysis that they begin with is
//! measured with them and without. Every measurement is a process of its own; those of an image take turns, and their
//! means count. Arguments are paths of images; without any, large programs of the distribution are taken, those that
//! are there.

#[path = "../../../code/benches/common/process.rs"]
mod process;
#[path = "../../../code/benches/common/table.rs"]
mod table;
mod work;

use table::{Column, Turns};

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
    println!(
        "estimates and choice over decoding every instruction once: user time with 1 thread and 2 threads, with the analysis as\nwell, wall time with 2 threads over 1, analysis included, peak memory over text\n"
    );
    let columns: [Column; 5] = [
        ("1 thr.", 2, |turns| turns.own()[0]),
        ("2 thr.", 2, |turns| turns.own()[1]),
        ("+analys.", 2, |turns| turns.one.user / turns.decode.user),
        ("wall 2", 2, Turns::wall),
        ("memory", 1, Turns::memory),
    ];
    table::print(paths, &columns);
}
