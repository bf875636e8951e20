//! Processors that ranks did not have.

use tare_compensate::whole::{Shortage, shortages};
use tare_profile::Profile;

use super::process_label;
use crate::layout::Glyphs;
use crate::number::time_with_unit;
use crate::run::Results;

/// Below this part of its time it is not said that a process had no processor.
const NOTEWORTHY: f64 = 0.01;

/// Who could run and had no processor, and for how long; `None` where nobody was without for long.
pub(crate) fn without_processor(results: &Results<'_>, glyphs: &Glyphs) -> Option<String> {
    let mut all = shortages(results.profile, &results.shown);
    let is_long = |shortage: &Shortage, is_outside_alone: bool| match is_outside_alone {
        true => shortage.queued_s >= NOTEWORTHY * shortage.outside_s && shortage.is_told(),
        false => shortage.in_all_s >= NOTEWORTHY * results.profile.processes[shortage.process].lifetime_s && shortage.is_told_in_all(),
    };
    all.retain(|shortage| is_long(shortage, shortage.is_split_known()));
    let by_length = |one: &&Shortage, other: &&Shortage| one.queued_s.total_cmp(&other.queued_s);
    let longest = all.iter().max_by(by_length)?;
    // Where sums are said, the first one named has the greatest.
    let by_sum = |one: &&Shortage, other: &&Shortage| one.in_all_s.total_cmp(&other.in_all_s);
    let first = *all.iter().filter(|one| !longest.is_split_known() && !one.is_split_known()).max_by(by_sum).unwrap_or(longest);
    let process = &results.profile.processes[first.process];
    let who = process_label(process);
    let who = if first.thread == 0 { who } else { format!("{who} thread {}", first.thread) };
    let time = |seconds| time_with_unit(seconds, glyphs);
    let told = |shortage: &Shortage| if first.is_split_known() { shortage.queued_s } else { shortage.in_all_s };
    let is_other = |shortage: &&Shortage| shortage.process != first.process && is_long(shortage, first.is_split_known());
    let others: Vec<f64> = all.iter().filter(is_other).map(told).collect();
    let longest = others.iter().copied().fold(0.0, f64::max);
    let others = match others.len() {
        0 => String::new(),
        1 => format!(", another one for {}", time(longest)),
        number => format!(", {number} others for up to {}", time(longest)),
    };
    let outside = if process.rank.is_some() { " outside MPI" } else { "" };
    Some(format!("{who} {}{others}", had_none(&first, results.profile, outside, "", glyphs)))
}

/// For how long it had none: where it is not known how much of that passed outside of MPI, the sum, of its whole time,
/// which begins before MPI does. `outside` says where, if there is MPI.
pub(super) fn had_none(shortage: &Shortage, profile: &Profile, outside: &str, up_to: &str, glyphs: &Glyphs) -> String {
    let time = |seconds| time_with_unit(seconds, glyphs);
    if !shortage.is_split_known() {
        let whole = profile.processes.get(shortage.process).map_or(0.0, |process| process.lifetime_s);
        let anywhere = if outside.is_empty() { "" } else { ", in MPI or outside" };
        return format!("could run and had none for {up_to}{} of {} in all{anywhere}", time(shortage.in_all_s), time(whole));
    }
    format!("could run{outside} and had none for {up_to}{} of {}", time(shortage.queued_s), time(shortage.outside_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_passed_outside_of_mpi_is_said_where_it_is_known_to_a_half_and_else_the_sum() {
        let known = Shortage {
            process: 0,
            thread: 0,
            queued_s: 1.0426,
            in_all_s: 3.41,
            in_mpi_s: 2.37,
            stalled_s: 0.0,
            waited_s: 0.0,
            outside_s: 2.5,
            unsure_s: 0.5,
        };
        let profile =
            Profile { processes: vec![tare_profile::Process { lifetime_s: 4.2, ..tare_profile::Process::default() }], ..Profile::default() };
        let said = |shortage: &Shortage, up_to: &str| {
            had_none(shortage, &profile, " outside MPI", up_to, &Glyphs::UNICODE).replace(Glyphs::UNICODE.thin_space, " ")
        };
        assert_eq!(said(&known, ""), "could run outside MPI and had none for 1.04 s of 2.50 s");
        let unknown = Shortage { unsure_s: 0.6, ..known };
        assert_eq!(said(&unknown, "up to "), "could run and had none for up to 3.41 s of 4.20 s in all, in MPI or outside");
    }
}
