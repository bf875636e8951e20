//! What a frame shows, for programs: seconds over all threads, shares as fractions, null for what one reading alone does not say.

use serde::Serialize;
use tare_query::State;
use tare_report::figures::dilations;
use tare_report::json::{ClassesDocument, FigureDocument, SCHEMA, written};

use crate::app::App;
use crate::rates::Rates;
use crate::snapshot::{PairNow, PlaceNow, RegionNow};

/// The latest reading, with rates since an older one, as JSON on one line.
#[must_use]
pub fn json(app: &App) -> String {
    let now = app.readings.latest();
    let rates = app.readings.rates();
    let range = now.longest.as_ref().map(|(measured_s, left)| dilations(*measured_s, left));
    let document = Document {
        schema: SCHEMA,
        program: &now.about.program,
        ended: now.about.ended.as_deref(),
        ranks: now.ranks,
        processes: now.processes,
        lifetime_s: now.lifetime_s,
        dilation: now.longest.map(|(measured_s, left)| measured_s / left.value - 1.0),
        dilation_low: range.map(|(low, _)| low),
        dilation_high: range.and_then(|(_, high)| high),
        probes_s: now.probes_s,
        events: now.events,
        events_per_s: rates.events(),
        switched_off: now.off,
        lost: now.lost,
        classes: ClassesDocument::of(&now.classes),
        regions: now.regions.iter().map(|region| RegionDocument::of(region, &rates)).collect(),
        threads: now.places.iter().map(|place| ThreadDocument::of(place, &rates)).collect(),
        pairs: now.pairs.iter().map(|pair| PairDocument::of(pair, &rates)).collect(),
    };
    written(&document)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    program: &'a str,
    ended: Option<&'a str>,
    ranks: usize,
    processes: usize,
    lifetime_s: f64,
    dilation: Option<f64>,
    dilation_low: Option<f64>,
    dilation_high: Option<f64>,
    probes_s: f64,
    events: u64,
    events_per_s: Option<f64>,
    switched_off: usize,
    lost: u64,
    classes: ClassesDocument,
    regions: Vec<RegionDocument<'a>>,
    threads: Vec<ThreadDocument<'a>>,
    pairs: Vec<PairDocument>,
}

#[derive(Serialize)]
struct RegionDocument<'a> {
    name: &'a str,
    place: Option<&'a str>,
    exclusive: FigureDocument,
    measured_s: f64,
    waiting_s: f64,
    measured_waiting_s: f64,
    calls: u64,
    share_now: Option<f64>,
    calls_per_s: Option<f64>,
}

impl<'a> RegionDocument<'a> {
    fn of(region: &'a RegionNow, rates: &Rates<'_>) -> Self {
        Self {
            name: &region.name,
            place: Some(region.place.as_str()).filter(|place| !place.is_empty()),
            exclusive: FigureDocument::of(&region.own),
            measured_s: region.measured_s,
            waiting_s: region.wait.compensated_s,
            measured_waiting_s: region.wait.measured_s,
            calls: region.calls,
            share_now: rates.share(region.key, region.measured_s),
            calls_per_s: rates.calls(region.key, region.calls),
        }
    }
}

#[derive(Serialize)]
struct ThreadDocument<'a> {
    name: &'a str,
    state: &'static str,
    /// The innermost open region first.
    open: &'a [String],
    since_s: Option<f64>,
    time: FigureDocument,
    delay_s: f64,
    waiting_s: f64,
    measured_waiting_s: f64,
    events: u64,
    events_per_s: Option<f64>,
}

impl<'a> ThreadDocument<'a> {
    fn of(place: &'a PlaceNow, rates: &Rates<'_>) -> Self {
        Self {
            name: &place.name,
            state: State::name(place.state),
            open: &place.open,
            since_s: place.since_s,
            time: FigureDocument::of(&place.time),
            delay_s: place.delay_s,
            waiting_s: place.wait.compensated_s,
            measured_waiting_s: place.wait.measured_s,
            events: place.events,
            events_per_s: rates.events_of(place.key, place.events),
        }
    }
}

#[derive(Serialize)]
struct PairDocument {
    from: u32,
    to: u32,
    messages: u64,
    bytes: u64,
    waiting_s: f64,
    measured_waiting_s: f64,
    sender_waiting_s: f64,
    measured_sender_waiting_s: f64,
    messages_per_s: Option<f64>,
}

impl PairDocument {
    fn of(pair: &PairNow, rates: &Rates<'_>) -> Self {
        Self {
            from: pair.from,
            to: pair.to,
            messages: pair.messages,
            bytes: pair.bytes,
            waiting_s: pair.wait.compensated_s,
            measured_waiting_s: pair.wait.measured_s,
            sender_waiting_s: pair.sender_wait.compensated_s,
            measured_sender_waiting_s: pair.sender_wait.measured_s,
            messages_per_s: rates.messages(pair.key, pair.messages),
        }
    }
}
