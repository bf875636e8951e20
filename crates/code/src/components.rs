//! Strongly connected components (Tarjan, 1972), without recursion.

/// The components of a graph of `count` nodes that hold a cycle, their nodes sorted.
pub(crate) fn components<Next: Iterator<Item = usize>>(count: usize, next: impl Fn(usize) -> Next) -> Vec<Vec<usize>> {
    let mut search = Search { numbers: vec![0; count], lows: vec![0; count], open: Vec::new(), is_open: vec![false; count], found: Vec::new() };
    let mut last = 0;
    for root in 0..count {
        if search.number(root) != 0 {
            continue;
        }
        let mut stack = vec![(root, search.enter(root, &mut last, &next))];
        while let Some((node, ways)) = stack.last_mut() {
            let node = *node;
            match ways.next() {
                Some(to) if search.number(to) == 0 => {
                    let ways = search.enter(to, &mut last, &next);
                    stack.push((to, ways));
                }
                Some(to) => search.lower_to_open(node, to),
                None => {
                    stack.pop();
                    search.leave(node, next(node).any(|to| to == node));
                    if let Some((above, _)) = stack.last() {
                        search.lower_to_open(*above, node);
                    }
                }
            }
        }
    }
    search.found
}

struct Search {
    /// In the order of their discovery, from 1.
    numbers: Vec<usize>,
    lows: Vec<usize>,
    /// Nodes whose component is not complete.
    open: Vec<usize>,
    is_open: Vec<bool>,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn number(&self, node: usize) -> usize {
        self.numbers.get(node).copied().unwrap_or(usize::MAX)
    }

    fn enter<Next>(&mut self, node: usize, last: &mut usize, next: &impl Fn(usize) -> Next) -> Next {
        *last += 1;
        for (list, value) in [(&mut self.numbers, *last), (&mut self.lows, *last)] {
            if let Some(place) = list.get_mut(node) {
                *place = value;
            }
        }
        if let Some(is_open) = self.is_open.get_mut(node) {
            *is_open = true;
        }
        self.open.push(node);
        next(node)
    }

    fn lower_to_open(&mut self, node: usize, to: usize) {
        if self.is_open.get(to) != Some(&true) {
            return;
        }
        let low = self.lows.get(to).copied().unwrap_or(usize::MAX);
        if let Some(place) = self.lows.get_mut(node) {
            *place = low.min(*place);
        }
    }

    /// Takes a complete component off.
    fn leave(&mut self, node: usize, loops_to_itself: bool) {
        if self.lows.get(node) != self.numbers.get(node) {
            return;
        }
        let start = self.open.iter().rposition(|&one| one == node).unwrap_or(0);
        let mut component = self.open.split_off(start);
        for &one in &component {
            if let Some(is_open) = self.is_open.get_mut(one) {
                *is_open = false;
            }
        }
        if component.len() > 1 || loops_to_itself {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn cycles_are_found_and_single_nodes_are_not() {
        let edges: [&[usize]; 8] = [&[1], &[2], &[0, 3], &[4], &[5, 4], &[6], &[5], &[]];
        let mut found = components(edges.len(), |node| edges[node].iter().copied());
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![4], vec![5, 6]]);
    }
}
