//! What pairs of probes cost together, as a multiple of what they cost one by one.
//!
//! What a path saves by its absence is not its part of what all that are near cost: a processor hides the work of a whole nest of short
//! functions behind any of them, and one whose caches and predictors are full loses more with each. So there are batches in company: all
//! that passes in a thread is compared, with all paths on and with all quiet, for each [`COMPANY_UNIT`] ticks that the pairs of the calls in
//! it cost one by one. A path that has few of these, and every one that has none, goes by those of all paths of its thread: as near to their
//! mean as they are to each other, and the nearer the less its own are sure (R. DerSimonian, N. Laird, *Meta-analysis in clinical trials*,
//! Controlled Clinical Trials 7, 1986). How much batches differ from one another is known for all paths at once, since two or three of one
//! say nothing of that.

use super::{HotCounting, Mean, counting_of, noise_factor, square_root, student};
use tare_format::graph::{BatchSums, COMPANY_UNIT, COST_UNIT};

/// Pairs are taken to cost together no more than so many times what they cost one by one.
const MOST_TOGETHER: f64 = 4.0;
/// Counting costs so many times what doing it once more does, where a body that would hide it is long, but the calls of many paths follow one another:
/// what it finds in no cache the first time it finds there the second. (In tachyon, on a Sapphire Rapids, 15 ticks a call, and 9 once more.)
const HIDDEN_TOGETHER: f64 = 1.0;
/// The standard deviation of that multiple among programs, whose mean is one.
const AMONG_PROGRAMS: f64 = 0.25;
/// Batches of a kind, beyond one for each path, from which on it is known how much they differ.
const LEAST_SPREAD: f64 = 3.0;
/// No multiple is known better than that.
const LEAST_ERROR: f64 = 0.01;

/// The part of the cost, in hundredths, that is others' where there is company.
const LEAST_OTHERS: u64 = 2;

/// Batches in company: all that passes, for each [`COMPANY_UNIT`] ticks that the pairs of all calls cost one by one.
#[derive(Clone, Debug)]
pub struct Company {
    /// All on.
    pub on: BatchSums,
    /// All quiet.
    pub quiet: BatchSums,
    /// The same with counting done once more.
    pub twice: BatchSums,
    /// What counting took in those that were quiet, had it taken as long as in a hot loop ([`COST_UNIT`]).
    pub counted: u64,
    /// The same of what is done once more.
    pub counted_again: u64,
    /// What the pairs of all calls cost one by one ([`COST_UNIT`]).
    pub all: u64,
    /// The same without those of the path itself.
    pub others: u64,
}

impl Company {
    /// Whether next to nothing is there but the path's own pairs, so that one by one is all that there is.
    #[must_use]
    pub const fn is_alone(&self) -> bool {
        self.others < self.all / 100 * LEAST_OTHERS
    }
}

/// What the pairs of some calls cost one by one, and what counting these calls takes in a hot loop. What pairs were taken to cost when
/// batches in company were taken is not what they are known to cost later; and of the calls that were quiet, some were so in batches that were given up.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OneByOne {
    pairs: f64,
    counting: f64,
}

impl OneByOne {
    /// With those of these quiet batches, as was known when they were taken.
    #[must_use]
    pub fn with_batches(self, company: &Company) -> Self {
        let units = company.quiet.calls + company.twice.calls;
        self.plus(units as f64 * (COMPANY_UNIT * COST_UNIT) as f64, company.counted as f64)
    }

    /// With calls of a path, of which a pair costs so much one by one, and counting so much in a hot loop ([`COST_UNIT`]).
    #[must_use]
    pub fn with_calls(self, calls: u64, pair: u64, counting: u64) -> Self {
        self.plus(calls as f64 * pair as f64, calls as f64 * counting as f64)
    }

    fn plus(self, pairs: f64, counting: f64) -> Self {
        Self { pairs: self.pairs + pairs, counting: self.counting + counting }
    }

    /// How many times that of other calls it is; one where one of the two says nothing.
    #[must_use]
    pub fn over(self, other: Self) -> f64 {
        let says = |sums: &Self| sums.pairs > 0.0 && sums.counting > 0.0;
        if says(&self) && says(&other) { self.pairs * other.counting / (self.counting * other.pairs) } else { 1.0 }
    }
}

/// What pairs cost together, as a multiple of what they cost one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Together {
    /// The best estimate.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Together {
    /// As one by one.
    pub const ALONE: Self = Self { value: 1.0, low: 1.0, high: 1.0 };

    /// The same where one by one they are known to cost so many times what they were taken to cost.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let [value, low, high] = [self.value, self.low, self.high].map(|multiple| (multiple * factor).clamp(0.0, MOST_TOGETHER));
        Self { value, low, high }
    }

    /// The same of a pair with which only this part of what is near are others.
    #[must_use]
    pub fn of_part(self, part: f64) -> Self {
        let [value, low, high] = [self.value, self.low, self.high].map(|multiple| 1.0 + (multiple - 1.0) * part);
        Self { value, low, high }
    }
}

