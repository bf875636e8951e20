//! What a probe costs: the estimator that the runtime applies in place and the tools apply afterwards.
//!
//! The cost of one and the same probe depends on the code around it, because the processor overlaps both.
//! So it is estimated per call path, from batches of calls with the probe on, off, and off with counting done once
//! more. Writing `on`, `off` and `twice` for the mean time per call in each kind of batch, and c for what
//! counting costs, a probe that is on costs `on − off + c`.
//!
//! While a path is off, its probes and those of all others, which are on, take different ways through the same code. Where the calls of a
//! program come in an order that the processor does not foresee, it does not foresee those ways either, and what it loses by that (60 cycles
//! a call and more) is no part of a probe that is on. Nor is what these others take longer then, because the way that they take, that of calls that are
//! off, is longer. So there are batches that are *diverted*: on, by that way. What they take longer, m = `diverted − on`, is what differing costs, and
//! a probe that is on costs `on + m − off + c`. What of m may be chance is left out, and so is what that way takes longer for the path's own calls. That is
//! known from a hot loop: 5 ticks on a Zen 5, 16 on a Sapphire Rapids, where m is 0.6 to 1.1 times that around bodies that stand alone in a loop, 1.3 to 1.6 times
//! in a nest of four functions, and 2.5 times where four are called in random order.
//!
//! The processor has room beside a body for some work, and what is beyond that takes time. So the more is done the more of it shows, and
//! of what is done first no larger a part than of what is added to it, d = `twice − off`. How large a part that is depends on what is around
//! the call. Where all of it takes no longer than counting does in a hot loop, nothing hides that: it begins a row of calls and returns anew, and takes
//! 5/4 d. Where it takes twice as long and more, half of it hides in what the body leaves free: c = d / 2. Between them c goes from the one to the
//! other. (On a Zen 5, counting takes 1.2 to 1.4 d around functions of an instruction or four, 0.9 around one of a few more, 1.7 d in a nest of them, and 0.3 to 0.6 around sums, loads
//! and chains of additions of 17 to 22 cycles.) The interval reaches further: behind branches that nothing predicts it is 1.5 d, and a loop that stores all the
//! time may even be faster with it, by half of d. Of what was done again only in part, c is as many times that as counting is in a hot loop.
//! What of d may be chance is left out.
//!
//! What pairs that stand close together cost is no sum of such estimates: see [`Pool`].
//!
//! Means, not medians, because the work of a path may be uneven; winsorised, because a batch that met an
//! interrupt says nothing about probes. Or by calls, if that is less: the first batches are shorter, and what a path does first may take longer, as
//! memory that is new does. But interrupts stretch overhead as they stretch work: the estimate is
//! multiplied by the mean of all batches but the longest over the winsorised mean.
//!
//! What always holds: figures are in [`COST_UNIT`]ths of a tick, `low ≤ value ≤ high`, none is negative, and
//! equal batches give equal figures on every machine.

mod together;

pub use together::{Company, OneByOne, Pool, Together};

use tare_format::graph::{BatchSums, COST_UNIT};

/// Batches of each kind below which there is no estimate: on, off, off with doubled counting, and diverted where there are such.
pub const LEAST_BATCHES: [u64; 4] = [6, 4, 2, 4];
/// Noise beyond this factor is taken for unevenness of the work.
const MOST_NOISE: f64 = 4.0;
/// Counting costs so many times what doing it once more does, where what is around a call takes no longer, and where that is long.
const BARE: f64 = 1.25;
const HIDDEN: f64 = 0.5;
/// Long is what takes so many times as long as counting in a hot loop; what takes that less once is not.
const LONG: f64 = 2.0;
/// It is taken to cost no more than so many times that.
const MORE: f64 = 2.0;
/// By so many times that it may have made a path faster, where it shows.
pub const LESS: f64 = 0.5;
/// No estimate is surer than so many ticks, about a core cycle: by as much moves what probes cost with where the code of a program lies.
const LEAST_REACH: f64 = 0.7;
/// The part of a sample that is clipped at either end.
const CLIPPED: usize = 10;

