//! The profile in the formats of other tools.
//!
//! All of them are written from one [`Sheet`]: call paths with whole nanoseconds, callers before callees, the heaviest first.
//! Other tools know no intervals and no negative times: exclusive times that are negative, or that the overhead exceeds or
//! hides, stand as 0 at their place and with their sum in one path `[not to be trusted]`, and are counted in [`Sheet::removed`].
//! What the values are, measured or compensated, stands in each file where its format has room for a title.
//! Names stand as they are where a format can write any character (JSON, CSV, Prometheus); elsewhere `held` has them.

mod callgrind;
mod collapsed;
mod csv;
mod cube;
mod firefox;
mod pprof;
mod prometheus;
mod sheet;
mod speedscope;
mod tau;

pub use prometheus::{Counters, Dialect};
pub use sheet::Sheet;

use crate::layout::{Page, SUBSTITUTE, plain};
use crate::run::{Results, Run};

/// A format that is one document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Stacks with a number each, as flame graphs are made of.
    Collapsed,
    /// For <https://www.speedscope.app>.
    Speedscope,
    /// For `callgrind_annotate` and `KCachegrind`.
    Callgrind,
    /// For <https://profiler.firefox.com>.
    Firefox,
    /// For `go tool pprof`.
    Pprof,
    /// For Prometheus and what reads its text.
    Prometheus,
    /// For spreadsheets: a row for each call path of each location.
    Csv,
}

/// A document that would be larger than anybody can do with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// What its values would take.
    pub bytes: u64,
    /// What they may take.
    pub most: u64,
}

/// What [`Format::Prometheus`] has, for whoever asks again and again: counters say no less than they have said.
#[must_use]
pub fn scraped(run: &Run, results: &Results<'_>, dialect: Dialect, counters: &mut Counters) -> String {
    prometheus::write(run, results, dialect, counters)
}

/// The document, and how many times were left out of it as not to be trusted: of its parts, where it has several, of that with most.
#[must_use]
pub fn document(format: Format, run: &Run, results: &Results<'_>) -> (Vec<u8>, usize) {
    let sheet = Sheet::of_all(results);
    let mut removed = sheet.removed;
    let mut counted = |(document, most): (String, usize)| {
        removed = most;
        document.into_bytes()
    };
    let bytes = match format {
        Format::Collapsed => collapsed::write(&sheet).into_bytes(),
        Format::Speedscope => counted(speedscope::write(run, results, &sheet)),
        Format::Callgrind => callgrind::write(run, results, &sheet).into_bytes(),
        Format::Firefox => counted(firefox::write(run, results, &sheet)),
        Format::Pprof => pprof::write(run, results, &sheet),
        Format::Prometheus => prometheus::write(run, results, Dialect::Prometheus, &mut Counters::default()).into_bytes(),
        Format::Csv => csv::write(results).into_bytes(),
    };
    // The others have room for what is negative or marked, or begin at 0 on each rank.
    let moves = !matches!(format, Format::Csv | Format::Prometheus);
    (bytes, if moves { removed } else { 0 })
}

/// A file of Cube, as Score-P writes it: `.cubex`.
///
/// # Errors
/// Where it would be too large: it has a value for each call path on each thread.
pub fn cube(run: &Run, results: &Results<'_>) -> Result<Vec<u8>, TooLarge> {
    cube::write(run, results)
}

/// How many call paths of all threads have a time below 0, which Cube's files have as 0.
#[must_use]
pub fn negative(results: &Results<'_>) -> usize {
    let nodes = results.shown.locations.iter().flat_map(|location| &location.nodes);
    nodes.filter(|node| node.exclusive.value < 0.0).count()
}

/// TAU's profiles: a file for each thread, with its name; and how many times of all of them were left out as not to be trusted.
#[must_use]
pub fn tau(run: &Run, results: &Results<'_>) -> (Vec<(String, String)>, usize) {
    tau::write(run, results)
}

/// Whether a profile of TAU is one that was exported from here.
#[must_use]
pub fn is_own_tau(profile: &[u8]) -> bool {
    tau::is_own(profile)
}

/// What files say of how their times were compensated, where their format has room for it: read back, they are not taken for those of
/// a tool whose overhead is in them.
const COMPENSATION: &str = "Tareweight compensation";

/// A text for formats that cannot write all characters: those on which a terminal would act, and those which the format takes for
/// itself, have the substitute that they have in all our texts.
fn held(text: &str, taken: &[char]) -> String {
    plain(text, &Page::default()).replace(taken, &SUBSTITUTE.to_string())
}

/// What the values of a file are.
fn title(run: &Run, results: &Results<'_>) -> String {
    let of = match results.profile.processes.as_slice() {
        [alone] => alone.rank.map_or_else(String::new, |rank| format!(", rank {rank}")),
        _ => String::new(),
    };
    match run.compensation(results.shown.mode) {
        "off" => format!("{}{of}, as measured", run.program),
        mode => format!("{}{of}, compensated ({mode})", run.program),
    }
}

/// The locations of a process that has several threads, of which each is written beside their sum; none where it has one alone.
fn threads_of(results: &Results<'_>, process: usize) -> Vec<usize> {
    let locations = &results.profile.locations;
    let threads: Vec<usize> = (0..locations.len()).filter(|&index| locations[index].process.0 == process).collect();
    if threads.len() > 1 { threads } else { Vec::new() }
}
