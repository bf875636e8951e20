//! Regions that must nest: what exceptions and `longjmp` leave is ended late, but in order.
//!
//! A thread keeps what is open in a block of thread-local variables:
//!
//! ```text
//!   0  u64  bytes of open entries
//!   8  u64  bytes that there is room for
//!  16  u64  where the entries are; 0 until the first one
//!  24       room for the first few entries
//! entry     stack pointer · address of the region's record + what begins and ends it · routine that ends it
//! ```
//!
//! The stack pointer is where a function's return address stands, or what it is inside of a body. Stacks grow down: what was
//! opened below a place that is reached now has been left, and is ended there, innermost first, before anything else begins
//! or ends. An end whose beginning is not open is left out. So what is called sees a proper nesting whatever
//! the program does.
//!
//! Handlers of signals may come at every instruction: an entry is written before and behind the moment from which on it counts,
//! and deep stacks go to memory that is never moved. A handler on an alternate stack above the thread's ends nothing
//! of the thread's.
//!
//! Images that run together use one block, that of the first copy in the loader's list: each tells by an entry of its dynamic
//! section where the distance of its thread-local variables is, which the loader fills in before anything runs. Routines and
//! blocks must not go away: libraries stay loaded.

use crate::adapter::writer::Writer;
use crate::insertion::Value;
use crate::snippet::assembler::{
    AT_LEAST_UNSIGNED, AT_MOST_UNSIGNED, Assembler, EQUAL, LESS_UNSIGNED, Label, Memory, NOT_EQUAL, Operation, R8, R9, R10, R12, R13, R14, R15, RAX,
    RBX, RCX, RDI, RDX, RSI, RSP, Register,
};
use crate::snippet::compile::Compiled;

/// Tag of the dynamic section's entry, in the range that is free for systems: where a copy has the distance of its block.
pub(crate) const TAG: u64 = 0x6054_4152;

/// Entries that every thread has room for.
const FIRST_ENTRIES: i32 = 8;
/// Bytes of memory for the entries of a thread whose stack is deeper: 699,050 of them.
const MEMORY: i32 = 16 << 20;
const ENTRY: i32 = 24;
/// Bytes of a thread's block.
pub(crate) const BLOCK: usize = (FIRST + FIRST_ENTRIES * ENTRY) as usize;
/// An end looks for its beginning among so many entries: those of handlers on alternate stacks may lie above it.
const FARTHEST: i64 = 1024;

const USED: i32 = 0;
const ROOM: i32 = 8;
const BASE: i32 = 16;
const FIRST: i32 = 24;
const STACK: i32 = 0;
const REGION: i32 = 8;
const END: i32 = 16;

/// Bits of an entry's record that say what begins and ends it.
const KIND: i64 = 7;

/// What begins and ends, as a number below [`KIND`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A function.
    Function = 0,
    /// A loop or a call.
    Inside = 1,
    /// An iteration of a loop.
    Iteration = 2,
}

/// Where among the shared variables a copy has what it needs to find the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shared {
    /// The block's distance from the thread pointer.
    pub(crate) distance: u32,
    /// The address of the loader's list of images, where there is a loader.
    pub(crate) images: Option<u32>,
}

/// Where the routines are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Routines {
    /// `open(stack, region | kind, end)`: whether it is open now.
    pub(crate) open: u32,
    /// `close(stack, region | kind)`: whether it was open.
    pub(crate) close: u32,
}

/// What a site says of the region that begins or ends there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nested {
    pub(crate) kind: Kind,
    /// The routine that is asked.
    pub(crate) routine: u32,
    /// Where the region begins: the routine that ends it late.
    pub(crate) end: Option<u32>,
}