/// Cost of a pair of probes on one path, in [`COST_UNIT`]ths of a tick per call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// The best estimate.
    pub value: u64,
    /// Lower end of the 95 % interval.
    pub low: u64,
    /// Upper end of the 95 % interval.
    pub high: u64,
    /// What a call costs while the probe is off and calls are counted.
    pub off_cost: u64,
    /// The most that it may cost; it may cost nothing.
    pub off_high: u64,
    /// What a call costs beyond that in batches that count once more.
    pub again: u64,
    /// What a call that is on costs beyond the estimate in batches that are diverted.
    pub diverted: u64,
}

/// The batches of a path, by their kind.
#[derive(Clone, Copy, Debug)]
pub struct Kinds<'a> {
    /// Probe on.
    pub on: &'a BatchSums,
    /// Probe off, calls counted.
    pub off: &'a BatchSums,
    /// The same with counting done once more.
    pub off_twice: &'a BatchSums,
    /// Probe on, by the way of calls that are off; `None` where no batches are taken so, as nearly all calls are off.
    pub diverted: Option<&'a BatchSums>,
    /// What a pair by that way takes longer than one that is on, in a hot loop ([`COST_UNIT`]).
    pub longer: u64,
}

impl Cost {
    /// The larger distance from the estimate to an end of its interval.
    #[must_use]
    pub const fn half_width(&self) -> u64 {
        let (below, above) = (self.value - self.low, self.high - self.value);
        if below > above { below } else { above }
    }

    /// Whether an estimate says more than the prior does, whose interval reaches from nothing to the cost of a
    /// pair in a hot loop (0 where that is not known). One that does not, because the work of the path is
    /// uneven and its batches are few, must not stand for this path nor for others.
    #[must_use]
    pub const fn says_more_than_prior(&self, hot_pair: u64) -> bool {
        hot_pair == 0 || self.half_width() <= hot_pair / 2
    }
}

/// What counting a call costs in a hot loop, in [`COST_UNIT`]ths of a tick; zeros where it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HotCounting {
    /// Done once.
    pub once: u64,
    /// What doing it once more adds, or a part of it.
    pub again: u64,
}

/// Cost of a path from its batches; `None` where they are too few ([`LEAST_BATCHES`]). Where what counting costs in a hot loop is
/// not known, it is taken to cost as much the first time as the second.
#[must_use]
pub fn estimate(batches: Kinds<'_>, hot: HotCounting) -> Option<Cost> {
    let Kinds { on, off, off_twice, diverted, longer } = batches;
    let [with, without, twice] = [on, off, off_twice].map(Mean::of);
    let kinds = [(on, &with), (off, &without), (off_twice, &twice)];
    let [least @ .., least_diverted] = LEAST_BATCHES;
    let are_few = kinds.iter().zip(least).any(|((sums, _), least)| sums.batches < least);
    // Without them, whatever differing costs would be missing: more than a pair, where a program's branches are many.
    if are_few || diverted.is_some_and(|sums| sums.batches < least_diverted) {
        return None;
    }
    let noise = noise_factor(on, &with);
    let diversion = diversion_of(&with, diverted.map(Mean::of), longer as f64);
    let again = (twice.value - without.value).max(0.0);
    let counting = counting_of(again, square_root(without.variance + twice.variance), without.value, hot, HIDDEN);
    let value = ((with.value + diversion.value - without.value + counting.value) * noise).max(0.0);
    let freedom = kinds.iter().map(|(_, mean)| mean.size).min().unwrap_or(2).max(2) - 1;
    let reach = (student(freedom) * square_root(diversion.variance + without.variance)).max(LEAST_REACH * COST_UNIT as f64);
    // What is not known of counting goes the same way as chance does, at its worst.
    let (less, more) = (reach + counting.less + diversion.less, reach + counting.more + diversion.more);
    let (low, high) = ((value - less * noise).max(0.0), value + more * noise);
    let off = [counting.value, counting.value + counting.more].map(|counting| counting + diversion.value);
    let [off_cost, off_high, again, diverted] = [off[0], off[1], again, diversion.whole].map(|ticks| rounded(ticks * noise));
    Some(Cost { value: rounded(value), low: rounded(low), high: rounded(high), off_cost, off_high, again, diverted })
}

