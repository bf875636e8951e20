//! Which registers are needed at the ends of functions.

mod common;

use common::Workshop;
use tare_code::Program;
use tare_image::Image;

/// Numbers of registers.
const RCX: u16 = 1 << 1;
const RSI: u16 = 1 << 6;
const RDI: u16 = 1 << 7;
const R8: u16 = 1 << 8;
const R10: u16 = 1 << 10;
const AMONG: u16 = RCX | RSI | RDI | R8 | R10;

/// Functions with unwind entries, for assembly.
fn function(name: &str, code: &str) -> String {
    format!(".type {name},@function\n{name}:\n.cfi_startproc\n{}\n.cfi_endproc\n.size {name},.-{name}\n", code.replace(';', "\n"))
}

/// A program that calls nothing but the first of some functions, and all registers are written behind that.
fn with(functions: &[(&str, &str)], check: impl Fn(&dyn Fn(&str) -> (u16, u16))) {
    const WRITE_ALL: &str = "xor %ecx,%ecx; xor %esi,%esi; xor %edi,%edi; xor %r8d,%r8d; xor %r10d,%r10d";
    let mut text = ".text\n.globl _start\n".to_owned() + &function("_start", "call begin; hlt");
    let first = functions[0].0;
    text += &function("begin", &format!("{WRITE_ALL}; call {first}; {WRITE_ALL}; ret"));
    functions.iter().for_each(|(name, code)| text += &function(name, code));
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "liveness", "s", &text, &["-nostdlib", "-static", "-no-pie"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let liveness = program.liveness(&image, AMONG);
    let at = |name: &str| {
        let index = program.functions.iter().position(|one| one.name == name).expect("the function");
        (liveness.at_entry(index) & AMONG, liveness.at_return(index) & AMONG)
    };
    check(&at);
}

/// What is needed at the entry and the return of the first function.
fn ends(functions: &[(&str, &str)]) -> (u16, u16) {
    let found = std::cell::Cell::new((0, 0));
    with(functions, |at| found.set(at(functions[0].0)));
    found.get()
}

#[test]
fn what_is_read_first_is_needed_at_the_entry() {
    assert_eq!(ends(&[("one", "mov %rdi,%rax; ret")]), (RDI, 0));
    assert_eq!(ends(&[("one", "mov $1,%edi; mov %rdi,%rax; ret")]), (0, 0));
    assert_eq!(ends(&[("one", "test %eax,%eax; je 1f; mov $1,%rsi; 1: lea (%rsi,%rcx),%rax; ret")]), (RSI | RCX, 0));
    // A byte that is written leaves the rest, and a move under a condition leaves all.
    assert_eq!(ends(&[("one", "test %eax,%eax; mov $1,%sil; cmove %eax,%ecx; mov %rsi,%rax; add %rcx,%rax; ret")]), (RSI | RCX, 0));
    // The kernel may read all.
    assert_eq!(ends(&[("one", "mov $1,%ecx; syscall; ret")]), (AMONG & !RCX, 0));
    assert_eq!(ends(&[("one", "rep stosb; ret")]), (RDI | RCX, 0));
}

#[test]
fn what_callers_hold_is_needed_at_both_ends() {
    let calls = |callee: &str| format!("mov $1,%esi; call {callee}; mov %rsi,%rax; ret");
    let holds = calls("leaf");
    with(&[("holds", &holds), ("leaf", "mov $2,%ecx; ret")], |at| {
        assert_eq!(at("leaf"), (RSI, RSI));
        assert_eq!(at("holds"), (0, 0));
    });
    // Over a call in between, a jump in its place, and one under a condition.
    with(&[("holds", &holds), ("leaf", "push %rax; call deep; pop %rax; ret"), ("deep", "ret")], |at| assert_eq!(at("deep"), (RSI, RSI)));
    with(&[("holds", &holds), ("leaf", "jmp deep"), ("deep", "ret")], |at| assert_eq!((at("deep"), at("leaf").0), ((RSI, RSI), RSI)));
    with(&[("holds", &holds), ("leaf", "test %eax,%eax; je deep; ret"), ("deep", "mov $3,%esi; ret")], |at| {
        assert_eq!((at("leaf"), at("deep")), ((RSI, RSI), (0, RSI)));
    });
    // One caller of two is enough.
    let both = "mov $1,%edi; call leaf; mov $7,%r8d; call leaf; mov %r8,%rax; ret";
    with(&[("holds", both), ("leaf", "ret")], |at| assert_eq!(at("leaf"), (R8, R8)));
    // Around a loop, and in a function that calls itself.
    with(&[("holds", "mov $9,%ecx; 1: call leaf; dec %ecx; jne 1b; ret"), ("leaf", "ret")], |at| assert_eq!(at("leaf").1, RCX));
    with(&[("itself", "push %rdi; test %edi,%edi; je 1f; dec %edi; mov $4,%r10d; call itself; add %r10,%rax; 1: pop %rdi; ret")], |at| {
        assert_eq!(at("itself"), (RDI | R10, R10));
    });
}

#[test]
fn everything_is_needed_where_not_all_is_known() {
    // Its address is taken, it is called through a pointer, or it is entered inside.
    with(&[("loads", "lea leaf(%rip),%rax; mov %rax,-8(%rsp); call leaf; ret"), ("leaf", "ret")], |at| assert_eq!(at("leaf").1, AMONG));
    with(&[("jumps", "call leaf; jmp leaf+2"), ("leaf", "xchg %ax,%ax; ret")], |at| assert_eq!(at("leaf").1, AMONG));
    // At calls through pointers and jumps to what is not known, at the end of what control runs over.
    assert_eq!(ends(&[("one", "mov $1,%edi; call *%rax; ret")]).0, AMONG & !RDI);
    assert_eq!(ends(&[("one", "mov $1,%edi; jmp *%rax")]).0, AMONG & !RDI);
    // What one that is not understood calls.
    let refused = "call leaf; jmp 1f+1; 1: mov $0x90,%eax; ret";
    with(&[("odd", refused), ("leaf", "ret")], |at| assert_eq!((at("odd").0, at("leaf").1), (AMONG, AMONG)));
}
