//! What became of the functions of an image that was instrumented, as text and as the `instrument` document.

use serde::Serialize;

use crate::layout::{Page, Writer};
use crate::number::{exact_count, time_with_unit};
use crate::select::Decision;

/// What `instrument` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instrumented {
    /// Path of the instrumented copy.
    pub output: String,
    /// Numbers of functions.
    pub functions: FunctionCounts,
    /// Functions that were refused.
    pub refusals: Vec<Decision>,
    /// Phases of the work, in order.
    pub phases: Vec<Phase>,
}

/// Numbers of functions of an image that was instrumented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FunctionCounts {
    /// Found.
    pub found: usize,
    /// Selected, what is never instrumented left out.
    pub selected: usize,
    /// Instrumented.
    pub instrumented: usize,
    /// Refused.
    pub refused: usize,
}

/// A phase of the work and its time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Seconds.
    pub seconds: f64,
}

/// The `instrument` document.
#[must_use]
pub fn json(instrumented: &Instrumented) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        output: &'a str,
        functions: &'a FunctionCounts,
        refusals: &'a [Decision],
        phases: &'a [Phase],
    }
    let Instrumented { output, functions, refusals, phases } = instrumented;
    crate::json::written(&Document { schema: crate::json::SCHEMA, output, functions, refusals, phases })
}

/// Counts and refusals by name; how long each phase took where `timings` are asked for.
#[must_use]
pub fn text(instrumented: &Instrumented, page: &Page, timings: bool) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let counts = &instrumented.functions;
    let number = |number: usize| exact_count(number as u64, glyphs);
    writer.words("", 2, &format!("{}:", instrumented.output));
    let functions = format!(
        "{} found, {} selected, {} instrumented, {} refused",
        number(counts.found),
        number(counts.selected),
        number(counts.instrumented),
        number(counts.refused)
    );
    writer.labelled("Functions", &functions);
    for refusal in &instrumented.refusals {
        writer.labelled("Refused", &format!("{} at {:#x}: {}", refusal.name, refusal.address, refusal.reason));
    }
    if timings && !instrumented.phases.is_empty() {
        let phase = |phase: &Phase| format!("{} {}", phase.name, time_with_unit(phase.seconds, glyphs));
        writer.labelled("Time", &instrumented.phases.iter().map(phase).collect::<Vec<_>>().join(", "));
    }
    writer.finish()
}
