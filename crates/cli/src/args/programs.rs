//! What verbs take that read programs and do not run them: `inspect`, `select`, `instrument`; and what a selection is.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use tare_select::Preset;
use tare_select::budget::Budget;

use super::Format;

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

/// The name of a preset, which a shell completes; what is no preset is said where it is looked up.
#[derive(Clone)]
struct PresetName;

impl TypedValueParser for PresetName {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, argument: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Preset::ALL.into_iter().map(|preset| PossibleValue::new(preset.name()))))
    }
}

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// What to measure: auto, all, mpi-path, cc2, cc3, loc5, mpi-path+cc3 (default: auto, or what the filters say)
    #[arg(long, value_name = "PRESET", env = "TARE_PRESET", value_parser = PresetName, hide_possible_values = true)]
    pub(crate) preset: Option<String>,
    /// Filter file that goes on from the preset and the filters before it
    #[arg(long, value_name = "FILE", env = "TARE_FILTER")]
    pub(crate) filter: Vec<PathBuf>,
    /// How much longer probes may make the run: with --preset auto (where 2% is the default) it limits the selection; while
    /// the program runs, probes of short and frequent regions are off most of the time where it would be exceeded
    #[arg(long, value_name = "P%", env = "TARE_BUDGET", allow_hyphen_values = true)]
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

/// `tare inspect`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare inspect ./app --sort instructions:desc --top 20
                                                 the largest functions
  tare inspect ./app --functions solver --calls  who calls what, in functions
                                                 with `solver` in their name
  tare inspect ./app --loops --sort depth:desc   the deepest loops, with their
                                                 place in the source
  tare inspect ./app --format json --loops --calls > app.json
  tare inspect ./app --format dot --from main --depth 3 | dot -Tsvg > calls.svg
  tare inspect ./app --cfg solve | dot -Tsvg > solve.svg
  tare inspect old/app --compare new/app         what changed from one build to
                                                 the next")]
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
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "from")]
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
  tare select ./app --preset mpi-path            counts by reason (JSON: for
                                                 each function)
  tare select ./app --preset auto --budget 1%    what stays cheap, and what it
                                                 is expected to cost
  tare select ./app --preset cc3 --list          one name a line
  tare select ./app --filter my.xml              what a filter file lets in
  tare select ./app --explain=solve              which rule decided on functions
                                                 with `solve` in their name
  tare select ./app --preset cc3 --format scorep > app.filter
                                                 the same choice for another
                                                 tool
  tare select --table ./app ./lib.so             how many functions each filter
                                                 of paper 2 leaves
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
    /// With --preset auto: choose as where every probe stays on, in tare profile --exact, tare instrument and lists for other tools
    #[arg(long, conflicts_with = "table")]
    pub(crate) exact: bool,
    /// How to write it
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: SelectFormat,
}

/// `tare instrument`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare instrument ./app -o app.tare              a copy with probes, and how it
  tare run -- mpirun -n 2 ./app.tare             is measured
  tare instrument ./app -o app.hooks --adapter cyg-profile
                                                 calls the hooks of
                                                 -finstrument-functions, without
                                                 recompiling
  tare instrument --print-adapter counting > my.xml
                                                 an adapter of your own
                                                 (docs/adapters.md):
                                                 --adapter my.xml
  tare instrument ./app -o app.tare --levels functions,loops,callsites
                                                 loops and call sites are
                                                 regions as well
                                                 (docs/instrument.md)
  tare instrument --check app.tare               is the copy whole, and what its
                                                 original gives?
  tare instrument --check app.hooks --adapter cyg-profile
                                                 the same, of a copy that an
                                                 adapter made
  tare instrument ./app --bisect --preset all -- ./app input
                                               which function must not be
                                               instrumented?")]
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
    #[arg(long, value_name = "NAME|FILE")]
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
    /// Hold the instrumented copy IMAGE against its original: every instruction, and every byte. For one that an adapter made: with that, and
    /// the options that it was made with
    #[arg(long, conflicts_with_all = ["output", "bisect"])]
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
