//! Which stretches of code are one function, and which stay apart.

mod common;

use std::process::Command;

use common::{SHAPES, Workshop, assert_same_functions, function, has, run};
use tare_code::Program;
use tare_image::Image;

const COLD: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
KEEP int work(int n, int *a)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(a[i] < 0, 0)) { fprintf(stderr, "negative %d at %d of %d\n", a[i], i, n); abort(); }
        s += a[i] * i;
    }
    return s;
}
__attribute__((cold, noinline)) void complain(int n) { fprintf(stderr, "%d\n", n); }
KEEP int more(int n, int *a)
{
    int s = work(n, a);
    if (s > 100) { complain(s); complain(n); s = a[0] + puts("more"); complain(s); }
    return s * 2;
}
int main(int c, char **v) { int a[] = {c, 2, 3}; return more(c, a) + (v == 0); }
"#;

#[test]
fn cold_parts_belong_to_their_function_with_and_without_symbols() {
    let shop = Workshop::new();
    shop.compile("gcc", "cold", "c", COLD, &["-O2"]);
    let whole = shop.read("cold");
    let image = Image::parse(&whole).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let cold: Vec<_> = image.symbols().iter().filter(|symbol| symbol.name.ends_with(".cold")).collect();
    assert!(!cold.is_empty());
    for symbol in &cold {
        let owner = &program.functions[program.function_at(symbol.address).expect("an owner")];
        assert_eq!(Some(owner.name.as_str()), symbol.name.strip_suffix(".cold"));
        assert!(owner.parts.len() == 2 && owner.parts[0].start == owner.entry);
    }
    run(Command::new("strip").arg(shop.path("cold")));
    let bare = shop.read("cold");
    let image = Image::parse(&bare).expect("an image");
    let stripped = Program::analyse(&image).expect("functions");
    assert_same_functions(&program, &stripped);
}

#[test]
fn an_empty_cold_part_in_front_of_that_of_another_function_joins_nothing() {
    let function = |name: &str, cold: &str| {
        format!(
            ".globl {name}\n.type {name}, @function\n.p2align 4\n{name}:\n.cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\nmov %edi, %ebx\n\
             test %edi, %edi\njs {name}.cold\nlea 1(%rbx), %eax\npop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size {name}, . - {name}\n\
             .section .text.unlikely, \"ax\"\n.type {name}.cold, @function\n{name}.cold:\n\
             .cfi_startproc\n.cfi_def_cfa_offset 16\n{cold}\n.cfi_endproc\n\
             .size {name}.cold, . - {name}.cold\n.text\n"
        )
    };
    let source = [
        function("first", ""),
        function("second", "mov %ebx, %edi\ncall first\nud2"),
        ".globl main\n.type main, @function\nmain: mov $1, %edi\ncall second\nxor %eax, %eax\nret\n.size main, . - main\n".to_string(),
        ".section .note.GNU-stack, \"\", @progbits\n".to_string(),
    ];
    let shop = Workshop::new();
    for flags in [&[][..], &["-s"]] {
        let bytes = shop.compile("gcc", "empty", "s", &source.concat(), flags);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        let second = program.calls().callees(program.main().expect("main"))[0];
        let first = program.calls().callees(second)[0];
        assert_eq!([first, second].map(|one| program.functions[one].parts.len()), [1, 2], "{flags:?}");
        assert!(program.functions[first].entry < program.functions[second].entry, "{flags:?}");
    }
}

/// Of three parts, as BOLT splits functions and names what is called seldom, and what never is.
#[test]
fn a_part_is_told_by_its_name() {
    let function = |part: &str| {
        format!(
            ".globl main\n.type main, @function\nmain:\n.cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\nmov %edi, %ebx\ntest %edi, %edi\n\
             js {part}\nxor %eax, %eax\npop %rbx\n.cfi_def_cfa_offset 8\n2: ret\n.cfi_endproc\n.size main, . - main\n\
             .section .text.unlikely, \"ax\"\n.p2align 4\n.type {part}, @function\n{part}:\n.cfi_startproc\n.cfi_def_cfa_offset 16\n\
             lea 1(%rbx), %eax\npop %rbx\n.cfi_def_cfa_offset 8\njmp 2b\n.cfi_endproc\n.size {part}, . - {part}\n\
             .section .note.GNU-stack, \"\", @progbits\n"
        )
    };
    let shop = Workshop::new();
    for (part, parts) in [("main.cold", 2), ("main.cold.0", 2), ("main.warm", 2), ("main_warm", 1)] {
        let bytes = shop.compile("gcc", "part", "s", &function(part), &[]);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        let main = &program.functions[program.main().expect("main")];
        assert_eq!((main.parts.len(), main.refusal.is_none()), (parts, parts == 2), "{part}");
    }
}

