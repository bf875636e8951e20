//! What jumps skip: frames are closed, and whose the time is that passes then.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;

use support::Program;

fn program(source: &str, names: &[&str]) -> Program {
    Program::compile(&format!("#include \"sites.h\"\n#include <stdio.h>\nstatic volatile unsigned long sink;\n{source}"), names)
}

/// Who goes on behind a jump that the compiler makes in place has no probe there: what passes until its exit stands with who was left, and is told.
#[test]
fn what_passes_behind_a_jump_that_nobody_sees_is_told() {
    let program = program(
        r#"
        #include <stdio.h>
        #include <x86intrin.h>
        static void *back[5];
        unsigned long passed;
        void leave(int n); int go_on(int n);
        void leave_body(int n) { __builtin_longjmp(back, 1); }
        int go_on_body(int n) {
            if (!__builtin_setjmp(back)) leave(n);
            unsigned long begin = __rdtsc();
            for (volatile int i = 0; i < 300000; i++);
            passed = __rdtsc() - begin;
            return 0;
        }
        REGION(leave, 1); REGION(go_on, 2);
        int main(void) { go_on(1); printf("%lu\n", passed); return 0; }
        "#,
        &["leave", "go_on"],
    );
    let passed: u64 = String::from_utf8_lossy(&program.run().stdout).trim().parse().expect("ticks");
    let graph = program.graph();
    let left = graph.path("/go_on/leave").node.exclusive.cast_unsigned();
    let record = &graph.locations[0].record;
    assert_eq!(record.skipped_frames, 1);
    assert!((passed..=left).contains(&record.skipped_ticks), "{passed}, {left}: {}", record.skipped_ticks);
}

#[test]
fn frames_that_longjmp_skips_are_closed() {
    let program = program(
        r#"
        #include <setjmp.h>
        static jmp_buf back;
        void deep(int n); void again(void); int catch(int n);
        void deep_body(int n) { if (n) deep(n - 1); else { again(); longjmp(back, 1); } }
        void again_body(void) { sink++; }
        int catch_body(int n) { if (!setjmp(back)) deep(n); again(); return 0; }
        REGION(deep, 1); REGION(again, 2); REGION(catch, 3);
        int main(void) { for (int i = 0; i < 100; i++) catch(5); return 0; }
        "#,
        &["deep", "again", "catch"],
    );
    program.run();
    let graph = program.graph();
    assert_eq!(graph.paths(), ["", "/catch", "/catch/deep", "/catch/deep/again", "/catch/again"]);
    assert_eq!(graph.path("/catch/again").calls(), 100);
    assert_eq!(graph.locations[0].record.skipped_frames, 600);
    assert_eq!(graph.locations[0].record.unmatched_exits, 0);
    let [outer, deep] = ["/catch", "/catch/deep"].map(|path| graph.path(path).node.inclusive);
    assert!(0 < deep && deep <= outer, "{deep} of {outer}");
}
