//! Jumps to labels that a program keeps: computed gotos, thunks and returns to what was pushed, told from tail calls.

mod common;

use std::collections::BTreeSet;

use common::{CASES, SHAPES, Workshop, function, has};
use tare_code::{Flow, Program, Refusal, TableForm};
use tare_image::Image;

#[test]
fn a_computed_goto_in_a_leaf_is_no_tail_call() {
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "shapes", "c", SHAPES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let threaded = function(&program, "threaded");
        let body = program.body(&image, threaded);
        let about = format!("{compiler} {flags:?}");
        let count = |wanted: fn(&Flow) -> bool| body.instructions.iter().filter(|one| wanted(&one.flow)).count();
        assert_eq!(count(|flow| matches!(flow, Flow::IndirectTailCall | Flow::UnknownJump)), 0, "{about}");
        assert!(count(|flow| matches!(flow, Flow::TableJump { .. })) >= 1, "{about}");
        assert_eq!(body.tables.len(), 1, "{about}");
        assert_eq!(body.tables[0].reach, body.tables[0].targets.len(), "{about}");
        let own: BTreeSet<u64> = body.tables[0].targets[..3].iter().copied().collect();
        assert!(own.len() == 3 && own.iter().all(|&target| threaded.contains(target)), "{about}");
        let tail = function(&program, "through_pointer");
        let is_known = |one: &tare_code::Instruction| matches!(one.flow, Flow::IndirectTailCall | Flow::IndirectCall);
        assert!(program.body(&image, tail).instructions.iter().any(is_known), "{about}");
    }
}

