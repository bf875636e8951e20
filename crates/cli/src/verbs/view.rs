//! `tare view DIR`: the page of a run, opened in a browser where there is a display.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use tare_report::html::is_page;
use tare_report::shell;

use crate::args::ViewArguments;
use crate::failure::{Code, Failure};
use crate::live::this_host;
use crate::progress::during;
use crate::results::Results;
use crate::stdout;
use crate::verbs::report::html;
use crate::whole_file;

/// Writes the page, says where it is, and opens it.
pub(crate) fn view(arguments: &ViewArguments) -> Result<ExitCode, Failure> {
    let results = Results::open(&arguments.run)?;
    let file = arguments.output.clone().unwrap_or_else(|| default_place(&results.run.path));
    is_free(&file)?;
    let page = during("putting the page together", || html(&results.about(), &results.compensated(&arguments.showing), &arguments.carried));
    let cannot = |error: &std::io::Error| Failure::io(Code::CannotWrite, "write", &file, error).remedy("name another place with -o FILE");
    whole_file::write(&file, page.as_bytes()).map_err(|error| cannot(&error))?;
    let file = std::fs::canonicalize(&file).map_err(|error| cannot(&error))?;
    stdout::write_line(format!("file://{}", file.display()))?;
    if !(has_display() && opens(&file)) {
        eprintln!("tare: no browser was opened; to see the page elsewhere: scp {}:{} .", this_host(), shell::path(&file));
    }
    Ok(ExitCode::SUCCESS)
}

/// In a directory; beside a file.
fn default_place(run: &Path) -> PathBuf {
    if run.is_dir() { run.join("report.html") } else { run.with_extension("html") }
}

/// What the page would take the place of has to be a page of ours, or empty.
fn is_free(place: &Path) -> Result<(), Failure> {
    if !whole_file::replaces(place) || is_page(&head(place)) {
        return Ok(());
    }
    let what = format!("{} is there already, and is no page of ours", place.display());
    Err(Failure::new(Code::CannotWrite, what).remedy("name another place with -o FILE, or remove what is there"))
}

/// What a file begins with; nothing where it cannot be read.
fn head(file: &Path) -> Vec<u8> {
    const LONGEST: u64 = 1 << 12;
    let mut head = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(LONGEST).read_to_end(&mut head));
    if read.is_ok() { head } else { Vec::new() }
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Hands the file to the desktop. The browser goes on without us.
fn opens(file: &Path) -> bool {
    let opened = Command::new("xdg-open").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    opened.is_ok_and(|status| status.success())
}
