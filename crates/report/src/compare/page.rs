//! A comparison as an HTML page of one file: complete without scripts, and on paper.

use std::fmt::Write;

use tare_compensate::Figure;
use tare_compensate::difference::Verdict;

use super::text::{about, calls, efficiency, letter, mean, notes, said, time, unit_of, untrusted, verdict};
use super::{Comparison, Line, Outcome};
use crate::html::markup::{TABLE_END, escape, name, table};
use crate::html::without_scripts;
use crate::layout::Glyphs;
use crate::number::Column;
use crate::view::place;

const GLYPHS: &Glyphs = &Glyphs::PAGE;
/// Regions in the picture.
const DRAWN: usize = 20;
/// Regions in the table: those that differ come first.
const LISTED: usize = 2000;

/// The page of a comparison.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    let letters: Vec<String> = (0..comparison.sides.len()).map(letter).collect();
    let mut body = format!("<header><div class=\"top\"><h1>Comparison of {}</h1></div>", and(&letters));
    body.push_str(
        "<nav aria-label=\"Views\"><a href=\"#summary\">Summary</a><a href=\"#changes\">Changes</a><a href=\"#regions\">Regions</a></nav></header>",
    );
    body.push_str("<div id=\"stage\"><main>");
    summary(&mut body, comparison);
    changes(&mut body, comparison);
    regions(&mut body, comparison);
    body.push_str("</main></div>");
    without_scripts(&format!("Comparison of {}", and(&letters)), &body)
}

/// `A, B and C`.
fn and(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn summary(html: &mut String, comparison: &Comparison) {
    html.push_str("<section id=\"summary\" aria-labelledby=\"summary-h\"><h2 id=\"summary-h\" class=\"unseen\">Summary</h2>");
    let word = if comparison.outcome() == Outcome::NotSlower { "good" } else { "bad" };
    let _ = write!(html, "<p class=\"lead\"><span class=\"{word}\">{}</span></p><dl>", escape(&capital(&verdict(comparison, GLYPHS))));
    let mut row = |what: &str, text: &str| {
        let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(what), escape(text));
    };
    for (index, side) in comparison.sides.iter().enumerate() {
        row(&letter(index), &about(side, GLYPHS));
    }
    let mut times = time(comparison, GLYPHS).into_iter();
    row("Time", &times.next().unwrap_or_default());
    times.for_each(|change| row("", &change));
    if let Some(efficiency) = efficiency(comparison) {
        row("Efficiency", &efficiency);
    }
    html.push_str("</dl>");
    for note in notes(comparison, GLYPHS) {
        let _ = write!(html, "<p class=\"muted\">{}</p>", escape(&note));
    }
    for reason in untrusted(&comparison.regions[..comparison.regions.len().min(LISTED)]) {
        let _ = write!(html, "<p class=\"muted\">† not to be trusted: {}</p>", escape(reason));
    }
    html.push_str("</section>");
}

