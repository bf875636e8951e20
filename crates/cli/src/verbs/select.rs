//! `tare select IMAGE`: what would be measured, and why.

mod shares;

use std::path::Path;
use std::process::ExitCode;

use tare_report::select::{Decided, Selected};
use tare_report::shell;
use tare_select::Selection;
use tare_select::budget::Keeper;
use tare_select::lists::{ListFormat, Nameless, inlined, listed};

use crate::args::{SelectArguments, SelectFormat};
use crate::choice::{self, Choice};
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::{Analysis, UnknownSnippet};
use crate::pattern::Pattern;
use crate::progress::Step;
use crate::results::output_page;
use crate::stdout;

/// Prints counts and reasons, decisions, names, a list for another tool, or the JSON document.
pub(crate) fn select(arguments: &SelectArguments) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.print_preset {
        if let Some(image) = arguments.images.first() {
            let what = format!("--print-preset prints the filter of a preset, which no image is needed for; {} is not read", image.display());
            let remedy =
                format!("tare select --print-preset {name} prints it, tare select {} --preset {name} shows what it lets in", shell::path(image));
            return Err(Failure::new(Code::Usage, what).remedy(remedy));
        }
        stdout::write(choice::preset(name)?.text())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.table {
        return shares::print(arguments);
    }
    let [image] = arguments.images.as_slice() else {
        return Err(several_images(arguments));
    };
    let choice = Choice::of(&arguments.selection, keeper(arguments))?;
    crate::budget::refuse_where_nothing_runs(&arguments.selection, choice.limiting())?;
    if is_for_others(arguments) && !arguments.exact {
        crate::budget::say_that_probes_stay_on(choice.limiting());
    }
    let pattern = arguments.explain.as_deref().map(Pattern::parse).transpose()?;
    let bytes = image_file::read(image)?;
    let files = DebugFiles::find(image, &bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(image, &bytes, &files)?;
    let step = Step::begin(format!("selecting functions of {}", image.display()));
    let chosen = analysis.select(&choice)?;
    drop(step);
    let unmatched = analysis.unmatched(&choice);
    if let Some(unknown) = UnknownSnippet::find(&chosen.selection, |_, _| false) {
        eprintln!("tare: {unknown} that measures; only an adapter that has it can insert it (tare instrument --adapter)");
    }
    if let Some(format) = list_format(arguments) {
        print_list(&analysis, &chosen.selection, format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut decisions = Selected { unmatched, ..analysis.decisions(&chosen) };
    if let Some(pattern) = &pattern {
        keep_named(&mut decisions, pattern, image)?;
    }
    match arguments.format {
        SelectFormat::Json => stdout::write_line(tare_report::select::json(&decisions))?,
        SelectFormat::Csv => stdout::write(tare_report::select::explained_csv(&decisions))?,
        _ if pattern.is_some() => stdout::write(tare_report::select::explained(&decisions, &output_page()))?,
        _ => stdout::write(tare_report::select::text(&decisions, &output_page()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Leaves the functions that have such a name; that there is none is an error where there are others.
fn keep_named(decisions: &mut Selected, pattern: &Pattern, image: &Path) -> Result<(), Failure> {
    let is_empty = |decisions: &Selected| decisions.selected.is_empty() && decisions.rejected.is_empty();
    if is_empty(decisions) {
        return Ok(());
    }
    let is_wanted = |one: &Decided| pattern.matches(&one.name) || pattern.matches(&one.shown);
    decisions.selected.retain(is_wanted);
    decisions.rejected.retain(is_wanted);
    if is_empty(decisions) {
        let what = format!("no function of {} has `{pattern}` in its name", image.display());
        return Err(Failure::new(Code::NoInput, what)
            .remedy("--explain alone lists all functions; loops, calls and statements are decided with the function in which they stand"));
    }
    Ok(())
}

/// More than one image is named, or what was meant as a pattern of `--explain`.
fn several_images(arguments: &SelectArguments) -> Failure {
    let failure = Failure::new(Code::Usage, "more than one image is named");
    let stray = arguments.images.iter().find(|path| !path.exists()).filter(|_| arguments.explain.is_some());
    failure.remedy(match stray {
        Some(pattern) => {
            format!("no file is called {}: a pattern follows --explain behind `=`, as in --explain={}", pattern.display(), pattern.display())
        }
        None => "name one image, or ask for the --table of several".to_string(),
    })
}

/// Other tools leave all probes on.
fn keeper(arguments: &SelectArguments) -> Keeper {
    if arguments.exact || is_for_others(arguments) { Keeper::Choice } else { Keeper::Runtime }
}

fn is_for_others(arguments: &SelectArguments) -> bool {
    list_format(arguments).is_some_and(|format| format != ListFormat::Names)
}

/// The list that is asked for, if one is.
fn list_format(arguments: &SelectArguments) -> Option<ListFormat> {
    match arguments.format {
        _ if arguments.list => Some(ListFormat::Names),
        SelectFormat::Scorep => Some(ListFormat::ScoreP),
        SelectFormat::Tau => Some(ListFormat::Tau),
        SelectFormat::Gcc => Some(ListFormat::Gcc),
        SelectFormat::Xray => Some(ListFormat::XRay),
        SelectFormat::Text | SelectFormat::Json | SelectFormat::Csv => None,
    }
}

fn print_list(analysis: &Analysis<'_>, selection: &Selection, format: ListFormat) -> Result<(), Failure> {
    let mut functions = listed(&analysis.program, selection);
    if format == ListFormat::Gcc {
        match analysis.inlines() {
            Some(inlines) => functions.extend(inlined(inlines.names(), &functions)),
            None => eprintln!(
                "tare: {} has no debug information: functions that were inlined everywhere are not in the list, and GCC instruments them",
                analysis.path().display()
            ),
        }
    }
    let Some(written) = format.write(&functions) else { return Ok(()) };
    stdout::write(written.text)?;
    if written.nameless != Nameless::default() {
        let Nameless { selected, rejected } = written.nameless;
        eprintln!(
            "tare: {}: {selected} selected functions and {rejected} others have no name that another tool could know, and are not in the list\n      \
             try: with symbols or a debug file they have names; --list names functions by their addresses",
            analysis.path().display()
        );
    }
    if written.inexact > 0 {
        let functions = if written.inexact == 1 { "function that is" } else { "functions that are" };
        eprintln!("tare: {} {functions} not selected cannot be told from selected ones in this format; --list can tell them apart", written.inexact);
    }
    Ok(())
}
