//! Which registers hold what may still be needed where a function is entered and where it comes back: liveness of the
//! registers that calls may change, over the call graph.
//!
//! By the platform's convention nothing is in such a register behind a call but what is returned; yet compilers know which
//! ones a function of their own program leaves alone, and keep values in these (GCC's `-fipa-ra`), and so does assembly. So
//! both ends of all calls are looked at. A register is needed at a place if a way leads from there to where it is read, and
//! is not written on it; ways go into what is called, and from where that comes back to behind all calls of it.
//!
//! Where not all callers are known, everything is needed behind a function: it is exported, its address is taken, it is
//! entered inside, or no unwind entry tells of it. The same holds for what functions call that are refused, and at calls of what is not known.

use std::collections::BTreeSet;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, InstructionInfoOptions, OpAccess};
use tare_image::Image;

use crate::decode::enters_kernel;
use crate::parallel::Threads;
use crate::program::{Body, Flow, FoundBy, Function, Instruction, Refusal};
use crate::{Callee, Cfg, Program, names};

/// A set of general registers: bit `n` is the register that instructions call `n`.
type Registers = u16;

/// General registers that a called function may change, by the platform's convention: bit `n` for number `n`.
pub const CALLER_SAVED: u16 = 0b1111_1100_0111;

const ALL: Registers = CALLER_SAVED;

/// Which registers are needed at the ends of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// By [`Place`].
    needed: Vec<Registers>,
    /// Which ones were looked at.
    among: Registers,
}

impl Liveness {
    /// General registers, bit `n` for number `n`, that may hold something that is needed where a function is entered, by its index.
    #[must_use]
    pub fn at_entry(&self, function: usize) -> u16 {
        self.at(Place::entry(function))
    }

    /// The same where it returns.
    #[must_use]
    pub fn at_return(&self, function: usize) -> u16 {
        self.at(Place::behind(function))
    }

    fn at(&self, place: Place) -> Registers {
        self.needed.get(place.0).map_or(ALL, |needed| needed | ALL & !self.among)
    }
}

/// A place that ways begin or end at, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place(usize);

impl Place {
    const fn entry(function: usize) -> Self {
        Self(2 * function)
    }

    /// Where the calls of a function go on.
    const fn behind(function: usize) -> Self {
        Self(2 * function + 1)
    }
}

/// What is needed at one place is needed at another one, too, if it is one of some registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    from: Place,
    to: Place,
    registers: Registers,
}

/// What one function says.
#[derive(Default)]
struct Ways {
    ways: Vec<Way>,
    /// What is read on a way from a place.
    read: Vec<(Place, Registers)>,
    /// What it calls and jumps to.
    called: Vec<usize>,
}

impl Program {
    /// Finds out which of some registers, bit `n` for number `n`, are needed at the ends of functions; the others are taken for
    /// needed. Every function is decoded once more.
    #[must_use]
    pub fn liveness(&self, image: &Image<'_>, among: u16) -> Liveness {
        let all: Vec<usize> = (0..self.functions.len()).collect();
        let found = Threads::available().map(&all, |&function| self.ways_of(image, function, among));
        let mut needed = vec![0; 2 * all.len()];
        let mut against = vec![Vec::new(); needed.len()];
        for way in found.iter().flat_map(|one| &one.ways) {
            against.get_mut(way.to.0).into_iter().for_each(|list| list.push((way.from, way.registers)));
        }
        let called: BTreeSet<usize> = found.iter().flat_map(|one| one.called.iter().copied()).collect();
        let uncalled = all.iter().copied().filter(|function| !called.contains(function));
        let unseen = uncalled.chain(self.called_unseen(image)).map(|function| (Place::behind(function), ALL));
        let read: Vec<(Place, Registers)> = found.iter().flat_map(|one| one.read.iter().copied()).chain(unseen).collect();
        let mut todo = Vec::new();
        let mut add = |(place, registers): (Place, Registers), todo: &mut Vec<(Place, Registers)>| {
            if let Some(known) = needed.get_mut(place.0).filter(|known| registers & !**known != 0) {
                todo.push((place, registers & !*known));
                *known |= registers;
            }
        };
        read.into_iter().for_each(|one| add(one, &mut todo));
        while let Some((place, registers)) = todo.pop() {
            for &(from, passed) in against.get(place.0).into_iter().flatten() {
                add((from, registers & passed), &mut todo);
            }
        }
        Liveness { needed, among }
    }

