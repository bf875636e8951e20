//! Metrics beside time: read at each event, their differences given to the innermost open node, in an arena of the
//! thread's own (`tare_format::metrics`).
//!
//! What always holds: a metric that cannot be read is marked as missing and stays at nothing; `last` is moved by the very
//! difference that a node gets, so that sums over a thread are right also where a handler comes between.

mod perf;
mod tally;
mod usage;

use crate::arena::{Arena, PAGE};
use crate::graph_file;
use crate::live::{LiveMetrics, LiveNode, LiveValues, add, add_signed};
use crate::local::Local;
use crate::settings::settings;
use crate::state::ThreadState;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::Release};
use tare_format::graph::{COST_UNIT, MAX_LOCATIONS};
use tare_format::metrics::{METRICS, MOST, VALUES, ValuesRecord};
use tare_format::tally::Word;

/// Where a metric comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// An event of the kernel's: type and configuration, as `perf_event_open` takes them.
    Perf { kind: u32, config: u64 },
    /// What `getrusage` says of the thread.
    Usage(usage::Field),
    /// Processor time of the thread, in nanoseconds.
    TaskClock,
    /// A word of the thread's tally of allocation and I/O.
    Tally(Word),
}

impl Source {
    /// From `pTYPE:CONFIG` (hexadecimal), `uFIELD`, `t`, `wWORD`.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(bytes).ok()?;
        let rest = text.get(1..)?;
        match text.as_bytes().first()? {
            b'p' => {
                let (kind, config) = rest.split_once(':')?;
                Some(Self::Perf { kind: u32::from_str_radix(kind, 16).ok()?, config: u64::from_str_radix(config, 16).ok()? })
            }
            b'u' => usage::Field::from_number(rest.parse().ok()?).map(Self::Usage),
            b't' => Some(Self::TaskClock),
            b'w' => Word::from_number(rest.parse().ok()?).map(Self::Tally),
            _ => None,
        }
    }
}

/// The metrics of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metrics {
    sources: [Option<Source>; MOST],
    names: [[u8; 48]; MOST],
    pub(crate) count: usize,
}

impl Metrics {
    pub(crate) const NONE: Self = Self { sources: [None; MOST], names: [[0; 48]; MOST], count: 0 };

    /// From `NAME=SOURCE,…`; what cannot be read is left out.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut metrics = Self::NONE;
        for word in bytes.split(|&byte| byte == b',') {
            let Some(at) = word.iter().rposition(|&byte| byte == b'=') else { continue };
            let (name, source) = (word.get(..at).unwrap_or(&[]), word.get(at + 1..).and_then(Source::from_bytes));
            let index = metrics.count;
            let (Some(slot), Some(text), Some(source)) = (metrics.sources.get_mut(index), metrics.names.get_mut(index), source) else { continue };
            *slot = Some(source);
            text.iter_mut().zip(name).for_each(|(to, &from)| *to = from);
            metrics.count += 1;
        }
        metrics
    }

    /// A bit for each metric whose source is of a kind.
    fn bits(&self, is_wanted: impl Fn(Source) -> bool) -> u32 {
        self.all().filter(|&(_, source)| is_wanted(source)).fold(0, |bits, (index, _)| bits | 1 << index)
    }

    fn all(&self) -> impl Iterator<Item = (usize, Source)> {
        self.sources.iter().copied().enumerate().filter_map(|(index, source)| Some((index, source?)))
    }
}

/// Whether the run has metrics.
#[inline]
pub(crate) fn are_wanted() -> bool {
    settings().metrics.count > 0
}

/// The arena with values of each location; null where it has none.
static ARENAS: [AtomicPtr<u8>; MAX_LOCATIONS as usize] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_LOCATIONS as usize];

