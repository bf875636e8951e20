//! What a pair of probes costs, over two bare readings of the clock, in several shapes of calls.
//!
//! The three variants of a shape take turns, and the shortest round of each counts. The process measures
//! itself into a directory that is removed at the end.

mod code;
mod shapes;

use code::{Code, Label, Mapped, Variant};
use shapes::{DATA, SHAPES, Shape};
use std::process::Command;
use std::sync::Barrier;
use tare_runtime::process::{IdBase, now, register_pseudo_image};

/// Rounds of each variant.
const ROUNDS: usize = 400;
/// Calls in a round, at least.
const CALLS: usize = 4_000;
/// Regions that all shapes together need, at most.
const REGIONS: u32 = 20_000;

fn main() {
    if std::env::var_os("TARE_RUN_DIR").is_none() {
        run_in_directory();
        return;
    }
    let base = register_pseudo_image(b"", REGIONS, [0xbe; 16]).expect("a graph file");
    let is_set = |name| std::env::var_os(name).is_some();
    match (is_set("TARE_THROTTLE"), is_set("TARE_EXACT")) {
        (true, _) => probes_off(base),
        (false, true) => probes_on(base),
        (false, false) => probes_quiet(base),
    }
}

fn probes_on(base: IdBase) {
    println!("{:36} {:>10} {:>10} {:>10} {:>8}", "probes on, ticks a call", "plain", "2 × rdtsc", "probes", "ratio");
    for shape in &SHAPES {
        compare(shape.name, shape, base, Variant::Probes);
    }
    for shape in SHAPES.iter().take(2) {
        compare_in_two_threads(shape, base);
    }
    for shape in SHAPES.iter().filter(|shape| shape.has_leaves) {
        compare(&format!("leaf, {}", shape.name), shape, base, Variant::Leaf);
    }
}

fn probes_quiet(base: IdBase) {
    println!("{:36} {:>10} {:>10} {:>10} {:>8}", "probes quiet, ticks a call", "plain", "2 × rdtsc", "probes", "ratio");
    for shape in SHAPES.iter().filter(|shape| shape.has_leaves && shape.calls == 64) {
        for (name, probes) in [("off, counted", Variant::Leaf), ("clockless", Variant::Probes)] {
            print_ratio(&format!("{name}, {}", shape.name), measure_quiet(shape, base, probes));
        }
    }
}

/// The rule of the run switches each region off after some calls: the shortest rounds are those after that.
fn probes_off(base: IdBase) {
    println!("{:36} {:>10} {:>10} {:>10} {:>8}", "off for good, ticks a call", "plain", "2 × rdtsc", "probes", "ratio");
    for shape in &SHAPES {
        compare(shape.name, shape, base, Variant::Probes);
    }
    for shape in SHAPES.iter().filter(|shape| shape.has_leaves) {
        compare(&format!("leaf, {}", shape.name), shape, base, Variant::Leaf);
    }
}

/// Prints ticks a call of a shape without probes, with two bare readings of the clock, and with probes; and the ratio.
fn compare(name: &str, shape: &Shape, base: IdBase, probes: Variant) {
    print_ratio(name, measure(shape, base, [Variant::Plain, Variant::Clock, probes]));
}

fn print_ratio(name: &str, [plain, clock, probes]: [f64; 3]) {
    let ratio = (probes - plain) / (clock - plain);
    println!("{name:36} {plain:10.2} {clock:10.2} {probes:10.2} {ratio:8.3}");
}

/// Runs this program again, as a measured process.
fn run_in_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = std::env::current_exe().expect("this program");
    let mut measured = Command::new(program);
    measured.env("TARE_RUN_DIR", directory.path()).env("TARE_RUN_ID", format!("bench{}", std::process::id()));
    measured.env_remove("TARE_EXACT").env_remove("TARE_THROTTLE");
    for (name, value) in [("TARE_EXACT", "1"), ("TARE_THROTTLE", "50,1000000000")] {
        assert!(measured.status().is_ok_and(|status| status.success()), "the measured process failed");
        measured.env(name, value);
    }
    assert!(measured.status().is_ok_and(|status| status.success()), "the measured process failed");
}

/// As [`compare`], in two threads that begin each round together.
fn compare_in_two_threads(shape: &Shape, base: IdBase) {
    let mut code = Code::new(base);
    let functions = [Variant::Plain, Variant::Clock, Variant::Probes].map(|variant| (shape.emit)(&mut code, variant));
    let code = code.map();
    let barrier = Barrier::new(2);
    let ticks = std::thread::scope(|scope| {
        let both = [(), ()].map(|()| {
            scope.spawn(|| {
                shortest_rounds(&code, functions, shape.calls, || {
                    barrier.wait();
                })
            })
        });
        both.map(|thread| thread.join().expect("a thread"))
    });
    for ticks in ticks {
        print_ratio(&format!("one of 2 threads, {}", shape.name), ticks);
    }
}

/// Ticks per call of each variant: the shortest round.
fn measure<const N: usize>(shape: &Shape, base: IdBase, variants: [Variant; N]) -> [f64; N] {
    let mut code = Code::new(base);
    let functions = variants.map(|variant| (shape.emit)(&mut code, variant));
    assert!(Code::regions() < REGIONS, "more regions than registered");
    shortest_rounds(&code.map(), functions, shape.calls, || ())
}

fn shortest_rounds<const N: usize>(code: &Mapped, functions: [Label; N], calls: usize, before: impl Fn()) -> [f64; N] {
    let data = vec![1; DATA];
    let repeats = CALLS.div_ceil(calls);
    let mut shortest = [u64::MAX; N];
    for _ in 0..ROUNDS {
        for (function, shortest) in functions.iter().zip(&mut shortest) {
            before();
            let begin = now().0;
            (0..repeats).for_each(|_| code.call(*function, &data));
            *shortest = (now().0 - begin).min(*shortest);
        }
    }
    shortest.map(|ticks| ticks as f64 / (repeats * calls) as f64)
}

/// Ticks per call: plain, with two bare readings of the clock, and while the probe is off or clockless, in the shortest of
/// many rounds. A round is a fraction of a batch, and many times what the clock moves on by at once.
fn measure_quiet(shape: &Shape, base: IdBase, probes: Variant) -> [f64; 3] {
    const TIMES: usize = 4;
    let mut code = Code::new(base);
    let functions = [Variant::Plain, Variant::Clock, probes].map(|variant| (shape.emit)(&mut code, variant));
    let code = code.map();
    let rounds = |function: Label| {
        let mut rounds: Vec<u64> = (0..8_000)
            .map(|_| {
                let begin = now().0;
                (0..TIMES).for_each(|_| code.call(function, &[]));
                now().0 - begin
            })
            .collect();
        rounds.sort_unstable();
        rounds
    };
    let [plain, clock, probes] = functions.map(rounds);
    let per_call = |rounds: &[u64], part: f64| rounds[(rounds.len() as f64 * part) as usize] as f64 / (TIMES * shape.calls) as f64;
    [per_call(&plain, 0.5), per_call(&clock, 0.5), per_call(&probes, 0.01)]
}
