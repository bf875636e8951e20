//! Among the values that are possible, the ones that fit together.
//!
//! Where a region comes out with less than nothing, time goes to it from its children, and then from its
//! parent, as far as the division of probe costs is uncertain. What is still missing was never there for calls below that
//! were not timed: those that were timed stood for them and took longer, as where another program had the processor
//! meanwhile. It comes back from these, so that none takes more than there was. Where even what was timed below a quiet path
//! took longer than that path is taken to have lasted, the rest comes from what time went to above it. What is then still missing, and no more
//! than the costs are uncertain by, comes from all that is below the nearest region above where there is as much, as that is uncertain by the
//! same costs. The sum stays what it was. What goes beyond that stays negative and is marked, as is what lost more than its interval allows.

use tare_profile::Location;

use crate::exclusive::{Term, steady_ancestor};
use crate::figure::Mark;

/// What is taken back beyond an interval is marked from this part of what is left on.
const NOTICED: f64 = 0.05;

/// Balances the exclusive times of a location.
pub(crate) fn balance(location: &Location, terms: &mut [Term]) {
    let children = Children::of(location);
    for index in (0..terms.len()).rev() {
        if terms[index].value < 0.0 {
            take_from_children(terms, index, &children);
        }
        if terms[index].value < 0.0 {
            take_from_parent(terms, index, location.nodes[index].parent);
        }
        if terms[index].value < 0.0 {
            take_from_untimed(terms, index, &children);
        }
        if terms[index].value < 0.0 && terms[index].is_quiet() {
            take_from_steady(terms, index, location);
        }
    }
    take_from_nearest(terms, location, |index, term| if location.nodes[index].exchanged.is_some() { 0.0 } else { term.room() });
    take_from_nearest(terms, location, |_, term| term.value.max(0.0));
    terms.iter_mut().for_each(mark_doubtful);
}

/// The children of all nodes, each with the next of its parent: a list for each node would be thousands of small ones.
struct Children {
    first: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
}

impl Children {
    fn of(location: &Location) -> Self {
        let (mut first, mut next) = (vec![None; location.nodes.len()], vec![None; location.nodes.len()]);
        for (index, node) in location.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                next[index] = first[parent].replace(index);
            }
        }
        Self { first, next }
    }

    /// Those of a node, in their order.
    fn of_node(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first[node], |&child| self.next[child])
    }
}

/// Each child gives in proportion to what it can give.
fn take_from_children(terms: &mut [Term], index: usize, children: &Children) {
    let room = |term: &Term| (term.movable * (term.inner_bounds.1 - term.inner)).min(term.value).max(0.0);
    take_in_proportion(terms, index, || children.of_node(index), room, shift);
}

/// Each of some nodes gives in proportion to its room, by what changes its value.
fn take_in_proportion<I: Iterator<Item = usize>>(
    terms: &mut [Term],
    index: usize,
    givers: impl Fn() -> I,
    room: impl Fn(&Term) -> f64,
    change: impl Fn(&mut Term, f64),
) {
    let all: f64 = givers().map(|giver| room(&terms[giver])).sum();
    if all <= 0.0 {
        return;
    }
    let share = (-terms[index].value / all).min(1.0);
    for giver in givers() {
        let given = room(&terms[giver]) * share;
        change(&mut terms[giver], -given);
        terms[index].pass(given);
    }
}

fn take_from_parent(terms: &mut [Term], index: usize, parent: Option<usize>) {
    let Some(parent) = parent else { return };
    let term = &terms[index];
    let room = (term.movable * (term.inner - term.inner_bounds.0)).min(terms[parent].value).max(0.0);
    let taken = room.min(-term.value);
    shift(&mut terms[index], taken);
    terms[parent].pass(-taken);
}

/// Takes back what calls that were not timed were taken to have lasted, from each path in proportion.
fn take_from_untimed(terms: &mut [Term], index: usize, children: &Children) {
    let mut below: Vec<usize> = Vec::new();
    let mut todo: Vec<usize> = children.of_node(index).collect();
    while let Some(node) = todo.pop() {
        below.push(node);
        if terms[node].is_quiet() {
            todo.extend(children.of_node(node));
        }
    }
    take_in_proportion(terms, index, || below.iter().copied(), |term| term.value.max(0.0) * term.untimed, Term::pass);
}

