//! The summary: what stands on the first screen, and on the first sheet of paper, without any script.

use std::fmt::Write;

use tare_compensate::Mode;

use super::markup::{TABLE_END, escape, name, table, with_code};
use super::parts::{GLYPHS, Parts};
use super::ranks;
use crate::layout::Page;
use crate::number::{Column, exact_count, figure_and_time, more, share, time_with_unit};
use crate::text::{trust_words, what_times_are};
use crate::view::{
    ClassRow, FindingText, LINES, Size, Time, Trust, class_rows, finding_texts, goes_on, knows_waiting, no_finding, nothing_measured,
    remedy_for_nothing, unended, without_processor,
};

/// Regions in the table of the summary.
const TOP: usize = 15;
/// Findings that are shown at once.
const FINDINGS: usize = 7;

pub(super) fn write(html: &mut String, parts: &Parts<'_>) {
    html.push_str("<section id=\"summary\" aria-labelledby=\"summary-h\" tabindex=\"-1\"><h2 id=\"summary-h\" class=\"unseen\">Summary</h2>");
    stopped(html, parts);
    match (&parts.time, &parts.trust) {
        (Some(time), Some(trust)) => measured(html, parts, time, trust),
        _ => nothing(html, parts),
    }
    html.push_str("</section>");
}

fn stopped(html: &mut String, parts: &Parts<'_>) {
    if let Some(signal) = parts.run.signal() {
        let after = time_with_unit(parts.run.wall_s, GLYPHS);
        let _ =
            write!(html, "<p class=\"note bad\">Stopped by {}, {after} after the command began; all data up to then is here.</p>", escape(signal));
    }
    if let Some(words) = unended(parts.run, parts.results, &Page::default(), GLYPHS) {
        let _ = write!(html, "<p class=\"note bad\">Cut off: {}.</p>", escape(&words));
    }
}

fn nothing(html: &mut String, parts: &Parts<'_>) {
    let reason = nothing_measured(parts.results, parts.run).unwrap_or_else(|| "the program ended before its first event".to_string());
    let remedy = remedy_for_nothing(parts.results, parts.run);
    let _ = write!(html, "<p class=\"note\">Nothing was measured: {}.</p><p>Try: {}</p>", escape(&reason), escape(&remedy));
}

fn measured(html: &mut String, parts: &Parts<'_>, time: &Time, trust: &Trust) {
    let mode = parts.results.shown.mode;
    let (shown, beside) = figure_and_time(&time.shown, time.measured_s, GLYPHS);
    let measured = time_with_unit(time.measured_s, GLYPHS);
    let so_far = if goes_on(parts.run, parts.results) { " so far" } else { "" };
    let _ = match mode {
        Mode::Off if parts.run.was_compensated.is_some() => {
            write!(html, "<p class=\"lead\"><strong>{measured}</strong> compensated, as it was exported</p>")
        }
        Mode::Off => write!(html, "<p class=\"lead\"><strong>{measured}</strong> measured{so_far}, not compensated</p>"),
        _ => write!(
            html,
            "<p class=\"lead\"><strong>{shown}</strong> {}{so_far}; measured {beside}, dilation {}</p>",
            if mode == Mode::Local { "compensated locally" } else { "compensated" },
            time.dilation_in_words(GLYPHS)
        ),
    };
    let word = if trust.is_good() { "good" } else { "bad" };
    let _ = write!(html, "<p>Trust: <span class=\"{word}\">{}</span> <a href=\"#trust\">why</a></p>", escape(&trust_words(trust, GLYPHS)));
    if let Some(efficiency) = parts.whole.efficiency {
        let (balance, communication) = (efficiency.load_balance, efficiency.communication);
        let _ = write!(
            html,
            "<p>Parallel efficiency <strong>{:.2}</strong> = load balance {balance:.2} × communication {communication:.2} \
             <span class=\"muted\">(0.80 and more is good)</span></p>",
            efficiency.parallel()
        );
    }
    if let Some(words) = without_processor(parts.results, GLYPHS) {
        let _ = write!(html, "<p>Processors: {}</p>", escape(&words));
    }
    classes(html, &class_rows(&parts.whole.classes, knows_waiting(parts.run, parts.results.profile)));
    findings(html, parts, &finding_texts(parts.results.profile, parts.run, &parts.whole.findings, trust, Some(&Page::default()), GLYPHS));
    regions(html, parts);
    ranks::strip(html, parts);
    foot(html, parts);
}