/// What the pairs of a thread cost together, from the batches in company of all its paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pool {
    spreads: Spreads,
    mean: f64,
    /// The variance of the mean.
    variance: f64,
    /// The variance of paths around it.
    between: f64,
    /// By how much less it may be, and by how much more, because it is not known what counting costs.
    less: f64,
    more: f64,
}

impl Pool {
    /// `None` where there are too few batches.
    #[must_use]
    pub fn of(companies: impl Iterator<Item = Company> + Clone) -> Option<Self> {
        let companies = companies.filter(|company| !company.is_alone());
        let spreads = Spreads::of(companies.clone())?;
        let seen = || companies.clone().filter_map(|company| spreads.seen(&company));
        let between = variance_between(seen())?;
        let mut sums = Sums::default();
        seen().for_each(|seen| sums.add(&seen, 1.0 / (seen.variance + between)));
        let Sums { weight, value, less, more, .. } = sums;
        let own = 1.0 / weight;
        // Programs do not differ without end.
        let kept = AMONG_PROGRAMS * AMONG_PROGRAMS / (AMONG_PROGRAMS * AMONG_PROGRAMS + own);
        Some(Self { spreads, mean: 1.0 + (value / weight - 1.0) * kept, variance: own * kept, between, less: less / weight, more: more / weight })
    }

    /// How far all of them may be off the same way, as parts of what they cost: less, and more.
    #[must_use]
    pub fn reach(&self) -> (f64, f64) {
        let reach = 1.96 * square_root(self.variance);
        let part = |reach: f64| if self.mean > 0.0 { (reach / self.mean).min(1.0) } else { 1.0 };
        (part(reach + self.less), part(reach + self.more))
    }

    /// What the pairs around a path cost together, with its own batches if it has any.
    #[must_use]
    pub fn around(&self, own: Option<&Company>) -> Together {
        if own.is_some_and(Company::is_alone) {
            return Together::ALONE;
        }
        let &Self { mean, between, variance, less, more, .. } = self;
        let seen = match own.and_then(|own| self.spreads.seen(own)) {
            None => Seen { value: mean, variance: between + variance, less, more },
            Some(own) => {
                let part = between / (between + own.variance);
                let rest = 1.0 - part;
                let mean = |own: f64, usual: f64| usual + (own - usual) * part;
                let variance = own.variance * part + variance * rest * rest;
                Seen { value: mean(own.value, self.mean), variance, less: mean(own.less, less), more: mean(own.more, more) }
            }
        };
        let reach = 1.96 * square_root(seen.variance);
        let multiple = |value: f64| value.clamp(0.0, MOST_TOGETHER);
        Together { value: multiple(seen.value), low: multiple(seen.value - reach - seen.less), high: multiple(seen.value + reach + seen.more) }
    }
}

/// What the batches of one path say.
#[derive(Clone, Copy)]
struct Seen {
    value: f64,
    variance: f64,
    /// See [`Pool`].
    less: f64,
    more: f64,
}

/// How much the batches of a path differ from one another, as the variance of one for a mean of one: all on, all quiet, counted twice.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Spreads([f64; 3]);

impl Spreads {
    fn of(companies: impl Iterator<Item = Company>) -> Option<Self> {
        let mut sums = [(0.0, 0.0); 3];
        for Company { on, quiet, twice, .. } in companies {
            for ((freedom, squares), batches) in sums.iter_mut().zip([&on, &quiet, &twice]) {
                let mean = Mean::of(batches);
                if mean.size > 1 && mean.value > 0.0 {
                    let free = (mean.size - 1) as f64;
                    *freedom += free;
                    *squares += free * mean.variance * mean.size as f64 / (mean.value * mean.value);
                }
            }
        }
        let [on, quiet, twice] = sums;
        let known = |(freedom, squares): (f64, f64)| (freedom >= LEAST_SPREAD).then(|| squares / freedom);
        let [on, quiet] = [known(on)?, known(quiet)?];
        Some(Self([on, quiet, known(twice).unwrap_or(quiet)]))
    }

