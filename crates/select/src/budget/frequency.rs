//! How often each block of a function is executed in one visit of it.
//!
//! Branches are predicted by structure and the frequencies follow from them, loop by loop from the innermost outwards:
//! Y. Wu and J. Larus, *Static branch frequency and program profile analysis*, MICRO 27, 1994; the heuristics and
//! their hit rates are those of T. Ball and J. Larus, *Branch prediction for free*, PLDI 1993, as far as they can be
//! told from machine code without types (loop exit, loop header, return), with what compilers say by laying out cold
//! code apart (GCC's `predict.def`: ends that do not return, cold labels).

use tare_code::{Body, Cfg, Flow, Function, Loop, Trips};

/// How often a loop goes round of which nothing is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct UnknownTrips(pub(super) f64);

/// Probability of a way into code that the compiler put apart, or to an end that does not return.
const COLD: f64 = 0.01;
/// Hit rate of "a branch does not go to a block that returns".
const RETURN: f64 = 0.72;
/// Hit rate of "a branch enters the loop behind it".
const LOOP_HEADER: f64 = 0.75;
/// The most that a loop goes round.
const MOST_TRIPS: f64 = 1e9;

/// What is looked at of a function.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) cfg: &'a Cfg,
    pub(super) loops: &'a [Loop],
    pub(super) trips: &'a [Option<Trips>],
}

