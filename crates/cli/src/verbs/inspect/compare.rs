//! Two builds of an image, compared.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use tare_report::inspect::Inspection;
use tare_report::inspect::compare::{self, Comparison};

use super::gather::Wanted;
use crate::args::{InspectArguments, InspectFormat};
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::results::output_page;
use crate::stdout;

/// Prints what the other build changes.
pub(super) fn compare(arguments: &InspectArguments, other: &Path) -> Result<ExitCode, Failure> {
    if !matches!(arguments.format, InspectFormat::Table | InspectFormat::Json) {
        return Err(Failure::new(Code::Usage, "a comparison is a table or JSON").remedy("leave out --format, or take --format json"));
    }
    let wanted = Wanted::of(arguments)?;
    let comparison = Comparison::of(side(arguments, &arguments.image, &wanted)?, side(arguments, other, &wanted)?);
    match arguments.format {
        InspectFormat::Json => stdout::write_line(compare::json(&comparison))?,
        _ => stdout::write(compare::text(&comparison, arguments.top, &|raw| tare_image::demangle(raw).into_owned(), &output_page()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn side(arguments: &InspectArguments, path: &Path, wanted: &Wanted) -> Result<Inspection, Failure> {
    let bytes = image_file::read(path)?;
    let files = DebugFiles::find(path, &bytes, &DebugPath::parse(&arguments.debug_path));
    let analysis = Analysis::of(path, &bytes, &files)?;
    wanted.say_unmatched(&analysis, path);
    let mut inspection = super::inspection(path, &analysis, wanted);
    name_plainly(&mut inspection, &analysis);
    Ok(inspection)
}

/// Of several names at one address another linker may prefer another.
fn name_plainly(inspection: &mut Inspection, analysis: &Analysis<'_>) {
    let all = analysis.program.functions.iter().map(|one| (one.name.as_str(), one.plainest_name()));
    let plain: HashMap<&str, &str> = all.filter(|(name, plainest)| name != plainest).collect();
    for function in &mut inspection.functions {
        if let Some(&name) = plain.get(function.name.as_str()) {
            (function.name, function.demangled) = (name.to_owned(), analysis.shown(name));
        }
        for callee in &mut function.callees {
            if let Some(&name) = plain.get(callee.as_str()) {
                name.clone_into(callee);
            }
        }
    }
}
