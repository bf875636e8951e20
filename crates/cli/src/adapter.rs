//! `--adapter`: from a name or a file to probes other than our own runtime's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tare_image::Image;
use tare_rewrite::adapter::{Adapter, Level, Libraries, SHIPPED, Snippets, Subject, Wanted, shipped};
use tare_rewrite::snippet::AdapterError;
use tare_rewrite::{Levels, Reason, Selection as Site};
use tare_select::filter::Start;
use tare_select::{Decision, Filter, Selection, Snippet};

use crate::cache::Key;
use crate::choice::Choice;
use crate::failure::{Code, Failure};
use crate::image_file;
use crate::instrumenting::{Analysis, Copy, UnknownSnippet};
use crate::mpi_library;
use crate::rundir::Refusal;

/// An adapter, and what it is called.
pub(crate) struct Loaded {
    adapter: Adapter,
    name: String,
    pub(crate) text: String,
}

impl Loaded {
    /// Whether sites call our own runtime, as they do without an adapter.
    pub(crate) fn is_native(&self) -> bool {
        self.adapter.is_native
    }

    /// The elements that `--levels` asks for are there.
    fn refuse_levels_without(&self, levels: Levels) -> Result<(), Failure> {
        let has = |level| self.adapter.alternatives.iter().any(|one| one.level == level);
        match ASKED.into_iter().find(|&level| is_asked(levels, level) && !has(level)) {
            None => Ok(()),
            Some(level) => {
                let what = format!("--levels asks for {}, and adapter {} has no <{}>", level.element(), self.name, level.element());
                let there: Vec<&str> = ASKED.into_iter().filter(|&level| has(level)).map(Level::element).collect();
                Err(Failure::new(Code::Usage, what).remedy(format!("--levels {} inserts all that it has", there.join(","))))
            }
        }
    }

    fn failure(&self, error: &AdapterError) -> Failure {
        Failure::new(Code::BadInput, format!("{}: {error}", self.name)).remedy(error.problem.remedy())
    }
}

/// The file of a shipped adapter.
pub(crate) fn text(name: &str) -> Result<&'static str, Failure> {
    let unknown = || Failure::new(Code::Usage, format!("there is no adapter `{name}`")).remedy(format!("there are {}", SHIPPED.join(", ")));
    shipped(name).ok_or_else(unknown)
}

/// A shipped adapter by its name, or one from a file.
pub(crate) fn load(name: &Path) -> Result<Loaded, Failure> {
    let shown = name.display().to_string();
    let bytes = match name.to_str().and_then(shipped) {
        Some(text) => text.as_bytes().to_vec(),
        None => std::fs::read(name).map_err(|error| {
            Failure::io(Code::NoInput, "read the adapter", name, &error)
                .remedy(format!("name a file in the language of docs/adapters.md, or one of {}", SHIPPED.join(", ")))
        })?,
    };
    let failed = |error: AdapterError| Failure::new(Code::BadInput, format!("{shown}: {error}")).remedy(error.problem.remedy());
    let text = Adapter::text(&bytes).map_err(failed)?;
    let adapter = Adapter::parse(text).map_err(failed)?;
    Ok(Loaded { adapter, text: text.to_owned(), name: shown })
}

/// Makes the copy that an adapter asks for.
pub(crate) fn instrument(analysis: &Analysis<'_>, choice: &Choice, adapter: &Loaded, key: &Key, poison: bool) -> Result<Copy, Failure> {
    image_file::refuse_instrumented(analysis.path(), &analysis.image)?;
    let started = Instant::now();
    let chosen = analysis.select(choice)?;
    let selecting = started.elapsed();
    let mut copy = instrument_selected(analysis, choice, &chosen.selection, adapter, key, poison)?;
    let behind_analysis = copy.phases.iter().position(|phase| phase.0 == "plan").unwrap_or(0);
    copy.phases.insert(behind_analysis, ("select", selecting));
    Ok(copy)
}

