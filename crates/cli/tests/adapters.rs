//! `tare instrument --adapter`: shipped adapters, files, filters that choose alternatives, errors.

mod common;

use std::fs;

use common::{Place, compile_c, text};

/// Instruments a program with an adapter and answers what the copy prints, which passes its check with the same options.
fn says(place: &Place, program: &str, words: &[&str]) -> String {
    for line in [&["instrument", program, "-o", "copy"][..], &["instrument", "--check", "copy"]] {
        let output = place.tare().args(line).args(words).output().expect("tare can be started");
        assert!(output.status.success(), "{line:?} {words:?}: {}", text(&output.stderr));
    }
    let output = std::process::Command::new(place.path().join("copy")).output().expect("the copy starts");
    assert!(output.status.success(), "{words:?}: {:?}", output.status);
    text(&output.stdout)
}

/// Instruments all of a program with an adapter and answers which functions are refused, with their reasons.
fn refusals(place: &Place, program: &str, adapter: &str) -> Vec<(String, String)> {
    let line = ["instrument", program, "-o", "copy", "--adapter", adapter, "--preset", "all", "--format", "json"];
    let output = place.tare().args(line).output().expect("tare can be started");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    let words = |one: &serde_json::Value, key: &str| one[key].as_str().expect("words").to_string();
    report["refusals"].as_array().expect("refusals").iter().map(|one| (words(one, "name"), words(one, "reason"))).collect()
}

fn program(place: &Place) -> String {
    compile_c("crates/cli/tests/programs/rounds.c", place.path(), &["-O1", "-g"]).display().to_string()
}

const LEVELS: &str = r#"<adapter name="levels">
  <variables><var name="calls" size="8"/></variables>
  <finalize>printf("%ld calls\n", calls);</finalize>
  <functions name="loud"><exit>printf("%s ends\n", @ROUTINE@);</exit></functions>
  <loops>
    <variables><var name="turns" size="4"/></variables>
    <before>printf("loop %d of %s begins\n", @LOOP@, @ROUTINE@);</before>
    <enter>turns = turns + 1;</enter>
    <after>printf("loop ends at turn %d\n", turns);</after>
    <finalize>printf("%s: %d turns\n", @ROUTINE@, turns);</finalize>
  </loops>
  <callsites>
    <variables><var name="own" size="2"/></variables>
    <before>calls = calls + 1; own = own + 1;</before>
    <after>if (own == 3) { printf("third time " . @CALLEE@ . "\n"); }</after>
  </callsites>
</adapter>"#;

const FILTER: &str = r#"<filter name="some" start="none">
  <include instrument="functions=none,loops=loop,callsites=callsite"><functionnames>rounds</functionnames></include>
  <include instrument="functions=loud"><functionnames>main</functionnames></include>
</filter>"#;

#[test]
fn a_filter_chooses_alternatives_for_functions_loops_and_call_sites() {
    let place = Place::new();
    let program = program(&place);
    fs::write(place.path().join("levels.xml"), LEVELS).expect("a writable directory");
    fs::write(place.path().join("some.xml"), FILTER).expect("a writable directory");
    let said = says(&place, &program, &["--adapter", "levels.xml", "--filter", "some.xml"]);
    let expected = "loop 1 of rounds begins\nthird time quick\nthird time slow\nloop ends at turn 3\n\
                    loop 1 of rounds begins\nloop ends at turn 5\n11 0 4\nmain ends\n10 calls\nrounds: 5 turns\n";
    assert_eq!(said, expected);
}

