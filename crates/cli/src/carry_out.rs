//! A measured run from its start to its summary.
//!
//! Where nothing can be written, or no file be opened, the program is worth more than its measurement: it runs unmeasured, which is said once,
//! and its status is the tool's.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::args::Showing;
use crate::child;
use crate::ends::{Watch, is_of_open_rank};
use crate::failure::Failure;
use crate::instrumenting::{self, Prepared};
use crate::measured::command_of;
use crate::results::{self, NewRun};
use crate::rundir::{Exit, RunDirectory, node_local};

/// A run that can be started.
pub(crate) struct Ready<'a> {
    pub(crate) new: NewRun<'a>,
    pub(crate) directory: RunDirectory,
    pub(crate) command: Command,
    /// What was instrumented for it; its copies stay where they are as long as it is held.
    pub(crate) prepared: Option<Prepared>,
}

/// Runs what is ready, then prints the summary to stderr, and before it with `timings` what preparing took; ends with
/// the command's status. Runs the command unmeasured where preparing failed for want of room, of permission to write, or of file descriptors.
pub(crate) fn carry_out(line: &[OsString], ready: Result<Ready<'_>, Failure>, showing: &Showing, timings: bool) -> Result<ExitCode, Failure> {
    let ready = match ready {
        Ok(ready) => ready,
        Err(failure) if failure.is_of_room() => {
            eprintln!("tare: {failure}\ntare: the program runs unmeasured");
            let (exit, _) = child::run(command_of(line)?)?;
            return Ok(child::exit_code(exit));
        }
        Err(failure) => return Err(failure),
    };
    let watch = Watch::begin(&ready.new.id);
    let (exit, wall) = child::run(ready.command)?;
    let has_failed = exit != Exit::Status(0);
    let mut ends = watch.map(|watch| watch.finish(has_failed)).unwrap_or_default();
    if !has_failed {
        ends.retain(|end| is_of_open_rank(&node_local(&ready.new.id).join(&end.graph)));
    }
    let ended = said(ready.new.end(&ready.directory, exit, wall, ends), None);
    if let Some(prepared) = ready.prepared.as_ref().filter(|_| timings) {
        instrumenting::print_phases(&prepared.phases);
    }
    said(results::summarise(&ready.directory, showing), ended.as_ref());
    Ok(child::exit_code(exit))
}

/// Says what failed after the program's end, whose status stands, unless it was said `before`; gives what failed.
fn said(outcome: Result<(), Failure>, before: Option<&Failure>) -> Option<Failure> {
    let failure = outcome.err()?;
    if before.is_none_or(|before| before.to_string() != failure.to_string()) {
        eprintln!("tare: {failure}");
    }
    Some(failure)
}
