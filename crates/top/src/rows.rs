//! The tables of the pages.

use tare_compensate::Figure;
use tare_compensate::whole::OnProcess;
use tare_query::State;
use tare_report::figures::{self, Glyphs, Unit, byte_size, count, innermost, share, shortened, time_with_unit, width};

use crate::app::{App, Page};
use crate::rates::Rates;
use crate::snapshot::{PairNow, PathNow, PlaceNow, RegionNow, Snapshot};

const GLYPHS: &Glyphs = &Glyphs::UNICODE;
/// Ranks that are drawn beside a region; with more a block stands for several and shows their greatest.
const BLOCKS: usize = 14;

/// A table: the first column is the name.
pub(crate) struct Table {
    pub(crate) heads: Vec<String>,
    /// Of the column of places; nothing where these belong to the names.
    pub(crate) place_head: &'static str,
    pub(crate) sorted_by: usize,
    pub(crate) lines: Vec<Line>,
}

/// A row.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) key: u64,
    pub(crate) indent: usize,
    /// Of a path with callees, whether they are shown.
    pub(crate) is_open: Option<bool>,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) cells: Vec<String>,
    /// By what columns sort; the greatest first.
    order: Vec<f64>,
}

/// Where a row is.
#[derive(Clone)]
pub(crate) enum Place {
    /// In words, or in the source.
    Said(String),
    /// In these regions, the innermost first, and what is said before them.
    Within(&'static str, Vec<String>),
}

impl Place {
    pub(crate) fn whole(&self) -> String {
        match self {
            Self::Said(words) => words.clone(),
            Self::Within(before, regions) => format!("{before}{}", innermost(regions, regions.len(), GLYPHS)),
        }
    }

    /// In so many columns: the outer regions give way first, then what is said before them, then the middle of the innermost one's name.
    pub(crate) fn fitting(&self, room: usize) -> String {
        match self {
            Self::Said(words) => shortened(words, room),
            Self::Within(before, regions) => {
                let fits = |path: &String| width(path) <= room;
                let paths = (1..=regions.len()).map(|shown| format!("{before}{}", innermost(regions, shown, GLYPHS)));
                let alone = regions.first().map_or("", String::as_str);
                // With each region more a path is no shorter.
                let longest = paths.take_while(fits).last();
                longest.or_else(|| Some(format!("{before}{alone}")).filter(fits)).unwrap_or_else(|| shortened(alone, room))
            }
        }
    }
}

pub(crate) fn table(app: &App, sorted_by: usize) -> Table {
    let snapshot = app.readings.latest();
    let rates = app.readings.rates();
    let (heads, lines) = match app.page {
        Page::Regions => regions(app, snapshot, &rates),
        Page::Ranks => ranks(app, snapshot, &rates),
        Page::Messages => messages(app, snapshot, &rates),
        Page::Paths => return paths(app, snapshot, &rates, sorted_by),
    };
    let filter = app.filter.to_lowercase();
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| is_found(line, &filter)).collect();
    sort(&mut lines, sorted_by, app.is_reversed);
    let place_head = if app.page == Page::Ranks { "where" } else { "" };
    Table { heads, place_head, sorted_by, lines }
}

fn is_found(line: &Line, filter: &str) -> bool {
    filter.is_empty() || line.name.to_lowercase().contains(filter) || line.place.whole().to_lowercase().contains(filter)
}

fn sort(lines: &mut [Line], by: usize, is_reversed: bool) {
    lines.sort_by(|one, other| {
        let ordering = match by.checked_sub(1) {
            Some(column) => other.order[column].total_cmp(&one.order[column]),
            None => natural(&one.name, &other.name),
        };
        if is_reversed { ordering.reverse() } else { ordering }
    });
}

/// `rank 9` before `rank 10`.
fn natural(one: &str, other: &str) -> std::cmp::Ordering {
    let number = |text: &str| text.split(|character: char| !character.is_ascii_digit()).find_map(|part| part.parse::<u64>().ok());
    number(one).cmp(&number(other)).then_with(|| one.cmp(other))
}

fn heads(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_string()).collect()
}

fn unknown() -> String {
    GLYPHS.unknown().to_string()
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(unknown, |part| share(part, GLYPHS))
}

fn rate(number: Option<f64>) -> String {
    number.map_or_else(unknown, |number| count(number.round() as u64, GLYPHS))
}

