//! Joining fragments to functions.
//!
//! A branch into the middle of another fragment joins; so does one to a start at which the stack is not as at an
//! entry, a landing pad elsewhere, a jump-table entry into a part, and an uncalled unaligned start with a single user.
//! Everything else that leaves a fragment is a tail call. Symbols decide where they are present: a function stays
//! one, `name.cold` is a part.

use std::collections::BTreeMap;

use tare_image::{CfaRows, Image};

use crate::decode::RawFlow;
use crate::fragments::{Fragment, Fragments, Named};
use crate::program::JumpTable;
use crate::sweep::Sweep;
use crate::tables::Jumps;

/// Disjoint sets of fragments.
pub(crate) struct Groups {
    parent: Vec<usize>,
    /// Fragments whose start is reached from within their group: they are not where it is entered.
    branched: Vec<bool>,
}

impl Groups {
    /// The fragment that stands for a fragment's group: the lowest one.
    pub(crate) fn root(&self, mut fragment: usize) -> usize {
        while let Some(&parent) = self.parent.get(fragment) {
            if parent == fragment {
                break;
            }
            fragment = parent;
        }
        fragment
    }

    /// Whether a fragment's start is reached by a branch, jump table or unwinding of its own group.
    pub(crate) fn is_branched_to(&self, fragment: usize) -> bool {
        self.branched.get(fragment).copied().unwrap_or(false)
    }

    /// Joins a fragment with the one that goes to its start.
    fn join_start(&mut self, from: usize, to: usize) {
        self.join(from, to);
        if let Some(branched) = self.branched.get_mut(to) {
            *branched = true;
        }
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (low, high) = (one.min(other), one.max(other));
        if let Some(parent) = self.parent.get_mut(high) {
            *parent = low;
        }
    }

    /// Members of every group, by root.
    pub(crate) fn members(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for fragment in 0..self.parent.len() {
            members.entry(self.root(fragment)).or_default().push(fragment);
        }
        members
    }
}

/// References to the start of a fragment that may be a part, by fragment.
type Users = BTreeMap<usize, Vec<usize>>;

pub(crate) fn group(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, jumps: &BTreeMap<usize, Jumps>) -> Groups {
    let count = fragments.list.len();
    let mut groups = Groups { parent: (0..count).collect(), branched: vec![false; count] };
    let mut users = Users::new();
    for index in 0..fragments.list.len() {
        branches(image, fragments, sweep, index, &mut groups, &mut users);
        landing_pads(image, fragments, index, &mut groups);
    }
    for (&index, jumps) in jumps {
        entries(image, fragments, sweep, index, jumps, &mut groups, &mut users);
    }
    while single_users(fragments, &users, &mut groups) {}
    groups
}

fn branches(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, index: usize, groups: &mut Groups, users: &mut Users) {
    let Some(from) = fragments.list.get(index) else { return };
    let mut rows: Option<Option<CfaRows>> = None;
    for record in sweep.flows_of(from) {
        let (RawFlow::Jump(target) | RawFlow::Branch(target)) = record.flow else { continue };
        if from.range.contains(&target) {
            continue;
        }
        let Some(to) = fragments.at(target) else { continue };
        let Some(fragment) = fragments.list.get(to).filter(|one| !one.traits.is_empty) else { continue };
        if target != fragment.range.start {
            groups.join(index, to);
        } else if is_part(image, fragment) {
            groups.join_start(index, to);
        } else if fragment.named == Named::No {
            let rows = rows.get_or_insert_with(|| from.fde.and_then(|fde| Some(image.fdes().get(fde)?.cfa_rows())));
            let at_entry = rows.as_ref().is_none_or(|rows| rows.at(record.address).is_some_and(|cfa| cfa.is_entry()));
            if at_entry {
                users.entry(to).or_default().push(index);
            } else {
                groups.join_start(index, to);
            }
        }
    }
}

/// A part by its symbol, or, without one, by the frame it starts with.
fn is_part(image: &Image<'_>, fragment: &Fragment) -> bool {
    let fde = fragment.fde.and_then(|fde| image.fdes().get(fde));
    match fragment.named {
        Named::Cold => true,
        Named::Function => false,
        Named::No => fde.is_some_and(|fde| !fde.starts_at_entry) && !fragment.traits.is_called,
    }
}

fn landing_pads(image: &Image<'_>, fragments: &Fragments, index: usize, groups: &mut Groups) {
    let fragment = fragments.list.get(index);
    let fde = fragment.and_then(|fragment| image.fdes().get(fragment.fde?)).filter(|fde| fde.lsda.is_some());
    let Some(lsda) = fde.and_then(|fde| image.lsda(fde)) else { return };
    for pad in lsda.call_sites.iter().filter_map(|site| site.landing_pad) {
        match fragments.at(pad) {
            Some(other) if other != index => {
                let is_start = fragments.list.get(other).is_some_and(|one| one.range.start == pad);
                if is_start { groups.join_start(index, other) } else { groups.join(index, other) }
            }
            _ => {}
        }
    }
}

fn entries(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, index: usize, jumps: &Jumps, groups: &mut Groups, users: &mut Users) {
    for &target in jumps.tables.iter().flat_map(JumpTable::reached) {
        let Some(to) = fragments.at(target).filter(|&to| to != index && sweep.starts.contains(target)) else {
            continue;
        };
        let Some(fragment) = fragments.list.get(to) else { continue };
        if is_part(image, fragment) {
            groups.join_start(index, to);
        } else if fragment.named == Named::No && target == fragment.range.start {
            users.entry(to).or_default().push(index);
        } else if may_be_part(fragment) {
            groups.join(index, to);
        }
    }
}

/// Nothing but a branch is known to lead to it.
fn may_be_part(fragment: &Fragment) -> bool {
    let traits = fragment.traits;
    fragment.named == Named::No && !traits.is_called && !traits.is_pointed_at && !fragment.range.start.is_multiple_of(16) && fragment.fde.is_some()
}

fn single_users(fragments: &Fragments, users: &Users, groups: &mut Groups) -> bool {
    let mut has_changed = false;
    for (&part, from) in users {
        if !fragments.list.get(part).is_some_and(may_be_part) {
            continue;
        }
        let own = groups.root(part);
        let mut roots: Vec<usize> = from.iter().map(|&one| groups.root(one)).filter(|&root| root != own).collect();
        roots.sort_unstable();
        roots.dedup();
        if let [single] = roots.as_slice() {
            groups.join_start(*single, part);
            has_changed = true;
        }
    }
    has_changed
}
