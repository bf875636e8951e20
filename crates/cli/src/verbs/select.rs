//! `tare select IMAGE`: what would be measured, and why.

use std::process::ExitCode;

use crate::args::{Format, SelectArguments};
use crate::choice::{self, Choice};
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::results::page;

/// Prints counts and reasons, names, or the JSON document.
pub(crate) fn select(arguments: &SelectArguments) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.print_preset {
        print!("{}", choice::preset(name)?.text());
        return Ok(ExitCode::SUCCESS);
    }
    let choice = Choice::of(&arguments.selection)?;
    let image = arguments.image.as_deref().ok_or_else(|| Failure::new(Code::Usage, "no image is named").remedy("tare select IMAGE"))?;
    let bytes = image_file::read(image)?;
    let files = DebugFiles::find(image, &bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(image, &bytes, &files)?;
    let chosen = analysis.select(&choice)?;
    if arguments.list {
        for decision in chosen.selection.selected() {
            println!("{}", analysis.program.functions[decision.function].name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let decisions = analysis.decisions(&chosen);
    match arguments.format {
        Format::Text => print!("{}", tare_report::select::text(&decisions, &page(None))),
        Format::Json => println!("{}", tare_report::select::json(&decisions)),
    }
    Ok(ExitCode::SUCCESS)
}
