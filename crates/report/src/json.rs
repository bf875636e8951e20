//! The `report` document, and what all documents share. Fields may be added and are never renamed within a schema number.
//!
//! Times are in seconds, addresses are integers, ratios are fractions, unknown values are null: also times of
//! a process whose clock is not known, as of one that was killed before it read its clock twice. The types here mirror what they describe; nothing else derives `Serialize`.

use std::collections::BTreeMap;

use serde::Serialize;
use tare_compensate::whole::{Classes, ThreadPlace};
use tare_compensate::{CompensatedNode, Figure, Mark};
use tare_profile::{Clock, DelayModel, Location, MpiLibrary, Node, SIZE_CLASSES, State, most_of_class};

use crate::budget::Spent;
use crate::layout::{Glyphs, NO_BREAK};
use crate::metrics::{self, FileDocument, MetricDocument, ValueDocument};
use crate::run::{Exit, InstrumentedImage, Results, Run};
use crate::select::Decision;
use crate::switches::{self, SwitchDocument};
use crate::view::{
    Contradicted, ContradictedPlace, FindingText, Replacement, Size, Time, Trust, Undelayed, Unrecorded, WaitRow, Whole, clock_doubt, finding_texts,
    kind_name, knows_waiting, region_rows, wait_rows,
};

/// The schema number of all documents.
pub const SCHEMA: u32 = 1;

/// A document as it is written: JSON on one line, without a newline at its end.
#[must_use]
pub fn written(document: &impl Serialize) -> String {
    // Mirror types hold strings, numbers, lists and structs alone, which always have a JSON form.
    serde_json::to_string(document).unwrap_or_default()
}

/// The `report` document.
#[must_use]
pub fn report(run: &Run, results: &Results<'_>) -> String {
    let profile = results.profile;
    let mut nodes = Vec::new();
    for (index, location) in profile.locations.iter().enumerate() {
        let first = nodes.len();
        let shown = &results.shown.locations[index].nodes;
        let clock = &profile.process_of(location).clock;
        let process = profile.process_of(location);
        let made = location.nodes.iter().zip(shown);
        let metrics = metrics::of_nodes(profile, location);
        nodes.extend(made.zip(metrics).map(|((node, shown), metrics)| NodeDocument {
            metrics,
            calls_exact: !node.overflow && process.counts_all_of(node.region),
            ..NodeDocument::of(index, first, node, shown, clock, !results.is_foreign)
        }));
    }
    written(&ReportDocument {
        schema: SCHEMA,
        run: RunDocument::of(run, results),
        whole: WholeDocument::of(run, results),
        locations: profile.locations.iter().enumerate().map(|(index, location)| LocationDocument::of(index, location, results)).collect(),
        regions: profile.regions.iter().map(RegionDocument::of).collect(),
        nodes,
        files: metrics::files(profile),
    })
}

#[derive(Serialize)]
struct ReportDocument<'a> {
    schema: u32,
    run: RunDocument<'a>,
    whole: WholeDocument,
    locations: Vec<LocationDocument<'a>>,
    regions: Vec<RegionDocument<'a>>,
    nodes: Vec<NodeDocument>,
    files: Vec<FileDocument>,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    command: &'a [String],
    started: Option<&'a str>,
    wall_s: f64,
    /// Null where it is not known, or a signal ended it.
    exit_status: Option<i32>,
    /// The signal that ended the command, or by which we were told to stop it.
    signal: Option<&'a str>,
    /// Processes that were cut off, and that still run.
    cut_off: usize,
    running: usize,
    ranks: usize,
    mpi: Option<&'static str>,
    compensate: &'static str,
    model: &'static str,
    /// Null where we did.
    measured_by: Option<&'a str>,
    uncovered_calls: u64,
    unpaired_messages: u64,
    /// Threads whose calls are counted nowhere, and calls of threads for which there was no memory.
    lost_threads: u64,
    refused_calls: u64,
    replaced: Vec<ReplacementDocument>,
    clock_doubt_s: f64,
    contradicted_receives: u64,
    contradicted: Vec<ContradictedDocument>,
    switched: Vec<SwitchDocument>,
    /// Null where the run had none.
    budget: Option<Spent>,
    images: Vec<ImageDocument<'a>>,
}

