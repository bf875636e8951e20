//! The command line. What the options mean becomes domain values here, before anything else sees them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use tare_select::budget::Budget;

use crate::failure::{Code, Failure};
use crate::trial::Length;

const AFTER_HELP: &str = "\
Examples:
  tare profile -- mpirun -n 2 ./app input        measure, and print where the time went
  tare profile --preset mpi-path -- mpirun -n 4 ./app
                                                 only functions on paths to MPI
  tare validate -- mpirun -n 2 ./app             how close does compensation come?
  tare inspect ./app                             what is in this executable?
  tare doctor                                    what this machine offers and lacks

Exit status: that of the measured program (a signal as 128 + n).
Errors of our own: 64 usage, 65 bad input, 66 not found, 69 unavailable, 70 internal, 73 cannot write.";

/// Measures parallel programs and takes the weight of the measurement off the result.
#[derive(Debug, Parser)]
#[command(name = "tare", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure a program: analyse, select, instrument a cached copy, run, print the summary
    Profile(ProfileArguments),
    /// Show the functions of an executable or library with their properties
    Inspect(InspectArguments),
    /// Show what would be measured, and why
    Select(SelectArguments),
    /// Write an instrumented copy of an executable or library
    Instrument(InstrumentArguments),
    /// Run an instrumented program (or any MPI program) under the runtime
    Run(RunArguments),
    /// Run a program unmeasured and measured in turn, and show how close compensation comes
    Validate(ValidateArguments),
    /// Show the results of a run
    Report(ReportArguments),
    /// Open the results of a run as a page in the browser
    View(ViewArguments),
    /// Put runs side by side, and say what got slower beyond its uncertainty
    Compare(CompareArguments),
    /// Execute a described message-passing program unmeasured, measured, and compensated under each model
    Simulate(SimulateArguments),
    /// Watch a run in the terminal: ranks, hot regions, waiting, what measuring costs
    Top(TopArguments),
    /// Serve the page of a run as it goes on, and its figures for Prometheus
    Serve(ServeArguments),
    /// Answer a question about a run, also while it goes on
    Query(QueryArguments),
    /// Switch regions off or on while their program runs
    Ctl(CtlArguments),
    /// Say what this machine offers and lacks, with the remedy
    Doctor,
    /// Print the script that completes our command lines in a shell
    Completion(CompletionArguments),
    /// Print the manual page of a verb, or write all of them
    Manual(ManualArguments),
}

/// What is taken off the times that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Compensate {
    /// Nothing: times as measured
    Off,
    /// The overhead of the location itself
    Local,
    /// Also the overhead that came from other ranks in messages
    Parallel,
}

/// How delays travel through messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Paper 1's model: needs no common clock, cannot see slack
    Delay,
    /// Messages carry their virtual send time
    Virtual,
}

/// How a document is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
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

/// How runs side by side are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SidesFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page that needs nothing else
    Html,
}

/// How what is in an image is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum InspectFormat {
    /// For people
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
    /// The call graph for graphviz
    Dot,
    /// The call graph for MetaCG and its tools (version 4 of their format)
    Metacg,
}

/// Which edges of the call graph are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum EdgeChoice {
    /// Direct calls
    Sure,
    /// Also what calls through pointers may reach
    Possible,
}

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// What to measure: auto, all, mpi-path, cc2, cc3, loc5, mpi-path+cc3 (default: auto, or what the filters say)
    #[arg(long, value_name = "PRESET", env = "TARE_PRESET")]
    pub(crate) preset: Option<String>,
    /// Filter file that goes on from the preset and the filters before it
    #[arg(long, value_name = "FILE", env = "TARE_FILTER")]
    pub(crate) filter: Vec<PathBuf>,
    /// How much longer probes may make the run: with --preset auto (where 2% is the default) it limits the selection; while
    /// the program runs, probes of short and frequent regions are off most of the time where it would be exceeded
    #[arg(long, value_name = "P%", env = "TARE_BUDGET")]
    pub(crate) budget: Option<Budget>,
    /// With --preset auto: calls and times of an earlier run of the program, in the place of estimates
    #[arg(long, value_name = "DIR", env = "TARE_FROM_RUN")]
    pub(crate) from_run: Option<PathBuf>,
    /// Format of the filter files (default: told by what they begin with)
    #[arg(long, value_enum, value_name = "FORMAT", env = "TARE_FILTER_FORMAT", requires = "filter")]
    pub(crate) filter_format: Option<FilterFormat>,
    /// What of each chosen function is measured (default: functions, or what the filters say)
    #[arg(long, value_name = "LEVELS", value_enum, value_delimiter = ',', env = "TARE_LEVELS")]
    pub(crate) levels: Vec<Level>,
}

