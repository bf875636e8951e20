//! Questions that a function asks of MPI (`MPI_Test`, `MPI_Iprobe` and their kin): whether it asks until the answer is yes, or in
//! passing.
//!
//! Who asks until the answer is yes waits. Who asks in passing does something else where the answer is no, and goes on whatever
//! it is: a message that comes later is found by a later question, and nobody waits for it. Times alone do not tell one from the other.
//!
//! ```text
//! while (!there) MPI_Test(…, &there, …);              waits: yes leads out of the loop
//! while (work) { MPI_Test(…, &there, …);              in passing: no leads on to other work,
//!                if (there) receive(); work(); }      and yes does not end the loop
//! ```
//!
//! What always holds: where the test of the answer is not understood, nothing is said to be asked in passing.

use std::ops::Range;

use iced_x86::{ConditionCode, Instruction as Decoded, InstructionInfoFactory, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::cfg::{Block, Cfg};
use crate::decode::may_write;
use crate::program::{Body, Flow, Instruction};
use crate::{Loop, Loops, Program};

/// Questions. (Fortran's come from a library of bindings, not from the program.)
const QUESTIONS: [&str; 6] = ["MPI_Test", "MPI_Testany", "MPI_Testall", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe"];
/// What loops that wait call besides: nothing of the program's work.
const IDLE: [&str; 10] =
    ["sched_yield", "pthread_yield", "usleep", "nanosleep", "clock_nanosleep", "sleep", "clock_gettime", "gettimeofday", "time", "__stack_chk_fail"];
/// Blocks between a question and the test of its answer.
const NEAR: usize = 4;

impl Program {
    /// The link addresses behind those calls of a function, by its index, that ask in passing; in ascending order.
    #[must_use]
    pub fn asks_in_passing(&self, image: &Image<'_>, function: usize) -> Vec<u64> {
        let asks = self.calls().imports(function).any(is_question);
        let Some(function) = self.functions.get(function).filter(|_| asks) else { return Vec::new() };
        let body = self.body(image, function);
        let cfg = self.cfg(function, &body);
        let code = self.close_up(image, function).code;
        let asking = Asking { program: self, image, loops: &cfg.loops(&body), cfg: &cfg, body: &body, code: &code };
        let in_passing = asking.questions().filter(|&(block, at)| asking.is_in_passing(block, at));
        let mut found: Vec<u64> = in_passing.filter_map(|(_, at)| body.instructions.get(at).map(Instruction::end)).collect();
        found.sort_unstable();
        found
    }
}

/// Whether an instruction writes to memory by an index.
fn writes_element(instruction: &Decoded) -> bool {
    let is_element = instruction.op0_kind() == OpKind::Memory && instruction.memory_index() != Register::None;
    is_element && may_write(InstructionInfoFactory::new().info(instruction).op0_access())
}

fn is_question(name: &str) -> bool {
    QUESTIONS.contains(&name.strip_prefix('P').unwrap_or(name))
}

struct Asking<'a, 'data> {
    program: &'a Program,
    image: &'a Image<'data>,
    cfg: &'a Cfg,
    loops: &'a Loops,
    body: &'a Body,
    code: &'a [Decoded],
}

impl Asking<'_, '_> {
    /// The blocks of questions, and the indices of their calls.
    fn questions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = self.cfg.blocks.iter().enumerate().flat_map(|(index, block)| block.instructions.clone().map(move |at| (index, at)));
        all.filter(|&(_, at)| self.callee(at).is_some_and(is_question))
    }

    /// Whether a question is asked in passing, for all that can be told.
    fn is_in_passing(&self, block: usize, at: usize) -> bool {
        let Some(Ways { no, yes, answer }) = self.ways(block, at) else { return false };
        let no = self.behind_tests_of(answer, no);
        let around = self.smallest_loop_with(block, no);
        around.is_some_and(|around| around.contains(yes) && self.works_between(around, no, (block, at)))
    }

    /// Where the answers no and yes lead.
    fn ways(&self, block: usize, at: usize) -> Option<Ways> {
        let mut block = block;
        let mut from = at + 1;
        for _ in 0..NEAR {
            let one = self.cfg.blocks.get(block)?;
            let rest = from..one.instructions.end;
            if rest.clone().any(|at| self.is_call(at)) {
                return None;
            }
            block = match one.successors.as_slice() {
                [next] => *next,
                [_, _] => match self.answers(one, rest) {
                    Some(ways) => return Some(ways),
                    // The error code is looked at first: on, where the loop goes on.
                    None => self.only_one_that_goes_on(block, one)?,
                },
                _ => return None,
            };
            from = self.cfg.blocks.get(block)?.instructions.start;
        }
        None
    }

    /// The block from which the answer is tested no more, where it is no.
    fn behind_tests_of(&self, answer: Place, no: usize) -> usize {
        let calls_nothing = |one: &&Block| !one.instructions.clone().any(|at| self.is_call(at));
        let next = |&block: &usize| {
            let mut block = block;
            for _ in 0..NEAR {
                let one = self.cfg.blocks.get(block).filter(calls_nothing)?;
                match one.successors.as_slice() {
                    [next] => block = *next,
                    _ => return self.answers(one, one.instructions.clone()).filter(|ways| ways.answer == answer).map(|ways| ways.no),
                }
            }
            None
        };
        std::iter::successors(Some(no), next).take(NEAR).last().unwrap_or(no)
    }

    /// The ways of a block that ends by a test of the answer: a value read from memory, compared with zero.
    fn answers(&self, block: &Block, rest: Range<usize>) -> Option<Ways> {
        let branch = self.code.get(rest.end.checked_sub(1)?)?;
        let mut read = Vec::new();
        let mut tested = None;
        for one in rest.filter_map(|at| self.code.get(at)) {
            match one.mnemonic() {
                Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx if one.op1_kind() == OpKind::Memory => {
                    read.push((one.op0_register().full_register(), Place::of(one)));
                }
                Mnemonic::Test if one.op0_kind() == OpKind::Register && one.op1_kind() == OpKind::Register => {
                    let register = one.op0_register().full_register();
                    let place = read.iter().rev().find(|(read, _)| *read == register).map(|(_, place)| *place);
                    tested = place.filter(|_| one.op0_register() == one.op1_register());
                }
                Mnemonic::Cmp => tested = (one.op0_kind() == OpKind::Memory && is_zero(one)).then(|| Place::of(one)),
                _ => {}
            }
        }
        let answer = tested?;
        let is_no_taken = match branch.condition_code() {
            ConditionCode::e => true,
            ConditionCode::ne => false,
            _ => return None,
        };
        let taken = branch.near_branch_target();
        let is_target = |&&successor: &&usize| self.cfg.blocks.get(successor).is_some_and(|block| block.address == taken);
        let taken = *block.successors.iter().find(is_target)?;
        let other = *block.successors.iter().find(|&&successor| successor != taken)?;
        let (no, yes) = if is_no_taken { (taken, other) } else { (other, taken) };
        Some(Ways { no, yes, answer })
    }

    /// The successor that stays in the smallest loop around a block, where the other one does not.
    fn only_one_that_goes_on(&self, index: usize, block: &Block) -> Option<usize> {
        let around = self.smallest_loop_with(index, index)?;
        let mut inside = block.successors.iter().filter(|&&successor| around.contains(successor));
        inside.next().filter(|_| inside.next().is_none()).copied()
    }

    fn smallest_loop_with(&self, one: usize, other: usize) -> Option<&Loop> {
        let around = self.loops.around(one).filter_map(|around| self.loops.get(around));
        { around }.find(|around| around.contains(other))
    }

    /// Whether a loop does what may be the program's work on a way from one block to a question.
    fn works_between(&self, around: &Loop, from: usize, (to, question): (usize, usize)) -> bool {
        let mut seen = vec![false; self.cfg.blocks.len()];
        let mut todo = vec![from];
        while let Some(block) = todo.pop() {
            let is_new = around.contains(block) && seen.get_mut(block).is_some_and(|seen| !std::mem::replace(seen, true));
            let Some(one) = self.cfg.blocks.get(block).filter(|_| is_new) else { continue };
            let is_end = block == to;
            let before = if is_end { one.instructions.start..question } else { one.instructions.clone() };
            if before.into_iter().any(|at| self.is_work(at)) {
                return true;
            }
            if !is_end {
                todo.extend(&one.successors);
            }
        }
        false
    }

    /// Whether an instruction may be of the program's work: it calls a function, or writes an element of an array. (Loops that wait count
    /// their questions, and look at the time.)
    fn is_work(&self, at: usize) -> bool {
        self.code.get(at).is_some_and(writes_element)
            || self.is_call(at) && self.callee(at).is_none_or(|name| !name.starts_with("MPI_") && !name.starts_with("PMPI_") && !IDLE.contains(&name))
    }

    fn is_call(&self, at: usize) -> bool {
        self.body.instructions.get(at).is_some_and(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall))
    }

    fn callee(&self, at: usize) -> Option<&str> {
        let one = self.body.instructions.get(at).filter(|_| self.is_call(at))?;
        self.program.callee(self.image, one)
    }
}

/// Where a test of an answer leads.
struct Ways {
    no: usize,
    yes: usize,
    answer: Place,
}

/// Where in memory an answer stands: base, index and displacement.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(Register, Register, u64);

impl Place {
    fn of(one: &Decoded) -> Self {
        Self(one.memory_base(), one.memory_index(), one.memory_displacement64())
    }
}

/// Whether the second operand of a comparison is the constant zero.
fn is_zero(one: &Decoded) -> bool {
    one.op1_kind() != OpKind::Register && one.op1_kind() != OpKind::Memory && one.immediate(1) == 0
}
