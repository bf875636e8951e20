//! `tare profile -- CMD`: the main job. Analyse, select, instrument a cached copy, run it, print the summary.

use std::process::ExitCode;

use crate::args::ProfileArguments;
use crate::carry_out::{Ready, carry_out};
use crate::failure::Failure;
use crate::job;
use crate::measured::{self, fresh_id};
use crate::results::NewRun;
use crate::rundir::RunDirectory;

/// Measures the command, then prints the summary to stderr; ends with the command's status.
pub(crate) fn profile(arguments: &ProfileArguments) -> Result<ExitCode, Failure> {
    carry_out(&arguments.job.command, prepare(arguments), &arguments.showing, arguments.timings)
}

fn prepare(arguments: &ProfileArguments) -> Result<Ready<'_>, Failure> {
    let (mut prepared, setting) = job::prepare(&arguments.job)?;
    measured::check(&prepared.targets, setting)?;
    let directory = RunDirectory::create(arguments.output.as_deref(), &prepared.targets[0].program.path)?;
    let images = std::mem::take(&mut prepared.images);
    let new = NewRun {
        id: fresh_id(),
        line: &arguments.job.command,
        setting,
        images,
        programs: measured::positions(&prepared.targets),
        selection: Some(arguments.job.chosen()),
    };
    new.begin(&directory)?;
    prepared.learnt.iter().try_for_each(|learnt| directory.write_learnt(learnt))?;
    let command = measured::command(&directory, &new.id, new.line, &prepared.targets, setting)?;
    Ok(Ready { new, directory, command, prepared: Some(prepared) })
}