fn regions(app: &App, snapshot: &Snapshot, rates: &Rates<'_>) -> (Vec<String>, Vec<Line>) {
    let ranks = snapshot.ranks.max(1) as f64;
    let largest = snapshot.regions.iter().map(|region| region.measured_s / ranks).fold(0.0, f64::max);
    let unit = Unit::for_largest(largest);
    let seconds = |here: &OnProcess| if app.is_measured { here.measured_s } else { here.value_s };
    let line = |region: &RegionNow| {
        let now = rates.share(region.key, region.measured_s);
        let calls = rates.calls(region.key, region.calls);
        let waited = region.wait.shown(app.is_measured);
        let all = if app.is_measured { region.measured_s } else { region.own.value };
        let waiting = rates.waiting(region, app.is_measured);
        let waiting = waiting.or_else(|| (snapshot.is_over() && all > 0.0).then(|| (waited / all).clamp(0.0, 1.0)));
        let own = region.own.divided(ranks);
        let (total, time) = if app.is_measured {
            (unit.plain(region.measured_s / ranks, GLYPHS), region.measured_s)
        } else {
            (unit.figure(&own, GLYPHS), region.own.value)
        };
        Line {
            key: region.key,
            indent: 0,
            is_open: None,
            name: region.name.to_string(),
            place: Place::Said(region.place.clone()),
            cells: vec![
                percent(now),
                total,
                percent(waiting.filter(|_| waited > 0.0)),
                rate(calls),
                blocks(snapshot, region, seconds),
                count(region.calls, GLYPHS),
            ],
            order: vec![now.unwrap_or(0.0), time, waiting.unwrap_or(0.0), calls.unwrap_or(0.0), spread(region, seconds), region.calls as f64],
        }
    };
    let total = total_of(app, "self", unit);
    (heads(&["Region", "now", &total, "wait", "calls/s", "ranks", "calls"]), snapshot.regions.iter().map(line).collect())
}

/// The head of a column of times: so far, while the run goes on.
fn total_of(app: &App, what: &str, unit: Unit) -> String {
    let what = if app.is_measured { "measured" } else { what };
    let so_far = if app.readings.latest().is_over() { "" } else { " so far" };
    // Threads of a rank are added up: their time is longer than the run.
    let whose = if app.readings.latest().threads > 1 { " of threads" } else { "" };
    format!("{what}{whose}{so_far}, {}", unit.name(GLYPHS))
}

/// A block for each rank, as high as its time among the ranks.
fn blocks(snapshot: &Snapshot, region: &RegionNow, seconds: impl Fn(&OnProcess) -> f64) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if snapshot.processes < 2 {
        return String::new();
    }
    let per_block = snapshot.processes.div_ceil(BLOCKS);
    let mut most = vec![0.0_f64; snapshot.processes.div_ceil(per_block)];
    for here in &region.of_process {
        let block = &mut most[here.process as usize / per_block];
        *block = block.max(seconds(here));
    }
    let greatest = most.iter().copied().fold(0.0, f64::max);
    let height = |seconds: &f64| if greatest > 0.0 { HEIGHTS[((seconds / greatest * 7.0).round() as usize).min(7)] } else { HEIGHTS[0] };
    most.iter().map(height).collect()
}

fn spread(region: &RegionNow, seconds: impl Fn(&OnProcess) -> f64) -> f64 {
    let most = region.of_process.iter().map(&seconds).fold(0.0, f64::max);
    let least = region.of_process.iter().map(&seconds).fold(f64::MAX, f64::min);
    most - least.min(most)
}

fn ranks(app: &App, snapshot: &Snapshot, rates: &Rates<'_>) -> (Vec<String>, Vec<Line>) {
    let largest = |value: &dyn Fn(&PlaceNow) -> f64| snapshot.places.iter().map(|place| value(place).abs()).fold(0.0, f64::max);
    let time = largest(&|place| if app.is_measured { place.measured_s } else { place.time.value });
    let beside = largest(&|place| place.wait.shown(app.is_measured)).max(largest(&|place| place.delay_s));
    let unit = Unit::for_largest(time.max(beside));
    let line = |place: &PlaceNow| {
        let events = rates.events_of(place.key, place.events);
        let state = match (place.state, place.open.is_empty()) {
            (State::Ended, _) => Place::Said("ended".to_string()),
            (State::Unseen, _) => Place::Said("not seen from here".to_string()),
            (State::CutOff, true) => Place::Said("cut off".to_string()),
            (State::CutOff, false) => Place::Within("cut off in ", place.within.clone()),
            (State::Running, true) => Place::Said("runs".to_string()),
            (State::Running, false) => Place::Within("", place.within.clone()),
        };
        let waited = place.wait.shown(app.is_measured);
        let (total, time) = if app.is_measured {
            (unit.plain(place.measured_s, GLYPHS), place.measured_s)
        } else {
            (unit.figure(&place.time, GLYPHS), place.time.value)
        };
        let since = place.since_s.map_or_else(unknown, |since| time_with_unit(since, GLYPHS));
        Line {
            key: place.key,
            indent: 0,
            is_open: None,
            name: place.name.clone(),
            place: state,
            cells: vec![since, total, unit.plain(waited, GLYPHS), unit.plain(place.delay_s, GLYPHS), rate(events)],
            order: vec![place.since_s.unwrap_or(0.0), time, waited, place.delay_s, events.unwrap_or(0.0)],
        }
    };
    let name = unit.name(GLYPHS);
    let heads =
        heads(&["Rank", "no event for", &format!("{}, {name}", if app.is_measured { "measured" } else { "time" }), "waited", "delay", "events/s"]);
    (heads, snapshot.places.iter().map(line).collect())
}

