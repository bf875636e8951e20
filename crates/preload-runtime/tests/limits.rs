//! Programs with more call paths than a thread has nodes for.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;

use support::{CallPath, Graph, Location, Program};
use tare_format::graph::MAX_PATHS;

/// Regions of which each calls all, itself included, down to a depth: what they leave, and their names.
fn calling_each_other(regions: usize, depth: u32) -> (Graph, Vec<String>) {
    let names: Vec<_> = (1..=regions).map(|number| format!("r{number}")).collect();
    let mut source = String::from("#include \"sites.h\"\ntypedef void region(long);\nvoid shared(long depth);\n");
    for name in &names {
        let number = &name[1..];
        source += &format!("region {name}; __asm__(\".set {name}_body, shared\"); REGION({name}, {number});\n");
    }
    source += &format!("static region *const all[] = {{ {} }};\n", names.join(", "));
    source += &format!("void shared(long depth) {{ if (depth) for (int i = 0; i < {regions}; i++) all[i](depth - 1); }}\n");
    source += &format!("int main(void) {{ shared({depth}); return 0; }}\n");
    let program = Program::compile(&source, &names.iter().map(String::as_str).collect::<Vec<_>>());
    program.run();
    (program.graph(), names)
}

/// The nodes of calls beyond the limit of paths, one for each region.
fn beyond_the_limit(location: &Location) -> impl Iterator<Item = &CallPath> {
    location.nodes.iter().filter(|path| path.path.starts_with("overflow/"))
}

#[test]
fn calls_beyond_the_limit_of_paths_are_counted_by_region() {
    let (graph, names) = calling_each_other(370, 2);
    let calls = graph.calls();
    assert_eq!(calls.values().sum::<u64>(), 370 + 370 * 370);
    let location = &graph.locations[0];
    assert_eq!((location.record.overflow_calls, graph.path("overflow").calls()), (0, 0));
    assert!(names.iter().all(|name| calls[name.as_str()] == 371), "{calls:?}");
    let beyond: Vec<&CallPath> = beyond_the_limit(location).collect();
    assert_eq!((location.record.nodes - MAX_PATHS) as usize, beyond.len());
    assert_eq!(beyond.len(), 370);
    assert!(beyond.iter().all(|path| path.calls() > 0 && path.node.exclusive > 0));
}

#[test]
fn recursion_beyond_the_limit_of_paths_counts_no_time_twice() {
    let (graph, names) = calling_each_other(50, 4);
    let calls = graph.calls();
    assert!(names.iter().all(|name| calls[name.as_str()] == 1 + 50 + 50 * 50 + 50 * 50 * 50), "{calls:?}");
    let location = &graph.locations[0];
    let passed = graph.header.last_ticks - graph.header.start_ticks;
    assert_eq!(location.record.skipped_frames + location.record.unmatched_exits + location.record.overflow_calls, 0);
    for path in beyond_the_limit(location) {
        let inclusive = path.node.inclusive;
        assert!((path.node.exclusive.cast_unsigned()..=passed).contains(&inclusive), "{}: {inclusive} of {passed}", path.path);
    }
}
