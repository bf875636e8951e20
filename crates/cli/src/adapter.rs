//! `--adapter`: from a name or a file to probes other than our own runtime's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tare_image::Image;
use tare_image::lines::{Inside, Lines};
use tare_rewrite::adapter::{Adapter, Level, Libraries, SHIPPED, Snippets, Subject, Wanted, shipped};
use tare_rewrite::check::{CheckError, Checked, Made};
use tare_rewrite::snippet::AdapterError;
use tare_rewrite::{Levels, Selection as Site};
use tare_select::filter::Start;
use tare_select::{Decision, Filter, Selection, Snippet};

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
}

impl Loaded {
    /// Whether sites call our own runtime, as they do without an adapter.
    pub(crate) fn is_native(&self) -> bool {
        self.adapter.is_native
    }

    /// As the command line has it.
    pub(crate) fn name(&self) -> &str {
        &self.name
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

    /// What a selection names is there.
    fn refuse_unknown(&self, selection: &Selection, levels: Option<Levels>) -> Result<(), Failure> {
        if let Some(levels) = levels {
            self.refuse_levels_without(levels)?;
        }
        let has = |level, name: &str| levels.is_some_and(|levels| !is_asked(levels, level)) || self.adapter.alternative(level, name).is_some();
        let Some(unknown) = UnknownSnippet::find(selection, has) else { return Ok(()) };
        Err(Failure::new(Code::Usage, format!("{unknown} in the adapter {}", self.name))
            .remedy("name one that it has, or add one with this name (docs/adapters.md)"))
    }

    /// Says so where functions are chosen, and none of them gets anything that the adapter has for functions, loops or call sites,
    /// or for a level that was asked for.
    fn tell_of_unused(&self, wanted: &[Wanted], levels: Option<Levels>) {
        let is_used = |level: Level| wanted.iter().any(|one| inserted(one, level).is_some());
        let unused: Vec<Level> = match levels {
            _ if wanted.is_empty() => return,
            Some(levels) => ASKED.into_iter().filter(|&level| is_asked(levels, level) && !is_used(level)).collect(),
            None if ASKED.into_iter().any(is_used) => return,
            None => ASKED.to_vec(),
        };
        let Some(first) = self.adapter.alternatives.iter().find(|one| unused.contains(&one.level)) else { return };
        let what = if unused.len() == ASKED.len() { "nothing".to_owned() } else { format!("no <{}>", first.level.element()) };
        let is_default = |level: &Level| self.adapter.alternative(*level, level.default_name()).is_some();
        let defaults: Vec<&str> = unused.iter().filter(|level| is_default(level)).map(|level| level.element()).collect();
        let remedy = if defaults.is_empty() {
            format!(
                "a filter chooses what has a name (<include instrument=\"{}={}\">), and without `name` it is the default",
                first.level.element(),
                first.name
            )
        } else {
            format!("--levels {} inserts it", defaults.join(","))
        };
        let count = wanted.len();
        eprintln!("tare: {what} of adapter {} is chosen for any of {count} functions: they are left as they are\n      try: {remedy}", self.name);
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
    Ok(Loaded { adapter, name: shown })
}

/// Makes the copy that an adapter asks for.
pub(crate) fn instrument(analysis: &Analysis<'_>, choice: &Choice, adapter: &Loaded, poison: bool) -> Result<Copy, Failure> {
    image_file::refuse_instrumented(analysis.path(), &analysis.image)?;
    let started = Instant::now();
    let chosen = analysis.select(choice)?;
    let selecting = started.elapsed();
    let wanted = wanted(analysis, &chosen.selection, adapter, choice.levels_asked())?;
    adapter.tell_of_unused(&wanted, choice.levels_asked());
    let mut copy = insert(analysis, &wanted, adapter, poison)?;
    copy.image.found = chosen.selection.decisions.len();
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
    poison: bool,
) -> Result<Copy, Failure> {
    let wanted = wanted(analysis, selection, adapter, choice.levels_asked())?;
    insert(analysis, &wanted, adapter, poison)
}

/// Makes the copy in which these snippets stand.
fn insert(analysis: &Analysis<'_>, wanted: &[Wanted], adapter: &Loaded, poison: bool) -> Result<Copy, Failure> {
    let original = analysis.path().canonicalize().unwrap_or_else(|_| analysis.path().to_path_buf());
    compile(analysis, wanted, adapter, &original.to_string_lossy(), |snippets, sites, lines| {
        let mut copy = analysis.write(sites, lines, poison, snippets)?;
        let called: Vec<&Wanted> = wanted.iter().filter(|one| snippets.refusal(one.function).is_some()).collect();
        let refused = called.iter().filter_map(|one| {
            let (function, reason) = (analysis.program.functions.get(one.function)?, snippets.refusal(one.function)?);
            Some(Refusal { name: function.name.clone(), address: function.entry, reason: reason.to_string() })
        });
        copy.image.selected += called.len();
        copy.image.refusals.extend(refused);
        copy.image.refusals.sort_by_key(|one| one.address);
        Ok(copy)
    })
}

/// Holds a copy against what the adapter makes of its original, which was at `path` then.
pub(crate) fn check(
    analysis: &Analysis<'_>,
    choice: &Choice,
    adapter: &Loaded,
    path: &str,
    bytes: &[u8],
) -> Result<Result<Checked, CheckError>, Failure> {
    let chosen = analysis.select(choice)?;
    let wanted = wanted(analysis, &chosen.selection, adapter, choice.levels_asked())?;
    compile(analysis, &wanted, adapter, path, |snippets, sites, lines| {
        let source = |inside: Inside<'_>| lines.and_then(|lines| lines.place(inside));
        let made = Made { selected: sites, source: &source, probes: snippets };
        Ok(tare_rewrite::check::check_made(&analysis.image, &analysis.program, bytes, &made, None))
    })
}

/// Compiles an adapter for an image that is or was at `path`, and hands on its snippets, with the functions in which they can stand.
fn compile<T>(
    analysis: &Analysis<'_>,
    wanted: &[Wanted],
    adapter: &Loaded,
    path: &str,
    then: impl FnOnce(&Snippets<'_>, &[Site], Option<&Lines<'_>>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let LibraryFiles { files, missing } = libraries(analysis, &adapter.adapter)?;
    let images: Vec<Image<'_>> = files.iter().filter_map(|bytes| Image::parse(bytes).ok()).collect();
    let lines = analysis.lines();
    let libraries = Libraries { images: &images, are_all: missing.as_ref().is_some_and(Vec::is_empty) };
    let subject = Subject { image: &analysis.image, program: &analysis.program, lines: lines.as_ref(), path, libraries };
    let snippets = Snippets::new(&adapter.adapter, subject, wanted).map_err(|error| adapter.failure(&error))?;
    tell_of_unseen(snippets.unseen(), missing.as_deref().unwrap_or_default());
    let site = |one: &Wanted| Site {
        levels: snippets.levels(one.function),
        file: one.file.clone(),
        line: one.line,
        last_line: one.last_line,
        ..Site::of(one.function)
    };
    let sites: Vec<Site> = wanted.iter().filter(|one| snippets.refusal(one.function).is_none()).map(site).collect();
    then(&snippets, &sites, lines.as_ref())
}

/// What is inserted in each function that both the selection and the adapter's own filter let in.
fn wanted(analysis: &Analysis<'_>, selection: &Selection, adapter: &Loaded, levels: Option<Levels>) -> Result<Vec<Wanted>, Failure> {
    adapter.refuse_unknown(selection, levels)?;
    let adapter = &adapter.adapter;
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
        let snippets = allowed.filter(|_| decision.snippets.are_default()).map_or(&decision.snippets, |allowed| &allowed.snippets);
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
    Ok(selection.selected().filter_map(one).collect())
}

/// Levels of regions, of which each element of an adapter has one.
const ASKED: [Level; 3] = [Level::Functions, Level::Loops, Level::CallSites];

/// The alternative that a function gets at a level.
const fn inserted(wanted: &Wanted, level: Level) -> Option<&String> {
    match level {
        Level::Adapter => None,
        Level::Functions => wanted.functions.as_ref(),
        Level::Loops => wanted.loops.as_ref(),
        Level::CallSites => wanted.callsites.as_ref(),
    }
}

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

/// The libraries that the copy will load, as far as they are found.
struct LibraryFiles {
    files: Vec<Vec<u8>>,
    /// Names of those that are not found; `None` where it is not known which there are, as for a library.
    missing: Option<Vec<String>>,
}

/// Finds the libraries that the copy will load, in the order in which the loader asks them.
fn libraries(analysis: &Analysis<'_>, adapter: &Adapter) -> Result<LibraryFiles, Failure> {
    let Some(interpreter) = analysis.image.interpreter() else { return Ok(LibraryFiles { files: Vec::new(), missing: None }) };
    let (mut paths, mut own) = (Vec::new(), Vec::new());
    let mut missing = Vec::new();
    for library in mpi_library::libraries(Path::new(interpreter), analysis.path())? {
        match library.path {
            Some(path) => paths.push(path),
            None => missing.push(library.name),
        }
    }
    for library in &adapter.libraries {
        match find(interpreter, analysis.path(), &library.name) {
            Ok(path) => own.push(path),
            Err(why) => {
                eprintln!("tare: {} {why}; the copy needs it when it starts", library.name);
                missing.push(library.name.clone());
            }
        }
    }
    let is_c_library = |path: &PathBuf| path.file_name().is_some_and(|name| tare_rewrite::is_c_library(&name.to_string_lossy()));
    let place = paths.iter().position(is_c_library).unwrap_or(paths.len());
    paths.splice(place..place, own);
    let read = |path: &PathBuf| image_file::read(path);
    Ok(LibraryFiles { files: paths.iter().map(read).collect::<Result<_, _>>()?, missing: Some(missing) })
}

/// Says which functions of snippets must be in libraries that are not at hand: a name that is written wrong is not told from these.
fn tell_of_unseen(functions: &[String], missing: &[String]) {
    if !functions.is_empty() && !missing.is_empty() {
        eprintln!(
            "tare: snippets call {}, which nothing that is found here has: the copy does not start unless {} has it\n      \
             try: instrument it where the library is (LD_LIBRARY_PATH), which tells a name that is written wrong",
            functions.join(", "),
            missing.join(" or ")
        );
    }
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
