//! Joining fragments to functions.
//!
//! A branch into the middle of another fragment joins, unless both begin as functions do and the stack is as at an
//! entry: then the two share code. So does one to an uncalled start at which the stack is not as at an entry, a landing pad
//! elsewhere, a jump-table entry into a part, and an uncalled start with a single user that `parts` takes for a part.
//! Everything else that leaves a fragment is a tail call; thunks, which functions share, are never joined. Symbols decide where they are present: a function stays
//! one, wherever it branches to, what lies within its size belongs to it unless someone else calls it or points at it, and `name.cold` is a part.

use std::collections::BTreeMap;

use tare_image::{CfaRows, Image};

use crate::Unit;
use crate::fragments::{Fragment, Fragments, Named};
use crate::jumps::Jumps;
use crate::leads::Kind;
use crate::parts::Parts;
use crate::program::JumpTable;
use crate::sweep::Sweep;
use crate::thunks::is_thunk;

/// Disjoint sets of fragments.
pub(crate) struct Groups {
    parent: Vec<usize>,
    /// Fragments whose start is reached from within their group: they are not where it is entered.
    branched: Vec<bool>,
    /// Fragments that branch into others, and where: into their middle, or to a start that may turn out to be a part.
    shared: Vec<(usize, u64)>,
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

    /// Instructions in the middle of functions that other functions branch to, sorted; starts of parts are among them.
    pub(crate) fn shared(&self, fragments: &Fragments, units: &[Unit]) -> Vec<u64> {
        let mut begins = vec![false; fragments.list.len()];
        for &first in units.iter().filter_map(|unit| unit.fragments.first()) {
            begins.get_mut(first).into_iter().for_each(|one| *one = true);
        }
        let is_entry = |to: usize, target: u64| begins.get(to) == Some(&true) && fragments.list.get(to).is_some_and(|one| one.range.start == target);
        let is_foreign =
            |&&(from, target): &&(usize, u64)| fragments.at(target).is_some_and(|to| self.root(to) != self.root(from) && !is_entry(to, target));
        let mut shared: Vec<u64> = self.shared.iter().filter(is_foreign).map(|&(_, target)| target).collect();
        shared.sort_unstable();
        shared.dedup();
        shared
    }

    /// Members of every group, by the fragments that stand for them.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.parent.len()];
        for fragment in 0..self.parent.len() {
            members.get_mut(self.root(fragment)).into_iter().for_each(|own: &mut Vec<usize>| own.push(fragment));
        }
        members.retain(|own| !own.is_empty());
        members
    }
}

/// References to the start of a fragment that may be a part, by fragment.
type Users = BTreeMap<usize, Vec<usize>>;

pub(crate) fn group(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, jumps: &BTreeMap<usize, Jumps>) -> Groups {
    let count = fragments.list.len();
    let mut groups = Groups { parent: (0..count).collect(), branched: vec![false; count], shared: Vec::new() };
    let (mut users, mut parents) = (Users::new(), Users::new());
    let joiner = Joiner { image, fragments, sweep, parts: Parts::new(image, fragments), holders: holders(image, fragments) };
    for (&part, &holder) in &joiner.holders {
        groups.join_start(holder, part);
    }
    let mut below = Vec::new();
    for index in 0..fragments.list.len() {
        joiner.branches(index, &mut groups, &mut users, &mut parents, &mut below);
        landing_pads(image, fragments, index, &mut groups);
    }
    for (from, to) in below.into_iter().filter(|(_, to)| !joiner.is_entered_by(*to, &users)) {
        groups.join_start(from, to);
    }
    for (&index, jumps) in jumps {
        joiner.entries(index, jumps, &mut groups, &mut users, &mut parents);
    }
    joiner.parts(&parents, &mut groups);
    while joiner.single_users(&users, &mut groups) {}
    groups
}

struct Joiner<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    sweep: &'a Sweep,
    parts: Parts<'a, 'data>,
    /// Fragments that lie within the size of a function's symbol, with the fragment that begins there.
    holders: BTreeMap<usize, usize>,
}

