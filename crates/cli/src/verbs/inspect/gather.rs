//! From an analysed image to what is said of its functions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tare_code::{Flow, Program, Threads};
use tare_image::inlines::Inlines;
use tare_image::lines::{Inside, Lines};
use tare_report::inspect::compare::Fingerprint;
use tare_report::inspect::{Call, Function, Inlined, Loop, Part};

use crate::args::{InspectArguments, InspectFormat};
use crate::failure::Failure;
use crate::instrumenting::Analysis;
use crate::pattern::Pattern;
use crate::progress::Step;

/// Which functions, and how much of each.
pub(super) struct Wanted {
    /// What one of a function's names has.
    pub(super) pattern: Option<Pattern>,
    pub(super) loops: bool,
    pub(super) calls: bool,
    pub(super) inlined: bool,
    pub(super) fingerprints: bool,
}

impl Wanted {
    /// As the options say.
    pub(super) fn of(arguments: &InspectArguments) -> Result<Self, Failure> {
        let pattern = arguments.functions.as_deref().map(Pattern::parse).transpose()?;
        let inlined = arguments.inlined || arguments.format == InspectFormat::Json && arguments.compare.is_none();
        Ok(Self { pattern, loops: arguments.loops, calls: arguments.calls, inlined, fingerprints: arguments.compare.is_some() })
    }

    /// Whether a name, raw or shown, is wanted.
    pub(super) fn has_name(&self, raw: &str, shown: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(raw) || pattern.matches(shown))
    }

    /// Says where no function is wanted: an empty answer may be a slip of the pen.
    pub(super) fn say_unmatched(&self, analysis: &Analysis<'_>, path: &Path) {
        if let Some(pattern) = self.pattern.as_ref().filter(|_| !analysis.program.functions.iter().any(|one| self.has(analysis, one))) {
            eprintln!("tare: `{pattern}` matches no function of {}", path.display());
        }
    }

    /// Whether a function is wanted by one of its names.
    fn has(&self, analysis: &Analysis<'_>, function: &tare_code::Function) -> bool {
        self.pattern.is_none() || std::iter::once(&function.name).chain(&function.aliases).any(|name| self.has_name(name, &analysis.shown(name)))
    }
}

/// The wanted functions in order of their addresses.
pub(super) fn functions(analysis: &Analysis<'_>, wanted: &Wanted) -> Vec<Function> {
    let step = Step::begin("measuring functions");
    let lines = analysis.lines();
    let inlines = if wanted.inlined { analysis.inlines() } else { None };
    let of_interest: Vec<&tare_code::Function> = analysis.program.functions.iter().filter(|one| wanted.has(analysis, one)).collect();
    let (count, done) = (of_interest.len(), AtomicUsize::new(0));
    let with_inlined = |one: &tare_code::Function, lines: Option<&Lines<'_>>| {
        let before = done.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(1024) {
            step.says(&format!("{before} of {count}"));
        }
        Function { inlined: inlines.as_ref().map(|inlines| inlined(inlines, one)), ..function(analysis, one, lines, wanted) }
    };
    match &lines {
        // What has been read of the lines serves one thread.
        Some(lines) => of_interest.into_iter().map(|one| with_inlined(one, Some(lines))).collect(),
        None => Threads::available().map(&of_interest, |one| with_inlined(one, None)),
    }
}

