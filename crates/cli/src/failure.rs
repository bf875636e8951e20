//! Errors for people: what happened, what to do next, and the exit code; made once, here at the rim.
//!
//! The codes are those of `sysexits.h`, so that they do not collide with the usual codes of programs.

use std::fmt;
use std::process::ExitCode;

use tare_report::Page;
use tare_report::figures::{NO_BREAK, wrapped};

use crate::results;

/// Exit codes of the tool's own errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    /// The command line makes no sense (also used by the parser of options).
    Usage = 64,
    /// A file is not what it should be.
    BadInput = 65,
    /// A file or command is not there.
    NoInput = 66,
    /// Something that is needed is not there: a library, a launcher, a kind of MPI.
    Unavailable = 69,
    /// The tool itself is wrong.
    Internal = 70,
    /// Output cannot be written.
    CannotWrite = 73,
}

/// An error with its remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One clear sentence, lower case, without full stop, naming the file or word.
    pub(crate) what: String,
    /// What to do next.
    pub(crate) remedy: Option<String>,
    /// How the tool exits.
    pub(crate) code: Code,
    /// Whether the system refused, rather than we.
    is_of_system: bool,
    /// Whether it had no file descriptor for us.
    lacks_descriptors: bool,
}

impl Failure {
    /// An error without a remedy.
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: None, code, is_of_system: false, lacks_descriptors: false }
    }

    /// The same error with what to do next.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// A failure of input or output on a named thing.
    pub(crate) fn io(code: Code, doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let limit = if error.kind() == std::io::ErrorKind::FileTooLarge { " (ulimit -f says how large files may be)" } else { "" };
        let lacks_descriptors = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
        Self { is_of_system: true, lacks_descriptors, ..Self::new(code, format!("cannot {doing} {}: {error}{limit}", path.display())) }
    }

    /// Whether the system has no room for a measurement: a full disk, no permission, no such directory, too few file descriptors.
    pub(crate) fn is_of_room(&self) -> bool {
        self.lacks_descriptors || self.is_of_system && self.code == Code::CannotWrite
    }

    /// The exit code as the operating system sees it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code as u8)
    }
}

/// What stands before a remedy.
const TRY: &str = "      try: ";

/// Text in which commands, which stand between backquotes, are kept on one line where they fit into one.
fn whole_commands(text: &str) -> String {
    let part = |(index, part): (usize, &str)| if index % 2 == 1 { part.replace(' ', NO_BREAK) } else { part.to_string() };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        match &self.remedy {
            Some(remedy) => {
                let page = Page { unicode: true, styled: false, ..results::page(None) };
                write!(f, "\n{}", wrapped(TRY, TRY.len(), &whole_commands(remedy), &page))
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}
