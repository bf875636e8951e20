//! `tare doctor`: what this machine offers and lacks, with the remedy; leftovers of killed runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use tare_report::doctor::Found;
use tare_report::shell;

use crate::args::{DoctorArguments, Format};
use crate::cache::Cache;
use crate::collect::is_alive;
use crate::failure::Failure;
use crate::installation;
use crate::mpi_library::Mpi;
use crate::results::page_for;
use crate::rundir::node_local;
use crate::stdout;

/// The state of one thing that was looked at.
enum Finding {
    /// As it should be.
    Good(String),
    /// Works, with a loss that is named and a remedy.
    Weak(String, String),
    /// Does not work; the remedy.
    Bad(String, String),
}

/// Prints the findings; the status tells whether measuring works at all.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<std::process::ExitCode, Failure> {
    let findings: Vec<(&'static str, Finding)> = vec![
        ("machine", machine()),
        ("clock", clock()),
        ("runtime", library(None)),
        ("Open MPI", mpi(Mpi::OpenMpi, &["mpirun.openmpi", "mpirun"], "libmpi.so.40", "openmpi-bin libopenmpi-dev")),
        ("MPICH", mpi(Mpi::Mpich, &["mpirun.mpich", "mpiexec.hydra", "mpirun"], "libmpich.so.12", "mpich libmpich-dev")),
        ("MPI ABI", library(Some(Mpi::Standard))),
        ("shared memory", shared_memory()),
        ("copies", copies()),
        ("probes", probes()),
        ("counters", counters()),
        ("leftovers", leftovers()),
    ];
    let found: Vec<Found> = findings.into_iter().map(|(what, finding)| finding.of(what)).collect();
    let works = found.iter().all(|found| found.state != "bad");
    match arguments.format {
        Format::Text => stdout::write(tare_report::doctor::text(&found, &page_for(None, None)))?,
        Format::Json => stdout::write_line(tare_report::doctor::json(&found, works))?,
    }
    Ok(if works { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::from(crate::failure::Code::Unavailable as u8) })
}

impl Finding {
    fn of(self, what: &'static str) -> Found {
        let (state, text, remedy) = match self {
            Finding::Good(text) => ("good", text, None),
            Finding::Weak(text, remedy) => ("weak", text, Some(remedy)),
            Finding::Bad(text, remedy) => ("bad", text, Some(remedy)),
        };
        Found { what, state, text, remedy }
    }
}

fn machine() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!("{} {}, {cores} cores", std::env::consts::ARCH, std::env::consts::OS);
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) { Finding::Good(text) } else { Finding::Bad(text, "measure on Linux on x86-64".into()) }
}

/// Probes read the time-stamp counter: it must run at a constant rate, also across cores and in sleep.
fn clock() -> Finding {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| information.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|word| word == flag));
    if has("constant_tsc") && has("nonstop_tsc") {
        Finding::Good("the time-stamp counter is constant and never stops".into())
    } else if has("constant_tsc") {
        Finding::Weak("the time-stamp counter may stop in deep sleep".into(), "keep the cores awake: boot with intel_idle.max_cstate=1".into())
    } else {
        Finding::Weak("the time-stamp counter is not known to be constant".into(), "measure on another machine, or compare times with care".into())
    }
}

/// What budgets reckon with.
fn probes() -> Finding {
    match crate::probe_cost::known() {
        Some(cost) => Finding::Good(format!("a pair of probes costs {} core cycles, as a run measured in a hot loop", cost.cycles())),
        None => {
            let assumed = tare_select::budget::ProbeCost::DEFAULT.cycles();
            Finding::Good(format!("a pair of probes is taken to cost {assumed} core cycles until a run measures it"))
        }
    }
}

fn library(kind: Option<Mpi>) -> Finding {
    match installation::preload(kind) {
        Ok(path) => Finding::Good(path.display().to_string()),
        Err(failure) => Finding::Bad(failure.what, failure.remedy.unwrap_or_default()),
    }
}

