//! The instrumented copy behaves as the original where the program asks for its own path.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use common::{Place, Report, compile_c, text};

#[test]
fn a_program_finds_itself_and_the_files_beside_it() {
    let place = Place::new();
    let folder = place.path().canonicalize().expect("a real path");
    let program = compile_c("crates/cli/tests/programs/own_path.c", &folder, &[]);
    fs::write(folder.join("data"), "").expect("a writable directory");
    let line = |word: &str| vec![word.to_string()];
    for word in [program.display().to_string(), "./own_path".into()] {
        let plain = place.plain(&line(&word));
        let measured = place.profile(&[], &line(&word));
        assert_eq!(text(&measured.stdout), text(&plain.stdout));
        assert!(text(&plain.stdout).contains("file beside it found"));
    }
}

/// Runs `replaced` with these words, unmeasured and measured: the same is printed. The report, and the calls of a function.
fn replaced(place: &Place, words: &[&str]) -> (Report, impl Fn(&str) -> u64 + use<>) {
    let folder = place.path().canonicalize().expect("a real path");
    let program = compile_c("crates/cli/tests/programs/replaced.c", &folder, &[]).display().to_string();
    let path = format!("PATH={}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let own = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let line: Vec<String> = [own(&["env", &path, &program]), own(words)].concat();
    let (plain, measured) = (place.plain(&line), place.profile(&[], &line));
    assert_eq!((text(&measured.stdout), measured.status), (text(&plain.stdout), plain.status), "{words:?}: {}", text(&measured.stderr));
    assert!(plain.status.success(), "{words:?}");
    let report = place.report();
    let regions: Vec<String> =
        report.0["regions"].as_array().expect("regions").iter().map(|region| region["name"].as_str().expect("a name").to_string()).collect();
    let calls: Vec<(String, u64)> =
        report.nodes().iter().filter_map(|node| Some((regions[node["region"].as_u64()? as usize].clone(), node["calls"].as_u64()?))).collect();
    (report, move |name: &str| calls.iter().filter(|(region, _)| region == name).map(|(_, calls)| calls).sum())
}

/// All ways in which a program can replace itself.
const WAYS: [&str; 11] =
    ["execl", "execlp", "execle", "short execle", "execv", "execve", "execvp", "searched execvp", "searched execvpe", "fexecve", "execveat"];

#[test]
fn a_program_that_replaces_itself_by_itself_is_measured_and_its_children_go_on_as_the_original() {
    let place = Place::new();
    let children = ["child", "quick child", "spawned child"];
    for (how, again) in WAYS.map(|how| (how, 50)).into_iter().chain(children.map(|how| (how, 0))) {
        let (report, calls) = replaced(&place, &[how]);
        assert_eq!((calls("first"), calls("work")), (10, 10 + again), "{how}");
        assert!(report.0["run"]["replaced"].as_array().expect("a list").is_empty(), "{how}");
    }
}

#[test]
fn a_program_that_another_replaces_keeps_what_was_measured_and_says_which_that_was() {
    let place = Place::new();
    for how in WAYS {
        let (report, calls) = replaced(&place, &[how, "/bin/echo"]);
        assert_eq!((calls("first"), calls("work")), (10, 10), "{how}");
        let [one] = &report.0["run"]["replaced"].as_array().expect("a list")[..] else { panic!("{how}: one process is replaced") };
        let by = one["by"].as_str().expect("a path");
        assert!(by.ends_with("/echo") && one["after_s"].as_f64().expect("seconds") > 0.0, "{how}: {one}");
        let said = text(&place.tare().args(["report", "run"]).output().expect("it starts").stdout);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("replaced itself by {by}, which is not measured, after ")), "{how}: {said}");
    }
    let (report, _) = replaced(&place, &["nothing"]);
    assert!(report.0["run"]["replaced"].as_array().expect("a list").is_empty());
}

