//! A process that runs while its graph file is read, or that was cut off: what is known beside the bytes, and what follows from it.
//!
//! Probes write the time of a stretch when it ends. A region that is open has lacked its time since the last event of its
//! thread; with the clock of the moment of reading, or of the process's end, and the innermost open frame, it gets it.
//!
//! Which frame is the innermost one stands in the memory of a process that runs, and is gone with it. Of a process that was
//! cut off the frames alone are left, those of calls that have returned among them. Two things tell them apart. A wrapper writes
//! when it is left, so that one whose entry was the last event of its thread, and which has not written then, is open. Of other
//! regions, below those of an open call lies more time than their ended calls took. Where the last event was the entry or the
//! exit of a function that had returned before, which of them it was cannot be known: then the time goes to its caller, which is
//! open in both cases.

use tare_format::graph::{ARENA, COLD_NODES, FRAMES, Frame, HEADER_AREA, Header, LocationRecord, MAX_LOCATIONS, NODES, Node as RawNode, ThreadWords};

use crate::model::Node;

/// What is known beside its graph file of a process that runs on this machine, or that is known to have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    /// The clock at the moment of reading, or when the process ended, ticks; 0 where that was not seen.
    pub ticks: u64,
    /// The same moment in nanoseconds since 1970.
    pub ns: u64,
    /// Whether the process has ended.
    pub has_ended: bool,
    /// By arena: what is known of its thread, where the process runs.
    pub threads: Vec<LiveThread>,
}

/// What is known beside the graph file of a thread that runs on this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveThread {
    /// The first words of its state, where the system lets them be read.
    pub words: Option<ThreadWords>,
    /// Nanoseconds for which it could have run and had no processor, as the kernel says.
    pub queued_ns: Option<u64>,
}

impl Live {
    /// Thread ids and load addresses of the thread states of a graph file, by arena; `None` for an arena without a thread that runs.
    #[must_use]
    pub fn threads_of(bytes: &[u8]) -> Vec<Option<(u32, u64)>> {
        let arenas = Header::from_bytes(bytes).map_or(0, |header| header.locations.min(MAX_LOCATIONS));
        let record = |index: u32| LocationRecord::from_bytes(bytes.get(usize::try_from(HEADER_AREA + u64::from(index) * ARENA).ok()?..)?);
        (0..arenas).map(|index| record(index).filter(|record| record.state == RUNS).map(|record| (record.tid, record.thread_state))).collect()
    }
}

/// The state of a location whose thread runs.
pub(crate) const RUNS: u32 = 1;

/// Where a thread stood when its graph was read while it ran, or when its process was cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The innermost node known to be open; `None` where the system does not let it be known.
    pub node: Option<usize>,
    /// Ticks since its last event, up to the last sign of life of its process where the end of that was not seen.
    pub since: u64,
}

/// The nodes that the innermost frame of an arena names: the one that is open, and the one that time goes to.
pub(crate) fn open_nodes(bytes: &[u8], arena: u64, words: &ThreadWords) -> Option<(u32, u32)> {
    let frame_at = words.frame % ARENA;
    if !(FRAMES..NODES).contains(&frame_at) {
        return None;
    }
    let frame = Frame::from_bytes(bytes.get(usize::try_from(arena + frame_at).ok()?..)?)?;
    let index = |address: u64| {
        let at = address % ARENA;
        (NODES..COLD_NODES).contains(&at).then(|| ((at - NODES) / RawNode::SIZE as u64) as u32)
    };
    let open = index(frame.node)?;
    let is_clockless = frame.sp & 1 == 0;
    Some((open, if is_clockless { index(frame.base)? } else { open }))
}

/// The innermost node of a process that was cut off of which it is known that it was open, as an index of its file, and the tick
/// of the last event. `place` says where a node of the file stands among `nodes`, `is_wrapper` whether a wrapper entered it.
pub(crate) fn last_open_node(
    bytes: &[u8],
    arena: u64,
    location: &LocationRecord,
    nodes: &[Node],
    place: impl Fn(u32) -> Option<usize>,
    is_wrapper: impl Fn(&Node) -> bool,
) -> Option<(u32, u64)> {
    let frame = |index: u64| {
        let at = usize::try_from(FRAMES + index * Frame::SIZE as u64).ok().filter(|&at| (at as u64) < NODES)?;
        let frame = Frame::from_bytes(bytes.get(usize::try_from(arena).ok()? + at..)?)?;
        let at = (frame.node % ARENA).checked_sub(NODES).filter(|at| *at < COLD_NODES - NODES)?;
        let node = u32::try_from(at / RawNode::SIZE as u64).ok().filter(|_| frame.node != 0)?;
        Some((frame, node, place(node)?))
    };
    let entered = |frame: &Frame, place: usize| frame.base.wrapping_add(nodes[place].inclusive);
    let (root, root_node, root_place) = frame(0)?;
    let all: i64 = nodes.iter().map(|node| node.exclusive).sum();
    let last = root.base.wrapping_add_signed(all);
    let frames = || (1..).map_while(frame);
    let wrapped = frames().find(|(frame, _, place)| is_wrapper(&nodes[*place]) && entered(frame, *place) == last && location.end_ticks != last);
    if let Some((_, node, _)) = wrapped {
        return Some((node, last));
    }
    let mut below: Vec<i64> = nodes.iter().map(|node| node.exclusive).collect();
    for index in (1..nodes.len()).rev() {
        let sum = below[index];
        nodes[index].parent.iter().for_each(|&parent| below[parent] += sum);
    }
    let (mut open, mut open_place) = (root_node, root_place);
    for (frame, node, place) in frames() {
        let since = last.wrapping_sub(entered(&frame, place)).cast_signed();
        let unended = below[place].saturating_sub_unsigned(nodes[place].inclusive);
        let is_clockless = frame.sp & 1 == 0;
        let has_ended = since < 0 || unended < since / 2 || (since == 0 && nodes[place].inclusive > 0);
        if nodes[place].parent != Some(open_place) || is_clockless || has_ended {
            break;
        }
        (open, open_place) = (node, place);
    }
    Some((open, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_names_its_node_and_the_one_that_time_goes_to() {
        const LOADED: u64 = 7 * ARENA;
        let mut bytes = vec![0; (FRAMES + 4096) as usize];
        let mut put = |frame: u64, words: [u64; 4]| {
            let at = (FRAMES + frame * 32) as usize;
            words.iter().enumerate().for_each(|(word, value)| bytes[at + 8 * word..at + 8 * word + 8].copy_from_slice(&value.to_le_bytes()));
        };
        let node = |index: u64| LOADED + NODES + index * 64;
        put(1, [node(3), 17, 0, 0x7fef]);
        put(2, [node(9), node(3), 0, 0x7fe0]);
        let open = |frame: u64| open_nodes(&bytes, 0, &ThreadWords { frame: LOADED + FRAMES + frame * 32, last: 0 });
        assert_eq!((open(1), open(2)), (Some((3, 3)), Some((9, 3))));
        assert_eq!(open_nodes(&bytes, 0, &ThreadWords { frame: 12, last: 0 }), None);
    }
}