/// How filter files are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FilterFormat {
    /// The filter language (docs/filters.md)
    Xml,
    /// One name a line
    Names,
    /// Score-P filter file
    Scorep,
    /// TAU select file
    Tau,
    /// GCC options that exclude from -finstrument-functions
    Gcc,
    /// LLVM XRay attribute list
    Xray,
}

/// How a selection is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SelectFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For spreadsheets: a row for each function
    Csv,
    /// Score-P filter file
    Scorep,
    /// TAU select file
    Tau,
    /// GCC response file that excludes from -finstrument-functions
    Gcc,
    /// LLVM XRay attribute list
    Xray,
}

/// What of a function is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Level {
    /// Its entry and exits
    Functions,
    /// Its loops, from their begin to their end
    Loops,
    /// Every iteration of its loops
    Iterations,
    /// The calls in it
    Callsites,
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

/// What to show.
#[derive(Clone, Debug, Args)]
pub(crate) struct Showing {
    /// What is taken off the times that are shown
    #[arg(long, value_enum, env = "TARE_COMPENSATE", default_value = "parallel")]
    pub(crate) compensate: Compensate,
    /// How many regions to show
    #[arg(long, value_name = "N", env = "TARE_TOP")]
    pub(crate) top: Option<usize>,
}

/// `tare profile`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare profile -- mpirun -n 2 ./app input
  tare profile -o RUN --preset cc2 --library liblammps -- mpirun -n 2 lmp -in in.melt
  tare profile --budget 1% --trial -- mpirun -n 2 ./app input
                                                 what probes lengthen by 1 % at most
  tare profile --preset all -- mpirun -n 2 ./app input
                                                 every function, whatever that costs
  tare profile --compensate off -- ./serial")]
pub(crate) struct ProfileArguments {
    /// Directory for the run (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR", env = "TARE_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
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
    #[command(flatten)]
    pub(crate) showing: Showing,
    /// Print how long each phase took
    #[arg(long, env = "TARE_TIMINGS", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) timings: bool,
    /// The command, as you would start it without us
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `tare inspect`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare inspect ./app --sort instructions:desc --top 20
                                                 the largest functions
  tare inspect ./app --functions solver --calls  who calls what, in functions with `solver` in their name
  tare inspect ./app --loops --sort depth:desc   the deepest loops, with their place in the source
  tare inspect ./app --format json --loops --calls > app.json
  tare inspect ./app --format dot --from main --depth 3 | dot -Tsvg > calls.svg
  tare inspect ./app --cfg solve | dot -Tsvg > solve.svg
  tare inspect old/app --compare new/app         what changed from one build to the next")]
pub(crate) struct InspectArguments {
    /// Executable or shared library
    pub(crate) image: PathBuf,
    /// Only functions with PATTERN in their name, raw or shown; /…/ is a regular expression
    #[arg(long, value_name = "PATTERN")]
    pub(crate) functions: Option<String>,
    /// Sort by a column of the table or of CSV; with :desc the greatest first
    #[arg(long, value_name = "COLUMN[:desc]")]
    pub(crate) sort: Option<String>,
    /// Only the first N rows
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// List the loops of the functions
    #[arg(long)]
    pub(crate) loops: bool,
    /// List the calls of the functions
    #[arg(long)]
    pub(crate) calls: bool,
    /// List the functions that were inlined into the functions
    #[arg(long)]
    pub(crate) inlined: bool,
    /// How to write it
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: InspectFormat,
    /// Call graph: only what is reached from FUNCTION
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) from: Option<String>,
    /// Call graph: at most N calls away from --from
    #[arg(long, value_name = "N", requires = "from")]
    pub(crate) depth: Option<usize>,
    /// Call graph: which calls (default: sure)
    #[arg(long, value_enum)]
    pub(crate) edges: Option<EdgeChoice>,
    /// Print the control flow of FUNCTION for graphviz
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["functions", "sort", "top", "loops", "calls", "inlined", "from", "edges"])]
    pub(crate) cfg: Option<String>,
    /// Say what OTHER, a later build, changes
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["sort", "loops", "calls", "inlined", "from", "edges", "cfg"])]
    pub(crate) compare: Option<PathBuf>,
    /// Directories with separate debug files, with colons between them
    #[arg(long, value_name = "DIRS", env = "TARE_DEBUG_PATH", default_value = "/usr/lib/debug")]
    pub(crate) debug_path: OsString,
}

