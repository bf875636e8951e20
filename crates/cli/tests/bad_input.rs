//! Bad input gets one clear sentence that names the file and the remedy, and a status that is not 0.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{OPEN_MPI, Place, compile_c, text};

/// Runs `tare` with these words; it must fail with this status and a message with all of these parts.
fn refused(place: &Place, words: &[&str], status: i32, parts: &[&str]) {
    let output = place.tare().args(words).output().expect("tare can be started");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {message}");
    assert!(output.stdout.is_empty(), "{words:?} printed to stdout: {}", text(&output.stdout));
    for part in parts {
        assert!(message.contains(part), "{words:?}: `{part}` is not in: {message}");
    }
    let (sentence, remedy) = message.split_once("\n      try: ").unwrap_or((&message, ""));
    assert!(sentence.lines().count() <= 3 && !remedy.contains("try: "), "{words:?}: more than a sentence and a remedy: {message}");
}

fn file(place: &Place, name: &str, content: &[u8]) {
    let path = place.path().join(name);
    fs::write(&path, content).expect("a writable directory");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

#[test]
fn what_is_not_a_program_is_named() {
    let place = Place::new();
    file(&place, "text", b"hello");
    file(&place, "job.sh", b"#!/bin/sh\nmpirun ./app\n");
    file(&place, "short", b"\x7fELF\x02\x01\x01");
    refused(&place, &["profile", "--", "./text"], 65, &["./text is a text, not an ELF file", "try:"]);
    refused(&place, &["profile", "--", "./job.sh"], 65, &["./job.sh is a script", "tare instrument", "tare run"]);
    refused(&place, &["profile", "--", "sh", "-c", "./app"], 65, &["sh -c ./app", "tare instrument", "tare run"]);
    refused(&place, &["profile", "--", "./short"], 65, &["./short", "truncated", "try:"]);
    refused(&place, &["inspect", "./text"], 65, &["./text is a text, not an ELF file"]);
    refused(&place, &["inspect", "./nothing"], 66, &["./nothing"]);
    refused(&place, &["inspect", "."], 65, &["directory", "try:"]);
}

#[test]
fn files_of_other_kinds_are_called_what_they_are() {
    let place = Place::new();
    let kinds: [(&[u8], &str); 8] = [
        (b"", "empty"),
        (b"!<arch>\n", "static library"),
        (b"/* GNU ld script */\nGROUP ( libc.so.6 )\n", "text"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"MZ\0\0", "Windows"),
        (b"\0asm\x01\0\0\0", "WebAssembly"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"\x01\x02\x03", "not an ELF file"),
    ];
    for (content, name) in kinds {
        file(&place, "other", content);
        refused(&place, &["inspect", "./other"], 65, &["./other is", name, "try:"]);
    }
    fs::write(place.path().join("unit.c"), "int one(void) { return 1; }\n").expect("a writable directory");
    assert!(place.command("gcc").args(["-c", "unit.c"]).status().expect("gcc").success());
    refused(&place, &["inspect", "./unit.o"], 65, &["./unit.o is an ELF object file", "link it first"]);
    assert!(place.command("mkfifo").arg("pipe").status().expect("mkfifo").success());
    refused(&place, &["inspect", "./pipe"], 65, &["./pipe is no regular file", "try:"]);
}

#[test]
fn commands_without_a_program_are_named() {
    let place = Place::new();
    refused(&place, &["profile"], 64, &["no command", "try:"]);
    refused(&place, &["profile", "--"], 64, &["no command"]);
    refused(&place, &["profile", "--", "env", "A=1"], 64, &["no executable in the command"]);
    refused(&place, &["profile", "--", "./missing"], 66, &["./missing"]);
    refused(&place, &["profile", "--", "mpirun.openmpi", "-n", "2"], 64, &["no executable in the command"]);
    refused(&place, &["run", "--"], 64, &["no command"]);
}

#[test]
fn a_truncated_program_and_other_machines_are_named() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let bytes = fs::read(program).expect("a readable program");
    file(&place, "cut", &bytes[..bytes.len() / 2]);
    refused(&place, &["profile", "--", "./cut"], 65, &["./cut"]);
    let mut arm = bytes.clone();
    arm[18..20].copy_from_slice(&183_u16.to_le_bytes());
    file(&place, "arm", &arm);
    refused(&place, &["profile", "--", "./arm"], 65, &["./arm", "AArch64", "x86-64"]);
    refused(&place, &["instrument", "./arm", "-o", "out"], 65, &["AArch64"]);
    for (class, machine, name) in [(2, 243_u16, "RISC-V"), (2, 21, "PowerPC"), (1, 40, "32-bit ARM"), (1, 3, "32-bit x86"), (1, 62, "x32")] {
        let mut other = bytes.clone();
        other[4] = class;
        other[18..20].copy_from_slice(&machine.to_le_bytes());
        file(&place, "other", &other);
        refused(&place, &["inspect", "./other"], 65, &["./other", name, "x86-64", "try:"]);
    }
    assert!(!place.path().join("out").exists());
}

