//! Answers to questions, as text and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_compensate::{Figure, Mode};
use tare_profile::{Location, Profile, RegionIndex, RegionKind};
use tare_query::{Answer, Axis, Jump, Measure, Place, Reading, Reduction, Row, State, Value, Who};

use crate::json::{SCHEMA, written};
use crate::layout::{Align, Column, Glyphs, NO_BREAK, Page, Writer, width};
use crate::number::{self, byte_size, count, exact_count, plural, time_with_unit};
use crate::run::Run;
use crate::short::{cut_words, name_in_words};
use crate::view::{kind_name, open_path, place, process_label, reasons, thread_label};

/// An answer as text.
#[must_use]
pub fn text(run: &Run, profile: &Profile, mode: Mode, answer: &Answer, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let rows: Vec<&Row> = answer.rows.iter().chain(&answer.sum).collect();
    let names = rows.iter().map(|row| label(profile, answer, row)).collect();
    let names = Column::new(heading(answer.axis, profile), Align::Left, 0, names);
    let mut columns: Vec<Column> = (0..answer.measures.len()).flat_map(|measure| columns(profile, answer, &rows, measure, glyphs)).collect();
    // What was asked for is shown: measures without room have a table of their own.
    while !columns.is_empty() {
        writer.blank();
        columns = writer.table(&names, columns);
        columns.retain(|column| column.rank < answer.measures.len() as u32);
    }
    if answer.left_out > 0 {
        let in_sum = if answer.sum.is_some() { "; they are in the sum of all" } else { "" };
        writer.words("  ", 2, &format!("({} more{in_sum})", exact_count(answer.left_out as u64, glyphs)));
    }
    foot(&mut writer, run, profile, mode, answer, &rows);
    writer.finish()
}

fn heading(axis: Axis, profile: &Profile) -> &'static str {
    match axis {
        Axis::Nothing => "",
        Axis::Region => "Region",
        Axis::Caller => "Caller",
        Axis::Peer => "With",
        Axis::Rank if profile.has_ranks() => "Rank",
        Axis::Rank => "Process",
        Axis::Thread => "Thread",
        Axis::Host => "Node",
    }
}

fn label(profile: &Profile, answer: &Answer, row: &Row) -> String {
    match &row.who {
        Who::All => match row.region {
            Some(region) => region_label(profile, region),
            None if answer.rows.len() > 1 || answer.left_out > 0 => "all together".to_string(),
            None => answer.about.clone(),
        },
        Who::Region(region) => region_label(profile, *region),
        Who::NoCaller => "(no caller)".to_string(),
        Who::Peer(rank) => format!("rank {rank}"),
        Who::Process(process) => process_label(&profile.processes[*process]),
        Who::Location(location) => thread_label(profile, &profile.locations[*location]),
        Who::Host(host) => host.clone(),
    }
}

/// A name with its place.
fn region_label(profile: &Profile, region: RegionIndex) -> String {
    let region = &profile.regions[region.0];
    match place(&region.file, region.line) {
        Some(place) => format!("{}  {place}", region.name),
        None => region.name.to_string(),
    }
}