/// The large model makes a label's address from distances to the global offset table, where nobody sees it.
#[test]
fn a_jump_in_front_of_code_that_nothing_leads_to_is_no_tail_call() {
    let source = r#"
        static void *ops[3];
        __attribute__((noinline)) int run(const unsigned char *p, int init) {
            if (init) { ops[0] = &&a; ops[1] = &&b; ops[2] = &&c; return 0; }
            int s = 0;
            goto *ops[*p++];
            a: s += 1; goto *ops[*p++];
            b: s *= 3; goto *ops[*p++];
            c: return s;
        }
        static int one(int x) { return x + 1; }
        static int two(int x) { return x * 2; }
        int (*chosen[])(int) = {one, two};
        __attribute__((noinline)) int leaves(int n, int x) { if (x > 3) return chosen[n & 1](x - 1); return 7 * x; }
        int main(int c, char **v) { run(0, 1); return run((const unsigned char *)v[0], 0) + leaves(c, c + 3); }
    "#;
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let bytes = shop.compile(compiler, "hidden", "c", source, &["-O2", "-w", "-mcmodel=large", "-fPIE", "-static"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let is = |name: &str, wanted: fn(&Flow) -> bool| program.body(&image, function(&program, name)).tied().any(|one| wanted(&one.flow));
        assert!(!is("run", |flow| *flow == Flow::IndirectTailCall), "{compiler}");
        assert!(is("leaves", |flow| *flow == Flow::IndirectTailCall), "{compiler}");
    }
}

/// Where the first target of a computed goto is a constant, no table is read on the way to its jump.
#[test]
fn a_computed_goto_that_begins_at_a_known_label_has_its_targets() {
    let source = r#"
        #include <stdio.h>
        volatile int more;
        __attribute__((noinline)) int run(const unsigned char *p, int n) {
            static void *const t[] = {&&A, &&B, &&C, &&D};
            int r = 0;
            void *x = START;
            while (n--) {
                goto *x;
                A: r += more; x = t[*p++]; continue;
                B: r *= 3; x = t[*p++]; continue;
                C: printf("%d", r); x = t[*p++]; continue;
                D: return r;
            }
            return r;
        }
        int main(int c, char **v) { return run((const unsigned char *)v[0], c); }
    "#;
    let shop = Workshop::new();
    let compilers = ["gcc", "clang"].into_iter().filter(|compiler| has(compiler));
    for (compiler, start) in compilers.flat_map(|compiler| [(compiler, "-DSTART=t[0]"), (compiler, "-DSTART=&&B")]) {
        for flags in [["-O2", "-pie", "-fPIE"], ["-O1", "-pie", "-fPIE"], ["-O0", "-pie", "-fPIE"], ["-O2", "-no-pie", "-fno-pie"]] {
            let bytes = shop.compile(compiler, "begins", "c", source, &[&flags[..], &[start]].concat());
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            let metrics = program.metrics(&image, function(&program, "run"), None);
            assert!(metrics.unresolved_jumps == 0 && metrics.edges >= 8 && metrics.loops > 0, "{compiler} {flags:?} {start}: {metrics:?}");
        }
    }
}

/// An interpreter whose tables hold distances from a label; with `KEPT` it hands that label out as well.
const DISTANCES: &str = r#"
    #include <stdio.h>
    void *kept;
    __attribute__((noinline, noclone)) long run(const unsigned char *code) {
        static const int first[] = {&&add - &&halt, &&twice - &&halt, &&halt - &&halt};
        static const int second[] = {&&twice - &&halt, &&add - &&halt, &&halt - &&halt, &&negate - &&halt};
        long value = *code++;
    #ifdef KEPT
        kept = &&halt;
    #endif
        goto *(&&halt + first[*code++]);
    add: value += *code++; goto *(&&halt + second[*code++]);
    twice: value *= 2; goto *(&&halt + first[*code++]);
    negate: value = -value; goto *(&&halt + second[*code++]);
    halt: return value;
    }
    int main(int c, char **v) {
        static const unsigned char code[] = {5, 0, 7, 3, 1, 9, 0, 2};
        (void)v;
        printf("%ld\n", run(code));
        return c == 0;
    }
"#;

#[test]
fn a_computed_goto_to_a_distance_from_a_label_has_its_targets() {
    let shop = Workshop::new();
    let is_known = |flags: &[&str]| !flags.contains(&"-O0");
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0) && (case.0 == "gcc" || is_known(case.1))) {
        let bytes = shop.compile(compiler, "distances", "c", DISTANCES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let run = function(&program, "run");
        let body = program.body(&image, run);
        let about = format!("{compiler} {flags:?}");
        assert_eq!((run.refusal, program.metrics(&image, run, None).unresolved_jumps), (None, 0), "{about}");
        let starts: BTreeSet<u64> = body.instructions.iter().map(|one| one.address).collect();
        let mut tables: Vec<Vec<u64>> = Vec::new();
        for table in &body.tables {
            let TableForm::Distance32 { base } = table.form else { panic!("{about}: {table:?}") };
            assert!(starts.contains(&base) && !table.jumps.is_empty() && !table.references.is_empty(), "{about}");
            assert!(table.targets.iter().all(|target| starts.contains(target)), "{about}");
            assert!(table.targets.contains(&base), "{about}");
            tables.push(table.targets.clone());
        }
        let [one, other] = tables.as_slice() else { panic!("{about}: {tables:?}") };
        assert_eq!((one[0], one[1], one[2]), (other[1], other[0], other[2]), "{about}");
        let labels: BTreeSet<u64> = tables.iter().flatten().copied().collect();
        assert_eq!(labels.len(), 4, "{about}");
    }
}

