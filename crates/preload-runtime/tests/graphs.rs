//! What programs leave in their graph files: exact calls, times that add up, whatever the program does.

mod support;

use std::os::unix::fs::MetadataExt;
use support::{Graph, Program};
use tare_format::graph::{NODE_BATCHES, ProcessState};

/// A body that takes a few cycles and cannot be removed.
const WORK: &str = r#"
#include "sites.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sink;
"#;

fn program(source: &str, names: &[&str]) -> Program {
    Program::compile(&format!("{WORK}{source}"), names)
}

#[test]
fn calls_are_exact_and_exclusive_times_add_up() {
    let program = program(
        r#"
        int outer(int n); int inner(int n); int main_region(int n);
        int inner_body(int n) { sink += n; return n + 1; }
        int outer_body(int n) { int s = 0; for (int i = 0; i < 10; i++) s += inner(i + n); return s; }
        int main_region_body(int n) { int s = 0; for (int i = 0; i < n; i++) s += outer(i) + inner(i); return s; }
        REGION(main_region, 1); REGION(outer, 2); REGION(inner, 3);
        int main(void) { printf("%d\n", main_region(1000)); return 0; }
        "#,
        &["main_region", "outer", "inner"],
    );
    let output = program.run();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "5550500\n");
    let graph = program.graph();
    assert_eq!(graph.header.state, ProcessState::Finished as u32);
    assert_eq!(graph.paths(), ["", "/main_region", "/main_region/outer", "/main_region/outer/inner", "/main_region/inner"]);
    assert_eq!(graph.path("/main_region/outer/inner").calls(), 10_000);
    assert_eq!(graph.path("/main_region/inner").calls(), 1_000);
    let location = &graph.locations[0];
    let passed = location.record.end_ticks - location.record.start_ticks;
    assert_eq!(location.exclusive(), passed.cast_signed());
    let [main, outer, inner] = ["/main_region", "/main_region/outer", "/main_region/outer/inner"].map(|path| graph.path(path).node);
    assert_eq!(inner.inclusive, inner.exclusive.cast_unsigned());
    assert!(outer.inclusive >= inner.inclusive && main.inclusive >= outer.inclusive);
    assert_eq!((location.record.unmatched_exits, location.record.skipped_frames), (0, 0));
    assert!(graph.header.hot_pair_cost > 0 && graph.header.clock_samples > 0);
    assert!(!program.memory().exists(), "left in memory");
}

#[test]
fn recursion_is_folded_and_counted_once_in_time() {
    let program = program(
        r#"
        long down(long n); long even(long n); long odd(long n);
        long down_body(long n) { return n ? 1 + down(n - 1) : 0; }
        long even_body(long n) { return n ? odd(n - 1) : 1; }
        long odd_body(long n) { return n ? even(n - 1) : 0; }
        REGION(down, 1); REGION(even, 2); REGION(odd, 3);
        int main(void) { long d = down(100000); printf("%ld %ld\n", d, even(1000)); return 0; }
        "#,
        &["down", "even", "odd"],
    );
    program.run();
    let graph = program.graph();
    assert_eq!(graph.paths(), ["", "/down", "/even", "/even/odd"]);
    let down = graph.path("/down");
    assert_eq!((down.calls(), down.node.flags), (100_001, 1));
    assert_eq!(graph.calls()["even"] + graph.calls()["odd"], 1001);
    assert_eq!(down.node.inclusive, down.node.exclusive.cast_unsigned());
}

#[test]
fn what_is_too_deep_for_a_frame_is_counted_and_stays_balanced() {
    let program = program(
        r#"
        #include <sys/resource.h>
        #include <pthread.h>
        long down(long n); long after(long n);
        long down_body(long n) { return n ? 1 + down(n - 1) : 0; }
        long after_body(long n) { return n; }
        REGION(down, 1); REGION(after, 2);
        static void *work(void *x) { down(300000); return (void *)after(7); }
        int main(void) {
            pthread_attr_t a; pthread_t t;
            pthread_attr_init(&a); pthread_attr_setstacksize(&a, 256 << 20);
            pthread_create(&t, &a, work, 0); pthread_join(t, 0); return 0;
        }
        "#,
        &["down", "after"],
    );
    program.run();
    let graph = program.graph();
    let lost: u64 = graph.locations.iter().map(|location| location.record.lost_depth).sum();
    assert!(lost > 0);
    assert_eq!(graph.path("/down").calls(), 300_001);
    assert_eq!(graph.path("/after").calls(), 1);
    assert!(graph.locations.iter().all(|location| location.record.unmatched_exits == 0));
}

