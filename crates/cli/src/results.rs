//! From a run directory to what people read: collect, read, compensate, show.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memmap2::{Advice, Mmap};
use tare_foreign::Foreign;
use tare_format::graph::UNWRITTEN;
use tare_profile::{Extent, Process, Profile, State};
use tare_report::Page;
use tare_report::shell;

use crate::args::{Compensate, Showing};
use crate::child;
use crate::collect::{collect, wait_for_stragglers};
use crate::color;
use crate::failure::{Code, Failure};
use crate::foreign_file;
use crate::live;
use crate::measured::Setting;
use crate::naming::name_functions;
use crate::probe_cost;
use crate::progress::during;
use crate::rundir::{End, Exit, ImageRecord, Refusal, RunDirectory, RunRecord, iso_time, seconds_now};

/// A run that is about to begin.
pub(crate) struct NewRun<'a> {
    /// Names it among others.
    pub(crate) id: String,
    /// The command.
    pub(crate) line: &'a [OsString],
    /// How it is measured.
    pub(crate) setting: Setting,
    /// What was instrumented for it.
    pub(crate) images: Vec<ImageRecord>,
    /// Positions of the measured programs in the command.
    pub(crate) programs: Vec<usize>,
    /// The options that say what is measured.
    pub(crate) selection: Option<String>,
}

impl NewRun<'_> {
    fn record(&self) -> RunRecord {
        RunRecord {
            schema: 1,
            id: self.id.clone(),
            command: self.line.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            started: seconds_now(),
            wall_s: None,
            exit: None,
            stopped_by: None,
            ends: Vec::new(),
            programs: self.programs.clone(),
            model: self.setting.model_name().to_string(),
            images: self.images.clone(),
            selection: self.selection.clone(),
        }
    }

    /// Writes the record before the command starts, so that a run is readable whatever happens.
    pub(crate) fn begin(&self, run: &RunDirectory) -> Result<(), Failure> {
        run.write_record(&self.record())
    }

    /// Notes how the command ended, and its processes before it.
    pub(crate) fn end(&self, run: &RunDirectory, exit: Exit, wall: f64, ends: Vec<End>) -> Result<(), Failure> {
        wait_for_stragglers(&self.id);
        let began = run.read_record()?.started;
        run.write_record(&RunRecord { started: began, wall_s: Some(wall), exit: Some(exit), stopped_by: child::stopped_by(), ends, ..self.record() })
    }
}

/// A run, read.
pub(crate) struct Results {
    pub(crate) record: RunRecord,
    pub(crate) run: RunDirectory,
    pub(crate) profile: Profile,
    /// Where another tool measured it.
    foreign: Option<Other>,
}

/// What is known of a run that another tool measured.
struct Other {
    tool: String,
    compensated: Option<&'static str>,
    notes: Vec<String>,
}

