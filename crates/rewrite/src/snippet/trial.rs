//! Compiled snippets, run: their results are held against the oracle's, and all registers against what they were.

use std::arch::global_asm;
use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ast::{Context, Integer};
use super::check::{Checked, Scope, Template, check};
use super::compile::{Callee, Compiled, Entry, Environment, MAY_STORE, Proof, Registers, compile, crossing, detour};
use super::inline::{Calls, Known};
use super::oracle::{FUNCTIONS, Machine, Numbers, VARIABLES, answer, write};
use super::{Place, parse};
use crate::adapter::record::{Home, RecordLayout};
use crate::adapter::{Alternative, Level, Point, Variable};
use crate::insertion::Value;

/// Registers by their number, flags in the place of `rsp`; then `xmm0` to `xmm15`, and the upper halves of `ymm0` to `ymm15`;
/// where there is AVX-512, the upper halves of `zmm0` to `zmm15`, `zmm16` to `zmm31`, and `k0` to `k7`.
#[repr(C, align(64))]
#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    general: [u64; 16],
    vectors: [u128; 16],
    upper: [u128; 16],
    wide: [[u64; 4]; 16],
    others: [[u64; 8]; 16],
    masks: [u64; 8],
    /// Whether the rest is there: 0 or 1.
    is_wide: u64,
}

impl State {
    fn new() -> Self {
        let is_wide = u64::from(is_wide());
        Self { general: [0; 16], vectors: [0; 16], upper: [0; 16], wide: [[0; 4]; 16], others: [[0; 8]; 16], masks: [0; 8], is_wide }
    }
}

fn is_wide() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

unsafe extern "C" {
    /// Loads the registers from `before`, calls `site`, and stores the registers in `after`.
    fn tare_trial(site: *const u8, before: *const State, after: *mut State);
    /// Changes every register that a function may change.
    fn tare_trial_clobber(is_wide: u64);
}

global_asm!(
    ".globl tare_trial",
    "tare_trial:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15",
    "push rdx; push rdi",
    "mov rax, rsi",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovups xmm\\n, [rax+128+16*\\n]",
    "vinsertf128 ymm\\n, ymm\\n, [rax+384+16*\\n], 1",
    ".endr",
    "cmp qword ptr [rax+2240], 0; je 1f",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vinsertf64x4 zmm\\n, zmm\\n, [rax+640+32*\\n], 1",
    ".endr",
    ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovups zmm\\n, [rax+1152+64*(\\n-16)]",
    ".endr",
    ".irp n, 0,1,2,3,4,5,6,7",
    "kmovq k\\n, [rax+2176+8*\\n]",
    ".endr",
    "1:",
    "mov rcx, [rax+8]; mov rdx, [rax+16]; mov rbx, [rax+24]; mov rbp, [rax+40]; mov rsi, [rax+48]; mov rdi, [rax+56]",
    "mov r8, [rax+64]; mov r9, [rax+72]; mov r10, [rax+80]; mov r11, [rax+88]; mov r12, [rax+96]; mov r13, [rax+104]",
    "mov r14, [rax+112]; mov r15, [rax+120]",
    "push qword ptr [rax+32]; mov rax, [rax]; popfq",
    "call qword ptr [rsp]",
    "push rax; pushfq; mov rax, [rsp+24]",
    "mov [rax+8], rcx; mov [rax+16], rdx; mov [rax+24], rbx; mov [rax+40], rbp; mov [rax+48], rsi; mov [rax+56], rdi",
    "mov [rax+64], r8; mov [rax+72], r9; mov [rax+80], r10; mov [rax+88], r11; mov [rax+96], r12; mov [rax+104], r13",
    "mov [rax+112], r14; mov [rax+120], r15",
    "pop qword ptr [rax+32]; pop qword ptr [rax]",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovups [rax+128+16*\\n], xmm\\n",
    "vextractf128 [rax+384+16*\\n], ymm\\n, 1",
    ".endr",
    "cmp qword ptr [rax+2240], 0; je 1f",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vextractf64x4 [rax+640+32*\\n], zmm\\n, 1",
    ".endr",
    ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovups [rax+1152+64*(\\n-16)], zmm\\n",
    ".endr",
    ".irp n, 0,1,2,3,4,5,6,7",
    "kmovq [rax+2176+8*\\n], k\\n",
    ".endr",
    "1:",
    "vzeroupper; cld",
    "pop rdi; pop rdx",
    "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
    ".globl tare_trial_clobber",
    "tare_trial_clobber:",
    "vpcmpeqd xmm0, xmm0, xmm0",
    "vinsertf128 ymm0, ymm0, xmm0, 1",
    ".irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovaps ymm\\n, ymm0",
    ".endr",
    "test rdi, rdi; je 1f",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vpternlogd zmm\\n, zmm\\n, zmm\\n, 255",
    ".endr",
    ".irp n, 0,1,2,3,4,5,6,7",
    "kxnorq k\\n, k\\n, k\\n",
    ".endr",
    "1: fld1; fldpi; fdivp; fstp st(0)",
    "mov rcx, -1; mov rdx, -2; mov rsi, -3; mov rdi, -4; mov r8, -5; mov r9, -6; mov r10, -7; mov r11, -8",
    "ret",
);