/// Finds the block, with the distance of the image's own thread-local variables, among which its block is the first: the
/// first image in the loader's list that has a block lends its own. Changes `rax`, `rcx`, `rdx` and `rsi`.
pub(crate) fn join(code: &mut Assembler, shared: Shared, own: u32) {
    const LIST: i32 = 8;
    const SHIFT: i32 = 0;
    const DYNAMIC: i32 = 16;
    const NEXT: i32 = 24;
    let distance = Memory::Image(Value::SharedVariable(shared.distance));
    code.load(RAX, Memory::Image(Value::SharedVariable(own)));
    code.store(distance, RAX);
    let Some(images) = shared.images else { return };
    let (image, entry, next, found, end) = (code.label(), code.label(), code.label(), code.label(), code.label());
    code.load(RAX, Memory::Image(Value::SharedVariable(images)));
    code.test(RAX);
    code.jump_if(EQUAL, end);
    code.load(RAX, Memory::At(RAX, LIST));
    code.set(RSI, TAG.cast_signed());
    code.bind(image);
    code.test(RAX);
    code.jump_if(EQUAL, end);
    code.load(RCX, Memory::At(RAX, DYNAMIC));
    code.test(RCX);
    code.jump_if(EQUAL, next);
    code.bind(entry);
    code.load(RDX, Memory::At(RCX, 0));
    code.operate(Operation::Compare, RDX, RSI);
    code.jump_if(EQUAL, found);
    code.add_number(RCX, 16);
    code.test(RDX);
    code.jump_if(NOT_EQUAL, entry);
    code.bind(next);
    code.load(RAX, Memory::At(RAX, NEXT));
    code.jump(image);
    code.bind(found);
    code.load(RCX, Memory::At(RCX, 8));
    code.add(RCX, Memory::At(RAX, SHIFT));
    code.load(RAX, Memory::At(RCX, 0));
    code.store(distance, RAX);
    code.bind(end);
}

/// `cut(bytes)`: ends what is open beyond so many bytes of entries, innermost first.
pub(crate) fn cut(distance: u32) -> Compiled {
    let mut writer = begin(&[RBX, R12, R13], distance);
    let code = &mut writer.code;
    let (next, end) = (code.label(), code.label());
    code.copy(R13, RDI);
    code.bind(next);
    code.load(RAX, Memory::At(R12, USED));
    code.operate(Operation::Compare, RAX, R13);
    code.jump_if(AT_MOST_UNSIGNED, end);
    code.add_number(RAX, -ENTRY);
    code.store(Memory::At(R12, USED), RAX);
    code.add(RAX, Memory::At(R12, BASE));
    code.load(RBX, Memory::At(RAX, REGION));
    code.set(RCX, !KIND);
    code.operate(Operation::And, RBX, RCX);
    code.call_at(Memory::At(RAX, END));
    code.jump(next);
    code.bind(end);
    finish(writer)
}

/// `drop(stack)`: ends what is open below a place in the stack.
pub(crate) fn drop_below(distance: u32, cut: u32) -> Compiled {
    const SIGALTSTACK: i64 = 131;
    const ON_IT: i64 = 1;
    let mut writer = begin(&[RBX, R12, R13], distance);
    let code = &mut writer.code;
    let (next, stays, known, ends, end) = (code.label(), code.label(), code.label(), code.label(), code.label());
    code.copy(R13, RDI);
    top(code, end);
    code.load(RAX, Memory::At(RBX, STACK - ENTRY));
    code.operate(Operation::Compare, RAX, R13);
    code.jump_if(AT_LEAST_UNSIGNED, end);
    // On an alternate stack, only what lies on it: from where it begins on.
    code.address(RSP, Memory::At(RSP, -32));
    code.clear(RDI);
    code.copy(RSI, RSP);
    code.call_kernel(SIGALTSTACK);
    code.clear(RDX);
    code.load_sized(RAX, Memory::At(RSP, 8), 4, false);
    masked(code, ON_IT);
    code.jump_if(EQUAL, known);
    code.load(RDX, Memory::At(RSP, 0));
    code.bind(known);
    code.bind(next);
    one_down(code, ends);
    code.load(RAX, Memory::At(RBX, STACK));
    code.operate(Operation::Compare, RAX, RDX);
    code.jump_if(LESS_UNSIGNED, stays);
    code.operate(Operation::Compare, RAX, R13);
    code.jump_if(LESS_UNSIGNED, next);
    code.bind(stays);
    code.add_number(RBX, ENTRY);
    code.bind(ends);
    call_with_bytes(code, cut);
    code.bind(end);
    finish(writer)
}

