//! Run directories: one execution and what it left.
//!
//! ```text
//! RUN/run.json        the command, when it began and ended, what was instrumented (this tool writes it)
//! RUN/*.regions       descriptions of the images that were measured (the runtime writes them)
//! RUN/*.graph         region graphs, one file a process (written in node-local memory, collected here)
//! RUN/learnt.json     what an earlier run or a trial showed of functions, where the choice rests on that
//! RUN/launch-N.json   what `tare exec` needs to start program N
//! ```
//! A directory belongs to its user alone. One that exists and is not empty is refused unless it is a run.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Code, Failure};
use crate::whole_file::{self, shortened};

/// The record of a run, `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    /// Version of this record.
    pub(crate) schema: u32,
    /// Names the run among others, also in node-local memory.
    pub(crate) id: String,
    /// The command line that was measured.
    pub(crate) command: Vec<String>,
    /// Seconds since 1970.
    pub(crate) started: u64,
    /// Seconds from start to end; absent while it runs, or where the tool was killed.
    pub(crate) wall_s: Option<f64>,
    /// How the command ended.
    pub(crate) exit: Option<Exit>,
    /// The signal that told the tool to stop meanwhile.
    #[serde(default)]
    pub(crate) stopped_by: Option<i32>,
    /// When processes of this node ended, in their order, where the run failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ends: Vec<End>,
    /// Positions of the measured programs in the command.
    #[serde(default)]
    pub(crate) programs: Vec<usize>,
    /// The delay model.
    pub(crate) model: String,
    /// The programs and libraries that were instrumented.
    pub(crate) images: Vec<ImageRecord>,
    /// The options that say what was to be measured, as they are typed; absent where nothing was instrumented for the run.
    #[serde(default)]
    pub(crate) selection: Option<String>,
}

/// The end of a process, as the tool saw it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    /// The file name of its graph.
    pub(crate) graph: String,
    /// Seconds since the command was started.
    pub(crate) after_s: f64,
    /// The time-stamp counter then.
    #[serde(default)]
    pub(crate) ticks: u64,
    /// The same moment in nanoseconds since 1970.
    #[serde(default)]
    pub(crate) ns: u64,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Exit {
    /// It returned this status.
    Status(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// One instrumented image, as `run.json` remembers it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ImageRecord {
    /// The original.
    #[serde(with = "crate::word")]
    pub(crate) path: PathBuf,
    /// Counts of functions.
    pub(crate) found: usize,
    /// See `found`.
    pub(crate) selected: usize,
    /// See `found`.
    pub(crate) instrumented: usize,
    /// Refused functions with their reasons.
    pub(crate) refusals: Vec<Refusal>,
    /// By what fraction probes were expected to make the run longer; absent where no budget was given.
    #[serde(default)]
    pub(crate) expected_dilation: Option<f64>,
}

/// A function that was selected and could not be instrumented.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// Its raw name.
    pub(crate) name: String,
    /// Its link address.
    pub(crate) address: u64,
    /// Why.
    pub(crate) reason: String,
}

/// What the run before showed of functions, `learnt.json`: of those that were left out then, the run itself knows nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Learnt {
    /// Core cycles of all its processes.
    pub(crate) total: f64,
    /// What was called, or switched off.
    pub(crate) functions: Vec<LearntFunction>,
}

/// A function that the run before measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LearntFunction {
    /// The original image.
    pub(crate) image: PathBuf,
    /// Its build id.
    pub(crate) build_id: String,
    /// Link address.
    pub(crate) address: u64,
    /// Calls of all processes.
    pub(crate) calls: f64,
    /// Core cycles of all calls, without what they call.
    pub(crate) own: f64,
    /// Core cycles of all calls, with what they call.
    pub(crate) work: f64,
    /// Whether even counting its calls was too dear.
    pub(crate) was_off: bool,
}

/// A run directory that is ours.
#[derive(Clone, Debug)]
pub(crate) struct RunDirectory {
    /// Absolute path.
    pub(crate) path: PathBuf,
}

const RECORD: &str = "run.json";
const LEARNT: &str = "learnt.json";

/// Whether a directory is that of a run.
pub(crate) fn is_run(path: &Path) -> bool {
    path.join(RECORD).is_file()
}

