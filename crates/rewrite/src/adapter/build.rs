//! What an image gets once for an adapter: routines, variables, texts, imports, and what runs first and last.

use std::collections::{BTreeMap, HashMap};

use tare_image::Image;

use crate::adapter::link::{Found, Linked, Ready};
use crate::adapter::nesting::{self, Kind, Nested, Routines, Shared};
use crate::adapter::record::{Home, RecordLayout, append};
use crate::adapter::start::{self, Check, Plan};
use crate::adapter::{Adapter, Alternative, Level, Point};
use crate::elf::hooks::{self, When};
use crate::insertion::{Additions, Import, Routine};
use crate::snippet::AdapterError;
use crate::snippet::check::Checked;
use crate::snippet::compile::{Callee, Compiled, Entry, Environment, Proof, compile, compile_nested, crossing, detour};
use crate::snippet::inline::Calls;

/// Routines begin at multiples of this.
const ROUTINE_ALIGNMENT: usize = 16;

/// What sites are, by alternative, point, and whether they are inside of a body.
pub(super) type Sites = HashMap<(usize, Point, bool), Site>;

/// What a site does.
pub(super) enum Site {
    /// It calls a routine.
    Routine(u32),
    /// It makes the snippet's calls itself.
    Inline(Calls),
}

/// Puts together what the image gets once.
pub(super) struct Builder<'a> {
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
    pub(super) fn new(adapter: &'a Adapter, linked: &'a Linked<'a>, layouts: &'a [RecordLayout]) -> Result<Self, AdapterError> {
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
            Found::Imported(small) => small.as_ref(),
            Found::Unseen => None,
        };
        let slot = self.variable(&[0; 8]);
        self.added.imports.push(Import { name: name.to_owned(), slot, is_optional: false });
        let proof = small.map(|small| {
            let flag = self.variable(&[1]);
            let way = self.variable(&[0; 8]);
            let bytes = self.constant(small.bytes.iter().copied());
            self.checks.push(Check { slot, bytes, length: small.bytes.len() as u32, flag, way });
            let crossing = self.place(crossing(way), &format!("tare_to_{name}"));
            Proof { flag, way, crossing, changed: small.changed }
        });
        Callee::Imported { slot, proof }
    }

    /// Compiles everything.
    pub(super) fn build(mut self, image: &Image<'_>) -> (Additions, Sites, BTreeMap<String, u32>) {
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
            self.added.initialize = Some(self.place(start::initialize(&initialize).behind_mark(), "tare_adapter_initialize"));
        }
        if !finalize.is_empty() {
            self.added.finalize = Some(self.place(start::finalize(&finalize).behind_mark(), "tare_adapter_finalize"));
        }
        (self.added, sites, self.texts)
    }

    fn detours(&mut self) {
        for (name, callee) in self.functions.clone() {
            if let Callee::Imported { slot, proof: Some(proof) } = callee {
                let compiled = detour(slot, &self.environment(&RecordLayout::default())).behind_mark();
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