/// What it costs that a call takes another way than others do.
struct Diversion {
    /// What it takes longer by that way, without what chance may explain.
    whole: f64,
    /// What of that is the cost of differing.
    value: f64,
    /// How much less it may be.
    less: f64,
    /// How much more it may be.
    more: f64,
    /// The variance of it and of the time with the probe on, together.
    variance: f64,
}

/// What diverted calls take longer, without what chance may explain, is the longer way, as much as in a hot loop, and beyond that what
/// differing costs: of the path's own calls, and of those of others near by, which take that way as well while it is off or diverted. A body hides half of
/// the way at most; a branch that was not foreseen hides all of it, and is no shorter than the way.
fn diversion_of(on: &Mean, diverted: Option<Mean>, longer: f64) -> Diversion {
    let Some(diverted) = diverted else { return Diversion { whole: 0.0, value: 0.0, less: 0.0, more: 0.0, variance: on.variance } };
    let extra = diverted.value - on.value;
    let chance = student(on.size.min(diverted.size) - 1) * square_root(on.variance + diverted.variance);
    let whole = beyond_chance(extra.max(0.0), chance);
    let value = (whole - longer).max(0.0);
    let most = if whole < 2.0 * longer { (whole - longer / 2.0).max(value) } else { whole };
    Diversion { whole, value, less: longer.min(value), more: most - value, variance: on.variance.max(diverted.variance) }
}

/// What of a difference chance may not explain that reaches so far either way.
fn beyond_chance(difference: f64, chance: f64) -> f64 {
    if difference.abs() > chance { difference - chance * chance / difference } else { 0.0 }
}

/// What counting a call costs.
struct Counting {
    value: f64,
    /// How much less it may be.
    less: f64,
    /// How much more it may be.
    more: f64,
}

/// What counting a call costs, from what doing it once more adds, the standard error of that, what passes for each call that is counted, and
/// which part of it there is where that is long (see the head of this file).
fn counting_of(again: f64, error: f64, passed: f64, hot: HotCounting, hidden: f64) -> Counting {
    let [once, hot_again] = [hot.once, hot.again].map(|ticks| ticks as f64);
    let is_known = hot_again > 0.0;
    // The part that is done again takes longer alone than behind the rest: then it is all of it.
    let whole = if is_known { (once / hot_again).max(1.0) } else { 1.0 };
    let sure = beyond_chance(again, error) * whole;
    let around = passed - BARE * sure;
    let bareness = (LONG - around / (hot_again * whole)).clamp(0.0, 1.0);
    let value = if is_known { sure * (hidden + (BARE - hidden) * bareness) } else { sure };
    Counting { value, less: value + LESS * sure, more: MORE * (again + 2.0 * error) * whole - value }
}

/// Mean cost of the paths that were measured in place, weighted by their calls.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MeasuredMean {
    calls: f64,
    squared_calls: f64,
    cost: f64,
}

impl MeasuredMean {
    /// Adds a path with its estimated cost and its calls.
    pub fn add(&mut self, cost: u64, calls: u64) {
        let calls = calls as f64;
        self.calls += calls;
        self.squared_calls += calls * calls;
        self.cost += cost as f64 * calls;
    }

    /// Whether no path was measured.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.calls <= 0.0
    }

    /// The mean, as if one path more had been measured that costs what is usual (0 where that is not known): a single one, whose work was uneven, may say that pairs cost nothing, which
    /// then would hold for all. Paths count as many as they are, or fewer where most calls are those of some.
    #[must_use]
    pub fn towards(&self, usual: u64) -> u64 {
        if self.is_nothing() {
            return usual;
        }
        let paths = self.calls * self.calls / self.squared_calls;
        let usual_paths = if usual == 0 { 0.0 } else { 1.0 };
        rounded((usual as f64 + self.cost / self.calls * paths) / (usual_paths + paths))
    }
}

/// Cost of a path that was not measured in place: the mean of those that were, else what lies between the cost of a pair in a hot
/// loop, where nothing hides it, and beside work that hides a part of it (`least`). Programs do both better than kernels: anything
/// from an eighth of the least (which divisions come near to that take longer than the pair) to a quarter more than in the hot loop is possible.
#[must_use]
pub fn prior(hot_pair: u64, least: u64, measured: Option<u64>) -> Cost {
    let value = measured.unwrap_or(u64::midpoint(hot_pair, least));
    Cost { value, low: (least / 8).min(value), high: (hot_pair + hot_pair / 4).max(value), ..Cost::default() }
}

