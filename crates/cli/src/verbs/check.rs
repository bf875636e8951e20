//! `tare instrument --check IMAGE`: holds an instrumented copy against its original.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tare_image::Image;
use tare_rewrite::check::{CheckError, Checked};
use tare_select::budget::Keeper;

use crate::adapter::{self, Loaded};
use crate::args::{Format, InstrumentArguments};
use crate::choice::Choice;
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::progress::Step;
use crate::results::page;
use crate::stdout;

/// Says what is right to stdout; what is wrong is an error. What an adapter brought does not stand in the copy: it is made again with the options
/// that are given.
pub(crate) fn check(arguments: &InstrumentArguments, adapter: Option<&Loaded>) -> Result<ExitCode, Failure> {
    let copy = arguments.image.as_deref().ok_or_else(|| Failure::new(Code::Usage, "no image is named").remedy("tare instrument --check IMAGE"))?;
    let bytes = image_file::read(copy)?;
    let path = path_of_original(copy, &image_file::parse(copy, &bytes)?)?;
    let original = arguments.original.clone().unwrap_or_else(|| PathBuf::from(&path));
    let original_bytes = read_original(arguments, &original)?;
    let files = DebugFiles::find(&original, &original_bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(&original, &original_bytes, &files)?;
    let step = Step::begin(format!("checking {}", copy.display()));
    let checked = match adapter {
        Some(adapter) => adapter::check(&analysis, &Choice::of(&arguments.selection, Keeper::Choice)?, adapter, &path, &bytes)?,
        None => tare_rewrite::check::check(&analysis.image, &analysis.program, &bytes, None),
    };
    drop(step);
    let checked = checked.map_err(|error| failure(copy, &original, adapter.is_some(), &error))?;
    let view = view(copy, &original, adapter, checked);
    match arguments.format {
        Format::Json => stdout::write_line(tare_report::check::json(&view))?,
        Format::Text => stdout::write(tare_report::check::text(&view, &page(None)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the copy says that its original is.
fn path_of_original(copy: &Path, image: &Image<'_>) -> Result<String, Failure> {
    let description = tare_rewrite::check::description(image).map_err(|error| {
        Failure::new(Code::BadInput, format!("{}: {error}", copy.display())).remedy("name a copy that `tare instrument IMAGE -o OUT` wrote")
    })?;
    Ok(description.path)
}

fn read_original(arguments: &InstrumentArguments, original: &Path) -> Result<Vec<u8>, Failure> {
    let remedy = "name the original with --original FILE";
    image_file::read(original).map_err(|failure| if arguments.original.is_some() { failure } else { failure.remedy(remedy) })
}

fn failure(copy: &Path, original: &Path, has_adapter: bool, error: &CheckError) -> Failure {
    let original = original.display();
    let remedy = match error {
        CheckError::NotInstrumented { .. } => "name a copy that `tare instrument IMAGE -o OUT` wrote".to_string(),
        CheckError::OtherBuild { .. } => format!("{original} is not what it was made from: name that with --original FILE"),
        CheckError::OtherCode { .. } => format!("if {original} is what it was made from, the copy was changed: instrument it again"),
        _ if has_adapter => format!(
            "give the adapter and the options that it was made with; if these are the ones, it was changed, or another version of tare \
             made it: instrument {original} again"
        ),
        _ => format!(
            "if an adapter made it, name that with --adapter, and the options that it was made with; else it was changed, or another version of \
             tare made it: instrument {original} again"
        ),
    };
    Failure::new(Code::BadInput, format!("{} is not as it should be: {error}", copy.display())).remedy(remedy)
}

fn view(copy: &Path, original: &Path, adapter: Option<&Loaded>, checked: Checked) -> tare_report::check::Checked {
    let regions = checked.regions;
    tare_report::check::Checked {
        image: copy.display().to_string(),
        original: original.display().to_string(),
        adapter: adapter.map(|adapter| adapter.name().to_string()),
        regions: tare_report::check::Regions {
            functions: regions.functions,
            loops: regions.loops,
            iterations: regions.iterations,
            callsites: regions.call_sites,
        },
        sites: checked.sites,
        poisoned: checked.is_poisoned,
    }
}
