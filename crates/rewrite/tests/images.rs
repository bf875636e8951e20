//! What else an instrumented image keeps and brings: search paths, libraries, notes, names, tools that read it.

mod common;

use std::process::Command;

use common::{Bench, all};
use tare_code::Program;
use tare_format::description::{Description, FLAG_LEAF};
use tare_format::note::{ImageNote, NOTE_TYPE};
use tare_image::Image;
use tare_rewrite::{Levels, Native, Reason, Request, Selection, instrument};

#[test]
fn the_description_lists_what_was_instrumented() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("control.c", "-O2", "original")).expect("the program");
    let output = all(&original, false);
    let image = Image::parse(&output.bytes).expect("an image");
    let note = image.notes().into_iter().find(|note| note.kind == NOTE_TYPE).expect("our note");
    let content = ImageNote::from_bytes(note.content).expect("of full length");
    let at = usize::try_from(note.content_offset).expect("small");
    let start = at.strict_add_signed(isize::try_from(content.description).expect("near"));
    let length = usize::try_from(content.description_length).expect("small");
    let description = Description::from_bytes(&output.bytes[start..start + length]).expect("a description");
    assert_eq!(description.regions.len(), output.functions.instrumented);
    assert_eq!(content.regions as usize, output.functions.instrumented);
    let is_leaf = |name: &str| {
        let region = description.regions.iter().find(|region| region.name == name);
        region.unwrap_or_else(|| panic!("{name} is not described")).flags & FLAG_LEAF != 0
    };
    assert!(is_leaf("leaf") && is_leaf("nothing") && !is_leaf("main") && !is_leaf("fibonacci"));
}

#[test]
fn the_rest_of_the_text_is_untouched() {
    let bench = Bench::new();
    let original = std::fs::read(bench.build("control.c", "-O2", "original")).expect("the program");
    let output = all(&original, false);
    let before = Image::parse(&original).expect("an image");
    let after = Image::parse(&output.bytes).expect("an image");
    let text = before.section(".text").expect("text");
    let bytes = |image: &Image<'_>| image.bytes_at(text.address, text.size).expect("text").to_vec();
    let differing = bytes(&before).iter().zip(bytes(&after)).filter(|(a, b)| **a != *b).count();
    assert!(differing <= 5 * output.functions.instrumented, "{differing} bytes of text differ");
}

/// As Go's linker writes it: the section of the build id stands outside of the segment of notes.
#[test]
fn a_note_that_no_segment_tells_of_stays_where_it_is() {
    let bench = Bench::new();
    // A long one leaves room for program headers.
    let original = bench.build("control.c", &format!("-O2 -Wl,--build-id=0x{}", "5a".repeat(300)), "original");
    let mut data = std::fs::read(&original).expect("the program");
    let outcome = bench.run(&original);
    let (table, outside) = {
        let image = Image::parse(&data).expect("an image");
        let tag = image.section(".note.ABI-tag").expect("a note");
        let holder = image.segments().iter().find(|one| one.kind == 4 && one.offset < tag.offset && tag.offset < one.offset + one.file_size);
        let holder = holder.expect("a segment with two notes");
        let index = image.segments().iter().position(|one| one == holder).expect("it is among them");
        (usize::try_from(image.segment_table()).expect("small") + 56 * index, (tag.offset - holder.offset, tag.address, tag.size))
    };
    for size_at in [32, 40] {
        data[table + size_at..table + size_at + 8].copy_from_slice(&outside.0.to_le_bytes());
    }
    std::fs::write(&original, &data).expect("room for the program");
    let (copy, output) = bench.instrument(&original, "copy", Levels::FUNCTION, false);
    let (before, after) = (Image::parse(&data).expect("an image"), Image::parse(&output.bytes).expect("an image"));
    assert_eq!(after.bytes_at(outside.1, outside.2), before.bytes_at(outside.1, outside.2));
    assert_eq!(bench.run(&copy), outcome);
}

#[test]
fn search_paths_name_the_directory_of_the_original() {
    let bench = Bench::new();
    for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
        let data = std::fs::read(bench.build("control.c", &format!("-O1 -Wl,-rpath,$ORIGIN/../lib:/opt {tags}"), "a"));
        let data = data.expect("the program");
        let image = Image::parse(&data).expect("an image");
        let program = Program::analyse(&image).expect("code");
        let selected = vec![Selection::of(program.main().expect("main"))];
        let request = Request { selected: &selected, origin: Some("/home/someone/bin"), ..Request::default() };
        let output = instrument(&image, &program, &request, &Native).expect("it can be instrumented");
        let copy = Image::parse(&output.bytes).expect("an image");
        let position = copy.dynamic().value(29).or(copy.dynamic().value(15));
        let address = copy.dynamic().string_table() + position.expect("a search path");
        let bytes = copy.bytes_from(address).expect("within the image");
        assert!(bytes.starts_with(b"/home/someone/bin/../lib:/opt:/dev/null/$ORIGIN\0"), "{tags}");
    }
}

