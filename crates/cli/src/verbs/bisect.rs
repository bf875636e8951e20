//! `tare instrument IMAGE --bisect -- CMD…`: for a program that misbehaves when it is instrumented, the function whose
//! instrumentation does it.
//!
//! The command is run with the original, then with copies in which ever fewer functions are instrumented. It
//! misbehaves where its status or, if two runs of the original agree in it, its output is another. An adapter may print by itself:
//! output counts where a copy with snippets in one function prints what the original does. Our runtime is there where it can be: not with an
//! adapter, nor in a static program.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use tare_report::bisect::{Culprit, Culprits, Found};
use tare_select::budget::Keeper;
use tare_select::{Decision, Selection};

use crate::adapter::{self, Loaded};
use crate::args::{Format, InstrumentArguments};
use crate::bisect::smallest;
use crate::cache::{self, Cache, Draft};
use crate::child;
use crate::choice::Choice;
use crate::collect::collect;
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file::{self, Needs};
use crate::instrumenting::{Analysis, Copy};
use crate::launch::{self, LaunchError};
use crate::measured::{self, Mode, Setting, Target, fresh_id};
use crate::progress::Step;
use crate::results::{NewRun, page};
use crate::rundir::{Exit, RunDirectory};
use crate::stdout;
use crate::whole_file::{Access, write_executable};

/// Sets of functions that are searched for, each in the copy without the ones before.
const MOST_SETS: usize = 8;
/// A trial may take this many times as long as the original, and some time more.
const PATIENCE: u32 = 10;
const MORE_PATIENCE: Duration = Duration::from_secs(10);

