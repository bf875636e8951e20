//! `tare run -- CMD`: runs instrumented programs, or any MPI program, under the runtime.
//!
//! Programs that can be seen in the line are started by `tare exec`; where a script hides them, the library is
//! preloaded into everything below the command, and does nothing in processes that are neither instrumented nor MPI.

use std::process::ExitCode;

use crate::args::{MpiChoice, RunArguments};
use crate::child;
use crate::failure::Failure;
use crate::image_file::needs;
use crate::launch::{self, LaunchError};
use crate::measured::{self, Setting, Target, fresh_id, launch_hidden};
use crate::mpi_library::Mpi;
use crate::results::{self, NewRun};
use crate::rundir::RunDirectory;

/// Runs the command, then prints the summary to stderr; ends with the command's status.
pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let setting = Setting::of(&arguments.measuring);
    let line = &arguments.command;
    let programs = match launch::programs(line) {
        Ok(programs) => programs,
        Err(LaunchError::Script { .. } | LaunchError::ProgramFile { .. }) => Vec::new(),
        Err(error) => return Err(launch::failure(&error)),
    };
    let mut targets = Vec::new();
    for program in programs {
        // A script among the programs hides what it starts: then the whole line is treated as hidden.
        let Some(needs) = needs(&program.path)? else {
            targets.clear();
            break;
        };
        targets.push(Target { executable: program.path.clone(), program, libraries: Vec::new(), mpi: needs.mpi });
    }
    let named = line.first().map(std::path::PathBuf::from).unwrap_or_default();
    let first = targets.first().map_or(named, |target| target.program.path.clone());
    let directory = RunDirectory::create(arguments.output.as_deref(), &first)?;
    let new = NewRun { id: fresh_id(), line, setting, images: Vec::new(), programs: measured::positions(&targets) };
    new.begin(&directory)?;
    let (exit, wall) = if targets.is_empty() {
        launch_hidden(&directory, &new.id, line, hidden_mpi(arguments.mpi), setting)?
    } else {
        measured::launch(&directory, &new.id, line, &targets, setting, &measured::Output::Inherit)?
    };
    new.end(&directory, exit, wall)?;
    results::summarise(&directory, &arguments.showing)?;
    Ok(child::exit_code(exit))
}

/// The MPI of programs that a script hides: as the user says, else the one whose launcher is first in `PATH`.
fn hidden_mpi(choice: Option<MpiChoice>) -> Option<Mpi> {
    match choice {
        Some(MpiChoice::None) => None,
        Some(MpiChoice::Openmpi) => Some(Mpi::OpenMpi),
        Some(MpiChoice::Mpich) => Some(Mpi::Mpich),
        None => Mpi::of_default_launcher(),
    }
}
