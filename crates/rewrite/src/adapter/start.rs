//! What an instrumented image does of its own when it is loaded, and when it is done with.
//!
//! The first function of the image's initialisation leads here, and from here on to what stood there: proofs are
//! checked, the processor is asked which state it can save, and the adapter's and all regions' `init` are run.
//! `finalize` stands behind the function that the loader calls last.

use crate::adapter::nesting::{self, Shared};
use crate::adapter::writer::Writer;
use crate::insertion::Value;
use crate::snippet::assembler::{AT_LEAST_UNSIGNED, EQUAL, Memory, NOT_EQUAL, R8, R9, R10, R11, R12, RAX, RBX, RCX, RDI, RDX, RSI, Register};
use crate::snippet::compile::{Compiled, HAS_STARTED, MAY_STORE, MAY_USE};
use crate::snippet::vectors;

/// A function that a proof was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Check {
    /// Its slot, among the shared variables.
    pub(crate) slot: u32,
    /// Its bytes, among the shared constants.
    pub(crate) bytes: u32,
    pub(crate) length: u32,
    /// The byte that becomes zero where they are the same, among the shared variables.
    pub(crate) flag: u32,
    /// What leads to it from then on, among the shared variables.
    pub(crate) way: u32,
}

/// What is done once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) checks: Vec<Check>,
    /// Where the mask for the processor's state goes, if anything saves it.
    pub(crate) state_mask: Option<u32>,
    /// Where the distance of thread-local variables is; behind it, at [`MAY_USE`], what says that it holds.
    pub(crate) thread_distance: Option<u32>,
    /// Which threads' stacks of open regions are used, where regions must nest.
    pub(crate) nesting: Option<Shared>,
    /// Routine of the adapter, in the image's code.
    pub(crate) adapter: Option<u32>,
    /// Number of an alternative, from 1, and its routine.
    pub(crate) regions: Vec<(u8, u32)>,
    /// What stood in the place that leads here.
    pub(crate) original: Option<u64>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.state_mask.is_none() && self.adapter.is_none() && self.regions.is_empty()
    }
}

/// Registers that are kept: those of the arguments, and those that the walk over the records uses.
const KEPT: [Register; 10] = [RBX, R12, RDI, RSI, RDX, RCX, R8, R9, R10, R11];
/// x87, SSE, AVX and AVX-512: what compiled code may touch.
const STATE: u8 = 0b1110_0111;
/// `CPUID` leaf 1, ecx: the system has switched `xsave` on.
const OSXSAVE: u32 = 1 << 27;

/// Code for the start: the plan first, then the original.
pub(crate) fn initialize(plan: &Plan) -> Compiled {
    let mut writer = Writer::begin(&KEPT);
    writer.work(plan);
    writer.end();
    match plan.original {
        Some(original) => writer.code.jump_to(Value::Original(original)),
        None => writer.code.raw(&[0xc3]),
    }
    writer.finish()
}

/// Code for the end: the original first.
pub(crate) fn finalize(plan: &Plan) -> Compiled {
    let mut writer = Writer::begin(&KEPT);
    if let Some(original) = plan.original {
        writer.code.call(Value::Original(original));
    }
    writer.work(plan);
    writer.end();
    writer.code.raw(&[0xc3]);
    writer.finish()
}

impl Writer {
    fn work(&mut self, plan: &Plan) {
        if let Some(mask) = plan.state_mask {
            self.state_mask(mask);
            self.code.store_byte(Memory::Image(Value::SharedVariable(mask + HAS_STARTED)), 1);
        }
        if let Some((shared, distance)) = plan.nesting.zip(plan.thread_distance) {
            nesting::join(&mut self.code, shared, distance);
        }
        if let Some(distance) = plan.thread_distance {
            self.code.store_byte(Memory::Image(Value::SharedVariable(distance + MAY_USE)), 1);
        }
        for check in &plan.checks {
            self.check(check);
        }
        if let Some(routine) = plan.adapter {
            self.code.call(Value::Routine(routine));
        }
        if !plan.regions.is_empty() {
            self.records(&plan.regions);
        }
    }

    /// Where the system has switched `xsave` on, the mask says so.
    fn state_mask(&mut self, mask: u32) {
        let old = self.code.label();
        self.code.set(RAX, 1);
        self.code.clear(RCX);
        // cpuid; bt $27, %ecx; jnc
        self.code.raw(&[0x0f, 0xa2, 0x0f, 0xba, 0xe1, OSXSAVE.trailing_zeros() as u8]);
        self.code.jump_if(AT_LEAST_UNSIGNED, old);
        self.code.store_byte(Memory::Image(Value::SharedVariable(mask)), STATE);
        vectors::detect(&mut self.code, Memory::Image(Value::SharedVariable(mask + MAY_STORE)));
        self.code.bind(old);
    }

    /// Compares a function's bytes with those that the proof was made for.
    fn check(&mut self, check: &Check) {
        let differs = self.code.label();
        self.code.load(RSI, Memory::Image(Value::SharedVariable(check.slot)));
        self.code.test(RSI);
        self.code.jump_if(EQUAL, differs);
        self.code.address(RDI, Memory::Image(Value::SharedConstant(check.bytes)));
        self.code.set(RCX, i64::from(check.length));
        // cld; cmp %ecx, %ecx; repe cmpsb
        self.code.raw(&[0xfc, 0x39, 0xc9, 0xf3, 0xa6]);
        self.code.jump_if(NOT_EQUAL, differs);
        self.code.store_byte(Memory::Image(Value::SharedVariable(check.flag)), 0);
        self.code.load(RSI, Memory::Image(Value::SharedVariable(check.slot)));
        self.code.store(Memory::Image(Value::SharedVariable(check.way)), RSI);
        self.code.bind(differs);
    }

    /// Runs the routine of each record's alternative, with the record's address in `rbx`.
    fn records(&mut self, regions: &[(u8, u32)]) {
        let (next, skip, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.address(RBX, Memory::Image(Value::VariablesStart));
        self.code.address(R12, Memory::Image(Value::VariablesEnd));
        self.code.bind(next);
        self.code.operate(crate::snippet::assembler::Operation::Compare, RBX, R12);
        self.code.jump_if(AT_LEAST_UNSIGNED, end);
        for &(number, routine) in regions {
            let other = self.code.label();
            self.code.compare_byte(Memory::At(RBX, 0), number);
            self.code.jump_if(NOT_EQUAL, other);
            self.code.call(Value::Routine(routine));
            self.code.jump(skip);
            self.code.bind(other);
        }
        self.code.bind(skip);
        self.code.load_sized(RAX, Memory::At(RBX, 0), 4, false);
        // shr $8, %eax; what has no length is padding of eight bytes
        self.code.raw(&[0xc1, 0xe8, 8]);
        let advance = self.code.label();
        self.code.jump_if(NOT_EQUAL, advance);
        self.code.set(RAX, 8);
        self.code.bind(advance);
        self.code.operate(crate::snippet::assembler::Operation::Add, RBX, RAX);
        self.code.jump(next);
        self.code.bind(end);
    }
}
