//! Many ranges held against a number: those that hold it, in time that grows with their count by its logarithm alone.

use crate::filter::Range;

/// Ranges, each with a number that its owner gives it.
#[derive(Default)]
pub(crate) struct Intervals {
    /// First, last and owner; sorted by the first.
    sorted: Vec<(u64, u64, usize)>,
    /// The greatest last of every node of a binary tree over them: node 1 is the root, the children of n are 2n and 2n + 1.
    greatest: Vec<u64>,
}

impl Intervals {
    pub(crate) fn add(&mut self, range: Range, owner: usize) {
        self.sorted.push((range.min.unwrap_or(0), range.max.unwrap_or(u64::MAX), owner));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Makes them ready for numbers.
    pub(crate) fn prepare(&mut self) {
        self.sorted.sort_unstable();
        let leaves = self.sorted.len().next_power_of_two();
        self.greatest = vec![0; leaves * 2];
        for (place, one) in self.sorted.iter().enumerate() {
            self.greatest[leaves + place] = one.1;
        }
        for node in (1..leaves).rev() {
            self.greatest[node] = self.greatest[node * 2].max(self.greatest[node * 2 + 1]);
        }
    }

    /// Shows the owners of the ranges that hold a number.
    pub(crate) fn find(&self, number: u64, see: &mut dyn FnMut(usize)) {
        let begun = self.sorted.partition_point(|one| one.0 <= number);
        let leaves = self.greatest.len() / 2;
        // A node, the first of the leaves below it, and how many these are.
        let mut todo = vec![(1, 0, leaves)];
        while let Some((node, first, count)) = todo.pop() {
            if first >= begun || self.greatest[node] < number {
                continue;
            }
            if count > 1 {
                todo.extend([(node * 2, first, count / 2), (node * 2 + 1, first + count / 2, count / 2)]);
            } else {
                see(self.sorted[first].2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Intervals;
    use crate::filter::Range;

    #[test]
    fn exactly_the_ranges_that_hold_a_number_are_found() {
        let (mut state, mut ranges) = (1_u64, Vec::new());
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let (one, other) = (random(100), random(100));
            let (min, max) = (one.min(other), one.max(other));
            ranges.push(Range { min: (min > 5).then_some(min), max: (max < 95).then_some(max) });
        }
        for count in [0, 1, 2, 3, 64, 300] {
            let mut intervals = Intervals::default();
            ranges.iter().take(count).enumerate().for_each(|(owner, range)| intervals.add(*range, owner));
            intervals.prepare();
            for number in (0..=101).chain([u64::MAX]) {
                let mut found = Vec::new();
                intervals.find(number, &mut |owner| found.push(owner));
                found.sort_unstable();
                let expected: Vec<usize> = (0..count).filter(|&owner| ranges[owner].contains(number)).collect();
                assert_eq!(found, expected, "{number} among {count}");
            }
        }
    }
}
