//! The graph file: the region graphs of one process, in a file that is mapped while the process runs.
//!
//! The probe writes its counters here and nowhere else; a monitor reads the same bytes while the program
//! runs; collecting a run copies them. The file is sparse: a fixed header area, then one arena a thread.
//!
//! ```text
//! 0            Header (HEADER_AREA bytes: header, then IMAGES × ImageRecord, then SWITCHES × SwitchRecord)
//! HEADER_AREA  arena 0 (main thread) · arena 1 · …   each ARENA bytes:
//!   +0              LocationRecord (one page)
//!   +FRAMES         frames of open regions, 32 bytes each, from the bottom of the stack up
//!   +NODES          Node, 64 bytes each: the hot line, written by probes
//!   +COLD_NODES     ColdNode, 64 bytes each, same index: waits, corrections, messages
//!   +BATCHES        BatchRecord, 1024 bytes each: for nodes that are short and frequent; between them CompanyRecords of the same size
//!   +PEERS          PeerRecord, 128 bytes each: messages by partner, and their sizes
//! ```
//!
//! What always holds: every counter is an aligned word with a single writer, its thread; a record counts as
//! written once its index is below the count of its table, and a node once its `region` is not 0 (stored
//! last). A reader that loads a child before its parent never sees more calls below than above. Nothing is
//! ever moved or freed, so a file found after a crash reads like one that was closed.
//!
//! Time is in time-stamp counter ticks; [`Header::start_ticks`] and [`Header::last_ticks`] tie them to nanoseconds. Costs are in
//! [`COST_UNIT`]ths of a tick.

mod batches;
mod sizes;

use core::mem::size_of;

use crate::record::record;

pub use batches::{BatchRecord, BatchSums, COMPANY_UNIT, CompanyRecord, MULTIPLE_UNIT, SAMPLE};
pub use sizes::{SIZE_CLASSES, most_of_class, size_class};

/// First bytes of a graph file.
pub const MAGIC: [u8; 8] = *b"TAREGRPH";
/// Version of this layout. What a release has written stays readable; version 1 numbered several layouts that none has written, so that
/// nobody can tell which of them a file has, and is refused.
pub const VERSION: u32 = 3;
/// The oldest version that is read. It differs from the present one in its peer records alone.
pub const OLDEST_VERSION: u32 = 2;

/// Bytes before the first arena.
pub const HEADER_AREA: u64 = 64 << 10;
/// Image records in the header area.
pub const IMAGES: usize = 704;
/// Where the log of switches begins.
pub const SWITCH_TABLE: u64 = IMAGE_TABLE + (IMAGES * ImageRecord::SIZE) as u64;
/// Switches in the log.
pub const SWITCHES: usize = 512;
/// How the name of a request ends that stands beside the graph file: pairs of a region id and 0 (on) or 1 (off), u32 each.
pub const REQUEST_ENDING: &str = ".request";
/// How a name ends behind which a graph file is being made or copied: nothing for readers.
pub const DRAFT_ENDING: &str = ".draft";
/// Name of the empty file, in the run directory or where graphs stand meanwhile, that says that a process found no room for its graph.
pub const UNWRITTEN: &str = "unmeasured";
/// Where the image records begin.
pub const IMAGE_TABLE: u64 = 4096;
/// Bytes of an arena.
pub const ARENA: u64 = 32 << 20;
/// Threads that can be measured in one process at once. Where more have been, some share a location: its root has a call for each of them.
pub const MAX_LOCATIONS: u32 = 1024;

