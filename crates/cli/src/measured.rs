//! A measured run: the launch line with `tare exec` in the place of each program, and the environment of the runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tare_report::shell;
use tare_select::budget::{Budget, Keeper};

use crate::args::{Measuring, Model, Selection, Throttle};
use crate::budget::Limiting;
use crate::child;
use crate::choice::Choice;
use crate::failure::{Code, Failure};
use crate::installation;
use crate::launch::{self, Part, Program};
use crate::metrics::{self, Metric};
use crate::mpi_library::Mpi;
use crate::rundir::{Exit, RunDirectory};
use crate::verbs::exec::{Launch, list_of};
use crate::word::Word;

/// What the runtime is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Measure.
    Measure,
    /// Only tell the span of the run and the core clock: the unmeasured side of a comparison.
    Clock,
    /// It is not loaded.
    Absent,
}

/// How a run is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) mode: Mode,
    pub(crate) model: Model,
    pub(crate) exact: bool,
    pub(crate) throttle: Option<Throttle>,
    /// What probes may cost while the program runs.
    pub(crate) duty: Option<Budget>,
    /// What is measured beside time; named once in the life of the command.
    pub(crate) metrics: &'static [Metric],
}

impl Setting {
    /// The setting where no option asks for another.
    pub(crate) const DEFAULT: Self = Self { mode: Mode::Measure, model: Model::Virtual, exact: false, throttle: None, duty: None, metrics: &[] };

    /// The setting that options ask for.
    pub(crate) fn of(measuring: &Measuring) -> Result<Self, Failure> {
        let metrics = metrics::available(metrics::parse(measuring.metrics.as_deref().unwrap_or_default())?);
        Ok(Self {
            mode: Mode::Measure,
            model: measuring.model,
            exact: measuring.exact,
            throttle: measuring.throttle,
            duty: None,
            metrics: metrics.leak(),
        })
    }

    /// What keeps probes within the budget of preset `auto`: with every probe on, the choice alone.
    pub(crate) const fn keeper(self) -> Keeper {
        if self.exact { Keeper::Choice } else { Keeper::Runtime }
    }

    /// The same with a budget. Where every probe stays on there is none.
    pub(crate) fn within(self, budget: Option<Budget>) -> Self {
        Self { duty: budget.filter(|_| !self.exact), ..self }
    }

    /// The same with the budget that a selection names, or that of preset `auto`.
    pub(crate) fn within_that_of(self, selection: &Selection, choice: &Choice) -> Self {
        self.within(selection.budget.or_else(|| choice.limiting().map(Limiting::budget)))
    }

    /// The model's name in the environment and in `run.json`.
    pub(crate) fn model_name(self) -> &'static str {
        match self.model {
            Model::Delay => "delay",
            Model::Virtual => "virtual",
        }
    }

    fn environment(self, run: &RunDirectory, id: &str) -> Vec<(String, Word)> {
        let mode = match self.mode {
            Mode::Measure => "measure",
            Mode::Clock => "clock",
            Mode::Absent => return Vec::new(),
        };
        let flag = if self.exact { "1" } else { "0" };
        let throttle = self.throttle.map(|rule| ("TARE_THROTTLE".to_string(), format!("{},{}", rule.calls, rule.nanoseconds)));
        let duty = self.duty.map(|budget| ("TARE_DUTY".to_string(), ((budget.fraction() * 1e4).round().max(1.0) as u64).to_string()));
        let words = [("TARE_RUN_ID", id), ("TARE_MODEL", self.model_name()), ("TARE_EXACT", flag), ("TARE_MODE", mode)];
        let words = words.map(|(name, value)| (name.to_string(), value.to_string())).into_iter();
        let words = words.chain(throttle).chain(duty).chain(metrics::environment(self.metrics)).map(|(name, value)| (name, value.into()));
        [("TARE_RUN_DIR".to_string(), run.path.clone().into())].into_iter().chain(words).collect()
    }
}

/// A program of the launch line, ready to be started.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Where it stands in the line.
    pub(crate) program: Program,
    /// The file to execute: an instrumented copy, or the original.
    pub(crate) executable: PathBuf,
    /// Directories of instrumented copies of libraries.
    pub(crate) libraries: Vec<PathBuf>,
    /// The MPI that it needs.
    pub(crate) mpi: Option<Mpi>,
    /// A library that has to be loaded before ours.
    pub(crate) first: Option<PathBuf>,
}

/// Where in the line the programs stand.
pub(crate) fn positions(targets: &[Target]) -> Vec<usize> {
    targets.iter().map(|target| target.program.position).collect()
}

/// Starts a launch line under the runtime and waits for its end; what it prints goes to a file.
pub(crate) fn launch(
    run: &RunDirectory,
    id: &str,
    line: &[OsString],
    targets: &[Target],
    setting: Setting,
    output: &Path,
) -> Result<(Exit, f64), Failure> {
    child::run(into_file(command(run, id, line, targets, setting)?, output)?)
}

