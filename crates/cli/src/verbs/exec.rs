//! `tare exec SPEC ARGS…` (hidden): starts a program of a measured run in place, on whatever node the launcher chose.
//!
//! It stands in a launch line where the program stood, so that the preload library reaches the program and nothing
//! else: not the launcher, not its daemons. The copy gets the `argv[0]` that the original would have got.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::failure::{Code, Failure};
use crate::remains;
use crate::whole_file;
use crate::word::Word;

/// What is needed to start one program of a run; `launch-N.json` in the run directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// The file to execute.
    pub(crate) program: Word,
    /// The name under which the launch line has it.
    pub(crate) argv0: Word,
    /// The libraries to preload.
    pub(crate) preload: Vec<Word>,
    /// Where instrumented copies of shared libraries stand.
    pub(crate) libraries: Vec<Word>,
    /// Environment of the runtime.
    pub(crate) environment: Vec<(String, Word)>,
    /// Whether the first argument is the program once more: a debugger names what it starts.
    pub(crate) drops_first: bool,
}

impl Launch {
    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::new(Code::Internal, format!("cannot describe the launch: {error}")))?;
        whole_file::write(path, &text).map_err(|error| Failure::io(Code::CannotWrite, "write", path, &error))
    }
}

/// Replaces this process by the program; returns only where that fails.
pub(crate) fn exec(spec: &Path, arguments: &[OsString]) -> Result<std::convert::Infallible, Failure> {
    let text = std::fs::read(spec).map_err(|error| {
        Failure::io(Code::NoInput, "read", spec, &error).remedy("the run directory must be visible on every node: name a shared place with -o DIR")
    })?;
    let launch: Launch =
        serde_json::from_slice(&text).map_err(|error| Failure::new(Code::BadInput, format!("{} cannot be read: {error}", spec.display())))?;
    remains::remove();
    let mut command = Command::new(path(&launch));
    command.arg0(&launch.argv0.0).args(&arguments[usize::from(launch.drops_first).min(arguments.len())..]);
    let mut added = vec![("LD_PRELOAD", list_of(&launch.preload, std::env::var_os("LD_PRELOAD")))];
    if !launch.libraries.is_empty() {
        added.push(("LD_LIBRARY_PATH", list_of(&launch.libraries, std::env::var_os("LD_LIBRARY_PATH"))));
    }
    added.extend(launch.environment.iter().map(|(name, value)| (name.as_str(), value.0.clone())));
    added.extend(again(spec, &launch).map(|text| ("TARE_AGAIN", text)));
    // A `Command` with variables of its own would sort all of them, and programs may print them in their order.
    for (name, value) in added {
        // SAFETY: this process has no other thread.
        unsafe { std::env::set_var(name, value) };
    }
    let error = command.exec();
    Err(Failure::io(Code::NoInput, "execute", Path::new(&launch.program.0), &error)
        .remedy("instrumented copies must be visible on every node: set TARE_CACHE to a shared directory"))
}

/// The path by which to execute the program: for an original that of the launch line, which the program may ask for.
fn path(launch: &Launch) -> &OsStr {
    let (word, program) = (Path::new(&launch.argv0.0), Path::new(&launch.program.0));
    let file = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    let is_original = launch.argv0.0.as_encoded_bytes().contains(&b'/') && file(word).is_some_and(|one| file(program) == Some(one));
    if is_original { word.as_os_str() } else { program.as_os_str() }
}

/// How processes that the program spawns start it once more: `COMMAND:SPEC:ORIGINAL`.
fn again(spec: &Path, launch: &Launch) -> Option<OsString> {
    let tare = std::env::current_exe().ok()?;
    let of_a_copy = launch.environment.iter().find(|(name, _)| name == "TARE_EXECUTABLE");
    let original = Path::new(of_a_copy.map_or(&launch.program.0, |(_, path)| &path.0));
    let words = [tare.as_path(), spec, original].map(Path::as_os_str);
    let is_told_apart = !launch.drops_first && words.iter().take(2).all(|word| !word.as_encoded_bytes().contains(&b':'));
    is_told_apart.then(|| words.join(OsStr::new(":")))
}

/// Ours first, then what the user has in such a list anyway.
pub(crate) fn list_of(ours: &[Word], theirs: Option<OsString>) -> OsString {
    let words = ours.iter().map(|word| word.0.clone()).chain(theirs.filter(|theirs| !theirs.is_empty()));
    words.collect::<Vec<_>>().join(OsStr::new(":"))
}
