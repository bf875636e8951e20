//! The files that hold what a stripped or small image leaves out: symbols and debug information.
//!
//! They are looked for where distributions and debuggers keep them: by build id below the debug directories
//! (`TARE_DEBUG_PATH`, by default `/usr/lib/debug`) and in the cache of debuginfod; by the name that the
//! image gives, beside it, in `.debug` beside it, in the debug directories and below them; split files where the compiler left
//! them, beside the image, and in the same directories. Nothing is downloaded.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use tare_image::debug::{DebugFile, DebugLink, DebugSections, Inflation, SharedFile, SplitUnit, embedded_symbols};
use tare_image::{Image, hexadecimal};

/// What names the directories with debug files.
const SETTING: &str = "TARE_DEBUG_PATH";

/// The directories with debug files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DebugPath(Vec<PathBuf>);

impl DebugPath {
    /// As the environment says, or where debug files are installed.
    pub(crate) fn of_environment() -> Self {
        std::env::var_os(SETTING).map_or_else(|| Self(vec![PathBuf::from("/usr/lib/debug")]), |value| Self::parse(&value))
    }

    /// Directories with colons between them.
    pub(crate) fn parse(value: &OsStr) -> Self {
        Self(std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect())
    }

    /// Where a file that belongs to an image may be: in the directories, or as far below them as the image is below the root.
    fn places(&self, image: &Path, name: &Path) -> Vec<PathBuf> {
        let home = image.parent().unwrap_or(Path::new("/"));
        let below_root = home.strip_prefix("/").unwrap_or(home);
        let name = name.strip_prefix("/").unwrap_or(name);
        self.0.iter().flat_map(|directory| [directory.join(name), directory.join(below_root).join(name)]).collect()
    }
}

/// The files that were found for an image, and what was not.
#[derive(Default)]
pub(crate) struct DebugFiles {
    separate: Option<Opened>,
    shared: Option<Opened>,
    split: Vec<Opened>,
    /// Symbols that the image itself keeps compressed.
    embedded: Option<Vec<u8>>,
    missing: Vec<String>,
    /// Files whose compressed debug sections would become too large, with the reason.
    inflated: Vec<(PathBuf, Inflation)>,
}

impl DebugFiles {
    /// Looks for all files that belong to an image.
    pub(crate) fn find(path: &Path, image: &[u8], debug_path: &DebugPath) -> Self {
        let mut found = Self::default();
        let Some(file) = DebugFile::parse(image) else { return found };
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        found.embedded = match embedded_symbols(&file) {
            Some(Ok(bytes)) => Some(bytes),
            Some(Err(error)) => {
                found.missing.push(format!("its embedded symbols cannot be read: {error}"));
                None
            }
            None => None,
        };
        let mut home = path.clone();
        if !file.has_dwarf() {
            match separate(&path, &file, debug_path) {
                Found::At(file) => {
                    home.clone_from(&file.path);
                    found.separate = Some(file);
                }
                Found::Missing(what) => found.missing.push(what),
                Found::NotWanted => {}
            }
        }
        let (shared, split) = {
            let with_dwarf = found.separate.as_deref().and_then(DebugFile::parse).unwrap_or(file);
            let shared = with_dwarf.shared_file().map(|wanted| (shared(&home, wanted, debug_path), wanted.path.to_string()));
            let split = DebugSections::in_file(&with_dwarf).split_units();
            (shared, split)
        };
        match shared {
            Some((None, name)) => found.missing.push(format!("debug information that it shares with others is not here ({name})")),
            Some((shared, _)) => found.shared = shared,
            None => {}
        }
        found.add_split(&path, &home, &split, debug_path);
        found.inflated = found.inflated(&path, image);
        found
    }

    /// The files, the image first, whose compressed debug sections are not read, as they would become too large.
    fn inflated(&self, path: &Path, image: &[u8]) -> Vec<(PathBuf, Inflation)> {
        let others = self.separate.iter().chain(&self.shared).chain(&self.split).map(|file| (file.path.as_path(), &**file));
        let inflation = |(path, bytes): (&Path, &[u8])| Some((path.to_path_buf(), DebugFile::parse(bytes)?.inflation()?));
        std::iter::once((path, image)).chain(others).filter_map(inflation).collect()
    }