    /// Functions that others than the calls of functions may lead to.
    fn called_unseen(&self, image: &Image<'_>) -> BTreeSet<usize> {
        let exported = image.dynamic_symbols().iter().filter(|one| one.is_defined).map(|one| one.address);
        let outside = self.flows.iter().filter(|record| self.function_at(record.address).is_none()).filter_map(|record| record.direct_target());
        let by_address = exported.chain(names::run_by_loader(image).map(|(_, address)| address)).chain(outside);
        let mut found: BTreeSet<usize> = by_address.filter_map(|address| self.function_at(address)).collect();
        found.extend(self.calls.pointer_sets().flatten());
        found.extend((0..self.functions.len()).filter_map(|function| self.calls.handed_on(function)).flat_map(|handed| handed.functions));
        let is_open = |one: &Function| is_opaque(one) || one.found_by != FoundBy::UnwindEntry || !one.other_entries.is_empty();
        found.extend(self.functions.iter().enumerate().filter(|(_, one)| is_open(one)).map(|(function, _)| function));
        found
    }

    fn ways_of(&self, image: &Image<'_>, index: usize, among: Registers) -> Ways {
        let Some(function) = self.functions.get(index) else { return Ways::default() };
        let body = self.body(image, function);
        let (uses, factory) = (vec![None; body.instructions.len()], InstructionInfoFactory::new());
        let mut walker = Walker { program: self, image, index, among, body: &body, uses, factory, found: Ways::default() };
        if is_opaque(function) {
            walker.found.read.push((Place::entry(index), ALL));
            (0..body.instructions.len()).for_each(|at| walker.leave_open(at));
            return walker.found;
        }
        let cfg = self.cfg_with_unwinding(image, function, &body);
        let mut is_reached = vec![false; body.instructions.len()];
        cfg.blocks.iter().flat_map(|block| block.instructions.clone()).for_each(|at| is_reached.get_mut(at).into_iter().for_each(|one| *one = true));
        let entry = cfg.blocks.iter().position(|block| block.address == function.entry);
        match entry {
            Some(entry) => walker.walk(&cfg, (entry, 0), Place::entry(index)),
            None => walker.found.read.push((Place::entry(index), ALL)),
        }
        for (number, block) in cfg.blocks.iter().enumerate() {
            block.instructions.clone().for_each(|at| walker.call(&cfg, number, at));
        }
        is_reached.iter().enumerate().filter(|(_, is_reached)| !**is_reached).for_each(|(at, _)| walker.leave_open(at));
        walker.found
    }
}

/// Whether what a function does may not be all that is seen of it.
const fn is_opaque(function: &Function) -> bool {
    !matches!(function.refusal, None | Some(Refusal::ShortEntry))
}

/// What an instruction does with registers.
#[derive(Clone, Copy, Default)]
struct Use {
    reads: Registers,
    writes: Registers,
}

impl Use {
    /// What is not understood, and what enters the kernel, may read all.
    const UNKNOWN: Self = Self { reads: ALL, writes: 0 };

    fn of(image: &Image<'_>, one: &Instruction, factory: &mut InstructionInfoFactory) -> Self {
        let Some(bytes) = image.bytes_at(one.address, u64::from(one.length)) else { return Self::UNKNOWN };
        let decoded = Decoder::with_ip(64, bytes, one.address, DecoderOptions::NONE).decode();
        if decoded.is_invalid() || enters_kernel(&decoded) {
            return Self::UNKNOWN;
        }
        let mut found = Self::default();
        for used in factory.info_options(&decoded, InstructionInfoOptions::NO_MEMORY_USAGE).used_registers() {
            let register = used.register();
            let full = register.full_register();
            let bit = if full.is_gpr64() { 1 << full.number() & ALL } else { 0 };
            match used.access() {
                OpAccess::Write if register.is_gpr64() || register.is_gpr32() => found.writes |= bit,
                OpAccess::Write | OpAccess::CondWrite | OpAccess::None | OpAccess::NoMemAccess => {}
                _ => found.reads |= bit,
            }
        }
        found
    }
}

