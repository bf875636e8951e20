//! A process that runs while its graph file is read: what a monitor adds to the bytes, and what follows from it.
//!
//! Probes write the time of a stretch when it ends. A region that is open has lacked its time since the last event of its
//! thread; with the clock of the moment of reading, and the innermost open frame, it gets it.

use tare_format::graph::{ARENA, COLD_NODES, FRAMES, Frame, HEADER_AREA, Header, LocationRecord, MAX_LOCATIONS, NODES, Node as RawNode, ThreadWords};

/// What a monitor on the machine of a running process knows beside its graph file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    /// The clock at the moment of reading, ticks.
    pub ticks: u64,
    /// The same moment in nanoseconds since 1970.
    pub ns: u64,
    /// By arena: the first words of its thread's state, where the system lets them be read.
    pub threads: Vec<Option<ThreadWords>>,
}

impl Live {
    /// Load addresses of the thread states of a graph file, by arena; 0 for an arena without a thread that runs.
    #[must_use]
    pub fn addresses(bytes: &[u8]) -> Vec<u64> {
        let arenas = Header::from_bytes(bytes).map_or(0, |header| header.locations.min(MAX_LOCATIONS));
        let record = |index: u32| LocationRecord::from_bytes(bytes.get(usize::try_from(HEADER_AREA + u64::from(index) * ARENA).ok()?..)?);
        (0..arenas).map(|index| record(index).filter(|record| record.state == RUNS).map_or(0, |record| record.thread_state)).collect()
    }
}

/// The state of a location whose thread runs.
pub(crate) const RUNS: u32 = 1;

/// Where a thread stood when its graph was read while it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The innermost open node; `None` where the system does not let it be known.
    pub node: Option<usize>,
    /// Ticks since its last event.
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
    let is_clockless = frame.sp & 1 != 0;
    Some((open, if is_clockless { index(frame.base)? } else { open }))
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
        put(1, [node(3), 17, 0, 0x7ff0]);
        put(2, [node(9), node(3), 0, 0x7fef]);
        let open = |frame: u64| open_nodes(&bytes, 0, &ThreadWords { frame: LOADED + FRAMES + frame * 32, last: 0 });
        assert_eq!((open(1), open(2)), (Some((3, 3)), Some((9, 3))));
        assert_eq!(open_nodes(&bytes, 0, &ThreadWords { frame: 12, last: 0 }), None);
    }
}
