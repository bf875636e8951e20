//! A function's decoded instructions with the ways backwards through them: what jump tables are found in.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::addresses::{self, constant_address, indexed_address, origin, part};
use crate::decode::{RawFlow, decoder, raw_flow};
use crate::quick::QuickMap;

/// Instructions of one or more ranges, in address order.
pub(crate) struct Stretch {
    pub(crate) code: Vec<Instruction>,
    /// In order.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Indirect jumps, by index.
    pub(crate) jumps: Vec<usize>,
    /// Addresses that instructions name in a way that suits a table, and the instructions' own; sorted.
    named: Vec<(u64, u64)>,
    /// Direct branches by their targets within, sorted.
    branches: Vec<(u64, usize)>,
    /// Calls that control does not come back from, by index, in order.
    ends: Vec<usize>,
    /// Ways that were added.
    more: QuickMap<u64, Vec<usize>>,
    /// What [parts](part) of addresses count from.
    pub(crate) origin: u64,
    /// Whether there are any.
    pub(crate) has_parts: bool,
}

impl Stretch {
    /// Decodes some ranges; `comes_back` tells of calls whether control does.
    pub(crate) fn decode(image: &Image<'_>, ranges: &[Range<u64>], comes_back: impl Fn(&Instruction) -> bool) -> Self {
        let mut ranges = ranges.to_vec();
        ranges.sort_by_key(|range| range.start);
        let bytes: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        let code = Vec::with_capacity(usize::try_from(bytes / 4).unwrap_or(0));
        let mut stretch = Self {
            code,
            ranges,
            jumps: Vec::new(),
            named: Vec::new(),
            branches: Vec::new(),
            ends: Vec::new(),
            more: QuickMap::default(),
            origin: origin(image),
            has_parts: false,
        };
        for range in stretch.ranges.clone() {
            let mut decoder = decoder(image, &range);
            let mut instruction = Instruction::default();
            while decoder.can_decode() {
                decoder.decode_out(&mut instruction);
                stretch.add(instruction, &comes_back);
            }
        }
        // As single numbers they are compared without a branch.
        stretch.named.sort_unstable_by_key(|&(address, from)| u128::from(address) << 64 | u128::from(from));
        stretch.branches.sort_unstable_by_key(|&(target, index)| u128::from(target) << 64 | index as u128);
        stretch
    }

    fn add(&mut self, instruction: Instruction, comes_back: impl Fn(&Instruction) -> bool) {
        let index = self.code.len();
        let mut slot = None;
        match raw_flow(&instruction) {
            RawFlow::Jump(target) | RawFlow::Branch(target) => self.branches.push((target, index)),
            RawFlow::IndirectJump => {
                self.jumps.push(index);
                slot = addresses::slot(&instruction);
            }
            RawFlow::Call(_) | RawFlow::IndirectCall if !comes_back(&instruction) => self.ends.push(index),
            _ => {}
        }
        let part = part(&instruction);
        self.has_parts |= part.is_some();
        let named = part.map(|part| part.wrapping_add(self.origin)).or(slot);
        let address = named.or_else(|| constant_address(&instruction)).or_else(|| indexed_address(&instruction));
        self.named.extend(address.map(|address| (address, instruction.ip())));
        self.code.push(instruction);
    }

    /// Instructions that name an address.
    pub(crate) fn references(&self, address: u64) -> Vec<u64> {
        let first = self.named.partition_point(|one| one.0 < address);
        let own = self.named.get(first..).unwrap_or_default().iter().take_while(|one| one.0 == address);
        own.map(|one| one.1).collect()
    }

    fn branches_to(&self, address: u64) -> &[(u64, usize)] {
        let first = self.branches.partition_point(|one| one.0 < address);
        let rest = self.branches.get(first..).unwrap_or_default();
        rest.get(..rest.iter().take_while(|one| one.0 == address).count()).unwrap_or_default()
    }

    /// Adds ways from jumps to the targets of their table.
    pub(crate) fn connect(&mut self, jumps: &[u64], targets: &[u64]) {
        let jumps: Vec<usize> = jumps.iter().filter_map(|&jump| self.index_of(jump)).collect();
        let targets: BTreeSet<u64> = targets.iter().copied().filter(|&target| self.index_of(target).is_some()).collect();
        for target in targets {
            let list = self.more.entry(target).or_default();
            for jump in &jumps {
                if !list.contains(jump) {
                    list.push(*jump);
                }
            }
        }
    }

    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        self.code.binary_search_by_key(&address, Instruction::ip).ok()
    }

    /// Instructions from which control comes to this one: by falling through first, then by branches.
    pub(crate) fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let address = self.code.get(index).map(Instruction::ip);
        let before = index.checked_sub(1).filter(|&before| {
            let previous = self.code.get(before);
            previous.is_some_and(|one| Some(one.next_ip()) == address && self.falls_through(before, one))
        });
        let branches = address.map_or([].as_slice(), |address| self.branches_to(address));
        let more = address.and_then(|address| self.more.get(&address));
        before.into_iter().chain(branches.iter().map(|one| one.1)).chain(more.into_iter().flatten().copied())
    }

    /// Whether control may come to the instruction behind one without a branch.
    pub(crate) fn falls_through(&self, index: usize, instruction: &Instruction) -> bool {
        let is_end = matches!(raw_flow(instruction), RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Stop | RawFlow::Invalid);
        !is_end && self.ends.binary_search(&index).is_err()
    }

    /// Whether the stack pointer is where it was at the entry, by counting; for code without unwind entries.
    pub(crate) fn is_at_entry_depth(&self, wanted: usize) -> bool {
        let mut depths: QuickMap<u64, i64> = QuickMap::default();
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
                _ if !self.falls_through(index, one) => None,
                Some(depth) => stack_depth_behind(one, depth, &mut frame),
                None => None,
            };
        }
        false
    }
}

/// Bytes pushed since the entry, behind an instruction; `frame` follows the frame pointer.
pub(crate) fn stack_depth_behind(instruction: &Instruction, depth: i64, frame: &mut i64) -> Option<i64> {
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
