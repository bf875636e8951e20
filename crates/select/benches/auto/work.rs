//! What a measured process does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use tare_code::{Program, Threads};
use tare_image::Image;
use tare_select::budget::{Budget, Estimates, Keeper, Limit, ProbeCost, limited};
use tare_select::choose;

use crate::process::{Clock, Measured, Task, decode};

/// Does a task; the choice counts user seconds of the analysis as well.
pub(crate) fn run(task: Task, path: &Path) -> Measured {
    let bytes = std::fs::read(path).expect("the image");
    match task {
        Task::Decode => decode(&bytes),
        Task::Work(threads) => auto(&bytes, Threads::of(threads)),
    }
}

fn auto(bytes: &[u8], threads: Threads) -> Measured {
    let clock = Clock::start();
    let image = Image::parse(bytes).expect("an image");
    let program = Program::analyse_on(&image, threads).expect("functions");
    let analysis = clock.user();
    let estimates = Estimates::on(&program, &image, threads);
    let all = choose(&program, &[], |function| program.metrics(&image, function, None));
    let limit = Limit { budget: Budget::DEFAULT, keeper: Keeper::Runtime };
    let (selection, _) = limited(all, &program, &estimates, ProbeCost::DEFAULT, limit);
    let measured = Measured::since(&clock, &image, 0);
    let mut digest = DefaultHasher::new();
    for (estimate, decision) in estimates.functions.iter().zip(&selection.decisions) {
        (estimate.visits.to_bits(), estimate.work.to_bits(), decision.is_selected).hash(&mut digest);
    }
    Measured { more: vec![analysis], ..measured }.with_digest(digest.finish())
}