#[test]
fn every_thread_has_a_location_that_ends_with_it() {
    let program = program(
        r#"
        #include <pthread.h>
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        static void *work(void *x) { for (long i = 0; i < 5000; i++) step(i); return x; }
        int main(void) {
            pthread_t t[8];
            for (int i = 0; i < 8; i++) pthread_create(t + i, 0, work, 0);
            for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
            step(0); return 0;
        }
        "#,
        &["step"],
    );
    program.run();
    let graph = program.graph();
    assert_eq!(graph.locations.len(), 9);
    assert_eq!(graph.calls()["step"], 40_001);
    for location in &graph.locations {
        let (is_main, record) = (location.record.thread == 0, &location.record);
        assert_eq!(record.state, if is_main { 1 } else { 2 });
        assert_eq!(location.exclusive(), (record.end_ticks - record.start_ticks).cast_signed());
    }
}

#[test]
fn short_threads_without_end_are_all_counted_and_take_no_more_memory() {
    let program = program(
        r#"
        #include <pthread.h>
        #include <string.h>
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        static pthread_key_t key;
        static void last(void *x) { step(0); }
        static void *work(void *x) { pthread_setspecific(key, x); for (long i = 0; i < 9; i++) step(i); return x; }
        static void run(int threads) {
            pthread_t t;
            while (threads--) { pthread_create(&t, 0, work, &key); pthread_join(t, 0); }
        }
        static long kilobytes(const char *name) {
            char line[256]; long value = 0;
            FILE *status = fopen("/proc/self/status", "r");
            while (fgets(line, sizeof line, status))
                if (!strncmp(line, name, strlen(name))) value = atol(line + strlen(name));
            fclose(status);
            return value;
        }
        int main(void) {
            pthread_key_create(&key, last);
            step(0);
            run(1500);
            long size = kilobytes("VmSize:"), resident = kilobytes("VmRSS:");
            run(3500);
            printf("%ld %ld\n", kilobytes("VmSize:") - size, kilobytes("VmRSS:") - resident);
            return 0;
        }
        "#,
        &["step"],
    );
    let output = program.run();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let grown: Vec<i64> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    // Threads that are still ending in the kernel cost a few more kits, of 48 MiB of addresses each.
    assert!(grown[0] < 1 << 20 && grown[1] < 32 << 10, "{grown:?} KiB");
    let graph = program.graph();
    // 64 graphs of their own, and a few more while threads are still ending in the kernel.
    assert!((64..1024).contains(&graph.locations.len()), "{}", graph.locations.len());
    assert_eq!(graph.header.lost_threads, 0);
    assert_eq!(graph.calls()["step"], 1 + 5000 * 10);
    assert_eq!(graph.locations.iter().map(|location| location.nodes[0].calls()).sum::<u64>(), 5001);
    for location in &graph.locations[1..] {
        let (threads, step) = (location.nodes[0].calls(), &location.nodes[1]);
        assert_eq!((location.nodes.len(), step.calls(), location.record.unmatched_exits), (2, 10 * threads, 0));
        // The times between the threads are nobody's.
        let passed = (location.record.end_ticks - location.record.start_ticks).cast_signed();
        assert!(location.exclusive() < passed || threads == 1);
    }
}

#[test]
fn a_storm_of_signals_loses_no_call() {
    for stack in ["", "stack_t s = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 }; sigaltstack(&s, 0);"] {
        let program = program(
            &r#"
            #include <signal.h>
            #include <string.h>
            #include <sys/time.h>
            long leaf(long n); long work(long n); void handler(int s); long step(long n);
            static volatile long handled;
            long leaf_body(long n) { return n * n; }
            long step_body(long n) { sink += n; return leaf(n); }
            void handler_body(int s) { handled++; step(s); }
            long work_body(long n) { long s = 0; for (long i = 0; i < n; i++) { s += step(i); s += leaf(i); } return s; }
            REGION(handler, 1); REGION(work, 2); REGION(step, 3); LEAF(leaf, 4);
            int main(void) {
                @STACK@
                struct sigaction a; memset(&a, 0, sizeof a);
                a.sa_handler = handler; a.sa_flags = SA_ONSTACK | SA_RESTART;
                sigaction(SIGALRM, &a, 0);
                struct itimerval t = { { 0, 50 }, { 0, 50 } };
                setitimer(ITIMER_REAL, &t, 0);
                for (int i = 0; i < 200; i++) work(10000);
                memset(&t, 0, sizeof t); setitimer(ITIMER_REAL, &t, 0);
                printf("%ld\n", handled); return 0;
            }
            "#
            .replace("@STACK@", stack),
            &["handler", "work", "step", "leaf"],
        );
        let output = program.run();
        let handled: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        assert!(handled > 100, "only {handled} signals");
        let graph = program.graph();
        let calls = graph.calls();
        assert_eq!(calls["handler"], handled);
        assert_eq!(calls["work"], 200);
        assert_eq!(calls["step"], 2_000_000 + handled);
        assert_eq!(calls["leaf"], 4_000_000 + handled);
        let location = &graph.locations[0];
        assert_eq!((location.record.unmatched_exits, location.record.skipped_frames), (0, 0));
        let passed = location.record.end_ticks - location.record.start_ticks;
        assert_eq!(location.exclusive(), passed.cast_signed());
    }
}