/// What of an image was instrumented, and what was refused.
#[derive(Serialize)]
struct ImageDocument<'a> {
    path: &'a str,
    found: usize,
    selected: usize,
    instrumented: usize,
    refusals: &'a [Decision],
}

impl<'a> ImageDocument<'a> {
    fn of(image: &'a InstrumentedImage) -> Self {
        let InstrumentedImage { path, found, selected, instrumented, refusals, .. } = image;
        Self { path, found: *found, selected: *selected, instrumented: *instrumented, refusals }
    }
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a Run, results: &Results<'_>) -> Self {
        let processes = &results.profile.processes;
        let mpi = processes.iter().find_map(|process| match process.mpi {
            MpiLibrary::None => None,
            MpiLibrary::OpenMpi => Some("openmpi"),
            MpiLibrary::Mpich => Some("mpich"),
            MpiLibrary::Standard => Some("mpiabi"),
        });
        let (undelayed, contradicted) = (Undelayed::of(results.profile), Contradicted::of(results.profile));
        let unrecorded = Unrecorded::of(results.profile);
        let open = |state: State| processes.iter().filter(|process| process.is_open() && process.state == state).count();
        Self {
            command: &run.command,
            started: Some(run.started.as_str()).filter(|started| !started.is_empty()),
            wall_s: run.wall_s,
            exit_status: if let Exit::Status(status) = run.exit { Some(status) } else { None },
            signal: run.signal(),
            cut_off: open(State::CutOff),
            running: open(State::Running),
            ranks: Size::of(results).ranks,
            mpi,
            compensate: run.compensation(results.shown.mode),
            model: processes.first().map_or("virtual", |process| model_name(process.model)),
            measured_by: run.measured_by.as_deref(),
            uncovered_calls: undelayed.calls + undelayed.waits,
            unpaired_messages: undelayed.messages,
            lost_threads: unrecorded.threads,
            refused_calls: unrecorded.calls,
            replaced: Replacement::all(results.profile).into_iter().map(ReplacementDocument::of).collect(),
            clock_doubt_s: clock_doubt(results.profile),
            contradicted_receives: contradicted.receives,
            contradicted: contradicted.places.iter().map(ContradictedDocument::of).collect(),
            switched: switches::documents(results.profile),
            budget: Spent::of(results),
            images: run.images.iter().map(ImageDocument::of).collect(),
        }
    }
}

/// A process that replaced itself by a program that is not measured.
#[derive(Serialize)]
struct ReplacementDocument {
    process: u32,
    rank: Option<u32>,
    by: String,
    after_s: f64,
}

impl ReplacementDocument {
    fn of(Replacement { process, rank, by, after_s }: Replacement) -> Self {
        Self { process, rank, by, after_s }
    }
}

/// Receives from anywhere, of one operation in one function, that met messages in an order which virtual times contradict.
#[derive(Serialize)]
struct ContradictedDocument {
    operation: usize,
    caller: Option<usize>,
    receives: u64,
}

impl ContradictedDocument {
    fn of(place: &ContradictedPlace) -> Self {
        Self { operation: place.operation, caller: place.caller, receives: place.receives }
    }
}

fn model_name(model: DelayModel) -> &'static str {
    match model {
        DelayModel::Off => "off",
        DelayModel::Delay => "delay",
        DelayModel::Virtual => "virtual",
    }
}

/// What the summary says of the whole run.
#[derive(Serialize)]
struct WholeDocument {
    efficiency: Option<EfficiencyDocument>,
    classes: ClassesDocument,
    findings: Vec<FindingDocument>,
    waits: Vec<WaitPlaceDocument>,
    thread_waits: Vec<ThreadPlaceDocument>,
}

