//! What verbs print to stdout. Where it cannot be written, as on a full disk, the command fails.

use std::io::Write;
use std::path::Path;

use crate::failure::{Code, Failure};

/// Prints what ends as it does.
pub(crate) fn write(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout.write_all(text.as_ref()).and_then(|()| stdout.flush());
    printed.map_err(|error| cannot(&error))
}

/// Why the command fails.
pub(crate) fn cannot(error: &std::io::Error) -> Failure {
    Failure::io(Code::CannotWrite, "write", Path::new("stdout"), error).remedy("make room, or send it elsewhere")
}

/// Prints a line, or a document without its last line's end.
pub(crate) fn write_line(text: impl Into<String>) -> Result<(), Failure> {
    write(text.into() + "\n")
}
