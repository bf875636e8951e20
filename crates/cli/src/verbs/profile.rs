//! `tare profile -- CMD`: the main job. Analyse, select, instrument a cached copy, run it, print the summary.

use std::process::ExitCode;

use crate::args::ProfileArguments;
use crate::child;
use crate::choice::Choice;
use crate::failure::Failure;
use crate::instrumenting;
use crate::launch;
use crate::measured::{self, Output, Setting, fresh_id};
use crate::results::{self, NewRun};
use crate::rundir::RunDirectory;
use crate::trial;

/// Measures the command, then prints the summary to stderr; ends with the command's status.
pub(crate) fn profile(arguments: &ProfileArguments) -> Result<ExitCode, Failure> {
    let setting = Setting::of(&arguments.measuring);
    let mut choice = Choice::of(&arguments.selection, setting.keeper())?;
    let setting = setting.within(&arguments.selection, &choice);
    if arguments.trial {
        choice = trial::sharpened(choice, &arguments.command, &arguments.library, setting)?;
    }
    let programs = launch::programs(&arguments.command).map_err(|error| launch::failure(&error))?;
    let prepared = instrumenting::prepare(programs, &choice, &arguments.library)?;
    let run = RunDirectory::create(arguments.output.as_deref(), &prepared.targets[0].program.path)?;
    let new = NewRun { id: fresh_id(), line: &arguments.command, setting, images: prepared.images, programs: measured::positions(&prepared.targets) };
    new.begin(&run)?;
    let (exit, wall) = measured::launch(&run, &new.id, new.line, &prepared.targets, setting, &Output::Inherit)?;
    new.end(&run, exit, wall)?;
    if arguments.timings {
        instrumenting::print_phases(&prepared.phases);
    }
    results::summarise(&run, &arguments.showing)?;
    Ok(child::exit_code(exit))
}
