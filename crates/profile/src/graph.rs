//! Reading one graph file. Only what the counts name is touched: the file is sparse and may be large.
//!
//! A record that lies beyond the end of the file, or that points where nothing can be, is left out and
//! counted; the rest stands. A node whose parent is not before it hangs below the root.

use std::collections::HashMap;

use tare_format::description::{DescriptionError, RegionKind};
use tare_format::graph::{
    ARENA, BATCHES, BatchRecord, BatchSums, CLOCK_ADDITIONS, COLD_NODES, COST_UNIT, ColdNode, DelayModel, HEADER_AREA, Header, IMAGE_TABLE, IMAGES,
    ImageRecord, LocationRecord, MAGIC, MAX_BATCHES, MAX_LOCATIONS, MAX_NODES, MAX_PEERS, MpiLibrary, NODE_FOLDED, NODE_HOOK, NODE_LEAF,
    NODE_OVERFLOW, NODE_USER, NODES, NOT_SAID, Node as RawNode, PEER_HELD, PEERS, PeerRecord, ProcessState, SWITCH_TABLE, SWITCHES, SwitchRecord,
    ThreadWords, VERSION, Why,
};
use tare_format::metrics::{METRICS, MOST as MOST_METRICS, MetricsRecord, VALUES, ValuesRecord};
use tare_format::names::{BEYOND, MOST_REGIONS, MOST_TEXT, NAMES, NamedRegion, NamesRecord, REGIONS, TEXTS};
use tare_format::tally::{FILES, FileRecord, FilesRecord, MOST_FILES, TABLE};

use crate::live::{Live, RUNS, Standing, last_open_node, open_nodes};
use crate::model::{
    Batches, Clock, File, GraphFile, HotCounting, Location, LocationLosses, Messages, Metric, Node, Peer, Process, Processors, RegionIndex, Span,
    State, Switch,
};
use crate::region::{DescriptionIndex, Named, RegionTable};

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
    #[error("graph file of version {found}, this tool knows up to {known}")]
    UnknownVersion {
        /// Its version.
        found: u32,
        /// The latest one known.
        known: u32,
    },
    /// It ends within its header.
    #[error("the graph file ends within its header")]
    Short,
    /// A description of regions that cannot be read.
    #[error("{0}")]
    Description(DescriptionError),
}

/// Reads a file into a process and its locations, whose `process` is still to be set.
pub(crate) fn read(file: &GraphFile<'_>, regions: &mut RegionTable<'_>) -> Result<(Process, Vec<Location>), ReadError> {
    let &GraphFile { name, bytes, live } = file;
    let mut header = header(bytes)?;
    let is_running = header.state == ProcessState::Running as u32;
    let live = live.filter(|live| !live.has_ended || (is_running && live.ticks > header.last_ticks));
    if let Some(live) = live {
        (header.last_ticks, header.last_ns) = (live.ticks, live.ns);
    }
    let mut reader = Reader {
        bytes,
        images: images(bytes, &header).into_iter().map(|record| Image { record, description: regions.description(&record.identity) }).collect(),
        regions,
        damaged: 0,
        peers_read: 0,
        names: None,
        metrics: HashMap::new(),
        values: None,
        executable: text(&header.executable),
        live,
        last_ticks: header.last_ticks,
    };
    let count = header.locations.min(MAX_LOCATIONS);
    reader.find_others(count);
    let mut locations: Vec<Location> = (0..count).filter_map(|index| reader.location(u64::from(index))).collect();
    let switches = reader.switches(&header);
    let files = reader.files(count);
    let process = Process { switches, files, ..process(name, &header, reader.damaged) };
    locations.iter_mut().filter(|location| location.thread == 0).for_each(|main| add_what_no_event_bounds(&process, main));
    Ok((process, locations))
}

