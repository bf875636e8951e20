//! An instrumented image that exists, held against its original.
//!
//! All that a copy with the probes of our own runtime depends on stands in its description: which regions it has, and under which
//! path the original was. Of other probes, which stand nowhere, the caller says what they are and where. From that and the
//! original, the copy is made once more. The given file has to pass the check of a new one, which
//! decodes its code and compares every instruction with the original's; at each of them frames have to be unwound as in
//! the original; and it has to be equal to the new one byte by byte, which covers all that is not code.

use std::collections::{BTreeMap, BTreeSet};

use tare_code::{ENDBR64, Program, Threads};
use tare_format::description::{Description, FLAG_CALL_SITES, FLAG_ITERATIONS, FLAG_LEAF, FLAG_LOOPS, Region, RegionKind};
use tare_image::Image;
use tare_image::lines::{Inside, Location};

use crate::begin::Begin;
use crate::insertion::Probes;
use crate::{Clock, Levels, Native, Regions, Request, RewriteError, Selection, Source, Written, verify, write_image};

/// Why an image is not what instrumenting its original gives.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It has no note of ours, or none that leads to a description.
    #[error("it is no instrumented copy: {what}")]
    NotInstrumented {
        /// What is missing.
        what: &'static str,
    },
    /// The original is another build.
    #[error("it was made from build {expected}, and the original is build {found}")]
    OtherBuild {
        /// Build id in the description.
        expected: String,
        /// Build id of the original.
        found: String,
    },
    /// The original does not have a function that the description names.
    #[error("the original has no code of {} at {address:#x}", tare_image::demangle(name))]
    OtherCode {
        /// Name of the function.
        name: String,
        /// Link address.
        address: u64,
    },
    /// It has more or fewer regions than what it is made of again.
    #[error("it has {found} regions, and what was asked for gives {expected}")]
    OtherChoice {
        /// Regions of the copy that was made again.
        expected: usize,
        /// Regions in the description.
        found: usize,
    },
    /// The copy cannot be made again.
    #[error("the original cannot be instrumented in the same way: {0}")]
    Rewrite(RewriteError),
    /// Something in it is not as it should be.
    #[error("wrong in {place} at offset {offset:#x}: {what}")]
    Wrong {
        /// Name of the function as people write it, or what else it is in.
        place: String,
        /// Position in the file of the first byte that is wrong.
        offset: u64,
        /// What was found.
        what: String,
    },
}

/// What was found to be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Regions by what they are.
    pub regions: Regions,
    /// Probe sites.
    pub sites: usize,
    /// Whether the original bodies are traps.
    pub is_poisoned: bool,
}

/// The description that an instrumented image carries.
///
/// # Errors
/// Where the image is not instrumented, or its description cannot be read.
pub fn description(image: &Image<'_>) -> Result<Description, CheckError> {
    verify::note::read(image).map(|read| read.description.to_description()).map_err(|fault| match fault.address {
        0 => CheckError::NotInstrumented { what: fault.what },
        at => CheckError::Wrong { place: "its description".to_owned(), offset: image.offset_of(at).unwrap_or(at), what: fault.what.to_owned() },
    })
}

/// What a copy was made with, where its description does not hold that: probes other than our own runtime's.
#[derive(Clone, Copy)]
pub struct Made<'a> {
    /// The functions in which they are.
    pub selected: &'a [Selection],
    /// Where loops and call sites of the original are in the source.
    pub source: &'a Source<'a>,
    /// The probes.
    pub probes: &'a dyn Probes,
}

/// Holds an instrumented image with the probes of our own runtime against its original.
///
/// # Errors
/// What is wrong first.
pub fn check(original: &Image<'_>, program: &Program, bytes: &[u8], threads: Option<Threads>) -> Result<Checked, CheckError> {
    let copy = Copy::read(original, bytes)?;
    let selected = selections(program, &copy.description)?;
    let places = places(&copy.description);
    let source = |inside: Inside<'_>| places.get(&Begin::of(inside)).cloned();
    copy.compare(original, program, &Made { selected: &selected, source: &source, probes: &Native }, threads)
}

