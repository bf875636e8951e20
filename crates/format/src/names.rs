//! Regions that no description holds: functions with compiler hooks, regions of the program's own making. A process
//! writes them into its graph file as it meets them, into an arena that holds no thread.
//!
//! ```text
//! arena  +0        NamesRecord (as a location's record up to `state`, which is NAMES)
//!        +REGIONS  NamedRegion, 64 bytes each; the number within the image is the index plus one
//!        +TEXTS    texts, UTF-8 without terminators; 0 is the first byte
//! ```
//!
//! A record counts as written once its `kind` is not 0, which is stored last: kinds stand there as their number plus one.
//! An [`ImageRecord`](crate::graph::ImageRecord) whose identity is all zeros says where the ids of these regions begin.
//! Functions have no name here: address and image tell it, to whoever reads the file.

use crate::graph::ARENA;

/// The `state` of an arena's record that holds names.
pub const NAMES: u32 = 3;
/// From the arena's start to its regions.
pub const REGIONS: u64 = 1 << 20;
/// From the arena's start to its texts.
pub const TEXTS: u64 = 8 << 20;
/// Regions that can be named; one more number stands for all that are beyond.
pub const MOST_REGIONS: u32 = ((TEXTS - REGIONS) / 64) as u32;
/// Bytes of all texts.
pub const MOST_TEXT: u32 = (ARENA - TEXTS) as u32;
/// The number of the region that stands for those beyond the limit.
pub const BEYOND: u32 = MOST_REGIONS + 1;

crate::record::record! {
    /// What stands at the head of an arena with names.
    NamesRecord, 64 {
        /// Number of the arena.
        0 thread: u32,
        /// 0.
        4 tid: u32,
        /// Regions begun; those beyond [`MOST_REGIONS`] have no record.
        8 regions: u32,
        /// Bytes of text used.
        12 text: u32,
        /// 0.
        16 zero: u32,
        /// [`NAMES`].
        20 state: u32,
        /// Reserved.
        24 reserved: [u8; 40],
    }
}

crate::record::record! {
    /// A region.
    NamedRegion, 64 {
        /// A [`RegionKind`](crate::description::RegionKind) plus one; 0 until written.
        0 kind: u32,
        /// Line; 0 where unknown.
        4 line: u32,
        /// Where its name begins among the texts, and its bytes; none where the address tells it.
        8 name: u32,
        /// See `name`.
        12 name_length: u32,
        /// The source file, in the same way.
        16 file: u32,
        /// See `file`.
        20 file_length: u32,
        /// The path of the image, in the same way.
        24 image: u32,
        /// See `image`.
        28 image_length: u32,
        /// The build id of the image in hexadecimal, in the same way.
        32 build: u32,
        /// See `build`.
        36 build_length: u32,
        /// Link address within the image; 0 where there is none.
        40 address: u64,
        /// Load address minus link address.
        48 bias: u64,
        /// Reserved.
        56 reserved: [u8; 8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_fit_into_an_arena() {
        assert!(NamesRecord::SIZE as u64 <= REGIONS);
        assert!(REGIONS + u64::from(MOST_REGIONS) * NamedRegion::SIZE as u64 <= TEXTS);
        assert!(TEXTS + u64::from(MOST_TEXT) <= ARENA);
    }
}