/// `tare select`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare select ./app --preset mpi-path            counts by reason (--format json: for each function)
  tare select ./app --preset auto --budget 1%    what stays cheap, and what it is expected to cost
  tare select ./app --preset cc3 --list          one name a line
  tare select ./app --filter my.xml              what a filter file lets in
  tare select ./app --preset cc3 --explain=solve which rule decided on functions with `solve` in their name
  tare select ./app --preset cc3 --format scorep > app.filter
                                                 the same choice for another tool
  tare select --table ./app ./lib.so             how many functions each filter of paper 2 leaves
  tare select --print-preset cc3 > my.xml        a filter file to begin with")]
pub(crate) struct SelectArguments {
    /// Executable or shared library
    #[arg(required_unless_present = "print_preset", value_name = "IMAGE")]
    pub(crate) images: Vec<PathBuf>,
    /// Print the filter file of a preset
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["list", "format"])]
    pub(crate) print_preset: Option<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Print the selected functions, one name a line, as --filter reads them back
    #[arg(long, conflicts_with = "format")]
    pub(crate) list: bool,
    /// For each function the rule that decided; only functions with PATTERN in their name (/…/ is a regular expression)
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "list")]
    pub(crate) explain: Option<String>,
    /// How many functions the filters of paper 2 leave, for any number of images
    #[arg(long, conflicts_with_all = ["list", "explain"])]
    pub(crate) table: bool,
    /// How to write it
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: SelectFormat,
}

/// `tare instrument`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare instrument ./app -o app.tare              then: tare run -- mpirun -n 2 ./app.tare
  tare instrument ./app -o app.hooks --adapter cyg-profile
                                                 calls the hooks of -finstrument-functions, without recompiling
  tare instrument --print-adapter counting > my.xml
                                                 an adapter of your own (docs/adapters.md): --adapter my.xml
  tare instrument ./app -o app.tare --levels functions,loops,callsites
                                                 loops and call sites are regions as well (docs/instrument.md)
  tare instrument --check app.tare               is the copy whole, and what its original gives?
  tare instrument ./app --bisect -- ./app input  which function must not be instrumented?")]
pub(crate) struct InstrumentArguments {
    /// Executable or shared library
    #[arg(required_unless_present = "print_adapter")]
    pub(crate) image: Option<PathBuf>,
    /// Where to write the instrumented copy
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["bisect", "check", "print_adapter"])]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// What is inserted: tareweight (our runtime, the default), cyg-profile, scorep, tau, counting, or the file of an adapter
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "bisect")]
    pub(crate) adapter: Option<PathBuf>,
    /// Print the file of a shipped adapter, to begin your own with
    #[arg(long, value_name = "NAME", conflicts_with_all = ["image", "output", "bisect"])]
    pub(crate) print_adapter: Option<String>,
    /// Overwrite the original bodies of moved functions with traps (a test of the rewriter)
    #[arg(long, env = "TARE_POISON", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) poison: bool,
    /// Find the function whose instrumentation makes CMD misbehave: end otherwise, or print something else, than with the original
    #[arg(long, requires = "command", conflicts_with = "output")]
    pub(crate) bisect: bool,
    /// Hold the instrumented copy IMAGE against its original: every instruction, and every byte
    #[arg(long, conflicts_with_all = ["output", "adapter", "bisect"])]
    pub(crate) check: bool,
    /// With --check: the original, where it is not where it was
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) original: Option<PathBuf>,
    /// Print how long each phase took
    #[arg(long, env = "TARE_TIMINGS", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) timings: bool,
    /// How to report
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// With --bisect: a command that starts or loads the image
    #[arg(last = true, value_name = "CMD", requires = "bisect")]
    pub(crate) command: Vec<OsString>,
}

/// `tare run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare run -- mpirun -n 2 ./app.tare             an instrumented program
  tare run -- mpirun -n 2 ./app                  MPI operations alone
  tare run -- ./hooked                           a program compiled with -finstrument-functions (docs/ways-in.md)
  tare run --budget 2% -- ./app.tare             probes cost at most two percent
  tare run --mpi openmpi -- ./job.sh             a script that starts instrumented programs")]
