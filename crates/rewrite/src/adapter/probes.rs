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

use tare_code::{Edges, Flow, Program};
use tare_image::Image;
use tare_image::lines::Lines;

use crate::Levels;
use crate::adapter::link::{Found, Libraries, Linked, Ready, link};
use crate::adapter::nesting::{self, Kind, Nested, Routines, Shared};
use crate::adapter::record::{Facts, Home, RecordLayout};
use crate::adapter::start::{self, Check, Plan};
use crate::adapter::{Adapter, Alternative, Level, Point};
use crate::elf::hooks::{self, When};
use crate::insertion::{self, Additions, Field, Import, Inserted, Insertion, Place, Probes, Routine, Scope, Value, VariableField};
use crate::snippet::ast::Context;
use crate::snippet::check::{Checked, Template};
use crate::snippet::compile::{Callee, Compiled, Entry, Environment, Proof, compile, compile_nested, detour};
use crate::snippet::inline::{Calls, Known};
use crate::snippet::{self, AdapterError, Problem};

/// Routines begin at multiples of this.
const ROUTINE_ALIGNMENT: usize = 16;

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
    image: &'a Image<'a>,
    program: &'a Program,
    path: &'a str,
    layouts: Vec<RecordLayout>,
    additions: Additions,
    sites: Sites,
    texts: BTreeMap<String, u32>,
    chosen: HashMap<usize, Chosen<'a>>,
    /// By function: how many calls a snippet is from it, at least.
    called: Vec<Option<u32>>,
}

/// What sites are, by alternative, point, and whether they are inside of a body.
type Sites = HashMap<(usize, Point, bool), Site>;

/// What a site does.
enum Site {
    /// It calls a routine.
    Routine(u32),
    /// It makes the snippet's calls itself.
    Inline(Calls),
}

/// What is inserted in a function, by the indices of alternatives.
struct Chosen<'a> {
    wanted: &'a Wanted,
    functions: Option<usize>,
    loops: Option<usize>,
    callsites: Option<usize>,
    /// File and line of calls and of what is jumped back to.
    places: HashMap<u64, (String, u32)>,
}

impl<'a> Snippets<'a> {
    /// Compiles an adapter.
    ///
    /// # Errors
    /// Where a snippet calls a function that is not there, or something is wanted that the adapter does not have.
    pub fn new(adapter: &'a Adapter, subject: Subject<'a>, wanted: &'a [Wanted]) -> Result<Self, AdapterError> {
        let linked = link(adapter, subject.image, subject.program, subject.libraries)?;
        // What keeps `errno` is called as well.
        let own = linked.functions.values().chain(&linked.errno).filter_map(|found| match found {
            Found::Own(address) => subject.program.function_entered_at(*address),
            Found::Imported(_) => None,
        });
        // Only start-up code calls the main function, and knows its address: what snippets call does not come there, and so
        // they do not call what only the main function calls, unless they call it themselves.
        let own: Vec<usize> = own.collect();
        let main = subject.program.main().filter(|main| !own.contains(main));
        let called = subject.program.calls().distances_around(main, &own, Edges::Possible);
        let of_alternative = adapter.alternatives.iter().zip(&linked.alternatives);
        let layouts: Vec<RecordLayout> =
            of_alternative.map(|(alternative, ready)| RecordLayout::new(alternative, ready.iter().map(|one| &one.checked))).collect();
        let (additions, sites, texts) = Builder::new(adapter, &linked, &layouts)?.build(subject.image);
        let mut chosen = HashMap::with_capacity(wanted.len());
        for one in wanted {
            chosen.insert(one.function, Chosen::new(adapter, subject, one)?);
        }
        let Subject { image, program, path, .. } = subject;
        Ok(Self { adapter, image, program, path, layouts, additions, sites, texts, chosen, called })
    }