/// Holds an instrumented image with other probes against its original.
///
/// # Errors
/// What is wrong first.
pub fn check_made(original: &Image<'_>, program: &Program, bytes: &[u8], made: &Made<'_>, threads: Option<Threads>) -> Result<Checked, CheckError> {
    Copy::read(original, bytes)?.compare(original, program, made, threads)
}

/// The image that is checked.
struct Copy<'data> {
    bytes: &'data [u8],
    image: Image<'data>,
    description: Description,
}

impl<'data> Copy<'data> {
    /// Reads a copy that was made from the same build as the original is.
    fn read(original: &Image<'_>, bytes: &'data [u8]) -> Result<Self, CheckError> {
        let image = Image::parse(bytes).map_err(|_| CheckError::NotInstrumented { what: "it cannot be read as an ELF file" })?;
        let description = description(&image)?;
        same_build(original, &description)?;
        Ok(Self { bytes, image, description })
    }

    /// Makes it once more, and compares.
    fn compare(&self, original: &Image<'_>, program: &Program, made: &Made<'_>, threads: Option<Threads>) -> Result<Checked, CheckError> {
        let Self { bytes, image, description } = self;
        let request = Request {
            selected: made.selected,
            source: Some(made.source),
            origin: description.path.rsplit_once('/').map(|(folder, _)| if folder.is_empty() { "/" } else { folder }),
            path: &description.path,
            build_id: &description.build_id,
            poison: is_poisoned(original, program, image, description),
            threads,
        };
        let again = write_image(original, program, &request, made.probes, &mut Clock::new()).map_err(CheckError::Rewrite)?;
        same_number(description, &again)?;
        let claims = verify::Claims { unwinds_all: true, ..again.claims(&request) };
        let verified = verify::verify(original, program, bytes, &claims, request.threads());
        same_bytes(original, program, bytes, &again, &verified)?;
        verified.map_err(|error| wrong(image, error))?;
        Ok(Checked { regions: Regions::count(&again.moved), sites: again.sites(), is_poisoned: request.poison })
    }
}

fn same_build(original: &Image<'_>, description: &Description) -> Result<(), CheckError> {
    let found = original.build_id_text();
    let expected = description.build_id.clone();
    if found == expected { Ok(()) } else { Err(CheckError::OtherBuild { expected: or_none(expected), found: or_none(found) }) }
}

/// Copies with more or fewer regions were made with another choice.
fn same_number(description: &Description, again: &Written) -> Result<(), CheckError> {
    let (expected, found) = (again.moved.iter().map(|one| one.regions.len()).sum(), description.regions.len());
    if found == expected { Ok(()) } else { Err(CheckError::OtherChoice { expected, found }) }
}

fn or_none(id: String) -> String {
    if id.is_empty() { "without an id".to_owned() } else { id }
}

/// What was asked for of functions that have regions.
fn selections(program: &Program, description: &Description) -> Result<Vec<Selection>, CheckError> {
    let mut found: BTreeMap<usize, Selection> = BTreeMap::new();
    for region in &description.regions {
        let is_function = region.kind == RegionKind::Function;
        let index = if is_function { program.function_entered_at(region.address) } else { program.function_at(region.address) };
        let name = if is_function { &region.name } else { &region.owner };
        let function = index.filter(|&index| program.functions.get(index).is_some_and(|function| function.name == *name));
        let index = function.ok_or_else(|| CheckError::OtherCode { name: name.clone(), address: region.address })?;
        let one = found.entry(index).or_insert_with(|| Selection { levels: Levels::NONE, ..Selection::of(index) });
        let has = |flag| region.flags & flag != 0;
        let function = one.levels.function || is_function;
        one.levels = Levels { function, loops: has(FLAG_LOOPS), iterations: has(FLAG_ITERATIONS), call_sites: has(FLAG_CALL_SITES) };
        if is_function {
            one.is_leaf = has(FLAG_LEAF);
            one.file.clone_from(&region.file);
            (one.line, one.last_line) = (region.line, region.last_line);
        }
    }
    Ok(found.into_values().collect())
}