thread_local! {
    static CALLS: RefCell<Vec<(usize, Vec<i64>)>> = const { RefCell::new(Vec::new()) };
}

fn called(function: usize, arguments: &[i64]) -> i64 {
    CALLS.with_borrow_mut(|calls| calls.push((function, arguments.to_vec())));
    let result = answer(arguments);
    // SAFETY: it changes registers only, and only those that a call may change.
    unsafe { tare_trial_clobber(u64::from(is_wide())) };
    result
}

extern "C" fn f0() -> i64 {
    called(0, &[])
}
extern "C" fn f1(a: i64) -> i64 {
    called(1, &[a])
}
extern "C" fn f3(a: i64, b: i64, c: i64) -> i64 {
    called(2, &[a, b, c])
}
extern "C" fn f6(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    called(3, &[a, b, c, d, e, f])
}
extern "C" fn f9(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64) -> i64 {
    called(4, &[a, b, c, d, e, f, g, h, i])
}

fn addresses() -> [u64; 5] {
    [
        f0 as extern "C" fn() -> i64 as usize as u64,
        f1 as extern "C" fn(i64) -> i64 as usize as u64,
        f3 as extern "C" fn(i64, i64, i64) -> i64 as usize as u64,
        f6 as extern "C" fn(i64, i64, i64, i64, i64, i64) -> i64 as usize as u64,
        f9 as extern "C" fn(i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64 as usize as u64,
    ]
}

/// Memory for one routine: code, constants, variables and a record, each on pages of its own.
struct Stage {
    memory: *mut u8,
}

const ROOM: usize = 1 << 16;
const CONSTANTS: usize = ROOM;
const VARIABLES_AT: usize = 2 * ROOM;
const RECORD: usize = 3 * ROOM;
/// Where the site's code is.
const SITE: usize = ROOM - 64;
/// Where the code is that goes the way of a proof.
const CROSSING: usize = SITE - 32;
/// Shared variables: eight bytes for each of the adapter's, then slots, then the state's mask, then a proof's byte and way.
const SLOTS: u32 = 64;
const MASK: u32 = 128;
const FLAG: u32 = 136;
const WAY: u32 = 144;

impl Stage {
    fn new() -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: new memory at a place that the system chooses.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), 4 * ROOM, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED, "there is memory");
        Self { memory: memory.cast() }
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= 4 * ROOM);
        // SAFETY: within the mapping, as just checked.
        let place = unsafe { self.memory.add(at) };
        // SAFETY: as above; nothing else refers to this memory while a test writes it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    }

    /// What the start finds out about the processor.
    fn put_state(&self) {
        self.put(VARIABLES_AT + MASK as usize, &0xe7_u32.to_le_bytes());
        self.put(VARIABLES_AT + (MASK + MAY_STORE) as usize, &[u8::from(is_wide())]);
    }

    fn get(&self, at: usize) -> u64 {
        assert!(at + 8 <= 4 * ROOM);
        // SAFETY: within the mapping, as just checked.
        let place = unsafe { self.memory.add(at) };
        // SAFETY: as above; any eight bytes are a number.
        unsafe { place.cast::<u64>().read_unaligned() }
    }

    fn load(&self, compiled: &Compiled, entry: Entry) {
        assert!(compiled.bytes.len() < SITE);
        self.put(0, &compiled.bytes);
        for &(at, tail, value) in &compiled.fields {
            let target = match value {
                Value::SharedConstant(offset) => CONSTANTS + offset as usize,
                Value::SharedVariable(offset) => VARIABLES_AT + offset as usize,
                other => panic!("nothing here refers to {other:?}"),
            };
            let from = at as usize + usize::from(tail);
            self.put(at as usize, &(target as i32 - from as i32).to_le_bytes());
        }
        let mut site = vec![0xe8];
        site.extend((-(SITE as i32 + 5)).to_le_bytes());
        let carrier: &[u8] = if entry == Entry::Body { &[0x0f, 0x1f, 0x80] } else { &[0xa9] };
        site.extend(carrier);
        let end = SITE + site.len() + 4;
        site.extend((RECORD as i32 - end as i32).to_le_bytes());
        site.push(0xc3);
        self.put(SITE, &site);
    }

    /// Calls the site with registers that chance fills.
    fn run(&self, numbers: &mut Numbers, entry: Entry) -> (State, State) {
        let mut before = State::new();
        before.general.fill_with(|| numbers.next());
        before.vectors.fill_with(|| u128::from(numbers.next()) << 64 | u128::from(numbers.next()));
        // Most programs leave the upper parts at zero.
        if numbers.below(3) != 0 {
            before.upper.fill_with(|| u128::from(numbers.next()) << 64 | u128::from(numbers.next()));
        }
        if is_wide() {
            if numbers.below(3) == 0 {
                before.wide.as_flattened_mut().fill_with(|| numbers.next());
            }
            before.others.as_flattened_mut().fill_with(|| numbers.next());
            before.masks.fill_with(|| numbers.next());
        }
        // Carry, parity, zero, sign and overflow as chance has them, the direction too where the program may have it.
        let flags = if entry == Entry::Body { 0xcc5 } else { 0x8c5 };
        before.general[4] = before.general[4] & flags | 0x202;
        let mut after = State::new();
        // SAFETY: within the mapping.
        let site = unsafe { self.memory.add(SITE) };
        // SAFETY: the site was written by `load`; its routine returns and keeps what the caller keeps.
        unsafe { tare_trial(site, &raw const before, &raw mut after) };
        (before, after)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, to which nothing refers any more.
        unsafe { libc::munmap(self.memory.cast(), 4 * ROOM) };
    }
}

