//! A comparison as text.

use tare_compensate::Figure;
use tare_compensate::difference::{Difference, Verdict};
use tare_profile::RegionKind;

use super::common::Part;
use super::{About, Comparison, Line, Of};
use crate::layout::{Align, Column, Glyphs, NO_BREAK, Page, Writer};
use crate::number::{Column as Unit, count, exact_count, more, plural, share};
use crate::short::name_in_words;
use crate::text::processes_and_threads;
use crate::view::{kind_name, place};

/// What got slower and faster, and all sides in one table.
#[must_use]
pub fn text(comparison: &Comparison, page: &Page) -> String {
    let mut writer = Writer::new(page);
    for (index, side) in comparison.sides.iter().enumerate() {
        writer.labelled(&letter(index), &about(side, writer.glyphs()));
    }
    writer.blank();
    let mut times = time(comparison, writer.glyphs()).into_iter();
    writer.labelled("Time", &times.next().unwrap_or_default());
    times.for_each(|change| writer.labelled("", &change));
    if let Some(efficiency) = efficiency(comparison) {
        writer.labelled("Efficiency", &efficiency);
    }
    writer.labelled("Verdict", &verdict(comparison, writer.glyphs()));
    writer.blank();
    regions(&mut writer, comparison);
    foot(&mut writer, comparison);
    writer.finish()
}

/// `A`, `B`, … `Z`, `27` …
pub(super) fn letter(index: usize) -> String {
    u8::try_from(index).ok().filter(|&index| index < 26).map_or_else(|| (index + 1).to_string(), |index| char::from(b'A' + index).to_string())
}

pub(super) fn about(side: &About, glyphs: &Glyphs) -> String {
    let first = &side.runs[0];
    let directories: Vec<&str> = side.runs.iter().map(|run| run.directory.as_str()).collect();
    let mut parts = vec![format!("{}: {}", directories.join(", "), first.program), processes_and_threads(&first.size, glyphs)];
    parts.extend(first.measured_by.iter().map(|tool| format!("measured by {tool}")));
    if side.runs.len() > 1 {
        parts.push(plural(side.runs.len(), "run", "runs", glyphs));
    }
    parts.join(&format!(" {} ", glyphs.dot))
}

/// The mean of a side.
pub(super) fn mean(side: &Of) -> Option<Figure> {
    Difference::between(&side.figures, &side.figures).map(|same| same.before)
}

pub(super) fn unit_of<'a>(lines: impl Iterator<Item = &'a Line>) -> Unit {
    Unit::for_largest(lines.map(Line::greatest).fold(0.0, f64::max))
}

/// The times of all sides, then how each differs from the first.
pub(super) fn time(comparison: &Comparison, glyphs: &Glyphs) -> Vec<String> {
    let unit = unit_of(std::iter::once(&comparison.time));
    let with_unit = |text: String| format!("{text}{}{}", glyphs.thin_space, unit.unit.name(glyphs)).replace(' ', NO_BREAK);
    let figures = comparison.time.sides.iter().flatten().filter_map(mean);
    let times: Vec<String> =
        figures.enumerate().map(|(index, figure)| format!("{} {}", letter(index), with_unit(unit.figure(&figure, glyphs)))).collect();
    let change = |(index, difference): (usize, &Option<Difference>)| {
        let difference = difference.as_ref()?;
        let by = with_unit(unit.signed(&difference.change, glyphs));
        let part = difference.fraction().map_or_else(String::new, |part| format!(" ({})", more(part, glyphs)));
        let said = match difference.verdict(comparison.least_s) {
            Verdict::Slower => format!("{}slower by {}{part}", comparison.looks(), by.trim_start_matches('+')),
            Verdict::Faster => format!("{}faster, {by}{part}", comparison.looks()),
            Verdict::Same => format!("no difference that counts or can be told ({by})"),
            Verdict::Untrusted => format!("not to be trusted ({by})"),
        };
        Some(format!("{}: {said}", letter(index + 1)))
    };
    let mixed = comparison.is_mixed.then(|| "not compared: another tool's profile begins and ends elsewhere than ours".to_string());
    std::iter::once(times.join(", ")).chain(mixed).chain(comparison.time.changes.iter().enumerate().filter_map(change)).collect()
}

pub(super) fn efficiency(comparison: &Comparison) -> Option<String> {
    let known = comparison.sides.iter().enumerate().filter_map(|(index, side)| Some(format!("{} {:.2}", letter(index), side.efficiency?)));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join(", "))
}