const LEAVES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define COLD __attribute__((noinline, cold))
COLD static int impl(int a) { char b[300]; sprintf(b, "%d", a); puts(b); return strlen(b) + rand(); }
COLD int wrapper(int a) { return impl(a); }
COLD static int impl2(void *p) { return puts(p) + getchar(); }
COLD int getter2(char **p) { if (!p[1]) return 0; return impl2(p[0]); }
COLD static long small(long *a) { return a[0] + labs(rand()); }
COLD long thunk(long *a) { return small(a + 1); }
int main(int c, char **v) { long k[4] = {c}; if (c > 3) return wrapper(c) + getter2(v); return thunk(k) + wrapper(2); }
"#;

#[test]
fn cold_functions_that_are_only_jumped_to_are_functions_without_symbols() {
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        for level in ["-O2", "-O3", "-Os"] {
            let name = format!("leaves{compiler}{level}");
            shop.compile(compiler, &name, "c", LEAVES, &[level]);
            let whole = shop.read(&name);
            let image = Image::parse(&whole).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            run(Command::new("strip").arg(shop.path(&name)));
            let bare = shop.read(&name);
            let image = Image::parse(&bare).expect("an image");
            assert_same_functions(&program, &Program::analyse(&image).expect("functions"));
        }
    }
}

#[test]
fn functions_that_branch_into_one_another_stay_apart_and_know_where() {
    let shop = Workshop::new();
    let whole = shop.compile("gcc", "static", "c", SHAPES, &["-O2", "-static"]);
    let image = Image::parse(&whole).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let is_function = |address: u64| image.symbols_at(address).any(|one| one.is_function && one.is_defined && !one.name.contains(".cold"));
    let starts: Vec<u64> = image.fdes().iter().map(|fde| fde.range.start).filter(|&start| is_function(start)).collect();
    assert!(starts.len() > 700, "{}", starts.len());
    run(Command::new("strip").arg(shop.path("static")));
    let bare = shop.read("static");
    let stripped_image = Image::parse(&bare).expect("an image");
    let stripped = Program::analyse(&stripped_image).expect("functions");
    for start in starts {
        let names: Vec<_> = image.symbols_at(start).map(|one| one.name).collect();
        assert!(program.function_entered_at(start).is_some(), "{names:?}");
        assert!(stripped.function_entered_at(start).is_some(), "{names:?} without symbols");
    }
    for name in ["__memmove_avx_unaligned_erms", "__memset_sse2_unaligned_erms"] {
        let address = image.symbols().iter().find(|one| one.name == name).expect(name).address;
        let owner = &program.functions[program.function_entered_at(address).expect(name)];
        assert_eq!(owner.refusal, None, "{name}");
        let sources = |&entry: &u64| program.branching_into(entry).count();
        assert!(owner.other_entries.iter().map(sources).sum::<usize>() > 0, "{name}");
    }
}

#[test]
fn an_aligned_function_behind_the_one_that_alone_jumps_to_it_is_no_cold_part() {
    let shop = Workshop::new();
    let one = |name: &str, subsection: u32, body: &str| {
        format!(
            ".text {subsection}\n.globl {name}\n.type {name}, @function\n.p2align 4\n{name}:\n.cfi_startproc\n{body}\n.cfi_endproc\n.size {name}, . - {name}\n"
        )
    };
    let first = one("first", 0, "lea 1(%rdi), %eax\njmp last");
    let last = one("last", 2, "add %edi, %edi\nlea 2(%rdi), %eax\nret");
    let between = one("between", 1, "mov $3, %eax\nret");
    let main = one("main", 3, "call first\ncall between\nret");
    shop.compile("gcc", "order", "s", &format!("{first}{last}{between}{main}.section .note.GNU-stack, \"\", @progbits\n"), &[]);
    let whole = shop.read("order");
    let image = Image::parse(&whole).expect("an image");
    let entry = function(&Program::analyse(&image).expect("functions"), "last").entry;
    run(Command::new("strip").arg(shop.path("order")));
    let bare = shop.read("order");
    let image = Image::parse(&bare).expect("an image");
    assert!(Program::analyse(&image).expect("functions").function_entered_at(entry).is_some());
}

