//! An adapter as a kind of probe: its routines, its records, and the sites that call the one with the other.
//!
//! A snippet is compiled once for each point, whatever the number of regions. A site is a call of the routine,
//! followed by an instruction that does nothing and holds the distance of the region's record; calls of functions that
//! are known to touch little stand at entries and exits themselves ([`crate::snippet::inline`]):
//!
//! ```text
//! at entry and exits   e8 <routine>  a9 <distance>           call; test $distance, %eax
//! inside a body        48 8d a4 24 <-128>  e8 <routine>  0f 1f 80 <distance>  48 8d a4 24 <128>
//!                      lea -128(%rsp), %rsp; call; nopl distance(%rax); lea 128(%rsp), %rsp
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use tare_code::{Edges, Flow, Liveness, Loop, Program};
use tare_image::Image;
use tare_image::lines::{Inside, Lines, Location};

use crate::adapter::build::{Builder, Site, Sites};
use crate::adapter::facts::{AtSite, RegionFacts};
use crate::adapter::link::{Found, Libraries, link};
use crate::adapter::record::{RecordLayout, append};
use crate::adapter::{Adapter, Alternative, Level, Point};
use crate::begin::Begin;
use crate::insertion::{self, Additions, Field, Inserted, Insertion, Place, Probes, Scope, Value, VariableField};
use crate::snippet::ast::Context;
use crate::snippet::compile::Registers;
use crate::snippet::{AdapterError, Problem};
use crate::{Levels, Reason};

/// A function and what is inserted in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Its index in the program.
    pub function: usize,
    /// Name of the alternative at its entry and exits, if something is inserted there.
    pub functions: Option<String>,
    /// Name of the alternative at its loops.
    pub loops: Option<String>,
    /// Name of the alternative at its call sites.
    pub callsites: Option<String>,
    /// Source file; empty where unknown.
    pub file: String,
    /// First source line; 0 where unknown.
    pub line: u32,
    /// Last source line; 0 where unknown.
    pub last_line: u32,
}

/// What an adapter is applied to.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The image.
    pub image: &'a Image<'a>,
    /// Its code.
    pub program: &'a Program,
    /// Its source places.
    pub lines: Option<&'a Lines<'a>>,
    /// Its path.
    pub path: &'a str,
    /// What it will be linked with when it runs.
    pub libraries: Libraries<'a>,
}

/// An adapter, compiled for an image.
pub struct Snippets<'a> {
    adapter: &'a Adapter,
    pub(super) image: &'a Image<'a>,
    pub(super) program: &'a Program,
    layouts: Vec<RecordLayout>,
    additions: Additions,
    sites: Sites,
    texts: BTreeMap<String, u32>,
    chosen: HashMap<usize, Chosen<'a>>,
    /// Functions that snippets call and that are seen nowhere.
    unseen: Vec<String>,
    /// By function: why nothing may be inserted in it.
    left: Vec<Option<Reason>>,
    /// Where sites make calls themselves.
    liveness: Option<Liveness>,
}

/// What is inserted in a function, by the indices of alternatives.
pub(super) struct Chosen<'a> {
    pub(super) wanted: &'a Wanted,
    functions: Option<usize>,
    loops: Option<usize>,
    callsites: Option<usize>,
    /// File and line of calls and loops.
    pub(super) places: HashMap<Begin, Location>,
}

impl<'a> Snippets<'a> {
    /// Compiles an adapter.
    ///
    /// # Errors
    /// Where a snippet calls a function that is not there, or something is wanted that the adapter does not have.
    pub fn new(adapter: &'a Adapter, subject: Subject<'a>, wanted: &'a [Wanted]) -> Result<Self, AdapterError> {
        let linked = link(adapter, subject)?;
        // What keeps `errno` is called as well.
        let own = linked.functions.values().chain(&linked.errno).filter_map(|found| match found {
            Found::Own(address) => subject.program.function_entered_at(*address),
            Found::Imported(_) | Found::Unseen => None,
        });
        // Only start-up code calls the main function, and knows its address: what snippets call does not come there, and so
        // they do not call what only the main function calls, unless they call it themselves.
        let own: Vec<usize> = own.collect();
        let main = subject.program.main().filter(|main| !own.contains(main));
        let unseen = linked.functions.iter().filter(|(_, found)| **found == Found::Unseen).map(|(name, _)| name.clone()).collect();
        let called_by = |edges| subject.program.calls().distances_around(main, &own, edges);
        let called = called_by(Edges::Sure).into_iter().zip(called_by(Edges::Possible));
        let called = called.map(|(surely, possibly)| match (surely, possibly) {
            (Some(_), _) => Some(Reason::CalledBySnippets),
            (None, Some(_)) => Some(Reason::MayBeCalledBySnippets),
            (None, None) => None,
        });
        let mut left: Vec<Option<Reason>> = called.collect();
        for early in subject.program.early(subject.image) {
            if let Some(reason) = left.get_mut(early) {
                reason.get_or_insert(Reason::BeforeThreadLocals);
            }
        }
        let of_alternative = adapter.alternatives.iter().zip(&linked.alternatives);
        let layouts: Vec<RecordLayout> =
            of_alternative.map(|(alternative, ready)| RecordLayout::new(alternative, ready.iter().map(|one| &one.checked))).collect();
        let (additions, sites, texts) = Builder::new(adapter, &linked, &layouts)?.build(subject.image);
        let mut chosen = HashMap::with_capacity(wanted.len());
        for one in wanted {
            chosen.insert(one.function, Chosen::new(adapter, subject, one)?);
        }
        let Subject { image, program, .. } = subject;
        let changed = sites.values().filter_map(|site| if let Site::Inline(calls) = site { Some(calls.changed()) } else { None });
        let liveness = changed.reduce(Registers::union).map(|changed| program.liveness(image, changed.0));
        Ok(Self { adapter, image, program, layouts, additions, sites, texts, chosen, unseen, left, liveness })
    }

