//! Loops, their iterations, and call sites.
//!
//! What happens on an edge of the control-flow graph follows from the loops that its ends lie in: those that it leaves
//! end, from the inside out; the one whose header it reaches begins, or begins its next iteration. Exceptions that are
//! caught are edges as well. A region is left alone where its stack pointer at the end may differ from that at the
//! begin, by which the runtime knows it again.

use std::collections::HashMap;
use std::ops::Range;

use tare_code::{Body, Cfg, Flags, Flow, Function, Instruction, Loops, Operand, Program, saves_frame};
use tare_format::probe::{MOST_OPEN_REGIONS, MOST_OPEN_REGIONS_OF_LEAF};
use tare_image::Image;

use super::stack;
use super::{Placed, Points, Region, Slot, Wanted, Way};
use crate::insertion::{Place, Point, Scope};
use crate::reason::SiteReason;

/// Adds the regions inside of a function.
pub(super) fn add(points: &mut Points, image: &Image<'_>, program: &Program, function: &Function, body: &Body, wanted: Wanted) {
    let cfg = program.cfg_with_unwinding(image, function, body);
    let has_loops = wanted.levels.loops || wanted.levels.iterations;
    let loops = if has_loops { cfg.loops(body) } else { Loops::default() };
    let landings = landings(image, function);
    let blocks = (0..).zip(&cfg.blocks).map(|(index, block)| (block.address, index)).collect();
    let flow = Flowing { image, program, function, body, cfg: &cfg, blocks, loops: &loops, landings: &landings, wanted };
    let mut refused: HashMap<Scope, SiteReason> = HashMap::new();
    let irreducible = (0..).zip(loops.iter()).filter(|(_, one)| one.is_irreducible);
    refused.extend(irreducible.map(|(number, _)| (Scope::Loop(number), SiteReason::Irreducible)));
    let entered = (0..).zip(loops.iter()).filter(|(_, one)| function.other_entries.contains(&one.header));
    refused.extend(entered.map(|(number, _)| (Scope::Loop(number), SiteReason::FurtherEntry)));
    let twice = (0..).zip(flow.comes_back_into()).filter(|(_, comes_back)| *comes_back);
    refused.extend(twice.map(|(number, _)| (Scope::Loop(number), SiteReason::ReturnsTwice)));
    if saves_frames(image, function, body) {
        let (every, calls) = (0..u32::try_from(loops.len()).unwrap_or(0), 0..u32::try_from(flow.calls().count()).unwrap_or(0));
        refused.extend(every.map(Scope::Loop).chain(calls.map(Scope::CallSite)).map(|scope| (scope, SiteReason::ReturnsTwice)));
    }
    let leaving = (0..).zip(flow.calls()).filter(|(_, one)| wanted.levels.call_sites && !wanted.tail_calls && is_tail_call(one.flow));
    refused.extend(leaving.map(|(number, _)| (Scope::CallSite(number), SiteReason::TailCall)));
    // What turns out to be impossible is left out and all the rest found again: each depends on the others.
    let mut found = loop {
        let mut finder = Finder::new(&flow, &refused, points.clone());
        finder.run();
        let (mut found, mut faults) = (finder.points, finder.faults);
        faults.extend(stack::uneven(image, (body, &cfg, &loops), &mut found.placed, &found.regions));
        faults.retain(|(scope, _)| !refused.contains_key(scope));
        if faults.is_empty() {
            break found;
        }
        refused.extend(faults);
    };
    let begin = flow.begins();
    let mut refused: Vec<_> = refused.into_iter().map(|(scope, reason)| (scope, begin(scope), reason)).collect();
    refused.sort_by_key(|one| one.0);
    found.refused.extend(refused);
    *points = found;
}

/// Whether control may come back to the function by a frame that it saves, wherever it is then: `__builtin_setjmp`.
fn saves_frames(image: &Image<'_>, function: &Function, body: &Body) -> bool {
    let names_own = |one: &Instruction| matches!(one.operand, Operand::RipRelative { target, .. } if function.contains(target));
    body.tied().any(|one| names_own(one) && saves_frame(image, one.address))
}

