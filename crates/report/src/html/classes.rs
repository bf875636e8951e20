//! Where the time of each rank went, by class: a bar each, and what the classes are.

use std::fmt::Write;

use tare_compensate::whole::Classes;

use super::markup::{self, TABLE_END, escape};
use super::parts::{GLYPHS, Parts};
use crate::number::{Column, exact_count, share};
use crate::view::{ClassRow, class_rows, knows_waiting, process_label};

/// Bars; with more processes a bar is the mean of several that follow each other.
const MOST_BARS: usize = 32;

/// The classes that there is any time of; one alone is no division.
pub(super) fn rows(parts: &Parts<'_>) -> Option<Vec<ClassRow>> {
    let rows = class_rows(&parts.whole.classes, knows_waiting(parts.run, parts.results.profile));
    (rows.len() > 1 && parts.time.is_some()).then_some(rows)
}

/// What a class is, in words. Of a file of another tool nothing says who waited.
fn meaning(id: &str, knows_waiting: bool) -> &'static str {
    match id {
        "useful" => "in no operation of MPI, and not waiting for threads: the program's own work",
        "waiting" => "in an operation of MPI, or of threads, until others came, without the waiting that measuring made",
        "messages" if !knows_waiting => "in operations of MPI; what of it is waiting is not known",
        "messages" => "in operations of MPI besides waiting: what messages and collectives take by themselves",
        "open" => "in calls of MPI that have not returned; what of it is waiting is not known",
        _ => "in MPI_Init and MPI_Finalize",
    }
}

pub(super) fn write(html: &mut String, parts: &Parts<'_>) {
    let Some(rows) = rows(parts) else { return };
    let profile = parts.results.profile;
    let of_processes = Classes::of_processes(profile, &parts.results.shown);
    html.push_str(
        "<section id=\"classes\" aria-labelledby=\"classes-h\" tabindex=\"-1\"><h2 id=\"classes-h\">Classes</h2>\
         <p class=\"muted\">Where the time of each ",
    );
    html.push_str(parts.of_whom());
    html.push_str(" went, from its start to its end, over all its threads.</p>");
    bars(html, parts, &rows, &of_processes);
    table(html, parts, &rows, &of_processes);
    html.push_str("</section>");
}

/// Seconds of a class.
fn seconds(classes: &Classes, id: &str) -> f64 {
    match id {
        "useful" => classes.useful_s,
        "waiting" => classes.waiting_s,
        "messages" => classes.messages_s,
        "open" => classes.open_s,
        _ => classes.start_end_s,
    }
}

/// A bar for each process, or for so many beside each other, as long as its time.
fn bars(html: &mut String, parts: &Parts<'_>, rows: &[ClassRow], of_processes: &[Classes]) {
    const LEFT: f64 = 170.0;
    const WIDTH: f64 = 860.0;
    const RIGHT: f64 = 110.0;
    const ROW: f64 = 22.0;
    let processes = &parts.results.profile.processes;
    let per_bar = of_processes.len().div_ceil(MOST_BARS);
    let bars: Vec<&[Classes]> = of_processes.chunks(per_bar.max(1)).collect();
    let mean = |bar: &[Classes], id: &str| bar.iter().map(|classes| seconds(classes, id).max(0.0)).sum::<f64>() / bar.len() as f64;
    let whole = |bar: &[Classes]| rows.iter().map(|row| mean(bar, row.id)).sum::<f64>();
    let most = bars.iter().map(|bar| whole(bar)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let unit = Column::for_largest(most);
    let words: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let _ = write!(
        html,
        "<figure class=\"dumbbells bars\"><div tabindex=\"0\" role=\"group\" aria-label=\"Classes of each {whom}\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"A bar for each {whom}: {}; the table below has the figures\">",
        ROW * bars.len() as f64 + 4.0,
        escape(&words.join(", ")),
        whom = parts.of_whom()
    );
    for (place, bar) in bars.iter().enumerate() {
        let first = &processes[place * per_bar];
        let last = &processes[place * per_bar + bar.len() - 1];
        let name = |process: &tare_profile::Process| process.rank.map_or_else(|| process.pid.to_string(), |rank| rank.to_string());
        let marked = if bar.len() == 1 { name(first) } else { format!("{}–{}", name(first), name(last)) };
        let label = if bar.len() == 1 { process_label(first) } else { format!("{} {marked}", parts.of_them()) };
        let y = ROW * place as f64 + 2.0;
        let _ = write!(
            html,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" data-rank=\"{}\">{}</text>",
            LEFT - 12.0,
            y + 14.0,
            escape(&marked),
            escape(&label)
        );
        let mut x = LEFT;
        for row in rows {
            let part = mean(bar, row.id);
            let width = (WIDTH - LEFT - RIGHT) * part / most;
            let of_bar = share(part / whole(bar).max(f64::MIN_POSITIVE), GLYPHS);
            let _ = write!(
                html,
                "<rect class=\"class-{}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\"><title>{} {of_bar}</title></rect>",
                row.id,
                ROW - 4.0,
                row.name
            );
            x += width;
        }
        let _ =
            write!(html, "<text x=\"{:.1}\" y=\"{}\">{}\u{202f}{}</text>", x + 8.0, y + 14.0, unit.plain(whole(bar), GLYPHS), unit.unit.name(GLYPHS));
    }
    html.push_str("</svg></div>");
    if per_bar > 1 {
        let _ = write!(html, "<figcaption>A bar is the mean of {} {}.</figcaption>", exact_count(per_bar as u64, GLYPHS), parts.of_them());
    }
    html.push_str("</figure>");
}

/// What each class is, and how it spreads over the processes.
fn table(html: &mut String, parts: &Parts<'_>, rows: &[ClassRow], of_processes: &[Classes]) {
    let processes = &parts.results.profile.processes;
    let number = of_processes.len().max(1) as f64;
    let largest = rows.iter().flat_map(|row| of_processes.iter().map(|classes| seconds(classes, row.id).abs())).fold(0.0, f64::max);
    let unit = Column::for_largest(largest);
    let name = unit.unit.name(GLYPHS);
    let _ = write!(
        html,
        "{}<thead><tr><th scope=\"col\">Class</th><th scope=\"col\">Share</th><th scope=\"col\">Mean, {name}</th><th scope=\"col\">Least, {name}</th>\
         <th scope=\"col\">Most, {name}</th><th scope=\"col\" class=\"place\">Is time</th></tr></thead><tbody>",
        markup::table("Figures of the classes")
    );
    for row in rows {
        let of = |process: usize| seconds(&of_processes[process], row.id);
        let extreme = |is_further: fn(f64, f64) -> bool| {
            let process = (0..of_processes.len()).reduce(|best, process| if is_further(of(process), of(best)) { process } else { best }).unwrap_or(0);
            format!("{} ({})", unit.plain(of(process), GLYPHS), escape(&process_label(&processes[process])))
        };
        let _ = write!(
            html,
            "<tr><th scope=\"row\"><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"class-{}\" width=\"12\" height=\"12\"/></svg> {}</th>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"place meaning\">{}</td></tr>",
            row.id,
            row.name,
            share(row.share, GLYPHS),
            unit.plain(row.seconds / number, GLYPHS),
            extreme(|one, other| one < other),
            extreme(|one, other| one > other),
            meaning(row.id, knows_waiting(parts.run, parts.results.profile))
        );
    }
    html.push_str("</tbody>");
    html.push_str(TABLE_END);
}
