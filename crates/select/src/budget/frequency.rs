//! How often each block of a function is executed in one visit of it.
//!
//! Branches are predicted by structure and the frequencies follow from them, loop by loop from the innermost outwards:
//! Y. Wu and J. Larus, *Static branch frequency and program profile analysis*, MICRO 27, 1994; the heuristics and
//! their hit rates are those of T. Ball and J. Larus, *Branch prediction for free*, PLDI 1993, as far as they can be
//! told from machine code without types (loop exit, loop header, return), with what compilers say by laying out cold
//! code apart (GCC's `predict.def`: ends that do not return, cold labels).

use std::collections::BTreeMap;

use smallvec::SmallVec;
use tare_code::{Body, Cfg, Flow as Turn, Function, Loops, Trips};

/// How often a loop goes round of which nothing is known, under each of `N` assumptions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UnknownTrips<const N: usize>(pub(super) [f64; N]);

/// Probability of a way into code that the compiler put apart, or to an end that does not return.
const COLD: f64 = 0.01;
/// Hit rate of "a branch does not go to a block that returns".
const RETURN: f64 = 0.72;
/// Hit rate of "a branch enters the loop behind it".
const LOOP_HEADER: f64 = 0.75;
/// The mark of blocks while all of a graph takes part; loops have theirs from 1.
const WHOLE: usize = 0;
/// The most that a loop goes round.
const MOST_TRIPS: f64 = 1e9;
/// Loops that lie deeper are taken to go round once, so that numbers stay finite, and time does not grow with the depth.
const DEPTH: usize = 32;

/// What is looked at of a function.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) cfg: &'a Cfg,
    pub(super) loops: &'a Loops,
    pub(super) trips: &'a [Option<Trips>],
}

impl<'a> Shape<'a> {
    /// The frequency of each block in one visit, under each assumption.
    pub(super) fn frequencies<const N: usize>(&self, unknown: UnknownTrips<N>) -> Vec<[f64; N]> {
        let blocks = self.cfg.blocks.len();
        let mut flow =
            Flow { graph: self.graph(unknown), again: vec![[0.0; N]; blocks], frequencies: vec![[0.0; N]; blocks], inside: vec![WHOLE; blocks] };
        for (number, one) in self.loops.iter().enumerate().rev().filter(|(_, one)| one.depth <= DEPTH) {
            let Some(&header) = one.blocks.first() else { continue };
            let mut blocks = one.blocks.to_vec();
            blocks.sort_unstable();
            for &block in &blocks {
                set(&mut flow.inside, block, number + 1);
                set(&mut flow.frequencies, block, [0.0; N]);
            }
            set(&mut flow.frequencies, header, [1.0; N]);
            let back = flow.spread(&blocks, Some(header), number + 1);
            set(&mut flow.again, header, back.map(|back| back.min(1.0 - 1.0 / MOST_TRIPS)));
        }
        let all: Vec<usize> = (0..blocks).collect();
        flow.inside.fill(WHOLE);
        flow.frequencies.fill([0.0; N]);
        let share = 1.0 / self.cfg.entries.len().max(1) as f64;
        for &entry in &self.cfg.entries {
            add(&mut flow.frequencies, entry, [share; N]);
        }
        flow.spread(&all, None, WHOLE);
        flow.frequencies
    }

    /// The frequencies of blocks that are executed in more than every second visit, or round of their loop; those of
    /// all others are taken for zero: code that deals with errors is not told from other code, and takes long.
    pub(super) fn sure_part(&self, frequencies: &[f64]) -> Vec<f64> {
        let of = |(block, frequency): (usize, &f64)| {
            let header = self.loops.innermost(block).and_then(|index| self.loops.get(index)?.blocks.first());
            let around = header.map_or(1.0, |&header| frequencies.get(header).copied().unwrap_or(0.0));
            if *frequency > 0.5 * around { *frequency } else { 0.0 }
        };
        frequencies.iter().enumerate().map(of).collect()
    }

