//! A full disk, an interrupt or an error never leaves a half-written output.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use common::{Place, compile_c, text};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).expect("the directory").map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A directory `out` for the copy alone, with an older file in the copy's place or without.
fn place_with(old: Option<&str>) -> Place {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &["-static"]);
    fs::create_dir(place.path().join("out")).expect("room");
    if let Some(old) = old {
        fs::write(place.path().join("out/copy"), old).expect("room");
    }
    place
}

#[test]
fn a_file_that_grows_beyond_the_limit_is_an_error_and_leaves_nothing() {
    for old in [None, Some("old")] {
        let place = place_with(old);
        let line = format!("ulimit -f 100; exec {} instrument endings -o out/copy", env!("CARGO_BIN_EXE_tare"));
        let output = place.command("bash").args(["-c", &line]).output().expect("bash");
        assert_eq!(output.status.code(), Some(73), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("cannot write out/copy") && text(&output.stderr).contains("ulimit -f"), "{}", text(&output.stderr));
        assert_eq!(names(&place.path().join("out")), Vec::from_iter(old.map(|_| "copy")));
        assert_eq!(fs::read_to_string(place.path().join("out/copy")).ok().as_deref(), old);
    }
}

#[test]
fn a_symbolic_link_stays_and_what_it_leads_to_is_replaced() {
    let place = place_with(Some("old"));
    let out = place.path().join("out");
    std::os::unix::fs::symlink("copy", out.join("link")).expect("room");
    std::os::unix::fs::symlink("new", out.join("dangling")).expect("room");
    for (link, target) in [("link", "copy"), ("dangling", "new")] {
        let done = place.tare().args(["instrument", "endings", "-o", &format!("out/{link}")]).output().expect("tare can be started");
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert_eq!(fs::read_link(out.join(link)).expect("still a link"), Path::new(target));
        assert!(fs::read(out.join(target)).expect("the copy").starts_with(b"\x7fELF"));
    }
    assert_eq!(names(&out), ["copy", "dangling", "link", "new"]);
}

#[test]
fn a_directory_is_no_place_and_what_goes_wrong_is_all_that_is_said() {
    let place = place_with(None);
    let instrument = |image: &str, to: &str| place.tare().args(["instrument", image, "--preset", "auto", "-o", to]).output().expect("tare");
    for (output, words) in [(instrument("endings", "out"), "-o out/endings.tare"), (instrument("/etc/passwd", "copy"), "/etc/passwd")] {
        assert!(!output.status.success() && text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("always on"), "{}", text(&output.stderr));
    }
    let output = instrument("endings", "out/copy");
    assert!(output.status.success() && text(&output.stderr).contains("always on"), "{}", text(&output.stderr));
    assert_eq!(names(&place.path().join("out")), ["copy"]);
}

#[test]
fn pipes_and_devices_stay_what_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let place = place_with(None);
    let pipe = place.path().join("out/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let refused = place.tare().args(["instrument", "endings", "-o", "out/pipe"]).output().expect("tare can be started");
    assert_eq!(refused.status.code(), Some(73));
    assert!(text(&refused.stderr).contains("out/pipe: it is a device, a pipe"), "{}", text(&refused.stderr));
    assert!(fs::metadata(&pipe).expect("the pipe").file_type().is_fifo());
}

#[test]
fn a_copy_has_the_permissions_of_its_original() {
    use std::os::unix::fs::PermissionsExt;
    let place = place_with(None);
    for (original, copy) in [(0o500, 0o500), (0o755, 0o755), (0o6750, 0o750), (0o644, 0o644)] {
        fs::set_permissions(place.path().join("endings"), fs::Permissions::from_mode(original)).expect("it is ours");
        let line = format!("umask 022; exec {} instrument endings -o out/copy", env!("CARGO_BIN_EXE_tare"));
        assert!(place.command("bash").args(["-c", &line]).output().expect("bash").status.success());
        assert_eq!(fs::metadata(place.path().join("out/copy")).expect("the copy").permissions().mode() & 0o7777, copy);
    }
}

#[test]
fn a_full_cache_is_said_leaves_nothing_and_lets_the_program_run() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let line = format!("ulimit -f 4; exec {} profile -o run -- ./endings return", env!("CARGO_BIN_EXE_tare"));
    let output = place.command("bash").args(["-c", &line]).output().expect("bash");
    assert_eq!(output.status.code(), Some(3), "the program's own: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("TARE_CACHE") && text(&output.stderr).contains("runs unmeasured"), "{}", text(&output.stderr));
    assert!(names(&place.path().join("cache")).is_empty(), "{:?}", names(&place.path().join("cache")));
}

