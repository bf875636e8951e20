//! The records of the graph file as they are written while the program runs.
//!
//! Each type here has the layout of its counterpart in `tare_format::graph`, with every field an atomic:
//! a monitor reads at any moment, and a signal handler with probes may interrupt its own thread anywhere.
//! Loads and stores are relaxed, which on x86-64 is a plain `mov`; publication uses release stores.
//!
//! What always holds: a reference to one of these points into a mapping that is never unmapped while its
//! process lives, at a place whose pages are allocated.

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicI16, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use tare_format::graph::{
    BatchRecord, BatchSums, CONTRADICTED, ColdNode, CompanyRecord, Frame, Header, ImageRecord, LocationRecord, Node, PeerRecord, SAMPLE,
    SIZE_CLASSES, SwitchRecord,
};
use tare_format::metrics::{MetricsRecord, ValuesRecord};
use tare_format::names::{NamedRegion, NamesRecord};
use tare_format::tally::FilesRecord;

macro_rules! live {
    ($(#[$doc:meta])* $name:ident = $record:ident { $($field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[repr(C, align(8))]
        #[derive(Debug)]
        pub(crate) struct $name {
            $(pub(crate) $field: $kind,)*
        }

        const _: () = {
            assert!(size_of::<$name>() == size_of::<$record>());
            $(assert!(offset_of!($name, $field) == offset_of!($record, $field));)*
        };
    };
}

live! {
    /// See [`Header`]. Its number of images counts those beyond the room of the table, too.
    LiveHeader = Header {
        magic: [AtomicU8; 8],
        version: AtomicU32,
        state: AtomicU32,
        pid: AtomicU32,
        parent_pid: AtomicU32,
        locations: AtomicU32,
        images: AtomicU32,
        rank_plus_one: AtomicU32,
        world_size: AtomicU32,
        mpi: AtomicU32,
        model: AtomicU32,
        start_ticks: AtomicU64,
        start_ns: AtomicU64,
        last_ticks: AtomicU64,
        last_ns: AtomicU64,
        span_start: AtomicU64,
        span_end: AtomicU64,
        span_start_delay: AtomicI64,
        span_end_delay: AtomicI64,
        hot_pair_cost: AtomicU64,
        clock_additions: AtomicU64,
        clock_ticks: AtomicU64,
        clock_samples: AtomicU64,
        lost_threads: AtomicU64,
        unpaired_messages: AtomicU64,
        uncovered_calls: AtomicU64,
        flags: AtomicU32,
        hot_counted: AtomicU32,
        setup_ticks: AtomicU64,
        hot_clockless: AtomicU32,
        hot_clockless_again: AtomicU32,
        request: AtomicU64,
        followed: AtomicU64,
        switches: AtomicU32,
        sites_off: AtomicU32,
        lost_children: AtomicU32,
        budget: AtomicU32,
        throttle_calls: AtomicU64,
        throttle_ns: AtomicU64,
        hot_hook_cost: AtomicU32,
        hot_diverted: AtomicU32,
        clock_doubt_ns: AtomicU64,
        host: [AtomicU8; 64],
        executable: [AtomicU8; 184],
        least_pair_cost: AtomicU32,
        hot_counted_again: AtomicU32,
        refused_calls: AtomicU64,
        threads: AtomicU32,
        most_threads: AtomicU32,
        successor: [AtomicU8; 112],
    }
}

live! {
    /// See [`ImageRecord`].
    LiveImage = ImageRecord {
        id_base: AtomicU32,
        regions: AtomicU32,
        bias: AtomicU64,
        identity: [AtomicU8; 16],
        reserved: [AtomicU8; 32],
    }
}

live! {
    /// See [`SwitchRecord`].
    LiveSwitch = SwitchRecord {
        region: AtomicU32,
        off: AtomicU8,
        why: AtomicU8,
        thread: AtomicU16,
        ticks: AtomicU64,
        calls: AtomicU64,
        period: AtomicU64,
    }
}

live! {
    /// See [`LocationRecord`].
    LiveLocation = LocationRecord {
        thread: AtomicU32,
        tid: AtomicU32,
        nodes: AtomicU32,
        batches: AtomicU32,
        peers: AtomicU32,
        state: AtomicU32,
        start_ticks: AtomicU64,
        end_ticks: AtomicU64,
        lost_peers: AtomicU64,
        overhead: AtomicU64,
        delay_gain: AtomicI64,
        tool_ticks: AtomicU64,
        unmatched_exits: AtomicU64,
        skipped_frames: AtomicU64,
        overflow_calls: AtomicU64,
        lost_depth: AtomicU64,
        thread_state: AtomicU64,
        slow_paths: AtomicU64,
        off_batches: AtomicU64,
        slow_ticks: AtomicU64,
        contradicted: AtomicU64,
        contradicted_at: [AtomicU64; CONTRADICTED],
        last_frame: AtomicU64,
        last_event: AtomicU64,
        queued_base: AtomicI64,
        queued_plus_one: AtomicU64,
        processors: AtomicU32,
        first_processor: AtomicU32,
        queued_in_wrappers: AtomicU64,
        setup_ticks: AtomicU64,
        ran_base: AtomicI64,
        ran_plus_one: AtomicU64,
        asleep: AtomicU64,
        turns: AtomicU64,
        skipped_ticks: AtomicU64,
        passed: AtomicU64,
    }
}

live! {
    /// See [`Frame`].
    LiveFrame = Frame {
        node: AtomicU64,
        base: AtomicU64,
        spare: AtomicU64,
        sp: AtomicU64,
    }
}

live! {
    /// See [`Node`].
    LiveNode = Node {
        calls: AtomicU64,
        exclusive: AtomicI64,
        inclusive: AtomicU64,
        last_child: AtomicU64,
        region: AtomicU32,
        parent: AtomicU32,
        off_calls: AtomicU64,
        until: AtomicU32,
        left: AtomicI16,
        mode: AtomicU8,
        flags: AtomicU8,
        cost: AtomicU64,
    }
}

live! {
    /// See [`ColdNode`].
    LiveCold = ColdNode {
        batch_record: AtomicU32,
        first_peer: AtomicU32,
        tool_ticks: AtomicU64,
        wait_ticks: AtomicU64,
        virtual_wait_ticks: AtomicU64,
        delay_gain: AtomicI64,
        bytes: AtomicU64,
        messages: AtomicU64,
        unpaired: AtomicU64,
    }
}

live! {
    /// See [`BatchSums`].
    LiveSums = BatchSums {
        batches: AtomicU64,
        ticks: AtomicU64,
        calls: AtomicU64,
        longest: AtomicU64,
        sample: [AtomicU32; SAMPLE],
    }
}

live! {
    /// See [`BatchRecord`]. Its four sums are one array here, indexed by kind.
    LiveBatch = BatchRecord {
        node: AtomicU32,
        kind: AtomicU32,
        started: AtomicI64,
        random: AtomicU64,
        estimates: AtomicU64,
        half_width: AtomicU64,
        off_cost: AtomicU64,
        length: AtomicU64,
        boundary: AtomicU64,
        on: [LiveSums; 4],
        begun: AtomicU64,
        first_calls: AtomicU64,
        first_ticks: AtomicI64,
        diverted_cost: AtomicU64,
        top: AtomicU32,
        company: AtomicU32,
        alone_cost: AtomicU64,
        together: AtomicU64,
        beside: AtomicU64,
    }
}

live! {
    /// See [`CompanyRecord`]. Its three sums are one array here.
    LiveCompany = CompanyRecord {
        node: AtomicU32,
        kind: AtomicU32,
        started: AtomicU64,
        known_others: AtomicU64,
        estimates: AtomicU64,
        known: AtomicU64,
        known_counted: AtomicU64,
        known_again: AtomicU64,
        counted: AtomicU64,
        on: [LiveSums; 3],
        counted_again: AtomicU64,
        others: AtomicU64,
        all: AtomicU64,
        multiple: AtomicU64,
        reserved: [AtomicU8; 256],
    }
}

const _: () = {
    assert!(offset_of!(LiveBatch, on) + size_of::<LiveSums>() == offset_of!(BatchRecord, off));
    assert!(offset_of!(LiveBatch, on) + 2 * size_of::<LiveSums>() == offset_of!(BatchRecord, off_twice));
    assert!(offset_of!(LiveBatch, on) + 3 * size_of::<LiveSums>() == offset_of!(BatchRecord, diverted));
    assert!(offset_of!(LiveCompany, on) + size_of::<LiveSums>() == offset_of!(CompanyRecord, quiet));
    assert!(offset_of!(LiveCompany, on) + 2 * size_of::<LiveSums>() == offset_of!(CompanyRecord, twice));
};

live! {
    /// See [`NamesRecord`].
    LiveNames = NamesRecord {
        thread: AtomicU32,
        tid: AtomicU32,
        regions: AtomicU32,
        text: AtomicU32,
        zero: AtomicU32,
        state: AtomicU32,
        reserved: [AtomicU8; 40],
    }
}

live! {
    /// See [`NamedRegion`].
    LiveNamed = NamedRegion {
        kind: AtomicU32,
        line: AtomicU32,
        name: AtomicU32,
        name_length: AtomicU32,
        file: AtomicU32,
        file_length: AtomicU32,
        image: AtomicU32,
        image_length: AtomicU32,
        build: AtomicU32,
        build_length: AtomicU32,
        address: AtomicU64,
        bias: AtomicU64,
        reserved: [AtomicU8; 8],
    }
}

live! {
    /// See [`MetricsRecord`].
    LiveMetrics = MetricsRecord {
        thread: AtomicU32,
        tid: AtomicU32,
        owner: AtomicU32,
        metrics: AtomicU32,
        missing: AtomicU32,
        state: AtomicU32,
        costs: [AtomicU64; 8],
        last: [AtomicU64; 8],
        enabled: AtomicU64,
        running: AtomicU64,
        private: [AtomicU64; 16],
        names: [AtomicU8; 512],
        highest: AtomicU32,
        in_ticks: AtomicU32,
        unseen: AtomicU32,
        reserved: AtomicU32,
        tally_ticks: AtomicU64,
        tally_costs: [AtomicU64; 2],
        reserved_too: [AtomicU8; 176],
    }
}

live! {
    /// See [`FilesRecord`].
    LiveFiles = FilesRecord {
        thread: AtomicU32,
        tid: AtomicU32,
        files: AtomicU32,
        zero: AtomicU32,
        zero_too: AtomicU32,
        state: AtomicU32,
        reserved: [AtomicU8; 40],
    }
}

live! {
    /// See [`ValuesRecord`].
    LiveValues = ValuesRecord {
        values: [AtomicI64; 8],
    }
}

live! {
    /// See [`PeerRecord`].
    LivePeer = PeerRecord {
        peer: AtomicU32,
        next: AtomicU32,
        sent: AtomicU64,
        received: AtomicU64,
        bytes: AtomicU64,
        transmission: AtomicU64,
        wait: AtomicU64,
        delay_gain: AtomicI64,
        virtual_wait: AtomicU64,
        sent_sizes: [AtomicU32; SIZE_CLASSES],
        received_sizes: [AtomicU32; SIZE_CLASSES],
    }
}

/// Adds to a counter whose only writer is the calling thread, in one instruction, so that a handler that
/// interrupts the thread and adds to the same counter loses nothing; without the cost of a locked one.
///
/// # Probe-safe
#[inline]
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    // SAFETY: the address is that of a live, aligned 64-bit word, and atomics may be written through it.
    unsafe {
        core::arch::asm!("add qword ptr [{counter}], {amount}", counter = in(reg) counter.as_ptr(),
            amount = in(reg) amount, options(nostack));
    }
}

/// [`add`] for signed counters.
///
/// # Probe-safe
#[inline]
pub(crate) fn add_signed(counter: &AtomicI64, amount: i64) {
    // SAFETY: the address is that of a live, aligned 64-bit word, and atomics may be written through it.
    unsafe {
        core::arch::asm!("add qword ptr [{counter}], {amount}", counter = in(reg) counter.as_ptr(),
            amount = in(reg) amount, options(nostack));
    }
}
