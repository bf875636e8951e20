//! A process is killed at each of its system calls in turn, from the first that the runtime makes for its graph file to the
//! last: what it leaves can be read, and what it had once written is there.

#[expect(dead_code, reason = "the tests of graphs use all of it")]
mod support;
mod traced;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use support::Program;
use traced::{FileSystem, Traced};

#[test]
fn at_any_system_call_the_graph_is_whole_or_not_there() {
    let threads_and_children = r#"
        static void *work(void *x) { outer(1); return x; }
        int main(void) {
            pthread_t t;
            outer(2);
            pthread_create(&t, 0, work, 0);
            pthread_join(t, 0);
            if (fork() == 0) { outer(3); return 0; }
            wait(0);
            outer(4);
            return 0;
        }
    "#;
    kill_at_each_call(threads_and_children, FileSystem::Any, 2, 4);
}

#[test]
fn at_any_system_call_where_each_file_must_have_a_name() {
    kill_at_each_call("int main(void) { outer(1); return 0; }", FileSystem::NamedFiles, 1, 1);
}

#[test]
fn at_any_system_call_where_a_file_has_one_name() {
    kill_at_each_call("int main(void) { outer(1); return 0; }", FileSystem::OneName, 1, 1);
}

/// Kills a program of that many processes, which call `outer` that often.
fn kill_at_each_call(main: &str, on: FileSystem, processes: usize, outer: u64) {
    let includes = "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\n#include \"sites.h\"\nstatic volatile long sink;\n";
    let regions = "long outer(long n); long leaf(long n);\nlong leaf_body(long n) { sink += n; return n; }\n\
        long outer_body(long n) { return leaf(n) + leaf(n + 1); }\nREGION(outer, 1); LEAF(leaf, 2);\n";
    let program = Program::compile(&format!("{includes}{regions}{main}"), &["outer", "leaf"]);
    let mut first = None;
    let mut whole = Traced::start(program.command(), on);
    while let Some(call) = whole.step() {
        if call == libc::SYS_mkdir {
            first.get_or_insert(whole.steps());
        }
    }
    let calls: u64 = program.graphs().iter().flat_map(|graph| ["outer", "leaf"].map(|name| graph.calls().get(name).copied().unwrap_or(0))).sum();
    assert_eq!(calls, 3 * outer, "of the run that is not killed");
    let mut before = 0;
    for last in first.expect("a directory in memory")..=whole.steps() {
        clear(&program);
        let mut run = Traced::start(program.command(), on);
        while run.steps() < last && run.step().is_some() {}
        drop(run);
        let graphs = graphs(&program).len();
        assert!(graphs > 0 || before == 0, "killed at call {last} of {}: nothing is left", whole.steps());
        before = graphs;
    }
    assert_eq!(before, processes);
}

/// The names of the graphs in memory and of those that were collected, each of which can be read.
fn graphs(program: &Program) -> BTreeSet<OsString> {
    let places = [program.memory(), program.directory().to_path_buf()];
    for place in places.iter().filter(|place| place.exists()) {
        program.graphs_in(place);
    }
    left(program).filter(|path| path.extension() == Some("graph".as_ref())).filter_map(|path| Some(path.file_name()?.to_owned())).collect()
}

/// All that runs have left.
fn left(program: &Program) -> impl Iterator<Item = PathBuf> {
    let in_directory = std::fs::read_dir(program.directory()).expect("the directory");
    let paths = in_directory.chain(std::fs::read_dir(program.memory()).into_iter().flatten()).map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "graph" || ending == "draft"))
}

fn clear(program: &Program) {
    left(program).for_each(|path| std::fs::remove_file(path).expect("it is there"));
}
