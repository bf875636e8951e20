//! `tare report DIR`: the results of a run, also of one that was killed or still runs.

use std::process::ExitCode;

use crate::args::{Format, ReportArguments};
use crate::failure::Failure;
use crate::results::Results;
use crate::rundir::RunDirectory;

/// Prints the report to stdout.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let run = RunDirectory::open(&arguments.run)?;
    let results = Results::read(&run)?;
    match arguments.format {
        Format::Text => print!("{}", results.text(&arguments.showing, true)),
        Format::Json => println!("{}", results.json(&arguments.showing)),
    }
    Ok(ExitCode::SUCCESS)
}
