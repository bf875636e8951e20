//! Launch lines: whatever starts the program, the program is found in it and measured, and behaves as it does without us.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{BOTH, OPEN_MPI, Place, compile_c, text};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

/// An executable script.
fn script(path: &Path, content: &str) {
    fs::write(path, content).expect("a writable directory");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

#[test]
fn wrappers_of_all_kinds_are_passed() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    for line in [
        "./endings return",
        "env -i PATH=/usr/bin:/bin A=1 ./endings return",
        "nice -n 1 ./endings return",
        "taskset -c 0 nice ./endings return",
        "timeout 60 ./endings return",
        "setarch -R ./endings return",
        "setarch x86_64 -R ./endings return",
        "stdbuf -o L ./endings return",
        "numactl --all ./endings return",
        "time -p ./endings return",
        "strace -f -o trace ./endings return",
        "env -C / PATH=HERE endings return",
    ] {
        let line = line.replace("HERE", &place.path().display().to_string());
        let output = place.profile(&[], &words(&line));
        assert_eq!(output.status.code(), Some(3), "{line}: {}", text(&output.stderr));
        let report = place.report();
        report.check();
        assert!(report.has_region("work"), "{line}");
        assert_eq!(report.locations().len(), 1, "{line}: something else was measured as well");
    }
}

#[test]
fn several_programs_in_one_line_are_each_measured() {
    for mpi in BOTH {
        let place = Place::new();
        let pi = mpi.compile("examples/pi/pi.c", place.path());
        fs::copy(&pi, place.path().join("other")).expect("room");
        let line = [words(&format!("mpirun.{} -n 1", mpi.name)), vec![pi.display().to_string()], words("2e-3 : -n 1 ./other 2e-3")].concat();
        let output = place.profile(&[], &line);
        assert!(output.status.success() && text(&output.stdout).starts_with("pi is 3.1"), "{}", text(&output.stderr));
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("2e-3 : ./other 2e-3 · 2 ranks"), "{said}");
        let report = place.report();
        report.check();
        assert!(report.calls(0, "MPI_Recv") > 1 && report.calls(1, "throw_dart") > 1, "{}", mpi.name);
        let record = fs::read_to_string(place.path().join("run/run.json")).expect("the record");
        let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
        assert_eq!(record["images"].as_array().map(Vec::len), Some(2), "{record}");
    }
}

#[test]
fn a_launcher_of_another_name_and_form_is_passed() {
    let place = Place::new();
    let pi = OPEN_MPI.compile("examples/pi/pi.c", place.path());
    fs::create_dir(place.path().join("bin")).expect("room");
    // Slurm's launcher, as far as this needs it: it starts the ranks in another directory.
    let content = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do case $1 in -n) ranks=$2; shift 2;; -D) cd $2; shift 2;; *) shift;; esac; done\n\
                   exec mpirun.openmpi -n $ranks \"$@\"\n";
    script(&place.path().join("bin/srun"), content);
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").expect("a path"));
    let mut tare = place.tare();
    let line = ["profile", "-o", "run", "--", "srun", "--mpi=pmix", "-n", "2", "-D", "/", "--exclusive"];
    let output = tare.env("PATH", path).args(line).arg(&pi).arg("2e-3").output().expect("tare can be started");
    assert!(text(&output.stdout).starts_with("pi is 3.1"), "{}", text(&output.stderr));
    let report = place.report();
    report.check();
    assert!(report.calls(1, "throw_dart") > 1);
}

#[test]
fn a_debugger_sees_the_measured_program_and_its_function_names() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/stacks.c", place.path(), &["-g"]);
    let line = ["gdb", "-nx", "-q", "-batch", "-ex", "break deepest", "-ex", "run", "-ex", "bt", "-ex", "continue", "--args", "./stacks", "debugger"];
    let output = place.profile(&[], &line.map(String::from));
    let said = text(&output.stdout);
    let frames: Vec<&str> = said.lines().filter(|line| line.starts_with('#')).collect();
    for (frame, name) in frames.iter().zip(["deepest", "middle", "outer", "main"]) {
        assert!(frame.contains(&format!(" {name}")), "{said}");
    }
    assert_eq!(frames.len(), 4, "{said}\n{}", text(&output.stderr));
    assert!(said.contains("exited normally"), "{said}");
    let report = place.report();
    report.check();
    assert!(report.has_region("middle") && report.has_region("main"));
}

#[test]
fn what_hides_a_program_is_refused_with_the_way_round() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    script(&place.path().join("job.sh"), "#!/bin/sh\n./endings return\n");
    for line in ["./job.sh", "sh -c ./endings", "mpirun.openmpi --app file"] {
        let output = place.profile(&[], &words(line));
        assert_eq!(output.status.code(), Some(65), "{line}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("tare instrument"), "{line}: {}", text(&output.stderr));
    }
    let output = place.profile(&[], &words("valgrind ./endings return"));
    assert!(text(&output.stderr).contains("a processor of its own"), "{}", text(&output.stderr));
}

#[test]
fn an_interrupted_launcher_is_said_to_have_been_stopped() {
    for mpi in BOTH {
        let place = Place::new();
        let program = mpi.compile("crates/cli/tests/programs/waits.c", place.path());
        let mut tare = place.tare();
        let tare = tare
            .args(["profile", "-o", "run", "--"])
            .args(mpi.line(2, &program))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut tare = tare.spawn().expect("tare can be started");
        let mut line = String::new();
        let mut speech = std::io::BufReader::new(tare.stdout.take().expect("a pipe"));
        std::io::BufRead::read_line(&mut speech, &mut line).expect("the program speaks");
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(tare.id().cast_signed(), libc::SIGTERM) };
        let output = tare.wait_with_output().expect("tare ends");
        assert!(text(&output.stderr).contains("by SIGTERM, "), "{}: {}", mpi.name, text(&output.stderr));
        place.report().check();
    }
}
