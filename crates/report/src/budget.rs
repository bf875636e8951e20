//! What probes took in a run, against the budget that it had. MPI wrappers do not count against it: they are what is
//! asked for, and are said beside.

use serde::Serialize;
use tare_compensate::Figure;

use crate::layout::Glyphs;
use crate::number::{share, time_with_unit};
use crate::run::Results;

/// Parts of the time that the run would have taken without probes and wrappers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Spent {
    /// The budget.
    allowed: f64,
    /// What probes took of all threads, slow paths and counting included.
    probes: f64,
    probes_low: f64,
    /// With every probe as dear as in a hot loop.
    probes_high: f64,
    /// What MPI wrappers took.
    wrappers: f64,
    /// That time, seconds.
    #[serde(skip)]
    without_s: f64,
}

impl Spent {
    /// `None` where there was no budget, or no clock is known.
    pub(crate) fn of(results: &Results<'_>) -> Option<Self> {
        let profile = results.profile;
        let allowed = profile.processes.iter().find_map(|process| process.budget)?;
        let (mut life, mut probes, mut wrappers) = (0.0, Figure::exact(0.0), 0.0);
        for (location, spent) in profile.locations.iter().zip(&results.parallel.locations) {
            if profile.process_of(location).clock.is_known() {
                life += spent.nodes.first().map_or(0.0, |root| root.measured_inclusive_s);
                probes.value += spent.probes.value;
                probes.low += spent.probes.low;
                probes.high += spent.probes.high;
                wrappers += (spent.overhead_s - spent.probes.value).max(0.0);
            }
        }
        let without = life - probes.value - wrappers;
        let part = |seconds: f64| seconds / without;
        let [value, low, high] = [probes.value, probes.low, probes.high].map(part);
        (without > 0.0).then(|| Self { allowed, probes: value, probes_low: low, probes_high: high, wrappers: part(wrappers), without_s: without })
    }

    /// `2 % allowed, probes took 0.5 % (0.2 … 1.1); MPI wrappers took 7.1 % besides`; of a program that is over before its
    /// probes the times themselves: parts of next to nothing say nothing.
    pub(crate) fn sentence(&self, glyphs: &Glyphs) -> String {
        let shares = [self.allowed, self.probes, self.probes_low, self.probes_high, self.wrappers].map(|part| share(part, glyphs));
        let [allowed, probes, low, high, wrappers] = shares;
        let interval = if low == high { String::new() } else { format!(" ({low} {} {high})", glyphs.ellipsis) };
        if self.probes > 1.0 {
            let [probes, without] = [self.probes * self.without_s, self.without_s].map(|seconds| time_with_unit(seconds, glyphs));
            return format!("{allowed} allowed; the program itself took {without} alone, and probes {probes}");
        }
        let over = if self.probes > self.allowed { format!(", {} more", share(self.probes - self.allowed, glyphs)) } else { String::new() };
        let besides = if self.wrappers > 0.0 { format!("; MPI wrappers took {wrappers} besides") } else { String::new() };
        format!("{allowed} allowed, probes took {probes}{interval}{over}{besides}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_next_to_nothing_are_times() {
        let spent = Spent { allowed: 0.02, probes: 0.015, probes_low: 0.01, probes_high: 0.03, wrappers: 0.0, without_s: 10.0 };
        let said = |spent: &Spent| spent.sentence(&Glyphs::ASCII).replace('\u{a0}', " ");
        assert_eq!(said(&spent), "2.0 % allowed, probes took 1.5 % (1.0 % ... 3.0 %)");
        let empty = Spent { probes: 3.0, probes_low: 2.0, probes_high: 4.0, without_s: 20e-6, ..spent };
        assert_eq!(said(&empty), "2.0 % allowed; the program itself took 20.00 us alone, and probes 60.00 us");
    }
}
