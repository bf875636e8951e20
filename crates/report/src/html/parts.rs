//! The parts of the page in their order: what stands without a script, and the places that scripts fill.

use std::fmt::Write;

use tare_compensate::{Mark, Mode};

use super::markup::{self, escape};
use super::{classes, costs, ranks, summary, waits};
use crate::budget::Spent;
use crate::instrument::by_reason;
use crate::layout::Glyphs;
use crate::metrics;
use crate::number::{count, exact_count, plural, time_with_unit};
use crate::run::{Results, Run};
use crate::select::Decision;
use crate::shell;
use crate::switches;
use crate::view::{RegionRow, Size, Time, Trust, Whole, ending, rank_rows, reasons};

/// The characters of the page.
pub(super) const GLYPHS: &Glyphs = &Glyphs::PAGE;

/// What the page is made from.
pub(super) struct Parts<'a> {
    pub(super) run: &'a Run,
    pub(super) results: &'a Results<'a>,
    pub(super) whole: &'a Whole,
    pub(super) rows: &'a [RegionRow],
    /// `None` where nothing was measured.
    pub(super) time: Option<Time>,
    pub(super) trust: Option<Trust>,
    /// Call paths that are carried one by one.
    pub(super) limit: usize,
}

impl Parts<'_> {
    /// What a process of the program is called.
    pub(super) fn of_whom(&self) -> &'static str {
        if self.results.profile.has_ranks() { "rank" } else { "process" }
    }

    /// What several are called.
    pub(super) fn of_them(&self) -> &'static str {
        if self.results.profile.has_ranks() { "ranks" } else { "processes" }
    }
}

/// A section that scripts fill: its name and what it shows.
const FILLED: [(&str, &str, &str); 5] = [
    ("regions", "Regions", "Every region with its times; as a tree it opens along the heaviest path."),
    (
        "icicle",
        "Icicle",
        "Call paths: the width of a box is its inclusive time over all ranks, or those that are selected, or what of that is waiting; what it calls stands below it.",
    ),
    ("ranks", "Ranks", "Regions that differ most between ranks (rows), and what each rank (column) spent in them."),
    ("messages", "Messages", "Who sends (rows) to whom (columns)."),
    ("source", "Source", "Source lines of the selected region, with what was measured there."),
];

/// All of the page between `<body>` and the data.
pub(super) fn write(html: &mut String, parts: &Parts<'_>) {
    head(html, parts);
    html.push_str("<div id=\"stage\"><main>");
    summary::write(html, parts);
    FILLED[..3].iter().for_each(|part| filled(html, part));
    waits::section(html, parts);
    beside_time(html, parts);
    filled(html, &FILLED[3]);
    classes::write(html, parts);
    trust(html, parts);
    filled(html, &FILLED[4]);
    about(html, parts);
    html.push_str("</main><aside id=\"detail\" tabindex=\"-1\" aria-label=\"Selected region\" hidden></aside></div>");
    html.push_str("<div id=\"status\" role=\"status\" aria-live=\"polite\"></div>");
}

fn head(html: &mut String, parts: &Parts<'_>) {
    let size = Size::of(parts.results);
    let mut facts = Vec::new();
    if size.processes > 0 {
        facts.push(crate::text::processes_and_threads(&size, GLYPHS));
        facts.push(plural(size.hosts, "node", "nodes", GLYPHS));
    }
    facts.push(ending(parts.run, parts.results));
    facts.push(parts.run.started.clone());
    let facts: Vec<String> = facts.iter().filter(|fact| !fact.is_empty()).map(|fact| escape(fact)).collect();
    let _ = write!(
        html,
        "<a class=\"skip\" href=\"#summary\">Skip to the summary</a><header><div class=\"top\"><h1>{}</h1><p class=\"facts\">{}</p></div>\
         <div id=\"controls\"></div><nav aria-label=\"Views\"><a href=\"#summary\">Summary</a>",
        escape(&parts.run.program),
        facts.join(" · ")
    );
    let link = |html: &mut String, (id, title, _): &(&str, &str, &str)| {
        let _ = write!(html, "<a href=\"#{id}\" class=\"filled\" hidden>{title}</a>");
    };
    FILLED[..3].iter().for_each(|part| link(html, part));
    html.push_str("<a href=\"#waits\">Waits</a>");
    if !metrics::sheets(parts.results.profile, ROWS_BESIDE_TIME, GLYPHS).is_empty() {
        html.push_str("<a href=\"#metrics\">Metrics</a>");
    }
    link(html, &FILLED[3]);
    if classes::rows(parts).is_some() {
        html.push_str("<a href=\"#classes\">Classes</a>");
    }
    html.push_str("<a href=\"#trust\">Trust</a>");
    link(html, &FILLED[4]);
    html.push_str("<a href=\"#about\">About</a></nav></header>");
    html.push_str("<noscript><p class=\"note\">Scripts are off: the summary, trust and what was measured are all here; the other views need them.</p></noscript>");
}