/// What a pair of hooks costs beside work that hides it, where that was only measured for probes: as large a part of what it costs
/// in a hot loop.
#[must_use]
pub fn least_of_hooks(hot_hook: u64, hot_pair: u64, least_pair: u64) -> u64 {
    if hot_pair == 0 { 0 } else { (u128::from(hot_hook) * u128::from(least_pair) / u128::from(hot_pair)) as u64 }
}

/// A winsorised mean with the variance of that mean.
struct Mean {
    value: f64,
    variance: f64,
    size: usize,
}

impl Mean {
    fn of(sums: &BatchSums) -> Self {
        let mut sample = sums.sample;
        let size = usize::try_from(sums.batches).unwrap_or(usize::MAX).min(sample.len());
        let Some(sample) = sample.get_mut(..size).filter(|sample| !sample.is_empty()) else {
            return Self { value: 0.0, variance: 0.0, size: 0 };
        };
        sample.sort_unstable();
        let clipped = size.div_ceil(CLIPPED).min((size - 1) / 2);
        let (low, high) = (sample[clipped], sample[size - 1 - clipped]);
        let values = || sample.iter().map(|&value| f64::from(value.clamp(low, high)));
        let count = size as f64;
        let mean = values().sum::<f64>() / count;
        let spread = values().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0).max(1.0);
        let kept = 1.0 - 2.0 * clipped as f64 / count;
        let by_calls = sums.ticks as f64 * COST_UNIT as f64 / sums.calls.max(1) as f64;
        Self { value: mean.min(by_calls), variance: spread / (count * kept * kept), size }
    }
}

/// By how much interrupts and the like stretched the batches as a whole. The longest one is left out: where batches are
/// few, as with a budget, it alone would say that a thread that lost its core once runs several times as long.
fn noise_factor(sums: &BatchSums, mean: &Mean) -> f64 {
    let ticks = sums.ticks.saturating_sub(sums.longest);
    let calls = sums.calls - sums.calls / sums.batches.max(1);
    let all = ticks as f64 * COST_UNIT as f64 / calls.max(1) as f64;
    if mean.value <= 0.0 { 1.0 } else { (all / mean.value).clamp(1.0, MOST_NOISE) }
}

/// The factor from a standard error to a 95 % interval, on the safe side of Student's.
fn student(freedom: usize) -> f64 {
    1.96 + 3.6 / freedom as f64
}

