//! What verbs take that start a program and measure it, or steer one that runs: `profile`, `run`, `validate`, `ctl`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, Args, Command, CommandFactory, ValueEnum};
use tare_select::budget::Budget;

use super::{Arguments, Format, Selection, Showing};
use crate::trial::Length;

/// How delays travel through messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Paper 1's model: needs no common clock, cannot see slack
    Delay,
    /// Messages carry their virtual send time
    Virtual,
}

/// How a comparison is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// As a picture that stands alone
    Svg,
}

/// How to measure.
#[derive(Debug, Args)]
pub(crate) struct Measuring {
    /// How delays travel through messages
    #[arg(long, value_enum, env = "TARE_MODEL", default_value = "virtual")]
    pub(crate) model: Model,
    /// Leave all probes on, also where their cost would be measured by switching them off
    #[arg(long, env = "TARE_EXACT", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) exact: bool,
    /// Switch call paths off for good that have more than CALLS calls of less than MICROSECONDS: `tau` is 100000,10
    #[arg(long, value_name = "tau|CALLS,MICROSECONDS", env = "TARE_THROTTLE_RULE", value_parser = parse_throttle)]
    pub(crate) throttle: Option<Throttle>,
    /// What to measure beside time: PAPI_TOT_INS, cache-misses, page-faults, allocations, io-time … (docs/metrics.md)
    #[arg(long, value_name = "NAME,…", env = "TARE_METRICS_WANTED")]
    pub(crate) metrics: Option<String>,
}

/// When a call path is switched off for good.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Throttle {
    /// After more calls than this …
    pub(crate) calls: u64,
    /// … if a call takes less than this, in nanoseconds.
    pub(crate) nanoseconds: u64,
}

/// Reads `tau`, or calls and microseconds.
fn parse_throttle(text: &str) -> Result<Throttle, String> {
    const TAU: Throttle = Throttle { calls: 100_000, nanoseconds: 10_000 };
    if text == "tau" {
        return Ok(TAU);
    }
    let rule = text.split_once(',').and_then(|(calls, microseconds)| {
        let microseconds: f64 = microseconds.trim().parse().ok().filter(|&time| time > 0.0 && time < 1e9)?;
        Some(Throttle { calls: calls.trim().parse().ok()?, nanoseconds: (microseconds * 1e3) as u64 })
    });
    rule.ok_or_else(|| "expected `tau`, or calls and microseconds such as 100000,10".to_string())
}

/// A command that is to be measured: what of it, and how.
#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Also instrument the shared libraries whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", env = "TARE_LIBRARY", value_delimiter = ',')]
    pub(crate) library: Vec<String>,
    /// With --preset auto: run the command once more before, for calls and times in the place of estimates; it is stopped after
    /// TIME (30s; 2m, end)
    #[arg(long, value_name = "TIME", env = "TARE_TRIAL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "30s", conflicts_with = "from_run")]
    pub(crate) trial: Option<Length>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    /// The command, as you would start it without us
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

impl Job {
    /// The options of a job in a command line, one word each, as `tare profile` takes them; those of the environment it finds itself.
    pub(crate) fn options_of(line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let Ok(matches) = Arguments::command().try_get_matches_from(line) else { return Vec::new() };
        let Some((_, given)) = matches.subcommand() else { return Vec::new() };
        let all = Self::augment_args(Command::new("job"));
        let named = |option: &Arg| {
            option.get_long().map(str::to_string).filter(|_| given.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine))
        };
        let mut words = Vec::new();
        for (option, name) in all.get_arguments().filter_map(|option| Some((option, named(option)?))) {
            if !option.get_action().takes_values() {
                words.push(format!("--{name}").into());
                continue;
            }
            for value in given.get_raw(option.get_id().as_str()).into_iter().flatten() {
                let mut word = OsString::from(format!("--{name}="));
                word.push(value);
                words.push(word);
            }
        }
        words
    }
}

