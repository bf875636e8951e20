//! What a check of an instrumented copy found to be right, as text and as the `check` document.

use serde::Serialize;

use crate::layout::{Page, Writer};
use crate::number::exact_count;

/// A copy that is what instrumenting its original gives.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Checked {
    /// Path of the copy.
    pub image: String,
    /// Path of the original.
    pub original: String,
    /// The adapter that made it; none where it measures by our own runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Regions that it measures.
    pub regions: Regions,
    /// Probe sites.
    pub sites: usize,
    /// Whether original bodies are overwritten with traps.
    pub poisoned: bool,
}

/// Numbers of regions by what they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Regions {
    /// Functions.
    pub functions: usize,
    /// Loops.
    pub loops: usize,
    /// Loops whose iterations are regions.
    pub iterations: usize,
    /// Call sites.
    pub callsites: usize,
}

/// The `check` document.
#[must_use]
pub fn json(checked: &Checked) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        #[serde(flatten)]
        checked: &'a Checked,
    }
    crate::json::written(&Document { schema: crate::json::SCHEMA, checked })
}

/// What was compared with what.
#[must_use]
pub fn text(checked: &Checked, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let number = |number: usize| exact_count(number as u64, glyphs);
    let Checked { image, original, adapter, regions, sites, poisoned } = checked;
    let (with, but) = match adapter {
        Some(adapter) => (format!(" with {adapter}"), ""),
        None => (String::new(), " but for source files and lines"),
    };
    let what = format!("{image} is what instrumenting {original}{with} gives, byte by byte{but}, and its code does what the original's does");
    writer.words("", 2, &what);
    let Regions { functions, loops, iterations, callsites } = *regions;
    let regions =
        format!("{} functions, {} loops, {} iterations, {} call sites", number(functions), number(loops), number(iterations), number(callsites));
    writer.labelled("Regions", &regions);
    writer.labelled("Sites", &number(*sites));
    if *poisoned {
        writer.labelled("Original", "overwritten with traps where functions were moved");
    }
    writer.finish()
}