/// Searches, and prints what was found to stdout; that there is nothing has a status of its own.
pub(crate) fn bisect(arguments: &InstrumentArguments, adapter: Option<&Loaded>) -> Result<ExitCode, Failure> {
    let choice = Choice::of(&arguments.selection, Keeper::Choice)?;
    let image =
        arguments.image.as_deref().ok_or_else(|| Failure::new(Code::Usage, "no image is named").remedy("tare instrument IMAGE --bisect -- CMD"))?;
    let bytes = image_file::read(image)?;
    let files = DebugFiles::find(image, &bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(image, &bytes, &files)?;
    let bench = Bench::new(image, &arguments.command, adapter.is_some() || image_file::is_static(&analysis.image))?;
    let step = Step::begin("searching");
    let selection = analysis.select(&choice)?.selection;
    let left_out = selection.rejected().count();
    let chosen = selection.selected().cloned().collect();
    let mut search =
        Search { analysis: &analysis, choice: &choice, adapter, chosen, bench: &bench, trials: 0, step: &step, poison: arguments.poison };
    let found = Found { left_out, ..search.run(&bytes)? };
    drop(step);
    match arguments.format {
        Format::Json => stdout::write_line(tare_report::bisect::json(&found))?,
        Format::Text => stdout::write(tare_report::bisect::text(&found, &page(None)))?,
    }
    Ok(if found.is_nothing() { ExitCode::from(Code::NoInput as u8) } else { ExitCode::SUCCESS })
}

struct Search<'a, 'data> {
    analysis: &'a Analysis<'data>,
    choice: &'a Choice,
    adapter: Option<&'a Loaded>,
    /// The functions that were chosen.
    chosen: Vec<Decision>,
    bench: &'a Bench<'a>,
    trials: usize,
    step: &'a Step,
    poison: bool,
}

impl Search<'_, '_> {
    fn run(&mut self, original: &[u8]) -> Result<Found, Failure> {
        let first = self.bench.run_original(original, None)?;
        let limit = first.took * PATIENCE + MORE_PATIENCE;
        let second = self.bench.run_original(original, Some(limit))?;
        if first.end != second.end {
            return Err(Failure::new(
                Code::BadInput,
                format!("without us the command {} and then {}: there is nothing to hold against", first.end.words(), second.end.words()),
            )
            .remedy("make the command do the same each time"));
        }
        let mut expected = Expected { has_output: first.output == second.output, outcome: first, limit };
        let all = self.instrumented()?;
        let adapter_prints = self.adapter_prints(&all, &expected)?;
        let criterion = match (expected.has_output, adapter_prints) {
            (false, _) => "exit status (the output differs from run to run)",
            (true, true) => "exit status (the adapter prints as well)",
            (true, false) => "exit status and output",
        };
        expected.has_output &= !adapter_prints;
        let bare = self.outcome(&[], &expected)?;
        let mut found = Found {
            image: self.analysis.path().display().to_string(),
            functions: all.len(),
            criterion: criterion.to_string(),
            expected: expected.outcome.end.words(),
            ..Found::default()
        };
        if expected.differs(&bare) {
            found.bare_copy = Some(expected.words(&bare));
        } else {
            (found.culprits, found.more) = self.sets(all, &expected)?;
        }
        found.trials = self.trials;
        Ok(found)
    }

    /// Whether the output is another with an adapter's snippets in whatever function.
    fn adapter_prints(&mut self, all: &[usize], expected: &Expected) -> Result<bool, Failure> {
        let (Some(_), Some(&first), Some(&last)) = (self.adapter, all.first(), all.last()) else { return Ok(false) };
        for one in [first, last] {
            if self.outcome(&[one], expected)?.output == expected.outcome.output {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sets of functions each of which is enough, and whether there are more.
    fn sets(&mut self, mut left: Vec<usize>, expected: &Expected) -> Result<(Vec<Culprits>, bool), Failure> {
        let mut sets = Vec::new();
        while expected.differs(&self.outcome(&left, expected)?) {
            if sets.len() == MOST_SETS {
                return Ok((sets, true));
            }
            let set = smallest(&left, |part| Ok::<_, Failure>(expected.differs(&self.outcome(part, expected)?)))?;
            let outcome = expected.words(&self.outcome(&set, expected)?);
            sets.push(Culprits { functions: set.iter().map(|&one| self.culprit(one)).collect(), outcome });
            left.retain(|one| !set.contains(one));
        }
        Ok((sets, false))
    }

    /// The chosen functions (by their index among the chosen) that can be instrumented.
    fn instrumented(&self) -> Result<Vec<usize>, Failure> {
        let all: Vec<usize> = (0..self.chosen.len()).collect();
        let refused: HashSet<u64> = self.copy_of(&all)?.image.refusals.iter().map(|refusal| refusal.address).collect();
        let address = |&one: &usize| self.analysis.program.functions[self.chosen[one].function].entry;
        Ok(all.into_iter().filter(|one| !refused.contains(&address(one))).collect())
    }

    fn copy_of(&self, indices: &[usize]) -> Result<Copy, Failure> {
        let decisions = indices.iter().map(|&one| self.chosen[one].clone()).collect();
        let part = Selection { decisions };
        match self.adapter {
            Some(adapter) => adapter::instrument_selected(self.analysis, self.choice, &part, adapter, self.poison),
            None => self.analysis.instrument_selected(self.choice, &part, self.poison),
        }
    }

    /// How the command ends with these functions instrumented.
    fn outcome(&mut self, decisions: &[usize], expected: &Expected) -> Result<Outcome, Failure> {
        self.trials += 1;
        self.step.says(&format!("trial {}, {} functions", self.trials, decisions.len()));
        self.bench.run_copy(&self.copy_of(decisions)?.bytes, Some(expected.limit))
    }

    fn culprit(&self, decision: usize) -> Culprit {
        let function = &self.analysis.program.functions[self.chosen[decision].function];
        let place = self.analysis.lines().and_then(|lines| lines.span(&function.parts));
        let (file, line) = place.map_or_else(Default::default, |place| (place.file, place.entry));
        Culprit { name: function.name.clone(), shown: self.analysis.shown(&function.name), address: function.entry, file, line }
    }
}

/// How the command should end.
struct Expected {
    outcome: Outcome,
    has_output: bool,
    limit: Duration,
}

impl Expected {
    fn differs(&self, other: &Outcome) -> bool {
        other.end != self.outcome.end || self.has_output && other.output != self.outcome.output
    }

    fn words(&self, other: &Outcome) -> String {
        if other.end == self.outcome.end { format!("{} with other output", other.end.words()) } else { other.end.words() }
    }
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Exit(Exit),
    /// It took too long, and was stopped.
    Stopped,
}

impl End {
    fn words(self) -> String {
        match self {
            Self::Exit(Exit::Status(status)) => format!("ends with status {status}"),
            Self::Exit(Exit::Signal(signal)) => format!("is ended by signal {signal}"),
            Self::Stopped => "does not end".to_string(),
        }
    }
}

/// One run of the command.
struct Outcome {
    end: End,
    output: blake3::Hash,
    took: Duration,
}

/// What to do about a command in which the image is not seen.
const STARTING: &str = "name a command that starts it: tare instrument ./app --bisect -- mpirun -n 2 ./app; of a library, one that is linked with it: \
     what a program opens later (dlopen) has no trials";

/// What is wrong with a command whose programs cannot be told. Two steps, as for a measurement, are no way here: each trial has another copy.
fn unseen(error: &LaunchError) -> Failure {
    let failure = launch::failure(error);
    match error {
        LaunchError::Empty | LaunchError::NoProgram(_) | LaunchError::Script { .. } | LaunchError::ProgramFile { .. } => failure.remedy(STARTING),
        _ => failure,
    }
}

/// Where trials are made: the command with a file of ours in the place of the image.
struct Bench<'a> {
    line: &'a [OsString],
    folder: Draft,
    /// The copy under trial.
    copy: PathBuf,
    /// The programs as the line has them, and with the copy in the place of the image.
    originals: Vec<Target>,
    targets: Vec<Target>,
    mode: Mode,
}

impl<'a> Bench<'a> {
    /// Finds the image among the programs of a launch line and the libraries that they load; `is_alone` where our runtime is not loaded.
    fn new(image: &Path, line: &'a [OsString], is_alone: bool) -> Result<Self, Failure> {
        let programs = launch::programs(line).map_err(|error| unseen(&error))?;
        let wanted = image.canonicalize().map_err(|error| Failure::io(Code::NoInput, "find", image, &error))?;
        let is_wanted = |path: &Path| path.canonicalize().is_ok_and(|path| path == wanted);
        let place = Cache::open()?;
        let folder = place.draft().map_err(|error| Failure::io(Code::CannotWrite, "write into", place.place(), &error).remedy(cache::REMEDY))?;
        let mut copy = None;
        let (mut originals, mut targets) = (Vec::new(), Vec::new());
        for program in programs {
            let bytes = image_file::read(&program.path)?;
            let parsed = image_file::parse(&program.path, &bytes)?;
            let needs = if is_alone && image_file::is_static(&parsed) { Needs::default() } else { image_file::needs_of(&program.path, &parsed)? };
            let executable = program.path.clone();
            let mut target = Target { executable, libraries: Vec::new(), mpi: needs.mpi.or(program.launched_by), first: needs.sanitizer(), program };
            originals.push(target.clone());
            if is_wanted(&target.program.path) {
                let path = folder.path().join(wanted.file_name().unwrap_or_default());
                target.executable.clone_from(&path);
                copy = Some(path);
            } else if let Some(library) = needs.libraries.iter().find(|library| library.path.as_deref().is_some_and(is_wanted)) {
                target.libraries.push(folder.path().to_path_buf());
                copy = Some(folder.path().join(&library.name));
            }
            targets.push(target);
        }
        let copy = copy.ok_or_else(|| {
            Failure::new(Code::Usage, format!("the command neither starts {} nor loads it at its start", image.display())).remedy(STARTING)
        })?;
        Ok(Self { line, folder, copy, originals, targets, mode: if is_alone { Mode::Absent } else { Mode::Measure } })
    }

    /// Runs the command as it is for at most `limit`. Without our runtime a copy is where it is also for the program: so is then the original.
    fn run_original(&self, bytes: &[u8], limit: Option<Duration>) -> Result<Outcome, Failure> {
        if self.mode == Mode::Absent { self.run_copy(bytes, limit) } else { self.run(&self.originals, limit) }
    }

    /// Runs the command with these bytes in the place of the image for at most `limit`.
    fn run_copy(&self, bytes: &[u8], limit: Option<Duration>) -> Result<Outcome, Failure> {
        write_executable(&self.copy, bytes, Access::Own).map_err(|error| self.failed(&error))?;
        self.run(&self.targets, limit)
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::io(Code::CannotWrite, "write into", self.folder.path(), error).remedy(cache::REMEDY)
    }

    fn run(&self, targets: &[Target], limit: Option<Duration>) -> Result<Outcome, Failure> {
        let failed = |error: &std::io::Error| self.failed(error);
        let run = tempfile::tempdir_in(self.folder.path()).map_err(|error| failed(&error))?;
        let run = RunDirectory::create(Some(run.path()), &self.copy)?;
        let setting = Setting { mode: self.mode, ..Setting::DEFAULT };
        let new = NewRun { id: fresh_id(), line: self.line, setting, images: Vec::new(), programs: measured::positions(targets), selection: None };
        new.begin(&run)?;
        let mut command = measured::command(&run, &new.id, self.line, targets, setting)?;
        let path = self.folder.path().join("output");
        let output = File::create(&path).map_err(|error| failed(&error))?;
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
        let started = Instant::now();
        let end = child::run_for(command, limit)?.0.map_or(End::Stopped, End::Exit);
        let took = started.elapsed();
        if self.mode != Mode::Absent {
            collect(&run, &new.id)?;
        }
        let output = blake3::hash(&std::fs::read(&path).map_err(|error| failed(&error))?);
        Ok(Outcome { end, output, took })
    }
}
