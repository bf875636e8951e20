//! The page around the page of a run that goes on: it has the run read again and again.

use super::markup::escape;
use super::policy_of;

const STYLE: &str = include_str!("../../page/live.css");
const SCRIPT: &str = include_str!("../../page/live.js");

/// The page that a server gives first. It asks the server for `state`, whether the run is over, and for `page`.
#[must_use]
pub fn live(program: &str) -> String {
    let policy = policy_of(SCRIPT, STYLE, "frame-src 'self'; connect-src 'self'");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0} – Tareweight</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <header id=\"bar\"><h1>{0}</h1><span id=\"age\" role=\"status\" aria-live=\"polite\">The run is being read.</span><button type=\"button\" id=\"pause\">Pause</button></header>\n\
         <noscript><p>Scripts are off: <code>tare report</code> and <code>tare view</code> show the run without them.</p></noscript>\n\
         <main></main>\n<script type=\"module\">{SCRIPT}</script>\n</body></html>\n",
        escape(program)
    )
}
