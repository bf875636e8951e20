//! Programs that do their worst: nothing crashes or hangs, what they print stays the same, and each call is counted or
//! counted as lost.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;

use support::Program;

/// Runs a program unmeasured and measured; both must end well and print the same.
fn same_output(source: &str, names: &[&str]) -> Program {
    let includes = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include \"sites.h\"\nstatic volatile long sink;\n";
    let program = Program::compile(&format!("{includes}{source}"), names);
    let measured = program.run();
    let plain = program.command().env_remove("LD_PRELOAD").output().expect("the program runs");
    assert!(plain.status.success(), "unmeasured: {}", plain.status);
    assert_eq!(String::from_utf8_lossy(&measured.stdout), String::from_utf8_lossy(&plain.stdout));
    assert_eq!(String::from_utf8_lossy(&measured.stderr), String::from_utf8_lossy(&plain.stderr));
    program
}

#[test]
fn handlers_that_jump_out_ten_thousand_times_a_second_lose_no_call() {
    let program = Program::compile(
        r#"
        #include <setjmp.h>
        #include <signal.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/time.h>
        #include "sites.h"
        long leaf(long n); long work(long n); void handler(int s); long step(long n);
        static sigjmp_buf back;
        static volatile long jumps, handled, works, steps, leaves;
        long leaf_body(long n) { leaves++; return n * n; }
        long step_body(long n) { steps++; return leaf(n); }
        void handler_body(int s) { handled++; step(s); if (handled % 2) { jumps++; siglongjmp(back, 1); } }
        long work_body(long n) { works++; long s = 0; for (long i = 0; i < n; i++) { s += step(i); s += leaf(i); } return s; }
        REGION(handler, 1); REGION(work, 2); REGION(step, 3); LEAF(leaf, 4);
        int main(void) {
            struct sigaction a; memset(&a, 0, sizeof a);
            a.sa_handler = handler;
            sigaction(SIGALRM, &a, 0);
            struct itimerval t = { { 0, 100 }, { 0, 100 } }, none = { { 0, 0 }, { 0, 0 } };
            setitimer(ITIMER_REAL, &t, 0);
            while (jumps < 2000) if (!sigsetjmp(back, 1)) work(1000);
            setitimer(ITIMER_REAL, &none, 0);
            printf("%ld %ld %ld %ld %ld\n", jumps, handled, works, steps, leaves); return 0;
        }
        "#,
        &["handler", "work", "step", "leaf"],
    );
    let output = program.run();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let [jumps, handled, works, steps, leaves] = numbers[..] else { panic!("{text}") };
    let graph = program.graph();
    let calls = graph.calls();
    assert_eq!(calls["handler"], handled);
    // A jump may come between the probe's count and the body's, of one call.
    for (name, bodies) in [("work", works), ("step", steps), ("leaf", leaves)] {
        assert!((bodies..=bodies + jumps).contains(&calls[name]), "{name}: {} of {bodies}, {jumps} jumps", calls[name]);
    }
    let record = &graph.locations[0].record;
    assert_eq!(record.unmatched_exits, 0);
    assert!(record.skipped_frames >= jumps, "{} frames of {jumps} jumps", record.skipped_frames);
}

