//! Paper 4's correction of exclusive times, with costs that differ from path to path.
//!
//! With N calls whose probe was on, a region's exclusive time is too long by N·α of its own and by the β of
//! every call of a child. Calls in batches that were off left their time in the parent: what such a call
//! takes is known from those that were on, and is moved back, with the cost of counting taken off the
//! parent. Wrappers say how long they worked; delays that came with messages are taken off in parallel mode.
//!
//! In a run with a budget all short paths are quiet but the one in focus, so while a path is on, everything quiet below it
//! is part of its time: what a call takes is that of the whole quiet subtree, and what its children take, on or off, is
//! taken off it. While it is quiet itself, all of that goes to the nearest path above that is always on, which lacks
//! what paths within the subtree took while they were on. A path below that is never quiet, as those of long calls are, keeps its
//! time to itself whatever is quiet around it.
//!
//! Everything that moves between parent and child leaves their sum as it was, so the total over a location
//! depends on the costs alone and not on how they divide.

use std::collections::BTreeMap;

use tare_profile::{BatchSums, COST_UNIT, Clock, Location, Node, Profile};

use crate::Mode;
use crate::cost::{Basis, Part, PathCosts, ProbeCost};
use crate::crowd::Crowd;
use crate::difference::student;
use crate::figure::{Mark, Spread};
use crate::share::Share;
use crate::sites::OffSites;
use crate::total::{Doubt, Overhead, queued_in_mpi};

/// What a wrapper's own time is known to, in seconds per call: its caller's part of the call is not seen.
const WRAPPER_REACH_S: f64 = 0.2e-6;

/// What is taken off for a call that is let pass is known to so many seconds.
const PASSING_REACH_S: f64 = 5e-9;

/// For how many ticks the calls of a wrapper's nodes may have been the tool's beyond what is known of it, either way.
pub(crate) fn reach_of_wrappers(clock: &Clock, measured: f64, passed: f64) -> f64 {
    clock.ticks(measured * WRAPPER_REACH_S + passed * PASSING_REACH_S)
}

/// The exclusive time of a node with all that may still move, in ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Term {
    /// Exclusive time, compensated.
    pub(crate) value: f64,
    /// By how much balancing has moved `value` within its interval.
    pub(crate) moved: f64,
    /// Uncertainty of `value`, as it was before it was moved, by the node's own probe and wrapper.
    pub(crate) own: Spread,
    /// Uncertainty of `value` by the probes of its children; what moves between the two leaves their sum as it is.
    pub(crate) by_children: Spread,
    /// What the probes on this path cost altogether: the uncertainty that it adds to every region above.
    pub(crate) above: Spread,
    /// The part of the probe's cost within the clock readings, as chosen, and its bounds.
    pub(crate) inner: f64,
    /// See `inner`.
    pub(crate) inner_bounds: (f64, f64),
    /// Ticks that pass from this node to its parent if `inner` grows from 0 to 1.
    pub(crate) movable: f64,
    /// The part of a quiet node's time that stands for calls that were not timed, and came from above; 0 of all others.
    pub(crate) untimed: f64,
    /// Overhead that was taken off.
    pub(crate) removed: f64,
    /// Why the value is not to be trusted.
    pub(crate) mark: Option<Mark>,
}

impl Term {
    /// Whether the time of what is quiet below is part of what its untimed calls are taken to have lasted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.untimed > 0.0
    }

    /// Uncertainty of `value` as it was before it was moved.
    pub(crate) fn spread(&self) -> Spread {
        let mut spread = self.own;
        spread.add(&self.by_children);
        spread
    }
}