#[test]
fn levels_choose_which_elements_of_an_adapter_are_used() {
    let place = Place::new();
    let program = program(&place);
    fs::write(place.path().join("levels.xml"), LEVELS).expect("a writable directory");
    let at = |levels| says(&place, &program, &["--adapter", "levels.xml", "--preset", "all", "--levels", levels]);
    let (loops, calls, both) = (at("loops"), at("callsites"), at("loops,callsites"));
    assert!(loops.contains("loop 1 of rounds begins") && !loops.contains("third time") && loops.contains("\n0 calls\n"), "{loops}");
    assert!(!calls.contains("loop") && calls.contains("third time quick"), "{calls}");
    assert!(both.contains("loop 1 of rounds begins") && both.contains("third time quick"), "{both}");
    let refused = place
        .tare()
        .args(["instrument", &program, "-o", "copy", "--adapter", "counting", "--levels", "functions,callsites"])
        .output()
        .expect("tare can be started");
    assert_eq!(refused.status.code(), Some(64));
    assert!(text(&refused.stderr).contains("adapter counting has no <callsites>"), "{}", text(&refused.stderr));
}

/// Its own filter chooses loops and call sites, by the names that it gives them.
const CHOOSES: &str = r#"<adapter name="chooses">
  <filter name="own" instrument="functions=function,loops=l,callsites=c"/>
  <finalize>printf("end\n");</finalize>
  <functions><variables><var name="n" size="2"/></variables><enter>n = n + 1;</enter><finalize>printf("%s %d\n", @ROUTINE@, n);</finalize></functions>
  <loops name="l"><variables><var name="n" size="1"/></variables><enter>n = n + 1;</enter><finalize>printf("loop of %s %d\n", @ROUTINE@, n);</finalize></loops>
  <callsites name="c"><variables><var name="n" size="4"/></variables><before>n = n + 1;</before><finalize>printf("call of %s %d\n", @CALLEE@, n);</finalize></callsites>
</adapter>"#;

#[test]
fn what_an_adapter_chooses_itself_holds_with_a_preset_and_with_levels() {
    let place = Place::new();
    let program = program(&place);
    fs::write(place.path().join("chooses.xml"), CHOOSES).expect("a writable directory");
    let with = |words: &[&str]| says(&place, &program, &[&["--adapter", "chooses.xml", "--preset", "all"], words].concat());
    let whole = with(&[]);
    assert_eq!(whole, with(&["--levels", "functions,loops,callsites"]));
    for line in ["end\n", "\nquick 5\n", "\nloop of rounds 5\n", "\ncall of quick 5\n"] {
        assert!(whole.contains(line), "{line:?} {whole}");
    }
    let calls = with(&["--levels", "callsites"]);
    assert!(calls.contains("\ncall of quick 5\n") && !calls.contains("loop of") && !calls.contains("\nquick 5\n"), "{calls}");
}

#[test]
fn what_snippets_call_in_a_static_program_is_left_alone_and_named() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/rounds.c", place.path(), &["-O1", "-static"]).display().to_string();
    let said = says(&place, &program, &["--adapter", "counting", "--preset", "all"]);
    assert!(said.contains("entering quick for the 5 time\n") && said.contains("entering main for the 1 time\n"), "{said}");
    let refusals = refusals(&place, &program, "counting");
    let refused = |name: &str| refusals.iter().any(|one| one.0 == name && one.1 == "snippets of the adapter call it, or what they call does");
    assert!(!refused("main") && ["printf", "_IO_printf"].into_iter().any(refused), "{refusals:?}");
}

