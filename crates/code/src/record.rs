//! What the sweep keeps of an instruction that changes the flow of control.

use crate::decode::RawFlow;
use crate::leads;
use crate::through::Through;

/// An instruction that changes the flow of control. There are as many as blocks: it is kept small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRecord {
    pub(crate) address: u64,
    /// The target of a direct one, or what the pointer of an indirect one is known by.
    value: u64,
    kind: Kind,
    pub(crate) length: u8,
}

/// [`RawFlow`] and [`Through`] without their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Next,
    Call,
    Jump,
    Branch,
    Return,
    Stop,
    Invalid,
    IndirectCall(Pointed),
    IndirectJump(Pointed),
}

/// [`Through`] without its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pointed {
    Nothing,
    Slot,
    Code,
    Member,
    Pointer,
    Unknown,
}

impl Pointed {
    /// With the number.
    const fn of(through: Through) -> (Self, u64) {
        match through {
            Through::Nothing => (Self::Nothing, 0),
            Through::Slot(slot) => (Self::Slot, slot),
            Through::Code(address) => (Self::Code, address),
            Through::Member(offset) => (Self::Member, offset),
            Through::Pointer => (Self::Pointer, 0),
            Through::Unknown => (Self::Unknown, 0),
        }
    }
}

impl FlowRecord {
    /// Of an instruction at an address, of so many bytes.
    #[inline]
    pub(crate) fn new((address, length): (u64, u8), flow: RawFlow, through: Through) -> Self {
        let (pointed, place) = Pointed::of(through);
        let (kind, value) = match flow {
            RawFlow::Next => (Kind::Next, 0),
            RawFlow::Call(target) => (Kind::Call, target),
            RawFlow::IndirectCall => (Kind::IndirectCall(pointed), place),
            RawFlow::Jump(target) => (Kind::Jump, target),
            RawFlow::Branch(target) => (Kind::Branch, target),
            RawFlow::IndirectJump => (Kind::IndirectJump(pointed), place),
            RawFlow::Return => (Kind::Return, 0),
            RawFlow::Stop => (Kind::Stop, 0),
            RawFlow::Invalid => (Kind::Invalid, 0),
        };
        Self { address, value, kind, length }
    }

    #[inline]
    pub(crate) const fn flow(&self) -> RawFlow {
        match self.kind {
            Kind::Next => RawFlow::Next,
            Kind::Call => RawFlow::Call(self.value),
            Kind::Jump => RawFlow::Jump(self.value),
            Kind::Branch => RawFlow::Branch(self.value),
            Kind::Return => RawFlow::Return,
            Kind::Stop => RawFlow::Stop,
            Kind::Invalid => RawFlow::Invalid,
            Kind::IndirectCall(_) => RawFlow::IndirectCall,
            Kind::IndirectJump(_) => RawFlow::IndirectJump,
        }
    }

    /// What an indirect call or jump goes through.
    pub(crate) const fn through(&self) -> Through {
        let (Kind::IndirectCall(pointed) | Kind::IndirectJump(pointed)) = self.kind else { return Through::Nothing };
        match pointed {
            Pointed::Nothing => Through::Nothing,
            Pointed::Slot => Through::Slot(self.value),
            Pointed::Code => Through::Code(self.value),
            Pointed::Member => Through::Member(self.value),
            Pointed::Pointer => Through::Pointer,
            Pointed::Unknown => Through::Unknown,
        }
    }

    /// Says what an indirect call or jump goes through.
    pub(crate) const fn set_through(&mut self, through: Through) {
        if let Kind::IndirectCall(pointed) | Kind::IndirectJump(pointed) = &mut self.kind {
            (*pointed, self.value) = Pointed::of(through);
        }
    }

    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.address + u64::from(self.length)
    }

    /// Of an indirect call or jump through a slot or to known code: its link address.
    #[inline]
    pub(crate) const fn place(&self) -> Option<u64> {
        match self.kind {
            Kind::IndirectCall(Pointed::Slot | Pointed::Code) | Kind::IndirectJump(Pointed::Slot | Pointed::Code) => Some(self.value),
            _ => None,
        }
    }

    /// How it may lead out of its fragment, if so.
    #[inline]
    pub(crate) const fn kind_of_lead(&self) -> Option<leads::Kind> {
        match self.kind {
            Kind::Call => Some(leads::Kind::Call),
            Kind::Jump => Some(leads::Kind::Jump),
            Kind::Branch => Some(leads::Kind::Branch),
            Kind::IndirectCall(_) | Kind::IndirectJump(_) => Some(leads::Kind::Indirect),
            _ => None,
        }
    }

    /// The target of a direct call, jump or branch.
    #[inline]
    pub(crate) const fn direct_target(&self) -> Option<u64> {
        match self.kind {
            Kind::Call | Kind::Jump | Kind::Branch => Some(self.value),
            _ => None,
        }
    }

    /// The target of a direct call.
    #[inline]
    pub(crate) const fn callee(&self) -> Option<u64> {
        match self.kind {
            Kind::Call => Some(self.value),
            _ => None,
        }
    }

    /// The target of a direct jump or branch.
    #[inline]
    pub(crate) const fn branch_target(&self) -> Option<u64> {
        match self.kind {
            Kind::Jump | Kind::Branch => Some(self.value),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn branch_target_mut(&mut self) -> Option<&mut u64> {
        matches!(self.kind, Kind::Jump | Kind::Branch).then_some(&mut self.value)
    }
}
