//! Where ranks and threads wait for one another: a table of each.

use std::fmt::Write;

use tare_compensate::whole::WaitPlace;

use super::markup::{self, escape};
use super::parts::{GLYPHS, Parts};
use crate::layout::Page;
use crate::number::{Column, count, exact_count};
use crate::view::{Waited, column_of_ranks, column_of_waits, for_whom, knows_waiting, longest, thread_wait_rows, unended, wait_rows};

/// Places that are listed, of ranks and of threads.
const PLACES: usize = 12;
/// Ranks that are named of those that wait.
const RANKS_NAMED: usize = 3;
/// Ranks that a place knows when ranks are selected.
const RANKS_MARKED: usize = 1024;

/// Both.
pub(super) fn section(html: &mut String, parts: &Parts<'_>) {
    html.push_str("<section id=\"waits\" aria-labelledby=\"waits-h\" tabindex=\"-1\"><h2 id=\"waits-h\">Waits</h2>");
    of_ranks(html, parts);
    of_threads(html, parts);
    html.push_str("</section>");
}

fn of_ranks(html: &mut String, parts: &Parts<'_>) {
    let rows = wait_rows(parts.results, parts.whole);
    if rows.is_empty() && !parts.results.profile.has_ranks() && !parts.whole.thread_places.is_empty() {
        return;
    }
    if rows.is_empty() {
        let profile = parts.results.profile;
        let was_cut_off = unended(parts.run, parts.results, &Page::default(), GLYPHS).is_some() || parts.run.stopped_by.is_some();
        let was_measured = parts.time.is_some();
        html.push_str(match (knows_waiting(parts.run, profile), was_cut_off) {
            (true, true) if was_measured && !profile.has_ranks() => "<p>No wait of a thread for another had ended when the run was cut off.</p>",
            (true, false) if was_measured && !profile.has_ranks() => "<p>No thread waited for another.</p>",
            _ if !was_measured => "<p>Nothing was measured.</p>",
            (false, _) => "<p>Where ranks waited is not known of this file.</p>",
            (true, true) => "<p>No wait of a rank for another had ended when the run was cut off.</p>",
            (true, false) => "<p>No rank waited for another.</p>",
        });
        return;
    }
    let listed = &rows[..rows.len().min(PLACES)];
    let unit = column_of_waits(listed.iter().map(|row| &row.waited));
    let name = unit.unit.name(GLYPHS);
    let (waiting, awaited) = (column_of_ranks(listed, |place| &place.waiters, unit), column_of_ranks(listed, |place| &place.awaited, unit));
    let _ = write!(
        html,
        "<p class=\"muted\">Where ranks wait for each other, mean over the ranks; compensated less than measured is waiting that measuring made, more is waiting that it hid.</p>\
         {}<thead><tr><th scope=\"col\">Operation</th><th scope=\"col\">Waiting, {name}</th><th scope=\"col\">Measured, {name}</th>\
         <th scope=\"col\">Calls</th><th scope=\"col\">Who waits, {}</th><th scope=\"col\">For whom, {}</th></tr></thead><tbody>",
        markup::table("Places where ranks wait"),
        waiting.name(GLYPHS),
        awaited.name(GLYPHS)
    );
    for row in listed {
        begin_row(html, &row.waited, &format!(" data-ranks=\"{}\"", waiting_ranks(row.place)), unit);
        let _ = write!(
            html,
            "<td>{}</td><td>{}</td><td>{}</td></tr>",
            count(row.calls, GLYPHS),
            longest(&row.place.waiters, RANKS_NAMED, waiting, GLYPHS),
            for_whom(row, RANKS_NAMED, awaited, GLYPHS)
        );
    }
    html.push_str("</tbody>");
    html.push_str(markup::TABLE_END);
    if rows.len() > PLACES {
        let _ = write!(html, "<p class=\"muted\">{} more places where less is waited.</p>", rows.len() - PLACES);
    }
}

/// Ranks with a tenth of the longest wait at least, those that wait most first and no more than [`RANKS_MARKED`].
fn waiting_ranks(place: &WaitPlace) -> String {
    let most = place.waiters.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let mut ranks: Vec<&(u32, f64)> = place.waiters.iter().filter(|(_, seconds)| *seconds > 0.0 && *seconds >= 0.1 * most).collect();
    ranks.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranks.iter().take(RANKS_MARKED).map(|(rank, _)| rank.to_string()).collect::<Vec<_>>().join(" ")
}

/// A row with the cells that both tables begin with: the place, and what is waited there. `marked` is what else the row bears.
fn begin_row(html: &mut String, waited: &Waited<'_>, marked: &str, unit: Column) {
    let (operation, caller) = waited.regions;
    let _ = write!(
        html,
        "<tr data-region=\"{}\" data-caller=\"{}\"{marked}><th scope=\"row\"><span>{}</span>{}</th><td>{}</td><td>{}</td>",
        operation.0,
        caller.map_or_else(String::new, |caller| caller.0.to_string()),
        escape(waited.operation),
        waited.caller.map_or_else(String::new, |caller| format!(" in {}", markup::name(caller, 48))),
        unit.plain(waited.shown_s, GLYPHS),
        unit.plain(waited.measured_s, GLYPHS),
    );
}

/// Nothing where no thread waits.
fn of_threads(html: &mut String, parts: &Parts<'_>) {
    let rows = thread_wait_rows(parts.results, parts.whole);
    if rows.is_empty() {
        return;
    }
    let listed = &rows[..rows.len().min(PLACES)];
    let unit = column_of_waits(listed.iter().map(|row| &row.waited));
    let name = unit.unit.name(GLYPHS);
    let _ = write!(
        html,
        "<p class=\"muted\">Where threads wait for one another: all threads together, mean over the ranks where there are some. At the end of a parallel region, that of its members as well, until the next one.</p>\
         {}<thead><tr><th scope=\"col\">Operation</th><th scope=\"col\">Waiting, {name}</th><th scope=\"col\">Measured, {name}</th>\
         <th scope=\"col\">Calls</th><th scope=\"col\">Threads</th></tr></thead><tbody>",
        markup::table("Places where threads wait"),
    );
    for row in listed {
        begin_row(html, &row.waited, "", unit);
        let _ = write!(
            html,
            "<td>{}</td><td>{}</td></tr>",
            row.calls.map_or_else(|| GLYPHS.unknown.to_string(), |calls| count(calls, GLYPHS)),
            exact_count(row.threads as u64, GLYPHS),
        );
    }
    html.push_str("</tbody>");
    html.push_str(markup::TABLE_END);
    if rows.len() > PLACES {
        let _ = write!(html, "<p class=\"muted\">{} more places where less is waited.</p>", rows.len() - PLACES);
    }
}
