//! What is expected of each function of a program in a run.

use tare_code::{Body, Callee, Cfg, Flow, Loops, Operand, Program, Threads, Trips, import_never_returns};
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
const FEW: f64 = 3.0;
/// Assumptions under which everything is estimated at once: [`FEW`], and then those that are [`TRIED`].
const SCENES: usize = 1 + TRIED.len();
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
        Self::on(program, image, Threads::available())
    }

    /// The same on so many threads; the result does not depend on their number.
    #[must_use]
    pub fn on(program: &Program, image: &Image<'_>, threads: Threads) -> Self {
        let indices: Vec<usize> = (0..program.functions.len()).collect();
        let mut drawn = threads.map(&indices, |&index| Drawn::of(program, image, index));
        let pointed_at = pointed_at(program, image, &drawn);
        let node = |(one, is_pointed_at): (&mut Drawn, bool)| Node { is_pointed_at, hands_on: std::mem::take(&mut one.points_at), ..one.take_node() };
        let nodes: Vec<Node<SCENES>> = drawn.iter_mut().zip(pointed_at).map(node).collect();
        let sets: Vec<&[usize]> = program.calls().pointer_sets().collect();
        let flowed = flow(&nodes, program.main(), &sets);
        let total = |scene: usize| nodes.iter().zip(&flowed).map(|(node, flowed)| at(&node.own, scene) * at(&flowed.visits, scene)).sum::<f64>();
        let runs = (1..SCENES).map(|scene| (scene, total(scene)));
        let Some((scene, total)) = runs.min_by(|one, other| distance(one.1).total_cmp(&distance(other.1))) else { return Self::default() };
        let mpi = reaching(program, &drawn, |one| one.calls_mpi);
        let openmp = reaching(program, &drawn, |one| one.calls_openmp);
        let estimate = |((flowed, node), (mpi, openmp)): ((&Flowed<SCENES>, &Node<SCENES>), (bool, bool))| Estimate {
            visits: at(&flowed.visits, scene),
            most: flowed.most,
            own: at(&node.own, scene),
            work: at(&flowed.work, scene),
            least_work: at(&flowed.work, 0).min(at(&flowed.work, scene)),
            certainty: certainty(flowed, scene),
            reaches_mpi: mpi,
            reaches_openmp: openmp,
            was_off: false,
        };
        Self { functions: flowed.iter().zip(&nodes).zip(mpi.into_iter().zip(openmp)).map(estimate).collect(), total }
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

/// How far a run of so many core cycles is from a typical one, in orders of magnitude.
fn distance(total: f64) -> f64 {
    (total.max(1.0) / TYPICAL_RUN).log10().abs()
}

fn at(values: &[f64; SCENES], scene: usize) -> f64 {
    values.get(scene).copied().unwrap_or(0.0)
}

fn certainty(flowed: &Flowed<SCENES>, scene: usize) -> Certainty {
    if flowed.most.is_some() {
        Certainty::Bounded
    } else if at(&flowed.by_pointer, scene) > 0.5 || at(&flowed.visits, scene) == 0.0 {
        Certainty::Pointers
    } else if flowed.is_recursive {
        Certainty::Recursive
    } else {
        Certainty::Guessed
    }
}

/// What is drawn from the code of one function.
struct Drawn {
    node: Option<Node<SCENES>>,
    /// Calls from which control comes back.
    returning_calls: Vec<usize>,
    calls_mpi: bool,
    calls_openmp: bool,
    /// Functions whose address its code reads or takes.
    points_at: Vec<usize>,
}

impl Drawn {
    fn of(program: &Program, image: &Image<'_>, index: usize) -> Self {
        let mut drawn = Self { node: None, returning_calls: Vec::new(), calls_mpi: false, calls_openmp: false, points_at: Vec::new() };
        let Some(function) = program.functions.get(index) else { return drawn };
        let body = program.body(image, function);
        let cfg = program.cfg(function, &body);
        let loops = cfg.loops(&body);
        let close = program.close_up(image, function);
        let trips = close.trips(&body, &cfg, &loops);
        let shape = Shape { function, body: &body, cfg: &cfg, loops: &loops, trips: &trips };
        let mut unknown = [FEW; SCENES];
        unknown.iter_mut().skip(1).zip(TRIED).for_each(|(place, tried)| *place = tried);
        let mut frequencies = shape.frequencies(UnknownTrips(unknown));
        let few: Vec<f64> = frequencies.iter().map(|all| at(all, 0)).collect();
        for (all, sure) in frequencies.iter_mut().zip(shape.sure_part(&few)) {
            all.iter_mut().take(1).for_each(|place| *place = sure);
        }
        let ways_out = ways_out(program, image, &body);
        let comes_back = body.instructions.iter().any(|one| program.comes_back_twice(image, one));
        let most = if comes_back { vec![None; cfg.blocks.len()] } else { most_by_block(&cfg, &loops, &trips) };
        let scene = Scene { cfg: &cfg, efforts: &close.efforts(), most: &most, ways_out: &ways_out };
        drawn.node = Some(Node { sets: program.calls().through_pointers(index).to_vec(), ..scene.node(&frequencies) });
        drawn.note_calls(program, image, &body, &ways_out);
        drawn
    }

    fn take_node(&mut self) -> Node<SCENES> {
        self.node.take().unwrap_or(NOTHING)
    }

    /// Notes calls that come back, and finds further functions whose address is taken.
    fn note_calls(&mut self, program: &Program, image: &Image<'_>, body: &Body, ways_out: &[(usize, Callee<'_>)]) {
        let next = body.instructions.iter().filter(|one| one.flow == Flow::Next);
        let read = next.filter_map(|one| if let Operand::RipRelative { target, .. } = one.operand { Some(target) } else { None });
        self.points_at = read.filter_map(|target| program.function_entered_at(target)).collect();
        self.points_at.sort_unstable();
        self.points_at.dedup();
        for (at, callee) in ways_out {
            if body.instructions.get(*at).is_some_and(|one| matches!(one.flow, Flow::Call { returns: false, .. })) {
                continue;
            }
            match *callee {
                Callee::Function(to) if !program.functions.get(to).is_some_and(|callee| callee.never_returns) => self.returning_calls.push(to),
                // A jump there in the place of a call, which says nothing of coming back.
                Callee::Import(name) if import_never_returns(image, name) => {}
                Callee::Import(name) => {
                    self.calls_mpi |= imports::is_mpi(name);
                    self.calls_openmp |= imports::is_openmp(name);
                }
                Callee::Function(_) | Callee::Unknown => {}
            }
        }
    }
}

