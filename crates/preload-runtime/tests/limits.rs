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

#[test]
fn a_thread_that_finds_no_memory_counts_its_calls_as_lost_and_takes_no_room_from_others() {
    let program = Program::compile(
        r#"
        #include <pthread.h>
        #include <semaphore.h>
        #include <stdio.h>
        #include <sys/resource.h>
        #include "sites.h"
        static volatile long sink;
        static sem_t go[2];
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        static void *early(void *x) { sem_wait(&go[0]); for (int i = 0; i < 100000; i++) step(i); return x; }
        static void *late(void *x) { sem_wait(&go[1]); for (int i = 0; i < 1000; i++) step(i); return x; }
        int main(void) {
            pthread_t threads[2];
            struct rlimit before, none;
            step(1);
            sem_init(&go[0], 0, 0); sem_init(&go[1], 0, 0);
            pthread_create(&threads[0], 0, early, 0);
            pthread_create(&threads[1], 0, late, 0);
            getrlimit(RLIMIT_AS, &before);
            none = before; none.rlim_cur = 1 << 20;
            setrlimit(RLIMIT_AS, &none);
            sem_post(&go[0]); pthread_join(threads[0], 0);
            setrlimit(RLIMIT_AS, &before);
            sem_post(&go[1]); pthread_join(threads[1], 0);
            return 0;
        }
        "#,
        &["step"],
    );
    program.run();
    let graph = program.graph();
    assert_eq!((graph.calls()["step"], graph.header.refused_calls), (1 + 1000, 100_000));
}

#[test]
fn under_a_limit_the_threads_of_the_program_come_first() {
    let program = Program::compile(
        r#"
        #include <pthread.h>
        #include <semaphore.h>
        #include <stdio.h>
        #include <sys/resource.h>
        #include "sites.h"
        enum { THREADS = 10, STACK = 4 << 20 };
        static volatile long sink;
        static sem_t go;
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        static void *work(void *x) { step(1); sem_wait(&go); step(2); return x; }
        int main(void) {
            pthread_t threads[THREADS];
            pthread_attr_t attributes;
            struct rlimit limit;
            long pages;
            FILE *used = fopen("/proc/self/statm", "r");
            if (fscanf(used, "%ld", &pages) != 1) return 2;
            fclose(used);
            step(0);
            limit.rlim_cur = limit.rlim_max = pages * 4096 + 200L * (1 << 20);
            setrlimit(RLIMIT_AS, &limit);
            sem_init(&go, 0, 0);
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, STACK);
            for (int i = 0; i < THREADS; i++)
                if (pthread_create(&threads[i], &attributes, work, 0)) return 1;
            for (int i = 0; i < THREADS; i++) sem_post(&go);
            for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
            return 0;
        }
        "#,
        &["step"],
    );
    program.run();
    let graph = program.graph();
    assert_eq!((graph.calls()["step"], graph.header.refused_calls), (1, 20));
}