/// Makes the copy in which an adapter's snippets stand in these functions.
pub(crate) fn instrument_selected(
    analysis: &Analysis<'_>,
    choice: &Choice,
    selection: &Selection,
    adapter: &Loaded,
    key: &Key,
    poison: bool,
) -> Result<Copy, Failure> {
    let levels = choice.levels_asked();
    if let Some(levels) = levels {
        adapter.refuse_levels_without(levels)?;
    }
    let has = |level, name: &str| levels.is_some_and(|levels| !is_asked(levels, level)) || adapter.adapter.alternative(level, name).is_some();
    if let Some(unknown) = UnknownSnippet::find(selection, has) {
        return Err(Failure::new(Code::Usage, format!("{unknown} in the adapter {}", adapter.name))
            .remedy("name one that it has, or add one with this name (docs/adapters.md)"));
    }
    let wanted = wanted(analysis, selection, &adapter.adapter, levels);
    let (files, are_all) = libraries(analysis, &adapter.adapter)?;
    let images: Vec<Image<'_>> = files.iter().filter_map(|bytes| Image::parse(bytes).ok()).collect();
    let lines = analysis.lines();
    let original = analysis.path().canonicalize().unwrap_or_else(|_| analysis.path().to_path_buf());
    let path = original.to_string_lossy();
    let libraries = Libraries { images: &images, are_all };
    let subject = Subject { image: &analysis.image, program: &analysis.program, lines: lines.as_ref(), path: &path, libraries };
    let snippets = Snippets::new(&adapter.adapter, subject, &wanted).map_err(|error| adapter.failure(&error))?;
    let (called, others): (Vec<&Wanted>, Vec<&Wanted>) = wanted.iter().partition(|one| snippets.may_call(one.function));
    let sites: Vec<Site> = others
        .into_iter()
        .map(|one| Site {
            levels: snippets.levels(one.function),
            file: one.file.clone(),
            line: one.line,
            last_line: one.last_line,
            ..Site::of(one.function)
        })
        .collect();
    let mut copy = analysis.write(&sites, lines.as_ref(), key, poison, &snippets)?;
    let refused = called.iter().filter_map(|one| analysis.program.functions.get(one.function)).map(|function| Refusal {
        name: function.name.clone(),
        address: function.entry,
        reason: Reason::CalledBySnippets.to_string(),
    });
    copy.image.selected += called.len();
    copy.image.refusals.extend(refused);
    copy.image.refusals.sort_by_key(|one| one.address);
    copy.image.found = selection.decisions.len();
    Ok(copy)
}

/// What is inserted in each function that both the selection and the adapter's own filter let in.
fn wanted(analysis: &Analysis<'_>, selection: &Selection, adapter: &Adapter, levels: Option<Levels>) -> Vec<Wanted> {
    let own = adapter.filter.clone().map(|filter| Filter { start: filter.start.or(Some(Start::All)), ..filter });
    let lines = analysis.lines();
    let own = own.map(|filter| tare_select::choose(&analysis.program, &[filter], |function| analysis.metrics(function, lines.as_ref())));
    let mut allowed: Vec<Option<&Decision>> = vec![None; analysis.program.functions.len()];
    for decision in own.iter().flat_map(Selection::selected) {
        if let Some(place) = allowed.get_mut(decision.function) {
            *place = Some(decision);
        }
    }
    let one = |decision: &Decision| {
        let allowed = allowed.get(decision.function).copied().flatten();
        if own.is_some() && allowed.is_none() {
            return None;
        }
        // What the user's filter leaves at its default, the adapter's own may choose.
        let is_default = decision.snippets == tare_select::Snippets::default();
        let snippets = allowed.filter(|_| is_default).map_or(&decision.snippets, |allowed| &allowed.snippets);
        let name = |level: Level, snippet: &Option<Snippet>| match levels {
            None => name(adapter, level, snippet.as_ref()),
            Some(levels) if is_asked(levels, level) => name(adapter, level, Some(snippet.as_ref().unwrap_or(&Snippet::Default(level.element())))),
            Some(_) => None,
        };
        let parts = &analysis.program.functions[decision.function].parts;
        let place = lines.as_ref().and_then(|lines| lines.span(parts));
        let (file, line, last_line) = place.map_or_else(Default::default, |place| (place.file, place.entry, place.last));
        Some(Wanted {
            function: decision.function,
            functions: name(Level::Functions, &snippets.functions),
            loops: name(Level::Loops, &snippets.loops),
            callsites: name(Level::CallSites, &snippets.callsites),
            file,
            line,
            last_line,
        })
    };
    selection.selected().filter_map(one).collect()
}

