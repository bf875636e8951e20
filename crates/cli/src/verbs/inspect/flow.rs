//! The control flow of one function as reports show it.

use std::collections::HashMap;

use tare_code::Instruction;
use tare_image::lines::Lines;
use tare_report::inspect::{Flow, FlowBlock};

use super::named;
use crate::failure::{Code, Failure};
use crate::instrumenting::Analysis;

/// The control flow of the function that a name stands for.
pub(super) fn flow(analysis: &Analysis<'_>, name: &str) -> Result<Flow, Failure> {
    let program = &analysis.program;
    let shown = |index: usize| tare_image::demangle(&program.functions[index].name).into_owned();
    let found = named(analysis, name)?;
    let &[index] = found.as_slice() else {
        let some: Vec<String> = found.iter().take(5).map(|&index| format!("{}@{:#x}", shown(index), program.functions[index].entry)).collect();
        let rest = if found.len() > some.len() { ", …" } else { "" };
        return Err(Failure::new(Code::BadInput, format!("`{name}` stands for {} functions", found.len()))
            .remedy(format!("write one of {}{rest}", some.join(", "))));
    };
    let function = &program.functions[index];
    let body = program.body(&analysis.image, function);
    let cfg = program.cfg(function, &body);
    let loops = cfg.loops(&body);
    let mut headed: HashMap<usize, Vec<usize>> = HashMap::new();
    for (own, one) in loops.iter().enumerate() {
        one.blocks.first().into_iter().for_each(|&header| headed.entry(header).or_default().push(own));
    }
    let lines = analysis.lines();
    let blocks = cfg.blocks.iter().enumerate().map(|(at, block)| {
        let own = body.instructions.get(block.instructions.clone()).unwrap_or_default();
        let is_back = |to: usize| headed.get(&to).into_iter().flatten().any(|&own| loops[own].contains(at));
        FlowBlock {
            range: block.address..block.end,
            is_entry: cfg.entries.contains(&at),
            instructions: own.len(),
            lines: lines.as_ref().and_then(|lines| span(own, lines)),
            depth: loops.innermost(at).map_or(0, |own| loops[own].depth),
            is_exit: block.exits > 0,
            calls: own.iter().filter_map(|one| program.callee(&analysis.image, one)).map(|name| tare_image::demangle(name).into_owned()).collect(),
            successors: block.successors.iter().map(|&to| (to, is_back(to))).collect(),
        }
    });
    Ok(Flow { title: format!("{} in {}", shown(index), analysis.path().display()), blocks: blocks.collect() })
}

/// The lines of instructions that come from the file of the first one.
fn span(instructions: &[Instruction], lines: &Lines<'_>) -> Option<(String, u32, u32)> {
    let mut found: Option<(String, u32, u32)> = None;
    for place in instructions.iter().filter_map(|one| lines.location(one.address)).filter(|place| place.line > 0) {
        match &mut found {
            None => found = Some((place.file, place.line, place.line)),
            Some((file, first, last)) if *file == place.file => {
                *first = place.line.min(*first);
                *last = place.line.max(*last);
            }
            Some(_) => {}
        }
    }
    found
}