/// Resolvers of indirect functions run while the program is loaded, and static programs begin, before there are thread-local variables, a
/// guard of the stack, or an `errno`.
#[test]
fn hooks_are_not_called_before_there_are_thread_local_variables() {
    let place = Place::new();
    let hooks = "#include <errno.h>\n\
                 static __thread int depth;\n\
                 __attribute__((noipa)) static void fill(char *there) { for (int i = 0; i < 16; i++) there[i] = (char)i; }\n\
                 void __cyg_profile_func_enter(void *own, void *from) { char room[16]; fill(room); depth += room[1]; errno = 0; }\n\
                 void __cyg_profile_func_exit(void *own, void *from) { char room[16]; fill(room); depth -= room[1]; errno = 0; }\n";
    let program = "#include <stdio.h>\n\
                   __attribute__((target_clones(\"avx2\", \"default\"))) double sum(const double *of, int n) {\n\
                   double all = 0; for (int i = 0; i < n; i++) all += of[i]; return all; }\n\
                   int main(void) { double of[50]; for (int i = 0; i < 50; i++) of[i] = i; return printf(\"%g\\n\", sum(of, 50)) < 0; }\n";
    fs::write(place.path().join("hooks.c"), hooks).expect("a writable directory");
    fs::write(place.path().join("program.c"), program).expect("a writable directory");
    for flags in [&["-pie"][..], &["-no-pie"], &["-static"], &["-static-pie"]] {
        let line = ["-O2", "-fstack-protector-strong", "-o", "program", "program.c", "hooks.c"];
        let built =
            std::process::Command::new("gcc").current_dir(place.path()).args(line).args(flags).args((flags[0] == "-pie").then_some("-fPIE")).status();
        assert!(built.expect("gcc").success(), "{flags:?}");
        let refusals = refusals(&place, "program", "cyg-profile");
        let reason = |name: &str| refusals.iter().find(|one| one.0 == name).map(|one| one.1.as_str());
        let early = "runs before thread-local variables are set up, which snippets of the adapter may need";
        assert_eq!((reason("__cpu_indicator_init"), reason("main")), (Some(early), None), "{flags:?}: {refusals:?}");
        let run = std::process::Command::new(place.path().join("copy")).output().expect("the copy starts");
        assert_eq!((run.status.code(), String::from_utf8_lossy(&run.stdout).as_ref()), (Some(0), "1225\n"), "{flags:?}");
    }
}

/// A resolver may call through a pointer, and calls all through thunks where these stand for pointers.
#[test]
fn what_resolvers_may_call_through_pointers_is_left_alone() {
    let place = Place::new();
    let hooks = "static __thread int depth;\n\
                 void __cyg_profile_func_enter(void *own, void *from) { depth++; }\n\
                 void __cyg_profile_func_exit(void *own, void *from) { depth--; }\n";
    let program = "#include <stdio.h>\n\
                   __attribute__((noinline)) static int chosen(void) { return 1; }\n\
                   static int (*volatile choose)(void) = chosen;\n\
                   static int one(int x) { return x + 100; }\n\
                   static int other(int x) { return x + 200; }\n\
                   static int (*resolve(void))(int) { return choose() ? one : other; }\n\
                   int indirect(int) __attribute__((ifunc(\"resolve\")));\n\
                   int main(void) { return printf(\"%d\\n\", indirect(5)) < 0; }\n";
    let clones = "#include <stdio.h>\n\
                  __attribute__((target_clones(\"avx2\", \"default\"), noinline)) int plus(int x) { return x + 100; }\n\
                  int main(void) { return printf(\"%d\\n\", plus(5)) < 0; }\n";
    for (program, flags) in [(program, &["-O2"][..]), (clones, &["-O2", "-fno-plt", "-mindirect-branch=thunk"])] {
        fs::write(place.path().join("hooks.c"), hooks).expect("a writable directory");
        fs::write(place.path().join("program.c"), program).expect("a writable directory");
        let gcc = |line: &[&str]| {
            let built = std::process::Command::new("gcc").current_dir(place.path()).args(line).status();
            assert!(built.expect("gcc").success(), "{line:?}");
        };
        gcc(&["-O2", "-shared", "-fPIC", "hooks.c", "-o", "libhooks.so"]);
        gcc(&[flags, &["program.c", "-o", "program", "-L.", "-Wl,--no-as-needed", "-lhooks", "-Wl,-rpath,$ORIGIN"]].concat());
        assert_eq!(says(&place, "program", &["--adapter", "cyg-profile", "--preset", "all"]), "105\n", "{flags:?}");
        let refused: Vec<String> = refusals(&place, "program", "cyg-profile").into_iter().map(|(name, _)| name).collect();
        assert!(!refused.iter().any(|name| name == "main"), "{flags:?}: {refused:?}");
    }
}