impl Results {
    /// Opens what is at a path: a run, profiles of TAU, or a file of Cube.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        during(format!("reading {}", path.display()), || match foreign_file::read(path)? {
            Some(foreign) => Ok(Self::of_foreign(path, foreign)),
            None => Self::read(&RunDirectory::open(path)?),
        })
    }

    /// The same, left in its place: so much of a run as it stands now.
    pub(crate) fn at(path: &Path, extent: Extent) -> Result<Self, Failure> {
        match foreign_file::read(path)? {
            Some(foreign) => Ok(Self::of_foreign(path, foreign)),
            None => Self::so_far(&RunDirectory::open(path)?, extent),
        }
    }

    fn of_foreign(path: &Path, foreign: Foreign) -> Self {
        let Foreign { profile, tool, compensated, program, started_ns, notes } = foreign;
        let words = || shell::words(&program).unwrap_or_else(|| program.split(' ').map(String::from).collect());
        let record = RunRecord {
            schema: 1,
            id: String::new(),
            command: if program.is_empty() { vec![path.display().to_string()] } else { words() },
            started: started_ns / 1_000_000_000,
            wall_s: None,
            exit: None,
            stopped_by: None,
            ends: Vec::new(),
            programs: Vec::new(),
            model: "off".to_string(),
            images: Vec::new(),
            selection: None,
        };
        Self { record, run: RunDirectory { path: path.to_path_buf() }, profile, foreign: Some(Other { tool, compensated, notes }) }
    }

    /// Collects what the run left on this node, and reads it; what goes on, as it stands now.
    pub(crate) fn read(run: &RunDirectory) -> Result<Self, Failure> {
        collect(run, &run.read_record()?.id)?;
        Self::now(run)
    }

    /// Reads the run as it stands now, and leaves everything in its place.
    pub(crate) fn now(run: &RunDirectory) -> Result<Self, Failure> {
        Self::so_far(run, Extent::All)
    }

    fn so_far(run: &RunDirectory, extent: Extent) -> Result<Self, Failure> {
        let record = run.read_record()?;
        let graphs = live::graphs(run, &record.id)?;
        let descriptions = descriptions(run)?;
        let descriptions: Vec<&[u8]> = descriptions.iter().map(|bytes| &bytes[..]).collect();
        let mut profile = live::profile(&graphs, &descriptions, &record, extent)
            .map_err(|error| Failure::new(Code::BadInput, format!("{} cannot be read: {error}", run.path.display())))?;
        let host = live::this_host();
        let runs = |process: &Process| graphs.iter().any(|graph| graph.is_of_running(&process.file));
        for process in profile.processes.iter_mut().filter(|process| process.state == State::Running) {
            // Who ends by `_exit` leaves no word of it.
            let has_ended_well = record.exit == Some(Exit::Status(0)) && process.rank.is_none();
            match record.exit.is_some() || process.host == host {
                true if runs(process) => {}
                true if has_ended_well => process.state = State::Finished,
                true => process.state = State::CutOff,
                // Of another node nothing is known.
                false => {}
            }
        }
        name_functions(&mut profile.regions);
        Ok(Self { record, run: run.clone(), profile, foreign: None })
    }

    /// What the run lacks of what was measured, in words: files that cannot be read, ranks, records.
    pub(crate) fn missing(&self) -> Option<String> {
        let (files, path) = (&self.profile.unreadable, &self.run.path);
        if let Some(first) = files.first() {
            let more = if files.len() > 1 { format!(", and {} more", files.len() - 1) } else { String::new() };
            return Some(format!("{} cannot be read: {}{more}", path.join(&first.name).display(), first.error));
        }
        let damaged: u64 = self.profile.processes.iter().map(|process| process.damaged_records).sum();
        let (ranks, size) = (self.profile.ranks(), self.profile.world_size() as usize);
        // Of a run that goes on some may still begin.
        let missing = if self.record.exit.is_some() { size.saturating_sub(ranks) } else { 0 };
        match (damaged, missing) {
            (0, 0) => None,
            (0, missing) => Some(format!("{}: {missing} of {size} ranks left no data", path.display())),
            (damaged, _) => Some(format!("{}: records of its graphs are damaged or missing ({damaged})", path.display())),
        }
    }

    /// Why the figures are of a part of the program alone, in words: the run goes on, or did not come to its end.
    pub(crate) fn cut_off(&self) -> Option<String> {
        let open = |state: State| self.profile.processes.iter().filter(|process| process.is_open() && process.state == state).count();
        let (running, cut_off) = (open(State::Running), open(State::CutOff));
        let which = if cut_off == 1 { "process did not come to its end" } else { "processes did not come to their ends" };
        match (self.record.stopped_by, self.record.exit) {
            (Some(signal), Some(_)) | (None, Some(Exit::Signal(signal))) => Some(format!("was stopped by {}", signal_name(signal))),
            (_, None) if running > 0 => {
                Some(format!("still runs, as far as is known ({running} of {} processes are open)", self.profile.processes.len()))
            }
            (_, None) if cut_off > 0 => Some(format!("was cut off: {cut_off} {which}")),
            (None, Some(Exit::Status(status))) if cut_off > 0 => Some(format!("ended with status {status}, and {cut_off} {which}")),
            _ => None,
        }
    }

    /// How the command ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.record.exit.map(|exit| match exit {
            Exit::Status(status) => format!("exit status {status}"),
            Exit::Signal(signal) => format!("stopped by {}", signal_name(signal)),
        })
    }

    /// The measured programs with their arguments.
    pub(crate) fn program(&self) -> String {
        program_of(&self.record)
    }

    /// What the report is told of the run.
    pub(crate) fn about(&self) -> tare_report::Run {
        let record = &self.record;
        tare_report::Run {
            command: record.command.clone(),
            program: program_of(record),
            started: if record.started > 0 { iso_time(record.started) } else { String::new() },
            wall_s: record.wall_s.unwrap_or_else(|| self.profile.processes.iter().map(|process| process.lifetime_s).fold(0.0, f64::max)),
            exit: match record.exit {
                None => tare_report::Exit::Unknown,
                Some(Exit::Status(status)) => tare_report::Exit::Status(status),
                Some(Exit::Signal(signal)) => tare_report::Exit::Signal(signal_name(signal)),
            },
            stopped_by: record.stopped_by.map(signal_name),
            ends: record.ends.iter().map(|end| (end.graph.clone(), end.after_s)).collect(),
            directory: shortest(&self.run.path),
            is_unwritten: self.run.path.join(UNWRITTEN).exists(),
            images: record.images.iter().map(about_image).collect(),
            selection: record.selection.as_ref().map(|options| tare_report::Selection {
                options: options.clone(),
                rests_on_costs: record.images.iter().any(|image| image.expected_dilation.is_some()),
            }),
            probed: None,
            measured_by: self.foreign.as_ref().map(|other| other.tool.clone()),
            was_compensated: self.foreign.as_ref().and_then(|other| other.compensated),
            notes: self.foreign.as_ref().map_or_else(Vec::new, |other| other.notes.clone()),
        }
    }

    /// The same with all regions that had probes, called or not.
    pub(crate) fn about_with_probed(&self) -> Result<tare_report::Run, Failure> {
        if self.foreign.is_some() {
            return Ok(self.about());
        }
        let descriptions = descriptions(&self.run)?;
        let descriptions: Vec<&[u8]> = descriptions.iter().map(|bytes| &bytes[..]).collect();
        Ok(tare_report::Run { probed: Some(tare_profile::described(&descriptions)), ..self.about() })
    }

    /// The other tool that measured it, in words.
    pub(crate) fn measured_by(&self) -> Option<String> {
        self.foreign.as_ref().map(|other| format!("measured by {}", other.tool))
    }

    /// What is taken off its times: nothing that another tool measured.
    pub(crate) fn mode(&self, how: Compensate) -> tare_compensate::Mode {
        if self.is_foreign() { tare_compensate::Mode::Off } else { mode(how) }
    }

    /// Whether another tool's file tells of the run.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// The profile with its compensations.
    pub(crate) fn compensated(&self, showing: &Showing) -> tare_report::Results<'_> {
        match self.foreign {
            Some(_) => tare_report::Results::as_measured(&self.profile),
            None => tare_report::Results::new(&self.profile, mode(showing.compensate)),
        }
    }
}