pub(crate) struct RunArguments {
    /// Directory for the run (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR", env = "TARE_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    /// How much longer probes may make the run: those of short and frequent regions are off most of the time where it would
    /// be exceeded (default: no limit)
    #[arg(long, value_name = "P%", env = "TARE_BUDGET")]
    pub(crate) budget: Option<Budget>,
    /// The MPI of programs that a script hides
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

/// The MPI of programs that cannot be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MpiChoice {
    /// No MPI
    None,
    /// Open MPI
    Openmpi,
    /// MPICH and the libraries of its ABI
    Mpich,
}

/// `tare ctl`
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("switch").required(true).multiple(true),
    after_help = "\
Examples:
  tare ctl RUN --off push_back                   regions with `push_back` in their name, in all processes of RUN on this node
  tare ctl RUN --off '/^std::/' --on /sort/      /…/ is a regular expression; what is on comes after what is off

A region that is off costs next to nothing; its calls are not counted, and its time is that of its callers. A process
follows when it next enters a measured region."
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
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub(crate) wait: f64,
}

/// `tare validate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare validate -- mpirun -n 2 ./app             15 pairs of runs; the table of ranks and errors
  tare validate -n 5 --format svg -- mpirun -n 2 ./app > validate.svg

Compared is the time of each rank from MPI_Init to MPI_Finalize (without MPI: of the main program), in core cycles,
pair by pair. The command must be one that can be run again and again.")]
pub(crate) struct ValidateArguments {
    /// Pairs of an unmeasured and a measured run
    #[arg(short = 'n', long, value_name = "RUNS", env = "TARE_RUNS", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) runs: u16,
    /// Directory for the runs and their output (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
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
    /// How to write the table
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: ComparisonFormat,
    /// The command, as you would start it without us
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How the results of a run are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page that needs nothing else
    Html,
    /// Stacks with a number each, for flame graphs (whole nanoseconds)
    Collapsed,
    /// For speedscope (<https://www.speedscope.app>)
    Speedscope,
    /// For callgrind_annotate and KCachegrind
    Callgrind,
    /// For the Firefox Profiler (<https://profiler.firefox.com>)
    Firefox,
    /// For `go tool pprof`
    Pprof,
    /// Profiles of TAU: a directory, with -o
    Tau,
    /// For Cube, as Score-P writes it (.cubex)
    Cube,
    /// Prometheus text
    Prometheus,
    /// For spreadsheets: a row for each call path of each thread
    Csv,
}

/// `tare report`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare report RUN                                every rank and region as text
  tare report RUN --compensate off               as measured
  tare report RUN --format html > run.html       one file with all views, for any browser, also without network
  tare report RUN --format json | jq .whole      for programs
  tare report RUN --format collapsed | flamegraph.pl --countname ns > run.svg
  tare report RUN --format callgrind -o callgrind.out.run
  tare report RUN --format csv --ranks 0-3 -o csv
                                                 a file for each of the ranks: csv/rank-00000.csv …
  tare report RUN --format tau -o profiles       then, in that directory: pprof, or paraprof
  tare report scorep-run/profile.cubex           what another tool measured: Score-P, Scalasca, TAU
Other tools know no intervals: what is not to be trusted stands in one entry of its own (docs/report.md).")]
pub(crate) struct ReportArguments {
    /// Run directory; or a directory of TAU's profiles, or a file of Cube
    pub(crate) run: PathBuf,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Where to write it (default: stdout); a directory for tau
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// A document for each of these ranks, in the directory that -o names: 0-3,8 or all
    #[arg(long, value_name = "LIST", env = "TARE_RANKS", requires = "output")]
    pub(crate) ranks: Option<Ranks>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) carried: Carried,
}

/// Ranks, as `0-3,8` or `all`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ranks(Option<Vec<std::ops::RangeInclusive<u32>>>);

impl Ranks {
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.0.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&rank)))
    }

    /// The first rank that is named and not there.
    pub(crate) fn first_missing(&self, ranks: &[u32]) -> Option<u32> {
        self.0.iter().flatten().find_map(|range| [*range.start(), *range.end()].into_iter().find(|rank| !ranks.contains(rank)))
    }
}

impl std::str::FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "all" {
            return Ok(Self(None));
        }
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some(first..=last)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.map(|ranges| Self(Some(ranges))).ok_or_else(|| "expected ranks such as 0-3,8, or all".to_string())
    }
}

