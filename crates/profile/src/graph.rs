//! Reading one graph file. Only what the counts name is touched: the file is sparse and may be large.
//!
//! A record that lies beyond the end of the file, or that points where nothing can be, is left out and
//! counted; the rest stands. A node whose parent is not before it hangs below the root.

mod names;
mod nodes;
mod process;
mod sums;

use std::collections::HashMap;

use tare_format::description::{DescriptionError, RegionKind};
use tare_format::graph::{
    ARENA, COST_UNIT, HEADER_AREA, Header, ImageRecord, LocationRecord, MAX_LOCATIONS, NOT_SAID, OLDEST_VERSION, ProcessState, SWITCH_TABLE,
    SWITCHES, SwitchRecord, ThreadWords, Why,
};
use tare_format::metrics::{METRICS, MOST as MOST_METRICS, MetricsRecord};
use tare_format::names::{BEYOND, NAMES};
use tare_format::tally::{FILES, FileRecord, FilesRecord, MOST_FILES, TABLE};

use self::names::Names;
use self::nodes::{Nodes, Places, all_of};
use self::process::{clock, header, images, process};
use crate::live::{Live, RUNS, Standing, last_open_node, open_nodes};
use crate::model::{Extent, File, GraphFile, Location, LocationLosses, Metric, Node, Process, Processors, RegionIndex, Switch};
use crate::region::{DescriptionIndex, RegionTable};

pub use self::names::named;

/// More than any program counts, and more ticks than it runs: nine years of them at 4 GHz.
const MOST_COUNTED: u64 = 1 << 60;

/// The identity of an image whose regions the process names itself.
const NO_DESCRIPTION: [u8; 16] = [0; 16];

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It does not begin as graph files do.
    #[error("not a graph file of Tareweight")]
    NotAGraph,
    /// It is of a version that this reader does not know.
    #[error("graph file of version {found}, this tool reads version {known}")]
    UnknownVersion {
        /// Its version.
        found: u32,
        /// The latest one known.
        known: u32,
    },
    /// The system does not open it, and says why.
    #[error("{0}")]
    Unopened(String),
    /// It ends within its header.
    #[error("the graph file ends within its header")]
    Short,
    /// A description of regions that cannot be read.
    #[error("{0}")]
    Description(DescriptionError),
    /// The description of an image's regions that is missing, or cannot be read.
    #[error("regions have no names, as it is missing, damaged or not to be opened")]
    Undescribed,
}

/// Reads a file into a process and its locations, whose `process` is still to be set.
pub(crate) fn read(file: &GraphFile<'_>, regions: &mut RegionTable<'_>, extent: Extent) -> Result<(Process, Vec<Location>), ReadError> {
    let &GraphFile { name, bytes, live } = file;
    let bytes = bytes.map_err(|why| ReadError::Unopened(why.to_string()))?;
    let mut header = header(bytes)?;
    let is_running = header.state == ProcessState::Running as u32;
    let is_unseen = |live: &Live| live.has_ended && live.ticks == 0;
    let live = live.filter(|live| !live.has_ended || (is_running && (is_unseen(live) || live.ticks > header.last_ticks)));
    if let Some(live) = live.filter(|live| !is_unseen(live)) {
        (header.last_ticks, header.last_ns) = (live.ticks, live.ns);
    }
    let mut reader = Reader {
        bytes,
        images: images(bytes, &header).into_iter().map(|record| Image::of(record, regions)).collect(),
        regions,
        met: HashMap::new(),
        damaged: 0,
        peers_read: 0,
        has_sizes: header.version != OLDEST_VERSION,
        names: None,
        metrics: HashMap::new(),
        values: None,
        executable: text(&header.executable),
        live,
        last_ticks: header.last_ticks,
        extent,
    };
    let count = header.locations.min(MAX_LOCATIONS);
    reader.find_others(count);
    let mut locations: Vec<Location> = (0..count).filter_map(|index| reader.location(u64::from(index))).collect();
    number_threads(&mut locations);
    let switches = reader.switches(&header);
    let files = reader.files(count);
    let process = Process { switches, files, ..process(name, &header, reader.damaged) };
    if extent == Extent::Open {
        return Ok((process, locations));
    }
    locations.iter_mut().filter(|location| location.thread == 0).for_each(|main| add_what_no_event_bounds(&process, main));
    Ok((process, locations))
}

/// Arenas that hold names, metrics or files stand between those of threads, which have their arena's number.
fn number_threads(locations: &mut [Location]) {
    let threads = locations.iter_mut().filter(|location| location.thread != 0);
    (1..).zip(threads).for_each(|(number, location)| location.thread = number);
}