impl Joiner<'_, '_> {
    /// Branches to a start while the stack is not as at an entry are added to `below`, with what they lead to.
    fn branches(&self, index: usize, groups: &mut Groups, users: &mut Users, parents: &mut Users, below: &mut Vec<(usize, usize)>) {
        let Some(from) = self.fragments.list.get(index) else { return };
        let mut rows: Option<Option<CfaRows>> = None;
        for lead in self.sweep.leads.of(index).iter().filter(|lead| matches!(lead.kind, Kind::Jump | Kind::Branch)) {
            let Some((to, record)) = lead.to().zip(lead.record(self.sweep)) else { continue };
            let Some(target) = record.branch_target() else { continue };
            let Some(fragment) = self.fragments.list.get(to).filter(|one| !one.traits.is_empty) else { continue };
            let mut is_at_entry = || rows.get_or_insert_with(|| self.rows(from)).as_ref().is_none_or(|rows| is_entry_at(rows, record.address));
            if !lead.is_to_start {
                if self.share(index, to, target, is_at_entry) {
                    groups.shared.push((index, target));
                } else {
                    groups.join(index, to);
                }
            } else if self.holders.contains_key(&to) {
                groups.shared.push((index, target));
            } else if is_part(self.image, fragment) {
                parents.entry(to).or_default().push(index);
            } else if fragment.named == Named::No && !fragment.traits.is_called {
                if is_at_entry() {
                    users.entry(to).or_default().push(index);
                    groups.shared.push((index, target));
                } else if !is_thunk(self.image, fragment) {
                    below.push((index, to));
                }
            }
        }
    }

    /// Whether others jump to a start as to an entry, which its unwind entry says it is: then it is no part of what branches there with more
    /// on the stack. Compilers leave such branches behind where a cold part is empty, to what the linker puts there; none is ever taken.
    fn is_entered_by(&self, start: usize, users: &Users) -> bool {
        let fde = self.fragments.list.get(start).and_then(|fragment| self.image.fdes().get(fragment.fde?));
        let is_unwound = |user: &usize| self.fragments.list.get(*user).is_some_and(|user| user.fde.is_some());
        fde.is_some_and(|fde| fde.starts_at_entry) && users.get(&start).is_some_and(|users| users.iter().any(is_unwound))
    }

    fn rows(&self, fragment: &Fragment) -> Option<CfaRows> {
        fragment.fde.and_then(|fde| Some(self.image.fdes().get(fde)?.cfa_rows()))
    }

    /// Whether two fragments, of which one branches into the middle of the other, are functions that share code: by their
    /// symbols, or where the stack is as at an entry.
    fn share(&self, from: usize, to: usize, target: u64, is_at_entry: impl FnOnce() -> bool) -> bool {
        let every = |test: &dyn Fn(&Fragment) -> bool| [from, to].iter().all(|&one| self.fragments.list.get(one).is_some_and(test));
        let begins_as_function =
            |one: &Fragment| one.named == Named::Function || one.traits.is_called || one.fde.is_some() && !is_part(self.image, one);
        let is_split = || self.parts.may_belong(to, from) || self.parts.may_belong(from, to);
        let is_in_symbol = |one: usize| self.fragments.list.get(self.holders.get(&one).copied().unwrap_or(one)).map(|one| one.named);
        let by_symbols = || [from, to].iter().all(|&one| is_in_symbol(one) == Some(Named::Function));
        let by_code = || every(&begins_as_function) && !is_split() && is_at_entry();
        self.sweep.starts.contains(target) && (by_symbols() || by_code())
    }

    fn entries(&self, index: usize, jumps: &Jumps, groups: &mut Groups, users: &mut Users, parents: &mut Users) {
        for &target in jumps.tables.iter().flat_map(JumpTable::reached) {
            let Some(to) = self.fragments.at(target).filter(|&to| to != index && self.sweep.starts.contains(target)) else {
                continue;
            };
            let Some(fragment) = self.fragments.list.get(to) else { continue };
            if self.holders.contains_key(&to) {
                groups.shared.push((index, target));
            } else if is_part(self.image, fragment) {
                parents.entry(to).or_default().push(index);
            } else if fragment.named == Named::No && target == fragment.range.start {
                users.entry(to).or_default().push(index);
            } else if self.parts.may_belong(to, index) {
                groups.join(index, to);
            }
        }
    }

