//! Which functions are found, and what belongs to them.

mod common;

use std::process::Command;

use common::{CASES, SHAPES, Workshop, assert_same_functions, function, has, run, tool, without_section_headers};
use tare_code::{Program, Refusal};
use tare_image::Image;

#[test]
fn a_stripped_program_has_the_same_functions() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 4] =
        [("pie", &["-O2", "-pie", "-fPIE"]), ("fixed", &["-O2", "-no-pie", "-fno-pie"]), ("slow", &["-O0"]), ("marked", &["-O2", "-fcf-protection"])];
    for (name, flags) in cases {
        shop.compile("gcc", name, "c", SHAPES, flags);
        let whole = shop.read(name);
        let image = Image::parse(&whole).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        run(Command::new("strip").arg(shop.path(name)));
        let bare = shop.read(name);
        let image = Image::parse(&bare).expect("an image");
        let stripped = Program::analyse(&image).expect("functions");
        if name != "fixed" {
            assert_same_functions(&program, &stripped);
        }
        let main = program.main().expect("main");
        assert_eq!(stripped.functions[stripped.main().expect("main")].entry, program.functions[main].entry);
        assert_eq!(function(&stripped, "main").entry, program.functions[main].entry);
        assert!(stripped.functions.iter().any(|one| one.name == format!("fn_{:x}", one.entry)));
    }
}

#[test]
fn functions_without_symbol_and_unwind_entry_are_found_by_their_callers() {
    let shop = Workshop::new();
    shop.compile("gcc", "bare", "c", SHAPES, &["-O2", "-fno-asynchronous-unwind-tables"]);
    let whole = shop.read("bare");
    let image = Image::parse(&whole).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    run(Command::new("strip").arg(shop.path("bare")));
    let bare = shop.read("bare");
    let image = Image::parse(&bare).expect("an image");
    let stripped = Program::analyse(&image).expect("functions");
    // `straight` is reached through a pointer too, but called; nothing calls `main`, which `_start` names.
    for name in ["straight", "joined", "nested", "fail", "checked", "choice", "threaded", "hand_over", "odd", "main"] {
        let expected = function(&program, name);
        let found = stripped.function_entered_at(expected.entry).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(stripped.functions[found].parts, expected.parts, "{name}");
    }
    assert!(function(&stripped, "main").refusal.is_none());
}

/// Empty statements that are led to, forwards and backwards, behind jumps.
const LONE_NOPS: &str = r#"
int g;
__attribute__((noinline)) int behind(int x) {
    if (x > 3) { if (x > 5) g = 1; else goto end; } else g = 7;
    return g;
end: __asm__ volatile("nop");
    return 5;
}
__attribute__((noinline)) int again(int x) { for (; x; x--) __asm__ volatile("nop"); return g; }
__attribute__((noinline)) int nested(int x, int y) {
    switch (x) {
    case 0: switch (y) { case 1: g = 2; break; case 2: g = 5; break; case 3: g = 6; break; case 4: g = 8; break; case 5: g = 11; break; default:; } break;
    case 1: g = 9; break;
    case 2: g = 3; break;
    case 3: g = 1; break;
    case 4: g = 22; break;
    default:;
    }
    return g;
}
int main(int c, char **v) { return behind(c) + again(c) + nested(c, c); }
"#;

#[test]
fn a_nop_that_a_branch_leads_to_is_no_padding() {
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let whole = shop.compile(compiler, "nops", "c", LONE_NOPS, &["-O0", "-fno-asynchronous-unwind-tables"]);
        let image = Image::parse(&whole).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        run(Command::new("strip").arg(shop.path("nops")));
        let bare = shop.read("nops");
        let bare = Image::parse(&bare).expect("an image");
        let stripped = Program::analyse(&bare).expect("functions");
        for name in ["behind", "again", "nested"] {
            let expected = function(&program, name);
            let found = &stripped.functions[stripped.function_entered_at(expected.entry).expect(name)];
            assert_eq!(stripped.metrics(&bare, found, None), program.metrics(&image, expected, None), "{compiler} {name}");
        }
    }
}

