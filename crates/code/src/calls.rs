//! The call graph: sure edges by direct calls and tail calls, through the PLT too, and possible ones by pointers.
//!
//! What cannot be seen is said: a function that calls through a pointer is marked, and every answer that needs to be
//! sure takes it for able to reach anything. Possible edges are an approximation that is built to hold more than what
//! happens (`targets` says what it leaves out): calls through pointers to what they may reach, and, since a function
//! whose address is handed on may be called back, from whoever loads an address to its function.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::OnceLock;

use tare_image::Image;

use crate::program::{Flow, Instruction};
use crate::targets::Targets;
use crate::{Callee, Program, harmless};

/// Which edges of the call graph an answer follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Edges {
    /// Direct calls and tail calls.
    #[default]
    Sure,
    /// Those, and what calls through pointers may reach.
    Possible,
}

/// The call graph of a program; functions are named by their index in [`Program::functions`].
#[derive(Debug, Default)]
pub struct CallGraph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) imports: Vec<String>,
    /// Sets of functions that calls through pointers may reach.
    pub(crate) sets: Vec<Targets>,
    pub(crate) turned: Turned,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) callees: Vec<usize>,
    pub(crate) imports: Vec<usize>,
    pub(crate) is_open: bool,
    /// Whose addresses it loads.
    pub(crate) handed_on: Targets,
    /// What its calls through pointers may reach: indices of sets.
    pub(crate) sets: Vec<usize>,
}

/// Functions of the image and names in other images.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Callees<'a> {
    /// Functions of the image, sorted.
    pub functions: &'a [usize],
    /// Names in other images.
    pub imports: Vec<&'a str>,
}

/// Names of imports, each with a number.
#[derive(Default)]
pub(crate) struct Names {
    ids: HashMap<String, usize>,
}

impl Names {
    pub(crate) fn id(&mut self, name: &str) -> usize {
        let next = self.ids.len();
        match self.ids.get(name) {
            Some(&id) => id,
            None => *self.ids.entry(name.to_owned()).or_insert(next),
        }
    }

    pub(crate) fn list(self) -> Vec<String> {
        let mut list = vec![String::new(); self.ids.len()];
        for (name, id) in self.ids {
            if let Some(place) = list.get_mut(id) {
                *place = name;
            }
        }
        list
    }
}

impl CallGraph {
    /// Functions of the image that a function calls or jumps to, sorted.
    #[must_use]
    pub fn callees(&self, function: usize) -> &[usize] {
        self.nodes.get(function).map_or(&[], |node| &node.callees)
    }

    /// Names that a function calls in other images.
    pub fn imports(&self, function: usize) -> impl Iterator<Item = &str> {
        let own = self.nodes.get(function).into_iter().flat_map(|node| &node.imports);
        own.filter_map(|&import| self.imports.get(import)).map(String::as_str)
    }

    /// Functions of the image that a function may call beyond its [callees](Self::callees), sorted: what its calls
    /// through pointers may reach, and what it hands on.
    #[must_use]
    pub fn possible_callees(&self, function: usize) -> Vec<usize> {
        let possible: BTreeSet<usize> = self.possible(function).flat_map(|targets| &targets.functions).copied().collect();
        let sure = self.callees(function);
        possible.into_iter().filter(|callee| sure.binary_search(callee).is_err()).collect()
    }

    /// What the calls through pointers of a function may reach: numbers of [sets](Self::pointer_sets), which many share.
    #[must_use]
    pub fn through_pointers(&self, function: usize) -> &[usize] {
        self.nodes.get(function).map_or(&[], |node| &node.sets)
    }

