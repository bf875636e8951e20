//! Decoding: bytes to instructions, and what each does to the flow of control before functions are known.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use tare_image::Image;

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
    Transaction(u64),
    Invalid,
}

/// The instructions of a range of link addresses, in order; none if it is not in the file.
pub(crate) fn decoder<'data>(image: &Image<'data>, range: &Range<u64>) -> Decoder<'data> {
    let length = range.end.saturating_sub(range.start);
    let bytes = image.bytes_at(range.start, length).unwrap_or_default();
    Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE)
}

/// What an instruction does to the flow of control.
pub(crate) fn raw_flow(instruction: &Instruction) -> RawFlow {
    match instruction.flow_control() {
        FlowControl::Next => match instruction.mnemonic() {
            Mnemonic::Hlt => RawFlow::Stop,
            _ => RawFlow::Next,
        },
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
        FlowControl::XbeginXabortXend if instruction.mnemonic() == Mnemonic::Xbegin => RawFlow::Transaction(instruction.near_branch_target()),
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

/// Whether it only fills space.
pub(crate) fn is_padding(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop | Mnemonic::Int3 => true,
        Mnemonic::Xchg => instruction.op0_register() == instruction.op1_register() && instruction.len() == 2,
        _ => false,
    }
}

/// One bit for each address of a range, which begins at a multiple of 64.
#[derive(Default)]
pub(crate) struct AddressSet {
    start: u64,
    words: Vec<u64>,
}

impl AddressSet {
    pub(crate) fn over(ranges: &[Range<u64>]) -> Self {
        let start = ranges.iter().map(|range| range.start).min().unwrap_or(0) / 64 * 64;
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(start);
        let words = usize::try_from((end - start) / 64 + 1).unwrap_or(0);
        Self { start, words: vec![0; words] }
    }

    fn position(&self, address: u64) -> Option<(usize, u64)> {
        let bit = address.checked_sub(self.start)?;
        Some((usize::try_from(bit / 64).ok()?, 1 << (bit % 64)))
    }

    pub(crate) fn insert(&mut self, address: u64) {
        let Some((word, mask)) = self.position(address) else { return };
        if let Some(word) = self.words.get_mut(word) {
            *word |= mask;
        }
    }

    /// Adds all of another set that lies within the range of this one.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Some((first, _)) = self.position(other.start) else { return };
        for (to, from) in self.words.iter_mut().skip(first).zip(&other.words) {
            *to |= from;
        }
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        let found = self.position(address).and_then(|(word, mask)| Some(self.words.get(word)? & mask != 0));
        found.unwrap_or(false)
    }
}
