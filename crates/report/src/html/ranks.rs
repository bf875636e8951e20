//! Pictures of ranks that stand without a script: a bar each, and what compensation took off.

use std::fmt::Write;

use super::markup::escape;
use super::parts::{GLYPHS, Parts};
use crate::number::{Column, figure_with_unit};
use crate::view::{RankRow, rank_rows};
use tare_compensate::Figure;

/// Bars of the strip; with more processes a bar stands for several and shows their greatest.
const MOST_BARS: usize = 512;
/// Ranks whose measured and compensated times are drawn: those that differ most.
const MOST_DUMBBELLS: usize = 16;

/// A bar for each process.
pub(super) fn strip(html: &mut String, parts: &Parts<'_>) {
    let rows = rank_rows(parts.results);
    let times: Vec<Figure> = main_rows(parts).iter().map(|&index| shown(parts, &rows[index])).collect();
    if times.len() < 2 {
        return;
    }
    let labels: Vec<&str> = main_rows(parts).iter().map(|&index| rows[index].label.as_str()).collect();
    let per_bar = times.len().div_ceil(MOST_BARS);
    let bars: Vec<f64> = times.chunks(per_bar).map(|chunk| chunk.iter().map(|time| time.value).fold(0.0, f64::max)).collect();
    let most = bars.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let extreme = |better: fn(f64, f64) -> bool| {
        (0..times.len()).reduce(|best, index| if better(times[index].value, times[best].value) { index } else { best }).unwrap_or(0)
    };
    let (least, greatest) = (extreme(|one, other| one < other), extreme(|one, other| one > other));
    let mean = times.iter().fold(Figure::exact(0.0), |sum, time| sum.added(time)).divided(times.len() as f64);
    let words = format!(
        "least {} (rank {}), mean {}, most {} (rank {})",
        figure_with_unit(&times[least], GLYPHS),
        labels[least],
        figure_with_unit(&mean, GLYPHS),
        figure_with_unit(&times[greatest], GLYPHS),
        labels[greatest]
    );
    let _ = write!(
        html,
        "<h3>Ranks</h3><figure class=\"strip\"><svg viewBox=\"0 0 {} 60\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Time of each rank: {}\">",
        bars.len() * 10,
        escape(&words)
    );
    for (index, time) in bars.iter().enumerate() {
        let height = 60.0 * time / most;
        let _ = write!(html, "<rect x=\"{}\" y=\"{:.1}\" width=\"9.5\" height=\"{height:.1}\"/>", index * 10, 60.0 - height);
    }
    let grouped = if per_bar > 1 { format!("; a bar is the greatest of {per_bar} ranks") } else { String::new() };
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

/// Measured and compensated times of the ranks from which most was taken off.
pub(super) fn dumbbells(html: &mut String, parts: &Parts<'_>) {
    const LEFT: f64 = 120.0;
    const WIDTH: f64 = 860.0;
    const RIGHT: f64 = 240.0;
    const ROW: f64 = 26.0;
    let all = rank_rows(parts.results);
    let mut rows: Vec<&RankRow> = main_rows(parts).into_iter().map(|index| &all[index]).collect();
    let number = rows.len();
    let difference = |row: &RankRow| (row.measured_s - shown(parts, row).value).abs();
    rows.sort_by(|one, other| difference(other).total_cmp(&difference(one)));
    rows.truncate(MOST_DUMBBELLS);
    rows.sort_by_key(|row| (row.label.len(), row.label.clone()));
    let most = rows.iter().map(|row| row.measured_s.max(row.parallel.high)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let unit = Column::for_largest(most);
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * (seconds / most).clamp(0.0, 1.0);
    let height = ROW * rows.len() as f64 + 10.0;
    let _ = write!(
        html,
        "<figure class=\"dumbbells\"><div tabindex=\"0\" role=\"group\" aria-label=\"Picture of the ranks\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Measured and compensated time of each rank; the figures stand beside the lines\">"
    );
    for (index, row) in rows.iter().enumerate() {
        let y = 16.0 + ROW * index as f64;
        let figure = if parts.results.shown.mode == tare_compensate::Mode::Local { &row.local } else { &row.parallel };
        let (from, to) = (x(figure.value), x(row.measured_s));
        let _ = write!(
            html,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" data-rank=\"{}\">{}</text><line class=\"between\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
             <line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/><circle class=\"measured\" cx=\"{to:.1}\" cy=\"{y}\" r=\"5\"/>\
             <circle class=\"compensated\" cx=\"{from:.1}\" cy=\"{y}\" r=\"5\"/><text x=\"{}\" y=\"{}\">{} of {} {}</text>",
            LEFT - 12.0,
            y + 5.0,
            escape(&row.label),
            escape(&row.label),
            x(figure.low),
            x(figure.high),
            WIDTH - RIGHT + 14.0,
            y + 5.0,
            unit.figure(figure, GLYPHS),
            unit.plain(row.measured_s, GLYPHS),
            unit.unit.name(GLYPHS)
        );
    }
    let left_out = if number > rows.len() { format!("; the {} ranks of {number} from which most was taken off", rows.len()) } else { String::new() };
    let _ =
        write!(html, "</svg></div><figcaption>○ measured, ● compensated with its interval; the axis begins at 0{left_out}.</figcaption></figure>");
}