    /// The edges with their probabilities.
    fn graph<const N: usize>(&self, unknown: UnknownTrips<N>) -> Graph<'a, N> {
        let blocks = self.cfg.blocks.len();
        let headers: BTreeMap<usize, Vec<usize>> =
            self.loops.iter().enumerate().fold(BTreeMap::<usize, Vec<usize>>::new(), |mut headers, (index, one)| {
                if let Some(&header) = one.blocks.first() {
                    headers.entry(header).or_default().push(index);
                }
                headers
            });
        let cold: Vec<bool> = (0..blocks).map(|block| self.is_cold(block)).collect();
        let known = Known { ways_out: self.ways_out(&cold), trips: self.all_trips(unknown), headers, cold };
        let mut graph = Graph { cfg: self.cfg, first: Vec::with_capacity(blocks + 1), probabilities: Vec::with_capacity(2 * blocks) };
        for block in 0..blocks {
            graph.first.push(graph.probabilities.len());
            self.of_branch(block, &known, &mut graph.probabilities);
        }
        graph
    }

    /// Adds the probability of each way out of a block to another.
    fn of_branch<const N: usize>(&self, block: usize, known: &Known<N>, probabilities: &mut Vec<[f64; N]>) {
        let Some(own) = self.cfg.blocks.get(block) else { return };
        if let ([_], 0) = (own.successors.as_slice(), own.exits) {
            return probabilities.push([1.0; N]);
        }
        let leaving: SmallVec<[Option<[f64; N]>; 2]> = own.successors.iter().map(|&next| self.leaving(block, next, known)).collect();
        let is_cold = |next: &usize| known.cold.get(*next) == Some(&true);
        let stays = leaving.iter().zip(&own.successors).any(|(leaving, next)| leaving.is_none() && !is_cold(next));
        let is_cold_choice = !is_cold(&block) && own.successors.iter().any(|next| !is_cold(next));
        let first = probabilities.len();
        probabilities.resize(first + own.successors.len(), [0.0; N]);
        let mut weights: SmallVec<[Weight; 4]> = SmallVec::new();
        for scene in 0..N {
            weights.clear();
            for (leaving, next) in leaving.iter().zip(&own.successors) {
                weights.push(match leaving.and_then(|leaving| leaving.get(scene).copied()) {
                    Some(leaves) if stays => Weight::Fixed(if is_cold(next) { COLD * leaves } else { leaves }),
                    _ if is_cold(next) && is_cold_choice => Weight::Fixed(COLD),
                    _ => Weight::Share(self.hint(block, *next, known)),
                });
            }
            let shared = share_out(&weights, own.exits > 0);
            for (place, share) in probabilities.get_mut(first..).into_iter().flatten().zip(shared) {
                place.get_mut(scene).into_iter().for_each(|place| *place = share);
            }
        }
    }

    /// The probability of an edge that leaves loops: once in all their iterations.
    fn leaving<const N: usize>(&self, from: usize, to: usize, known: &Known<N>) -> Option<[f64; N]> {
        let mut left = [1.0; N];
        let mut has_left = false;
        for index in self.loops.around(from).take_while(|&index| !self.is_in(to, index)) {
            let ways = if has_left { 1 } else { known.ways_out.get(index).copied().unwrap_or(1).max(1) };
            let trips = known.trips.get(index).copied().unwrap_or([1.0; N]);
            left.iter_mut().zip(trips).for_each(|(left, trips)| *left /= trips * ways as f64);
            has_left = true;
            if left.iter().all(|&left| left <= 1.0 / MOST_TRIPS) {
                break;
            }
        }
        has_left.then(|| left.map(|left| left.clamp(1.0 / MOST_TRIPS, 1.0)))
    }

    /// How often each loop goes round.
    fn all_trips<const N: usize>(&self, unknown: UnknownTrips<N>) -> Vec<[f64; N]> {
        let of = |index: usize| match self.trips.get(index).copied().flatten() {
            Some(trips) if trips.exact => [trips.most.max(1) as f64; N],
            Some(trips) => unknown.0.map(|unknown| (trips.most.max(1) as f64).min(unknown)),
            None => unknown.0,
        };
        (0..self.loops.len()).map(of).collect()
    }

    fn is_in(&self, block: usize, index: usize) -> bool {
        self.loops.get(index).is_some_and(|one| one.contains(block))
    }

    /// By loop how many branches may leave it, ends that do not return left out; of a branch that leaves more than `DEPTH`
    /// loops at once, the inner ones.
    fn ways_out(&self, cold: &[bool]) -> Vec<usize> {
        let mut counts = vec![0; self.loops.len()];
        for (from, block) in self.cfg.blocks.iter().enumerate().filter(|(_, block)| block.successors.len() > 1) {
            let warm = |next: &&usize| cold.get(**next) != Some(&true);
            let is_left = |&index: &usize| block.successors.iter().filter(warm).any(|&next| !self.is_in(next, index));
            for index in self.loops.around(from).take_while(is_left).take(DEPTH) {
                counts.get_mut(index).into_iter().for_each(|count: &mut usize| *count += 1);
            }
        }
        counts
    }

    /// How likely structure makes an edge, besides others of the same branch.
    fn hint<const N: usize>(&self, from: usize, to: usize, known: &Known<N>) -> f64 {
        let returns = self.cfg.blocks.get(to).is_some_and(|block| block.exits > 0 && block.successors.is_empty());
        let mut begun = known.headers.get(&to).into_iter().flatten().filter_map(|&index| self.loops.get(index));
        let enters = begun.any(|one| !one.contains(from));
        let return_odds = if returns { (1.0 - RETURN) / RETURN } else { 1.0 };
        let header_odds = if enters { LOOP_HEADER / (1.0 - LOOP_HEADER) } else { 1.0 };
        return_odds * header_odds
    }

    /// Whether a block lies in a part that was split off, or ends where control does not come back.
    fn is_cold(&self, block: usize) -> bool {
        let Some(own) = self.cfg.blocks.get(block) else { return false };
        let is_apart = self.function.parts.first().is_some_and(|part| !part.contains(&own.address));
        let last = own.instructions.clone().last().and_then(|last| self.body.instructions.get(last));
        let ends = last.is_some_and(|last| matches!(last.flow, Turn::Stop | Turn::Call { returns: false, .. }));
        is_apart || (ends && own.successors.is_empty())
    }
}