/// From an arena's start to its frames.
pub const FRAMES: u64 = 4096;
/// Frames of a location: the depth to which open regions are followed.
pub const MAX_FRAMES: u64 = (NODES - FRAMES) / size_of::<Frame>() as u64;
/// From an arena's start to its nodes.
pub const NODES: u64 = 8 << 20;
/// From an arena's start to its cold nodes.
pub const COLD_NODES: u64 = 16 << 20;
/// Nodes of a location; the last one is the overflow node.
pub const MAX_NODES: u32 = ((COLD_NODES - NODES) / size_of::<Node>() as u64) as u32;
/// The index of the overflow node.
pub const OVERFLOW: u32 = MAX_NODES - 1;
/// Nodes of a location that are call paths. Behind these, below the overflow node, each region has one for all of its calls on further paths.
pub const MAX_PATHS: u32 = MAX_NODES / 4 * 3;
/// From an arena's start to its batch records.
pub const BATCHES: u64 = 24 << 20;
/// Batch records of a location.
pub const MAX_BATCHES: u32 = ((PEERS - BATCHES) / size_of::<BatchRecord>() as u64) as u32;
/// From an arena's start to its peer records.
pub const PEERS: u64 = 28 << 20;
/// Peer records of a location.
pub const MAX_PEERS: u32 = ((ARENA - PEERS) / size_of::<PeerRecord>() as u64) as u32;

/// Costs and overheads are stored in this fraction of a tick.
pub const COST_UNIT: u64 = 256;

record! {
    /// The first bytes of a graph file.
    Header, 640 {
        /// [`MAGIC`].
        0 magic: [u8; 8],
        /// [`VERSION`].
        8 version: u32,
        /// One of [`ProcessState`].
        12 state: u32,
        /// Process id.
        16 pid: u32,
        /// Process id of the parent.
        20 parent_pid: u32,
        /// Arenas in use; the release store of this count publishes them.
        24 locations: u32,
        /// Images that are measured; those beyond [`IMAGES`] have no record.
        28 images: u32,
        /// Rank in `MPI_COMM_WORLD` plus one; 0 outside MPI.
        32 rank_plus_one: u32,
        /// Size of `MPI_COMM_WORLD`; 0 outside MPI.
        36 world_size: u32,
        /// One of [`MpiLibrary`].
        40 mpi: u32,
        /// One of [`DelayModel`].
        44 model: u32,
        /// Clock of the runtime's start: ticks, and nanoseconds since 1970.
        48 start_ticks: u64,
        /// See `start_ticks`.
        56 start_ns: u64,
        /// Clock as last read, in the same two units.
        64 last_ticks: u64,
        /// See `last_ticks`.
        72 last_ns: u64,
        /// When `MPI_Init` returned (or `main` began); 0 before.
        80 span_start: u64,
        /// When `MPI_Finalize` was entered (or the process ended); 0 before.
        88 span_end: u64,
        /// Delay (overhead minus wait corrections, ticks, signed) at `span_start`, as it stood then.
        96 span_start_delay: i64,
        /// Delay at `span_end`.
        104 span_end_delay: i64,
        /// Prior of the cost of a probe pair, measured in a hot loop at start ([`COST_UNIT`]).
        112 hot_pair_cost: u64,
        /// Core clock: multiples of [`CLOCK_ADDITIONS`] dependent additions that pass in `clock_ticks` at the mean rate of all samples.
        120 clock_additions: u64,
        /// See `clock_additions`.
        128 clock_ticks: u64,
        /// Samples.
        136 clock_samples: u64,
        /// Threads that found no arena, nor one whose thread had ended: what they called is counted nowhere.
        144 lost_threads: u64,
        /// Messages whose delay did not arrive with them.
        152 unpaired_messages: u64,
        /// Messages or collectives that carry no delay, by kind of call.
        160 uncovered_calls: u64,
        /// Bit 0: exact (no batch is ever off).
        168 flags: u32,
        /// Cost of an entry that is off and counted in a hot loop ([`COST_UNIT`]); 0 where it was not measured.
        172 hot_counted: u32,
        /// Ticks spent by the runtime itself outside of probes, in set-up.
        176 setup_ticks: u64,
        /// Cost of a pair of clockless probes in a hot loop ([`COST_UNIT`]); 0 where it was not measured.
        184 hot_clockless: u32,
        /// What doing its work once more adds to it; a part of that in files of version 2.
        188 hot_clockless_again: u32,
        /// Number of the last request of `tare ctl`, which writes it; the request itself stands in a file beside this one
        /// whose name ends in [`REQUEST_ENDING`].
        192 request: u64,
        /// Number of the last request that the process has followed.
        200 followed: u64,
        /// Switches in the log, those beyond its room included.
        208 switches: u32,
        /// Sites that are switched off now.
        212 sites_off: u32,
        /// Forked children that found no room for a graph of their own.
        216 lost_children: u32,
        /// Budget for the dilation of the run by probes, in hundredths of a percent; 0 for none.
        220 budget: u32,
        /// The rule of the throttle: a path with more calls than this … (0: no rule)
        224 throttle_calls: u64,
        /// … whose calls take fewer nanoseconds than this is switched off for good.
        232 throttle_ns: u64,
        /// Cost of a pair of hooks, or of calls of the program's own, in a hot loop ([`COST_UNIT`]); 0 where it was not measured.
        240 hot_hook_cost: u32,
        /// What a pair by the way of calls that are off takes longer than one that is on, in a hot loop ([`COST_UNIT`]); 0 where it was not measured.
        244 hot_diverted: u32,
        /// Nanoseconds by which the clocks of this machine and of others may differ after they were put in line; 0 where there is one.
        248 clock_doubt_ns: u64,
        /// Host name, padded with zeros.
        256 host: [u8; 64],
        /// Path of the executable (of the original where the image is a copy), padded, cut at the front if too long.
        320 executable: [u8; 184],
        /// Cost of a pair beside work that hides as much of it as can be ([`COST_UNIT`]).
        504 least_pair_cost: u32,
        /// What doing it once more adds to `hot_counted`; a part of it in files of version 2.
        508 hot_counted_again: u32,
        /// Calls of threads for which there was no memory; 0 in older files.
        512 refused_calls: u64,
        /// Threads that have a location now.
        520 threads: u32,
        /// The most of them that there were at once; 0 in older files.
        524 most_threads: u32,
        /// Path of the other program by which the process replaced itself, padded, cut at the front if too long; zeros where it has not,
        /// and where that is measured.
        528 successor: [u8; 112],
    }
}

