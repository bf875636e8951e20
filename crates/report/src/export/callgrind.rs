//! Callgrind's format: functions with their own costs and their calls (<https://valgrind.org/docs/manual/cl-format.html>).
//!
//! It knows functions rather than call paths. A region that is entered again before it has ended gets a function of its own
//! for each depth, `f'2`, as callgrind itself does: otherwise a reader shows more than all of the time.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::sheet::{Path, Sheet};
use super::{held, title};
use crate::run::{Results, Run};

/// Nanoseconds, calls, nanoseconds waited.
type Costs = [u64; 3];

#[derive(Default)]
struct Function<'a> {
    image: &'a str,
    file: &'a str,
    line: u32,
    own: Costs,
    /// By callee: calls, and the costs of the callee with all below.
    calls: BTreeMap<String, (u64, Costs)>,
}

pub(super) fn write(run: &Run, results: &Results<'_>, sheet: &Sheet<'_>) -> String {
    let mut text = String::from("# callgrind format\nversion: 1\n");
    let totals = sheet.paths.iter().fold([0; 3], |sum, path| added(sum, own(path)));
    let _ = writeln!(text, "creator: tareweight {}", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "cmd: {}", held(&run.program, &[]));
    let _ = writeln!(text, "desc: Trigger: {}", held(&title(run, results), &[]));
    let _ = writeln!(text, "positions: line\nevent: ns : Time, nanoseconds\nevent: calls : Calls\nevent: waits : Waiting, nanoseconds");
    let _ = writeln!(text, "events: ns calls waits\nsummary: {}", words(totals));
    let functions = functions(sheet);
    for (name, function) in &functions {
        let _ = writeln!(text, "\nob={}\nfl={}\nfn={name}\n{} {}", named(function.image), named(function.file), function.line, words(function.own));
        for (callee, (calls, costs)) in &function.calls {
            let to = &functions[callee];
            // As callgrind does: readers take a callee whose place is said to be another function than the one of that name here.
            if to.image != function.image {
                let _ = writeln!(text, "cob={}", named(to.image));
            }
            if to.file != function.file {
                let _ = writeln!(text, "cfi={}", named(to.file));
            }
            let _ = writeln!(text, "cfn={callee}\ncalls={calls} {}\n{} {}", to.line, function.line, words(*costs));
        }
    }
    let _ = writeln!(text, "\ntotals: {}", words(totals));
    text
}

fn functions<'a>(sheet: &Sheet<'a>) -> BTreeMap<String, Function<'a>> {
    let mut below: Vec<Costs> = sheet.paths.iter().map(own).collect();
    let mut functions: BTreeMap<String, Function<'a>> = BTreeMap::new();
    for (index, path) in sheet.paths.iter().enumerate().rev() {
        let function = functions.entry(name(path)).or_default();
        if let Some(region) = path.region {
            (function.image, function.file, function.line) = (&region.image, &region.file, region.line);
        }
        function.own = added(function.own, own(path));
        if let Some(parent) = path.parent {
            let costs = below[index];
            below[parent] = added(below[parent], costs);
            let caller = functions.entry(name(&sheet.paths[parent])).or_default();
            let call = caller.calls.entry(name(path)).or_default();
            *call = (call.0 + path.calls.max(1), added(call.1, costs));
        }
    }
    functions
}

fn own(path: &Path<'_>) -> Costs {
    [path.exclusive_ns, path.calls, path.wait_ns]
}

fn added(one: Costs, other: Costs) -> Costs {
    [one[0].saturating_add(other[0]), one[1].saturating_add(other[1]), one[2].saturating_add(other[2])]
}

fn words(costs: Costs) -> String {
    format!("{} {} {}", costs[0], costs[1], costs[2])
}

fn name(path: &Path<'_>) -> String {
    let name = held(path.name(), &[]);
    if path.recursion == 0 { name } else { format!("{name}'{}", path.recursion + 1) }
}

fn named(text: &str) -> String {
    if text.is_empty() { "???".to_string() } else { held(text, &[]) }
}
