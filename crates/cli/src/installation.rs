//! Where this installation keeps its parts: the preload libraries stand beside the command or in `../lib/tareweight`.

use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;
use tare_format::note::RUNTIME_MARK;

use crate::failure::{Code, Failure};
use crate::mpi_library::Mpi;

/// The path of this command.
pub(crate) fn command() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .map_err(|error| Failure::new(Code::Internal, format!("cannot tell where this command stands: {error}")))
}

/// Directories in which the preload libraries may stand.
fn places(command: &Path) -> Vec<PathBuf> {
    let folder = command.parent().unwrap_or(Path::new("."));
    vec![folder.to_path_buf(), folder.join("../lib/tareweight")]
}

/// The libraries to preload for a kind of MPI, the one that counts allocation and I/O among them where it is needed.
pub(crate) fn preloads(mpi: Option<Mpi>, needs_tally: bool) -> Result<Vec<PathBuf>, Failure> {
    let tally = needs_tally.then(|| library("libtare_tally.so"));
    [preload(mpi)].into_iter().chain(tally).collect()
}

/// The preload library for a kind of MPI.
pub(crate) fn preload(mpi: Option<Mpi>) -> Result<PathBuf, Failure> {
    let path = library(Mpi::preload(mpi))?;
    let bytes = fs::read(&path).map_err(|error| Failure::io(Code::Unavailable, "read", &path, &error))?;
    if memmem::find(&bytes, &RUNTIME_MARK).is_none() {
        let what = format!("{} is of another build than this command, and would measure nothing of what it instruments", path.display());
        return Err(Failure::new(Code::Unavailable, what).remedy("build all of it with `make build`"));
    }
    Ok(path)
}

fn library(name: &str) -> Result<PathBuf, Failure> {
    let command = command()?;
    let found = places(&command).into_iter().map(|place| place.join(name)).find(|path| path.is_file());
    let path = found.and_then(|path| path.canonicalize().ok()).ok_or_else(|| {
        Failure::new(Code::Unavailable, format!("{name} is not beside {} nor in ../lib/tareweight", command.display()))
            .remedy("build with `make build`, or install with `make install PREFIX=DIR`")
    })?;
    match parts_it(&path, " :$") {
        None => Ok(path),
        Some(sign) => Err(Failure::new(Code::Unavailable, format!("the loader preloads no library whose path has a `{sign}`: {}", path.display()))
            .remedy("install where the path has none: make install PREFIX=DIR")),
    }
}

/// The sign in a path at which the loader ends one of a list, or begins a word of its own; a list has no way to quote it.
pub(crate) fn parts_it(path: &Path, signs: &str) -> Option<char> {
    let bytes = path.as_os_str().as_encoded_bytes();
    signs.chars().find(|&sign| u8::try_from(sign).is_ok_and(|sign| bytes.contains(&sign)))
}

/// The file that comes first in `PATH` under a name.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}
