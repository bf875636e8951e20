//! What is expected of each function of a program in a run.

use std::collections::{BTreeMap, HashMap};

use tare_code::{Body, Callee, Cfg, Flow, Function, Loop, Operand, Program, Trips};
use tare_image::{Image, RelocationKind};

use super::frequency::{Shape, UnknownTrips};
use super::imports;
use super::visits::{Call, Flowed, Node, flow};

/// Iterations of loops of which nothing is known, as they are tried. All loops of a program are given the same, and it
/// is the one with which a run comes closest to [`TYPICAL_RUN`]: deep nests of short loops and shallow nests of long
/// ones then both make runs of the length that people measure.
const TRIED: [f64; 7] = [2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0];
/// Core cycles of a run that is worth measuring: some ten seconds.
const TYPICAL_RUN: f64 = 3e10;
/// Iterations where work is not to be taken for more than it is.
const FEW: UnknownTrips = UnknownTrips(3.0);
/// Work behind a call through a pointer, in cycles, of which nothing is known.
const BEHIND_POINTER: f64 = 20.0;

/// How sure an estimate of visits is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// Measured in a run.
    Measured,
    /// Structure bounds the visits: constant loops and direct calls lead to it from main.
    Bounded,
    /// Loops or branches of which nothing constant is known lie on the way.
    Guessed,
    /// It calls itself, or is called from such a circle: how deep it goes is not in the code.
    Recursive,
    /// Most ways to it lead through pointers, or nothing in the image calls it.
    Pointers,
}

impl Certainty {
    /// All of them, the surest first.
    pub const ALL: [Self; 5] = [Self::Measured, Self::Bounded, Self::Guessed, Self::Recursive, Self::Pointers];
}

/// What is expected of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Visits in a run.
    pub visits: f64,
    /// Visits at most, where structure bounds them.
    pub most: Option<f64>,
    /// Core cycles of its own in one visit.
    pub own: f64,
    /// Core cycles in one visit with what it calls, but not with further visits of itself.
    pub work: f64,
    /// The same if loops of which nothing is known go round seldom.
    pub least_work: f64,
    /// How sure the visits are.
    pub certainty: Certainty,
    /// It is on a path to a function of MPI.
    pub reaches_mpi: bool,
    /// It is on a path to a construct of OpenMP.
    pub reaches_openmp: bool,
    /// A run with a budget switched it off, since even counting its calls was too dear.
    pub was_off: bool,
}

/// What a run showed of a function.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Observed {
    /// Calls, of all processes together.
    pub calls: f64,
    /// Core cycles in it without what it calls, as far as that was measured, of all calls together.
    pub own: f64,
    /// Core cycles in it with what it calls, of all calls together.
    pub work: f64,
    /// It was switched off while the program ran, since even counting its calls was too dear.
    pub was_off: bool,
}

/// Estimates of a whole image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Estimates {
    /// By function.
    pub functions: Vec<Estimate>,
    /// Core cycles of a run, all functions together.
    pub total: f64,
}

impl Estimates {
    /// From structure alone.
    #[must_use]
    pub fn of(program: &Program, image: &Image<'_>) -> Self {
        let pointed_at = pointed_at(program, image);
        let mut scenes = Scenes { pointed_at, ..Scenes::default() };
        for function in &program.functions {
            scenes.add(program, image, function);
        }
        scenes.point_at_uncalled(program);
        let sets: Vec<&[usize]> = program.calls().pointer_sets().collect();
        let least = flow(&scenes.few, program.main(), &sets);
        let runs = scenes.tried.iter().map(|nodes| Run::of(nodes, program.main(), &sets));
        let Some(run) = runs.min_by(|one, other| one.distance().total_cmp(&other.distance())) else { return Self::default() };
        let mpi = reaching(program, &scenes.returning_calls, &scenes.calls_mpi);
        let openmp = reaching(program, &scenes.returning_calls, &scenes.calls_openmp);
        let own = |index: usize| run.nodes.get(index).map_or(0.0, |node| node.own);
        let functions: Vec<Estimate> = run
            .flowed
            .iter()
            .zip(&least)
            .enumerate()
            .map(|(index, (flowed, least))| Estimate {
                visits: flowed.visits,
                most: flowed.most,
                own: own(index),
                work: flowed.work,
                least_work: least.work.min(flowed.work),
                certainty: certainty(flowed),
                reaches_mpi: mpi.get(index) == Some(&true),
                reaches_openmp: openmp.get(index) == Some(&true),
                was_off: false,
            })
            .collect();
        Self { functions, total: run.total }
    }