fn variables(letter: char) -> Vec<Variable> {
    let wanted = VARIABLES.iter().filter(|one| one.0.starts_with(letter));
    wanted.map(|&(name, integer)| Variable { name: name.to_owned(), integer, value: 0, is_thread_local: false, place: Place::START }).collect()
}

/// One snippet, compiled and laid out.
struct Trial {
    stage: Stage,
    layout: RecordLayout,
}

impl Trial {
    fn new(checked: &Checked, entry: Entry, proof: Option<Proof>) -> Self {
        let alternative = Alternative { level: Level::Functions, name: "function".into(), variables: variables('r'), snippets: Vec::new() };
        let layout = RecordLayout::new(&alternative, std::iter::once(checked));
        let functions: BTreeMap<String, Callee> = FUNCTIONS
            .iter()
            .zip(0..)
            .map(|(function, index)| (function.0.to_owned(), Callee::Imported { slot: SLOTS + 8 * index, proof: proof.clone() }))
            .collect();
        let environment = Environment {
            functions: &functions,
            record: &layout,
            globals: &[0, 8, 16, 24].map(|at| Home { at, is_thread_local: false }),
            texts: &BTreeMap::new(),
            state_mask: MASK,
            thread_distance: 0,
            errno: None,
        };
        let compiled = compile(checked, entry, &environment);
        let stage = Stage::new();
        stage.load(&compiled, entry);
        for (index, address) in addresses().iter().enumerate() {
            stage.put(VARIABLES_AT + SLOTS as usize + 8 * index, &address.to_le_bytes());
        }
        stage.put_state();
        Self { stage, layout }
    }

