//! What a program allocates, reads and writes: counted by functions that stand before libc's, in a library of their own.
//! The runtime reads a thread's words at each event, and gives room for what is counted by file.
//!
//! ```text
//! arena  +0      FilesRecord (as a location's record up to `state`, which is FILES)
//!        +TABLE  FileRecord, 512 bytes each; the first stands for all files beyond the limit
//! ```
//!
//! A file counts as written once its `name_length` is not 0, which is stored last. Two records may have one name, where two
//! threads met the file at the same moment: their sum is the file's.

/// The function that the library exports: returns the address of an [`Interface`].
pub const SYMBOL: &core::ffi::CStr = c"tare_tally";
/// The version of [`Interface`].
pub const VERSION: u32 = 1;

/// A word of a thread's tally: what it has counted since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Word {
    /// Allocations: calls of `malloc` and its kin that gave memory, `realloc` included.
    Allocations = 0,
    /// Bytes that they asked for.
    AllocatedBytes = 1,
    /// Calls that gave memory back, `realloc` included.
    Frees = 2,
    /// The most bytes of the process's heap that were in use at one of its allocations, since the runtime last put this to 0.
    PeakHeap = 3,
    /// Calls that read.
    Reads = 4,
    /// Bytes that they brought.
    BytesRead = 5,
    /// Calls that write.
    Writes = 6,
    /// Bytes that they took.
    BytesWritten = 7,
    /// All calls that are counted as I/O.
    IoCalls = 8,
    /// Ticks in them.
    IoTicks = 9,
    /// Ticks that finding the names of files took.
    OwnTicks = 10,
}

/// Words of a thread's tally, those that are reserved included.
pub const WORDS: usize = 16;

impl Word {
    const ALL: [Self; 11] = [
        Self::Allocations,
        Self::AllocatedBytes,
        Self::Frees,
        Self::PeakHeap,
        Self::Reads,
        Self::BytesRead,
        Self::Writes,
        Self::BytesWritten,
        Self::IoCalls,
        Self::IoTicks,
        Self::OwnTicks,
    ];

    /// The word of a number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Whether it is about memory.
    #[must_use]
    pub const fn is_of_heap(self) -> bool {
        matches!(self, Self::Allocations | Self::AllocatedBytes | Self::Frees | Self::PeakHeap)
    }
}

/// The address of a file's record, given its number, whose pages are there; null where there is no room.
pub type Room = extern "C" fn(file: u32) -> *mut u8;

/// What the library offers the runtime.
#[repr(C)]
#[derive(Debug)]
pub struct Interface {
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of this record.
    pub size: u32,
    /// The [`WORDS`] of the calling thread.
    pub words: extern "C" fn() -> *mut u64,
    /// 1 where the program's allocations pass the library, 0 where the program has an allocator of its own before it.
    pub sees_heap: extern "C" fn() -> u32,
    /// What counting an allocation adds, and what counting an I/O call adds, in [`crate::graph::COST_UNIT`]ths of a tick, as
    /// measured now.
    pub costs: extern "C" fn(costs: &mut [u64; 2]),
    /// Where files are counted from now on; nowhere with `None`.
    pub keep_files: extern "C" fn(room: Option<Room>),
}

/// The `state` of an arena's record that holds files.
pub const FILES: u32 = 5;
/// From the arena's start to its table.
pub const TABLE: u64 = 4096;
/// Files that have a record, the one for all others included.
pub const MOST_FILES: u32 = 4096;

crate::record::record! {
    /// What stands at the head of an arena with files.
    FilesRecord, 64 {
        /// Number of the arena.
        0 thread: u32,
        /// 0.
        4 tid: u32,
        /// Records begun.
        8 files: u32,
        /// 0.
        12 zero: u32,
        /// 0.
        16 zero_too: u32,
        /// [`FILES`].
        20 state: u32,
        /// Reserved.
        24 reserved: [u8; 40],
    }
}

crate::record::record! {
    /// A file, and what the process's calls did with it. Any thread adds.
    FileRecord, 512 {
        /// Bytes of its name; 0 until written.
        0 name_length: u32,
        /// Reserved.
        4 reserved: u32,
        /// Calls that read.
        8 reads: u64,
        /// Bytes that they brought.
        16 bytes_read: u64,
        /// Ticks in them.
        24 read_ticks: u64,
        /// Calls that write.
        32 writes: u64,
        /// Bytes that they took.
        40 bytes_written: u64,
        /// Ticks in them.
        48 write_ticks: u64,
        /// Other calls.
        56 others: u64,
        /// Ticks in them.
        64 other_ticks: u64,
        /// Its path, cut at the front if too long, or the kind of thing it is.
        72 name: [u8; 440],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_fit_into_an_arena_and_words_have_their_numbers() {
        assert!(TABLE + u64::from(MOST_FILES) * FileRecord::SIZE as u64 <= crate::graph::ARENA);
        assert!((0..).zip(Word::ALL).all(|(number, word)| word as u32 == number && Word::from_number(number) == Some(word)));
        assert!(Word::ALL.len() <= WORDS);
    }
}
