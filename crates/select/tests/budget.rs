//! Estimates held against programs that count themselves, and the reasons of the choice within a budget.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use tare_code::{Metrics, Program};
use tare_image::Image;
use tare_select::budget::{Budget, Certainty, Estimates, Expectation, Keeper, Limit, Observed, ProbeCost, limited};
use tare_select::{Preset, Selection, choose};

fn gcc(directory: &Path, words: &[&str]) {
    let output = Command::new("gcc").current_dir(directory).args(words).output().expect("gcc can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A program of `count` functions that call later ones in loops of constant length, and print how often each was called.
fn counting_program(seed: u64, count: usize) -> String {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut source = format!("#include <stdio.h>\nlong calls[{count}];\n");
    for index in (1..count).rev() {
        let _ = write!(source, "__attribute__((noinline, noclone)) static void f{index}(void) {{ calls[{index}]++;");
        for callee in index + 1..count {
            match random(5) {
                0 => _ = write!(source, " f{callee}();"),
                1 => _ = write!(source, " for (int i = 0; i < {}; i++) {{ f{callee}(); }}", 2 + random(6)),
                _ => {}
            }
        }
        source.push_str(" __asm__ volatile(\"\"); }\n");
    }
    source.push_str("int main(void) { ");
    for index in 1..count.min(5) {
        let _ = write!(source, "for (int i = 0; i < {}; i++) {{ f{index}(); }} ", 2 + random(9));
    }
    let _ = writeln!(source, "for (int i = 1; i < {count}; i++) {{ printf(\"f%d %ld\\n\", i, calls[i]); }} return 0; }}");
    source
}

#[test]
fn visits_of_programs_with_constant_loops_are_what_the_programs_count() {
    for (seed, options) in [(1, "-O1"), (2, "-O2"), (3, "-O0"), (4, "-O1"), (5, "-O2")] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("app.c"), counting_program(seed, 14)).expect("a source file");
        // With `-fipa-ra` a counter may stand in the register of return values, where nothing tells it from one.
        gcc(directory.path(), &[options, "-fno-optimize-sibling-calls", "-fno-ipa-ra", "-o", "app", "app.c"]);
        let said = Command::new(directory.path().join("app")).output().expect("the program can be started").stdout;
        let said = String::from_utf8(said).expect("text");
        let counted: BTreeMap<&str, f64> =
            said.lines().filter_map(|line| line.split_once(' ')).map(|(name, count)| (name, count.parse().expect("a number"))).collect();
        assert_eq!(counted.len(), 13);
        let bytes = std::fs::read(directory.path().join("app")).expect("the program");
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let estimates = Estimates::of(&program, &image);
        for (name, count) in counted {
            // What is never called may have been left out.
            let Some(index) = program.functions.iter().position(|function| function.name == name) else { continue };
            if count == 0.0 {
                continue;
            }
            let estimate = estimates.functions[index];
            // Without optimisation a loop tests at its head, once more than it runs its body: the bound is higher then.
            let most = estimate.most.unwrap_or_else(|| panic!("{name} at {options}, seed {seed} has no bound: {estimate:?}"));
            assert!(if options == "-O0" { most >= count } else { most == count }, "{name} at {options}, seed {seed}: {most} of {count}");
            assert_eq!(estimate.certainty, Certainty::Bounded);
            assert!((estimate.visits / count - 1.0).abs() < 1e-6, "{name} at {options}, seed {seed}: {} of {count}", estimate.visits);
        }
    }
}

