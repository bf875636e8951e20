//! What a walk through a copy has seen of it.

use std::ops::Range;

use crate::insertion::Point;
use crate::points::Slot;

/// What is known of a copy after its instructions were walked through. Its room is left to the next copy.
#[derive(Default)]
pub(crate) struct Seen {
    /// For each fragment, where its instructions are.
    pub(crate) labels: Vec<Labels>,
    /// Branches within the function: where, and their targets in the original and in the copy.
    pub(crate) branches: Vec<(u64, u64, u64)>,
    /// Exits of the function that have a probe: where that begins in the copy, and where the exit ends.
    pub(crate) exits: Vec<(u64, u64)>,
    /// What begins and ends where: the original instruction, its side, the point and the region.
    pub(crate) events: Vec<(u64, Slot, Point, u32)>,
    /// Labels of former copies.
    spare: Vec<Labels>,
}

impl Seen {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.spare.append(&mut self.labels);
        self.branches.clear();
        self.exits.clear();
        self.events.clear();
    }

    /// Room for the labels of a fragment, without any yet.
    pub(crate) fn labels_of(&mut self, old: &Range<u64>) -> Labels {
        let mut labels = self.spare.pop().unwrap_or_default();
        let words = usize::try_from(old.end.saturating_sub(old.start).div_ceil(64)).unwrap_or(0);
        labels.start = old.start;
        labels.starts.clear();
        labels.starts.resize(words, 0);
        labels.shifts.clear();
        labels
    }

    /// The exit whose probe came last ends at an address of the copy.
    pub(crate) fn left(&mut self, behind: u64) {
        if let Some(exit) = self.exits.last_mut() {
            exit.1 = behind;
        }
    }

    pub(crate) fn label(&self, original: u64) -> Option<u64> {
        self.labels.iter().find_map(|labels| labels.find(original))
    }

    /// Looks at the instructions that begin in a range of the original, in order, with their places in the copy, until one is wrong.
    pub(crate) fn try_each<E>(&self, range: &Range<u64>, mut look: impl FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        let near = |labels: &&Labels| labels.start < range.end && range.start < labels.start + 64 * labels.starts.len() as u64;
        self.labels.iter().filter(near).try_for_each(|labels| labels.try_each(range, &mut look))
    }
}

/// Where the instructions of a fragment are: in the original as a set, in the copy by where the distance changes.
#[derive(Default)]
pub(crate) struct Labels {
    /// Link address in the original.
    start: u64,
    /// A bit for each byte of the original.
    starts: Vec<u64>,
    /// Addresses in the original from which on the copy is elsewhere, and where, in order.
    shifts: Vec<(u64, u64)>,
}

impl Labels {
    /// Notes an instruction; they come in order.
    pub(crate) fn push(&mut self, old: u64, new: u64) {
        self.mark(old);
        if self.shifts.last().is_none_or(|last| new.wrapping_sub(last.1) != old - last.0) {
            self.shifts.push((old, new));
        }
    }

    /// Notes an instruction as far from that in front of it as in the original.
    #[inline(always)]
    pub(crate) fn mark(&mut self, old: u64) {
        let at = old - self.start;
        if let Some(word) = self.starts.get_mut((at / 64) as usize) {
            *word |= 1 << (at % 64);
        }
    }

    fn try_each<E>(&self, range: &Range<u64>, look: &mut impl FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        let mut shifts = self.shifts.iter().peekable();
        let mut distance = 0;
        for (base, &word) in (self.start..).step_by(64).zip(&self.starts) {
            let mut left = word;
            while left != 0 {
                let old = base + u64::from(left.trailing_zeros());
                left &= left - 1;
                while let Some(&(from, to)) = shifts.next_if(|shift| shift.0 <= old) {
                    distance = to.wrapping_sub(from);
                }
                if range.contains(&old) {
                    look(old, old.wrapping_add(distance))?;
                }
            }
        }
        Ok(())
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