#[test]
fn coroutines_that_switch_inside_of_regions_lose_no_call() {
    let program = same_output(
        r#"
        #include <ucontext.h>
        enum { ROUTINES = 50, ROUNDS = 200 };
        static ucontext_t own, contexts[ROUTINES];
        static int running;
        long outer(long n); long inner(long n);
        static void yield(void) { swapcontext(&contexts[running], &own); }
        long inner_body(long n) { sink += n; yield(); sink += n; return n; }
        long outer_body(long n) { long s = 0; for (int i = 0; i < ROUNDS; i++) { s += inner(i); yield(); } return s; }
        REGION(outer, 1); REGION(inner, 2);
        static void routine(void) { outer(1); for (;;) yield(); }
        int main(void) {
            for (int i = 0; i < ROUTINES; i++) {
                getcontext(&contexts[i]);
                contexts[i].uc_stack.ss_size = 1 << 16;
                contexts[i].uc_stack.ss_sp = malloc(1 << 16);
                makecontext(&contexts[i], routine, 0);
            }
            for (int round = 0; round < 2 * ROUNDS + 1; round++)
                for (running = 0; running < ROUTINES; running++) swapcontext(&own, &contexts[running]);
            printf("%ld\n", sink); return 0;
        }
        "#,
        &["outer", "inner"],
    );
    let graph = program.graph();
    let calls = graph.calls();
    assert_eq!((calls["outer"], calls["inner"]), (50, 50 * 200));
    let location = &graph.locations[0];
    // Frames of a routine look as if they were left when another one runs: they are counted.
    assert!(location.record.skipped_frames > 0 && location.record.unmatched_exits > 0);
    assert_eq!(location.exclusive(), (location.record.end_ticks - location.record.start_ticks).cast_signed());
}

#[test]
fn threads_that_are_cancelled_or_leave_from_deep_inside_lose_no_call() {
    let program = same_output(
        r#"
        #include <pthread.h>
        #include <semaphore.h>
        static sem_t inside;
        long down(long n); long wait_in(long n);
        long wait_in_body(long n) { sem_post(&inside); for (;;) pause(); return n; }
        long down_body(long n) { if (n) return 1 + down(n - 1); if (sink) pthread_exit(0); return wait_in(n); }
        REGION(down, 1); REGION(wait_in, 2);
        static void *work(void *x) { down(100); return x; }
        int main(void) {
            sem_init(&inside, 0, 0);
            for (sink = 0; sink < 2; sink++)
                for (int i = 0; i < 50; i++) {
                    pthread_t t; void *end;
                    pthread_create(&t, 0, work, 0);
                    if (!sink) { sem_wait(&inside); pthread_cancel(t); }
                    pthread_join(t, &end);
                }
            puts("done"); return 0;
        }
        "#,
        &["down", "wait_in"],
    );
    let graph = program.graph();
    let calls = graph.calls();
    assert_eq!((calls["down"], calls["wait_in"]), (100 * 101, 50));
    assert_eq!((graph.locations.iter().map(|location| location.nodes[0].calls()).sum::<u64>(), graph.header.lost_threads), (100, 0));
    assert_eq!(graph.header.most_threads, 1, "each is joined before the next begins, and the main thread has nothing measured");
}

#[test]
fn each_process_of_a_storm_of_forks_counts_its_own_calls() {
    let program = same_output(
        r#"
        #include <sys/wait.h>
        long step(long n); void grow(int n);
        long step_body(long n) { sink += n; return n; }
        void grow_body(int n) {
            for (int i = 0; i < 10; i++) step(i);
            if (!n) return;
            for (int i = 0; i < 3; i++)
                if (!fork()) { grow(n - 1); exit(0); }
            while (wait(0) > 0) {}
        }
        REGION(step, 1); REGION(grow, 2);
        int main(void) { grow(4); puts("done"); return 0; }
        "#,
        &["step", "grow"],
    );
    let graphs = program.graphs();
    assert_eq!(graphs.len(), 1 + 3 + 9 + 27 + 81);
    for graph in &graphs {
        assert_eq!((graph.calls()["grow"], graph.calls()["step"]), (1, 10));
        assert_eq!(graph.locations[0].record.unmatched_exits, 0);
    }
}