#[test]
fn a_forked_child_counts_into_a_file_of_its_own() {
    let program = program(
        r#"
        #include <sys/wait.h>
        long step(long n); int outer(int n);
        long step_body(long n) { sink += n; return n; }
        int outer_body(int n) {
            for (int i = 0; i < 100; i++) step(i);
            pid_t child = fork();
            for (int i = 0; i < (child ? 1000 : 30); i++) step(i);
            return child;
        }
        REGION(step, 1); REGION(outer, 2);
        int main(void) { int child = outer(0); step(1); if (child) wait(0); exit(0); }
        "#,
        &["step", "outer"],
    );
    program.run();
    let graphs = program.graphs();
    assert_eq!(graphs.len(), 2);
    let parent = graphs.iter().find(|graph| graph.calls()["outer"] == 1).expect("the parent's file");
    let child = graphs.iter().find(|graph| graph.calls()["outer"] == 0).expect("the child's file");
    assert_eq!((parent.calls()["step"], child.calls()["step"]), (1101, 31));
    assert_eq!(child.header.parent_pid, parent.header.pid);
    for graph in &graphs {
        let location = &graph.locations[0];
        let passed = location.record.end_ticks - location.record.start_ticks;
        assert_eq!(location.exclusive(), passed.cast_signed());
        assert_eq!(location.record.unmatched_exits, 0);
    }
}

#[test]
fn a_killed_process_leaves_a_file_that_reads_like_any_other() {
    let program = program(
        r#"
        long step(long n); int outer(int n);
        long step_body(long n) { sink += n; return n; }
        int outer_body(int n) {
            for (long i = 0; i < 5000; i++) step(i);
            puts("ready"); fflush(stdout);
            for (;;) pause();
        }
        REGION(step, 1); REGION(outer, 2);
        int main(void) { return outer(0); }
        "#,
        &["step", "outer"],
    );
    let mut child = program.spawn();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut output, &mut line).expect("a line");
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    let graphs = program.graphs_in(&program.memory());
    assert_eq!(graphs.len(), 1);
    assert_eq!(graphs[0].header.state, ProcessState::Running as u32);
    assert_eq!(graphs[0].path("/outer/step").calls(), 5000);
    assert!(program.graphs().is_empty());
}

#[test]
fn calls_stay_exact_while_batches_are_off_and_the_cost_is_found() {
    let program = program(
        r#"
        long leaf_short(long n); long outer(long n); long leaf_long(long n);
        long leaf_short_body(long n) { return n * n; }
        long leaf_long_body(long n) { for (int i = 0; i < 20000; i++) sink += n; return n; }
        long outer_body(long n) { long s = 0; for (long i = 0; i < n; i++) s += leaf_short(i); return s; }
        REGION(outer, 1); LEAF(leaf_short, 2); LEAF(leaf_long, 3);
        int main(void) {
            long s = 0;
            for (int i = 0; i < 1000; i++) s += outer(1237);
            for (int i = 0; i < 2000; i++) s += leaf_long(i);
            printf("%ld\n", s); return 0;
        }
        "#,
        &["outer", "leaf_short", "leaf_long"],
    );
    program.run();
    let graph = program.graph();
    let short = graph.path("/outer/leaf_short");
    assert_eq!(short.calls(), 1_237_000);
    assert!(short.node.off_calls > 20_000, "{} calls were off", short.node.off_calls);
    let batches = short.batches.expect("batches");
    assert!(batches.estimates > 0);
    let long = graph.path("/leaf_long");
    assert_eq!((long.calls(), long.node.off_calls, long.node.flags & NODE_BATCHES), (2000, 0, 0));
    assert!(graph.locations[0].record.overhead > 0);
}

/// The paths of a nest of four functions, and of one of them by another way.
const NEST: [&str; 5] = ["/number", "/number/advance", "/number/advance/times", "/number/advance/plus", "/number/plus"];