#[test]
fn functions_that_only_pointers_lead_to_are_told_from_those_that_snippets_call() {
    let place = Place::new();
    let source = "__attribute__((noinline)) int shared(int n) { return n + 1; }\n\
                  __attribute__((noinline)) int handler(int n) { return shared(n) + 1; }\n\
                  int (*volatile hook)(int) = handler;\n\
                  __attribute__((noinline)) void through(void) { hook(1); }\n\
                  __attribute__((noinline)) void direct(int n) { __asm__ volatile(\"\" : : \"r\"(n)); }\n\
                  int main(void) { through(); direct(1); return 0; }\n";
    fs::write(place.path().join("pointers.c"), source).expect("a writable directory");
    let built = std::process::Command::new("gcc").current_dir(place.path()).args(["-O1", "-static", "-o", "pointers", "pointers.c"]).status();
    assert!(built.expect("gcc").success());
    let refused = |called: &str| {
        fs::write(place.path().join("hook.xml"), format!("<adapter><functions><enter>{called}(1);</enter></functions></adapter>")).expect("room");
        let refusals = refusals(&place, "pointers", "hook.xml");
        move |name: &str| refusals.iter().find(|one| one.0 == name).map_or(String::new(), |one| one.1.clone())
    };
    let by_pointers = refused("through");
    assert!(by_pointers("through").starts_with("snippets of the adapter call it"), "{}", by_pointers("through"));
    for name in ["handler", "shared"] {
        assert!(by_pointers(name).starts_with("snippets of the adapter may call it"), "{name}: {}", by_pointers(name));
    }
    let by_name = refused("direct");
    assert_eq!(["through", "handler", "shared"].map(by_name), [""; 3]);
}

#[test]
fn threads_have_variables_that_begin_as_said_beside_others_that_begin_as_zero() {
    let place = Place::new();
    let source = place.path().join("zeros.c");
    fs::write(
        &source,
        "__thread int zero; __attribute__((noinline)) int f(int x) { zero += x; return zero; } int main(void) { return f(1) + f(2) - 4; }",
    )
    .expect("room");
    fs::write(
        place.path().join("three.xml"),
        r#"<adapter><variables><var name="n" size="8" thread="yes" value="3"/></variables>
        <functions><enter>n = n + 1;</enter></functions><finalize>printf("%ld\n", n);</finalize></adapter>"#,
    )
    .expect("room");
    let built = std::process::Command::new("gcc").args(["-O1", "-o"]).arg(place.path().join("zeros")).arg(&source).status();
    assert!(built.expect("gcc starts").success());
    let program = place.path().join("zeros").display().to_string();
    let said = says(&place, &program, &["--adapter", "three.xml", "--preset", "all"]);
    assert!(said.trim().parse::<i64>().expect("a number") >= 6, "{said}");
}

#[test]
fn shipped_adapters_are_printed_and_can_be_used_as_files() {
    let place = Place::new();
    let program = program(&place);
    let printed = place.tare().args(["instrument", "--print-adapter", "counting"]).output().expect("tare can be started");
    fs::write(place.path().join("mine.xml"), &printed.stdout).expect("a writable directory");
    let said = says(&place, &program, &["--adapter", "mine.xml"]);
    assert_eq!(said, says(&place, &program, &["--adapter", "counting"]));
    assert!(said.contains("entering quick for the 5 time\n") && said.ends_with("11 0 4\n"), "{said}");
    let help = place.tare().args(["instrument", "--help"]).output().expect("tare can be started");
    for name in ["tareweight", "cyg-profile", "scorep", "tau", "counting"] {
        assert!(text(&help.stdout).contains(name), "{name} is not in the help");
    }
}