/// The column of a measure, and for times of several ranks the one that has most.
fn columns(profile: &Profile, answer: &Answer, rows: &[&Row], measure: usize, glyphs: &Glyphs) -> Vec<Column> {
    let name = answer.measures[measure].name();
    let values: Vec<Option<&Value>> = rows.iter().map(|row| row.values[measure].as_ref()).collect();
    let rank = measure as u32;
    let counts = |text: &dyn Fn(u64) -> String| {
        let cell = |value: &Option<&Value>| {
            let Some(value) = value else { return glyphs.unknown.to_string() };
            let number = text(value.sum.value.max(0.0).round() as u64);
            glyphs.bounded(number, value.is_exact)
        };
        vec![Column::new(name, Align::Right, rank, values.iter().map(cell).collect())]
    };
    match answer.measures[measure].reading() {
        Reading::Count => return counts(&|number| if rows.len() == 1 { exact_count(number, glyphs) } else { count(number, glyphs) }),
        Reading::Bytes => return counts(&|bytes| byte_size(bytes as f64, glyphs)),
        Reading::Seconds => {}
    }
    let figures: Vec<Option<Figure>> = values.iter().map(|value| value.map(|value| value.reduced(answer.reduction, answer.ranks))).collect();
    // The sum of very many rows has a unit in which none of them could be told.
    let of_rows = figures.iter().take(answer.rows.len()).flatten();
    let unit = number::Column::for_largest(of_rows.map(|figure| figure.value.abs()).fold(0.0, f64::max));
    let cell = |figure: &Option<Figure>| figure.as_ref().map_or_else(|| glyphs.unknown.to_string(), |figure| unit.figure(figure, glyphs));
    let cells = figures.iter().map(cell).collect();
    let mut columns = vec![Column::new(format!("{name}, {}", unit.unit.name(glyphs)), Align::Point, rank, cells)];
    let is_over_ranks = matches!(answer.axis, Axis::Nothing | Axis::Region | Axis::Caller);
    if measure == 0 && answer.ranks > 1 && is_over_ranks {
        let most = |value: &Option<&Value>| match value.and_then(|value| value.most) {
            None => glyphs.unknown.to_string(),
            Some((_, most)) if most.value == 0.0 => glyphs.unknown.to_string(),
            Some((process, most)) => {
                let who = process_label(&profile.processes[process]);
                if answer.reduction == Reduction::Longest { who } else { format!("{} ({who})", unit.plain(most.value, glyphs)) }
            }
        };
        columns.push(Column::new("most", Align::Left, answer.measures.len() as u32, values.iter().map(most).collect()));
    }
    columns
}

/// What the figures mean.
fn foot(writer: &mut Writer<'_>, run: &Run, profile: &Profile, mode: Mode, answer: &Answer, rows: &[&Row]) {
    let glyphs = writer.glyphs();
    let has_times = answer.measures.iter().any(|measure| measure.reading() == Reading::Seconds);
    let has_counts = answer.measures.iter().any(|measure| measure.reading() != Reading::Seconds);
    let is_over_ranks = matches!(answer.axis, Axis::Nothing | Axis::Region | Axis::Caller);
    let mut said = Vec::new();
    if has_times && answer.ranks > 1 && is_over_ranks {
        let ranks = format!("{} {}", exact_count(answer.ranks as u64, glyphs), if profile.has_ranks() { "ranks" } else { "processes" });
        said.push(match answer.reduction {
            Reduction::Mean => format!("Mean of {ranks}{}.", if has_counts { "; counts are sums" } else { "" }),
            Reduction::Total => format!("Sum over {ranks}."),
            Reduction::Longest => format!("The slowest of {ranks}."),
        });
    }
    let has_threads = profile.locations.iter().any(|location| location.thread > 0);
    // The time of the whole program is that of its first thread.
    let is_over_threads = !(answer.is_of_whole && answer.measures.iter().any(|measure| measure.is_time_of_whole()));
    if has_times && has_threads && is_over_threads && answer.reduction != Reduction::Longest && answer.axis != Axis::Thread {
        said.push("Times are of all threads together.".to_string());
    }
    let values = || rows.iter().flat_map(|row| row.values.iter().flatten());
    if run.was_compensated.is_some() && has_times {
        said.push("Compensated, as it was exported; how uncertain it is, is not known.".to_string());
    } else if mode == Mode::Off && has_times {
        said.push("As measured.".to_string());
    } else if has_times && values().any(|value| value.sum.half_width() > 0.0) {
        said.push(format!("{} is the 95{NO_BREAK}% half-width, without the noise between runs.", glyphs.plus_minus));
    }
    if answer.running > 0 {
        said.push(format!("So far: {}.", plural(answer.running, "process still runs", "processes still run", glyphs)));
    }
    let open = if answer.measures.contains(&Measure::Waiting) { in_open_calls(profile) } else { 0 };
    if open > 0 {
        said.push(format!(
            "{} in a call of MPI that has not returned: what of it is waiting is not known.",
            plural(open, "thread is", "threads are", glyphs)
        ));
    }
    if !said.is_empty() {
        writer.words("  ", 2, &said.join(" "));
    }
    for reason in reasons(values().map(|value| value.sum.mark)) {
        writer.words(&format!("  {} ", glyphs.dagger), 4, &format!("not to be trusted: {reason}"));
    }
    for Jump { by, callee, statement, place } in &answer.jumps {
        let at = place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
        let [by, callee, statement] = [by, callee, statement].map(|name| name_in_words(name, writer.page()));
        let words = format!(
            "Not in it: {callee}, the call of which at the end of {by} became a jump (a tail call). It counts below what calls {by}, as {statement}{at}."
        );
        writer.words("  ", 2, &words);
    }
}

