//! What a file says of its process.

use tare_format::graph::{
    CLOCK_ADDITIONS, DelayModel, Header, IMAGE_TABLE, IMAGES, ImageRecord, MAGIC, MpiLibrary, OLDEST_VERSION, ProcessState, SWITCHES, VERSION,
};

use super::{ReadError, cost, record, text};
use crate::clock::{Clock, Span};
use crate::model::{HotCounting, Process, State};

pub(super) fn header(bytes: &[u8]) -> Result<Header, ReadError> {
    match bytes.get(..8) {
        Some(magic) if magic == MAGIC => {}
        None if MAGIC.starts_with(bytes) => return Err(ReadError::Short),
        _ => return Err(ReadError::NotAGraph),
    }
    let header = Header::from_bytes(bytes).ok_or(ReadError::Short)?;
    if !(OLDEST_VERSION..=VERSION).contains(&header.version) {
        return Err(ReadError::UnknownVersion { found: header.version, known: VERSION });
    }
    Ok(header)
}

pub(super) fn process(name: &str, header: &Header, damaged_records: u64) -> Process {
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
        successor: Some(text(&header.successor)).filter(|path| !path.is_empty()),
        mpi: MpiLibrary::from_number(header.mpi).unwrap_or(MpiLibrary::None),
        model: DelayModel::from_number(header.model).unwrap_or(DelayModel::Off),
        exact: header.flags & 1 != 0,
        clock,
        span: span(header),
        is_in_mpi: false,
        start_ns: header.start_ns,
        lifetime_s: header.last_ns.saturating_sub(header.start_ns) as f64 * 1e-9,
        hot_pair_cost: cost(header.hot_pair_cost),
        least_pair_cost: cost(header.least_pair_cost.into()),
        hot_hook_cost: cost(header.hot_hook_cost.into()),
        hot_diverted: cost(header.hot_diverted.into()),
        hot_clockless: HotCounting { once: cost(header.hot_clockless.into()), again: cost(header.hot_clockless_again.into()) },
        hot_counted: HotCounting { once: cost(header.hot_counted.into()), again: cost(header.hot_counted_again.into()) },
        lost_threads: header.lost_threads,
        most_threads: (header.most_threads > 0).then_some(header.most_threads as usize),
        refused_calls: header.refused_calls,
        lost_images: u64::from(header.images).saturating_sub(IMAGES as u64),
        lost_children: header.lost_children.into(),
        unpaired_messages: header.unpaired_messages,
        uncovered_calls: header.uncovered_calls,
        clock_doubt_s: header.clock_doubt_ns as f64 * 1e-9,
        setup_ticks: header.setup_ticks,
        damaged_records,
        budget: (header.budget > 0).then(|| f64::from(header.budget) / 1e4),
        switches: Vec::new(),
        unlisted_switches: u64::from(header.switches).saturating_sub(SWITCHES as u64),
        files: Vec::new(),
    }
}

pub(super) fn clock(header: &Header) -> Clock {
    let ticks = header.last_ticks.saturating_sub(header.start_ticks);
    let nanoseconds = header.last_ns.saturating_sub(header.start_ns);
    let known = ticks > 0 && nanoseconds > 0;
    let additions = header.clock_additions.saturating_mul(CLOCK_ADDITIONS);
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

pub(super) fn images(bytes: &[u8], header: &Header) -> Vec<ImageRecord> {
    let count = (header.images as usize).min(IMAGES);
    (0..count).filter_map(|index| record(bytes, IMAGE_TABLE, index as u64, ImageRecord::SIZE, ImageRecord::from_bytes)).collect()
}
