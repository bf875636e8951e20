//! What probes took in a run, against the budget that it had. MPI wrappers do not count against it: they are what is
//! asked for, and are said beside, as are setting threads up, which no selection makes less, and the sites of regions that were
//! switched off, which run on as instructions that do nothing.

use serde::Serialize;
use tare_compensate::Figure;

use crate::layout::Glyphs;
use crate::number::{share, time_with_unit};
use crate::run::Results;

/// The least part of the time by sites that are off, and by threads' set-up, that is told to people.
const TELLING: f64 = 0.001;
/// From this part of the time on, probes and threads' set-up are told as times: the program did next to nothing.
const NEXT_TO_NOTHING: f64 = 0.5;

/// Parts of the time that the run would have taken without probes and wrappers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Spent {
    /// The budget.
    allowed: f64,
    /// What probes took of all threads, slow paths and counting included, but not the set-up of threads.
    probes: f64,
    probes_low: f64,
    /// With every probe as dear as in a hot loop.
    probes_high: f64,
    /// What wrappers took.
    wrappers: f64,
    /// What it took to set threads up.
    set_up: f64,
    /// What the sites of regions that were switched off took, had calls come as often as before.
    off_low: f64,
    off_high: f64,
    /// That time, seconds.
    #[serde(skip)]
    without_s: f64,
}

impl Spent {
    /// `None` where there was no budget, or no clock is known.
    pub(crate) fn of(results: &Results<'_>) -> Option<Self> {
        let profile = results.profile;
        let allowed = profile.processes.iter().find_map(|process| process.budget)?;
        let (mut without, mut probes, mut wrappers, mut set_up) = (0.0, Figure::exact(0.0), 0.0, 0.0);
        for (location, spent) in profile.locations.iter().zip(&results.parallel.locations) {
            let clock = profile.process_of(location).clock;
            if clock.is_known() {
                // A thread's time begins behind its set-up, which is not part of it, and not taken off it.
                set_up += clock.seconds(location.setup_ticks as f64);
                without += spent.nodes.first().map_or(0.0, |root| root.measured_inclusive_s) - spent.overhead_s;
                probes.value += spent.probes.value;
                probes.low += spent.probes.low;
                probes.high += spent.probes.high;
                wrappers += (spent.overhead_s - spent.probes.value).max(0.0);
            }
        }
        let part = |seconds: f64| seconds / without;
        let [value, low, high] = [probes.value, probes.low, probes.high].map(part);
        let sites = results.costs.off_sites();
        let [off_low, off_high] = [sites.low_s, sites.high_s].map(part);
        let [wrappers, set_up] = [wrappers, set_up].map(part);
        (without > 0.0).then_some(Self {
            allowed,
            probes: value,
            probes_low: low,
            probes_high: high,
            wrappers,
            set_up,
            off_low,
            off_high,
            without_s: without,
        })
    }

    /// `2 % allowed, probes took 0.5 % (0.2 … 1.1); wrappers took 7.1 % besides`; of a program that is over nearly before
    /// its probes are set up the times themselves: parts of next to nothing say nothing.
    pub(crate) fn sentence(&self, glyphs: &Glyphs) -> String {
        let shares = [self.allowed, self.probes, self.probes_low, self.probes_high, self.wrappers].map(|part| share(part, glyphs));
        let [allowed, probes, low, high, wrappers] = shares;
        let interval = if low == high { String::new() } else { format!(" ({low} {} {high})", glyphs.ellipsis) };
        let with_set_up = self.probes + self.set_up;
        if with_set_up >= NEXT_TO_NOTHING {
            let [probes, without] = [with_set_up * self.without_s, self.without_s].map(|seconds| time_with_unit(seconds, glyphs));
            return format!("{allowed} allowed; the program itself took {without} alone, and probes {probes} with their set-up");
        }
        let over = if self.probes > self.allowed { format!(", {} more", share(self.probes - self.allowed, glyphs)) } else { String::new() };
        let besides = if self.wrappers > 0.0 { format!("; wrappers took {wrappers} besides") } else { String::new() };
        let set_up = if self.set_up >= TELLING { format!("; setting threads up took {}", share(self.set_up, glyphs)) } else { String::new() };
        let sites = if self.off_high >= TELLING {
            let [low, high] = [self.off_low, self.off_high].map(|part| share(part, glyphs));
            let range = if low == high { low } else { format!("{low} to {high}") };
            format!("; what is off still took {range}, had its calls come as often as before")
        } else {
            String::new()
        };
        format!("{allowed} allowed, probes took {probes}{interval}{over}{besides}{set_up}{sites}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_next_to_nothing_are_times() {
        let spent = Spent {
            allowed: 0.02,
            probes: 0.015,
            probes_low: 0.01,
            probes_high: 0.03,
            wrappers: 0.0,
            set_up: 0.0,
            off_low: 0.0,
            off_high: 0.0,
            without_s: 10.0,
        };
        let said = |spent: &Spent| spent.sentence(&Glyphs::ASCII).replace('\u{a0}', " ");
        assert_eq!(said(&spent), "2.0 % allowed, probes took 1.5 % (1.0 % ... 3.0 %)");
        let sites = Spent { off_low: 0.001, off_high: 0.02, ..spent };
        assert!(said(&sites).ends_with("; what is off still took 0.1 % to 2.0 %, had its calls come as often as before"), "{}", said(&sites));
        let threads = Spent { wrappers: 0.02, set_up: 0.013, ..spent };
        assert!(said(&threads).ends_with("; wrappers took 2.0 % besides; setting threads up took 1.3 %"), "{}", said(&threads));
        let empty = Spent { probes: 2.5, set_up: 0.5, probes_low: 2.0, probes_high: 4.0, without_s: 20e-6, ..spent };
        assert_eq!(said(&empty), "2.0 % allowed; the program itself took 20.0 us alone, and probes 60.0 us with their set-up");
        let set_up = Spent { probes: 0.05, set_up: 0.85, ..empty };
        assert_eq!(said(&set_up), "2.0 % allowed; the program itself took 20.0 us alone, and probes 18.0 us with their set-up");
    }
}
