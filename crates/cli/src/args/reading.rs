//! What verbs take that read runs, or stand for runs: `report`, `view`, `compare`, `top`, `serve`, `query`, `simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Format, Job};

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

/// What to show.
#[derive(Clone, Debug, Args)]
pub(crate) struct Showing {
    /// What is taken off the times that are shown
    #[arg(long, value_enum, env = "TARE_COMPENSATE", default_value = "parallel")]
    pub(crate) compensate: Compensate,
    /// How many regions to show
    #[arg(long, value_name = "N", allow_negative_numbers = true, env = "TARE_TOP")]
    pub(crate) top: Option<usize>,
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
  tare report RUN                                findings, and what takes most
                                                 time
  tare report RUN --all                          every rank and region as text
  tare report RUN --compensate off               as measured
  tare report RUN --format html > run.html       one file with all views,
                                                 without network
  tare report RUN --format json | jq .whole      for programs
  tare report RUN --format collapsed | flamegraph.pl --countname ns > run.svg
  tare report RUN --format callgrind -o callgrind.out.run
  tare report RUN --format csv --ranks 0-3 -o csv
                                                 a file for each of the ranks:
                                                 csv/rank-00000.csv
  tare report RUN --format tau -o profiles       then, in that directory: pprof,
                                                 or paraprof
  tare report scorep-run/profile.cubex           what Score-P, Scalasca or TAU
                                                 measured
Other tools know no intervals: what is not to be trusted stands in one entry
of its own (docs/report.md).")]
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
    /// As text: every rank, region and place of waiting, in the place of the 50 that have most time
    #[arg(long, env = "TARE_ALL", conflicts_with = "top", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) all: bool,
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
    #[arg(long, value_name = "N", allow_negative_numbers = true, env = "TARE_LIMIT", default_value_t = tare_report::html::MOST_PATHS)]
    pub(crate) limit: usize,
    /// Leave source lines out of the page
    #[arg(long, env = "TARE_NO_SOURCE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_source: bool,
}

/// `tare view`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare view RUN                                  writes RUN/report.html and
                                                 opens it where there is a
                                                 display
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
  tare compare OLD NEW                           what got slower from one run to
                                                 the other
  tare compare OLD1 OLD2 OLD3 --with NEW1 NEW2 NEW3
                                                 several runs on each side: the
                                                 noise between runs counts
  tare compare RUN1 RUN2 RUN4                    side by side; changes are from
                                                 the first
  tare compare --inclusive OLD NEW               what got slower together with
                                                 what it calls
  tare compare --least 2% OLD NEW --format json
  tare compare OLD NEW --format html -o compare.html
  tare compare scorep-old/profile.cubex NEW      against a file of Cube, or a
                                                 directory of TAU's profiles

Exit status:
  0   nothing got slower by --least or more that can be told
  1   the run or a region did: beyond the 95 % interval of the difference, which
      holds the noise between runs, and by --least of the first side's time
  2   it looks so, but all sides are single runs, which do not tell that noise:
      measure again
  65  a run still runs, was stopped, or did not end as the others")]
pub(crate) struct CompareArguments {
    /// Run directories, directories of TAU's profiles, files of Cube; each is a side of its own, or with --with all are the first side
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Runs of the second side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) with: Vec<PathBuf>,
    /// Compare regions with what they call, in place of their own time alone
    #[arg(long, env = "TARE_INCLUSIVE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) inclusive: bool,
    /// What does not count: changes below this part of the first side's time (default: 1 %, or 5 % where all sides are
    /// single runs, whose noise is not known)
    #[arg(long, value_name = "P%", env = "TARE_LEAST", allow_hyphen_values = true, value_parser = parse_percent)]
    pub(crate) least: Option<f64>,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: SidesFormat,
    /// Where to write it (default: stdout)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Reads a part of a whole, as `2%`.
fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().strip_suffix('%').unwrap_or(text.trim()).trim().parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a percentage from 0 to 100, such as 2%".to_string())
}

