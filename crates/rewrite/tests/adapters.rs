//! Adapters applied to programs: what their snippets do when the programs run.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Bench, regions};
use tare_code::Program;
use tare_format::description::RegionKind;
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::lines::Lines;
use tare_rewrite::adapter::{Adapter, Libraries, Snippets, Subject, Wanted};
use tare_rewrite::snippet::AdapterError;
use tare_rewrite::{Output, Request, Selection, instrument};

/// What of a program is instrumented.
#[derive(Clone, Copy, Default)]
struct Choice<'a> {
    /// Functions by name; all where empty.
    names: &'a [&'a str],
    functions: Option<&'a str>,
    loops: Option<&'a str>,
    callsites: Option<&'a str>,
    libraries: &'a [&'a Path],
    /// Whether the bodies of moved functions are overwritten.
    poison: bool,
}

const FUNCTIONS: Choice<'static> = Choice { names: &[], functions: Some("function"), loops: None, callsites: None, libraries: &[], poison: false };

/// Applies an adapter to an image.
fn apply(data: &[u8], adapter: &str, choice: Choice<'_>) -> Result<Output, AdapterError> {
    let adapter = Adapter::parse(adapter)?;
    let image = Image::parse(data).expect("an image");
    let program = Program::analyse(&image).expect("code");
    let sections = DebugSections::of(&image);
    let lines = Lines::new(&sections);
    let files: Vec<Vec<u8>> = choice.libraries.iter().map(|path| std::fs::read(path).expect("a library")).collect();
    let images: Vec<Image<'_>> = files.iter().map(|bytes| Image::parse(bytes).expect("a library")).collect();
    let name = |one: Option<&str>| one.map(str::to_owned);
    let wanted = |(function, one): (usize, &tare_code::Function)| {
        let span = lines.as_ref().and_then(|lines| lines.span(&one.parts));
        let (file, line, last_line) = span.map_or_else(Default::default, |span| (span.file, span.entry, span.last));
        let (functions, loops, callsites) = (name(choice.functions), name(choice.loops), name(choice.callsites));
        Wanted { function, functions, loops, callsites, file, line, last_line }
    };
    let is_chosen = |one: &tare_code::Function| choice.names.is_empty() || choice.names.contains(&one.name.as_str());
    let wanted: Vec<Wanted> = program.functions.iter().enumerate().filter(|one| is_chosen(one.1)).map(wanted).collect();
    let libraries = Libraries { images: &images, are_all: false };
    let subject = Subject { image: &image, program: &program, lines: lines.as_ref(), path: "/the/original", libraries };
    let snippets = Snippets::new(&adapter, subject, &wanted)?;
    let chosen = wanted.iter().map(|one| one.function).filter(|function| snippets.refusal(*function).is_none());
    let selected: Vec<Selection> = chosen.map(|function| Selection { levels: snippets.levels(function), ..Selection::of(function) }).collect();
    let request = Request { selected: &selected, path: "/the/original", poison: choice.poison, ..Request::default() };
    Ok(instrument(&image, &program, &request, &snippets).expect("it can be instrumented"))
}

/// Applies an adapter to a program and writes the copy beside it.
fn copy(program: &Path, adapter: &str, choice: Choice<'_>) -> PathBuf {
    let data = std::fs::read(program).expect("the program");
    let output = apply(&data, adapter, choice).unwrap_or_else(|error| panic!("{error}"));
    let out = program.with_extension("copy");
    std::fs::write(&out, output.bytes).expect("room for the copy");
    std::fs::set_permissions(&out, std::fs::metadata(program).expect("the program").permissions()).expect("a mode can be set");
    out
}

/// Figure 2 of paper 2, as printed.
const FIGURE_2: &str = include_str!("figure_2.xml");

const FIGURE_2_SAYS: &str = "entering main for the 1 time
entering twice for the 1 time
entering twice for the 2 time
entering work::busy(int) for the 1 time
entering twice for the 3 time
sum 42
";

