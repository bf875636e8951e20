//! Where the blocks of a function begin: one bit for each of its bytes.

use std::ops::Range;

use smallvec::SmallVec;

/// Addresses within the parts of a function, in order.
pub(crate) struct Leaders {
    parts: SmallVec<[Part; 2]>,
    bits: Vec<u64>,
    /// Leaders in front of each word of bits.
    before: Vec<usize>,
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
        Self { parts, bits: vec![0; words], before: Vec::new() }
    }

    /// Word and mask of an address.
    fn position(&self, address: u64) -> Option<(usize, u64)> {
        let part = self.parts.iter().find(|part| part.range.contains(&address))?;
        let offset = address - part.range.start;
        Some((part.first + usize::try_from(offset / 64).ok()?, 1 << (offset % 64)))
    }

    /// Adds an address if an instruction of a part starts there; says whether it lies in a part where none does.
    pub(crate) fn insert(&mut self, address: u64, is_start: &dyn Fn(u64) -> bool) -> bool {
        let Some((word, mask)) = self.position(address) else { return false };
        let Some(bits) = self.bits.get_mut(word).filter(|bits| **bits & mask == 0) else { return false };
        let is_missed = !is_start(address);
        *bits |= if is_missed { 0 } else { mask };
        is_missed
    }

    /// Counts: there are no more to come. Returns how many there are.
    pub(crate) fn number(&mut self) -> usize {
        let mut sum = 0;
        self.before.reserve_exact(self.bits.len());
        for bits in &self.bits {
            self.before.push(sum);
            sum += bits.count_ones() as usize;
        }
        sum
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
        let bits = *self.bits.get(word)?;
        (bits & mask != 0).then(|| self.before.get(word).map(|before| before + (bits & (mask - 1)).count_ones() as usize))?
    }

    /// From each of `count` leaders to the next one, or to the end of its part.
    pub(crate) fn ranges(&self, count: usize) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::with_capacity(count);
        for part in &self.parts {
            let words = usize::try_from(part.range.end.saturating_sub(part.range.start).div_ceil(64)).unwrap_or(0);
            let mut base = part.range.start;
            let mut is_first = true;
            for &bits in self.bits.get(part.first..part.first + words).unwrap_or_default() {
                let mut left = bits;
                while left != 0 {
                    let start = base + u64::from(left.trailing_zeros());
                    left &= left - 1;
                    if let Some(last) = ranges.last_mut().filter(|_| !is_first) {
                        last.end = start;
                    }
                    ranges.push(start..part.range.end);
                    is_first = false;
                }
                base += 64;
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::Leaders;

    #[test]
    fn leaders_are_numbered_in_order_over_all_parts() {
        let mut leaders = Leaders::within(&[1000..1200, 10..30, 40..40]);
        for address in [1199, 1000, 1064, 1063, 10, 29, 30, 9, 40, 1200, 1100, 12] {
            assert_eq!(leaders.insert(address, &|address| address != 12), address == 12);
        }
        assert_eq!(leaders.number(), 7);
        let ranges = leaders.ranges(7);
        assert_eq!(ranges, [10..29, 29..30, 1000..1063, 1063..1064, 1064..1100, 1100..1199, 1199..1200]);
        for (number, range) in ranges.iter().enumerate() {
            assert_eq!(leaders.number_of(range.start), Some(number));
        }
        assert_eq!([12, 30, 40, 1001].map(|address| leaders.number_of(address)), [None; 4]);
        assert_eq!([1101, 1200].map(|address| leaders.entered_at(address)), [leaders.number_of(1100), None]);
    }
}