/// Nanoseconds of doubt beyond which clocks of several machines say less than delays alone do: the delay model, which needs no
/// common clock, takes the place of the virtual-time model.
pub const MOST_CLOCK_DOUBT_NS: u64 = 1_000_000;

/// Dependent additions in one sample of the core clock: one core cycle each.
pub const CLOCK_ADDITIONS: u64 = 10_000;

record! {
    /// One image whose regions are measured.
    ImageRecord, 64 {
        /// First region id in this process minus one: id = base + number within the image.
        0 id_base: u32,
        /// Regions of the image.
        4 regions: u32,
        /// Load bias, where it was loaded first.
        8 bias: u64,
        /// Identity of its description, `<hex>.regions` in the run directory; zeros for the regions of [`crate::names`].
        16 identity: [u8; 16],
        /// Reserved.
        32 reserved: [u8; 32],
    }
}

record! {
    /// A region that was switched off for good, or on again: its sites do nothing while it is off.
    SwitchRecord, 32 {
        /// The region id; 0 until written.
        0 region: u32,
        /// 1 off, 0 on.
        4 off: u8,
        /// One of [`Why`].
        5 why: u8,
        /// Number of the thread that decided.
        6 thread: u16,
        /// When.
        8 ticks: u64,
        /// Calls of the call path that led to the decision; 0 where none did.
        16 calls: u64,
        /// Time from one of the last ones to the next ([`COST_UNIT`]ths of a tick); 0 where that is not known.
        24 period: u64,
    }
}

/// Nodes that a location names as those of receives whose order is contradicted.
pub const CONTRADICTED: usize = 8;

/// [`LocationRecord::queued_base`] where the kernel does not say for how long a thread had no processor.
pub const NOT_SAID: i64 = i64::MIN;

