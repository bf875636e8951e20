//! Inclusive times, summed from exclusive ones, and what each location took altogether.

use tare_profile::{Location, Node, Profile, Span};

use crate::cost::{Basis, PathCosts};
use crate::crowd::{self, Crowd};
use crate::exclusive::{Term, reach_of_wrappers};
use crate::figure::{Figure, Mark, Spread};
use crate::sites::{self, OffSites};
use crate::{CompensatedLocation, CompensatedNode, Mode};

/// How far times may be off below and above because of the overhead of the whole run, as a part of that: delays are made of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Doubt {
    below: f64,
    above: f64,
}

impl Doubt {
    pub(crate) fn of_run(profile: &Profile, overheads: &[Overhead]) -> Self {
        let (mut sum, mut below, mut above) = (0.0, 0.0, 0.0);
        for (location, overhead) in profile.locations.iter().zip(overheads) {
            let tick = profile.process_of(location).clock.seconds_per_tick;
            sum += overhead.all() * tick;
            below += overhead.spread.below() * tick;
            above += (overhead.spread.above() + overhead.descheduled) * tick;
        }
        if sum > 0.0 { Self { below: below / sum, above: above / sum } } else { Self::default() }
    }

    /// How far a time may be off below and above from which a delay of this many ticks was taken.
    pub(crate) fn of_delay(&self, delay: f64) -> (f64, f64) {
        let (below, above) = (delay.abs() * self.below, delay.abs() * self.above);
        if delay >= 0.0 { (below, above) } else { (above, below) }
    }
}

/// What a location's own probes and wrappers cost over its life, in ticks, and what else is summed over its call paths: many are walked through once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Overhead {
    probes: f64,
    tool: f64,
    /// What of `tool` may have passed without a processor, which the program might have been without in its place.
    descheduled: f64,
    in_place: f64,
    /// By how much `probes` differs from what the runtime had added up, which charges doubled counting once.
    late: f64,
    /// What the sites of regions that were switched off took, by the place of their node. It is not taken off.
    pub(crate) sites: Vec<(usize, OffSites)>,
    spread: Spread,
    /// Delay that was gained in waits.
    pub(crate) gained: f64,
    /// For how long calls may have waited whose delay was not known.
    pub(crate) untold: f64,
    /// Calls of wrappers, and what of `tool` they took.
    wrapper_calls: f64,
    /// Calls that these let pass.
    passed_calls: f64,
    pub(crate) wrapper_tool: f64,
}

impl Overhead {
    pub(crate) fn of(profile: &Profile, location: &Location, costs: &PathCosts) -> Self {
        let mut overhead = Self::default();
        for (node, cost) in location.nodes.iter().zip(costs.iter()) {
            let (on, off) = (node.on_calls as f64, node.off_calls as f64);
            let counted = node.batches.as_deref().map_or(0.0, |batches| batches.off_cost);
            let counting = cost.counting(node);
            let paid = on * cost.value + counting.value;
            overhead.probes += paid;
            overhead.tool += node.tool_ticks as f64;
            overhead.late += paid - on * node.cost - off * counted;
            overhead.spread.add_cost(-on, cost);
            overhead.spread.add_counting(counting);
            if cost.basis != Basis::Prior {
                overhead.in_place += paid;
            }
            if cost.basis == Basis::Wrapper {
                overhead.descheduled += node.tool_ticks as f64;
            }
            if profile.region_of(node).kind.is_wrapped() {
                overhead.wrapper_calls += on;
                overhead.passed_calls += off;
                overhead.wrapper_tool += node.tool_ticks as f64;
            }
            if let Some(exchanged) = &node.exchanged {
                overhead.gained += exchanged.delay_gain as f64;
                overhead.untold += crowd::untold(node);
            }
        }
        overhead.descheduled = overhead.descheduled.min(queued_in_mpi(profile, location));
        overhead.sites = sites::of_location(profile, location);
        overhead
    }

    /// All of it.
    pub(crate) fn all(&self) -> f64 {
        self.probes + self.tool
    }

    /// What probes took, `slow` ticks of it in slow paths. The spread is that of a time from which it is taken off.
    fn of_probes(&self, slow: f64) -> Figure {
        let value = self.probes + slow;
        Figure { value, low: (value - self.spread.above()).max(slow), high: value + self.spread.below(), mark: None }
    }
}

