//! Which of many sorted starts lies last in front of an address, without a search over all of them.

/// Sorted starts, and a coarse table over them.
#[derive(Default)]
pub struct Finder {
    starts: Vec<u64>,
    base: u64,
    /// Addresses in one entry, as a power of two.
    shift: u32,
    /// How many starts lie in front of each entry.
    before: Vec<u32>,
}

impl Finder {
    /// Over starts that are sorted.
    #[must_use]
    pub fn over(starts: Vec<u64>) -> Self {
        let (Some(&base), Some(&last)) = (starts.first(), starts.last()) else { return Self::default() };
        let room = starts.len() as u64 * 2 + 1;
        let mut shift = 4;
        while (last - base) >> shift > room {
            shift += 1;
        }
        let entries = usize::try_from(((last - base) >> shift) + 2).unwrap_or(0);
        let mut before = vec![0; entries];
        for start in &starts {
            let entry = usize::try_from((start - base) >> shift).unwrap_or(usize::MAX);
            if let Some(count) = before.get_mut(entry.saturating_add(1)) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut before {
            sum += *count;
            *count = sum;
        }
        Self { starts, base, shift, before }
    }

    /// How many starts lie at or in front of an address.
    #[must_use]
    #[inline]
    pub fn behind(&self, address: u64) -> usize {
        let Some(offset) = address.checked_sub(self.base) else { return 0 };
        let entry = usize::try_from(offset >> self.shift).unwrap_or(usize::MAX);
        let first = self.before.get(entry).map_or(self.starts.len(), |&count| count as usize);
        let last = self.before.get(entry.saturating_add(1)).map_or(self.starts.len(), |&count| count as usize);
        let within = self.starts.get(first..last.max(first)).unwrap_or_default();
        first + within.partition_point(|&start| start <= address)
    }
}

#[cfg(test)]
mod tests {
    use super::Finder;

    #[test]
    fn it_finds_what_a_search_finds() {
        for starts in [vec![], vec![7], vec![0, 1, 2, 3], vec![16, 1 << 40, u64::MAX], (0..999).map(|one| one * one * 3 + 5).collect()] {
            let finder = Finder::over(starts.clone());
            let near = starts.iter().flat_map(|start| [start.saturating_sub(1), *start, start.saturating_add(1)]);
            for address in near.chain([0, 1 << 20, u64::MAX]) {
                let expected = starts.partition_point(|&start| start <= address);
                assert_eq!(finder.behind(address), expected, "{starts:?} {address}");
            }
        }
    }
}
