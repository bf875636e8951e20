//! Binary rewriting: whole functions are copied behind the original, with probes at their entry and every exit, at
//! their loops and their call sites.
//!
//! The phases, in order: `plan` (which functions, and their copies), `layout` (addresses of everything new,
//! unwind tables), `write` (the file), `verify` (the file read back and held against the original).
//! In the original text only a five-byte jump at each moved entry changes.
//!
//! What is absent: nothing here chooses what to measure, opens a file, or re-encodes an instruction.

pub mod adapter;
mod addresses;
mod assemble;
mod begin;
pub mod check;
mod copies;
mod decode;
mod describe;
mod displacement;
mod elf;
mod emit;
mod error;
pub mod insertion;
mod layout;
mod native;
mod plan;
mod points;
mod reason;
pub mod snippet;
mod springboards;
mod unwind;
mod verify;
mod write;

use std::time::{Duration, Instant};

use tare_code::{Function, Program, Threads};
use tare_format::description::{make_room_for_questions, set_questions};
use tare_image::lines::{Inside, Location};
use tare_image::{Image, Kind};

use elf::dynamic::{Paths, relocation_table_size};
use elf::head::Head;
use elf::imports::Imports;
pub use elf::imports::is_c_library;
use elf::threads::ThreadLocals;
pub use error::RewriteError;
use insertion::{Additions, Probes, Scope};
use layout::Layout;
pub use native::Native;
use plan::{Lifting, Moved};
pub use points::Levels;
pub use reason::{Reason, SiteReason};
use write::{Job, Start};

/// A function to be instrumented.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Its index in [`Program::functions`].
    pub function: usize,
    /// Whether no measured function can be called below it: it may then run in a copy without probes.
    pub is_leaf: bool,
    /// What of it is instrumented.
    pub levels: Levels,
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

/// Finds the source places of loops and call sites of an image.
pub type Source<'a> = dyn Fn(Inside<'_>) -> Option<Location> + 'a;

/// What is to be done to an image.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// The functions to be instrumented, in any order.
    pub selected: &'a [Selection],
    /// Finds the source places of loops and call sites.
    pub source: Option<&'a Source<'a>>,
    /// Directory of the original: takes the place of `$ORIGIN` in the image's search paths.
    pub origin: Option<&'a str>,
    /// Path of the original, for the description.
    pub path: &'a str,
    /// Build id of the original in hexadecimal, for the description.
    pub build_id: &'a str,
    /// Whether the original bodies of moved functions are overwritten with traps, to show that none is entered.
    pub poison: bool,
    /// How many threads may work at once: where nothing is said, one for each processor. The result is the same.
    pub threads: Option<Threads>,
}

impl Request<'_> {
    pub(crate) fn threads(&self) -> Threads {
        self.threads.unwrap_or_else(Threads::available)
    }
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

/// How many regions there are of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    /// Functions.
    pub functions: usize,
    /// Loops.
    pub loops: usize,
    /// Loops whose iterations are regions.
    pub iterations: usize,
    /// Call sites.
    pub call_sites: usize,
}