/// The instructions that lead out of a function, by their positions, and whereto.
fn ways_out<'a>(program: &Program, image: &Image<'a>, body: &Body) -> Vec<(usize, Callee<'a>)> {
    let all = body.instructions.iter().enumerate();
    all.filter_map(|(at, one)| Some((at, program.destination(image, one)?))).collect()
}

/// A function without code.
const NOTHING: Node<SCENES> =
    Node { own: [0.0; SCENES], calls: Vec::new(), through_pointers: [0.0; SCENES], sets: Vec::new(), is_pointed_at: false, hands_on: Vec::new() };

/// What the work and the calls of one function are counted from.
struct Scene<'a> {
    cfg: &'a Cfg,
    efforts: &'a [f64],
    most: &'a [Option<f64>],
    ways_out: &'a [(usize, Callee<'a>)],
}

impl Scene<'_> {
    fn node(&self, frequencies: &[[f64; SCENES]]) -> Node<SCENES> {
        let mut node = NOTHING;
        let mut calls: Vec<Call<SCENES>> = Vec::new();
        for ((block, times), &most) in self.cfg.blocks.iter().zip(frequencies).zip(self.most) {
            let mut effort: f64 = self.efforts.get(block.instructions.clone()).unwrap_or_default().iter().sum();
            let first = self.ways_out.partition_point(|one| one.0 < block.instructions.start);
            let own = self.ways_out.get(first..).unwrap_or_default().iter().take_while(|one| one.0 < block.instructions.end);
            for (_, callee) in own {
                match *callee {
                    Callee::Function(to) => calls.push(Call { to, times: *times, most }),
                    Callee::Import(name) => effort += imports::work(name),
                    Callee::Unknown => {
                        node.through_pointers.iter_mut().zip(times).for_each(|(place, times)| *place += times);
                        effort += BEHIND_POINTER;
                    }
                }
            }
            node.own.iter_mut().zip(times).for_each(|(own, times)| *own += times * effort);
        }
        calls.sort_by_key(|call| call.to);
        calls.dedup_by(|next, call| {
            let is_same = next.to == call.to;
            if is_same {
                call.times.iter_mut().zip(next.times).for_each(|(times, more)| *times += more);
                call.most = call.most.zip(next.most).map(|(sum, more)| sum + more);
            }
            is_same
        });
        node.calls = calls;
        node
    }
}