/// What a page carries.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Carried {
    /// Call paths that a page carries one by one; beyond that the smallest are folded into one below each caller
    #[arg(long, value_name = "N", env = "TARE_LIMIT", default_value_t = tare_report::html::MOST_PATHS)]
    pub(crate) limit: usize,
    /// Leave source lines out of the page
    #[arg(long, env = "TARE_NO_SOURCE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_source: bool,
}

/// `tare view`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare view RUN                                  writes RUN/report.html and opens it where there is a display
  tare view RUN -o run.html                      elsewhere")]
pub(crate) struct ViewArguments {
    /// Run directory; or a directory of TAU's profiles, or a file of Cube
    pub(crate) run: PathBuf,
    /// Where to write the page (default: report.html in the run directory; beside a file of Cube)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) carried: Carried,
}

/// `tare compare`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare compare OLD NEW                           what got slower from one run to the other
  tare compare OLD1 OLD2 OLD3 --with NEW1 NEW2 NEW3
                                                 several runs on each side: the noise between runs counts
  tare compare RUN1 RUN2 RUN4                    side by side; changes are from the first
  tare compare --least 2% OLD NEW --format json
  tare compare OLD NEW --format html > compare.html
  tare compare scorep-old/profile.cubex NEW      against a file of Cube, or a directory of TAU's profiles

Exit status: 0 where nothing got slower, 1 where the run or a region did: beyond the 95 % interval of the difference,
and by at least --least of the first side's time.")]
pub(crate) struct CompareArguments {
    /// Run directories, directories of TAU's profiles, files of Cube; each is a side of its own, or with --with all are the first side
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Runs of the second side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) with: Vec<PathBuf>,
    /// What does not count: changes below this part of the first side's time (default: 1 %, or 5 % where both sides are
    /// single runs, whose noise is not known)
    #[arg(long, value_name = "P%", env = "TARE_LEAST", value_parser = parse_percent)]
    pub(crate) least: Option<f64>,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: SidesFormat,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Reads a part of a whole, as `2%`.
fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().strip_suffix('%').unwrap_or(text.trim()).trim().parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected per cent, such as 2%".to_string())
}

/// `tare top`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare top RUN                                   a run that goes on, or has ended
  tare top -- mpirun -n 4 ./app input            measure a program, and watch it (settings: TARE_PRESET and its kin)
  tare top RUN --once                            one frame as text

Keys: 1 regions, 2 ranks, 3 messages, 4 call paths; arrows, Enter; / finds, s sorts, c compensated or measured,
space freezes, ? says all of them, q quits.")]
pub(crate) struct TopArguments {
    /// Run directory
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) run: Option<PathBuf>,
    /// How often the run is read
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) interval: f64,
    /// Print one frame as text
    #[arg(long)]
    pub(crate) once: bool,
    /// What is taken off the times
    #[arg(long, value_enum, env = "TARE_COMPENSATE", default_value = "parallel")]
    pub(crate) compensate: Compensate,
    /// The command to measure
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `tare serve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare serve RUN                                 prints an address with a token: the page, anew while the run goes on
  ssh -L 7717:localhost:7717 NODE                then the address works here, too
  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:7717/metrics
                                                 Prometheus' text; also /report.json and /query?q=QUESTION
  tare serve RUN --listen 0.0.0.0:7717           for whoever has the address, from other machines as well")]
pub(crate) struct ServeArguments {
    /// Run directory
    pub(crate) run: PathBuf,
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", env = "TARE_LISTEN", default_value = "127.0.0.1:7717")]
    pub(crate) listen: String,
    /// What whoever asks has to know (default: a new one each time)
    #[arg(long, value_name = "TOKEN", env = "TARE_TOKEN", hide_env_values = true, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) carried: Carried,
}

/// `tare query`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare query RUN time                            of the whole program
  tare query RUN total transmission              of all messages
  tare query RUN time and count of solve         of a procedure
  tare query RUN time of calls in main           of each procedure call in it
  tare query RUN time of call at app.c:57        of one call statement
  tare query RUN communication at app.c:62 by peer
                                                 of one communication statement
  tare query RUN loop at app.c:40                and what is nested in it: events in loop at app.c:40
  tare query RUN self by region top 10           where the time goes
  tare query RUN where                           where each rank is now

A question: [total|mean|longest] MEASURES [of WHAT] [in|under WHAT] [by AXIS] [on ranks 0-3,7] [top N]
  MEASURES  time, self, count, waiting, transmission, messages, bytes, measured, correction
  WHAT      program, functions, loops, calls, communication, events, regions; any of them, or none, with
            NAME, 'a name with blanks', /REGEX/ or FILE:LINE
  AXIS      region, caller, peer, rank, thread, host
docs/query.md says what each of them means.")]
pub(crate) struct QueryArguments {
    /// Run directory
    pub(crate) run: PathBuf,
    /// The question
    #[arg(required = true, value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// What is taken off the times
    #[arg(long, value_enum, env = "TARE_COMPENSATE", default_value = "parallel")]
    pub(crate) compensate: Compensate,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// `tare simulate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare simulate docs/examples/slack.sim          how far off each model is, and the ends of the first ranks
  tare simulate docs/examples/halo.sim --ranks 100000
  tare simulate FILE --format json               every rank