#[test]
fn figure_2_prints_what_the_paper_says() {
    let bench = Bench::new();
    for flags in
        ["-O2", "-O0 -no-pie", "-O1 -static", "-O2 -static-pie", "-O2 -fcf-protection=full -Wl,-z,now", "-O3 -s", "-O2 -Wl,-z,pack-relative-relocs"]
    {
        let program = bench.build("visits.cpp", flags, "visits");
        let names = ["main", "_ZL5twicei", "_ZN4work4busyEi"];
        let choice = Choice { names: if flags.contains("-s") && !flags.contains("static") { &["main"] } else { &names }, ..FUNCTIONS };
        let copy = copy(&program, FIGURE_2, choice);
        let outcome = bench.run(&copy);
        let said =
            if choice.names.len() == 1 { "entering main for the 1 time\nsum 42\n".to_owned() } else { FIGURE_2_SAYS.replace("twice", "twice(int)") };
        assert_eq!(outcome.stdout, said, "{flags}");
        assert_eq!(outcome.status, Some(3), "{flags}");
    }
}

/// Where no region is begun, and texts still name the image.
const NAMES_THE_IMAGE: &str = r#"<adapter>
  <variables><var name="started" size="4"/></variables>
  <init>started = 7; printf("init " . @IMAGE@ . " %d\n", started);</init>
  <finalize>printf("%s finalize\n", @IMAGE@);</finalize>
  <functions><enter>printf("%s of " . @IMAGE@ . "\n", @ROUTINE@);</enter></functions>
</adapter>"#;

#[test]
fn the_image_is_named_also_where_there_is_no_region() {
    let bench = Bench::new();
    for flags in ["-O2", "-O1 -no-pie", "-O1 -static"] {
        let program = bench.build("visits.cpp", flags, "visits");
        let outcome = bench.run(&copy(&program, NAMES_THE_IMAGE, Choice { names: &["main"], ..FUNCTIONS }));
        assert_eq!(outcome.stdout, "init /the/original 7\nmain of /the/original\nsum 42\n/the/original finalize\n", "{flags}");
        assert_eq!(outcome.status, Some(3), "{flags}");
    }
}

#[test]
fn pointers_to_what_adapters_bring_lead_to_marks() {
    const MARK: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    let bench = Bench::new();
    let program = bench.build("visits.cpp", "-O2 -fcf-protection=full", "visits");
    let copy = copy(&program, BRACKETS, EVERY_LEVEL);
    let (old, new) = (std::fs::read(&program).expect("the program"), std::fs::read(&copy).expect("the copy"));
    let (old, new) = (Image::parse(&old).expect("the program"), Image::parse(&new).expect("the copy"));
    let pointers = |image: &Image<'_>| -> Vec<u64> { image.relocations().iter().filter_map(|one| image.pointer_at(one.address)).collect() };
    let known = pointers(&old);
    let brought: Vec<u64> = pointers(&new).into_iter().filter(|target| !known.contains(target) && new.text_at(*target).is_some()).collect();
    // At the start and at the end, at least.
    assert!(brought.len() >= 2, "{brought:x?}");
    for target in brought {
        assert_eq!(new.bytes_at(target, 4), Some(MARK), "{target:#x}");
    }
}

#[test]
fn what_snippets_call_and_what_keeps_errno_for_them_have_no_snippets() {
    let bench = Bench::new();
    for flags in ["-O1", "-O1 -static", "-O1 -static-pie", "-O1 -no-pie"] {
        let program = bench.build("errno.c", flags, "errno");
        for (called, said) in [("hook", "42 7\n"), ("main", "42 7\n42 7\n")] {
            let adapter = format!("<adapter><functions><enter>{called}();</enter></functions></adapter>");
            let names: &[&str] = if called == "main" { &["early", "main", "number"] } else { &[] };
            let outcome = bench.run(&copy(&program, &adapter, Choice { names, ..FUNCTIONS }));
            assert_eq!((outcome.stdout.as_str(), outcome.status), (said, Some(0)), "{flags} {called}");
        }
    }
}

