//! The call graph: paths to wanted names, and which functions are leaves of a selection.

mod common;

use common::{Workshop, function, has};
use tare_code::{Edges, Program};
use tare_image::Image;

const PROGRAM: &str = r#"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline, noclone, noipa))
KEEP double kernel(double x) { return sin(x) + x; }
KEEP double fill(double *a, int n) { memset(a, 0, n * sizeof *a); double s = 0; for (int i = 0; i < n; i++) s += kernel(a[i]); return s; }
KEEP int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
KEEP void sorts(int *a, int n) { qsort(a, n, sizeof *a, compare); }
KEEP int again(int n) { return n < 2 ? n : again(n - 1) + again(n - 2); }
KEEP int pure(int n) { return n * 3; }
KEEP int above(int n) { return pure(n) + 1; }
KEEP int pointer(int (*f)(int), int n) { return f(n) + 1; }
KEEP void hands_over(int *a, int n) { a[0] = n; sorts(a, n); }
int main(int c, char **v)
{
    double d[9]; int a[3] = {c, 2, 1};
    hands_over(a, 3);
    printf("%g %d %d\n", fill(d, 9), again(c), above(c) + pointer(pure, c));
    return v == 0;
}
"#;

fn with(check: impl Fn(&Program)) {
    let shop = Workshop::new();
    for flags in [["-O0", "-lm", "-pie"], ["-O2", "-lm", "-fno-plt"]] {
        let bytes = shop.compile("gcc", "calls", "c", PROGRAM, &flags);
        let image = Image::parse(&bytes).expect("an image");
        check(&Program::analyse(&image).expect("functions"));
    }
}

fn index(program: &Program, name: &str) -> usize {
    program.function_entered_at(function(program, name).entry).expect("its index")
}

/// Calls from every function to those of a name, here or in another image.
fn distances_to(program: &Program, name: &str, edges: Edges) -> Vec<Option<u32>> {
    let own: Vec<usize> = (0..program.functions.len()).filter(|&one| program.functions[one].name == name).collect();
    program.calls().distances_to(&own, &mut |import| import == name, edges)
}

#[test]
fn paths_lead_through_calls_and_tail_calls() {
    with(|program| {
        let distances = distances_to(program, "qsort", Edges::Sure);
        let to = |name: &str| distances[index(program, name)];
        assert_eq!((to("sorts"), to("hands_over"), to("main")), (Some(1), Some(2), Some(3)));
        assert_eq!((to("kernel"), to("compare"), to("pointer")), (None, None, None));
        let down = program.calls().distances_from(&[index(program, "main")], Edges::Sure);
        assert_eq!(down[index(program, "kernel")], Some(2));
        assert_eq!(down[index(program, "compare")], None);
        assert_eq!(distances_to(program, "kernel", Edges::Sure)[index(program, "kernel")], Some(0));
    });
}

#[test]
fn leaves_call_nothing_selected_and_nothing_unknown() {
    with(|program| {
        let leaves = |names: &[&str]| {
            let selected: Vec<bool> = program.functions.iter().map(|function| names.contains(&function.name.as_str())).collect();
            program.leaves(&selected)
        };
        let all = ["kernel", "fill", "compare", "sorts", "again", "pure", "above", "pointer", "hands_over", "main"];
        let leaf = |names: &[&str], name: &str| leaves(names)[index(program, name)];
        assert!(leaf(&all, "kernel") && leaf(&all, "compare") && leaf(&all, "pure"));
        for name in ["fill", "sorts", "again", "above", "pointer", "hands_over", "main"] {
            assert!(!leaf(&all, name), "{name}");
        }
        assert!(leaf(&["fill"], "fill") && leaf(&["above"], "above"));
        assert!(!leaf(&["sorts"], "sorts") && !leaf(&["pointer"], "pointer") && !leaf(&["again"], "again"));
    });
}