/// Outside of MPI the run is the life of the main thread. What of it lies before its first event, or behind its last one, is
/// the program's own.
fn add_what_no_event_bounds(process: &Process, main: &mut Location) {
    let Some(span) = process.span.filter(|span| process.rank.is_none() && (span.closed || main.standing.is_some())) else { return };
    let counted: i64 = main.nodes.iter().map(|node| node.exclusive).fold(0, i64::saturating_add);
    if let (Some(root), Ok(life)) = (main.nodes.first_mut(), i64::try_from(span.ticks())) {
        root.exclusive = root.exclusive.saturating_add(life.saturating_sub(counted).max(0));
    }
}

fn header(bytes: &[u8]) -> Result<Header, ReadError> {
    match bytes.get(..8) {
        Some(magic) if magic == MAGIC => {}
        _ => return Err(ReadError::NotAGraph),
    }
    let header = Header::from_bytes(bytes).ok_or(ReadError::Short)?;
    if header.version != VERSION {
        return Err(ReadError::UnknownVersion { found: header.version, known: VERSION });
    }
    Ok(header)
}

fn process(name: &str, header: &Header, damaged_records: u64) -> Process {
    let rank = header.rank_plus_one.checked_sub(1);
    let clock = clock(header);
    Process {
        file: name.to_string(),
        rank,
        world_size: rank.map(|_| header.world_size),
        host: text(&header.host),
        pid: header.pid,
        parent_pid: header.parent_pid,
        state: match ProcessState::from_number(header.state) {
            Some(ProcessState::Running) => State::Running,
            // Another thread ended the process while the main one was between the ends of MPI.
            Some(ProcessState::Finished) if rank.is_some() && header.span_start != 0 && header.span_end == 0 => State::CutOff,
            Some(ProcessState::Finished) => State::Finished,
            Some(ProcessState::Replaced) => State::Replaced,
            None => State::Unknown(header.state),
        },
        executable: text(&header.executable),
        mpi: MpiLibrary::from_number(header.mpi).unwrap_or(MpiLibrary::None),
        model: DelayModel::from_number(header.model).unwrap_or(DelayModel::Off),
        exact: header.flags & 1 != 0,
        clock,
        span: span(header),
        start_ns: header.start_ns,
        lifetime_s: header.last_ns.saturating_sub(header.start_ns) as f64 * 1e-9,
        hot_pair_cost: cost(header.hot_pair_cost),
        least_pair_cost: cost(header.least_pair_cost.into()),
        hot_hook_cost: cost(header.hot_hook_cost),
        hot_clockless: HotCounting { once: cost(header.hot_clockless.into()), again: cost(header.hot_clockless_again.into()) },
        hot_counted: HotCounting { once: cost(header.hot_counted.into()), again: cost(header.hot_counted_again.into()) },
        lost_threads: header.lost_threads,
        unpaired_messages: header.unpaired_messages,
        uncovered_calls: header.uncovered_calls,
        clock_doubt_s: header.clock_doubt_ns as f64 * 1e-9,
        setup_ticks: header.setup_ticks,
        damaged_records,
        budget: (header.budget > 0).then(|| f64::from(header.budget) / 1e4),
        switches: Vec::new(),
        unlisted_switches: u64::from(header.switches).saturating_sub(SWITCHES as u64),
        refused_sites: u64::from(header.sites_refused),
        files: Vec::new(),
    }
}

fn clock(header: &Header) -> Clock {
    let ticks = header.last_ticks.saturating_sub(header.start_ticks);
    let nanoseconds = header.last_ns.saturating_sub(header.start_ns);
    let known = ticks > 0 && nanoseconds > 0;
    let additions = header.clock_samples.saturating_mul(CLOCK_ADDITIONS);
    Clock {
        seconds_per_tick: if known { nanoseconds as f64 * 1e-9 / ticks as f64 } else { 0.0 },
        ticks_per_cycle: (additions > 0 && header.clock_ticks > 0).then(|| header.clock_ticks as f64 / additions as f64),
    }
}