/// Offset of the first header of `size` bytes from `first` on, `count` of them, that `is_wanted`.
fn header(bytes: &[u8], (first, size, count): (usize, usize, usize), is_wanted: impl Fn(&[u8]) -> bool) -> usize {
    (0..count).map(|index| first + index * size).rfind(|&at| is_wanted(&bytes[at..at + size])).expect("such a header")
}

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    bytes[at..at + size].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

#[test]
fn an_image_that_leaves_no_room_for_more_is_bad_input() {
    let place = Place::new();
    let mut bytes = fs::read(compile_c("crates/cli/tests/programs/endings.c", place.path(), &[])).expect("the program");
    let segments = (number(&bytes, 32, 8), 56, number(&bytes, 56, 2));
    let last = header(&bytes, segments, |header| header[..4] == [1, 0, 0, 0]);
    // Four gigabytes more of zeros behind the last segment.
    bytes[last + 44] = 1;
    file(&place, "large", &bytes);
    refused(
        &place,
        &["instrument", "--preset", "all", "-o", "copy", "large"],
        65,
        &["large cannot be instrumented", "more than 2 GiB away", "it is damaged: build or install it again"],
    );
}

#[test]
fn compressed_debug_sections_that_would_fill_memory_are_not_read() {
    let place = Place::new();
    let mut bytes = fs::read(compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-gz=zlib"])).expect("the program");
    let sections = (number(&bytes, 40, 8), 64, number(&bytes, 60, 2));
    // The last section with `SHF_COMPRESSED`; the size that it promises stands 8 bytes behind its start.
    let compressed = header(&bytes, sections, |header| header[9] & 8 != 0);
    let start = number(&bytes, compressed + 24, 8);
    bytes[start + 8..start + 16].copy_from_slice(&(7_u64 << 30).to_le_bytes());
    file(&place, "bomb", &bytes);
    let output = place.tare().args(["inspect", "bomb"]).output().expect("tare can be started");
    let message = text(&output.stderr);
    assert!(output.status.success() && text(&output.stdout).contains("main"), "{message}");
    assert!(message.contains("bomb: its compressed debug sections of") && message.contains("no more than 268435456 are read"), "{message}");
    assert!(message.contains("objcopy --decompress-debug-sections") && !message.contains("install its debug symbols"), "{message}");
}

#[test]
fn unknown_presets_list_the_known_ones() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let program = program.display().to_string();
    refused(&place, &["profile", "--preset", "everything", "--", &program], 64, &["everything", "mpi-path", "cc3"]);
    refused(&place, &["select", &program, "--preset", "cc9"], 64, &["cc9", "loc5"]);
    refused(&place, &["select", "--print-preset", "cc3", &program], 64, &["no image is needed", "try: tare select --print-preset cc3"]);
    refused(&place, &["select", &program, "--format", "xml"], 64, &["xml", "try: tare select --help"]);
}

#[test]
fn filters_that_cannot_be_read_are_named_with_the_place() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]).display().to_string();
    fs::write(place.path().join("wrong.xml"), "<filter name='f'>\n <includes/>\n</filter>").expect("a writable directory");
    fs::write(place.path().join("latin.xml"), b"<filter\n name='\xc3\xa4\xe4'/>").expect("a writable directory");
    fs::write(place.path().join("nobody.txt"), "# nobody\n").expect("a writable directory");
    refused(
        &place,
        &["select", &program, "--filter", "wrong.xml"],
        65,
        &["wrong.xml: line 2, column 2: <includes>", "expected <include> or <exclude>", "try:"],
    );
    refused(&place, &["profile", "--filter", "latin.xml", "--", &program], 65, &["latin.xml: line 2, column 9:", "0xe4", "expected UTF-8"]);
    refused(&place, &["select", &program, "--filter", "nobody.txt"], 65, &["nobody.txt: line 1, column 1: there is no name in it; expected"]);
    refused(&place, &["select", &program, "--filter", "nothing.xml"], 66, &["nothing.xml", "try:"]);
    refused(&place, &["select", "--print-preset", "cc4"], 64, &["cc4", "loc5"]);
}

#[test]
fn directories_that_are_not_ours_are_left_alone() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let program = program.display().to_string();
    fs::create_dir(place.path().join("thesis")).expect("a writable directory");
    fs::write(place.path().join("thesis/chapter"), "words").expect("a writable directory");
    refused(&place, &["profile", "-o", "thesis", "--", &program], 73, &["thesis", "not a run of ours", "try:"]);
    refused(&place, &["report", "thesis"], 65, &["thesis", "not a run"]);
    refused(&place, &["report", "nowhere"], 66, &["nowhere"]);
    assert_eq!(fs::read_to_string(place.path().join("thesis/chapter")).ok().as_deref(), Some("words"));
}