#[test]
fn every_function_symbol_has_its_entry() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 3] = [("pie", &["-O2"]), ("static", &["-O2", "-static"]), ("slow", &["-O0"])];
    for (name, flags) in cases {
        let bytes = shop.compile("gcc", name, "c", SHAPES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for line in tool("nm", &["--defined-only"], &shop.path(name)).lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [address, "t" | "T", symbol] = fields.as_slice() else { continue };
            let address = u64::from_str_radix(address, 16).expect("an address");
            let is_function = image.symbols_at(address).any(|one| one.is_function && one.name == *symbol);
            if !is_function || symbol.contains(".cold") {
                continue;
            }
            let owner = program.function_at(address).map(|index| &program.functions[index]);
            let owner = owner.unwrap_or_else(|| panic!("{symbol} in {name}"));
            let is_entered = owner.entry == address || owner.other_entries.contains(&address);
            assert!(!owner.name.starts_with("fn_"), "{symbol} in {name}: {owner:x?}");
            assert!(is_entered, "{symbol} in {name}: {owner:x?}");
        }
    }
}

#[test]
fn code_where_a_transaction_goes_on_that_failed_is_a_part_of_its_function() {
    let shop = Workshop::new();
    let source = r#"
        .text
        .globl elided, main
        .type elided, @function
        .type main, @function
        elided:
            .cfi_startproc
            push %rbx
            .cfi_adjust_cfa_offset 8
            xbegin failed
            mov (%rdi), %eax
            xend
            pop %rbx
            .cfi_adjust_cfa_offset -8
            ret
            .cfi_endproc
            .size elided, . - elided
        main:
            .cfi_startproc
            xor %eax, %eax
            ret
            .cfi_endproc
            .size main, . - main
        .section .text.unlikely, "ax", @progbits
            .cfi_startproc
            .cfi_def_cfa_offset 16
            ud2
        failed:
            mov $-1, %eax
            pop %rbx
            .cfi_adjust_cfa_offset -8
            ret
            .cfi_endproc
    "#;
    let bytes = shop.compile("gcc", "elided", "s", source, &[]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let elided = function(&program, "elided");
    assert_eq!((elided.parts.len(), elided.refusal), (2, None), "{elided:x?}");
}

#[test]
fn functions_that_never_return_are_known_through_their_callers() {
    let shop = Workshop::new();
    let source = r#"
        #include <setjmp.h>
        #include <stdio.h>
        #include <stdlib.h>
        #define KEEP __attribute__((noinline, noclone, noipa))
        jmp_buf place;
        KEEP void die(const char *text) { puts(text); exit(1); }
        KEEP void usage(void) { die("usage"); }
        KEEP void back(void) { longjmp(place, 1); }
        KEEP void forever(void) { for (;;) puts("again"); }
        KEEP int maybe(int x) { if (x > 2) usage(); return x; }
        KEEP void sure(int x) { if (x > 2) usage(); else die("else"); }
        KEEP void jumps(void) { usage(); }
        int main(int c, char **v) { if (c == 9) { back(); forever(); sure(c); jumps(); } return maybe(c) + (v == 0); }
    "#;
    for flag in ["-O0", "-O2"] {
        let bytes = shop.compile("gcc", "ends", "c", source, &[flag]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for name in ["die", "usage", "back", "forever", "sure", "jumps"] {
            assert!(function(&program, name).never_returns, "{name} {flag}");
        }
        for name in ["maybe", "main"] {
            assert!(!function(&program, name).never_returns, "{name} {flag}");
        }
    }
}

/// What a library of the program's own calls `err` may return; the C library's does not, nor does any MPI library's `MPI_Abort`.
#[test]
fn names_alone_do_not_tell_which_imports_come_back() {
    let shop = Workshop::new();
    let source = r#"
        #include <stddef.h>
        #define KEEP __attribute__((noinline, noclone, noipa))
        extern void err(int, const char *, ...); extern void quick_exit(int); extern void MPI_Abort(int, int); extern void exit(int);
        KEEP void fails(int n) { err(n, "fails"); }
        KEEP void leaves(int n) { quick_exit(n); }
        KEEP void aborts(int n) { MPI_Abort(n, 1); }
        KEEP void exits(int n) { exit(n); }
        int main(int c, char **v) { for (int i = 1; i < c; i++) { fails(c); leaves(c); aborts(c); } if (c > 9) exits(c); return v == NULL; }
    "#;
    let own = "void err(int n, const char *text, ...) { } void quick_exit(int n) { } void MPI_Abort(int a, int b) { }";
    shop.compile("gcc", "libown.so", "c", own, &["-shared", "-fPIC"]);
    shop.compile("gcc", "libmpi_of_a_kind.so", "c", "#include <stdlib.h>\nvoid MPI_Abort(int a, int b) { exit(b); }", &["-shared", "-fPIC"]);
    for (library, expected) in [("libown.so", [false, false, false, true]), ("libmpi_of_a_kind.so", [true; 4])] {
        let linked = format!("-Wl,{},-rpath,$ORIGIN", shop.path(library).display());
        let bytes = shop.compile("gcc", "imports", "c", source, &["-O1", &linked]);
        let whole = Image::parse(&bytes).expect("an image");
        let known = Program::analyse(&whole).expect("functions");
        let entries = ["fails", "leaves", "aborts", "exits"].map(|name| function(&known, name).entry);
        let headless = without_section_headers(&bytes);
        for bytes in [&bytes, &headless] {
            let image = Image::parse(bytes).expect("an image");
            assert_eq!(image.import_version("err"), whole.import_version("err"));
            let program = Program::analyse(&image).expect("functions");
            let ends = entries.map(|entry| program.functions[program.function_entered_at(entry).expect("a function")].never_returns);
            assert_eq!(ends, expected, "{library}");
        }
    }
}

#[test]
fn calls_that_come_back_twice_are_known_in_stripped_static_programs() {
    let shop = Workshop::new();
    let source = r#"
        #include <setjmp.h>
        #include <stdio.h>
        #include <unistd.h>
        #define KEEP __attribute__((noinline, noclone, noipa))
        jmp_buf place; sigjmp_buf masked;
        KEEP int plain(int n) { return setjmp(place) + n; }
        KEEP int underscored(int n) { return _setjmp(place) + n; }
        KEEP int signals(int n) { return sigsetjmp(masked, 1) + n; }
        KEEP int forks(int n) { if (vfork() == 0) _exit(n); return n; }
        KEEP int once(int n) { return puts("x") + getpid() + n; }
        int main(int c, char **v) { return plain(c) + underscored(c) + signals(c) + forks(c) + once(c) + (v == 0); }
    "#;
    for flags in [&["-O1", "-static"][..], &["-O2", "-static-pie", "-fcf-protection"]] {
        let bytes = shop.compile("gcc", "twice", "c", source, flags);
        run(Command::new("strip").arg(shop.path("twice")));
        let stripped = shop.read("twice");
        let (named, image) = (Image::parse(&bytes).expect("an image"), Image::parse(&stripped).expect("an image"));
        let (known, program) = (Program::analyse(&named).expect("functions"), Program::analyse(&image).expect("functions"));
        let counted = |image: &Image<'_>, program: &Program, entry: u64| {
            let own = &program.functions[program.function_entered_at(entry).expect("a function")];
            program.body(image, own).instructions.iter().filter(|one| program.comes_back_twice(image, one)).count()
        };
        for (name, expected) in [("plain", 1), ("underscored", 1), ("signals", 1), ("forks", 1), ("once", 0), ("main", 0)] {
            let entry = function(&known, name).entry;
            assert_eq!((counted(&named, &known, entry), counted(&image, &program, entry)), (expected, expected), "{name} {flags:?}");
        }
        let all = |image: &Image<'_>, program: &Program| program.functions.iter().map(|one| counted(image, program, one.entry)).sum::<usize>();
        assert_eq!(all(&image, &program), all(&named, &known), "{flags:?}");
    }
}

#[test]
fn a_caught_exception_makes_a_function_return() {
    let shop = Workshop::new();
    let source = r#"
        #include <cstdio>
        [[gnu::noinline]] void thrower(int x) { throw x; }
        [[gnu::noinline]] int catcher(int x) { try { thrower(x); } catch (int y) { return y + 1; } __builtin_unreachable(); }
        int main(int c, char **) { return catcher(c) == 2 ? 0 : 1; }
    "#;
    let bytes = shop.compile("g++", "catch", "cc", source, &["-O2"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    assert!(function(&program, "_Z7throweri").never_returns);
    assert!(!function(&program, "_Z7catcheri").never_returns);
    assert!(!function(&program, "main").never_returns);
}

#[test]
fn a_stripped_fortran_program_has_its_main_program() {
    if !has("gfortran") {
        return;
    }
    let shop = Workshop::new();
    let source = "module work\ncontains\n  subroutine busy(n)\n    integer, intent(in) :: n\n    print *, n\n  end subroutine\n\
                  end module\nprogram test\n  use work\n  call busy(3)\n  call busy(4)\nend program\n";
    shop.compile("gfortran", "test", "f90", source, &["-O0"]);
    let whole = shop.read("test");
    let image = Image::parse(&whole).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let entry = function(&program, "MAIN__").entry;
    assert_eq!(program.main_program(), program.function_entered_at(entry));
    assert_eq!(tare_image::demangle(&function(&program, "__work_MOD_busy").name), "work::busy");
    run(Command::new("strip").arg(shop.path("test")));
    let bare = shop.read("test");
    let image = Image::parse(&bare).expect("an image");
    let stripped = Program::analyse(&image).expect("functions");
    assert_eq!(function(&stripped, "MAIN__").entry, entry);
    assert_eq!(stripped.main_program(), stripped.function_entered_at(entry));
    assert_ne!(function(&stripped, "main").entry, entry);
}

#[test]
fn a_stub_for_fortran_is_not_the_main_program() {
    let shop = Workshop::new();
    let source = "int MAIN__(void) { return 0; }\nint main(int c, char **v) { (void)v; return c; }\n";
    let bytes = shop.compile("gcc", "stub", "c", source, &["-O1"]);
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    assert_eq!(program.main_program(), program.main());
    assert_eq!(program.functions[program.main().expect("main")].name, "main");
}

#[test]
fn without_section_headers_the_same_functions_are_found() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 5] = [
        ("gcc", &["-O1", "-s"]),
        ("gcc", &["-O1", "-s", "-static"]),
        ("gcc", &["-O1", "-s", "-no-pie", "-fno-pie"]),
        ("gcc", &["-O1", "-s", "-fcf-protection", "-Wl,-z,ibtplt"]),
        ("gcc", &["-O1", "-s", "-Wl,-z,now"]),
    ];
    for (compiler, flags) in cases {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, flags);
        let bare = common::without_section_headers(&bytes);
        let image = Image::parse(&bytes).expect("an image");
        let start_up: Vec<_> = [".init", ".fini"].into_iter().filter_map(|name| Some(image.section(name)?.range())).collect();
        let [with, without] = [&bytes, &bare].map(|bytes| {
            let image = Image::parse(bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            let own = program.functions.iter().filter(|one| !matches!(one.refusal, Some(Refusal::StartUp | Refusal::OutsideText)));
            let own = own.filter(|one| !start_up.iter().any(|range| range.contains(&one.entry)));
            own.map(|one| (one.entry, one.parts.clone(), one.never_returns)).collect::<Vec<_>>()
        });
        assert!(with.len() > 15, "{flags:?}");
        assert_eq!(with, without, "{flags:?}");
    }
}

#[test]
fn what_the_loader_runs_has_its_name_in_stripped_files() {
    let shop = Workshop::new();
    for flags in [["-O1", "-s", "-pie"], ["-O1", "-s", "-static"]] {
        let bytes = shop.compile("gcc", "shapes", "c", SHAPES, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for (name, section) in [("_init", ".init"), ("_fini", ".fini")] {
            let start = image.section(section).expect("a section").address;
            assert_eq!((function(&program, name).entry, function(&program, name).refusal), (start, Some(Refusal::OutsideText)), "{flags:?}");
        }
    }
}

#[test]
fn start_up_code_calls_what_is_there_by_name() {
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "plain", "c", "int main(void) { return 0; }", &["-O2"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    assert_eq!(program.callee_names(function(&program, "_init")), ["__gmon_start__"]);
    assert_eq!(program.callee_names(function(&program, "register_tm_clones")), ["_ITM_registerTMCloneTable"]);
}

#[test]
fn what_is_in_no_function_is_counted_but_for_what_fills_space() {
    const SOURCE: &str = r#"
    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    xor %eax, %eax
    ret
    .cfi_endproc
    .size main, . - main
    .p2align 6
    .quad 0x0123456789abcdef, 0x0123456789abcdef, 0x0123456789abcdef, 0x0123456789abcdef
    .quad 0, 0, 0, 0
    .p2align 6
    .type other, @function
other:
    .cfi_startproc
    ret
    .cfi_endproc
    .size other, . - other
    .section .note.GNU-stack, "", @progbits
"#;
    let shop = Workshop::new();
    let left_over = |bytes: &[u8]| {
        let image = Image::parse(bytes).expect("an image");
        Program::analyse(&image).expect("functions").left_over(&image)
    };
    assert_eq!(left_over(&shop.compile("gcc", "left", "s", SOURCE, &[])), 32);
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        assert_eq!(left_over(&shop.compile(compiler, "shapes", "c", SHAPES, flags)), 0, "{compiler} {flags:?}");
    }
}

#[test]
fn imports_that_never_return_are_known_without_section_headers() {
    const SOURCE: &str = "#include <stdlib.h>\n#include <stdio.h>\n\
        __attribute__((noinline)) void leave(int c) { puts(\"leaving\"); exit(c); }\n\
        __attribute__((noinline)) int check(int c) { char text[64]; sprintf(text, \"%d\", c); if (c > 5) leave(c); puts(text); return c + text[0]; }\n\
        int main(int c, char **v) { return check(c) + check(c + 1); }\n";
    let shop = Workshop::new();
    for flags in [["-O2", "-fstack-protector-all", "-pie", "-fPIE"], ["-O2", "-fstack-protector-all", "-no-pie", "-fno-pie"]] {
        let whole = shop.compile("gcc", "leave", "c", SOURCE, &flags);
        // Nothing tells start-up code in front of the text and behind it from other code then.
        let text = Image::parse(&whole).expect("an image").text().to_vec();
        let ends = |bytes: &[u8]| -> Vec<(u64, bool, usize, usize)> {
            let image = Image::parse(bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            let own = program.functions.iter().filter(|one| text.iter().any(|range| range.contains(&one.entry)));
            own.map(|one| (one.entry, one.never_returns, program.metrics(&image, one, None).edges, program.metrics(&image, one, None).exits))
                .collect()
        };
        let found = ends(&whole);
        assert!(found.iter().any(|one| one.1), "{flags:?}");
        assert_eq!(ends(&without_section_headers(&whole)), found, "{flags:?}");
    }
}
