//! Where a call goes.

use tare_image::Image;

use crate::program::{Flow, Instruction};
use crate::{Program, slots, twice};

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
            Flow::IndirectCall | Flow::IndirectTailCall => Some(self.place(one).map_or(Callee::Unknown, |place| self.callee_behind(image, place))),
            _ => None,
        }
    }

    /// Whether what is called comes back more often than it is called, by its name or by what it does first.
    #[must_use]
    pub fn comes_back_twice(&self, image: &Image<'_>, call: &Instruction) -> bool {
        const NAMES: [&str; 7] = ["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "savectx", "vfork", "getcontext"];
        match self.destination(image, call) {
            Some(Callee::Function(index)) => self.functions.get(index).is_some_and(|one| {
                NAMES.iter().any(|name| one.is_called(name)) || !one.has_name() && twice::comes_back_twice(image, one.entry, one.size())
            }),
            Some(Callee::Import(name)) => NAMES.contains(&name),
            _ => false,
        }
    }

    /// What an indirect call or jump reads its target from, or the code that it leads to; `None` where neither is known.
    pub(crate) fn place(&self, call: &Instruction) -> Option<u64> {
        let record = self.flows.binary_search_by_key(&call.address, |record| record.address).ok()?;
        self.flows.get(record)?.place()
    }

    /// What a slot leads to, or stands at an address of code.
    pub(crate) fn callee_behind<'a>(&self, image: &Image<'a>, place: u64) -> Callee<'a> {
        if image.is_code(place) { self.callee_at(image, place) } else { self.callee_in_slot(image, place) }
    }

    pub(crate) fn callee_at<'a>(&self, image: &Image<'a>, target: u64) -> Callee<'a> {
        let Some(entry) = image.plt_at(target) else {
            return self.function_at(target).map_or(Callee::Unknown, Callee::Function);
        };
        let own = entry.target.and_then(|target| self.function_at(target));
        own.map(Callee::Function).or_else(|| entry.name.map(Callee::Import)).unwrap_or(Callee::Unknown)
    }

    /// What stands in a slot that the loader fills; a library finds its own exported functions there, too.
    fn callee_in_slot<'a>(&self, image: &Image<'a>, slot: u64) -> Callee<'a> {
        let import = || image.name_in_slot(slot).map_or(Callee::Unknown, Callee::Import);
        match slots::code_in(image, &self.changing, slot) {
            Some(target) if image.is_in_plt(target) => self.callee_at(image, target),
            Some(target) => self.function_entered_at(target).map_or_else(import, Callee::Function),
            None => import(),
        }
    }
}