/// Outside of MPI the run is the life of the main thread. What of it lies before its first event, or behind its last one, is
/// the program's own.
fn add_what_no_event_bounds(process: &Process, main: &mut Location) {
    let Some(span) = process.span_of(main).filter(|span| process.rank.is_none() && (span.closed || main.standing.is_some())) else { return };
    let counted: i64 = main.nodes.iter().map(|node| node.exclusive).fold(0, i64::saturating_add);
    if let (Some(root), Ok(life)) = (main.nodes.first_mut(), i64::try_from(span.ticks())) {
        root.exclusive = root.exclusive.saturating_add(life.saturating_sub(counted).max(0));
    }
}

/// The record with this index in a table that starts at `table`.
#[inline]
fn record<T>(bytes: &[u8], table: u64, index: u64, size: usize, from_bytes: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let start = usize::try_from(table.checked_add(index.checked_mul(size as u64)?)?).ok()?;
    from_bytes(bytes.get(start..)?)
}

fn text(padded: &[u8]) -> String {
    let end = padded.iter().position(|&byte| byte == 0).unwrap_or(padded.len());
    String::from_utf8_lossy(&padded[..end]).into_owned()
}

fn cost(units: u64) -> f64 {
    units as f64 / COST_UNIT as f64
}

/// An image that the process loaded.
struct Image {
    record: ImageRecord,
    /// Its regions are those that the process names itself.
    is_named: bool,
    /// Where the description was found.
    description: Option<DescriptionIndex>,
}

impl Image {
    fn of(record: ImageRecord, regions: &mut RegionTable<'_>) -> Self {
        let is_named = record.identity == NO_DESCRIPTION;
        Self { is_named, description: if is_named { None } else { regions.description(&record.identity) }, record }
    }
}

/// Reads the arenas of one file.
struct Reader<'a, 'd> {
    bytes: &'a [u8],
    images: Vec<Image>,
    regions: &'a mut RegionTable<'d>,
    /// By the number that nodes have: regions that were met before and are in no description.
    met: HashMap<u32, RegionIndex>,
    damaged: u64,
    /// Of the location that is being read.
    peers_read: u32,
    /// Its peer records have sizes of messages.
    has_sizes: bool,
    executable: String,
    names: Option<Names>,
    /// By number of the location: where the arena with its values begins, and what stands at its head.
    metrics: HashMap<u32, (u64, MetricsRecord)>,
    /// Of the location that is being read: where its values are, and how many metrics there are.
    values: Option<(u64, usize)>,
    live: Option<&'a Live>,
    /// The end of the process, or its last sign of life.
    last_ticks: u64,
    extent: Extent,
}

impl Reader<'_, '_> {
    fn find_others(&mut self, arenas: u32) {
        self.names = Names::find(self.bytes, arenas);
        for index in 0..arenas {
            let arena = HEADER_AREA + u64::from(index) * ARENA;
            let head = record(self.bytes, arena, 0, MetricsRecord::SIZE, MetricsRecord::from_bytes);
            if let Some(head) = head.filter(|head| head.state == METRICS) {
                self.metrics.insert(head.owner, (arena, head));
            }
        }
    }

    /// The files of all arenas that hold some; those that two threads met at once are one.
    fn files(&mut self, arenas: u32) -> Vec<File> {
        let mut files: Vec<File> = Vec::new();
        let mut places = HashMap::new();
        for index in 0..arenas {
            let arena = HEADER_AREA + u64::from(index) * ARENA;
            let head = record(self.bytes, arena, 0, FilesRecord::SIZE, FilesRecord::from_bytes);
            let Some(head) = head.filter(|head| head.state == FILES) else { continue };
            for file in 0..head.files.min(MOST_FILES) {
                let raw = self.record(arena + TABLE, u64::from(file), FileRecord::SIZE, FileRecord::from_bytes);
                let Some(raw) = raw.filter(|raw| raw.name_length != 0) else { continue };
                let name = raw.name.get(..raw.name_length as usize).unwrap_or(&raw.name);
                let name = String::from_utf8_lossy(name).into_owned();
                let place = *places.entry(name.clone()).or_insert_with(|| {
                    files.push(File { name, ..File::default() });
                    files.len() - 1
                });
                add_to_file(&mut files[place], &raw);
            }
        }
        files.retain(|file| file.reads + file.writes + file.others > 0);
        files
    }

    /// A region that the process named itself; `None` where its record is not there.
    fn named(&mut self, number: u32) -> Option<RegionIndex> {
        if number == BEYOND {
            return Some(self.regions.made_up(RegionKind::Function, "[beyond the limit of regions]", &self.executable));
        }
        let named = self.names?.region(self.bytes, number, &self.executable)?;
        Some(self.regions.named(named))
    }

