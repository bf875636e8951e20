//! What a program has in its registers is there again behind every probe.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;

use support::{CallPath, Program};
use tare_format::graph::BatchSums;

/// Checks all registers around each probe; prints whether any was off, and how many registers were not as before.
fn registers() -> Program {
    Program::compile(
        r#"
        #include "sites.h"
        #include <stdio.h>
        #include <string.h>
        #include <stdint.h>
        struct registers { uint64_t general[16]; unsigned char vector[16][32]; };
        void check_probe(struct registers *in, struct registers *entered, struct registers *left);
        void check_leaf(struct registers *in, struct registers *entered, struct registers *left);
        extern unsigned char was_off, has_avx;
        extern uint64_t direction;
        void a(long n); void b(long n);
        static long off, failed;
        static void check(long n) {
            static struct registers in, entered, left;
            for (int i = 0; i < 15; i++) in.general[i] = 0x9e3779b97f4a7c15u * (uint64_t)(n + i + 1);
            for (int i = 0; i < 16; i++) memset(in.vector[i], (int)(n + i), has_avx ? 32 : 16);
            for (int leaf = 0; leaf < 2; leaf++) {
                direction = 0;
                (leaf ? check_leaf : check_probe)(&in, &entered, &left);
                failed += memcmp(&in, &entered, sizeof in) != 0;
                failed += memcmp(&in, &left, sizeof in) != 0;
                failed += direction != 0x800;
                off += was_off;
            }
        }
        void a_body(long n) { check(n); }
        void b_body(long n) { check(n); }
        REGION(a, 1); REGION(b, 2);
        int main(void) {
            has_avx = __builtin_cpu_supports("avx") != 0;
            for (long n = 0; n < 100000; n++) { a(n); b(n); }
            for (long n = 0; n < 100000; n++) a(n);     /* the way of a path that comes again */
            printf("%d %ld\n", off > 0, failed); return failed != 0;
        }
        "#,
        &["a", "b", "probe", "leaf"],
    )
}

#[test]
fn every_register_is_as_before_whichever_way_a_probe_takes() {
    // Where others take the processor during its first batch a path looks long, and none of its calls is off.
    let counts_twice = |path: &CallPath| {
        let batches = path.batches.as_ref().and_then(|batches| BatchSums::from_bytes(&batches.off_twice));
        batches.is_some_and(|batches| batches.batches > 0)
    };
    let program = (0..10)
        .map(|_| registers())
        .find(|program| {
            let seen = String::from_utf8_lossy(&program.run().stdout).into_owned();
            assert!(seen.ends_with(" 0\n"), "{seen}");
            let graph = program.graph();
            seen == "1 0\n" && ["/a/probe", "/a/leaf"].iter().all(|path| counts_twice(graph.path(path)))
        })
        .expect("in one of ten runs some leaf is off, and both count twice");
    let calls = program.graph().calls();
    assert_eq!((calls["probe"], calls["leaf"]), (300_000, 300_000));
}

#[test]
fn every_register_is_as_before_in_runs_with_metrics() {
    for metrics in ["faults=u4,clock=t", "cycles=p0:0", "faults=u4,migrations=p1:4"] {
        let program = registers();
        let output = program.command().env("TARE_METRICS", metrics).output().expect("the program runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0 0\n", "{metrics}");
        let calls = program.graph().calls();
        assert_eq!((calls["probe"], calls["leaf"]), (300_000, 300_000), "{metrics}");
    }
}
