//! What is installed: the libraries load under the oldest glibc that README states, and export nothing by accident.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Place, fits, text};

const LIBRARIES: [&str; 5] = ["libtare.so", "libtare_openmpi.so", "libtare_mpich.so", "libtare_mpiabi.so", "libtare_tally.so"];

/// Dynamic symbols of a library as `objdump -T` prints them; the libraries stand beside the command.
fn symbols(library: &str) -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_tare")).with_file_name(library);
    let output = Command::new("objdump").arg("-T").arg(&path).output().expect("binutils are installed by `make test`");
    assert!(output.status.success(), "{} is not there: build the workspace first", path.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn libraries_need_no_newer_glibc_than_stated() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).expect("README.md");
    let stated = page.split("glibc 2.").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("README states a glibc");
    let stated: u32 = stated.parse().expect("a number");
    for library in LIBRARIES {
        for version in symbols(library).split("GLIBC_2.").skip(1) {
            let minor: u32 = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|text| text.parse().ok()).expect("a version");
            assert!(minor <= stated, "{library} needs glibc 2.{minor}");
        }
    }
}

#[test]
fn interposers_define_mpi_in_both_name_spaces() {
    for (library, is_interposer) in LIBRARIES.into_iter().zip([false, true, true, true, false]) {
        let symbols = symbols(library);
        let defines = |name: &str| symbols.lines().any(|line| line.contains(".text") && line.ends_with(&format!(" {name}")));
        for name in ["MPI_Send", "PMPI_Send", "MPI_File_write_all", "PMPI_Allreduce", "MPI_Pcontrol"] {
            assert_eq!(defines(name), is_interposer, "{name} in {library}");
        }
        // What stands before the allocator is not in the libraries that every run has.
        assert_eq!((defines("readlink"), defines("malloc")), if library == "libtare_tally.so" { (false, true) } else { (true, false) }, "{library}");
    }
}

#[test]
fn what_the_doctor_finds_is_a_document_too() {
    let place = Place::new();
    let doctor = |format: &str| place.tare().args(["doctor", "--format", format]).output().expect("tare can be started");
    let document = text(&doctor("json").stdout);
    fits(&place, "doctor", &document);
    let findings = serde_json::from_str::<serde_json::Value>(&document).expect("JSON")["findings"].as_array().map_or(0, Vec::len);
    let output = doctor("text");
    let shown = text(&output.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    let begun = lines.iter().filter(|line| ["good ", "weak ", "bad "].iter().any(|state| line.starts_with(state))).count();
    assert!(findings > 5 && findings == begun, "{document}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
}

#[test]
fn a_runtime_of_another_build_is_refused_before_anything_runs() {
    let place = Place::new();
    let command = Path::new(env!("CARGO_BIN_EXE_tare"));
    let copy = place.path().join("tare");
    std::fs::copy(command, &copy).expect("room for a copy");
    let bytes = std::fs::read(command.with_file_name("libtare.so")).expect("build the workspace first");
    let words = b"Tareweight runtime: note ";
    let at = bytes.windows(words.len()).position(|window| window == words).expect("a runtime says of which version it is");
    let digits = at + words.len();
    let marked = |digit: u8| [&bytes[..digits], &[digit], &bytes[digits + 1..]].concat();
    let profiled = |name: &str| {
        let output = place.command(&copy).args(["profile", "--preset", "all", "-o", name, "--", "/bin/echo", "started"]).output();
        let output = output.expect("the copy can be started");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    std::fs::write(place.path().join("libtare.so"), marked(b'9')).expect("room for a copy");
    let (status, printed, said) = profiled("other");
    assert_eq!((status, printed.as_str()), (Some(69), ""), "{said}");
    assert!(said.contains("libtare.so is of another build than this command") && said.contains("make build"), "{said}");
    assert!(!place.path().join("other").exists(), "what is refused leaves nothing behind");
    std::fs::write(place.path().join("libtare.so"), &bytes).expect("room for a copy");
    let (status, printed, said) = profiled("same");
    assert_eq!((status, printed.as_str()), (Some(0), "started\n"), "{said}");
}
