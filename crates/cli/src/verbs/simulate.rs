//! `tare simulate FILE`: a described program, executed unmeasured, measured, and compensated under each model.

use std::fs;
use std::process::ExitCode;

use tare_simulate::{Program, simulate as execute};

use crate::args::{Format, SimulateArguments};
use crate::failure::{Code, Failure};
use crate::progress::Step;
use crate::results::page;
use crate::stdout;

/// Prints the errors of the models to stdout.
pub(crate) fn simulate(arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.file;
    let refused = |what: &dyn std::fmt::Display| {
        Failure::new(Code::BadInput, format!("{}: {what}", path.display())).remedy("docs/simulate.md has the language, with examples")
    };
    let bytes = fs::read(path).map_err(|error| Failure::io(Code::NoInput, "read", path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| refused(&"this is no text"))?;
    let mut program = Program::parse(&text).map_err(|wrong| refused(&wrong))?;
    program.settings.ranks = arguments.ranks.unwrap_or(program.settings.ranks);
    program.settings.seed = arguments.seed.unwrap_or(program.settings.seed);
    let step = Step::begin(format!("{} ranks", program.settings.ranks));
    let simulation = execute(&program).map_err(|failure| refused(&failure))?;
    drop(step);
    match arguments.format {
        Format::Text => stdout::write(tare_report::simulate::text(&simulation, &page(arguments.top)))?,
        Format::Json => stdout::write_line(tare_report::simulate::json(&simulation))?,
    }
    Ok(ExitCode::SUCCESS)
}
