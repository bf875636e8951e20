//! A command that is measured while its run is looked at: what it prints waits until the view has gone.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use tare_report::shell;

use crate::failure::{Code, Failure};
use crate::installation;
use crate::launch;
use crate::rundir::RunDirectory;

/// How often more of the output is looked for.
const POLL: Duration = Duration::from_millis(50);

/// `tare profile` of a command, in the background.
pub(crate) struct Started {
    pub(crate) run: RunDirectory,
    /// The command, for a head line.
    pub(crate) program: String,
    /// Whether the directory was there before.
    was_there: bool,
    child: Child,
    /// What the program and its measurement print.
    output: File,
}

impl Started {
    /// Measures the command into a run directory, by default one named after the program, with these options of `tare profile`.
    pub(crate) fn start(options: &[OsString], command: &[OsString], output: Option<&Path>) -> Result<Self, Failure> {
        let first = command.first().ok_or_else(|| Failure::new(Code::Usage, "no run and no command").remedy("tare top RUN, or tare top -- CMD"))?;
        let tare = installation::command()?;
        // What is wrong with a command whose programs are not found, measuring it says.
        let programs = launch::programs(command).unwrap_or_default();
        let named = programs.first().map_or(Path::new(first), |program| &program.path);
        let was_there = output.is_some_and(Path::exists);
        let run = RunDirectory::create(output, named)?;
        let failed = |error: &std::io::Error| Failure::io(Code::Unavailable, "start", &tare, error);
        let output = tempfile::tempfile().map_err(|error| failed(&error))?;
        let end = |file: &File| file.try_clone().map(Stdio::from).map_err(|error| failed(&error));
        let mut line = Command::new(&tare);
        line.args(["profile", "-o"]).arg(&run.path).args(options).arg("--").args(command);
        line.stdin(Stdio::null()).stdout(end(&output)?).stderr(end(&output)?);
        let child = line.spawn().map_err(|error| failed(&error))?;
        let program = shell::line(&command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>());
        Ok(Self { run, program, was_there, child, output })
    }

    /// How the command ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("exit status {}", status_of(status)))
    }

    /// Whether no run has begun: what could not be started says why.
    pub(crate) fn is_void(&self) -> bool {
        self.run.read_record().is_err()
    }

    /// Tells the command to stop.
    pub(crate) fn interrupt(&self) {
        if let Ok(pid) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: a signal to our own child, which has not been waited for.
            unsafe { libc::kill(pid, libc::SIGINT) };
        }
    }

    /// Prints what the command has printed, and what more it prints until its end; its status is ours.
    pub(crate) fn finish(mut self) -> Result<ExitCode, Failure> {
        let failed = |error: std::io::Error| Failure::new(Code::CannotWrite, format!("cannot print what the command said: {error}"));
        if self.child.try_wait().map_err(failed)?.is_none() {
            eprintln!("tare: the program goes on; Ctrl-C stops it");
        }
        let mut at = 0;
        loop {
            let status = self.child.try_wait().map_err(failed)?;
            at += self.print_from(at).map_err(failed)?;
            if let Some(status) = status {
                if self.is_void() && !self.was_there {
                    // It is empty, or it stays.
                    let _ = std::fs::remove_dir(&self.run.path);
                }
                return Ok(ExitCode::from(status_of(status)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Reads beside the position that the writers share.
    fn print_from(&self, at: u64) -> std::io::Result<u64> {
        use std::os::unix::fs::FileExt;
        let mut bytes = vec![0; 1 << 16];
        let mut printed = 0;
        loop {
            let read = self.output.read_at(&mut bytes, at + printed)?;
            if read == 0 {
                std::io::stdout().flush()?;
                return Ok(printed);
            }
            std::io::stdout().write_all(&bytes[..read])?;
            printed += read as u64;
        }
    }
}

/// The status as `tare profile` gives it, a signal as 128 + n.
fn status_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}
