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

/// How many loops a graph has, and how deep they nest.
pub(crate) fn count(graph: &Graph) -> (usize, usize) {
    let Some(ways) = Ways::of(graph) else { return (0, 0) };
    if ways.dominators.lead_back_well {
        let natural = Natural::of(graph, &ways);
        return (natural.headers.len(), natural.depths().into_iter().max().unwrap_or(0));
    }
    let forest = Forest::of(graph, &ways);
    (forest.loops.len(), forest.nesting.iter().map(|&(_, depth)| depth).max().unwrap_or(0))
}

/// How the blocks of a graph are reached.
struct Ways {
    predecessors: Lists,
    dominators: Dominators,
}

impl Ways {
    /// None where all edges lead forward.
    fn of(graph: &Graph) -> Option<Self> {
        let is_straight = (0..graph.len()).all(|block| graph.next(block).iter().all(|&next| next > block));
        if is_straight {
            return None;
        }
        let predecessors = graph.predecessors();
        let dominators = Dominators::of(graph, &predecessors);
        Some(Self { predecessors, dominators })
    }

    fn before(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.predecessors.of(block).iter().copied()
    }
}

/// No loop.
const NONE: usize = usize::MAX;

/// The natural loops, inner ones in front of the outer ones: that of a header is what reaches its back edges without
/// passing it.
struct Natural {
    headers: Vec<usize>,
    /// The smallest loop around each.
    parents: Vec<usize>,
    /// The smallest loop around each block.
    innermost: Vec<usize>,
}

impl Natural {
    /// A header dominates its loop and stands in front of all of it: the last headers are those of the innermost loops.
    /// A walk back from a loop's back edges passes a loop that was found before from its header on, so that every block
    /// is walked over once.
    fn of(graph: &Graph, ways: &Ways) -> Self {
        let mut natural = Self { headers: Vec::new(), parents: Vec::new(), innermost: vec![NONE; graph.len()] };
        let mut todo: Vec<usize> = Vec::new();
        for header in (0..graph.len()).rev() {
            todo.extend(ways.before(header).filter(|&one| one >= header && ways.dominators.dominates(header, one)));
            if todo.is_empty() {
                continue;
            }
            let own = natural.headers.len();
            natural.headers.push(header);
            natural.parents.push(NONE);
            while let Some(block) = todo.pop() {
                let first = natural.take(block, own);
                todo.extend(first.filter(|&first| first != header).into_iter().flat_map(|first| ways.before(first)));
            }
        }
        natural
    }

    /// Takes a block and the outermost loop around it into another loop; answers where these are entered, if they were
    /// not in it before.
    fn take(&mut self, block: usize, into: usize) -> Option<usize> {
        let innermost = self.innermost.get_mut(block)?;
        if *innermost == NONE {
            *innermost = into;
            return Some(block);
        }
        let mut outermost = *innermost;
        while let Some(&parent) = self.parents.get(outermost).filter(|parent| **parent != NONE) {
            outermost = parent;
        }
        if outermost == into {
            return None;
        }
        *self.parents.get_mut(outermost)? = into;
        self.headers.get(outermost).copied()
    }

    /// The depth of each loop, from 1.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![1; self.headers.len()];
        for own in (0..self.headers.len()).rev() {
            let around = self.parents.get(own).and_then(|&parent| depths.get(parent)).copied().unwrap_or(0);
            if let Some(depth) = depths.get_mut(own) {
                *depth = around + 1;
            }
        }
        depths
    }

    /// The blocks of each loop in order, its header first.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let mut blocks = vec![Vec::new(); self.headers.len()];
        for (block, &innermost) in self.innermost.iter().enumerate() {
            let mut around = innermost;
            while let Some(own) = blocks.get_mut(around) {
                own.push(block);
                around = self.parents.get(around).copied().unwrap_or(NONE);
            }
        }
        blocks
    }
}

/// Cycles that are left without the back edges.
fn irreducible(graph: &Graph, dominators: &Dominators) -> Vec<Vec<usize>> {
    if dominators.lead_back_well {
        return Vec::new();
    }
    let forward = |block: usize| graph.next(block).iter().copied().filter(move |&to| !dominators.dominates(to, block));
    let leads_to_itself = |block: usize| forward(block).any(|to| to == block);
    let mut cycles = components(graph.len(), forward);
    cycles.retain(|blocks| blocks.len() > 1 || blocks.iter().copied().any(leads_to_itself));
    cycles
}

/// The loops of a graph as sets of blocks.
struct Forest {
    /// The outer ones in front.
    loops: Vec<Vec<usize>>,
    /// The loop around each, and its depth.
    nesting: Vec<(Option<usize>, usize)>,
}

impl Forest {
    fn of(graph: &Graph, ways: &Ways) -> Self {
        let mut loops = Natural::of(graph, ways).blocks();
        let cycles = irreducible(graph, &ways.dominators);
        let whole: Vec<Vec<usize>> = cycles.iter().map(|cycle| with_loops(cycle, &loops, graph.len())).collect();
        loops.extend(whole);
        loops.sort_by_key(|blocks| (blocks.first().copied(), Reverse(blocks.len())));
        let nesting = nesting(graph.len(), &loops);
        Self { loops, nesting }
    }
}

impl Cfg {
    /// All loops, the outer ones in front of the inner ones; back edges to the same header are one loop.
    #[must_use]
    pub fn loops(&self, body: &Body) -> Vec<Loop> {
        let graph = self.graph();
        let Some(ways) = Ways::of(&graph) else { return Vec::new() };
        let forest = Forest::of(&graph, &ways);
        let loops = forest.loops.into_iter().zip(forest.nesting);
        loops.map(|(blocks, place)| self.describe(body, &ways, blocks, place)).collect()
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

    fn describe(&self, body: &Body, ways: &Ways, blocks: Vec<usize>, (parent, depth): (Option<usize>, usize)) -> Loop {
        let header = blocks.first().copied().unwrap_or(0);
        let address = |block: usize| self.blocks.get(block).map_or(0, |block| block.address);
        let mut one = Loop {
            header: address(header),
            depth,
            parent,
            is_irreducible: blocks.iter().any(|&block| !ways.dominators.dominates(header, block)),
            entries: Vec::new(),
            back_edges: Vec::new(),
            blocks,
        };
        let is_entered = |block: usize| block == header || self.entries.contains(&block) || ways.before(block).any(|from| !one.contains(from));
        one.entries = if one.is_irreducible { one.blocks.iter().copied().filter(|&block| is_entered(block)).collect() } else { vec![header] };
        let ends = ways.before(header).filter(|&from| one.contains(from)).filter_map(|from| self.blocks.get(from)?.instructions.clone().last());
        one.back_edges = ends.filter_map(|end| Some(body.instructions.get(end)?.address)).collect();
        one
    }
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
