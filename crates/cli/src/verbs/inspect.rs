//! `tare inspect IMAGE`: the functions of an image with their properties, its call graph, and what another build changes.

mod compare;
mod flow;
mod gather;
mod graph;

use std::path::Path;
use std::process::ExitCode;

use tare_report::inspect::{self, Image, Inspection, Listing, Order, Rows, UnknownColumn};

use crate::args::{InspectArguments, InspectFormat};
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::Analysis;
use crate::pattern::Pattern;
use crate::results::output_page;
use crate::stdout;
use gather::Wanted;

/// Prints the table, or the document that is asked for.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<ExitCode, Failure> {
    if let Some(other) = &arguments.compare {
        return compare::compare(arguments, other);
    }
    let rows = rows(arguments)?;
    let order = arguments.sort.as_deref().map(|text| Order::parse(text, rows).map_err(unknown_column)).transpose()?;
    let wanted = Wanted::of(arguments)?;
    let bytes = image_file::read(&arguments.image)?;
    let files = DebugFiles::find(&arguments.image, &bytes, &DebugPath::parse(&arguments.debug_path));
    let analysis = Analysis::of(&arguments.image, &bytes, &files)?;
    files.say_missing(&arguments.image);
    wanted.say_unmatched(&analysis, &arguments.image);
    if let Some(name) = &arguments.cfg {
        stdout::write(inspect::dot::control_flow(&flow::flow(&analysis, name)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    match arguments.format {
        InspectFormat::Dot => graph::print(&graph::graph(&analysis, arguments, &wanted)?, inspect::dot::call_graph)?,
        InspectFormat::Metacg => graph::print(&graph::graph(&analysis, arguments, &wanted)?, inspect::metacg)?,
        InspectFormat::Table => {
            stdout::write(Listing::new(&inspection(&arguments.image, &analysis, &wanted), rows, order, arguments.top).text(&output_page()))?
        }
        InspectFormat::Csv => stdout::write(Listing::new(&inspection(&arguments.image, &analysis, &wanted), rows, order, arguments.top).csv())?,
        InspectFormat::Json => {
            let mut inspection = inspection(&arguments.image, &analysis, &wanted);
            inspection.arrange(order, arguments.top);
            stdout::write_line(inspect::json(&inspection))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said of an image.
fn inspection(path: &Path, analysis: &Analysis<'_>, wanted: &Wanted) -> Inspection {
    Inspection {
        image: Image {
            path: path.display().to_string(),
            build_id: analysis.build_id(),
            pie: analysis.image.kind().is_position_independent(),
            stripped: analysis.image.is_stripped(),
            left_over: analysis.program.left_over(&analysis.image),
        },
        functions: gather::functions(analysis, wanted),
        found: analysis.program.functions.len(),
    }
}

/// What a row of the output is. A document holds everything beside its functions; tables are about one thing.
fn rows(arguments: &InspectArguments) -> Result<Rows, Failure> {
    let is_graph = matches!(arguments.format, InspectFormat::Dot | InspectFormat::Metacg);
    if arguments.cfg.is_some() && !matches!(arguments.format, InspectFormat::Table | InspectFormat::Dot) {
        return Err(Failure::new(Code::Usage, "--cfg is for graphviz alone").remedy("leave out --format"));
    }
    if arguments.from.is_some() && !is_graph {
        return Err(
            Failure::new(Code::Usage, "--from is about the call graph, and a table is asked for").remedy("add --format dot or --format metacg")
        );
    }
    if arguments.edges.is_some() && !is_graph {
        return Err(Failure::new(Code::Usage, "--edges is about the call graph, and a table is asked for")
            .remedy("add --format dot or --format metacg; in filters, path and depth take edges=\"possible\""));
    }
    let is_listed = arguments.loops || arguments.calls || arguments.inlined || arguments.sort.is_some() || arguments.top.is_some();
    if is_graph && is_listed {
        return Err(Failure::new(Code::Usage, "a call graph has no rows: --sort, --top, --loops, --calls and --inlined are about tables")
            .remedy("choose its part by --functions, or by --from and --depth"));
    }
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

/// The functions that a name stands for: those that are called so, or else those with it in their name; `0xADDRESS`, alone or
/// behind `name@`, is the one that is entered there.
fn named(analysis: &Analysis<'_>, name: &str) -> Result<Vec<usize>, Failure> {
    let functions = &analysis.program.functions;
    let address = name.rsplit('@').next().and_then(|last| u64::from_str_radix(last.strip_prefix("0x")?, 16).ok());
    if let Some(index) = address.and_then(|address| analysis.program.function_entered_at(address)) {
        return Ok(vec![index]);
    }
    let names = |index: &usize| std::iter::once(&functions[*index].name).chain(&functions[*index].aliases);
    let all = 0..functions.len();
    let exact: Vec<usize> = all.clone().filter(|index| names(index).any(|own| own == name || analysis.shown(own) == name)).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let pattern = Pattern::parse(name)?;
    let found: Vec<usize> = all.filter(|index| names(index).any(|own| pattern.matches(own) || pattern.matches(&analysis.shown(own)))).collect();
    if found.is_empty() {
        return Err(Failure::new(Code::BadInput, format!("no function has `{name}` in its name"))
            .remedy("tare inspect IMAGE lists the functions; /…/ is a regular expression"));
    }
    Ok(found)
}
