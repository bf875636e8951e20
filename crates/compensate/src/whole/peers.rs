//! Those that wait for one another: the ranks of a run, or the threads of teams, by their numbers.

use std::collections::BTreeSet;

use tare_profile::Profile;

/// Ranks, or threads.
pub(super) struct Peers {
    /// Which of them each location belongs to, as an index into [`Self::numbers`].
    of_location: Vec<usize>,
    /// The number of each; none of what takes no part, as a process without a rank.
    numbers: Vec<Option<u32>>,
    /// How many have a number.
    pub(super) count: usize,
}

impl Peers {
    /// The ranks: processes with all of their threads.
    pub(super) fn ranks(profile: &Profile) -> Self {
        let numbers = profile.processes.iter().map(|process| process.rank).collect();
        Self::new(profile.locations.iter().map(|location| location.process.0).collect(), numbers)
    }

    /// The threads with these numbers, those of all processes with the same number as one.
    pub(super) fn threads(profile: &Profile, taking_part: &BTreeSet<u32>) -> Self {
        let numbers: Vec<u32> = taking_part.iter().copied().collect();
        let of_location = profile.locations.iter().map(|location| numbers.binary_search(&location.thread).unwrap_or(numbers.len()));
        let of_location = of_location.collect();
        Self::new(of_location, numbers.into_iter().map(Some).chain([None]).collect())
    }

    fn new(of_location: Vec<usize>, numbers: Vec<Option<u32>>) -> Self {
        Self { of_location, count: numbers.iter().flatten().count(), numbers }
    }

    /// The number of a location's.
    pub(super) fn number(&self, location: usize) -> Option<u32> {
        self.numbers[self.of_location[location]]
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().filter_map(|number| *number)
    }

    /// The numbers with what was summed for each by [`Self::add`].
    pub(super) fn numbered<'a>(&'a self, sums: &'a [f64]) -> impl Iterator<Item = (u32, f64)> + Clone + 'a {
        self.numbers.iter().zip(sums).filter_map(|(number, sum)| Some(((*number)?, *sum)))
    }

    /// Sums to be filled, one for each.
    pub(super) fn sums(&self) -> Vec<f64> {
        vec![0.0; self.numbers.len()]
    }

    /// Adds to the sum of a location's.
    pub(super) fn add(&self, sums: &mut [f64], location: usize, value: f64) {
        sums[self.of_location[location]] += value;
    }
}
