//! Processors that ranks did not have.

use tare_compensate::whole::{Shortage, shortages};

use crate::layout::Glyphs;
use crate::number::time_with_unit;
use crate::run::Results;

/// Below this part of its time it is not said that a process had no processor.
const NOTEWORTHY: f64 = 0.01;

/// Who could run and had no processor, and for how long; `None` where nobody was without for long.
pub(crate) fn without_processor(results: &Results<'_>, glyphs: &Glyphs) -> Option<String> {
    let mut all = shortages(results.profile, &results.shown);
    all.retain(|shortage| shortage.queued_s >= NOTEWORTHY * shortage.outside_s && shortage.is_told());
    let by_length = |one: &&Shortage, other: &&Shortage| one.queued_s.total_cmp(&other.queued_s);
    let first = *all.iter().max_by(by_length)?;
    let process = &results.profile.processes[first.process];
    let who = process.rank.map_or_else(|| format!("process {}", process.pid), |rank| format!("rank {rank}"));
    let time = |seconds| time_with_unit(seconds, glyphs);
    let next = all.iter().filter(|shortage| shortage.process != first.process).map(|shortage| shortage.queued_s).reduce(f64::max);
    let others = next.map_or_else(String::new, |next| match all.len() {
        2 => format!(", another one for {}", time(next)),
        number => format!(", {} others for up to {}", number - 1, time(next)),
    });
    let outside = if process.rank.is_some() { " outside MPI" } else { "" };
    Some(format!("{who} could run{outside} and had none for {} of {}{others}", time(first.queued_s), time(first.outside_s)))
}