/// Builds `work.c` with its debug information and one of the measurement interfaces as a library beside it.
fn measured(bench: &Bench, flags: &str, interface: &str, library: &str, own: &str) -> (PathBuf, PathBuf) {
    let library = bench.build("interfaces.c", &format!("-O2 -shared -fPIC -D{interface} -Wl,-soname,{library}"), library);
    let program = bench.build("work.c", &format!("-g -rdynamic {flags} -lm {own}"), &format!("work-{interface}"));
    (program, library)
}

const WORK_SAYS: &str = "184.419838 7.500 -1 1234 3628800 1359\n";

/// What an interface saw of a program.
fn seen(bench: &Bench, program: &Path, paths: &Path) -> (String, String) {
    let file = bench.path("seen");
    let mut command = std::process::Command::new(program);
    let done = command.env("SEEN", &file).env("LD_LIBRARY_PATH", paths.parent().expect("a directory")).output().expect("it starts");
    assert!(done.status.success(), "{:?}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    (String::from_utf8_lossy(&done.stdout).into_owned(), std::fs::read_to_string(&file).expect("something was seen"))
}

const NAMES: [&str; 7] = ["main", "compare", "fails", "sums", "mean", "wide", "factorial"];

fn shipped(name: &str) -> &'static str {
    tare_rewrite::adapter::shipped(name).expect("it is shipped")
}

#[test]
fn hooks_of_the_compiler_see_what_they_see_in_a_compiled_program() {
    let bench = Bench::new();
    for flags in ["-O0", "-O2", "-O2 -no-pie", "-O2 -march=native -fcf-protection=full"] {
        let (program, library) = measured(&bench, flags, "CYG_PROFILE", "libcyg.so", "-L. -lcyg -Wl,--no-as-needed -lcyg");
        let choice = Choice { names: &NAMES, libraries: &[&library], ..FUNCTIONS };
        let rewritten = seen(&bench, &copy(&program, shipped("cyg-profile"), choice), &library);
        let compiled = measured(&bench, &format!("{flags} -finstrument-functions"), "CYG_PROFILE", "libcyg.so", "-L. -lcyg").0;
        assert_eq!(rewritten, seen(&bench, &compiled, &library), "{flags}");
        assert!(rewritten.1.contains("factorial 10\n") && rewritten.1.contains("wrong 0 open 0\n"), "{flags}: {}", rewritten.1);
    }
}

#[test]
fn what_a_dependency_has_comes_before_what_the_c_library_has() {
    let bench = Bench::new();
    let adapter = shipped("cyg-profile").replacen("<filter", "<dependencies><library name=\"libcyg.so\"/></dependencies><filter", 1);
    assert!(adapter.contains("libcyg.so"));
    let (program, library) = measured(&bench, "-O2", "CYG_PROFILE", "libcyg.so", "");
    let choice = Choice { names: &NAMES, libraries: &[&library], ..FUNCTIONS };
    let seen = seen(&bench, &copy(&program, &adapter, choice), &library);
    assert!(seen.0 == WORK_SAYS && seen.1.contains("factorial 10\n"), "{seen:?}");
}

#[test]
fn score_p_and_tau_get_what_their_interfaces_want() {
    let bench = Bench::new();
    for (name, interface, library) in [("scorep", "SCOREP", "libscorep_adapter_user_event.so"), ("tau", "TAU", "libTAU.so")] {
        // The last three have no room in their dynamic sections.
        for flags in ["-O2", "-O1 -no-pie", "-O2 -fuse-ld=lld", "-O2 -no-pie -fuse-ld=lld", "-O2 -Wl,--spare-dynamic-tags=0"] {
            let (program, library) = measured(&bench, flags, interface, library, "");
            let choice = Choice { names: &NAMES, libraries: &[&library], ..FUNCTIONS };
            let (stdout, seen) = seen(&bench, &copy(&program, shipped(name), choice), &library);
            assert_eq!(stdout, WORK_SAYS, "{name} {flags}");
            let visits = |function: &str| {
                let line = seen.lines().find(|line| line.starts_with(function)).unwrap_or_else(|| panic!("{function} is not in\n{seen}"));
                line.rsplit(' ').next().and_then(|count| count.parse::<u32>().ok())
            };
            assert_eq!((visits("main"), visits("mean"), visits("fails")), (Some(1), Some(10), Some(1)), "{name} {flags}");
            assert!(seen.contains("work.c") && seen.contains("wrong 0 open 0"), "{name} {flags}: {seen}");
        }
    }
}

