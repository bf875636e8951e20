//! From a checked snippet to machine code.
//!
//! A routine keeps a frame with `rbp`, so that its unwind rows are the same for all of its body, and keeps every register
//! that the program may need. Intermediate values have places in the frame: the stack pointer does not move between
//! prologue and epilogue, and is aligned at every call.
//!
//! ```text
//! rbp + 16  the program's stack; at a function's entry and exits, the return address of the function
//! rbp + 8   return address into the site, behind which the distance of the region's record stands
//! rbp       the program's rbp
//! rbp - 8…  flags, where the site is inside a body · saved registers · places
//! rsp       arguments on the stack; above them, aligned to 64, the processor's vector and x87 state
//! ```
//!
//! Where every function that is called has been found to use no vector register, and is at start still the one that was
//! looked at, a second body is run, which saves what it changes and nothing more. Where such calls are all that a snippet
//! consists of, they stand at the site itself ([`super::inline`]) and lead to the function without a detour.

mod needs;
mod values;

use std::collections::BTreeMap;

use tare_code::ENDBR64;

use super::assembler::{Assembler, EQUAL, Memory, NOT_EQUAL, Operation, R8, R9, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Register};
use super::check::Checked;
use super::vectors::Area;
use crate::adapter::nesting::Nested;
use crate::adapter::record::{Home, RecordLayout};
use crate::insertion;
use crate::unwind::frames::Rows;
use needs::Needs;

/// What a called function is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    /// A function of the program, by its link address.
    Own(u64),
    /// A function of a library.
    Imported {
        /// Where its slot is among the shared variables.
        slot: u32,
        /// What is known of it beforehand.
        proof: Option<Proof>,
    },
}

/// That a function touches nothing but memory, flags and a few general registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Proof {
    /// Where the byte is among the shared variables that is zero once the proof is known to hold.
    pub(crate) flag: u32,
    /// Where the address among the shared variables is that leads to the function: until the proof is known to hold, by a
    /// [`detour`].
    pub(crate) way: u32,
    /// The [`crossing`] of that way.
    pub(crate) crossing: u32,
    /// Caller-saved general registers that it changes, by number.
    pub(crate) changed: Registers,
}

/// A set of general registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Registers(pub(crate) u16);

impl Registers {
    /// Those that a called function may change.
    pub(crate) const CALLER_SAVED: Self = Self(tare_code::CALLER_SAVED);

    pub(crate) const fn with(self, register: Register) -> Self {
        Self(self.0 | 1 << register.0)
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = Register> {
        (0..16).filter(move |number| self.0 >> number & 1 != 0).map(Register)
    }
}

/// What a routine's snippet refers to.
pub(crate) struct Environment<'a> {
    pub(crate) functions: &'a BTreeMap<String, Callee>,
    pub(crate) record: &'a RecordLayout,
    /// Where each variable of the adapter is among the shared variables.
    pub(crate) globals: &'a [Home],
    /// Shared constants: the texts that all regions have in common, by their place.
    pub(crate) texts: &'a BTreeMap<String, u32>,
    /// Where the mask of the processor's state is among the shared variables; at [`MAY_STORE`] from it, a byte that is 1
    /// where [`super::vectors`] may be used, and at [`HAS_STARTED`] one that is 1 once the image is being initialised.
    pub(crate) state_mask: u32,
    /// Where the distance of the thread's own variables from the thread pointer is; at [`MAY_USE`] from it, a byte that is 1 once
    /// it holds.
    pub(crate) thread_distance: u32,
    /// `__errno_location`, where it can be called.
    pub(crate) errno: Option<&'a Callee>,
}

/// How a routine is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// From a site where flags are dead and nothing lies below the stack pointer.
    Edge,
    /// From a site inside a body.
    Body,
    /// As a function by the platform's convention, with the record's address in `rbx`.
    Once,
}

/// From a site's return address to the record's distance, and to where that counts from.
const fn distance_at(entry: Entry) -> (i32, i32) {
    match entry {
        Entry::Edge | Entry::Once => (1, 5),
        Entry::Body => (3, 7),
    }
}

/// Code with the fields and rows that it has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fields: Vec<(u32, u8, insertion::Value)>,
    /// Call-frame instructions.
    pub(crate) frame: Vec<u8>,
}

impl Compiled {
    /// The same where control comes through a pointer.
    pub(crate) fn behind_mark(mut self) -> Self {
        const ADVANCE: u8 = 0x40;
        self.bytes.splice(..0, ENDBR64);
        self.fields.iter_mut().for_each(|field| field.0 += ENDBR64.len() as u32);
        self.frame.insert(0, ADVANCE | ENDBR64.len() as u8);
        self
    }
}

