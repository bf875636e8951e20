//! Building the call graph from the flow records of the sweep.

use std::collections::BTreeSet;

use tare_image::Image;

use crate::callee::Callee as Where;
use crate::calls::{CallGraph, Names, Node, Turned};
use crate::decode::RawFlow;
use crate::fragments::Fragments;
use crate::jumps::JumpKind;
use crate::record::FlowRecord;
use crate::sweep::Sweep;
use crate::targets::{Callee, Reader, TargetSets, Targets};
use crate::{Program, Unit, owners};

/// Builds the graph.
pub(crate) fn graph(image: &Image<'_>, program: &Program, fragments: &Fragments, sweep: &Sweep, units: &[Unit]) -> CallGraph {
    let mut names = Names::default();
    let targets = TargetSets::find(image, program, sweep, &mut names);
    let mut nodes = vec![Node { is_open: true, ..Node::default() }; program.functions.len()];
    let entered = units.iter().map(|unit| program.function_entered_at(fragments.list.get(*unit.fragments.first()?)?.range.start));
    let entered: Vec<Option<usize>> = entered.collect();
    let owners = owners(fragments, units.iter().map(|unit| unit.fragments.as_slice()));
    let owner = |fragment: usize| entered.get(*owners.get(fragment)?).copied().flatten();
    for (unit, index) in units.iter().zip(&entered) {
        let &Some(index) = index else { continue };
        let mut builder = Builder { image, program, index, names: &mut names, targets: &targets, node: Node::default() };
        for (one, fragment) in unit.fragments.iter().filter_map(|&one| Some((one, fragments.list.get(one)?))) {
            builder.node.is_open |= fragment.traits.has_syscall || fragment.traits.is_undecodable;
            for lead in sweep.leads.of(one) {
                let function = |target| lead.to().map_or_else(|| program.function_at(target), owner);
                let record = lead.record(sweep).filter(|record| fragment.range.contains(&record.address));
                record.into_iter().for_each(|record| builder.record(record, function));
            }
            builder.hands_on(sweep, &fragment.range);
        }
        if let Some(place) = nodes.get_mut(index) {
            *place = builder.finish();
        }
    }
    for outside in &sweep.outside {
        let Some(index) = program.function_entered_at(outside.entry) else { continue };
        let mut builder = Builder { image, program, index, names: &mut names, targets: &targets, node: Node { is_open: true, ..Node::default() } };
        sweep
            .flows
            .get(outside.flows.clone())
            .unwrap_or_default()
            .iter()
            .for_each(|record| builder.record(record, |target| program.function_at(target)));
        if let Some(place) = nodes.get_mut(index) {
            *place = builder.finish();
        }
    }
    CallGraph { nodes, imports: names.list(), sets: targets.sets, turned: Turned::default() }
}

struct Builder<'a, 'data> {
    image: &'a Image<'data>,
    program: &'a Program,
    index: usize,
    names: &'a mut Names,
    targets: &'a TargetSets,
    node: Node,
}

impl Builder<'_, '_> {
    fn finish(mut self) -> Node {
        for list in [&mut self.node.callees, &mut self.node.imports, &mut self.node.sets] {
            list.sort_unstable();
            list.dedup();
        }
        self.node
    }

    /// Takes what leads out of the function; `function` tells which one holds a target.
    fn record(&mut self, record: &FlowRecord, function: impl FnOnce(u64) -> Option<usize>) {
        match record.flow() {
            RawFlow::Call(target) => {
                let function = function(target);
                if function != Some(self.index) || self.is_entry(target) {
                    self.target(target, function);
                }
            }
            RawFlow::Jump(target) | RawFlow::Branch(target) => {
                let function = function(target);
                if function != Some(self.index) {
                    self.target(target, function);
                }
            }
            RawFlow::IndirectCall => self.indirect(record),
            RawFlow::IndirectJump => {
                let kind = self.program.jumps.get(&self.index).and_then(|jumps| jumps.kinds.get(&record.address));
                if !matches!(kind, Some(JumpKind::Table(_))) {
                    self.indirect(record);
                }
            }
            _ => {}
        }
    }

    /// Whether the function begins there, or one of its names stands there: a call of what lies between is no call of the function.
    fn is_entry(&self, target: u64) -> bool {
        self.program.function_entered_at(target).is_some() || self.image.symbols_at(target).any(|symbol| symbol.is_function)
    }

    /// Goes to an address that lies in a function, or in none of the image.
    fn target(&mut self, target: u64, function: Option<usize>) {
        if let Some(function) = function {
            return self.node.callees.push(function);
        }
        if let Some(entry) = self.image.plt_at(target) {
            let own = entry.target.and_then(|target| self.program.function_at(target));
            self.node.callees.extend(own);
            match (entry.name, own) {
                (Some(name), None) => self.import(name),
                (None, None) => self.node.is_open = true,
                _ => {}
            }
        } else {
            self.node.is_open = true;
        }
    }

    fn indirect(&mut self, record: &FlowRecord) {
        match record.place().map_or(Where::Unknown, |place| self.program.callee_behind(self.image, place)) {
            Where::Function(function) => self.node.callees.push(function),
            Where::Import(name) => self.import(name),
            Where::Unknown => {
                self.node.is_open = true;
                self.node.sets.extend(self.targets.of(record.through()));
            }
        }
    }

    /// Functions whose addresses are loaded in a part.
    fn hands_on(&mut self, sweep: &Sweep, part: &std::ops::Range<u64>) {
        let first = sweep.pointers.partition_point(|pointer| pointer.at < part.start);
        let end = sweep.pointers.partition_point(|pointer| pointer.at < part.end);
        let mut reader = Reader { image: self.image, program: self.program, names: self.names };
        let own = sweep.pointers.get(first..end.max(first)).unwrap_or_default();
        let callees: BTreeSet<Callee> = own.iter().filter_map(|pointer| reader.callee(pointer.target)).collect();
        let more = Targets::of(&callees);
        self.node.handed_on.functions.extend(more.functions);
        self.node.handed_on.imports.extend(more.imports);
    }

    fn import(&mut self, name: &str) {
        let import = self.names.id(name);
        self.node.imports.push(import);
    }
}
