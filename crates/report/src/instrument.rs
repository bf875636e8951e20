//! What became of the functions of an image that was instrumented, as text and as the `instrument` document.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::inspect::left_over;
use crate::layout::{Glyphs, Page, Writer};
use crate::number::{exact_count, time_with_unit};
use crate::select::{Decision, Unmatched};

/// What `instrument` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instrumented {
    /// Path of the instrumented copy.
    pub output: String,
    /// Numbers of functions.
    pub functions: FunctionCounts,
    /// Bytes of text that are in no function and do not only fill space.
    pub left_over: u64,
    /// Bytes of text.
    pub text: u64,
    /// Functions that were refused.
    pub refusals: Vec<Decision>,
    /// Numbers of places of probes.
    pub sites: SiteCounts,
    /// Loops and call sites of instrumented functions that were left alone.
    pub refused_sites: Vec<RefusedSite>,
    /// Phases of the work, in order.
    pub phases: Vec<Phase>,
    /// What in the filters matches nothing.
    pub unmatched: Vec<Unmatched>,
}

/// Numbers of places of probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SiteCounts {
    /// Places that have a probe.
    pub patched: usize,
    /// Loops and call sites that have none.
    pub refused: usize,
}

/// A loop or call site of an instrumented function that was left alone.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RefusedSite {
    /// Raw name of the function.
    pub function: String,
    /// Link address of the loop's header or the call.
    pub address: u64,
    /// `loop`, `iteration` or `callsite`.
    pub kind: String,
    /// Why.
    pub reason: String,
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
        left_over: u64,
        refusals: &'a [Decision],
        sites: &'a SiteCounts,
        refused_sites: &'a [RefusedSite],
        phases: &'a [Phase],
        unmatched: &'a [Unmatched],
    }
    let Instrumented { output, functions, left_over, refusals, sites, refused_sites, phases, unmatched, .. } = instrumented;
    let left_over = *left_over;
    crate::json::written(&Document { schema: crate::json::SCHEMA, output, functions, left_over, refusals, sites, refused_sites, phases, unmatched })
}

/// What is in no function is said from this part of the text on.
const NOTEWORTHY: f64 = 0.01;

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
    if instrumented.left_over as f64 >= NOTEWORTHY * instrumented.text as f64 && instrumented.left_over > 0 {
        writer.labelled("Left over", &left_over(instrumented.left_over, glyphs));
    }
    for (reason, refused) in by_reason(&instrumented.refusals) {
        writer.labelled("Refused", &refusals(reason, &refused, glyphs));
    }
    let sites = &instrumented.sites;
    writer.labelled("Sites", &format!("{} patched, {} refused", number(sites.patched), number(sites.refused)));
    for ((kind, reason), count) in by_kind(&instrumented.refused_sites) {
        writer.labelled("Left alone", &format!("{} {kind}{}: {reason}", number(count), if count == 1 { "" } else { "s" }));
    }
    if timings && !instrumented.phases.is_empty() {
        let phase = |phase: &Phase| format!("{} {}", phase.name, time_with_unit(phase.seconds, glyphs));
        writer.labelled("Time", &instrumented.phases.iter().map(phase).collect::<Vec<_>>().join(", "));
    }
    writer.finish()
}

/// Refusals by their reason, the most usual one first, in the order of their addresses.
pub(crate) fn by_reason<'a>(refused: impl IntoIterator<Item = &'a Decision>) -> Vec<(&'a str, Vec<&'a Decision>)> {
    let mut grouped: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
    for one in refused {
        grouped.entry(&one.reason).or_default().push(one);
    }
    let mut grouped: Vec<_> = grouped.into_iter().collect();
    grouped.sort_by_key(|(_, refused)| Reverse(refused.len()));
    grouped
}

/// How many functions that were refused for the same reason are named.
const EXAMPLES: usize = 3;

/// Functions that were refused for one reason: all of them where they are few, else how many, and the first.
pub(crate) fn refusals(reason: &str, refused: &[&Decision], glyphs: &Glyphs) -> String {
    let shown: Vec<String> = refused.iter().take(EXAMPLES).map(|one| named(one)).collect();
    let shown = shown.join(", ");
    match refused.len() {
        0..=EXAMPLES => format!("{shown}: {reason}"),
        count => {
            format!("{} functions, {shown} and {} more: {reason}", exact_count(count as u64, glyphs), exact_count((count - EXAMPLES) as u64, glyphs))
        }
    }
}

/// A function with the address at which its image has it.
fn named(one: &Decision) -> String {
    format!("{} at {:#x}", one.shown, one.address)
}

/// How many there are of each kind for each reason.
fn by_kind(refused: &[RefusedSite]) -> BTreeMap<(&str, &str), usize> {
    let mut counted = BTreeMap::new();
    for site in refused {
        *counted.entry((site.kind.as_str(), site.reason.as_str())).or_default() += 1;
    }
    counted
}
