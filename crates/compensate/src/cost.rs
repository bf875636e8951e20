//! What a pair of probes costs on each call path, in ticks, from the batches that were switched off.
//!
//! The arithmetic is that of [`tare_delay::cost`], which the runtime applies to the same batches; here it is
//! applied to all of them. Only the sum of a pair is known from batches. How it divides into what lies
//! between the region's own clock readings (paper 4's α) and what lies outside (β) is bounded by two facts:
//! the region took no less than nothing, and no more than a call took while the probe was off.
//!
//! A processor that works ahead reads the clock at an exit while what the region does last is still under way, and that passes in the caller's
//! time: 8 to 16 ns of chains of operations that need one another, on a Zen 4, up to 19 of divisions, and 25 where the caller's own probe comes next. The
//! estimate knows nothing of it; the interval does, as it knows what `neighbours` tells of pairs that stand close together.

use crate::company::{Beside, InCompany};
use crate::neighbours::Neighbours;
use crate::reuse;
use tare_delay::cost::{Cost, HotCounting, Kinds, MeasuredMean, Together, estimate, least_of_hooks, prior};
use tare_profile::{Batches, COST_UNIT, Location, Node, Process, Profile};

/// The part of a pair that lies between the two clock readings, where nothing else is known.
const INNER_PART: f64 = 0.53;
/// How far it may be off: twice its standard deviation.
const INNER_PART_REACH: f64 = 0.2;
/// As much of a region's time as this part of a pair in a hot loop may pass behind its second clock reading.
const MOST_BEHIND: f64 = 1.0;
/// The part of what is near that are others, from which on what all cost together says what a pair does.
const MOSTLY: f64 = 0.5;
/// Of what pairs that stand close together cost one by one, the part that they cost together at the least.
const LEAST_TOGETHER: f64 = 0.2;

/// The way of calls that are off takes so many times as long as in a hot loop at the most, of a call that is on.
const MOST_BESIDE: f64 = 2.0;

/// Where a cost comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Batches of this call path.
    InPlace,
    /// The mean of other call paths, or the calibration at start.
    Prior,
    /// A wrapper, which says itself how long it worked.
    Wrapper,
}

/// What a pair of probes costs on one call path: ticks per call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProbeCost {
    /// Best estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// As much of the interval as all paths of a thread are off the same way at the most.
    pub common: Ends,
    /// What a call costs that is off and counted.
    pub off: f64,
    /// The most that it may cost; it may cost nothing.
    pub off_high: f64,
    /// What a call costs beyond that in batches that count once more.
    pub again: f64,
    /// What a call that is on costs beyond the estimate in batches that are diverted.
    pub diverted: f64,
    /// What it costs beyond that on the mean of all, because some came while another path was off, by the way of those that are off.
    pub beside: f64,
    /// Where it comes from.
    pub basis: Basis,
    /// The part of the cost that lies between the region's own clock readings.
    pub inner: Part,
    /// Of the region's own time, what may have passed behind its second clock reading, in its caller's.
    pub behind: f64,
}

/// What counting calls cost, in ticks, no more than `high`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Counting {
    /// Best estimate.
    pub(crate) value: f64,
    /// Upper end of its interval.
    pub(crate) high: f64,
}

impl Counting {
    /// As many times of it.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, high: self.high * factor }
    }
}

/// Ends of an interval, in ticks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ends {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

/// A part of one, with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// Best estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ProbeCost {
    /// What counting the calls of a node cost while its probe was off, with what was done again in some batches and what others cost
    /// that were diverted.
    pub(crate) fn counting(&self, node: &Node) -> Counting {
        let (twice, diverted) = node.batches.as_deref().map_or((0, 0), |batches| (batches.off_twice.calls, batches.diverted.calls));
        let more = twice.min(node.off_calls) as f64 * self.again + diverted.min(node.on_calls) as f64 * self.diverted;
        let beside = node.on_calls as f64 * self.beside;
        Counting {
            value: node.off_calls as f64 * self.off + more + beside,
            high: node.off_calls as f64 * self.off_high + more + MOST_BESIDE * beside,
        }
    }

    /// The same where only this part of the probes that are near are the path's own.
    fn together(self, alone: f64) -> Self {
        let low = self.low.min(self.value * (LEAST_TOGETHER + alone * (1.0 - LEAST_TOGETHER)));
        Self { low, common: Ends { low, ..self.common }, ..self }
    }
}

