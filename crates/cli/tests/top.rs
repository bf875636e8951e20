//! `tare top` on a terminal of its own: keys in, screen out; and as text where there is none.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{OPEN_MPI, Place, compile_c, fits, text};

const SOURCE: &str = "crates/cli/tests/programs/levels.c";
const ROWS: NonZero<u16> = NonZero::new(30).expect("not zero");
const COLUMNS: NonZero<u16> = NonZero::new(110).expect("not zero");

/// Where a frame begins and ends that is to be shown at once.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// How many of these bytes a terminal shows that shows a frame once all of it is there.
fn whole(received: &[u8]) -> usize {
    let last = |mark: &[u8]| received.windows(mark.len()).rposition(|window| window == mark);
    let begun = last(BEGIN).filter(|&begin| last(END).is_none_or(|end| end < begin));
    let begins = (1..BEGIN.len()).rev().find(|&length| received.ends_with(&BEGIN[..length])).map(|length| received.len() - length);
    begun.or(begins).unwrap_or(received.len())
}

/// A program on a terminal in memory.
struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let (mut master, mut slave) = (0, 0);
        let mut size = libc::winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the first two point to live integers, the last to a live size; name and settings may be null.
        let opened = unsafe { libc::openpty(&raw mut master, &raw mut slave, std::ptr::null_mut(), std::ptr::null_mut(), &raw mut size) };
        assert_eq!(opened, 0, "a terminal");
        // SAFETY: both are open and nobody else's.
        let master = unsafe { OwnedFd::from_raw_fd(master) };
        // SAFETY: as above.
        let slave = unsafe { OwnedFd::from_raw_fd(slave) };
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm-256color");
        let make_controlling = || {
            // SAFETY: two system calls in the child between fork and exec.
            unsafe {
                libc::setsid();
            }
            // SAFETY: as above; descriptor 0 is the terminal.
            unsafe {
                libc::ioctl(0, libc::TIOCSCTTY, 0);
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls alone.
        unsafe { command.pre_exec(make_controlling) };
        let child = command.spawn().expect("tare can be started");
        drop(slave);
        let keys = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let (mut output, shown) = (keys.try_clone().expect("a descriptor"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let (mut bytes, mut received) = ([0; 4096], Vec::new());
            // The terminal of a program that has ended cannot be read.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                received.extend_from_slice(&bytes[..read]);
                let whole = received.drain(..whole(&received)).collect::<Vec<u8>>();
                shown.lock().expect("the screen").process(&whole);
            }
        });
        Self { child, keys, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    fn shown(&self) -> String {
        self.screen.lock().expect("the screen").screen().contents()
    }

    /// Waits until the screen is as wanted.
    fn until(&self, wanted: impl Fn(&str) -> bool, what: &str) -> String {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if wanted(&shown) {
                return shown;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{what} does not come; the screen has\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn has(&self, text: &str) -> String {
        self.until(|shown| shown.contains(text), text)
    }

    fn status(mut self) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().expect("a status");
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end; the screen has\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The row of the screen with the cursor.
fn chosen(shown: &str) -> String {
    shown.lines().find(|line| line.starts_with('>')).unwrap_or_default().to_string()
}

fn top(place: &Place, words: &[&str]) -> Command {
    let mut command = place.tare();
    command.arg("top").args(words);
    command
}

#[test]
fn a_run_that_is_over_is_looked_through_by_keys() {
    let place = Place::new();
    let program = OPEN_MPI.compile(SOURCE, place.path());
    let output = place.profile(&["--levels", "functions,loops,callsites"], &OPEN_MPI.line(2, &program));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut terminal = Terminal::start(top(&place, &["run"]));
    let shown = terminal.has("exit status 0");
    assert!(shown.contains("2 ranks × 1") && shown.contains("MPI_Init") && shown.contains("self, "), "{shown}");
    // Found by name; from the region to its heaviest path, and to the caller.
    terminal.press("/P3\r");
    terminal.until(|shown| chosen(shown).contains("P3") && !shown.contains("MPI_Init"), "P3 alone");
    terminal.press("\u{1b}");
    terminal.has("MPI_Init");
    terminal.press("/loop 1 of P4\r");
    terminal.until(|shown| chosen(shown).contains("loop 1 of P4"), "the loop");
    terminal.press("\r");
    let shown = terminal.has("Call path");
    assert!(chosen(&shown).contains("loop 1 of P4") && shown.contains("main") && shown.contains("levels.c:"), "{shown}");
    terminal.press("u");
    terminal.until(|shown| chosen(shown).contains("P4") && !chosen(shown).contains("loop"), "the caller");
    // Folded and opened again; the cursor stays when the order changes.
    terminal.press("\u{1b}[D");
    terminal.until(|shown| chosen(shown).contains('▸'), "folded");
    terminal.press("ss");
    terminal.until(|shown| shown.contains("▼calls") && chosen(shown).contains("P4"), "the order by calls, with the cursor where it was");
    // Ranks and messages.
    terminal.press("2");
    terminal.has("rank 1");
    terminal.press("3");
    assert!(terminal.has("rank 1 → 0").contains("receiver waited"));
    terminal.press("1c");
    terminal.has("measured, ");
    terminal.press("?");
    terminal.has("freezes the screen");
    terminal.press(" q");
    assert_eq!(terminal.status(), 0);
    // Without a terminal: one frame, or what to do.
    let output = top(&place, &["run"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("--once"));
    // What is no run is said first, and of a program what shows it.
    let output = top(&place, &["nosuch"]).output().expect("tare can be started");
    assert_eq!((output.status.code(), text(&output.stderr).contains("nosuch does not exist")), (Some(66), true));
    // A command that cannot be started has no frame, and leaves no directory.
    let before = std::fs::read_dir(place.path()).expect("the place").count();
    let output = top(&place, &["--once", "--", "nosuch"]).output().expect("tare can be started");
    assert_eq!(output.status.code(), Some(66));
    assert!(!text(&output.stdout).contains("Region") && text(&output.stdout).contains("`nosuch` is neither a file nor a command"));
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), before);
    let output = top(&place, &[program.to_str().expect("UTF-8")]).output().expect("tare can be started");
    assert!(text(&output.stderr).contains("try: tare top -- "), "{}", text(&output.stderr));
    let output = top(&place, &["run", "--once"]).env_remove("COLUMNS").output().expect("tare can be started");
    let frame = text(&output.stdout);
    assert!(output.status.success() && frame.contains("MPI_Init") && frame.lines().all(|line| line.chars().count() <= 80), "{frame}");
    let output = top(&place, &["run", "--format", "json"]).output().expect("tare can be started");
    fits(&place, "top", &text(&output.stdout));
    assert!(text(&output.stdout).contains("MPI_Init"), "{}", text(&output.stdout));
}

#[test]
fn a_command_is_measured_where_the_user_says_or_under_its_own_name() {
    let place = Place::new();
    let program = compile_c("crates/cli/tests/programs/endings.c", place.path(), &[]);
    let line = ["--once", "--interval", "0.05", "--", "env", program.to_str().expect("UTF-8"), "exit"];
    top(&place, &line).env("TARE_OUTPUT", "chosen").output().expect("tare can be started");
    assert!(place.path().join("chosen/run.json").is_file());
    top(&place, &line).output().expect("tare can be started");
    let names: Vec<String> =
        fs::read_dir(place.path()).expect("a directory").map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.starts_with("endings-")), "{names:?}");
}

#[test]
fn a_command_is_started_and_followed_to_its_end() {
    let place = Place::new();
    let program = OPEN_MPI.compile(SOURCE, place.path());
    let line = OPEN_MPI.line(2, &program);
    let mut words: Vec<&str> = vec!["--interval", "0.2", "--"];
    words.extend(line.iter().map(String::as_str));
    words.push("stop");
    let mut terminal = Terminal::start(top(&place, &words));
    // It runs: time passes, events come, and where the ranks are is known or said not to be.
    terminal.until(|shown| shown.contains("running") && shown.contains("events/s") && shown.contains("P4"), "a running program");
    terminal.press("2");
    let shown = terminal.until(|shown| shown.contains("rank 0") && shown.contains("rank 1"), "both ranks");
    assert!(shown.contains("no event for"), "{shown}");
    // Frozen, the screen stands still.
    terminal.press(" ");
    let frozen = terminal.has("frozen");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(terminal.shown(), frozen);
    terminal.press(" ");
    terminal.until(|shown| !shown.contains("frozen"), "going on");
    fs::write(place.path().join("stop"), "").expect("a writable directory");
    terminal.has("exit status 0");
    terminal.press("q");
    terminal.until(|shown| shown.contains("tare view "), "the summary of the run");
    assert_eq!(terminal.status(), 0);
}