/// Compiles a snippet.
pub(crate) fn compile(checked: &Checked, entry: Entry, environment: &Environment<'_>) -> Compiled {
    let mut needs = Needs::default();
    needs.steps(&checked.steps, environment);
    let mut writer = Writer::new(checked, entry, environment);
    writer.begin();
    if needs.has_thread_locals && entry != Entry::Once {
        writer.return_early();
    }
    let is_plain = needs.calls == 0 && entry != Entry::Once;
    if is_plain {
        writer.snippet(checked, Keep::Some(needs.changed));
    } else if entry == Entry::Once {
        writer.snippet(checked, Keep::Nothing);
    } else if needs.is_proven {
        let general = writer.code.label();
        for &flag in &needs.flags {
            writer.code.compare_byte(Memory::Image(insertion::Value::SharedVariable(flag)), 0);
            writer.code.jump_if(NOT_EQUAL, general);
        }
        writer.remember();
        writer.snippet(checked, Keep::Some(needs.changed));
        writer.restore();
        writer.code.bind(general);
        writer.snippet(checked, Keep::All);
    } else {
        writer.snippet(checked, Keep::All);
    }
    writer.finish()
}

/// Compiles a snippet for sites that are told from each other by what is open: see [`crate::adapter::nesting`].
pub(crate) fn compile_nested(checked: &Checked, entry: Entry, nested: Nested, environment: &Environment<'_>) -> Compiled {
    let mut writer = Writer::new(checked, entry, environment);
    writer.begin();
    writer.return_early();
    writer.body(Keep::All, |writer| {
        writer.find_record(Keep::All);
        let skipped = writer.code.label();
        writer.ask(nested);
        writer.code.test(RAX);
        writer.code.jump_if(EQUAL, skipped);
        writer.steps(&checked.steps);
        writer.code.bind(skipped);
    });
    writer.finish()
}

/// What sites call to go a way. A processor may take twice as long for a call through memory as for a call and a jump through memory
/// (measured: Sapphire Rapids), and so do the calls of compilers go through a linkage table.
pub(crate) fn crossing(way: u32) -> Compiled {
    let mut code = Assembler::default();
    code.jump_through(insertion::Value::SharedVariable(way));
    Compiled { bytes: code.bytes, fields: code.fields, frame: Vec::new() }
}

/// The way from a site to a function, by its slot, that a proof does not hold of: its arguments are in their registers, and
/// every register and the vector and x87 state are kept around the call.
pub(crate) fn detour(slot: u32, environment: &Environment<'_>) -> Compiled {
    let mut writer = Writer::new(&Checked::default(), Entry::Edge, environment);
    writer.begin();
    writer.body(Keep::All, |writer| {
        for (register, index) in Registers::CALLER_SAVED.iter().zip(1..) {
            writer.code.load(register, Memory::At(RBP, -8 * index));
        }
        writer.call_plain(&Callee::Imported { slot, proof: None });
    });
    writer.finish()
}

/// What a body saves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keep {
    /// Nothing: it is called as a function.
    Nothing,
    /// These registers.
    Some(Registers),
    /// All registers that a called function may change, and the vector and x87 state.
    All,
}

pub(crate) const ARGUMENTS: [Register; 6] = [RDI, RSI, RDX, RCX, R8, R9];
/// Bytes of the area for `xsave` with x87, SSE, AVX and AVX-512: 2,688 in the standard form.
pub(crate) const STATE_SIZE: i32 = 2752;
/// What a site inside of a body leaves alone below the stack pointer.
const RED_ZONE: i32 = 128;
const STATE_ALIGNMENT: i8 = -64;
pub(crate) const MAY_STORE: u32 = 4;
pub(crate) const HAS_STARTED: u32 = 5;
pub(crate) const MAY_USE: u32 = 8;

/// A place in the frame, by its number.
#[derive(Clone, Copy)]
struct Slot(usize);

struct Writer<'a> {
    code: Assembler,
    entry: Entry,
    environment: &'a Environment<'a>,
    locals: usize,
    rows: Rows,
    /// What the present body has pushed.
    pushed: usize,
    /// Intermediate values that are alive, and the most that ever were.
    alive: usize,
    most: usize,
    /// Arguments on the stack, at most.
    stacked: usize,
}

impl<'a> Writer<'a> {
    fn new(checked: &Checked, entry: Entry, environment: &'a Environment<'a>) -> Self {
        Self {
            code: Assembler::default(),
            entry,
            environment,
            locals: checked.locals,
            rows: Rows::default(),
            pushed: 0,
            alive: 0,
            most: 0,
            stacked: 0,
        }
    }

