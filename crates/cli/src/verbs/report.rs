//! `tare report DIR`: the results of a run, also of one that was killed or still runs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_profile::ProcessIndex;
use tare_report::export::{self, Format, TooLarge};
use tare_report::{Results, Run, html, json, text};

use crate::args::{Carried, Ranks, ReportArguments, ReportFormat};
use crate::failure::{Code, Failure};
use crate::foreign_file::profiles_in;
use crate::progress::during;
use crate::results::{self, page_for};
use crate::{source_files, stdout, whole_file};

/// Writes the report to stdout, or where it is wanted.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    if arguments.format == ReportFormat::Tau && arguments.output.is_none() {
        return Err(Failure::new(Code::Usage, "profiles of TAU are several files").remedy("name a directory for them with -o DIR"));
    }
    let read = results::Results::open(&arguments.run)?;
    let (run, results) = (read.about(), during("compensating", || read.compensated(&arguments.showing)));
    match (&arguments.ranks, &arguments.output) {
        (Some(ranks), Some(folder)) => during("writing the reports", || of_ranks(&run, &results, ranks, folder, arguments))?,
        (_, Some(folder)) if arguments.format == ReportFormat::Tau => {
            make_room(folder)?;
            during("writing the profiles", || tau(&run, &results, folder))?;
        }
        (_, Some(file)) => write(file, &during("putting the report together", || document(&run, &results, arguments))?)?,
        (_, None) => print(arguments.format, &during("putting the report together", || document(&run, &results, arguments))?)?,
    }
    if arguments.format == ReportFormat::Collapsed {
        eprintln!("tare: the numbers are nanoseconds, which the file cannot say: flamegraph.pl --countname ns");
    }
    Ok(ExitCode::SUCCESS)
}

/// The document as a whole.
fn document(run: &Run, results: &Results<'_>, arguments: &ReportArguments) -> Result<Vec<u8>, Failure> {
    let exported = |format| exported(run, results, format);
    Ok(match arguments.format {
        ReportFormat::Text => text::report(run, results, &page_for(arguments.output.as_deref(), Some(rows(arguments)))).into_bytes(),
        ReportFormat::Json => (json::report(run, results) + "\n").into_bytes(),
        ReportFormat::Html => self::html(run, results, &arguments.carried).into_bytes(),
        // Its files have been written one by one.
        ReportFormat::Tau => Vec::new(),
        ReportFormat::Collapsed => exported(Format::Collapsed),
        ReportFormat::Speedscope => exported(Format::Speedscope),
        ReportFormat::Callgrind => exported(Format::Callgrind),
        ReportFormat::Firefox => exported(Format::Firefox),
        ReportFormat::Pprof => exported(Format::Pprof),
        ReportFormat::Cube => cube(run, results)?,
        ReportFormat::Prometheus => exported(Format::Prometheus),
        ReportFormat::Csv => exported(Format::Csv),
    })
}

/// Rows of each table of the text.
fn rows(arguments: &ReportArguments) -> usize {
    const USUAL: usize = 50;
    if arguments.all { usize::MAX } else { arguments.showing.top.unwrap_or(USUAL) }
}

/// The page, with the sources that it may carry.
pub(crate) fn html(run: &Run, results: &Results<'_>, carried: &Carried) -> String {
    let sources = if carried.no_source { Vec::new() } else { source_files::read(&html::wanted_sources(results)) };
    html::page(run, results, &sources, carried.limit)
}

/// A document for each rank.
fn of_ranks(run: &Run, results: &Results<'_>, ranks: &Ranks, folder: &Path, arguments: &ReportArguments) -> Result<(), Failure> {
    let processes = &results.profile.processes;
    let there: Vec<u32> = processes.iter().filter_map(|process| process.rank).collect();
    if there.is_empty() {
        let what = format!("{} has no ranks", arguments.run.display());
        return Err(Failure::new(Code::BadInput, what).remedy("without --ranks, -o FILE names the one document of the run"));
    }
    if let Some(missing) = ranks.first_missing(&there) {
        let what = format!("there is no rank {missing} in {}", arguments.run.display());
        return Err(Failure::new(Code::BadInput, what).remedy("`tare report` lists the ranks; --ranks all takes every one"));
    }
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    if arguments.format == ReportFormat::Tau {
        make_room(folder)?;
    }
    for (index, rank) in processes.iter().enumerate().filter_map(|(index, process)| Some((index, process.rank?))).filter(|(_, rank)| ranks.has(*rank))
    {
        let belongs = |process: ProcessIndex| process.0 == index;
        let part = results.profile.only(belongs);
        let results = results.of_part(&part, belongs);
        if arguments.format == ReportFormat::Tau {
            tau(run, &results, folder)?;
        } else {
            write(&folder.join(file_of_rank(arguments.format, rank)), &document(run, &results, arguments)?)?;
        }
    }
    Ok(())
}

