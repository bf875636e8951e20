//! `tare inspect IMAGE`: the functions of an image with their properties.

mod gather;

use std::process::ExitCode;

use tare_report::inspect::{Image, Inspection, Listing, Order, Rows, UnknownColumn};

use crate::args::{InspectArguments, InspectFormat};
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::pattern::Pattern;
use crate::results::page;
use gather::Wanted;

/// Prints the table, or the document that is asked for.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<ExitCode, Failure> {
    let rows = rows(arguments)?;
    let order = arguments.sort.as_deref().map(|text| Order::parse(text, rows).map_err(unknown_column)).transpose()?;
    let pattern = arguments.functions.as_deref().map(Pattern::parse).transpose()?;
    let bytes = image_file::read(&arguments.image)?;
    let files = DebugFiles::find(&arguments.image, &bytes, &DebugPath::parse(&arguments.debug_path));
    let analysis = Analysis::of(&arguments.image, &bytes, &files)?;
    files.say_missing(&arguments.image);
    let inlined = arguments.inlined || arguments.format == InspectFormat::Json;
    let wanted = Wanted { pattern, loops: arguments.loops, calls: arguments.calls, inlined };
    let mut inspection = Inspection {
        image: Image {
            path: arguments.image.display().to_string(),
            build_id: analysis.build_id(),
            pie: analysis.image.kind().is_position_independent(),
            stripped: analysis.image.is_stripped(),
        },
        functions: gather::functions(&analysis, &wanted),
        found: analysis.program.functions.len(),
    };
    match arguments.format {
        InspectFormat::Table => print!("{}", Listing::new(&inspection, rows, order, arguments.top).text(&page(None))),
        InspectFormat::Csv => print!("{}", Listing::new(&inspection, rows, order, arguments.top).csv()),
        InspectFormat::Json => {
            inspection.arrange(order, arguments.top);
            println!("{}", tare_report::inspect::json(&inspection));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a row of the output is. A document holds everything beside its functions; tables are about one thing.
fn rows(arguments: &InspectArguments) -> Result<Rows, Failure> {
    if arguments.format == InspectFormat::Json {
        return Ok(Rows::Functions);
    }
    match (arguments.loops, arguments.calls, arguments.inlined) {
        (false, false, false) => Ok(Rows::Functions),
        (true, false, false) => Ok(Rows::Loops),
        (false, true, false) => Ok(Rows::Calls),
        (false, false, true) => Ok(Rows::Inlined),
        _ => Err(Failure::new(Code::Usage, "a table shows one of --loops, --calls and --inlined at a time")
            .remedy("choose one of them, or take them all with --format json")),
    }
}

fn unknown_column(error: UnknownColumn) -> Failure {
    Failure::new(Code::Usage, format!("there is no column `{}` to sort by", error.wanted))
        .remedy(format!("one of {}, with :desc for the greatest first", error.known.join(", ")))
}
