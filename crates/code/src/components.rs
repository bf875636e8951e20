//! Strongly connected components of any graph, such as functions that call each other in circles (R. Tarjan,
//! *Depth-first search and linear graph algorithms*, 1972).

/// The strongly connected components of a graph of `count` nodes, each behind those that it leads to: callees in front of
/// their callers. A node that is in no cycle is a component of its own.
#[must_use]
pub fn components<I: Iterator<Item = usize>>(count: usize, next: impl Fn(usize) -> I) -> Vec<Vec<usize>> {
    let mut search =
        Search { index: vec![None; count], low: vec![0; count], is_open: vec![false; count], open: Vec::new(), found: Vec::new(), visited: 0 };
    for root in 0..count {
        if search.index.get(root).copied().flatten().is_none() {
            search.from(root, &next);
        }
    }
    search.found
}

struct Search {
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    found: Vec<Vec<usize>>,
    visited: usize,
}

impl Search {
    /// Depth first, with a stack of its own: call chains of real programs are deep.
    fn from<I: Iterator<Item = usize>>(&mut self, root: usize, next: &impl Fn(usize) -> I) {
        self.enter(root);
        let mut stack = vec![(root, next(root))];
        while let Some((node, ways)) = stack.last_mut() {
            let node = *node;
            match ways.next() {
                Some(to) => match self.index.get(to).copied() {
                    None => {}
                    Some(None) => {
                        self.enter(to);
                        stack.push((to, next(to)));
                    }
                    Some(Some(index)) if self.is_open.get(to) == Some(&true) => self.lower(node, index),
                    Some(Some(_)) => {}
                },
                None => {
                    stack.pop();
                    let low = self.low.get(node).copied().unwrap_or(0);
                    if let Some((caller, _)) = stack.last() {
                        self.lower(*caller, low);
                    }
                    self.leave(node, low);
                }
            }
        }
    }

    fn enter(&mut self, node: usize) {
        if let (Some(index), Some(low), Some(is_open)) = (self.index.get_mut(node), self.low.get_mut(node), self.is_open.get_mut(node)) {
            *index = Some(self.visited);
            *low = self.visited;
            *is_open = true;
        }
        self.visited += 1;
        self.open.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(to);
        }
    }

    /// Closes the component of which a node is the first.
    fn leave(&mut self, node: usize, low: usize) {
        if self.index.get(node).copied().flatten() != Some(low) {
            return;
        }
        let first = self.open.iter().rposition(|&open| open == node).unwrap_or(0);
        let members = self.open.split_off(first);
        for &member in &members {
            if let Some(is_open) = self.is_open.get_mut(member) {
                *is_open = false;
            }
        }
        self.found.push(members);
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    fn sorted(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut found = components(edges.len(), |node| edges[node].iter().copied());
        found.iter_mut().for_each(|members| members.sort_unstable());
        found
    }

    #[test]
    fn callees_stand_in_front_of_callers_and_circles_are_whole() {
        assert_eq!(sorted(&[&[1, 2], &[3], &[3], &[]]), [vec![3], vec![1], vec![2], vec![0]]);
        assert_eq!(sorted(&[&[1], &[2, 4], &[3], &[1], &[4]]), [vec![4], vec![1, 2, 3], vec![0]]);
    }

    #[test]
    fn a_chain_of_a_million_calls_needs_no_stack() {
        let found = components(1_000_000, |node| (node + 1 < 1_000_000).then_some(node + 1).into_iter());
        assert_eq!((found.len(), found[0][0]), (1_000_000, 999_999));
    }
}