impl RunDirectory {
    /// Makes the directory for a new run: `wanted`, or a default name made of the program and the time.
    pub(crate) fn create(wanted: Option<&Path>, program: &Path) -> Result<Self, Failure> {
        let failed = |path: &Path, error: &std::io::Error| {
            Failure::io(Code::CannotWrite, "make the run directory", path, error).remedy("name a place that you may write to with -o DIR")
        };
        let path = match wanted {
            None => create_default(program).map_err(|(path, error)| failed(&path, &error))?,
            Some(path) => {
                if path.exists() {
                    empty(path)?;
                }
                fs::DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(|error| failed(path, &error))?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|error| failed(path, &error))?;
                path.to_path_buf()
            }
        };
        let directory = Self { path: fs::canonicalize(&path).map_err(|error| Failure::io(Code::CannotWrite, "find", &path, &error))? };
        directory.check_writable()?;
        Ok(directory)
    }

    /// Opens the directory of a run that was made before.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if !path.is_dir() {
            let why = if path.exists() { "is not a directory" } else { "does not exist" };
            return Err(Failure::new(Code::NoInput, format!("{} {why}", path.display())).remedy("name a run directory, as `tare profile` printed it"));
        }
        if let Err(error) = fs::read_dir(path) {
            return Err(Failure::io(Code::NoInput, "read", path, &error).remedy("a run belongs to the user who made it"));
        }
        if !is_run(path) {
            return Err(Failure::new(Code::BadInput, format!("{} is not a run: it holds no {RECORD}", path.display()))
                .remedy("name a run directory, as `tare profile` printed it"));
        }
        let path = fs::canonicalize(path).map_err(|error| Failure::io(Code::NoInput, "open", path, &error))?;
        Ok(Self { path })
    }

    fn check_writable(&self) -> Result<(), Failure> {
        tempfile::tempfile_in(&self.path).map(drop).map_err(|error| {
            Failure::io(Code::CannotWrite, "write into", &self.path, &error).remedy("name a place that you may write to with -o DIR")
        })
    }

    /// Writes the record, whole or not at all.
    pub(crate) fn write_record(&self, record: &RunRecord) -> Result<(), Failure> {
        self.write(RECORD, record)
    }

    /// Reads the record.
    pub(crate) fn read_record(&self) -> Result<RunRecord, Failure> {
        self.read(RECORD)
    }

    /// Writes what another run showed of functions.
    pub(crate) fn write_learnt(&self, learnt: &Learnt) -> Result<(), Failure> {
        self.write(LEARNT, learnt)
    }

    /// Reads what another run showed of functions, where the choice rested on one.
    pub(crate) fn read_learnt(&self) -> Result<Option<Learnt>, Failure> {
        self.path.join(LEARNT).exists().then(|| self.read(LEARNT)).transpose()
    }

    fn write(&self, name: &str, document: &impl Serialize) -> Result<(), Failure> {
        let path = self.path.join(name);
        let failed = |error: std::io::Error| Failure::io(Code::CannotWrite, "write", &path, &error);
        let text = serde_json::to_vec_pretty(document).map_err(|error| failed(error.into()))?;
        whole_file::write(&path, &text).map_err(failed)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        let path = self.path.join(name);
        let text = fs::read(&path).map_err(|error| {
            Failure::io(Code::NoInput, "read", &path, &error)
                .remedy(format!("ask who ran it to let you read it, or copy the whole directory {}", self.path.display()))
        })?;
        serde_json::from_slice(&text).map_err(|error| {
            Failure::new(Code::BadInput, format!("{} cannot be read: {error}", path.display()))
                .remedy("copy the run again, or measure anew: without this file nobody knows what it was")
        })
    }

    /// Files of the run with an ending, in order of their names.
    pub(crate) fn files(&self, ending: &str) -> Result<Vec<PathBuf>, Failure> {
        let entries = fs::read_dir(&self.path).map_err(|error| Failure::io(Code::NoInput, "read", &self.path, &error))?;
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
        files.sort();
        Ok(files)
    }
}

/// Where the processes of a run keep their graphs while they run.
pub(crate) fn node_local(id: &str) -> PathBuf {
    // SAFETY: getuid has no preconditions and cannot fail.
    let user = unsafe { libc::getuid() };
    PathBuf::from(format!("/dev/shm/tare-{user}-{id}"))
}