/// The corrected exclusive times of a location, before they are balanced.
pub(crate) fn terms(
    profile: &Profile,
    location: &Location,
    costs: &PathCosts,
    overhead: &Overhead,
    mode: Mode,
    doubt: &Doubt,
    crowd: &Crowd,
) -> Vec<Term> {
    let clock = &profile.process_of(location).clock;
    let is_duty = profile.process_of(location).budget.is_some();
    // A wrapper that had no processor was as long as that in the tool's own code: the program might have been without one in its place.
    let descheduled = Share::new(queued_in_mpi(profile, location), overhead.wrapper_tool);
    let mut moved: Vec<Moved> = Vec::new();
    let mut terms = vec![Term::default(); location.nodes.len()];
    for (index, (node, cost)) in location.nodes.iter().zip(costs.iter()).enumerate() {
        let is_sampled = is_duty && is_quiet(node);
        let call = Call::of(node, cost, mode, is_sampled);
        call.correct_own(node, cost, &mut terms[index]);
        if node.exclusive < 0 && location.standing.is_some() {
            terms[index].mark.get_or_insert(Mark::StillOpen);
        }
        if mode == Mode::Parallel {
            terms[index].own.add_common(crowd.alone(profile, node), 0.0);
            terms[index].above.add_common(crowd.part(profile, node), 0.0);
        }
        terms[index].untimed = if is_sampled { call.off / (call.on + call.off) } else { 0.0 };
        if profile.region_of(node).kind.is_wrapped() {
            let reach = reach_of_wrappers(clock, node.on_calls as f64, node.off_calls as f64);
            let (below, above) = if mode == Mode::Parallel { doubt.of_delay(node.exchanged().delay_gain as f64) } else { (0.0, 0.0) };
            terms[index].own.add_common(reach + below, reach + above + descheduled.alone(node.tool_ticks as f64));
            terms[index].above.add_common(reach + below, reach + above + descheduled.part(node.tool_ticks as f64));
        }
        match node.parent {
            None => {}
            Some(parent) if is_sampled && cost.basis != Basis::Wrapper && is_quiet(&location.nodes[parent]) => {
                call.correct_quiet_parent(node, cost, &mut terms[parent]);
                call.give_back(node, cost, &mut terms[steady_ancestor(location, parent)]);
            }
            Some(parent) => {
                let together = call.correct_parent(node, cost, &mut terms[parent]);
                if is_duty && call.on > 0.0 && call.whole > call.gross {
                    moved.push(Moved { callee: index, caller: parent, ticks: call.whole - call.gross });
                }
                terms[parent].value += together;
                terms[steady_in_company(location, parent)].value -= together;
            }
        }
    }
    add_lost_processor(profile, location, &moved, &mut terms);
    add_sites(profile, location, &overhead.sites, &mut terms);
    terms
}

/// Time of a node's calls that were off, in a run with a budget, which had passed in its caller.
struct Moved {
    callee: usize,
    caller: usize,
    ticks: f64,
}

/// Widens the intervals of both where the thread had no processor. It loses that in calls that are off as in others, for longer than most of them take. But what
/// such a call takes is known from those that were on, and who lost the processor in these is taken to be long, and stays on. So as large a part of the caller's
/// time as the thread was without a processor may be that of the calls.
fn add_lost_processor(profile: &Profile, location: &Location, moved: &[Moved], terms: &mut [Term]) {
    let queued = profile.process_of(location).clock.ticks(location.queued_s.unwrap_or(0.0)) - queued_in_mpi(profile, location);
    if moved.is_empty() || queued <= 0.0 {
        return;
    }
    let is_own = |node: &&Node| !profile.region_of(node).kind.is_wrapped();
    let all: f64 = location.nodes.iter().filter(is_own).map(|node| node.exclusive.max(0) as f64).sum();
    let part = if all > 0.0 { (queued / all).min(1.0) } else { 0.0 };
    let mut of_callers: BTreeMap<usize, f64> = BTreeMap::new();
    moved.iter().for_each(|one| *of_callers.entry(one.caller).or_default() += one.ticks);
    for &Moved { callee, caller, ticks } in moved {
        let reach = part * location.nodes[caller].exclusive.max(0) as f64 * ticks / of_callers[&caller];
        terms[callee].own.add_common(0.0, reach);
        terms[caller].by_children.add_common(reach, 0.0);
    }
}

/// Widens the intervals of those that called what was switched off: it took a little of their time still. Where the caller went as well, that
/// was time of the next one above.
fn add_sites(profile: &Profile, location: &Location, sites: &[(usize, OffSites)], terms: &mut [Term]) {
    let process = profile.process_of(location);
    for (index, sites) in sites {
        let most = process.clock.ticks(sites.high_s);
        let mut caller = location.nodes[*index].parent;
        if let Some(parent) = caller {
            terms[parent].above.add_common(most, 0.0);
        }
        while let Some(parent) = caller {
            terms[parent].own.add_common(most, 0.0);
            caller = location.nodes[parent].parent.filter(|_| process.was_off(location.nodes[parent].region));
        }
    }
}

/// Whether a node was off or clockless for most of its calls, in a run with a budget.
fn is_quiet(node: &Node) -> bool {
    node.parent.is_some() && node.batches.is_some() && node.off_calls > 0 && node.on_calls > 0
}

/// The nearest node at or above this one that was always on.
pub(crate) fn steady_ancestor(location: &Location, from: usize) -> usize {
    let above = std::iter::successors(Some(from), |&index| location.nodes[index].parent);
    above.take(location.nodes.len()).find(|&index| !is_quiet(&location.nodes[index])).unwrap_or(0)
}

