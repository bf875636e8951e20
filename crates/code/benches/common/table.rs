//! What benchmarks of analysis, selection and rewriting print: a row for each image, and how cost grows with size.

use std::path::Path;

use crate::process::{Measured, Task, in_turns};

/// What an image took: decoding it, and the work on one thread and on two.
pub(crate) struct Turns {
    pub(crate) decode: Measured,
    pub(crate) one: Measured,
    pub(crate) two: Measured,
}

impl Turns {
    fn of(path: &str) -> Self {
        let [decode, one, two] = in_turns([Task::Decode, Task::Work(1), Task::Work(2)], path);
        Self { decode, one, two }
    }

    /// User time of the work on one thread and on two, without what it begins with, over decoding.
    pub(crate) fn own(&self) -> [f64; 2] {
        [&self.one, &self.two].map(|work| work.own() / self.decode.user)
    }

    /// Wall time on two threads over that on one.
    pub(crate) fn wall(&self) -> f64 {
        self.two.wall / self.one.wall
    }

    /// Peak memory over text.
    pub(crate) fn memory(&self) -> f64 {
        self.one.peak.max(self.two.peak) / self.decode.text
    }

    /// Nanoseconds of the work an instruction, with one thread.
    fn each(&self) -> f64 {
        self.one.own() * 1e9 / self.decode.instructions
    }
}

/// A column of a benchmark's own: its name, digits behind the point, and its figure.
pub(crate) type Column = (&'static str, usize, fn(&Turns) -> f64);

/// Measures the images and prints a row for each.
pub(crate) fn print(paths: &[&str], columns: &[Column]) {
    let own: String = columns.iter().map(|(name, ..)| format!("{name:>10}")).collect();
    println!("{:22}{:>10}{:>10}{:>10}{own}{:>10}{:>10}", "image", "MB text", "instr.", "decode ms", "ns/in.", "same");
    let mut each: Vec<f64> = paths.iter().map(|path| row(path, columns)).collect();
    each.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (each.first(), each.last()) {
        println!("\nlargest over least time an instruction: {:.2} (1 is linear growth)", most / least);
    }
}

/// Prints the row of an image; returns the nanoseconds an instruction.
fn row(path: &str, columns: &[Column]) -> f64 {
    let turns = Turns::of(path);
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let own: String = columns.iter().map(|&(_, digits, figure)| format!("{:10.digits$}", figure(&turns))).collect();
    let Turns { decode, one, two } = &turns;
    let same = if one.digest == two.digest { "yes" } else { "NO" };
    println!("{name:22}{:10.2}{:10}{:10.1}{own}{:10.1}{same:>10}", decode.text / 1e6, decode.instructions, decode.user * 1e3, turns.each());
    turns.each()
}