const INTERPRETERS: &str = r#"
#include <stdio.h>
volatile int kept;
#define MACHINE(name) __attribute__((noinline, noclone)) int name(const unsigned char *code) { \
    static void *steps[] = {&&adds, &&triples, &&prints, &&ends}; int sum = 0; goto *steps[*code++]; \
    adds: sum += kept; goto *steps[*code++]; triples: sum *= 3; goto *steps[*code++]; \
    prints: printf("%d", sum); goto *steps[*code++]; ends: return sum; }
MACHINE(first) MACHINE(second) MACHINE(third)
int main(int c, char **v) { int (*volatile f)(const unsigned char *) = second;
    return first((unsigned char *)v[0]) + second((unsigned char *)"\0\3") + third((unsigned char *)"\3") + f((unsigned char *)"\3") + c; }
"#;

/// Functions that jump through one thunk stay apart, and a thunk is one function, with symbols and without.
#[test]
fn functions_that_share_a_thunk_stay_apart() {
    let shop = Workshop::new();
    let cases = [("gcc", ["-O2", "-mindirect-branch=thunk"]), ("gcc", ["-O0", "-mindirect-branch=thunk"]), ("clang", ["-O2", "-mretpoline"])];
    for (compiler, flags) in cases.into_iter().filter(|case| has(case.0)) {
        let named = shop.compile(compiler, "thunks", "c", INTERPRETERS, &flags);
        let bare = shop.compile(compiler, "bare", "c", INTERPRETERS, &[flags[0], flags[1], "-s"]);
        let entries = |bytes: &[u8]| -> Vec<(u64, usize)> {
            let image = Image::parse(bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            program.functions.iter().map(|one| (one.entry, one.parts.len())).collect()
        };
        assert_eq!(entries(&named), entries(&bare), "{compiler} {flags:?}");
        let image = Image::parse(&named).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for name in ["first", "second", "third"] {
            assert_eq!(function(&program, name).parts.len(), 1, "{compiler} {flags:?}: {name}");
        }
    }
}

/// Sharing code as hand-written assembly does: an entry that makes ready and goes on in the middle of another function, and an
/// interpreter that is entered in its middle and whose unwind entry tells of the frame that it has later.
const SHARING: &str = r#"
.macro begins name
.globl \name
.type \name, @function
.p2align 4
\name:
.endm
.macro ends name
.size \name, . - \name
.endm
.text
begins add_more
  mov $1, %eax
  add %edi, %eax
  jmp .Lgo_on
ends add_more
begins add
  mov %edi, %eax
  test %eax, %eax
  je .Lout
.Lgo_on: add %esi, %eax
  dec %esi
  jne .Lgo_on
.Lout: ret
ends add
begins machine
.cfi_startproc
.cfi_def_cfa_offset 32
.Lnext: mov (%rdi), %eax
  inc %rdi
  cmp $7, %eax
  je .Lfails
  jmp .Lnext
.Lresume: sub $24, %rsp
  jmp .Lnext
.Lcall: sub $24, %rsp
  call add
  jmp .Lnext
.Lfails: mov %eax, %edi
  jmp fails
.cfi_endproc
ends machine
begins fails
.cfi_startproc
  sub $8, %rsp
.cfi_def_cfa_offset 16
  mov %edi, %edi
  call exit
.cfi_endproc
ends fails
begins resume
.cfi_startproc
  add $8, %rdi
  jmp .Lresume
.cfi_endproc
ends resume
begins main
.cfi_startproc
  push %rbx
.cfi_def_cfa_offset 16
  lea 7(%rdi), %ebx
  call add
  mov %ebx, %edi
  call add_more
  call resume
  call .Lcall
  mov %ebx, %edi
  call fails
.cfi_endproc
ends main
.section .note.GNU-stack, "", @progbits
"#;

/// What is called is a function wherever it jumps to, and whoever else jumps there.
#[test]
fn functions_that_are_called_stay_apart_whatever_jumps_between_them() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "sharing", "s", SHARING, &[]);
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let callees = |of: &Program, entry: u64| -> Vec<u64> {
        let own = of.function_entered_at(entry).unwrap_or_else(|| panic!("no function at {entry:#x}"));
        of.calls().callees(own).iter().map(|&callee| of.functions[callee].entry).collect()
    };
    let entry = |name: &str| function(&program, name).entry;
    let bare = shop.compile("gcc", "bare", "s", SHARING, &["-s"]);
    let stripped = Program::analyse(&Image::parse(&bare).expect("an image")).expect("functions");
    let expected = [
        ("main", &["add_more", "add", "machine", "fails", "resume"][..]),
        ("add_more", &["add"]),
        ("resume", &["machine"]),
        ("machine", &["add", "fails"]),
    ];
    for of in [&program, &stripped] {
        for (name, wanted) in expected {
            let mut wanted: Vec<u64> = wanted.iter().map(|name| entry(name)).collect();
            let mut found = callees(of, entry(name));
            wanted.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, wanted, "{name}");
        }
        for name in ["main", "add_more", "add", "machine", "fails", "resume"] {
            let own = &of.functions[of.function_entered_at(entry(name)).expect(name)];
            assert_eq!(own.parts.len(), 1, "{name}");
            assert_eq!(own.never_returns, ["main", "fails", "machine"].contains(&name), "{name}");
        }
        for name in ["machine", "resume"] {
            let own = &of.functions[of.function_entered_at(entry(name)).expect(name)];
            assert_eq!(own.refusal, Some(tare_code::Refusal::SharedCode), "{name}");
        }
    }
}