fn mpi(kind: Mpi, launchers: &[&str], library_name: &str, packages: &str) -> Finding {
    let ours = match installation::preload(Some(kind)) {
        Ok(path) => path,
        Err(failure) => return Finding::Bad(failure.what, failure.remedy.unwrap_or_default()),
    };
    let missing = |what: String| Finding::Weak(what, format!("apt-get install {packages} (only needed for programs that use {})", kind.name()));
    if !loader_knows(library_name) {
        return missing(format!("{library_name} is not installed"));
    }
    match launchers.iter().find_map(|name| installation::in_path(name)) {
        Some(launcher) => Finding::Good(format!("{library_name}, started by {}; interposer {}", launcher.display(), ours.display())),
        None => missing(format!("{library_name} is here, but no launcher is in PATH")),
    }
}

fn loader_knows(name: &str) -> bool {
    let listed = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"].iter().find_map(|ldconfig| Command::new(ldconfig).arg("-p").output().ok());
    listed.is_some_and(|output| String::from_utf8_lossy(&output.stdout).contains(name))
}

fn shared_memory() -> Finding {
    let place = Path::new("/dev/shm");
    let remedy = "containers: start with --shm-size=1g; otherwise graphs are kept in the run directory, which may stall on its disk";
    match free_bytes(place) {
        Some(free) if free >= 256 << 20 && tempfile::tempfile_in(place).is_ok() => Finding::Good(format!("/dev/shm has {} MiB free", free >> 20)),
        Some(free) => Finding::Weak(format!("/dev/shm has {} MiB free", free >> 20), remedy.into()),
        None => Finding::Weak("/dev/shm is not there".into(), remedy.into()),
    }
}

fn free_bytes(place: &Path) -> Option<u64> {
    let place = std::ffi::CString::new(place.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: all bit patterns are valid for a struct statvfs.
    let mut about: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is terminated and `about` is a live value of the right type.
    let result = unsafe { libc::statvfs(place.as_ptr(), &raw mut about) };
    (result == 0).then(|| about.f_bavail.saturating_mul(about.f_frsize))
}

fn copies() -> Finding {
    match Cache::open() {
        Ok(cache) => Finding::Good(format!("instrumented copies are kept in {}", cache.place().display())),
        Err(failure) => Finding::Bad(failure.what, failure.remedy.unwrap_or_default()),
    }
}

/// The level of `perf_event_paranoid` up to which users may count what their own code does.
const MOST_PARANOID: i32 = 2;

/// Hardware counters are not needed; whoever expects them should hear that there are none.
fn counters() -> Finding {
    let allowed = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok().and_then(|text| text.trim().parse::<i32>().ok());
    let hardware = Path::new("/sys/bus/event_source/devices/cpu").exists() || Path::new("/sys/bus/event_source/devices/cpu_core").exists();
    match (hardware, allowed) {
        (true, Some(level)) if level <= MOST_PARANOID => Finding::Good(format!("hardware counters (perf_event_paranoid = {level}), for `--metrics`")),
        (true, _) => Finding::Good(format!(
            "hardware counters, which users may read if perf_event_paranoid is {MOST_PARANOID} or less; times do not need them"
        )),
        (false, _) => Finding::Good("no hardware counters; times do not need them".into()),
    }
}

/// Graphs of processes that are gone, in directories that no run has collected.
fn leftovers() -> Finding {
    // A run's directory is named by its id behind this.
    let prefix = node_local("").file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let abandoned: Vec<String> = fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
        .filter(|path| !fs::read_dir(path).into_iter().flatten().filter_map(Result::ok).any(|file| is_alive(&file.path())))
        .map(|path| shell::path(&path))
        .collect();
    if abandoned.is_empty() {
        Finding::Good("no graphs of killed runs in /dev/shm".into())
    } else {
        Finding::Weak(
            format!(
                "{} of killed runs in /dev/shm",
                if abandoned.len() == 1 { "a directory".into() } else { format!("{} directories", abandoned.len()) }
            ),
            format!("`tare report RUN` collects what belongs to a run; otherwise rm -r {}", abandoned.join(" ")),
        )
    }
}