/// Calls of a range of link addresses unwind to a landing pad; sorted.
fn landings(image: &Image<'_>, function: &Function) -> Vec<(Range<u64>, u64)> {
    let fdes = function.parts.iter().filter_map(|part| image.fde_at(part.start)).filter(|fde| fde.lsda.is_some());
    let sites = fdes.filter_map(|fde| image.lsda(fde)).flat_map(|table| table.call_sites);
    let mut landings: Vec<_> = sites.filter_map(|site| Some((site.range, site.landing_pad?))).collect();
    landings.sort_by_key(|landing| landing.0.start);
    landings
}

/// A function and how control flows through it.
struct Flowing<'a, 'data> {
    image: &'a Image<'data>,
    program: &'a Program,
    function: &'a Function,
    body: &'a Body,
    cfg: &'a Cfg,
    /// Blocks by their addresses.
    blocks: HashMap<u64, usize>,
    loops: &'a Loops,
    landings: &'a [(Range<u64>, u64)],
    wanted: Wanted,
}

impl Flowing<'_, '_> {
    /// Where each region begins.
    fn begins(&self) -> impl Fn(Scope) -> u64 {
        let calls: Vec<_> = self.calls().map(|one| one.address).collect();
        move |scope| match scope {
            Scope::Function => self.function.entry,
            Scope::Loop(number) | Scope::Iteration(number) => self.loops.get(number as usize).map_or(0, |one| one.header),
            Scope::CallSite(number) => calls.get(number as usize).copied().unwrap_or(0),
        }
    }

    /// Whatever is a call site, in the order of the body: their numbers count these.
    fn calls(&self) -> impl Iterator<Item = &Instruction> {
        self.body.tied().filter(|one| is_call_site(one.flow))
    }

    /// By loop whether a call in it comes back more than once: the loop would then be left more often than it is entered.
    fn comes_back_into(&self) -> Vec<bool> {
        let mut comes_back = vec![false; self.loops.len()];
        for (index, block) in self.cfg.blocks.iter().enumerate().filter(|(index, _)| self.loops.innermost(*index).is_some()) {
            let own = self.body.instructions.get(block.instructions.clone()).unwrap_or_default();
            if own.iter().any(|one| is_call_site(one.flow) && self.program.comes_back_twice(self.image, one)) {
                for own in self.loops.around(index) {
                    comes_back.get_mut(own).into_iter().for_each(|own| *own = true);
                }
            }
        }
        comes_back
    }

    fn landing_of(&self, call: &Instruction) -> Option<u64> {
        let behind = self.landings.partition_point(|landing| landing.0.start <= call.address);
        self.landings.get(behind.checked_sub(1)?).filter(|landing| landing.0.contains(&call.address)).map(|landing| landing.1)
    }
}

const fn is_call_site(flow: Flow) -> bool {
    stack::is_call(flow) || is_tail_call(flow)
}

const fn is_tail_call(flow: Flow) -> bool {
    matches!(flow, Flow::TailCall { .. } | Flow::IndirectTailCall | Flow::BranchTailCall { .. })
}

/// What happens on an edge: a point of a loop.
type Event = (Point, usize);

/// Finds the places of all regions that are not refused.
struct Finder<'a, 'data> {
    flow: &'a Flowing<'a, 'data>,
    refused: &'a HashMap<Scope, SiteReason>,
    flags: Flags<'a, 'data>,
    rows: stack::Rows<'a, 'data>,
    /// Numbers of the measured loops around each block, the outermost first.
    around: Vec<Vec<usize>>,
    /// For each loop: open regions when it is entered, itself included, and its regions.
    nesting: Vec<Nesting>,
    points: Points,
    faults: Vec<(Scope, SiteReason)>,
}

#[derive(Clone, Copy, Default)]
struct Nesting {
    level: u8,
    region: Option<u32>,
    iteration: Option<u32>,
}

