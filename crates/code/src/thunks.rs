//! Jumps through thunks (`-mindirect-branch=thunk`, retpolines): direct jumps to code that goes on where a register
//! says.
//!
//! They are tail calls unless the stack is not as at an entry, or the function keeps addresses of its own instructions
//! or reads a table that leads into it; then where they go is not known.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::decode::{RawFlow, decoder, raw_flow};
use crate::fragments::Fragments;
use crate::quick::QuickMap;
use crate::sweep::Sweep;
use crate::tables::{JumpKind, Jumps, Resolver};
use crate::{Unit, behind_start, rows};

/// How far behind its start a thunk overwrites the return address.
const MOST: u64 = 64;

/// Adds the jumps through thunks that may stay in their function, as unknown ones.
pub(crate) fn mark(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep, units: &[Unit], jumps: &mut QuickMap<usize, Jumps>) {
    let resolver = Resolver::new(image, sweep);
    let mut known: QuickMap<u64, bool> = QuickMap::default();
    for (index, unit) in units.iter().enumerate() {
        let own = || unit.fragments.iter().filter_map(|&one| Some((one, fragments.list.get(one)?)));
        let mut through: Vec<(usize, u64)> = Vec::new();
        for (one, fragment) in own() {
            let outward = sweep.flows_of(fragment).iter().filter_map(|record| match record.flow() {
                RawFlow::Jump(target) if !fragment.range.contains(&target) => Some((record.address, target)),
                _ => None,
            });
            let thunked = outward.filter(|&(_, target)| *known.entry(target).or_insert_with(|| is_thunk(image, target)));
            through.extend(thunked.map(|(address, _)| (one, address)));
        }
        if through.is_empty() {
            continue;
        }
        let ranges: Vec<_> = own().map(|(_, one)| one.range.clone()).collect();
        let keeps_labels = ranges.iter().any(|range| !behind_start(&sweep.labels, range).is_empty());
        let may_stay = keeps_labels || resolver.reads_tables(&ranges);
        let is_inside = |&(one, address): &(usize, u64)| {
            let is_entry = rows(image, fragments, one).is_none_or(|rows| rows.at(address).is_some_and(tare_image::Cfa::is_entry));
            may_stay || !is_entry
        };
        let unknown: Vec<_> = through.into_iter().filter(is_inside).map(|(_, address)| (address, JumpKind::Unknown)).collect();
        if !unknown.is_empty() {
            jumps.entry(index).or_default().kinds.extend(unknown);
        }
    }
}

/// Code that calls over a loop, and overwrites the return address by a register.
pub(crate) fn is_thunk(image: &Image<'_>, start: u64) -> bool {
    let Some(text) = image.text_at(start) else { return false };
    let range = start..text.end.min(start.saturating_add(MOST));
    let Some(RawFlow::Call(target)) = decoder(image, &range).into_iter().next().map(|one| raw_flow(&one)) else { return false };
    if !range.contains(&target) {
        return false;
    }
    let mut behind = decoder(image, &(target..range.end)).into_iter();
    behind.next().is_some_and(|one| overwrites_return(&one)) && behind.next().is_some_and(|one| raw_flow(&one) == RawFlow::Return)
}

fn overwrites_return(one: &Instruction) -> bool {
    let is_store = one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Memory && one.op1_kind() == OpKind::Register;
    let is_drop = one.mnemonic() == Mnemonic::Lea && one.op0_register() == Register::RSP && one.memory_displacement64() == 8;
    let is_top = one.memory_base() == Register::RSP && one.memory_index() == Register::None;
    is_top && (is_drop || (is_store && one.memory_displacement64() == 0))
}