#[test]
fn an_adapter_of_which_nothing_is_chosen_says_so() {
    let place = Place::new();
    let program = program(&place);
    for (element, remedy) in [
        ("<functions name='q'><enter>puts(\"a\");</enter></functions>", "instrument=\"functions=q\""),
        ("<loops><before>puts(\"a\");</before></loops>", "--levels loops"),
    ] {
        fs::write(place.path().join("named.xml"), format!("<adapter>{element}</adapter>")).expect("a writable directory");
        let line = ["instrument", &program, "-o", "copy", "--adapter", "named.xml", "--preset", "all"];
        let output = place.tare().args(line).output().expect("tare can be started");
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("nothing of adapter named.xml is chosen") && said.contains(remedy), "{said}");
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    let both = "<adapter><functions><enter>puts(\"a\");</enter></functions><loops name='l'><before>puts(\"a\");</before></loops></adapter>";
    fs::write(place.path().join("named.xml"), both).expect("a writable directory");
    let line = ["instrument", &program, "-o", "copy", "--adapter", "named.xml", "--preset", "all", "--levels", "functions,loops"];
    let said = text(&place.tare().args(line).output().expect("tare can be started").stderr);
    assert!(said.contains("no <loops> of adapter named.xml is chosen") && said.contains("instrument=\"loops=l\""), "{said}");
}

#[test]
fn errors_name_file_place_and_remedy() {
    let place = Place::new();
    let program = program(&place);
    let wrong = [
        ("<adapter>\n <functions>\n  <enter>foo(1);</enter></functions></adapter>", "wrong.xml: line 3, column 10: ", "<dependencies>"),
        ("<adapter>\n <functions><enter>i = 1;</enter></functions></adapter>", "wrong.xml: line 2, column 20: ", "declare it"),
        ("<adapter>\n <filter name='a'><include><nonsense/></include></filter></adapter>", "wrong.xml: line 2, column ", "tare select --filter"),
        (
            "<adapter>\n\n <filter name='a' start='all' instrument='functions=other'/><functions><enter/></functions></adapter>",
            "wrong.xml: line 3, column 2: the adapter has no <functions> named `other`",
            "add one",
        ),
    ];
    for (adapter, place_of_error, remedy) in wrong {
        fs::write(place.path().join("wrong.xml"), adapter).expect("a writable directory");
        let output = place.tare().args(["instrument", &program, "-o", "copy", "--adapter", "wrong.xml"]).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert!(said.contains(place_of_error) && said.contains(remedy), "{adapter}\n{said}");
        assert_eq!(output.status.code(), Some(65), "{said}");
        assert!(!place.path().join("copy").exists(), "something was written");
    }
}

#[test]
fn an_adapter_that_is_no_text_is_refused_with_its_place() {
    let place = Place::new();
    let program = program(&place);
    fs::write(place.path().join("latin.xml"), b"<adapter>\n <!-- caf\xe9 --></adapter>").expect("a writable directory");
    let output = place.tare().args(["instrument", &program, "-o", "copy", "--adapter", "latin.xml"]).output().expect("tare can be started");
    let said = text(&output.stderr);
    assert!(said.contains("latin.xml: line 2, column 10: ") && said.contains("UTF-8"), "{said}");
    assert_eq!(output.status.code(), Some(65));
}

#[test]
fn a_library_that_is_there_but_cannot_be_loaded_is_told_from_one_that_is_missing() {
    let place = Place::new();
    let program = program(&place);
    let text_file = place.path().join("text").display().to_string();
    fs::write(&text_file, "no library\n".repeat(100)).expect("a writable directory");
    let invalid = format!("{text_file} cannot be loaded here (invalid ELF header)");
    for (library, words) in [(text_file.as_str(), invalid.as_str()), ("libnowhere.so.7", "libnowhere.so.7 is not found here")] {
        let adapter = format!("<adapter><dependencies><library name='{library}'/></dependencies></adapter>");
        fs::write(place.path().join("needs.xml"), adapter).expect("a writable directory");
        let output = place.tare().args(["instrument", &program, "-o", "copy", "--adapter", "needs.xml"]).output().expect("tare can be started");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("snippets call"), "{}", text(&output.stderr));
    }
}