A description says what each rank computes, calls, sends and receives, and what communication and probes cost:
  ranks 2; probes cost 50ns
  if rank == 0 { call work times 1000 each 30ns; send to 1 } else { recv from 0 }")]
pub(crate) struct SimulateArguments {
    /// The description (docs/simulate.md)
    pub(crate) file: PathBuf,
    /// So many ranks, in the place of what the description says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) ranks: Option<u32>,
    /// What random numbers follow from, in the place of what the description says
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How many ranks to show
    #[arg(long, value_name = "N", env = "TARE_TOP")]
    pub(crate) top: Option<usize>,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// A shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ShellName {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// Fish
    Fish,
}

/// `tare completion`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(tare completion bash)
  tare completion zsh > ~/.zfunc/_tare           with fpath+=~/.zfunc before compinit
  tare completion fish > ~/.config/fish/completions/tare.fish
`make install` puts them where the shells look for them.")]
pub(crate) struct CompletionArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: ShellName,
}

/// `tare manual`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare manual profile | man -l -                 read a page
  tare manual -o man1                            write all pages: tare.1, tare-profile.1 …")]
pub(crate) struct ManualArguments {
    /// The verb (default: the command itself)
    #[arg(conflicts_with = "output")]
    pub(crate) verb: Option<String>,
    /// Directory for all pages
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// What is wrong with a command line, as we say it; `None` where help or the version was asked for.
pub(crate) fn failure(error: &clap::Error) -> Option<Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let what = text.split("\n\n").next().unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ").replace(" [possible values", " [known");
    let behind = |label: &str| text.lines().find_map(|line| line.trim().strip_prefix(label)).map(|rest| rest.trim().to_string());
    let remedy = behind("tip:").or_else(|| behind("Usage:")).unwrap_or_else(help_of_verb);
    Some(Failure::new(Code::Usage, what).remedy(remedy))
}

/// How to ask for the help of the verb that was called.
fn help_of_verb() -> String {
    let verb = std::env::args().nth(1).filter(|verb| Arguments::command().find_subcommand(verb).is_some());
    verb.map_or_else(|| "tare --help".to_string(), |verb| format!("tare {verb} --help"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let error = Arguments::try_parse_from(line.split_whitespace()).expect_err("a wrong line");
        failure(&error).map_or_else(String::new, |failure| failure.to_string())
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence_with_the_remedy() {
        let wrong = said("tare profile --model virtul -- app");
        assert!(wrong.starts_with("invalid value 'virtul' for '--model <MODEL>' [known: delay, virtual]\n      try: "), "{wrong}");
        let missing = said("tare instrument app");
        assert!(missing.starts_with("the following required arguments were not provided: --output <OUT>\n      try: tare instrument"), "{missing}");
        assert!(said("tare profil -- app").contains("'profil'"));
        assert_eq!(said("tare --help"), "");
    }

    #[test]
    fn every_verb_that_writes_documents_has_a_schema() {
        for verb in Arguments::command().get_subcommands() {
            let writes =
                |argument: &clap::Arg| argument.get_id() == "format" && argument.get_possible_values().iter().any(|value| value.get_name() == "json");
            if verb.get_arguments().any(writes) {
                let file = format!("{}/../../docs/schema/{}.schema.json", env!("CARGO_MANIFEST_DIR"), verb.get_name());
                assert!(std::path::Path::new(&file).is_file(), "there is no {file}");
            }
        }
    }
}
