//! From a program in a launch line to its instrumented copy: analyse, select, rewrite, keep.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_code::{Function, Metrics, Program};
use tare_image::Image;
use tare_image::debug::DebugSections;
use tare_image::inlines::Inlines;
use tare_image::lines::{Inside, Lines};
use tare_report::instrument::RefusedSite;
use tare_rewrite::adapter::Level;
use tare_rewrite::insertion::{Probes, Scope};
use tare_rewrite::{Native, Request, RewriteError, Selection as Site};
use tare_select::Selection;
use tare_select::budget::Expectation;

use crate::budget::Limiting;
use crate::cache::{Cache, Key};
use crate::choice::Choice;
use crate::debug_files::{DebugFiles, DebugPath};
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::launch;
use crate::measured::Target;
use crate::progress::Step;
use crate::rundir::{ImageRecord, Learnt, Refusal as RefusalRecord};

/// A phase and the time it took.
pub(crate) type Phase = (&'static str, Duration);

/// An analysed image.
pub(crate) struct Analysis<'data> {
    pub(crate) path: PathBuf,
    pub(crate) image: Image<'data>,
    pub(crate) program: Program,
    sections: DebugSections<'data>,
    phases: Vec<Phase>,
}

/// What was chosen, and where a budget limits it, what that is expected to cost.
pub(crate) struct Chosen {
    pub(crate) selection: Selection,
    pub(crate) expectation: Option<Expectation>,
}

/// An instrumented copy, not written yet.
pub(crate) struct Copy {
    pub(crate) bytes: Vec<u8>,
    pub(crate) image: ImageRecord,
    pub(crate) phases: Vec<Phase>,
    /// How many probe sites it has, and which loops and call sites have none.
    pub(crate) sites: usize,
    pub(crate) refused_sites: Vec<RefusedSite>,
}

impl<'data> Analysis<'data> {
    /// Parses and analyses an image; what it leaves out is in `files`.
    pub(crate) fn of(path: &Path, bytes: &'data [u8], files: &'data DebugFiles) -> Result<Self, Failure> {
        let _step = Step::begin(format!("analysing {}", path.display()));
        let started = Instant::now();
        let mut image = image_file::parse(path, bytes)?;
        if let Some(file) = files.with_symbols() {
            image.add_symbols(&file);
        }
        let parsed = started.elapsed();
        let program = Program::analyse(&image).map_err(|error| {
            Failure::new(Code::BadInput, format!("{} cannot be analysed: {error}", path.display()))
                .remedy("name an executable or a shared library with code in it")
        })?;
        let phases = vec![("image", parsed), ("code", started.elapsed() - parsed)];
        Ok(Self { path: path.to_path_buf(), sections: files.sections(&image), image, program, phases })
    }

