//! Binary rewriting: whole functions are copied behind the original, with probes at their entry and every exit.
//!
//! The phases, in order: `plan` (which functions, and their copies), `layout` (addresses of everything new,
//! unwind tables), `write` (the file), `verify` (the file read back and held against the original).
//! In the original text only a five-byte jump at each moved entry changes.
//!
//! What is absent: nothing here chooses what to measure, opens a file, or re-encodes an instruction.

pub mod adapter;
mod addresses;
mod assemble;
mod copies;
mod decode;
mod elf;
mod emit;
mod error;
mod layout;
mod plan;
mod reason;
mod sites;
pub mod snippet;
mod springboards;
mod unwind;
mod verify;
mod write;

use std::time::{Duration, Instant};

use tare_code::{Function, Program};
use tare_format::description::{Description, FLAG_LEAF, Region, RegionKind};
use tare_image::Image;

use elf::dynamic::{Paths, relocation_table_size};
use elf::head::Head;
pub use error::RewriteError;
use plan::Moved;
pub use reason::Reason;
use write::{Job, Start};

/// A function to be instrumented.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Its index in [`Program::functions`].
    pub function: usize,
    /// Whether no measured function can be called below it: it may then run in a copy without probes.
    pub is_leaf: bool,
    /// Source file; empty where unknown.
    pub file: String,
    /// First source line; 0 where unknown.
    pub line: u32,
    /// Last source line; 0 where unknown.
    pub last_line: u32,
}

impl Selection {
    /// The function with this index, nothing else known of it.
    #[must_use]
    pub fn of(function: usize) -> Self {
        Self { function, ..Self::default() }
    }
}

/// What is to be done to an image.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// The functions to be instrumented, in any order.
    pub selected: Vec<Selection>,
    /// Directory of the original: takes the place of `$ORIGIN` in the image's search paths.
    pub origin: Option<String>,
    /// Path of the original, for the description.
    pub path: String,
    /// Build id of the original in hexadecimal, for the description.
    pub build_id: String,
    /// Names the description among others.
    pub identity: [u8; 16],
    /// Whether the original bodies of moved functions are overwritten with traps, to show that none is entered.
    pub poison: bool,
}

/// How many functions there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// In the image.
    pub found: usize,
    /// Of these, wanted and not excluded by their nature (start-up code, ifunc resolvers).
    pub selected: usize,
    /// Of these, done.
    pub instrumented: usize,
    /// Of these, refused.
    pub refused: usize,
}

/// A selected function that was left as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Raw name.
    pub name: String,
    /// Link address of its entry.
    pub address: u64,
    /// Why.
    pub reason: Reason,
}

impl Refused {
    fn new(function: &Function, reason: Reason) -> Self {
        Self { name: function.name.clone(), address: function.entry, reason }
    }
}

/// The instrumented image and what was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The file.
    pub bytes: Vec<u8>,
    /// How many functions there were.
    pub functions: Counts,
    /// Selected functions that were left as they are, in order of their entries.
    pub refusals: Vec<Refused>,
    /// How long each phase took, in their order.
    pub phases: Vec<(&'static str, Duration)>,
    /// Probe sites in the image.
    pub sites: usize,
}

/// Writes an instrumented copy of an image.
///
/// # Errors
/// Where the image as a whole cannot be extended, or the result fails its check. Functions that cannot be
/// moved are refused one by one instead.
pub fn instrument(image: &Image<'_>, program: &Program, request: &Request) -> Result<Output, RewriteError> {
    let mut clock = Clock::new();
    let (written, refusals) = write_image(image, program, request, &mut clock)?;
    verify::verify(image, program, &written.bytes, &written.claims)?;
    clock.phase("verify");
    Ok(Output {
        functions: counts(program, written.claims.functions.len(), &refusals),
        sites: written.sites,
        bytes: written.bytes,
        refusals,
        phases: clock.phases,
    })
}

/// A written image that has not been checked.
struct Written {
    bytes: Vec<u8>,
    claims: verify::Claims,
    sites: usize,
}

/// All phases but the last.
fn write_image(image: &Image<'_>, program: &Program, request: &Request, clock: &mut Clock) -> Result<(Written, Vec<Refused>), RewriteError> {
    let (chosen, mut refusals) = plan::choose(image, program, request)?;
    let (mut moved, kept) = plan::lift_all(image, program, &chosen);
    refusals.extend(kept);
    refusals.sort_by_key(|one| one.address);
    clock.phase("plan");

    let description = description(program, request, &moved).to_bytes();
    let paths = Paths::new(image, request.origin.as_deref());
    let head = Head::arrange(image, description.len() as u64, paths.strings.len() as u64);
    let start = Start::choose(image, &head);
    let relocations = relocation_table_size(image).unwrap_or(0);
    let (layout, unwind) = layout::assign(image, &mut moved, start.address, head.size, relocations)?;
    clock.phase("layout");

    let job = Job {
        image,
        program,
        moved: &moved,
        head: &head,
        start,
        layout: &layout,
        unwind: &unwind,
        description: &description,
        paths: &paths,
        identity: request.identity,
        poison: request.poison,
    };
    let bytes = job.write()?;
    clock.phase("write");
    let fragments = moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.fragments);
    let sites = fragments.map(|fragment| fragment.sites.len()).sum();
    Ok((Written { bytes, claims: claims(&moved, &layout), sites }, refusals))
}

