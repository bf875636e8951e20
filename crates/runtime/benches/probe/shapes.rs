//! Shapes of calls: each emits a whole that calls measured functions in one pattern.

use crate::code::{Code, Label, Variant};

/// A shape of calls: emitted once for each variant.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Calls of measured functions in one call of the whole.
    pub(crate) calls: usize,
    /// Whether its functions may be leaves.
    pub(crate) has_leaves: bool,
    pub(crate) emit: fn(&mut Code, Variant) -> Label,
}

pub(crate) const SHAPES: [Shape; 10] = [
    Shape { name: "one function", has_leaves: true, calls: 64, emit: one_function },
    Shape { name: "depth 10", has_leaves: false, calls: 40, emit: depth_10 },
    Shape { name: "1000 siblings in turn", has_leaves: true, calls: 1000, emit: siblings },
    Shape { name: "100 callers of one leaf", has_leaves: false, calls: 200, emit: callers },
    Shape { name: "recursion, depth 100", has_leaves: false, calls: 100, emit: |code, variant| recursion(code, variant, 100) },
    Shape { name: "recursion, depth 100,000", has_leaves: false, calls: 100_000, emit: |code, variant| recursion(code, variant, 100_000) },
    Shape { name: "dependent work (40 cycles)", has_leaves: true, calls: 64, emit: dependent_work },
    Shape { name: "random order, by pointer", has_leaves: false, calls: 1 << 16, emit: random_order },
    Shape { name: "cold: 96 kB read in between", has_leaves: false, calls: 30, emit: |code, variant| cold(code, variant, 96) },
    Shape { name: "cold: 512 kB read in between", has_leaves: false, calls: 30, emit: |code, variant| cold(code, variant, 512) },
];

/// What the cold shapes read.
pub(crate) const DATA: usize = 512 << 10;

fn one_function(code: &mut Code, variant: Variant) -> Label {
    let function = code.function(variant, Code::work);
    code.function(Variant::Plain, |code| (0..64).for_each(|_| code.call_in_passing(function)))
}

fn dependent_work(code: &mut Code, variant: Variant) -> Label {
    let function = code.function(variant, |code| code.dependent_work(13));
    code.function(Variant::Plain, |code| (0..64).for_each(|_| code.call_in_passing(function)))
}

fn depth_10(code: &mut Code, variant: Variant) -> Label {
    let deepest = code.function(variant, Code::work);
    let top = (0..9).fold(deepest, |below, _| {
        code.function(variant, |code| {
            code.work();
            code.call_function(below);
        })
    });
    code.function(Variant::Plain, |code| (0..4).for_each(|_| code.call_function(top)))
}

fn siblings(code: &mut Code, variant: Variant) -> Label {
    let all: Vec<_> = (0..1000).map(|_| code.function(variant, Code::work)).collect();
    code.function(Variant::Plain, |code| all.iter().for_each(|&sibling| code.call_function(sibling)))
}

fn callers(code: &mut Code, variant: Variant) -> Label {
    let shared = code.function(variant, Code::work);
    let all: Vec<_> = (0..100).map(|_| code.function(variant, |code| code.call_function(shared))).collect();
    code.function(Variant::Plain, |code| all.iter().for_each(|&caller| code.call_function(caller)))
}

fn recursion(code: &mut Code, variant: Variant, depth: u32) -> Label {
    let start = code.next_function();
    let function = code.function(variant, |code| code.call_self(start));
    code.function(Variant::Plain, |code| {
        code.set_depth(depth);
        code.call_function(function);
    })
}

/// A thousand functions in an order that no predictor learns.
fn random_order(code: &mut Code, variant: Variant) -> Label {
    let all: Vec<_> = (0..1000).map(|_| code.function(variant, Code::work)).collect();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let order: Vec<_> = (0..1 << 16)
        .map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            all[(random >> 33) as usize % all.len()]
        })
        .collect();
    code.function(Variant::Plain, |code| code.call_in_order(&order))
}

/// Three calls at a time, and between them as many bytes read as push the runtime's state out of the first cache.
fn cold(code: &mut Code, variant: Variant, kilobytes: u32) -> Label {
    let all: Vec<_> = (0..3).map(|_| code.function(variant, Code::work)).collect();
    code.function(Variant::Plain, |code| {
        for _ in 0..10 {
            code.read_lines(kilobytes << 10 >> 6);
            all.iter().for_each(|&function| code.call_function(function));
        }
    })
}