fn filled(html: &mut String, (id, title, text): &(&str, &str, &str)) {
    let _ = write!(
        html,
        "<section id=\"{id}\" class=\"filled\" aria-labelledby=\"{id}-h\" tabindex=\"-1\" hidden><h2 id=\"{id}-h\">{title}</h2><p class=\"muted\">{text}</p></section>"
    );
}

/// Rows of each table of what was measured beside time.
const ROWS_BESIDE_TIME: usize = 40;

/// What was measured beside time. Nothing where only time was.
fn beside_time(html: &mut String, parts: &Parts<'_>) {
    let sheets = metrics::sheets(parts.results.profile, ROWS_BESIDE_TIME, GLYPHS);
    if sheets.is_empty() {
        return;
    }
    html.push_str("<section id=\"metrics\" aria-labelledby=\"metrics-h\" tabindex=\"-1\"><h2 id=\"metrics-h\">Metrics</h2>");
    for sheet in &sheets {
        let _ = write!(html, "{}<thead><tr><th scope=\"col\">{}</th>", markup::table("What was measured beside time"), sheet.heading);
        sheet.columns.iter().for_each(|(heading, _)| html.push_str(&format!("<th scope=\"col\">{}</th>", escape(heading))));
        html.push_str("</tr></thead><tbody>");
        for (row, name) in sheet.names.iter().enumerate() {
            let _ = write!(html, "<tr><th scope=\"row\">{}</th>", markup::name(name, 64));
            sheet.columns.iter().for_each(|(_, cells)| html.push_str(&format!("<td>{}</td>", escape(&cells[row]))));
            html.push_str("</tr>");
        }
        html.push_str("</tbody>");
        html.push_str(markup::TABLE_END);
        sheet.notes.iter().for_each(|note| html.push_str(&format!("<p class=\"muted\">{}</p>", escape(note))));
    }
    html.push_str("</section>");
}

fn trust(html: &mut String, parts: &Parts<'_>) {
    html.push_str("<section id=\"trust\" aria-labelledby=\"trust-h\" tabindex=\"-1\"><h2 id=\"trust-h\">Trust</h2>");
    let (Some(_), Some(trust)) = (&parts.time, &parts.trust) else {
        html.push_str("<p>Nothing was measured.</p></section>");
        return;
    };
    let _ = write!(html, "<p>{}</p>", escape(&crate::text::trust_words(trust, GLYPHS)));
    let written = |name: &str, said: &str| markup::name(name, 48) + &escape(said);
    if let Some(off) = switches::sentence(parts.results.profile, GLYPHS, written) {
        let _ = write!(html, "<p>Switched off: {off}.</p>");
    }
    if let Some(spent) = Spent::of(parts.results) {
        let _ = write!(html, "<p>Budget: {}.</p>", escape(&spent.sentence(GLYPHS)));
    }
    if parts.results.shown.mode != Mode::Off {
        ranks::dumbbells(html, parts);
        ranks::dumbbells_of_regions(html, parts);
        costs::histograms(html, parts);
    }
    let marked: Vec<&RegionRow> = parts.rows.iter().filter(|row| row.shown.mark.is_some()).collect();
    let ranks = rank_rows(parts.results);
    let marked_ranks: Vec<(&str, Mark)> = if parts.results.shown.mode == Mode::Off {
        Vec::new()
    } else {
        ranks.iter().filter_map(|row| Some((row.name.as_str(), row.parallel.mark?))).collect()
    };
    if !marked.is_empty() || !marked_ranks.is_empty() {
        let _ = write!(html, "<h3>Not to be trusted (†)</h3><ul>");
        for reason in reasons(marked_ranks.iter().map(|(_, mark)| Some(*mark))) {
            let of: Vec<&str> = marked_ranks.iter().filter(|(_, mark)| mark.reason() == reason).map(|(label, _)| *label).collect();
            let more = and_more(of.len());
            let what = if of.len() == 1 { "time" } else { "times" };
            let _ = write!(html, "<li>{what} as a whole: {}: {}{more}</li>", escape(reason), escape(&of[..of.len().min(NAMED)].join(", ")));
        }
        for reason in reasons(marked.iter().map(|row| row.shown.mark)) {
            let of: Vec<&&RegionRow> = marked.iter().filter(|row| row.shown.mark.is_some_and(|mark| mark.reason() == reason)).collect();
            let names: Vec<String> = of.iter().take(NAMED).map(|row| markup::name(&row.name, 48)).collect();
            let more = and_more(of.len());
            let _ = write!(html, "<li>{}: {}: {}{more}</li>", plural(of.len(), "region", "regions", GLYPHS), escape(reason), names.join(", "));
        }
        html.push_str("</ul>");
    }
    if parts.results.shown.mode != Mode::Off {
        html.push_str(
            "<p class=\"muted\">The measured times stand beside the compensated ones in every view; their difference is what was taken off.</p>",
        );
    }
    html.push_str("</section>");
}

