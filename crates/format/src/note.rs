//! How an instrumented image makes itself known: an ELF note in a `PT_NOTE` segment.
//!
//! ```text
//! note header   namesz = 11, descsz = 48, type = NOTE_TYPE
//! name          "Tareweight\0" padded to 12
//! descriptor    0 u32 version   4 u32 regions
//!               8 i64 description: from the descriptor's own address   16 u64 its length in bytes
//!              24 i64 slots: from the descriptor's own address
//!              32 [u8; 16] identity of the description
//! ```
//! All positions are relative to the descriptor, so that the note needs no relocation.

/// The note's owner, with its terminating zero.
pub const NOTE_NAME: &[u8; 11] = b"Tareweight\0";
/// The note's type.
pub const NOTE_TYPE: u32 = 0x5441_5245;
/// The version of [`ImageNote`] and of the probe agreement.
pub const NOTE_VERSION: u32 = 3;

/// What stands in the file of every runtime: one of another version finds no image whose note it knows, and would measure nothing without
/// a word. The command looks for it before it starts anything.
pub const RUNTIME_MARK: [u8; 38] = {
    let mut mark = *b"Tareweight runtime: note 00, graph 00\0";
    let (note, graph) = (NOTE_VERSION as u8, crate::graph::VERSION as u8);
    assert!(note < 100 && graph < 100);
    [mark[25], mark[26]] = [b'0' + note / 10, b'0' + note % 10];
    [mark[35], mark[36]] = [b'0' + graph / 10, b'0' + graph % 10];
    mark
};

/// The descriptor of the note.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageNote {
    /// [`NOTE_VERSION`].
    pub version: u32,
    /// Regions described; their numbers within the image are 1 to `regions`.
    pub regions: u32,
    /// Address of the description ([`crate::description`]) minus the address of this descriptor.
    pub description: i64,
    /// Length of the description in bytes.
    pub description_length: u64,
    /// Address of the [`crate::probe::Slots`] minus the address of this descriptor.
    pub slots: i64,
    /// Names the description, as it does itself.
    pub identity: [u8; 16],
}

impl ImageNote {
    /// Length of the descriptor in bytes.
    pub const LENGTH: usize = 48;

    /// The descriptor as it stands in the file.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[0..4].copy_from_slice(&self.version.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.regions.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.description.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.description_length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.slots.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.identity);
        bytes
    }

    /// Reads a descriptor; `None` where it is shorter than it should be.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.get(..Self::LENGTH)?.try_into().ok()?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let mut identity = [0; 16];
        identity.copy_from_slice(&bytes[32..48]);
        Some(Self {
            version: u32_at(0),
            regions: u32_at(4),
            description: u64_at(8).cast_signed(),
            description_length: u64_at(16),
            slots: u64_at(24).cast_signed(),
            identity,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn the_mark_of_a_runtime_has_its_versions() {
        let wanted = format!("Tareweight runtime: note {NOTE_VERSION:02}, graph {:02}\0", crate::graph::VERSION);
        assert_eq!(RUNTIME_MARK.as_slice(), wanted.as_bytes());
    }

    #[test]
    fn a_note_reads_back_as_written() {
        let note = ImageNote {
            version: NOTE_VERSION,
            regions: 77,
            description: -123_456_789_012,
            description_length: 1 << 40,
            slots: 0x1234,
            identity: *b"0123456789abcdef",
        };
        assert_eq!(ImageNote::from_bytes(&note.to_bytes()), Some(note));
        assert_eq!(ImageNote::from_bytes(&note.to_bytes()[..47]), None);
    }
}
