//! `tare compare A B`: several runs side by side, and what got slower beyond its uncertainty.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_report::compare::{Comparison, Side, html, json, text};

use crate::args::{CompareArguments, SidesFormat};
use crate::failure::{Code, Failure};
use crate::results::{Results, page};

/// How the command ends where something got slower.
const SLOWER: u8 = 1;

/// Prints the comparison to stdout; the exit status says whether anything got slower.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    if arguments.with.is_empty() && arguments.runs.len() < 2 {
        return Err(Failure::new(Code::Usage, "a comparison needs two runs").remedy("tare compare OLD NEW"));
    }
    let of_side: Vec<&[PathBuf]> =
        if arguments.with.is_empty() { arguments.runs.chunks(1).collect() } else { vec![&arguments.runs, &arguments.with] };
    let read: Vec<Vec<Results>> = of_side.iter().map(|paths| paths.iter().map(|path| results(path)).collect()).collect::<Result<_, Failure>>()?;
    let runs: Vec<Vec<_>> = read.iter().map(|side| side.iter().map(|run| (run.about(), run.compensated(&arguments.showing))).collect()).collect();
    let sides: Vec<Side<'_>> = runs.iter().map(|runs| Side { runs: runs.iter().map(|(run, results)| (run, results)).collect() }).collect();
    let comparison = Comparison::of(&sides, arguments.least)
        .ok_or_else(|| Failure::new(Code::BadInput, "there is nothing to compare").remedy("`tare report` says what a run has measured"))?;
    match arguments.format {
        SidesFormat::Text => print!("{}", text(&comparison, &page(arguments.showing.top))),
        SidesFormat::Json => println!("{}", json(&comparison)),
        SidesFormat::Html => print!("{}", html(&comparison)),
    }
    Ok(if comparison.is_slower() { ExitCode::from(SLOWER) } else { ExitCode::SUCCESS })
}

/// A run in which something was measured.
fn results(path: &Path) -> Result<Results, Failure> {
    let results = Results::open(path)?;
    if results.profile.locations.iter().all(|location| location.nodes.is_empty()) {
        let nothing = format!("{} holds no times: nothing was measured", path.display());
        return Err(Failure::new(Code::BadInput, nothing).remedy("`tare report` on it says why"));
    }
    Ok(results)
}
