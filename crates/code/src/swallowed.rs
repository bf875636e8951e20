//! Functions that were taken into others: neither an unwind entry nor a symbol has them, and the end of the one in front of them was missed,
//! because what it calls at last never comes back, or because a jump of it may go by a table to anything that follows.
//!
//! A false function would cut a true one in two. So a start must be known from elsewhere: by a pointer, or by a jump of another function. It
//! stands behind an end, nothing around it runs or branches over it, and what stands there needs no register or flag that a caller does
//! not hand over.

use std::collections::BTreeMap;
use std::ops::Range;

use tare_image::{Image, Relocation, RelocationKind};

use crate::decode::{RawFlow, decoder, is_padding, raw_flow};
use crate::extent;
use crate::fragments::{Fragment, Fragments};
use crate::jumps::{self, JumpKind, Jumps};
use crate::parts::needs_more_than_arguments;
use crate::pointed::{ALIGNMENT, is_handed_on};
use crate::program::{FoundBy, JumpTable, TableForm};
use crate::sweep::Sweep;
use crate::tables::Resolver;

/// A place in a fragment, by the index of that.
type Place = (usize, u64);

/// Jumps and branches, and where they go.
type Ways = Vec<(u64, u64)>;

/// Starts of functions that lie in fragments of others, sorted.
pub(crate) fn starts(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    if fragments.list.iter().all(|one| one.has_known_end) {
        return Vec::new();
    }
    let kept = kept_in_data(image, fragments, sweep);
    let mut places = handed_on(image, fragments, sweep);
    places.extend(led_to(fragments, sweep));
    let tables = by_tables(image, fragments, sweep, places.iter().chain(&kept));
    places.extend(kept.into_iter().filter(|(host, _)| tables.get(host).is_none_or(Option::is_some)));
    places.sort_unstable();
    places.dedup();
    let mut found = Vec::new();
    for own in places.chunk_by(|one, next| one.0 == next.0) {
        let Some((index, host)) = own.first().and_then(|one| Some((one.0, fragments.list.get(one.0)?))) else { continue };
        let by_tables = tables.get(&index).and_then(Option::as_ref).into_iter().flatten().copied();
        let ways: Ways = branches(image, &host.range).into_iter().chain(by_tables).collect();
        found.extend(borders(image, &host.range, &ways, own.iter().map(|one| one.1).collect()));
    }
    found
}

/// Where the indirect jumps of fragments with such go, if each is known to go by a table that no pointers stand in, or away.
fn by_tables<'a>(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, places: impl Iterator<Item = &'a Place>) -> BTreeMap<usize, Option<Ways>> {
    let resolver = Resolver::new(image, sweep);
    let mut ways = BTreeMap::new();
    for &(index, _) in places {
        let jumps = || jumps::resolve(image, fragments, &resolver, &[index]);
        if fragments.list.get(index).is_some_and(|host| host.traits.has_indirect_jump) {
            ways.entry(index).or_insert_with(|| by_plain_tables(&jumps()));
        }
    }
    ways
}

fn by_plain_tables(jumps: &Jumps) -> Option<Ways> {
    let is_known = |kind: &JumpKind| matches!(kind, JumpKind::Table(_) | JumpKind::TailCall);
    let is_plain = jumps.kinds.values().all(is_known) && jumps.tables.iter().all(|table| table.form == TableForm::Relative32);
    let ways =
        |table: &JumpTable| -> Ways { table.jumps.iter().flat_map(|&jump| table.reached().iter().map(move |&target| (jump, target))).collect() };
    is_plain.then(|| jumps.tables.iter().flat_map(ways).collect())
}

/// The fragment whose end nothing names and in which an instruction stands behind the start.
fn host(fragments: &Fragments, sweep: &Sweep, address: u64) -> Option<usize> {
    let index = fragments.at(address)?;
    let is_host = |one: &Fragment| !one.has_known_end && one.range.start < address;
    fragments.list.get(index).filter(|one| is_host(one)).filter(|_| sweep.starts.contains(address)).map(|_| index)
}