/// `open(stack, region | kind, end)`.
pub(crate) fn open(distance: u32, drop: u32, cut: u32) -> Compiled {
    let mut writer = begin(&[RBX, R12, R13, R14, R15], distance);
    let code = &mut writer.code;
    let (ready, push, again, fits, full) = (code.label(), code.label(), code.label(), code.label(), code.label());
    for (to, from) in [(R13, RDI), (R14, RSI), (R15, RDX)] {
        code.copy(to, from);
    }
    code.load(RAX, Memory::At(R12, BASE));
    code.test(RAX);
    code.jump_if(NOT_EQUAL, ready);
    use_first_room(code);
    code.bind(ready);
    // Another function at the same place has been left, too.
    kind_of(code, R14);
    code.set_rax_if(EQUAL);
    code.copy(RDI, RAX);
    code.operate(Operation::Add, RDI, R13);
    code.call(Value::Routine(drop));
    kind_of(code, R14);
    code.jump_if(EQUAL, push);
    // A loop that begins again where it has not ended, in the same frame, was left by a jump into the function.
    top(code, push);
    code.bind(again);
    one_down(code, push);
    code.load(RAX, Memory::At(RBX, STACK));
    code.operate(Operation::Compare, RAX, R13);
    code.jump_if(NOT_EQUAL, push);
    code.load(RAX, Memory::At(RBX, REGION));
    code.operate(Operation::Compare, RAX, R14);
    code.jump_if(NOT_EQUAL, again);
    call_with_bytes(code, cut);
    code.bind(push);
    code.load(RAX, Memory::At(R12, USED));
    code.load(RCX, Memory::At(R12, ROOM));
    code.operate(Operation::Compare, RAX, RCX);
    code.jump_if(LESS_UNSIGNED, fits);
    more_room(code, full);
    code.bind(fits);
    code.load(RCX, Memory::At(R12, USED));
    code.copy(RBX, RCX);
    code.add(RBX, Memory::At(R12, BASE));
    entry(code);
    code.add_number(RCX, ENTRY);
    code.store(Memory::At(R12, USED), RCX);
    entry(code);
    answer(writer, full)
}

/// `close(stack, region | kind)`.
pub(crate) fn close(distance: u32, drop: u32, cut: u32) -> Compiled {
    let mut writer = begin(&[RBX, R12, R13, R14], distance);
    let code = &mut writer.code;
    let (next, other, found, none) = (code.label(), code.label(), code.label(), code.label());
    code.copy(R13, RDI);
    code.copy(R14, RSI);
    code.call(Value::Routine(drop));
    top(code, none);
    code.set(RDX, FARTHEST);
    code.bind(next);
    code.add_number(RDX, -1);
    code.jump_if(EQUAL, none);
    one_down(code, none);
    code.load(RCX, Memory::At(RBX, REGION));
    code.operate(Operation::Compare, RCX, R14);
    code.jump_if(NOT_EQUAL, other);
    // Of a function, the same frame.
    kind_of(code, R14);
    code.jump_if(NOT_EQUAL, found);
    code.load(RAX, Memory::At(RBX, STACK));
    code.operate(Operation::Compare, RAX, R13);
    code.jump_if(EQUAL, found);
    code.jump(next);
    // What is inside of a body is not looked for beyond the function.
    code.bind(other);
    kind_of(code, R14);
    code.jump_if(EQUAL, next);
    kind_of(code, RCX);
    code.jump_if(NOT_EQUAL, next);
    code.jump(none);
    code.bind(found);
    code.add_number(RBX, ENTRY);
    call_with_bytes(code, cut);
    code.add_number(RBX, -ENTRY);
    code.load(RAX, Memory::At(R12, BASE));
    code.operate(Operation::Subtract, RBX, RAX);
    code.store(Memory::At(R12, USED), RBX);
    give_memory_back(code);
    answer(writer, none)
}

/// Begins a routine that has the thread's block in `r12`.
fn begin(kept: &'static [Register], distance: u32) -> Writer {
    let mut writer = Writer::begin(kept);
    writer.code.load(R12, Memory::Image(Value::SharedVariable(distance)));
    writer.code.add_thread_pointer(R12);
    writer
}

/// Ends a routine that answers 1, and 0 where it was left for a label.
fn answer(mut writer: Writer, none: Label) -> Compiled {
    let code = &mut writer.code;
    let end = code.label();
    code.set(RAX, 1);
    code.jump(end);
    code.bind(none);
    code.clear(RAX);
    code.bind(end);
    finish(writer)
}

fn finish(mut writer: Writer) -> Compiled {
    writer.end();
    writer.code.raw(&[0xc3]);
    writer.finish()
}

