//! Loops of a control-flow graph and how they nest.
//!
//! An edge to a block that dominates its origin goes back: the natural loop of a header is what reaches its back edges
//! without passing it. Without the back edges a reducible graph has no cycle; what still goes round is entered at
//! several places and is one irreducible loop with all that the natural loops in it hold. Any two loops are apart, or
//! one lies within the other.
//!
//! So all of them fit into one list of blocks, in which each is a stretch that holds the stretches of those within it:
//! memory and time grow with the blocks, however deep loops nest.

use std::ops::{Deref, Range};
use std::sync::Arc;

use tare_image::lines::Inside;

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
    /// Blocks in it, loops within included.
    pub blocks: Members,
}

impl Loop {
    /// What the source place of the loop is found by.
    #[must_use]
    pub fn inside(&self) -> Inside<'_> {
        Inside::Loop { header: self.header, back_edges: &self.back_edges }
    }

    /// Whether a block belongs to it.
    #[must_use]
    pub fn contains(&self, block: usize) -> bool {
        self.blocks.layout.places.get(block).is_some_and(|place| self.blocks.range.contains(place))
    }
}

/// The blocks of a loop: the header first, and those of each loop within one behind the other.
#[derive(Clone, PartialEq, Eq)]
pub struct Members {
    layout: Arc<Layout>,
    range: Range<usize>,
}

impl Deref for Members {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        self.layout.order.get(self.range.clone()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

/// The blocks of all loops of a graph.
#[derive(PartialEq, Eq, Default)]
struct Layout {
    /// Those of each loop in one stretch.
    order: Vec<usize>,
    /// Where each block stands there.
    places: Vec<usize>,
}

/// All loops of a graph, the outer ones in front of the inner ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loops {
    all: Vec<Loop>,
    /// The smallest loop around each block.
    innermost: Vec<usize>,
}

impl Loops {
    /// The smallest loop around a block, by its index.
    #[must_use]
    pub fn innermost(&self, block: usize) -> Option<usize> {
        self.innermost.get(block).copied().filter(|&own| own != NONE)
    }

    /// The loops around a block from the smallest one outwards, by their indices.
    pub fn around(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(block), |&own| self.all.get(own)?.parent)
    }
}

impl Deref for Loops {
    type Target = [Loop];

    fn deref(&self) -> &[Loop] {
        &self.all
    }
}

/// How many loops a graph has, and how deep they nest.
pub(crate) fn count(graph: &Graph) -> (usize, usize) {
    let Some(ways) = Ways::of(graph) else { return (0, 0) };
    let forest = Forest::of(graph, &ways);
    (forest.nests.len(), forest.nests.iter().map(|nest| nest.depth).max().unwrap_or(0))
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
    /// A loop around each, or itself where none was found yet: short ways to the outermost one.
    above: Vec<usize>,
    /// The smallest loop around each block.
    innermost: Vec<usize>,
}