/// Threads that are in a call of MPI, or were when they were cut off.
fn in_open_calls(profile: &Profile) -> usize {
    let open = |location: &&Location| {
        let node = location.standing.and_then(|standing| standing.node).filter(|_| profile.process_of(location).is_open());
        node.is_some_and(|node| profile.region_of(&location.nodes[node]).kind == RegionKind::Mpi)
    };
    profile.locations.iter().filter(open).count()
}

/// Regions that are told of those in which a thread is.
const REGIONS_OPEN: usize = 4;

/// Where the threads of a run stand, as text.
#[must_use]
pub fn places_text(profile: &Profile, places: &[Place], page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    if places.is_empty() {
        writer.words("  ", 2, "no thread has left anything yet");
        return writer.finish();
    }
    let cells = |cell: &dyn Fn(&Place) -> String| places.iter().map(cell).collect::<Vec<_>>();
    let names = Column::new("Thread", Align::Left, 0, cells(&|place| thread_label(profile, &profile.locations[place.location])));
    let since = cells(&|place| place.since_s.map_or_else(|| glyphs.unknown.to_string(), |seconds| time_with_unit(seconds, glyphs)));
    let since = Column::new("no event for", Align::Right, 2, since);
    let room = page.width.saturating_sub(names.width() + since.width() + 3 * "  ".len());
    let open = |begin: &str, place: &Place| {
        let paths = (1..=REGIONS_OPEN).rev().map(|shown| format!("{begin}{}", open_path(profile, &place.path, shown, glyphs)));
        let mut paths = paths.skip_while(|path| width(path) > room);
        paths.next().unwrap_or_else(|| cut_words(&format!("{begin}{}", open_path(profile, &place.path, 1, glyphs)), room, page))
    };
    let state = |place: &Place| match (place.state, place.path.is_empty()) {
        (State::Ended, _) => "ended".to_string(),
        (State::Unseen, _) => "not seen from here".to_string(),
        (State::Running, true) => "runs; this machine does not let its stack be read".to_string(),
        (State::CutOff, true) => "cut off; where is not known".to_string(),
        (State::CutOff, false) => open("cut off in ", place),
        (State::Running, false) => open("", place),
    };
    writer.table(&names, vec![since, Column::new("in", Align::Left, 0, cells(&state))]);
    writer.finish()
}

/// An answer as JSON.
#[must_use]
pub fn json(run: &Run, profile: &Profile, mode: Mode, question: &str, answer: &Answer) -> String {
    let row = |row: &Row| RowDocument::of(profile, answer, row, run.measured_by.is_none());
    written(&AnswerDocument {
        schema: SCHEMA,
        question,
        compensate: run.compensation(mode),
        measured_by: run.measured_by.as_deref(),
        reduction: answer.reduction.name(),
        by: Some(answer.axis.name()).filter(|name| !name.is_empty()),
        ranks: answer.ranks,
        running: answer.running,
        rows: answer.rows.iter().map(row).collect(),
        sum: answer.sum.as_ref().map(row),
        left_out: answer.left_out,
        jumps: answer.jumps.iter().map(JumpDocument::of).collect(),
    })
}

#[derive(Serialize)]
struct AnswerDocument<'a> {
    schema: u32,
    question: &'a str,
    compensate: &'static str,
    measured_by: Option<&'a str>,
    reduction: &'static str,
    by: Option<&'static str>,
    ranks: usize,
    running: usize,
    rows: Vec<RowDocument<'a>>,
    sum: Option<RowDocument<'a>>,
    left_out: usize,
    jumps: Vec<JumpDocument<'a>>,
}

/// A call that became a jump, and so is in no row.
#[derive(Serialize)]
struct JumpDocument<'a> {
    by: &'a str,
    callee: &'a str,
    statement: &'a str,
    place: Option<&'a str>,
}

impl<'a> JumpDocument<'a> {
    fn of(jump: &'a Jump) -> Self {
        Self { by: &jump.by, callee: &jump.callee, statement: &jump.statement, place: jump.place.as_deref() }
    }
}

#[derive(Serialize, Default)]
struct RowDocument<'a> {
    name: Option<&'a str>,
    kind: Option<&'static str>,
    file: Option<&'a str>,
    line: Option<u32>,
    rank: Option<u32>,
    process: Option<u32>,
    thread: Option<u32>,
    host: Option<&'a str>,
    peer: Option<u32>,
    /// `None` where nothing says it, or where it cannot be added.
    values: BTreeMap<&'static str, Option<ValueDocument>>,
}

