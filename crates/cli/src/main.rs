//! The `tare` command: measures parallel programs and takes the weight of the measurement off the result.
//!
//! This crate is the rim: flags, files, processes, exit codes. Each verb is a file in `verbs`.

#![deny(clippy::print_stdout, reason = "what cannot be written is an error: see `stdout`")]

mod adapter;
mod args;
mod bisect;
mod budget;
mod cache;
mod carry_out;
mod child;
mod choice;
mod collect;
mod color;
mod debug_files;
mod ends;
mod failure;
mod foreign_file;
mod image_file;
mod installation;
mod instrumenting;
mod job;
mod launch;
mod live;
mod manual;
mod measured;
mod memory;
mod metrics;
mod mpi_library;
mod naming;
mod other_tools;
mod pace;
mod pattern;
mod probe_cost;
mod progress;
mod remains;
mod results;
mod rundir;
mod source_files;
mod started;
mod stdout;
mod trial;
mod verbs;
mod whole_file;
mod word;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::{Arguments, Verb};
use clap::Parser;
use failure::{Code, Failure};

fn main() -> ExitCode {
    memory::give_back_soon();
    let words: Vec<OsString> = std::env::args_os().collect();
    // A program's arguments are its own: `tare exec` passes them on unseen.
    let outcome = match words.as_slice() {
        [_, verb, spec, arguments @ ..] if verb == "exec" => verbs::exec::exec(spec.as_ref(), arguments).map(|never| match never {}),
        _ => act(),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("tare: {failure}");
        failure.exit_code()
    })
}

/// Reads the command line and does what its verb says.
fn act() -> Result<ExitCode, Failure> {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if let Some(failure) = args::failure(&error) {
                return Err(failure);
            }
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            if error.use_stderr() {
                return Ok(ExitCode::from(Code::Usage as u8));
            }
            return printed.map(|()| ExitCode::SUCCESS).map_err(|error| stdout::cannot(&error));
        }
    };
    arguments.color.set();
    if !matches!(arguments.verb, Verb::Profile(_) | Verb::Run(_)) {
        end_with_the_reader();
    }
    match arguments.verb {
        Verb::Profile(arguments) => verbs::profile::profile(&arguments),
        Verb::Inspect(arguments) => verbs::inspect::inspect(&arguments),
        Verb::Select(arguments) => verbs::select::select(&arguments),
        Verb::Instrument(arguments) => verbs::instrument::instrument(&arguments),
        Verb::Run(arguments) => verbs::run::run(&arguments),
        Verb::Validate(arguments) => verbs::validate::validate(&arguments),
        Verb::Report(arguments) => verbs::report::report(&arguments),
        Verb::View(arguments) => verbs::view::view(&arguments),
        Verb::Compare(arguments) => verbs::compare::compare(&arguments),
        Verb::Simulate(arguments) => verbs::simulate::simulate(&arguments),
        Verb::Top(arguments) => verbs::top::top(&arguments),
        Verb::Serve(arguments) => verbs::serve::serve(&arguments),
        Verb::Query(arguments) => verbs::query::query(&arguments),
        Verb::Ctl(arguments) => verbs::ctl::ctl(&arguments),
        Verb::Doctor(arguments) => verbs::doctor::doctor(&arguments),
        Verb::Completion(arguments) => verbs::completion::completion(&arguments),
        Verb::Manual(arguments) => verbs::manual::manual(&arguments),
    }
}

/// Lets a verb whose output is its result end quietly where nobody reads on, as in `tare select IMAGE --list | head`.
fn end_with_the_reader() {
    // SAFETY: the default action needs no handler, and no other thread has been started.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