    /// What the calls through pointers of one [set](Self::through_pointers) may reach.
    #[must_use]
    pub fn pointer_set(&self, set: usize) -> Option<Callees<'_>> {
        self.sets.get(set).map(|targets| self.named(targets))
    }

    /// What a function hands on: whose addresses it loads.
    #[must_use]
    pub fn handed_on(&self, function: usize) -> Option<Callees<'_>> {
        self.nodes.get(function).map(|node| self.named(&node.handed_on))
    }

    fn named<'a>(&'a self, targets: &'a Targets) -> Callees<'a> {
        let names = targets.imports.iter().filter_map(|&import| self.imports.get(import));
        Callees { functions: &targets.functions, imports: names.map(String::as_str).collect() }
    }

    /// Functions of the image that kinds of calls through pointers may reach, each set sorted.
    pub fn pointer_sets(&self) -> impl Iterator<Item = &[usize]> {
        self.sets.iter().map(|set| set.functions.as_slice())
    }

    /// Names that a function may call in other images beyond its [imports](Self::imports).
    #[must_use]
    pub fn possible_imports(&self, function: usize) -> Vec<&str> {
        let possible: BTreeSet<usize> = self.possible(function).flat_map(|targets| &targets.imports).copied().collect();
        let sure = self.nodes.get(function).map_or([].as_slice(), |node| &node.imports);
        let more = possible.into_iter().filter(|import| sure.binary_search(import).is_err());
        more.filter_map(|import| self.imports.get(import)).map(String::as_str).collect()
    }

    /// Whether a function may call what is not known: through pointers, by system calls, into undecoded bytes.
    #[must_use]
    pub fn is_open(&self, function: usize) -> bool {
        self.nodes.get(function).is_none_or(|node| node.is_open)
    }

    /// What a function hands on, and the sets of its calls through pointers.
    fn possible(&self, function: usize) -> impl Iterator<Item = &Targets> {
        let node = self.nodes.get(function).into_iter();
        node.flat_map(|node| std::iter::once(&node.handed_on).chain(node.sets.iter().filter_map(|&set| self.sets.get(set))))
    }

    /// Functions that call a function for sure, for all functions.
    fn callers(&self) -> Vec<Vec<usize>> {
        let calls = |node: &'_ Node| node.callees.clone();
        self.turned(self.nodes.len(), calls)
    }

    /// For every number that a function leads to, the functions that do.
    fn turned(&self, count: usize, leads: impl Fn(&Node) -> Vec<usize>) -> Vec<Vec<usize>> {
        let mut turned = vec![Vec::new(); count];
        for (from, node) in self.nodes.iter().enumerate() {
            for to in leads(node) {
                if let Some(list) = turned.get_mut(to) {
                    list.push(from);
                }
            }
        }
        turned
    }

    /// Shortest number of calls from the given functions to every function; `None` where no path leads.
    #[must_use]
    pub fn distances_from(&self, roots: &[usize], edges: Edges) -> Vec<Option<u32>> {
        self.distances_around(None, roots, edges)
    }

    /// The same over paths on which one function is not; none leads to it.
    #[must_use]
    pub fn distances_around(&self, left_out: Option<usize>, roots: &[usize], edges: Edges) -> Vec<Option<u32>> {
        let mut walk = Walk::new(self.nodes.len(), self.sets.len());
        walk.reach(roots, 0);
        while let Some((function, distance)) = walk.next() {
            if Some(function) == left_out {
                continue;
            }
            walk.reach(self.callees(function), distance + 1);
            let Some(node) = self.nodes.get(function).filter(|_| edges == Edges::Possible) else { continue };
            walk.reach(&node.handed_on.functions, distance + 1);
            for &set in &node.sets {
                let members = self.sets.get(set).map_or([].as_slice(), |set| &set.functions);
                walk.reach_once(set, members, distance + 1);
            }
        }
        if let Some(distance) = left_out.and_then(|function| walk.distances.get_mut(function)) {
            *distance = None;
        }
        walk.distances
    }

    /// Shortest number of calls from every function to one of the given functions or to a wanted import; 0 for a given
    /// function itself, `None` where no path leads.
    #[must_use]
    pub fn distances_to(&self, targets: &[usize], import: &mut dyn FnMut(&str) -> bool, edges: Edges) -> Vec<Option<u32>> {
        let callers = self.turned.of(self, edges);
        let imports: Vec<bool> = self.imports.iter().map(|name| import(name)).collect();
        let is_wanted = |list: &[usize]| list.iter().any(|&import| imports.get(import) == Some(&true));
        let sets: Vec<bool> = self.sets.iter().map(|set| is_wanted(&set.imports)).collect();
        let mut walk = Walk::new(self.nodes.len(), self.sets.len());
        walk.reach(targets, 0);
        for (index, node) in self.nodes.iter().enumerate() {
            let may_call = || is_wanted(&node.handed_on.imports) || node.sets.iter().any(|&set| sets.get(set) == Some(&true));
            if is_wanted(&node.imports) || (edges == Edges::Possible && may_call()) {
                walk.reach(&[index], 1);
            }
        }
        while let Some((function, distance)) = walk.next() {
            walk.reach(list(&callers.sure, function), distance + 1);
            walk.reach(list(&callers.handed, function), distance + 1);
            for &set in list(&callers.sets, function) {
                walk.reach_once(set, list(&callers.users, set), distance + 1);
            }
        }
        walk.distances
    }
}

/// A walk in breadth first; sets are walked through once.
struct Walk {
    distances: Vec<Option<u32>>,
    seen_sets: Vec<bool>,
    todo: VecDeque<(usize, u32)>,
}

impl Walk {
    fn new(functions: usize, sets: usize) -> Self {
        Self { distances: vec![None; functions], seen_sets: vec![false; sets], todo: VecDeque::new() }
    }

    /// The next function that was not met, with its distance.
    fn next(&mut self) -> Option<(usize, u32)> {
        loop {
            let (function, distance) = self.todo.pop_front()?;
            if let Some(found) = self.distances.get_mut(function).filter(|found| found.is_none()) {
                *found = Some(distance);
                return Some((function, distance));
            }
        }
    }

