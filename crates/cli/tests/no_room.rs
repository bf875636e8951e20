//! A run that cannot write says so once, and the program goes on unmeasured with a status of its own.

mod common;

use std::path::Path;
use std::process::Output;

use common::{BOTH, Place, compile_c, one_line, text};

fn program(place: &Place) -> String {
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]).display().to_string()
}

/// Runs the program's command in a mount namespace with file systems of these sizes for `/dev/shm` and `full`.
fn with_room(place: &Place, shm: &str, full: &str, line: &str) -> Output {
    std::fs::create_dir_all(place.path().join("full")).expect("a writable directory");
    let tare = env!("CARGO_BIN_EXE_tare");
    let script = format!("mount -t tmpfs -o size={shm} none /dev/shm && mount -t tmpfs -o size={full} none full && exec timeout 600 {tare} {line}");
    // Open MPI's own segments would not fit.
    place.command("unshare").env("OMPI_MCA_btl", "self,tcp").args(["-rm", "sh", "-c", &script]).output().expect("unshare")
}

fn times_said(output: &Output, word: &str) -> usize {
    text(&output.stderr).matches(word).count()
}

#[test]
fn a_run_directory_that_cannot_be_made_leaves_the_program_unmeasured() {
    let place = Place::new();
    let program = program(&place);
    for verb in ["profile", "run"] {
        let output = place.tare().args([verb, "-o", "/proc/nowhere", "--", &program, "return"]).output().expect("tare");
        assert_eq!(output.status.code(), Some(3), "{verb}: {}", text(&output.stderr));
        assert_eq!((times_said(&output, "/proc/nowhere"), times_said(&output, "unmeasured")), (1, 1), "{}", text(&output.stderr));
    }
}

#[test]
fn a_cache_that_cannot_be_made_leaves_the_program_unmeasured() {
    let place = Place::new();
    let program = program(&place);
    let output = place.tare().env("TARE_CACHE", "/proc/nowhere").args(["profile", "--", &program, "return"]).output().expect("tare");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "unmeasured"), 1, "{}", text(&output.stderr));
}

#[test]
fn full_file_systems_leave_the_program_unmeasured() {
    let place = Place::new();
    let program = program(&place);
    // Where instrumented copies stand has room.
    let output = with_room(&place, "16k", "16k", &format!("profile -o full/run -- {program} return"));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "goes on unmeasured"), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no space"), "{}", text(&output.stderr));
}

#[test]
fn children_that_cannot_write_are_counted_and_said_once() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/few_descriptors.c", place.path(), &[]).display().to_string();
    let output = place.profile(&["--exact"], &[program]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "goes on unmeasured"), 1, "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "3 forked processes could write nothing"), 1, "{}", text(&output.stderr));
}

#[test]
fn threads_that_cannot_write_are_counted_and_said_once() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/threads_without_descriptors.c", place.path(), &["-pthread"]).display().to_string();
    let output = place.profile(&[], &[program]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "done\n"), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "threads go on unmeasured"), 1, "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "20 threads found no room for their calls"), 1, "{}", text(&output.stderr));
}

#[test]
fn children_that_have_become_another_user_are_counted_and_leave_nothing() {
    // SAFETY: asks who this is.
    if unsafe { libc::geteuid() } != 0 {
        return; // Nobody else can become another user.
    }
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/another_user.c", place.path(), &[]).display().to_string();
    let output = place.profile(&[], &[program]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "done\n"), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "goes on unmeasured"), 1, "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "3 forked processes could write nothing"), 1, "{}", text(&output.stderr));
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path().join("run/run.json")).expect("a run")).expect("JSON");
    let ending = format!("-{}", run["id"].as_str().expect("an id"));
    let left = std::fs::read_dir("/dev/shm").expect("shared memory").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.ends_with(&ending)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_program_that_limits_its_data_starts_all_of_its_threads() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/little_data.c", place.path(), &["-pthread"]).display().to_string();
    let output = place.profile(&["--preset", "all"], std::slice::from_ref(&program));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = place.report();
    let is_small = |node: &&serde_json::Value| report.0["regions"][node["region"].as_u64().expect("an index") as usize]["name"] == "small";
    let calls: u64 = report.nodes().iter().filter(is_small).map(|node| node["calls"].as_u64().expect("a count")).sum();
    assert_eq!(calls, 20_001, "{}", text(&output.stderr));
    let output = place.profile(&["--preset", "all"], &[program, "none".into()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn without_file_descriptors_the_program_runs_unmeasured() {
    let place = Place::new();
    let program = program(&place);
    let line = format!("ulimit -n 5; exec {} profile -- {program} return", env!("CARGO_BIN_EXE_tare"));
    let output = place.command("sh").args(["-c", &line]).output().expect("sh");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "runs unmeasured"), 1, "{}", text(&output.stderr));
}

