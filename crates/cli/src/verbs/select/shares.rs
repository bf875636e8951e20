//! `tare select --table IMAGE…`: paper 2's Table 1.

use std::path::Path;
use std::process::ExitCode;

use tare_report::select::Share;
use tare_select::{Preset, choose};

use crate::args::{SelectArguments, SelectFormat};
use crate::choice;
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::progress::Step;
use crate::results::output_page;
use crate::stdout;

/// The paper's columns: heading and preset.
const COLUMNS: [(&str, &str); 4] = [("CC 2+", "cc2"), ("CC 3+", "cc3"), ("LoC 5+", "loc5"), ("MPI path", "mpi-path")];

/// Prints the table of all images, with the reason where one cannot be read; the status is that of the first that cannot.
pub(crate) fn print(arguments: &SelectArguments) -> Result<ExitCode, Failure> {
    // What the environment asks of runs is no contradiction.
    if let Some(option) = ["--preset", "--filter"].into_iter().find(|option| is_given(option)) {
        return Err(Failure::new(Code::Usage, format!("the table has columns of its own, and {option} asks for another choice"))
            .remedy(format!("leave out {option}, or --table")));
    }
    let (mut rows, mut failed) = (Vec::new(), None);
    for image in &arguments.images {
        match row(image) {
            Ok(share) => rows.push(share),
            Err(failure) => {
                eprintln!("tare: {failure}");
                failed.get_or_insert(failure.exit_code());
                let path = image.display().to_string();
                // The row has the name already.
                let reason = failure.what.strip_prefix(&format!("{path} is ")).unwrap_or(&failure.what).to_owned();
                rows.push(Share { path, unread: Some(reason), ..Share::default() });
            }
        }
    }
    match arguments.format {
        SelectFormat::Text => stdout::write(tare_report::select::shares(&rows, &output_page()))?,
        SelectFormat::Json => stdout::write_line(tare_report::select::shares_json(&rows))?,
        SelectFormat::Csv => stdout::write(tare_report::select::shares_csv(&rows))?,
        _ => return Err(Failure::new(Code::Usage, "the table is no list of functions").remedy("--format text, json or csv")),
    }
    Ok(failed.unwrap_or(ExitCode::SUCCESS))
}

/// Whether an option stands in the command line.
fn is_given(option: &str) -> bool {
    std::env::args().any(|word| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

fn row(image: &Path) -> Result<Share, Failure> {
    let bytes = image_file::read(image)?;
    let files = DebugFiles::find(image, &bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(image, &bytes, &files)?;
    let _step = Step::begin(format!("measuring the functions of {}", image.display()));
    let lines = analysis.lines();
    let metrics: Vec<_> = analysis.program.functions.iter().map(|function| analysis.metrics(function, lines.as_ref())).collect();
    let mut share = Share { path: image.display().to_string(), has_lines: metrics.iter().any(|one| one.source.is_some()), ..Share::default() };
    for (head, name) in COLUMNS {
        let preset: Preset = choice::preset(name)?;
        let filter = choice::filter_of(preset)?;
        let known = |function: &tare_code::Function| {
            let index = analysis.program.function_entered_at(function.entry);
            index.and_then(|index| metrics.get(index)).cloned().unwrap_or_default()
        };
        let selection = choose(&analysis.program, &[filter], known);
        share.functions = selection.decisions.len();
        share.left.push((head, name, selection.selected().count()));
    }
    Ok(share)
}