/// Libc's handlers hear of none of these children. What they call before their first slow path counts as their parent's, and as many
/// paths are new to each.
#[test]
fn children_that_libc_does_not_know_of_end_and_leave_their_parents_graph_alone() {
    let source = r#"
        #define _GNU_SOURCE
        #include <sched.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        #include <sys/syscall.h>
        #include <sys/wait.h>
        #include "sites.h"
        static volatile long sink;
        long step(long n); void grow(int n); void own(int n);
        long step_body(long n) { sink += n; return n; }
        void grow_body(int n) { for (int i = 0; i < n; i++) step(i); }
        void own_body(int n) { for (int i = 0; i < n; i++) step(i); }
        REGION(step, 1); REGION(grow, 2); REGION(own, 3);
        static char stack[1 << 16] __attribute__((aligned(16)));
        static int child(void *x) { own(1); grow(5000); _exit(7); }
        static int status_of(int pid) { int status = 0; waitpid(pid, &status, 0); return WEXITSTATUS(status); }
        int main(void) {
            grow(5000);
            int sum = 0;
            for (int i = 0; i < 20; i++) {
                sum += status_of(clone(child, stack + sizeof stack, SIGCHLD, 0));
                grow(100);
                int pid = syscall(SYS_fork);
                if (!pid) child(0);
                sum += status_of(pid);
            }
            grow(5000);
            printf("%d\n", sum);
            return 0;
        }
        "#;
    for options in [&[][..], &[("TARE_EXACT", "1")], &[("TARE_DUTY", "200")]] {
        let program = Program::compile(source, &["step", "grow", "own"]);
        let output = program.command().envs(options.iter().copied()).output().expect("the program runs");
        assert!(output.status.success() && output.stdout == b"280\n", "{options:?}: {output:?}");
        let graphs = program.graphs_in(&program.memory());
        assert_eq!(graphs.len(), 40, "{options:?}");
        assert!(graphs.iter().all(|graph| (graph.calls()["own"], graph.calls()["grow"]) == (1, 1)), "{options:?}");
        let parent = program.graph();
        assert_eq!(parent.calls().get("own"), None, "{options:?}");
        assert_eq!(parent.calls()["grow"], 22, "{options:?}");
    }
}

#[test]
fn a_thread_that_forks_at_its_very_end_keeps_what_is_its_own() {
    let program = same_output(
        r#"
        #include <pthread.h>
        #include <sys/wait.h>
        long step(long n); long other(long n);
        long step_body(long n) { sink += n; return n; }
        long other_body(long n) { sink += n; return n; }
        REGION(step, 1); REGION(other, 2);
        static pthread_key_t key;
        static void *work(void *x) { for (int i = 0; i < 1000; i++) other(i); return x; }
        static void *begin(void *x) { pthread_setspecific(key, x); for (int i = 0; i < 10; i++) step(i); return x; }
        static void last(void *x) {
            if (fork()) { wait(0); return; }
            pthread_t t[4];
            for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, 0);
            for (int i = 0; i < 1000; i++) step(i);
            for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
            for (int i = 0; i < 1000; i++) step(i);
            exit(0);
        }
        int main(void) {
            pthread_t t;
            pthread_key_create(&key, last);
            pthread_create(&t, 0, begin, &key); pthread_join(t, 0);
            puts("done"); return 0;
        }
        "#,
        &["step", "other"],
    );
    let graphs = program.graphs();
    let mut calls: Vec<_> = graphs.iter().map(|graph| (graph.calls()["step"], graph.calls().get("other").copied())).collect();
    calls.sort_unstable();
    assert_eq!(calls, [(10, None), (2000, Some(4000))]);
}

#[test]
fn libraries_that_come_and_go_call_back_without_loss() {
    let program = Program::compile(
        r#"
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include "sites.h"
        static volatile long sink;
        long step(long n);
        long step_body(long n) { sink += n; return n; }
        REGION(step, 1);
        int main(void) {
            for (int i = 0; i < 300; i++) {
                void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW);
                if (!plugin) return 1;
                void (*visit)(long (*)(long)) = (void (*)(long (*)(long)))dlsym(plugin, "visit");
                visit(step);
                dlclose(plugin);
            }
            return 0;
        }
        "#,
        &["step"],
    );
    let plugin = program.directory().join("plugin.so");
    let source = program.directory().join("plugin.c");
    std::fs::write(&source, "static __thread long own[64]; void visit(long (*step)(long)) { for (int i = 0; i < 64; i++) own[i] = step(i); }\n")
        .expect("a file");
    let compiled = std::process::Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&plugin).arg(&source).status().expect("gcc is installed");
    assert!(compiled.success());
    assert!(program.command().env("PLUGIN", &plugin).status().expect("it runs").success());
    assert_eq!(program.graph().calls()["step"], 300 * 64);
}