#[test]
fn names_that_are_no_text_stay_as_they_are() {
    let place = Place::new();
    let folder = place.path().canonicalize().expect("a real path").join(OsStr::from_bytes(b"folder \xff"));
    fs::create_dir(&folder).expect("a writable directory");
    let program = folder.join(OsStr::from_bytes(b"own\xfe"));
    fs::rename(compile_c("crates/cli/tests/programs/own_path.c", place.path(), &[]), &program).expect("our own file");
    let plain = place.command(&program).output().expect("the program");
    let mut profile = place.tare();
    profile.env("TARE_CACHE", folder.join("cache")).args(["profile", "-o"]).arg(folder.join("run")).arg("--").arg(&program);
    let measured = profile.output().expect("tare");
    assert_eq!(measured.stdout, plain.stdout, "{}", text(&measured.stderr));
    assert!(measured.stdout.contains(&b'\xfe') && text(&measured.stderr).contains("compensated"), "{}", text(&measured.stderr));
}

#[test]
fn a_name_may_be_as_long_as_names_may_be() {
    let place = Place::new();
    let program = place.path().canonicalize().expect("a real path").join("n".repeat(255));
    fs::rename(compile_c("crates/cli/tests/programs/own_path.c", place.path(), &[]), &program).expect("our own file");
    let plain = place.command(&program).output().expect("the program");
    let measured = place.tare().args(["profile", "--"]).arg(&program).output().expect("tare");
    assert_eq!(text(&measured.stdout), text(&plain.stdout), "{}", text(&measured.stderr));
    assert!(text(&measured.stderr).contains("compensated"), "{}", text(&measured.stderr));
}

#[test]
fn programs_of_debian_find_what_belongs_to_them() {
    let place = Place::new();
    let own = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    for line in [
        own(&["/usr/bin/python3.11", "-c", "import sys, json; print(sys.executable, sys.prefix, sys.path, sys.argv, json.__file__)"]),
        own(&["/usr/bin/git", "--exec-path", "--version"]),
        own(&["/usr/bin/gdb", "-nx", "-batch", "-ex", "show data-directory", "-ex", "python import gdb.types; print(gdb.types.__file__)"]),
        own(&["/usr/bin/perl", "-e", "print \"$^X @INC\""]),
    ] {
        let plain = place.plain(&line);
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{line:?}: {}", text(&plain.stderr));
        let measured = place.profile(&["--preset", "cc3"], &line);
        assert_eq!(text(&measured.stdout), text(&plain.stdout), "{line:?}: {}", text(&measured.stderr));
        place.report().check();
    }
}

#[test]
fn a_program_of_many_names_is_told_the_one_it_was_called_by() {
    let place = Place::new();
    let folder = place.path().canonicalize().expect("a real path");
    compile_c("crates/cli/tests/programs/own_path.c", &folder, &[]);
    std::os::unix::fs::symlink("own_path", folder.join("other_name")).expect("a writable directory");
    let line = ["env".to_string(), "-C".into(), "/".into(), folder.join("other_name").display().to_string(), "x".into()];
    let measured = place.profile(&[], &line);
    assert_eq!(text(&measured.stdout), text(&place.plain(&line).stdout), "{}", text(&measured.stderr));
    assert!(text(&measured.stdout).contains("other_name of 2"), "{}", text(&measured.stdout));
}

#[test]
fn call_stacks_through_moved_code_are_seen_as_they_are() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/stacks.c", place.path(), &["-pthread"]);
    let plain = place.plain(&["./stacks".into()]);
    let measured = place.profile(&[], &["./stacks".into()]);
    assert_eq!(text(&measured.stdout), text(&plain.stdout), "{}", text(&measured.stderr));
    assert!(text(&plain.stdout).contains("in the handler: the whole stack"), "{}", text(&plain.stdout));
    place.report().check();
}

#[test]
fn a_library_beside_the_program_is_found_by_origin() {
    let place = Place::new();
    let folder = place.path();
    fs::write(folder.join("part.c"), "int part(void) { return 41; }\n").expect("a writable directory");
    fs::write(folder.join("whole.c"), "int part(void);\nint main(void) { return part() + 1; }\n").expect("a writable directory");
    for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
        let gcc = |arguments: &[&str]| assert!(Command::new("gcc").current_dir(folder).args(arguments).status().expect("gcc").success());
        gcc(&["-shared", "-fPIC", "-o", "libpart.so", "part.c"]);
        gcc(&["-O2", "-o", "whole", "whole.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN", tags]);
        let output = place.profile(&[], &["./whole".into()]);
        assert_eq!(output.status.code(), Some(42), "{tags}: {}", text(&output.stderr));
        assert!(place.report().has_region("main"), "{tags}");
        fs::create_dir_all(folder.join("elsewhere")).expect("a writable directory");
        let link = folder.join("elsewhere/link");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("../whole", &link).expect("a writable directory");
        let output = place.profile(&[], &["./elsewhere/link".into()]);
        assert_eq!(output.status.code(), Some(42), "{tags}: {}", text(&output.stderr));
    }
}

