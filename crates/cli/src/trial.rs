//! `--trial`: the command is run once more, before the run that counts, and what it shows replaces estimates.
//!
//! In the trial all that filters let in is measured, and the runtime keeps it within the budget: calls are counted, clocks
//! are on where that is cheap enough, and what it switches off is too dear in the run that counts as well. After a while
//! the command is told to stop, as by `kill`: counters lie in files, so that what was counted until then is there. It is
//! the user's own command in the user's own place: what it writes is written twice, the second time by the run that
//! counts. Its output goes to a file, its input is empty. How it ends is said; what it showed until then counts, whatever its status
//! is, for many a program ends with another than 0.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::child;
use crate::choice::Choice;
use crate::failure::{Code, Failure};
use crate::instrumenting;
use crate::launch;
use crate::measured::{self, Setting, fresh_id};
use crate::progress::Step;
use crate::results::{NewRun, signal_name};
use crate::rundir::{Exit, RunDirectory};

/// How long a trial run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    /// There is none.
    None,
    /// Then it is stopped.
    AtMost(Duration),
    /// As long as the command takes.
    ToItsEnd,
}

/// What a trial takes where nothing else is said.
const USUAL: Length = Length::AtMost(Duration::from_secs(30));

impl FromStr for Length {
    type Err = String;

    /// `10s`, `2m`, `end`; and the words by which variables of the environment switch options on and off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = |text: &str, each: f64| {
            let seconds = text.parse::<f64>().ok().filter(|number| *number > 0.0 && number * each <= 1e6)? * each;
            Some(Self::AtMost(Duration::from_secs_f64(seconds)))
        };
        let length = match text {
            "" | "1" | "true" | "yes" | "on" => Some(USUAL),
            "0" | "false" | "no" | "off" => Some(Self::None),
            "end" => Some(Self::ToItsEnd),
            _ => text.strip_suffix('s').and_then(|text| seconds(text, 1.0)).or_else(|| seconds(text.strip_suffix('m')?, 60.0)),
        };
        length.ok_or_else(|| "expected a time such as 10s or 2m, or `end` for a run to its end".to_string())
    }
}

/// The choice with what a trial run of the command showed, where one is wanted.
pub(crate) fn sharpened(choice: Choice, length: Length, line: &[OsString], libraries: &[String], setting: Setting) -> Result<Choice, Failure> {
    let limit = match length {
        Length::None => return Ok(choice),
        Length::AtMost(limit) => Some(limit),
        Length::ToItsEnd => None,
    };
    let (trial, budget) = choice.for_trial()?;
    let setting = Setting { exact: false, duty: Some(budget), ..setting };
    let programs = launch::programs(line).map_err(|error| launch::failure(&error))?;
    let prepared = instrumenting::prepare(programs, &trial, libraries)?;
    let place = tempfile::tempdir().map_err(|error| Failure::io(Code::CannotWrite, "make a directory in", &std::env::temp_dir(), &error))?;
    let run = RunDirectory::create(Some(&place.path().join("trial")), &prepared.targets[0].program.path)?;
    let new = NewRun { id: fresh_id(), line, setting, images: prepared.images, programs: measured::positions(&prepared.targets), selection: None };
    new.begin(&run)?;
    let step = Step::begin("trial run");
    let output = run.path.join("output");
    let command = measured::into_file(measured::command(&run, &new.id, line, &prepared.targets, setting)?, &output)?;
    let (exit, wall) = child::run_for(command, limit)?;
    step.end();
    let was_stopped = exit.is_none() && child::stopped_by().is_none();
    new.end(&run, exit.unwrap_or(Exit::Signal(libc::SIGTERM)), wall, Vec::new())?;
    let sharpened = choice.after(&run)?;
    if let Some(signal) = child::stopped_by() {
        return Err(Failure::new(Code::BadInput, format!("{} came in the trial run, and nothing more is run", signal_name(signal))));
    }
    let ended = match exit {
        _ if was_stopped => format!("was stopped after {wall:.1} s"),
        Some(Exit::Status(0)) | None => format!("took {wall:.1} s"),
        Some(Exit::Status(status)) => format!("took {wall:.1} s and ended with status {status}"),
        Some(Exit::Signal(signal)) => format!("was ended by {} after {wall:.1} s", signal_name(signal)),
    };
    let sharpened = sharpened.ok_or_else(|| nothing_measured(&ended, &output))?;
    let counts = if exit == Some(Exit::Status(0)) { "" } else { ", and what it showed until then counts" };
    let longer = if was_stopped { "; --trial=end lets it end" } else { "" };
    eprintln!("tare: the trial run {ended}{counts}{longer}");
    Ok(sharpened)
}

/// Lines of a trial's output that are shown where it came to nothing.
const LAST_LINES: usize = 10;

/// What is said where no instrumented function was reached, with the last lines of what the command printed.
fn nothing_measured(ended: &str, output: &Path) -> Failure {
    let output = std::fs::read(output).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let lines: Vec<&str> = output.lines().collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    let said =
        if last.is_empty() { "it printed nothing".to_string() } else { format!("the last that it printed:\n        {}", last.join("\n        ")) };
    Failure::new(Code::BadInput, format!("the trial run {ended}, and nothing was measured in it; {said}"))
        .remedy("a trial's input is empty, and it may be stopped too early (--trial=end); without --trial the command runs once")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Length, USUAL};

    #[test]
    fn a_length_is_a_time_with_its_unit_or_a_word() {
        let seconds = |seconds: u64| Length::AtMost(Duration::from_secs(seconds));
        for (text, length) in
            [("10s", seconds(10)), ("2m", seconds(120)), ("0.5m", seconds(30)), ("end", Length::ToItsEnd), ("true", USUAL), ("0", Length::None)]
        {
            assert_eq!(text.parse(), Ok(length), "{text}");
        }
        for text in ["10", "-1s", "0s", "s", "1h", "infs", "nans", "whole"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }
}
