//! The check of the claim: unmeasured and measured runs in turn, compared rank by rank (paper 1, Table 1).
//!
//! What is compared are core cycles, not seconds: the core clock moves by several per cent between two runs while
//! the program's work does not. But it is only sampled, and where a machine has it jump, seconds say more: they are compared where unmeasured runs
//! differ by less than half as much in them. Figures are medians over pairs of neighbouring runs, because minima pick the run
//! with the fastest clock. Beside them stands the noise: what the unmeasured runs differ by among themselves.

/// One rank in one unmeasured run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unmeasured {
    /// Length of its span in core cycles (in ticks where the core clock is not known).
    pub cycles: f64,
    /// Seconds a cycle took.
    pub seconds_per_cycle: f64,
}

/// One rank in one measured run, in the unit of [`Unmeasured::cycles`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// As measured.
    pub uncompensated: f64,
    /// The location's own overhead removed.
    pub local: f64,
    /// Also the overhead that came in messages removed.
    pub parallel: f64,
    /// Seconds a cycle took.
    pub seconds_per_cycle: f64,
}

/// What runs are compared in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedIn {
    /// Core cycles.
    CoreCycles,
    /// Seconds.
    Seconds,
}

/// An unmeasured and a measured run, next to each other in time; indexed by rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Without us.
    pub unmeasured: Vec<Unmeasured>,
    /// With us.
    pub measured: Vec<Measured>,
}

/// A figure for each way to compensate.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Each {
    /// Nothing is removed.
    pub uncompensated: f64,
    /// Own overhead is removed.
    pub local: f64,
    /// All overhead is removed.
    pub parallel: f64,
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankRow {
    /// The rank (0 for a program without MPI).
    pub rank: u32,
    /// Median time of the unmeasured runs.
    pub uninstrumented_s: f64,
    /// Median error of each way, as a fraction of the unmeasured time.
    pub error: Each,
    /// Ends of the 95 % interval of that of parallel compensation, from how unlike the pairs are.
    pub between: (f64, f64),
}

impl Pair {
    /// The same with a second for each cycle.
    fn in_seconds(&self) -> Self {
        let unmeasured = |rank: &Unmeasured| Unmeasured { cycles: rank.cycles * rank.seconds_per_cycle, seconds_per_cycle: 1.0 };
        let measured = |rank: &Measured| Measured {
            uncompensated: rank.uncompensated * rank.seconds_per_cycle,
            local: rank.local * rank.seconds_per_cycle,
            parallel: rank.parallel * rank.seconds_per_cycle,
            seconds_per_cycle: 1.0,
        };
        Self { unmeasured: self.unmeasured.iter().map(unmeasured).collect(), measured: self.measured.iter().map(measured).collect() }
    }
}

impl RankRow {
    /// The time that each way gives, at the core clock of the unmeasured runs, in seconds.
    #[must_use]
    pub fn seconds(&self) -> Each {
        let with = |error: f64| self.uninstrumented_s * (1.0 + error);
        Each { uncompensated: with(self.error.uncompensated), local: with(self.error.local), parallel: with(self.error.parallel) }
    }

    /// Whether parallel compensation is right within a fraction, or within the floor of [`FLOOR_S`].
    #[must_use]
    pub fn is_within(&self, fraction: f64) -> bool {
        self.error.parallel.abs() <= fraction || (self.error.parallel * self.uninstrumented_s).abs() <= FLOOR_S
    }

    /// Whether all of the interval is further off than a fraction.
    fn is_beyond(&self, fraction: f64) -> bool {
        let (low, high) = self.between;
        !self.is_within(fraction) && (low > fraction || high < -fraction)
    }
}

/// Errors below this many seconds do not count: the tool's own messages leave as much.
pub const FLOOR_S: f64 = 50e-6;

/// Noise beyond which a difference says nothing about compensation.
pub const MOST_NOISE: f64 = 0.05;

/// Noise in core cycles up to which nothing else is asked.
const STEADY: f64 = 0.01;