/// The graph of a run of that nest: its calls are exact whatever was quiet.
fn graph_of_nest() -> Graph {
    let program = program(
        r#"
        long times(long n); long plus(long n); long advance(long n); long number(long n);
        long times_body(long n) { return n * 1103515245; }
        long plus_body(long n) { return n + 12345; }
        long advance_body(long n) { return plus(times(n)); }
        long number_body(long n) { return advance(n) + (n % 50 ? 0 : plus(n)); }
        LEAF(times, 1); LEAF(plus, 2); REGION(advance, 3); REGION(number, 4);
        int main(void) { long s = 0; for (long i = 0; i < 3000000; i++) s += number(i); printf("%ld\n", s); return 0; }
        "#,
        &["times", "plus", "advance", "number"],
    );
    program.run();
    let graph = program.graph();
    let paths = NEST.map(|path| graph.path(path));
    assert_eq!(paths.map(|path| path.calls()), [3_000_000, 3_000_000, 3_000_000, 3_000_000, 60_000]);
    for path in paths {
        let (off, together) = (path.calls() - path.node.calls, path.batches.as_ref().map_or(0, |batches| batches.together));
        assert!(together <= off, "{}: {together} of {off} quiet calls were in company", path.path);
    }
    assert!(graph.locations[0].record.skipped_frames == 0 && graph.locations[0].record.unmatched_exits == 0);
    graph
}

#[test]
fn calls_stay_exact_while_all_paths_are_quiet_together() {
    // A path that lost its processor in its first batch takes none for long, and others none without it.
    let is_in_company = |graph: &Graph| NEST.iter().filter_map(|path| graph.path(path).batches.as_ref()).any(|batches| batches.together > 50_000);
    let graph = (0..10).map(|_| graph_of_nest()).find(is_in_company).expect("a run whose paths were quiet together");
    // Whoever had the focus for long enough knows what passed in company, and that others were there.
    let companies: Vec<_> = NEST.iter().filter_map(|path| graph.path(path).company.as_ref()).collect();
    assert!(!companies.is_empty());
    assert!(companies.iter().all(|company| company.estimates == 0 && company.others <= company.all), "{companies:?}");
    assert!(companies.iter().any(|company| company.others > company.all / 2 && company.counted > 0), "{companies:?}");
}

/// Rounds of the long run in the suite, of four events each; the variable `TARE_ROUNDS` asks for more of them.
const ROUNDS: u64 = 2_500_000;

#[test]
fn a_run_that_goes_on_does_not_grow() {
    let rounds = std::env::var("TARE_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let size_after = |rounds: u64| {
        let program = program(
            r#"
            long leaf(long n); long work(long n);
            long leaf_body(long n) { return sink += n; }
            long work_body(long n) { return leaf(n); }
            REGION(work, 1); LEAF(leaf, 2);
            int main(int count, char **words) { for (long i = atol(words[1]); i--;) sink += work(i); return 0; }
            "#,
            &["work", "leaf"],
        );
        assert!(program.command().arg(rounds.to_string()).status().expect("it runs").success());
        let graph = program.graph();
        assert_eq!((graph.calls()["work"], graph.calls()["leaf"]), (rounds, rounds));
        let file = std::fs::read_dir(program.directory()).expect("the directory").map(|entry| entry.expect("an entry"));
        let file = { file }.find(|entry| entry.file_name().to_string_lossy().ends_with(".graph")).expect("a graph file");
        let file = file.metadata().expect("its size");
        (file.len(), file.blocks() * 512)
    };
    let (few, many) = (size_after(250), size_after(rounds));
    assert_eq!(few.0, many.0);
    // The sums of batches have a page, which begins with the first batch.
    assert!(many.1 <= few.1 + 4096, "{few:?} bytes, then {many:?}");
}

#[test]
fn in_exact_runs_nothing_is_off() {
    let program = program(
        r#"
        long leaf(long n);
        long leaf_body(long n) { return n * n; }
        LEAF(leaf, 1);
        int main(void) { for (int i = 0; i < 300000; i++) sink += leaf(i); return 0; }
        "#,
        &["leaf"],
    );
    let status = program.command().env("TARE_EXACT", "1").status().expect("it runs");
    assert!(status.success());
    let graph = program.graph();
    assert_eq!((graph.path("/leaf").node.calls, graph.path("/leaf").node.off_calls), (300_000, 0));
    assert_eq!(graph.header.flags, 1);
}