    /// What the batches of a path say, if it has some of both kinds.
    fn seen(&self, company: &Company) -> Option<Seen> {
        let Company { on, quiet, twice, .. } = company;
        let [with, without, again] = [on, quiet, twice].map(Mean::of);
        if with.size.min(without.size) < 2 {
            return None;
        }
        let [on_spread, quiet_spread, twice_spread] = self.0;
        let variance = |mean: &Mean, spread: f64| mean.value * mean.value * spread / mean.size.max(1) as f64;
        let quiet_variance = variance(&without, quiet_spread);
        let units = (quiet.calls + twice.calls).max(1);
        let hot = HotCounting { once: company.counted / units, again: company.counted_again / units };
        let added = (again.value - without.value).max(0.0);
        let error = square_root(quiet_variance + variance(&again, twice_spread));
        // Where all is quiet, counting is most of what there is: nothing hides it, unless that is seen.
        let is_seen = again.size > 0 && student(again.size.max(2) - 1) * error < hot.again as f64 / 2.0;
        let (added, error) = if is_seen { (added, error) } else { (hot.again as f64, 0.0) };
        let counting = counting_of(added, error, without.value, hot, HIDDEN_TOGETHER);
        let noise = noise_factor(on, &with) / (COMPANY_UNIT * COST_UNIT) as f64;
        Some(Seen {
            value: (with.value - without.value + counting.value) * noise,
            variance: (variance(&with, on_spread) + quiet_variance) * noise * noise + LEAST_ERROR * LEAST_ERROR,
            less: counting.less * noise,
            more: counting.more * noise,
        })
    }
}

/// Weighted sums of what is seen of several paths.
#[derive(Default)]
struct Sums {
    weight: f64,
    squared_weight: f64,
    value: f64,
    squared_value: f64,
    less: f64,
    more: f64,
    paths: f64,
}

impl Sums {
    fn add(&mut self, seen: &Seen, weight: f64) {
        self.paths += 1.0;
        self.weight += weight;
        self.squared_weight += weight * weight;
        self.value += weight * seen.value;
        self.squared_value += weight * seen.value * seen.value;
        self.less += weight * seen.less;
        self.more += weight * seen.more;
    }
}

