//! The first phases of verbs that measure a command: what is chosen, with a trial run where one is wanted, and the copies.

use crate::args::Job;
use crate::choice::Choice;
use crate::failure::Failure;
use crate::instrumenting::{self, Prepared};
use crate::launch;
use crate::measured::Setting;
use crate::trial;

/// The programs of the job, instrumented, and how they are to be measured.
pub(crate) fn prepare(job: &Job) -> Result<(Prepared, Setting), Failure> {
    let setting = Setting::of(&job.measuring)?;
    let choice = Choice::of(&job.selection, setting.keeper())?;
    let setting = setting.within_that_of(&job.selection, &choice);
    let choice = match job.trial {
        Some(length) => trial::sharpened(choice, length, &job.command, &job.library, setting)?,
        None => choice,
    };
    let programs = launch::programs(&job.command).map_err(|error| launch::failure(&error))?;
    Ok((instrumenting::prepare(programs, &choice, &job.library)?, setting))
}