impl<'a, 'data> Finder<'a, 'data> {
    fn new(flow: &'a Flowing<'a, 'data>, refused: &'a HashMap<Scope, SiteReason>, points: Points) -> Self {
        let mut finder = Self {
            flow,
            refused,
            flags: Flags::new(flow.image),
            rows: stack::Rows::new(flow.image),
            around: vec![Vec::new(); flow.cfg.blocks.len()],
            nesting: vec![Nesting::default(); flow.loops.len()],
            points,
            faults: Vec::new(),
        };
        finder.nest();
        finder
    }

    /// Outer loops stand in front of inner ones in the list.
    fn nest(&mut self) {
        let levels = self.flow.wanted.levels;
        let each = u8::from(levels.loops) + u8::from(levels.iterations);
        let most = if stack::is_leaf(self.flow.body) { MOST_OPEN_REGIONS_OF_LEAF } else { MOST_OPEN_REGIONS };
        for ((index, one), number) in self.flow.loops.iter().enumerate().zip(0_u32..) {
            if self.refused.contains_key(&Scope::Loop(number)) {
                continue;
            }
            let header = one.blocks.first().and_then(|&block| self.around.get(block));
            let outside = u8::try_from(header.map_or(0, Vec::len)).unwrap_or(u8::MAX).saturating_mul(each);
            if outside.saturating_add(each) > most {
                self.faults.push((Scope::Loop(number), SiteReason::Depth));
                continue;
            }
            for &block in one.blocks.iter() {
                if let Some(around) = self.around.get_mut(block) {
                    around.push(index);
                }
            }
            let size = one.blocks.iter().filter_map(|&block| self.size_of(block)).sum::<u64>();
            let range = one.header..one.header + size;
            let of_it = |scope| Region { back_edges: one.back_edges.clone(), ..Region::of(scope, range.clone()) };
            let region = levels.loops.then(|| self.points.region(of_it(Scope::Loop(number))));
            let iteration = levels.iterations.then(|| self.points.region(of_it(Scope::Iteration(number))));
            if let Some(place) = self.nesting.get_mut(index) {
                *place = Nesting { level: outside + 1, region, iteration };
            }
        }
    }

    fn size_of(&self, block: usize) -> Option<u64> {
        let own = self.flow.cfg.blocks.get(block)?.instructions.clone();
        Some(self.flow.body.instructions.get(own)?.iter().map(|one| u64::from(one.length)).sum())
    }

    fn run(&mut self) {
        let calls = self.call_sites();
        let entry = self.flow.function.entry;
        for (region, place) in self.events(None, self.block_at(entry), Some(entry)) {
            self.points.placed.push(Placed { at: entry, slot: Slot::Fall, region, place });
        }
        for from in 0..self.flow.cfg.blocks.len() {
            self.edges(from);
            self.unwinding(from, &calls);
        }
    }

    /// The call sites, by the address of their call: region and level.
    fn call_sites(&mut self) -> HashMap<u64, (u32, Place)> {
        let mut found = HashMap::new();
        if !self.flow.wanted.levels.call_sites {
            return found;
        }
        let flow = self.flow;
        let each = u8::from(flow.wanted.levels.loops) + u8::from(flow.wanted.levels.iterations);
        let mut blocks: HashMap<u64, (u8, bool)> = HashMap::new();
        for (block, around) in flow.cfg.blocks.iter().zip(&self.around) {
            let level = u8::try_from(around.len()).unwrap_or(u8::MAX).saturating_mul(each).saturating_add(1);
            let own = flow.body.instructions.get(block.instructions.clone()).unwrap_or_default();
            let comes_back = |one: &Instruction| !block.successors.is_empty() || own.last() != Some(one);
            blocks.extend(own.iter().filter(|one| is_call_site(one.flow)).map(|one| (one.address, (level, comes_back(one)))));
        }
        for (one, number) in flow.calls().zip(0_u32..) {
            let scope = Scope::CallSite(number);
            let Some(&(level, comes_back)) = blocks.get(&one.address).filter(|_| !self.refused.contains_key(&scope)) else { continue };
            let callee = match one.flow {
                Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => Some(target),
                _ => None,
            };
            let is_call = stack::is_call(one.flow);
            let reason = if level > MOST_OPEN_REGIONS {
                Some(SiteReason::Depth)
            } else if flow.program.comes_back_twice(flow.image, one) {
                Some(SiteReason::ReturnsTwice)
            } else {
                (is_call && comes_back && !self.falls_within_part(one.end())).then_some(SiteReason::PartEnd)
            };
            if let Some(reason) = reason {
                self.faults.push((scope, reason));
                continue;
            }
            let region = self.points.region(Region { callee, ..Region::of(scope, one.address..one.end()) });
            let place = Place { level, is_tail_call: is_tail_call(one.flow), ..mid_body(Point::CallBefore, scope, one.address) };
            let slot = if matches!(one.flow, Flow::BranchTailCall { .. }) { Slot::Taken } else { Slot::Before };
            self.points.placed.push(Placed { at: one.address, slot, region, place });
            let after = Place { point: Point::CallAfter, flags_are_dead: self.flags.are_dead_at(one.end()), ..place };
            if is_call && comes_back {
                self.points.placed.push(Placed { at: one.end(), slot: Slot::Fall, region, place: after });
            }
            found.insert(one.address, (region, after));
        }
        found
    }