record! {
    /// A thread of the process.
    LocationRecord, 312 {
        /// Number of the thread within the process; the main thread is 0.
        0 thread: u32,
        /// Thread id of the kernel, of the last thread if several have shared the location.
        4 tid: u32,
        /// Nodes in use; the release store of this count publishes them.
        8 nodes: u32,
        /// Batch records in use.
        12 batches: u32,
        /// Peer records in use.
        16 peers: u32,
        /// 1 while the thread runs, 2 after its end.
        20 state: u32,
        /// First and last event as the slow path saw them.
        24 start_ticks: u64,
        /// See `start_ticks`.
        32 end_ticks: u64,
        /// Messages with partners for which there was no peer record left.
        40 lost_peers: u64,
        /// Overhead of the location so far ([`COST_UNIT`]), as last written by the slow path.
        48 overhead: u64,
        /// Sum of the delays gained (negative: lost) in waits, ticks.
        56 delay_gain: i64,
        /// Ticks spent in the tool's own code in wrappers and slow paths.
        64 tool_ticks: u64,
        /// Exits that met no open frame.
        72 unmatched_exits: u64,
        /// Frames closed because an exception or `longjmp` skipped their exit.
        80 skipped_frames: u64,
        /// Calls that went to the overflow node.
        88 overflow_calls: u64,
        /// Entries beyond the depth that is followed: counted by their nodes, their time is the deepest frame's.
        96 lost_depth: u64,
        /// Load address of the thread state, for monitors of the same machine.
        104 thread_state: u64,
        /// Slow paths taken.
        112 slow_paths: u64,
        /// Batches that were switched off.
        120 off_batches: u64,
        /// Ticks spent in slow paths of probes: the part of `tool_ticks` that is theirs.
        128 slow_ticks: u64,
        /// Receives from anywhere whose order the virtual times contradict.
        136 contradicted: u64,
        /// Where: the index of the node plus one (low half; 0 for none) and how many (high half).
        144 contradicted_at: [u64; CONTRADICTED],
        /// Where the thread stood when another one ended the process: its [`ThreadWords`]; zeros where it had ended itself.
        208 last_frame: u64,
        /// See `last_frame`.
        216 last_event: u64,
        /// What is to be added to the nanoseconds for which the kernel says that the running thread could have run and had no
        /// processor, for the sum over all threads of the location; [`NOT_SAID`] where the kernel does not say.
        224 queued_base: i64,
        /// That sum as it was last read, plus one: at the end of a thread, and in wrappers some 10 ms apart. 0 where it was never read.
        232 queued_plus_one: u64,
        /// Processors on which the (first) thread was allowed to run at its begin; 0 where that is not known.
        240 processors: u32,
        /// The first of them.
        244 first_processor: u32,
        /// What of that sum was read at the end of wrapped calls: it passed in them, but for what is less than 10 ms apart.
        248 queued_in_wrappers: u64,
        /// Ticks spent in setting up the threads of the location, which is over when their time begins.
        256 setup_ticks: u64,
        /// As `queued_base`, of the nanoseconds for which threads had a processor.
        264 ran_base: i64,
        /// As `queued_plus_one`.
        272 ran_plus_one: u64,
        /// For so many nanoseconds at least threads neither ran nor could have run outside of wrapped calls, as last read in wrappers and at the end.
        280 asleep: u64,
        /// How often the running thread had been given a processor, as last read.
        288 turns: u64,
        /// Ticks between the last event in a region whose exit was skipped and the one at which that was seen. They stand with the region; a part of them may
        /// be those of who went on.
        296 skipped_ticks: u64,
        /// Ticks that had passed since the last event when regions were last looked for whose exits were skipped.
        304 passed: u64,
    }
}

record! {
    /// The first words of a thread's state, at [`LocationRecord::thread_state`]: where a monitor of the same machine, if the
    /// system lets it read there, sees which region is open now.
    ThreadWords, 16 {
        /// Load address of the innermost open [`Frame`]. Arenas are aligned to [`ARENA`], so its place within its own follows.
        0 frame: u64,
        /// Ticks of the last event.
        8 last: u64,
    }
}