/// Newton's method; `core` has no square root.
fn square_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = if value > 1.0 { value } else { 1.0 };
    loop {
        let next = 0.5 * (root + value / root);
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// To the nearest whole unit; the values given are not negative and far below 2⁶⁴.
fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::{Cost, HIDDEN, HotCounting, Kinds, LEAST_REACH, LESS, MORE, MeasuredMean, least_of_hooks, prior, square_root};
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
    use tare_format::graph::{BatchSums, COST_UNIT, SAMPLE};

    /// As far as the surest estimate reaches.
    const LEAST: u64 = (LEAST_REACH * COST_UNIT as f64) as u64;
    const UNKNOWN: HotCounting = HotCounting { once: 0, again: 0 };

    /// The estimate without batches that are diverted.
    fn estimate(on: &BatchSums, off: &BatchSums, off_twice: &BatchSums, hot: HotCounting) -> Option<Cost> {
        super::estimate(Kinds { on, off, off_twice, diverted: None, longer: 0 }, hot)
    }

    /// Batches of 1024 calls with these ticks per call, in 256ths.
    pub(super) fn batches(per_call: &[u32]) -> BatchSums {
        let mut sums = BatchSums { batches: per_call.len() as u64, ..BatchSums::NONE };
        for (index, &value) in per_call.iter().enumerate() {
            let ticks = u64::from(value) * 1024 / 256;
            sums.ticks += ticks;
            sums.calls += 1024;
            sums.longest = sums.longest.max(ticks);
            sums.sample[index % SAMPLE] = value;
        }
        sums
    }

    #[test]
    fn the_cost_is_on_minus_off_plus_what_counting_costs() {
        let cost = estimate(&batches(&[20_000; 30]), &batches(&[9_000; 8]), &batches(&[9_500; 3]), UNKNOWN);
        let (low, high) = (11_500 - 750 - LEAST, 11_500 + 500 + LEAST);
        assert_eq!(cost, Some(Cost { value: 11_500, low, high, off_cost: 500, off_high: 1_000, again: 500, diverted: 0 }));
    }

    /// A molecular-dynamics code on a busy machine: calls of 5000 to 50 000 ticks, whose mean cost of a pair came
    /// out as 17 779 ticks and stood for millions of calls of other paths.
    #[test]
    fn an_estimate_from_uneven_work_says_no_more_than_the_prior() {
        let hot_pair = 70 * 256;
        let uneven: [u32; 12] = core::array::from_fn(|index| 256 * (3_000 + 4_500 * index as u32));
        let cost = estimate(&batches(&uneven), &batches(&uneven[..8]), &batches(&uneven[2..5]), UNKNOWN).expect("enough batches");
        assert!(!cost.says_more_than_prior(hot_pair) && cost.says_more_than_prior(0));
        let even = estimate(&batches(&[20_000; 30]), &batches(&[9_000; 8]), &batches(&[9_500; 3]), UNKNOWN).expect("enough batches");
        assert!(even.says_more_than_prior(hot_pair));
    }

    pub(super) const fn unit(ticks: f64) -> u32 {
        (ticks * 256.0) as u32
    }

    /// Loads that need one another on a Zen 5: plain 28.4 ticks.
    #[test]
    fn counting_that_hides_behind_the_body_costs_next_to_nothing() {
        let (on, off, twice) = (batches(&[unit(44.1); 30]), batches(&[unit(28.4); 8]), batches(&[unit(28.6); 3]));
        let hot = HotCounting { once: u64::from(unit(3.0)), again: u64::from(unit(4.3)) };
        let cost = estimate(&on, &off, &twice, hot).expect("enough batches");
        let added = f64::from(unit(28.6) - unit(28.4));
        let counting = HIDDEN * added;
        assert_eq!((cost.value, cost.off_cost), (u64::from(unit(44.1) - unit(28.4)) + counting.round() as u64, counting.round() as u64));
        let reach = LEAST_REACH * f64::from(unit(1.0));
        let ends = [cost.value - cost.low, cost.high - cost.value].map(|distance| distance as f64);
        assert!((ends[0] - counting - LESS * added - reach).abs() < 2.0 && (ends[1] - MORE * added + counting - reach).abs() < 2.0, "{cost:?}");
    }

    #[test]
    fn counting_that_nothing_hides_costs_more_than_doing_it_again() {
        let (on, off, twice) = (batches(&[20_000; 30]), batches(&[4_000; 8]), batches(&[6_000; 3]));
        let cost = |once| estimate(&on, &off, &twice, HotCounting { once, again: 2_000 }).expect("enough batches");
        let found = |cost: Cost| (cost.value, cost.low, cost.high, cost.off_cost, cost.off_high, cost.again);
        assert_eq!(found(cost(1_500)), (18_500, 15_000 - LEAST, 20_000 + LEAST, 2_500, 4_000, 2_000));
        // Half of it is done again.
        assert_eq!(found(cost(4_000)), (21_000, 14_000 - LEAST, 24_000 + LEAST, 5_000, 8_000, 2_000));
    }

    /// What is around the call takes as long as counting in a hot loop, once and a half as long, twice and ten times as long.
    #[test]
    fn of_counting_more_hides_the_longer_what_is_around_a_call_takes() {
        let hot = HotCounting { once: 768, again: 1_000 };
        let cost = |off: u32| estimate(&batches(&[20_000; 30]), &batches(&[off; 8]), &batches(&[off + 800; 4]), hot).expect("enough batches");
        assert_eq!([2_000, 2_500, 3_000, 11_000].map(|off| cost(off).off_cost), [1_000, 700, 400, 400]);
    }

    #[test]
    fn counting_may_show_more_than_it_did_by_chance() {
        let hot = HotCounting { once: 4_000, again: 4_000 };
        let uneven = |twice: [u32; 4]| estimate(&batches(&[60_000; 30]), &batches(&[20_000; 8]), &batches(&twice), hot).expect("enough batches");
        let by_chance = uneven([18_500, 19_900, 21_000, 22_500]);
        assert!(by_chance.off_cost == 0 && by_chance.off_high > 1_000, "{by_chance:?}");
        let for_sure = uneven([21_000, 20_900, 21_100, 21_000]);
        assert!((495..505).contains(&for_sure.off_cost) && for_sure.off_high >= 1_750, "{for_sure:?}");
    }

    /// Four functions of one instruction that are called through a pointer in random order, on a Zen 4: counting a call of one of them takes
    /// 50 ticks as long as the others are on, and next to nothing while they are off as well.
    #[test]
    fn what_differing_costs_is_no_part_of_a_probe_that_is_on() {
        let hot = HotCounting { once: u64::from(unit(5.0)), again: u64::from(unit(5.0)) };
        let sums = [&[unit(148.0); 30][..], &[unit(154.0); 10], &[unit(159.0); 4], &[unit(192.0); 6]].map(batches);
        let kinds = Kinds { on: &sums[0], off: &sums[1], off_twice: &sums[2], diverted: Some(&sums[3]), longer: hot.once };
        let cost = super::estimate(kinds, hot).expect("enough batches");
        assert_eq!((cost.diverted, cost.value), (u64::from(unit(44.0)), u64::from(unit(192.0 - 154.0 - 5.0 + 2.5))));
        assert_eq!((cost.off_cost, cost.high), (u64::from(unit(44.0 - 5.0 + 2.5)), u64::from(unit(192.0 - 154.0 + 2.0 * 5.0 + LEAST_REACH))));
        assert_eq!(super::estimate(Kinds { diverted: Some(&batches(&[unit(192.0); 3])), ..kinds }, hot), None, "nobody knows what differing costs");
    }

    #[test]
    fn what_chance_or_a_longer_way_may_explain_costs_nothing() {
        let diverted = |values: &[u32], longer: u64| {
            let sums = [&[20_000; 30][..], &[9_000; 8], &[9_000; 3]].map(batches);
            let kinds = Kinds { on: &sums[0], off: &sums[1], off_twice: &sums[2], diverted: Some(&batches(values)), longer };
            super::estimate(kinds, UNKNOWN).expect("enough batches")
        };
        assert_eq!(diverted(&[19_000, 21_500, 20_100, 20_200, 20_300, 19_800], 0).diverted, 0);
        assert_eq!((diverted(&[19_000; 6], 0).diverted, diverted(&[19_000; 6], 0).value), (0, 11_000));
        let even = [26_000, 26_100, 25_900, 26_000, 26_050, 25_950];
        let sure = diverted(&even, 0);
        assert!((5_900..6_000).contains(&sure.diverted) && sure.value == 11_000 + sure.diverted, "{sure:?}");
        // The way itself may be as long, or most of it; or half of it may be hidden, and all where much is left.
        let [alone, mostly, barely] = [diverted(&even, 6_500), diverted(&even, 4_000), diverted(&even, 2_000)];
        assert!([alone, mostly, barely].iter().all(|cost| cost.diverted == sure.diverted));
        assert!(alone.value == 11_000 && (2_800..3_000).contains(&(alone.high - alone.value)), "{alone:?}");
        assert!(
            (12_900..13_000).contains(&mostly.value) && mostly.low <= 11_000 && (2_100..2_300).contains(&(mostly.high - mostly.value)),
            "{mostly:?}"
        );
        assert!((14_900..15_000).contains(&barely.value) && barely.low <= 13_000 && barely.high > 17_000, "{barely:?}");
    }

    #[test]
    fn too_few_batches_of_any_kind_give_no_estimate() {
        let (on, off, twice) = (batches(&[9; 6]), batches(&[5; 4]), batches(&[6; 2]));
        assert!(estimate(&on, &off, &twice, UNKNOWN).is_some());
        assert_eq!(estimate(&batches(&[9; 5]), &off, &twice, UNKNOWN), None);
        assert_eq!(estimate(&on, &batches(&[5; 3]), &twice, UNKNOWN), None);
        assert_eq!(estimate(&on, &off, &batches(&[6; 1]), UNKNOWN), None);
    }

    #[test]
    fn interrupted_batches_count_as_noise_and_not_as_cost() {
        let mut on = [20_000; 40];
        (on[7], on[20]) = (60_000, 60_000);
        let cost = estimate(&batches(&on), &batches(&[10_000; 10]), &batches(&[10_000; 4]), UNKNOWN).expect("enough batches");
        assert_eq!(cost.value, 10_513, "10,000 × mean of 39, 21,026 over 20,000");
    }

    /// A busy machine, where one batch of sixty lost its core for a while: the cost came out three times that of a hot loop.
    #[test]
    fn one_interrupted_batch_says_nothing_of_noise() {
        let mut on = [20_000; 60];
        on[7] = 3_000_000;
        let cost = estimate(&batches(&on), &batches(&[10_000; 10]), &batches(&[10_000; 4]), UNKNOWN).expect("enough batches");
        assert_eq!(cost.value, 10_000);
    }

    #[test]
    fn a_probe_that_hides_behind_the_program_costs_nothing() {
        let cost = estimate(&batches(&[50_000; 20]), &batches(&[50_100; 6]), &batches(&[50_000; 3]), UNKNOWN);
        assert_eq!(cost.map(|cost| (cost.value, cost.low)), Some((0, 0)));
    }

    #[test]
    fn the_prior_lies_between_the_two_kernels_or_is_what_measured_paths_say() {
        assert_eq!(prior(11_000, 7_000, None).value, 9_000);
        assert_eq!(least_of_hooks(22_000, 11_000, 7_000), 14_000);
        assert_eq!(prior(11_000, 7_000, Some(3_000)), Cost { value: 3_000, low: 875, high: 13_750, ..Cost::default() });
        assert_eq!(prior(2_000, 0, Some(3_000)), Cost { value: 3_000, low: 0, high: 3_000, ..Cost::default() });
    }

    #[test]
    fn a_single_path_does_not_say_for_all_that_pairs_cost_nothing() {
        let mut mean = MeasuredMean::default();
        assert_eq!((mean.is_nothing(), mean.towards(9_000)), (true, 9_000));
        mean.add(0, 1_000);
        assert_eq!((mean.is_nothing(), mean.towards(9_000)), (false, 4_500));
        assert_eq!(mean.towards(0), 0, "what is usual is not known");
        // A second one of few calls is hardly one.
        mean.add(0, 1);
        assert!((4_490..4_500).contains(&mean.towards(9_000)), "{}", mean.towards(9_000));
        (1..50).for_each(|_| mean.add(3_000, 1_000));
        assert!((3_000..3_100).contains(&mean.towards(9_000)), "{}", mean.towards(9_000));
    }

    #[test]
    fn square_roots_are_exact_to_the_last_digits() {
        for value in [1e-9, 0.25, 2.0, 1e6, 7.3e18] {
            assert!((square_root(value) - f64::sqrt(value)).abs() <= f64::sqrt(value) * 1e-12, "{value}");
        }
        assert_eq!(square_root(0.0), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn intervals_hold_their_value(
            on in proptest::collection::vec(0_u32..1 << 28, 6..SAMPLE),
            off in proptest::collection::vec(0_u32..1 << 28, 4..SAMPLE),
            twice in proptest::collection::vec(0_u32..1 << 28, 2..SAMPLE),
        ) {
            let cost = estimate(&batches(&on), &batches(&off), &batches(&twice), UNKNOWN).expect("enough batches");
            prop_assert!(cost.low <= cost.value && cost.value <= cost.high);
        }

        #[test]
        fn the_order_of_batches_does_not_matter(mut on in proptest::collection::vec(9_000_u32..11_000, 6..SAMPLE)) {
            let others = (batches(&[5_000; 8]), batches(&[5_100; 4]));
            let forwards = estimate(&batches(&on), &others.0, &others.1, UNKNOWN);
            on.reverse();
            prop_assert_eq!(forwards, estimate(&batches(&on), &others.0, &others.1, UNKNOWN));
        }

        #[test]
        fn work_that_every_call_does_cancels(work in 0_u32..1 << 20) {
            let plus = |base: u32| batches(&[base + work; 16]);
            let cost = estimate(&plus(9_000), &plus(4_000), &plus(4_300), UNKNOWN).expect("enough batches");
            prop_assert_eq!((cost.value, cost.off_cost), (5_300, 300));
        }
    }
}