/// For how many ticks the location could have run in MPI, wrappers included, and had no processor.
pub(crate) fn queued_in_mpi(profile: &Profile, location: &Location) -> f64 {
    profile.process_of(location).clock.ticks(location.queued_in_calls_s)
}

/// Inclusive times as measured, in ticks.
pub(crate) fn measured_inclusive(location: &Location) -> Vec<f64> {
    let mut sums: Vec<f64> = location.nodes.iter().map(|node| node.exclusive as f64).collect();
    for (index, node) in location.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            sums[parent] += sums[index];
        }
    }
    sums
}

/// A subtree that is being summed.
#[derive(Clone, Default)]
struct Sum {
    /// Σ exclusive, negative ones included.
    value: f64,
    /// Σ inclusive of the children, none less than zero.
    children: f64,
    /// By how much balancing moved `value`.
    moved: f64,
    /// Uncertainty of what was taken off below the node.
    spread: Spread,
}

/// The nodes of a location from their balanced exclusive times.
pub(crate) fn nodes(location: &Location, terms: &[Term], mode: Mode, seconds_per_tick: f64) -> Vec<CompensatedNode> {
    let measured = measured_inclusive(location);
    let sums = sums(location, terms);
    let led_back = led_back(location, &measured);
    let node = |(index, node): (usize, &Node)| {
        let (term, exchanged) = (&terms[index], node.exchanged());
        let wait = if mode == Mode::Parallel { exchanged.virtual_wait_ticks } else { exchanged.wait_ticks };
        let inclusive = inclusive(&sums[index], term);
        let inclusive = Figure { high: inclusive.high.max(inclusive.value + led_back[index]), ..inclusive }.scaled(seconds_per_tick);
        let beyond = location.is_beyond_limit(node).then_some(Mark::BeyondLimit);
        let beyond = beyond.or((led_back[index] > NOTICED * measured[index]).then_some(Mark::LedBack));
        CompensatedNode {
            measured_inclusive_s: measured[index] * seconds_per_tick,
            measured_exclusive_s: node.exclusive as f64 * seconds_per_tick,
            inclusive: Figure { mark: beyond.or(inclusive.mark), ..inclusive },
            exclusive: Figure::with_spread(term.value, term.moved, &term.spread(), term.mark).scaled(seconds_per_tick),
            // A thread that is given a task while it waits does not wait meanwhile.
            measured_wait_s: (exchanged.wait_ticks as f64).min(node.exclusive.max(0) as f64) * seconds_per_tick,
            wait_s: (wait as f64).min(term.value.max(0.0)) * seconds_per_tick,
        }
    };
    location.nodes.iter().enumerate().map(node).collect()
}

/// From this part of an inclusive time on it is marked what of it stands elsewhere.
const NOTICED: f64 = 0.01;

/// For how many ticks calls of each node led back to a region above, whose path they were folded onto: they passed between entry and exit of
/// the node, and stand above it.
fn led_back(location: &Location, measured: &[f64]) -> Vec<f64> {
    let mut is_below_folded = vec![false; location.nodes.len()];
    for (index, node) in location.nodes.iter().enumerate() {
        is_below_folded[index] = node.parent.is_some_and(|parent| is_below_folded[parent] || location.nodes[parent].folded);
    }
    let beyond = |(index, node): (usize, &Node)| if is_below_folded[index] { (node.inclusive as f64 - measured[index]).max(0.0) } else { 0.0 };
    location.nodes.iter().enumerate().map(beyond).collect()
}

/// What is below each node; a parent stands before its children.
fn sums(location: &Location, terms: &[Term]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); terms.len()];
    for (index, node) in location.nodes.iter().enumerate().rev() {
        let Some(parent) = node.parent else { continue };
        let term = &terms[index];
        let (value, children) = (sums[index].value + term.value, sums[index].children);
        let (moved, below) = (sums[index].moved + term.moved, sums[index].spread);
        let above = &mut sums[parent];
        above.value += value;
        above.moved += moved;
        above.children += value.max(children).max(0.0);
        above.spread.add(&below);
        above.spread.add(&term.above);
    }
    sums
}

