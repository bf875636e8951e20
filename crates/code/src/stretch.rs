//! A function's decoded instructions with the ways backwards through them: what jump tables are found in.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::decode::{RawFlow, decoder, raw_flow};

/// Instructions of one or more ranges, in address order.
pub(crate) struct Stretch {
    pub(crate) code: Vec<Instruction>,
    /// Direct branches by their targets within.
    incoming: HashMap<u64, Vec<usize>>,
}

impl Stretch {
    pub(crate) fn decode(image: &Image<'_>, ranges: &[Range<u64>]) -> Self {
        let mut ranges = ranges.to_vec();
        ranges.sort_by_key(|range| range.start);
        let code: Vec<Instruction> = ranges.iter().flat_map(|range| decoder(image, range)).collect();
        let mut incoming: HashMap<u64, Vec<usize>> = HashMap::new();
        for (index, instruction) in code.iter().enumerate() {
            if let RawFlow::Jump(target) | RawFlow::Branch(target) = raw_flow(instruction) {
                incoming.entry(target).or_default().push(index);
            }
        }
        Self { code, incoming }
    }

    /// Adds ways from jumps to the targets of their table.
    pub(crate) fn connect(&mut self, jumps: &[u64], targets: &[u64]) {
        let jumps: Vec<usize> = jumps.iter().filter_map(|&jump| self.index_of(jump)).collect();
        let targets: BTreeSet<u64> = targets.iter().copied().filter(|&target| self.index_of(target).is_some()).collect();
        for target in targets {
            let list = self.incoming.entry(target).or_default();
            for jump in &jumps {
                if !list.contains(jump) {
                    list.push(*jump);
                }
            }
        }
    }

    fn index_of(&self, address: u64) -> Option<usize> {
        self.code.binary_search_by_key(&address, Instruction::ip).ok()
    }

    /// Instructions from which control comes to this one: by falling through first, then by branches.
    pub(crate) fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let address = self.code.get(index).map(Instruction::ip);
        let before = index.checked_sub(1).filter(|&before| {
            let previous = self.code.get(before);
            previous.is_some_and(|one| Some(one.next_ip()) == address && falls_through(one))
        });
        let jumps = address.and_then(|address| self.incoming.get(&address));
        before.into_iter().chain(jumps.into_iter().flatten().copied())
    }

    /// Whether the stack pointer is where it was at the entry, by counting; for code without unwind entries.
    pub(crate) fn is_at_entry_depth(&self, wanted: usize) -> bool {
        let mut depths: HashMap<u64, i64> = HashMap::new();
        let mut frame = 8_i64;
        let mut depth = Some(0_i64);
        for (index, one) in self.code.iter().enumerate() {
            depth = depth.or_else(|| depths.get(&one.ip()).copied());
            if index == wanted {
                return depth == Some(0);
            }
            let flow = raw_flow(one);
            if let (RawFlow::Jump(target) | RawFlow::Branch(target), Some(depth)) = (flow, depth) {
                depths.entry(target).or_insert(depth);
            }
            depth = match depth {
                _ if !falls_through(one) => None,
                Some(depth) => stack_depth_behind(one, depth, &mut frame),
                None => None,
            };
        }
        false
    }
}

fn falls_through(instruction: &Instruction) -> bool {
    !matches!(raw_flow(instruction), RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Stop | RawFlow::Invalid)
}

/// Bytes pushed since the entry, behind an instruction; `frame` follows the frame pointer.
fn stack_depth_behind(instruction: &Instruction, depth: i64, frame: &mut i64) -> Option<i64> {
    let to = instruction.op0_register();
    let writes_stack = instruction.op0_kind() == OpKind::Register && to == Register::RSP;
    match instruction.mnemonic() {
        Mnemonic::Call => Some(depth),
        Mnemonic::Leave => Some(*frame - 8),
        Mnemonic::Mov if to == Register::RBP && instruction.op1_register() == Register::RSP => {
            *frame = depth;
            Some(depth)
        }
        Mnemonic::Mov if writes_stack && instruction.op1_register() == Register::RBP => Some(*frame),
        Mnemonic::Lea if writes_stack && instruction.memory_base() == Register::RBP => {
            Some(*frame - instruction.memory_displacement64().cast_signed())
        }
        Mnemonic::Lea if writes_stack && instruction.memory_base() == Register::RSP => {
            Some(depth - instruction.memory_displacement64().cast_signed())
        }
        Mnemonic::Add if writes_stack && instruction.op1_kind() != OpKind::Register => Some(depth - instruction.immediate(1).cast_signed()),
        Mnemonic::Sub if writes_stack && instruction.op1_kind() != OpKind::Register => Some(depth + instruction.immediate(1).cast_signed()),
        _ if writes_stack && instruction.mnemonic() != Mnemonic::Push => None,
        _ => Some(depth - i64::from(instruction.stack_pointer_increment())),
    }
}
