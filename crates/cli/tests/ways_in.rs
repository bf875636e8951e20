//! Ways into the measurement that need no rewriting: compiler hooks, regions of the program's own, `MPI_Pcontrol`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{BOTH, PROGRAMS, Place, build, text};

const API: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../api");

/// Runs a command line plain and measured; both end well and print the same. Returns the calls of each path: names with ` > `.
fn paths(place: &Place, line: &str) -> Vec<BTreeMap<String, u64>> {
    paths_by(place, &["run"], line)
}

/// The same, measured by this verb with its options.
fn paths_by(place: &Place, verb: &[&str], line: &str) -> Vec<BTreeMap<String, u64>> {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    let plain = place.plain(&words);
    assert!(plain.status.success(), "{line}: {}", text(&plain.stderr));
    let measured = place.tare().args(verb).args(["-o", "run", "--"]).args(&words).output().expect("tare");
    assert_eq!(measured.status.code(), Some(0), "{line}: {}", text(&measured.stderr));
    assert_eq!(text(&measured.stdout), text(&plain.stdout), "{line}");
    let report = place.report();
    report.check();
    fs::remove_dir_all(place.path().join("run")).expect("the run");
    let nodes = report.nodes();
    let mut paths = vec![BTreeMap::new(); report.locations().len()];
    for node in nodes {
        let mut name = Vec::new();
        let mut above = Some(node);
        while let Some(one) = above {
            let region = &report.0["regions"][one["region"].as_u64().expect("an index") as usize];
            name.push(region["name"].as_str().expect("a name").to_string());
            above = one["parent"].as_u64().map(|parent| &nodes[parent as usize]);
        }
        name.reverse();
        let location = node["location"].as_u64().expect("an index") as usize;
        *paths[location].entry(name[1..].join(" > ")).or_default() += node["calls"].as_u64().expect("a count");
        assert_eq!(report.locations()[location]["lost"], 0, "{line}");
    }
    paths
}

fn of_name(paths: &BTreeMap<String, u64>, name: &str) -> u64 {
    paths.iter().filter(|(path, _)| path.rsplit(" > ").next() == Some(name)).map(|(_, calls)| calls).sum()
}

#[test]
fn hooks_that_break_the_budget_are_switched_off() {
    for (program, frequent) in [("switched.c", "small"), ("deep.c", "down")] {
        let place = Place::new();
        build(&place, &format!("gcc -O1 -g -finstrument-functions -o hooks {PROGRAMS}/{program} -pthread"));
        let plain = place.plain(&["./hooks".into(), "400".into()]);
        let measured = place.tare().args(["run", "--budget", "2%", "-o", "run", "--", "./hooks", "400"]).output().expect("tare");
        assert_eq!((measured.status.code(), text(&measured.stdout)), (Some(0), text(&plain.stdout)), "{}", text(&measured.stderr));
        let report = place.report();
        report.check();
        let switched = report.0["run"]["switched"].as_array().expect("a list");
        let is_it = |one: &serde_json::Value| report.0["regions"][one["region"].as_u64().expect("an index") as usize]["name"] == frequent;
        assert!(switched.iter().any(|one| is_it(one) && one["why"] == "budget" && one["off"] == true), "{program}: {switched:?}");
    }
}

#[test]
fn hooks_of_both_compilers_count_each_call_on_its_path() {
    for compiler in ["g++ -O0", "g++ -O2", "g++ -O3", "clang++ -O0", "clang++ -O2"] {
        let place = Place::new();
        build(&place, &format!("{compiler} -g -pthread -finstrument-functions -o hooks {PROGRAMS}/hooks.cpp"));
        let threads = paths(&place, "./hooks");
        let main = &threads[0];
        for (path, calls) in [
            ("main", 1),
            ("main > outer(long)", 1),
            ("main > outer(long) > leaf(long)", 1000),
            ("main > outer(long) > leaf(long) > small(long)", 1000),
            ("main > outer(long) > small(long)", 1000),
            ("main > fib(int)", 1973),
        ] {
            assert_eq!(main.get(path), Some(&calls), "{compiler}: {path}");
        }
        // What is called after a jump may stand below what was left by it.
        for (name, calls) in [("leaf(long)", 2000), ("jumps(int)", 4000), ("deep(int)", 10_010)] {
            assert_eq!(of_name(main, name), calls, "{compiler}: {name}");
        }
        assert_eq!(threads.len(), 9, "{compiler}");
        assert!(threads[1..].iter().all(|paths| of_name(paths, "leaf(long)") == 100), "{compiler}");
    }
}

