//! An instrumented image can be held against its original later; what is wrong is found and named.

mod common;

use common::{Bench, at_levels, regions};
use iced_x86::{Decoder, DecoderOptions, Register};
use tare_code::{Program, Threads};
use tare_format::description::RegionKind;
use tare_image::Image;
use tare_image::lines::{Inside, Location};
use tare_rewrite::check::{CheckError, Checked, check, description};
use tare_rewrite::insertion::{Additions, Inserted, Place, Probes, Scope, Value};
use tare_rewrite::{Levels, Native, Output, Request, RewriteError, Selection, instrument};

/// Loops of one function, call sites of the next, and so on: what a filter may ask for.
const MIXED: [Levels; 4] = [
    Levels::ALL,
    Levels { loops: true, ..Levels::NONE },
    Levels { function: true, call_sites: true, ..Levels::NONE },
    Levels { function: true, loops: true, ..Levels::NONE },
];

struct Case {
    original: Vec<u8>,
    output: Output,
}

fn checked(original: &[u8], copy: &[u8]) -> Result<Checked, CheckError> {
    let image = Image::parse(original).expect("an image");
    let program = Program::analyse(&image).expect("code");
    check(&image, &program, copy, None)
}

fn instrumented(original: &[u8], threads: usize, poison: bool) -> Output {
    let image = Image::parse(original).expect("an image");
    let program = Program::analyse_on(&image, Threads::of(threads)).expect("code");
    let levels = |index: usize| MIXED[index % MIXED.len()];
    let selected: Vec<Selection> = (0..program.functions.len()).map(|index| Selection { levels: levels(index), ..Selection::of(index) }).collect();
    let build_id: String = image.build_id().unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect();
    let threads = Some(Threads::of(threads));
    let request = Request {
        selected: &selected,
        path: "/some/where/program",
        origin: Some("/some/where"),
        build_id: &build_id,
        poison,
        threads,
        ..Request::default()
    };
    instrument(&image, &program, &request, &Native).expect("it can be instrumented")
}

fn case(flags: &str, poison: bool) -> Case {
    let bench = Bench::new();
    let original =
        std::fs::read(bench.build("exceptions.cpp", &format!("{flags} -pthread -std=c++17 -Wl,--build-id"), "original")).expect("the program");
    let output = instrumented(&original, 1, poison);
    Case { original, output }
}

#[test]
fn what_was_written_passes() {
    for flags in ["-O0", "-O2 -no-pie", "-O2 -static-pie", "-O3 -s"] {
        for poison in [false, true] {
            let case = case(flags, poison);
            let found = checked(&case.original, &case.output.bytes);
            let expected = Checked { regions: case.output.regions, sites: case.output.sites, is_poisoned: poison };
            assert_eq!(found, Ok(expected), "{flags}");
        }
    }
}

/// Where most functions are no longer than the jump at their entry, few bytes tell whether the rest was overwritten.
#[test]
fn copies_of_programs_of_tiny_functions_pass_poisoned_or_not() {
    let bench = Bench::new();
    for flags in ["-O2", "-O2 -fcf-protection"] {
        let original = std::fs::read(bench.build("tiny.c", &format!("{flags} -Wl,--build-id"), "original")).expect("the program");
        for poison in [false, true] {
            let output = instrumented(&original, 1, poison);
            let expected = Checked { regions: output.regions, sites: output.sites, is_poisoned: poison };
            assert_eq!(checked(&original, &output.bytes), Ok(expected), "{flags} {poison}");
        }
    }
}

#[test]
fn a_loop_that_begins_with_a_call_keeps_a_line_of_its_own() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("met.c", "-O2 -Wl,--build-id=none", "original")).expect("the program");
    let image = Image::parse(&original).expect("an image");
    let program = Program::analyse(&image).expect("code");
    let main = program.functions.iter().position(|one| one.name == "main").expect("its function");
    // With iterations as well, the call would be refused for its depth.
    let selected = [Selection { levels: Levels { iterations: false, ..Levels::ALL }, ..Selection::of(main) }];
    let source = |inside: Inside<'_>| {
        let line = match inside {
            Inside::Call(_) => 12,
            Inside::Loop { back_edges, .. } => 10 + back_edges.len() as u32,
        };
        Some(Location { file: "met.c".to_owned(), line })
    };
    let request = Request { selected: &selected, source: Some(&source), path: "/some/where/met", ..Request::default() };
    let output = instrument(&image, &program, &request, &Native).expect("it can be instrumented");
    let inside = regions(&output.bytes).into_iter().filter(|region| region.kind != RegionKind::Function);
    let places: Vec<(RegionKind, u64, u32)> = inside.map(|region| (region.kind, region.address, region.line)).collect();
    let begin = places.first().map_or(0, |place| place.1);
    assert_eq!(places, [(RegionKind::Loop, begin, 11), (RegionKind::CallSite, begin, 12)]);
    assert_eq!(checked(&original, &output.bytes).map(|found| found.regions), Ok(output.regions));
}