    /// Whether snippets call a function of the program, or may by what they call: nothing may be inserted in it, or it
    /// would call itself.
    #[must_use]
    pub fn may_call(&self, function: usize) -> bool {
        self.called.get(function).is_some_and(Option::is_some)
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
                calls.site(&AtSite { facts, layout, texts: &self.texts, record })
            }
            Some(&Site::Routine(routine)) if is_inside => inside(routine, record.0),
            Some(&Site::Routine(routine)) => at_edge(routine, record.0),
            None => Insertion::default(),
        }
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
            found.map(Some).ok_or(AdapterError::new(snippet::Place::START, problem))
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

    /// Looks up the source places of calls and of what is jumped back to.
    fn find_places(&mut self, subject: Subject<'_>) {
        let (Some(lines), Some(function)) = (subject.lines, subject.program.functions.get(self.wanted.function)) else { return };
        for instruction in &subject.program.body(subject.image, function).instructions {
            let at = match instruction.flow {
                Flow::Call { .. } | Flow::IndirectCall | Flow::TailCall { .. } | Flow::IndirectTailCall | Flow::BranchTailCall { .. } => {
                    instruction.address
                }
                Flow::Jump { target } | Flow::Branch { target } if target <= instruction.address => target,
                _ => continue,
            };
            if let Some(found) = lines.location(at) {
                self.places.insert(at, (found.file, found.line));
            }
        }
    }
}

/// What is known of a region.
struct RegionFacts<'a> {
    routine: String,
    symbol: &'a str,
    file: &'a str,
    line: u32,
    last_line: u32,
    path: &'a str,
    callee: String,
    number: u32,
    /// Link address: of a function's entry, a loop's header, a call.
    address: u64,
}

impl<'a> RegionFacts<'a> {
    fn new(snippets: &'a Snippets<'_>, chosen: &'a Chosen<'_>, place: &Place) -> Self {
        let function = snippets.program.functions.get(chosen.wanted.function);
        let symbol = function.map_or("", |function| function.name.as_str());
        let Wanted { file, line, last_line, .. } = chosen.wanted;
        let mut facts = Self {
            routine: tare_image::demangle(symbol).into_owned(),
            symbol,
            file,
            line: *line,
            last_line: *last_line,
            path: snippets.path,
            callee: String::new(),
            number: 0,
            address: function.map_or(0, |function| function.entry),
        };
        let number = match place.scope {
            Scope::Function => return facts,
            Scope::Loop(number) | Scope::Iteration(number) | Scope::CallSite(number) => number,
        };
        let (file, line) = chosen.places.get(&place.address).map_or(("", 0), |(file, line)| (file.as_str(), *line));
        facts = Self { file, line, last_line: 0, number: number + 1, address: place.address, ..facts };
        if let Scope::CallSite(_) = place.scope {
            facts.callee = snippets.callee(chosen.wanted.function, place.address).unwrap_or_default();
        }
        facts
    }
}

impl Snippets<'_> {
    /// The name of what a call leads to; `None` where that is not known.
    fn callee(&self, function: usize, call: u64) -> Option<String> {
        let function = self.program.functions.get(function)?;
        let body = self.program.body(self.image, function);
        let index = body.instructions.binary_search_by_key(&call, |one| one.address).ok()?;
        let name = self.program.callee(self.image, body.instructions.get(index)?)?;
        Some(tare_image::demangle(name).into_owned())
    }
}

impl Facts for RegionFacts<'_> {
    fn number(&self, context: Context) -> i64 {
        i64::from(match context {
            Context::Line => self.line,
            Context::EndLine => self.last_line,
            Context::Loop | Context::Site => self.number,
            _ => 0,
        })
    }

    fn text(&self, context: Context) -> &str {
        match context {
            Context::Routine => &self.routine,
            Context::Symbol => self.symbol,
            Context::File => self.file,
            Context::Image => self.path,
            Context::Callee => &self.callee,
            _ => "",
        }
    }
}

