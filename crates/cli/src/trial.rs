//! `--trial`: the command is run once more, before the run that counts, and what it shows replaces estimates.
//!
//! In the trial all that filters let in is measured, and the runtime keeps it within the budget: calls are counted, clocks
//! are on where that is cheap enough, and what it switches off is too dear in the run that counts as well. It is the
//! user's own command in the user's own place: what it writes is written twice, the second time by the run that counts.
//! Its output goes to a file, its input is empty.

use std::ffi::OsString;

use crate::choice::Choice;
use crate::failure::{Code, Failure};
use crate::instrumenting;
use crate::launch;
use crate::measured::{self, Setting, fresh_id};
use crate::progress::Step;
use crate::results::NewRun;
use crate::rundir::{Exit, RunDirectory};

/// Runs the command for a trial; the choice with what was learnt.
pub(crate) fn sharpened(choice: Choice, line: &[OsString], libraries: &[String], setting: Setting) -> Result<Choice, Failure> {
    let (trial, budget) = choice.for_trial()?;
    let setting = Setting { exact: false, duty: Some(budget), ..setting };
    let programs = launch::programs(line).map_err(|error| launch::failure(&error))?;
    let prepared = instrumenting::prepare(programs, &trial, libraries)?;
    let place = tempfile::tempdir().map_err(|error| Failure::io(Code::CannotWrite, "make a directory in", &std::env::temp_dir(), &error))?;
    let run = RunDirectory::create(Some(&place.path().join("trial")), &prepared.targets[0].program.path)?;
    let new = NewRun { id: fresh_id(), line, setting, images: prepared.images, programs: measured::positions(&prepared.targets) };
    new.begin(&run)?;
    let step = Step::begin("trial run");
    let output = run.path.join("output");
    let (exit, wall) = measured::launch(&run, &new.id, line, &prepared.targets, setting, &output)?;
    drop(step);
    new.end(&run, exit, wall)?;
    if exit != Exit::Status(0) {
        let output = place.keep().join("trial").join("output");
        return Err(Failure::new(Code::BadInput, "the command failed in the trial run").remedy(format!("see its output in {}", output.display())));
    }
    eprintln!("tare: the trial run took {wall:.1} s");
    choice.after(&run)
}