/// What the comparison says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every rank within 1 % (or the floor).
    Exact,
    /// Every rank within 3 % (or the floor).
    Close,
    /// Some rank is further off, by all of its interval.
    Off,
    /// Some rank is further off than 3 %, and either its interval reaches to where it would not be, or unmeasured runs differ by
    /// more than [`MOST_NOISE`] among themselves, or are too few to say by how much they do.
    Unclear,
}

/// The whole table.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// Pairs that went into it.
    pub pairs: usize,
    /// In what they are compared.
    pub compared_in: ComparedIn,
    /// One row a rank.
    pub ranks: Vec<RankRow>,
    /// By what fraction measuring made the slowest rank slower.
    pub dilation: f64,
    /// By what fraction the medians of two halves of the unmeasured runs differ (90th percentile over splits, worst rank);
    /// `None` below four pairs.
    pub noise: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
}

impl Validation {
    /// Compares; ranks beyond the fewest of any run are left out. `None` without a pair or without a rank.
    #[must_use]
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let in_cycles = Self::compare(pairs, ComparedIn::CoreCycles)?;
        let seconds: Vec<Pair> = pairs.iter().map(Pair::in_seconds).collect();
        let is_steadier =
            |in_seconds: &Self| in_seconds.noise.zip(in_cycles.noise).is_some_and(|(seconds, cycles)| cycles > STEADY && seconds < 0.5 * cycles);
        Some(Self::compare(&seconds, ComparedIn::Seconds).filter(is_steadier).unwrap_or(in_cycles))
    }

    fn compare(pairs: &[Pair], compared_in: ComparedIn) -> Option<Self> {
        let count = pairs.iter().map(|pair| pair.unmeasured.len().min(pair.measured.len())).min()?;
        if count == 0 {
            return None;
        }
        let ranks: Vec<RankRow> = (0..count).map(|rank| row(pairs, rank)).collect();
        let slowest = |lengths: &mut dyn Iterator<Item = f64>| lengths.fold(0.0, f64::max);
        let dilation = median(
            pairs
                .iter()
                .map(|pair| {
                    let with = slowest(&mut pair.measured[..count].iter().map(|rank| rank.uncompensated));
                    let without = slowest(&mut pair.unmeasured[..count].iter().map(|rank| rank.cycles));
                    with / without - 1.0
                })
                .collect(),
        );
        let noise = (0..count).filter_map(|rank| noise(&pairs.iter().map(|pair| pair.unmeasured[rank].cycles).collect::<Vec<_>>())).reduce(f64::max);
        let within = |fraction: f64| ranks.iter().all(|row| row.is_within(fraction));
        let verdict = match noise {
            _ if within(0.01) => Verdict::Exact,
            _ if within(0.03) => Verdict::Close,
            Some(noise) if noise > MOST_NOISE => Verdict::Unclear,
            Some(_) if ranks.iter().any(|row| row.is_beyond(0.03)) => Verdict::Off,
            Some(_) | None => Verdict::Unclear,
        };
        Some(Self { pairs: pairs.len(), compared_in, ranks, dilation, noise, verdict })
    }
}

fn row(pairs: &[Pair], rank: usize) -> RankRow {
    let errors =
        |of: fn(&Measured) -> f64| pairs.iter().map(|pair| of(&pair.measured[rank]) / pair.unmeasured[rank].cycles - 1.0).collect::<Vec<f64>>();
    let error = |of: fn(&Measured) -> f64| median(errors(of));
    let cycles = median(pairs.iter().map(|pair| pair.unmeasured[rank].cycles).collect());
    let seconds_per_cycle = median(pairs.iter().map(|pair| pair.unmeasured[rank].seconds_per_cycle).collect());
    RankRow {
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
        uninstrumented_s: cycles * seconds_per_cycle,
        error: Each {
            uncompensated: error(|measured| measured.uncompensated),
            local: error(|measured| measured.local),
            parallel: error(|measured| measured.parallel),
        },
        between: around_median(errors(|measured| measured.parallel)),
    }
}