/// The nearest node at or above this one that is on while others are quiet together.
fn steady_in_company(location: &Location, from: usize) -> usize {
    let above = std::iter::successors(Some(from), |&index| location.nodes[index].parent);
    let is_on = |node: &Node| node.batches.is_none() || node.folded;
    above.take(location.nodes.len()).find(|&index| is_on(&location.nodes[index])).unwrap_or(0)
}

/// What the correction of one node needs to know.
struct Call {
    on: f64,
    off: f64,
    /// Ticks of the tool's own work. What exceeds the exclusive time was done before the region began.
    tool: f64,
    /// Exclusive time without the tool's own and without delays from others.
    gross: f64,
    /// What all calls would have taken with the probe on, in the unit of `gross`.
    whole: f64,
    /// Calls for each one that was on.
    scale: f64,
    /// Standard error of moving the time of off calls, ticks.
    moving_error: f64,
    /// The part of the probe's cost within the clock readings. Of a region that calls itself all of it may be: what lies outside of them is then in
    /// the time of its own, or of what it called on the way.
    inner: Part,
}

impl Call {
    fn of(node: &Node, cost: &ProbeCost, mode: Mode, is_sampled: bool) -> Self {
        let (on, off) = (node.on_calls as f64, node.off_calls as f64);
        let gain = if mode == Mode::Parallel { node.exchanged().delay_gain as f64 } else { 0.0 };
        let tool = (node.tool_ticks as f64).min(node.exclusive.max(0) as f64);
        let gross = node.exclusive as f64 - tool - gain;
        let scale = if node.on_calls > 0 { (on + off) / on } else { 1.0 };
        let sampled = node.batches.as_deref().filter(|batches| is_sampled && batches.first_calls < node.on_calls);
        let whole =
            sampled.map_or(gross * scale, |batches| (on + off) * (gross - batches.first_ticks as f64) / (node.on_calls - batches.first_calls) as f64);
        let passable = node.batches.as_deref().filter(|_| cost.basis == Basis::Wrapper && off > 0.0).and_then(|batches| quickest(&batches.on));
        let whole = passable.map_or(whole, |(quick, _)| gross + off * quick);
        let moving_error = match error_of_mean(node, is_sampled) {
            _ if let Some((quick, usual)) = passable => off * (usual - quick),
            Some(error) if is_sampled || cost.basis == Basis::InPlace => off * error,
            // Nothing says how far calls differ from those that were on.
            None if is_sampled || cost.basis == Basis::Wrapper => (off / (on + off) * whole).abs(),
            _ => 0.0,
        };
        let inner = if node.folded { Part { high: 1.0, ..cost.inner } } else { cost.inner };
        Self { on, off, tool, gross, whole, scale, moving_error, inner }
    }

    /// Takes the node's own share off, and gives it the time of its calls that were off.
    fn correct_own(&self, node: &Node, cost: &ProbeCost, term: &mut Term) {
        let inner = self.inner;
        let paid = self.on * cost.value * self.scale;
        term.value += self.whole - paid * inner.value;
        term.inner = inner.value;
        term.inner_bounds = (inner.low, inner.high);
        term.movable = paid;
        term.removed += paid * inner.value + self.tool;
        term.own.add_common(paid * (inner.high - inner.value), paid * (inner.value - inner.low) + self.behind(cost));
        let lowering = Lowered { factor: self.on * self.scale * inner.value };
        lowering.spread(cost, &mut term.own);
        term.own.add_own(self.moving_error, self.moving_error);
        Lowered { factor: self.on }.spread(cost, &mut term.above);
        term.above.add_counting(cost.counting(node));
        if node.on_calls == 0 && node.off_calls > 0 {
            term.mark = Some(Mark::NeverOn);
        }
    }

    /// Takes off a quiet parent, whose calls stand for all, the time of all calls of this node and of counting them.
    fn correct_quiet_parent(&self, node: &Node, cost: &ProbeCost, parent: &mut Term) {
        let paid = self.on * cost.value * self.scale;
        let counting = cost.counting(node).times(self.scale_of_counting());
        parent.value -= self.whole - paid * self.inner.value + counting.value;
        parent.removed += counting.value;
        Lowered { factor: -self.on * self.scale * self.inner.value }.spread(cost, &mut parent.by_children);
        parent.by_children.add_common(paid * (self.inner.value - self.inner.low) + self.behind(cost), paid * (self.inner.high - self.inner.value));
        parent.by_children.add_own(self.moving_error, self.moving_error);
        parent.by_children.add_counting(counting);
    }