record! {
    /// A region that is open. Written claim first: node and sp, then the frame pointer moves, then all again.
    Frame, 32 {
        /// Load address of the [`Node`].
        0 node: u64,
        /// Ticks at entry minus the node's inclusive ticks.
        8 base: u64,
        /// Of a region with [`NODE_HOOK`]: where its function returns to.
        16 spare: u64,
        /// Stack pointer of the region, which is even, where no clock was read at entry; `base` is then the address of the node that time
        /// goes to meanwhile. One less where it was. That of a function is 8 below the address of its return address; that of a wrapper
        /// two less than that of its caller.
        24 sp: u64,
    }
}

record! {
    /// A call path: the hot line that probes write.
    Node, 64 {
        /// Entries with the probe on.
        0 calls: u64,
        /// Ticks during which this node was the innermost open one; may be negative while open.
        8 exclusive: i64,
        /// Ticks between entry and exit of the outermost calls.
        16 inclusive: u64,
        /// Where the probes of this process last went from here: region (low half) and a word of theirs.
        24 last_child: u64,
        /// The region id; 0 until published; stored last.
        32 region: u32,
        /// Index of the parent; the root is its own parent.
        36 parent: u32,
        /// Calls of the batches that were off or clockless, the one under way included.
        40 off_calls: u64,
        /// The low half of `calls` at which the probe takes the slow path.
        48 until: u32,
        /// Calls of a batch under way that is off or clockless which have not come yet: all calls are
        /// `calls + off_calls − left`. Below zero for a moment where a call finds none left.
        52 left: i16,
        /// One of [`Mode`]: the kind of batch under way.
        54 mode: u8,
        /// [`NODE_FOLDED`] and its kin.
        55 flags: u8,
        /// Current estimate of the cost of a probe pair on this path ([`COST_UNIT`]).
        56 cost: u64,
    }
}

/// The overflow node, below which are the nodes of calls beyond [`MAX_PATHS`]: it swallows the regions for which there was no node left at all.
pub const NODE_OVERFLOW: u8 = 2;
/// Recursion was folded onto this node.
pub const NODE_FOLDED: u8 = 1;
/// Calls of this node are taken in batches.
pub const NODE_BATCHES: u8 = 4;
/// The region is entered by a leaf's site: its body runs without probes while it is off. Others are clockless then.
pub const NODE_LEAF: u8 = 8;
/// The region is entered by a compiler's hook: its exit is told by the region, not by the stack pointer.
pub const NODE_HOOK: u8 = 16;
/// The region is one that the program itself begins and ends.
pub const NODE_USER: u8 = 32;
/// The region ends with the one around it, as a parameter does.
pub const NODE_ENDS_WITH_PARENT: u8 = 64;

record! {
    /// What the slow path and the wrappers know of a node.
    ColdNode, 64 {
        /// Index plus one of its [`BatchRecord`]; 0 for none.
        0 batch_record: u32,
        /// Index plus one of its first [`PeerRecord`]; 0 for none.
        4 first_peer: u32,
        /// Ticks of the tool's own work between the node's two clock readings.
        8 tool_ticks: u64,
        /// Ticks waited, as measured.
        16 wait_ticks: u64,
        /// Ticks waited in virtual time.
        24 virtual_wait_ticks: u64,
        /// Delay gained while here (negative: lost), ticks.
        32 delay_gain: i64,
        /// Bytes sent and received.
        40 bytes: u64,
        /// Messages sent and received.
        48 messages: u64,
        /// Completions whose delay was not known, and calls that carry none.
        56 unpaired: u64,
    }
}

/// Bytes of a [`PeerRecord`] of [`OLDEST_VERSION`], which ends before the sizes.
pub const PEER_WITHOUT_SIZES: usize = 64;

/// Added to [`PeerRecord::peer`] where the waits are those of sends.
pub const PEER_HELD: u32 = 1 << 31;

