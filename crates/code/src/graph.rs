//! A control-flow graph by its numbers alone: what dominators and loops look at.

/// A list of numbers for each block, or for whatever else is numbered, one behind the other in one piece of memory.
#[derive(Default)]
pub(crate) struct Lists {
    /// Where the list of each block ends.
    ends: Vec<usize>,
    numbers: Vec<usize>,
}

impl Lists {
    pub(crate) fn with_capacity(blocks: usize, numbers: usize) -> Self {
        Self { ends: Vec::with_capacity(blocks), numbers: Vec::with_capacity(numbers) }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Numbers of all lists.
    pub(crate) fn total(&self) -> usize {
        self.numbers.len()
    }

    /// The list of a block; empty for those that have none.
    pub(crate) fn of(&self, block: usize) -> &[usize] {
        let Some(&end) = self.ends.get(block) else { return &[] };
        self.numbers.get(self.start(block)..end).unwrap_or_default()
    }

    /// Adds a number to the list of the next block.
    pub(crate) fn add(&mut self, number: usize) {
        self.numbers.push(number);
    }

    /// Ends the list of the next block.
    pub(crate) fn close(&mut self) {
        self.ends.push(self.numbers.len());
    }

    /// Sorts the numbers from a place on, and keeps each once. Returns how many there are.
    #[inline]
    pub(crate) fn settle(&mut self, start: usize) -> usize {
        match self.numbers.get_mut(start..).unwrap_or_default() {
            [] | [_] => {}
            [one, other] if one == other => self.numbers.truncate(start + 1),
            [one, other] => (*one, *other) = (*one.min(other), *one.max(other)),
            _ => self.sort_from(start),
        }
        self.numbers.len() - start
    }

    /// The same of many.
    fn sort_from(&mut self, start: usize) {
        let own = self.numbers.get_mut(start..).unwrap_or_default();
        own.sort_unstable();
        let mut kept = 1;
        for next in 1..own.len() {
            if own.get(next) != own.get(kept - 1) {
                own.swap(next, kept);
                kept += 1;
            }
        }
        self.numbers.truncate(start + kept);
    }

    fn start(&self, block: usize) -> usize {
        block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// For each number the blocks in whose lists it stands.
    pub(crate) fn turned(&self) -> Self {
        let mut ends = vec![0; self.len()];
        for &to in &self.numbers {
            if let Some(end) = ends.get_mut(to) {
                *end += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut numbers = vec![0; sum];
        for from in 0..self.len() {
            for &to in self.of(from) {
                let Some(end) = ends.get_mut(to) else { continue };
                if let Some(place) = numbers.get_mut(*end) {
                    *place = from;
                }
                *end += 1;
            }
        }
        Self { ends, numbers }
    }
}

/// Reachable blocks by their numbers.
pub(crate) struct Graph {
    /// Blocks that may follow each, by unwinding too.
    pub(crate) next: Lists,
    /// Blocks at which the function is entered, its entry first.
    pub(crate) entries: Vec<usize>,
}

impl Graph {
    pub(crate) fn len(&self) -> usize {
        self.next.len()
    }

    pub(crate) fn next(&self, block: usize) -> &[usize] {
        self.next.of(block)
    }

    /// Who leads to each block.
    pub(crate) fn predecessors(&self) -> Lists {
        self.next.turned()
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    #[test]
    fn lists_are_sorted_and_turned() {
        let mut lists = Lists::default();
        for own in [[2, 1, 2].as_slice(), &[], &[0, 2]] {
            let first = lists.total();
            own.iter().for_each(|&number| lists.add(number));
            lists.settle(first);
            lists.close();
        }
        assert_eq!([lists.of(0), lists.of(1), lists.of(2), lists.of(3)], [[1, 2].as_slice(), &[], &[0, 2], &[]]);
        let turned = lists.turned();
        assert_eq!([turned.of(0), turned.of(1), turned.of(2)], [[2].as_slice(), &[0], &[0, 2]]);
        assert_eq!((turned.len(), turned.total()), (3, 4));
    }
}