fn function(analysis: &Analysis<'_>, function: &tare_code::Function, lines: Option<&Lines<'_>>, wanted: &Wanted) -> Function {
    let program = &analysis.program;
    let metrics = analysis.metrics(function, lines);
    let body = || program.body(&analysis.image, function);
    let source = metrics.source.as_ref();
    Function {
        name: function.name.clone(),
        demangled: analysis.shown(&function.name),
        aliases: function.aliases.clone(),
        address: function.entry,
        size: function.size(),
        parts: function.parts.iter().map(|part| Part { address: part.start, size: part.end - part.start }).collect(),
        file: source.map(|source| source.file.clone()),
        line: source.map(|source| source.line),
        lines: source.map(|source| source.lines),
        fingerprint: wanted.fingerprints.then(|| fingerprint(analysis, function)),
        instructions: metrics.instructions,
        blocks: metrics.blocks,
        edges: metrics.edges,
        exits: metrics.exits,
        cyclomatic: metrics.cyclomatic,
        loops: metrics.loops,
        loop_depth: metrics.loop_depth,
        call_sites: metrics.call_sites,
        callees: program.callee_names(function).into_iter().map(str::to_owned).collect(),
        indirect_calls: metrics.indirect_calls,
        unresolved_jumps: metrics.unresolved_jumps,
        found_by: function.found_by.name(),
        loop_list: wanted.loops.then(|| loops(program, function, &body(), lines)),
        call_list: wanted.calls.then(|| calls(analysis, &body(), lines)),
        inlined: None,
    }
}

fn fingerprint(analysis: &Analysis<'_>, function: &tare_code::Function) -> Fingerprint {
    let own = analysis.program.fingerprint(&analysis.image, function);
    Fingerprint::new(own.code, own.reached.iter().map(|one| one.as_ref().map(|one| (one.name, one.content))))
}

fn loops(program: &Program, function: &tare_code::Function, body: &tare_code::Body, lines: Option<&Lines<'_>>) -> Vec<Loop> {
    let cfg = program.cfg(function, body);
    let found = cfg.loops(body);
    let mut instructions = vec![0; found.len()];
    for (block, own) in cfg.blocks.iter().enumerate().filter_map(|(at, block)| Some((block, found.innermost(at)?))) {
        instructions[own] += block.instructions.len();
    }
    for (own, parent) in found.iter().enumerate().filter_map(|(own, one)| Some((own, one.parent?))).rev() {
        instructions[parent] += instructions[own];
    }
    let found = found.iter().zip(instructions).map(|(one, instructions)| {
        let (file, line) = place(lines, one.inside());
        Loop {
            header: one.header,
            depth: one.depth,
            blocks: one.blocks.len(),
            instructions,
            back_edges: one.back_edges.clone(),
            parent: one.parent,
            irreducible: one.is_irreducible,
            file,
            line,
        }
    });
    found.collect()
}

fn calls(analysis: &Analysis<'_>, body: &tare_code::Body, lines: Option<&Lines<'_>>) -> Vec<Call> {
    let found = body.instructions.iter().filter_map(|one| {
        let kind = match one.flow {
            Flow::Call { .. } => "call",
            Flow::TailCall { .. } | Flow::BranchTailCall { .. } => "tail call",
            Flow::IndirectCall => "indirect call",
            Flow::IndirectTailCall => "indirect tail call",
            _ => return None,
        };
        let callee = analysis.program.callee(&analysis.image, one).map(str::to_owned);
        let (file, line) = place(lines, Inside::Call(one.address));
        let callee_demangled = callee.as_deref().map(|name| analysis.shown(name));
        Some(Call { address: one.address, kind, callee, callee_demangled, file, line })
    });
    found.collect()
}

/// The calls that were inlined into a function, those within others behind them.
fn inlined(inlines: &Inlines, function: &tare_code::Function) -> Vec<Inlined> {
    let mut places = HashMap::new();
    let mut found = Vec::new();
    for part in &function.parts {
        let first = inlines.first_at(part.start);
        for (index, call) in inlines.beginning_in(part).iter().enumerate() {
            places.insert(first + index, found.len());
            found.push(Inlined {
                name: call.name.to_string(),
                demangled: tare_image::demangle(&call.name).into_owned(),
                within: call.within.and_then(|outer| places.get(&outer).copied()),
                call_file: call.call.as_ref().map(|place| place.file.clone()),
                call_line: call.call.as_ref().map(|place| place.line),
                parts: call.ranges.iter().map(|range| Part { address: range.start, size: range.end - range.start }).collect(),
            });
        }
    }
    found
}

fn place(lines: Option<&Lines<'_>>, inside: Inside<'_>) -> (Option<String>, Option<u32>) {
    let found = lines.and_then(|lines| lines.place(inside));
    found.map_or((None, None), |place| (Some(place.file), Some(place.line)))
}