/// Prints the first page of a run to stderr.
pub(crate) fn summarise(run: &RunDirectory, showing: &Showing) -> Result<(), Failure> {
    let results = Results::read(run)?;
    probe_cost::keep(&results.profile);
    let summary = tare_report::text::summary(
        &results.about(),
        &results.compensated(showing),
        &Page { styled: color::on(&std::io::stderr()), ..page(showing.top) },
    );
    // Where nobody reads the summary, the program's own status still counts.
    let _ = std::io::stderr().write_all(summary.as_bytes());
    Ok(())
}

fn about_image(image: &ImageRecord) -> tare_report::InstrumentedImage {
    let decision = |refusal: &Refusal| tare_report::select::Decision {
        name: refusal.name.clone(),
        shown: tare_image::demangle(&refusal.name).into_owned(),
        address: refusal.address,
        reason: refusal.reason.clone(),
    };
    tare_report::InstrumentedImage {
        path: image.path.display().to_string(),
        found: image.found,
        selected: image.selected,
        instrumented: image.instrumented,
        expected_dilation: image.expected_dilation,
        refusals: image.refusals.iter().map(decision).collect(),
    }
}

/// The page that the terminal gives; outside of a terminal 80 columns, or `COLUMNS`.
pub(crate) fn page(top: Option<usize>) -> Page {
    let terminal = terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0));
    page_of(terminal.or_else(columns).unwrap_or(80).clamp(40, WIDEST), top)
}

/// The same for a text that may go into a file, which has no colours.
pub(crate) fn page_for(file: Option<&Path>, top: Option<usize>) -> Page {
    let page = page(top);
    Page { styled: page.styled && file.is_none(), ..page }
}

/// Columns of what is drawn on standard output: of its terminal; elsewhere `COLUMNS`, or 80.
pub(crate) fn output_columns() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    terminal.or_else(columns).unwrap_or(80).clamp(40, WIDEST)
}

/// The page of what is said of a run on standard output.
pub(crate) fn answer_page() -> Page {
    page_of(output_columns(), None)
}

/// The page of tables of functions that are the result of a command: of its terminal; where standard output goes elsewhere as wide
/// as it takes to show every name whole, or `COLUMNS`.
pub(crate) fn output_page() -> Page {
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    page_of(terminal.or_else(columns).map_or(Page::UNLIMITED, |width| width.clamp(40, WIDEST)), None)
}

/// Lines of terminals are not read beyond this.
const WIDEST: usize = 200;

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

fn page_of(width: usize, top: Option<usize>) -> Page {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty())).unwrap_or_default();
    let unicode = locale.to_lowercase().replace('-', "").contains("utf8");
    Page { width, unicode, top: top.unwrap_or(Page::default().top), styled: color::on(&std::io::stdout()) }
}