    /// Functions that snippets call and that neither the program nor a library that is at hand has.
    #[must_use]
    pub fn unseen(&self) -> &[String] {
        &self.unseen
    }

    /// Why nothing may be inserted in a function of the program: snippets call it, or may by what they call, and it
    /// would call itself; or it runs before there is what they may need.
    #[must_use]
    pub fn refusal(&self, function: usize) -> Option<Reason> {
        self.left.get(function).copied().flatten()
    }

    /// Which places of a function are needed.
    #[must_use]
    pub fn levels(&self, function: usize) -> Levels {
        let chosen = self.chosen.get(&function);
        let has = |index: Option<usize>, points: &[Point]| {
            let alternative = index.and_then(|index| self.adapter.alternatives.get(index));
            alternative.is_some_and(|one| points.iter().any(|&point| one.snippet(point).is_some()))
        };
        let (once, loops) = ([Point::Initialize, Point::Finalize], chosen.and_then(|one| one.loops));
        Levels {
            function: chosen.is_some_and(|one| one.functions.is_some()),
            loops: has(loops, &[Point::Before, Point::After]) || has(loops, &once),
            iterations: has(loops, &[Point::Enter, Point::Exit]),
            call_sites: chosen.is_some_and(|one| one.callsites.is_some()),
        }
    }

    fn alternative(&self, chosen: &Chosen<'_>, scope: Scope) -> Option<(usize, &Alternative)> {
        let index = match scope {
            Scope::Function => chosen.functions,
            Scope::Loop(_) | Scope::Iteration(_) => chosen.loops,
            Scope::CallSite(_) => chosen.callsites,
        }?;
        self.adapter.alternatives.get(index).map(|alternative| (index, alternative))
    }

    /// Appends the record of a place's region.
    fn record(&self, chosen: &Chosen<'_>, place: (&Place, u32), inserted: &mut Inserted) {
        let Some((index, alternative)) = self.alternative(chosen, place.0.scope) else { return };
        let Some(layout) = self.layouts.get(index) else { return };
        let start = inserted.variables.len() as u32;
        let facts = RegionFacts::new(self, chosen, place.0);
        let number = u8::try_from(index + 1).unwrap_or(u8::MAX);
        inserted.variables.extend(layout.record(number, alternative, &facts));
        let fields = [(Context::Id, VariableField::Region(place.1)), (Context::Address, VariableField::Original(facts.address))];
        for (context, field) in fields {
            inserted.fields.extend(layout.number(context).map(|at| (start + at, field)));
        }
        for (variable, home) in alternative.variables.iter().zip(&layout.variables).filter(|(variable, _)| variable.is_thread_local) {
            let at = append(&mut inserted.thread_variables, &variable.initial());
            inserted.fields.push((start + home.at, VariableField::Thread(at)));
        }
    }

    fn site(&self, chosen: &Chosen<'_>, place: &Place, record: (u32, &[u8])) -> Insertion {
        let Some((index, _)) = self.alternative(chosen, place.scope) else { return Insertion::default() };
        let is_inside = place.is_mid_body || !place.flags_are_dead;
        match self.sites.get(&(index, point_of(place.point), is_inside)) {
            Some(Site::Inline(calls)) => {
                let (facts, layout) = (RegionFacts::new(self, chosen, place), self.layouts.get(index));
                calls.site(&AtSite { facts, layout, texts: &self.texts, record }, self.needed(chosen.wanted.function, place))
            }
            Some(&Site::Routine(routine)) if is_inside => inside(routine, record.0),
            Some(&Site::Routine(routine)) => at_edge(routine, record.0),
            None => Insertion::default(),
        }
    }

    /// Registers that the program may still need at an end of a function.
    fn needed(&self, function: usize, place: &Place) -> Registers {
        let own = self.program.functions.get(function);
        let returns = |own| self.program.instruction_at(self.image, own, place.address).is_some_and(|one| one.flow == Flow::Return);
        let needed = match (place.point, own, &self.liveness) {
            (insertion::Point::FunctionEnter, Some(own), Some(liveness)) if place.address == own.entry => liveness.at_entry(function),
            (insertion::Point::FunctionExit, Some(own), Some(liveness)) if returns(own) => liveness.at_return(function),
            _ => return Registers::CALLER_SAVED,
        };
        Registers(needed)
    }
}

