//! Dominators of a control-flow graph (Cooper, Harvey and Kennedy: *A Simple, Fast Dominance Algorithm*, 2001).

use crate::graph::{Graph, Lists};

/// Which block every way from outside to a block passes last.
///
/// Everything is shifted by one: position 0 stands for the outside, from which every entry is reached.
pub(crate) struct Dominators {
    /// For each block the first and the last number of what it dominates, in an order that visits a block first.
    spans: Vec<(usize, usize)>,
    /// Whether every edge that leads back leads to a block that dominates its origin.
    pub(crate) lead_back_well: bool,
}

impl Dominators {
    pub(crate) fn of(graph: &Graph, predecessors: &Lists) -> Self {
        let forward = forward(graph, predecessors).map(|up| Self::over(&up, graph)).filter(|found| found.lead_back_well);
        forward.unwrap_or_else(|| Self::over(&immediate(graph, predecessors), graph))
    }

    /// Over the immediate dominator of every block, shifted by one.
    fn over(up: &[usize], graph: &Graph) -> Self {
        let mut sizes = vec![1_usize; up.len()];
        for block in (1..up.len()).rev() {
            let size = sizes.get(block).copied().unwrap_or(0);
            if let Some(above) = up.get(block).and_then(|&up| sizes.get_mut(up)) {
                *above += size;
            }
        }
        let mut free = vec![1_usize; up.len()];
        let mut spans = vec![(0, sizes.first().copied().unwrap_or(0)); up.len()];
        for block in 1..up.len() {
            let size = sizes.get(block).copied().unwrap_or(0);
            let Some(next) = up.get(block).and_then(|&up| free.get_mut(up)) else { continue };
            let first = *next;
            *next += size;
            if let (Some(free), Some(span)) = (free.get_mut(block), spans.get_mut(block)) {
                *free = first + 1;
                *span = (first, first + size);
            }
        }
        let mut dominators = Self { spans, lead_back_well: false };
        let leads_back_well = |block: usize| graph.next(block).iter().all(|&to| to > block || dominators.dominates(to, block));
        dominators.lead_back_well = (0..graph.len()).all(leads_back_well);
        dominators
    }

    /// Whether every way to `other` passes `one`; a block dominates itself.
    pub(crate) fn dominates(&self, one: usize, other: usize) -> bool {
        match (self.spans.get(one + 1), self.spans.get(other + 1)) {
            (Some(one), Some(other)) => one.0 <= other.0 && other.0 < one.1,
            _ => false,
        }
    }
}

const NONE: usize = usize::MAX;

/// No block's immediate dominator but those of the entries.
fn entered(graph: &Graph) -> Vec<usize> {
    let mut up = vec![NONE; graph.len() + 1];
    let entered = graph.entries.iter().map(|entry| entry + 1);
    for place in std::iter::once(0).chain(entered) {
        if let Some(place) = up.get_mut(place) {
            *place = 0;
        }
    }
    up
}

/// The immediate dominators, shifted by one, as if no edge led back. If every edge that does leads to a block that dominates
/// its origin, they are those of the graph: such an edge is on no way that does not pass its target before.
/// None where a block that is no entry is reached by such edges alone.
fn forward(graph: &Graph, predecessors: &Lists) -> Option<Vec<usize>> {
    let mut up = entered(graph);
    for block in 0..graph.len() {
        // The last one first: where many ways lead out of one chain of blocks, each is a step in front of the one behind it.
        let before = predecessors.of(block).iter().rev().skip_while(|&&one| one >= block).map(|one| one + 1);
        let found = before.reduce(|one, other| common(&up, one, other));
        if let Some(place) = up.get_mut(block + 1).filter(|place| **place != 0) {
            *place = found?;
        }
    }
    Some(up)
}

/// The immediate dominator of every block, shifted by one.
fn immediate(graph: &Graph, predecessors: &Lists) -> Vec<usize> {
    let mut up = entered(graph);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for block in 0..graph.len() {
            let known = predecessors.of(block).iter().map(|one| one + 1).filter(|&one| up.get(one).is_some_and(|&of| of != NONE));
            let Some(found) = known.reduce(|one, other| common(&up, one, other)) else { continue };
            if let Some(place) = up.get_mut(block + 1).filter(|place| **place != 0 && **place != found) {
                *place = found;
                has_changed = true;
            }
        }
    }
    up.iter_mut().filter(|up| **up == NONE).for_each(|up| *up = 0);
    up
}

fn common(up: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        let deeper = one.max(other);
        (one, other) = (one.min(other), up.get(deeper).copied().unwrap_or(0));
    }
    one
}