#[test]
fn a_library_runs_in_the_place_of_its_original() {
    let bench = Bench::new();
    let library = bench.build("library.cpp", "-O2 -fPIC -shared -std=c++17", "libshapes.so");
    let program = bench.build("user.cpp", "-O2 -std=c++17 -L. -lshapes -Wl,-rpath,$ORIGIN", "user");
    let expected = bench.run(&program);
    assert_eq!(expected.status, Some(0));
    for poison in [false, true] {
        let (copy, output) = bench.instrument(&library, "copy.so", Levels::ALL, poison);
        assert!(output.functions.instrumented >= 4, "{:?}", output.functions);
        let kept = std::fs::read(&library).expect("the library");
        std::fs::copy(&copy, &library).expect("it can be replaced");
        assert_eq!(bench.run(&program), expected, "poison: {poison}");
        std::fs::write(&library, kept).expect("it can be put back");
    }
}

#[test]
fn zeros_of_a_library_are_not_in_its_copy() {
    let bench = Bench::new();
    let flags = "-O2 -fPIC -shared -std=c++17 -DROOM -Wl,-soname,libshapes.so -Wl,--build-id=none";
    let library = bench.build("library.cpp", flags, "libshapes.so");
    let program = bench.build("user.cpp", "-O2 -std=c++17 -L. -lshapes -Wl,-rpath,$ORIGIN", "user");
    let expected = bench.run(&program);
    let (copy, output) = bench.instrument(&library, "copy.so", Levels::ALL, false);
    let image = Image::parse(&output.bytes).expect("an image");
    assert_ne!(image.segment_table(), 64, "there was room for more headers");
    assert!(output.bytes.len() < 1 << 20, "{} bytes", output.bytes.len());
    std::fs::copy(&copy, &library).expect("it can be replaced");
    assert_eq!(bench.run(&program), expected);
}

#[test]
fn strip_and_objcopy_still_work_on_dynamic_programs() {
    let bench = Bench::new();
    for flags in ["-O2", "-O2 -no-pie"] {
        let original = bench.build("exceptions.cpp", &format!("{flags} -g -pthread -std=c++17"), "original");
        let expected = bench.run(&original);
        let (copy, _) = bench.instrument(&original, "copy", Levels::ALL, false);
        for tool in [["strip", "-o"], ["objcopy", "--strip-debug"]] {
            let out = bench.path("processed");
            let mut command = Command::new(tool[0]);
            command.arg(tool[1]);
            if tool[0] == "strip" {
                command.arg(&out).arg(&copy)
            } else {
                command.arg(&copy).arg(&out)
            };
            assert!(command.status().expect("the tool starts").success(), "{tool:?} {flags}");
            assert_eq!(bench.run(&out), expected, "{tool:?} {flags}");
        }
    }
}

#[test]
fn programs_of_which_notes_have_been_removed_are_instrumented() {
    let bench = Bench::new();
    for flags in ["-O2", "-O2 -no-pie"] {
        let whole = bench.build("control.c", flags, "whole");
        let expected = bench.run(&whole);
        for notes in [".note.gnu.build-id", ".note.ABI-tag", ".note.gnu.property", ".note*"] {
            let original = bench.path("original");
            let status = Command::new("strip").args(["-R", notes, "-o"]).arg(&original).arg(&whole).status().expect("strip starts");
            assert!(status.success(), "{notes} {flags}");
            let (copy, _) = bench.instrument(&original, "copy", Levels::ALL, false);
            assert_eq!(bench.run(&copy), expected, "{notes} {flags}");
        }
    }
}

#[test]
fn moved_code_has_names() {
    let bench = Bench::new();
    let original = bench.build("control.c", "-O2", "original");
    for strip in [false, true] {
        if strip {
            assert!(Command::new("strip").arg(&original).status().expect("strip starts").success());
        }
        let output = all(&std::fs::read(&original).expect("the program"), false);
        let image = Image::parse(&output.bytes).expect("an image");
        let count = |name: &str| image.symbols().iter().filter(|symbol| symbol.name == name).count();
        assert_eq!(count("tare_stub_exit"), 1, "stripped: {strip}");
        // The original, and the copy with probes; of a leaf there is one without as well.
        assert_eq!((count("main"), count("leaf")), if strip { (1, 0) } else { (2, 3) }, "stripped: {strip}");
        let strings = image.section(".strtab").expect("strings");
        let strings = &output.bytes[usize::try_from(strings.offset).expect("small")..][..usize::try_from(strings.size).expect("small")];
        assert_eq!(strings.windows(6).filter(|bytes| *bytes == b"\0main\0").count(), 1, "stripped: {strip}");
    }
}

#[test]
fn start_up_code_is_refused_with_its_reason() {
    let bench = Bench::new();
    let output = all(&std::fs::read(bench.build("control.c", "-O2", "original")).expect("the program"), false);
    let start = output.refusals.iter().find(|one| one.name == "_start").expect("_start is listed");
    assert!(start.reason.is_by_nature() && start.reason != Reason::ShortEntry);
    assert_eq!(output.functions.refused, 0);
    assert_eq!(output.functions.selected, output.functions.instrumented);
}