/// A quiet path took at least what the calls below it took while they were timed. That time went to what was on above it, which
/// holds it where the estimate of the quiet path is too low for it.
fn take_from_steady(terms: &mut [Term], index: usize, location: &Location) {
    let Some(parent) = location.nodes[index].parent else { return };
    let steady = steady_ancestor(location, parent);
    let taken = terms[steady].value.max(0.0).min(-terms[index].value);
    terms[index].pass(taken);
    terms[steady].pass(-taken);
}

/// What regions lack within their intervals comes from those that have room, in proportion to that: from the ones below them, then from all below
/// the region above, and so on.
fn take_from_nearest(terms: &mut [Term], location: &Location, room: impl Fn(usize, &Term) -> f64) {
    let own: Vec<Stock> = terms.iter().enumerate().map(|(index, term)| Stock { lacking: term.lacking(), room: room(index, term) }).collect();
    if own.iter().all(|stock| stock.lacking == 0.0) {
        return;
    }
    let mut left = left_below(location, &own);
    for index in 0..terms.len() {
        if let Some(parent) = location.nodes[index].parent {
            left[index] = Stock { lacking: left[index].lacking * left[parent].lacking, room: left[index].room * left[parent].room };
        }
        terms[index].pass(own[index].lacking * (1.0 - left[index].lacking) - own[index].room * (1.0 - left[index].room));
    }
}

/// What regions lack, and what they can give: ticks, or parts of these.
#[derive(Clone, Copy, Default)]
struct Stock {
    lacking: f64,
    room: f64,
}

/// The parts that are left at each region of what is still lacking, and of the room, at and below it.
fn left_below(location: &Location, own: &[Stock]) -> Vec<Stock> {
    let mut sums = own.to_vec();
    let mut left = vec![Stock::default(); own.len()];
    for index in (0..own.len()).rev() {
        let sum = sums[index];
        let given = sum.lacking.min(sum.room);
        let part = |of: f64| if of > 0.0 { 1.0 - given / of } else { 1.0 };
        left[index] = Stock { lacking: part(sum.lacking), room: part(sum.room) };
        if let Some(parent) = location.nodes[index].parent {
            sums[parent].lacking += sum.lacking - given;
            sums[parent].room += sum.room - given;
        }
    }
    left
}

/// Changes a value by what the division of its own probe's cost allows.
fn shift(term: &mut Term, ticks: f64) {
    if term.movable > 0.0 {
        term.inner -= ticks / term.movable;
        term.pass(ticks);
    }
}

impl Term {
    /// Adds ticks without a change of the interval.
    fn pass(&mut self, ticks: f64) {
        self.value += ticks;
        self.moved += ticks;
    }

    /// What it can give without leaving its interval.
    fn room(&self) -> f64 {
        (self.moved + self.spread().below()).min(self.value).max(0.0)
    }

    /// What it lacks, where that is within its interval.
    fn lacking(&self) -> f64 {
        let lacking = -self.value;
        if lacking > 0.0 && lacking <= self.spread().above() { lacking } else { 0.0 }
    }
}

/// Marks what is not to be trusted.
fn mark_doubtful(term: &mut Term) {
    let spread = term.spread();
    let is_contradicted = term.is_quiet() && -term.moved > spread.below() + NOTICED * term.value.abs();
    if term.mark.is_some() {
        return;
    }
    let is_hidden = spread.below().max(spread.above()) > term.value;
    term.mark = match term.value {
        less if less < 0.0 => Some(Mark::OverheadExceedsTime),
        _ if is_contradicted => Some(Mark::TimedCallsExceed),
        value if is_hidden && term.removed > value => Some(Mark::OverheadHidesTime),
        _ if is_hidden => Some(Mark::UncertaintyExceedsTime),
        _ => None,
    };
}
