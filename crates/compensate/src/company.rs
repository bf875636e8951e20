//! What pairs of probes cost together on the paths of a location, by its batches in company.
//!
//! The runtime took these for each tick that pairs cost one by one, as it knew that then. What it came to know of that later changes what
//! they say: of all calls that were quiet in company it is known on which path they were, so both can be summed.

use tare_delay::cost::{Company, OneByOne, Pool, Together};
#[cfg(doc)]
use tare_profile::COST_UNIT;
use tare_profile::{Batches, Location, Node};

pub(crate) struct InCompany {
    pool: Option<Pool>,
    /// What pairs were taken to cost one by one when the batches were taken, as a multiple of what they are known to cost now.
    known_then: f64,
}

impl InCompany {
    /// By what a pair of each node costs one by one, and what counting a call of it takes in a hot loop ([`COST_UNIT`]).
    pub(crate) fn of(location: &Location, one_by_one: impl Fn(usize) -> u64, counting: impl Fn(&Node) -> u64) -> Self {
        let companies = location.nodes.iter().filter_map(company_of);
        let then = companies.clone().fold(OneByOne::default(), |sum, company| sum.with_batches(&company));
        let now = location.nodes.iter().enumerate().fold(OneByOne::default(), |sum, (index, node)| match node.batches.as_deref() {
            Some(Batches { together: calls @ 1.., .. }) => sum.with_calls(*calls, one_by_one(index), counting(node)),
            _ => sum,
        });
        Self { pool: Pool::of(companies), known_then: then.over(now) }
    }

    /// The part of what is near a node that are others, where those of its path are the part `alone` by where they stand.
    pub(crate) fn near(&self, node: &Node, alone: impl FnOnce() -> f64) -> f64 {
        company_of(node).map_or_else(|| 1.0 - alone(), |company| if company.is_alone() { 0.0 } else { 1.0 })
    }

    /// What the pairs around a node cost together, of which the part `near` are others; `None` where nothing is known.
    pub(crate) fn around(&self, node: &Node, near: f64) -> Option<Together> {
        Some(self.pool?.around(company_of(node).as_ref()).times(self.known_then).of_part(near))
    }

    /// How far all of them may be off the same way, as parts of what they cost: less, and more.
    pub(crate) fn reach(&self) -> Option<(f64, f64)> {
        Some(self.pool?.reach())
    }
}

/// Calls that were on and came while another path was off and counted, or diverted. How many these were is known for all paths at once; they
/// are taken to be those of paths that the same function calls, however far down, that takes no batches itself.
pub(crate) struct Beside {
    /// By node, that function.
    within: Vec<usize>,
    /// By function, the part of the calls of paths within.
    parts: Vec<f64>,
}

impl Beside {
    pub(crate) fn of(location: &Location) -> Self {
        let nodes = &location.nodes;
        let mut within: Vec<usize> = (0..nodes.len()).collect();
        let (mut beside, mut all) = (vec![0.0; nodes.len()], vec![0.0; nodes.len()]);
        for (index, node) in nodes.iter().enumerate() {
            let (Some(batches), Some(parent)) = (node.batches.as_deref(), node.parent) else { continue };
            let top = within[parent];
            within[index] = top;
            beside[top] += batches.beside;
            all[top] += node.on_calls as f64 * node.cost;
        }
        let part = |(beside, all): (f64, f64)| if all > 0.0 { (beside / all).min(1.0) } else { 0.0 };
        Self { within, parts: beside.into_iter().zip(all).map(part).collect() }
    }

    /// The part of a node's calls; none of one without batches.
    pub(crate) fn part(&self, index: usize) -> f64 {
        let within = self.within[index];
        if within == index { 0.0 } else { self.parts[within] }
    }
}

fn company_of(node: &Node) -> Option<Company> {
    let company = node.batches.as_deref()?.company.as_deref()?;
    let tare_profile::Company { on, quiet, twice, counted, counted_again, all, others } = company.clone();
    Some(Company { on, quiet, twice, counted, counted_again, all, others })
}
