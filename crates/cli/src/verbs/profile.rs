//! `tare profile -- CMD`: the main job. Analyse, select, instrument a cached copy, run it, print the summary.

use std::process::ExitCode;

use crate::args::ProfileArguments;
use crate::carry_out::{Ready, carry_out};
use crate::choice::Choice;
use crate::failure::Failure;
use crate::instrumenting;
use crate::launch;
use crate::measured::{self, Setting, fresh_id};
use crate::results::NewRun;
use crate::rundir::RunDirectory;
use crate::trial;

/// Measures the command, then prints the summary to stderr; ends with the command's status.
pub(crate) fn profile(arguments: &ProfileArguments) -> Result<ExitCode, Failure> {
    carry_out(&arguments.command, prepare(arguments), &arguments.showing, arguments.timings)
}

fn prepare(arguments: &ProfileArguments) -> Result<Ready<'_>, Failure> {
    let setting = Setting::of(&arguments.measuring)?;
    let choice = Choice::of(&arguments.selection, setting.keeper())?;
    let setting = setting.within_that_of(&arguments.selection, &choice);
    let choice = match arguments.trial {
        Some(length) => trial::sharpened(choice, length, &arguments.command, &arguments.library, setting)?,
        None => choice,
    };
    let programs = launch::programs(&arguments.command).map_err(|error| launch::failure(&error))?;
    let mut prepared = instrumenting::prepare(programs, &choice, &arguments.library)?;
    let directory = RunDirectory::create(arguments.output.as_deref(), &prepared.targets[0].program.path)?;
    let images = std::mem::take(&mut prepared.images);
    let new = NewRun { id: fresh_id(), line: &arguments.command, setting, images, programs: measured::positions(&prepared.targets) };
    new.begin(&directory)?;
    let command = measured::command(&directory, &new.id, new.line, &prepared.targets, setting)?;
    Ok(Ready { new, directory, command, prepared: Some(prepared) })
}