/// Names of what is not to be trusted, for each reason.
const NAMED: usize = 8;

/// How many there are beside those that are named.
fn and_more(all: usize) -> String {
    if all > NAMED { format!(" and {} more", exact_count((all - NAMED) as u64, GLYPHS)) } else { String::new() }
}

fn about(html: &mut String, parts: &Parts<'_>) {
    html.push_str("<section id=\"about\" aria-labelledby=\"about-h\" tabindex=\"-1\"><h2 id=\"about-h\">About this run</h2><dl>");
    let mut row = |what: &str, text: &str| {
        if !text.is_empty() {
            row_of(html, what, &escape(text));
        }
    };
    row("Command", &shell::line(&parts.run.command));
    row("Selection", parts.run.selection.as_ref().map_or("", |selection| &selection.options));
    row("Run", &parts.run.directory);
    row("Time on the wall clock", &time_with_unit(parts.run.wall_s, GLYPHS));
    row(
        "Shown",
        match parts.results.shown.mode {
            Mode::Off => "as measured",
            Mode::Local => "compensated locally: the overhead of each location is taken off itself",
            Mode::Parallel if !parts.results.profile.has_ranks() => {
                "compensated: the overhead of each thread is taken off itself, and the delays that other threads passed on"
            }
            Mode::Parallel => "compensated in parallel: also the delays that came with messages are taken off",
        },
    );
    let events: u64 = parts.results.profile.locations.iter().map(|location| location.events).sum();
    row("Probe events", &count(events, GLYPHS));
    let paths = parts.whole.tree.paths.len() as u64;
    row("Call paths", &exact_count(paths, GLYPHS));
    for image in &parts.run.images {
        let text = format!(
            "{} {} found, {} selected, {} instrumented",
            exact_count(image.found as u64, GLYPHS),
            if image.found == 1 { "function" } else { "functions" },
            exact_count(image.selected as u64, GLYPHS),
            exact_count(image.instrumented as u64, GLYPHS)
        );
        let expected = image.expected_dilation.map_or(String::new(), |part| format!("; {}", crate::text::expectation(part, GLYPHS)));
        row(&image.path, &format!("{text}{expected}"));
    }
    for file in &parts.results.profile.unreadable {
        row("Unreadable", &format!("{}: {}", file.name, file.error));
    }
    for image in &parts.run.images {
        by_reason(&image.refusals).iter().for_each(|(reason, refused)| row_of(html, "Refused", &refusals(&image.path, reason, refused)));
    }
    html.push_str("</dl></section>");
}

/// A row of a list, of markup.
fn row_of(html: &mut String, what: &str, value: &str) {
    let _ = write!(html, "<dt>{}</dt><dd>{value}</dd>", escape(what));
}

/// Functions that were refused for one reason, as markup: all where they are few, else to be opened.
fn refusals(image: &str, reason: &str, refused: &[&Decision]) -> String {
    let names: Vec<String> = refused.iter().map(|one| format!("{} at {:#x}", markup::name(&one.shown, 48), one.address)).collect();
    let (names, what) = (names.join(", "), escape(&format!("{} of {image}, {reason}", exact_count(refused.len() as u64, GLYPHS))));
    match refused.len() > NAMED {
        true => format!("<details><summary>{what}</summary>{names}</details>"),
        false => format!("{what}: {names}"),
    }
}
