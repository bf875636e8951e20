//! `tare instrument IMAGE -o OUT`: writes the instrumented copy, and says what was refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use tare_report::instrument::Instrumented;
use tare_select::budget::Keeper;

use crate::adapter;
use crate::args::{Format, InstrumentArguments};
use crate::choice::Choice;
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::{Analysis, Copy};
use crate::results::page;
use crate::stdout;
use crate::verbs::bisect::bisect;
use crate::verbs::check::check;
use crate::whole_file::{Access, write_executable};

/// Writes the copy, whole or not at all; the report goes to stdout.
pub(crate) fn instrument(arguments: &InstrumentArguments) -> Result<ExitCode, Failure> {
    if let Some(name) = &arguments.print_adapter {
        stdout::write(adapter::text(name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let adapter = arguments.adapter.as_deref().map(adapter::load).transpose()?.filter(|one| !one.is_native());
    if arguments.check {
        return check(arguments, adapter.as_ref());
    }
    let Some(output) = arguments.output.as_deref() else { return bisect(arguments, adapter.as_ref()) };
    let choice = Choice::of(&arguments.selection, Keeper::Choice)?;
    crate::budget::refuse_where_nothing_runs(&arguments.selection, choice.limiting())?;
    let image = arguments.image.as_deref().ok_or_else(|| Failure::new(Code::Usage, "no image is named").remedy("tare instrument IMAGE -o OUT"))?;
    let bytes = image_file::read(image)?;
    refuse_place(image, output)?;
    let files = DebugFiles::find(image, &bytes, &DebugPath::of_environment());
    let analysis = Analysis::of(image, &bytes, &files)?;
    let copy = match &adapter {
        Some(adapter) => adapter::instrument(&analysis, &choice, adapter, arguments.poison)?,
        None => analysis.instrument(&choice, arguments.poison)?,
    };
    write_whole(output, &copy.bytes, image)?;
    crate::budget::say_that_probes_stay_on(choice.limiting());
    if adapter.is_none() && image_file::is_static(&analysis.image) {
        eprintln!(
            "tare: {} is statically linked: the runtime cannot be loaded into it, and the copy runs as the original, unmeasured\n      \
             try: link it dynamically (without -static), or bring code of your own: --adapter FILE",
            image.display()
        );
    }
    let view = Instrumented {
        unmatched: analysis.unmatched(&choice),
        left_over: analysis.program.left_over(&analysis.image),
        text: analysis.image.text().iter().map(|range| range.end - range.start).sum(),
        ..view(output, &copy, |raw| analysis.shown(raw))
    };
    match arguments.format {
        Format::Json => stdout::write_line(tare_report::instrument::json(&view))?,
        Format::Text => stdout::write(tare_report::instrument::text(&view, &page(None), arguments.timings))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A directory is no place for a copy; the original is never overwritten, by whatever name it is called.
fn refuse_place(image: &Path, output: &Path) -> Result<(), Failure> {
    let (Ok(one), Ok(other)) = (std::fs::metadata(image), std::fs::metadata(output)) else { return Ok(()) };
    if other.is_dir() {
        let within = output.join(format!("{}.tare", image.file_name().unwrap_or_default().display()));
        return Err(Failure::new(Code::CannotWrite, format!("{} is a directory", output.display()))
            .remedy(format!("name a file in it: -o {}", within.display())));
    }
    if (one.dev(), one.ino()) == (other.dev(), other.ino()) {
        return Err(Failure::new(Code::CannotWrite, format!("{} is the original itself", output.display())).remedy("name another file with -o OUT"));
    }
    Ok(())
}

/// Writes the copy, with the permissions of the original.
fn write_whole(path: &Path, bytes: &[u8], original: &Path) -> Result<(), Failure> {
    write_executable(path, bytes, Access::Of(original)).map_err(|error| {
        Failure::io(Code::CannotWrite, "write", path, &error).remedy("name a file in a directory with room, that you may write to, with -o OUT")
    })
}

fn view(output: &Path, copy: &Copy, shown: impl Fn(&str) -> String) -> Instrumented {
    let image = &copy.image;
    Instrumented {
        output: output.display().to_string(),
        functions: tare_report::instrument::FunctionCounts {
            found: image.found,
            selected: image.selected,
            instrumented: image.instrumented,
            refused: image.refusals.len(),
        },
        sites: tare_report::instrument::SiteCounts { patched: copy.sites, refused: copy.refused_sites.len() },
        refused_sites: copy.refused_sites.clone(),
        refusals: image
            .refusals
            .iter()
            .map(|refusal| tare_report::select::Decision {
                name: refusal.name.clone(),
                shown: shown(&refusal.name),
                address: refusal.address,
                reason: refusal.reason.clone(),
            })
            .collect(),
        phases: copy
            .phases
            .iter()
            .map(|(name, took)| tare_report::instrument::Phase { name: (*name).to_string(), seconds: took.as_secs_f64() })
            .collect(),
        ..Instrumented::default()
    }
}