pub(super) fn verdict(comparison: &Comparison, glyphs: &Glyphs) -> String {
    let regions = |verdict| comparison.regions.iter().filter(|line| line.is(verdict, comparison.least_s)).count();
    let (slower, faster) = (regions(Verdict::Slower), regions(Verdict::Faster));
    let (is, are) = if comparison.has_noise { ("is", "are") } else { ("looks", "look") };
    let regions_are = |number: usize, how: &str| format!("{} {how}", plural(number, &format!("region {is}"), &format!("regions {are}"), glyphs));
    let mut parts = Vec::new();
    if comparison.time.is(Verdict::Slower, comparison.least_s) {
        parts.push(format!("the run {is} slower"));
    }
    if slower > 0 {
        parts.push(regions_are(slower, "slower"));
    }
    if parts.is_empty() {
        let least = share(comparison.least, glyphs).replace(' ', NO_BREAK);
        parts.push(format!("nothing got slower by {least} of A's time or more that can be told"));
    }
    if comparison.time.is(Verdict::Faster, comparison.least_s) {
        parts.push(format!("the run {is} faster"));
    }
    if faster > 0 {
        parts.push(regions_are(faster, "faster"));
    }
    let of = if comparison.regions.len() == 1 { "region" } else { "regions" };
    format!("{}; of {} {of}", parts.join(", "), count(comparison.regions.len() as u64, glyphs))
}

/// The regions for which a page has rows.
fn shown_on<'a>(page: &Page, comparison: &'a Comparison) -> &'a [Line] {
    &comparison.regions[..comparison.regions.len().min(page.top.max(1))]
}

fn regions(writer: &mut Writer<'_>, comparison: &Comparison) {
    let glyphs = writer.glyphs();
    let shown = shown_on(writer.page(), comparison);
    if shown.is_empty() {
        return;
    }
    let unit = unit_of(shown.iter());
    let cells = |cell: &dyn Fn(&Line) -> String| shown.iter().map(cell).collect::<Vec<_>>();
    let name = |line: &Line| match place(&line.file, line.line) {
        Some(place) if writer.page().width >= 100 => format!("{}  {place}", line.name),
        _ => line.name.clone(),
    };
    let names = Column::new(format!("Region, {}", unit.unit.name(glyphs)), Align::Left, 0, cells(&name));
    let is_pair = comparison.sides.len() == 2;
    // Both times matter more than their intervals: where the page is narrow they give way.
    let is_short = |figure: &Figure| writer.page().width < 100 && figure.mark.is_none();
    let mut columns = Vec::new();
    for index in 0..comparison.sides.len() {
        let text = |figure: Figure| if is_short(&figure) { unit.plain(figure.value, glyphs) } else { unit.figure(&figure, glyphs) };
        let time = |line: &Line| line.sides[index].as_ref().and_then(mean).map_or_else(|| glyphs.unknown.to_string(), text);
        columns.push(Column::new(letter(index), Align::Point, 2, cells(&time)));
        if index > 0 {
            if is_pair {
                let difference = |line: &Line| line.changes[0].map_or_else(String::new, |change| unit.signed(&change.change, glyphs));
                columns.push(Column::new("B less A", Align::Point, 1, cells(&difference)));
            }
            columns.push(Column::new("change", Align::Right, 0, cells(&|line| said(line, index, comparison, glyphs))));
        }
    }
    if is_pair {
        columns.push(Column::new("calls", Align::Right, 3, cells(&|line| calls(line, glyphs))));
    }
    writer.table(&names, columns);
    let left = comparison.regions.len() - shown.len();
    if left > 0 {
        let hidden = &comparison.regions[shown.len()..];
        let differ =
            hidden.iter().filter(|line| line.is(Verdict::Slower, comparison.least_s) || line.is(Verdict::Faster, comparison.least_s)).count();
        let what = if differ == 0 { "none of them differs".to_string() } else { format!("{differ} of them differ") };
        writer.words("  ", 2, &format!("({} more: {what}; --top {} shows all)", count(left as u64, glyphs), comparison.regions.len()));
    }
}

/// How a side differs from the first, in a word or a number.
pub(super) fn said(line: &Line, side: usize, comparison: &Comparison, glyphs: &Glyphs) -> String {
    match (&line.sides[0], &line.sides[side], &line.changes[side - 1]) {
        (None, Some(_), _) => "new".to_string(),
        (Some(_), None, _) => "gone".to_string(),
        (_, _, Some(difference)) => {
            let percent = || difference.fraction().map_or_else(|| glyphs.unknown.to_string(), |part| more(part, glyphs));
            let doubt = if comparison.has_noise { "" } else { "?" };
            match difference.verdict(comparison.least_s) {
                Verdict::Slower => format!("slower{doubt} {}", percent()),
                Verdict::Faster => format!("faster{doubt} {}", percent()),
                Verdict::Same => "=".to_string(),
                Verdict::Untrusted => glyphs.dagger.to_string(),
            }
        }
        _ => String::new(),
    }
}