    fn switches(&mut self, header: &Header) -> Vec<Switch> {
        let count = u64::from(header.switches).min(SWITCHES as u64);
        let clock = clock(header);
        let mut switches = Vec::new();
        for index in 0..count {
            let raw = self.record(SWITCH_TABLE, index, SwitchRecord::SIZE, SwitchRecord::from_bytes);
            let Some(raw) = raw.filter(|raw| raw.region != 0) else { continue };
            switches.push(Switch {
                region: self.region_with_id(raw.region),
                off: raw.off != 0,
                why: Why::from_number(u32::from(raw.why)),
                at_s: clock.seconds(raw.ticks.saturating_sub(header.start_ticks) as f64),
                calls: raw.calls,
                period_s: (raw.period > 0).then(|| clock.seconds(raw.period as f64 / COST_UNIT as f64)),
            });
        }
        switches
    }

    fn location(&mut self, index: u64) -> Option<Location> {
        let arena = HEADER_AREA + index * ARENA;
        let raw = self.record(arena, 0, LocationRecord::SIZE, LocationRecord::from_bytes)?;
        if [NAMES, METRICS, FILES].contains(&raw.state) {
            return None;
        }
        let raw = self.possible(raw);
        self.peers_read = 0;
        let metrics = self.metrics.get(&raw.thread).copied();
        self.values = metrics.map(|(arena, head)| (arena, head.metrics.min(MOST_METRICS as u32) as usize));
        let Nodes { mut nodes, places, events } = match self.extent {
            Extent::Open => self.open_alone(index, arena, &raw),
            // Where a thread stood that was cut off, its paths say.
            Extent::Regions if raw.state != RUNS || !self.live.is_some_and(|live| live.has_ended) => self.sums(arena, &raw),
            Extent::All | Extent::Regions => self.nodes(arena, &raw, all_of(&raw)),
        };
        let standing = self.standing(index, &raw, &mut nodes, &places);
        // Slow paths alone note where they are; all that has been counted is between its begin and now.
        let counted = || raw.start_ticks.saturating_add_signed(nodes.iter().map(|node| node.exclusive).sum());
        let end_ticks = if raw.state == RUNS { raw.end_ticks.max(counted()) } else { raw.end_ticks };
        Some(Location {
            standing,
            thread: raw.thread,
            tid: raw.tid,
            events,
            nodes,
            start_ticks: raw.start_ticks,
            end_ticks,
            tool_ticks: raw.tool_ticks,
            slow_ticks: raw.slow_ticks,
            setup_ticks: raw.setup_ticks,
            overhead: cost(raw.overhead),
            delay_gain: raw.delay_gain,
            off_batches: raw.off_batches,
            contradicted: raw.contradicted,
            metrics: metrics.map_or_else(Vec::new, |(_, head)| metrics_of(&head)),
            queued_s: self.queued_ns(index, &raw).map(|ns| ns as f64 / 1e9),
            ran_s: raw.ran_plus_one.checked_sub(1).map(|ns| ns as f64 / 1e9),
            queued_in_calls_s: raw.queued_in_wrappers as f64 / 1e9,
            asleep_s: raw.asleep as f64 / 1e9,
            processors: Some(Processors { first: raw.first_processor, number: raw.processors }).filter(|processors| processors.number > 0),
            losses: LocationLosses {
                overflow_calls: raw.overflow_calls,
                depth: raw.lost_depth,
                unmatched_exits: raw.unmatched_exits,
                skipped_frames: raw.skipped_frames,
                skipped_ticks: raw.skipped_ticks,
            },
            ..Location::default()
        })
    }

    /// What a location's record says of the thread; nothing but where things are where its counts are no program's.
    fn possible(&mut self, raw: LocationRecord) -> LocationRecord {
        let counts = [
            raw.lost_peers,
            raw.tool_ticks,
            raw.unmatched_exits,
            raw.skipped_frames,
            raw.skipped_ticks,
            raw.overflow_calls,
            raw.lost_depth,
            raw.slow_paths,
            raw.off_batches,
            raw.slow_ticks,
            raw.contradicted,
            raw.queued_plus_one,
            raw.queued_in_wrappers,
            raw.setup_ticks,
            raw.ran_plus_one,
            raw.asleep,
            raw.delay_gain.unsigned_abs(),
        ];
        if counts.into_iter().all(|count| count < MOST_COUNTED) {
            return raw;
        }
        self.damaged += 1;
        let LocationRecord { thread, tid, nodes, batches, peers, state, start_ticks, end_ticks, thread_state, .. } = raw;
        let none = LocationRecord::from_bytes(&[0; LocationRecord::SIZE]).unwrap_or(raw);
        LocationRecord { thread, tid, nodes, batches, peers, state, start_ticks, end_ticks, thread_state, queued_base: NOT_SAID, ..none }
    }

