//! A run as one HTML file that needs nothing else: no network, no server, and for its first view no JavaScript.
//!
//! The parts: `summary` writes what stands without a script (time, trust, classes, findings, regions, ranks); `data` puts the
//! columns of every view into the file; the scripts under `page/` draw them. [`Source`] carries the lines of source files.
//!
//! What always holds: whatever a name contains, it stays text; the file asks for nothing outside of itself, which its content
//! security policy states; what is aggregated or left out is said in the page.

mod classes;
mod columns;
mod costs;
mod data;
mod heat;
mod live;
pub(crate) mod markup;
mod matrix;
mod of_ranks;
mod parts;
mod ranks;
mod summary;
mod tree;
mod waits;

use base64::Engine;
use sha2::{Digest, Sha256};

pub use tree::MOST_PATHS;

use crate::run::{Results, Run};
use crate::view::{Time, Trust, Whole, nothing_measured, region_rows};
use markup::escape;

pub use live::live;

/// A source file whose lines the page carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// As the regions name it.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The style, and the scripts in the order in which they build on each other.
const STYLE: &str = include_str!("../page/page.css");
const SCRIPTS: [&str; 23] = [
    include_str!("../page/numbers.js"),
    include_str!("../page/columns.js"),
    include_str!("../page/model.js"),
    include_str!("../page/of-ranks.js"),
    include_str!("../page/search.js"),
    include_str!("../page/dom.js"),
    include_str!("../page/table.js"),
    include_str!("../page/regions.js"),
    include_str!("../page/icicle-layout.js"),
    include_str!("../page/paints.js"),
    include_str!("../page/icicle.js"),
    include_str!("../page/sandwich-layout.js"),
    include_str!("../page/sandwich.js"),
    include_str!("../page/heat.js"),
    include_str!("../page/sizes.js"),
    include_str!("../page/matrix.js"),
    include_str!("../page/question.js"),
    include_str!("../page/detail.js"),
    include_str!("../page/source.js"),
    include_str!("../page/waits.js"),
    include_str!("../page/summary.js"),
    include_str!("../page/keys.js"),
    include_str!("../page/main.js"),
];

/// The scripts as one module: their imports of each other are left out, so no name may stand in two of them.
#[must_use]
pub fn script() -> String {
    let mut script = String::new();
    for line in SCRIPTS.iter().flat_map(|part| part.lines()) {
        if !line.starts_with("import ") {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    script
}

/// Files of regions whose lines are worth carrying: those that take most time themselves first, and behind them those that do with what they call.
#[must_use]
pub fn wanted_sources(results: &Results<'_>) -> Vec<String> {
    let whole = Whole::of(results);
    let all: f64 = whole.totals.iter().map(|total| total.exclusive.value.max(0.0)).sum();
    let itself = region_rows(results, &whole).into_iter().filter(|row| row.share >= data::LEAST_SHARE_WITH_SOURCE).map(|row| row.region);
    let mut with_others: Vec<_> = whole.totals.iter().filter(|total| total.inclusive.value >= data::LEAST_SHARE_WITH_SOURCE * all).collect();
    with_others.sort_by(|one, other| other.inclusive.value.total_cmp(&one.inclusive.value));
    let mut files: Vec<String> = Vec::new();
    for region in itself.chain(with_others.into_iter().map(|total| total.region.0)) {
        let file = &results.profile.regions[region].file;
        if !file.is_empty() && !files.contains(file) {
            files.push(file.clone());
        }
    }
    files
}

/// What a page says of who made it.
const GENERATOR: &str = "<meta name=\"generator\" content=\"Tareweight\">";

/// Whether a file that begins so is a page of ours.
#[must_use]
pub fn is_page(head: &[u8]) -> bool {
    head.windows(GENERATOR.len()).any(|words| words == GENERATOR.as_bytes())
}

/// The page of a run, which carries at most `limit` call paths one by one.
#[must_use]
pub fn page(run: &Run, results: &Results<'_>, sources: &[Source], limit: usize) -> String {
    let whole = Whole::of(results);
    let rows = region_rows(results, &whole);
    let time = Time::of(results).filter(|_| nothing_measured(results, run).is_none());
    let trust = time.as_ref().map(|time| Trust::of(run, results, &rows, time));
    let parts = parts::Parts { run, results, whole: &whole, rows: &rows, time, trust, limit };
    let script = script();
    let mut html = String::with_capacity(1 << 20);
    html.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    html.push_str(GENERATOR);
    html.push_str(&format!("\n<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy(&script)));
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.push_str(&format!("<title>{} – Tareweight</title>\n<style>{STYLE}</style></head>\n<body>\n", escape(&run.program)));
    parts::write(&mut html, &parts);
    html.push_str("<script type=\"application/json\" id=\"data\">");
    // JSON knows no `<` outside of strings, where it may be written as a number.
    html.push_str(&data::document(&parts, sources).replace('<', "\\u003c"));
    html.push_str("</script>\n<script type=\"module\">");
    html.push_str(&script);
    html.push_str("</script>\n</body></html>\n");
    html
}

/// A page of its own that has no script, in the style of the others.
pub(crate) fn without_scripts(title: &str, body: &str) -> String {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} – Tareweight</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n",
        escape(title)
    )
}

/// Nothing is loaded from anywhere; the one script and the one style are known by their hashes.
fn policy(script: &str) -> String {
    policy_of(script, STYLE, "img-src data: blob:")
}

/// The one script and the one style, known by their hashes, and what else is let in.
fn policy_of(script: &str, style: &str, more: &str) -> String {
    let hash = |text: &str| base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; {more}; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}