    /// The separate debug file.
    pub(crate) fn separate(&self) -> Option<DebugFile<'_>> {
        self.separate.as_deref().and_then(DebugFile::parse)
    }

    /// Files with symbols, the fullest first.
    pub(crate) fn with_symbols(&self) -> Option<DebugFile<'_>> {
        self.separate().filter(|file| !file.symbols().is_empty()).or_else(|| self.embedded.as_deref().and_then(DebugFile::parse))
    }

    /// The debug sections of an image: its own, or those of its separate file, with what shared and split files hold.
    pub(crate) fn sections<'data>(&'data self, image: &Image<'data>) -> DebugSections<'data> {
        let mut sections = self.separate().map_or_else(|| DebugSections::of(image), |file| DebugSections::in_file(&file));
        if let Some(file) = self.shared.as_deref().and_then(DebugFile::parse) {
            sections.add_shared(&file);
        }
        for file in self.split.iter().filter_map(|file| DebugFile::parse(file)) {
            sections.add_split(&file);
        }
        sections
    }

    /// Says in one line what was not found, and in one for each file what is not read.
    pub(crate) fn say_missing(&self, path: &Path) {
        if !self.missing.is_empty() {
            eprintln!("tare: {}: {}", path.display(), self.missing.join("; "));
            eprintln!("      try: install its debug symbols, or name their directory in {SETTING}");
        }
        for (file, inflation) in &self.inflated {
            eprintln!("tare: {}: {inflation}", file.display());
            eprintln!(
                "      try: objcopy --decompress-debug-sections, if they are that large; if not, the file is damaged: build or install it again"
            );
        }
    }

    /// One package beside the image, or a file for each unit.
    fn add_split(&mut self, path: &Path, home: &Path, units: &[SplitUnit], debug_path: &DebugPath) {
        if units.is_empty() {
            return;
        }
        let beside = [path, home].into_iter().map(Path::to_path_buf);
        let below = debug_path.places(path, path.file_name().unwrap_or_default().as_ref());
        let package = beside.chain(below).find_map(|place| open(&with_suffix(&place, ".dwp")));
        if let Some(package) = package {
            self.split.push(package);
            return;
        }
        let (mut missing, mut strange) = (Vec::new(), Vec::new());
        for unit in units {
            match split_file(path, unit, debug_path) {
                Some(file) if holds(&file, unit) => self.split.push(file),
                Some(file) => strange.push(file.path.display().to_string()),
                None => missing.push(unit.path.clone()),
            }
        }
        for (files, what) in [(missing, "is not here"), (strange, "is of another build, or damaged")] {
            if let Some(first) = files.first() {
                let others = if files.len() > 1 { format!(" and {} others", files.len() - 1) } else { String::new() };
                self.missing.push(format!("split debug information {what} ({first}{others})"));
            }
        }
    }
}

/// Whether a file is that of a split unit; one whose sections are too large to be read is said to be that elsewhere.
fn holds(file: &[u8], unit: &SplitUnit) -> bool {
    DebugFile::parse(file).is_some_and(|file| file.inflation().is_some() || unit.is_in(&file))
}

/// The outcome of a search.
enum Found {
    At(Opened),
    /// What is missing, in words.
    Missing(String),
    NotWanted,
}

