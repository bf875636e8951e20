//! What a measured process does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use tare_code::{Program, Threads};
use tare_image::Image;
use tare_rewrite::{Native, Request, Selection, instrument};

use crate::process::{Clock, Measured, Task, decode};

/// Does a task. Rewriting counts user seconds of the analysis as well, and bytes of the image and of the copy.
pub(crate) fn run(task: Task, path: &Path) -> Measured {
    let bytes = std::fs::read(path).expect("the image");
    match task {
        Task::Decode => decode(&bytes),
        Task::Work(threads) => rewrite(&bytes, Threads::of(threads)),
    }
}

fn rewrite(bytes: &[u8], threads: Threads) -> Measured {
    let clock = Clock::start();
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse_on(&image, threads).expect("functions");
    let analysis = clock.user();
    let leaves = program.leaves(&vec![true; program.functions.len()]);
    let selected: Vec<Selection> = (0..).zip(leaves).map(|(index, is_leaf)| Selection { is_leaf, ..Selection::of(index) }).collect();
    let request = Request { selected: &selected, path: "program", threads: Some(threads), ..Request::default() };
    let output = instrument(&image, &program, &request, &Native).expect("a copy");
    let measured = Measured::since(&clock, &image, 0);
    let mut digest = DefaultHasher::new();
    output.bytes.hash(&mut digest);
    let more = vec![analysis, bytes.len() as f64, output.bytes.len() as f64];
    Measured { more, ..measured }.with_digest(digest.finish())
}