#[test]
fn what_lies_within_the_size_of_a_symbol_belongs_to_its_function() {
    let source = ".globl wide\n.type wide, @function\n.p2align 4\nwide:\n.cfi_startproc\ntest %edi, %edi\nje .Lfirst\ncmp $9, %edi\nja .Lsecond\n\
        lea 1(%rdi), %eax\nret\n.cfi_endproc\n.p2align 5\n\
        .Lfirst:\n.cfi_startproc\nmov $3, %eax\nret\n.cfi_endproc\n.p2align 5\n\
        .Lsecond:\n.cfi_startproc\ncmp $99, %edi\nja wider\n.Lloop:\ndec %edi\njne .Lloop\nmov %esi, %eax\nret\n.cfi_endproc\n\
        .size wide, . - wide\n.globl wider\n.type wider, @function\n.p2align 4\nwider:\n.cfi_startproc\ncmp $999, %edi\njb .Lloop\n\
        mov $7, %eax\nret\n.cfi_endproc\n.size wider, . - wider\n.globl main\n.type main, @function\nmain:\nmov $1, %edi\ncall wide\n\
        call wider\nxor %eax, %eax\nret\n.size main, . - main\n.section .note.GNU-stack, \"\", @progbits\n";
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "wide", "s", source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let of = |name: &str| image.symbols().iter().find(|symbol| symbol.name == name).expect(name);
    let (wide, wider) = (function(&program, "wide"), function(&program, "wider"));
    assert_eq!((wide.parts.len(), wider.parts.len()), (3, 1), "{:x?} {:x?}", wide.parts, wider.parts);
    assert!(wide.parts.iter().all(|part| (of("wide").address..of("wide").address + of("wide").size).contains(&part.start)));
    assert_eq!(wide.other_entries.len(), 1, "the loop that the other function jumps to");
    assert_eq!(wider.other_entries, Vec::<u64>::new());
    assert!(!program.functions.iter().any(|one| !one.has_name() && one.entry > wide.entry && one.entry < wider.entry));
}

/// Functions that nothing names, calls or points at, but several jump to, and which go on in the middle of another one.
const ENTERED_BY_JUMPS: &str = r#"
    .text
    .globl main
    .type main, @function
main:
    call first
    call second
    call holder
    ret
    .p2align 4, 0xcc
first:
    add $1, %edi
    jmp entered
    .p2align 4, 0xcc
second:
    add $2, %edi
    jmp entered
    .p2align 4, 0xcc
holder:
    push %rbp
    mov %rsp, %rbp
    lock orl $1, (%rsp)
    pop %rbp
    jmp middle
    .byte 0xcc, 0xcc
middle:
    lea 77(%rdi), %eax
    ret
    .p2align 4, 0xcc
entered:
    lea 3(%rdi), %eax
    test $4, %al
    jne 1f
    ret
1:  jmp middle
    .section .note.GNU-stack, "", @progbits
"#;

#[test]
fn functions_that_only_jumps_lead_to_are_entered_there_though_they_go_on_in_others() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "entered", "s", ENTERED_BY_JUMPS, &["-s"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let text = image.text().iter().find(|range| image.bytes_at(range.end - 1, 1).is_some()).expect("text").clone();
    let all = image.bytes_at(text.start, text.end - text.start).expect("bytes");
    let entered = text.start + all.windows(3).position(|window| window == [0x8d, 0x47, 3]).expect("the code") as u64;
    let owner = &program.functions[program.function_at(entered).expect("a function")];
    assert!(owner.entry == entered || owner.other_entries.contains(&entered), "{owner:x?}");
}