fn span(header: &Header) -> Option<Span> {
    let closed = header.span_end != 0;
    (header.span_start != 0).then_some(Span {
        start: header.span_start,
        end: if closed { header.span_end } else { header.last_ticks },
        closed,
        start_delay: header.span_start_delay,
        end_delay: header.span_end_delay,
    })
}

fn images(bytes: &[u8], header: &Header) -> Vec<ImageRecord> {
    let count = (header.images as usize).min(IMAGES);
    (0..count).filter_map(|index| record(bytes, IMAGE_TABLE, index as u64, ImageRecord::SIZE, ImageRecord::from_bytes)).collect()
}

/// The record with this index in a table that starts at `table`.
fn record<T>(bytes: &[u8], table: u64, index: u64, size: usize, from_bytes: fn(&[u8]) -> Option<T>) -> Option<T> {
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

/// An entry and an exit for each call that was on; what damage made of the counts is added up as far as numbers go.
fn events(nodes: &[Node]) -> u64 {
    let calls = nodes.iter().filter(|node| node.parent.is_some()).map(|node| node.on_calls);
    calls.fold(0, |sum: u64, calls| sum.saturating_add(calls.saturating_mul(2)))
}

/// An image that the process loaded.
struct Image {
    record: ImageRecord,
    /// Where that was found.
    description: Option<DescriptionIndex>,
}

/// Reads the arenas of one file.
struct Reader<'a, 'd> {
    bytes: &'a [u8],
    images: Vec<Image>,
    regions: &'a mut RegionTable<'d>,
    damaged: u64,
    /// Of the location that is being read.
    peers_read: u32,
    executable: String,
    /// Where the arena with names begins, and what stands at its head.
    names: Option<(u64, NamesRecord)>,
    /// By number of the location: where the arena with its values begins, and what stands at its head.
    metrics: HashMap<u32, (u64, MetricsRecord)>,
    /// Of the location that is being read: where its values are, and how many metrics there are.
    values: Option<(u64, usize)>,
    live: Option<&'a Live>,
    /// The end of the process, or its last sign of life.
    last_ticks: u64,
}

impl Reader<'_, '_> {
    fn find_others(&mut self, arenas: u32) {
        let heads = (0..arenas).filter_map(|index| {
            let arena = HEADER_AREA + u64::from(index) * ARENA;
            Some((arena, record(self.bytes, arena, 0, NamesRecord::SIZE, NamesRecord::from_bytes)?))
        });
        self.names = { heads }.find(|(_, head)| head.state == NAMES);
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
        let (arena, head) = self.names?;
        let index = number.checked_sub(1).filter(|index| *index < head.regions.min(MOST_REGIONS))?;
        let raw = record(self.bytes, arena + REGIONS, u64::from(index), NamedRegion::SIZE, NamedRegion::from_bytes)?;
        let kind = RegionKind::from_number(u8::try_from(raw.kind.checked_sub(1)?).ok()?)?;
        let text = |start: u32, length: u32| {
            let end = u64::from(start) + u64::from(length);
            let range = usize::try_from(arena + TEXTS + u64::from(start)).ok()?..usize::try_from(arena + TEXTS + end).ok()?;
            self.bytes.get(range).filter(|_| end <= u64::from(MOST_TEXT)).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let named = Named {
            kind,
            name: text(raw.name, raw.name_length)?,
            image: text(raw.image, raw.image_length).filter(|image| !image.is_empty()).unwrap_or_else(|| self.executable.clone()),
            build_id: text(raw.build, raw.build_length)?,
            file: text(raw.file, raw.file_length)?,
            line: raw.line,
            address: raw.address,
        };
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
        self.peers_read = 0;
        let metrics = self.metrics.get(&raw.thread).copied();
        self.values = metrics.map(|(arena, head)| (arena, head.metrics.min(MOST_METRICS as u32) as usize));
        let (mut nodes, places) = self.nodes(arena, &raw);
        let standing = self.standing(index, &raw, &mut nodes, &places);
        // Slow paths alone note where they are; all that has been counted is between its begin and now.
        let counted = raw.start_ticks.saturating_add_signed(nodes.iter().map(|node| node.exclusive).sum());
        Some(Location {
            standing,
            thread: raw.thread,
            tid: raw.tid,
            events: events(&nodes),
            nodes,
            start_ticks: raw.start_ticks,
            end_ticks: if raw.state == RUNS { raw.end_ticks.max(counted) } else { raw.end_ticks },
            tool_ticks: raw.tool_ticks,
            slow_ticks: raw.slow_ticks,
            overhead: cost(raw.overhead),
            delay_gain: raw.delay_gain,
            off_batches: raw.off_batches,
            contradicted: raw.contradicted,
            metrics: metrics.map_or_else(Vec::new, |(_, head)| metrics_of(&head)),
            queued_s: self.queued_ns(index, &raw).map(|ns| ns as f64 / 1e9),
            queued_in_mpi_s: raw.queued_in_wrappers as f64 / 1e9,
            processors: Some(Processors { first: raw.first_processor, number: raw.processors }).filter(|processors| processors.number > 0),
            losses: LocationLosses {
                overflow_calls: raw.overflow_calls,
                depth: raw.lost_depth,
                unmatched_exits: raw.unmatched_exits,
                skipped_frames: raw.skipped_frames,
            },
            ..Location::default()
        })
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
    fn standing(&self, index: u64, location: &LocationRecord, nodes: &mut [Node], places: &[Option<usize>]) -> Option<Standing> {
        let arena = HEADER_AREA + index * ARENA;
        if location.state == RUNS && location.last_frame != 0 {
            let words = ThreadWords { frame: location.last_frame, last: location.last_event };
            return Some(self.standing_by(words, self.last_ticks, arena, nodes, places));
        }
        let live = self.live.filter(|_| location.state == RUNS)?;
        if live.has_ended {
            return self.last_standing(live, arena, location, nodes, places);
        }
        let Some(words) = live.threads.get(usize::try_from(index).ok()?).and_then(|thread| thread.words) else {
            let known = location.start_ticks.saturating_add_signed(nodes.iter().map(|node| node.exclusive).sum());
            return Some(Standing { node: None, since: live.ticks.saturating_sub(known) });
        };
        Some(self.standing_by(words, live.ticks, arena, nodes, places))
    }

    /// Where a thread stands whose state is known at this tick.
    fn standing_by(&self, words: ThreadWords, ticks: u64, arena: u64, nodes: &mut [Node], places: &[Option<usize>]) -> Standing {
        let since = ticks.saturating_sub(words.last);
        let place = |node: u32| places.get(node as usize).copied().flatten();
        let open = open_nodes(self.bytes, arena, &words).and_then(|(open, owner)| Some((place(open)?, place(owner)?)));
        if let Some((_, owner)) = open {
            nodes[owner].exclusive = nodes[owner].exclusive.saturating_add_unsigned(since);
        }
        Standing { node: open.map(|(open, _)| open), since }
    }

    fn last_standing(&self, live: &Live, arena: u64, location: &LocationRecord, nodes: &mut [Node], places: &[Option<usize>]) -> Option<Standing> {
        let place = |node: u32| places.get(node as usize).copied().flatten();
        let is_wrapper = |node: &Node| self.regions.kind(node.region) == RegionKind::Mpi;
        let (open, last) = last_open_node(self.bytes, arena, location, nodes, place, is_wrapper)?;
        let (open, since) = (place(open)?, live.ticks.saturating_sub(last));
        nodes[open].exclusive = nodes[open].exclusive.saturating_add_unsigned(since);
        Some(Standing { node: Some(open), since })
    }

    /// The region graph: nodes that are published, in the order of the file, and where each of the file's stands among
    /// them. The root is always there.
    fn nodes(&mut self, arena: u64, location: &LocationRecord) -> (Vec<Node>, Vec<Option<usize>>) {
        let overflow = MAX_NODES - 1;
        let count = location.nodes.min(overflow);
        let last = (location.nodes > overflow || location.overflow_calls > 0).then_some(overflow);
        let mut places = vec![None; count as usize];
        // Grown step by step it would be copied again and again, which is half of the time that an answer takes.
        let mut nodes = Vec::with_capacity(count as usize + 1);
        for index in (0..count).chain(last) {
            let Some(raw) = self.record(arena + NODES, u64::from(index), RawNode::SIZE, RawNode::from_bytes) else {
                break;
            };
            if raw.region == 0 && index != 0 {
                continue;
            }
            let parent = if index == 0 { None } else { Some(self.parent(raw.parent, &places)) };
            if let Some(place) = places.get_mut(index as usize) {
                *place = Some(nodes.len());
            }
            let node = self.node(arena, index, &raw, location);
            nodes.push(Node { parent, ..node });
        }
        if nodes.is_empty() {
            let region = self.root_region();
            nodes.push(Node { region, ..Node::default() });
        }
        (nodes, places)
    }

    /// Where a node's parent stands in the model; the root for one that cannot be.
    fn parent(&mut self, parent: u32, places: &[Option<usize>]) -> usize {
        places.get(parent as usize).copied().flatten().unwrap_or_else(|| {
            self.damaged += 1;
            0
        })
    }

    fn node(&mut self, arena: u64, index: u32, raw: &RawNode, location: &LocationRecord) -> Node {
        let cold = self
            .record(arena + COLD_NODES, u64::from(index), ColdNode::SIZE, ColdNode::from_bytes)
            .or_else(|| ColdNode::from_bytes(&[0; ColdNode::SIZE]));
        let overflow = raw.flags & NODE_OVERFLOW != 0 || index == MAX_NODES - 1;
        let mut node = Node {
            region: self.region(index, raw, overflow),
            parent: None,
            on_calls: raw.calls,
            off_calls: off_calls(raw),
            exclusive: raw.exclusive,
            inclusive: raw.inclusive,
            cost: cost(raw.cost),
            leaf: raw.flags & NODE_LEAF != 0,
            hooked: raw.flags & (NODE_HOOK | NODE_USER) != 0,
            folded: raw.flags & NODE_FOLDED != 0,
            overflow,
            contradicted: location.contradicted_at.iter().find(|&&at| at as u32 == index + 1).map_or(0, |at| at >> 32),
            ..Node::default()
        };
        if let Some((arena, count)) = self.values {
            let raw = record(self.bytes, arena + VALUES, u64::from(index), ValuesRecord::SIZE, ValuesRecord::from_bytes);
            node.values = raw.map_or_else(|| vec![0; count], |raw| raw.values[..count].to_vec());
        }
        if let Some(cold) = cold {
            node.tool_ticks = cold.tool_ticks;
            node.wait_ticks = cold.wait_ticks;
            node.virtual_wait_ticks = cold.virtual_wait_ticks;
            node.delay_gain = cold.delay_gain;
            node.messages = Messages { count: cold.messages, bytes: cold.bytes, unpaired: cold.unpaired };
            node.batches = self.batches(arena, cold.batch_record, index, location);
            node.peers = self.peers(arena, cold.first_peer, location);
        }
        node
    }

    fn region(&mut self, index: u32, raw: &RawNode, overflow: bool) -> RegionIndex {
        if index == 0 {
            return self.root_region();
        }
        if overflow {
            return self.regions.made_up(RegionKind::Program, "[beyond the limit of nodes]", &self.executable);
        }
        self.region_with_id(raw.region)
    }

    fn region_with_id(&mut self, id: u32) -> RegionIndex {
        let number_in = |image: &Image| id.checked_sub(image.record.id_base).filter(|number| (1..=image.record.regions).contains(number));
        let place = self.images.iter().find_map(|image| Some((image.description, image.record.identity, number_in(image)?)));
        let known = place.and_then(|(description, identity, number)| match identity {
            NO_DESCRIPTION => self.named(number),
            _ => self.regions.of_image(description?, number),
        });
        known.unwrap_or_else(|| {
            let name = format!("[region {} without description]", id);
            self.regions.made_up(RegionKind::Function, &name, &self.executable)
        })
    }

    fn root_region(&mut self) -> RegionIndex {
        self.regions.made_up(RegionKind::Program, "program", &self.executable)
    }

    fn batches(&mut self, arena: u64, place: u32, node: u32, location: &LocationRecord) -> Option<Box<Batches>> {
        let index = place.checked_sub(1)?;
        if index >= location.batches.min(MAX_BATCHES) {
            self.damaged += 1;
            return None;
        }
        let raw = self.record(arena + BATCHES, u64::from(index), BatchRecord::SIZE, BatchRecord::from_bytes)?;
        if raw.node != node {
            self.damaged += 1;
            return None;
        }
        Some(Box::new(Batches {
            on: BatchSums::from_bytes(&raw.on)?,
            off: BatchSums::from_bytes(&raw.off)?,
            off_twice: BatchSums::from_bytes(&raw.off_twice)?,
            off_cost: cost(raw.off_cost),
            first_calls: raw.first_calls,
            first_ticks: raw.first_ticks,
        }))
    }

    /// A list of partners. Each record belongs to one list, so all lists of a location together are no
    /// longer than its table, in damaged files too.
    fn peers(&mut self, arena: u64, first: u32, location: &LocationRecord) -> Vec<Peer> {
        let count = location.peers.min(MAX_PEERS);
        let (mut peers, mut held) = (Vec::new(), Vec::new());
        let mut place = first;
        while let Some(index) = place.checked_sub(1) {
            if index >= count || self.peers_read >= count {
                self.damaged += 1;
                break;
            }
            self.peers_read += 1;
            let Some(raw) = self.record(arena + PEERS, u64::from(index), PeerRecord::SIZE, PeerRecord::from_bytes) else {
                break;
            };
            if raw.peer & PEER_HELD == 0 {
                peers.push(peer(&raw));
            } else {
                held.push(raw);
            }
            place = raw.next;
        }
        add_held(&mut peers, &held);
        peers
    }

    fn record<T>(&mut self, table: u64, index: u64, size: usize, from_bytes: fn(&[u8]) -> Option<T>) -> Option<T> {
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

/// Calls while off: of a batch under way, only those that have come. Below zero is a call that found none left, and is not
/// of this batch.
fn off_calls(raw: &RawNode) -> u64 {
    raw.off_calls.saturating_add_signed(-i64::from(raw.left.max(0)))
}

/// Adds to partners what sends to them waited.
fn add_held(peers: &mut Vec<Peer>, held: &[PeerRecord]) {
    if held.is_empty() {
        return;
    }
    let mut places: HashMap<u32, usize> = peers.iter().enumerate().map(|(place, peer)| (peer.rank, place)).collect();
    for raw in held {
        let rank = raw.peer & !PEER_HELD;
        let place = *places.entry(rank).or_insert(peers.len());
        if place == peers.len() {
            peers.push(Peer { rank, ..Peer::default() });
        }
        let peer = &mut peers[place];
        peer.held = peer.held.saturating_add(raw.wait);
        peer.virtual_held = peer.virtual_held.saturating_add(raw.virtual_wait);
        peer.delay_gain = peer.delay_gain.saturating_add(raw.delay_gain);
    }
}

fn peer(raw: &PeerRecord) -> Peer {
    Peer {
        rank: raw.peer,
        sent: raw.sent,
        received: raw.received,
        bytes: raw.bytes,
        transmission: raw.transmission,
        wait: raw.wait,
        virtual_wait: raw.virtual_wait,
        held: 0,
        virtual_held: 0,
        delay_gain: raw.delay_gain,
    }
}