#[test]
fn libraries_whose_copies_the_loader_would_not_find_are_refused() {
    let place = Place::new();
    fs::write(place.path().join("part.c"), "int part(void) { return 41; }\n").expect("a writable directory");
    fs::write(place.path().join("whole.c"), "int part(void);\nint main(void) { return part(); }\n").expect("a writable directory");
    let gcc = |words: &[&str]| assert!(place.command("gcc").args(words).status().expect("gcc").success());
    gcc(&["-shared", "-fPIC", "-o", "libpart.so", "part.c"]);
    gcc(&["-o", "by_path", "whole.c", "./libpart.so"]);
    gcc(&["-o", "by_name", "whole.c", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN"]);
    for (cache, program, words) in
        [("cache", "./by_path", "needs ./libpart.so by its path"), ("a:b", "./by_name", "no directory whose path has a `:`")]
    {
        let line = ["profile", "--library", "libpart", "--", program];
        let output = place.tare().env("TARE_CACHE", place.path().join(cache)).args(line).output().expect("tare");
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
}

#[test]
fn a_library_of_a_relative_search_path_can_be_measured() {
    let place = Place::new();
    let folder = place.path();
    fs::write(folder.join("part.c"), "int part(void) { return 41; }\n").expect("a writable directory");
    fs::write(folder.join("whole.c"), "int part(void);\nint main(void) { return part() + 1; }\n").expect("a writable directory");
    fs::create_dir_all(folder.join("lib")).expect("a writable directory");
    let gcc = |arguments: &[&str]| assert!(Command::new("gcc").current_dir(folder).args(arguments).status().expect("gcc").success());
    gcc(&["-shared", "-fPIC", "-o", "lib/libpart.so", "part.c"]);
    for (tags, is_found) in [("-Wl,--enable-new-dtags", true), ("-Wl,--disable-new-dtags", false)] {
        gcc(&["-O2", "-o", "whole", "whole.c", "-Llib", "-lpart", "-Wl,-rpath,lib", tags]);
        let output = place.profile(&["--preset", "all", "--library", "libpart"], &["./whole".into()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(42), "{tags}: {said}");
        assert_eq!(place.report().has_region("part"), is_found, "{tags}");
        assert_eq!(!said.contains("finds libpart.so by a search path of the older kind"), is_found, "{tags}: {said}");
    }
}

#[test]
fn a_program_and_a_library_open_what_lies_beside_their_originals() {
    let place = Place::new();
    let folder = place.path();
    let write = |name: &str, content: &str| fs::write(folder.join(name), content).expect("a writable directory");
    let opens = "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
                 static void *opened(const char *path) { void *it = dlopen(path, RTLD_NOW); if (!it) { puts(dlerror()); exit(1); } return it; }\n";
    write("near.c", "int near(void) { return 41; }\n");
    write("lib.c", &format!("{opens}int asked(void) {{ return ((int (*)(void))dlsym(opened(\"${{ORIGIN}}/deep/libnear.so\"), \"near\"))(); }}\n"));
    let main = "int asked(void);\nint main(void) { opened(\"$ORIGIN/lib/deep/../libasks.so\"); return asked() + 1; }\n";
    write("main.c", &format!("{opens}{main}"));
    fs::create_dir_all(folder.join("lib/deep")).expect("a writable directory");
    let gcc = |arguments: &[&str]| assert!(Command::new("gcc").current_dir(folder).args(arguments).status().expect("gcc").success());
    gcc(&["-shared", "-fPIC", "-o", "lib/deep/libnear.so", "near.c"]);
    gcc(&["-shared", "-fPIC", "-o", "lib/libasks.so", "lib.c"]);
    gcc(&["-O2", "-o", "main", "main.c", "-Llib", "-lasks", "-Wl,-rpath,$ORIGIN/lib"]);
    for options in [&["--preset", "all"][..], &["--preset", "all", "--library", "libasks"]] {
        let output = place.profile(options, &["./main".into()]);
        assert_eq!(output.status.code(), Some(42), "{options:?}: {}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(place.report().has_region("asked"), options.len() > 2, "{options:?}");
    }
}

#[test]
fn a_program_and_a_library_are_told_where_their_originals_lie() {
    let place = Place::new();
    let folder = place.path().canonicalize().expect("a real path");
    let write = |name: &str, content: &str| fs::write(folder.join(name), content).expect("a writable directory");
    let asks = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <limits.h>\n#include <link.h>\n#include <stdio.h>\n\
                static void say(void *own, void *handle) {\n\
                  char folder[PATH_MAX] = \"\"; Dl_info about = { 0 }, more = { 0 }; struct link_map *map = 0;\n\
                  int found = dladdr(own, &about) + dladdr1(own, &more, (void **)&map, RTLD_DL_LINKMAP);\n\
                  int failed = dlinfo(handle, RTLD_DI_ORIGIN, folder);\n\
                  printf(\"%d: %s, %s; %d: %s\\n\", found, about.dli_fname, more.dli_fname, failed, folder);\n\
                }\n";
    write("lib.c", &format!("{asks}void lib(void) {{ say((void *)lib, dlopen(\"libsays.so\", RTLD_NOW)); }}\n"));
    write("main.c", &format!("{asks}void lib(void);\nint main(void) {{ say((void *)main, dlopen(0, RTLD_NOW)); lib(); return 0; }}\n"));
    ["lib", "alone"].iter().for_each(|name| fs::create_dir_all(folder.join(name)).expect("a writable directory"));
    let gcc = |arguments: &[&str]| assert!(Command::new("gcc").current_dir(&folder).args(arguments).status().expect("gcc").success());
    gcc(&["-shared", "-fPIC", "-o", "lib/libsays.so", "lib.c"]);
    // The older kind of search path goes before that in which the copy of a library is.
    for (tags, finds_copies) in [("-Wl,--enable-new-dtags", true), ("-Wl,--disable-new-dtags", false)] {
        gcc(&["-O2", "-o", "main", "main.c", "-Llib", "-lsays", "-Wl,-rpath,$ORIGIN/lib", tags]);
        let plain = text(&place.plain(&["./main".into()]).stdout);
        assert!(plain.contains("lib/libsays.so; 0: /"), "{plain}");
        for options in [&["--preset", "all"][..], &["--preset", "all", "--library", "libsays"]] {
            let measured = place.profile(options, &["./main".into()]);
            assert_eq!(text(&measured.stdout), plain, "{options:?}: {}", text(&measured.stderr));
            assert_eq!(place.report().has_region("lib"), options.len() > 2 && finds_copies, "{options:?}");
        }
        // Without the runtime nobody can say so, but nothing crashes.
        let done = place.tare().current_dir(&folder).args(["instrument", "main", "-o", "alone/main", "--preset", "all"]).output().expect("it starts");
        assert!(done.status.success(), "{}", text(&done.stderr));
        let alone = Command::new(folder.join("alone/main")).current_dir(&folder).output().expect("it starts");
        assert!(alone.status.success(), "{:?}", alone.status);
        assert_eq!(text(&alone.stdout).lines().last(), plain.lines().last());
    }
}

#[test]
fn data_at_the_end_of_the_program_is_found_there() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/payload.c", place.path(), &[]);
    let mut bytes = fs::read(&program).expect("the program");
    bytes.extend(b"PAYLOAD!");
    fs::write(&program, bytes).expect("our own file");
    let measured = place.profile(&[], &["./payload".into()]);
    assert_eq!(text(&measured.stdout), "PAYLOAD!\n", "{}", text(&measured.stderr));
}

#[test]
fn what_is_in_the_environment_keeps_its_order() {
    let place = Place::new();
    let path = format!("PATH={}", std::env::var("PATH").expect("a path"));
    let home = format!("HOME={}", place.path().display());
    let mut command = place.command("env");
    command.args(["-i", &path, "TWO=2", &home, "ONE=1", env!("CARGO_BIN_EXE_tare"), "profile", "--preset", "all", "-o", "run", "--", "printenv"]);
    let output = command.output().expect("env is there");
    let said = text(&output.stdout);
    let names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once('=')?.0)).take(4).collect();
    assert_eq!(names, ["PATH", "TWO", "HOME", "ONE"], "{said}: {}", text(&output.stderr));
}