const LINKED: &str = "-L. -Wl,-rpath,$ORIGIN -Wl,--no-as-needed -lclobber -Wl,--as-needed -lm";

#[test]
fn programs_do_not_notice_hooks_that_change_all_that_they_may() {
    let bench = Bench::new();
    let library = bench.build("clobber.c", "-O2 -shared -fPIC", "libclobber.so");
    let programs = [
        ("work.c", "-O2"),
        ("fenv.c", "-O2"),
        ("fenv.c", "-O0 -no-pie"),
        ("control.c", "-O2"),
        ("threads.c", "-O2 -pthread"),
        ("exceptions.cpp", "-O2 -pthread -std=c++17"),
        ("numeric.f90", "-O3 -march=native"),
    ];
    for (source, flags) in programs {
        let original = bench.build(source, &format!("{flags} {LINKED}"), "original");
        let expected = bench.run(&original);
        let choice = Choice { libraries: &[&library], poison: true, ..FUNCTIONS };
        let copy = copy(&original, shipped("cyg-profile"), choice);
        assert_eq!(bench.run(&copy), expected, "{source} {flags}");
        let (_, counts) = seen_by_hooks(&bench, &copy);
        assert!(counts[0] > 5, "{source} {flags}: {counts:?}");
        if source.ends_with(".c") && source != "control.c" {
            assert_eq!(counts[0], counts[1], "{source} {flags}");
        }
    }
}

#[test]
fn what_callers_keep_in_registers_is_there_behind_hooks_that_sites_call_themselves() {
    let bench = Bench::new();
    let library = bench.build("clobber.c", "-O2 -shared -fPIC -DSMALL", "libclobber.so");
    for flags in ["-O1", "-O2", "-O3 -fno-inline", "-Os -no-pie", "-O2 -s", "clang -O2"] {
        let original = bench.build("kept.c", &format!("{flags} {LINKED}"), "original");
        let expected = bench.run(&original);
        let choice = Choice { libraries: &[&library], poison: true, ..FUNCTIONS };
        let copy = copy(&original, shipped("cyg-profile"), choice);
        assert_eq!(bench.run(&copy), expected, "{flags}");
        let (_, counts) = seen_by_hooks(&bench, &copy);
        assert!(counts[0] > 1000 && counts[0] == counts[1], "{flags}: {counts:?}");
    }
}

/// Runs a program; what it says, and how often its hooks were entered, left, and how deep in frames.
fn seen_by_hooks(bench: &Bench, program: &Path) -> (String, Vec<u64>) {
    let file = bench.path("seen");
    let done = std::process::Command::new(program).env("SEEN", &file).output().expect("it starts");
    let text = std::fs::read_to_string(&file).expect("something was seen");
    (String::from_utf8_lossy(&done.stdout).into_owned(), text.split_whitespace().map(|word| word.parse().expect("a number")).collect())
}

#[test]
fn hooks_see_all_frames_below_them() {
    let bench = Bench::new();
    let library = bench.build("clobber.c", "-O2 -shared -fPIC -DDEPTH", "libclobber.so");
    let compiled = bench.build("work.c", &format!("-O0 -finstrument-functions {LINKED}"), "compiled");
    let original = bench.build("work.c", &format!("-O0 {LINKED}"), "original");
    let choice = Choice { names: &NAMES, libraries: &[&library], ..FUNCTIONS };
    let copy = copy(&original, shipped("cyg-profile"), choice);
    let (says, seen) = seen_by_hooks(&bench, &copy);
    let (expected, by_compiler) = seen_by_hooks(&bench, &compiled);
    assert_eq!((says.as_str(), expected.as_str()), (WORK_SAYS, WORK_SAYS));
    // The snippet has a frame of its own.
    assert_eq!(seen, [by_compiler[0], by_compiler[1], by_compiler[2] + 1]);
}