#[test]
fn hooks_in_plugins_that_come_and_go_and_in_children_keep_their_names() {
    let place = Place::new();
    for number in 1..=2 {
        build(&place, &format!("gcc -O1 -g -fPIC -shared -finstrument-functions -DNAME=work_{number} -o plugin{number}.so {PROGRAMS}/plugin.c"));
    }
    build(&place, &format!("gcc -O1 -g -finstrument-functions -o host {PROGRAMS}/plugin_host.c"));
    let processes = paths(&place, "./host");
    let calls = |name: &str| processes.iter().map(|paths| of_name(paths, name)).collect::<Vec<_>>();
    // The parent opens each plugin ten times; the child, which has its own graph, calls a function of its own.
    assert_eq!(calls("work_1").iter().sum::<u64>(), 100, "{processes:#?}");
    assert_eq!(calls("work_2").iter().sum::<u64>(), 100, "{processes:#?}");
    assert_eq!(calls("in_child").iter().sum::<u64>(), 7, "{processes:#?}");
}

#[test]
fn rewritten_plugins_are_measured_by_path_and_by_bare_name_unless_their_host_looks_elsewhere() {
    for (options, words, calls) in [("", "", 100), ("", " bare", 100), (" -Wl,--enable-new-dtags,-rpath,copies", " bare", 0)] {
        let place = Place::new();
        rewritten_plugins(&place);
        build(&place, &format!("gcc -O1 -g{options} -o host {PROGRAMS}/plugin_host.c"));
        let line = format!("LD_LIBRARY_PATH=copies exec ./host{words}");
        let output = place.tare().args(["run", "-o", "run", "--", "sh", "-c", &line]).output().expect("tare");
        assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
        assert_eq!((calls_of(&place, "work_1"), calls_of(&place, "work_2")), (calls, calls), "{options}{words}");
    }
}

#[test]
fn plugins_that_threads_open_and_close_at_once_lose_no_call_wherever_they_come_to_be() {
    let place = Place::new();
    rewritten_plugins(&place);
    build(&place, &format!("gcc -O1 -g -pthread -o host {PROGRAMS}/plugin_storm.c"));
    let output = place.tare().args(["run", "-o", "run", "--", "./host"]).output().expect("tare");
    assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
    assert_eq!((calls_of(&place, "work_1"), calls_of(&place, "work_2")), (3000 + 1000, 3000));
}

/// Two plugins in the place whose copies are instrumented, in their place and in the directory `copies`.
fn rewritten_plugins(place: &Place) {
    let copies = place.path().join("copies");
    fs::create_dir(&copies).expect("a directory");
    for number in 1..=2 {
        build(place, &format!("gcc -O1 -g -fPIC -shared -DNAME=work_{number} -o plugin{number}.so {PROGRAMS}/plugin.c"));
        let (plugin, copy) = (format!("plugin{number}.so"), copies.join(format!("plugin{number}.so")));
        let output = place.tare().args(["instrument", &plugin, "-o"]).arg(&copy).output().expect("tare");
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::copy(&copy, place.path().join(plugin)).expect("by path it is the copy as well");
    }
}

/// Calls of a function in all its nodes.
fn calls_of(place: &Place, name: &str) -> u64 {
    let report = place.report();
    let is_of = |node: &&serde_json::Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == name;
    report.nodes().iter().filter(is_of).map(|node| node["calls"].as_u64().expect("a number")).sum()
}

