//! Loops of a control-flow graph and how they nest.
//!
//! An edge to a block that dominates its origin goes back: the natural loop of a header is what reaches its back edges
//! without passing it. Without the back edges a reducible graph has no cycle; what still goes round is entered at
//! several places and is one irreducible loop with all that the natural loops in it hold. Any two loops are apart, or
//! one lies within the other.

use std::cmp::Reverse;

use crate::cfg::Cfg;
use crate::components::components;
use crate::dominators::Dominators;
use crate::graph::{Graph, Lists};
use crate::program::Body;

/// A loop: blocks from which its header is reached again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Link address of its header.
    pub header: u64,
    /// From 1; loops within a loop are one deeper.
    pub depth: usize,
    /// The smallest loop around it, by its index in the list.
    pub parent: Option<usize>,
    /// Whether it can be entered elsewhere than at its header.
    pub is_irreducible: bool,
    /// Blocks at which it is entered; the header first, and alone unless the loop is irreducible.
    pub entries: Vec<usize>,
    /// Link addresses of the instructions that go back to the header (the last ones of their blocks, which may just
    /// fall through into it).
    pub back_edges: Vec<u64>,
    /// Blocks in it, loops within included; the header first, then in the order of the graph.
    pub blocks: Vec<usize>,
}

impl Loop {
    /// Whether a block belongs to it.
    #[must_use]
    pub fn contains(&self, block: usize) -> bool {
        let (header, rest) = self.blocks.split_first().map_or((None, [].as_slice()), |(header, rest)| (Some(*header), rest));
        header == Some(block) || rest.binary_search(&block).is_ok()
    }
}

/// The loops of a graph as sets of blocks, and how they were found.
struct Forest {
    loops: Vec<Vec<usize>>,
    /// The loop around each, and its depth.
    nesting: Vec<(Option<usize>, usize)>,
    predecessors: Lists,
    dominators: Dominators,
}

/// How many loops a graph has, and how deep they nest.
pub(crate) fn count(graph: &Graph) -> (usize, usize) {
    let Some(forest) = Forest::of(graph) else { return (0, 0) };
    (forest.loops.len(), forest.nesting.iter().map(|&(_, depth)| depth).max().unwrap_or(0))
}

impl Forest {
    /// None where all edges lead forward.
    fn of(graph: &Graph) -> Option<Self> {
        let is_straight = (0..graph.len()).all(|block| graph.next(block).iter().all(|&next| next > block));
        if is_straight {
            return None;
        }
        let predecessors = graph.predecessors();
        let dominators = Dominators::of(graph, &predecessors);
        let mut loops: Vec<Vec<usize>> = Vec::new();
        let mut marks = vec![usize::MAX; graph.len()];
        for header in 0..graph.len() {
            let before = predecessors.of(header).iter().copied();
            let back: Vec<usize> = before.filter(|&one| one >= header && dominators.dominates(header, one)).collect();
            if !back.is_empty() {
                loops.push(blocks_of(header, &back, &predecessors, &mut marks));
            }
        }
        let irreducible = irreducible(graph, &dominators, &loops);
        loops.extend(irreducible);
        loops.sort_by_key(|blocks| (blocks.first().copied(), Reverse(blocks.len())));
        let nesting = nesting(graph.len(), &loops);
        Some(Self { loops, nesting, predecessors, dominators })
    }
}

/// Cycles that are left without the back edges; `natural` are the loops that have one.
fn irreducible(graph: &Graph, dominators: &Dominators, natural: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let goes_back = |block: usize| graph.next(block).iter().any(|&to| to <= block && !dominators.dominates(to, block));
    if !(0..graph.len()).any(goes_back) {
        return Vec::new();
    }
    let forward = |block: usize| graph.next(block).iter().copied().filter(move |&to| !dominators.dominates(to, block));
    let leads_to_itself = |block: usize| forward(block).any(|to| to == block);
    let mut cycles = components(graph.len(), forward);
    cycles.retain(|blocks| blocks.len() > 1 || blocks.iter().copied().any(leads_to_itself));
    cycles.iter_mut().for_each(|blocks| blocks.sort_unstable());
    cycles.iter().map(|cycle| with_loops(cycle, natural, graph.len())).collect()
}

impl Cfg {
    /// All loops, the outer ones in front of the inner ones; back edges to the same header are one loop.
    #[must_use]
    pub fn loops(&self, body: &Body) -> Vec<Loop> {
        let Some(forest) = Forest::of(&self.graph()) else { return Vec::new() };
        let loops = forest.loops.into_iter().zip(forest.nesting);
        loops.map(|(blocks, place)| self.describe(body, &forest.predecessors, &forest.dominators, blocks, place)).collect()
    }