impl Default for Part {
    fn default() -> Self {
        Self { value: INNER_PART, low: INNER_PART - INNER_PART_REACH, high: INNER_PART + INNER_PART_REACH }
    }
}

impl Part {
    /// Narrows the interval to what is possible, and takes the mean of what is left as the estimate.
    fn within(self, low: f64, high: f64) -> Self {
        let (low, high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
        if low > high {
            return self;
        }
        // What is possible wins over what is usual.
        let (low, high) = (self.low.clamp(low, high), self.high.clamp(low, high));
        Self { value: self.mean_between(low, high), low, high }
    }

    /// The mean of the normal distribution around the estimate, of which only the part between two ends is left.
    fn mean_between(&self, low: f64, high: f64) -> f64 {
        const STEPS: u32 = 32;
        let deviation = (self.high - self.low) / 4.0;
        let (mut sum, mut weights) = (0.0, 0.0);
        for step in 0..=STEPS {
            let part = low + (high - low) * f64::from(step) / f64::from(STEPS);
            let weight = (-0.5 * ((part - self.value) / deviation).powi(2)).exp();
            sum += part * weight;
            weights += weight;
        }
        (sum / weights).clamp(low, high)
    }
}

/// The cost on each call path of a location. Only where calls were taken in batches has a path its own: what others cost
/// follows from the kind of their probe, and stands here once.
#[derive(Clone, Debug, Default)]
pub struct PathCosts {
    costs: Vec<ProbeCost>,
    /// By node: which of them.
    of_node: Vec<u32>,
}

impl PathCosts {
    /// In the order of the nodes.
    pub fn iter(&self) -> impl Iterator<Item = &ProbeCost> + Clone {
        self.of_node.iter().map(|&place| &self.costs[place as usize])
    }
}

/// A node and what its own batches say of a pair while all others are on.
type InPlace = (usize, Cost);

/// The cost on each call path, for every location of a profile.
#[must_use]
pub fn of_profile(profile: &Profile) -> Vec<PathCosts> {
    let of_location = |location: &Location| {
        let process = profile.process_of(location);
        location.nodes.iter().enumerate().filter_map(|(index, node)| in_place(node, process).map(|cost| (index, cost))).collect()
    };
    let in_place: Vec<Vec<InPlace>> = profile.locations.iter().map(of_location).collect();
    let mut everywhere = Means::default();
    let means: Vec<Means> = profile
        .locations
        .iter()
        .zip(&in_place)
        .map(|(location, costs)| {
            let mut own = Means::default();
            for (index, cost) in costs {
                own.add(&location.nodes[*index], cost);
                everywhere.add(&location.nodes[*index], cost);
            }
            own
        })
        .collect();
    let costs = |((location, in_place), means): ((&Location, &Vec<InPlace>), &Means)| {
        let elsewhere = |node: &Node| means.prior(&everywhere, profile.process_of(location), node);
        with_prior(profile, location, in_place, elsewhere)
    };
    profile.locations.iter().zip(&in_place).zip(&means).map(costs).collect()
}

/// What was measured in place, on the mean.
#[derive(Default)]
struct Means {
    pairs: MeasuredMean,
    counting: MeasuredMean,
}

impl Means {
    fn add(&mut self, node: &Node, cost: &Cost) {
        self.pairs.add(cost.value, node.on_calls);
        self.counting.add(cost.off_cost, node.off_calls);
    }