impl<'a> RowDocument<'a> {
    fn of(profile: &'a Profile, answer: &Answer, row: &Row, has_interval: bool) -> Self {
        let values = answer.measures.iter().zip(&row.values);
        let values = values
            .map(|(measure, value)| (measure.name(), value.as_ref().map(|value| ValueDocument::of(profile, answer, *measure, value, has_interval))))
            .collect();
        let mut document = Self { values, ..Self::default() };
        let region = match &row.who {
            Who::Region(region) => Some(*region),
            Who::All => row.region,
            _ => None,
        };
        let process = match &row.who {
            Who::Process(process) => Some(*process),
            Who::Location(location) => Some(profile.locations[*location].process.0),
            _ => None,
        };
        if let Some(region) = region.map(|region| &profile.regions[region.0]) {
            (document.name, document.kind) = (Some(&*region.name), Some(kind_name(region.kind)));
            (document.file, document.line) = (Some(region.file.as_str()).filter(|file| !file.is_empty()), Some(region.line).filter(|&line| line > 0));
        }
        if let Some(process) = process.map(|process| &profile.processes[process]) {
            (document.rank, document.process, document.host) = (process.rank, Some(process.pid), Some(process.host.as_str()));
        }
        match &row.who {
            Who::Location(location) => document.thread = Some(profile.locations[*location].thread),
            Who::Peer(rank) => document.peer = Some(*rank),
            Who::Host(host) => document.host = profile.processes.iter().find(|process| process.host == *host).map(|process| process.host.as_str()),
            _ => {}
        }
        document
    }
}

/// A figure of an answer: seconds with their interval in the reading of the answer, counts as sums.
#[derive(Serialize)]
struct ValueDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    value_s: Option<f64>,
    /// `Some(None)` where nothing says how uncertain the time is.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_s: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_s: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<MostDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    exact: bool,
}

/// The rank, or process, that has most.
#[derive(Serialize)]
struct MostDocument {
    rank: Option<u32>,
    process: u32,
    value_s: f64,
}

impl ValueDocument {
    fn of(profile: &Profile, answer: &Answer, measure: Measure, value: &Value, has_interval: bool) -> Self {
        if measure.reading() != Reading::Seconds {
            let number = Some(value.sum.value.max(0.0).round() as u64);
            return Self { value_s: None, low_s: None, high_s: None, sum_s: None, most: None, mark: None, number, exact: value.is_exact };
        }
        let figure = value.reduced(answer.reduction, answer.ranks);
        let most = |(process, figure): (usize, Figure)| {
            let process = &profile.processes[process];
            MostDocument { rank: process.rank, process: process.pid, value_s: figure.value }
        };
        Self {
            value_s: Some(figure.value),
            low_s: Some(has_interval.then_some(figure.low)),
            high_s: Some(has_interval.then_some(figure.high)),
            sum_s: Some(value.sum.value),
            most: value.most.map(most),
            mark: figure.mark.map(tare_compensate::Mark::reason),
            number: None,
            exact: value.is_exact,
        }
    }
}

/// Where the threads of a run stand, as JSON.
#[must_use]
pub fn places_json(profile: &Profile, question: &str, places: &[Place]) -> String {
    let place = |place: &Place| {
        let location = &profile.locations[place.location];
        let process = profile.process_of(location);
        PlaceDocument {
            rank: process.rank,
            process: process.pid,
            host: process.host.clone(),
            thread: location.thread,
            state: place.state.name(),
            path: place.path.iter().map(|region| profile.regions[region.0].name.to_string()).collect(),
            since_s: place.since_s,
        }
    };
    written(&PlacesDocument { schema: SCHEMA, question: question.to_string(), threads: places.iter().map(place).collect() })
}

#[derive(Serialize)]
struct PlacesDocument {
    schema: u32,
    question: String,
    threads: Vec<PlaceDocument>,
}

#[derive(Serialize)]
struct PlaceDocument {
    rank: Option<u32>,
    process: u32,
    host: String,
    thread: u32,
    state: &'static str,
    /// Open regions, the outermost first; empty where they are not known.
    path: Vec<String>,
    since_s: Option<f64>,
}
