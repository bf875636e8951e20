//! Tables whose address code by hand also finds other data by: `vmovdqa -0x80(%rax)` where `%rax` holds the address of the jump table that
//! stands behind that data. With the address of a copy of the table it would read what stands in front of the copy.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::addresses::constant_address;
use crate::decode::{RawFlow, is_padding, raw_flow};
use crate::jumps::{JumpKind, Jumps};
use crate::program::JumpTable;
use crate::stretch::Stretch;
use crate::through::{is_kept_by_calls, writes};

/// Says of the jumps through such tables that they are not known.
pub(crate) fn mark(image: &Image<'_>, stretch: &Stretch, jumps: &mut Jumps) {
    let is_moved = image.kind().is_position_independent();
    let anchors: Vec<&JumpTable> = jumps.tables.iter().filter(|table| is_anchor(stretch, jumps, table, is_moved)).collect();
    let through: Vec<u64> = anchors.iter().flat_map(|table| table.jumps.iter().copied()).collect();
    jumps.kinds.extend(through.into_iter().map(|jump| (jump, JumpKind::Unknown)));
}

/// In an image that `is_moved`, addresses have more than 32 bits.
fn is_anchor(stretch: &Stretch, jumps: &Jumps, table: &JumpTable, is_moved: bool) -> bool {
    table.references.iter().any(|&reference| {
        let Some(index) = stretch.index_of(reference) else { return false };
        let Some(load) = stretch.code.get(index).filter(|one| constant_address(one) == Some(table.address)) else { return false };
        let register = load.op0_register().full_register();
        let is_number = |one: &Instruction| is_moved && one.mnemonic() == Mnemonic::Lea && one.op0_register().size() < 8;
        let reads = |one: &Instruction| reads_elsewhere(one, register, table) && !is_number(one);
        // Few functions have an instruction that could do so at all.
        stretch.code.iter().any(reads) && finds_other_data(stretch, jumps, index, register, reads)
    })
}

/// Whether an instruction takes a register, in which the address of a table is, for that of something other than an entry.
fn reads_elsewhere(one: &Instruction, register: Register, table: &JumpTable) -> bool {
    if one.memory_base() != register || is_padding(one) || one.op_kinds().all(|kind| kind != OpKind::Memory) {
        return false;
    }
    let address = table.address.wrapping_add(one.memory_displacement64());
    let end = table.address + table.targets.len() as u64 * table.form.entry_size();
    let is_indexed = one.memory_index() != Register::None && (address == table.address || matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Movsxd));
    !is_indexed && !(table.address..end).contains(&address)
}

/// Whether what an instruction puts into a register is used so on some way from there.
fn finds_other_data(stretch: &Stretch, jumps: &Jumps, from: usize, register: Register, reads: impl Fn(&Instruction) -> bool) -> bool {
    let mut seen = vec![false; stretch.code.len()];
    let mut open = vec![from + 1];
    while let Some(index) = open.pop() {
        let Some(one) = stretch.code.get(index) else { continue };
        if seen.get_mut(index).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        if reads(one) {
            return true;
        }
        let flow = raw_flow(one);
        let is_lost = matches!(flow, RawFlow::Call(_) | RawFlow::IndirectCall) && !is_kept_by_calls(register);
        if is_lost || writes(one, register) {
            continue;
        }
        match flow {
            RawFlow::Jump(target) | RawFlow::Branch(target) => open.extend(stretch.index_of(target)),
            RawFlow::IndirectJump => open.extend(targets(jumps, one.ip()).filter_map(|target| stretch.index_of(target))),
            _ => {}
        }
        open.extend(stretch.falls_through(index, one).then_some(index + 1));
    }
    false
}

/// Where a jump goes by tables.
fn targets(jumps: &Jumps, jump: u64) -> impl Iterator<Item = u64> {
    let tables = jumps.tables.iter().filter(move |table| table.jumps.contains(&jump));
    tables.flat_map(|table| table.reached().iter().copied())
}