/// One bar of all classes, with a legend that is a table.
fn classes(html: &mut String, rows: &[ClassRow]) {
    const WIDTH: f64 = 1000.0;
    if rows.len() < 2 {
        return;
    }
    html.push_str("<figure class=\"classes\"><svg viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
    let words: Vec<String> = rows.iter().map(|row| format!("{} {}", row.name, share(row.share, GLYPHS))).collect();
    let _ = write!(html, "Where the time went: {}\">", words.join(", "));
    let mut x = 0.0;
    for row in rows {
        let width = WIDTH * row.share.clamp(0.0, 1.0);
        let _ = write!(html, "<rect class=\"class-{}\" x=\"{x:.1}\" width=\"{width:.1}\" height=\"40\"/>", row.id);
        x += width;
    }
    html.push_str("</svg><figcaption>");
    for row in rows {
        let _ = write!(
            html,
            "<span><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"class-{}\" width=\"12\" height=\"12\"/></svg> {} <b>{}</b></span> ",
            row.id,
            row.name,
            share(row.share, GLYPHS)
        );
    }
    html.push_str("</figcaption></figure>");
}

fn findings(html: &mut String, parts: &Parts<'_>, findings: &[FindingText]) {
    html.push_str("<h3>Findings</h3>");
    if findings.is_empty() {
        let _ = write!(html, "<p>None: {}.</p>", escape(&no_finding(parts.run, parts.results, parts.whole, &Page::default(), GLYPHS)));
        return;
    }
    html.push_str("<ol class=\"findings\">");
    for (place, finding) in findings[..findings.len().min(FINDINGS)].iter().enumerate() {
        // The first of a kind is found by its id, further ones by that with their number.
        let number = 1 + findings[..place].iter().filter(|other| other.id == finding.id).count();
        let id = if number == 1 { finding.id.to_string() } else { format!("{}-{number}", finding.id) };
        let unit = Column::for_largest(finding.seconds.value);
        let won = finding.won(&format!("<b>{}\u{202f}{}</b>", unit.figure(&finding.seconds, GLYPHS), unit.unit.name(GLYPHS)));
        let _ = write!(
            html,
            "<li id=\"{}\" data-region=\"{}\">{won}<span class=\"where\">{}</span>: {}. <i>{}.</i>",
            id,
            finding.region,
            escape(&finding.at),
            escape(&finding.what),
            finding.certainty
        );
        if let Some(attempt) = &finding.attempt {
            let _ = write!(html, " Try: {}.", with_code(attempt));
        }
        html.push_str("</li>");
    }
    html.push_str("</ol>");
    if findings.iter().take(FINDINGS).any(|finding| finding.is_begin) {
        let _ = write!(html, "<p class=\"muted\">{LINES}</p>");
    }
}

fn regions(html: &mut String, parts: &Parts<'_>) {
    let shown = &parts.rows[..parts.rows.len().min(TOP)];
    let largest = shown.iter().map(|row| row.shown.value.abs().max(row.measured_s.abs())).fold(0.0, f64::max);
    let unit = Column::for_largest(largest);
    let has_waiting = shown.iter().any(|row| row.waiting_s != 0.0);
    let has_place = shown.iter().any(|row| row.place.is_some());
    let has_ranks = shown.iter().any(|row| row.slowest.is_some());
    let _ = write!(
        html,
        "<h3 id=\"top-h\">Regions that take most time</h3>{}<thead><tr><th scope=\"col\">Region</th>{}<th scope=\"col\">Exclusive, {unit}</th><th scope=\"col\" class=\"further\">Measured, {unit}</th><th scope=\"col\">Share</th><th scope=\"col\" class=\"further\">Calls</th>{}{}</tr></thead><tbody>",
        table("Regions that take most time"),
        if has_place { "<th scope=\"col\" class=\"place\">Place</th>" } else { "" },
        if has_waiting { format!("<th scope=\"col\" class=\"further\">Waiting, {}</th>", unit.unit.name(GLYPHS)) } else { String::new() },
        if has_ranks { "<th scope=\"col\" class=\"further\">Slowest rank</th>" } else { "" },
        unit = unit.unit.name(GLYPHS)
    );
    for row in shown {
        let _ = write!(
            html,
            "<tr data-region=\"{}\"><th scope=\"row\">{}</th>{}<td data-of=\"value\">{}</td><td class=\"further\" data-of=\"measured\">{}</td><td data-of=\"share\">{}<svg class=\"share\" viewBox=\"0 0 100 10\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect x=\"{:.1}\" width=\"{:.1}\" height=\"10\"/></svg></td><td class=\"further\" data-of=\"calls\">{}</td>",
            row.region,
            name(&row.name, 56),
            if has_place { format!("<td class=\"place\">{}</td>", row.place.as_deref().map(escape).unwrap_or_default()) } else { String::new() },
            unit.figure(&row.shown, GLYPHS),
            unit.plain(row.measured_s, GLYPHS),
            share(row.share, GLYPHS),
            100.0 - 100.0 * row.share.clamp(0.0, 1.0),
            100.0 * row.share.clamp(0.0, 1.0),
            row.calls_in_words(GLYPHS)
        );
        if has_waiting {
            let _ = write!(html, "<td class=\"further\" data-of=\"wait\">{}</td>", unit.plain(row.waiting_s, GLYPHS));
        }
        if has_ranks {
            let slowest = row.slowest.filter(|(_, ahead)| *ahead >= 0.005).map(|(rank, ahead)| format!("{rank} ({})", more(ahead, GLYPHS)));
            let _ = write!(html, "<td class=\"further\" data-of=\"slowest\">{}</td>", slowest.unwrap_or_else(|| GLYPHS.unknown.to_string()));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody>");
    html.push_str(TABLE_END);
    let left = &parts.rows[shown.len()..];
    if !left.is_empty() {
        let part: f64 = left.iter().map(|row| row.share).sum();
        let _ =
            write!(html, "<p class=\"muted\">{} more regions take {} of the time.</p>", exact_count(left.len() as u64, GLYPHS), share(part, GLYPHS));
    }
}

fn foot(html: &mut String, parts: &Parts<'_>) {
    let size = Size::of(parts.results);
    let _ = write!(html, "<p class=\"muted\">{}", what_times_are(&size, GLYPHS));
    if size.ranks > 0 && parts.run.measured_by.is_none() {
        html.push_str(" Time and ranks are from MPI_Init to MPI_Finalize.");
    }
    if parts.results.shown.mode != Mode::Off {
        html.push_str(" ± is the 95\u{202f}% half-width, without the noise between runs. † not to be trusted, see <a href=\"#trust\">Trust</a>.");
    }
    html.push_str("</p>");
}
