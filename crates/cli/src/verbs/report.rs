//! `tare report DIR`: the results of a run, also of one that was killed or still runs.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use tare_report::export::Format;

use crate::args::{ReportArguments, ReportFormat};
use crate::failure::{Code, Failure};
use crate::results::Results;
use crate::rundir::RunDirectory;
use crate::whole_file;

/// Writes the report to stdout, or where it is wanted.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let run = RunDirectory::open(&arguments.run)?;
    if arguments.format == ReportFormat::Tau && arguments.output.is_none() {
        return Err(Failure::new(Code::Usage, "profiles of TAU are several files").remedy("name a directory for them with -o DIR"));
    }
    let results = Results::read(&run)?;
    let document = match arguments.format {
        ReportFormat::Text => results.text(&arguments.showing, true).into_bytes(),
        ReportFormat::Json => (results.json(&arguments.showing) + "\n").into_bytes(),
        ReportFormat::Html => results.html(&arguments.showing, !arguments.sources.no_source).into_bytes(),
        ReportFormat::Tau => return tau(&results, arguments),
        ReportFormat::Collapsed => exported(&results, arguments, Format::Collapsed),
        ReportFormat::Speedscope => exported(&results, arguments, Format::Speedscope),
        ReportFormat::Callgrind => exported(&results, arguments, Format::Callgrind),
        ReportFormat::Firefox => exported(&results, arguments, Format::Firefox),
        ReportFormat::Pprof => exported(&results, arguments, Format::Pprof),
        ReportFormat::Cube => exported(&results, arguments, Format::Cube),
        ReportFormat::Prometheus => exported(&results, arguments, Format::Prometheus),
        ReportFormat::Csv => exported(&results, arguments, Format::Csv),
    };
    match &arguments.output {
        Some(file) => whole_file::write(file, &document).map_err(|error| cannot(file, &error))?,
        None => print(arguments.format, &document)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn cannot(place: &Path, error: &std::io::Error) -> Failure {
    Failure::io(Code::CannotWrite, "write", place, error).remedy("name another place with -o")
}

fn print(format: ReportFormat, document: &[u8]) -> Result<(), Failure> {
    let is_binary = matches!(format, ReportFormat::Pprof | ReportFormat::Cube);
    if is_binary && std::io::stdout().is_terminal() {
        return Err(Failure::new(Code::Usage, "this format is not for terminals").remedy("name a file with -o FILE"));
    }
    std::io::stdout().write_all(document).map_err(|error| cannot(Path::new("stdout"), &error))
}

fn exported(results: &Results, arguments: &ReportArguments, format: Format) -> Vec<u8> {
    let (document, removed) = results.export(&arguments.showing, format);
    if removed > 0 {
        eprintln!("tare: {removed} call paths have times that are not to be trusted; their sum stands in [not to be trusted]");
    }
    document
}

fn tau(results: &Results, arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let Some(folder) = &arguments.output else { return Ok(ExitCode::SUCCESS) };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    for (name, text) in results.tau(&arguments.showing) {
        let file = folder.join(name);
        whole_file::write(&file, text.as_bytes()).map_err(|error| cannot(&file, &error))?;
    }
    Ok(ExitCode::SUCCESS)
}