    /// The image's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whoever asks for source places gets them from here.
    pub(crate) fn lines(&self) -> Option<Lines<'_>> {
        Lines::new(&self.sections)
    }

    /// The functions that were inlined; `None` where the debug information does not say.
    pub(crate) fn inlines(&self) -> Option<Inlines> {
        let _step = Step::begin(format!("reading inlined functions of {}", self.path.display()));
        Inlines::read(&self.sections)
    }

    /// All that there is to know of a function.
    pub(crate) fn metrics(&self, function: &Function, lines: Option<&Lines<'_>>) -> Metrics {
        self.program.metrics(&self.image, function, lines)
    }

    /// The name for people of a function with this raw name; that of the main program is `main` in every language.
    pub(crate) fn shown(&self, raw: &str) -> String {
        let main = self.program.main_program().and_then(|index| self.program.functions.get(index));
        if main.is_some_and(|main| main.name == raw) { "main".to_string() } else { tare_image::demangle(raw).into_owned() }
    }

    /// Chooses what to measure.
    pub(crate) fn select(&self, choice: &Choice) -> Result<Chosen, Failure> {
        self.warn_of_lost_calls(choice);
        let lines = choice.needs_source().then(|| self.lines()).flatten();
        let selection = tare_select::choose(&self.program, choice.filters(), |function| self.metrics(function, lines.as_ref()));
        let Some(limiting) = choice.limiting() else { return Ok(Chosen { selection, expectation: None }) };
        let (selection, expectation) = limiting.apply(selection, self)?;
        Ok(Chosen { selection, expectation: Some(expectation) })
    }

    /// Paths over calls of which nothing is known are not among those that are chosen by.
    fn warn_of_lost_calls(&self, choice: &Choice) {
        let lost = self.program.lost_calls();
        if lost > 0 && choice.follows_sure_edges() {
            let path = self.path.display();
            let calls = if lost == 1 { "1 call".to_string() } else { format!("{lost} calls") };
            eprintln!("tare: {calls} in code of the large model in {path} may lead to anything: paths over them are not known");
            eprintln!("      try: compile with -O1 or more, or follow possible calls too (edges=\"possible\" in a filter)");
        }
    }

    /// What was chosen and why, for people and programs.
    pub(crate) fn decisions(&self, chosen: &Chosen) -> tare_report::select::Selected {
        let named = |decision: &tare_select::Decision| {
            let function = &self.program.functions[decision.function];
            let origin = |cause: &Option<Arc<tare_select::Cause>>| cause.as_ref().filter(|_| decision.is_selected).map(rule);
            let snippet = |snippet: &Option<tare_select::Snippet>| {
                snippet.as_ref().filter(|_| decision.is_selected).map(|snippet| snippet.written().to_string())
            };
            tare_report::select::Decided {
                name: function.name.clone(),
                shown: self.shown(&function.name),
                address: function.entry,
                reason: decision.reason.to_string(),
                kind: decision.reason.what.clone(),
                rule: rule(&decision.cause),
                snippets: tare_report::select::Snippets {
                    functions: snippet(&decision.snippets.functions),
                    loops: snippet(&decision.snippets.loops),
                    callsites: snippet(&decision.snippets.callsites),
                },
                is_special: decision.is_selected && !decision.snippets.are_default(),
                snippet_rules: tare_report::select::SnippetRules {
                    functions: origin(&decision.origins.functions),
                    loops: origin(&decision.origins.loops),
                    callsites: origin(&decision.origins.callsites),
                },
            }
        };
        tare_report::select::Selected {
            selected: chosen.selection.selected().map(named).collect(),
            rejected: chosen.selection.rejected().map(named).collect(),
            expected: chosen.expectation.as_ref().map(crate::budget::shown),
            unmatched: Vec::new(),
        }
    }

    /// Names in filter files that no function of the image has: told to whoever watches, and returned.
    pub(crate) fn unmatched(&self, choice: &Choice) -> Vec<tare_report::select::Unmatched> {
        const TOLD: usize = 10;
        let found = tare_select::unmatched(&self.program, choice.filters_of_files());
        for one in found.iter().take(TOLD) {
            eprintln!("tare: {}:{}: `{}` matches no function of {}", one.filter, one.line, one.pattern, self.path.display());
        }
        if found.len() > TOLD {
            eprintln!("tare: {} more names match no function; tare select --format json lists all as \"unmatched\"", found.len() - TOLD);
        }
        let shown =
            |one: tare_select::Unmatched| tare_report::select::Unmatched { filter: one.filter.to_string(), line: one.line, pattern: one.pattern };
        found.into_iter().map(shown).collect()
    }

    /// Makes the instrumented copy.
    pub(crate) fn instrument(&self, choice: &Choice, poison: bool) -> Result<Copy, Failure> {
        image_file::refuse_instrumented(&self.path, &self.image)?;
        let _step = Step::begin(format!("instrumenting {}", self.path.display()));
        let started = Instant::now();
        let chosen = self.select(choice)?;
        let selecting = started.elapsed();
        let mut copy = self.instrument_selected(choice, &chosen.selection, poison)?;
        copy.image.expected_dilation = chosen.expectation.map(|expectation| expectation.dilation);
        copy.phases.insert(self.phases.len(), ("select", selecting));
        Ok(copy)
    }

    /// Makes the copy in which these functions are instrumented.
    pub(crate) fn instrument_selected(&self, choice: &Choice, selection: &Selection, poison: bool) -> Result<Copy, Failure> {
        let started = Instant::now();
        let mut selected = vec![false; self.program.functions.len()];
        for decision in selection.selected() {
            selected[decision.function] = true;
        }
        let leaves = self.program.leaves(&selected);
        let lines = self.lines();
        let chosen = |decision: &tare_select::Decision| self.chosen(choice, decision, leaves[decision.function], lines.as_ref());
        let sites: Vec<Site> = selection.selected().map(chosen).collect();
        let requesting = started.elapsed();
        let mut copy = self.write(&sites, lines.as_ref(), poison, &native(selection)?)?;
        copy.image.found = selection.decisions.len();
        copy.phases.insert(self.phases.len(), ("request", requesting));
        Ok(copy)
    }

    /// Makes the copy in which these functions get probes of a kind.
    pub(crate) fn write(&self, sites: &[Site], lines: Option<&Lines<'_>>, poison: bool, probes: &dyn Probes) -> Result<Copy, Failure> {
        let source = |inside: Inside<'_>| lines.and_then(|lines| lines.place(inside));
        let original = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let (folder, path) = (original.parent().map(Path::to_string_lossy), original.to_string_lossy());
        let request = Request {
            selected: sites,
            source: Some(&source),
            origin: folder.as_deref(),
            path: &path,
            build_id: &self.build_id().unwrap_or_default(),
            poison,
            threads: None,
        };
        let output = tare_rewrite::instrument(&self.image, &self.program, &request, probes)
            .map_err(|error| Failure::new(code(&error), format!("{} cannot be instrumented: {error}", self.path.display())).remedy(remedy(&error)))?;
        let refused_sites = output.refused_sites.iter().map(|site| self.refused_site(site)).collect();
        let mut bytes = output.bytes;
        bytes.extend(self.image.appended());
        let mut phases = self.phases.clone();
        phases.extend(output.phases);
        let refusals = output
            .refusals
            .into_iter()
            .map(|refused| RefusalRecord { name: refused.name, address: refused.address, reason: refused.reason.to_string() })
            .collect();
        let counts = output.functions;
        let image = ImageRecord {
            path: original,
            found: counts.found,
            selected: counts.selected,
            instrumented: counts.instrumented,
            refusals,
            expected_dilation: None,
        };
        Ok(Copy { bytes, image, phases, sites: output.sites, refused_sites })
    }

    /// A loop or call site without probes, for people and programs.
    fn refused_site(&self, site: &tare_rewrite::RefusedSite) -> RefusedSite {
        let kind = match site.scope {
            Scope::Function => "function",
            Scope::Loop(_) => "loop",
            Scope::Iteration(_) => "iteration",
            Scope::CallSite(_) => "callsite",
        };
        let function = self.program.functions.get(site.function).map_or_else(String::new, |function| function.name.clone());
        RefusedSite { function, address: site.address, kind: kind.to_string(), reason: site.reason.to_string() }
    }

    fn chosen(&self, choice: &Choice, decision: &tare_select::Decision, is_leaf: bool, lines: Option<&Lines<'_>>) -> Site {
        let place = lines.and_then(|lines| lines.span(&self.program.functions[decision.function].parts));
        let (file, line, last_line) = place.map_or_else(Default::default, |place| (place.file, place.entry, place.last));
        Site { function: decision.function, is_leaf, file, line, last_line, levels: choice.levels(&decision.snippets) }
    }

    /// The build id in hexadecimal.
    pub(crate) fn build_id(&self) -> Option<String> {
        self.image.build_id().map(tare_image::hexadecimal)
    }
}

