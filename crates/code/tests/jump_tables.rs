//! Jump tables: every form that compilers make, with the targets that the source implies.

mod common;

use std::collections::BTreeSet;

use common::{CASES, SHAPES, Workshop, function, has, without_section_headers};
use tare_code::{Flow, Function, JumpTable, Program, Refusal, TableForm};
use tare_image::Image;

#[test]
fn a_switch_has_its_seven_targets() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let choice = function(&program, "choice");
        let body = program.body(&image, choice);
        let about = format!("{compiler} {flags:?}");
        let [table] = body.tables.as_slice() else { panic!("{about}: {:?}", body.tables) };
        assert_eq!(choice.refusal, None, "{about}");
        assert_eq!((table.targets.len() >= 7, table.reach), (true, 7), "{about}");
        let own: BTreeSet<u64> = table.targets[..7].iter().copied().collect();
        assert!((6..=7).contains(&own.len()) && own.iter().all(|&target| choice.contains(target)), "{about}");
        let starts: BTreeSet<u64> = body.instructions.iter().map(|one| one.address).collect();
        assert!(own.is_subset(&starts), "{about}");
        let jumps = body.instructions.iter().filter(|one| matches!(one.flow, Flow::TableJump { .. }));
        assert_eq!(jumps.map(|one| one.address).collect::<Vec<_>>(), table.jumps, "{about}");
        assert!(!table.references.is_empty() && table.references.iter().all(|one| starts.contains(one)), "{about}");
        let form = if flags.contains(&"-no-pie") { TableForm::Absolute64 } else { TableForm::Relative32 };
        assert_eq!(table.form, form, "{about}");
    }
}

#[test]
fn a_case_that_lies_far_away_ends_no_table_without_section_headers() {
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        __attribute__((noinline)) int choice(int x) {
            switch (x) {
            case 0: return 5; case 1: return 3; case 2: return 8; case 3: return 13; case 4: abort();
            case 5: return 21; case 6: return 34; case 7: return 1; case 8: return 2; case 9: return 7;
            }
            return printf("%d", x);
        }
        int main(int c, char **v) { (void)v; return choice(c); }
    "#;
    // The cold case is what the text begins with. The PLT in front of it grows by a resolver at a time, and ends right there once.
    let resolved = |number: usize| {
        format!(
            "static int own{number}(int x) {{ return x + {number}; }}\nstatic void *pick{number}(void) {{ return own{number}; }}\n\
                 int chosen{number}(int) __attribute__((ifunc(\"pick{number}\")));\n"
        )
    };
    let shop = Workshop::new();
    for count in 0..8 {
        let calls: String = (0..count).map(|number| format!(" + chosen{number}(c)")).collect();
        let source = (0..count).map(resolved).collect::<String>() + &source.replace("choice(c)", &format!("choice(c){calls}"));
        let flags = ["-O2", "-static", "-no-pie", "-fno-tree-switch-conversion"];
        let bytes = shop.compile("gcc", "far", "c", &source, &flags);
        let entry = function(&Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions"), "choice").entry;
        let [with, without] = [bytes.clone(), without_section_headers(&bytes)].map(|bytes| {
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            let choice = program.functions.iter().find(|one| one.entry == entry).expect("the function");
            let tables = program.body(&image, choice).tables;
            tables.iter().map(|table| (table.reach, table.targets[..table.reach].to_vec())).collect::<Vec<_>>()
        });
        assert_eq!((with.len(), with[0].0), (1, 10), "{count}");
        assert_eq!(with, without, "{count}");
    }
}

/// A switch in every second function, each with its own number of cases, so that tables stand side by side.
fn many_switches() -> String {
    let mut source = "#include <stdio.h>\n#include <stdlib.h>\n".to_owned();
    for number in 0..20 {
        source += &format!("__attribute__((noinline)) int f{number}(int x, int y) {{ int s = y; switch (x) {{\n");
        for case in 0..5 + number {
            let more = ["puts(\"a\")", "rand() + puts(\"b\")", "getchar() * 3"][case % 3];
            source += &format!("case {case}: s = printf(\"%d\", y + {case}) + {more} + {number}; break;\n");
        }
        source += "} if (y > 3) switch (s) {";
        for case in 0..7_usize {
            let more = ["puts(\"c\")", "rand() - puts(\"d\")", "getchar() * 5"][case % 3];
            source += &format!("case {}: s += printf(\"%d\", {number} + y) * {more} - {case}; break;\n", case + 10);
        }
        source += "default: s = 1; } return s; }\n";
    }
    let calls: Vec<String> = (0..20).map(|number| format!("f{number}(c, c + 1)")).collect();
    source + &format!("int main(int c, char **v) {{ return {} + (v == 0); }}\n", calls.join(" + "))
}

#[test]
fn neighbouring_tables_do_not_run_into_each_other() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "many", "c", &many_switches(), flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let about = format!("{compiler} {flags:?}");
        let mut ends: Vec<(u64, u64)> = Vec::new();
        for number in 0..20_usize {
            let function: &Function = function(&program, &format!("f{number}"));
            assert_eq!(function.refusal, None, "{about}");
            let body = program.body(&image, function);
            assert_eq!(body.tables.len(), 2, "{about} f{number}");
            let mut lengths: Vec<usize> =
                body.tables.iter().map(|table| table.targets.iter().take_while(|&&target| function.contains(target)).count()).collect();
            lengths.sort_unstable();
            let mut expected = [5 + number, 7];
            expected.sort_unstable();
            assert_eq!(lengths, expected, "{about} f{number}");
            let mut reaches: Vec<usize> = body.tables.iter().map(|table| table.reach).collect();
            reaches.sort_unstable();
            assert_eq!(reaches, expected, "{about} f{number}");
            for table in &body.tables {
                let size = table.targets.len() as u64 * table.form.entry_size();
                ends.push((table.address, table.address + size));
                assert_eq!(table.jumps.len(), 1, "{about} f{number}");
            }
        }
        ends.sort_unstable();
        assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{about}");
    }
}

