//! `tare compare A B`: several runs side by side, and what got slower beyond its uncertainty.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_report::compare::{Comparison, Outcome, Side, Times, html, json, text};

use crate::args::{CompareArguments, SidesFormat};
use crate::failure::{Code, Failure};
use crate::progress::during;
use crate::results::{Results, page_for};
use crate::stdout;
use crate::whole_file;

/// How the command ends where something got slower.
const SLOWER: u8 = 1;
/// How it ends where that cannot be told from the noise between runs.
const LOOKS_SLOWER: u8 = 2;

/// Writes the comparison to stdout, or where it is wanted; the exit status says whether anything got slower.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    if arguments.with.is_empty() && arguments.runs.len() < 2 {
        return Err(Failure::new(Code::Usage, "a comparison needs two runs").remedy("tare compare OLD NEW"));
    }
    let of_side: Vec<&[PathBuf]> =
        if arguments.with.is_empty() { arguments.runs.chunks(1).collect() } else { vec![&arguments.runs, &arguments.with] };
    let read: Vec<Vec<Results>> = of_side.iter().map(|paths| paths.iter().map(|path| results(path)).collect()).collect::<Result<_, Failure>>()?;
    alike(&read)?;
    let compensated = |run| Ok((Results::about_with_probed(run)?, run.compensated(&arguments.showing)));
    let all = || read.iter().map(|side| side.iter().map(compensated).collect()).collect::<Result<_, Failure>>();
    let runs: Vec<Vec<_>> = during("compensating", all)?;
    let sides: Vec<Side<'_>> = runs.iter().map(|runs| Side { runs: runs.iter().map(|(run, results)| (run, results)).collect() }).collect();
    let times = if arguments.inclusive { Times::Inclusive } else { Times::Exclusive };
    let comparison = during("comparing", || Comparison::of(&sides, times, arguments.least))
        .ok_or_else(|| Failure::new(Code::BadInput, "there is nothing to compare").remedy("`tare report` says what a run has measured"))?;
    let document = match arguments.format {
        SidesFormat::Text => text(&comparison, &page_for(arguments.output.as_deref(), arguments.showing.top)),
        SidesFormat::Json => json(&comparison) + "\n",
        SidesFormat::Html => html(&comparison),
    };
    match &arguments.output {
        Some(file) => whole_file::write(file, document.as_bytes())
            .map_err(|error| Failure::io(Code::CannotWrite, "write", file, &error).remedy("name another place with -o"))?,
        None => stdout::write(document)?,
    }
    Ok(match comparison.outcome() {
        Outcome::NotSlower => ExitCode::SUCCESS,
        Outcome::LooksSlower => ExitCode::from(LOOKS_SLOWER),
        Outcome::Slower => ExitCode::from(SLOWER),
    })
}

/// The runs have ended alike: the time of one that failed says nothing about that of one that did not.
fn alike(read: &[Vec<Results>]) -> Result<(), Failure> {
    let mut ended = read.iter().flatten().filter_map(|run| Some((run.run.path.display(), run.ended()?)));
    let Some((first, how)) = ended.next() else { return Ok(()) };
    let Some((other, otherwise)) = ended.find(|(_, other)| *other != how) else { return Ok(()) };
    Err(Failure::new(Code::BadInput, format!("{first} ended with {how}, {other} with {otherwise}"))
        .remedy("compare runs that ended alike; `tare report` shows what each holds"))
}

/// A run in which something was measured, from its begin to its end.
fn results(path: &Path) -> Result<Results, Failure> {
    let results = Results::open(path)?;
    if results.profile.locations.iter().all(|location| location.nodes.is_empty()) {
        let nothing = format!("{} holds no times: nothing was measured", path.display());
        return Err(Failure::new(Code::BadInput, nothing).remedy("`tare report` on it says why"));
    }
    if let Some(files) = results.missing() {
        let failure = Failure::new(Code::BadInput, format!("{files}: what is missing would be taken for a change"));
        return Err(failure.remedy("compare whole runs; `tare report` shows what this one holds"));
    }
    if let Some(how) = results.cut_off() {
        let part = format!("{} {how}: its times are of a part of the program", path.display());
        return Err(Failure::new(Code::BadInput, part).remedy("compare runs that came to their end; `tare report` shows what it holds"));
    }
    Ok(results)
}
