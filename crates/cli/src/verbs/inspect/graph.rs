//! The call graph as reports show it.

use std::collections::HashMap;

use tare_code::Flow;
use tare_image::lines::Lines;
use tare_report::inspect::{Body, Graph, Node};

use super::gather::Wanted;
use super::named;
use crate::args::{EdgeChoice, InspectArguments};
use crate::failure::Failure;
use crate::instrumenting::Analysis;
use crate::progress::Step;

/// The part of the call graph that is asked for.
pub(super) fn graph(analysis: &Analysis<'_>, arguments: &InspectArguments, wanted: &Wanted) -> Result<Graph, Failure> {
    let step = Step::begin("drawing the call graph");
    let roots = arguments.from.as_deref().map(|name| named(analysis, name)).transpose()?;
    let mut graph = edges(analysis, arguments.edges);
    graph.title = arguments.image.display().to_string();
    if let Some(roots) = roots {
        graph = graph.reached_from(&roots, arguments.depth);
    }
    if wanted.pattern.is_some() {
        let is_wanted: Vec<bool> = graph.nodes.iter().map(|node| node.function.is_some() && wanted.has_name(&node.name)).collect();
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

/// All functions and what they call, functions of other images behind them.
fn edges(analysis: &Analysis<'_>, choice: EdgeChoice) -> Graph {
    let calls = analysis.program.calls();
    let functions = &analysis.program.functions;
    let own = functions.iter().enumerate();
    let mut nodes: Vec<Node> = own.map(|(index, function)| Node { function: Some(index), ..node(&function.name) }).collect();
    let mut imports = HashMap::new();
    for index in 0..functions.len() {
        let mut sure = calls.callees(index).to_vec();
        let mut possible = Vec::new();
        let mut numbered = |name: &str, nodes: &mut Vec<Node>| {
            *imports.entry(name.to_owned()).or_insert_with(|| {
                nodes.push(node(name));
                nodes.len() - 1
            })
        };
        sure.extend(calls.imports(index).map(|name| numbered(name, &mut nodes)));
        if choice == EdgeChoice::Possible {
            possible = calls.possible_callees(index);
            possible.extend(calls.possible_imports(index).into_iter().map(|name| numbered(name, &mut nodes)));
        }
        nodes[index].sure = sure;
        nodes[index].possible = possible;
    }
    Graph { title: String::new(), nodes, main: analysis.program.main() }
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
