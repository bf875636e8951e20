//! Tools that wrap functions of MPI themselves are recognised and named, and the run goes on; sanitizers run beside us.

mod common;

use common::{BOTH, Place, text};
use std::path::Path;
use std::process::Command;

#[test]
fn a_tool_in_a_library_is_named_and_sees_nothing() {
    for mpi in BOTH {
        let place = Place::new();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/other_tool.c");
        let tool = place.path().join("libother.so");
        let compiled = Command::new(format!("mpicc.{}", mpi.name)).args(["-shared", "-fPIC", "-o"]).arg(&tool).arg(source).status();
        assert!(compiled.expect("the MPI compiler").success());
        let program = mpi.compile("examples/pi/pi.c", place.path());
        let mut line = mpi.line(2, &program);
        line.push("4e-3".into());
        let alone = place.tare().args(["run", "-o", "alone", "--"]).args(&line).output().expect("tare can be started");
        assert!(alone.status.success() && !text(&alone.stderr).contains("wraps functions of MPI"), "{}", text(&alone.stderr));
        // Preloaded into all that the command starts, or into the program alone.
        let at = line.iter().position(|word| Path::new(word) == program).expect("the program");
        let mut inner = line.clone();
        inner.splice(at..at, ["env".into(), format!("LD_PRELOAD={}", tool.display())]);
        for (run, line, outer) in [("outer", &line, Some(&tool)), ("run", &inner, None)] {
            let mut both = place.tare();
            both.args(["run", "-o", run, "--"]).args(line).envs(outer.map(|tool| ("LD_PRELOAD", tool)));
            let both = both.output().expect("tare can be started");
            let said = text(&both.stderr);
            assert!(both.status.success() && said.contains("libother.so, wraps functions of MPI"), "{run}: {said}");
            assert!(!said.contains("the other tool saw"), "{run}: {said}");
        }
        assert!(place.report().calls(0, "MPI_Send") > 0);
    }
}

#[test]
fn a_program_with_a_sanitizer_is_measured() {
    for sanitizer in ["address", "thread"] {
        let place = Place::new();
        let source = "#include <stdio.h>\n#include <stdlib.h>\n__attribute__((noinline)) int work(int n) { int *some = malloc(4 * n); int sum = 0;\n\
            for (int i = 0; i < n; i++) { some[i] = i; sum += some[i] % 7; }\nfree(some); return sum; }\n\
            int main(void) { int sum = 0; for (int i = 1; i < 50; i++) sum += work(i); printf(\"%d\\n\", sum); return 0; }\n";
        std::fs::write(place.path().join("app.c"), source).expect("room");
        let app = place.path().join("app");
        let flag = format!("-fsanitize={sanitizer}");
        let compiled = Command::new("gcc").args(["-O1", &flag, "-o"]).arg(&app).arg(place.path().join("app.c")).status();
        assert!(compiled.expect("gcc starts").success());
        let output = place.tare().args(["profile", "--preset", "all", "-o", "run", "--"]).arg(&app).output().expect("tare can be started");
        assert!(output.status.success(), "{sanitizer}: {}", text(&output.stderr));
        let report = place.report();
        assert!(report.has_region("work") && report.nodes().iter().any(|node| node["calls"].as_u64() == Some(49)), "{sanitizer}");
    }
}