#[test]
fn a_jump_to_an_own_instruction_plus_something_is_no_tail_call() {
    let shop = Workshop::new();
    let variants: [&[&str]; 3] = [&["-O0", "-pie", "-fPIE"], &["-O0", "-no-pie", "-fno-pie"], &["-O2", "-no-pie", "-fno-pie", "-DKEPT"]];
    for flags in variants.into_iter().filter(|_| has("clang")) {
        let bytes = shop.compile("clang", "merged", "c", DISTANCES, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        assert_eq!(function(&program, "run").refusal, Some(Refusal::UnknownJump), "{flags:?}");
    }
    let forms = [
        ("by_lea", "lea 1f(%rdi), %rax"),
        ("by_addition", "mov %rdi, %rax\nadd $1f, %rax"),
        ("by_subtraction", "mov $1f, %eax\nsub %rdi, %rax"),
        ("by_a_sum", "lea 1f(%rdi,%rsi), %rax"),
        ("by_a_product", "lea 1f(%rdi,%rsi,8), %rax"),
        ("by_a_load", "mov $1f, %eax\nadd (%rdi), %rax"),
    ];
    let mut source = ".text\n".to_owned();
    source.extend(forms.iter().map(|(name, code)| {
        let body = format!("{code}\njmp *%rax\n1: nop\nnop\nmov $1, %eax\nret\n");
        format!(".globl {name}\n.type {name}, @function\n.p2align 4\n{name}:\n.cfi_startproc\n{body}.cfi_endproc\n.size {name}, . - {name}\n")
    }));
    source += ".globl main\n.type main, @function\nmain: ret\n.size main, . - main\n.section .note.GNU-stack, \"\", @progbits\n";
    let bytes = shop.compile("gcc", "forms", "s", &source, &["-no-pie"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    for (name, _) in forms {
        assert_eq!(function(&program, name).refusal, Some(Refusal::UnknownJump), "{name}");
    }
}

#[test]
fn what_cases_that_were_not_found_jump_into_is_left_alone() {
    // Neither names nor unwind entries: only its call says where a function begins, and nothing where the cases are.
    let source = "
        .text
        .globl main
        .type main, @function
        main: .cfi_startproc
        sub $8, %rsp
        call pick
        call plain
        call lone
        add $8, %rsp
        ret
        .cfi_endproc
        .size main, . - main
        .p2align 4
        plain: mov $2, %eax
        add %edi, %eax
        ret
        .p2align 4
        lone: mov $3, %eax
        add %edi, %eax
        ret
        .p2align 4
        pick: cmp $3, %edi
        ja lone
        lea table(%rip), %rax
        movslq (%rax,%rdi,4), %rcx
        add %rcx, %rax
        jmp *%rax
        table: .long first - table, second - table, third - table, 0x2600
        first: mov $0xb, %eax
        ret
        second: mov $7, %eax
        ret
        third: mov $1, %eax
        jmp plain + 5
        .section .note.GNU-stack, \"\", @progbits
    ";
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "left", "s", source, &["-no-pie", "-s"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let main = program.functions.iter().find(|one| one.name == "main").expect("the entry's");
    let callees: Vec<u64> = program
        .body(&image, main)
        .instructions
        .iter()
        .filter_map(|one| match one.flow {
            Flow::Call { target, .. } => Some(target),
            _ => None,
        })
        .collect();
    let refusal = |entry: u64| program.functions.iter().find(|one| one.entry == entry).expect("a function").refusal;
    let [pick, plain, lone] = [callees[0], callees[1], callees[2]];
    assert_eq!(refusal(pick), Some(Refusal::UnknownJump));
    assert_eq!((refusal(plain), refusal(lone)), (Some(Refusal::HeldElsewhere), None));
}

#[test]
fn a_label_that_is_handed_out_beside_its_use_with_a_table_leaves_jumps_unknown() {
    let shop = Workshop::new();
    for flags in [["-O2", "-pie", "-fPIE", "-DKEPT"], ["-O0", "-pie", "-fPIE", "-DKEPT"]] {
        let bytes = shop.compile("gcc", "handed", "c", DISTANCES, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        assert_eq!(function(&program, "run").refusal, Some(Refusal::UnknownJump), "{flags:?}");
    }
}

#[test]
fn labels_that_are_kept_in_memory_are_no_tail_calls() {
    let source = r#"
        struct step { void *code; long number; };
        long run(struct step *step, long count, int fill) {
            static void *kept[3];
            if (fill) {
                kept[0] = &&add; kept[1] = &&twice; kept[2] = &&end;
                for (long at = 0; at < count; at++) step[at].code = kept[step[at].number];
                return 0;
            }
            goto *step->code;
        add: count += step->number; step++; goto *step->code;
        twice: count *= 2; step++; goto *step->code;
        end: return count;
        }
        int main(int c, char **v) { struct step steps[2] = {{0, 0}, {0, 2}}; (void)v; run(steps, 2, 1); return (int)run(steps, c, 0); }
    "#;
    let shop = Workshop::new();
    for (compiler, flags) in CASES.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "kept", "c", source, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let run = function(&program, "run");
        let body = program.body(&image, run);
        let tail_calls = body.instructions.iter().filter(|one| one.flow == Flow::IndirectTailCall).count();
        assert_eq!((run.refusal, tail_calls), (Some(Refusal::UnknownJump), 0), "{compiler} {flags:?}");
    }
}

#[test]
fn jumps_through_members_of_an_array_of_structures_are_tail_calls_but_not_to_own_labels() {
    let source = r"
        struct kind { long size; int (*make)(int); int (*take)(int); };
        int one(int a) { return a + 1; }
        int two(int a) { return a * 2; }
        const struct kind kinds[3] = {{1, one, two}, {2, two, one}, {3, one, one}};
        int call(int which, int a) { return kinds[which].take(a); }
        long own(int which, long a) {
            static const struct { long size; void *label; } labels[] = {{1, &&A}, {2, &&B}, {3, &&C}};
            goto *labels[which].label;
            A: return a + 1;
            B: return a * 5;
            C: return a - 7;
        }
        int main(int c, char **v) { (void)v; return call(c % 3, c) + (int)own(c % 3, c); }";
    let shop = Workshop::new();
    for (compiler, flags) in [("gcc", ["-O2", "-fPIE", "-pie"]), ("gcc", ["-O2", "-fno-pie", "-no-pie"]), ("clang", ["-O2", "-fPIE", "-pie"])] {
        if !has(compiler) {
            continue;
        }
        let bytes = shop.compile(compiler, "members", "c", source, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let (call, own) = (function(&program, "call"), function(&program, "own"));
        let is_tail_call = |one: &tare_code::Instruction| one.flow == Flow::IndirectTailCall;
        assert_eq!(call.refusal, None, "{compiler} {flags:?}");
        assert!(program.body(&image, call).instructions.iter().any(is_tail_call), "{compiler} {flags:?}");
        assert!(!program.body(&image, own).instructions.iter().any(is_tail_call), "{compiler} {flags:?}");
    }
}

#[test]
fn a_set_of_bits_that_is_the_address_of_an_instruction_by_chance_is_no_label() {
    let source = |use_of_it: &str| {
        format!(
            r#"
            long kept;
            long leaves(long (*next)(void), long a);
            long asks(long bit);
            __attribute__((noipa)) void between(void) {{}}
            __attribute__((noipa)) long last(void) {{ return 5; }}
            __asm__(".text\n.globl leaves\n.type leaves,@function\nleaves: .cfi_startproc\nsubq $24,%rsp\n.cfi_adjust_cfa_offset 24\n"
                "movq %rdi,8(%rsp)\ninside: call between\nmovq 8(%rsp),%rax\naddq $24,%rsp\n.cfi_adjust_cfa_offset -24\njmp *%rax\n"
                ".cfi_endproc\n.size leaves,.-leaves\n"
                ".globl asks\n.type asks,@function\nasks: .cfi_startproc\nxorl %eax,%eax\nmovl $inside,%ecx\n{use_of_it}\nsetc %al\nret\n"
                ".cfi_endproc\n.size asks,.-asks\n");
            int main(int c, char **v) {{ (void)v; return (int)(asks(c) + leaves(last, c)); }}"#
        )
    };
    let shop = Workshop::new();
    for (use_of_it, is_tail_call) in [("btq %rdi,%rcx", true), ("movq %rcx,kept", false)] {
        let bytes = shop.compile("gcc", "bits", "c", &source(use_of_it), &["-O2", "-fno-pie", "-no-pie"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let body = program.body(&image, function(&program, "leaves"));
        assert_eq!(body.instructions.iter().any(|one| one.flow == Flow::IndirectTailCall), is_tail_call, "{use_of_it}");
    }
}

const STAYING: &str = r#"
int work(int n);
double runs(const char *source, void **target) {
  static void *const table[] = {&&add, &&twice, &&halt}; double sum = 0;
  if (source) { while (*source) *target++ = table[*source++ - 'a']; return 0; }
  void **next = target; goto **next++;
  add: sum += 1; goto **next++;
  twice: sum *= 2; goto **next++;
  halt: return sum; }
void **labels;
int hands_out(void **code) {
  static void *table[] = {&&add, &&twice, &&halt}; if (!code) { labels = table; return 0; } int sum = 1; goto **code++;
  add: sum += 5; goto **code++; twice: sum *= 2; goto **code++; halt: return sum; }
int either(const unsigned char *code, int other) {
  static void *const one[] = {&&x, &&y, &&z}; static void *const two[] = {&&dx, &&dy, &&z};
  void *const *table = other ? two : one; int sum = 0; goto *table[*code++];
  dx: sum += 9; x: sum += 3; goto *table[*code++]; dy: sum ^= 77; y: sum *= 2; goto *table[*code++]; z: return sum; }
int patched(const unsigned char *code, int stop) {
  static void *table[] = {&&add, &&twice, &&halt}; int sum = 1; if (stop) table[1] = &&trap; goto *table[*code++];
  add: sum += 4; goto *table[*code++]; twice: sum *= 3; goto *table[*code++]; trap: sum -= stop; goto *table[*code++]; halt: return sum; }
void *cell;
int by_cell(int n);
__asm__(".text\n.globl by_cell\n.type by_cell, @function\nby_cell: .cfi_startproc\nlea 9f(%rip), %rdx\nmov %rdx, cell(%rip)\njmp *cell(%rip)\n"
        "9: lea 1(%rdi), %eax\nret\n.cfi_endproc\n.size by_cell, .-by_cell\n");
int begins(const unsigned char *code, int n) {
  static const void *const table[] = {&&a, &&b, &&c}; int sum = 0; goto *&&b;
  a: sum += n; if (!n--) return sum; goto *table[*code++]; b: sum ^= n; goto *table[*code++]; c: return sum; }
int by_number(const unsigned char *code, int n) {
  static const void *const table[] = {&&a, &&b, &&c}; int sum = 0; goto *table[1];
  a: sum += n; if (!n--) return sum; goto *table[*code++]; b: sum ^= n; goto *table[*code++]; c: return sum; }
typedef int (*callee)(int);
int leaves(int n, callee then) {
  switch (n) { case 0: n = work(1); break; case 1: n = work(7); break; case 2: n = work(5); break; case 3: n = work(9); break;
    case 4: return 7; case 5: n = 44; break; case 6: n = work(2) + 1; break; }
  return then(n); }
int main(void) { return 0; }
int work(int n) { return n * 3; }
"#;

/// What leads into a function may be in memory or in a register that is not followed, though the stack is as at the entry and all
/// labels stand in a table.
#[test]
fn jumps_of_functions_that_let_their_labels_out_are_no_tail_calls() {
    let shop = Workshop::new();
    let cases = [
        ("gcc", "-O2", "-fPIE -pie"),
        ("gcc", "-O1", "-fno-pie -no-pie -foptimize-sibling-calls"),
        ("gcc", "-O2", "-fno-pie -no-pie"),
        ("clang", "-O2", "-fno-pie -no-pie"),
    ];
    for (compiler, level, kind) in cases.into_iter().filter(|case| has(case.0)) {
        let flags: Vec<&str> = std::iter::once(level).chain(kind.split(' ')).collect();
        let bytes = shop.compile(compiler, "staying", "c", STAYING, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let count = |name: &str, wanted: fn(&Flow) -> bool| {
            let body = program.body(&image, function(&program, name));
            body.instructions.iter().filter(|one| wanted(&one.flow)).count()
        };
        let tail_calls = |name: &str| count(name, |flow| matches!(flow, Flow::IndirectTailCall | Flow::TailCall { .. }));
        let unknown = |name: &str| count(name, |flow| matches!(flow, Flow::UnknownJump));
        for name in ["runs", "hands_out", "either", "patched", "by_cell"] {
            assert!(tail_calls(name) == 0 && unknown(name) >= 1, "{compiler} {flags:?}: {name} {} {}", tail_calls(name), unknown(name));
            assert_eq!(function(&program, name).refusal, Some(Refusal::UnknownJump), "{compiler} {flags:?}: {name}");
        }
        for name in ["begins", "by_number"] {
            assert_eq!((tail_calls(name), unknown(name)), (0, 0), "{compiler} {flags:?}: {name}");
        }
        assert!(tail_calls("leaves") >= 1 && unknown("leaves") == 0, "{compiler} {flags:?}");
    }
}

#[test]
fn jumps_through_thunks_that_stay_in_a_function_are_unknown_and_others_are_tail_calls() {
    let source = r#"
        #include <stdio.h>
        __attribute__((noinline)) int near(const unsigned char *p) {
            static const int t[] = {&&A - &&A, &&B - &&A, &&C - &&A};
            int s = 0;
            goto *(&&A + t[*p % 3]);
            A: s++; goto *(&&A + t[*++p % 3]);
            B: s *= 3; goto *(&&A + t[*++p % 3]);
            C: return s;
        }
        __attribute__((noinline)) int kept(const unsigned char *p) {
            static void *const t[] = {&&A, &&B, &&C};
            int s = 0;
            goto *t[*p % 3];
            A: s += puts("a"); goto *t[*++p % 3];
            B: s *= 3; goto *t[*++p % 3];
            C: return s;
        }
        __attribute__((noinline)) int away(int (*f)(const unsigned char *), const unsigned char *p) { return f(p + 1); }
        int main(int c, char **v) { return away(c > 1 ? near : kept, (unsigned char *)v[0]); }
    "#;
    let shop = Workshop::new();
    let cases: [&[&str]; 2] = [&["-O2", "-mindirect-branch=thunk"], &["-O2", "-mindirect-branch=thunk", "-no-pie", "-fno-pie"]];
    for flags in cases {
        let bytes = shop.compile("gcc", "thunks", "c", source, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for name in ["near", "kept"] {
            let one = function(&program, name);
            let unresolved = program.metrics(&image, one, None).unresolved_jumps;
            assert_eq!(one.refusal, Some(Refusal::UnknownJump), "{name} {flags:?}");
            assert!(unresolved >= 1, "{name} {flags:?}");
        }
        let away = function(&program, "away");
        assert_eq!((away.refusal, program.metrics(&image, away, None).unresolved_jumps), (None, 0), "{flags:?}");
    }
}

#[test]
fn returns_to_what_was_pushed_are_unknown_jumps() {
    let one = |name: &str, body: &str| {
        format!(
            "__asm__(\".text\\n.globl {name}\\n.type {name}, @function\\n{name}: .cfi_startproc\\n{body}\\n.cfi_endproc\\n.size {name}, .-{name}\");\n"
        )
    };
    let source = [
        one("label", "push $1f\\nret\\n1: lea 1(%rdi), %eax\\nret"),
        one("loaded", "lea 1f(%rip), %rax\\npush %rax\\nadd $4, %edi\\nret\\n1: lea 1(%rdi), %eax\\nret"),
        one("given", "push %rdi\\nret $8"),
        one("from_memory", "push (%rdi)\\nnop\\nret"),
        one("balanced", "push %rdi\\npop %rax\\nret"),
        one("dropped", "push %rdi\\nadd $8, %rsp\\nret"),
        one("called", "push %rdi\\ncall abort\\n1: ret"),
        "int main(void) { return 0; }\n".to_owned(),
    ];
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "pushed", "c", &source.concat(), &["-no-pie", "-fno-pie"]);
    let image = Image::parse(&bytes).expect("an image");
    let program = Program::analyse(&image).expect("functions");
    let expected = [("label", 1), ("loaded", 1), ("given", 1), ("from_memory", 1), ("balanced", 0), ("dropped", 0), ("called", 0)];
    for (name, unresolved) in expected {
        let one = function(&program, name);
        assert_eq!(program.metrics(&image, one, None).unresolved_jumps, unresolved, "{name}");
        assert_eq!(one.refusal == Some(Refusal::UnknownJump), unresolved > 0, "{name}: {:?}", one.refusal);
    }
}

#[test]
fn a_jump_with_a_stack_pointer_from_memory_is_no_jump_within() {
    let source = "void *kept[5];\n#define APART __attribute__((noinline, noreturn, used))\nAPART void out(void) { __builtin_longjmp(kept, 1); }\n\
        APART void further(void **to, int *p) { *p = 3; __builtin_longjmp(to, 1); }\nint main(int c, char **v) { if (c == 9) out(); return v == 0; }\n\
        __asm__(\".text\\n.type other, @function\\nother: .cfi_startproc\\nmov (%rdi), %rax\\nmov 16(%rdi), %rsp\\njmp *%rax\\n.cfi_endproc\\n\
        .size other, .-other\\n.type lost, @function\\nlost: .cfi_startproc\\nmov (%rdi), %rax\\nmov %rsi, %rdi\\nmov 8(%rdi), %rsp\\njmp *%rax\\n\
        .cfi_endproc\\n.size lost, .-lost\\n\");\n";
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        for level in ["-O0", "-O2"] {
            let bytes = shop.compile(compiler, "out", "c", source, &[level]);
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            // Where to go on and the stack pointer were saved side by side, or not.
            let special = Some(Refusal::SpecialUnwinding);
            for (name, refusal) in [("out", None), ("further", None), ("other", special), ("lost", special)] {
                let one = function(&program, name);
                assert_eq!(program.metrics(&image, one, None).unresolved_jumps, 0, "{compiler} {level} {name}");
                assert_eq!(one.refusal, refusal, "{compiler} {level} {name}");
            }
        }
    }
}

#[test]
fn numbers_in_data_that_look_like_a_block_of_a_function_hold_nothing() {
    // In an image that is not moved a word of data may be a number, or a label that is jumped to from elsewhere: blocks that only the word
    // leads to may be functions of their own.
    let source = |branch: &str| {
        format!(
            r#"__asm__(".text\n.globl held\n.type held,@function\nheld: .cfi_startproc\ntestl %edi,%edi\n{branch}\nleal 1(%rdi),%eax\nret\n"
                "inner: leal 7(%rdi),%eax\nret\n.cfi_endproc\n.size held,.-held\n.data\n.balign 8\n.quad 12345,inner,67890\n.text");
            int held(int);
            int main(int c, char **v) {{ (void)v; return held(c); }}"#
        )
    };
    let shop = Workshop::new();
    for (branch, refusal) in [("je inner", None), ("nop", Some(Refusal::HeldElsewhere))] {
        let bytes = shop.compile("gcc", "number", "c", &source(branch), &["-O1", "-no-pie", "-fno-pie"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        assert_eq!(function(&program, "held").refusal, refusal, "{branch}");
    }
}
