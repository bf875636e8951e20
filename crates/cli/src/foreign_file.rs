//! Profiles of other tools on disk: which files are theirs, and reading them.

use std::fs;
use std::path::{Path, PathBuf};

use tare_foreign::{Foreign, ForeignError, cube, tau};

use crate::failure::{Code, Failure};
use crate::rundir::is_run;

/// What another tool has left at a path: `None` where it is none that we know.
pub(crate) fn read(path: &Path) -> Result<Option<Foreign>, Failure> {
    let wrong = |error: ForeignError| Failure::new(Code::BadInput, format!("{} cannot be read: {error}", path.display())).remedy(remedy(&error));
    if is_run(path) {
        // What it was exported to, too, may lie beside it.
        return Ok(None);
    }
    if path.is_dir() {
        let files = profiles_of_tau(path)?;
        return if files.is_empty() { Ok(None) } else { read_tau(&files)?.map(Some).map_err(wrong) };
    }
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = bytes(path)?;
    if cube::is_cube(&bytes) {
        return cube::read(&bytes).map(Some).map_err(wrong);
    }
    let what = if bytes.is_empty() { "is an empty file" } else { "is neither a run directory nor a file of Cube" };
    Err(Failure::new(Code::BadInput, format!("{} {what}", path.display()))
        .remedy("name a run directory, as `tare profile` printed it, or profiles of TAU or Cube"))
}

fn remedy(error: &ForeignError) -> &'static str {
    match error {
        ForeignError::NoTime { .. } => "name the directory of a metric that is a time, such as MULTI__TIME",
        _ => "is it whole? docs/compare.md says what can be read",
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::io(Code::NoInput, "read", path, &error))
}

/// The profiles in a directory, or in the one below it that holds a time.
fn profiles_of_tau(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let found = profiles_in(folder)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let here = entries(folder)?;
    let of_metric = |path: &&PathBuf| name(path).is_some_and(|name| name.starts_with("MULTI__") && name.contains("TIME")) && path.is_dir();
    match here.iter().find(of_metric) {
        Some(metric) => profiles_of_tau(metric),
        None => Ok(Vec::new()),
    }
}

/// The profiles of TAU that lie in a directory itself.
pub(crate) fn profiles_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_profile = |path: &PathBuf| name(path).is_some_and(|name| tau::place(name).is_some());
    Ok(entries(folder)?.into_iter().filter(is_profile).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = fs::read_dir(folder).map_err(|error| Failure::io(Code::NoInput, "read", folder, &error))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn read_tau(files: &[PathBuf]) -> Result<Result<Foreign, ForeignError>, Failure> {
    let contents: Vec<Vec<u8>> = files.iter().map(|path| bytes(path)).collect::<Result<_, _>>()?;
    let named: Vec<(&str, &[u8])> = files.iter().filter_map(|path| name(path)).zip(contents.iter().map(Vec::as_slice)).collect();
    Ok(tau::read(&named))
}