/// Whose fault it is: the image's, whose form stands in the way, or that of what was written for it.
fn code(error: &RewriteError) -> Code {
    match error {
        RewriteError::TooFar { .. } | RewriteError::Headers { .. } | RewriteError::ThreadLocals { .. } | RewriteError::Heap => Code::BadInput,
        _ => Code::Internal,
    }
}

/// What to do about an image that cannot be instrumented.
fn remedy(error: &RewriteError) -> String {
    const REPORT: &str = "and tell us of the program, with the output of tare --version";
    match error {
        RewriteError::Check { function, .. } if !function.contains(' ') => {
            let filter = format!("<filter name=\"without\"><exclude><functionnames match=\"simple\">{function}</functionnames></exclude></filter>");
            format!("leave it out with --filter FILE, in which stands {filter}, {REPORT}")
        }
        RewriteError::ThreadLocals { .. } => {
            "use an adapter without thread=\"yes\" and nested=\"yes\", such as cyg-profile, or probes of our own".to_string()
        }
        RewriteError::Heap => "measure its libraries (--library), or build it as a position-independent program".to_string(),
        RewriteError::TooFar { .. } => {
            "let it allocate its large arrays when it runs; if it has no such arrays, it is damaged: build or install it again".to_string()
        }
        RewriteError::Headers { .. } => {
            "link it with GNU ld (-fuse-ld=bfd) and its defaults; if it was linked so, it is damaged: build or install it again".to_string()
        }
        _ => format!("link it with GNU ld (-fuse-ld=bfd) and its defaults, {REPORT}"),
    }
}

/// The probes that measure. They have no alternatives by name, as adapters do.
fn native(selection: &Selection) -> Result<Native, Failure> {
    match UnknownSnippet::find(selection, |_, _| false) {
        Some(unknown) => Err(Failure::new(Code::Usage, format!("{unknown}, and measuring has default snippets alone"))
            .remedy("leave out the name, as in instrument=\"functions,loops\", or name the adapter that has it: tare instrument --adapter")),
        None => Ok(Native),
    }
}

/// A snippet that a filter asks for by name, where there is none of this name.
pub(crate) struct UnknownSnippet {
    name: String,
    /// The rule that asks for it.
    cause: Option<Arc<tare_select::Cause>>,
}