fn messages(app: &App, snapshot: &Snapshot, rates: &Rates<'_>) -> (Vec<String>, Vec<Line>) {
    let waited = |pair: &PairNow| [pair.wait.shown(app.is_measured), pair.sender_wait.shown(app.is_measured)];
    let unit = Unit::for_largest(snapshot.pairs.iter().flat_map(waited).fold(0.0, f64::max));
    let line = |pair: &PairNow| {
        let messages = rates.messages(pair.key, pair.messages);
        let [receiver, sender] = waited(pair);
        let waited = [receiver, sender].map(|seconds| unit.plain(seconds, GLYPHS));
        Line {
            key: pair.key,
            indent: 0,
            is_open: None,
            name: format!("rank {} → {}", pair.from, pair.to),
            place: Place::Said(String::new()),
            cells: [vec![byte_size(pair.bytes as f64, GLYPHS)], waited.to_vec(), vec![count(pair.messages, GLYPHS), rate(messages)]].concat(),
            order: vec![pair.bytes as f64, receiver, sender, pair.messages as f64, messages.unwrap_or(0.0)],
        }
    };
    let heads = heads(&["From → to", "bytes", &format!("receiver waited, {}", unit.name(GLYPHS)), "sender waited", "messages", "messages/s"]);
    (heads, snapshot.pairs.iter().map(line).collect())
}

/// Call paths as a tree: those that are open, and all that lead to what is looked for.
fn paths(app: &App, snapshot: &Snapshot, rates: &Rates<'_>, sorted_by: usize) -> Table {
    let ranks = snapshot.ranks.max(1) as f64;
    let unit = Unit::for_largest(snapshot.paths.iter().map(|path| path.measured_s / ranks).fold(0.0, f64::max));
    let (roots, children) = snapshot.tree();
    let line = |index: usize, indent: usize| {
        let path: &PathNow = &snapshot.paths[index];
        let now = rates.share(path.key, path.measured_s);
        let calls = rates.calls(path.key, path.calls);
        let waited = path.wait.shown(app.is_measured);
        let all = if app.is_measured { path.measured_s } else { path.inclusive.value };
        let waiting = if all > 0.0 { (waited / all).clamp(0.0, 1.0) } else { 0.0 };
        let (total, time) = if app.is_measured {
            (unit.plain(path.measured_s / ranks, GLYPHS), path.measured_s)
        } else {
            (unit.figure(&path.inclusive.divided(ranks), GLYPHS), path.inclusive.value)
        };
        Line {
            key: path.key,
            indent,
            is_open: (!children[index].is_empty()).then(|| app.open.contains(&path.key)),
            name: path.name.clone(),
            place: Place::Said(path.place.clone()),
            cells: vec![percent(now), total, percent(Some(waiting).filter(|_| waited > 0.0)), rate(calls), count(path.calls, GLYPHS)],
            order: vec![now.unwrap_or(0.0), time, waiting, calls.unwrap_or(0.0), path.calls as f64],
        }
    };
    let filter = app.filter.to_lowercase();
    let mut leads = vec![filter.is_empty(); snapshot.paths.len()];
    for index in (0..snapshot.paths.len()).rev().filter(|_| !filter.is_empty()) {
        leads[index] |= is_found(&line(index, 0), &filter);
        if let Some(parent) = snapshot.paths[index].parent.filter(|_| leads[index]) {
            leads[parent] = true;
        }
    }
    let mut lines = Vec::new();
    let below = |among: &[usize], indent: usize| {
        let mut shown: Vec<(usize, Line)> = among.iter().filter(|&&index| leads[index]).map(|&index| (index, line(index, indent))).collect();
        shown.sort_by(|(_, one), (_, other)| {
            let ordering = match sorted_by.checked_sub(1) {
                Some(column) => other.order[column].total_cmp(&one.order[column]),
                None => one.name.cmp(&other.name),
            };
            if app.is_reversed { ordering.reverse() } else { ordering }
        });
        shown
    };
    let mut stack: Vec<(usize, Line)> = below(&roots, 0);
    stack.reverse();
    while let Some((index, line)) = stack.pop() {
        let is_open = line.is_open == Some(true) || (!filter.is_empty() && line.is_open.is_some());
        let indent = line.indent + 1;
        lines.push(Line { is_open: line.is_open.map(|_| is_open), ..line });
        if is_open {
            let mut shown = below(&children[index], indent);
            shown.reverse();
            stack.extend(shown);
        }
    }
    let total = total_of(app, "time", unit);
    Table { heads: heads(&["Call path", "now", &total, "wait", "calls/s", "calls"]), place_head: "", sorted_by, lines }
}

/// The dilation of a run, without a sign where it is longer.
pub(crate) fn dilation(longest: Option<&(f64, Figure)>) -> String {
    longest.map_or_else(unknown, |(measured_s, left)| figures::dilation(*measured_s, left, GLYPHS))
}