    /// Gives the node that time went to while the parent was quiet what this one took while it was on, and takes off what
    /// its probe cost.
    fn give_back(&self, node: &Node, cost: &ProbeCost, steady: &mut Term) {
        let counting = cost.counting(node);
        steady.value += self.gross - self.on * cost.value - counting.value;
        steady.removed += self.on * cost.value * (1.0 - self.inner.value) + counting.value;
        Lowered { factor: self.on }.spread(cost, &mut steady.by_children);
        steady.by_children.add_counting(counting);
    }

    /// What of all calls may have passed behind their second clock readings.
    fn behind(&self, cost: &ProbeCost) -> f64 {
        self.on * self.scale * cost.behind
    }

    /// All calls for each one that was counted without clock.
    fn scale_of_counting(&self) -> f64 {
        if self.off > 0.0 { (self.on + self.off) / self.off } else { 1.0 }
    }

    /// Takes off the parent what lies outside of the node's clock readings, and the calls that were off. Returns what of these passed while
    /// the parent may have been off as well.
    fn correct_parent(&self, node: &Node, cost: &ProbeCost, parent: &mut Term) -> f64 {
        let inner = self.inner;
        let counting = cost.counting(node);
        let outer = self.on * cost.value * (1.0 - inner.value);
        let moved = if self.on > 0.0 { self.whole - self.gross - self.off * cost.value * inner.value } else { 0.0 };
        parent.value -= outer + moved + counting.value;
        parent.removed += outer + counting.value;
        let movable = self.on * cost.value * self.scale;
        parent.by_children.add_common(movable * (inner.value - inner.low) + self.behind(cost), movable * (inner.high - inner.value));
        let moved_cost = if self.on > 0.0 { self.off * inner.value } else { 0.0 };
        let factor = self.on * (1.0 - inner.value) - moved_cost;
        Lowered { factor }.spread(cost, &mut parent.by_children);
        parent.by_children.add_own(self.moving_error, self.moving_error);
        parent.by_children.add_counting(counting);
        let together = node.batches.as_deref().map_or(0, |batches| batches.together.min(node.off_calls)) as f64;
        if self.off > 0.0 { (moved + counting.value) * together / self.off } else { 0.0 }
    }
}

/// A value from which `factor` times a cost is taken.
struct Lowered {
    factor: f64,
}

impl Lowered {
    fn spread(&self, cost: &ProbeCost, spread: &mut Spread) {
        spread.add_cost(-self.factor, cost);
    }
}

/// What the quickest quarter of a sample of calls took and what all of it did, in ticks, on the mean. Calls that pass are as quick: those that are
/// measured come where the processor foresees less.
fn quickest(sums: &BatchSums) -> Option<(f64, f64)> {
    let mut sample = sums.sample;
    let count = usize::try_from(sums.batches).unwrap_or(usize::MAX).min(sample.len());
    let sample = sample.get_mut(..count).filter(|sample| !sample.is_empty())?;
    sample.sort_unstable();
    let mean = |part: &[u32]| part.iter().map(|&units| f64::from(units)).sum::<f64>() / (part.len() as f64 * COST_UNIT as f64);
    Some((mean(&sample[..count.div_ceil(4)]), mean(sample)))
}

/// Half-width of the time per call that is carried from batches that were on to those that were off, at 95 %. With a budget
/// quiet time is another path's, and only what was on says how calls differ. Where batches took longer altogether than their sample
/// says, a few long ones are not in it: what they are too long by is taken for as many as are as long as the longest, which come by chance.
fn error_of_mean(node: &Node, is_sampled: bool) -> Option<f64> {
    let batches = node.batches.as_deref()?;
    let count = usize::try_from(batches.on.batches).unwrap_or(usize::MAX).min(batches.on.sample.len());
    if count < 2 || (batches.off.batches == 0 && !is_sampled) {
        return None;
    }
    let sample = || batches.on.sample[..count].iter().map(|&units| f64::from(units));
    let mean = sample().sum::<f64>() / count as f64;
    let variance = sample().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    let off = if is_sampled { 0.0 } else { 1.0 / batches.off.batches as f64 };
    let unit = COST_UNIT as f64;
    let calls = batches.on.calls as f64;
    let not_in_sample = (batches.on.ticks as f64 - calls * mean / unit).max(0.0);
    let rare = not_in_sample * batches.on.longest as f64 / (calls * calls);
    Some(student((count - 1) as f64) * (variance / (unit * unit) * (1.0 / batches.on.batches as f64 + off) + rare).sqrt())
}