#[test]
fn what_is_known_of_hooks_is_read_where_the_copy_will_find_them() {
    let place = Place::new();
    const MARK: u64 = 0x5eed_5eed_5eed_5eed;
    let hooks = format!(
        "long seen;\nvoid __cyg_profile_func_enter(void *own, void *from) {{ seen = {MARK:#x}; }}\nvoid __cyg_profile_func_exit(void *own, void *from) {{ }}\n"
    );
    fs::write(place.path().join("own.c"), hooks).expect("a writable directory");
    fs::write(place.path().join("program.c"), "int main(void) { return 0; }\n").expect("a writable directory");
    let gcc = |words: &[&str]| {
        let done = std::process::Command::new("gcc").current_dir(place.path()).args(words).status().expect("gcc starts");
        assert!(done.success(), "{words:?}");
    };
    gcc(&["-O2", "-shared", "-fPIC", "own.c", "-o", "libown.so"]);
    gcc(&["-O2", "program.c", "-o", "program", "-Wl,-rpath,$ORIGIN"]);
    let printed = text(&place.tare().args(["instrument", "--print-adapter", "cyg-profile"]).output().expect("tare can be started").stdout);
    let own = printed.replacen("<filter", "<dependencies><library name=\"libown.so\"/></dependencies><filter", 1);
    fs::write(place.path().join("own.xml"), own).expect("a writable directory");
    assert_eq!(says(&place, "program", &["--adapter", "own.xml"]), "");
    // A copy holds the code of hooks that it knows. Those of the C library, which it does not call, are empty.
    let copy = fs::read(place.path().join("copy")).expect("the copy");
    assert!(copy.windows(8).any(|bytes| bytes == MARK.to_le_bytes()));
}

#[test]
fn functions_that_must_be_in_a_library_that_is_missing_are_named() {
    let place = Place::new();
    let program = program(&place);
    let adapter = "<adapter><dependencies><library name='libnowhere.so.7'/></dependencies>\
                   <functions><enter>hook(1); puts(\"\"); other(2);</enter></functions></adapter>";
    fs::write(place.path().join("needs.xml"), adapter).expect("a writable directory");
    let output = place.tare().args(["instrument", &program, "-o", "copy", "--adapter", "needs.xml"]).output().expect("tare can be started");
    let said = text(&output.stderr);
    assert!(said.contains("snippets call hook, other, which") && said.contains("unless libnowhere.so.7 has"), "{said}");
}

#[test]
fn what_is_refused_has_its_name_for_people() {
    let place = Place::new();
    let source = "namespace own { __attribute__((noinline)) int hook(int n) { asm volatile(\"\"); return n; } }\n\
                  int main(int count, char **) { return own::hook(count) - 1; }\n";
    fs::write(place.path().join("named.cpp"), source).expect("a writable directory");
    let built = std::process::Command::new("g++").current_dir(place.path()).args(["-O1", "-o", "named", "named.cpp"]).status().expect("g++");
    assert!(built.success());
    fs::write(place.path().join("hook.xml"), "<adapter><functions><enter>_ZN3own4hookEi(1);</enter></functions></adapter>")
        .expect("a writable directory");
    let line = ["instrument", "named", "-o", "copy", "--preset", "all", "--adapter", "hook.xml"];
    let said = place.tare().args(line).output().expect("tare can be started");
    let words = text(&said.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Refused own::hook(int) at 0x"), "{words}{}", text(&said.stderr));
    let document = place.tare().args(line).args(["--format", "json"]).output().expect("tare can be started");
    assert!(text(&document.stdout).contains("\"_ZN3own4hookEi\""), "{}", text(&document.stdout));
}

#[test]
fn a_library_of_a_static_program_is_refused_by_name() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/rounds.c", place.path(), &["-O1", "-static"]).display().to_string();
    let output = place.tare().args(["instrument", &program, "-o", "copy", "--adapter", "tau"]).output().expect("tare can be started");
    assert!(text(&output.stderr).contains("cannot load libTAU.so"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(65));
}