/// Levels of regions, of which each element of an adapter has one.
const ASKED: [Level; 3] = [Level::Functions, Level::Loops, Level::CallSites];

/// Whether these levels ask for an adapter's element: that of loops has the snippets of iterations too.
const fn is_asked(levels: Levels, level: Level) -> bool {
    match level {
        Level::Adapter => true,
        Level::Functions => levels.function,
        Level::Loops => levels.loops || levels.iterations,
        Level::CallSites => levels.call_sites,
    }
}

/// The alternative that a filter means; an adapter without a default one inserts nothing by default.
fn name(adapter: &Adapter, level: Level, snippet: Option<&Snippet>) -> Option<String> {
    match snippet? {
        Snippet::Named(name) => Some(name.to_string()),
        Snippet::Default(_) => adapter.alternative(level, level.default_name()).map(|one| one.name.clone()),
    }
}

/// The libraries that the copy will load, as far as they are found, and whether these are all.
fn libraries(analysis: &Analysis<'_>, adapter: &Adapter) -> Result<(Vec<Vec<u8>>, bool), Failure> {
    let Some(interpreter) = analysis.image.interpreter() else { return Ok((Vec::new(), false)) };
    let mut paths = Vec::new();
    let mut are_all = true;
    for library in mpi_library::libraries(Path::new(interpreter), analysis.path())? {
        are_all &= library.path.is_some();
        paths.extend(library.path);
    }
    for library in &adapter.libraries {
        match find(interpreter, analysis.path(), &library.name) {
            Ok(path) => paths.push(path),
            Err(why) => {
                are_all = false;
                eprintln!("tare: {} {why}; the copy needs it when it starts", library.name);
            }
        }
    }
    let read = |path: &PathBuf| image_file::read(path);
    Ok((paths.iter().map(read).collect::<Result<_, _>>()?, are_all))
}

/// The file that the loader finds for a library that the program does not need yet; what is wrong with it where it takes none.
fn find(interpreter: &str, program: &Path, library: &str) -> Result<PathBuf, String> {
    const NOT_FOUND: &str = "is not found here";
    let program = program.canonicalize().map_err(|_| NOT_FOUND)?;
    let output = Command::new(interpreter).env("LD_PRELOAD", library).arg("--list").arg(&program).output().map_err(|_| NOT_FOUND)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.lines().find_map(|line| {
        let (name, rest) = line.trim().split_once(" => ").unwrap_or((line.trim(), line.trim()));
        let path = mpi_library::file_in(rest)?;
        let is_it = name == library || path == Path::new(library) || path.file_name().is_some_and(|file| file.to_string_lossy() == library);
        is_it.then_some(path)
    });
    found.ok_or_else(|| {
        refused(&String::from_utf8_lossy(&output.stderr)).map_or_else(|| NOT_FOUND.into(), |why| format!("cannot be loaded here ({why})"))
    })
}

/// Why the loader did not load a file that it found: `… cannot be preloaded (invalid ELF header): ignored`.
fn refused(said: &str) -> Option<&str> {
    let (_, behind) = said.split_once(" cannot be preloaded (")?;
    behind.split_once(')').map(|(why, _)| why).filter(|why| !why.starts_with("cannot open shared object file"))
}