#[test]
fn what_is_handed_on_and_called_back_is_possible() {
    with(|program| {
        let possible = distances_to(program, "compare", Edges::Possible);
        let to = |name: &str| possible[index(program, name)];
        assert_eq!((to("sorts"), to("hands_over"), to("main")), (Some(1), Some(2), Some(2)));
        let sure = distances_to(program, "compare", Edges::Sure);
        assert_eq!(sure[index(program, "sorts")], None);
        assert_eq!(program.calls().possible_callees(index(program, "sorts")), [index(program, "compare")]);
        let called = program.calls().possible_callees(index(program, "pointer"));
        assert!(called.contains(&index(program, "pure")) && !called.contains(&index(program, "again")));
        let down = program.calls().distances_from(&[index(program, "pointer")], Edges::Possible);
        assert_eq!(down[index(program, "pure")], Some(1));
    });
}

const VIRTUAL: &str = r#"
#include <cstdio>
#include <cstdlib>
#define KEEP [[gnu::noinline]]
struct Shape { virtual double area() const = 0; virtual void grow(double) = 0; virtual ~Shape() {} };
struct Circle : Shape { double r = 1; double area() const override; void grow(double) override; };
struct Square : Shape { double a = 1; double area() const override; void grow(double) override; };
KEEP double Circle::area() const { return r * r * 3; }
KEEP void Circle::grow(double by) { r *= by; }
KEEP double Square::area() const { return a * a; }
KEEP void Square::grow(double by) { a *= by; std::puts("square"); }
struct Operations { int (*open)(int); int (*shut)(int); };
KEEP int opens(int n) { return n + 1; }
KEEP int shuts(int n) { return n - 1; }
const Operations operations = {opens, shuts};
KEEP double asks(const Shape *shape) { return shape->area() + 1; }
KEEP int uses(const Operations *table, int n) { return table->shut(n) * 2; }
KEEP void enlarges(Shape *shape) { shape->grow(2); std::printf("%g\n", shape->area()); }
int main(int c, char **) {
    Shape *shape = c > 1 ? static_cast<Shape *>(new Circle) : new Square;
    enlarges(shape);
    return asks(shape) + uses(c > 7 ? nullptr : &operations, c) > 9;
}
"#;