/// What a site that makes calls itself knows.
struct AtSite<'a> {
    facts: RegionFacts<'a>,
    layout: Option<&'a RecordLayout>,
    /// Texts that are the same for all regions.
    texts: &'a BTreeMap<String, u32>,
    /// Where the region's record is among the function's variables, and these.
    record: (u32, &'a [u8]),
}

impl Known for AtSite<'_> {
    /// As wide as in a record.
    fn number(&self, context: Context) -> i64 {
        i64::from(self.facts.number(context) as i32)
    }

    fn address(&self) -> u64 {
        self.facts.address
    }

    fn text(&self, template: &Template) -> Value {
        if let Some(text) = template.constant() {
            return Value::SharedConstant(self.texts.get(text).copied().unwrap_or(0));
        }
        let (start, variables) = self.record;
        let at = start + self.layout.and_then(|layout| layout.text(template)).unwrap_or(0);
        let distance = variables.get(at as usize..).and_then(|from| from.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes));
        Value::Variable(start + distance)
    }
}

/// Appends a variable to others, aligned to its size; answers where it is.
fn append(variables: &mut Vec<u8>, value: &[u8]) -> u32 {
    variables.resize(variables.len().next_multiple_of(value.len().max(1)), 0);
    let at = variables.len() as u32;
    variables.extend_from_slice(value);
    at
}

/// Puts together what the image gets once.
struct Builder<'a> {
    adapter: &'a Adapter,
    linked: &'a Linked<'a>,
    layouts: &'a [RecordLayout],
    added: Additions,
    functions: BTreeMap<String, Callee>,
    errno: Option<Callee>,
    texts: BTreeMap<String, u32>,
    globals: Vec<Home>,
    state_mask: u32,
    thread_distance: u32,
    /// Where regions must nest.
    nesting: Option<(Shared, Routines)>,
    checks: Vec<Check>,
}

impl<'a> Builder<'a> {
    fn new(adapter: &'a Adapter, linked: &'a Linked<'a>, layouts: &'a [RecordLayout]) -> Result<Self, AdapterError> {
        let mut builder = Self {
            adapter,
            linked,
            layouts,
            added: Additions::default(),
            functions: BTreeMap::new(),
            errno: None,
            texts: BTreeMap::new(),
            globals: Vec::new(),
            state_mask: 0,
            thread_distance: 0,
            nesting: None,
            checks: Vec::new(),
        };
        builder.added.libraries = adapter.libraries.iter().map(|library| library.name.clone()).collect();
        if adapter.must_nest {
            builder.nesting(linked.is_dynamic);
        }
        builder.variables();
        builder.state_mask = builder.variable(&[0; 8]);
        for (name, found) in &linked.functions {
            let callee = builder.callee(name, found);
            builder.functions.insert(name.clone(), callee);
        }
        builder.errno = linked.errno.as_ref().map(|found| builder.callee("__errno_location", found));
        for text in &linked.texts {
            let at = builder.constant(text.bytes().chain([0]));
            builder.texts.insert(text.clone(), at);
        }
        Ok(builder)
    }

    /// The block of open regions is the first of the thread's variables.
    fn nesting(&mut self, is_dynamic: bool) {
        self.added.thread_variables = vec![0; nesting::BLOCK];
        let distance = self.variable(&[0; 8]);
        let images = is_dynamic.then(|| self.variable(&[0; 8]));
        if let Some(images) = images {
            self.added.imports.push(Import { name: "_r_debug".to_owned(), slot: images, is_optional: true });
        }
        let cut = self.place(nesting::cut(distance), "tare_nesting_cut");
        let drop = self.place(nesting::drop_below(distance, cut), "tare_nesting_drop");
        let open = self.place(nesting::open(distance, drop, cut), "tare_nesting_open");
        let close = self.place(nesting::close(distance, drop, cut), "tare_nesting_close");
        self.nesting = Some((Shared { distance, images }, Routines { open, close }));
    }