impl Natural {
    /// A header dominates its loop and stands in front of all of it: the last headers are those of the innermost loops.
    /// A walk back from a loop's back edges passes a loop that was found before from its header on, so that every block
    /// is walked over once.
    fn of(graph: &Graph, ways: &Ways) -> Self {
        let mut natural = Self { headers: Vec::new(), parents: Vec::new(), above: Vec::new(), innermost: vec![NONE; graph.len()] };
        let mut todo: Vec<usize> = Vec::new();
        for header in (0..graph.len()).rev() {
            todo.extend(ways.before(header).filter(|&one| one >= header && ways.dominators.dominates(header, one)));
            if todo.is_empty() {
                continue;
            }
            let own = natural.headers.len();
            natural.headers.push(header);
            natural.parents.push(NONE);
            natural.above.push(own);
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
        let innermost = *innermost;
        let outermost = self.outermost(innermost)?;
        if outermost == into {
            return None;
        }
        *self.parents.get_mut(outermost)? = into;
        *self.above.get_mut(outermost)? = into;
        self.headers.get(outermost).copied()
    }

    /// The outermost loop around a loop. Each walk halves the way for the next one (R. Tarjan, J. van Leeuwen,
    /// *Worst-case analysis of set union algorithms*, 1984).
    fn outermost(&mut self, mut own: usize) -> Option<usize> {
        loop {
            let above = *self.above.get(own)?;
            let next = *self.above.get(above)?;
            if above == next {
                return Some(above);
            }
            *self.above.get_mut(own)? = next;
            own = next;
        }
    }
}

/// Cycles that are left without the back edges; the blocks of each in order.
fn irreducible(graph: &Graph, dominators: &Dominators) -> Vec<Vec<usize>> {
    if dominators.lead_back_well {
        return Vec::new();
    }
    let forward = |block: usize| graph.next(block).iter().copied().filter(move |&to| !dominators.dominates(to, block));
    let mut cycles = components(graph.len(), forward);
    // A block that leads to itself dominates itself.
    cycles.retain(|blocks| blocks.len() > 1);
    cycles.iter_mut().for_each(|blocks| blocks.sort_unstable());
    cycles
}

/// A loop among others.
struct Nest {
    /// Its first block.
    header: usize,
    parent: usize,
    depth: usize,
    /// The cycle without back edges that makes it irreducible.
    cycle: Option<Vec<usize>>,
}

/// The loops of a graph.
struct Forest {
    /// The outer ones in front.
    nests: Vec<Nest>,
    /// The smallest one around each block.
    innermost: Vec<usize>,
}

impl Forest {
    fn of(graph: &Graph, ways: &Ways) -> Self {
        let natural = Natural::of(graph, ways);
        let cycles = irreducible(graph, &ways.dominators);
        let mut forest = if cycles.is_empty() { Self::reducible(natural) } else { Self::with(cycles, natural) };
        for own in 0..forest.nests.len() {
            let parent = forest.nests.get(own).and_then(|nest| forest.nests.get(nest.parent));
            let depth = parent.map_or(1, |parent| parent.depth + 1);
            forest.nests.get_mut(own).into_iter().for_each(|nest| nest.depth = depth);
        }
        forest
    }

    /// Natural loops alone: their list turned round.
    fn reducible(natural: Natural) -> Self {
        let last = natural.headers.len().wrapping_sub(1);
        let turned = |own: usize| if own == NONE { NONE } else { last - own };
        let nests = natural.headers.into_iter().zip(natural.parents).rev();
        let nests = nests.map(|(header, parent)| Nest { header, parent: turned(parent), depth: 0, cycle: None }).collect();
        let mut innermost = natural.innermost;
        innermost.iter_mut().for_each(|own| *own = turned(*own));
        Self { nests, innermost }
    }

    /// Natural loops and irreducible ones. A natural loop whose header lies in a cycle lies in the cycle's loop: it does not
    /// hold the whole cycle, as its header would then dominate what leads back to it. Any other one that meets the cycle
    /// holds all of it, for no block of the cycle is reached without passing its header.
    fn with(cycles: Vec<Vec<usize>>, natural: Natural) -> Self {
        let count = natural.headers.len();
        let mut cycle_of = vec![NONE; natural.innermost.len()];
        for (own, cycle) in cycles.iter().enumerate() {
            for &block in cycle {
                cycle_of.get_mut(block).into_iter().for_each(|place| *place = count + own);
            }
        }
        // The loop of a block's cycle, if it lies between the block and a natural loop around it.
        let nearest = |block: usize, around: usize| match at(&cycle_of, block) {
            NONE => around,
            own if natural.headers.get(around).is_some_and(|&header| at(&cycle_of, header) == own) => around,
            own => own,
        };
        let inner = natural.headers.iter().zip(&natural.parents);
        let mut nests: Vec<Nest> = inner.map(|(&header, &parent)| Nest { header, parent: nearest(header, parent), depth: 0, cycle: None }).collect();
        for (own, cycle) in cycles.into_iter().enumerate() {
            let header = cycle.first().copied().unwrap_or(0);
            // The first block of the cycle is in no loop of the cycle's other blocks, so at most in one of its own.
            let innermost = at(&natural.innermost, header);
            let is_within = natural.headers.get(innermost).is_some_and(|&inner| at(&cycle_of, inner) == count + own);
            let parent = if is_within { at(&natural.parents, innermost) } else { innermost };
            nests.push(Nest { header, parent, depth: 0, cycle: Some(cycle) });
        }
        let innermost = natural.innermost.iter().enumerate().map(|(block, &around)| nearest(block, around)).collect();
        Self { nests, innermost }.sorted()
    }

