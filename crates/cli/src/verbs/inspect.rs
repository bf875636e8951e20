//! `tare inspect IMAGE`: the functions of an image with their properties.

use std::process::ExitCode;

use tare_report::inspect::{Function, Image, Inspection, Part};

use crate::args::{InspectArguments, TableFormat};
use crate::failure::Failure;
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::progress::Step;
use crate::results::page;

/// Prints the table, or the JSON or CSV document.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<ExitCode, Failure> {
    let bytes = image_file::read(&arguments.image)?;
    let analysis = Analysis::of(&arguments.image, &bytes)?;
    let step = Step::begin("measuring functions");
    let lines = analysis.lines();
    let functions = analysis.program.functions.iter().map(|one| function(&analysis, one, lines.as_ref())).collect();
    drop(step);
    let image = Image {
        path: arguments.image.display().to_string(),
        build_id: analysis.build_id(),
        pie: analysis.image.kind().is_position_independent(),
        stripped: analysis.image.is_stripped(),
    };
    let inspection = Inspection { image, functions };
    match arguments.format {
        TableFormat::Table => print!("{}", tare_report::inspect::text(&inspection, &page(None))),
        TableFormat::Json => println!("{}", tare_report::inspect::json(&inspection)),
        TableFormat::Csv => print!("{}", tare_report::inspect::csv(&inspection)),
    }
    Ok(ExitCode::SUCCESS)
}

fn function(analysis: &Analysis<'_>, function: &tare_code::Function, lines: Option<&tare_image::lines::Lines<'_>>) -> Function {
    let metrics = analysis.metrics(function, lines);
    Function {
        name: function.name.clone(),
        demangled: tare_image::demangle(&function.name).into_owned(),
        aliases: function.aliases.clone(),
        address: function.entry,
        size: function.size(),
        parts: function.parts.iter().map(|part| Part { address: part.start, size: part.end - part.start }).collect(),
        file: metrics.source.as_ref().map(|source| source.file.clone()),
        line: metrics.source.as_ref().map(|source| source.line),
        lines: metrics.source.as_ref().map(|source| source.lines),
        instructions: metrics.instructions,
        blocks: metrics.blocks,
        edges: metrics.edges,
        exits: metrics.exits,
        cyclomatic: metrics.cyclomatic,
        loops: metrics.loops,
        loop_depth: metrics.loop_depth,
        call_sites: metrics.call_sites,
        callees: metrics.callees,
        indirect_calls: metrics.indirect_calls,
        unresolved_jumps: metrics.unresolved_jumps,
    }
}
