//! Functions that are never moved, and the reasons that they are refused with.

mod common;

use common::{Workshop, function};
use tare_code::{Program, Refusal};
use tare_image::Image;

#[test]
fn start_up_code_and_resolvers_are_refused() {
    let shop = Workshop::new();
    let source = r#"
        static int one(int x) { return x + 1; }
        static int (*resolve(void))(int) { return one; }
        int chosen(int x) __attribute__((ifunc("resolve")));
        int main(int c, char **v) { return chosen(c) + (v == 0); }
    "#;
    let bytes = shop.compile("gcc", "ifunc", "c", source, &["-O1"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let refusal = |name: &str| function(&program, name).refusal;
    assert_eq!(refusal("_start"), Some(Refusal::StartUp));
    assert_eq!(refusal("frame_dummy"), Some(Refusal::StartUp));
    assert_eq!(refusal("_init"), Some(Refusal::OutsideText));
    assert_eq!(refusal("main"), None);
    let resolver = image.symbols().iter().find(|symbol| symbol.name == "resolve").expect("the resolver");
    let owner = program.function_entered_at(resolver.address).expect("its function");
    assert_eq!(program.functions[owner].refusal, Some(Refusal::IfuncResolver));
}

#[test]
fn code_that_cannot_be_moved_is_refused_with_its_reason() {
    let shop = Workshop::new();
    let source = r#"
        .macro begin name
        .globl \name
        .type \name, @function
        .p2align 4
        \name:
        .cfi_startproc
        .endm
        .macro end name
        .cfi_endproc
        .size \name, . - \name
        .endm
        .text
        begin locked
            test %edi, %edi
            je 1f
            mov %edi, %ecx
            lock
        1:  cmpxchg %eax, (%rsi)
            ret
        end locked
        begin overlapping
            test %edi, %edi
            je 4f + 1
        4:  mov $0x90c3c031, %eax
            ret
        end overlapping
        begin inside
            call 2f
        2:  pop %rax
            ret
        end inside
        begin transaction
            xbegin 3f
        3:  ret
        end transaction
        begin unknown
            push %rbx
            .cfi_adjust_cfa_offset 8
            mov %rdi, %rbx
            jmp *%rbx
        end unknown
        begin other_frame
            mov 48(%rdi), %r8
            mov 56(%rdi), %rdx
            mov %r8, %rsp
            jmp *%rdx
        end other_frame
        begin tail
            jmp *%rdi
        end tail
        begin damaged
            .byte 0x06, 0x06
            ret
        end damaged
        begin short
            ret
        end short
        .byte 0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3
        begin padded
            ret
        end padded
        .p2align 4
        .globl unsized
        .type unsized, @function
        unsized:
            test %edi, %edi
            jne 1f
            mov $1, %eax
            ret
        .p2align 4
        1:  ret
        .p2align 4
        begin main
            movl $0, %eax
            ret
        end main
        .section .note.GNU-stack, "", @progbits
    "#;
    let bytes = shop.compile("gcc", "odd", "s", source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let expected = [
        ("locked", None),
        ("overlapping", Some(Refusal::OverlappingCode)),
        ("inside", Some(Refusal::CallIntoBody)),
        ("transaction", None),
        ("unknown", Some(Refusal::UnknownJump)),
        ("other_frame", Some(Refusal::SpecialUnwinding)),
        ("tail", None),
        ("damaged", Some(Refusal::Undecodable)),
        ("short", Some(Refusal::ShortEntry)),
        ("padded", None),
        ("main", None),
    ];
    for (name, refusal) in expected {
        assert_eq!(function(&program, name).refusal, refusal, "{name}");
    }
    let size = |name: &str| {
        let one = function(&program, name);
        let graph = program.cfg(one, &program.body(&image, one));
        (graph.blocks.len(), graph.edges())
    };
    assert_eq!(size("locked"), (3, 3), "the branch past a prefix leads to its instruction");
    assert_eq!(size("unsized"), (3, 2), "padding begins no block");
}

/// Code that calls over its data, and takes the return address for the data's, in an image without symbols and unwind entries. What puts
/// it back comes back.
#[test]
fn who_takes_its_return_address_is_not_moved_nor_are_its_callers() {
    let shop = Workshop::new();
    let source = r#"
        .text
        .globl main
        .type main, @function
        main:
            call over
            call back
            ret
        .size main, . - main
        .p2align 4
        over:
            call 1f
            .byte 0x31, 0xc0, 0x90, 0x90
        1:  pop %rsi
            movzbl (%rsi), %eax
            ret
        .p2align 4
        back:
            pop %rdi
            mov $39, %eax
            syscall
            push %rdi
            ret
            .byte 0x90, 0x90, 0x90
        .section .note.GNU-stack, "", @progbits
    "#;
    let bytes = shop.compile("gcc", "taken", "s", source, &["-s"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let text = image.text().iter().find(|range| image.bytes_at(range.end - 1, 1).is_some()).expect("text").clone();
    let place = |pattern: &[u8]| {
        let all = image.bytes_at(text.start, text.end - text.start).expect("bytes");
        text.start + all.windows(pattern.len()).position(|window| window == pattern).expect("the code") as u64
    };
    let refusal = |address: u64| program.functions[program.function_at(address).expect("a function")].refusal;
    let over = place(&[0xe8, 4, 0, 0, 0, 0x31, 0xc0, 0x90, 0x90]);
    assert!(refusal(over).is_some() && refusal(over + 9).is_some(), "{:?} {:?}", refusal(over), refusal(over + 9));
    assert_ne!(refusal(place(&[0x5f, 0xb8, 39, 0, 0, 0])), Some(Refusal::MoreThanRegisters));
}

/// Where no symbol of a language's runtime is there, its texts tell it: all of them, each a C string of its own.
#[test]
fn ocaml_and_haskell_code_is_never_moved_stripped_or_not() {
    let shop = Workshop::new();
    let with = |texts: &[&str]| {
        let list: String = texts.iter().map(|text| format!("{text:?}, ")).collect();
        format!(
            "#include <stdio.h>\nstatic const char *const volatile texts[] = {{ {list}\"none\" }};\nint work(int x) {{ return x + 1; }}\n\
             int main(int c, char **v) {{ (void)v; return puts(texts[c % {}]) + work(c); }}\n",
            texts.len() + 1
        )
    };
    let out_of_bounds = "Fatal error: exception Invalid_argument(\"index out of bounds\")\n";
    let ocaml: &[&str] = &["OCAMLRUNPARAM", "CAMLRUNPARAM", out_of_bounds];
    let haskell: &[&str] = &["GHCRTS", "THUNK_SELECTOR", "BLOCKING_QUEUE", "ATOMICALLY_FRAME", "CATCH_RETRY_FRAME"];
    for (language, symbol, texts) in [
        (Some(Refusal::OcamlCode), "int caml_frametable[4] = { 1 };\n", ocaml),
        (Some(Refusal::HaskellCode), "int stg_ap_p_info[4] = { 1 };\n", haskell),
        (None, "", &ocaml[..2]),
        (None, "", &haskell[..2]),
        // As a program has them that looks for them.
        (None, "", &[&ocaml.join(" "), &haskell.join(" ")]),
    ] {
        for (text, flag) in [(format!("{symbol}{}", with(&[])), "-O1"), (with(texts), "-s")] {
            let bytes = shop.compile("gcc", "managed", "c", &text, &["-O1", flag]);
            let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
            let main = &program.functions[program.main().expect("main")];
            assert_eq!(main.refusal, language, "{flag} {text}");
        }
    }
}

/// The tests hold the recognisers, as the tool itself does.
#[test]
fn a_program_that_looks_for_the_texts_of_a_runtime_is_none_of_its_language() {
    let bytes = std::fs::read(std::env::current_exe().expect("this program")).expect("its bytes");
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let is_managed = |refusal: Option<Refusal>| matches!(refusal, Some(Refusal::OcamlCode | Refusal::HaskellCode));
    assert!(!program.functions.iter().any(|function| is_managed(function.refusal)));
}

#[test]
fn go_code_is_never_moved() {
    let shop = Workshop::new();
    let table = "__attribute__((section(\".gopclntab\"), used)) static const int table[] = { 0xfffffff1 };";
    // A library that the system's linker made has the note alone, whose owner is filled up to four bytes.
    let note = "__asm__(\".pushsection .note.go.buildid, \\\"a\\\", @note; .long 4, 4, 4; .ascii \\\"Go\\\\0\\\\0\\\"; .long 1; .popsection\");";
    let source = "int work(int x) { return x + 1; }\nint main(int c, char **v) { (void)v; return work(c); }\n";
    for (text, is_go) in [(source.to_string(), false), (format!("{table}\n{source}"), true), (format!("{note}\n{source}"), true)] {
        let bytes = shop.compile("gcc", "go", "c", &text, &["-O1"]);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        assert_eq!(function(&program, "work").refusal == Some(Refusal::GoCode), is_go);
        assert_eq!(function(&program, "main").refusal == Some(Refusal::GoCode), is_go);
    }
}

#[test]
fn builtins_of_v8_are_never_moved() {
    let shop = Workshop::new();
    let source = "int Builtins_Work(int x) { return x + 1; }\nint main(int c, char **v) { (void)v; return Builtins_Work(c); }\n";
    let entry = "void Builtins_InterpreterEntryTrampoline(void) {}\n";
    for (text, is_v8) in [(source.to_string(), false), (format!("{entry}{source}"), true)] {
        let bytes = shop.compile("gcc", "v8", "c", &text, &["-O1"]);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        assert_eq!(function(&program, "Builtins_Work").refusal == Some(Refusal::V8Builtin), is_v8);
    }
    let engine = format!("void _ZN2v88internal23DefaultEmbeddedBlobCodeEv(void) {{}}\n{source}");
    for (text, is_nameless) in [(engine.clone(), true), (format!("{entry}{engine}"), false)] {
        let bytes = shop.compile("gcc", "v8", "c", &text, &["-O1"]);
        let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
        assert_eq!(function(&program, "main").refusal == Some(Refusal::AroundV8Builtins), is_nameless);
    }
}

/// No function of these has an unwind entry or a symbol that says what it is, and nothing is known to lead to those behind others.
const BEHIND_OTHERS: &str = r#"
    .macro begin name
    .p2align 4
    \name:
    .endm
    .text
    .globl main
    .type main, @function
    main:
        .cfi_startproc
        push %rbx
        call ends
        call goes_back
        call holds_label
        call has_table
        call comes_back
        call last
        pop %rbx
        ret
        .cfi_endproc
    .size main, . - main
    begin stop
        push %rax
        call exit@PLT
    begin ends
        test %edi, %edi
        js 1f
        ret
    1:  push %rax
        call stop
    begin behind_ends
        lea 5(%rdi), %eax
        ret
    begin goes_back
        test %edi, %edi
    1:  js 2f
        ret
    2:  push %rax
        call stop
    begin behind_goes_back
        add $7, %edi
        jmp 1b
    begin holds_label
        test %edi, %edi
    1:  js 2f
        ret
    2:  push %rax
        call stop
    begin behind_holds_label
        lea 1b(%rip), %rax
        ret
    begin has_table
        test %edi, %edi
        js 1f
        ret
    1:  push %rax
        call stop
    begin behind_has_table
        and $1, %edi
        lea targets(%rip), %rax
        movslq (%rax,%rdi,4), %rdx
        add %rdx, %rax
        jmp *%rax
    first_case: mov $3, %eax
        ret
    second_case: mov $4, %eax
        ret
    begin comes_back
        test %edi, %edi
        js 1f
        ret
    1:  push %rax
        call last
        .p2align 4
        pop %rcx
        lea 3(%rdi), %eax
        ret
    begin last
        lea 3(%rdi), %eax
        imul %edi, %eax
        ret
    .section .rodata
    .p2align 2
    targets: .long first_case - targets, second_case - targets
    .section .note.GNU-stack, "", @progbits
"#;

#[test]
fn what_nothing_leads_to_is_taken_off_the_function_in_front() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "behind", "s", BEHIND_OTHERS, &["-x", "assembler"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let address = |name: &str| image.symbols().iter().find(|symbol| symbol.name == name).expect("the label").address;
    let function = |name: &str| &program.functions[program.function_entered_at(address(name)).expect("a function")];
    let refusal = |name: &str| function(name).refusal;
    assert_eq!(refusal("ends"), None);
    assert!(function("ends").parts[0].end <= address("behind_ends"));
    assert_eq!(program.function_at(address("behind_ends")), None);
    assert_eq!(refusal("goes_back"), Some(Refusal::HeldElsewhere));
    assert_eq!(refusal("holds_label"), Some(Refusal::HeldElsewhere));
    assert_eq!(refusal("has_table"), Some(Refusal::Unreached));
    assert_eq!(refusal("comes_back"), Some(Refusal::Unreached), "the call is not known not to come back");
    assert_eq!(refusal("last"), None);
}

#[test]
fn data_among_code_to_which_much_points_is_looked_at_once() {
    let shop = Workshop::new();
    // Each function hands on an address within what stands in front of it.
    let functions: String = (0..400)
        .map(|number| format!("f{number}: .cfi_startproc\nlea blob+{}(%rip), %rdi\ncall puts@PLT\nret\n.cfi_endproc\n", 2000 + 16 * number))
        .collect();
    let source = format!(".text\nblob: .rept 100000\n.byte 0x05, 0x10, 0x20, 0x30, 0x40\n.endr\n{functions}.globl main\nmain: ret\n");
    let bytes = shop.compile("gcc", "blob", "s", &source, &["-x", "assembler"]);
    let image = Image::parse(&bytes).expect("an image");
    let before = peak();
    let program = Program::analyse(&image).expect("functions");
    assert!(program.functions.len() > 400);
    assert!(peak() - before < 100 << 10, "half a megabyte is decoded once, not 400 times");
}

/// KiB that this process has had in memory at most.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