#[test]
fn nothing_bounds_the_visits_behind_a_call_that_comes_back_twice() {
    let source = "#include <setjmp.h>\n#include <stdio.h>\n__attribute__((noinline, noclone)) static void once(void) { __asm__ volatile(\"\"); }\n
        jmp_buf place; long calls; __attribute__((noinline, noclone)) static void behind(void) { calls++; }
        __attribute__((noinline, noclone)) static void back(int n) { if (n < 5000) longjmp(place, n + 1); }
        __attribute__((noinline, noclone)) static void again(void) { int n = setjmp(place); behind(); back(n); }
        int main(void) { once(); again(); printf(\"%ld\\n\", calls); }";
    for level in ["-O0", "-O1", "-O2"] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("app.c"), source).expect("a source file");
        gcc(directory.path(), &[level, "-o", "app", "app.c"]);
        let bytes = std::fs::read(directory.path().join("app")).expect("the program");
        let image = Image::parse(&bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let estimates = Estimates::of(&program, &image);
        let of = |name: &str| estimates.functions[program.functions.iter().position(|function| function.name == name).expect(name)].most;
        assert_eq!([of("once"), of("again"), of("behind")], [Some(1.0), Some(1.0), None], "{level}");
    }
}

/// Functions of every kind that a budget tells apart.
const KINDS: &str = r#"
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
int MPI_Send(int);
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void __kmpc_barrier(void *, int);
void MPI_Abort(int) __attribute__((noreturn));
/* As mpi.h declares it, so that a call at the end becomes a jump. */
void MPI_Abort_returns(int) __asm__("MPI_Abort");
volatile int state;
double field[100][100];
KEEP int getter(int a) { return state + a; }
KEEP void fail(void) { MPI_Abort(1); }
KEEP __attribute__((optimize("optimize-sibling-calls"))) void checked_by_a_jump(int a) { state = a; if (a < 0) MPI_Abort_returns(a); }
KEEP int checked(int a) { if (a < 0) { fail(); } return a + state; }
KEEP int exchange(int a) { return MPI_Send(a) + 1; }
KEEP void region(void *a) { (void)a; state = 2; }
KEEP void team(void) { GOMP_parallel(region, 0, 0, 0); }
KEEP void join(void) { __kmpc_barrier(0, 0); }
KEEP int setup(void) { return state = 1; }
KEEP double sweep(double a) {
    for (int n = 0; n < 50; n++) for (int i = 0; i < 100; i++) for (int j = 0; j < 100; j++) field[i][j] = field[i][j] * a + n;
    return field[3][4];
}
KEEP int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) + state; }
KEEP double descend(int n) {
    double sum = n;
    for (int i = 0; i < 20; i++) sum += field[0][i] * n;
    return n < 2 ? sum : descend(n - 1) + sum;
}
KEEP int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int many[1000];
int main(int argc, char **argv) {
    int sum = setup();
    for (int step = 0; step < argc * 1000; step++) {
        for (int i = 0; i < argc; i++) sum += getter(i) + checked(i), checked_by_a_jump(i);
        team();
        join();
        sum += exchange(step) + (int)sweep(step) + fibonacci(argc) + (int)descend(argc);
    }
    qsort(many, 1000, sizeof many[0], compare);
    return sum;
}
"#;

struct Compiled {
    bytes: Vec<u8>,
}

impl Compiled {
    fn kinds() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        std::fs::write(
            at("mpi.c"),
            "#include <stdlib.h>\nint MPI_Send(int a) { return a; } void MPI_Abort(int a) { exit(a); }\n\
             void GOMP_parallel(void (*f)(void *), void *a, unsigned n, unsigned w) { f(a); } void __kmpc_barrier(void *a, int b) {}\n",
        )
        .expect("a source file");
        std::fs::write(at("app.c"), KINDS).expect("a source file");
        gcc(directory.path(), &["-shared", "-fPIC", "-o", "libmpistub.so", "mpi.c"]);
        gcc(directory.path(), &["-O1", "-o", "app", "app.c", "libmpistub.so"]);
        Self { bytes: std::fs::read(at("app")).expect("the program") }
    }

    /// All of whose work is in a thread: a loop of a length that nobody knows.
    fn in_a_thread() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let source = "#include <pthread.h>\nstatic volatile long counts[2];\n\
                      __attribute__((noinline)) void bump(int of, long n) { for (long i = 0; i < n; i++) counts[of]++; }\n\
                      static void *body(void *n) { bump(1, *(long *)n); return 0; }\n\
                      int main(int c, char **v) { long n = c; pthread_t t; pthread_create(&t, 0, body, &n); pthread_join(t, 0); return v == 0; }\n";
        std::fs::write(directory.path().join("app.c"), source).expect("a source file");
        gcc(directory.path(), &["-O2", "-pthread", "-o", "app", "app.c"]);
        Self { bytes: std::fs::read(directory.path().join("app")).expect("the program") }
    }

    /// Each function's name with its reason, in front of it `+` or `-`; and what it is expected to cost.
    fn judged(&self, limit: Limit, seen: &[(&str, Observed)], total: f64) -> (BTreeMap<String, String>, Expectation) {
        let image = Image::parse(&self.bytes).expect("an image");
        let program = Program::analyse(&image).expect("functions");
        let mut estimates = Estimates::of(&program, &image);
        if !seen.is_empty() {
            let of = |function: &tare_code::Function| seen.iter().find(|(name, _)| *name == function.name).map(|(_, seen)| *seen);
            let observed: Vec<Option<Observed>> = program.functions.iter().map(of).collect();
            estimates.observe(&observed, total);
        }
        let preset: Preset = "auto".parse().expect("a preset");
        let all: Selection = choose(&program, &[preset.filter().expect("a filter")], |_| Metrics::default());
        let (selection, expectation) = limited(all, &program, &estimates, ProbeCost::DEFAULT, limit);
        assert!(selection.decisions.iter().all(|decision| decision.cause.filter.as_deref() == Some("auto")));
        let line = |decision: &tare_select::Decision| {
            let sign = if decision.is_selected { '+' } else { '-' };
            (program.functions[decision.function].name.clone(), format!("{sign} {}", decision.reason))
        };
        (selection.decisions.iter().map(line).collect(), expectation)
    }
}