/// Connects a thread that has a graph with its metrics. With signals held back.
pub(crate) fn begin(local: Local) {
    if !are_wanted() {
        return;
    }
    let owner = local.arena.location().thread.load(Relaxed);
    let Some(place) = ARENAS.get(owner as usize) else { return };
    let known = NonNull::new(place.load(Relaxed));
    // SAFETY: an arena of the file, which is never unmapped.
    let Some(arena) = known.map(|start| unsafe { Arena::at(start) }).or_else(graph_file::new_extra_arena) else { return };
    begin_on(local.state, arena, owner);
    keep_files();
    place.store(arena.start().as_ptr(), Relaxed);
}

/// Connects a thread with an arena for its values.
pub(crate) fn begin_on(state: &ThreadState, arena: Arena, owner: u32) {
    if !arena.allocate(0, PAGE) || !arena.allocate(VALUES, PAGE) {
        return;
    }
    let head = head_of(arena);
    head.owner.store(owner, Relaxed);
    let metrics = &settings().metrics;
    let texts = metrics.names.iter().take(metrics.count).flat_map(|name| name.iter().copied().take_while(|&byte| byte != 0).chain([b',']));
    head.names.iter().zip(texts).for_each(|(to, from)| to.store(from, Relaxed));
    head.costs.iter().zip(&COSTS).for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    head.metrics.store(metrics.count as u32, Relaxed);
    perf::open(head, metrics);
    begin_tally(head, metrics);
    state.metrics.store(arena.start().as_ptr(), Release);
    let mut now = [0; MOST];
    read(head, metrics, &mut now);
    head.last.iter().zip(now).for_each(|(last, now)| last.store(now, Relaxed));
    head.state.store(METRICS, Release);
}

/// Connects a thread with its tally, where words of it are wanted.
fn begin_tally(head: &LiveMetrics, metrics: &Metrics) {
    let of_tally = metrics.bits(|source| matches!(source, Source::Tally(_)));
    if of_tally == 0 {
        return;
    }
    head.highest.store(metrics.bits(|source| source == Source::Tally(Word::PeakHeap)), Relaxed);
    head.in_ticks.store(metrics.bits(|source| source == Source::Tally(Word::IoTicks)), Relaxed);
    let (is_there, sees_heap) = tally::begin(head);
    if !is_there {
        head.missing.fetch_or(of_tally, Relaxed);
    } else if !sees_heap {
        let unseen = metrics.bits(|source| matches!(source, Source::Tally(word) if word.is_of_heap()));
        head.missing.fetch_or(unseen, Relaxed);
        head.unseen.store(unseen, Relaxed);
    }
}

/// Looks for what counts allocation and I/O, where they are wanted.
pub(crate) fn connect() {
    if settings().metrics.bits(|source| matches!(source, Source::Tally(_))) != 0 {
        tally::connect();
    }
}

/// Counts I/O by file, where it is wanted.
fn keep_files() {
    if settings().metrics.bits(|source| matches!(source, Source::Tally(word) if !word.is_of_heap())) != 0 {
        tally::keep_files();
    }
}

/// A thread ends: its counters are let go.
pub(crate) fn end(state: &ThreadState) {
    if let Some(arena) = arena_of(state) {
        perf::note_times(head_of(arena));
        perf::close(head_of(arena));
        state.metrics.store(core::ptr::null_mut(), Relaxed);
    }
}

/// In a forked child: the arenas are the parent's, and so are the counters.
pub(crate) fn begin_anew(local: Option<Local>) {
    ARENAS.iter().for_each(|arena| arena.store(core::ptr::null_mut(), Relaxed));
    tally::leave_files();
    let state = ThreadState::current();
    if let Some(arena) = arena_of(state) {
        perf::close_copies(head_of(arena));
        state.metrics.store(core::ptr::null_mut(), Relaxed);
    }
    if let Some(local) = local {
        begin(local);
    }
}

/// Brings the times of the kernel's counters up to date.
pub(crate) fn publish(state: &ThreadState) {
    if let Some(arena) = arena_of(state) {
        perf::note_times(head_of(arena));
    }
}