/// A table of three entries with a fourth behind it that leads to code as well; `guard` stands in front of the jump.
fn guarded(name: &str, guard: &str) -> String {
    format!(
        ".globl {name}\n.type {name}, @function\n.p2align 4\n{name}:\n.cfi_startproc\n{guard}\n\
         lea 7f(%rip), %rax\nmovslq (%rax,%rdi,4), %rdx\nadd %rax, %rdx\njmp *%rdx\n\
         1: mov $1, %eax\nret\n2: mov $2, %eax\nret\n3: mov $3, %eax\nret\n4: mov $4, %eax\nret\n9: xor %eax, %eax\nret\n\
         .cfi_endproc\n.size {name}, . - {name}\n.section .rodata\n.p2align 2\n7: .long 1b-7b, 2b-7b, 3b-7b, 4b-7b, 0\n.text\n"
    )
}

#[test]
fn a_guard_says_how_far_a_table_reaches() {
    let cases = [
        ("above", "cmp $2, %edi\nja 9f\nmov %edi, %edi", 3),
        ("at_or_above", "cmp $3, %edi\njae 9f\nmov %edi, %edi", 3),
        ("below_or_equal", "cmp $2, %edi\njbe 5f\njmp 9f\n5: mov %edi, %edi", 3),
        ("below", "cmp $3, %edi\njb 5f\njmp 9f\n5: mov %edi, %edi", 3),
        ("by_mask", "and $1, %edi", 2),
        ("of_a_byte", "cmp $2, %dil\nja 9f\nmovzbl %dil, %edi", 3),
        ("in_the_frame", "mov %edi, -4(%rsp)\ncmpl $2, -4(%rsp)\nja 9f\nmov -4(%rsp), %edi", 3),
        ("not_of_this_number", "cmp $2, %esi\nja 9f\nmov %edi, %edi", 4),
        ("changed_since", "cmp $2, %edi\nja 9f\nadd %esi, %edi", 4),
        ("of_a_part_only", "cmp $2, %dil\nja 9f\nmov %edi, %edi", 4),
        ("with_a_sign", "cmp $2, %edi\njg 9f\nmov %edi, %edi", 4),
        ("entered_behind_it", "test %esi, %esi\njne 5f\ncmp $2, %edi\nja 9f\n5: mov %edi, %edi", 4),
        ("flags_of_another", "cmp $2, %edi\ntest %esi, %esi\nja 9f\nmov %edi, %edi", 4),
        ("the_frame_changed", "cmpl $2, -4(%rsp)\nja 9f\nmov %esi, -4(%rsp)\nmov -4(%rsp), %edi", 4),
    ];
    let mut source: String = ".text\n".to_owned();
    source.extend(cases.iter().map(|(name, guard, _)| guarded(name, guard)));
    source += ".globl main\n.type main, @function\nmain: ret\n.size main, . - main\n.section .note.GNU-stack, \"\", @progbits\n";
    let bytes = Workshop::new().compile("gcc", "guards", "s", &source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    for (name, _, expected) in cases {
        let body = program.body(&image, function(&program, name));
        let reaches: Vec<(usize, usize)> = body.tables.iter().map(|table| (table.reach, table.reached().len())).collect();
        assert_eq!(reaches, [(expected, expected)], "{name}");
        let cfg = program.cfg(function(&program, name), &body);
        let entered = cfg.blocks.iter().map(|block| block.successors.len()).max();
        assert_eq!(entered, Some(expected), "{name}");
    }
}

#[test]
fn tables_of_the_large_model_are_understood_or_refused() {
    let shop = Workshop::new();
    for flags in
        [["-O2", "-mcmodel=large", "-pie", "-fPIC"], ["-O0", "-mcmodel=large", "-pie", "-fPIC"], ["-O2", "-mcmodel=large", "-no-pie", "-fno-pie"]]
    {
        let bytes = shop.compile("gcc", "large", "c", SHAPES, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for (name, entries) in [("choice", 7), ("threaded", 3)] {
            let one = function(&program, name);
            let body = program.body(&image, one);
            match one.refusal {
                Some(refusal) => assert_eq!(refusal, Refusal::UnknownJump, "{name} {flags:?}"),
                None => assert!(body.tables[0].reached()[..entries].iter().all(|&target| one.contains(target)), "{name} {flags:?}"),
            }
            let tail_calls = body.instructions.iter().filter(|one| one.flow == Flow::IndirectTailCall).count();
            assert!(name == "choice" || tail_calls == 0, "{name} {flags:?}");
        }
        let tail = program.body(&image, function(&program, "through_pointer"));
        assert!(!tail.instructions.iter().any(|one| one.flow == Flow::UnknownJump), "{flags:?}");
    }
}

#[test]
fn a_jump_to_pieces_of_equal_size_has_them_as_targets() {
    let mut source = ".text\n".to_owned();
    for (name, size, scaled) in [("by_shift", 16, "shl $4, %edi"), ("by_lea", 48, "shl $4, %edi\nlea (%rdi,%rdi,2), %edi")] {
        let body = format!("and $3, %edi\nlea 9f(%rip), %rdx\n{scaled}\nadd %rdi, %rdx\njmp *%rdx\n");
        let rest: String = (0..4).map(|piece| format!(".org 9b + {}, 0x90\nmov ${piece}, %eax\nret\n", size * piece)).collect();
        source += &format!(
            ".globl {name}\n.type {name}, @function\n.p2align 6\n{name}:\n.cfi_startproc\n{body}.p2align 4\n9:\n{rest}.cfi_endproc\n.size {name}, . - {name}\n"
        );
    }
    source += ".globl main\n.type main, @function\nmain: ret\n.size main, . - main\n.section .note.GNU-stack, \"\", @progbits\n";
    let bytes = Workshop::new().compile("gcc", "pieces", "s", &source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    for (name, size) in [("by_shift", 16), ("by_lea", 48)] {
        let one = function(&program, name);
        let body = program.body(&image, one);
        let [table] = body.tables.as_slice() else { panic!("{name}: {:?}", body.tables) };
        assert_eq!((table.form, table.targets.len()), (TableForm::Code { size }, 4), "{name}");
        assert_eq!(one.refusal, Some(Refusal::CodePieces), "{name}");
        assert_eq!(program.metrics(&image, one, None).unresolved_jumps, 0, "{name}");
        assert_eq!(program.metrics(&image, one, None).edges, 4, "{name}");
    }
}

/// Whether the `main` of a program in assembly is refused, and its one table.
fn table_of_main(source: &str, flag: &str) -> (Option<Refusal>, JumpTable) {
    let bytes = Workshop::new().compile("gcc", "main", "s", source, &[flag]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let main = function(&program, "main");
    match program.body(&image, main).tables.as_slice() {
        [table] => (main.refusal, table.clone()),
        tables => panic!("{flag}: {tables:?}"),
    }
}

/// A `switch` whose least case is 4.
const LEAST: &str = r"
    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    mov (%rdi), %rax
    and $7, %eax
    lea table(%rip), %rdx
    movslq -16(%rdx,%rax,4), %rax
    add %rdx, %rax
    jmp *%rax
1:  inc %eax
2:  inc %eax
3:  inc %eax
    ret
    .cfi_endproc
    .size main, . - main
    .section .rodata
    .p2align 2
table:
    .long 1b - table, 2b - table, 3b - table, 1b - table
    .section .note.GNU-stack
";

#[test]
fn a_table_is_found_that_is_counted_from_its_least_case() {
    let (refusal, table) = table_of_main(LEAST, "-pie");
    assert_eq!((refusal, table.form, table.reach), (None, TableForm::Relative32, 4), "{table:?}");
}

/// A table without a guard, and behind it words that lead to another function, whom nobody here is known to read.
const UNGUARDED: &str = r"
    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    lea table(%rip), %r11
    movslq (%r11,%rdx,4), %rcx
    lea (%r11,%rcx), %rcx
    jmp *%rcx
1:  inc %eax
2:  inc %eax
3:  inc %eax
    ret
    .cfi_endproc
    .size main, . - main
    .type other, @function
other:
    .cfi_startproc
    xor %eax, %eax
    ret
    .cfi_endproc
    .size other, . - other
    .section .rodata
    .p2align 2
table:
    .long 1b - table, 2b - table, 3b - table, 1b - table
    .long other - table, other - table + 2, other - table
    .section .note.GNU-stack
";

#[test]
fn a_table_without_a_guard_ends_behind_its_last_entry_that_stays() {
    for flag in ["-pie", "-no-pie"] {
        let (_, table) = table_of_main(UNGUARDED, flag);
        assert!(table.targets.len() >= 7 && table.reach == 4, "{flag}: {table:?}");
    }
}

/// A `switch` in a loop, with its table's address loaded in front of it. Behind a call stands its head, with another address in that register.
fn around_a_call(callee: &str) -> String {
    format!(
        r#"
    .text
    .type callee, @function
callee:
    .cfi_startproc
9:  {callee}
    .cfi_endproc
    .size callee, . - callee
    .globl main
    .type main, @function
main:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    lea table(%rip), %rbx
    jmp 5f
4:  lea 6f(%rip), %rbx
    call callee
5:  cmp $3, %edi
    ja 7f
    mov %edi, %eax
    movslq (%rbx,%rax,4), %rax
    add %rbx, %rax
    jmp *%rax
1:  inc %edi
    jmp 5b
2:  test %esi, %esi
    jne 4b
3:  add $2, %edi
    jmp 5b
7:  pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size main, . - main
    .section .rodata
    .p2align 3
6:  .string "no table"
    .p2align 3
table:
    .long 1b - table, 2b - table, 3b - table, 1b - table
    .section .note.GNU-stack, "", @progbits
"#
    )
}

#[test]
fn what_stands_behind_a_call_that_never_comes_back_is_not_reached_over_it() {
    for (callee, refusal, known) in [("jmp 9b", None, 1), ("ud2", None, 1), ("ret", Some(Refusal::UnknownJump), 0)] {
        let bytes = Workshop::new().compile("gcc", "main", "s", &around_a_call(callee), &[]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let main = function(&program, "main");
        let table_jumps = program.body(&image, main).instructions.iter().filter(|one| matches!(one.flow, Flow::TableJump { .. })).count();
        assert_eq!((main.refusal, table_jumps), (refusal, known), "{callee}");
        assert_eq!(program.metrics(&image, main, None).unresolved_jumps, 1 - known, "{callee}");
    }
}

/// As assembly of codecs does: a case finds data in front of a table by the table's address, or by one of its own.
fn beside_a_table(load: &str, read: &str) -> String {
    format!(
        r#"
    .globl main
main:
    .cfi_startproc
    lea table(%rip), %rdx
    cmp $1, %edi
    ja 2f
    mov %edi, %edi
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
1:  {load}
    {read}
    ret
2:  xor %eax, %eax
    ret
    .cfi_endproc
    .size main, . - main
    .section .rodata
    .p2align 3
    .long 42
table:
    .long 1b - table, 2b - table
    .section .note.GNU-stack, "", @progbits
"#
    )
}

#[test]
fn a_table_whose_address_leads_to_other_data_as_well_is_not_understood() {
    let (read, number) = ("mov -4(%rdx), %eax", "lea -4(%rdx), %eax");
    let unknown = Some(Refusal::UnknownJump);
    let cases = [
        ("nop", read, "-pie", unknown),
        ("mov %rsp, %rdx", read, "-pie", None),
        ("nop", "nopl -4(%rdx)", "-pie", None),
        // Control does not come back from there.
        ("call abort@PLT", read, "-pie", None),
        // Half of an address is one where the image is not moved.
        ("nop", number, "-pie", None),
        ("nop", number, "-no-pie", unknown),
        ("nop", "lea -4(%rdx), %rax", "-pie", unknown),
    ];
    for (load, read, kind, refusal) in cases {
        let bytes = Workshop::new().compile("gcc", "main", "s", &beside_a_table(load, read), &[kind]);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        assert_eq!(function(&program, "main").refusal, refusal, "{load} {read} {kind}");
    }
}
