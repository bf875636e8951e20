//! Where threads wait for one another: a table below that of the ranks.

use std::fmt::Write;

use super::markup::{self, escape};
use super::parts::{GLYPHS, Parts};
use crate::number::{Column, count, exact_count};

/// Places that are listed.
const PLACES: usize = 12;

/// The table; nothing where no thread waits.
pub(super) fn table(html: &mut String, parts: &Parts<'_>) {
    let places = &parts.whole.thread_places;
    let Some(first) = places.first() else { return };
    let regions = &parts.results.profile.regions;
    let unit = Column::for_largest(first.wait_s.max(first.measured_wait_s));
    let name = unit.unit.name(GLYPHS);
    let _ = write!(
        html,
        "<p class=\"muted\">Where threads wait for one another, over all threads. At the end of a parallel region, that of its members as well, until the next one.</p>\
         {}<thead><tr><th scope=\"col\">Operation</th><th scope=\"col\">Waiting, {name}</th><th scope=\"col\">Measured, {name}</th>\
         <th scope=\"col\">Calls</th><th scope=\"col\">Threads</th></tr></thead><tbody>",
        markup::table("Places where threads wait"),
    );
    for place in places.iter().take(PLACES) {
        let caller = place.caller.map_or_else(String::new, |caller| format!(" in {}", markup::name(&regions[caller.0].name, 48)));
        let _ = write!(
            html,
            "<tr data-region=\"{}\" data-caller=\"{}\"><th scope=\"row\"><span>{}</span>{caller}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            place.operation.0,
            place.caller.map_or_else(String::new, |caller| caller.0.to_string()),
            escape(&regions[place.operation.0].name),
            unit.plain(place.wait_s, GLYPHS),
            unit.plain(place.measured_wait_s, GLYPHS),
            if place.calls > 0 { count(place.calls, GLYPHS) } else { GLYPHS.unknown.to_string() },
            exact_count(place.threads as u64, GLYPHS),
        );
    }
    html.push_str("</tbody>");
    html.push_str(markup::TABLE_END);
    if places.len() > PLACES {
        let _ = write!(html, "<p class=\"muted\">{} more places where less is waited.</p>", places.len() - PLACES);
    }
}