/// `tare top`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare top RUN                                   a run that goes on, or has
                                                 ended
  tare top -- mpirun -n 4 ./app input            measure a program, and watch it
  tare top --preset all -- mpirun -n 4 ./app     with the options of
                                                 `tare profile`
  tare top RUN --once                            one frame as text
  tare top RUN --format json                     the same for programs

Keys: 1 regions, 2 ranks, 3 messages, 4 call paths; arrows, Enter; / finds,
s sorts, c compensated or measured, space freezes, ? says all, q quits.")]
pub(crate) struct TopArguments {
    /// Run directory; or a directory of TAU's profiles, or a file of Cube
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) run: Option<PathBuf>,
    /// With a command: directory for the run (default: named after the program and the time)
    #[arg(short, long, value_name = "DIR", env = "TARE_OUTPUT")]
    pub(crate) output: Option<PathBuf>,
    /// How often the run is read [default: 1, and as seldom as it takes to need at most 0.5 % of a processor]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, env = "TARE_INTERVAL")]
    pub(crate) interval: Option<f64>,
    /// Print one frame as text
    #[arg(long)]
    pub(crate) once: bool,
    /// How to write it; json is what one frame shows
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// What is taken off the times
    #[arg(long, value_enum, env = "TARE_COMPENSATE", default_value = "parallel")]
    pub(crate) compensate: Compensate,
    /// With a command: what of it is measured, and how
    #[command(flatten)]
    pub(crate) job: Job,
}

/// `tare serve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tare serve RUN                                 prints an address with a token:
                                                 the page, anew while the run
                                                 goes on
  ssh -L 7717:localhost:7717 NODE                then the address works here,
                                                 too
  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:7717/metrics
                                                 Prometheus' text; also
                                                 /report.json and
                                                 /query?q=QUESTION
  tare serve RUN --listen 0.0.0.0:7717           for whoever has the address,
                                                 from other machines as well")]
pub(crate) struct ServeArguments {
    /// Run directory; or a directory of TAU's profiles, or a file of Cube
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
  tare query RUN loop at app.c:40                and what is nested in it:
                                                 events in loop at app.c:40
  tare query RUN self by region top 10           where the time goes
  tare query RUN where                           where each rank is now

A question: [total|mean|longest] MEASURES [of WHAT] [in|under WHAT] [by AXIS]
            [on ranks 0-3,7] [top N]
  MEASURES  time, self, count, waiting, transmission, messages, bytes,
            measured, correction
  WHAT      program, functions, loops, calls, communication, events, regions;
            any of them, or none, with NAME, 'a name with blanks', /REGEX/ or
            FILE:LINE
  AXIS      region, caller, peer, rank, thread, host
docs/query.md says what each of them means.")]
pub(crate) struct QueryArguments {
    /// Run directory; or a directory of TAU's profiles, or a file of Cube
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
  tare simulate docs/examples/slack.sim          how far off each model is, and
                                                 the ends of the first ranks
  tare simulate docs/examples/halo.sim --ranks 100000
  tare simulate FILE --format json               every rank

A description says what each rank computes, calls, sends and receives, and
what communication and probes cost:
  ranks 2; probes cost 50ns
  if rank == 0 { call work times 1000 each 30ns; send to 1 }
  else { recv from 0 }")]
pub(crate) struct SimulateArguments {
    /// The description (docs/simulate.md)
    pub(crate) file: PathBuf,
    /// So many ranks, in the place of what the description says
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) ranks: Option<u32>,
    /// What random numbers follow from, in the place of what the description says
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// How many ranks to show
    #[arg(long, value_name = "N", allow_negative_numbers = true, env = "TARE_TOP")]
    pub(crate) top: Option<usize>,
    /// How to write it
    #[arg(long, value_enum, env = "TARE_FORMAT", default_value = "text")]
    pub(crate) format: Format,
}