impl UnknownSnippet {
    /// The first of the chosen functions' that is not there.
    pub(crate) fn find(selection: &Selection, has: impl Fn(Level, &str) -> bool) -> Option<Self> {
        let of = |decision: &tare_select::Decision| {
            let (tare_select::Snippets { functions, loops, callsites }, origins) = (&decision.snippets, &decision.origins);
            let levels = [
                (Level::Functions, functions, &origins.functions),
                (Level::Loops, loops, &origins.loops),
                (Level::CallSites, callsites, &origins.callsites),
            ];
            levels.into_iter().find_map(|(level, snippet, cause)| {
                let name = snippet.as_ref()?.name().filter(|name| !has(level, name))?;
                Some(Self { name: name.to_string(), cause: cause.clone() })
            })
        };
        selection.selected().find_map(of)
    }
}

impl fmt::Display for UnknownSnippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cause) = &self.cause {
            write!(f, "{}: ", rule(cause).place())?;
        }
        write!(f, "no snippet is named `{}`", self.name)
    }
}

fn rule(cause: &Arc<tare_select::Cause>) -> tare_report::select::Rule {
    tare_report::select::Rule {
        filter: cause.filter.as_deref().map(str::to_string),
        line: cause.line,
        column: cause.column,
        text: cause.text.to_string(),
    }
}

/// Programs that are ready to be measured.
pub(crate) struct Prepared {
    pub(crate) targets: Vec<Target>,
    pub(crate) images: Vec<ImageRecord>,
    pub(crate) phases: Vec<Phase>,
    /// What the choice rests on of an earlier run.
    pub(crate) learnt: Option<Learnt>,
    /// Copies stay where they are as long as it is open.
    cache: Cache,
}

/// Instruments the programs of a launch line, and the libraries that are asked for, or finds the copies made before.
pub(crate) fn prepare(programs: Vec<launch::Program>, choice: &Choice, patterns: &[String]) -> Result<Prepared, Failure> {
    let learnt = choice.limiting().and_then(Limiting::learnt);
    let mut prepared = Prepared { targets: Vec::new(), images: Vec::new(), phases: Vec::new(), learnt, cache: Cache::open()? };
    for program in programs {
        let bytes = image_file::read(&program.path)?;
        let image = image_file::parse(&program.path, &bytes)?;
        let needs = image_file::needs_of(&program.path, &image)?;
        let libraries = image_file::libraries_named(&program.path, &image, &needs.libraries, patterns)?;
        image_file::tell_of_hidden(&program.path, &image, &libraries);
        if !libraries.is_empty() {
            prepared.cache.refuse_where_libraries_are_not_found()?;
        }
        let executable = prepared.copy_of(&program.path, None, bytes, choice)?;
        let mut folders = Vec::new();
        for (name, path) in libraries {
            let copy = prepared.copy_of(&path, Some(&name), image_file::read(&path)?, choice)?;
            folders.extend(copy.parent().map(Path::to_path_buf));
        }
        let mpi = needs.mpi.or(program.launched_by);
        prepared.targets.push(Target { program, executable, libraries: folders, mpi, first: needs.sanitizer() });
    }
    prepared.cache.trim();
    Ok(prepared)
}

impl Prepared {
    /// The instrumented copy of an image, made now or found in the cache; a library's copy bears the name by which it is needed.
    fn copy_of(&mut self, path: &Path, needed_as: Option<&str>, bytes: Vec<u8>, choice: &Choice) -> Result<PathBuf, Failure> {
        let original = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let file_name = original.file_name().map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned());
        let name = needed_as.map_or(file_name, str::to_string);
        let key = Key::new(&bytes, &original, &[&choice.key(), &name]);
        let (copy, image) = match self.cache.find(&key, &name) {
            Some((copy, entry)) => (copy, entry.image),
            None => {
                let files = DebugFiles::find(path, &bytes, &DebugPath::of_environment());
                let analysis = Analysis::of(path, &bytes, &files)?;
                analysis.unmatched(choice);
                let made = analysis.instrument(choice, false)?;
                let copy = self.cache.keep(&key, &name, &made.bytes, &made.image)?;
                self.phases.extend(made.phases);
                (copy, made.image)
            }
        };
        if !self.images.iter().any(|known| known.path == image.path) {
            self.images.push(image);
        }
        Ok(copy)
    }
}

/// Prints how long each phase took, to stderr.
pub(crate) fn print_phases(phases: &[Phase]) {
    if phases.is_empty() {
        eprintln!("tare: all copies were found in the cache");
    }
    for (name, took) in phases {
        eprintln!("tare: {name:<10} {:>8.1} ms", 1e3 * took.as_secs_f64());
    }
}