/// How often each block is executed at most in one visit; `None` in loops that nothing constant bounds.
fn most_by_block(cfg: &Cfg, loops: &Loops, trips: &[Option<Trips>]) -> Vec<Option<f64>> {
    let mut by_loop: Vec<Option<f64>> = Vec::with_capacity(loops.len());
    for (one, trips) in loops.iter().zip(trips) {
        let around = one.parent.map_or(Some(1.0), |parent| by_loop.get(parent).copied().flatten());
        by_loop.push(around.zip(trips.filter(|_| !one.is_irreducible)).map(|(most, trips)| most * trips.most as f64));
    }
    let of_block = |block| loops.innermost(block).map_or(Some(1.0), |own| by_loop.get(own).copied().flatten());
    (0..cfg.blocks.len()).map(of_block).collect()
}

/// Functions that may be called in ways that are not seen: those whose address stands in data that the loader relocates, as
/// tables of virtual functions do, or is read by code, and those that nothing calls.
fn pointed_at(program: &Program, image: &Image<'_>, drawn: &[Drawn]) -> Vec<bool> {
    let (mut pointed_at, mut is_called) = (vec![false; drawn.len()], vec![false; drawn.len()]);
    let mark = |list: &mut [bool], function: usize| list.get_mut(function).into_iter().for_each(|place| *place = true);
    for relocation in image.relocations().iter().filter(|one| one.kind != RelocationKind::JumpSlot) {
        let function = relocation.link_address().and_then(|target| program.function_entered_at(target));
        function.into_iter().for_each(|function| mark(&mut pointed_at, function));
    }
    for one in drawn {
        one.points_at.iter().for_each(|&function| mark(&mut pointed_at, function));
        one.node.iter().flat_map(|node| &node.calls).for_each(|call| mark(&mut is_called, call.to));
    }
    let is_start_up = |index: usize| program.functions.get(index).is_some_and(|function| function.refusal == Some(tare_code::Refusal::StartUp));
    let all = pointed_at.iter().zip(is_called).enumerate();
    all.map(|(index, (is_pointed_at, is_called))| (*is_pointed_at || !is_called) && program.main() != Some(index) && !is_start_up(index)).collect()
}

/// Functions from which a wanted one is reached by calls that come back.
fn reaching(program: &Program, drawn: &[Drawn], is_wanted: impl Fn(&Drawn) -> bool) -> Vec<bool> {
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); drawn.len()];
    for (caller, one) in drawn.iter().enumerate() {
        for &callee in &one.returning_calls {
            callers.get_mut(callee).into_iter().for_each(|list| list.push(caller));
        }
    }
    let is_mpi = |index: usize| program.functions.get(index).is_some_and(|function| imports::is_mpi(&function.name));
    let mut reaching = vec![false; drawn.len()];
    let mut todo: Vec<usize> = drawn.iter().enumerate().filter(|(index, one)| is_wanted(one) || is_mpi(*index)).map(|(index, _)| index).collect();
    while let Some(function) = todo.pop() {
        match reaching.get_mut(function) {
            Some(place) if !*place => *place = true,
            _ => continue,
        }
        let is_end = program.functions.get(function).is_some_and(|function| function.never_returns);
        if !is_end {
            todo.extend(callers.get(function).into_iter().flatten());
        }
    }
    reaching
}
