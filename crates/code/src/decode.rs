//! Decoding: bytes to instructions, and what each does to the flow of control before functions are known.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register};
use tare_image::Image;

/// `endbr64`: with control-flow enforcement, what is called or jumped to through a pointer begins with it.
pub const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Bytes of the longest instruction.
pub(crate) const LONGEST: u64 = 15;

/// Flow of an instruction by itself: whether a jump leaves the function is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RawFlow {
    Next,
    Call(u64),
    IndirectCall,
    Jump(u64),
    Branch(u64),
    IndirectJump,
    Return,
    Stop,
    Invalid,
}

/// The instructions of a range of link addresses, in order; none if it is not in the file.
pub(crate) fn decoder<'data>(image: &Image<'data>, range: &Range<u64>) -> Decoder<'data> {
    let length = range.end.saturating_sub(range.start);
    let bytes = image.bytes_at(range.start, length).unwrap_or_default();
    Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE)
}

/// What an instruction does to the flow of control.
#[inline(always)]
pub(crate) fn raw_flow(instruction: &Instruction) -> RawFlow {
    match instruction.flow_control() {
        FlowControl::Next if instruction.code() != Code::Hlt => RawFlow::Next,
        control => turn(instruction, control),
    }
}

/// The same of one after which control may not go on to the next one.
fn turn(instruction: &Instruction, control: FlowControl) -> RawFlow {
    match control {
        FlowControl::Next => RawFlow::Stop,
        FlowControl::UnconditionalBranch if is_near(instruction) => RawFlow::Jump(instruction.near_branch_target()),
        FlowControl::ConditionalBranch => RawFlow::Branch(instruction.near_branch_target()),
        FlowControl::IndirectBranch => RawFlow::IndirectJump,
        FlowControl::Return => RawFlow::Return,
        FlowControl::Call if is_near(instruction) => RawFlow::Call(instruction.near_branch_target()),
        FlowControl::IndirectCall => RawFlow::IndirectCall,
        FlowControl::Call => RawFlow::Next,
        FlowControl::Interrupt => match instruction.mnemonic() {
            Mnemonic::Int3 | Mnemonic::Int1 => RawFlow::Stop,
            Mnemonic::Int if instruction.immediate8() == 0x29 => RawFlow::Stop,
            _ => RawFlow::Next,
        },
        // Where a hardware transaction fails control goes on elsewhere, as behind a conditional branch.
        FlowControl::XbeginXabortXend if instruction.mnemonic() == Mnemonic::Xbegin => RawFlow::Branch(instruction.near_branch_target()),
        FlowControl::XbeginXabortXend => RawFlow::Next,
        FlowControl::Exception if instruction.code() == Code::INVALID => RawFlow::Invalid,
        FlowControl::Exception => RawFlow::Stop,
        FlowControl::UnconditionalBranch => RawFlow::Invalid,
    }
}

fn is_near(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

/// Whether an indirect jump carries `notrack`: then its targets have no `endbr64`, as those of a jump table.
pub(crate) fn has_notrack(image: &Image<'_>, instruction: &Instruction) -> bool {
    let bytes = image.bytes_at(instruction.ip(), instruction.len() as u64).unwrap_or_default();
    let is_prefix = |byte: &&u8| matches!(**byte, 0x3e | 0xf2 | 0x66 | 0x40..=0x4f);
    bytes.iter().take_while(is_prefix).any(|&byte| byte == 0x3e)
}

/// Whether something is written there, or may be.
pub(crate) fn may_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Whether an instruction of which this is known may change a register.
pub(crate) fn may_change(info: &InstructionInfo, register: Register) -> bool {
    info.used_registers().iter().any(|used| may_write(used.access()) && used.register().full_register() == register)
}

/// Whether it calls the kernel.
pub(crate) fn enters_kernel(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Int)
}

/// Whether it has a memory operand below the stack pointer.
pub(crate) fn is_below_stack(instruction: &Instruction) -> bool {
    let has_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    has_memory && instruction.memory_base() == Register::RSP && instruction.memory_displacement64().cast_signed() < 0
}

/// Whether it only fills space.
pub(crate) fn is_padding(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop | Mnemonic::Int3 => true,
        Mnemonic::Xchg => instruction.op0_register() == instruction.op1_register() && instruction.len() == 2,
        _ => false,
    }
}

/// One bit for each address of some ranges.
#[derive(Default)]
pub(crate) struct AddressSet {
    /// Sorted, apart from each other.
    stretches: Vec<Stretch>,
}

struct Stretch {
    /// A multiple of 64.
    start: u64,
    words: Vec<u64>,
}

impl AddressSet {
    pub(crate) fn over(ranges: &[Range<u64>]) -> Self {
        /// Ranges that are no farther apart share a stretch.
        const NEAR: u64 = 4096;
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in sorted {
            match joined.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(NEAR) => last.end = last.end.max(range.end),
                _ => joined.push(range.start / 64 * 64..range.end),
            }
        }
        let words = |range: &Range<u64>| vec![0; usize::try_from(range.end.saturating_sub(range.start) / 64 + 1).unwrap_or(0)];
        Self { stretches: joined.into_iter().map(|range| Stretch { start: range.start, words: words(&range) }).collect() }
    }

    /// Stretch, word and mask of an address.
    fn position(&self, address: u64) -> Option<(usize, usize, u64)> {
        let stretch = self.stretches.partition_point(|one| one.start <= address).checked_sub(1)?;
        let bit = address - self.stretches.get(stretch)?.start;
        Some((stretch, usize::try_from(bit / 64).ok()?, 1 << (bit % 64)))
    }

    pub(crate) fn insert(&mut self, address: u64) {
        let Some((stretch, _, _)) = self.position(address) else { return };
        self.insert_into(Some(stretch), address);
    }

    /// Which stretch an address lies in, for others of the same range.
    pub(crate) fn stretch_of(&self, address: u64) -> Option<usize> {
        self.position(address).map(|(stretch, _, _)| stretch)
    }

    /// Adds an address of a stretch.
    #[inline]
    pub(crate) fn insert_into(&mut self, stretch: Option<usize>, address: u64) {
        let Some(stretch) = stretch.and_then(|stretch| self.stretches.get_mut(stretch)) else { return };
        let bit = address.wrapping_sub(stretch.start);
        if let Some(word) = usize::try_from(bit / 64).ok().and_then(|word| stretch.words.get_mut(word)) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Whether it holds an address, most likely one of a stretch.
    #[inline]
    pub(crate) fn has_near(&self, stretch: Option<usize>, address: u64) -> bool {
        let near = stretch.and_then(|stretch| self.stretches.get(stretch));
        let bit = near.map_or(u64::MAX, |near| address.wrapping_sub(near.start));
        match near.zip(usize::try_from(bit / 64).ok()).and_then(|(near, word)| near.words.get(word)) {
            Some(word) => word >> (bit % 64) & 1 != 0,
            None => self.contains(address),
        }
    }

    /// Adds all of another set that lies within the ranges of this one.
    pub(crate) fn merge(&mut self, other: &Self) {
        for own in &other.stretches {
            let Some((stretch, first, _)) = self.position(own.start) else { continue };
            let Some(to) = self.stretches.get_mut(stretch) else { continue };
            to.words.iter_mut().skip(first).zip(&own.words).for_each(|(to, from)| *to |= from);
        }
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        let found = self.position(address).and_then(|(stretch, word, mask)| Some(self.stretches.get(stretch)?.words.get(word)? & mask != 0));
        found.unwrap_or(false)
    }
}