/// Counts calls of each function, and of all, in each thread.
const LOCALS: &str = r#"<adapter><variables><var name="unused" size="1" thread="yes"/><var name="total" size="8" value="100" thread="yes"/></variables>
<functions><variables><var name="calls" size="2" thread="yes"/><var name="all" size="4"/></variables>
<enter>calls = calls + 1; total = total + 1; all = all + 1; seen(@ROUTINE@, calls, total, &amp;total);</enter></functions></adapter>"#;

#[test]
fn every_thread_has_its_own_variables() {
    let says = |own: &str| own.lines().map(|line| line.split_once(": ").map(|(first, _)| first.to_owned()).unwrap_or_default()).collect::<Vec<_>>();
    for flags in
        ["-O2", "-O0 -no-pie", "-O1 -static", "-O2 -static-pie", "-O2 -DWITHOUT", "-O2 -DWITHOUT -no-pie", "-O2 -ftls-model=global-dynamic -fPIC"]
    {
        let bench = Bench::new();
        let program = bench.build("locals.c", &format!("{flags} -pthread"), "locals");
        let original = bench.run(&program);
        let outcome = bench.run(&copy(&program, LOCALS, Choice { names: &["step", "work"], poison: true, ..FUNCTIONS }));
        assert_eq!((says(&outcome.stdout), outcome.status), (says(&original.stdout), original.status), "{flags}");
        let counts: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.split_once(": ")).map(|pair| pair.1).collect();
        // `work` is entered before it says where its thread keeps what it saw.
        let expected = ["1000 1101", "2000 2101", "3000 3101"].iter().flat_map(|count| [format!("{count} 1"), format!("{count} 1")]);
        assert_eq!(counts, expected.collect::<Vec<_>>(), "{flags}");
    }
}

#[test]
fn every_thread_has_its_own_variables_in_a_library() {
    const OF_LIBRARY: &str = r#"<adapter><variables><var name="total" size="8" value="VALUE" thread="yes"/></variables>
    <functions><enter>total = total + 1; seen(@ROUTINE@, 0, total, &amp;total);</enter></functions></adapter>"#;
    for (value, flags) in [("100", "-O2"), ("100", "-O2 -DWITHOUT"), ("100", "-O2 -mtls-dialect=gnu2"), ("100", "-O2 -ftls-model=initial-exec")] {
        let bench = Bench::new();
        let library = bench.build("locals_library.c", &format!("{flags} -fPIC -shared"), "liblocals.so");
        let program = bench.build("locals.c", "-O2 -DLIBRARY -pthread -rdynamic -L. -llocals -Wl,-rpath,$ORIGIN", "locals");
        let original = bench.run(&program);
        let copy = copy(&library, &OF_LIBRARY.replace("VALUE", value), Choice { poison: true, names: &["of_library"], ..FUNCTIONS });
        std::fs::rename(copy, &library).expect("it can be replaced");
        let outcome = bench.run(&program);
        assert_eq!(outcome.status, Some(0), "{flags}");
        for (line, before) in outcome.stdout.lines().zip(original.stdout.lines()) {
            let numbers: Vec<i64> = line.split([':', ' ']).filter_map(|word| word.parse().ok()).collect();
            let rounds = numbers[2] - 100;
            assert_eq!(line.split(':').next(), before.split(':').next(), "{flags}");
            assert!(rounds % 1000 == 0 && numbers[3] == 0, "{flags}: {line}");
        }
        assert_eq!(outcome.stdout.lines().count(), 6, "{flags}");
    }
}

const EVERY_LEVEL: Choice<'static> = Choice {
    names: &["tail", "maybe", "through", "rounds", "leaf"],
    functions: Some("function"),
    loops: Some("loop"),
    callsites: Some("callsite"),
    libraries: &[],
    poison: true,
};