impl Regions {
    fn count(moved: &[Moved]) -> Self {
        let mut counted = Self::default();
        for region in moved.iter().flat_map(|one| &one.regions) {
            match region.scope {
                Scope::Function => counted.functions += 1,
                Scope::Loop(_) => counted.loops += 1,
                Scope::Iteration(_) => counted.iterations += 1,
                Scope::CallSite(_) => counted.call_sites += 1,
            }
        }
        counted
    }
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

/// A loop or a call site of an instrumented function that was left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedSite {
    /// Index of the function.
    pub function: usize,
    /// Which of its regions.
    pub scope: Scope,
    /// Link address of the loop's header or the call.
    pub address: u64,
    /// Why.
    pub reason: SiteReason,
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
    /// Loops and call sites of instrumented functions that were left alone, in order of the functions.
    pub refused_sites: Vec<RefusedSite>,
    /// Regions in the image, by what they are.
    pub regions: Regions,
    /// How long each phase took, in their order.
    pub phases: Vec<(&'static str, Duration)>,
    /// Probe sites in the image.
    pub sites: usize,
}

/// Writes an instrumented copy of an image, with probes of a kind.
///
/// # Errors
/// Where the image as a whole cannot be extended, or the result fails its check. Functions that cannot be
/// moved are refused one by one instead.
pub fn instrument(image: &Image<'_>, program: &Program, request: &Request<'_>, probes: &dyn Probes) -> Result<Output, RewriteError> {
    if has_fixed_heap(image) {
        return Err(RewriteError::Heap);
    }
    let mut clock = Clock::new();
    let mut written = write_image(image, program, request, probes, &mut clock)?;
    written.moved.iter_mut().flat_map(Moved::copies_mut).for_each(copies::FunctionCopy::forget_code);
    verify::verify(image, program, &written.bytes, &written.claims(request), request.threads())?;
    clock.phase("verify");
    Ok(Output {
        functions: counts(program, written.moved.len(), &written.refusals),
        sites: written.sites(),
        regions: Regions::count(&written.moved),
        refused_sites: written.moved.iter().flat_map(|one| one.refused.iter().copied()).collect(),
        bytes: written.bytes,
        refusals: written.refusals,
        phases: clock.phases,
    })
}

/// Whether a program wants its heap directly behind its data, as those do that were dumped from their own memory (GNU Common Lisp): Linux
/// begins it behind the last segment.
fn has_fixed_heap(image: &Image<'_>) -> bool {
    let uses = |name: &str| image.symbols().iter().any(|symbol| symbol.name == name && symbol.is_dynamic && !symbol.is_defined);
    matches!(image.kind(), Kind::NonPie) && uses("personality") && (uses("sbrk") || uses("brk"))
}

/// A written image that has not been checked.
struct Written {
    bytes: Vec<u8>,
    moved: Vec<Moved>,
    refusals: Vec<Refused>,
    additions: Additions,
    layout: Layout,
}

impl Written {
    /// What the check is told: where everything is said to be.
    fn claims<'a>(&'a self, request: &Request<'a>) -> verify::Claims<'a> {
        verify::Claims::new(&self.moved, &self.additions, &self.layout, request)
    }

    /// How many probe sites there are.
    fn sites(&self) -> usize {
        self.moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.fragments).map(|fragment| fragment.sites.len()).sum()
    }
}

/// All phases but the last.
fn write_image(image: &Image<'_>, program: &Program, request: &Request<'_>, probes: &dyn Probes, clock: &mut Clock) -> Result<Written, RewriteError> {
    let (chosen, mut refusals) = plan::choose(image, program, request)?;
    let mut additions = probes.additions();
    let (mut moved, kept) = plan::lift_all(&Lifting { image, program, probes, threads: request.threads() }, &chosen);
    refusals.extend(kept);
    refusals.sort_by_key(|one| one.address);
    clock.phase("plan");

    let mut description = describe::description(image, program, request, &moved).to_bytes();
    let questions = describe::questions(image, program, &moved);
    make_room_for_questions(&mut description, describe::in_copies(&questions, &moved));
    let paths = Paths::new(image, request.origin);
    let thread_locals = ThreadLocals::arrange(image, &additions.thread_variables, &mut moved)?;
    if let Some(own) = &thread_locals {
        own.tell(&mut additions);
    }
    let empty = Layout { thread_locals, ..Layout::default() };
    let head = Head::arrange(image, &empty, description.len() as u64, paths.strings.len() as u64);
    let start = Start::choose(image, &head);
    let relocations = relocation_table_size(image).unwrap_or(0);
    let imports = Imports::new(image, &additions)?;
    let needs = layout::Needs {
        additions: &additions,
        start: start.address,
        head: head.size,
        relocations,
        imports: imports.bytes.len() as u64,
        dynamic: imports.dynamic_size(image),
    };
    let (layout, unwind) = layout::assign(image, &mut moved, empty, &needs)?;
    moved.iter_mut().for_each(Moved::fill_variables);
    set_questions(&mut description, &describe::places(&questions, &moved));
    let identity = describe::seal(&mut description);
    clock.phase("layout");

    let job = Job {
        image,
        program,
        moved: &moved,
        additions: &additions,
        head: &head,
        start,
        layout: &layout,
        unwind: &unwind,
        description: &description,
        paths: &paths,
        imports: &imports,
        identity,
        poison: request.poison,
    };
    let bytes = job.write()?;
    clock.phase("write");
    Ok(Written { bytes, moved, refusals, additions, layout })
}