/// The variance between paths, beyond what chance explains (DerSimonian and Laird); `None` where nothing is seen.
fn variance_between(seen: impl Iterator<Item = Seen>) -> Option<f64> {
    let mut sums = Sums::default();
    seen.for_each(|seen| sums.add(&seen, 1.0 / seen.variance));
    if sums.paths == 0.0 {
        return None;
    }
    let heterogeneity = sums.squared_value - sums.value * sums.value / sums.weight;
    let scale = sums.weight - sums.squared_weight / sums.weight;
    Some(if scale > 0.0 { ((heterogeneity - (sums.paths - 1.0)) / scale).max(0.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{batches, unit};
    use super::super::{BARE, LESS, MORE};
    use super::*;
    use std::vec::Vec;
    use tare_format::graph::BatchSums;

    /// Batches of a path: ticks with all on, all quiet, and counted twice.
    #[derive(Clone)]
    struct Path {
        on: BatchSums,
        quiet: BatchSums,
        twice: BatchSums,
    }

    fn path(on: &[f64], quiet: &[f64], twice: &[f64]) -> Path {
        let [on, quiet, twice] = [on, quiet, twice].map(|ticks| batches(&ticks.iter().map(|&ticks| unit(ticks)).collect::<Vec<_>>()));
        Path { on, quiet, twice }
    }

    impl Path {
        /// With what counting takes in a hot loop for each unit, once and again.
        fn counted(&self, once: f64, again: f64) -> Company {
            let Self { on, quiet, twice } = self.clone();
            let counted = |ticks: f64| u64::from(unit(ticks)) * (self.quiet.calls + self.twice.calls);
            Company { on, quiet, twice, counted: counted(once), counted_again: counted(again), all: 1000, others: 500 }
        }
    }

    /// So many batches around a mean, by as much to either side.
    fn around(mean: f64, by: f64, batches: usize) -> Vec<f64> {
        (0..batches).map(|batch| if batch % 2 == 0 { mean - by } else { mean + by }).collect()
    }

    /// A nest of four functions on a Zen 5, where reading the clock takes as long whatever is between: each pair takes 46.5 ticks by its
    /// absence, and all four 166 together. For each 16 ticks that they cost one by one: 16.3 with all on, 3.9 with all quiet, 5.2 with calls counted twice.
    #[test]
    fn pairs_that_hide_the_same_work_cost_less_together() {
        let nest = path(&[16.3; 20], &[3.9; 15], &[5.2; 4]);
        let company = nest.counted(1.9, 1.3);
        let together = Pool::of([company.clone()].into_iter()).expect("enough batches").around(Some(&company));
        assert!((together.value - (16.3 - 3.9 + BARE * 1.9) / 16.0).abs() < 0.003, "{together:?}");
        assert!(
            (together.low - (12.4 - LESS * 1.9) / 16.0).abs() < 0.03 && (together.high - (12.4 + MORE * 1.9) / 16.0).abs() < 0.03,
            "{together:?}"
        );
    }

    #[test]
    fn paths_that_differ_by_chance_alone_go_by_their_mean() {
        let paths = [15.0, 17.0, 16.0, 19.0, 18.0].map(|on| path(&around(on + 10.0, 3.0, 4), &around(10.0, 1.0, 4), &[]));
        let companies = || paths.iter().map(|path| path.counted(0.0, 0.0));
        let pool = Pool::of(companies()).expect("enough batches");
        let usual = pool.around(None);
        // Two batches of five paths each, by two and a bit ticks of sixteen.
        let (less, more) = pool.reach();
        assert!(less == more && (0.12..0.2).contains(&less), "{less} {more}");
        assert!((usual.value - 17.0 / 16.0).abs() < 0.03 && usual.low < 1.0 && usual.high > 1.1, "{usual:?}");
        for company in companies() {
            assert_eq!(pool.around(Some(&company)).value, usual.value);
        }
    }

    #[test]
    fn paths_that_differ_for_sure_go_by_their_own() {
        let paths = [8.0, 24.0, 16.0, 20.0].map(|on| path(&around(on + 10.0, 0.5, 20), &around(10.0, 0.5, 20), &[]));
        let companies = || paths.iter().map(|path| path.counted(0.0, 0.0));
        let pool = Pool::of(companies()).expect("enough batches");
        let own: Vec<f64> = companies().map(|company| pool.around(Some(&company)).value).collect();
        assert!(own.iter().zip([0.5, 1.5, 1.0, 1.25]).all(|(own, truth)| (own - truth).abs() < 0.01), "{own:?}");
        let usual = pool.around(None);
        assert!((usual.value - 1.06).abs() < 0.03 && usual.low < 0.5 && usual.high > 1.5, "{usual:?}");
    }

    #[test]
    fn what_is_not_sure_is_nearer_to_one() {
        let uneven = path(&[12.0, 70.0, 16.0, 9.0, 65.0, 16.0], &[3.0, 9.0, 5.0, 3.0], &[3.0, 8.0]);
        let company = uneven.counted(0.0, 0.0);
        let together = Pool::of([company.clone()].into_iter()).expect("enough batches").around(Some(&company));
        assert!(together.value > 1.0 && together.value < 1.2 && together.low < 0.8 && together.high > 1.4, "{together:?}");
    }

    #[test]
    fn too_few_batches_say_nothing() {
        for (on, quiet) in [(3, 9), (9, 3), (0, 0), (1, 30)] {
            let few = path(&around(16.0, 1.0, on), &around(4.0, 1.0, quiet), &[]);
            assert_eq!(Pool::of([few.counted(1.9, 1.3)].into_iter()), None, "{on} on, {quiet} quiet");
        }
        let [known, unknown] = [9, 1].map(|batches| path(&around(20.0, 1.0, batches), &around(4.0, 1.0, batches), &[]));
        let pool = Pool::of([known.counted(0.0, 0.0)].into_iter()).expect("enough batches");
        assert_eq!(pool.around(Some(&unknown.counted(0.0, 0.0))), pool.around(None));
    }

    #[test]
    fn a_path_that_is_alone_costs_what_it_does_one_by_one() {
        let path = path(&around(20.0, 1.0, 9), &around(4.0, 1.0, 9), &[]);
        let [company, alone] = [500, 10].map(|others| Company { others, ..path.counted(0.0, 0.0) });
        let pool = Pool::of([company.clone(), alone.clone()].into_iter()).expect("enough batches");
        assert_eq!((Some(pool), Pool::of([alone.clone()].into_iter())), (Pool::of([company].into_iter()), None));
        assert_eq!(pool.around(Some(&alone)), Together::ALONE);
    }

    #[test]
    fn what_pairs_were_taken_to_cost_is_held_against_what_they_do() {
        let path = path(&around(20.0, 1.0, 9), &around(4.0, 1.0, 9), &[]);
        let then = OneByOne::default().with_batches(&path.counted(2.0, 2.0));
        let calls = |pair: u64| OneByOne::default().with_calls(900, pair * COST_UNIT, 8 * COST_UNIT).with_calls(100, pair * COST_UNIT, 8 * COST_UNIT);
        assert!((then.over(calls(64)) - 1.0).abs() < 1e-9 && (then.over(calls(80)) - 0.8).abs() < 1e-9);
        assert_eq!(then.over(OneByOne::default()), 1.0);
    }

    #[test]
    fn a_multiple_has_an_end_and_only_others_count() {
        let together = Together { value: 1.0, low: 0.5, high: 3.0 }.times(2.0);
        assert_eq!(together, Together { value: 2.0, low: 1.0, high: MOST_TOGETHER });
        assert_eq!(together.of_part(0.5), Together { value: 1.5, low: 1.0, high: 2.5 });
    }
}