/// The choice alone keeps to the budget.
fn budget(percent: &str) -> Limit {
    Limit { budget: percent.parse().expect("a budget"), keeper: Keeper::Choice }
}

/// The runtime keeps to it.
fn held(percent: &str) -> Limit {
    Limit { keeper: Keeper::Runtime, ..budget(percent) }
}

#[test]
fn each_kind_of_function_has_its_reason() {
    let (reasons, expectation) = Compiled::kinds().judged(budget("2%"), &[], 0.0);
    let begins = |name: &str, reason: &str| assert!(reasons[name].starts_with(reason), "{name}: {}", reasons[name]);
    begins("main", "+ main program");
    begins("exchange", "+ on a path to MPI");
    begins("team", "+ on a path to OpenMP");
    begins("join", "+ on a path to OpenMP");
    begins("setup", "+ calls are few; at most: 1");
    begins("sweep", "+ a call is long beside its probes; cycles, at least: ");
    begins("getter", "- a call may be short beside its probes; cycles: ");
    // Its only way to MPI is one that does not come back.
    begins("checked", "- a call may be short beside its probes; cycles: ");
    begins("checked_by_a_jump", "- a call may be short beside its probes; cycles: ");
    begins("fibonacci", "- recursion nobody knows how deep, and a call may be short beside its probes; cycles: ");
    begins("compare", "- called through pointers nobody knows how often, and a call may be short beside its probes; cycles: ");
    assert!(expectation.dilation < 0.02 && !expectation.is_over());
    assert_eq!(
        expectation.certainty.iter().map(|(_, count, _)| count).sum::<usize>(),
        reasons.values().filter(|reason| reason.starts_with('+')).count()
    );
}

#[test]
fn where_the_runtime_keeps_to_the_budget_what_is_unsure_stays() {
    let (reasons, expectation) = Compiled::kinds().judged(held("2%"), &[], 0.0);
    let begins = |name: &str, reason: &str| assert!(reasons[name].starts_with(reason), "{name}: {}", reasons[name]);
    begins("main", "+ main program");
    begins("exchange", "+ on a path to MPI");
    begins("team", "+ on a path to OpenMP");
    begins("setup", "+ calls are few; at most: 1");
    begins("sweep", "+ expected to fit, at least counted; calls and cycles a call: ");
    begins("descend", "+ nobody knows how often it is called: the runtime keeps to the budget; cycles a call: ");
    // Of a call of a few cycles nothing is left to show when it is counted.
    begins("fibonacci", "- a call is expected to take less than counting it; cycles: ");
    begins("getter", "- a call is expected to take less than counting it; cycles: ");
    assert!(expectation.dilation <= 0.02 && !expectation.is_over(), "{expectation:?}");
}

