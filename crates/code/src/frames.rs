//! The frames of code as its unwind entries describe them: asked for at few of its instructions, and then read once.

use std::cell::OnceCell;
use std::ops::Range;

use iced_x86::Instruction;
use tare_image::{Cfa, CfaRows, Fde};

use crate::stretch::Stretch;

/// Those of some ranges.
pub(crate) struct Frames<'a> {
    ranges: Vec<Described<'a>>,
}

struct Described<'a> {
    range: Range<u64>,
    fde: Option<&'a Fde<'a>>,
    rows: OnceCell<Option<CfaRows>>,
}

impl<'a> Frames<'a> {
    /// Those of ranges and their unwind entries.
    pub(crate) fn of(ranges: impl IntoIterator<Item = (Range<u64>, Option<&'a Fde<'a>>)>) -> Self {
        Self { ranges: ranges.into_iter().map(|(range, fde)| Described { range, fde, rows: OnceCell::new() }).collect() }
    }

    /// Whether the stack is as at the entry in front of an instruction, so that a jump may leave the function.
    pub(crate) fn is_at_entry(&self, stretch: &Stretch, index: usize) -> bool {
        let Some(address) = stretch.code.get(index).map(Instruction::ip) else { return false };
        let described = self.ranges.iter().find(|one| one.range.contains(&address));
        match described.and_then(|one| one.rows.get_or_init(|| one.fde.map(Fde::cfa_rows)).as_ref()) {
            Some(rows) => rows.at(address).is_some_and(Cfa::is_entry),
            None => stretch.is_at_entry_depth(index),
        }
    }
}
