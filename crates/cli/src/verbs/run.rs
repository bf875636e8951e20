//! `tare run -- CMD`: runs instrumented programs, or any MPI program, under the runtime.
//!
//! Programs that can be seen in the line are started by `tare exec`; where a script hides them, the library is
//! preloaded into everything below the command, and does nothing in processes that are neither instrumented nor MPI.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{MpiChoice, RunArguments};
use crate::carry_out::{Ready, carry_out};
use crate::failure::Failure;
use crate::image_file::needs;
use crate::launch::{self, LaunchError};
use crate::measured::{self, Setting, Target, fresh_id};
use crate::mpi_library::Mpi;
use crate::other_tools;
use crate::results::NewRun;
use crate::rundir::RunDirectory;

/// Runs the command, then prints the summary to stderr; ends with the command's status.
pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    carry_out(&arguments.command, prepare(arguments), &arguments.showing, false)
}

fn prepare(arguments: &RunArguments) -> Result<Ready<'_>, Failure> {
    let setting = Setting::of(&arguments.measuring)?.within(arguments.budget);
    let line = &arguments.command;
    let targets = targets(line, arguments.mpi)?;
    let hidden = targets.is_empty().then(|| hidden_mpi(arguments.mpi));
    match hidden {
        Some(mpi) => measured::check_hidden(mpi, setting)?,
        None => measured::check(&targets, setting)?,
    }
    other_tools::tell_of_preloaded(line);
    let named = line.first().map(std::path::PathBuf::from).unwrap_or_default();
    let first = targets.first().map_or(named, |target| target.program.path.clone());
    let directory = RunDirectory::create(arguments.output.as_deref(), &first)?;
    let new = NewRun { id: fresh_id(), line, setting, images: Vec::new(), programs: measured::positions(&targets), selection: None };
    new.begin(&directory)?;
    let command = match hidden {
        Some(mpi) => measured::hidden_command(&directory, &new.id, line, mpi, setting)?,
        None => measured::command(&directory, &new.id, line, &targets, setting)?,
    };
    Ok(Ready { new, directory, command, prepared: None })
}

/// The programs of the line; none where one of them cannot be seen. What loads its MPI later is taken to load that of its launcher, unless
/// the user says otherwise.
fn targets(line: &[OsString], choice: Option<MpiChoice>) -> Result<Vec<Target>, Failure> {
    let programs = match launch::programs(line) {
        Ok(programs) => programs,
        Err(LaunchError::Script { .. } | LaunchError::ProgramFile { .. }) => Vec::new(),
        Err(error) => return Err(launch::failure(&error)),
    };
    let mut targets = Vec::new();
    for program in programs {
        // A script among the programs hides what it starts: then the whole line is treated as hidden.
        let Some(needs) = needs(&program.path)? else { return Ok(Vec::new()) };
        let executable = program.path.clone();
        let mpi = needs.mpi.or(match choice {
            Some(choice) => choice.mpi(),
            None => program.launched_by,
        });
        targets.push(Target { executable, program, libraries: Vec::new(), mpi, first: needs.sanitizer() });
    }
    Ok(targets)
}

/// The MPI of programs that a script hides: as the user says, else the one whose launcher is first in `PATH`.
fn hidden_mpi(choice: Option<MpiChoice>) -> Option<Mpi> {
    choice.map_or_else(Mpi::of_default_launcher, MpiChoice::mpi)
}

impl MpiChoice {
    fn mpi(self) -> Option<Mpi> {
        match self {
            Self::None => None,
            Self::Openmpi => Some(Mpi::OpenMpi),
            Self::Mpich => Some(Mpi::Mpich),
            Self::Mpiabi => Some(Mpi::Standard),
        }
    }
}