#[test]
fn a_process_with_the_id_of_an_earlier_one_leaves_its_graph_alone() {
    let program = Program::compile(
        "#include \"sites.h\"\nlong step(long n); long step_body(long n) { return n; } REGION(step, 1);\nint main(void) { step(1); return 0; }\n",
        &["step"],
    );
    let earlier = format!("cd {}; echo earlier > $(uname -n)-$$-0.graph; echo $(uname -n)-$$-0.graph; exec ./program", program.directory().display());
    let mut command = std::process::Command::new("sh");
    let measured = program.command();
    for (name, value) in measured.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    let output = command.args(["-c", &earlier]).output().expect("it runs");
    assert!(output.status.success());
    let name = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let kept = program.directory().join(name);
    assert_eq!(std::fs::read_to_string(&kept).expect("the earlier file"), "earlier\n");
    std::fs::remove_file(kept).expect("it is there");
    assert_eq!(program.graph().calls()["step"], 1);
}

#[test]
fn a_memory_checker_finds_nothing_to_complain_of() {
    let program = Program::compile(
        r#"
        #include <pthread.h>
        #include <setjmp.h>
        #include <stdio.h>
        #include "sites.h"
        static __thread jmp_buf back;
        long down(long n); long leaf(long n); long sum(long a, long b, long c, long d, long e, long f);
        long leaf_body(long n) { return n * n; }
        long sum_body(long a, long b, long c, long d, long e, long f) { return a + b + c + d + e + f; }
        long down_body(long n) { if (n < 0) longjmp(back, 1); return n ? leaf(n) + down(n - 1) : sum(n, 1, 2, 3, 4, 5); }
        REGION(down, 1); LEAF(leaf, 2); REGION(sum, 3);
        static void *work(void *x) {
            long total = 0;
            for (long i = 0; i < 3000; i++) total += down(i % 20);
            if (!setjmp(back)) down(-1);
            return (void *)total;
        }
        int main(void) {
            pthread_t t; void *other;
            pthread_create(&t, 0, work, 0);
            long total = (long)work(0);
            pthread_join(t, &other);
            return total != (long)other;
        }
        "#,
        &["down", "leaf", "sum"],
    );
    let measured = program.command();
    let mut command = std::process::Command::new("valgrind");
    command.arg("--error-exitcode=99").arg(measured.get_program());
    for (name, value) in measured.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    let output = command.output().expect("valgrind is installed by `make test`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("ERROR SUMMARY: 0 errors from 0 contexts"), "{said}");
    assert!(!said.contains("client switching stacks"), "{said}");
    assert_eq!(program.graph().calls()["sum"], 6000);
}

#[test]
fn what_the_program_defines_for_libc_may_have_probes() {
    let program = same_output(
        r#"
        #include <stddef.h>
        #include <pthread.h>
        long copied(long n);
        long copied_body(long n) { return n; }
        REGION(copied, 1);
        __attribute__((noinline)) void *memcpy(void *to, const void *from, size_t size) {
            copied(1);
            for (size_t i = 0; i < size; i++) ((volatile char *)to)[i] = ((const volatile char *)from)[i];
            return to;
        }
        static void *work(void *x) { return (void *)copied(2); }
        int main(void) {
            for (int i = 0; i < 10; i++) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); }
            puts("done"); return 0;
        }
        "#,
        &["copied"],
    );
    assert!(program.graph().calls()["copied"] >= 10);
}

