//! `tare completion SHELL`: what a shell needs to complete our command lines.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::{Arguments, CompletionArguments, ShellName};
use crate::failure::Failure;
use crate::stdout;

/// Prints the script of a shell to stdout.
pub(crate) fn completion(arguments: &CompletionArguments) -> Result<ExitCode, Failure> {
    let shell = match arguments.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "tare", &mut script);
    stdout::write(script)?;
    Ok(ExitCode::SUCCESS)
}