    /// Joins parts with what leads to them. Where several functions do, one is the part's and the others have an empty part,
    /// never reached, at the same place: unwind entries then say whose it is.
    fn parts(&self, parents: &Users, groups: &mut Groups) {
        for (&part, from) in parents {
            let described = self.parts.described_before(part);
            let own = from.iter().copied().find(|&one| described.is_some_and(|described| groups.root(described) == groups.root(one)));
            match own {
                Some(own) => {
                    groups.join_start(own, part);
                    groups.shared.extend(from.iter().filter_map(|&one| Some((one, self.continued(one, part)?))));
                }
                None => from.iter().for_each(|&one| groups.join_start(one, part)),
            }
        }
    }

    /// Where a part begins, if a fragment branches there with the stack that the part has: no empty part of its own stands there.
    fn continued(&self, from: usize, part: usize) -> Option<u64> {
        let (from, part) = (self.fragments.list.get(from)?, self.fragments.list.get(part)?);
        let (rows, start) = (self.rows(from)?, part.range.start);
        let expected = self.rows(part)?.at(start)?;
        let branches = self.sweep.flows_of(from).iter().filter(|record| record.branch_target() == Some(start));
        branches.into_iter().any(|record| rows.at(record.address) == Some(expected)).then_some(start)
    }

    fn single_users(&self, users: &Users, groups: &mut Groups) -> bool {
        let mut has_changed = false;
        for (&part, from) in users {
            let own = groups.root(part);
            let mut roots: Vec<usize> = from.iter().map(|&one| groups.root(one)).filter(|&root| root != own).collect();
            roots.sort_unstable();
            roots.dedup();
            let [single] = roots.as_slice() else { continue };
            let is_described_behind = self.parts.parent(part).is_some_and(|parent| groups.root(parent) == *single);
            let is_thunk = || self.fragments.list.get(part).is_some_and(|one| is_thunk(self.image, one));
            if (is_described_behind || self.parts.is_no_entry(part)) && !is_thunk() {
                groups.join_start(*single, part);
                has_changed = true;
            }
        }
        has_changed
    }
}

/// Fragments without a symbol of their own that nobody calls and nothing points at, within the size of a function's symbol: they are its parts.
fn holders(image: &Image<'_>, fragments: &Fragments) -> BTreeMap<usize, usize> {
    let mut holders = BTreeMap::new();
    let mut open: Vec<(u64, Option<usize>)> = Vec::new();
    let mut symbols = image.symbols().iter().filter(|one| one.is_function && one.is_defined && one.size > 0).peekable();
    for (index, fragment) in fragments.list.iter().enumerate() {
        let start = fragment.range.start;
        while let Some(symbol) = symbols.next_if(|symbol| symbol.address <= start) {
            open.retain(|&(end, _)| end > symbol.address);
            open.push((symbol.address.saturating_add(symbol.size), fragments.starting_at(symbol.address)));
        }
        open.retain(|&(end, _)| end > start);
        let is_free = fragment.named == Named::No && !fragment.traits.is_called && !fragment.traits.is_pointed_at && !fragment.traits.is_empty;
        if let Some(&(_, Some(holder))) = open.last()
            && is_free
            && !is_thunk(image, fragment)
        {
            holders.insert(index, holder);
        }
    }
    holders
}

fn is_entry_at(rows: &CfaRows, address: u64) -> bool {
    rows.at(address).is_some_and(tare_image::Cfa::is_entry)
}

/// A part by its symbol, or, without one, by the frame it starts with.
fn is_part(image: &Image<'_>, fragment: &Fragment) -> bool {
    let fde = fragment.fde.and_then(|fde| image.fdes().get(fde));
    match fragment.named {
        Named::Cold => true,
        Named::Function => false,
        Named::No => fde.is_some_and(|fde| !fde.starts_at_entry) && !fragment.traits.is_called && !fragment.traits.is_entered_inside,
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