/// The blocks of a language in the page on this.
fn example(language: &str) -> String {
    let page = fs::read_to_string(Path::new(API).join("../../docs/ways-in.md")).expect("the page");
    let begin = format!("```{language}\n");
    let block = page.split(&begin).nth(1).expect("an example").split("```").next().expect("its end");
    block.to_string()
}

/// What the examples of all languages do.
fn check_example(paths: &BTreeMap<String, u64>, language: &str) {
    for (path, calls) in [
        ("warm-up", 1),
        ("warm-up > solve", 1),
        ("warm-up > solve > level = 1", 1),
        ("solve", 10),
        ("solve > level = 1", 5),
        ("solve > level = 2", 5),
        ("[not recorded]", 1),
    ] {
        assert_eq!(paths.get(path), Some(&calls), "{language}: {path} in {paths:#?}");
    }
    assert!(!paths.keys().any(|path| path.contains("level = 3")), "{language}: {paths:#?}");
}

#[test]
fn the_example_in_c_gives_its_graph() {
    let place = Place::new();
    fs::write(place.path().join("example.c"), example("c")).expect("a file");
    for compiler in ["gcc -std=c99 -pedantic", "gcc -no-pie", "clang", "g++ -x c++"] {
        build(&place, &format!("{compiler} -O2 -g -Wall -Wextra -Werror -I{API}/include -o example example.c"));
        check_example(&paths(&place, "./example")[0], compiler);
    }
    build(&place, &format!("gcc -O2 -Wall -Wextra -Werror -static -DTARE_DISABLE -I{API}/include -o example example.c"));
    assert!(place.plain(&["./example".into()]).status.success());
}

#[test]
fn parameters_of_a_region_that_calls_itself_end_with_their_own_call() {
    let place = Place::new();
    let source = r#"#include <cstdio>
        #include <tare.h>
        void solve(int level)
        {
            TARE_BEGIN("solve");
            TARE_PARAMETER("level", level);
            if (level > 1) solve(level - 1);
            TARE_PARAMETER("level", 10 * level);
            TARE_END("solve");
        }
        int main() { solve(3); { TARE_SCOPE("outer"); TARE_SCOPE("inner"); } puts("done"); }"#;
    fs::write(place.path().join("nested.cpp"), source).expect("a file");
    build(&place, &format!("g++ -O2 -g -Wall -Wextra -Wshadow -Werror -I{API}/include -o nested nested.cpp"));
    let paths = &paths(&place, "./nested")[0];
    let mut wanted: BTreeMap<String, u64> = [1, 2, 3, 10, 20, 30].map(|level| (format!("solve > level = {level}"), 1)).into();
    wanted.extend([("solve", 3), ("outer", 1), ("outer > inner", 1), ("", 1)].map(|(path, calls)| (path.to_string(), calls)));
    assert_eq!(paths, &wanted);
}

#[test]
fn the_example_in_fortran_gives_its_graph() {
    let place = Place::new();
    fs::write(place.path().join("example.f90"), example("fortran")).expect("a file");
    build(&place, &format!("gfortran -O2 -g -Wall -o example {API}/fortran/tare.f90 example.f90"));
    check_example(&paths(&place, "./example")[0], "fortran");
}

#[test]
fn the_example_in_rust_gives_its_graph() {
    let place = Place::new();
    fs::write(place.path().join("example.rs"), example("rust")).expect("a file");
    let rustc = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs the tests")).with_file_name("rustc");
    let compile = |words: &str| {
        let status = Command::new(&rustc).current_dir(place.path()).args(words.split_whitespace()).status().expect("rustc");
        assert!(status.success(), "{words}");
    };
    compile(&format!("--edition 2024 -O --crate-type rlib --crate-name tare_api {API}/src/lib.rs"));
    compile("--edition 2024 -O --extern tare_api=libtare_api.rlib example.rs");
    check_example(&paths(&place, "./example")[0], "rust");
}