    fn place(&self, variable: usize) -> usize {
        match variable.checked_sub(4) {
            None => VARIABLES_AT + 8 * variable,
            Some(index) => RECORD + self.layout.variables[index].at as usize,
        }
    }

    fn set(&self, variable: usize, integer: Integer, value: i64) {
        self.stage.put(self.place(variable), &value.to_le_bytes()[..usize::from(integer.size)]);
    }

    fn get(&self, variable: usize, integer: Integer) -> i64 {
        integer.narrow(self.stage.get(self.place(variable)).cast_signed())
    }
}

fn checked(text: &str) -> (Vec<super::ast::Statement>, Checked) {
    let characters: Vec<(char, Place)> = text.chars().map(|one| (one, Place::START)).collect();
    let statements = parse(&characters, Place::START).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (of_region, global) = (variables('r'), variables('g'));
    let scope = Scope { level: Level::Functions, point: Point::Enter, of_region: &of_region, global: &global, must_nest: false, path: "" };
    let checked = check(&statements, scope).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (statements, checked)
}

#[test]
fn snippets_do_what_the_language_says_and_keep_every_register() {
    assert!(is_x86_feature_detected!("avx"), "this test compares registers of 256 bits");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..3000 {
        let entry = if round % 3 == 0 { Entry::Body } else { Entry::Edge };
        let text = write(&mut numbers, round % 2 == 0);
        let (statements, checked) = checked(&text);
        let trial = Trial::new(&checked, entry, None);
        let mut machine = Machine::default();
        for (index, &(name, integer)) in VARIABLES.iter().enumerate() {
            let value = integer.narrow(numbers.next().cast_signed() >> numbers.below(60));
            trial.set(index, integer, value);
            machine.variables.insert(name.to_owned(), (integer, value));
        }
        CALLS.with_borrow_mut(Vec::clear);
        let (before, mut after) = trial.stage.run(&mut numbers, entry);
        machine.run(&statements);
        if entry == Entry::Edge {
            after.general[4] = before.general[4];
        }
        assert!(before == after, "{text}\n{before:x?}\n{after:x?}");
        for (index, &(name, integer)) in VARIABLES.iter().enumerate() {
            assert_eq!(trial.get(index, integer), machine.variables[name].1, "{name} after\n{text}");
        }
        let calls = CALLS.with_borrow(Clone::clone);
        assert_eq!(calls, machine.calls, "{text}");
    }
}

/// `xor %edi, %edi; xor %esi, %esi; ret`, which a proof has looked at.
const SMALL: [u8; 5] = [0x31, 0xff, 0x31, 0xf6, 0xc3];

#[test]
fn a_proven_function_is_called_without_saving_what_it_keeps() {
    proven("f3(g8, 2, 3); r4 = r4 + 1;", 2);
    proven("f3(1, @CALLER@, @LINE@); f3(1, 2, 3);", 0);
}

fn proven(text: &str, visits: i64) {
    let (_, checked) = checked(text);
    let proof = Proof { flag: FLAG, way: WAY, crossing: CROSSING as u32, changed: Registers(1 << 6 | 1 << 7) };
    for entry in [Entry::Edge, Entry::Body] {
        let trial = Trial::new(&checked, entry, Some(proof.clone()));
        let small = SITE - 16;
        trial.stage.put(small, &SMALL);
        let address = trial.stage.memory as u64 + small as u64;
        trial.stage.put(VARIABLES_AT + SLOTS as usize + 16, &address.to_le_bytes());
        let mut numbers = Numbers(77);
        let (before, mut after) = trial.stage.run(&mut numbers, entry);
        if entry == Entry::Edge {
            after.general[4] = before.general[4];
        }
        assert!(before == after, "{before:x?}\n{after:x?}");
        // The proof does not hold: the other body calls what stands in the slot now, and keeps everything.
        trial.stage.put(VARIABLES_AT + FLAG as usize, &[1]);
        trial.stage.put(VARIABLES_AT + SLOTS as usize + 16, &addresses()[2].to_le_bytes());
        CALLS.with_borrow_mut(Vec::clear);
        let (before, mut after) = trial.stage.run(&mut numbers, entry);
        if entry == Entry::Edge {
            after.general[4] = before.general[4];
        }
        assert!(before == after, "{before:x?}\n{after:x?}");
        assert_eq!(CALLS.with_borrow(Vec::len), text.matches("f3(").count());
        let (at, integer) = VARIABLES.iter().enumerate().map(|(at, one)| (at, one.1)).nth(6).expect("r4");
        assert_eq!(trial.get(at, integer), visits);
    }
}