    /// For how long the threads of a location had no processor: of one that runs up to now, else as it was last read.
    fn queued_ns(&self, index: u64, location: &LocationRecord) -> Option<u64> {
        let thread = self.live.and_then(|live| live.threads.get(usize::try_from(index).ok()?));
        let now = thread.and_then(|thread| thread.queued_ns).filter(|_| location.queued_base != NOT_SAID);
        let sum = now.and_then(|now| u64::try_from(location.queued_base.checked_add_unsigned(now)?).ok());
        sum.or(location.queued_plus_one.checked_sub(1))
    }

    /// Where a thread stands that runs, or whose process was cut off or ended by another thread; the node that time goes to gets
    /// what has passed since the last event.
    fn standing(&self, index: u64, location: &LocationRecord, nodes: &mut [Node], places: &Places) -> Option<Standing> {
        let arena = HEADER_AREA + index * ARENA;
        if let Some((words, ticks)) = self.last_words(index, location) {
            return Some(self.standing_by(words, ticks, arena, nodes, places));
        }
        let live = self.live.filter(|_| location.state == RUNS)?;
        if live.has_ended {
            return self.last_standing(arena, location, nodes, places);
        }
        let known = location.start_ticks.saturating_add_signed(nodes.iter().map(|node| node.exclusive).sum());
        Some(Standing { node: None, since: live.ticks.saturating_sub(known) })
    }

    /// What a thread that has not ended says of where it stands, and at which tick.
    fn last_words(&self, index: u64, location: &LocationRecord) -> Option<(ThreadWords, u64)> {
        if location.state != RUNS {
            return None;
        }
        if location.last_frame != 0 {
            return Some((ThreadWords { frame: location.last_frame, last: location.last_event }, self.last_ticks));
        }
        let live = self.live.filter(|live| !live.has_ended)?;
        Some((live.threads.get(usize::try_from(index).ok()?)?.words?, live.ticks))
    }

    /// Where a thread stands whose state is known at this tick.
    fn standing_by(&self, words: ThreadWords, ticks: u64, arena: u64, nodes: &mut [Node], places: &Places) -> Standing {
        let since = ticks.saturating_sub(words.last);
        let open = open_nodes(self.bytes, arena, &words).and_then(|(open, owner)| Some((places.of(open)?, places.of(owner)?)));
        if let Some((_, owner)) = open {
            nodes[owner].exclusive = nodes[owner].exclusive.saturating_add_unsigned(since);
        }
        Standing { node: open.map(|(open, _)| open), since }
    }

    fn last_standing(&self, arena: u64, location: &LocationRecord, nodes: &mut [Node], places: &Places) -> Option<Standing> {
        let is_wrapper = |node: &Node| self.regions.kind(node.region).is_wrapped();
        let (open, last) = last_open_node(self.bytes, arena, location, nodes, |node| places.of(node), is_wrapper)?;
        let (open, since) = (places.of(open)?, self.last_ticks.saturating_sub(last));
        nodes[open].exclusive = nodes[open].exclusive.saturating_add_unsigned(since);
        Some(Standing { node: Some(open), since })
    }

    #[inline]
    fn record<T>(&mut self, table: u64, index: u64, size: usize, from_bytes: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let found = record(self.bytes, table, index, size, from_bytes);
        if found.is_none() {
            self.damaged += 1;
        }
        found
    }
}

fn add_to_file(file: &mut File, raw: &FileRecord) {
    file.reads += raw.reads;
    file.bytes_read += raw.bytes_read;
    file.read_ticks += raw.read_ticks;
    file.writes += raw.writes;
    file.bytes_written += raw.bytes_written;
    file.write_ticks += raw.write_ticks;
    file.others += raw.others;
    file.other_ticks += raw.other_ticks;
}

fn metrics_of(head: &MetricsRecord) -> Vec<Metric> {
    let names = text(&head.names);
    let counted = (head.enabled > 0 && head.running < head.enabled).then(|| head.running as f64 / head.enabled as f64);
    let names = names.split(',').take((head.metrics as usize).min(MOST_METRICS));
    let metric = |(index, name): (usize, &str)| Metric {
        name: name.to_string(),
        pair_cost: cost(head.costs[index]),
        missing: head.missing & 1 << index != 0,
        unseen: head.unseen & 1 << index != 0,
        highest: head.highest & 1 << index != 0,
        in_ticks: head.in_ticks & 1 << index != 0,
        counted,
    };
    names.enumerate().map(metric).collect()
}