fn counts(program: &Program, instrumented: usize, refusals: &[Refused]) -> Counts {
    let refused = refusals.iter().filter(|one| !one.reason.is_by_nature()).count();
    Counts { found: program.functions.len(), selected: instrumented + refused, instrumented, refused }
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
        compiled("gcc", "c", SOURCE, flags)
    }

    fn compiled(compiler: &str, extension: &str, text: &str, flags: &[&str]) -> Vec<u8> {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let source = directory.path().join(format!("small.{extension}"));
        std::fs::write(&source, text).expect("room for the source");
        let out = directory.path().join("small");
        let done = std::process::Command::new(compiler).args(flags).arg(&source).arg("-o").arg(&out).status();
        assert!(done.expect("gcc starts").success());
        std::fs::read(&out).expect("the program is there")
    }

    #[test]
    fn the_check_sees_changed_initial_values_of_thread_local_variables() {
        let source = "__thread int one = 0x1234, other; int main(void) { return one + other; }";
        let data = compiled("gcc", "c", source, &["-O1"]);
        let image = Image::parse(&data).expect("an image");
        let code = Program::analyse(&image).expect("there is code");
        let selected = [Selection::of(code.main().expect("main"))];
        let request = Request { selected: &selected, ..Request::default() };
        let written = write_image(&image, &code, &request, &Native, &mut Clock::new()).expect("it is written");
        let place = written.bytes.windows(4).position(|word| word == [0x34, 0x12, 0, 0]).expect("the initial value");
        let mut bytes = written.bytes.clone();
        bytes[place] ^= 1;
        let checked = verify::verify(&image, &code, &bytes, &written.claims(&request), Threads::of(1));
        assert!(matches!(checked, Err(RewriteError::Check { what: "initial values of thread-local variables differ", .. })), "{checked:?}");
    }

    const CATCHING: &str = "#include <stdexcept>
