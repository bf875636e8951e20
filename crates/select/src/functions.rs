//! The functions of a program as filters see them: names, numbers and distances are made when they are first asked for.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tare_code::{Function, Metrics, Program, Refusal};

use crate::filter::{Condition, Direction, Edges, Number, Range};
use crate::scopes::{NamedFunction, Raw, named};
use crate::world::{Subject, World};

/// What a function is to selection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The program's main function.
    Main,
    /// Start-up code, PLT, ifunc resolver: no function of the programmer's, never instrumented.
    Never,
    /// Any other function.
    Ordinary,
}

/// Whoever measures a function when it is asked for.
type Ask<'a> = Box<dyn FnMut(&Function) -> Metrics + 'a>;

/// The functions of a program.
pub(crate) struct Functions<'a> {
    program: &'a Program,
    ask: RefCell<Ask<'a>>,
    metrics: RefCell<HashMap<usize, Metrics>>,
    names: OnceCell<Vec<NamedFunction>>,
    import_names: RefCell<HashMap<String, Rc<NamedFunction>>>,
    reached: RefCell<Reached>,
}

/// What was asked for once is asked for again for each function: by the place of the target, which is kept.
#[derive(Default)]
struct Reached {
    answers: Vec<(Query, Vec<bool>)>,
    by_place: HashMap<(*const Condition, Direction, Edges, Range), usize>,
    /// Holds the places.
    targets: Vec<Arc<Condition>>,
    /// By target and edges the functions of other images that calls lead to, with the number of calls.
    imports: Vec<(Arc<Condition>, Edges, HashMap<String, u32>)>,
}

/// Rules that ask for the same have one answer.
#[derive(PartialEq)]
struct Query {
    direction: Direction,
    target: Arc<Condition>,
    calls: Range,
    edges: Edges,
}

impl<'a> Functions<'a> {
    pub(crate) fn new(program: &'a Program, metrics: impl FnMut(&Function) -> Metrics + 'a) -> Self {
        Self {
            program,
            ask: RefCell::new(Box::new(metrics)),
            metrics: RefCell::default(),
            names: OnceCell::new(),
            import_names: RefCell::default(),
            reached: RefCell::default(),
        }
    }

    /// Those of whose functions names alone are asked for.
    pub(crate) fn names_of(program: &'a Program) -> Self {
        Self::new(program, |_| Metrics::default())
    }

    pub(crate) fn count(&self) -> usize {
        self.program.functions.len()
    }

    pub(crate) fn standing(&self, index: usize) -> Standing {
        let Some(function) = self.program.functions.get(index) else { return Standing::Never };
        let index = Some(index);
        if matches!(function.refusal, Some(Refusal::StartUp | Refusal::IfuncResolver | Refusal::OutsideText)) {
            Standing::Never
        } else if self.program.main_program() == index {
            Standing::Main
        } else if self.program.main() == index {
            // In a Fortran program the C function `main` is start-up code that calls the main program.
            Standing::Never
        } else {
            Standing::Ordinary
        }
    }

    fn measured<T>(&self, index: usize, get: impl FnOnce(&Metrics) -> T) -> Option<T> {
        let function = self.program.functions.get(index)?;
        let mut known = self.metrics.borrow_mut();
        Some(get(known.entry(index).or_insert_with(|| (self.ask.borrow_mut())(function))))
    }

    fn all_names(&self) -> &[NamedFunction] {
        let raw = |(index, function): (usize, &'a Function)| Raw {
            name: &function.name,
            aliases: &function.aliases,
            is_main: self.standing(index) == Standing::Main,
            entry: Some(function.entry),
        };
        self.names.get_or_init(|| named(self.program.functions.iter().enumerate().map(raw)))
    }

    /// Which functions so many calls lead to or from.
    fn reached(&self, query: &Query) -> Vec<bool> {
        let calls = self.program.calls();
        let roots = self.satisfying(&query.target);
        let distances = match query.direction {
            Direction::From => calls.distances_from(&roots, query.edges),
            Direction::To => calls.distances_to(&roots, &mut |import| self.satisfies(&query.target, Subject::Import(import)), query.edges),
        };
        distances.into_iter().map(|distance| distance.is_some_and(|distance| query.calls.contains(u64::from(distance)))).collect()
    }