record! {
    /// Messages between this location and one partner, under one node.
    PeerRecord, 128 {
        /// Rank of the partner in `MPI_COMM_WORLD`; with [`PEER_HELD`] the record has what sends to it waited until it received.
        0 peer: u32,
        /// Index plus one of the node's next record; 0 at the end.
        4 next: u32,
        /// Messages sent to it.
        8 sent: u64,
        /// Messages received from it.
        16 received: u64,
        /// Bytes, both ways.
        24 bytes: u64,
        /// Ticks between sending and the end of receiving.
        32 transmission: u64,
        /// Ticks waited for it.
        40 wait: u64,
        /// Delay gained from it, ticks.
        48 delay_gain: i64,
        /// Ticks waited for it in virtual time.
        56 virtual_wait: u64,
        /// Messages sent to it by [`size_class`]; as many as the word holds at the most.
        64 sent_sizes: [u32; SIZE_CLASSES],
        /// Messages received from it, likewise.
        96 received_sizes: [u32; SIZE_CLASSES],
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $number,)*
        }

        impl $name {
            /// The value for its number; `None` for numbers of later versions.
            #[must_use]
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

numbered! {
    /// How far a process has come.
    ProcessState {
        /// It runs, or was killed.
        Running = 1,
        /// It ended through `exit` and closed its file.
        Finished = 2,
        /// It replaced itself by another program.
        Replaced = 3,
    }
}

numbered! {
    /// Which MPI library serves the process.
    #[derive(Default)]
    MpiLibrary {
        /// None.
        #[default]
        None = 0,
        /// Open MPI (`libmpi.so.40`).
        OpenMpi = 1,
        /// The MPICH ABI (`libmpich.so.12`, `libmpi.so.12`).
        Mpich = 2,
        /// The ABI of the standard (`libmpi_abi.so.1`).
        Standard = 3,
    }
}

numbered! {
    /// How delays travel through messages (see the `delay` crate).
    #[derive(Default)]
    DelayModel {
        /// Delays are not exchanged.
        #[default]
        Off = 0,
        /// Paper 1.
        Delay = 1,
        /// Virtual time.
        Virtual = 2,
    }
}

numbered! {
    /// Why a region was switched.
    Why {
        /// By the rule of the throttle.
        Rule = 1,
        /// By `tare ctl`.
        Request = 2,
        /// Even counting its calls would break the budget.
        Budget = 3,
        /// A site of it could not be switched off: it is on again, and stays so.
        Refused = 4,
    }
}

numbered! {
    /// What the probes of a node do.
    Mode {
        /// Path, counts and clock.
        On = 0,
        /// Nothing but counting; the body runs without probes.
        OffCounted = 1,
        /// As `OffCounted`, counting done twice.
        OffTwice = 2,
        /// Path and counts, no clock.
        Clockless = 3,
        /// As `Clockless`, and counted as an entry that is off as well.
        ClocklessTwice = 4,
        /// As `On`, by the way of calls that are off or clockless.
        Diverted = 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_one_behind_the_other_and_fill_the_arena() {
        let ends = [FRAMES, NODES, COLD_NODES, BATCHES, PEERS, ARENA];
        assert!(ends.is_sorted());
        assert_eq!(u64::from(MAX_NODES) * Node::SIZE as u64, COLD_NODES - NODES);
        assert_eq!(COLD_NODES + u64::from(MAX_NODES) * ColdNode::SIZE as u64, BATCHES);
        assert!(SWITCH_TABLE + (SWITCHES * SwitchRecord::SIZE) as u64 <= HEADER_AREA);
    }

    #[test]
    fn a_record_reads_its_fields_at_their_offsets() {
        let mut bytes = [0; Node::SIZE];
        bytes[0] = 5;
        bytes[8..16].copy_from_slice(&(-3_i64).to_le_bytes());
        bytes[32] = 9;
        bytes[54] = 1;
        let node = Node::from_bytes(&bytes).expect("64 bytes are a node");
        assert_eq!((node.calls, node.exclusive, node.region, node.mode), (5, -3, 9, 1));
        assert_eq!(Node::from_bytes(&bytes[1..]), None);
    }
}