/// The measured programs with their arguments; the whole command where they are not known.
fn program_of(record: &RunRecord) -> String {
    let several = record.programs.len() > 1;
    let from = |&position: &usize| {
        let words = record.command.get(position..).unwrap_or_default();
        let count = words.iter().position(|word| several && word == ":").unwrap_or(words.len());
        shell::line(&words[..count])
    };
    let programs: Vec<String> = record.programs.iter().map(from).collect();
    if programs.is_empty() { shell::line(&record.command) } else { programs.join(" : ") }
}

/// A path as it is typed from here: relative where it lies below.
fn shortest(path: &Path) -> String {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    path.strip_prefix(&here).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}

/// The name of a signal, as `kill -l` has it.
pub(crate) fn signal_name(signal: i32) -> String {
    const NAMES: [(i32, &str); 12] = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
    ];
    NAMES.iter().find(|(number, _)| *number == signal).map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_string())
}

/// The mode of compensation for its name on the command line.
pub(crate) fn mode(how: Compensate) -> tare_compensate::Mode {
    match how {
        Compensate::Off => tare_compensate::Mode::Off,
        Compensate::Local => tare_compensate::Mode::Local,
        Compensate::Parallel => tare_compensate::Mode::Parallel,
    }
}

/// Maps the descriptions of a run's regions: those that cannot be opened are missed where they are needed.
fn descriptions(run: &RunDirectory) -> Result<Vec<Mmap>, Failure> {
    Ok(run.files("regions")?.iter().filter_map(|path| map(path).ok()).filter(|bytes| !bytes.is_empty()).collect())
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

pub(crate) fn map(path: &Path) -> std::io::Result<Mmap> {
    if !std::fs::metadata(path)?.is_file() {
        // Opened, a pipe would be waited for.
        return Err(std::io::Error::other("it is no file"));
    }
    let file = std::fs::File::open(path)?;
    // SAFETY: files in a run directory are replaced by renaming, never shortened in place.
    let bytes = unsafe { Mmap::map(&file) }?;
    let is_sparse = file.metadata().is_ok_and(|about| about.blocks().saturating_mul(BLOCK * SPARSE) < about.len());
    if is_sparse {
        // What stands in a few pages of a graph file is found without; of thousands of files the system's memory would fill with zeros.
        let _ = bytes.advise(Advice::Random);
    }
    Ok(bytes)
}

/// Bytes of a block, as the system counts them.
const BLOCK: u64 = 512;
/// A file of which less than one in so many bytes is there is not read ahead: that would read its holes.
const SPARSE: u64 = 4;

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use std::path::Path;

    use tare_foreign::Foreign;
    use tare_profile::Profile;

    use super::{Results, map};

    /// As an export says it, and as tools that do not quote do.
    #[test]
    fn a_command_that_was_exported_is_read_back_as_it_was() {
        for program in ["'./na me ü' 'a  b' -n 3", "./app it's"] {
            let foreign = Foreign {
                profile: Profile::default(),
                tool: "TAU".into(),
                compensated: None,
                program: program.into(),
                started_ns: 0,
                notes: Vec::new(),
            };
            let command = Results::of_foreign(Path::new("profiles"), foreign).record.command;
            assert!(command.contains(&"./na me ü".to_string()) || command == ["./app", "it's"], "{command:?}");
        }
    }

    /// Whether the system was told not to read ahead in a mapping of this process.
    fn is_read_at_random(start: usize) -> bool {
        let maps = fs::read_to_string("/proc/self/smaps").expect("Linux tells of mappings");
        let of_mapping = maps.split_once(&format!("{start:x}-")).expect("the mapping").1;
        let flags = of_mapping.lines().find_map(|line| line.strip_prefix("VmFlags:")).expect("its flags");
        flags.split_whitespace().any(|flag| flag == "rr")
    }

    #[test]
    fn files_that_are_mostly_holes_are_not_read_ahead() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let [sparse, dense] = ["sparse", "dense"].map(|name| place.path().join(name));
        let file = File::create(&sparse).expect("a writable directory");
        file.set_len(32 << 20).and_then(|()| file.write_all_at(&[1; 4096], 8 << 20)).expect("room");
        file.sync_all().expect("room");
        fs::write(&dense, vec![1; 1 << 20]).expect("room");
        File::open(&dense).and_then(|file| file.sync_all()).expect("room");
        for (path, wanted) in [(&sparse, true), (&dense, false)] {
            let bytes = map(path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(is_read_at_random(bytes.as_ptr().addr()), wanted, "{}", path.display());
        }
    }
}