fn counts(program: &Program, instrumented: usize, refusals: &[Refused]) -> Counts {
    let refused = refusals.iter().filter(|one| !one.reason.is_by_nature()).count();
    Counts { found: program.functions.len(), selected: instrumented + refused, instrumented, refused }
}

fn description(program: &Program, request: &Request, moved: &[Moved]) -> Description {
    let mut details = vec![None; program.functions.len()];
    for selection in &request.selected {
        if let Some(place) = details.get_mut(selection.function) {
            *place = Some(selection);
        }
    }
    let region = |one: &Moved| {
        let function = program.functions.get(one.function)?;
        let details = details.get(one.function).copied().flatten()?;
        Some(Region {
            kind: RegionKind::Function,
            flags: if one.clean.is_some() { FLAG_LEAF } else { 0 },
            name: function.name.clone(),
            file: details.file.clone(),
            line: details.line,
            last_line: details.last_line,
            address: function.entry,
            size: function.size(),
        })
    };
    Description {
        identity: request.identity,
        path: request.path.clone(),
        build_id: request.build_id.clone(),
        regions: moved.iter().filter_map(region).collect(),
    }
}

/// What the check is told: where the copies are said to be.
fn claims(moved: &[Moved], layout: &layout::Layout) -> verify::Claims {
    let copy = |one: &copies::FunctionCopy| verify::Copy {
        fragments: one
            .fragments
            .iter()
            .map(|fragment| (fragment.original.clone(), fragment.address..fragment.address + u64::from(fragment.length())))
            .collect(),
        tables: one
            .tables
            .iter()
            .map(|table| verify::Table { original: table.original, copy: table.address, form: table.form, entries: table.targets.len() as u64 })
            .collect(),
    };
    verify::Claims {
        stubs: copies::SiteKind::ALL.map(|kind| layout.stubs() + sites::stub_offset(kind)),
        functions: moved
            .iter()
            .map(|one| verify::Claim {
                function: one.function,
                id: one.id,
                springboard: one.springboard.at,
                probed: copy(&one.probed),
                clean: one.clean.as_ref().map(copy),
            })
            .collect(),
    }
}

/// Takes the time of phases.
struct Clock {
    last: Instant,
    phases: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn new() -> Self {
        Self { last: Instant::now(), phases: Vec::new() }
    }

    fn phase(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases.push((name, now - self.last));
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "int twice(int x) { return 2 * x; }
int pick(int x) {
    switch (x) { case 0: return 5; case 1: return twice(x); case 2: return 7 * x; case 3: return x ^ 3;
                 case 4: return 99; case 5: return 3; case 6: return 12; default: return -1; }
}
int main(int count, char **words) { (void)words; return pick(count) + (count > 2 ? twice(count) : 0); }";

    /// A small program, position-independent or not.
    fn program(flags: &[&str]) -> Vec<u8> {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let source = directory.path().join("small.c");
        std::fs::write(&source, SOURCE).expect("room for the source");
        let out = directory.path().join("small");
        let done = std::process::Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&out).status();
        assert!(done.expect("gcc starts").success());
        std::fs::read(&out).expect("the program is there")
    }

    #[test]
    fn the_check_sees_every_changed_byte_of_moved_code() {
        for flags in [["-O1", "-fPIE", "-pie"], ["-O0", "-fno-pie", "-no-pie"]] {
            let data = program(&flags);
            let image = Image::parse(&data).expect("an image");
            let code = Program::analyse(&image).expect("there is code");
            let selected = (0..code.functions.len()).map(Selection::of).collect();
            let request = Request { selected, ..Request::default() };
            let (mut written, _) = write_image(&image, &code, &request, &mut Clock::new()).expect("it is written");
            assert_eq!(verify::verify(&image, &code, &written.bytes, &written.claims), Ok(()));
            let copy = Image::parse(&written.bytes).expect("an image");
            let places: Vec<u64> = written.claims.functions.iter().flat_map(|one| one.probed.places()).collect();
            let places: Vec<usize> = places.into_iter().filter_map(|at| usize::try_from(copy.offset_of(at)?).ok()).collect();
            assert!(places.len() > 100, "there is little to change");
            for place in places {
                let byte = written.bytes[place];
                written.bytes[place] = byte ^ 0x11;
                let checked = verify::verify(&image, &code, &written.bytes, &written.claims);
                assert!(checked.is_err(), "{flags:?}: a changed byte at {place:#x} was not seen");
                written.bytes[place] = byte;
            }
        }
    }
}
