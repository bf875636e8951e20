//! What ends blocks: the instructions of a function behind which control does not just go on.

use crate::Program;
use crate::program::{Flow, Instruction};

/// An instruction that ends a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Link address.
    pub(crate) address: u64,
    /// Link address behind it.
    pub(crate) end: u64,
    pub(crate) way: Way,
}

/// Where control goes behind a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To an address within the function.
    Jump(u64),
    /// On, or to an address within the function.
    Branch(u64),
    /// On, or out of the function.
    BranchOut,
    /// To what jump tables hold.
    Table,
    /// It is not known.
    Unknown,
    /// Out of the function, or nowhere.
    Out,
}

impl Way {
    /// Whether the function may end here.
    pub(crate) const fn is_exit(self) -> bool {
        matches!(self, Self::Out | Self::BranchOut)
    }
}

/// A call from which unwinding leads to a landing pad.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throw {
    /// Link address of the call.
    pub(crate) address: u64,
    /// Link address behind it.
    pub(crate) end: u64,
    pub(crate) pad: u64,
}

impl Program {
    /// The turns among the instructions of a body, in the order of their addresses.
    pub(crate) fn turns(&self, instructions: &[Instruction]) -> Vec<Turn> {
        let turn = |one: &Instruction| Some(Turn { address: one.address, end: one.end(), way: self.way(one.flow, || self.place(one))? });
        let mut turns: Vec<Turn> = instructions.iter().filter_map(turn).collect();
        turns.sort_by_key(|turn| turn.address);
        turns
    }

    /// Where an instruction leads that ends a block; `place` is what an indirect one reads its target from, or the code that it leads to.
    #[inline]
    pub(crate) fn way(&self, flow: Flow, place: impl FnOnce() -> Option<u64>) -> Option<Way> {
        match flow {
            Flow::Next | Flow::Call { returns: true, .. } => None,
            Flow::IndirectCall => place().is_some_and(|place| self.never_returns(place)).then_some(Way::Out),
            Flow::Jump { target } => Some(Way::Jump(target)),
            Flow::Branch { target } => Some(Way::Branch(target)),
            Flow::BranchTailCall { .. } => Some(Way::BranchOut),
            Flow::TableJump { .. } => Some(Way::Table),
            Flow::UnknownJump => Some(Way::Unknown),
            Flow::Call { .. } | Flow::TailCall { .. } | Flow::IndirectTailCall | Flow::Return | Flow::Stop => Some(Way::Out),
        }
    }
}