/// Calls on both sides, once where they are equal.
pub(super) fn calls(line: &Line, glyphs: &Glyphs) -> String {
    let number = |side: &Option<Of>| side.as_ref().map(|side| side.calls);
    match (number(&line.sides[0]), number(&line.sides[1])) {
        (Some(before), Some(after)) if before != after => format!("{} {} {}", count(before, glyphs), glyphs.arrow, count(after, glyphs)),
        (before, after) => before.or(after).map_or_else(String::new, |calls| count(calls, glyphs)),
    }
}

fn foot(writer: &mut Writer<'_>, comparison: &Comparison) {
    let glyphs = writer.glyphs();
    notes(comparison, glyphs).iter().for_each(|note| writer.words("  ", 2, note));
    for reason in untrusted(shown_on(writer.page(), comparison)) {
        writer.words(&format!("  {} ", glyphs.dagger), 4, &format!("not to be trusted: {reason}"));
    }
}

/// Why some differences are not to be trusted, each reason once.
pub(super) fn untrusted(shown: &[Line]) -> Vec<&'static str> {
    let marks = shown.iter().flat_map(|line| line.changes.iter().flatten()).map(|change| change.change.mark);
    crate::view::reasons(marks)
}

fn stranger(side: usize, part: f64, glyphs: &Glyphs) -> String {
    format!(
        "Are A and {} runs of one program? Regions that both have make up {} of the work outside MPI.",
        letter(side),
        if part > 0.0 { share(part, glyphs) } else { "nothing".to_string() }
    )
}

/// What not all runs have measured, by level and by name.
fn parts(comparison: &Comparison, glyphs: &Glyphs) -> Option<String> {
    /// Names of functions that are said.
    const NAMED: usize = 3;
    let mut kinds: Vec<RegionKind> = comparison.parts.iter().filter(|part| part.is_of_a_level).map(|part| part.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut said = String::new();
    if !kinds.is_empty() {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("{}s", kind_name(*kind))).collect();
        let kinds = kinds.join(", ");
        said = format!(" The runs measured different levels: {kinds} only some of them; here they are part of what called them.");
    }
    let others: Vec<&Part> = comparison.parts.iter().filter(|part| !part.is_of_a_level).collect();
    if !others.is_empty() {
        let of_sides = (0..comparison.sides.len()).filter_map(|side| {
            let here: Vec<&str> = others.iter().filter(|part| part.sides.contains(&side)).map(|part| part.name.as_str()).collect();
            let named = here.iter().take(NAMED).map(|name| name_in_words(name, &Page::default())).collect::<Vec<_>>().join(", ");
            let more = if here.len() > NAMED { format!(", {}", glyphs.ellipsis) } else { String::new() };
            (!here.is_empty()).then(|| format!("{} of {} ({named}{more})", exact_count(here.len() as u64, glyphs), letter(side)))
        });
        let of_sides = of_sides.collect::<Vec<_>>().join(", ");
        said.push_str(&format!(" Not all runs measured the same; what only some did is part of what called it: {of_sides}."));
    }
    (!said.is_empty()).then_some(said)
}

/// What the figures mean, said once.
pub(super) fn notes(comparison: &Comparison, glyphs: &Glyphs) -> Vec<String> {
    let mut text = format!(
        "{} time, mean of the ranks. = is no difference that can be told, or less than {} of A's time. {} is the 95{NO_BREAK}% half-width.",
        comparison.times.name(),
        share(comparison.least, glyphs),
        glyphs.plus_minus
    );
    let ranks = |side: &About| side.runs[0].size.ranks;
    if comparison.sides.iter().any(|side| ranks(side) != ranks(&comparison.sides[0])) {
        text.push_str(" The numbers of ranks differ: a rank's share of the work does as well.");
    }
    let of_others = || comparison.sides.iter().map(|side| &side.runs[0]).filter(|run| run.measured_by.is_some());
    if of_others().any(|run| run.was_compensated.is_none()) {
        text.push_str(" What another tool measured has that tool's overhead in it, and is of the whole program.");
    }
    if of_others().any(|run| run.was_compensated.is_some()) {
        text.push_str(" What was exported is of the whole program, compensated as it was then.");
    }
    if let Some(parts) = parts(comparison, glyphs) {
        text.push_str(&parts);
    }
    let mut notes: Vec<String> = comparison.strangers.iter().map(|&(side, part)| stranger(side, part, glyphs)).collect();
    notes.push(text);
    if !comparison.has_noise {
        notes.push(
            "Noise between runs is not known: each side is a single run, and what looks slower or faster may be noise. Several on a side tell: \
             tare compare A1 A2 A3 --with B1 B2 B3"
                .into(),
        );
    }
    notes
}