#[test]
fn virtual_calls_may_reach_what_stands_in_their_slot() {
    let shop = Workshop::new();
    let cases: [&[&str]; 5] = [
        &["-O2", "-pie", "-fPIE"],
        &["-O2", "-no-pie", "-fno-pie"],
        &["-O0", "-pie", "-fPIE"],
        &["-O2", "-no-pie", "-fno-pie", "-fno-rtti"],
        &["-O2", "-pie", "-fPIE", "-fno-rtti", "-Wl,-z,pack-relative-relocs"],
    ];
    for (compiler, flags) in ["g++", "clang++"].into_iter().flat_map(|compiler| cases.map(|flags| (compiler, flags))) {
        if !has(compiler) || (compiler == "clang++" && flags.len() > 4) {
            continue;
        }
        let bytes = shop.compile(compiler, "virtual", "cc", VIRTUAL, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let about = format!("{compiler} {flags:?}");
        let reached = |from: &str| -> Vec<String> {
            let from = index(&program, from);
            let possible = program.calls().possible_callees(from).into_iter();
            possible.chain(program.calls().callees(from).iter().copied()).map(|callee| program.functions[callee].name.clone()).collect()
        };
        let asked = reached("_Z4asksPK5Shape");
        for area in ["_ZNK6Circle4areaEv", "_ZNK6Square4areaEv"] {
            assert!(asked.iter().any(|name| name == area), "{about}: {asked:?}");
        }
        assert!(!asked.iter().any(|name| name.contains("grow")), "{about}: {asked:?}");
        let used = reached("_Z4usesPK10Operationsi");
        assert!(used.iter().any(|name| name == "_Z5shutsi"), "{about}: {used:?}");
        let paths = distances_to(&program, "puts", Edges::Possible);
        assert_eq!(paths[index(&program, "_Z8enlargesP5Shape")], Some(2), "{about}");
        assert_eq!(distances_to(&program, "puts", Edges::Sure)[index(&program, "main")], None, "{about}");
    }
}

/// Code of the large model adds the distance of a PLT entry to the address of the global offset table.
#[test]
fn calls_through_the_plt_have_names_in_the_large_model() {
    let shop = Workshop::new();
    for flags in [["-O2", "-lm", "-mcmodel=large", "-fPIC"], ["-O0", "-lm", "-mcmodel=large", "-fPIC"]] {
        let bytes = shop.compile("gcc", "large", "c", PROGRAM, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        for (caller, import) in [("main", "printf"), ("kernel", "sin"), ("sorts", "qsort")] {
            let imports: Vec<&str> = program.calls().imports(index(&program, caller)).collect();
            assert!(imports.contains(&import), "{flags:?}: {caller} calls {imports:?}");
            let own = function(&program, caller);
            assert!(program.callee_names(own).contains(&import), "{flags:?}: {:?}", program.callee_names(own));
            let body = program.body(&image, own);
            assert!(body.instructions.iter().any(|one| program.callee(&image, one) == Some(import)), "{flags:?}: {caller}");
        }
    }
}

const CHOOSES: &str = r#"
#define F(n) __attribute__((noinline)) int f##n(int x) { __asm__ volatile(""); return x * n + 1; }
F(10) F(11) F(12) F(13) F(14) F(15) F(16)
__attribute__((noinline)) int chooses(int x) {
    switch (x) {
    case 0: return f10(x);
    case 1: return f11(x + 2);
    case 2: return f12(x);
    case 3: return f13(x * 7);
    case 4: return f14(x);
    case 5: return f15(x);
    case 6: return f16(x);
    }
    return 0;
}
int main(int c, char **v) { return chooses(c); }
"#;

#[test]
fn tail_calls_of_the_large_model_are_known_beside_a_jump_table() {
    let shop = Workshop::new();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let bytes = shop.compile(compiler, "chooses", "c", CHOOSES, &["-O2", "-mcmodel=large", "-fno-pie", "-no-pie"]);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let own = function(&program, "chooses");
        let mut callees = program.callee_names(own);
        callees.sort_unstable();
        assert_eq!(callees, ["f10", "f11", "f12", "f13", "f14", "f15", "f16"], "{compiler}");
        assert_eq!(program.metrics(&image, own, None).unresolved_jumps, 0, "{compiler}");
    }
}

const HOISTED: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone, noipa))
KEEP void repeats(int n) { for (int i = 0; i < n; i++) { puts("a"); puts("b"); } }
KEEP void above(int n) { repeats(n); putchar(10); }
KEEP int quiet(int n) { return n * 3; }
KEEP int tail(const char *text) { return puts(text); }
KEEP int picks(int n) { int (*f)(const char *) = n & 1 ? puts : system; for (int i = 0; i < n; i++) n += f("c"); return n; }
KEEP void ends(int n) { for (int i = 0; i < n; i++) { puts("d"); puts("e"); } exit(n); }
int main(int c, char **v) { above(c); tail(v[0]); picks(c); if (c > quiet(c)) ends(c); return 0; }
"#;

/// Without linkage tables the address of a function comes from a slot, which compilers read in front of a loop, and which the
/// large model finds by adding up. Where two functions may be called, none is for sure.
#[test]
fn calls_through_slots_kept_in_registers_have_names() {
    let shop = Workshop::new();
    let cases: [(&str, &[&str]); 6] = [
        ("gcc", &["-O2", "-fno-plt"]),
        ("gcc", &["-O2", "-mcmodel=large", "-fPIC"]),
        ("clang", &["-O1", "-fno-plt"]),
        ("clang", &["-O2", "-fno-plt", "-fomit-frame-pointer"]),
        ("clang", &["-O2", "-mcmodel=large", "-fPIC"]),
        ("clang", &["-O2", "-fno-plt", "-Wl,-z,now", "-s"]),
    ];
    for (compiler, flags) in cases.into_iter().filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "hoisted", "c", HOISTED, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let about = format!("{compiler} {flags:?}");
        let to_puts = distances_to(&program, "puts", Edges::Sure);
        let count = |wanted: Option<u32>| to_puts.iter().filter(|&&one| one == wanted).count();
        if flags.contains(&"-s") {
            assert_eq!((count(Some(1)), count(Some(2))), (3, 2), "{about}");
            continue;
        }
        let to = |name: &str| to_puts[index(&program, name)];
        assert_eq!([to("repeats"), to("tail"), to("ends"), to("above"), to("main")], [Some(1), Some(1), Some(1), Some(2), Some(2)], "{about}");
        assert_eq!((to("quiet"), to("picks")), (None, None), "{about}");
        assert!(function(&program, "ends").never_returns, "{about}");
        let own = function(&program, "repeats");
        assert_eq!(program.callee_names(own), ["puts"], "{about}");
        assert_eq!(program.metrics(&image, own, None).indirect_calls, 0, "{about}");
        let body = program.body(&image, own);
        let named = body.instructions.iter().filter(|one| program.callee(&image, one) == Some("puts"));
        assert_eq!(named.count(), 2, "{about}");
        assert_eq!(program.metrics(&image, function(&program, "picks"), None).indirect_calls, 1, "{about}");
    }
}