    /// The ways out of a block.
    fn edges(&mut self, from: usize) {
        let flow = self.flow;
        let Some(block) = flow.cfg.blocks.get(from) else { return };
        let Some(last) = block.instructions.clone().last().and_then(|last| flow.body.instructions.get(last)) else { return };
        match last.flow {
            Flow::Jump { target } => self.edge(from, Some(target), (last.address, Slot::Before)),
            Flow::Branch { target } => {
                self.edge(from, Some(target), (last.address, Slot::Taken));
                self.edge(from, Some(last.end()), (last.end(), Slot::Fall));
            }
            Flow::BranchTailCall { .. } => {
                self.edge(from, None, (last.address, Slot::Taken));
                self.edge(from, Some(last.end()), (last.end(), Slot::Fall));
            }
            Flow::TableJump { .. } => self.table_edges(from, last.address),
            Flow::Next | Flow::Call { returns: true, .. } | Flow::IndirectCall => {
                self.edge(from, Some(last.end()), (last.end(), Slot::Fall));
            }
            _ => {}
        }
    }

    fn edge(&mut self, from: usize, target: Option<u64>, (at, slot): (u64, Slot)) {
        let to = target.and_then(|target| self.block_at(target));
        if target.is_some() && to.is_none() {
            return;
        }
        let events = self.events(Some(from), to, target);
        if slot == Slot::Fall && !self.falls_within_part(at) {
            self.faults.extend(events.iter().map(|(_, place)| (stack::loop_of(place.scope), SiteReason::PartEnd)));
        }
        self.points.placed.extend(events.into_iter().map(|(region, place)| Placed { at, slot, region, place }));
    }

    /// Whether the instruction in front of a link address is in the same part.
    fn falls_within_part(&self, address: u64) -> bool {
        self.flow.function.parts.iter().any(|part| part.start < address && address < part.end)
    }

    fn block_at(&self, address: u64) -> Option<usize> {
        self.flow.blocks.get(&address).copied()
    }