    /// With the outer loops in front: an irreducible one is around the natural one that begins where it does.
    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.nests.len()).collect();
        order.sort_by_key(|&own| self.nests.get(own).map(|nest| (nest.header, nest.cycle.is_none())));
        let mut new = vec![NONE; order.len()];
        for (place, &own) in order.iter().enumerate() {
            new.get_mut(own).into_iter().for_each(|new| *new = place);
        }
        let mut nests: Vec<(usize, Nest)> = new.iter().copied().zip(self.nests).collect();
        nests.sort_by_key(|&(place, _)| place);
        let nests = nests.into_iter().map(|(_, nest)| Nest { parent: at(&new, nest.parent), ..nest }).collect();
        Self { nests, innermost: self.innermost.into_iter().map(|own| at(&new, own)).collect() }
    }

    /// The blocks of all loops, and the stretch of each.
    fn layout(&self) -> (Layout, Vec<Range<usize>>) {
        let mut sizes = vec![0_usize; self.nests.len()];
        for &own in &self.innermost {
            sizes.get_mut(own).into_iter().for_each(|size| *size += 1);
        }
        for (own, nest) in self.nests.iter().enumerate().rev() {
            let size = sizes.get(own).copied().unwrap_or(0);
            sizes.get_mut(nest.parent).into_iter().for_each(|place| *place += size);
        }
        // Where the next block, or loop within, of each loop goes.
        let mut free = vec![0_usize; self.nests.len()];
        let mut ranges = Vec::with_capacity(self.nests.len());
        let mut outside = 0;
        for (own, (nest, size)) in self.nests.iter().zip(sizes).enumerate() {
            let next = free.get_mut(nest.parent).unwrap_or(&mut outside);
            let start = *next;
            *next += size;
            free.get_mut(own).into_iter().for_each(|place| *place = start + usize::from(self.innermost.get(nest.header) == Some(&own)));
            ranges.push(start..start + size);
        }
        let mut layout = Layout { order: vec![0; outside], places: vec![NONE; self.innermost.len()] };
        for (block, &own) in self.innermost.iter().enumerate() {
            let (Some(nest), Some(next)) = (self.nests.get(own), free.get_mut(own)) else { continue };
            let place = if nest.header == block {
                ranges.get(own).map_or(0, |range| range.start)
            } else {
                *next += 1;
                *next - 1
            };
            set(&mut layout.order, place, block);
            set(&mut layout.places, block, place);
        }
        (layout, ranges)
    }
}

fn at(list: &[usize], index: usize) -> usize {
    list.get(index).copied().unwrap_or(NONE)
}

fn set(list: &mut [usize], index: usize, to: usize) {
    list.get_mut(index).into_iter().for_each(|place| *place = to);
}

impl Cfg {
    /// All loops, the outer ones in front of the inner ones; back edges to the same header are one loop.
    #[must_use]
    pub fn loops(&self, body: &Body) -> Loops {
        let graph = self.graph();
        let Some(ways) = Ways::of(&graph) else { return Loops::default() };
        let forest = Forest::of(&graph, &ways);
        let (layout, ranges) = forest.layout();
        let layout = Arc::new(layout);
        let members = ranges.into_iter().map(|range| Members { layout: Arc::clone(&layout), range });
        let all = forest.nests.into_iter().zip(members).map(|(nest, blocks)| self.describe(body, &ways, nest, blocks)).collect();
        Loops { all, innermost: forest.innermost }
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
        for &from in one.blocks.iter() {
            let Some(block) = self.blocks.get(from) else { continue };
            edges.extend(block.next().filter(|&to| !one.contains(to)).map(|to| (from, Some(to))));
            edges.extend((block.exits > 0).then_some((from, None)));
        }
        edges
    }

    fn describe(&self, body: &Body, ways: &Ways, nest: Nest, blocks: Members) -> Loop {
        let mut one = Loop {
            header: self.blocks.get(nest.header).map_or(0, |block| block.address),
            depth: nest.depth,
            parent: Some(nest.parent).filter(|&parent| parent != NONE),
            is_irreducible: nest.cycle.is_some(),
            entries: vec![nest.header],
            back_edges: Vec::new(),
            blocks,
        };
        // Natural loops in it are entered at their headers alone, and those of them that are entered from outside are in the cycle.
        let is_entered = |block: &usize| self.entries.contains(block) || ways.before(*block).any(|from| !one.contains(from));
        let further = nest.cycle.into_iter().flatten().filter(|&block| block != nest.header);
        one.entries = one.entries.iter().copied().chain(further.filter(is_entered)).collect();
        let before = ways.before(nest.header).filter(|&from| one.contains(from));
        let ends = before.filter_map(|from| self.blocks.get(from)?.instructions.clone().last());
        one.back_edges = ends.filter_map(|end| Some(body.instructions.get(end)?.address)).collect();
        one
    }
}