/// The separate debug file of an image: the one with its build id, and by name alone the one with the checksum that it names.
fn separate(path: &Path, file: &DebugFile<'_>, debug_path: &DebugPath) -> Found {
    let link = file.debug_link();
    let id = file.build_id();
    let by_id = id.into_iter().flat_map(|id| build_id_places(id, debug_path)).map(|place| (place, None));
    let by_name = link.iter().flat_map(|link| name_places(path, link, debug_path).into_iter().map(|place| (place, Some(link.crc))));
    let places: Vec<(PathBuf, Option<u32>)> = by_id.chain(by_name).filter(|(place, _)| place != path).collect();
    let mut refused = Vec::new();
    for (place, crc) in &places {
        let Some(opened) = open(place) else { continue };
        let Some(candidate) = DebugFile::parse(&opened) else { continue };
        match stranger(id, candidate.build_id(), *crc, &opened) {
            Some(why) => refused.push(format!("{} {why}", place.display())),
            None if candidate.has_dwarf() | !candidate.symbols().is_empty() => return Found::At(opened),
            None => {}
        }
    }
    let Some(link) = link else {
        return if refused.is_empty() { Found::NotWanted } else { Found::Missing(refused.join(", ")) };
    };
    if !refused.is_empty() {
        return Found::Missing(format!("its debug information is in another file, {}, and {}", link.name, refused.join(", ")));
    }
    let mut searched: Vec<String> = places.iter().filter_map(|(place, _)| Some(place.parent()?.display().to_string())).collect();
    searched.sort_unstable();
    searched.dedup();
    Found::Missing(format!("its debug information is in another file, {}, which is not here: neither in {}", link.name, searched.join(" nor in ")))
}

/// Why a debug file is not that of an image, if it is not. One that is found by its name has the checksum that the image gives.
fn stranger(id: Option<&[u8]>, other: Option<&[u8]>, crc: Option<u32>, bytes: &[u8]) -> Option<String> {
    match (id, other) {
        (Some(id), Some(other)) if id != other => {
            Some(format!("is of another build: its build id is {}, and that of the image {}", hexadecimal(other), hexadecimal(id)))
        }
        _ => {
            let found = crc32fast::hash(bytes);
            let wanted = crc.filter(|&wanted| wanted != found)?;
            Some(format!("was changed: its checksum is {found:08x}, and the one that the image names {wanted:08x}"))
        }
    }
}

/// Where a file with a build id may be.
fn build_id_places(id: &[u8], debug_path: &DebugPath) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_first() else { return Vec::new() };
    let (first, rest) = (hexadecimal(&[*first]), hexadecimal(rest));
    let mut places: Vec<PathBuf> =
        debug_path.0.iter().map(|directory| directory.join(".build-id").join(&first).join(format!("{rest}.debug"))).collect();
    let cache = std::env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from);
    let cache = cache.or_else(|| {
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
        Some(home?.join("debuginfod_client"))
    });
    places.extend(cache.map(|cache| cache.join(format!("{first}{rest}")).join("debuginfo")));
    places
}

/// Where a file that is named by a link may be.
fn name_places(path: &Path, link: &DebugLink<'_>, debug_path: &DebugPath) -> Vec<PathBuf> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut places = vec![directory.join(link.name), directory.join(".debug").join(link.name)];
    places.extend(debug_path.places(path, Path::new(link.name)));
    places
}

/// The file that a debug file shares with others; it must have the build id that is named.
fn shared(home: &Path, wanted: SharedFile<'_>, debug_path: &DebugPath) -> Option<Opened> {
    let directory = home.parent().unwrap_or(Path::new("/"));
    let named = std::iter::once(directory.join(wanted.path));
    named.chain(build_id_places(wanted.build_id, debug_path)).find_map(|place| {
        let opened = open(&place)?;
        let is_it = DebugFile::parse(&opened)?.build_id().is_none_or(|id| id == wanted.build_id);
        is_it.then_some(opened)
    })
}

/// The split file of a unit: where the compiler left it, beside the image, or below the debug directories.
fn split_file(path: &Path, unit: &SplitUnit, debug_path: &DebugPath) -> Option<Opened> {
    let name = Path::new(&unit.path);
    let beside = path.parent().unwrap_or(Path::new("/"));
    let last = Path::new(name.file_name()?);
    let usual = [Path::new(&unit.directory).join(name), beside.join(name), beside.join(last)];
    let below = [name, last].into_iter().flat_map(|name| debug_path.places(path, name));
    usual.into_iter().chain(below).find_map(|place| open(&place))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that was found.
struct Opened {
    path: PathBuf,
    bytes: Mmap,
}

impl Deref for Opened {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A file, if it is one that may be read.
fn open(path: &Path) -> Option<Opened> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file() && about.len() > 0))?;
    // SAFETY: debug files are written once and replaced by renaming; nobody shortens them while they are read.
    let bytes = unsafe { Mmap::map(&file) }.ok()?;
    Some(Opened { path: path.to_path_buf(), bytes })
}