/// Source places of loops and call sites.
fn places(description: &Description) -> BTreeMap<Begin, Location> {
    let known = description.regions.iter().filter(|region| !region.file.is_empty() || region.line != 0);
    let place = |region: &Region| Some((Begin::of_region(region)?, Location { file: region.file.clone(), line: region.line }));
    known.filter_map(place).collect()
}

/// Whether more of what stands behind the entries of moved functions is traps than what the original has there. Jumps are neither, so that
/// functions that are no longer than one say nothing.
fn is_poisoned(original: &Image<'_>, program: &Program, image: &Image<'_>, description: &Description) -> bool {
    const TRAP: u8 = 0xcc;
    const LEAST_JUMP: usize = 2;
    let moved: BTreeSet<usize> = description.regions.iter().filter_map(|region| program.function_at(region.address)).collect();
    let parts = moved.into_iter().filter_map(|one| program.functions.get(one)).flat_map(|function| &function.parts);
    let (mut traps, mut kept) = (0_usize, 0_usize);
    for part in parts {
        let length = part.end - part.start;
        let (Some(was), Some(is)) = (original.bytes_at(part.start, length), image.bytes_at(part.start, length)) else { continue };
        let entry = LEAST_JUMP + if was.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
        for (was, is) in was.iter().zip(is).skip(entry).filter(|(was, _)| **was != TRAP) {
            traps += usize::from(*is == TRAP);
            kept += usize::from(is == was);
        }
    }
    traps > kept
}

fn wrong(image: &Image<'_>, error: RewriteError) -> CheckError {
    match error {
        RewriteError::Check { function, address, what } => {
            CheckError::Wrong { place: function, offset: image.offset_of(address).unwrap_or(address), what: what.to_owned() }
        }
        other => CheckError::Rewrite(other),
    }
}

/// The first byte that differs is wrong; the check of the code may know what that does.
fn same_bytes(original: &Image<'_>, program: &Program, bytes: &[u8], again: &Written, verified: &Result<(), RewriteError>) -> Result<(), CheckError> {
    let expected = [&again.bytes, original.appended()].concat();
    if expected == bytes {
        return Ok(());
    }
    let at = expected.iter().zip(bytes).position(|(expected, found)| expected != found);
    let offset = at.unwrap_or_else(|| expected.len().min(bytes.len())) as u64;
    let what = match (at, verified) {
        (None, _) if bytes.len() < expected.len() => "the file ends early".to_owned(),
        (None, _) => "there is more behind its end".to_owned(),
        (_, Err(RewriteError::Check { function, address, what })) => format!("{what} (in {function} at {address:#x})"),
        _ => "a byte is not as it was written".to_owned(),
    };
    Err(CheckError::Wrong { place: place(program, again, offset), offset, what })
}

/// What is at a position of the copy as it should be.
fn place(program: &Program, again: &Written, offset: u64) -> String {
    let Ok(image) = Image::parse(&again.bytes) else { return "the file".to_owned() };
    let segments = image.segments().iter().filter(|one| one.is_loaded());
    let address = segments.filter_map(|one| offset.checked_sub(one.offset).filter(|&at| at < one.file_size).map(|at| one.address + at)).next();
    let moved = |address: u64| {
        let holds = |one: &&crate::plan::Moved| {
            one.copies().flat_map(|copy| &copy.fragments).any(|part| (part.address..part.address + u64::from(part.length())).contains(&address))
        };
        again.moved.iter().find(holds).map(|one| one.function)
    };
    let function = address.and_then(|address| moved(address).or_else(|| program.function_at(address)));
    if let Some(function) = function.and_then(|index| program.functions.get(index)) {
        return tare_image::demangle(&function.name).into_owned();
    }
    let section = image.sections().iter().find(|one| one.kind != SHT_NOBITS && (one.offset..one.offset + one.size).contains(&offset));
    section.map_or_else(|| "the headers".to_owned(), |section| format!("section {}", section.name))
}

const SHT_NOBITS: u32 = 8;