#[test]
fn quiet_batches_go_on_where_a_thread_follows_another() {
    let program = Program::compile(
        r#"
        #include <pthread.h>
        #include "sites.h"
        long leaf1(long n); long leaf2(long n); long leaf3(long n); long leaf4(long n);
        long leaf5(long n); long leaf6(long n); long leaf7(long n); long leaf8(long n);
        #define BODY(name, number) long name##_body(long n) { return n ^ number; } LEAF(name, number);
        BODY(leaf1, 1) BODY(leaf2, 2) BODY(leaf3, 3) BODY(leaf4, 4) BODY(leaf5, 5) BODY(leaf6, 6) BODY(leaf7, 7) BODY(leaf8, 8)
        static void *work(void *x) {
            for (long i = 0; i < 8; i++) { leaf1(i); leaf2(i); leaf3(i); leaf4(i); leaf5(i); leaf6(i); leaf7(i); leaf8(i); }
            return x;
        }
        int main(void) {
            for (int i = 0; i < 200; i++) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); }
            return 0;
        }
        "#,
        &["leaf1", "leaf2", "leaf3", "leaf4", "leaf5", "leaf6", "leaf7", "leaf8"],
    );
    let status = program.command().env("TARE_DUTY", "200").status().expect("the program runs");
    assert!(status.success());
    let graph = program.graph();
    assert!(graph.calls().values().all(|&calls| calls == 200 * 8), "{:?}", graph.calls());
    // Whatever the time does: a thread that is set up takes one, each of eight paths one in the first thread, and a batch, which has
    // 64 calls or more, at most two. A batch of each path for each thread would be eight.
    for location in graph.locations.iter().filter(|location| location.nodes[0].node.calls >= 20) {
        let (threads, slow) = (location.nodes[0].node.calls, location.record.slow_paths);
        assert!(slow < 4 * threads, "{slow} slow paths of {threads} threads");
    }
}

/// Kills in the suite; the variable `TARE_KILLS` asks for more of them.
const KILLS: u64 = 50;

#[test]
fn whenever_a_process_is_killed_its_graph_is_whole_and_a_reader_sees_it_grow() {
    let kills = std::env::var("TARE_KILLS").map_or(KILLS, |text| text.parse().expect("a number of kills"));
    let program = Program::compile(
        r#"
        #include <pthread.h>
        #include "sites.h"
        static volatile long sink;
        long down(long n, unsigned path); long down2(long n, unsigned path); long leaf(long n);
        long leaf_body(long n) { sink += n; return n; }
        long down_body(long n, unsigned path) { leaf(n); return n ? (path & 1 ? down : down2)(n - 1, path >> 1) : 0; }
        long down2_body(long n, unsigned path) { leaf(n); return n ? (path & 1 ? down : down2)(n - 1, path >> 1) : 0; }
        REGION(down, 1); REGION(down2, 2); LEAF(leaf, 3);
        static void *work(void *x) { for (unsigned path = 0;; path++) down(12, path * 2654435761u); return x; }
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); return 0; }
        "#,
        &["down", "down2", "leaf"],
    );
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..kills {
        let mut child = program.spawn();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut seen = 0;
        // The moment is the reader's: after some looks and a part of the next.
        for _ in 0..random >> 60 {
            seen = look(&program, seen);
        }
        std::thread::sleep(std::time::Duration::from_micros(random >> 33 & 0x3fff));
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        look(&program, seen);
        let _ = std::fs::remove_dir_all(program.memory());
    }
}

/// Reads the graph of the only process as it stands; says how many calls it has, which are no fewer than before.
fn look(program: &Program, before: u64) -> u64 {
    if !program.memory().exists() {
        return before;
    }
    let graphs = program.graphs_in(&program.memory());
    let calls = graphs.iter().flat_map(|graph| graph.calls().into_values()).sum();
    assert!(calls >= before, "{calls} calls after {before}");
    calls
}