/// Accepts an existing directory that is empty or a run of ours; a run is emptied.
fn empty(path: &Path) -> Result<(), Failure> {
    let taken = |why: &str| {
        Failure::new(Code::CannotWrite, format!("{} {why}", path.display())).remedy("name another directory with -o DIR, or remove this one")
    };
    if !path.is_dir() {
        return Err(taken("exists and is not a directory"));
    }
    let entries: Vec<_> = fs::read_dir(path)
        .map_err(|error| Failure::io(Code::CannotWrite, "read", path, &error))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    if entries.is_empty() {
        return Ok(());
    }
    // SAFETY: getuid has no preconditions and cannot fail.
    let user = unsafe { libc::getuid() };
    let ours = is_run(path) && fs::metadata(path).is_ok_and(|about| about.uid() == user);
    if !ours {
        return Err(taken("exists and is not a run of ours"));
    }
    eprintln!("tare: {} held an earlier run of yours, which is replaced", path.display());
    for entry in entries {
        if entry.is_file() {
            fs::remove_file(&entry).map_err(|error| Failure::io(Code::CannotWrite, "remove", &entry, &error))?;
        } else {
            fs::remove_dir_all(&entry).map_err(|error| Failure::io(Code::CannotWrite, "remove", &entry, &error))?;
        }
    }
    Ok(())
}

/// Makes `PROGRAM-20261120-0912`, with a counter where that exists; two runs of one minute never share it.
fn create_default(program: &Path) -> Result<PathBuf, (PathBuf, std::io::Error)> {
    let stem = program.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    let base = format!("{}-{}", shortened(&stem), local_time_stamp(seconds_now()));
    let mut count = 1;
    loop {
        let path = PathBuf::from(if count == 1 { base.clone() } else { format!("{base}-{count}") });
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => count += 1,
            Err(error) => return Err((path, error)),
        }
    }
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// `YYYYMMDD-HHMM` in local time.
fn local_time_stamp(seconds: u64) -> String {
    let time = local_time(seconds);
    format!("{:04}{:02}{:02}-{:02}{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min)
}

/// `YYYY-MM-DDTHH:MM:SS±ZZ:ZZ`, ISO 8601 with the zone.
pub(crate) fn iso_time(seconds: u64) -> String {
    let time = local_time(seconds);
    let zone = time.tm_gmtoff / 60;
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}",
        time.tm_year + 1900,
        time.tm_mon + 1,
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec,
        if zone < 0 { '-' } else { '+' },
        zone.abs() / 60,
        zone.abs() % 60
    )
}

fn local_time(seconds: u64) -> libc::tm {
    let seconds = libc::time_t::try_from(seconds).unwrap_or(0);
    // SAFETY: all bit patterns are valid for a struct tm.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values of the right type.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut time) };
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        RunRecord {
            schema: 1,
            id: "00c0ffee".into(),
            command: vec!["true".into()],
            started: 1,
            wall_s: None,
            exit: Some(Exit::Signal(9)),
            stopped_by: None,
            ends: Vec::new(),
            programs: vec![0],
            model: "virtual".into(),
            images: Vec::new(),
            selection: None,
        }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let run = RunDirectory::create(Some(&place.path().join("run")), Path::new("app")).expect("a fresh directory");
        run.write_record(&record()).expect("a writable directory");
        assert_eq!(run.read_record().expect("a record").exit, Some(Exit::Signal(9)));
        assert_eq!(fs::metadata(&run.path).expect("metadata").mode() & 0o777, 0o700);
    }

    #[test]
    fn a_directory_that_is_not_a_run_is_never_emptied() {
        let place = tempfile::tempdir().expect("a temporary directory");
        fs::write(place.path().join("thesis.tex"), "words").expect("a writable directory");
        let failure = RunDirectory::create(Some(place.path()), Path::new("app")).expect_err("must be refused");
        assert_eq!(failure.code, Code::CannotWrite);
        assert!(place.path().join("thesis.tex").exists());
        assert!(RunDirectory::open(place.path()).is_err());
    }

    #[test]
    fn a_run_of_ours_is_replaced() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let run = RunDirectory::create(Some(place.path()), Path::new("app")).expect("an empty directory");
        run.write_record(&record()).expect("a writable directory");
        fs::write(place.path().join("old.graph"), "x").expect("a writable directory");
        let again = RunDirectory::create(Some(place.path()), Path::new("app")).expect("a run of ours");
        assert!(again.files("graph").expect("a readable directory").is_empty());
    }

    #[test]
    fn times_carry_their_zone() {
        let text = iso_time(0);
        assert!(text.len() == 25 && (text.starts_with("1970-01-01T") || text.starts_with("1969-12-31T")), "{text}");
    }
}