/// Follows the ways through one function.
struct Walker<'a, 'data> {
    program: &'a Program,
    image: &'a Image<'data>,
    index: usize,
    among: Registers,
    body: &'a Body,
    /// Of the instructions that a way came to.
    uses: Vec<Option<Use>>,
    factory: InstructionInfoFactory,
    found: Ways,
}

impl Walker<'_, '_> {
    /// What a call or a jump out of the function leads to the entry of.
    fn entered(&self, target: u64) -> Option<usize> {
        self.program.function_entered_at(target)
    }

    /// What comes back to behind a call, or to where this function comes back.
    fn call(&mut self, cfg: &Cfg, block: usize, at: usize) {
        let Some(one) = self.body.instructions.get(at) else { return };
        let (target, returns_here) = match one.flow {
            Flow::Call { target, returns } => (target, returns),
            Flow::TailCall { target } | Flow::BranchTailCall { target } => (target, false),
            _ => return self.leave_open(at),
        };
        let Some(callee) = self.entered(target) else { return self.leave_open(at) };
        self.found.called.push(callee);
        if !matches!(one.flow, Flow::Call { .. }) {
            self.found.ways.push(Way { from: Place::behind(callee), to: Place::behind(self.index), registers: ALL });
        } else if returns_here {
            self.walk(cfg, (block, at + 1), Place::behind(callee));
        }
    }

    /// Takes everything for needed behind what an instruction may lead to that is not followed.
    fn leave_open(&mut self, at: usize) {
        let Some(one) = self.body.instructions.get(at) else { return };
        let callee = match one.flow {
            Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => self.program.function_at(target),
            _ => None,
        };
        let callee = callee.or_else(|| match self.program.destination(self.image, one)? {
            Callee::Function(function) => Some(function),
            Callee::Import(_) | Callee::Unknown => None,
        });
        self.found.read.extend(callee.map(|callee| (Place::behind(callee), ALL)));
    }

    /// Follows all ways from an instruction of a block, given by its index, up to where registers are written.
    fn walk(&mut self, cfg: &Cfg, (block, first): (usize, usize), from: Place) {
        let mut seen: Vec<Registers> = vec![0; cfg.blocks.len()];
        let mut todo = vec![(block, first, self.among)];
        while let Some((number, first, mut registers)) = todo.pop() {
            let Some(block) = cfg.blocks.get(number) else { continue };
            let is_whole = first <= block.instructions.start;
            if let Some(seen) = seen.get_mut(number).filter(|_| is_whole) {
                registers &= !*seen;
                *seen |= registers;
            }
            for at in block.instructions.start.max(first)..block.instructions.end {
                if registers == 0 {
                    break;
                }
                registers = self.step(at, registers, from);
            }
            // Where nothing follows, control runs over the end.
            if block.successors.is_empty() && registers != 0 {
                self.found.read.push((from, registers));
            }
            todo.extend(block.successors.iter().filter(|_| registers != 0).map(|&next| (next, 0, registers)));
        }
    }

    /// What of some registers goes on behind an instruction.
    fn step(&mut self, at: usize, registers: Registers, from: Place) -> Registers {
        let (Some(one), Some(used)) = (self.body.instructions.get(at), self.uses.get_mut(at)) else { return 0 };
        let used = *used.get_or_insert_with(|| Use::of(self.image, one, &mut self.factory));
        let read = used.reads & registers;
        self.found.read.extend((read != 0).then_some((from, read)));
        let passed = registers & !read & !used.writes;
        match one.flow {
            Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => {
                match self.entered(target) {
                    Some(callee) => self.found.ways.push(Way { from, to: Place::entry(callee), registers: passed }),
                    None => self.found.read.push((from, passed)),
                }
                if matches!(one.flow, Flow::BranchTailCall { .. }) { passed } else { 0 }
            }
            Flow::IndirectCall | Flow::IndirectTailCall | Flow::UnknownJump | Flow::Stop => {
                self.found.read.push((from, passed));
                0
            }
            Flow::Return => {
                self.found.ways.push(Way { from, to: Place::behind(self.index), registers: passed });
                0
            }
            Flow::Next | Flow::Jump { .. } | Flow::Branch { .. } | Flow::TableJump { .. } => passed,
        }
    }
}