impl Shape<'_> {
    /// The frequency of each block in one visit.
    pub(super) fn frequencies(&self, unknown: UnknownTrips) -> Vec<f64> {
        let probabilities = self.probabilities(unknown);
        let mut again = vec![0.0; self.cfg.blocks.len()];
        for one in self.loops.iter().rev() {
            let Some(&header) = one.blocks.first() else { continue };
            let mut blocks = one.blocks.clone();
            blocks.sort_unstable();
            let frequencies = self.spread(&blocks, &[(header, 1.0)], &probabilities, &again, header);
            let back: f64 = blocks.iter().map(|&from| at(&frequencies, from) * self.probability(&probabilities, from, header)).sum();
            if let Some(place) = again.get_mut(header) {
                *place = back.min(1.0 - 1.0 / MOST_TRIPS);
            }
        }
        let all: Vec<usize> = (0..self.cfg.blocks.len()).collect();
        let share = 1.0 / self.cfg.entries.len().max(1) as f64;
        let entries: Vec<(usize, f64)> = self.cfg.entries.iter().map(|&entry| (entry, share)).collect();
        self.spread(&all, &entries, &probabilities, &again, usize::MAX)
    }

    /// The frequencies of blocks that are executed in more than every second visit, or round of their loop; those of
    /// all others are taken for zero: code that deals with errors is not told from other code, and takes long.
    pub(super) fn sure_part(&self, frequencies: &[f64]) -> Vec<f64> {
        let innermost = self.innermost();
        let of = |(block, frequency): (usize, &f64)| {
            let header = innermost.get(block).copied().flatten().and_then(|index| self.loops.get(index)?.blocks.first());
            let around = header.map_or(1.0, |&header| at(frequencies, header));
            if *frequency > 0.5 * around { *frequency } else { 0.0 }
        };
        frequencies.iter().enumerate().map(of).collect()
    }

    /// Frequencies of some blocks, which are in the order of the graph, if control comes to the given ones; edges that
    /// go back are in `again`, by header. The header of the loop itself is taken once.
    fn spread(&self, blocks: &[usize], sources: &[(usize, f64)], probabilities: &[Vec<f64>], again: &[f64], own: usize) -> Vec<f64> {
        let mut frequencies = vec![0.0; self.cfg.blocks.len()];
        for &(block, frequency) in sources {
            if let Some(place) = frequencies.get_mut(block) {
                *place += frequency;
            }
        }
        for &from in blocks {
            if from != own
                && let Some(place) = frequencies.get_mut(from)
            {
                *place /= 1.0 - at(again, from);
            }
            let Some(block) = self.cfg.blocks.get(from) else { continue };
            for (&to, probability) in block.successors.iter().zip(probabilities.get(from).into_iter().flatten()) {
                let flow = at(&frequencies, from) * probability;
                if let Some(place) = frequencies.get_mut(to).filter(|_| to > from) {
                    *place += flow;
                }
            }
        }
        frequencies
    }

    fn probability(&self, probabilities: &[Vec<f64>], from: usize, to: usize) -> f64 {
        let successors = self.cfg.blocks.get(from).map_or(&[][..], |block| &block.successors);
        successors.iter().zip(probabilities.get(from).into_iter().flatten()).filter(|(next, _)| **next == to).map(|(_, one)| one).sum()
    }

    /// For each block the probability of each of its successors.
    fn probabilities(&self, unknown: UnknownTrips) -> Vec<Vec<f64>> {
        let innermost = self.innermost();
        let ways_out = self.ways_out();
        (0..self.cfg.blocks.len()).map(|block| self.of_branch(block, &innermost, &ways_out, unknown)).collect()
    }

    fn of_branch(&self, block: usize, innermost: &[Option<usize>], ways_out: &[usize], unknown: UnknownTrips) -> Vec<f64> {
        let Some(own) = self.cfg.blocks.get(block) else { return Vec::new() };
        let leaving: Vec<Option<f64>> = own.successors.iter().map(|&next| self.leaving(block, next, innermost, ways_out, unknown)).collect();
        let cold: Vec<bool> = own.successors.iter().map(|&next| self.is_cold(next)).collect();
        let stays = leaving.iter().zip(&cold).any(|(leaving, cold)| leaving.is_none() && !cold);
        let is_cold_choice = !self.is_cold(block) && cold.contains(&false);
        let weight = |index: usize, next: usize| {
            let (leaving, cold) = (leaving.get(index).copied().flatten(), cold.get(index) == Some(&true));
            match leaving {
                Some(leaves) if stays => Weight::Fixed(if cold { COLD * leaves } else { leaves }),
                _ if cold && is_cold_choice => Weight::Fixed(COLD),
                _ => Weight::Share(self.hint(block, next)),
            }
        };
        let weights: Vec<Weight> = own.successors.iter().enumerate().map(|(index, &next)| weight(index, next)).collect();
        share_out(&weights, own.exits > 0)
    }

    /// The probability of an edge that leaves loops: once in all their iterations.
    fn leaving(&self, from: usize, to: usize, innermost: &[Option<usize>], ways_out: &[usize], unknown: UnknownTrips) -> Option<f64> {
        let mut left = 1.0;
        let mut next = innermost.get(from).copied().flatten();
        let mut has_left = false;
        while let Some(index) = next {
            let Some(one) = self.loops.get(index).filter(|one| !one.contains(to)) else { break };
            let ways = if has_left { 1 } else { ways_out.get(index).copied().unwrap_or(1).max(1) };
            left /= self.trips(index, unknown) * ways as f64;
            has_left = true;
            next = one.parent;
        }
        has_left.then_some(left.clamp(1.0 / MOST_TRIPS, 1.0))
    }

    /// How often a loop goes round.
    fn trips(&self, index: usize, unknown: UnknownTrips) -> f64 {
        match self.trips.get(index).copied().flatten() {
            Some(trips) if trips.exact => trips.most.max(1) as f64,
            Some(trips) => (trips.most.max(1) as f64).min(unknown.0),
            None => unknown.0,
        }
    }

    /// By block the smallest loop around it.
    fn innermost(&self) -> Vec<Option<usize>> {
        let mut innermost = vec![None; self.cfg.blocks.len()];
        let mut order: Vec<usize> = (0..self.loops.len()).collect();
        order.sort_by_key(|&index| self.loops.get(index).map_or(0, |one| one.depth));
        for index in order {
            for &block in self.loops.get(index).map_or(&[][..], |one| &one.blocks) {
                if let Some(place) = innermost.get_mut(block) {
                    *place = Some(index);
                }
            }
        }
        innermost
    }

    /// By loop how many branches may leave it, ends that do not return left out.
    fn ways_out(&self) -> Vec<usize> {
        let count = |one: &Loop| {
            let leaves = |&&block: &&usize| {
                let next = self.cfg.blocks.get(block).map_or(&[][..], |block| &block.successors);
                next.len() > 1 && next.iter().any(|&next| !one.contains(next) && !self.is_cold(next))
            };
            one.blocks.iter().filter(leaves).count()
        };
        self.loops.iter().map(count).collect()
    }

    /// How likely structure makes an edge, besides others of the same branch.
    fn hint(&self, from: usize, to: usize) -> f64 {
        let returns = self.cfg.blocks.get(to).is_some_and(|block| block.exits > 0 && block.successors.is_empty());
        let enters = self.loops.iter().any(|one| one.blocks.first() == Some(&to) && !one.contains(from));
        let return_odds = if returns { (1.0 - RETURN) / RETURN } else { 1.0 };
        let header_odds = if enters { LOOP_HEADER / (1.0 - LOOP_HEADER) } else { 1.0 };
        return_odds * header_odds
    }

    /// Whether a block lies in a part that was split off, or ends where control does not come back.
    fn is_cold(&self, block: usize) -> bool {
        let Some(own) = self.cfg.blocks.get(block) else { return false };
        let is_apart = self.function.parts.first().is_some_and(|part| !part.contains(&own.address));
        let last = own.instructions.clone().last().and_then(|last| self.body.instructions.get(last));
        let ends = last.is_some_and(|last| matches!(last.flow, Flow::Stop | Flow::Call { returns: false, .. }));
        is_apart || (ends && own.successors.is_empty())
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
fn share_out(weights: &[Weight], has_exit: bool) -> Vec<f64> {
    let fixed: f64 = weights.iter().map(|weight| if let Weight::Fixed(fixed) = weight { *fixed } else { 0.0 }).sum();
    let exit = if has_exit && !weights.is_empty() { 1.0 } else { 0.0 };
    let shares: f64 = exit + weights.iter().map(|weight| if let Weight::Share(share) = weight { *share } else { 0.0 }).sum::<f64>();
    // Where all are fixed, they share the whole in proportion.
    let scale = if shares == 0.0 && fixed > 0.0 { 1.0 / fixed } else { 1.0 / fixed.max(1.0) };
    let left = (1.0 - fixed * scale).max(0.0);
    let one = |weight: &Weight| match weight {
        Weight::Fixed(fixed) => fixed * scale,
        Weight::Share(share) => left * share / shares,
    };
    weights.iter().map(one).collect()
}

fn at(values: &[f64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(0.0)
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
            let sum: f64 = share_out(weights, has_exit).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{weights:?}: {sum}");
        }
        assert_eq!(share_out(&[Weight::Share(1.0)], true), [0.5]);
        assert_eq!(share_out(&[Weight::Share(1.0), Weight::Share(3.0)], false), [0.25, 0.75]);
    }
}