/// Loops that are refused leave the call in them refused for its depth, which it would not have if nobody had asked for
/// loops.
#[test]
fn regions_that_are_refused_because_of_others_are_so_again() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("uneven.c", "-O1 -Wl,--build-id=none", "original")).expect("the program");
    let image = Image::parse(&original).expect("an image");
    let program = Program::analyse(&image).expect("code");
    let index = program.functions.iter().position(|one| one.name == "uneven").expect("its function");
    let output = at_levels(&original, Levels::ALL, false);
    let own = |scope: fn(&Scope) -> bool| output.refused_sites.iter().filter(|one| one.function == index && scope(&one.scope)).count();
    assert_eq!(own(|scope| matches!(scope, Scope::Loop(_))), 3, "{:?}", output.refused_sites);
    assert!(own(|scope| matches!(scope, Scope::CallSite(_))) > 0, "{:?}", output.refused_sites);
    assert_eq!(checked(&original, &output.bytes).map(|found| found.regions), Ok(output.regions));
}

#[test]
fn every_flipped_byte_is_found_where_it_is() {
    let Case { original, output } = case("-O2", false);
    let length = output.bytes.len();
    let mut bytes = output.bytes.clone();
    let mut others = 0;
    for offset in (0..length).step_by(length / 150) {
        bytes[offset] ^= 0x20;
        match checked(&original, &bytes) {
            Ok(_) => panic!("a changed byte at {offset:#x} was not seen"),
            Err(CheckError::Wrong { offset: found, place, .. }) if place != "its description" => assert_eq!(found, offset as u64),
            // Headers, note and description lead to all the rest.
            Err(_) => others += 1,
        }
        bytes[offset] ^= 0x20;
    }
    assert!(others < 30, "{others} are not said to be where they are");
    bytes.push(0);
    assert!(matches!(checked(&original, &bytes), Err(CheckError::Wrong { offset, .. }) if offset == length as u64));
    assert!(checked(&original, &output.bytes[..length - 10]).is_err());
}

#[test]
fn every_flipped_byte_of_the_description_is_found() {
    const INFO: &str = ".tare.info";
    let Case { original, output } = case("-O2", false);
    let image = Image::parse(&output.bytes).expect("an image");
    let section = image.sections().iter().find(|section| section.name == INFO).expect("a section");
    let place = section.offset as usize..(section.offset + section.size) as usize;
    let mut bytes = output.bytes.clone();
    for offset in place.clone() {
        bytes[offset] ^= 0x20;
        let found = checked(&original, &bytes);
        let is_named = |place: &str| place == "its description" || place.ends_with(INFO);
        assert!(matches!(&found, Err(CheckError::Wrong { place, .. }) if is_named(place)), "{:#x}: {found:?}", offset - place.start);
        bytes[offset] ^= 0x20;
    }
}

#[test]
fn wrong_code_is_named_with_its_function() {
    let Case { original, output } = case("-O2", false);
    let image = Image::parse(&output.bytes).expect("an image");
    let main = image.symbols().iter().rfind(|symbol| symbol.name == "main").expect("the copy of main");
    let offset = image.offset_of(main.address + main.size / 2).expect("in the file");
    let mut bytes = output.bytes.clone();
    bytes[usize::try_from(offset).expect("small")] ^= 0x11;
    let found = checked(&original, &bytes);
    assert!(matches!(&found, Err(CheckError::Wrong { place, .. }) if place == "main"), "{found:?}");
}

#[test]
fn other_originals_and_other_files_are_told_apart() {
    let one = case("-O2", false);
    let other = case("-O1", false);
    assert!(matches!(checked(&other.original, &one.output.bytes), Err(CheckError::OtherBuild { .. })));
    assert!(matches!(checked(&one.original, &one.original), Err(CheckError::NotInstrumented { .. })));
    assert!(matches!(checked(&one.original, b"no image"), Err(CheckError::NotInstrumented { .. })));
    let image = Image::parse(&one.output.bytes).expect("an image");
    assert_eq!(description(&image).expect("its description").path, "/some/where/program");
}

#[test]
fn the_same_bytes_come_from_every_run_and_number_of_threads() {
    let git = std::fs::read("/usr/bin/git").expect("git is installed by `make test`");
    let expected = at_levels(&git, Levels::ALL, false).bytes;
    assert!(expected == at_levels(&git, Levels::ALL, false).bytes, "two runs differ");
    let expected = instrumented(&git, 1, false).bytes;
    for threads in [2, 3] {
        assert!(expected == instrumented(&git, threads, false).bytes, "{threads} threads");
    }
}