/// A place where ranks wait; seconds are sums over the ranks.
#[derive(Serialize)]
struct WaitPlaceDocument {
    operation: usize,
    caller: Option<usize>,
    calls: u64,
    wait: WaitDocument,
    waiters: Vec<RankDocument>,
    awaited: Vec<RankDocument>,
    last: Vec<u32>,
}

/// A place where threads wait for one another; seconds are sums over the threads.
#[derive(Serialize)]
struct ThreadPlaceDocument {
    operation: usize,
    caller: Option<usize>,
    calls: u64,
    wait: WaitDocument,
    threads: usize,
}

impl ThreadPlaceDocument {
    fn of(place: &ThreadPlace) -> Self {
        let &ThreadPlace { operation, caller, measured_wait_s, wait_s, calls, threads } = place;
        let wait = WaitDocument { measured_s: Some(measured_wait_s), compensated_s: Some(wait_s) };
        Self { operation: operation.0, caller: caller.map(|caller| caller.0), calls, wait, threads }
    }
}

#[derive(Serialize)]
struct RankDocument {
    rank: u32,
    seconds: f64,
}

impl WaitPlaceDocument {
    fn of(row: &WaitRow<'_>) -> Self {
        let place = row.place;
        let ranks = |ranks: &[(u32, f64)]| ranks.iter().map(|&(rank, seconds)| RankDocument { rank, seconds }).collect();
        Self {
            operation: place.operation.0,
            caller: place.caller.map(|caller| caller.0),
            calls: place.calls,
            wait: WaitDocument { measured_s: Some(place.measured_wait_s), compensated_s: Some(place.wait_s) },
            waiters: ranks(&place.waiters),
            awaited: ranks(&place.awaited),
            last: row.last.clone(),
        }
    }
}

#[derive(Serialize)]
struct EfficiencyDocument {
    parallel: f64,
    load_balance: f64,
    communication: f64,
}

/// Classes of time as documents have them: seconds of all locations.
#[derive(Serialize)]
pub struct ClassesDocument {
    useful_s: f64,
    /// `None` where nothing says who waited: waiting is among the work of messages.
    waiting_s: Option<f64>,
    messages_s: f64,
    /// In calls that have not returned.
    open_s: f64,
    start_end_s: f64,
}

impl ClassesDocument {
    /// The document of classes.
    #[must_use]
    pub fn of(classes: &Classes) -> Self {
        let &Classes { useful_s, waiting_s, messages_s, open_s, start_end_s } = classes;
        Self { useful_s, waiting_s: Some(waiting_s), messages_s, open_s, start_end_s }
    }
}

/// A figure as documents have it: seconds, and why they are not to be trusted.
#[derive(Serialize)]
pub struct FigureDocument {
    value_s: f64,
    low_s: Option<f64>,
    high_s: Option<f64>,
    mark: Option<&'static str>,
}

impl FigureDocument {
    /// The document of a figure.
    #[must_use]
    pub fn of(figure: &Figure) -> Self {
        Self { value_s: figure.value, low_s: Some(figure.low), high_s: Some(figure.high), mark: figure.mark.map(Mark::reason) }
    }

    /// The same of a figure whose uncertainty nothing says.
    #[must_use]
    pub fn without_interval(self) -> Self {
        Self { low_s: None, high_s: None, ..self }
    }
}

#[derive(Serialize)]
struct FindingDocument {
    id: &'static str,
    region: usize,
    at: String,
    what: String,
    seconds: f64,
    low_s: f64,
    high_s: f64,
    certainty: String,
    attempt: Option<String>,
}