    /// Edges that lead into a loop from outside, as blocks; an entry of the function has no origin.
    #[must_use]
    pub fn edges_into(&self, one: &Loop) -> Vec<(Option<usize>, usize)> {
        let outside = self.blocks.iter().enumerate().filter(|(block, _)| !one.contains(*block));
        let edges = outside.flat_map(|(from, block)| block.next().map(move |to| (Some(from), to)));
        let entered = self.entries.iter().map(|&entry| (None, entry));
        entered.chain(edges).filter(|(_, to)| one.contains(*to)).collect()
    }

    /// Edges that lead out of a loop, as blocks; a way out of the function has no target.
    #[must_use]
    pub fn edges_out_of(&self, one: &Loop) -> Vec<(usize, Option<usize>)> {
        let mut edges = Vec::new();
        for &from in &one.blocks {
            let Some(block) = self.blocks.get(from) else { continue };
            edges.extend(block.next().filter(|&to| !one.contains(to)).map(|to| (from, Some(to))));
            edges.extend((block.exits > 0).then_some((from, None)));
        }
        edges
    }

    fn describe(
        &self,
        body: &Body,
        predecessors: &Lists,
        dominators: &Dominators,
        blocks: Vec<usize>,
        (parent, depth): (Option<usize>, usize),
    ) -> Loop {
        let header = blocks.first().copied().unwrap_or(0);
        let address = |block: usize| self.blocks.get(block).map_or(0, |block| block.address);
        let mut one = Loop {
            header: address(header),
            depth,
            parent,
            is_irreducible: blocks.iter().any(|&block| !dominators.dominates(header, block)),
            entries: Vec::new(),
            back_edges: Vec::new(),
            blocks,
        };
        let before = |block: usize| predecessors.of(block).iter().copied();
        let is_entered = |block: usize| block == header || self.entries.contains(&block) || before(block).any(|from| !one.contains(from));
        one.entries = if one.is_irreducible { one.blocks.iter().copied().filter(|&block| is_entered(block)).collect() } else { vec![header] };
        let ends = before(header).filter(|&from| one.contains(from)).filter_map(|from| self.blocks.get(from)?.instructions.clone().last());
        one.back_edges = ends.filter_map(|end| Some(body.instructions.get(end)?.address)).collect();
        one
    }
}

/// The header first, then what reaches the back edges without passing it, in order; `marks` tell the header of the
/// last loop in which a block was met.
fn blocks_of(header: usize, back: &[usize], predecessors: &Lists, marks: &mut [usize]) -> Vec<usize> {
    let mut inside = vec![header];
    if let Some(mark) = marks.get_mut(header) {
        *mark = header;
    }
    let mut enter = |inside: &mut Vec<usize>, blocks: &[usize]| {
        let is_new = |block: &usize| marks.get_mut(*block).is_some_and(|mark| std::mem::replace(mark, header) != header);
        inside.extend(blocks.iter().copied().filter(is_new));
    };
    enter(&mut inside, back);
    let mut next = 1;
    while let Some(&block) = inside.get(next) {
        enter(&mut inside, predecessors.of(block));
        next += 1;
    }
    inside.get_mut(1..).unwrap_or_default().sort_unstable();
    inside
}

/// A cycle and all of every natural loop whose header and some block outside of it lie in the cycle.
fn with_loops(cycle: &[usize], natural: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut is_inside = vec![false; count];
    let take = |is_inside: &mut [bool], blocks: &[usize]| {
        blocks.iter().for_each(|&block| is_inside.get_mut(block).into_iter().for_each(|inside| *inside = true));
    };
    take(&mut is_inside, cycle);
    for blocks in natural {
        if blocks.first().is_some_and(|&header| is_inside.get(header) == Some(&true)) {
            take(&mut is_inside, blocks);
        }
    }
    is_inside.iter().enumerate().filter(|(_, inside)| **inside).map(|(block, _)| block).collect()
}

/// The smallest loop around each loop, and its depth. `loops` have the outer ones in front.
fn nesting(blocks: usize, loops: &[Vec<usize>]) -> Vec<(Option<usize>, usize)> {
    let mut order: Vec<usize> = (0..loops.len()).collect();
    order.sort_by_key(|&one| Reverse(loops.get(one).map_or(0, Vec::len)));
    let mut innermost: Vec<Option<usize>> = vec![None; blocks];
    let mut nesting = vec![(None, 1); loops.len()];
    for index in order {
        let Some(own) = loops.get(index) else { continue };
        let parent = own.first().and_then(|&header| innermost.get(header).copied().flatten());
        let depth = parent.and_then(|parent| nesting.get(parent)).map_or(1, |&(_, depth)| depth + 1);
        if let Some(place) = nesting.get_mut(index) {
            *place = (parent, depth);
        }
        for &block in own {
            if let Some(place) = innermost.get_mut(block) {
                *place = Some(index);
            }
        }
    }
    nesting
}
