//! Functions that nothing but a pointer tells of, and places that pointers lead to where no function begins.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use common::{Workshop, run};
use tare_code::{FoundBy, Program};
use tare_image::Image;

/// Tables, a callback, and a function that jumps to its own labels through a table, all without unwind entries.
const HANDLERS: &str = r#"
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
int count;
static KEEP int add(int x) { count++; return x + count; }
static KEEP int mul(int x) { for (int i = 0; i < x; i++) count += i * x; return count; }
static KEEP int stop(int x) { if (x > 90) abort(); return x; }
static KEEP int die(int x) { count = x; abort(); }
static KEEP int last(int x) { return x * 3; }
int (*const table[])(int) = {add, mul, stop, die, last};
static KEEP int alone(int x) { return x - count; }
int (*volatile hook)(int) = alone;
static KEEP int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
KEEP int interpret(const unsigned char *code, int x)
{
    static const void *const labels[] = {&&more, &&less, &&twice, &&end};
    goto *labels[*code++ & 3];
more: x += 7; count++; goto *labels[*code++ & 3];
less: x -= count; count += x; goto *labels[*code++ & 3];
twice: x *= 2; count ^= x; goto *labels[*code++ & 3];
end: return x;
}
int main(int c, char **v)
{
    int a[3] = {3, 1, 2};
    qsort(a, 3, sizeof *a, by_value);
    return table[c & 3](c) + hook(a[0]) + interpret((const unsigned char *)v[0], c);
}
"#;

/// Where a symbol of an image that is not stripped lies.
fn address_of(image: &Image<'_>, wanted: &str) -> u64 {
    image.symbols().iter().find(|symbol| symbol.name == wanted).unwrap_or_else(|| panic!("no symbol {wanted}")).address
}

/// Code of the test's own, by address: its size and what told of it.
fn starts(program: &Program) -> BTreeMap<u64, (u64, FoundBy)> {
    program.functions.iter().map(|one| (one.entry, (one.size(), one.found_by))).collect()
}