#[test]
fn little_shared_memory_is_no_loss() {
    let place = Place::new();
    let program = program(&place);
    let output = with_room(&place, "64k", "4m", &format!("profile -o full/run -- {program} return"));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "unmeasured"), 0, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1001"), "the calls of `work` are not shown: {}", text(&output.stderr));
}

#[test]
fn a_disk_that_is_full_at_the_end_keeps_the_status_and_the_graph() {
    let place = Place::new();
    let program = program(&place);
    let output = with_room(&place, "64m", "16k", &format!("profile -o full/run -- {program} return"));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(one_line(&output.stderr).contains("the data stands in /dev/shm/tare-"), "{}", text(&output.stderr));
}

#[test]
fn a_run_directory_that_the_program_removes_is_missed_once() {
    let place = Place::new();
    let output = place.tare().args(["run", "-o", "gone", "--", "rm", "-r", "gone"]).output().expect("tare");
    assert!(output.status.success(), "the status is the program's");
    assert_eq!(times_said(&output, "gone/run.json"), 1, "{}", text(&output.stderr));
}

#[test]
fn a_limit_on_the_size_of_files_never_ends_the_program() {
    let place = Place::new();
    let program = program(&place);
    for limit in [1, 20, 100, 100_000] {
        let line = format!("ulimit -f {limit} && exec {} run -- {}", env!("CARGO_BIN_EXE_tare"), instrumented(&place, &program));
        let output = place.command("sh").args(["-c", &line]).output().expect("sh");
        assert_eq!(output.status.code(), Some(3), "{limit}: {}", text(&output.stderr));
        assert_eq!(times_said(&output, "unmeasured"), usize::from(limit < 100_000), "{limit}: {}", text(&output.stderr));
    }
}

#[test]
fn a_limit_on_the_size_of_files_does_not_end_a_program_in_a_deep_directory() {
    let place = Place::new();
    let program = program(&place);
    let folder = place.path().join("d".repeat(250)).join("e".repeat(250));
    std::fs::create_dir_all(&folder).expect("room");
    instrumented(&place, &program);
    std::fs::copy(place.path().join("copy"), folder.join("copy")).expect("room");
    let line = format!("ulimit -f 1 && exec {} run -- {}/copy return", env!("CARGO_BIN_EXE_tare"), folder.display());
    let output = place.command("sh").args(["-c", &line]).output().expect("sh");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(times_said(&output, "unmeasured"), 1, "{}", text(&output.stderr));
}

fn instrumented(place: &Place, program: &str) -> String {
    let copy = place.path().join("copy");
    if !Path::new(&copy).exists() {
        let made = place.tare().args(["instrument", program, "-o"]).arg(&copy).output().expect("tare");
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    format!("{} return", copy.display())
}

#[test]
fn ranks_that_cannot_write_say_so_once_and_go_on() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("examples/pi/pi.c", place.path());
        let line = mpi.line(2, &program).join(" ");
        let output = with_room(&place, "15m", "20k", &format!("run -o full/run -- {line}"));
        let plain = place.plain(&mpi.line(2, &program));
        assert_eq!(output.status.code(), plain.status.code(), "{}: {}", mpi.name, text(&output.stderr));
        assert_eq!(text(&output.stdout), text(&plain.stdout), "{}", mpi.name);
        assert_eq!(times_said(&output, "goes on unmeasured"), 1, "{}: {}", mpi.name, text(&output.stderr));
    }
}