/// What the file of a rank is called. KCachegrind lists what is called after callgrind, and where it is asked for `callgrind.out.1`
/// takes files that have a number behind that for parts of one run, which it shows together and one by one.
fn file_of_rank(format: ReportFormat, rank: u32) -> String {
    let ending = match format {
        ReportFormat::Callgrind => return format!("callgrind.out.1.{rank:05}"),
        ReportFormat::Text => "txt",
        ReportFormat::Json => "json",
        ReportFormat::Html => "html",
        ReportFormat::Collapsed => "collapsed",
        ReportFormat::Speedscope => "speedscope.json",
        ReportFormat::Firefox => "firefox.json",
        ReportFormat::Pprof => "pb.gz",
        ReportFormat::Tau => "tau",
        ReportFormat::Cube => "cubex",
        ReportFormat::Prometheus => "prom",
        ReportFormat::Csv => "csv",
    };
    format!("rank-{rank:05}.{ending}")
}

fn cannot(place: &Path, error: &std::io::Error) -> Failure {
    Failure::io(Code::CannotWrite, "write", place, error).remedy("name another place with -o")
}

fn write(file: &Path, document: &[u8]) -> Result<(), Failure> {
    whole_file::write(file, document).map_err(|error| cannot(file, &error))
}

fn print(format: ReportFormat, document: &[u8]) -> Result<(), Failure> {
    let is_binary = matches!(format, ReportFormat::Pprof | ReportFormat::Cube);
    if is_binary && std::io::stdout().is_terminal() {
        return Err(Failure::new(Code::Usage, "this format is not for terminals").remedy("name a file with -o FILE"));
    }
    stdout::write(document)
}

fn exported(run: &Run, results: &Results<'_>, format: Format) -> Vec<u8> {
    let (document, removed) = export::document(format, run, results);
    say_removed(removed);
    document
}

fn say_removed(removed: usize) {
    if removed > 0 {
        let what = if removed == 1 { "call path has a time that is" } else { "call paths have times that are" };
        eprintln!("tare: {removed} {what} not to be trusted; what is positive stands in [not to be trusted]");
    }
}

fn cube(run: &Run, results: &Results<'_>) -> Result<Vec<u8>, Failure> {
    let file = export::cube(run, results).map_err(|large| too_large(&large))?;
    let negative = export::negative(results);
    if negative > 0 {
        eprintln!("tare: {negative} {} below 0, which the file has as 0", if negative == 1 { "time is" } else { "times are" });
    }
    Ok(file)
}

/// A format with a value for each call path on each thread, of a run with very many of both.
fn too_large(large: &TooLarge) -> Failure {
    let size = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let what =
        format!("the file would have {} of values, one for each call path on each thread; {} is the most", size(large.bytes), size(large.most));
    Failure::new(Code::CannotWrite, what)
        .remedy("--ranks 0-7 -o DIR writes a file for each of these ranks; --format tau and csv have only what was called")
}

/// Removes the profiles that an earlier export has left in a directory: readers take all that lie there for one run. Others' are not ours to
/// remove, and nothing is written beside them.
fn make_room(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let found = profiles_in(folder)?;
    let read = |path: &PathBuf| std::fs::read(path).map_err(|error| cannot(path, &error));
    for path in &found {
        if !export::is_own_tau(&read(path)?) {
            let what = format!("{} holds profiles of TAU that are not ours, such as {}", folder.display(), path.display());
            return Err(Failure::new(Code::CannotWrite, what).remedy("name another directory with -o DIR: all that lie in one are read as one run"));
        }
    }
    found.iter().try_for_each(|path| std::fs::remove_file(path).map_err(|error| cannot(path, &error)))
}

fn tau(run: &Run, results: &Results<'_>, folder: &Path) -> Result<(), Failure> {
    let (files, removed) = export::tau(run, results);
    say_removed(removed);
    files.into_iter().try_for_each(|(name, text)| write(&folder.join(name), text.as_bytes()))
}
