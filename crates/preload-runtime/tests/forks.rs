//! Forked children, whose parents go on at once.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;

use support::Program;

/// The parent leaves the frames that were open at the fork and opens others in their place while its child takes them over.
#[test]
fn children_go_on_where_their_parent_was() {
    let program = Program::compile(
        r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        #include <sys/wait.h>
        #include "sites.h"
        static volatile long sink;
        static pid_t child;
        long step(long n); int deep(int n); int other(int n); void outer(int n);
        long step_body(long n) { sink += n; return n; }
        int deep_body(int n) { if (n) return deep(n - 1) + 1; child = fork(); return (int)step(0); }
        int other_body(int n) { volatile char more[200]; more[n] = 1; step(n); return n ? other(n - 1) + more[n] : 0; }
        void outer_body(int n) { deep(n); if (child) for (int i = 0; i < 2000; i++) other(2 * n); else step(1); }
        REGION(step, 1); REGION(deep, 2); REGION(other, 3); REGION(outer, 4);
        int main(void) {
            for (int i = 0; i < 100; i++) { outer(40); if (!child) exit(0); wait(0); }
            return 0;
        }
        "#,
        &["step", "deep", "other", "outer"],
    );
    program.run();
    let graphs = program.graphs();
    assert_eq!(graphs.len(), 101);
    let parent = graphs.iter().find(|graph| graph.calls()["deep"] > 0).expect("the parent");
    for graph in &graphs {
        let location = &graph.locations[0];
        assert_eq!((location.record.unmatched_exits, location.record.skipped_frames), (0, 0));
        assert_eq!(location.exclusive(), (location.record.end_ticks - location.record.start_ticks).cast_signed());
        if graph.header.pid != parent.header.pid {
            assert_eq!((graph.calls()["step"], graph.path("/outer/step").calls()), (2, 1));
        }
    }
}
