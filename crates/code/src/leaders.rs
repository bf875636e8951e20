//! Where the blocks of a function begin: one bit for each of its bytes.

use std::ops::Range;

use smallvec::SmallVec;

/// Addresses within the parts of a function, in order.
pub(crate) struct Leaders {
    parts: SmallVec<[Part; 2]>,
    words: Vec<Word>,
}

/// What is known of 64 addresses.
#[derive(Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// Leaders in front of them.
    before: u32,
}

struct Part {
    range: Range<u64>,
    /// Its first word of bits.
    first: usize,
}

impl Leaders {
    /// None yet.
    pub(crate) fn within(parts: &[Range<u64>]) -> Self {
        let mut ranges: SmallVec<[Range<u64>; 2]> = parts.iter().cloned().collect();
        ranges.sort_unstable_by_key(|part| part.start);
        let mut words = 0;
        let parts = ranges.into_iter().map(|range| {
            let first = words;
            words += usize::try_from(range.end.saturating_sub(range.start).div_ceil(64)).unwrap_or(0);
            Part { range, first }
        });
        let parts = parts.collect();
        Self { parts, words: vec![Word::default(); words] }
    }

    /// Word and mask of an address.
    #[inline]
    fn position(&self, address: u64) -> Option<(usize, u64)> {
        let part = self.parts.iter().find(|part| part.range.contains(&address))?;
        let offset = address - part.range.start;
        Some((part.first + usize::try_from(offset / 64).ok()?, 1 << (offset % 64)))
    }

    /// Adds an address if an instruction of a part starts there; says whether it lies in a part where none does.
    #[inline(always)]
    pub(crate) fn insert(&mut self, address: u64, is_start: impl Fn(u64) -> bool) -> bool {
        let Some((word, mask)) = self.position(address) else { return false };
        let Some(bits) = self.words.get_mut(word).map(|word| &mut word.bits).filter(|bits| **bits & mask == 0) else { return false };
        let is_missed = !is_start(address);
        *bits |= if is_missed { 0 } else { mask };
        is_missed
    }

    /// Counts: there are no more to come. Returns how many there are.
    pub(crate) fn number(&mut self) -> usize {
        let mut sum = 0;
        for word in &mut self.words {
            word.before = sum;
            sum += word.bits.count_ones();
        }
        sum as usize
    }

    /// Which leader control comes to at an address, which may lie behind the first byte of its instruction: code for one
    /// thread skips the `lock` prefix.
    pub(crate) fn entered_at(&self, address: u64) -> Option<usize> {
        let place = self.position(address)?;
        self.number_at(place).or_else(|| self.number_of(address.checked_sub(1)?))
    }

    /// Which leader an address is.
    pub(crate) fn number_of(&self, address: u64) -> Option<usize> {
        self.number_at(self.position(address)?)
    }

    fn number_at(&self, (word, mask): (usize, u64)) -> Option<usize> {
        let word = self.words.get(word).filter(|word| word.bits & mask != 0)?;
        Some((word.before + (word.bits & (mask - 1)).count_ones()) as usize)
    }

    /// From each leader to the next one, or to the end of its part.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.parts.iter().flat_map(|part| {
            let mut starts = self.starts(part);
            let mut next = starts.next();
            std::iter::from_fn(move || {
                let start = next?;
                next = starts.next();
                Some(start..next.unwrap_or(part.range.end))
            })
        })
    }

    /// The leaders of a part.
    fn starts<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = u64> + 'a {
        let count = usize::try_from(part.range.end.saturating_sub(part.range.start).div_ceil(64)).unwrap_or(0);
        let words = self.words.get(part.first..part.first + count).unwrap_or_default();
        // The addresses in front of the first word.
        let (mut base, mut left, mut rest) = (part.range.start.wrapping_sub(64), 0, words.iter());
        std::iter::from_fn(move || {
            while left == 0 {
                left = rest.next()?.bits;
                base = base.wrapping_add(64);
            }
            let start = base + u64::from(left.trailing_zeros());
            left &= left - 1;
            Some(start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Leaders;

    #[test]
    fn leaders_are_numbered_in_order_over_all_parts() {
        let mut leaders = Leaders::within(&[1000..1200, 10..30, 40..40]);
        for address in [1199, 1000, 1064, 1063, 10, 29, 30, 9, 40, 1200, 1100, 12] {
            assert_eq!(leaders.insert(address, |address| address != 12), address == 12);
        }
        assert_eq!(leaders.number(), 7);
        let ranges: Vec<_> = leaders.ranges().collect();
        assert_eq!(ranges, [10..29, 29..30, 1000..1063, 1063..1064, 1064..1100, 1100..1199, 1199..1200]);
        for (number, range) in ranges.iter().enumerate() {
            assert_eq!(leaders.number_of(range.start), Some(number));
        }
        assert_eq!([12, 30, 40, 1001].map(|address| leaders.number_of(address)), [None; 4]);
        assert_eq!([1101, 1200].map(|address| leaders.entered_at(address)), [leaders.number_of(1100), None]);
    }
}