    fn finish(mut self) -> Compiled {
        self.code.finish();
        Compiled { bytes: self.code.bytes, fields: self.code.fields, frame: self.rows.bytes }
    }

    /// A row begins here.
    fn row(&mut self, instructions: &[u8]) {
        self.rows.row(self.code.position(), instructions);
    }

    fn begin(&mut self) {
        self.code.push(RBP);
        // CFA = rsp + 16, rbp at CFA − 16; then CFA = rbp + 16.
        self.row(&[0x0e, 16, 0x86, 2]);
        self.code.copy(RBP, RSP);
        self.row(&[0x0d, 6]);
        if self.entry == Entry::Body {
            self.code.raw(&[0x9c, 0xfc]);
        }
    }

    fn remember(&mut self) {
        self.row(&[0x0a]);
    }

    fn restore(&mut self) {
        self.row(&[0x0b]);
    }

    fn snippet(&mut self, checked: &Checked, keep: Keep) {
        self.body(keep, |writer| {
            writer.find_record(keep);
            writer.steps(&checked.steps);
        });
    }

    fn body(&mut self, keep: Keep, work: impl FnOnce(&mut Self)) {
        let flags = usize::from(self.entry == Entry::Body);
        let saved = match keep {
            Keep::Nothing => Registers::default(),
            Keep::Some(registers) => registers,
            Keep::All => Registers::CALLER_SAVED,
        };
        saved.iter().for_each(|register| self.code.push(register));
        self.pushed = flags + saved.iter().count();
        (self.alive, self.most, self.stacked) = (0, 0, 0);
        let frame_at = self.open(keep);
        let errno = self.environment.errno.filter(|_| keep == Keep::All);
        if let Some(errno) = errno {
            self.keep_errno(errno);
        }
        work(self);
        if errno.is_some() {
            let none = self.code.label();
            self.code.load(RAX, self.slot(ERRNO_PLACE));
            self.code.load(RCX, self.slot(ERRNO));
            self.code.test(RAX);
            self.code.jump_if(EQUAL, none);
            self.code.store_sized(Memory::At(RAX, 0), RCX, 4);
            self.code.bind(none);
        }
        self.close(keep, saved, flags, frame_at);
    }

    /// Remembers `errno` and where it is. A C library's own code also runs while there is none yet, before the first thread
    /// has its variables.
    fn keep_errno(&mut self, errno: &Callee) {
        let none = self.code.label();
        if matches!(errno, Callee::Own(_)) {
            let started = insertion::Value::SharedVariable(self.environment.state_mask + HAS_STARTED);
            self.code.clear(RAX);
            self.code.store(self.slot(ERRNO_PLACE), RAX);
            self.code.compare_byte(Memory::Image(started), 0);
            self.code.jump_if(EQUAL, none);
        }
        self.call_plain(errno);
        self.code.load_sized(RCX, Memory::At(RAX, 0), 4, true);
        self.code.store(self.slot(ERRNO_PLACE), RAX);
        self.code.store(self.slot(ERRNO), RCX);
        self.code.bind(none);
    }

    /// Makes room in the frame and saves the state; answers where the frame's size is to be written.
    fn open(&mut self, keep: Keep) -> u32 {
        self.code.address(RSP, Memory::At(RSP, 0));
        let frame_at = self.code.position() - 4;
        match keep {
            Keep::All => {
                self.code.align_stack(STATE_ALIGNMENT);
                self.save_state();
            }
            _ => self.code.align_stack(-16),
        }
        frame_at
    }

    /// The state lies above the arguments on the stack, of which there are few.
    const fn state(offset: i32) -> Memory {
        Memory::At(RSP, STACKED_ROOM + offset)
    }

    fn save_state(&mut self) {
        let (by_xsave, end) = (self.code.label(), self.code.label());
        if self.entry == Entry::Edge {
            let may = insertion::Value::SharedVariable(self.environment.state_mask + MAY_STORE);
            Area(STACKED_ROOM).save(&mut self.code, Memory::Image(may), by_xsave);
            self.code.jump(end);
        }
        self.code.bind(by_xsave);
        // What the instruction does not write of its header must be zero.
        self.code.clear(RAX);
        for word in 0..8 {
            self.code.store(Self::state(512 + 8 * word), RAX);
        }
        self.with_state(4, 0);
        // Functions expect an empty x87 stack; the mode stays.
        self.code.raw(&[0x0f, 0x77]);
        self.code.bind(end);
    }

    fn restore_state(&mut self) {
        let (by_xsave, end) = (self.code.label(), self.code.label());
        if self.entry == Entry::Edge {
            Area(STACKED_ROOM).restore(&mut self.code, by_xsave);
            self.code.jump(end);
        }
        self.code.bind(by_xsave);
        self.with_state(5, 1);
        self.code.bind(end);
    }

