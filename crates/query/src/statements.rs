//! What the statements of a run say of calls that have no time of their own.
//!
//! A tail call is a jump: the function that makes it has ended, and what it calls stands below the statement that called that function.
//! Such a statement calls one function by name and holds another beside it.

use std::collections::HashSet;

use tare_profile::{Node, Profile, Region, RegionIndex, RegionKind};

/// A call that became a jump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TailCall {
    /// The function that ends with it.
    pub(crate) by: RegionIndex,
    /// The function that is entered by it.
    pub(crate) callee: RegionIndex,
    /// The statement below which that stands.
    pub(crate) statement: RegionIndex,
}

/// All tail calls that can be told, in the order in which they are met.
pub(crate) fn tail_calls(profile: &Profile) -> Vec<TailCall> {
    let mut all: Vec<TailCall> = Vec::new();
    for location in &profile.locations {
        // A statement that holds one thing alone calls that.
        let mut held: Vec<u32> = vec![0; location.nodes.len()];
        location.nodes.iter().filter_map(|node| node.parent).for_each(|parent| held[parent] += 1);
        let mut named: Vec<Option<RegionIndex>> = vec![None; location.nodes.len()];
        let mut others: Vec<(usize, RegionIndex)> = Vec::new();
        for node in location.nodes.iter().filter(|node| matches!(profile.region_of(node).kind, RegionKind::Function | RegionKind::Mpi)) {
            let Some(site) =
                node.parent.filter(|&parent| held[parent] > 1 && profile.region_of(&location.nodes[parent]).kind == RegionKind::CallSite)
            else {
                continue;
            };
            let statement = profile.region_of(&location.nodes[site]);
            match statement.name.contains(&format!(" of {} in ", profile.region_of(node).name)) {
                true => named[site] = Some(node.region),
                false => others.push((site, node.region)),
            }
        }
        let found =
            others.into_iter().filter_map(|(site, callee)| Some(TailCall { by: named[site]?, callee, statement: location.nodes[site].region }));
        found.for_each(|call| {
            if !all.contains(&call) {
                all.push(call)
            }
        });
    }
    all
}

/// The statements that call operations of MPI, themselves or by a jump at the end of what they call.
pub(crate) fn calling_mpi(profile: &Profile) -> HashSet<RegionIndex> {
    holding(profile, |kind| kind == RegionKind::Mpi)
}

/// The statements that call functions.
pub(crate) fn calling_functions(profile: &Profile) -> HashSet<RegionIndex> {
    holding(profile, |kind| matches!(kind, RegionKind::Function | RegionKind::User))
}

fn holding(profile: &Profile, is_held: impl Fn(RegionKind) -> bool) -> HashSet<RegionIndex> {
    let mut statements = HashSet::new();
    for location in &profile.locations {
        let is_site = |node: &&Node| profile.region_of(node).kind == RegionKind::CallSite;
        let held = location.nodes.iter().filter(|node| is_held(profile.region_of(node).kind));
        let sites = held.filter_map(|node| node.parent.map(|parent| &location.nodes[parent])).filter(is_site);
        statements.extend(sites.map(|site| site.region));
    }
    statements
}

/// `FILE:LINE` of a region, as a question names it.
pub(crate) fn place(region: &Region) -> Option<String> {
    (region.line > 0).then(|| format!("{}:{}", region.file.rsplit('/').next().unwrap_or_default(), region.line))
}