#include <string>
struct Guard { int *n; ~Guard() { ++*n; } };
__attribute__((noinline)) int may(int x) { if (x > 3) throw std::runtime_error(std::to_string(x)); if (x < 0) throw x; return x; }
__attribute__((noinline)) int tries(int x, int *n) {
    try { Guard guard{n}; return may(x) + may(x + 1); } catch (const std::exception &e) { return (int)e.what()[0]; } catch (int y) { return y; }
}
int main(int count, char **) { int n = 0; return tries(count, &n) + tries(-count, &n) + n; }";

    #[test]
    fn the_check_sees_every_wrong_landing_pad_and_type_of_an_exception_table() {
        let mut count = 0;
        for flags in [&["-O2", "-fPIE", "-pie"][..], &["-O0", "-fno-pie", "-no-pie"], &["-O2", "-fPIE", "-pie", "-mcmodel=large"]] {
            let data = compiled("g++", "cpp", CATCHING, flags);
            let image = Image::parse(&data).expect("an image");
            let code = Program::analyse(&image).expect("there is code");
            let selected: Vec<Selection> = (0..code.functions.len()).map(Selection::of).collect();
            let request = Request { selected: &selected, ..Request::default() };
            let written = write_image(&image, &code, &request, &Native, &mut Clock::new()).expect("it is written");
            let claims = written.claims(&request);
            let copy = Image::parse(&written.bytes).expect("an image");
            let frames = written.moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.frames);
            let fields = frames.filter_map(|frame| frame.exceptions.as_ref()).flat_map(|table| {
                let fields = table.landings.iter().map(|one| one.0).chain(table.types.iter().map(|one| one.0));
                fields.map(|at| table.address + u64::from(at))
            });
            let mut bytes = written.bytes.clone();
            for address in fields {
                let start = usize::try_from(copy.offset_of(address).expect("it is in the file")).expect("small");
                for place in start..start + 4 {
                    let byte = bytes[place];
                    bytes[place] = byte ^ 0x11;
                    let checked = verify::verify(&image, &code, &bytes, &claims, Threads::of(1));
                    assert!(checked.is_err(), "{flags:?}: byte {} of the field at {address:#x}", place - start);
                    bytes[place] = byte;
                    count += 1;
                }
            }
        }
        assert!(count > 4, "there is little to change");
    }

    /// Room between what is new, which nothing reads, with the note and the description in front of it, which are no code.
    fn padding(written: &Written) -> Vec<std::ops::Range<u64>> {
        let layout = &written.layout;
        let copies = written.moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.fragments);
        let mut used: Vec<_> = copies.map(|one| one.address..one.address + u64::from(one.length())).collect();
        let tables = written.moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.tables);
        used.extend(tables.map(|one| one.address..one.address + one.size()));
        used.push(layout.routines()..layout.routines() + written.additions.code.len() as u64);
        used.push(layout.frames.start..layout.frame_index.end);
        used.push(layout.data.start..layout.data.end);
        used.push(layout.start..layout.start);
        used.sort_by_key(|one| one.start);
        used.windows(2).map(|pair| pair[0].end..pair[1].start).filter(|room| room.start < room.end).collect()
    }

    /// Whether an address is among the last bytes of an unwind entry's instructions.
    fn ends_within(fde: &tare_image::Fde<'_>, address: u64, last: u64) -> bool {
        let end = fde.address + 17 + if fde.lsda.is_some() { 4 } else { 0 } + fde.instructions.len() as u64;
        (end.saturating_sub(last)..end).contains(&address)
    }

    #[test]
    fn the_check_sees_what_changed_of_all_that_is_loaded() {
        for flags in [&["-O1", "-fPIE", "-pie"][..], &["-O1", "-fno-pie", "-no-pie"]] {
            let data = compiled("g++", "cpp", CATCHING, flags);
            let image = Image::parse(&data).expect("an image");
            let code = Program::analyse(&image).expect("there is code");
            let selected: Vec<Selection> = (0..code.functions.len()).map(Selection::of).collect();
            let request = Request { selected: &selected, ..Request::default() };
            let written = write_image(&image, &code, &request, &Native, &mut Clock::new()).expect("it is written");
            // What is told by call-frame instructions as they stand is what the rows say that are made of them.
            let claims = [false, true].map(|unwinds_all| verify::Claims { unwinds_all, ..written.claims(&request) });
            let checked = |bytes: &[u8]| {
                let [one, other] = claims.each_ref().map(|claims| verify::verify(&image, &code, bytes, claims, Threads::of(1)));
                assert_eq!(one.is_ok(), other.is_ok(), "{flags:?}: {one:?} {other:?}");
                one
            };
            assert_eq!(checked(&written.bytes), Ok(()), "{flags:?}");
            let copy = Image::parse(&written.bytes).expect("an image");
            let mut padding = padding(&written);
            // Room behind the last entry of the dynamic section, and the alignment of a table that is only read.
            let dynamic = copy.segments().iter().find(|one| one.kind == elf::PT_DYNAMIC).expect("a dynamic section");
            padding.push(dynamic.address + 16 * copy.dynamic().entries().len() as u64..dynamic.address + dynamic.file_size);
            let index = copy.segments().iter().position(|one| one.kind == elf::PT_GNU_EH_FRAME).expect("an index") as u64;
            padding.push(copy.segment_table() + 56 * index + 48..copy.segment_table() + 56 * index + 56);
            let mut bytes = written.bytes.clone();
            let mut unseen = Vec::new();
            for segment in copy.segments().iter().filter(|one| one.is_loaded()) {
                for (place, address) in (segment.offset..segment.offset + segment.file_size).zip(segment.address..).step_by(3) {
                    let place = usize::try_from(place).expect("small");
                    let byte = bytes[place];
                    // What fills up unwind entries is zero; what stands in front of that is of no instruction any more.
                    let is_last = |fde: &tare_image::Fde<'_>| ends_within(fde, address, 12);
                    if written.layout.frames.contains(&address) && (byte == 0 || copy.fdes().iter().any(is_last)) {
                        continue;
                    }
                    bytes[place] = byte ^ 0x11;
                    if checked(&bytes).is_ok() && !padding.iter().any(|room| room.contains(&address)) {
                        unseen.push(address);
                    }
                    bytes[place] = byte;
                }
            }
            assert!(unseen.is_empty(), "{flags:?}: {unseen:x?}");
        }
    }

    #[test]
    fn the_check_sees_every_changed_byte_of_moved_code() {
        for flags in [["-O1", "-fPIE", "-pie"], ["-O0", "-fno-pie", "-no-pie"]] {
            let data = program(&flags);
            let image = Image::parse(&data).expect("an image");
            let code = Program::analyse(&image).expect("there is code");
            let levels = Levels::ALL;
            let selected: Vec<Selection> = (0..code.functions.len()).map(|index| Selection { levels, ..Selection::of(index) }).collect();
            let request = Request { selected: &selected, ..Request::default() };
            let written = write_image(&image, &code, &request, &Native, &mut Clock::new()).expect("it is written");
            let claims = written.claims(&request);
            assert_eq!(verify::verify(&image, &code, &written.bytes, &claims, Threads::of(1)), Ok(()));
            let copy = Image::parse(&written.bytes).expect("an image");
            let places: Vec<u64> = claims.functions.iter().flat_map(|one| one.probed().places()).collect();
            let places: Vec<usize> = places.into_iter().filter_map(|at| usize::try_from(copy.offset_of(at)?).ok()).collect();
            assert!(places.len() > 100, "there is little to change");
            let mut bytes = written.bytes.clone();
            for place in places {
                let byte = bytes[place];
                bytes[place] = byte ^ 0x11;
                let checked = verify::verify(&image, &code, &bytes, &claims, Threads::of(1));
                assert!(checked.is_err(), "{flags:?}: a changed byte at {place:#x} was not seen");
                bytes[place] = byte;
            }
        }
    }
}
