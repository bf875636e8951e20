//! What runs before the memory of the first thread is set up: resolvers of indirect functions, and in a program without a loader the first
//! part of its start-up code, with what they call. Code that is put there finds no thread-local variables, no `errno` and no
//! guard of the stack.

use std::ops::Range;

use tare_image::{Image, Kind, RelocationKind};

use crate::Program;
use crate::calls::Edges;
use crate::program::{Flow, Function, Instruction};

/// What sets up that memory has all of these: the numbers of `arch_prctl` and of its `ARCH_SET_FS`, each moved to its register, and a
/// system call.
const SETTER: [&[u8]; 3] = [&[0xb8, 0x9e, 0, 0, 0], &[0xbf, 0x02, 0x10, 0, 0], &[0x0f, 0x05]];

impl Program {
    /// The functions that are entered before the memory of the first thread is set up, or may be, sorted. Calls through pointers are followed
    /// from resolvers on; those of start-up code, which lead to the program itself, are not. Those that never come back are not, either: they
    /// end the program.
    #[must_use]
    pub fn early(&self, image: &Image<'_>) -> Vec<usize> {
        let mut found = vec![false; self.functions.len()];
        let resolvers = image.ifunc_resolvers().into_iter().filter_map(|one| self.function_at(one)).collect();
        self.mark_called(image, resolvers, &mut found, |function| self.calls.possible_callees(function));
        if matches!(image.kind(), Kind::Static | Kind::StaticPie) {
            let in_front = self.on_the_way_to_setter(image, &mut found);
            self.mark_called(image, in_front, &mut found, |_| Vec::new());
        }
        found.into_iter().enumerate().filter(|(_, is_found)| *is_found).map(|(function, _)| function).collect()
    }

    /// Marks functions and what they call, with `more` that they may.
    fn mark_called(&self, image: &Image<'_>, mut todo: Vec<usize>, found: &mut [bool], more: impl Fn(usize) -> Vec<usize>) {
        while let Some(function) = todo.pop() {
            let Some(is_found) = found.get_mut(function).filter(|found| !**found) else { continue };
            *is_found = true;
            let callees = self.calls.callees(function).iter().copied().chain(more(function));
            todo.extend(callees.chain(self.chosen_by_resolvers(image, function)).filter(|&callee| self.comes_back(callee)));
        }
    }

    fn comes_back(&self, function: usize) -> bool {
        self.functions.get(function).is_some_and(|one| !one.never_returns)
    }

    /// What a function may call where it calls indirect functions of the image: all that their resolvers may choose.
    fn chosen_by_resolvers(&self, image: &Image<'_>, function: usize) -> Vec<usize> {
        let Some(body) = self.functions.get(function).map(|function| self.body(image, function)) else { return Vec::new() };
        let slots = body.tied().filter_map(|one| Some(image.plt_at(called(one)?)?.slot));
        let resolver = |slot: u64| {
            let relocation = image.relocation_at(slot).filter(|one| one.kind == RelocationKind::Irelative)?;
            self.calls.handed_on(self.function_at(relocation.addend.cast_unsigned())?)
        };
        slots.filter_map(resolver).flat_map(|chosen| chosen.functions).copied().collect()
    }

    /// Goes from where the program begins to what sets up the memory: marks the functions on the way, which go on behind it, and lists what they
    /// may call in front of it.
    fn on_the_way_to_setter(&self, image: &Image<'_>, found: &mut [bool]) -> Vec<usize> {
        let is_setter = |one: &Function| SETTER.iter().all(|code| one.parts.iter().any(|part| holds(image, part, code)));
        let setters: Vec<usize> = self.functions.iter().enumerate().filter(|(_, one)| is_setter(one)).map(|(index, _)| index).collect();
        let distances = self.calls.distances_to(&setters, &mut |_| false, Edges::Sure);
        let leads_there = |function: usize| distances.get(function).copied().flatten().is_some();
        let mut in_front = Vec::new();
        let mut here = self.function_at(image.entry());
        while let Some(function) = here.filter(|&one| leads_there(one)) {
            if setters.contains(&function) {
                in_front.push(function);
                break;
            }
            let Some(is_found) = found.get_mut(function).filter(|found| !**found) else { break };
            *is_found = true;
            let (called, next) = self.called_in_front(image, function, leads_there);
            in_front.extend(called);
            let by_pointer = || self.calls.callees(function).iter().copied().find(|&callee| leads_there(callee));
            here = next.or_else(by_pointer);
        }
        in_front
    }

    /// What a function may call in front of a certain one, which is on no way on, and that one.
    fn called_in_front(&self, image: &Image<'_>, function: usize, is_last: impl Fn(usize) -> bool) -> (Vec<usize>, Option<usize>) {
        let Some(function) = self.functions.get(function) else { return (Vec::new(), None) };
        let body = self.body(image, function);
        let cfg = self.cfg(function, &body);
        let (mut in_front, mut last) = (Vec::new(), None);
        let mut is_passed = vec![false; cfg.blocks.len()];
        let mut todo = cfg.entries.clone();
        'blocks: while let Some(number) = todo.pop() {
            let (Some(block), Some(is_passed)) = (cfg.blocks.get(number), is_passed.get_mut(number).filter(|passed| !**passed)) else { continue };
            *is_passed = true;
            let own = body.instructions.get(block.instructions.clone()).unwrap_or_default();
            for callee in own.iter().filter_map(|one| self.function_at(called(one)?)) {
                if is_last(callee) {
                    last = last.or(Some(callee));
                    continue 'blocks;
                }
                in_front.extend(self.comes_back(callee).then_some(callee));
            }
            todo.extend(block.next());
        }
        (in_front, last)
    }
}

/// What an instruction calls or jumps to outside of its function.
const fn called(one: &Instruction) -> Option<u64> {
    match one.flow {
        Flow::Call { target, .. } | Flow::TailCall { target } => Some(target),
        _ => None,
    }
}

fn holds(image: &Image<'_>, part: &Range<u64>, code: &[u8]) -> bool {
    let bytes = image.bytes_at(part.start, part.end.saturating_sub(part.start)).unwrap_or_default();
    bytes.windows(code.len()).any(|window| window == code)
}