impl WholeDocument {
    fn of(run: &Run, results: &Results<'_>) -> Self {
        let whole = Whole::of(results);
        let trust = Time::of(results).map(|time| Trust::of(run, results, &region_rows(results, &whole), &time));
        let findings = trust.map(|trust| finding_texts(results.profile, run, &whole.findings, &trust, None, &Glyphs::ASCII)).unwrap_or_default();
        Self {
            efficiency: whole.efficiency.map(|efficiency| EfficiencyDocument {
                parallel: efficiency.parallel(),
                load_balance: efficiency.load_balance,
                communication: efficiency.communication,
            }),
            classes: ClassesDocument {
                waiting_s: knows_waiting(run, results.profile).then_some(whole.classes.waiting_s),
                ..ClassesDocument::of(&whole.classes)
            },
            findings: findings.into_iter().map(FindingDocument::of).collect(),
            waits: wait_rows(results, &whole).iter().map(WaitPlaceDocument::of).collect(),
            thread_waits: whole.thread_places.iter().map(ThreadPlaceDocument::of).collect(),
        }
    }
}

impl FindingDocument {
    fn of(finding: FindingText) -> Self {
        let FindingText { id, region, seconds, at, is_begin: _, amount: _, what, certainty, attempt } = finding;
        let what = what.replace(NO_BREAK, " ");
        Self { id, region, at, what, seconds: seconds.value, low_s: seconds.low, high_s: seconds.high, certainty, attempt }
    }
}

#[derive(Serialize)]
struct LocationDocument<'a> {
    process: u32,
    host: &'a str,
    rank: Option<u32>,
    thread: u32,
    measured_s: Option<f64>,
    compensated_s: Option<f64>,
    low_s: Option<f64>,
    high_s: Option<f64>,
    mark: Option<&'static str>,
    delay_s: Option<f64>,
    overhead_s: Option<f64>,
    /// Of that, what probes took.
    probes_s: Option<f64>,
    events: u64,
    lost: u64,
    /// For how long it could have run and had no processor; null where the kernel does not say.
    queued_s: Option<f64>,
    /// What of that passed in MPI.
    queued_in_calls_s: Option<f64>,
    /// For how long at least it neither ran nor could have run, outside of MPI and of waits for other threads; null as well.
    asleep_s: Option<f64>,
    processors: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<MetricDocument<'a>>,
}

impl<'a> LocationDocument<'a> {
    fn of(index: usize, location: &'a Location, results: &Results<'a>) -> Self {
        let process = results.profile.process_of(location);
        let shown = &results.shown.locations[index];
        let clock = &process.clock;
        Self {
            process: process.pid,
            host: &process.host,
            rank: process.rank,
            thread: location.thread,
            measured_s: known(shown.measured_s, clock),
            compensated_s: known(shown.total.value, clock),
            low_s: known(shown.total.low, clock).filter(|_| !results.is_foreign),
            high_s: known(shown.total.high, clock).filter(|_| !results.is_foreign),
            mark: shown.total.mark.map(tare_compensate::Mark::reason),
            delay_s: known(shown.delay_s, clock),
            overhead_s: known(shown.overhead_s, clock),
            probes_s: known(shown.probes.value, clock),
            events: location.events,
            lost: location.losses.lost(),
            queued_s: location.queued_s,
            queued_in_calls_s: location.queued_s.map(|_| location.queued_in_calls_s),
            asleep_s: location.queued_s.map(|_| location.asleep_s),
            processors: location.processors.map(|processors| processors.number),
            metrics: metrics::of_thread(location),
        }
    }
}

#[derive(Serialize)]
struct RegionDocument<'a> {
    name: &'a str,
    raw_name: &'a str,
    kind: &'static str,
    image: &'a str,
    address: u64,
    file: Option<&'a str>,
    line: Option<u32>,
}

impl<'a> RegionDocument<'a> {
    fn of(region: &'a tare_profile::Region) -> Self {
        Self {
            name: &region.name,
            raw_name: &region.raw_name,
            kind: kind_name(region.kind),
            image: &region.image,
            address: region.address,
            file: Some(region.file.as_str()).filter(|file| !file.is_empty()),
            line: Some(region.line).filter(|&line| line > 0),
        }
    }
}