    /// Puts what a run showed in the place of what was estimated: `observed` by function, `None` for those that were
    /// not measured, and the core cycles of the whole run, all processes together. What was not measured keeps its
    /// visits relative to the run.
    pub fn observe(&mut self, observed: &[Option<Observed>], total: f64) {
        let scale = if self.total > 0.0 { total / self.total } else { 0.0 };
        for (index, estimate) in self.functions.iter_mut().enumerate() {
            let Some(seen) = observed.get(index).copied().flatten() else {
                estimate.visits *= scale;
                continue;
            };
            estimate.visits = seen.calls;
            estimate.certainty = Certainty::Measured;
            estimate.was_off = seen.was_off;
            if seen.calls > 0.0 {
                estimate.own = seen.own / seen.calls;
                estimate.work = seen.work / seen.calls;
            }
        }
        self.total = total;
    }
}

/// A run under one assumption.
struct Run<'a> {
    nodes: &'a [Node],
    flowed: Vec<Flowed>,
    total: f64,
}

impl<'a> Run<'a> {
    fn of(nodes: &'a [Node], main: Option<usize>, sets: &[&[usize]]) -> Self {
        let flowed = flow(nodes, main, sets);
        let total = nodes.iter().zip(&flowed).map(|(node, flowed)| node.own * flowed.visits).sum();
        Self { nodes, flowed, total }
    }

    /// How far it is from a typical run, in orders of magnitude.
    fn distance(&self) -> f64 {
        (self.total.max(1.0) / TYPICAL_RUN).log10().abs()
    }
}

fn certainty(flowed: &Flowed) -> Certainty {
    if flowed.most.is_some() {
        Certainty::Bounded
    } else if flowed.by_pointer > 0.5 || flowed.visits == 0.0 {
        Certainty::Pointers
    } else if flowed.is_recursive {
        Certainty::Recursive
    } else {
        Certainty::Guessed
    }
}

/// The functions under each assumption, and what calls what.
#[derive(Default)]
struct Scenes {
    /// By number of iterations.
    tried: [Vec<Node>; TRIED.len()],
    few: Vec<Node>,
    /// Calls from which control comes back, by caller.
    returning_calls: Vec<Vec<usize>>,
    calls_mpi: Vec<bool>,
    calls_openmp: Vec<bool>,
    pointed_at: Vec<bool>,
}

impl Scenes {
    fn add(&mut self, program: &Program, image: &Image<'_>, function: &Function) {
        let index = self.few.len();
        let body = program.body(image, function);
        let cfg = program.cfg(function, &body);
        let loops = cfg.loops(&body);
        let trips = program.trips(image, function, &body, &cfg, &loops);
        let shape = Shape { function, body: &body, cfg: &cfg, loops: &loops, trips: &trips };
        let efforts = program.efforts(image, function);
        let most = most_by_block(&cfg, &loops, &trips);
        let few = shape.sure_part(&shape.frequencies(FEW));
        let scene = Scene { program, image, body: &body, cfg: &cfg, efforts: &efforts, most: &most };
        let is_pointed_at = self.pointed_at.get(index) == Some(&true);
        let of = |frequencies: &[f64]| Node { is_pointed_at, sets: program.calls().through_pointers(index).to_vec(), ..scene.node(frequencies) };
        for (list, unknown) in self.tried.iter_mut().zip(TRIED) {
            list.push(of(&shape.frequencies(UnknownTrips(unknown))));
        }
        self.few.push(of(&few));
        self.note_calls(program, image, &body);
    }

    /// Notes calls that come back, and finds further functions whose address is taken.
    fn note_calls(&mut self, program: &Program, image: &Image<'_>, body: &Body) {
        let mut calls = Vec::new();
        let (mut mpi, mut openmp) = (false, false);
        for one in &body.instructions {
            if let (Operand::RipRelative { target, .. }, Flow::Next) = (one.operand, one.flow)
                && let Some(place) = program.function_entered_at(target).and_then(|function| self.pointed_at.get_mut(function))
            {
                *place = true;
            }
            if matches!(one.flow, Flow::Call { returns: false, .. }) {
                continue;
            }
            match program.destination(image, one) {
                Some(Callee::Function(to)) if !program.functions.get(to).is_some_and(|callee| callee.never_returns) => calls.push(to),
                Some(Callee::Import(name)) => {
                    mpi |= imports::is_mpi(name);
                    openmp |= imports::is_openmp(name);
                }
                _ => {}
            }
        }
        self.returning_calls.push(calls);
        self.calls_mpi.push(mpi);
        self.calls_openmp.push(openmp);
    }