/// The sum of the node and all below it; never less than those below it together.
fn inclusive(sum: &Sum, term: &Term) -> Figure {
    let mut spread = sum.spread;
    spread.add(&term.own);
    let value = sum.value + term.value;
    if value < sum.children {
        return Figure::with_spread(sum.children, sum.moved, &spread, Some(Mark::ChildExceeds));
    }
    Figure::with_spread(value, sum.moved + term.moved, &spread, term.mark.filter(|_| sum.children <= term.value.abs())).marked_if_wide()
}

/// A location with what it took, compensated. Its nodes are needed where it has no span.
pub(crate) fn location(
    profile: &Profile,
    location: &Location,
    overhead: &Overhead,
    mode: Mode,
    doubt: &Doubt,
    crowd: &Crowd,
    nodes: Vec<CompensatedNode>,
) -> CompensatedLocation {
    let clock = profile.process_of(location).clock;
    let (measured_s, total, delay_s) = match span(profile, location) {
        Some(span) => {
            let measured = span.ticks() as f64;
            let is_of_rank = profile.process_of(location).rank.is_some();
            let delay = delay_of_span(&span, overhead, mode, is_of_rank);
            let reach = reach_of_wrappers(&clock, overhead.wrapper_calls, overhead.passed_calls);
            let (below, above) = doubt.of_delay(delay);
            let mut spread = Spread::default();
            // Delays that were sent along before a cost was known as it is now went astray by as much.
            let astray = if mode == Mode::Parallel && is_of_rank { overhead.late.abs() } else { 0.0 };
            let crowded = if mode == Mode::Parallel { crowd.all() } else { 0.0 };
            let sites: f64 = overhead.sites.iter().map(|(_, sites)| clock.ticks(sites.high_s)).sum();
            spread.add_common(below + reach + astray + crowded + sites, above + reach + astray);
            let value = measured - delay;
            let mark = match value {
                less if less < 0.0 => Some(Mark::OverheadExceedsTime),
                more if more - spread.below() > measured || astray > 0.5 * value => Some(Mark::DelaysAstray),
                _ => None,
            };
            let total = Figure::with_spread(value, 0.0, &spread, mark).marked_if_wide().scaled(clock.seconds_per_tick);
            (clock.seconds(measured), total, clock.seconds(delay))
        }
        None => {
            let node = &nodes[0];
            (node.measured_inclusive_s, node.inclusive, node.measured_inclusive_s - node.inclusive.value)
        }
    };
    CompensatedLocation {
        measured_s,
        total,
        delay_s,
        overhead_s: clock.seconds(overhead.all()),
        probes: overhead.of_probes(location.slow_ticks as f64).scaled(clock.seconds_per_tick),
        certain_overhead_s: clock.seconds(overhead.in_place + overhead.tool),
        nodes,
    }
}

/// A location as measured.
pub(crate) fn location_as_measured(profile: &Profile, location: &Location, overhead: &Overhead, nodes: Vec<CompensatedNode>) -> CompensatedLocation {
    let parallel = self::location(profile, location, overhead, Mode::Parallel, &Doubt::default(), &Crowd::default(), nodes);
    let delay_s = if span(profile, location).is_some() { parallel.delay_s } else { parallel.overhead_s };
    CompensatedLocation { total: Figure::exact(parallel.measured_s), delay_s, ..parallel }
}

/// The main thread is measured from `MPI_Init` to `MPI_Finalize`, or from the program's begin to its end.
pub(crate) fn span(profile: &Profile, location: &Location) -> Option<Span> {
    profile.process_of(location).span_of(location).filter(|_| location.thread == 0)
}

/// How much of the span the measurement made, with the costs as they are known at the end. That of a rank is a part of its life, of which the
/// runtime knows what it had charged when it began and ended; that of others is all of it.
fn delay_of_span(span: &Span, overhead: &Overhead, mode: Mode, is_of_rank: bool) -> f64 {
    let gained = overhead.gained;
    let delay = match is_of_rank {
        true if span.closed => (span.end_delay - span.start_delay) as f64 + overhead.late,
        true => overhead.all() + gained - span.start_delay as f64,
        false => overhead.all() + gained,
    };
    if mode == Mode::Local { delay - gained } else { delay }
}