impl Probes for Snippets<'_> {
    fn additions(&self) -> Additions {
        self.additions.clone()
    }

    fn measures_tail_calls(&self) -> bool {
        true
    }

    fn inserted(&self, function: usize, places: &[Place]) -> Inserted {
        let mut inserted = Inserted::default();
        let Some(chosen) = self.chosen.get(&function) else {
            inserted.insertions.resize(places.len(), Insertion::default());
            return inserted;
        };
        let mut records: BTreeMap<Scope, u32> = BTreeMap::new();
        for (place, index) in places.iter().zip(0..) {
            records.entry(of_loop(place.scope)).or_insert_with(|| {
                let at = inserted.variables.len() as u32;
                self.record(chosen, (place, index), &mut inserted);
                at
            });
        }
        let site = |place: &Place| {
            let record = records.get(&of_loop(place.scope)).copied().unwrap_or_default();
            self.site(chosen, place, (record, &inserted.variables))
        };
        inserted.insertions = places.iter().map(site).collect();
        inserted
    }
}

/// Iterations have their loop's record.
const fn of_loop(scope: Scope) -> Scope {
    match scope {
        Scope::Iteration(number) => Scope::Loop(number),
        other => other,
    }
}

const fn point_of(point: insertion::Point) -> Point {
    match point {
        insertion::Point::FunctionEnter | insertion::Point::IterationEnter => Point::Enter,
        insertion::Point::FunctionExit | insertion::Point::IterationExit => Point::Exit,
        insertion::Point::LoopBefore | insertion::Point::CallBefore => Point::Before,
        insertion::Point::LoopAfter | insertion::Point::CallAfter => Point::After,
    }
}

fn at_edge(routine: u32, record: u32) -> Insertion {
    const BYTES: &[u8] = &[0xe8, 0, 0, 0, 0, 0xa9, 0, 0, 0, 0];
    let fields = vec![Field { at: 1, tail: 4, value: Value::Routine(routine) }, Field { at: 6, tail: 4, value: Value::Variable(record) }];
    Insertion { bytes: Cow::Borrowed(BYTES), fields: fields.into(), rows: Cow::Borrowed(&[]) }
}

fn inside(routine: u32, record: u32) -> Insertion {
    const BYTES: &[u8] =
        &[0x48, 0x8d, 0xa4, 0x24, 0x80, 0xff, 0xff, 0xff, 0xe8, 0, 0, 0, 0, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0];
    const ROWS: &[(u16, u32)] = &[(8, 128), (28, 0)];
    let fields = vec![Field { at: 9, tail: 4, value: Value::Routine(routine) }, Field { at: 16, tail: 4, value: Value::Variable(record) }];
    Insertion { bytes: Cow::Borrowed(BYTES), fields: fields.into(), rows: Cow::Borrowed(ROWS) }
}

impl<'a> Chosen<'a> {
    fn new(adapter: &Adapter, subject: Subject<'_>, wanted: &'a Wanted) -> Result<Self, AdapterError> {
        let find = |level: Level, name: &Option<String>| {
            let Some(name) = name else { return Ok(None) };
            let found = adapter.alternatives.iter().position(|one| one.level == level && one.name == *name);
            let problem = Problem::Alternative { level: level.element(), name: name.clone() };
            found.map(Some).ok_or(AdapterError::new(adapter.filter_place, problem))
        };
        let mut chosen = Self {
            wanted,
            functions: find(Level::Functions, &wanted.functions)?,
            loops: find(Level::Loops, &wanted.loops)?,
            callsites: find(Level::CallSites, &wanted.callsites)?,
            places: HashMap::new(),
        };
        if chosen.loops.is_some() || chosen.callsites.is_some() {
            chosen.find_places(subject);
        }
        Ok(chosen)
    }

    /// Looks up the source places of calls and loops.
    fn find_places(&mut self, subject: Subject<'_>) {
        let (Some(lines), Some(function)) = (subject.lines, subject.program.functions.get(self.wanted.function)) else { return };
        let body = subject.program.body(subject.image, function);
        let is_call = |flow: &Flow| {
            use Flow::{BranchTailCall, Call, IndirectCall, IndirectTailCall, TailCall};
            matches!(flow, Call { .. } | IndirectCall | TailCall { .. } | IndirectTailCall | BranchTailCall { .. })
        };
        let calls = body.instructions.iter().filter(|instruction| is_call(&instruction.flow)).map(|instruction| instruction.address);
        let loops = self.loops.is_some().then(|| subject.program.cfg_with_unwinding(subject.image, function, &body).loops(&body));
        let loops = loops.iter().flat_map(|loops| loops.iter());
        let inside = calls.map(Inside::Call).chain(loops.map(Loop::inside));
        self.places = inside.filter_map(|inside| Some((Begin::of(inside), lines.place(inside)?))).collect();
    }
}