/// Room for the values of nodes up to the one before `ready`.
pub(crate) fn has_room(state: &ThreadState, first: u32) -> bool {
    arena_of(state).is_none_or(|arena| arena.allocate(VALUES + u64::from(first) * ValuesRecord::SIZE as u64, PAGE))
}

fn arena_of(state: &ThreadState) -> Option<Arena> {
    let start = NonNull::new(state.metrics.load(Relaxed))?;
    // SAFETY: set to the start of a mapped arena, which is never unmapped.
    Some(unsafe { Arena::at(start) })
}

fn head_of(arena: Arena) -> &'static LiveMetrics {
    // SAFETY: stands at the arena's start, made of atomics.
    unsafe { arena.start().cast::<LiveMetrics>().as_ref() }
}

fn values_of(arena: Arena, node: u32) -> &'static LiveValues {
    let offset = VALUES + u64::from(node.min(tare_format::graph::OVERFLOW)) * ValuesRecord::SIZE as u64;
    // SAFETY: within the arena's table.
    let record = unsafe { arena.start().add(offset as usize) };
    // SAFETY: aligned, mapped for good, made of atomics.
    unsafe { record.cast::<LiveValues>().as_ref() }
}

/// Gives what was counted since the last event to a node.
///
/// # Probe-safe
#[inline]
pub(crate) fn attribute(local: Local, node: &LiveNode) {
    if !local.state.metrics.load(Relaxed).is_null() {
        attribute_to(local, node);
    }
}

fn attribute_to(local: Local, node: &LiveNode) {
    let Some(arena) = arena_of(local.state) else { return };
    let (head, metrics) = (head_of(arena), &settings().metrics);
    let values = values_of(arena, local.arena.index_of(node));
    let mut now = [0; MOST];
    read(head, metrics, &mut now);
    tally::attribute(local, head, node);
    let highest = head.highest.load(Relaxed);
    for (index, source) in metrics.all() {
        let (Some(value), Some(last), Some(&now)) = (values.values.get(index), head.last.get(index), now.get(index)) else { return };
        if let (true, Source::Tally(word)) = (highest & 1 << index != 0, source) {
            let found = tally::take(head, word).cast_signed();
            value.store(value.load(Relaxed).max(found), Relaxed);
            continue;
        }
        let passed = now.wrapping_sub(last.load(Relaxed));
        add_signed(value, passed.cast_signed());
        add(last, passed);
    }
}

fn read(head: &LiveMetrics, metrics: &Metrics, now: &mut [u64; MOST]) {
    let mut usage = None;
    perf::read(head, metrics, now);
    for (index, source) in metrics.all() {
        let Some(now) = now.get_mut(index) else { return };
        match source {
            Source::Perf { .. } => {}
            Source::Usage(field) => *now = usage.get_or_insert_with(usage::read).get(field),
            Source::TaskClock => *now = crate::sys::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID),
            // A highest value is no count; it is taken when it is given to a node.
            Source::Tally(Word::PeakHeap) => {}
            Source::Tally(word) => *now = tally::count(head, word),
        }
    }
}

/// What a pair of probes adds to each metric.
static COSTS: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// Notes what a pair of probes adds to each metric, from values before and after some pairs, for all arenas to come.
pub(crate) fn note_costs(state: &ThreadState, pairs: u64, run_pairs: impl Fn()) {
    let Some(arena) = arena_of(state) else { return };
    let (head, metrics) = (head_of(arena), &settings().metrics);
    let (mut before, mut after) = ([0; MOST], [0; MOST]);
    run_pairs();
    read(head, metrics, &mut before);
    run_pairs();
    read(head, metrics, &mut after);
    for ((cost, before), after) in COSTS.iter().zip(before).zip(after) {
        cost.store(after.saturating_sub(before).saturating_mul(COST_UNIT) / pairs.max(1), Relaxed);
    }
}