    fn reach(&mut self, functions: &[usize], distance: u32) {
        self.todo.extend(functions.iter().map(|&function| (function, distance)));
    }

    fn reach_once(&mut self, set: usize, functions: &[usize], distance: u32) {
        if self.seen_sets.get_mut(set).is_some_and(|seen| !std::mem::replace(seen, true)) {
            self.reach(functions, distance);
        }
    }
}

/// The graph against its edges, made when it is first walked so: sure edges alone, and all.
#[derive(Debug, Default)]
pub(crate) struct Turned([OnceLock<Callers>; 2]);

impl Turned {
    fn of(&self, graph: &CallGraph, edges: Edges) -> &Callers {
        let [sure, possible] = &self.0;
        let place = if edges == Edges::Sure { sure } else { possible };
        place.get_or_init(|| Callers::of(graph, edges))
    }
}

/// The graph against its edges.
#[derive(Debug)]
struct Callers {
    /// Of every function: who calls it.
    sure: Vec<Vec<usize>>,
    /// Of every function: who hands it on.
    handed: Vec<Vec<usize>>,
    /// Of every function: the sets that hold it.
    sets: Vec<Vec<usize>>,
    /// Of every set: who may call its members.
    users: Vec<Vec<usize>>,
}

impl Callers {
    fn of(graph: &CallGraph, edges: Edges) -> Self {
        let count = graph.nodes.len();
        let sure = graph.callers();
        if edges == Edges::Sure {
            return Self { sure, handed: Vec::new(), sets: Vec::new(), users: Vec::new() };
        }
        let handed = graph.turned(count, |node| node.handed_on.functions.clone());
        let users = graph.turned(graph.sets.len(), |node| node.sets.clone());
        let mut sets = vec![Vec::new(); count];
        for (index, set) in graph.sets.iter().enumerate() {
            for &function in &set.functions {
                if let Some(list) = sets.get_mut(function) {
                    list.push(index);
                }
            }
        }
        Self { sure, handed, sets, users }
    }
}

fn list(lists: &[Vec<usize>], index: usize) -> &[usize] {
    lists.get(index).map_or(&[], Vec::as_slice)
}

impl Program {
    /// Who calls whom.
    #[must_use]
    pub const fn calls(&self) -> &CallGraph {
        &self.calls
    }

    /// Which functions are leaves under a selection (one flag for each function): below a leaf, no selected function
    /// can be called, itself included, nor anything unknown. Imports count as known if they are
    /// [harmless](crate::is_harmless).
    #[must_use]
    pub fn leaves(&self, selected: &[bool]) -> Vec<bool> {
        let is_selected = |function: usize| selected.get(function).copied().unwrap_or(false);
        let harmless: Vec<bool> = self.calls.imports.iter().map(|name| harmless::is_harmless(name)).collect();
        let callers = self.calls.callers();
        let mut reaches = vec![false; self.functions.len()];
        let mut todo: Vec<usize> = Vec::new();
        for (index, node) in self.calls.nodes.iter().enumerate() {
            let calls_out = node.imports.iter().any(|&import| harmless.get(import) != Some(&true));
            let calls_selected = node.callees.iter().any(|&callee| is_selected(callee));
            if node.is_open || calls_out || calls_selected {
                todo.push(index);
            }
        }
        while let Some(function) = todo.pop() {
            match reaches.get_mut(function) {
                Some(reached) if !*reached => *reached = true,
                _ => continue,
            }
            todo.extend(callers.get(function).into_iter().flatten());
        }
        reaches.into_iter().map(|reached| !reached).collect()
    }

    /// Name of what stands behind a called address: a function, an import through its PLT entry or slot.
    #[must_use]
    pub fn callee_name<'a>(&'a self, image: &Image<'a>, target: u64) -> Option<&'a str> {
        if let Some(entry) = image.plt_at(target) {
            return entry.name.or_else(|| self.name_entered_at(entry.target?));
        }
        self.name_entered_at(target).or_else(|| image.name_in_slot(target))
    }

    /// Name of what a call or tail call calls, here or in another image; `None` where it is not known.
    #[must_use]
    pub fn callee<'a>(&'a self, image: &Image<'a>, call: &Instruction) -> Option<&'a str> {
        match call.flow {
            Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => self.callee_name(image, target),
            _ => match self.destination(image, call)? {
                Callee::Function(index) => self.functions.get(index).map(|function| function.name.as_str()),
                Callee::Import(name) => Some(name),
                Callee::Unknown => None,
            },
        }
    }

    fn name_entered_at(&self, address: u64) -> Option<&str> {
        let index = self.function_entered_at(address).or_else(|| self.function_at(address))?;
        self.functions.get(index).map(|function| function.name.as_str())
    }
}