    /// What nothing calls is reached in ways that cannot be seen, if at all.
    fn point_at_uncalled(&mut self, program: &Program) {
        let mut is_called = vec![false; self.few.len()];
        for call in self.tried.iter().flatten().flat_map(|node| &node.calls) {
            if let Some(place) = is_called.get_mut(call.to) {
                *place = true;
            }
        }
        for list in self.tried.iter_mut().chain([&mut self.few]) {
            for (index, node) in list.iter_mut().enumerate() {
                let is_uncalled = is_called.get(index) == Some(&false);
                let is_start_up = program.functions.get(index).is_some_and(|function| function.refusal == Some(tare_code::Refusal::StartUp));
                node.is_pointed_at = (self.pointed_at.get(index) == Some(&true) || is_uncalled) && program.main() != Some(index) && !is_start_up;
            }
        }
    }
}

/// One function, decoded.
struct Scene<'a, 'data> {
    program: &'a Program,
    image: &'a Image<'data>,
    body: &'a Body,
    cfg: &'a Cfg,
    efforts: &'a [f64],
    most: &'a [Option<f64>],
}

impl Scene<'_, '_> {
    fn node(&self, frequencies: &[f64]) -> Node {
        let mut node = Node::default();
        let mut calls: BTreeMap<usize, Call> = BTreeMap::new();
        for (index, block) in self.cfg.blocks.iter().enumerate() {
            let times = frequencies.get(index).copied().unwrap_or(0.0);
            for at in block.instructions.clone() {
                node.own += times * self.efforts.get(at).copied().unwrap_or(0.0);
                match self.body.instructions.get(at).and_then(|one| self.program.destination(self.image, one)) {
                    Some(Callee::Function(to)) => {
                        let most = self.most.get(index).copied().flatten();
                        let call = calls.entry(to).or_insert(Call { to, times: 0.0, most: Some(0.0) });
                        call.times += times;
                        call.most = call.most.zip(most).map(|(sum, more)| sum + more);
                    }
                    Some(Callee::Import(name)) => node.own += times * imports::work(name),
                    Some(Callee::Unknown) => {
                        node.through_pointers += times;
                        node.own += times * BEHIND_POINTER;
                    }
                    None => {}
                }
            }
        }
        node.calls = calls.into_values().collect();
        node
    }
}

/// How often each block is executed at most in one visit; `None` in loops that nothing constant bounds.
fn most_by_block(cfg: &Cfg, loops: &[Loop], trips: &[Option<Trips>]) -> Vec<Option<f64>> {
    let mut most = vec![Some(1.0); cfg.blocks.len()];
    for (one, trips) in loops.iter().zip(trips) {
        for &block in &one.blocks {
            if let Some(place) = most.get_mut(block) {
                *place = place.zip(trips.filter(|_| !one.is_irreducible)).map(|(most, trips)| most * trips.most as f64);
            }
        }
    }
    most
}

/// Functions whose address stands in data that the loader relocates, as vtables and tables of functions do.
fn pointed_at(program: &Program, image: &Image<'_>) -> Vec<bool> {
    let mut pointed_at = vec![false; program.functions.len()];
    for relocation in image.relocations().iter().filter(|one| one.kind != RelocationKind::JumpSlot) {
        let function = relocation.link_address().and_then(|target| program.function_entered_at(target));
        if let Some(place) = function.and_then(|function| pointed_at.get_mut(function)) {
            *place = true;
        }
    }
    pointed_at
}

/// Functions from which a wanted one is reached by calls that come back.
fn reaching(program: &Program, calls: &[Vec<usize>], wanted: &[bool]) -> Vec<bool> {
    let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (caller, callees) in calls.iter().enumerate() {
        for &callee in callees {
            callers.entry(callee).or_default().push(caller);
        }
    }
    let is_mpi = |index: usize| program.functions.get(index).is_some_and(|function| imports::is_mpi(&function.name));
    let mut reaching = vec![false; calls.len()];
    let mut todo: Vec<usize> = (0..calls.len()).filter(|&index| wanted.get(index) == Some(&true) || is_mpi(index)).collect();
    while let Some(function) = todo.pop() {
        match reaching.get_mut(function) {
            Some(place) if !*place => *place = true,
            _ => continue,
        }
        let is_end = program.functions.get(function).is_some_and(|function| function.never_returns);
        if !is_end {
            todo.extend(callers.get(&function).into_iter().flatten());
        }
    }
    reaching
}