    /// `xsave` or `xrstor` where the system allows them, `fxsave` or `fxrstor` elsewhere.
    fn with_state(&mut self, opcode: u8, old_opcode: u8) {
        let (old, end) = (self.code.label(), self.code.label());
        let mask = insertion::Value::SharedVariable(self.environment.state_mask);
        self.code.load_sized(RAX, Memory::Image(mask), 4, false);
        self.code.clear(RDX);
        self.code.test(RAX);
        self.code.jump_if(EQUAL, old);
        self.code.state(opcode, Self::state(0));
        self.code.jump(end);
        self.code.bind(old);
        self.code.state(old_opcode, Self::state(0));
        self.code.bind(end);
    }

    fn close(&mut self, keep: Keep, saved: Registers, flags: usize, frame_at: u32) {
        if keep == Keep::All {
            self.restore_state();
        }
        for (register, index) in saved.iter().zip(flags..) {
            self.code.load(register, Memory::At(RBP, -8 * (index as i32 + 1)));
        }
        self.leave();
        let slots = 8 * (SPECIAL + self.locals + self.most) as i32;
        let stacked = if keep == Keep::All { STACKED_ROOM + STATE_SIZE } else { 8 * self.stacked as i32 };
        self.code.patch(frame_at, -(slots + stacked));
    }

    fn leave(&mut self) {
        if self.entry == Entry::Body {
            self.code.address(RSP, Memory::At(RBP, -8));
            self.code.raw(&[0x9d]);
            self.code.pop(RBP);
        } else {
            self.code.raw(&[0xc9]);
        }
        // CFA = rsp + 8, rbp is the caller's.
        self.row(&[0x0c, 7, 8, 0xc6]);
        self.code.raw(&[0xc3]);
    }

    /// Does nothing as long as threads have no variables yet: in front of the image's initialisation.
    fn return_early(&mut self) {
        let ready = self.code.label();
        let flag = insertion::Value::SharedVariable(self.environment.thread_distance + MAY_USE);
        self.code.compare_byte(Memory::Image(flag), 0);
        self.code.jump_if(NOT_EQUAL, ready);
        self.remember();
        self.leave();
        self.restore();
        self.code.bind(ready);
    }

    /// Leaves the record's address in its place, if anything refers to it.
    fn find_record(&mut self, keep: Keep) {
        if keep == Keep::Nothing {
            self.code.store(self.slot(RECORD), RBX);
            return;
        }
        let (at, end) = distance_at(self.entry);
        self.code.load(RAX, Memory::At(RBP, 8));
        self.code.load_sized(RCX, Memory::At(RAX, at), 4, true);
        self.code.operate(Operation::Add, RAX, RCX);
        self.code.add_number(RAX, end);
        self.code.store(self.slot(RECORD), RAX);
    }

    /// Asks whether the region opens, or was open.
    fn ask(&mut self, nested: Nested) {
        let below = if self.entry == Entry::Body { RED_ZONE } else { 0 };
        self.code.address(RDI, Memory::At(RBP, 16 + below));
        self.code.load(RSI, self.slot(RECORD));
        self.code.add_number(RSI, nested.kind as i32);
        if let Some(end) = nested.end {
            self.code.address(RDX, Memory::Image(insertion::Value::Routine(end)));
        }
        self.code.call(insertion::Value::Routine(nested.routine));
    }

    const fn slot(&self, slot: Slot) -> Memory {
        Memory::At(RBP, -8 * (self.pushed + slot.0 + 1) as i32)
    }

    fn local(&self, number: usize) -> Memory {
        self.slot(Slot(SPECIAL + number))
    }

    /// Takes a place for an intermediate value.
    fn take(&mut self) -> Memory {
        self.alive += 1;
        self.most = self.most.max(self.alive);
        self.slot(Slot(SPECIAL + self.locals + self.alive - 1))
    }

    const fn drop_taken(&mut self, count: usize) {
        self.alive -= count;
    }

    /// The call itself; `al` says that there is no argument in a vector register.
    fn call_plain(&mut self, callee: &Callee) {
        self.code.clear(RAX);
        match callee {
            Callee::Own(address) => self.code.call(insertion::Value::Original(*address)),
            Callee::Imported { slot, .. } => self.code.call_through(insertion::Value::SharedVariable(*slot)),
        }
    }
}

/// Places that every frame has: the record's address, and what keeps `errno`.
const RECORD: Slot = Slot(0);
const ERRNO_PLACE: Slot = Slot(1);
const ERRNO: Slot = Slot(2);
const SPECIAL: usize = 3;
/// Room for arguments on the stack below the state, a multiple of 64.
const STACKED_ROOM: i32 = 512;
