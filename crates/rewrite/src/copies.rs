//! What a moved function is before it has an address.
//!
//! A [`FunctionCopy`] holds the bytes of all parts of one function, with probe sites inserted and branches at
//! their final size, and says which fields depend on addresses. Holds always: within a fragment no offset
//! changes any more, so that unwind rows, call-site tables and labels can be made from offsets alone.

use std::ops::Range;

use tare_code::TableForm;

use crate::unwind::frames::Frame;

/// What a probe site tells the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SiteKind {
    /// The function begins.
    Enter,
    /// The function begins, and may go on in its clean copy.
    EnterLeaf,
    /// The function ends.
    Exit,
}

/// A probe site in its fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) at: u32,
    /// Behind the instruction that the site belongs to.
    pub(crate) end: u32,
    pub(crate) kind: SiteKind,
}

/// What a field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A place that control goes to; the moved entry where it is the entry of a moved function.
    Code(u64),
    /// A place whose address is taken or whose bytes are read: it stays where it is.
    Data(u64),
    /// A place in a fragment of the same copy.
    Label { part: u32, offset: u32 },
    /// A jump table of the same copy, and how far from its start.
    Table { table: u32, delta: i32 },
}

/// A field of four bytes that depends on addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixup {
    /// Where the field is in its fragment.
    pub(crate) at: u32,
    /// Bytes from the field's start to the end of its instruction.
    pub(crate) tail: u8,
    /// Whether the field holds the address itself rather than a displacement.
    pub(crate) is_absolute: bool,
    pub(crate) target: Target,
}

/// The copy of one part.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Link addresses of the part in the original.
    pub(crate) original: Range<u64>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) fixups: Vec<Fixup>,
    pub(crate) sites: Vec<Site>,
    /// Offsets in the original part and in the copy: what is copied as it stands from the first one on, until the
    /// next pair, has kept its distance.
    pub(crate) labels: Vec<(u32, u32)>,
    /// Given by the layout.
    pub(crate) address: u64,
}

impl Fragment {
    /// Where a branch to `original` goes: in front of the exit probe of the instruction there, behind the
    /// entry probe. `None` outside of the part.
    pub(crate) fn label(&self, original: u64) -> Option<u32> {
        if !self.original.contains(&original) {
            return None;
        }
        let offset = u32::try_from(original - self.original.start).ok()?;
        Some(label(&self.labels, offset))
    }

    /// Where unwind information that begins or ends at `original` does so in the copy: the part's start is
    /// in front of the entry probe.
    pub(crate) fn edge(&self, original: u64) -> u32 {
        if original <= self.original.start {
            return 0;
        }
        let offset = original.min(self.original.end) - self.original.start;
        label(&self.labels, u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// Bytes of the copy.
    pub(crate) fn length(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }
}

/// The offset in a copy of an offset in the original.
pub(crate) fn label(labels: &[(u32, u32)], offset: u32) -> u32 {
    let behind = labels.partition_point(|label| label.0 <= offset);
    let (from, to) = behind.checked_sub(1).and_then(|index| labels.get(index)).copied().unwrap_or((0, 0));
    to + (offset - from)
}

/// The copy of a jump table.
#[derive(Debug)]
pub(crate) struct TableCopy {
    /// Link address of the original's first entry.
    pub(crate) original: u64,
    pub(crate) form: TableForm,
    /// [`Target::Label`] where the entry is understood, [`Target::Data`] where it keeps its target.
    pub(crate) targets: Vec<Target>,
    /// Given by the layout.
    pub(crate) address: u64,
}

impl TableCopy {
    /// Bytes of the table.
    pub(crate) const fn size(&self) -> u64 {
        self.form.entry_size() * self.targets.len() as u64
    }
}

/// One copy of one function.
#[derive(Debug)]
pub(crate) struct FunctionCopy {
    /// One for each part, in the order of the parts.
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) tables: Vec<TableCopy>,
    pub(crate) frames: Vec<Frame>,
}

impl FunctionCopy {
    /// The label of an address of the original, whichever part it is in.
    pub(crate) fn label(&self, original: u64) -> Option<Target> {
        self.fragments.iter().zip(0_u32..).find_map(|(fragment, part)| fragment.label(original).map(|offset| Target::Label { part, offset }))
    }

    /// The address of the first fragment: where the function is entered.
    pub(crate) fn entry(&self) -> u64 {
        self.fragments.first().map_or(0, |fragment| fragment.address)
    }

    /// The address that a target has once the layout is done.
    pub(crate) fn address_of(&self, target: Target, moved_entry: impl Fn(u64) -> Option<u64>) -> u64 {
        match target {
            Target::Code(address) => moved_entry(address).unwrap_or(address),
            Target::Data(address) => address,
            Target::Label { part, offset } => self.fragments.get(part as usize).map_or(0, |fragment| fragment.address + u64::from(offset)),
            Target::Table { table, delta } => self.tables.get(table as usize).map_or(0, |table| table.address.wrapping_add_signed(i64::from(delta))),
        }
    }
}
