//! What a walk through a copy has seen of it.

use std::ops::Range;

use crate::insertion::Point;
use crate::points::Slot;

/// What is known of a copy after its instructions were walked through.
#[derive(Default)]
pub(crate) struct Seen {
    /// For each fragment, where its instructions are.
    pub(crate) labels: Vec<Labels>,
    /// Branches within the function: where, and their targets in the original and in the copy.
    pub(crate) branches: Vec<(u64, u64, u64)>,
    /// What begins and ends where: the original instruction, its side, the point and the region.
    pub(crate) events: Vec<(u64, Slot, Point, u32)>,
}

impl Seen {
    pub(crate) fn label(&self, original: u64) -> Option<u64> {
        self.labels.iter().find_map(|labels| labels.find(original))
    }

    /// The instructions that begin in a range of the original, in order, with their places in the copy.
    pub(crate) fn places(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        self.labels.iter().flat_map(Labels::iter).filter(|(old, _)| range.contains(old))
    }
}

/// Where the instructions of a fragment are: in the original as a set, in the copy by where the distance changes.
pub(crate) struct Labels {
    /// Link address in the original.
    start: u64,
    /// A bit for each byte of the original.
    starts: Vec<u64>,
    /// Addresses in the original from which on the copy is elsewhere, and where, in order.
    shifts: Vec<(u64, u64)>,
}

impl Labels {
    pub(crate) fn new(old: &Range<u64>) -> Self {
        let words = usize::try_from(old.end.saturating_sub(old.start).div_ceil(64)).unwrap_or(0);
        Self { start: old.start, starts: vec![0; words], shifts: Vec::new() }
    }

    /// Notes an instruction; they come in order.
    pub(crate) fn push(&mut self, old: u64, new: u64) {
        let at = old - self.start;
        if let Some(word) = self.starts.get_mut((at / 64) as usize) {
            *word |= 1 << (at % 64);
        }
        if self.shifts.last().is_none_or(|last| new.wrapping_sub(last.1) != old - last.0) {
            self.shifts.push((old, new));
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let ends = self.shifts.iter().skip(1).map(|shift| shift.0).chain([u64::MAX]);
        let stretches = self.shifts.iter().zip(ends);
        let all =
            stretches.flat_map(|(&(old, new), end)| (old..end.min(self.start + 64 * self.starts.len() as u64)).map(move |at| (at, new + (at - old))));
        all.filter(|(old, _)| self.is_start(*old))
    }

    fn is_start(&self, old: u64) -> bool {
        let at = old.wrapping_sub(self.start);
        let word = usize::try_from(at / 64).ok().and_then(|word| self.starts.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn find(&self, old: u64) -> Option<u64> {
        let behind = self.shifts.partition_point(|shift| shift.0 <= old);
        let shift = self.shifts.get(behind.checked_sub(1)?)?;
        self.is_start(old).then(|| shift.1 + (old - shift.0))
    }
}
