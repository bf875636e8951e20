//! Pictures of ranks that stand without a script: a bar each, and what compensation took off.

use std::fmt::Write;

use super::markup::escape;
use super::parts::{GLYPHS, Parts};
use crate::figures::shortened;
use crate::number::{Column, exact_count, figure_with_unit, share};
use crate::view::{RankRow, RegionRow, rank_rows};
use tare_compensate::Figure;

/// Bars of the strip; with more processes a bar stands for several and shows their greatest.
const MOST_BARS: usize = 512;
/// Ranks, and regions, whose measured and compensated times are drawn: those that differ most.
const MOST_DUMBBELLS: usize = 16;
/// Regions of which less than this part was taken off are not drawn: their circles are one, and long ones make all others small.
const LEAST_SEEN: f64 = 0.01;

/// A bar for each process.
pub(super) fn strip(html: &mut String, parts: &Parts<'_>) {
    let rows = rank_rows(parts.results);
    let times: Vec<Figure> = main_rows(parts).iter().map(|&index| shown(parts, &rows[index])).collect();
    if times.len() < 2 {
        return;
    }
    let names: Vec<&str> = main_rows(parts).iter().map(|&index| rows[index].name.as_str()).collect();
    let per_bar = times.len().div_ceil(MOST_BARS);
    let bars: Vec<f64> = times.chunks(per_bar).map(|chunk| chunk.iter().map(|time| time.value).fold(0.0, f64::max)).collect();
    let most = bars.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let extreme = |better: fn(f64, f64) -> bool| {
        (0..times.len()).reduce(|best, index| if better(times[index].value, times[best].value) { index } else { best }).unwrap_or(0)
    };
    let (least, greatest) = (extreme(|one, other| one < other), extreme(|one, other| one > other));
    let mean = times.iter().fold(Figure::exact(0.0), |sum, time| sum.added(time)).divided(times.len() as f64);
    let words = format!(
        "least {} ({}), mean {}, most {} ({})",
        figure_with_unit(&times[least], GLYPHS),
        names[least],
        figure_with_unit(&mean, GLYPHS),
        figure_with_unit(&times[greatest], GLYPHS),
        names[greatest]
    );
    let _ = write!(
        html,
        "<h3>{}</h3><figure class=\"strip\"><svg viewBox=\"0 0 {} 60\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Time of each {}: {}\">",
        if parts.results.profile.has_ranks() { "Ranks" } else { "Processes" },
        bars.len() * 10,
        parts.of_whom(),
        escape(&words)
    );
    for (index, time) in bars.iter().enumerate() {
        let height = 60.0 * time / most;
        let _ = write!(html, "<rect x=\"{}\" y=\"{:.1}\" width=\"9.5\" height=\"{height:.1}\"/>", index * 10, 60.0 - height);
    }
    let grouped = if per_bar > 1 { format!("; a bar is the greatest of {per_bar} {}", parts.of_them()) } else { String::new() };
    let _ = write!(html, "</svg><figcaption>{}{grouped}</figcaption></figure>", escape(&words));
}

/// Rows of main threads.
fn main_rows(parts: &Parts<'_>) -> Vec<usize> {
    let locations = &parts.results.profile.locations;
    (0..locations.len()).filter(|&index| locations[index].thread == 0).collect()
}

fn shown(parts: &Parts<'_>, row: &RankRow) -> Figure {
    match parts.results.shown.mode {
        tare_compensate::Mode::Off => Figure::exact(row.measured_s),
        tare_compensate::Mode::Local => row.local,
        tare_compensate::Mode::Parallel => row.parallel,
    }
}

/// What is measured and what is left of it, side by side.
struct Dumbbell<'a> {
    /// Whose time it is, as markup.
    label: String,
    /// The rank, which is marked when it is selected.
    rank: Option<&'a str>,
    measured_s: f64,
    shown: Figure,
}

impl Dumbbell<'_> {
    fn taken_off(&self) -> f64 {
        (self.measured_s - self.shown.value).abs()
    }
}

/// Those from which most was taken off, and how many there are in all.
fn most_taken_off<'a>(all: impl Iterator<Item = Dumbbell<'a>>, most: usize) -> (Vec<Dumbbell<'a>>, usize) {
    let mut all: Vec<Dumbbell<'a>> = all.collect();
    let number = all.len();
    all.sort_by(|one, other| other.taken_off().total_cmp(&one.taken_off()));
    all.truncate(most);
    (all, number)
}