#[test]
fn the_error_number_of_the_program_is_left_alone() {
    let program = program(
        r#"
        #include <errno.h>
        long step(long n);
        long step_body(long n) { return n; }
        REGION(step, 1);
        int main(void) { errno = 77; step(1); return errno != 77; }
        "#,
        &["step"],
    );
    program.run();
    assert_eq!(program.graph().calls()["step"], 1);
}

#[test]
fn a_full_file_system_is_an_overflow_and_no_signal() {
    let program = program(
        r#"
        #include <sys/resource.h>
        long step(long n);
        long step_body(long n) { return n; }
        REGION(step, 1);
        int main(void) { for (int i = 0; i < 1000; i++) step(i); return 0; }
        "#,
        &["step"],
    );
    let limited = format!("ulimit -f 1024; exec {}/program", program.directory().display());
    let mut command = std::process::Command::new("sh");
    let measured = program.command();
    for (name, value) in measured.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    let status = command.args(["-c", &limited]).status().expect("it runs");
    assert!(status.success(), "{status:?}");
    let graphs = program.graphs();
    assert!(graphs.iter().all(|graph| graph.header.lost_threads == 1 && graph.locations.is_empty()));
}

#[test]
fn a_copy_says_that_it_is_the_original_and_its_children_do_not() {
    let program = program(
        r#"
        #include <limits.h>
        int main(void) {
            char link[PATH_MAX] = { 0 }, own[64];
            if (readlink("/proc/self/exe", link, sizeof link - 1) < 0) return 1;
            char *path = realpath("/proc/self/exe", 0);
            snprintf(own, sizeof own, "/proc/%d/exe", getpid());
            char *canonical = canonicalize_file_name(own);
            printf("%s %s %s\n", link, path, canonical); fflush(stdout);
            return system("readlink /proc/self/exe");
        }
        "#,
        &["unused"],
    );
    let output = program.command().env("TARE_EXECUTABLE", "/etc/passwd").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (own, child) = text.split_once('\n').expect("two lines");
    assert_eq!(own, "/etc/passwd /etc/passwd /etc/passwd");
    assert!(child.contains("readlink") || child.contains("coreutils"), "{child}");
    let copy = program.directory().join("program").canonicalize().expect("its path");
    for (named, answer) in [(copy.as_path(), "/etc/passwd "), (std::path::Path::new("/bin/another"), copy.to_str().expect("a path"))] {
        let output = program.command().env("TARE_EXECUTABLE", "/etc/passwd").env("TARE_COPY", named).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with(answer), "{text}");
    }
}

#[test]
fn without_a_run_directory_nothing_happens() {
    let program = program(
        r#"
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        int main(void) { for (int i = 0; i < 10; i++) step(i); return sink != 45; }
        "#,
        &["step"],
    );
    let status = program.command().env_remove("TARE_RUN_DIR").status().expect("it runs");
    assert!(status.success());
    assert!(program.graphs().is_empty());
    assert!(!program.memory().exists());
}

#[test]
fn a_program_that_is_no_image_leaves_no_file() {
    let program = program("int main(void) { return 0; }", &["unused"]);
    let measured = program.command();
    let mut command = std::process::Command::new("/bin/true");
    for (name, value) in measured.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    assert!(command.status().expect("it runs").success());
    assert!(program.graphs().is_empty());
}

#[test]
fn the_delay_of_a_thread_that_exits_for_the_main_one_is_not_that_of_the_span() {
    let program = program(
        r#"
        #include <pthread.h>
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        static void *work(void *x) { for (int i = 0; i < 1000; i++) step(i); exit(0); }
        int main(void) { pthread_t t; step(0); pthread_create(&t, 0, work, 0); for (;;) pause(); }
        "#,
        &["step"],
    );
    program.run();
    let header = program.graph().header;
    assert_eq!((header.state, header.span_end, header.span_end_delay), (ProcessState::Finished as u32, 0, 0));
    assert!(header.span_start > 0 && header.last_ticks > header.span_start);
}

#[test]
fn a_program_that_replaces_itself_leaves_two_files() {
    let program = program(
        r#"
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        int main(int count, char **arguments) {
            for (int i = 0; i < 10 * count; i++) step(i);
            if (count == 1) execl("/proc/self/exe", arguments[0], "again", (char *)0);
            return 0;
        }
        "#,
        &["step"],
    );
    program.run();
    let [first] = &program.graphs_in(&program.memory())[..] else { panic!("one file is left in memory") };
    assert_eq!((first.header.state, first.calls()["step"]), (ProcessState::Replaced as u32, 10));
    let second = program.graph();
    assert_eq!((second.header.state, second.calls()["step"]), (ProcessState::Finished as u32, 20));
    assert_eq!(first.header.pid, second.header.pid);
}