/// `tare profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare profile -- mpirun -n 2 ./app input
  tare profile --preset cc2 --library liblammps -- mpirun -n 2 lmp -in in.melt
  tare profile --budget 1% --trial -- mpirun -n 2 ./app input
                                                 what probes lengthen by 1 % at
                                                 most
  tare profile --preset all -- mpirun -n 2 ./app input
                                                 every function, whatever that
                                                 costs
  tare profile --compensate off -- ./serial")]
pub(crate) struct ProfileArguments {
    /// Directory for the run (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR", env = "TARE_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    pub(crate) showing: Showing,
    /// Print how long each phase took
    #[arg(long, env = "TARE_TIMINGS", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) timings: bool,
}

/// `tare run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare run -- mpirun -n 2 ./app.tare             an instrumented program
  tare run -- mpirun -n 2 ./app                  MPI operations alone
  tare run -- ./hooked                           a program compiled with
                                                 -finstrument-functions
                                                 (docs/ways-in.md)
  tare run --budget 2% -- ./app.tare             probes cost at most two percent
  tare run --mpi openmpi -- ./job.sh             a script that starts
                                                 instrumented programs")]
pub(crate) struct RunArguments {
    /// Directory for the run (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR", env = "TARE_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    /// How much longer probes may make the run: those of short and frequent regions are off most of the time where it would
    /// be exceeded (default: no limit)
    #[arg(long, value_name = "P%", env = "TARE_BUDGET", allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,
    /// The MPI of programs that a script hides, or that load it while they run
    #[arg(long, value_enum, value_name = "MPI", env = "TARE_MPI")]
    pub(crate) mpi: Option<MpiChoice>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) showing: Showing,
    /// The command
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// The MPI of programs that cannot be seen, or that load it later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MpiChoice {
    /// No MPI
    None,
    /// Open MPI
    Openmpi,
    /// MPICH and the libraries of its ABI
    Mpich,
    /// Libraries of the standard's ABI (MPI 5)
    Mpiabi,
}

/// `tare ctl`
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("switch").required(true).multiple(true),
    after_help = "\
Examples:
  tare ctl RUN --off push_back                   regions with `push_back` in
                                                 their name, in all processes of
                                                 RUN on this node
  tare ctl RUN --off '/^std::/' --on /sort/      /…/ is a regular expression;
                                                 what is on comes after what is
                                                 off

A region that is off costs next to nothing; its calls are not counted, and
its time is that of its callers. A process follows when it next enters a
measured region. Regions that a program names itself are switched as
functions are; operations of MPI stay on, since messages carry delays."
)]
pub(crate) struct CtlArguments {
    /// The run directory of a run that goes on
    pub(crate) run: PathBuf,
    /// Switch regions off whose name has PATTERN
    #[arg(long, value_name = "PATTERN", group = "switch")]
    pub(crate) off: Vec<String>,
    /// Switch regions on again whose name has PATTERN
    #[arg(long, value_name = "PATTERN", group = "switch")]
    pub(crate) on: Vec<String>,
    /// How long to wait for processes to follow
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value_t = 2.0)]
    pub(crate) wait: f64,
    /// How to say who followed
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// `tare validate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare validate -- mpirun -n 2 ./app             15 pairs of runs; the table of
                                                 ranks and errors
  tare validate -n 5 --format svg -- mpirun -n 2 ./app > validate.svg

Compared is the time of each rank from MPI_Init to MPI_Finalize (without MPI:
of the main program), in core cycles (or in seconds, where the core clock jumps), pair by pair. The command must be one
that can be run again and again.")]
pub(crate) struct ValidateArguments {
    /// Pairs of an unmeasured and a measured run
    #[arg(short = 'n', long, value_name = "RUNS", allow_negative_numbers = true, env = "TARE_RUNS", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) runs: u16,
    /// Directory for the runs and their output (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) job: Job,
    /// How to write the table
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: ComparisonFormat,
}