    /// The cost of paths without enough batches: what others of the location cost, the fewer they are the nearer to what others of the run do, and
    /// that to what follows from hot loops.
    fn prior(&self, everywhere: &Self, process: &Process, node: &Node) -> Cost {
        let (pair, least) = (units(process.hot_pair_cost), units(process.least_pair_cost));
        let hot = hot_counting(process, node);
        let value = self.pairs.towards(everywhere.pairs.towards(prior(pair, least, None).value));
        let off_cost = self.counting.towards(everywhere.counting.towards(hot.once));
        Cost { off_cost, off_high: hot.once.max(off_cost), again: hot.again, ..prior(pair, least, Some(value)) }
    }
}

fn with_prior(profile: &Profile, location: &Location, in_place: &[InPlace], elsewhere: impl Fn(&Node) -> Cost) -> PathCosts {
    let mut costs = PathCosts { costs: Vec::with_capacity(4 + in_place.len()), of_node: Vec::with_capacity(location.nodes.len()) };
    // By kind of probe, and how far its calls are apart, where a path was not measured itself.
    let mut usual = [[None::<u32>; 1 + reuse::STEPS]; 4];
    let one_by_one = |index: usize| match in_place.binary_search_by_key(&index, |(at, _)| *at) {
        Ok(found) => in_place[found].1.value,
        Err(_) => elsewhere(&location.nodes[index]).value,
    };
    let process = profile.process_of(location);
    let in_company = InCompany::of(location, one_by_one, |node| hot_counting(process, node).once);
    let mut in_place = in_place.iter().peekable();
    let neighbours = Neighbours::of(profile, location);
    let most_behind = MOST_BEHIND * process.hot_pair_cost;
    let beside = Beside::of(location);
    let apart = reuse::of_location(location);
    for (index, node) in location.nodes.iter().enumerate() {
        let measured = in_place.next_if(|(at, _)| *at == index).map(|(_, cost)| cost);
        let is_wrapper = is_wrapper(profile, node);
        let kind = match (is_wrapper, node.hooked, node.leaf) {
            (true, ..) => 0,
            (_, true, _) => 1,
            (_, _, leaf) => 2 + usize::from(leaf),
        };
        let is_usual = is_wrapper || node.batches.is_none();
        let alone = || neighbours.alone(location, index);
        let near = if is_usual { 1.0 } else { in_company.near(node, alone) };
        let place = Place {
            own: neighbours.own(index),
            passes_on: neighbours.passes_on(location, index),
            most_behind,
            beside: beside.part(index) * process.hot_diverted,
            reach: in_company.reach().filter(|_| near > MOSTLY && !node.hooked),
        };
        let longer = reuse::longer(apart[index]) * process.hot_pair_cost;
        let of_node = || match measured {
            _ if is_wrapper => wrapper(),
            None if node.hooked => probe(&with_cold_caches(of_hooks(process), longer), Basis::Prior, node, &place),
            Some(cost) => match in_company.around(node, near) {
                Some(together) => probe(&as_part_of(*cost, together), Basis::InPlace, node, &place),
                None => probe(cost, Basis::InPlace, node, &place).together(alone()),
            },
            None => {
                let cost = elsewhere(node);
                let cost = in_company.around(node, near).map_or(cost, |together| as_part_of(cost, together));
                probe(&with_cold_caches(cost, longer), Basis::Prior, node, &place)
            }
        };
        let usual = &mut usual[kind][apart[index]];
        let known = usual.filter(|_| is_usual);
        let place = known.unwrap_or_else(|| {
            costs.costs.push(of_node());
            costs.costs.len() as u32 - 1
        });
        if is_usual {
            *usual = Some(place);
        }
        costs.of_node.push(place);
    }
    costs
}

/// What a pair of hooks costs, which cannot be measured in place.
fn of_hooks(process: &Process) -> Cost {
    let [hot, pair, least] = [process.hot_hook_cost, process.hot_pair_cost, process.least_pair_cost].map(units);
    prior(hot, least_of_hooks(hot, pair, least), None)
}

fn in_place(node: &Node, process: &Process) -> Option<Cost> {
    let Batches { on, off, off_twice, diverted, .. } = node.batches.as_deref()?;
    let diverted = process.budget.is_none().then_some(diverted);
    let hot = hot_counting(process, node);
    let longer = if process.hot_diverted > 0.0 { units(process.hot_diverted) } else { hot.once };
    let cost = estimate(Kinds { on, off, off_twice, diverted, longer }, hot)?;
    cost.says_more_than_prior(units(process.hot_pair_cost)).then_some(cost)
}

/// Of a path that was not measured, whose pairs may take so many ticks longer than those that were.
fn with_cold_caches(cost: Cost, longer: f64) -> Cost {
    Cost { high: cost.high + units(longer), ..cost }
}

/// The part of a pair in what it costs together with others.
fn as_part_of(cost: Cost, together: Together) -> Cost {
    let part = |ticks: u64, of: f64| (ticks as f64 * of) as u64;
    Cost { value: part(cost.value, together.value), low: part(cost.low, together.low), high: part(cost.high, together.high), ..cost }
}

/// What counting a call of a node costs in a hot loop, in the unit of the estimator.
fn hot_counting(process: &Process, node: &Node) -> HotCounting {
    let ticks = if node.leaf { process.hot_counted } else { process.hot_clockless };
    HotCounting { once: units(ticks.once), again: units(ticks.again) }
}

/// Ticks in the unit of the estimator.
fn units(ticks: f64) -> u64 {
    (ticks * COST_UNIT as f64) as u64
}

/// Roots are entered by nobody, and wrappers time themselves.
fn is_wrapper(profile: &Profile, node: &Node) -> bool {
    node.parent.is_none() || profile.region_of(node).kind.is_wrapped()
}

fn wrapper() -> ProbeCost {
    let inner = Part::default();
    ProbeCost {
        value: 0.0,
        low: 0.0,
        high: 0.0,
        common: Ends::default(),
        off: 0.0,
        off_high: 0.0,
        again: 0.0,
        diverted: 0.0,
        beside: 0.0,
        basis: Basis::Wrapper,
        inner,
        behind: 0.0,
    }
}

/// What is around the probes of a node.
struct Place {
    /// The node's own ticks.
    own: f64,
    /// Whether its caller is left about as often.
    passes_on: bool,
    /// Ticks of a call that may pass behind its second clock reading.
    most_behind: f64,
    /// Ticks of a call that is on for what came while others were off.
    beside: f64,
    /// How far all of the thread may be off the same way, less and more, as parts of what they cost, where that is known.
    reach: Option<(f64, f64)>,
}

fn probe(cost: &Cost, basis: Basis, node: &Node, place: &Place) -> ProbeCost {
    let ticks = |units: u64| units as f64 / COST_UNIT as f64;
    let (value, off) = (ticks(cost.value), ticks(cost.off_cost));
    let (low, high, off_high) = (ticks(cost.low).min(value), ticks(cost.high).max(value), ticks(cost.off_high).max(off));
    let (again, diverted) = (ticks(cost.again), ticks(cost.diverted));
    let inner = inner_part(node, place, value, off);
    let behind = behind(node, place, inner.low * value, off).min(place.most_behind);
    let beside = if node.hooked { 0.0 } else { place.beside };
    let common =
        place.reach.map_or(Ends { low, high }, |(less, more)| Ends { low: low.max(value * (1.0 - less)), high: high.min(value * (1.0 + more)) });
    ProbeCost { value, low, high, common, off, off_high, again, diverted, beside, basis, inner, behind }
}

/// The part of the cost within the clock readings, from the time per call with the probe on and off.
fn inner_part(node: &Node, place: &Place, cost: f64, off_cost: f64) -> Part {
    let usual = Part::default();
    let Some(on_time) = on_time(node, place).filter(|_| node.batches.is_some() && cost > 0.0) else { return usual };
    let longest = longest(node, off_cost).unwrap_or(on_time);
    usual.within((on_time - longest) / cost, on_time / cost)
}

/// What of a call may lie behind the readings, `inner` between which is the probe's at least: no more than makes the call as long as it was while the
/// probe was off, unless that was too short itself, as its caller's second reading comes soon.
fn behind(node: &Node, place: &Place, inner: f64, off_cost: f64) -> f64 {
    let known = on_time(node, place).zip(longest(node, off_cost)).filter(|_| !place.passes_on);
    known.map_or(f64::INFINITY, |(on_time, longest)| (longest - on_time + inner).max(0.0))
}

/// Ticks of the region's own for each call that was on.
fn on_time(node: &Node, place: &Place) -> Option<f64> {
    (node.on_calls > 0 && place.own > 0.0).then(|| place.own / node.on_calls as f64)
}

/// The most that a call may take: the time for each while the probe was off.
fn longest(node: &Node, off_cost: f64) -> Option<f64> {
    let off = node.batches.as_deref().map(|batches| &batches.off).filter(|off| off.calls > 0)?;
    Some((off.ticks as f64 / off.calls as f64 - off_cost).max(0.0))
}