    fn variables(&mut self) {
        for variable in &self.adapter.variables {
            let block = if variable.is_thread_local { &mut self.added.thread_variables } else { &mut self.added.variables };
            let at = append(block, &variable.initial());
            self.globals.push(Home { at, is_thread_local: variable.is_thread_local });
        }
        let of_regions = self.adapter.alternatives.iter().flat_map(|one| &one.variables);
        if self.adapter.must_nest || self.adapter.variables.iter().chain(of_regions).any(|one| one.is_thread_local) {
            self.thread_distance = self.variable(&[0; 16]);
            self.added.thread_distance = Some(self.thread_distance);
            self.added.lends_nesting = self.nesting.is_some_and(|(shared, _)| shared.images.is_some());
        }
    }

    /// Appends a variable, aligned to its size.
    fn variable(&mut self, value: &[u8]) -> u32 {
        append(&mut self.added.variables, value)
    }

    fn constant(&mut self, bytes: impl Iterator<Item = u8>) -> u32 {
        let at = self.added.constants.len() as u32;
        self.added.constants.extend(bytes);
        at
    }

    fn callee(&mut self, name: &str, found: &Found<'_>) -> Callee {
        let small = match found {
            Found::Own(address) => return Callee::Own(*address),
            Found::Imported(small) => small,
        };
        let slot = self.variable(&[0; 8]);
        self.added.imports.push(Import { name: name.to_owned(), slot, is_optional: false });
        let proof = small.as_ref().map(|small| {
            let flag = self.variable(&[1]);
            let way = self.variable(&[0; 8]);
            let bytes = self.constant(small.bytes.iter().copied());
            self.checks.push(Check { slot, bytes, length: small.bytes.len() as u32, flag, way });
            Proof { flag, way, changed: small.changed }
        });
        Callee::Imported { slot, proof }
    }

    /// Compiles everything.
    fn build(mut self, image: &Image<'_>) -> (Additions, Sites, BTreeMap<String, u32>) {
        let mut sites = Sites::new();
        self.detours();
        let none = RecordLayout::default();
        let (adapter, linked, layouts) = (self.adapter, self.linked, self.layouts);
        let mut initialize = Plan { checks: std::mem::take(&mut self.checks), state_mask: Some(self.state_mask), ..Plan::default() };
        initialize.thread_distance = self.added.thread_distance;
        initialize.nesting = self.nesting.map(|(shared, _)| shared);
        let mut finalize = Plan::default();
        for ready in &linked.snippets {
            let routine = self.routine(&ready.checked, Entry::Once, &none, &format!("tare_{}", ready.point.element()));
            if ready.point == Point::Initialize { initialize.adapter = Some(routine) } else { finalize.adapter = Some(routine) }
        }
        for (index, ((alternative, ready), layout)) in adapter.alternatives.iter().zip(&linked.alternatives).zip(layouts).enumerate() {
            for one in ready {
                let name = format!("tare_{}_{}", alternative.name, one.point.element());
                let number = u8::try_from(index + 1).unwrap_or(u8::MAX);
                match one.point {
                    Point::Initialize => initialize.regions.push((number, self.routine(&one.checked, Entry::Once, layout, &name))),
                    Point::Finalize => finalize.regions.push((number, self.routine(&one.checked, Entry::Once, layout, &name))),
                    _ => match self.nested(alternative, ready, one, layout) {
                        Some(nested) => self.nested_routine((index, alternative.level), one, nested, (layout, &name), &mut sites),
                        None => self.site_routines((index, alternative.level), one, layout, &name, &mut sites),
                    },
                }
            }
        }
        initialize.original = hooks::find(image, When::Start).map(|hook| hook.function);
        finalize.original = hooks::find(image, When::End).map(|hook| hook.function);
        if !initialize.is_empty() {
            self.added.initialize = Some(self.place(start::initialize(&initialize), "tare_adapter_initialize"));
        }
        if !finalize.is_empty() {
            self.added.finalize = Some(self.place(start::finalize(&finalize), "tare_adapter_finalize"));
        }
        (self.added, sites, self.texts)
    }

