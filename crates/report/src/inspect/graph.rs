//! The call graph: who calls whom for sure, and who may.

use std::collections::VecDeque;

/// A call graph of an image; functions of other images that it calls are in it too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// What it is a graph of.
    pub title: String,
    /// Functions; edges name them by their place.
    pub nodes: Vec<Node>,
    /// The main program's function.
    pub main: Option<usize>,
}

/// A function of a call graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Raw name.
    pub name: String,
    /// Name for people.
    pub demangled: String,
    /// Which function of the image it is; `None` for a function of another image, and for no function.
    pub function: Option<usize>,
    /// Whether it is no function and stands for what some calls through pointers may reach: whoever has a possible edge
    /// to it may call all that it has possible edges to. Edges are as many as callers and targets together, not their product.
    pub is_set: bool,
    /// What is known of its code.
    pub body: Body,
    /// Functions that it calls.
    pub sure: Vec<usize>,
    /// Functions that it may call through pointers.
    pub possible: Vec<usize>,
}

/// What is known of a function's code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    /// Source file.
    pub file: Option<String>,
    /// First source line.
    pub line: Option<u32>,
    /// Instructions.
    pub instructions: usize,
    /// Conditional branches.
    pub branches: usize,
    /// How deep loops nest.
    pub loop_depth: usize,
}

impl Graph {
    /// The part of the graph that is reached from some functions, in at most `depth` calls if that is limited.
    #[must_use]
    pub fn reached_from(self, roots: &[usize], depth: Option<usize>) -> Self {
        let mut is_kept = vec![false; self.nodes.len()];
        let mut todo: VecDeque<(usize, usize)> = roots.iter().map(|&root| (root, 0)).collect();
        while let Some((node, distance)) = todo.pop_front() {
            let Some(kept) = is_kept.get_mut(node).filter(|kept| !**kept) else { continue };
            *kept = true;
            if depth.is_some_and(|depth| distance >= depth) {
                continue;
            }
            let one = &self.nodes[node];
            for &next in one.sure.iter().chain(&one.possible) {
                if self.nodes[next].is_set {
                    // The way through a set is one call, and the first way is the shortest.
                    let is_new = !std::mem::replace(&mut is_kept[next], true);
                    todo.extend(self.nodes[next].possible.iter().filter(|_| is_new).map(|&target| (target, distance + 1)));
                } else {
                    todo.push_back((next, distance + 1));
                }
            }
        }
        self.only(&is_kept)
    }

    /// The part of the graph whose callers are wanted, with what they call.
    #[must_use]
    pub fn of_callers(mut self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let mut is_kept = vec![false; self.nodes.len()];
        for index in 0..self.nodes.len() {
            if is_wanted(index) {
                is_kept[index] = true;
                let one = &self.nodes[index];
                one.sure.iter().chain(&one.possible).for_each(|&callee| is_kept[callee] = true);
            } else if !self.nodes[index].is_set {
                self.nodes[index].sure.clear();
                self.nodes[index].possible.clear();
            }
        }
        for index in 0..self.nodes.len() {
            if self.nodes[index].is_set && is_kept[index] {
                self.nodes[index].possible.iter().for_each(|&target| is_kept[target] = true);
            }
        }
        self.only(&is_kept)
    }

    /// The nodes that are kept, renumbered, with the edges between them.
    fn only(self, is_kept: &[bool]) -> Self {
        let mut numbers = 0_usize..;
        let places: Vec<Option<usize>> = is_kept.iter().map(|kept| if *kept { numbers.next() } else { None }).collect();
        let renumbered = |edges: &[usize]| edges.iter().filter_map(|&edge| places[edge]).collect();
        let kept = self.nodes.into_iter().zip(is_kept).filter(|(_, kept)| **kept);
        let nodes = kept.map(|(node, _)| Node { sure: renumbered(&node.sure), possible: renumbered(&node.possible), ..node }).collect();
        Self { title: self.title, nodes, main: self.main.and_then(|main| places[main]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let node = |name: &str, sure: &[usize], possible: &[usize]| Node {
            name: name.into(),
            sure: sure.into(),
            possible: possible.into(),
            ..Node::default()
        };
        let nodes =
            vec![node("leaf", &[], &[]), node("main", &[2, 3], &[]), node("work", &[0], &[4]), node("exit", &[], &[]), node("callback", &[2], &[])];
        Graph { title: String::new(), nodes, main: Some(1) }
    }

    fn names(graph: &Graph) -> Vec<&str> {
        graph.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn depth_counts_calls() {
        assert_eq!(names(&graph().reached_from(&[1], Some(1))), ["main", "work", "exit"]);
        let all = graph().reached_from(&[2], None);
        assert_eq!(names(&all), ["leaf", "work", "callback"]);
        assert_eq!((&all.nodes[1].sure, &all.nodes[1].possible, &all.nodes[2].sure), (&vec![0], &vec![2], &vec![1]));
        assert_eq!(all.main, None);
    }

    /// Two callers of a set of two targets, one of which calls further.
    fn with_set() -> Graph {
        let node = |name: &str, sure: &[usize], possible: &[usize], is_set| Node {
            name: name.into(),
            sure: sure.into(),
            possible: possible.into(),
            is_set,
            ..Node::default()
        };
        let nodes = vec![
            node("main", &[1], &[2], false),
            node("other", &[], &[2], false),
            node("set", &[], &[3, 4], true),
            node("first", &[5], &[], false),
            node("second", &[], &[], false),
            node("behind", &[], &[], false),
        ];
        Graph { title: String::new(), nodes, main: Some(0) }
    }

    #[test]
    fn the_way_through_a_set_is_one_call() {
        assert_eq!(names(&with_set().reached_from(&[0], Some(0))), ["main"]);
        assert_eq!(names(&with_set().reached_from(&[0], Some(1))), ["main", "other", "set", "first", "second"]);
        assert_eq!(names(&with_set().reached_from(&[1], Some(2))), ["other", "set", "first", "second", "behind"]);
        let part = with_set().of_callers(|index| index == 1);
        assert_eq!(names(&part), ["other", "set", "first", "second"]);
        assert_eq!((&part.nodes[0].possible, &part.nodes[1].possible, part.nodes[2].sure.len()), (&vec![1], &vec![2, 3], 0));
        assert_eq!(names(&with_set().of_callers(|index| index == 0)), ["main", "other", "set", "first", "second"]);
    }

    #[test]
    fn callers_keep_what_they_call() {
        let part = graph().of_callers(|index| index == 1);
        assert_eq!(names(&part), ["main", "work", "exit"]);
        assert_eq!((part.main, part.nodes[1].sure.len()), (Some(0), 0));
    }
}