/// What edges are judged by.
struct Known<const N: usize> {
    /// By loop how many branches may leave it.
    ways_out: Vec<usize>,
    /// By loop how often it goes round.
    trips: Vec<[f64; N]>,
    /// Loops by their headers.
    headers: BTreeMap<usize, Vec<usize>>,
    /// By block.
    cold: Vec<bool>,
}

/// A control-flow graph with the probabilities of its edges.
struct Graph<'a, const N: usize> {
    cfg: &'a Cfg,
    /// By block where its edges begin.
    first: Vec<usize>,
    probabilities: Vec<[f64; N]>,
}

/// How control spreads over a graph.
struct Flow<'a, const N: usize> {
    graph: Graph<'a, N>,
    /// By header the probability that control comes back to it.
    again: Vec<[f64; N]>,
    frequencies: Vec<[f64; N]>,
    /// By block a mark: whether it takes part.
    inside: Vec<usize>,
}

impl<const N: usize> Flow<'_, N> {
    /// Spreads what the frequencies hold over blocks, which are in the order of the graph and bear the mark; returns what
    /// comes back to the header, which is taken once.
    fn spread(&mut self, blocks: &[usize], header: Option<usize>, mark: usize) -> [f64; N] {
        let mut back = [0.0; N];
        for &from in blocks {
            let Some(frequency) = self.frequencies.get_mut(from) else { continue };
            if Some(from) != header {
                let again = self.again.get(from).copied().unwrap_or([0.0; N]);
                frequency.iter_mut().zip(again).for_each(|(frequency, again)| *frequency /= 1.0 - again);
            }
            let frequency = *frequency;
            let Some(block) = self.graph.cfg.blocks.get(from) else { continue };
            let first = self.graph.first.get(from).copied().unwrap_or(0);
            for (&to, probability) in block.successors.iter().zip(self.graph.probabilities.get(first..).into_iter().flatten()) {
                let mut flow = frequency;
                flow.iter_mut().zip(probability).for_each(|(flow, probability)| *flow *= probability);
                if Some(to) == header {
                    back.iter_mut().zip(flow).for_each(|(back, flow)| *back += flow);
                } else if to > from && self.inside.get(to) == Some(&mark) {
                    add(&mut self.frequencies, to, flow);
                }
            }
        }
        back
    }
}

/// What is known of an edge's probability.
#[derive(Clone, Copy, Debug)]
enum Weight {
    /// This.
    Fixed(f64),
    /// A share of what the fixed ones leave.
    Share(f64),
}

/// Probabilities from weights; a way out at the end of the block takes part as one more successor.
fn share_out(weights: &[Weight], has_exit: bool) -> impl Iterator<Item = f64> + '_ {
    let fixed: f64 = weights.iter().map(|weight| if let Weight::Fixed(fixed) = weight { *fixed } else { 0.0 }).sum();
    let exit = if has_exit && !weights.is_empty() { 1.0 } else { 0.0 };
    let shares: f64 = exit + weights.iter().map(|weight| if let Weight::Share(share) = weight { *share } else { 0.0 }).sum::<f64>();
    // Where all are fixed, they share the whole in proportion.
    let scale = if shares == 0.0 && fixed > 0.0 { 1.0 / fixed } else { 1.0 / fixed.max(1.0) };
    let left = (1.0 - fixed * scale).max(0.0);
    let one = move |weight: &Weight| match weight {
        Weight::Fixed(fixed) => fixed * scale,
        Weight::Share(share) => left * share / shares,
    };
    weights.iter().map(one)
}

fn set<T>(values: &mut [T], index: usize, to: T) {
    if let Some(place) = values.get_mut(index) {
        *place = to;
    }
}

fn add<const N: usize>(values: &mut [[f64; N]], index: usize, more: [f64; N]) {
    if let Some(place) = values.get_mut(index) {
        place.iter_mut().zip(more).for_each(|(place, more)| *place += more);
    }
}

#[cfg(test)]
mod tests {
    use super::{Weight, share_out};

    #[test]
    fn probabilities_of_a_branch_add_up_to_one() {
        let cases: [(&[Weight], bool); 5] = [
            (&[Weight::Share(1.0), Weight::Share(3.0)], false),
            (&[Weight::Fixed(0.1), Weight::Share(1.0)], false),
            (&[Weight::Fixed(0.1), Weight::Fixed(0.3)], false),
            (&[Weight::Fixed(0.9), Weight::Fixed(0.9), Weight::Share(1.0)], false),
            (&[Weight::Share(1.0)], false),
        ];
        for (weights, has_exit) in cases {
            let sum: f64 = share_out(weights, has_exit).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{weights:?}: {sum}");
        }
        assert_eq!(share_out(&[Weight::Share(1.0)], true).collect::<Vec<_>>(), [0.5]);
        assert_eq!(share_out(&[Weight::Share(1.0), Weight::Share(3.0)], false).collect::<Vec<_>>(), [0.25, 0.75]);
    }
}