#[test]
fn numbers_of_regions_are_those_of_the_description() {
    const NUMBERS: &str = r#"<adapter><functions><enter>printf("Function %s %d\n", @SYMBOL@, @ID@);</enter></functions>
    <loops><before>printf("Loop %s %d\n", @SYMBOL@, @ID@);</before></loops>
    <callsites><before>printf("CallSite %s %d\n", @SYMBOL@, @ID@);</before></callsites></adapter>"#;
    let bench = Bench::new();
    let program = bench.build("points.c", "-O2", "points");
    let copy = copy(&program, NUMBERS, EVERY_LEVEL);
    let regions = regions(&std::fs::read(&copy).expect("the copy"));
    let said = bench.run(&copy).stdout;
    let mut kinds = Vec::new();
    for words in said.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|words| words.len() == 3) {
        let region = &regions[words[2].parse::<usize>().expect("a number") - 1];
        let name = if region.kind == RegionKind::Function { &region.name } else { &region.owner };
        assert_eq!((format!("{:?}", region.kind).as_str(), name.as_str()), (words[0], words[1]), "{said}");
        kinds.push(region.kind);
    }
    assert!([RegionKind::Function, RegionKind::Loop, RegionKind::CallSite].iter().all(|kind| kinds.contains(kind)), "{said}");
}

/// What begins and what ends, by kinds; in threads of their own, too.
const BRACKETS: &str = r#"<adapter><variables><var name="open" size="8"/><var name="own" size="8" thread="yes"/></variables>
<finalize>printf("open %ld\n", open);</finalize>
<functions><variables><var name="calls" size="4"/></variables>
    <enter>open = open + 1; calls = calls + 1; if (calls == 1) { printf("%s\n", @SYMBOL@); }</enter><exit>open = open - 1;</exit></functions>
<loops><before>open = open + 100; own = own + 1;</before><enter>open = open + 10000;</enter><exit>open = open - 10000;</exit>
    <after>open = open - 100; own = own - 1;</after></loops>
<callsites><before>open = open + 1000000;</before><after>open = open - 1000000; if (own &lt; 0) { printf("wrong\n"); }</after></callsites></adapter>"#;

#[test]
fn libraries_whose_calls_stay_inside_are_instrumented_at_every_level() {
    let whole = Choice { names: &[], ..EVERY_LEVEL };
    for flags in ["-O0", "-O2", "clang -O2", "-O3 -Wl,-z,now -fcf-protection=full", "-O2 -fuse-ld=lld"] {
        // Tail calls do not come back; exceptions skip exits, of six functions and of no loop.
        let tail_calls = if flags.contains("-O0") { 1 } else { 3 };
        let points = ("points.c", "points.c", "libpoints.so", EVERY_LEVEL);
        for (source, user, library, choice) in [points, ("library.cpp", "user.cpp", "liblibrary.so", whole)] {
            let bench = Bench::new();
            let flags = if source.ends_with("cpp") { flags.replace("clang", "clang++") } else { flags.to_owned() };
            let built = bench.build(source, &format!("{flags} -shared -fPIC -DLIBRARY -Wl,-Bsymbolic -w"), library);
            let program = bench.build(user, &format!("-O1 -DMAIN -w -L. -l:{library} -Wl,-rpath,$ORIGIN"), "program");
            let expected = bench.run(&program);
            let copy = copy(&built, BRACKETS, choice);
            std::fs::rename(copy, &built).expect("it can be replaced");
            let outcome = bench.run(&program);
            assert_eq!(outcome.status, expected.status, "{flags} {source}: {}", outcome.stdout);
            let own: String =
                expected.stdout.lines().filter(|line| outcome.stdout.lines().any(|one| one == *line)).map(|line| format!("{line}\n")).collect();
            assert_eq!(own, expected.stdout, "{flags} {source}: {}", outcome.stdout);
            let open = outcome.stdout.trim_end().rsplit(' ').next().and_then(|word| word.parse::<i64>().ok()).expect("a number");
            let is_right = if source == "points.c" { open == tail_calls * 1_000_000 } else { open % 1_000_000 == 6 };
            assert!(is_right, "{flags} {source}: {}", outcome.stdout);
        }
    }
}

