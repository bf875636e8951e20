//! How far a fragment goes whose end nothing names.

use std::ops::Range;

use iced_x86::{OpKind, Register};
use tare_image::Image;

use crate::decode::{RawFlow, is_padding};
use crate::fragments::Fragment;
use crate::noreturn::import_never_returns;
use crate::through::Recent;

/// Whether control goes on behind an instruction; imports that never return are known by their names and versions.
pub(crate) fn falls_through(image: &Image<'_>, flow: RawFlow) -> bool {
    match flow {
        RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Stop => false,
        RawFlow::Call(target) => !image.plt_at(target).and_then(|entry| entry.name).is_some_and(|name| import_never_returns(image, name)),
        _ => true,
    }
}

/// Finds the end of a fragment that nothing names: where no branch of its own leads beyond code that ends.
pub(crate) struct Extent {
    range: Range<u64>,
    is_known: bool,
    /// Behind the last instruction that is no padding.
    end: u64,
    /// Behind the farthest target of an own branch.
    farthest: u64,
    falls_through: bool,
    /// What stands behind traps is its own.
    passes_traps: bool,
    is_behind_trap: bool,
    /// A jump table may lead to anything that follows.
    is_open: bool,
}

pub(crate) enum Step {
    Inside,
    /// Padding behind an end.
    Between,
    Behind,
}

impl Extent {
    pub(crate) fn new(fragment: &Fragment) -> Self {
        let range = fragment.range.clone();
        let start = range.start;
        Self {
            range,
            is_known: fragment.has_known_end,
            end: start,
            farthest: start,
            falls_through: true,
            passes_traps: fragment.traits.goes_on_behind_traps,
            is_behind_trap: false,
            is_open: false,
        }
    }

    /// Behind the last instruction that is no padding.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Whether no own branch leads to an address or behind it.
    pub(crate) const fn is_behind_branches(&self, address: u64) -> bool {
        self.farthest <= address && !self.is_open
    }

    /// Whether control does not run over the end.
    pub(crate) const fn is_closed(&self) -> bool {
        !self.falls_through && self.farthest <= self.end
    }

    /// Takes the next instruction.
    #[inline]
    pub(crate) fn step(&mut self, image: &Image<'_>, recent: &mut Recent<'_>, flow: RawFlow) -> Step {
        if self.is_known { Step::Inside } else { self.follow(image, recent, flow) }
    }

    fn follow(&mut self, image: &Image<'_>, recent: &mut Recent<'_>, flow: RawFlow) -> Step {
        let instruction = recent.last();
        self.falls_through |= self.is_behind_trap && !is_padding(instruction);
        self.is_behind_trap = self.passes_traps && self.falls_through && flow == RawFlow::Stop;
        let is_cut = !self.falls_through && self.farthest <= instruction.ip() && !self.is_open;
        if is_cut || flow == RawFlow::Invalid {
            return Step::Behind;
        }
        // In front of what a branch leads to it is the function's own, and another branch may lead to it.
        if !self.falls_through && is_padding(instruction) && self.farthest <= instruction.ip() {
            return Step::Between;
        }
        if !is_padding(instruction) {
            self.end = instruction.next_ip();
        }
        if let RawFlow::Jump(target) | RawFlow::Branch(target) = flow
            && self.range.contains(&target)
        {
            self.farthest = self.farthest.max(target + 1);
        }
        self.is_open |= flow == RawFlow::IndirectJump && may_use_table(recent);
        self.falls_through = falls_through(image, flow);
        Step::Inside
    }
}

/// A jump through a register or an indexed operand; a fixed slot or a member of an object is no table, nor is that of a class.
fn may_use_table(recent: &mut Recent<'_>) -> bool {
    let jump = recent.last();
    let has_register = jump.op0_kind() == OpKind::Register;
    jump.memory_index() != Register::None || has_register && !recent.goes_to_virtual()
}