    fn satisfying(&self, target: &Condition) -> Vec<usize> {
        (0..self.count()).filter(|&index| self.satisfies(target, Subject::Function(index))).collect()
    }

    /// How many calls lead from the target to functions of other images.
    fn distances_to_imports(&self, target: &Condition, edges: Edges) -> HashMap<String, u32> {
        let calls = self.program.calls();
        let mut distances = HashMap::new();
        for (function, distance) in calls.distances_from(&self.satisfying(target), edges).into_iter().enumerate() {
            let Some(distance) = distance else { continue };
            let possible = if edges == Edges::Possible { calls.possible_imports(function) } else { Vec::new() };
            for name in calls.imports(function).chain(possible) {
                let known = distances.entry(name.to_string()).or_insert(u32::MAX);
                *known = (*known).min(distance + 1);
            }
        }
        distances
    }
}

impl World for Functions<'_> {
    fn names(&self, function: usize) -> &NamedFunction {
        &self.all_names()[function]
    }

    fn import_names(&self, raw: &str) -> Rc<NamedFunction> {
        if let Some(names) = self.import_names.borrow().get(raw) {
            return names.clone();
        }
        let names = Rc::new(named(std::iter::once(Raw { name: raw, aliases: &[], is_main: false, entry: None })).swap_remove(0));
        self.import_names.borrow_mut().insert(raw.to_string(), names.clone());
        names
    }

    fn file(&self, function: usize) -> Option<String> {
        self.measured(function, |metrics| metrics.source.as_ref().map(|source| source.file.clone()))?
    }

    fn number(&self, of: Number, function: usize) -> Option<u64> {
        self.measured(function, |metrics| match of {
            Number::LinesOfCode => metrics.source.as_ref().map(|source| u64::from(source.lines)),
            Number::CyclomaticComplexity => Some(metrics.cyclomatic as u64),
            Number::Instructions => Some(metrics.instructions as u64),
            Number::CallSites => Some(metrics.call_sites as u64),
            Number::Loops => Some(metrics.loops as u64),
            Number::LoopDepth => Some(metrics.loop_depth as u64),
        })?
    }

    fn is_reached(&self, direction: Direction, target: &Arc<Condition>, calls: Range, edges: Edges, function: usize) -> bool {
        let place = (Arc::as_ptr(target), direction, edges, calls);
        let known = self.reached.borrow().answer(&place).map(|answer| answer.get(function) == Some(&true));
        if let Some(is_reached) = known {
            return is_reached;
        }
        let query = Query { direction, target: target.clone(), calls, edges };
        let same = self.reached.borrow().answers.iter().position(|(one, _)| *one == query);
        let answer = same.unwrap_or_else(|| {
            let reached = self.reached(&query);
            let answers = &mut self.reached.borrow_mut().answers;
            answers.push((query, reached));
            answers.len() - 1
        });
        let mut reached = self.reached.borrow_mut();
        reached.by_place.insert(place, answer);
        reached.targets.push(target.clone());
        reached.answers[answer].1.get(function) == Some(&true)
    }

    fn import_is_reached(&self, direction: Direction, target: &Arc<Condition>, calls: Range, edges: Edges, name: &str) -> bool {
        if self.satisfies(target, Subject::Import(name)) {
            return calls.contains(0);
        }
        if direction == Direction::To {
            return false;
        }
        let known = self.reached.borrow().imports.iter().position(|(one, along, _)| (one, *along) == (target, edges));
        let known = known.unwrap_or_else(|| {
            let distances = self.distances_to_imports(target, edges);
            let imports = &mut self.reached.borrow_mut().imports;
            imports.push((target.clone(), edges, distances));
            imports.len() - 1
        });
        self.reached.borrow().imports[known].2.get(name).is_some_and(|&distance| calls.contains(u64::from(distance)))
    }
}

impl Reached {
    fn answer(&self, place: &(*const Condition, Direction, Edges, Range)) -> Option<&Vec<bool>> {
        self.by_place.get(place).and_then(|&answer| self.answers.get(answer)).map(|(_, answer)| answer)
    }
}
