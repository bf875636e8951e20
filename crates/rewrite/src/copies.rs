//! What a moved function is before it has an address.
//!
//! A [`FunctionCopy`] holds the bytes of all parts of one function, with probes inserted and branches at their final
//! size, and says which fields depend on addresses. Holds always: within a fragment no offset changes any more, so
//! that unwind rows, call-site tables and labels can be made from offsets alone.

use std::ops::Range;

use smallvec::SmallVec;
use tare_code::TableForm;

use crate::insertion::Point;
use crate::points::Slot;
use crate::unwind::frames::Frame;

/// An insertion in its fragment.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) at: u32,
    /// Bytes of the insertion.
    pub(crate) length: u32,
    /// Behind the instruction that it belongs to, where it is in front of one.
    pub(crate) end: u32,
    pub(crate) point: Point,
    pub(crate) slot: Slot,
    /// Index of the region in the function.
    pub(crate) region: u32,
    /// Which of the function's insertions it is.
    pub(crate) insertion: u32,
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

/// Where an instruction of the original is in the copy, if the distance has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    /// Offset in the original part.
    pub(crate) from: u32,
    /// Offset in the copy of what is inserted on the ways to it.
    pub(crate) front: u32,
    /// Offset in the copy that branches go to: behind that, in front of what everybody passes.
    pub(crate) to: u32,
}

/// A way of its own to an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Offset of the instruction in the original part.
    pub(crate) from: u32,
    pub(crate) number: u32,
    /// Offset in the copy.
    pub(crate) to: u32,
}

/// The copy of one part.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Link addresses of the part in the original.
    pub(crate) original: Range<u64>,
    pub(crate) bytes: Vec<u8>,
    /// How many there are, also when they are no longer here.
    pub(crate) length: u32,
    pub(crate) fixups: Vec<Fixup>,
    pub(crate) sites: Vec<Site>,
    /// What is copied as it stands from a label on, until the next one, has kept its distance.
    pub(crate) labels: Vec<Label>,
    pub(crate) arrivals: Vec<Arrival>,
    /// Offsets of the jumps over arrivals.
    pub(crate) jumps: Vec<u32>,
    /// Given by the layout.
    pub(crate) address: u64,
}

impl Fragment {
    /// Where a branch to `original` goes: in front of the exit probe of the instruction there, behind the
    /// entry probe. `None` outside of the part.
    pub(crate) fn label(&self, original: u64) -> Option<u32> {
        Some(label(&self.labels, self.offset(original)?))
    }

    /// Where a way of its own to `original` begins.
    pub(crate) fn arrival(&self, original: u64, number: u32) -> Option<u32> {
        let from = self.offset(original)?;
        {
            let found = self.arrivals.binary_search_by_key(&(from, number), |one| (one.from, one.number)).ok();
            found.and_then(|found| self.arrivals.get(found)).map(|one| one.to)
        }
    }

    fn offset(&self, original: u64) -> Option<u32> {
        self.original.contains(&original).then(|| u32::try_from(original - self.original.start).ok())?
    }

    /// Where unwind information that begins or ends at `original` does so in the copy: behind the instruction in front.
    pub(crate) fn edge(&self, original: u64) -> u32 {
        self.edge_by(original, |offset| at_or_before(&self.labels, offset))
    }

    /// The same, asked for ascending addresses.
    pub(crate) fn edges(&self) -> impl FnMut(u64) -> u32 {
        let mut next = 0;
        move |original| {
            self.edge_by(original, |offset| {
                while self.labels.get(next).is_some_and(|label| label.from <= offset) {
                    next += 1;
                }
                next.checked_sub(1).and_then(|last| self.labels.get(last)).copied()
            })
        }
    }

    /// An edge by what finds the last label at or in front of an offset.
    fn edge_by(&self, original: u64, label: impl FnOnce(u32) -> Option<Label>) -> u32 {
        if original <= self.original.start {
            return 0;
        }
        let offset = original.min(self.original.end) - self.original.start;
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        match label(offset) {
            Some(label) if label.from == offset => label.front,
            Some(label) => label.to + (offset - label.from),
            None => offset,
        }
    }

    /// Bytes of the copy.
    pub(crate) const fn length(&self) -> u32 {
        self.length
    }
}

/// The offset in a copy of an offset in the original.
pub(crate) fn label(labels: &[Label], offset: u32) -> u32 {
    at_or_before(labels, offset).map_or(offset, |label| label.to + (offset - label.from))
}

fn at_or_before(labels: &[Label], offset: u32) -> Option<Label> {
    let behind = labels.partition_point(|label| label.from <= offset);
    behind.checked_sub(1).and_then(|index| labels.get(index)).copied()
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
    /// One for each part, in the order of the parts: most often one, which stands here as many phases go over it.
    pub(crate) fragments: SmallVec<[Fragment; 1]>,
    pub(crate) tables: Vec<TableCopy>,
    pub(crate) frames: SmallVec<[Frame; 1]>,
}

impl FunctionCopy {
    /// The label of an address of the original, whichever part it is in.
    pub(crate) fn label(&self, original: u64) -> Option<Target> {
        self.place(|fragment| fragment.label(original))
    }

    /// The way with a number to an address of the original; without a number, the label.
    pub(crate) fn arrival(&self, original: u64, number: Option<u32>) -> Option<Target> {
        match number {
            Some(number) => self.place(|fragment| fragment.arrival(original, number)),
            None => self.label(original),
        }
    }

    fn place(&self, offset: impl Fn(&Fragment) -> Option<u32>) -> Option<Target> {
        self.fragments.iter().zip(0_u32..).find_map(|(fragment, part)| offset(fragment).map(|offset| Target::Label { part, offset }))
    }

    /// Drops what only writing needs, once all is written: the check asks where everything is, and reads the rest in the file.
    pub(crate) fn forget_code(&mut self) {
        for fragment in &mut self.fragments {
            (fragment.bytes, fragment.fixups, fragment.labels) = (Vec::new(), Vec::new(), Vec::new());
        }
        self.frames = SmallVec::new();
    }

    /// The address behind the instruction that ends at `original`.
    pub(crate) fn behind(&self, original: u64) -> Option<u64> {
        let fragment = self.fragments.iter().find(|fragment| fragment.original.contains(&original.wrapping_sub(1)))?;
        Some(fragment.address + u64::from(fragment.edge(original)))
    }

    /// The address of the first fragment: where the function is entered.
    pub(crate) fn entry(&self) -> u64 {
        self.fragments.first().map_or(0, |fragment| fragment.address)
    }

    /// The address of a place in the copy.
    pub(crate) fn address(&self, part: u32, offset: u32) -> u64 {
        self.fragments.get(part as usize).map_or(0, |fragment| fragment.address + u64::from(offset))
    }

    /// The address of a place in a copied table.
    pub(crate) fn table_address(&self, table: u32, delta: i32) -> u64 {
        self.tables.get(table as usize).map_or(0, |table| table.address.wrapping_add_signed(i64::from(delta)))
    }
}