/// Measured and compensated times of the ranks from which most was taken off.
pub(super) fn dumbbells(html: &mut String, parts: &Parts<'_>) {
    let all = rank_rows(parts.results);
    let of_rank = |row: usize| Dumbbell {
        label: escape(&all[row].name),
        rank: Some(&all[row].label),
        measured_s: all[row].measured_s,
        shown: shown(parts, &all[row]),
    };
    let (mut rows, number) = most_taken_off(main_rows(parts).into_iter().map(of_rank), MOST_DUMBBELLS);
    rows.sort_by_key(|row| (row.label.len(), row.label.clone()));
    let left_out = if number > rows.len() {
        format!("; the {} {} of {} from which most was taken off", rows.len(), parts.of_them(), exact_count(number as u64, GLYPHS))
    } else {
        String::new()
    };
    picture(html, &format!("each {}", parts.of_whom()), &rows, 140.0, &left_out);
}

/// The same of the regions from which so much was taken off that it can be seen: exclusive times, means over the ranks.
pub(super) fn dumbbells_of_regions(html: &mut String, parts: &Parts<'_>) {
    const NAME: usize = 40;
    let of_region = |row: &RegionRow| Dumbbell {
        label: format!("{}<title>{}</title>", escape(&shortened(&row.name, NAME)), escape(&row.name)),
        rank: None,
        measured_s: row.measured_s,
        shown: row.shown,
    };
    let is_seen = |row: &Dumbbell<'_>| row.taken_off() >= LEAST_SEEN * row.measured_s.abs();
    let (rows, number) = most_taken_off(parts.rows.iter().map(of_region).filter(is_seen), MOST_DUMBBELLS);
    if rows.is_empty() {
        return;
    }
    html.push_str("<h3>Regions</h3>");
    let of_all = if number > rows.len() {
        format!(", the {} of {} regions from which most was taken off", rows.len(), exact_count(number as u64, GLYPHS))
    } else {
        String::new()
    };
    picture(
        html,
        "each region",
        &rows,
        320.0,
        &format!(
            "; exclusive times{}, where {} or more was taken off{of_all}",
            if parts.results.profile.has_ranks() { ", means over the ranks" } else { "" },
            share(LEAST_SEEN, GLYPHS)
        ),
    );
}

/// A line for each: from what was measured to what is left, with its interval. `left` is the room for labels.
fn picture(html: &mut String, of_whom: &str, rows: &[Dumbbell<'_>], left: f64, more: &str) {
    const WIDTH: f64 = 860.0;
    const RIGHT: f64 = 240.0;
    const ROW: f64 = 26.0;
    let most = rows.iter().map(|row| row.measured_s.max(row.shown.high)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let unit = Column::for_largest(most);
    let x = |seconds: f64| left + (WIDTH - left - RIGHT) * (seconds / most).clamp(0.0, 1.0);
    let height = ROW * rows.len() as f64 + 10.0;
    let _ = write!(
        html,
        "<figure class=\"dumbbells\"><div tabindex=\"0\" role=\"group\" aria-label=\"Picture of {of_whom}\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Measured and compensated time of {of_whom}; the figures stand beside the lines\">"
    );
    for (index, row) in rows.iter().enumerate() {
        let y = 16.0 + ROW * index as f64;
        let (from, to) = (x(row.shown.value), x(row.measured_s));
        let rank = row.rank.map_or_else(String::new, |rank| format!(" data-rank=\"{}\"", escape(rank)));
        let _ = write!(
            html,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\"{rank}>{}</text><line class=\"between\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
             <line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/><circle class=\"measured\" cx=\"{to:.1}\" cy=\"{y}\" r=\"5\"/>\
             <circle class=\"compensated\" cx=\"{from:.1}\" cy=\"{y}\" r=\"5\"/><text x=\"{}\" y=\"{}\">{} of {} {}</text>",
            left - 12.0,
            y + 5.0,
            row.label,
            x(row.shown.low),
            x(row.shown.high),
            WIDTH - RIGHT + 14.0,
            y + 5.0,
            unit.figure(&row.shown, GLYPHS),
            unit.plain(row.measured_s, GLYPHS),
            unit.unit.name(GLYPHS)
        );
    }
    let _ = write!(html, "</svg></div><figcaption>○ measured, ● compensated with its interval; the axis begins at 0{more}.</figcaption></figure>");
}