/// A region of a test.
struct Region;

impl Known for Region {
    fn number(&self, _: Context) -> i64 {
        -7
    }

    fn address(&self) -> u64 {
        0x40
    }

    fn text(&self, _: &Template) -> Value {
        Value::SharedConstant(0)
    }
}

#[test]
fn calls_at_a_site_keep_every_register_whether_the_proof_holds_or_not() {
    let (_, checked) = checked("f3(@LINE@, @ADDRESS@, 3); f3(1, @CALLER@, 5);");
    let proof = Proof { flag: FLAG, way: WAY, crossing: CROSSING as u32, changed: Registers(1 << 6 | 1 << 7) };
    let functions = BTreeMap::from([("f3".to_owned(), Callee::Imported { slot: SLOTS, proof: Some(proof.clone()) })]);
    let layout = RecordLayout::default();
    let environment = Environment {
        functions: &functions,
        record: &layout,
        globals: &[],
        texts: &BTreeMap::new(),
        state_mask: MASK,
        thread_distance: 0,
        errno: None,
    };
    let compiled = detour(SLOTS, &environment);
    let insertion = Calls::new(&checked, &functions).expect("calls with known arguments").site(&Region, Registers::CALLER_SAVED);
    let stage = Stage::new();
    stage.load(&compiled, Entry::Edge);
    stage.put(SITE, &insertion.bytes);
    stage.put(SITE + insertion.bytes.len(), &[0xc3]);
    for field in insertion.fields.iter() {
        let target = match field.value {
            Value::Routine(at) => at.cast_signed(),
            Value::Original(at) => i32::try_from(at).expect("a small number"),
            other => panic!("nothing here refers to {other:?}"),
        };
        let at = SITE + usize::from(field.at);
        stage.put(at, &(target - (at as i32 + i32::from(field.tail))).to_le_bytes());
    }
    let crossing = crossing(WAY);
    stage.put(CROSSING, &crossing.bytes);
    for &(at, tail, value) in &crossing.fields {
        assert_eq!(value, Value::SharedVariable(WAY));
        let at = CROSSING + at as usize;
        stage.put(at, &((VARIABLES_AT + WAY as usize) as i32 - (at + usize::from(tail)) as i32).to_le_bytes());
    }
    stage.put_state();
    let small = SITE - 16;
    stage.put(small, &SMALL);
    let mut numbers = Numbers(78);
    let at_start = |at: usize| stage.memory as u64 + at as u64;
    for (function, way, calls) in [(at_start(small), at_start(small), 0), (addresses()[2], at_start(0), 2)] {
        stage.put(VARIABLES_AT + SLOTS as usize, &function.to_le_bytes());
        stage.put(VARIABLES_AT + WAY as usize, &way.to_le_bytes());
        CALLS.with_borrow_mut(Vec::clear);
        let (before, mut after) = stage.run(&mut numbers, Entry::Edge);
        after.general[4] = before.general[4];
        assert!(before == after, "{before:x?}\n{after:x?}");
        let made = CALLS.with_borrow(Clone::clone);
        assert_eq!(made.len(), calls);
        let arguments = made.iter().map(|one| one.1.clone()).collect::<Vec<_>>();
        let address = stage.memory as i64 + 0x40;
        assert!(arguments.first().is_none_or(|first| *first == [-7, address, 3]), "{arguments:x?}");
        assert!(arguments.get(1).is_none_or(|second| second[0] == 1 && second[1] != 0 && second[2] == 5), "{arguments:x?}");
    }
}