/// What code outside of the fragment hands on the address of.
fn handed_on(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<Place> {
    let aligned = sweep.pointers.iter().filter(|pointer| pointer.target.is_multiple_of(ALIGNMENT));
    let from_outside = aligned.filter_map(|pointer| {
        let index = host(fragments, sweep, pointer.target)?;
        let is_own = fragments.at(pointer.at) == Some(index);
        (!is_own && is_handed_on(image, pointer)).then_some((index, pointer.target))
    });
    from_outside.collect()
}

/// What words of data lead to: virtual functions are known so.
fn kept_in_data(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<Place> {
    let relocated = image.relocations().iter().filter(|one| one.kind != RelocationKind::Irelative).filter_map(Relocation::link_address);
    let words = relocated.chain(sweep.words.iter().map(|word| word.1));
    words.filter_map(|target| Some((host(fragments, sweep, target)?, target))).collect()
}

/// What is called, and what other fragments alone jump to.
fn led_to(fragments: &Fragments, sweep: &Sweep) -> Vec<Place> {
    let (mut called, mut jumped_to) = (Vec::new(), Vec::new());
    for (index, fragment) in fragments.list.iter().enumerate() {
        for record in sweep.flows_of(fragment) {
            let (RawFlow::Call(target) | RawFlow::Jump(target)) = record.flow() else { continue };
            let is_call = matches!(record.flow(), RawFlow::Call(_));
            let is_inside = fragment.range.contains(&target);
            if !target.is_multiple_of(ALIGNMENT) || is_inside && (fragment.has_known_end || !is_call) {
                continue;
            }
            let place = host(fragments, sweep, target).map(|host| (host, target));
            if is_call { called.extend(place) } else { jumped_to.extend(place.filter(|one| one.0 != index)) }
        }
    }
    jumped_to.retain(|&(index, target)| {
        let own = fragments.list.get(index).map_or(&[][..], |host| sweep.flows_of(host));
        own.iter().all(|record| record.branch_target() != Some(target))
    });
    called.extend(jumped_to);
    called
}

/// Those of some places in a range of code that control neither runs nor branches over, and where a function may begin.
fn borders(image: &Image<'_>, range: &Range<u64>, ways: &[(u64, u64)], mut starts: Vec<u64>) -> Vec<u64> {
    let reached = run_into(image, range, &starts);
    let takes_more = |start: u64| needs_more_than_arguments(image, &Fragment::new(start..range.end, None, true, FoundBy::Pointer));
    starts.retain(|start| reached.binary_search(start).is_err() && !takes_more(*start));
    loop {
        let is_own = |target: &u64| starts.binary_search(target).is_err();
        let over: Vec<(u64, u64)> = ways.iter().filter(|one| is_own(&one.1)).map(|one| (one.0.min(one.1), one.0.max(one.1))).collect();
        let before = starts.len();
        starts.retain(|start| !over.iter().any(|&(low, high)| low < *start && *start <= high));
        if starts.len() == before {
            return starts;
        }
    }
}

/// Those of some places that control runs into. Over padding behind a call it does not, but to what it calls: such a call never comes back.
fn run_into(image: &Image<'_>, range: &Range<u64>, places: &[u64]) -> Vec<u64> {
    let mut reached = Vec::new();
    let (mut runs, mut called) = (true, None);
    for one in &mut decoder(image, range) {
        if (runs || called == Some(one.ip())) && places.binary_search(&one.ip()).is_ok() {
            reached.push(one.ip());
        }
        if is_padding(&one) {
            runs &= called.is_none();
            continue;
        }
        let flow = raw_flow(&one);
        runs = extent::falls_through(image, flow);
        called = if let RawFlow::Call(target) = flow { Some(target) } else { None };
    }
    reached
}

/// Branches, jumps and calls to what stands behind the start of a range, and where they go.
fn branches(image: &Image<'_>, range: &Range<u64>) -> Ways {
    let mut branches = Vec::new();
    for one in &mut decoder(image, range) {
        if let RawFlow::Jump(target) | RawFlow::Branch(target) | RawFlow::Call(target) = raw_flow(&one)
            && range.contains(&target)
            && target != range.start
        {
            branches.push((one.ip(), target));
        }
    }
    branches
}