/// An analysis that does not know of a way into the middle of a function moves that as if there were none.
#[test]
fn a_jump_to_where_a_moved_function_was_is_found() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("shared.c", "-O1", "original")).expect("the program");
    let image = Image::parse(&original).expect("an image");
    let sound = Program::analyse(&image).expect("code");
    let write = |program: &Program| {
        let selected: Vec<Selection> = (0..program.functions.len()).map(Selection::of).collect();
        instrument(&image, program, &Request { selected: &selected, threads: Some(Threads::of(1)), ..Request::default() }, &Native)
    };
    let output = write(&sound).expect("it can be instrumented");
    let is_moved = |name: &str| output.refusals.iter().all(|one| one.name != name);
    let entered: Vec<usize> = (0..sound.functions.len()).filter(|&index| !sound.functions[index].other_entries.is_empty()).collect();
    let mut found = 0;
    for index in entered {
        let mut program = Program::analyse(&image).expect("code");
        let ways = std::mem::take(&mut program.functions[index].other_entries);
        let from: Vec<usize> = ways.iter().flat_map(|&way| sound.branching_into(way)).collect();
        if !is_moved(&sound.functions[index].name) || !from.iter().any(|&one| is_moved(&sound.functions[one].name)) {
            continue;
        }
        let Err(RewriteError::Check { function, what, .. }) = write(&program) else { panic!("{} is left", sound.functions[index].name) };
        assert!(what.contains("where a moved function was"), "{what}");
        assert!(from.iter().any(|&one| sound.functions[one].name == function), "{function}");
        found += 1;
    }
    assert!(found > 0, "no function is entered in its middle");
}

/// Our probes with something wrong in their stubs, of which what is expected of the image knows nothing.
struct Damaged(Additions);

impl Probes for Damaged {
    fn additions(&self) -> Additions {
        self.0.clone()
    }

    fn inserted(&self, function: usize, places: &[Place]) -> Inserted {
        Native.inserted(function, places)
    }
}

/// One stub tested a word that was no slot of its image, and programs crashed that ran without the runtime.
#[test]
fn a_stub_that_uses_another_word_than_is_agreed_is_found() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("control.c", "-O1", "original")).expect("the program");
    let image = Image::parse(&original).expect("an image");
    let program = Program::analyse(&image).expect("code");
    let main = program.functions.iter().position(|one| one.name == "main").expect("its function");
    let request = Request { selected: &[Selection::of(main)], threads: Some(Threads::of(1)), ..Request::default() };
    let write = |additions: Additions| instrument(&image, &program, &request, &Damaged(additions)).map(|_| ());
    let sound = Native.additions();
    assert_eq!(write(sound.clone()), Ok(()));
    let mut tried = 0;
    let mut expect_fault = |additions: Additions, what: String| {
        tried += 1;
        assert!(matches!(write(additions), Err(RewriteError::Check { .. })), "{what}");
    };
    for (index, &(at, tail, value)) in sound.fields.iter().enumerate() {
        let Value::Slots(slot) = value else { panic!("a field of a stub refers to no slot") };
        for other in [0, 8, 16, 24, 28, 32, 40, 48, 56, 64].into_iter().filter(|&other| other != slot) {
            let mut damaged = sound.clone();
            damaged.fields[index] = (at, tail, Value::Slots(other));
            expect_fault(damaged, format!("{at:#x} refers to {other}"));
        }
        let mut damaged = sound.clone();
        damaged.fields.remove(index);
        expect_fault(damaged, format!("{at:#x} is missed"));
    }
    let fields = sound.fields.len();
    for at in places_of_numbers(&sound) {
        for change in [1, 7, 8, 0x10, 0x80_u8] {
            let mut damaged = sound.clone();
            damaged.code[at] ^= change;
            expect_fault(damaged, format!("{at:#x} is changed by {change:#x}"));
        }
    }
    assert!(tried > fields * 10 + 50, "{tried} of {fields}");
}

/// Where in the code of the stubs it stands what lies so far behind the return address, and where in the thread's state.
fn places_of_numbers(additions: &Additions) -> Vec<usize> {
    let ends = additions.stubs.iter().skip(1).copied().chain([additions.code.len() as u32]);
    let mut places = Vec::new();
    for (&start, end) in additions.stubs.iter().zip(ends) {
        let bytes = &additions.code[start as usize..end as usize];
        let mut decoder = Decoder::with_ip(64, bytes, u64::from(start), DecoderOptions::NONE);
        while decoder.can_decode() {
            let one = decoder.decode();
            let is_number = one.op0_register() == Register::R11D && !one.is_ip_rel_memory_operand();
            let offsets = decoder.get_constant_offsets(&one);
            if (is_number || one.segment_prefix() == Register::FS) && offsets.has_displacement() {
                places.push(one.ip() as usize + offsets.displacement_offset());
            }
        }
    }
    places
}