fn capital(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The regions that differ, or those that take most time where none does: the first side hollow, the others filled.
fn changes(html: &mut String, comparison: &Comparison) {
    const LEFT: f64 = 300.0;
    const WIDTH: f64 = 1100.0;
    const RIGHT: f64 = 330.0;
    const ROW: f64 = 26.0;
    let differs = |line: &&Line| is(line, comparison, Verdict::Slower) || is(line, comparison, Verdict::Faster);
    let differing: Vec<&Line> = comparison.regions.iter().filter(differs).take(DRAWN).collect();
    let lines: Vec<&Line> = if differing.is_empty() { comparison.regions.iter().take(DRAWN).collect() } else { differing };
    if lines.is_empty() {
        return;
    }
    let figures = |line: &Line| line.sides.iter().map(|side| side.as_ref().and_then(mean)).collect::<Vec<Option<Figure>>>();
    let bounds = lines.iter().flat_map(|line| figures(line)).flatten().map(|figure| figure.high.max(figure.value));
    let most = bounds.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let unit = unit_of(lines.iter().copied());
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * (seconds / most).clamp(0.0, 1.0);
    let height = ROW * lines.len() as f64 + 10.0;
    let _ = write!(
        html,
        "<section id=\"changes\" aria-labelledby=\"changes-h\"><h2 id=\"changes-h\">Changes</h2><figure class=\"dumbbells wide\">\
         <div tabindex=\"0\" role=\"group\" aria-label=\"Picture of the changes\"><svg viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"Times of the regions that differ most; the table below has all of them\">"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = 16.0 + ROW * index as f64;
        let figures = figures(line);
        let _ = write!(html, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", LEFT - 12.0, y + 5.0, name_in_picture(&line.name));
        let known = || figures.iter().flatten().map(|figure| figure.value);
        let (from, to) = (x(known().fold(f64::MAX, f64::min)), x(known().fold(0.0, f64::max)));
        let _ = write!(html, "<line class=\"between\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>");
        for (side, figure) in figures.iter().enumerate().rev() {
            let Some(figure) = figure else { continue };
            let class = if side == 0 { "measured" } else { "compensated" };
            let _ = write!(
                html,
                "<line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/><circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"/>",
                x(figure.low),
                x(figure.high),
                x(figure.value)
            );
        }
        let _ = write!(html, "<text x=\"{}\" y=\"{}\">{}</text>", WIDTH - RIGHT + 14.0, y + 5.0, escape(&beside(line, comparison, &unit)));
    }
    let others = if comparison.sides.len() == 2 { "B" } else { "the others" };
    let _ = write!(html, "</svg></div><figcaption>○ A, ● {others}, with their intervals; the axis begins at 0.</figcaption></figure></section>");
}

/// `59.2 → 236.9 ms, slower +300 %`; of more than two sides the changes alone.
fn beside(line: &Line, comparison: &Comparison, unit: &Column) -> String {
    let changes: Vec<String> = (1..comparison.sides.len()).map(|side| said(line, side, comparison, GLYPHS)).collect();
    match line.sides.as_slice() {
        [Some(before), Some(after)] => {
            let text = |figure: Option<Figure>| figure.map_or_else(String::new, |figure| unit.plain(figure.value, GLYPHS));
            format!("{} → {} {}, {}", text(mean(before)), text(mean(after)), unit.name(GLYPHS), changes.join(", "))
        }
        _ => changes.join(", "),
    }
}

fn name_in_picture(text: &str) -> String {
    escape(&crate::short::short_name(text, 40, &crate::layout::Page::default()))
}

fn is(line: &Line, comparison: &Comparison, verdict: Verdict) -> bool {
    line.is(verdict, comparison.least_s)
}

fn regions(html: &mut String, comparison: &Comparison) {
    let shown = &comparison.regions[..comparison.regions.len().min(LISTED)];
    let unit = unit_of(shown.iter());
    let is_pair = comparison.sides.len() == 2;
    let _ = write!(
        html,
        "<section id=\"regions\" aria-labelledby=\"regions-h\"><h2 id=\"regions-h\">Regions</h2>{}<caption>{} times in {}, mean of the ranks; changes are from A.</caption><thead><tr>\
         <th scope=\"col\">Region</th><th scope=\"col\" class=\"place\">Place</th>",
        table("Table of regions"),
        comparison.times.name(),
        unit.name(GLYPHS)
    );
    for side in 0..comparison.sides.len() {
        let _ = write!(html, "<th scope=\"col\">{}</th>", letter(side));
        if side > 0 {
            html.push_str(if is_pair { "<th scope=\"col\">B less A</th><th scope=\"col\">Change</th>" } else { "<th scope=\"col\">Change</th>" });
        }
    }
    html.push_str(if is_pair { "<th scope=\"col\">Calls</th></tr></thead><tbody>" } else { "</tr></thead><tbody>" });
    for line in shown {
        row(html, line, comparison, &unit);
    }
    html.push_str("</tbody>");
    html.push_str(TABLE_END);
    let left = comparison.regions.len() - shown.len();
    if left > 0 {
        let _ = write!(html, "<p class=\"muted\">{left} more regions, which differ less or take less time: <code>--format json</code> has them.</p>");
    }
    html.push_str("</section>");
}

fn row(html: &mut String, line: &Line, comparison: &Comparison, unit: &Column) {
    let is_pair = comparison.sides.len() == 2;
    let class = match () {
        () if is(line, comparison, Verdict::Slower) => "slower",
        () if is(line, comparison, Verdict::Faster) => "faster",
        () => "same",
    };
    let where_it_is = place(&line.file, line.line).unwrap_or_default();
    let _ = write!(html, "<tr class=\"{class}\"><th scope=\"row\">{}</th><td class=\"place\">{}</td>", name(&line.name, 72), escape(&where_it_is));
    for (side, of) in line.sides.iter().enumerate() {
        let figure = of.as_ref().and_then(mean);
        let _ = write!(html, "<td>{}</td>", figure.map_or_else(|| GLYPHS.unknown().to_string(), |figure| unit.figure(&figure, GLYPHS)));
        if side > 0 {
            if is_pair {
                let change = line.changes[0].map_or_else(String::new, |change| unit.signed(&change.change, GLYPHS));
                let _ = write!(html, "<td>{change}</td>");
            }
            let _ = write!(html, "<td class=\"verdict\">{}</td>", said(line, side, comparison, GLYPHS));
        }
    }
    if is_pair {
        let _ = write!(html, "<td>{}</td>", calls(line, GLYPHS));
    }
    html.push_str("</tr>");
}
