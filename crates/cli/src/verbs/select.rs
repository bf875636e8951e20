//! `tare select IMAGE`: what would be measured, and why.

use std::process::ExitCode;

use crate::args::{Format, SelectArguments};
use crate::failure::Failure;
use crate::image_file;
use crate::instrumenting::{Analysis, Choice};
use crate::results::page;

/// Prints counts and reasons, names, or the JSON document.
pub(crate) fn select(arguments: &SelectArguments) -> Result<ExitCode, Failure> {
    let choice = Choice::named(&arguments.selection.preset)?;
    let bytes = image_file::read(&arguments.image)?;
    let analysis = Analysis::of(&arguments.image, &bytes)?;
    let selection = analysis.select(&choice);
    if arguments.list {
        for decision in &selection.selected {
            println!("{}", analysis.program.functions[decision.function].name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let decisions = analysis.decisions(&selection);
    match arguments.format {
        Format::Text => print!("{}", tare_report::select::text(&decisions, &page(None))),
        Format::Json => println!("{}", tare_report::select::json(&decisions)),
    }
    Ok(ExitCode::SUCCESS)
}