/// The middle value, or the mean of the two in the middle; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[length / 2],
        length => (values[length / 2 - 1] + values[length / 2]) / 2.0,
    }
}

/// Ends of the 95 % interval of the median, whatever the distribution: a pair of values, equally many from either end, outside of
/// which the median lies with the probability that so many heads or fewer fall in as many tosses as there are values. Below six
/// values it is from the least to the greatest.
fn around_median(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let tosses = values.len();
    let (mut heads, mut ways, mut fewer) = (0, 0.5_f64.powi(i32::try_from(tosses).unwrap_or(i32::MAX)), 0.0);
    while heads < tosses / 2 && fewer + ways <= 0.025 {
        fewer += ways;
        ways *= (tosses - heads) as f64 / (heads + 1) as f64;
        heads += 1;
    }
    let from_end = heads.max(1);
    if tosses == 0 { (0.0, 0.0) } else { (values[from_end - 1], values[tosses - from_end]) }
}

/// How far the medians of two random halves lie apart, as a fraction: the 90th percentile over 200 splits.
fn noise(values: &[f64]) -> Option<f64> {
    const SPLITS: usize = 200;
    if values.len() < 4 {
        return None;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut order: Vec<f64> = values.to_vec();
    let mut apart: Vec<f64> = (0..SPLITS)
        .map(|_| {
            for last in (1..order.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(last, (state >> 33) as usize % (last + 1));
            }
            let (one, other) = order.split_at(order.len() / 2);
            (median(one.to_vec()) / median(other.to_vec()) - 1.0).abs()
        })
        .collect();
    apart.sort_by(f64::total_cmp);
    Some(apart[SPLITS * 9 / 10])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine gets faster from pair to pair; measuring doubles the time; compensation is right on rank 1 alone
    /// when local, on both when parallel.
    fn drifting(pairs: usize) -> Vec<Pair> {
        (0..pairs)
            .map(|index| {
                let drift = 1.0 - index as f64 * 0.002;
                let unmeasured = Unmeasured { cycles: 1e9 * drift, seconds_per_cycle: 0.25e-9 / drift };
                let seconds_per_cycle = 0.25e-9 / drift;
                let measured =
                    |local: f64| Measured { uncompensated: 2e9 * drift, local: local * drift, parallel: 1.004e9 * drift, seconds_per_cycle };
                Pair { unmeasured: vec![unmeasured; 2], measured: vec![measured(2e9), measured(1.002e9)] }
            })
            .collect()
    }

    #[test]
    fn errors_are_told_pair_by_pair_so_that_drift_does_not_matter() {
        let table = Validation::of(&drifting(15)).expect("15 pairs");
        let near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-9;
        assert!(near(table.ranks[0].error.uncompensated, 1.0) && near(table.ranks[0].error.local, 1.0));
        assert!(near(table.ranks[1].error.local, 0.002) && near(table.ranks[1].error.parallel, 0.004));
        assert!(near(table.dilation, 1.0) && near(table.ranks[0].seconds().parallel, 0.251));
        assert_eq!(table.verdict, Verdict::Exact);
    }

    #[test]
    fn where_the_core_clock_jumps_seconds_are_compared() {
        let mut pairs = drifting(15);
        for (index, pair) in pairs.iter_mut().enumerate() {
            let jump = |time: usize| 1.0 + 0.4 * ((index + time) % 3) as f64;
            pair.unmeasured.iter_mut().for_each(|rank| *rank = Unmeasured { cycles: 1e9 * jump(0), seconds_per_cycle: 0.25e-9 / jump(0) });
            let measured = |rank: &mut Measured| {
                *rank = Measured { uncompensated: 2e9, local: 2e9, parallel: 1.004e9, seconds_per_cycle: 0.25e-9 / jump(1) };
                [&mut rank.uncompensated, &mut rank.local, &mut rank.parallel].into_iter().for_each(|time| *time *= jump(1));
            };
            pair.measured.iter_mut().for_each(measured);
        }
        let table = Validation::of(&pairs).expect("15 pairs");
        assert_eq!((table.compared_in, table.verdict), (ComparedIn::Seconds, Verdict::Exact));
        assert!((table.dilation - 1.0).abs() < 1e-9 && (table.ranks[0].uninstrumented_s - 0.25).abs() < 1e-9);
        for (index, pair) in pairs.iter_mut().enumerate() {
            *pair = drifting(1).remove(0);
            pair.unmeasured.iter_mut().for_each(|rank| rank.seconds_per_cycle *= 1.0 + 0.4 * (index % 3) as f64);
        }
        assert_eq!(Validation::of(&pairs).map(|table| (table.compared_in, table.verdict)), Some((ComparedIn::CoreCycles, Verdict::Exact)));
    }

    #[test]
    fn a_rank_that_is_off_is_not_hidden_by_the_others() {
        let mut pairs = drifting(15);
        for pair in &mut pairs {
            pair.measured[0].parallel *= 1.05;
        }
        assert_eq!(Validation::of(&pairs).map(|table| table.verdict), Some(Verdict::Off));
    }

    #[test]
    fn on_a_noisy_machine_a_difference_says_nothing() {
        let mut pairs = drifting(15);
        for (index, pair) in pairs.iter_mut().enumerate() {
            let stretch = if index % 2 == 0 { 1.0 } else { 1.8 };
            // The work itself takes longer, whatever it is counted in.
            pair.unmeasured.iter_mut().for_each(|rank| rank.cycles *= stretch);
            pair.measured[0].parallel *= 1.05;
        }
        assert_eq!(Validation::of(&pairs).map(|table| table.verdict), Some(Verdict::Unclear));
    }

    #[test]
    fn below_four_pairs_nothing_is_called_not_good() {
        let verdict = |number: usize| {
            let mut pairs = drifting(number);
            pairs.iter_mut().for_each(|pair| pair.measured[0].parallel *= 1.05);
            Validation::of(&pairs).map(|table| table.verdict)
        };
        assert_eq!([verdict(3), verdict(4)], [Some(Verdict::Unclear), Some(Verdict::Off)]);
    }

    #[test]
    fn what_only_some_pairs_say_is_not_told() {
        let mut pairs = drifting(15);
        for (index, pair) in pairs.iter_mut().enumerate() {
            // In the middle 4 % off, from pair to pair between nothing and more than that.
            pair.measured[0].parallel *= 1.0 + 0.08 * index as f64 / 14.0;
        }
        let table = Validation::of(&pairs).expect("pairs");
        let (low, high) = table.ranks[0].between;
        assert!(low < 0.03 && high > 0.05, "{low} {high}");
        assert_eq!(table.verdict, Verdict::Unclear);
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        let of = |values: i32| around_median((1..=values).map(f64::from).collect());
        // Tables of the sign test at 5 %, two-sided: one value from either end below nine, 4 of 15, 10 of 30.
        assert_eq!([of(1), of(6), of(8), of(9), of(15), of(30)], [(1.0, 1.0), (1.0, 6.0), (1.0, 8.0), (2.0, 8.0), (4.0, 12.0), (10.0, 21.0)]);
        assert_eq!(around_median(Vec::new()), (0.0, 0.0));
    }

    #[test]
    fn noise_needs_four_runs_and_is_nothing_where_all_are_equal() {
        assert_eq!(noise(&[1.0, 2.0, 3.0]), None);
        assert_eq!(noise(&[7.0; 9]), Some(0.0));
        assert!(noise(&[1.0, 1.1, 0.9, 1.05, 0.95, 1.0]).is_some_and(|noise| (0.01..0.25).contains(&noise)));
    }

    #[test]
    fn nothing_gives_no_table() {
        assert_eq!(Validation::of(&[]), None);
        assert_eq!(Validation::of(&[Pair { unmeasured: Vec::new(), measured: Vec::new() }]), None);
    }
}
