//! The call graph as far as it is sure: direct calls and tail calls, through the PLT too.
//!
//! What cannot be seen is said: a function that calls through a pointer is marked, and every answer that needs to be
//! sure takes it for able to reach anything.

use std::collections::{BTreeMap, VecDeque};

use tare_image::Image;

use crate::decode::RawFlow;
use crate::fragments::Fragments;
use crate::program::{Flow, Instruction, Operand};
use crate::sweep::{FlowRecord, Sweep};
use crate::tables::JumpKind;
use crate::{Program, Unit, harmless};

/// The call graph of a program; functions are named by their index in [`Program::functions`].
#[derive(Debug, Default)]
pub struct CallGraph {
    nodes: Vec<Node>,
    imports: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    callees: Vec<usize>,
    imports: Vec<usize>,
    is_open: bool,
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

    /// Whether a function may call what is not known: through pointers, by system calls, into undecoded bytes.
    #[must_use]
    pub fn is_open(&self, function: usize) -> bool {
        self.nodes.get(function).is_none_or(|node| node.is_open)
    }

    /// Functions that call a function, for all functions.
    fn callers(&self) -> Vec<Vec<usize>> {
        let mut callers = vec![Vec::new(); self.nodes.len()];
        for (caller, node) in self.nodes.iter().enumerate() {
            for &callee in &node.callees {
                if let Some(callers) = callers.get_mut(callee) {
                    callers.push(caller);
                }
            }
        }
        callers
    }

    /// Shortest number of calls from each given function to every function; `None` where no sure path leads.
    #[must_use]
    pub fn distances_from(&self, roots: &[usize]) -> Vec<Option<u32>> {
        breadth_first(self.nodes.len(), roots.iter().map(|&root| (root, 0)), |function| self.callees(function))
    }
}

impl Program {
    /// The sure calls.
    #[must_use]
    pub const fn calls(&self) -> &CallGraph {
        &self.calls
    }

    /// For every function, the shortest number of calls to a function whose name is wanted, here or in another image;
    /// 0 for a wanted function itself, `None` where no sure path leads to one.
    #[must_use]
    pub fn distances_to(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Option<u32>> {
        let imports: Vec<bool> = self.calls.imports.iter().map(|name| wanted(name)).collect();
        let mut starts: Vec<(usize, u32)> = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            if wanted(&function.name) || function.aliases.iter().any(|name| wanted(name)) {
                starts.push((index, 0));
            }
        }
        for (index, node) in self.calls.nodes.iter().enumerate() {
            if node.imports.iter().any(|&import| imports.get(import) == Some(&true)) {
                starts.push((index, 1));
            }
        }
        let callers = self.calls.callers();
        breadth_first(self.functions.len(), starts, |function| callers.get(function).map_or(&[], Vec::as_slice))
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
        match (call.flow, call.operand) {
            (Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target }, _)
            | (Flow::IndirectCall | Flow::IndirectTailCall, Operand::RipRelative { target, .. }) => self.callee_name(image, target),
            _ => None,
        }
    }

    fn name_entered_at(&self, address: u64) -> Option<&str> {
        let index = self.function_entered_at(address).or_else(|| self.function_at(address))?;
        self.functions.get(index).map(|function| function.name.as_str())
    }
}

fn breadth_first<'a>(count: usize, starts: impl IntoIterator<Item = (usize, u32)>, next: impl Fn(usize) -> &'a [usize]) -> Vec<Option<u32>> {
    let mut distances = vec![None; count];
    let mut todo: VecDeque<(usize, u32)> = starts.into_iter().collect();
    while let Some((function, distance)) = todo.pop_front() {
        match distances.get_mut(function) {
            Some(found) if found.is_none() => *found = Some(distance),
            _ => continue,
        }
        todo.extend(next(function).iter().map(|&other| (other, distance + 1)));
    }
    distances
}

/// Builds the graph from the flow records of the sweep.
pub(crate) fn graph(image: &Image<'_>, program: &Program, fragments: &Fragments, sweep: &Sweep, units: &[Unit]) -> CallGraph {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut nodes = vec![Node { is_open: true, ..Node::default() }; program.functions.len()];
    for unit in units {
        let own: Vec<_> = unit.fragments.iter().filter_map(|&index| fragments.list.get(index)).collect();
        let Some(index) = own.first().and_then(|first| program.function_entered_at(first.range.start)) else { continue };
        let mut builder = Builder { image, program, index, names: &mut names, node: Node::default() };
        for fragment in own {
            builder.node.is_open |= fragment.traits.has_syscall || fragment.traits.is_undecodable;
            for record in sweep.flows_of(fragment) {
                builder.record(record);
            }
        }
        let mut node = builder.node;
        node.callees.sort_unstable();
        node.callees.dedup();
        node.imports.sort_unstable();
        node.imports.dedup();
        if let Some(place) = nodes.get_mut(index) {
            *place = node;
        }
    }
    let mut imports = vec![String::new(); names.len()];
    for (name, index) in names {
        if let Some(place) = imports.get_mut(index) {
            *place = name;
        }
    }
    CallGraph { nodes, imports }
}

struct Builder<'a, 'data> {
    image: &'a Image<'data>,
    program: &'a Program,
    index: usize,
    names: &'a mut BTreeMap<String, usize>,
    node: Node,
}

impl Builder<'_, '_> {
    fn record(&mut self, record: &FlowRecord) {
        let is_own = |target| self.program.function_at(target) == Some(self.index);
        match record.flow {
            RawFlow::Call(target) => self.target(target),
            RawFlow::Jump(target) | RawFlow::Branch(target) if !is_own(target) => self.target(target),
            RawFlow::IndirectCall => self.slot(record.slot),
            RawFlow::IndirectJump => {
                let kind = self.program.jumps.get(&self.index).and_then(|jumps| jumps.kinds.get(&record.address));
                if !matches!(kind, Some(JumpKind::Table(_))) {
                    self.slot(record.slot);
                }
            }
            _ => {}
        }
    }

    fn target(&mut self, target: u64) {
        if let Some(entry) = self.image.plt_at(target) {
            let own = entry.target.and_then(|target| self.program.function_at(target));
            self.node.callees.extend(own);
            match (entry.name, own) {
                (Some(name), None) => self.import(name),
                (None, None) => self.node.is_open = true,
                _ => {}
            }
        } else if let Some(function) = self.program.function_at(target) {
            self.node.callees.push(function);
        } else {
            self.node.is_open = true;
        }
    }

    fn slot(&mut self, slot: u64) {
        match self.image.name_in_slot(slot).filter(|_| slot != 0) {
            Some(name) => self.import(name),
            None => self.node.is_open = true,
        }
    }

    fn import(&mut self, name: &str) {
        let next = self.names.len();
        let id = match self.names.get(name) {
            Some(&id) => id,
            None => *self.names.entry(name.to_owned()).or_insert(next),
        };
        self.node.imports.push(id);
    }
}