/// The same command with its output in a file, and no input.
pub(crate) fn into_file(mut command: Command, output: &Path) -> Result<Command, Failure> {
    redirect(&mut command, output)?;
    Ok(command)
}

/// Finds what is to be preloaded before anything is made or started: a refusal then leaves nothing behind.
pub(crate) fn check(targets: &[Target], setting: Setting) -> Result<(), Failure> {
    let mut kinds: Vec<Option<Mpi>> = targets.iter().map(|target| target.mpi).collect();
    kinds.dedup();
    kinds.into_iter().try_for_each(|mpi| check_hidden(mpi, setting))
}

/// The same of programs that cannot be seen.
pub(crate) fn check_hidden(mpi: Option<Mpi>, setting: Setting) -> Result<(), Failure> {
    installation::preloads(mpi, metrics::need_tally(setting.metrics)).map(drop)
}

/// The command that a launch line becomes under the runtime.
pub(crate) fn command(run: &RunDirectory, id: &str, line: &[OsString], targets: &[Target], setting: Setting) -> Result<Command, Failure> {
    let mut specs = Vec::with_capacity(targets.len());
    for (index, target) in targets.iter().enumerate() {
        specs.push(write_spec(run, id, index, line, target, setting)?);
    }
    let tare = installation::command()?;
    let programs: Vec<Program> = targets.iter().map(|target| target.program.clone()).collect();
    let words = launch::substitute(line, &programs, |index, part| match (part, programs[index].debugger) {
        // Under gdb the program is the copy, so that its symbols are seen, and we are what starts it.
        (Part::Debugger, _) => {
            let wrapper = format!("set exec-wrapper {} exec {}", shell::path(&tare), shell::path(&specs[index]));
            vec!["-iex".into(), wrapper.into()]
        }
        (Part::Program, Some(_)) => vec![targets[index].executable.clone().into()],
        (Part::Program, None) => vec![tare.clone().into(), "exec".into(), specs[index].clone().into()],
    });
    command_of(&words)
}

/// The command that a line becomes whose programs cannot be seen: the library is preloaded into everything below it.
pub(crate) fn hidden_command(run: &RunDirectory, id: &str, line: &[OsString], mpi: Option<Mpi>, setting: Setting) -> Result<Command, Failure> {
    let mut command = command_of(line)?;
    let libraries = installation::preloads(mpi, metrics::need_tally(setting.metrics))?;
    let libraries: Vec<Word> = libraries.into_iter().map(Word::from).collect();
    command.env("LD_PRELOAD", list_of(&libraries, std::env::var_os("LD_PRELOAD")));
    command.envs(setting.environment(run, id).into_iter().map(|(name, value)| (name, value.0)));
    Ok(command)
}

fn write_spec(run: &RunDirectory, id: &str, index: usize, line: &[OsString], target: &Target, setting: Setting) -> Result<PathBuf, Failure> {
    let mut environment = setting.environment(run, id);
    let original = target.program.path.canonicalize().unwrap_or_else(|_| target.program.path.clone());
    let program = target.executable.canonicalize().unwrap_or_else(|_| target.executable.clone());
    // In a copy: whom it stands for. Without MPI, the clock of an original is read in this program alone.
    if program != original || setting.mode == Mode::Clock {
        environment.push(("TARE_EXECUTABLE".into(), original.into()));
        environment.push(("TARE_COPY".into(), program.clone().into()));
    }
    let ours = match setting.mode {
        Mode::Absent => Vec::new(),
        Mode::Measure | Mode::Clock => installation::preloads(target.mpi, metrics::need_tally(setting.metrics))?,
    };
    let spec = Launch {
        program: program.into(),
        argv0: Word(line[target.program.position].clone()),
        preload: target.first.iter().cloned().chain(ours).map(Word::from).collect(),
        libraries: target.libraries.iter().cloned().map(Word::from).collect(),
        environment,
        drops_first: target.program.debugger.is_some(),
    };
    let path = run.path.join(format!("launch-{index}.json"));
    spec.write(&path)?;
    Ok(path)
}

pub(crate) fn command_of(words: &[OsString]) -> Result<Command, Failure> {
    let (first, rest) = words.split_first().ok_or_else(|| Failure::new(Code::Usage, "no command: nothing stands behind `--`"))?;
    let mut command = Command::new(first);
    command.args(rest);
    Ok(command)
}

fn redirect(command: &mut Command, output: &Path) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::io(Code::CannotWrite, "write", output, error);
    let file = std::fs::File::create(output).map_err(|error| failed(&error))?;
    let twin = file.try_clone().map_err(|error| failed(&error))?;
    command.stdin(Stdio::null()).stdout(file).stderr(twin);
    Ok(())
}

/// A name for a run that no other run has.
pub(crate) fn fresh_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&now.to_le_bytes()).update(&std::process::id().to_le_bytes());
    hasher.finalize().to_hex()[..16].to_string()
}
