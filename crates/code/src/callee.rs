//! Where a call goes.

use tare_image::Image;

use crate::Program;
use crate::program::{Flow, Instruction, Operand};

/// What a call or a jump out of a function leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee<'a> {
    /// A function of the image, by its index.
    Function(usize),
    /// A function of another image.
    Import(&'a str),
    /// What a pointer says, or what cannot be told.
    Unknown,
}

impl Program {
    /// Where an instruction leads out of its function; `None` if it does not.
    #[must_use]
    pub fn destination<'a>(&self, image: &Image<'a>, one: &Instruction) -> Option<Callee<'a>> {
        match one.flow {
            Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => Some(self.callee_at(image, target)),
            Flow::IndirectCall | Flow::IndirectTailCall => {
                let slot = match one.operand {
                    Operand::RipRelative { target, .. } => Some(target),
                    _ => None,
                };
                Some(slot.map_or(Callee::Unknown, |slot| self.callee_in_slot(image, slot)))
            }
            _ => None,
        }
    }

    fn callee_at<'a>(&self, image: &Image<'a>, target: u64) -> Callee<'a> {
        let Some(entry) = image.plt_at(target) else {
            return self.function_at(target).map_or(Callee::Unknown, Callee::Function);
        };
        let own = entry.target.and_then(|target| self.function_at(target));
        own.map(Callee::Function).or_else(|| entry.name.map(Callee::Import)).unwrap_or(Callee::Unknown)
    }

    /// What stands in a slot that the loader fills; a library finds its own exported functions there, too.
    fn callee_in_slot<'a>(&self, image: &Image<'a>, slot: u64) -> Callee<'a> {
        let relocation = image.relocation_at(slot);
        let own = relocation.and_then(tare_image::Relocation::link_address).and_then(|target| self.function_entered_at(target));
        own.map(Callee::Function).or_else(|| image.name_in_slot(slot).map(Callee::Import)).unwrap_or(Callee::Unknown)
    }
}