#[test]
fn tail_calls_are_call_sites_that_do_not_come_back() {
    const CALLS: &str = r#"<adapter><functions><enter>printf("enter %s\n", @SYMBOL@);</enter><exit>printf("exit %s\n", @SYMBOL@);</exit></functions>
    <callsites><before>printf("%s calls %s\n", @SYMBOL@, @CALLEE@);</before><after>printf("back in %s\n", @SYMBOL@);</after></callsites></adapter>"#;
    for flags in ["-O2", "-O2 -no-pie -fcf-protection=full"] {
        let bench = Bench::new();
        let program = bench.build("points.c", flags, "points");
        let copy = copy(&program, CALLS, Choice { loops: None, ..EVERY_LEVEL });
        let said = bench.run(&copy).stdout;
        let leaf = "enter leaf\nexit leaf\n";
        let expected = [
            &format!("enter tail\ntail calls leaf\nexit tail\n{leaf}"),
            "enter maybe\nmaybe calls leaf_here\nexit maybe\nenter maybe\nexit maybe\n",
            &format!("enter through\nthrough calls \nexit through\n{leaf}"),
            &format!("enter rounds\nrounds calls leaf\n{leaf}back in rounds\nrounds calls leaf\n{leaf}back in rounds\nexit rounds\n"),
        ]
        .concat();
        assert!(said.starts_with(&expected), "{flags}: {said}");
    }
}

#[test]
fn what_a_cold_part_in_front_of_its_function_calls_has_a_name() {
    const CALLS: &str = r#"<adapter><callsites><before>printf("%s calls %s\n", @SYMBOL@, @CALLEE@);</before></callsites></adapter>"#;
    let bench = Bench::new();
    let program = bench.build("cold.cpp", "-O2", "cold");
    let choice = Choice { names: &["main"], functions: None, loops: None, ..EVERY_LEVEL };
    let said = bench.run(&copy(&program, CALLS, choice)).stdout;
    assert!(!said.contains("main calls \n"), "{said}");
    for callee in ["use(std::vector<int, std::allocator<int> >&)", "__cxa_begin_catch", "__cxa_end_catch"] {
        assert!(said.contains(&format!("main calls {callee}\n")), "{callee}: {said}");
    }
}

/// Hooks that are told of the stack close what exceptions and `longjmp` took off it, as they are told of the next entry or exit.
#[test]
fn frames_that_are_skipped_are_told_by_the_stack() {
    const STACKS: &str = r#"<adapter><dependencies><library name="libframes.so"/></dependencies>
    <functions><enter>frame_begins(@ID@, @STACK@);</enter><exit>frame_ends(@ID@, @STACK@);</exit></functions></adapter>"#;
    for (source, flags, skips) in
        [("exceptions.cpp", "-O2 -pthread -std=c++17", true), ("control.c", "-O0 -DJUMPS", true), ("control.c", "-O2 -no-pie", false)]
    {
        let bench = Bench::new();
        let library = bench.build("frames.c", "-O2 -shared -fPIC", "libframes.so");
        let original = bench.build(source, &format!("{flags} -L. -Wl,-rpath,$ORIGIN -Wl,--no-as-needed -lframes -Wl,--as-needed -lm"), "original");
        let expected = bench.run(&original);
        let copy = copy(&original, STACKS, Choice { libraries: &[&library], poison: true, ..FUNCTIONS });
        let file = bench.path("seen");
        let done = std::process::Command::new(&copy).env("SEEN", &file).output().expect("it starts");
        assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stdout).as_ref()), (expected.status, expected.stdout.as_str()), "{source}");
        let text = std::fs::read_to_string(&file).expect("something was seen");
        let seen: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [entered, left, skipped, wrong] = seen[..] else { panic!("{text}") };
        assert!(entered > 10 && left + skipped == entered && wrong == 0 && (skipped > 0) == skips, "{source} {flags}: {text}");
    }
}

