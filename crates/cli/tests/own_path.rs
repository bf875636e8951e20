//! The instrumented copy behaves as the original where the program asks for its own path.

mod common;

use std::fs;
use std::process::Command;

use common::{Place, compile_c, text};

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
