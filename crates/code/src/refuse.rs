//! Which functions are never moved, and why.

use std::collections::{HashMap, HashSet};

use iced_x86::Instruction;
use tare_image::Image;

use crate::decode::{RawFlow, decoder, is_padding};
use crate::fragments::{Fragment, Fragments};
use crate::names::START_UP;
use crate::program::{Function, Refusal};
use crate::sweep::Sweep;
use crate::tables::Jumps;
use crate::{Unit, fragments};

/// Bytes of the jump that an entry must take.
const JUMP: u64 = 5;

pub(crate) fn refuse(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &Sweep,
    units: &[Unit],
    jumps: &HashMap<usize, Jumps>,
    functions: &mut [Function],
) {
    let resolvers: HashSet<u64> = image.ifunc_resolvers().into_iter().collect();
    let torn = torn_fragments(fragments, sweep);
    for (index, (unit, function)) in units.iter().zip(functions.iter_mut()).enumerate() {
        let own: Vec<&Fragment> = unit.fragments.iter().filter_map(|&one| fragments.list.get(one)).collect();
        let has = |test: &dyn Fn(&Fragment) -> bool| own.iter().any(|one| test(one));
        let is_special = |one: &Fragment| one.fde.and_then(|fde| image.fdes().get(fde)).is_some_and(|fde| fde.is_special);
        function.refusal = if is_start_up(image, function) {
            Some(Refusal::StartUp)
        } else if resolvers.contains(&function.entry) {
            Some(Refusal::IfuncResolver)
        } else if has(&|one| one.traits.is_undecodable) {
            Some(Refusal::Undecodable)
        } else if has(&is_special) {
            Some(Refusal::SpecialUnwinding)
        } else if has(&|one| one.traits.overlaps) || unit.fragments.iter().any(|one| torn.contains(one)) {
            Some(Refusal::OverlappingCode)
        } else if calls_itself_inside(sweep, &own) {
            Some(Refusal::CallIntoBody)
        } else if has(&|one| one.traits.has_transaction) {
            Some(Refusal::Transaction)
        } else if jumps.get(&index).is_some_and(Jumps::has_unknown) {
            Some(Refusal::UnknownJump)
        } else if own.first().is_some_and(|one| is_short(image, fragments, one)) {
            Some(Refusal::ShortEntry)
        } else {
            None
        };
    }
    start_up_helpers(fragments, sweep, units, functions);
}

fn is_start_up(image: &Image<'_>, function: &Function) -> bool {
    let by_name = || std::iter::once(&function.name).chain(&function.aliases).any(|name| START_UP.contains(&name.as_str()));
    (image.entry() != 0 && function.contains(image.entry())) || by_name()
}

/// Fragments into the middle of whose instructions someone branches.
fn torn_fragments(fragments: &Fragments, sweep: &Sweep) -> HashSet<usize> {
    let mut torn = HashSet::new();
    for (index, fragment) in fragments.list.iter().enumerate() {
        for record in sweep.flows_of(fragment) {
            let (RawFlow::Jump(target) | RawFlow::Branch(target)) = record.flow else { continue };
            if sweep.starts.contains(target) {
                continue;
            }
            if let Some(other) = fragments.at(target) {
                torn.insert(index);
                torn.insert(other);
            }
        }
    }
    torn
}

fn calls_itself_inside(sweep: &Sweep, own: &[&Fragment]) -> bool {
    let is_inside = |target: u64| own.iter().any(|one| one.range.contains(&target) && one.range.start != target);
    let records = own.iter().flat_map(|one| sweep.flows_of(one));
    records.into_iter().any(|record| matches!(record.flow, RawFlow::Call(target) if is_inside(target)))
}

/// Whether a jump does not fit between the entry (behind an `endbr64`) and the next code; padding may be used.
fn is_short(image: &Image<'_>, fragments: &Fragments, first: &Fragment) -> bool {
    let start = first.range.start;
    let has_marker = image.bytes_at(start, 4) == Some(&[0xf3, 0x0f, 0x1e, 0xfa]);
    let needed = start + JUMP + if has_marker { 4 } else { 0 };
    if needed <= first.range.end {
        return false;
    }
    let behind = fragments.list.partition_point(|one| one.range.start <= start);
    let next = fragments.list.get(behind).map_or(u64::MAX, |one| one.range.start);
    let text_end = image.text_at(start).map_or(start, |text| text.end);
    let padding = decoder(image, &(first.range.end..next.min(text_end))).into_iter();
    let padding = padding.take_while(is_padding).map(|one: Instruction| one.len() as u64).sum::<u64>();
    first.range.end + padding < needed
}

/// Start-up code of a stripped program: without unwind entry, and entered by the init and fini arrays or by such code only.
fn start_up_helpers(fragments: &Fragments, sweep: &Sweep, units: &[Unit], functions: &mut [Function]) {
    let single = |unit: &Unit| match unit.fragments.as_slice() {
        [one] => fragments.list.get(*one).filter(|one| one.fde.is_none() && one.named == fragments::Named::No).map(|_| *one),
        _ => None,
    };
    let mut is_start_up: HashSet<usize> = HashSet::new();
    for (unit, function) in units.iter().zip(&*functions) {
        if function.refusal == Some(Refusal::StartUp) {
            is_start_up.extend(&unit.fragments);
        }
    }
    let has_unwind_entries = fragments.list.iter().any(|one| one.fde.is_some());
    let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, fragment) in fragments.list.iter().enumerate() {
        for record in sweep.flows_of(fragment) {
            let (RawFlow::Call(target) | RawFlow::Jump(target) | RawFlow::Branch(target)) = record.flow else { continue };
            let is_helper = |callee: &usize| *callee != index && fragments.list.get(*callee).is_some_and(|one| one.fde.is_none());
            if let Some(callee) = fragments.starting_at(target).filter(is_helper) {
                callers.entry(callee).or_default().push(index);
            }
        }
    }
    loop {
        let before = is_start_up.len();
        for unit in units.iter().filter(|_| has_unwind_entries) {
            let Some(one) = single(unit) else { continue };
            let entered = fragments.list.get(one).is_some_and(|one| one.traits.is_pointed_at);
            let by_start_up = callers.get(&one).is_none_or(|callers| callers.iter().all(|by| is_start_up.contains(by)));
            if by_start_up && (entered || callers.contains_key(&one)) {
                is_start_up.insert(one);
            }
        }
        if is_start_up.len() == before {
            break;
        }
    }
    for (unit, function) in units.iter().zip(functions) {
        if single(unit).is_some_and(|one| is_start_up.contains(&one)) {
            function.refusal = Some(Refusal::StartUp);
        }
    }
}