/// The loader calls `begins` before all else, by its name where it can be another library's.
#[test]
fn adapters_begin_and_end_in_front_of_and_behind_all_constructors() {
    const ONCE: &str = r#"<adapter><init>puts("init");</init><finalize>puts("finalize");</finalize>
    <functions><finalize>puts(@ROUTINE@);</finalize></functions></adapter>"#;
    for flags in ["", "-Wl,-Bsymbolic", "-Wl,-z,pack-relative-relocs", "-nostartfiles", "-nostartfiles -Wl,-Bsymbolic", "-fuse-ld=lld", "clang"] {
        let bench = Bench::new();
        let library = bench.build("constructors.c", &format!("{flags} -O1 -shared -fPIC"), "libconstructors.so");
        let program = bench.build("constructors.c", "-O1 -DMAIN -L. -lconstructors -Wl,-rpath,$ORIGIN", "program");
        let expected = bench.run(&program);
        let copy = copy(&library, ONCE, Choice { poison: true, names: &["begins", "works"], ..FUNCTIONS });
        std::fs::rename(copy, &library).expect("it can be replaced");
        let outcome = bench.run(&program);
        assert_eq!(outcome.status, expected.status, "{flags}");
        assert_eq!(outcome.stdout, format!("init\n{}finalize\nbegins\nworks\n", expected.stdout), "{flags}");
    }
}

/// The visits of the first region whose name begins so.
fn named<'a>(visits: &BTreeMap<&str, &'a str>, beginning: &str) -> Option<&'a str> {
    visits.range(beginning..).next().filter(|(name, _)| name.starts_with(beginning)).map(|(_, visits)| *visits)
}

/// Measurement systems that end the program where an end is missing count what the program counts, at every level, whatever skips
/// frames, and whichever of the program and its library is measured.
#[test]
fn what_must_nest_nests_where_frames_are_skipped() {
    let whole = Choice { names: &[], poison: true, ..FUNCTIONS };
    let loops = Choice { loops: Some("loop"), ..whole };
    let calls = Choice { callsites: Some("callsite"), ..loops };
    let (scorep, tau) = (("scorep", "SCOREP", "libscorep_adapter_user_event.so"), ("tau", "TAU", "libTAU.so"));
    for (flags, (name, interface, system), choice) in
        [("-O2", tau, whole), ("-O0 -no-pie", tau, loops), ("clang++ -O2", scorep, whole), ("-O2 -fuse-ld=lld -fcf-protection=full", scorep, calls)]
    {
        let bench = Bench::new();
        let measures = bench.build("interfaces.c", &format!("-O2 -shared -fPIC -D{interface} -Wl,-soname,{system}"), system);
        let library = bench.build("skips.cpp", &format!("{flags} -shared -fPIC -DLIBRARY -Wl,-soname,libskips.so"), "libskips.so");
        let program = bench.build("skips.cpp", &format!("{flags} -pthread -L. -lskips -Wl,-rpath,$ORIGIN"), "skips");
        let expected = bench.run(&program);
        assert_eq!(expected.status, Some(0), "{flags}");
        let instrumented = copy(&program, shipped(name), Choice { libraries: &[&measures], ..choice });
        for is_library_measured in [false, true] {
            if is_library_measured {
                std::fs::rename(copy(&library, shipped(name), Choice { libraries: &[&measures], ..choice }), &library).expect("it can be replaced");
            }
            let (stdout, seen) = seen(&bench, &instrumented, &measures);
            assert_eq!(stdout, expected.stdout, "{name} {flags}");
            let visits: BTreeMap<&str, &str> = seen.lines().filter_map(|line| line.rsplit_once(' ')).collect();
            let of = |function: &str| ["@", " [{"].iter().find_map(|end| named(&visits, &format!("{function}{end}")));
            for (function, count) in expected.stdout.lines().skip(1).filter_map(|line| line.split_once(' ')) {
                assert_eq!(of(function), Some(count), "{name} {flags} {function}: {seen}");
            }
            assert_eq!(of("through").is_some(), is_library_measured, "{name} {flags}: {seen}");
            assert!(seen.contains("wrong 0 open 0\n"), "{name} {flags}: {seen}");
        }
    }
}