    fn table_edges(&mut self, from: usize, jump: u64) {
        let flow = self.flow;
        let tables = (0_u32..).zip(&flow.body.tables).filter(|(_, table)| table.jumps.contains(&jump));
        for (number, table) in tables {
            let mut targets = table.reached().to_vec();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                let Some(to) = self.block_at(target) else { continue };
                let events = self.events(Some(from), Some(to), Some(target));
                let way = Way::Table(number);
                let is_first = table.jumps.first() == Some(&jump);
                let known = self.points.arrival(way, target);
                if is_first && !events.is_empty() {
                    let number = self.points.arrive(target, &events);
                    self.points.ways.insert((way, target), number);
                } else if !is_first && !self.is_same(known, target, &events) {
                    self.refuse_all_loops(SiteReason::SharedTable);
                }
            }
        }
    }

    /// Whether an arrival is what these events make.
    fn is_same(&self, known: Option<u32>, at: u64, events: &[(u32, Place)]) -> bool {
        let Some(number) = known else { return events.is_empty() };
        self.points.is_inserted(at, number, events)
    }

    fn refuse_all_loops(&mut self, reason: SiteReason) {
        let numbers = 0..u32::try_from(self.flow.loops.len()).unwrap_or(0);
        self.faults.extend(numbers.map(|number| (Scope::Loop(number), reason)));
    }

    /// Exceptions out of the calls of a block that are caught in the function.
    fn unwinding(&mut self, from: usize, calls: &HashMap<u64, (u32, Place)>) {
        let flow = self.flow;
        let Some(block) = flow.cfg.blocks.get(from).filter(|block| !block.landing_pads.is_empty()) else { return };
        for one in flow.body.instructions.get(block.instructions.clone()).unwrap_or_default() {
            if !stack::is_call(one.flow) {
                continue;
            }
            let Some(pad) = flow.landing_of(one) else { continue };
            let Some(to) = self.block_at(pad) else { continue };
            let dead = self.flags.are_dead_at(pad);
            let mut events: Vec<(u32, Place)> = Vec::new();
            if let Some(&(region, place)) = calls.get(&one.address) {
                match self.rows.arguments_at(one.address) {
                    Some(size) => events.push((region, Place { flags_are_dead: dead, raised: u32::from(size), ..place })),
                    None => self.faults.push((place.scope, SiteReason::StackPointer)),
                }
            }
            events.extend(self.events(Some(from), Some(to), Some(pad)));
            if !events.is_empty() {
                let number = self.points.arrive(pad, &events);
                self.points.landings.push((one.address..one.end(), pad, number));
            }
        }
    }

    /// What happens between two blocks, or on a way into or out of the function.
    fn events(&mut self, from: Option<usize>, to: Option<usize>, target: Option<u64>) -> Vec<(u32, Place)> {
        let none = Vec::new();
        let inside = from.and_then(|from| self.around.get(from)).unwrap_or(&none);
        let then = to.and_then(|to| self.around.get(to)).unwrap_or(&none);
        let shared = inside.iter().zip(then).take_while(|(one, other)| one == other).count();
        let mut events: Vec<Event> = Vec::new();
        for &left in inside.iter().skip(shared).rev() {
            events.extend([(Point::IterationExit, left), (Point::LoopAfter, left)]);
        }
        let is_header = |number: usize| self.flow.loops.get(number).map(|one| one.header) == target;
        if let Some(&again) = then.get(..shared).and_then(|shared| shared.last()).filter(|&&number| then.len() == shared && is_header(number)) {
            events.extend([(Point::IterationExit, again), (Point::IterationEnter, again)]);
        }
        for &entered in then.iter().skip(shared) {
            events.extend([(Point::LoopBefore, entered), (Point::IterationEnter, entered)]);
        }
        if events.is_empty() {
            return Vec::new();
        }
        let dead = target.is_none_or(|target| self.flags.are_dead_at(target));
        events.into_iter().filter_map(|event| self.place(event, dead)).collect()
    }

    fn place(&self, (point, number): Event, flags_are_dead: bool) -> Option<(u32, Place)> {
        let nesting = self.nesting.get(number)?;
        let header = self.flow.loops.get(number)?.header;
        let is_iteration = matches!(point, Point::IterationEnter | Point::IterationExit);
        let own = u32::try_from(number).ok()?;
        let (region, scope) = if is_iteration { (nesting.iteration?, Scope::Iteration(own)) } else { (nesting.region?, Scope::Loop(own)) };
        let level = nesting.level + u8::from(is_iteration && nesting.region.is_some());
        Some((region, Place { level, flags_are_dead, ..mid_body(point, scope, header) }))
    }
}

const fn mid_body(point: Point, scope: Scope, address: u64) -> Place {
    Place {
        point,
        scope,
        address,
        flags_are_dead: true,
        is_mid_body: true,
        level: 0,
        has_frame: false,
        raised: 0,
        has_clean_copy: false,
        is_tail_call: false,
    }
}