#[test]
fn a_region_that_a_function_ends_last_is_where_it_belongs_beside_probes() {
    for level in ["-O0", "-O2"] {
        let place = Place::new();
        build(&place, &format!("gcc {level} -g -I{API}/include -o own {PROGRAMS}/own_tail.c -ldl"));
        let threads = paths_by(&place, &["profile", "--preset", "all"], "./own");
        assert_eq!(threads[0].get("main > compute > kernel"), Some(&20), "{level}: {threads:#?}");
    }
}

#[test]
fn regions_parameters_and_pcontrol_stand_beside_mpi_operations() {
    for mpi in BOTH {
        let place = Place::new();
        build(&place, &format!("mpicc.{} -O2 -g -I{API}/include -o own {PROGRAMS}/own_regions.c", mpi.name));
        let ranks = paths(&place, &format!("mpirun.{} -n 2 ./own", mpi.name));
        for paths in &ranks {
            for (path, calls) in [
                ("solve", 1),
                ("solve > step", 30),
                ("solve > step > level = 2", 10),
                ("solve > MPI_Barrier", 10),
                ("MPI_Pcontrol", 1),
                ("MPI_Pcontrol 2", 1),
                ("MPI_Pcontrol 2 > step", 1),
                ("MPI_Pcontrol 3 > step", 2),
                ("MPI_Pcontrol 3 > MPI_Barrier", 1),
                ("MPI_Pcontrol 3 > [not recorded]", 1),
                ("MPI_Pcontrol 3 > step > level = 6", 1),
            ] {
                assert_eq!(paths.get(path), Some(&calls), "{}: {path} in {paths:#?}", mpi.name);
            }
            assert!(!paths.keys().any(|path| path.contains("level = 4")), "{}: {paths:#?}", mpi.name);
        }
    }
}

#[test]
fn fortran_programs_with_mpi_have_regions_of_their_own() {
    for mpi in BOTH {
        let place = Place::new();
        let source = example("fortran")
            .replace("use tare\n", "use tare\n  use mpi\n")
            .replace("integer :: i\n", "integer :: i, ierror\n  call mpi_init(ierror)\n");
        let source = source.replace("print '(a)', 'done'", "call mpi_barrier(mpi_comm_world, ierror)\n  call mpi_finalize(ierror)");
        fs::write(place.path().join("example.f90"), source).expect("a file");
        build(&place, &format!("mpifort.{} -O2 -g -o example {API}/fortran/tare.f90 example.f90", mpi.name));
        let ranks = paths(&place, &format!("mpirun.{} -n 2 ./example", mpi.name));
        assert_eq!(ranks.len(), 2, "{}", mpi.name);
        ranks.iter().for_each(|paths| check_example(paths, mpi.name));
    }
}

#[test]
fn instrumented_programs_have_regions_of_their_own_among_their_functions() {
    let place = Place::new();
    fs::write(place.path().join("example.c"), example("c")).expect("a file");
    build(&place, &format!("gcc -O2 -g -fno-inline -I{API}/include -o example example.c"));
    let output = place.profile(&["--exact"], &["./example".into()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    let name = |node: &serde_json::Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"].clone();
    let pairs: Vec<(String, u64)> = report
        .nodes()
        .iter()
        .filter_map(|node| {
            let parent = &report.nodes()[node["parent"].as_u64()? as usize];
            Some((format!("{} > {}", name(parent).as_str()?, name(node).as_str()?), node["calls"].as_u64()?))
        })
        .collect();
    let has = |pair: &str, calls: u64| pairs.iter().any(|(name, count)| name == pair && *count == calls);
    assert!(has("main > solve", 10) && has("warm-up > solve", 1) && has("solve > solve", 10), "{pairs:?}");
    assert!(has("main > [not recorded]", 1) && has("main > warm-up", 1), "{pairs:?}");
    assert!(!pairs.iter().any(|(name, _)| name.contains("level = 3")), "{pairs:?}");
}