#[test]
fn functions_behind_pointers_are_found_with_neither_symbols_nor_unwind_entries() {
    let shop = Workshop::new();
    let bare = [
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables",
        "-fno-toplevel-reorder",
        "-fno-reorder-functions",
        "-fno-reorder-blocks-and-partition",
    ];
    let kinds: [(&str, &[&str]); 4] = [
        ("moved", &["-O2", "-fPIE", "-pie"]),
        ("fixed", &["-O2", "-fno-pie", "-no-pie"]),
        ("marked", &["-O2", "-fcf-protection"]),
        ("packed", &["-O2", "-fPIE", "-pie", "-Wl,-z,pack-relative-relocs"]),
    ];
    for (name, flags) in kinds {
        shop.compile("gcc", name, "c", HANDLERS, &[flags, &bare[..]].concat());
        let bytes = shop.read(name);
        let image = Image::parse(&bytes).expect("an image");
        let whole = starts(&Program::analyse(&image).expect("functions"));
        let address = |wanted: &str| address_of(&image, wanted);
        let handlers = ["add", "mul", "stop", "die", "last", "alone", "by_value"].map(address);
        run(Command::new("strip").arg(shop.path(name)));
        let bytes = shop.read(name);
        let stripped = starts(&Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions"));
        for address in handlers {
            assert_eq!(whole.get(&address).map(|one| one.1), Some(FoundBy::Symbol), "{name}: {address:#x}");
            let (size, found_by) = stripped.get(&address).unwrap_or_else(|| panic!("{name}: no function at {address:#x}"));
            assert_eq!((*size, *found_by), (whole[&address].0, FoundBy::Pointer), "{name}: {address:#x}");
        }
        let others: Vec<&u64> = stripped.keys().filter(|address| !whole.contains_key(address)).collect();
        assert!(others.is_empty(), "{name}: {others:x?} are no functions");
    }
}

/// What pointers lead to here is data among code, the middle of code, and code that needs what no caller hands over.
const NO_FUNCTIONS: &str = r"
    .text
    .globl main
main:
    lea constants(%rip), %rax
    mov (%rax), %eax
    mov places(%rip), %rdx
    mov $0, %eax
    ret
    .p2align 4
constants:
    .long 0x428a2f98, 0x71374491, 0xc3c3c3c3, 0xe9b5dba5, 0x3956c25b
    .p2align 4
first:
    xor %eax, %eax
    test %edi, %edi
    je 1f
    inc %eax
1:  ret
    .p2align 4
needy:
    add %rbx, %r12
    mov %r12, (%rbx)
    ret
    .p2align 4
endless:
    mov %edi, %eax
    .byte 0x06, 0x07
    .p2align 4
    .data
    .quad constants, 0
    .quad 1b, 0
    .quad needy, 0
    .quad endless, 0
places:
    .quad first, 0
    .section .note.GNU-stack
";

#[test]
fn what_is_no_function_is_not_taken_for_one() {
    let shop = Workshop::new();
    for (name, flag) in [("odd", "-pie"), ("odd_fixed", "-no-pie")] {
        shop.compile("gcc", name, "s", NO_FUNCTIONS, &[flag]);
        let bytes = shop.read(name);
        let image = Image::parse(&bytes).expect("an image");
        let address = |wanted: &str| address_of(&image, wanted);
        let first = address("first");
        let false_ones = ["constants", "needy", "endless"].map(address);
        run(Command::new("strip").arg(shop.path(name)));
        let bytes = shop.read(name);
        let found = starts(&Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions"));
        assert_eq!(found.get(&first), Some(&(9, FoundBy::Pointer)), "{name}");
        assert!(false_ones.iter().all(|address| !found.contains_key(address)), "{name}: {found:x?}");
        assert_eq!(found.values().filter(|one| one.1 == FoundBy::Pointer).count(), 1, "{name}: {found:x?}");
    }
}

/// Numbers that equal aligned places in the middle of a function of which only an unaligned pointer knows: behind an instruction that ends in a
/// zero, behind padding that is run over, and behind a jump and a call that code in front of them goes around. A function that begins behind a call that does not come back is one.
const NUMBERS: &str = r"
    .text
    .globl main
main:
    sub $8, %rsp
    call one
    call two
    mov $6, %edi
    call *packed+2(%rip)
    call *table(%rip)
    xor %edi, %edi
    call exit
    .p2align 4
    .byte 0x90
work:
    push %rbx
    sub $48, %rsp
    mov %rdi, 16(%rsp)
    movq $0, 8(%rsp)
    movq $0, 24(%rsp)
    .p2align 4
head:
    mov 8(%rsp), %rax
    inc %rax
    mov %rax, 8(%rsp)
    add %rax, 24(%rsp)
    test $1, %al
    je inside
    .p2align 4
    mov 24(%rsp), %rax
    xor %ecx, %ecx
    movq $11, 32(%rsp)
middle:
    mov 24(%rsp), %rax
inside:
    add 32(%rsp), %rax
    mov %rax, 24(%rsp)
    mov 8(%rsp), %rax
    cmp 16(%rsp), %rax
    jl head
    mov 24(%rsp), %rax
    jmp condition
    .p2align 4
turned:
    sub $3, %rax
condition:
    cmp $100, %rax
    jg turned
    test %al, %al
    jns around
    mov %rax, %rdi
    call *24(%rsp)
    .p2align 4, 0xcc
behind:
    add $1, %rax
around:
    add $48, %rsp
    pop %rbx
    ret
one:
    ret
two:
    lea 1(%rdi), %eax
    ret
    .p2align 4
ends:
    push %rax
    mov $1, %edi
    call exit
    .p2align 4
follows:
    lea 5(%rdi), %eax
    ret
    .data
    .p2align 3
    .quad head, 1
    .quad middle, 1
    .quad turned, 1
    .quad behind, 1
table:
    .quad follows, ends, 1
packed:
    .word 0
    .quad work
    .section .note.GNU-stack
";

#[test]
fn numbers_that_lead_into_a_function_that_nobody_knows_begin_none() {
    let shop = Workshop::new();
    shop.compile("gcc", "numbers", "s", NUMBERS, &["-no-pie"]);
    let bytes = shop.read("numbers");
    let image = Image::parse(&bytes).expect("an image");
    let address = |wanted: &str| address_of(&image, wanted);
    let (inside, begin) = (["head", "middle", "turned", "behind"].map(address), ["follows", "ends"].map(address));
    assert!(inside.iter().all(|address| address.is_multiple_of(16)));
    run(Command::new("strip").arg(shop.path("numbers")));
    let bytes = shop.read("numbers");
    let found = starts(&Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions"));
    assert!(inside.iter().all(|address| !found.contains_key(address)), "{found:x?}");
    assert!(begin.iter().all(|address| found.contains_key(address)), "{found:x?}");
}

/// Assembly as in libraries of codecs: what stands behind a jump whose table nobody knows is stored somewhere; nobody calls it.
const BEHIND_A_JUMP: &str = r"
    .text
    .globl main
main:
    lea host(%rip), %rax
    mov %rax, slots(%rip)
    lea behind(%rip), %rax
    mov %rax, slots+8(%rip)
    lea middle(%rip), %rax
    mov %rax, slots+16(%rip)
    lea reached(%rip), %rax
    mov %rax, slots+24(%rip)
    lea last(%rip), %rax
    mov %rax, slots+32(%rip)
    xor %eax, %eax
    ret
    .p2align 4
host:
    mov (%rdi,%rsi,8), %rax
    jmp *%rax
    .p2align 4
    inc %edi
    ret
    .p2align 4
behind:
    lea 3(%rdi), %eax
    test %eax, %eax
    je 1f
    ret
    .p2align 4
middle:
    dec %edi
    ret
1:  neg %eax
    .p2align 4
reached:
    mov %edi, %eax
    ret
    .p2align 4
last:
    lea 7(%rdi), %eax
    ret
    .bss
slots:
    .skip 64
    .section .note.GNU-stack
";

#[test]
fn functions_behind_a_jump_with_an_unknown_table_are_found_where_nothing_runs_or_branches_into_them() {
    let shop = Workshop::new();
    shop.compile("gcc", "tables", "s", BEHIND_A_JUMP, &["-pie"]);
    let bytes = shop.read("tables");
    let image = Image::parse(&bytes).expect("an image");
    let address = |wanted: &str| address_of(&image, wanted);
    let functions = ["host", "behind", "last"].map(address);
    let places = ["middle", "reached"].map(address);
    run(Command::new("strip").arg(shop.path("tables")));
    let bytes = shop.read("tables");
    let found = starts(&Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions"));
    assert!(functions.iter().all(|address| matches!(found.get(address), Some((_, FoundBy::Pointer)))), "{found:x?}");
    assert!(!places.iter().any(|address| found.contains_key(address)), "{found:x?}");
    assert_eq!(found[&functions[2]].0, 4, "{found:x?}");
}

/// Objects with virtual functions, made by a function that calls them through their tables alone.
const OBJECTS: &str = r#"
struct Shape { virtual int area(int x) { return x; } virtual int edge(int x) { if (x > 900) __builtin_abort(); return x + 1; } };
struct Square : Shape { int area(int x) override { return x * x; } int edge(int x) override { return 4 * x; } };
struct Cube : Square { int area(int x) override { int s = 0; for (int i = 0; i < x; i++) s += i * x; return s; } };
static Shape *choose(int x) { static Shape shape; static Square square; static Cube cube; return x > 5 ? &shape : x > 2 ? &square : &cube; }
int main(int c, char **) { int s = 0; for (int i = 0; i < 9; i++) { Shape *one = choose(i * c); s += one->area(i) + one->edge(i); } return s & 63; }
"#;

#[test]
fn virtual_functions_are_not_taken_for_parts_of_what_stands_in_front_of_them() {
    let shop = Workshop::new();
    let bare = ["-fno-asynchronous-unwind-tables", "-fno-exceptions", "-fno-rtti"];
    for (name, flags) in [("moved", ["-O1", "-fPIE", "-pie"]), ("fixed", ["-O1", "-fno-pie", "-no-pie"])] {
        shop.compile("g++", name, "cpp", OBJECTS, &[&flags[..], &bare].concat());
        let bytes = shop.read(name);
        let image = Image::parse(&bytes).expect("an image");
        let virtual_functions: Vec<u64> =
            image.symbols().iter().filter(|one| one.name.contains("area") || one.name.contains("edge")).map(|one| one.address).collect();
        assert_eq!(virtual_functions.len(), 5);
        run(Command::new("strip").arg(shop.path(name)));
        let bytes = shop.read(name);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        for address in virtual_functions {
            let inside = program.functions.iter().find(|one| one.contains(address) && one.entry != address);
            assert!(inside.is_none_or(|one| one.refusal.is_some()), "{name}: {address:#x} is in {:#x?}", inside.map(|one| one.entry));
        }
    }
}

/// `helper` follows a call that does not come back, and nothing but `handler`, which nothing but a table tells of, calls it.
const TAKEN_IN: &str = r"
    .text
    .globl main
main:
    sub $8, %rsp
    call host
    mov table(%rip), %rax
    call *%rax
    xor %eax, %eax
    add $8, %rsp
    ret
    .p2align 4
quits:
    sub $8, %rsp
    call abort@plt
    .p2align 4
host:
    sub $8, %rsp
    test %edi, %edi
    je 1f
    add $8, %rsp
    ret
1:  call quits
    .p2align 4
helper:
    lea 1(%rdi), %eax
    ret
    .p2align 4
handler:
    sub $8, %rsp
    call helper
    call later
    add $8, %rsp
    ret
    .p2align 4
later:
    lea 2(%rdi), %eax
    ret
    .data
table:
    .quad handler
    .section .note.GNU-stack
";

#[test]
fn functions_behind_pointers_may_call_what_was_taken_for_a_part_of_another() {
    let shop = Workshop::new();
    shop.compile("gcc", "taken", "s", TAKEN_IN, &["-pie"]);
    let bytes = shop.read("taken");
    let image = Image::parse(&bytes).expect("an image");
    let address = |wanted: &str| address_of(&image, wanted);
    let [helper, handler, later] = ["helper", "handler", "later"].map(address);
    run(Command::new("strip").arg(shop.path("taken")));
    let bytes = shop.read("taken");
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let found = starts(&program);
    assert_eq!(found.get(&handler).map(|one| one.1), Some(FoundBy::Pointer), "{found:x?}");
    assert_eq!(found.get(&later).map(|one| one.1), Some(FoundBy::Branch), "{found:x?}");
    let host = program.functions.iter().find(|one| one.contains(helper)).expect("someone has it");
    let is_entry = host.entry == helper || host.other_entries.contains(&helper);
    assert!(is_entry || host.refusal.is_some(), "{host:x?}");
}

/// What other functions jump to, and what tables hold, behind: calls of what never comes back, in the image and out of it; the jump to a
/// virtual function; and a `switch`.
const SWALLOWED: &str = r"
    .text
    .globl main
main:
    sub $8, %rsp
    call fails_inside
    call fails_outside
    call late
    lea object(%rip), %rdi
    call dispatch
    mov $1, %edi
    call choose
    xor %eax, %eax
    add $8, %rsp
    ret
    .p2align 4
fails_inside:
    test %edi, %edi
    js 1f
    ret
1:  push %rax
    call fails
    .p2align 4
behind_own:
    lea 1(%rdi), %eax
    ret
    .p2align 4
fails_outside:
    test %edi, %edi
    js 1f
    ret
1:  push %rax
    call abort@plt
    .p2align 4
behind_import:
    lea 2(%rdi), %eax
    ret
    .p2align 4
fails:
    push %rax
    call abort@plt
    .p2align 4
late:
    sub $8, %rsp
    call user
    add $8, %rsp
    ret
    .p2align 4
user:
    test %edi, %edi
    js 1f
    jmp behind_own
1:  jmp behind_import
    .p2align 4
dispatch:
    mov (%rdi), %rax
    mov 8(%rax), %rax
    jmp *%rax
    .p2align 4
first_virtual:
    mov $1, %eax
    ret
    .p2align 4
second_virtual:
    mov 8(%rdi), %eax
    ret
    .p2align 4
choose:
    cmp $3, %edi
    ja 2f
    mov %edi, %edi
    lea cases(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
1:  xor %eax, %eax
    ret
    .p2align 4
3:  mov $2, %eax
    ret
2:  mov $5, %eax
    ret
    .p2align 4
third_virtual:
    lea 3(%rdi), %eax
    inc %eax
    ret
    .section .rodata
    .p2align 2
cases:
    .long 1b - cases, 3b - cases, 2b - cases, 1b - cases
    .data
    .p2align 3
table:
    .quad first_virtual, second_virtual, third_virtual
object:
    .quad table, 0
    .section .note.GNU-stack
";

#[test]
fn functions_behind_ends_that_are_not_seen_at_once_are_none_of_what_stands_in_front_of_them() {
    let shop = Workshop::new();
    shop.compile("gcc", "swallowed", "s", SWALLOWED, &["-pie"]);
    let bytes = shop.read("swallowed");
    let image = Image::parse(&bytes).expect("an image");
    let address = |wanted: &str| address_of(&image, wanted);
    let sizes = [
        ("fails_inside", 11),
        ("behind_own", 4),
        ("fails_outside", 11),
        ("behind_import", 4),
        ("dispatch", 9),
        ("first_virtual", 6),
        ("second_virtual", 4),
        ("third_virtual", 6),
    ];
    let expected = sizes.map(|(name, size)| (name, address(name), size));
    let (choose, third) = (address("choose"), address("third_virtual"));
    run(Command::new("strip").arg(shop.path("swallowed")));
    let bytes = shop.read("swallowed");
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let found = starts(&program);
    for (name, address, size) in expected {
        assert_eq!(found.get(&address).map(|one| one.0), Some(size), "{name}: {found:x?}");
    }
    // The cases of the `switch` are its own.
    let choose = program.functions.iter().find(|one| one.entry == choose).expect("the one with the switch");
    assert!(choose.contains(choose.entry + 40) && choose.parts.iter().all(|part| part.end <= third), "{:x?}", choose.parts);
    for (name, address, _) in expected {
        let refusal = program.functions.iter().find(|one| one.entry == address).and_then(|one| one.refusal);
        assert_eq!(refusal, None, "{name}");
    }
}

/// `second`, which nothing but a table tells of, goes on in the middle of `first`.
const SHARING: &str = r"
    .text
    .globl main
main:
    sub $8, %rsp
    call first
    mov table(%rip), %rax
    call *%rax
    add $8, %rsp
    ret
    .p2align 4
first:
    lea 1(%rdi), %eax
    neg %eax
1:  lea 2(%rax), %eax
    ret
    .p2align 4
second:
    lea 3(%rdi), %eax
    neg %eax
    jmp 1b
    .p2align 4
    .data
table:
    .quad second
    .section .note.GNU-stack
";

#[test]
fn functions_behind_pointers_may_go_on_in_others() {
    let shop = Workshop::new();
    shop.compile("gcc", "sharing", "s", SHARING, &["-pie"]);
    let bytes = shop.read("sharing");
    let image = Image::parse(&bytes).expect("an image");
    let second = image.symbols().iter().find(|symbol| symbol.name == "second").expect("its symbol").address;
    run(Command::new("strip").arg(shop.path("sharing")));
    let bytes = shop.read("sharing");
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let host = program.functions.iter().find(|one| one.contains(second)).expect("someone has it");
    assert!(host.entry == second || host.other_entries.contains(&second), "{host:x?}");
    assert_eq!(host.refusal, None, "{host:x?}");
}

/// As codecs have it: one function sums up from the start, another one from the middle of what the first one calls.
const CALLING: &str = r"
    .text
    .globl main
main:
    sub $8, %rsp
    mov $3, %edi
    call first
    lea second(%rip), %rax
    mov %rax, hook(%rip)
    call *hook(%rip)
    add $8, %rsp
    ret
    .p2align 4
first:
    lea 1(%rdi), %eax
middle:
    add %edi, %eax
    ret
    .p2align 4
second:
    xor %eax, %eax
    call middle
    add %eax, %eax
    ret
    .local hook
    .comm hook, 8
    .section .note.GNU-stack
";

#[test]
fn straight_functions_behind_pointers_may_call_the_middle_of_others() {
    let shop = Workshop::new();
    shop.compile("gcc", "calling", "s", CALLING, &["-pie"]);
    let bytes = shop.read("calling");
    let image = Image::parse(&bytes).expect("an image");
    let address = |wanted: &str| address_of(&image, wanted);
    let [first, middle, second] = ["first", "middle", "second"].map(address);
    run(Command::new("strip").arg(shop.path("calling")));
    let bytes = shop.read("calling");
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let entered = |entry: u64| program.functions.iter().find(|one| one.entry == entry).unwrap_or_else(|| panic!("no function at {entry:#x}"));
    assert_eq!((entered(second).found_by, entered(second).refusal), (FoundBy::Pointer, None));
    let first = entered(first);
    assert!(first.refusal.is_some() || first.other_entries.contains(&middle), "{first:x?}");
}