#[test]
fn copies_beyond_the_limit_go_also_where_none_is_made() {
    let place = Place::new();
    let profile = |limit: &str, program: &str| {
        let output = place.tare().env("TARE_CACHE_LIMIT", limit).args(["profile", "--", program, "return"]).output().expect("tare can be started");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        let is_copy = |name: &&String| name.len() == 32;
        names(&place.path().join("cache")).iter().filter(is_copy).count()
    };
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    fs::copy(place.path().join("endings"), place.path().join("others")).expect("room");
    assert_eq!([profile("", "./endings"), profile("", "./others"), profile("", "./others")], [1, 2, 2]);
    assert_eq!(profile("0", "./others"), 1, "the copy that runs stays, and no other");
}

#[test]
fn an_interrupt_leaves_the_whole_copy_or_none() {
    let place = place_with(None);
    let out = place.path().join("out");
    let instrument = |signal: Option<(libc::c_int, Duration)>| {
        let mut tare = place
            .tare()
            .args(["instrument", "endings", "-o", "out/copy"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("tare can be started");
        if let Some((signal, after)) = signal {
            std::thread::sleep(after);
            // SAFETY: the process is our child and has not been waited for.
            unsafe { libc::kill(tare.id().cast_signed(), signal) };
        }
        tare.wait().expect("tare ends")
    };
    let started = std::time::Instant::now();
    assert!(instrument(None).success());
    let took = started.elapsed();
    let whole = fs::read(out.join("copy")).expect("the copy");
    for (old, signal) in [(None, libc::SIGINT), (None, libc::SIGTERM), (Some("old"), libc::SIGTERM), (None, libc::SIGKILL)] {
        for step in 0..8 {
            let _ = fs::remove_file(out.join("copy"));
            if let Some(old) = old {
                fs::write(out.join("copy"), old).expect("room");
            }
            instrument(Some((signal, took * step / 7)));
            match fs::read(out.join("copy")) {
                Ok(found) => {
                    assert!(found == whole || Some(&*found) == old.map(str::as_bytes), "signal {signal}: half a copy, {} bytes", found.len())
                }
                Err(_) => assert_eq!(old, None, "signal {signal}: the old file is gone"),
            }
            assert!(names(&out).iter().all(|name| name == "copy"), "signal {signal}: {:?}", names(&out));
        }
    }
}

#[test]
fn a_stdout_that_takes_nothing_is_an_error_of_every_verb() {
    let place = Place::new();
    compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let verbs: [&[&str]; 9] = [
        &["--help"],
        &["completion", "zsh"],
        &["manual"],
        &["inspect", "endings"],
        &["inspect", "endings", "--format", "dot"],
        &["select", "endings", "--list"],
        &["select", "endings", "--format", "json"],
        &["instrument", "endings", "-o", "copy"],
        &["doctor"],
    ];
    for words in verbs {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let output = place.tare().args(words).stdout(full).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(73), "{words:?}: {said}");
        assert!(said.contains("cannot write stdout: No space left on device"), "{words:?}: {said}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_of_every_verb_that_writes_files() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]).display().to_string();
    place.profile(&[], &[program, "return".into()]);
    let before = names(place.path());
    let verbs: [&[&str]; 9] = [
        &["report", "run"],
        &["report", "run", "--format", "json"],
        &["report", "run", "--format", "html"],
        &["report", "run", "--format", "cube"],
        &["report", "run", "--format", "tau"],
        &["compare", "run", "run", "--format", "html"],
        &["view", "run"],
        &["instrument", "endings"],
        &["manual"],
    ];
    let nowhere = ["/proc/nowhere", "/sys/nowhere", "/dev/full"];
    for (words, to) in verbs.iter().flat_map(|words| nowhere.map(|to| (words, to))) {
        let output = place.tare().args(*words).args(["-o", to]).output().expect("tare can be started");
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(73), ""), "{words:?} -o {to}: {said}");
        assert!(said.contains(&format!("cannot write {to}: ")) && said.contains("try: ") && said.contains("-o"), "{words:?} -o {to}: {said}");
    }
    for words in verbs.iter().filter(|words| !words.contains(&"tau") && !words.contains(&"manual")) {
        let output = place.tare().args(*words).args(["-o", "missing/file"]).output().expect("tare can be started");
        assert_eq!(output.status.code(), Some(73), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("cannot write missing/file: "), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(names(place.path()), before);
}
