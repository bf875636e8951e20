//! The call graph as reports show it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufWriter, Write};

use tare_code::{CallGraph, Callees, Flow};
use tare_image::lines::Lines;
use tare_report::inspect::{Body, Graph, Node};

use super::gather::Wanted;
use super::named;
use crate::args::{EdgeChoice, InspectArguments};
use crate::failure::Failure;
use crate::instrumenting::Analysis;
use crate::progress::Step;
use crate::stdout;

/// The part of the call graph that is asked for.
pub(super) fn graph(analysis: &Analysis<'_>, arguments: &InspectArguments, wanted: &Wanted) -> Result<Graph, Failure> {
    let step = Step::begin("drawing the call graph");
    let roots = arguments.from.as_deref().map(|name| named(analysis, name)).transpose()?;
    let mut graph = edges(analysis, arguments.edges.unwrap_or(EdgeChoice::Sure));
    graph.title = arguments.image.display().to_string();
    if let Some(roots) = roots {
        graph = graph.reached_from(&roots, arguments.depth);
    }
    if wanted.pattern.is_some() {
        let is_wanted: Vec<bool> = graph.nodes.iter().map(|node| node.function.is_some() && wanted.has_name(&node.name, &node.demangled)).collect();
        graph = graph.of_callers(|index| is_wanted[index]);
    }
    let lines = analysis.lines();
    let count = graph.nodes.len();
    for (index, node) in graph.nodes.iter_mut().enumerate() {
        if index % 1024 == 0 {
            step.says(&format!("{index} of {count}"));
        }
        if let Some(function) = node.function {
            node.body = described(analysis, function, lines.as_ref());
        }
    }
    Ok(graph)
}

/// Prints a call graph while it is written.
pub(super) fn print(graph: &Graph, write: fn(&Graph, &mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    let written = write(graph, &mut output).and_then(|()| output.flush());
    written.map_err(|error| stdout::cannot(&error))
}

/// All functions and what they call, functions of other images and sets of possible targets behind them.
fn edges(analysis: &Analysis<'_>, choice: EdgeChoice) -> Graph {
    let calls = analysis.program.calls();
    let functions = &analysis.program.functions;
    let own = functions.iter().enumerate();
    let nodes = own.map(|(index, function)| Node { function: Some(index), demangled: analysis.shown(&function.name), ..node(&function.name) });
    let mut drawn = Drawn { nodes: nodes.collect(), imports: HashMap::new() };
    for index in 0..functions.len() {
        let mut sure = calls.callees(index).to_vec();
        sure.extend(calls.imports(index).map(|name| drawn.import(name)));
        drawn.nodes[index].sure = sure;
    }
    if choice == EdgeChoice::Possible {
        drawn.add_possible(calls, functions.len());
    }
    Graph { title: String::new(), nodes: drawn.nodes, main: analysis.program.main() }
}

/// A graph while it is put together.
struct Drawn {
    nodes: Vec<Node>,
    imports: HashMap<String, usize>,
}

impl Drawn {
    fn import(&mut self, name: &str) -> usize {
        if let Some(&place) = self.imports.get(name) {
            return place;
        }
        self.imports.insert(name.to_owned(), self.nodes.len());
        self.nodes.push(node(name));
        self.nodes.len() - 1
    }

    fn places(&mut self, callees: Option<Callees<'_>>) -> Vec<usize> {
        let Some(Callees { functions, imports }) = callees else { return Vec::new() };
        let mut places = functions.to_vec();
        places.extend(imports.into_iter().map(|name| self.import(name)));
        places
    }

    /// Edges to what functions hand on, and to what their calls through pointers may reach. Thousands of calls may reach the
    /// same thousands of functions: one node in between stands for these wherever that takes fewer edges.
    fn add_possible(&mut self, calls: &CallGraph, functions: usize) {
        let mut callers: BTreeMap<usize, usize> = BTreeMap::new();
        for &set in (0..functions).flat_map(|function| calls.through_pointers(function)) {
            *callers.entry(set).or_default() += 1;
        }
        let mut leads: HashMap<usize, Vec<usize>> = HashMap::new();
        for (set, callers) in callers {
            let targets = self.places(calls.pointer_set(set));
            let is_shared = callers.saturating_mul(targets.len()) > callers + targets.len();
            let leads_to = if is_shared { vec![self.add_set(set, targets)] } else { targets };
            leads.insert(set, leads_to);
        }
        for function in 0..functions {
            let mut possible: BTreeSet<usize> = self.places(calls.handed_on(function)).into_iter().collect();
            possible.extend(calls.through_pointers(function).iter().filter_map(|set| leads.get(set)).flatten());
            for callee in &self.nodes[function].sure {
                possible.remove(callee);
            }
            self.nodes[function].possible = possible.into_iter().collect();
        }
    }

    fn add_set(&mut self, set: usize, possible: Vec<usize>) -> usize {
        let demangled = format!("possible targets {set}: {} functions", possible.len());
        self.nodes.push(Node { name: format!("__tare_possible_targets_{set}"), demangled, is_set: true, possible, ..Node::default() });
        self.nodes.len() - 1
    }
}

fn node(name: &str) -> Node {
    Node { name: name.to_owned(), demangled: tare_image::demangle(name).into_owned(), ..Node::default() }
}

fn described(analysis: &Analysis<'_>, index: usize, lines: Option<&Lines<'_>>) -> Body {
    let function = &analysis.program.functions[index];
    let body = analysis.program.body(&analysis.image, function);
    let source = lines.and_then(|lines| lines.function(function.entry));
    Body {
        file: source.as_ref().map(|place| place.file.clone()),
        line: source.map(|place| place.line),
        instructions: body.instructions.len(),
        branches: body.instructions.iter().filter(|one| matches!(one.flow, Flow::Branch { .. } | Flow::BranchTailCall { .. })).count(),
        loop_depth: analysis.program.loops(function, &body).iter().map(|one| one.depth).max().unwrap_or(0),
    }
}