/// Leaves in `rbx` where the open entries end; jumps where there is none.
fn top(code: &mut Assembler, none: Label) {
    code.load(RBX, Memory::At(R12, USED));
    code.test(RBX);
    code.jump_if(EQUAL, none);
    code.add(RBX, Memory::At(R12, BASE));
}

/// Moves `rbx` to the entry in front; jumps where it stands at the first one. Changes `rcx`.
fn one_down(code: &mut Assembler, none: Label) {
    code.load(RCX, Memory::At(R12, BASE));
    code.operate(Operation::Compare, RBX, RCX);
    code.jump_if(AT_MOST_UNSIGNED, none);
    code.add_number(RBX, -ENTRY);
}

/// Leaves in `rax` the kind in a region's record, and says in the flags whether it is a function. Changes `r8`.
fn kind_of(code: &mut Assembler, record: Register) {
    code.copy(RAX, record);
    masked(code, KIND);
}

/// Keeps bits of `rax`, and says in the flags whether any is left. Changes `r8`.
fn masked(code: &mut Assembler, bits: i64) {
    code.set(R8, bits);
    code.operate(Operation::And, RAX, R8);
}

/// Calls with the bytes of the entries in front of that at `rbx`.
fn call_with_bytes(code: &mut Assembler, routine: u32) {
    code.copy(RDI, RBX);
    code.load(RAX, Memory::At(R12, BASE));
    code.operate(Operation::Subtract, RDI, RAX);
    code.call(Value::Routine(routine));
}

/// Writes the entry at `rbx`.
fn entry(code: &mut Assembler) {
    for (at, from) in [(STACK, R13), (REGION, R14), (END, R15)] {
        code.store(Memory::At(RBX, at), from);
    }
}

/// The entries are in the block itself.
fn use_first_room(code: &mut Assembler) {
    code.set(RAX, i64::from(FIRST_ENTRIES * ENTRY));
    code.store(Memory::At(R12, ROOM), RAX);
    code.address(RAX, Memory::At(R12, FIRST));
    code.store(Memory::At(R12, BASE), RAX);
}

/// Copies the first entries to memory of their own; jumps where this has happened, or there is none.
fn more_room(code: &mut Assembler, full: Label) {
    const MMAP: i64 = 9;
    const READ_WRITE: i64 = 3;
    const PRIVATE_ANONYMOUS_NORESERVE: i64 = 0x4022;
    const LAST_ERROR: i64 = -4095;
    code.set(RAX, i64::from(FIRST_ENTRIES * ENTRY));
    code.operate(Operation::Compare, RCX, RAX);
    code.jump_if(NOT_EQUAL, full);
    code.clear(RDI);
    code.set(RSI, i64::from(MEMORY));
    code.set(RDX, READ_WRITE);
    code.set(R10, PRIVATE_ANONYMOUS_NORESERVE);
    code.set(R8, -1);
    code.clear(R9);
    code.call_kernel(MMAP);
    code.set(RCX, LAST_ERROR);
    code.operate(Operation::Compare, RAX, RCX);
    code.jump_if(AT_LEAST_UNSIGNED, full);
    code.address(RSI, Memory::At(R12, FIRST));
    code.copy(RDI, RAX);
    code.set(RCX, i64::from(FIRST_ENTRIES * ENTRY));
    // cld; rep movsb
    code.raw(&[0xfc, 0xf3, 0xa4]);
    code.store(Memory::At(R12, BASE), RAX);
    code.set(RAX, i64::from(MEMORY / ENTRY * ENTRY));
    code.store(Memory::At(R12, ROOM), RAX);
}

/// Where nothing is open any more, as `rbx` says: threads may end now.
fn give_memory_back(code: &mut Assembler) {
    const MUNMAP: i64 = 11;
    let stays = code.label();
    code.test(RBX);
    code.jump_if(NOT_EQUAL, stays);
    code.load(RDI, Memory::At(R12, BASE));
    code.address(RAX, Memory::At(R12, FIRST));
    code.operate(Operation::Compare, RDI, RAX);
    code.jump_if(EQUAL, stays);
    use_first_room(code);
    code.set(RSI, i64::from(MEMORY));
    code.call_kernel(MUNMAP);
    code.bind(stays);
}
