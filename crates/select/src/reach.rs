//! How many calls lead to a set of functions, here or in other images.

use std::collections::{HashMap, VecDeque};

use tare_code::Program;

/// For every function the shortest number of sure calls to one of `roots` or to a wanted import; 0 for a root itself.
pub(crate) fn distances_to(program: &Program, roots: &[usize], wanted: &mut dyn FnMut(&str) -> bool) -> Vec<Option<u32>> {
    let calls = program.calls();
    let count = program.functions.len();
    let mut callers = vec![Vec::new(); count];
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut todo: VecDeque<(usize, u32)> = roots.iter().map(|&root| (root, 0)).collect();
    for caller in 0..count {
        calls.callees(caller).iter().filter(|&&callee| callee < count).for_each(|&callee| callers[callee].push(caller));
        if calls.imports(caller).any(|import| *known.entry(import).or_insert_with(|| wanted(import))) {
            todo.push_back((caller, 1));
        }
    }
    let mut distances = vec![None; count];
    while let Some((function, distance)) = todo.pop_front() {
        if distances[function].is_none() {
            distances[function] = Some(distance);
            todo.extend(callers[function].iter().map(|&caller| (caller, distance + 1)));
        }
    }
    distances
}