    fn detours(&mut self) {
        for (name, callee) in self.functions.clone() {
            if let Callee::Imported { slot, proof: Some(proof) } = callee {
                let compiled = detour(slot, &self.environment(&RecordLayout::default()));
                let routine = self.place(compiled, &format!("tare_call_{name}"));
                self.added.pointers.push((proof.way, routine));
            }
        }
    }

    fn site_routines(&mut self, (index, level): (usize, Level), ready: &Ready, layout: &RecordLayout, name: &str, sites: &mut Sites) {
        if level == Level::Functions {
            let site = match Calls::new(&ready.checked, &self.functions) {
                Some(calls) => Site::Inline(calls),
                None => Site::Routine(self.routine(&ready.checked, Entry::Edge, layout, name)),
            };
            sites.insert((index, ready.point, false), site);
        }
        let inside = if level == Level::Functions { format!("{name}_inside") } else { name.to_owned() };
        let at = self.routine(&ready.checked, Entry::Body, layout, &inside);
        sites.insert((index, ready.point, true), Site::Routine(at));
    }

    /// How a region that must nest begins or ends; `None` where the adapter has only the one or the other.
    fn nested(&mut self, alternative: &Alternative, all: &[Ready], ready: &Ready, layout: &RecordLayout) -> Option<Nested> {
        let (_, routines) = self.nesting?;
        let kind = match (alternative.level, ready.point) {
            (Level::Functions, _) => Kind::Function,
            (_, Point::Enter | Point::Exit) => Kind::Iteration,
            _ => Kind::Inside,
        };
        let (begin, end) =
            if matches!(ready.point, Point::Before | Point::After) { (Point::Before, Point::After) } else { (Point::Enter, Point::Exit) };
        let end = all.iter().find(|one| one.point == end).filter(|_| all.iter().any(|one| one.point == begin))?;
        if ready.point != begin {
            return Some(Nested { kind, routine: routines.close, end: None });
        }
        let name = format!("tare_{}_{}_late", alternative.name, end.point.element());
        Some(Nested { kind, routine: routines.open, end: Some(self.routine(&end.checked, Entry::Once, layout, &name)) })
    }

    fn nested_routine(
        &mut self,
        (index, level): (usize, Level),
        ready: &Ready,
        nested: Nested,
        (layout, name): (&RecordLayout, &str),
        sites: &mut Sites,
    ) {
        let is_inside = level != Level::Functions;
        let entry = if is_inside { Entry::Body } else { Entry::Edge };
        let compiled = compile_nested(&ready.checked, entry, nested, &self.environment(layout));
        let at = self.place(compiled, name);
        sites.insert((index, ready.point, is_inside), Site::Routine(at));
    }

    fn environment<'b>(&'b self, record: &'b RecordLayout) -> Environment<'b> {
        Environment {
            functions: &self.functions,
            record,
            globals: &self.globals,
            texts: &self.texts,
            state_mask: self.state_mask,
            thread_distance: self.thread_distance,
            errno: self.errno.as_ref(),
        }
    }

    fn routine(&mut self, checked: &Checked, entry: Entry, record: &RecordLayout, name: &str) -> u32 {
        let compiled = compile(checked, entry, &self.environment(record));
        self.place(compiled, name)
    }

    /// Appends a routine to the image's code.
    fn place(&mut self, compiled: Compiled, name: &str) -> u32 {
        let code = &mut self.added.code;
        code.resize(code.len().next_multiple_of(ROUTINE_ALIGNMENT), 0xcc);
        let at = code.len() as u32;
        code.extend(compiled.bytes);
        let end = code.len() as u32;
        self.added.fields.extend(compiled.fields.into_iter().map(|(field, tail, value)| (at + field, tail, value)));
        self.added.routines.push(Routine { name: name.to_owned(), range: at..end, frame: compiled.frame });
        at
    }
}