#[test]
fn graphs_that_cannot_be_read_are_named() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let measured = place.tare().args(["profile", "--preset", "all", "-o", "run", "--"]).arg(&program).output().expect("tare can be started");
    let own = std::process::id();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    // One is that of a process that runs, the other was left by one that was killed.
    let drafts = [format!("run/{}-{own}-0.draft", host.trim()), format!("run/{}-4000000000-0.draft", host.trim())];
    for name in drafts.iter().map(String::as_str).chain(["run/other-1-0.graph"]) {
        fs::write(place.path().join(name), "").expect("a writable directory");
    }
    std::os::unix::fs::symlink("nothing", place.path().join("run/away-2-0.graph")).expect("a writable directory");
    let report = place.tare().args(["report", "run"]).output().expect("tare can be started");
    let shown = text(&report.stdout);
    assert!(shown.contains("other-1-0.graph: the graph file ends within its header"), "{}{shown}{}", text(&measured.stderr), text(&report.stderr));
    assert!(shown.contains("away-2-0.graph: No such file or directory"), "{shown}");
    assert!(!shown.contains("draft"), "{shown}");
    assert_eq!(drafts.map(|name| place.path().join(name).exists()), [true, false]);
    for entry in fs::read_dir(place.path().join("run")).expect("a run").filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".graph") && name != "other-1-0.graph" && name != "away-2-0.graph" {
            fs::remove_file(entry.path()).expect("it is there");
        }
    }
    refused(&place, &["report", "run"], 65, &["away-2-0.graph: No such file or directory"]);
}

#[test]
fn static_programs_are_refused() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-static"]);
    let program = program.display().to_string();
    refused(&place, &["profile", "--", &program], 69, &["statically linked", "try:"]);
    let copy = place.path().join("copy").display().to_string();
    let instrumented = place.tare().args(["instrument", "-o", &copy, &program]).output().expect("tare can be started");
    let said = text(&instrumented.stderr);
    assert!(instrumented.status.success() && said.contains("statically linked") && said.contains("try:"), "{said}");
}

#[test]
fn programs_of_other_c_libraries_are_refused() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"]);
    refused(&place, &["profile", "--", &program.display().to_string()], 69, &["linked with musl", "GNU C library", "try:"]);
}

#[test]
fn an_mpi_that_is_linked_statically_is_refused() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pi/pi.c");
    // Debian has MPICH as a static library, but not what that needs.
    let inside = [
        "-Wl,--push-state,-Bstatic",
        "-lmpich",
        "-Wl,--pop-state",
        "-l:libucp.so.0",
        "-l:libucs.so.0",
        "-l:libhwloc.so.15",
        "-lm",
        "-Wl,--as-needed",
    ];
    for strip in ["-g", "-s"] {
        let built = place.command("mpicc.mpich").args(["-O1", strip, "-o", "own", source]).args(inside).status().expect("the MPI compiler");
        assert!(built.success());
        for verb in ["profile", "run"] {
            refused(&place, &[verb, "--", "mpirun.mpich", "-n", "2", "./own"], 69, &["./own has its MPI linked statically", "try:"]);
        }
    }
}

#[test]
fn an_mpi_library_that_is_not_known_is_named() {
    let place = Place::new();
    fs::write(place.path().join("lib.c"), "int MPI_Init(int *c, char ***v) { return !c + !v; }\n").expect("a writable directory");
    fs::write(place.path().join("app.c"), "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n")
        .expect("a writable directory");
    for words in [
        &["-shared", "-fPIC", "-Wl,-soname,libmpi.so.20", "-o", "libmpi.so.20", "lib.c"][..],
        &["-o", "app", "app.c", "./libmpi.so.20", "-Wl,-rpath,$ORIGIN"],
    ] {
        assert!(place.command("gcc").args(words).status().expect("gcc").success());
    }
    refused(&place, &["profile", "--", "./app"], 69, &["./app", "libmpi.so.20", "libmpi.so.40"]);
}

#[test]
fn a_library_pattern_that_matches_nothing_lists_what_is_loaded() {
    let place = Place::new();
    let program = OPEN_MPI.compile("examples/pi/pi.c", place.path());
    let mut words = vec!["profile", "--library", "liblammps", "--"];
    let line = OPEN_MPI.line(2, &program);
    words.extend(line.iter().map(String::as_str));
    refused(&place, &words, 66, &["liblammps", "libmpi.so.40"]);
}

#[test]
fn a_wrong_value_from_the_environment_names_its_variable() {
    let place = Place::new();
    let said = |words: &[&str]| {
        let output = place.tare().env("TARE_FORMAT", "csv").args(words).output().expect("tare can be started");
        assert_eq!(output.status.code(), Some(64), "{words:?}");
        text(&output.stderr)
    };
    let of_variable = said(&["query", "run", "where"]);
    assert!(of_variable.contains("from TARE_FORMAT in the environment") && of_variable.contains("unset TARE_FORMAT; or --format"), "{of_variable}");
    let given = said(&["query", "run", "where", "--format", "csv"]);
    assert!(!given.contains("TARE_FORMAT") && given.contains("'csv'"), "{given}");
}