const CONSTANT: &str = r##"
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone, noipa))
#define SLOT(name, callee) __asm__(".pushsection .data.rel.ro,\"aw\"\n.balign 8\n" #name ": .quad " #callee "\n.popsection"); \
    extern int (*volatile name)(int) __attribute__((visibility("hidden")));
KEEP int known(int n) { return printf("%d\n", n); }
KEEP int other(int n) { return n + 1; }
KEEP int stops(int n) { exit(n); }
SLOT(protected, known)
SLOT(fatal, stops)
SLOT(rewritten, known)
int (*volatile variable)(int) = known;
KEEP int through(int n) { return protected(n) + 1; }
KEEP int ends(int n) { return fatal(n) + 1; }
KEEP int jumps(int n) { return protected(n); }
KEEP int keeps(int n) { int (*f)(int) = protected; int s = 0; for (int i = 0; i < n; i++) s += f(i); return s; }
KEEP int changes(int n) { return rewritten(n) + 1; }
KEEP int varies(int n) { return variable(n) + 1; }
int main(int c, char **v) {
    if (c > 9) { variable = other; rewritten = other; }
    return through(c) + jumps(c) + keeps(c) + changes(c) + varies(c) + (v ? 0 : ends(c));
}
"##;

/// What the loader writes into a word, and protects then, is what a call through it goes to; a variable may change.
#[test]
fn calls_through_constant_words_are_sure() {
    let shop = Workshop::new();
    let relocated: [&[&str]; 3] = [
        &["-O2", "-pie", "-fPIE", "-Wl,-z,now"],
        &["-O1", "-no-pie", "-fno-pie", "-Wl,-z,now"],
        &["-O2", "-pie", "-fPIE", "-Wl,-z,now,-z,pack-relative-relocs"],
    ];
    for (compiler, flags) in ["gcc", "clang"].into_iter().flat_map(|compiler| relocated.map(|flags| (compiler, flags))).filter(|case| has(case.0)) {
        let bytes = shop.compile(compiler, "constant", "c", CONSTANT, flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let to_known = distances_to(&program, "known", Edges::Sure);
        let to = |name: &str| to_known[index(&program, name)];
        let about = format!("{compiler} {flags:?}");
        assert_eq!([to("through"), to("jumps"), to("keeps"), to("main")], [Some(1), Some(1), Some(1), Some(2)], "{about}");
        assert_eq!([to("changes"), to("varies"), to("other")], [None; 3], "{about}");
        assert!(function(&program, "ends").never_returns && !function(&program, "through").never_returns, "{about}");
    }
}

/// Clang without optimisation keeps in the frame the address that the large model counts from.
#[test]
fn calls_of_the_large_model_that_are_lost_are_counted() {
    let shop = Workshop::new();
    for (compiler, level, is_lost) in [("clang", "-O0", true), ("clang", "-O1", false), ("gcc", "-O2", false)] {
        if has(compiler) {
            let bytes = shop.compile(compiler, "lost", "c", HOISTED, &[level, "-mcmodel=large", "-fPIC"]);
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            // One call of `picks` goes where a variable says.
            assert_eq!(program.lost_calls() > 1, is_lost, "{compiler} {level}: {}", program.lost_calls());
        }
    }
}

const THUNKED: &str = r#"
#include <stdio.h>
#define KEEP __attribute__((noinline, noclone, noipa))
typedef int (*function)(int);
KEEP int one(int n) { return n > 3 ? puts("one") : n; }
KEEP int two(int n) { return n > 4 ? puts("two") : n + 1; }
function either[] = {one, two};
KEEP int calls(int n) { int s = 0; for (int i = 0; i < n; i++) s += either[i & 1](i); return s; }
KEEP int jumps(int n) { return either[n & 1](n); }
KEEP int kept(const unsigned char *p) {
    static void *const t[] = {&&A, &&B, &&C};
    int s = 0;
    goto *t[*p % 3];
    A: s += puts("a"); goto *t[*++p % 3];
    B: s *= 3; goto *t[*++p % 3];
    C: return s;
}
int main(int c, char **v) { return calls(c) + jumps(c) + kept((unsigned char *)v[0]); }
"#;

/// Thunks that stand in their functions are calls, jumps and returns of these: no function calls itself there, and the loop that catches
/// a processor's guesses is none of the program.
#[test]
fn thunks_in_their_functions_are_what_they_stand_for() {
    let shop = Workshop::new();
    let inline: &[&str] = &["-mindirect-branch=thunk-inline", "-mfunction-return=thunk-inline"];
    let branches: &[&str] = &["-mindirect-branch=thunk-inline"];
    let mixed: &[&str] = &["-mindirect-branch=thunk-inline", "-mfunction-return=thunk"];
    let trapped: &[&str] = &["-mindirect-branch=thunk-inline", "-mfunction-return=thunk-inline", "-mharden-sls=all"];
    for thunks in [inline, branches, mixed, trapped] {
        for more in [&["-O2"], &["-O0"], &["-O2", "-fno-plt", "-fno-pie", "-no-pie"][..]] {
            let flags = [thunks, more].concat();
            let bytes = shop.compile("gcc", "thunked", "c", THUNKED, &flags);
            let image = Image::parse(&bytes).expect("an image");
            let program = Program::analyse(&image).expect("functions");
            let numbers = |name: &str| {
                let metrics = program.metrics(&image, function(&program, name), None);
                (metrics.loops, metrics.indirect_calls, metrics.unresolved_jumps)
            };
            assert_eq!(numbers("calls"), (1, 1, 0), "{flags:?}");
            assert_eq!(numbers("jumps"), (0, 1, 0), "{flags:?}");
            let of_kept = numbers("kept");
            assert!(of_kept.0 == 0 && of_kept.1 == 0 && of_kept.2 > 0, "{flags:?}: {of_kept:?}");
            for name in ["calls", "jumps", "kept", "one", "main"] {
                let own = index(&program, name);
                assert!(!program.calls().callees(own).contains(&own), "{flags:?}: {name} calls itself");
                assert!(!function(&program, name).never_returns, "{flags:?}: {name}");
                assert!(program.functions[own].other_entries.is_empty(), "{flags:?}: {name}");
            }
            let to_puts = distances_to(&program, "puts", Edges::Sure);
            assert_eq!([to_puts[index(&program, "one")], to_puts[index(&program, "kept")]], [Some(1); 2], "{flags:?}");
            assert_eq!(to_puts[index(&program, "calls")], None, "{flags:?}");
            let possible = distances_to(&program, "puts", Edges::Possible);
            assert_eq!([possible[index(&program, "calls")], possible[index(&program, "jumps")]], [Some(2); 2], "{flags:?}");
            let calls = function(&program, "calls");
            let body = program.body(&image, calls);
            assert_eq!(program.loops(calls, &body).len(), 1, "{flags:?}");
        }
    }
}

const CHANGED: &str = r#"
typedef int (*function)(int);
#define PROTECTED(name) __attribute__((section(".data.rel.ro"))) static function volatile name
#define KEEP __attribute__((noinline, noclone, noipa))
KEEP int known(int n) { return n + 1; }
KEEP int other(int n) { return n - 1; }
PROTECTED(stays) = known;
PROTECTED(stored) = known;
PROTECTED(exchanged) = known;
PROTECTED(compared) = known;
PROTECTED(popped) = known;
PROTECTED(wide)[4] = {known, known, known, known};
PROTECTED(handed) = known;
PROTECTED(array)[4] = {known, known, known, known};
PROTECTED(held) = known;
function volatile *const holder = &held;
KEEP int through_stays(int n) { return stays(n) + 1; }
KEEP int through_stored(int n) { return stored(n) + 1; }
KEEP int through_exchanged(int n) { return exchanged(n) + 1; }
KEEP int through_compared(int n) { return compared(n) + 1; }
KEEP int through_popped(int n) { return popped(n) + 1; }
KEEP int through_wide(int n) { return wide[2](n) + 1; }
KEEP int through_handed(int n) { return handed(n) + 1; }
KEEP int through_array(int n) { return array[3](n) + 1; }
KEEP int through_held(int n) { return held(n) + 1; }
KEEP int through_thread(int n) { int r; __asm__ volatile("call *%%gs:%1" : "=a"(r) : "m"(stays), "D"(n) : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory"); return r; }
KEEP void fills(function volatile *place, function value) { *place = value; }
KEEP void changes(int n, function value) {
    stored = value;
    __atomic_exchange_n(&exchanged, value, 5);
    function old = known;
    __atomic_compare_exchange_n(&compared, &old, value, 0, 5, 5);
    __asm__ volatile("push %0; pop popped(%%rip)" : : "r"(value) : "memory");
    __asm__ volatile("movdqu %%xmm0, 16+wide(%%rip)" : : : "memory");
    fills(&handed, value);
    array[n] = value;
}
int main(int c, char **v) {
    if (c > 9) changes(c, other), fills(holder, other), through_thread(c);
    return through_stays(c) + through_stored(c) + through_exchanged(c) + through_compared(c) + through_popped(c) + through_wide(c)
        + through_handed(c) + through_array(c) + through_held(c) + (v == 0);
}
"#;

/// A word that is protected may change where code writes it, in whatever way, or where its address, or that of the object it lies in, is
/// held; and a segment of the thread counts from elsewhere.
#[test]
fn calls_through_words_that_may_change_are_not_sure() {
    let shop = Workshop::new();
    let cases: [&[&str]; 4] = [&["-O2", "-pie", "-fPIE"], &["-O2", "-no-pie", "-fno-pie"], &["-O0", "-pie", "-fPIE"], &["-O2", "-fPIC", "-shared"]];
    for (compiler, flags) in ["gcc", "clang"].into_iter().flat_map(|compiler| cases.map(|flags| (compiler, flags))).filter(|case| has(case.0)) {
        let flags = [flags, &["-w", "-Wl,-z,now"]].concat();
        let bytes = shop.compile(compiler, "changed", "c", CHANGED, &flags);
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let to_known = distances_to(&program, "known", Edges::Sure);
        let through = |name: &str| to_known[index(&program, &format!("through_{name}"))];
        let about = format!("{compiler} {flags:?}");
        assert_eq!(through("stays"), Some(1), "{about}");
        for name in ["stored", "exchanged", "compared", "popped", "wide", "handed", "array", "held", "thread"] {
            assert_eq!(through(name), None, "{about}: {name}");
        }
    }
}

#[test]
fn a_call_into_the_own_middle_is_no_recursion() {
    let source = ".globl twice\n.type twice, @function\ntwice:\n.cfi_startproc\ncall 1f\n1: inc %eax\nret\n.cfi_endproc\n.size twice, . - twice\n\
        .globl main\n.type main, @function\nmain:\ntest %edi, %edi\nje 2f\nxor %edi, %edi\ncall main\n2: call twice\nret\n.size main, . - main\n\
        .section .note.GNU-stack, \"\", @progbits\n";
    let shop = Workshop::new();
    let bytes = shop.compile("gcc", "twice", "s", source, &[]);
    let program = Program::analyse(&Image::parse(&bytes).expect("an image")).expect("functions");
    let at = |name: &str| program.functions.iter().position(|one| one.name == name).expect(name);
    assert_eq!(program.calls().callees(at("twice")), &[] as &[usize]);
    let mut expected = vec![at("main"), at("twice")];
    expected.sort_unstable();
    assert_eq!(program.calls().callees(at("main")), expected);
}