#[test]
fn what_threads_begin_with_is_called_and_what_it_calls_is_no_trifle() {
    let (reasons, _) = Compiled::in_a_thread().judged(held("2%"), &[], 0.0);
    for name in ["bump", "body"] {
        assert!(reasons[name].starts_with("+ nobody knows how often it is called"), "{name}: {}", reasons[name]);
    }
}

#[test]
fn what_a_run_showed_decides_what_the_runtime_can_hold() {
    let seen = |calls: f64, work: f64| Observed { calls, own: calls * work, work: calls * work, was_off: false };
    let total = 1e9;
    // Probes of `checked` take 7.5 % of the run, counting its calls 1.25 %; counting those of `getter`, 12.5 %.
    let off = Observed { was_off: true, ..seen(1e5, 10.0) };
    let shown =
        [("getter", seen(1e7, 20.0)), ("checked", seen(1e6, 200.0)), ("sweep", seen(1000.0, 5e5)), ("compare", off), ("setup", seen(0.0, 0.0))];
    let (reasons, expectation) = Compiled::kinds().judged(held("2%"), &shown, total);
    assert_eq!(reasons["getter"], "- over the budget even if only counted; calls and cycles a call: 10000000, 20");
    assert_eq!(reasons["checked"], "+ calls and cycles a call, as measured: 1000000, 200");
    assert_eq!(reasons["compare"], "- the measured run switched it off: counting its calls was too dear");
    assert!((expectation.dilation - 0.02).abs() < 1e-9, "with all probes on it is more, and the runtime holds it: {expectation:?}");
}

#[test]
fn more_budget_never_selects_less_nor_does_the_runtime_as_its_keeper() {
    let program = Compiled::kinds();
    let selected = |limit| {
        let (reasons, _) = program.judged(limit, &[], 0.0);
        reasons.into_iter().filter(|(_, reason)| reason.starts_with('+')).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let steps: Vec<Vec<String>> = ["0.01%", "0.5%", "2%", "10%", "1000%"].into_iter().map(|percent| selected(budget(percent))).collect();
    for pair in steps.windows(2) {
        assert!(pair[0].iter().all(|name| pair[1].contains(name)), "{pair:?}");
    }
    assert!(steps[0].contains(&"exchange".to_string()), "paths to MPI stay whatever the budget");
    for (alone, percent) in steps.iter().zip(["0.01%", "0.5%", "2%", "10%"]) {
        let held = selected(held(percent));
        assert!(alone.iter().all(|name| held.contains(name)), "{percent}: {alone:?}, {held:?}");
    }
}

#[test]
fn what_a_run_showed_decides_in_the_place_of_estimates() {
    let seen = |calls: f64, work: f64| Observed { calls, own: calls * work, work: calls * work, was_off: false };
    let total = 1e9;
    // A million calls of `getter` cost 7.5 %; `checked` was called ten times only; `exchange` stays whatever it costs.
    let shown = [("getter", seen(1e6, 20.0)), ("checked", seen(10.0, 30.0)), ("sweep", seen(1000.0, 9e5)), ("exchange", seen(1e5, 900.0))];
    let program = Compiled::kinds();
    let (reasons, expectation) = program.judged(budget("2%"), &shown, total);
    assert_eq!(reasons["getter"], "- over the budget; calls and cycles a call: 1000000, 20");
    assert_eq!(reasons["checked"], "+ calls and cycles a call, as measured: 10, 30");
    assert_eq!(reasons["sweep"], "+ calls and cycles a call, as measured: 1000, 900000");
    assert_eq!(reasons["exchange"], "+ on a path to MPI");
    assert!((expectation.kept - 0.0075).abs() < 0.001, "{expectation:?}");
    let (_, tight) = program.judged(budget("0.5%"), &shown, total);
    assert!(tight.is_over(), "paths to MPI alone take 0.75 %: {tight:?}");
    let (reasons, _) = program.judged(budget("10%"), &shown, total);
    assert!(reasons["getter"].starts_with('+'), "{}", reasons["getter"]);
    assert_eq!(Budget::DEFAULT.to_string(), "2 %");
}