#[derive(Serialize)]
struct NodeDocument {
    location: usize,
    region: usize,
    parent: Option<usize>,
    calls: u64,
    calls_exact: bool,
    inclusive: TimeDocument,
    exclusive: TimeDocument,
    wait: WaitDocument,
    peers: Vec<PeerDocument>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, ValueDocument>,
}

impl NodeDocument {
    /// `first` is the place of the location's root among all nodes.
    fn of(location: usize, first: usize, node: &Node, shown: &CompensatedNode, clock: &Clock, has_interval: bool) -> Self {
        Self {
            location,
            region: node.region.0,
            parent: node.parent.map(|parent| first + parent),
            calls: node.calls(),
            calls_exact: !node.overflow,
            inclusive: TimeDocument::of(shown.measured_inclusive_s, &shown.inclusive, clock, has_interval),
            exclusive: TimeDocument::of(shown.measured_exclusive_s, &shown.exclusive, clock, has_interval),
            wait: WaitDocument { measured_s: known(shown.measured_wait_s, clock), compensated_s: known(shown.wait_s, clock) },
            peers: node.exchanged().peers.iter().map(|peer| PeerDocument::of(peer, clock)).collect(),
            metrics: BTreeMap::new(),
        }
    }
}

#[derive(Serialize)]
struct TimeDocument {
    measured_s: Option<f64>,
    compensated_s: Option<f64>,
    low_s: Option<f64>,
    high_s: Option<f64>,
    mark: Option<&'static str>,
}

impl TimeDocument {
    fn of(measured_s: f64, figure: &Figure, clock: &Clock, has_interval: bool) -> Self {
        Self {
            measured_s: known(measured_s, clock),
            compensated_s: known(figure.value, clock),
            low_s: known(figure.low, clock).filter(|_| has_interval),
            high_s: known(figure.high, clock).filter(|_| has_interval),
            mark: figure.mark.map(tare_compensate::Mark::reason),
        }
    }
}

#[derive(Serialize)]
struct WaitDocument {
    measured_s: Option<f64>,
    compensated_s: Option<f64>,
}

#[derive(Serialize)]
struct PeerDocument {
    rank: u32,
    sent: u64,
    received: u64,
    bytes: u64,
    transmission_s: Option<f64>,
    wait: WaitDocument,
    /// What sends to it waited until it received.
    send_wait: WaitDocument,
    /// The classes of sizes that have messages.
    sizes: Vec<SizeDocument>,
}

#[derive(Serialize)]
struct SizeDocument {
    /// Bytes of the largest message of the class; the last class has no end.
    most_bytes: Option<u64>,
    sent: u64,
    received: u64,
}

impl SizeDocument {
    fn all_of(peer: &tare_profile::Peer) -> Vec<Self> {
        let of_class = |class: usize| Self { most_bytes: most_of_class(class), sent: peer.sent_sizes[class], received: peer.received_sizes[class] };
        (0..SIZE_CLASSES).map(of_class).filter(|size| size.sent + size.received > 0).collect()
    }
}

impl PeerDocument {
    fn of(peer: &tare_profile::Peer, clock: &Clock) -> Self {
        let seconds = |ticks: u64| known(clock.seconds(ticks as f64), clock);
        Self {
            rank: peer.rank,
            sent: peer.sent,
            received: peer.received,
            bytes: peer.bytes,
            transmission_s: seconds(peer.transmission),
            wait: WaitDocument { measured_s: seconds(peer.wait), compensated_s: seconds(peer.virtual_wait) },
            send_wait: WaitDocument { measured_s: seconds(peer.held), compensated_s: seconds(peer.virtual_held) },
            sizes: SizeDocument::all_of(peer),
        }
    }
}

/// A time by a clock, where that is known. JSON knows no infinity.
fn known(seconds: f64, clock: &Clock) -> Option<f64> {
    (clock.is_known() && seconds.is_finite()).then_some(seconds)
}
