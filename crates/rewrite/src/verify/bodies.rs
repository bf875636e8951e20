//! Where moved functions were: nothing of a copy may lead there any more, but to a jump at an entry.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::Claims;
use crate::addresses::AddressHasher;

/// The bodies that moved functions have left.
pub(crate) struct Bodies {
    /// Link addresses, by start.
    ranges: Vec<Range<u64>>,
    /// Entries that have a jump to the moved one.
    entries: HashSet<u64, BuildHasherDefault<AddressHasher>>,
}

impl Bodies {
    pub(super) fn of(claims: &Claims<'_>) -> Self {
        let fragments = claims.functions.iter().flat_map(|one| &one.moved.probed.fragments);
        let mut ranges: Vec<_> = fragments.map(|fragment| fragment.original.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let with_jump = claims.entries.iter().filter(|(_, jump, _)| jump.is_some());
        Self { ranges, entries: with_jump.map(|&(entry, ..)| entry).collect() }
    }

    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Whether control that comes to an address runs what a moved function has left. Not where a part begins that is no entry: compilers
    /// branch to what is behind their own part, where they know that nothing comes, and there stands that of another function.
    pub(super) fn are_run_from(&self, address: u64) -> bool {
        // Most often it is an entry of the PLT, in front of all of them.
        if self.ranges.first().is_none_or(|first| address <= first.start) {
            return false;
        }
        let behind = self.ranges.partition_point(|range| range.start < address);
        let holder = behind.checked_sub(1).and_then(|last| self.ranges.get(last));
        holder.is_some_and(|range| range.contains(&address)) && !self.entries.contains(&address)
    }
}
