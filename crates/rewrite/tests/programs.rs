//! Programs behave the same with every function instrumented, also when the original bodies are traps.

mod common;

use common::{Bench, Count};
use tare_image::Image;
use tare_rewrite::{Levels, Reason};

/// How the counts of a program balance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Balance {
    /// Every region is left as often as it is entered.
    Exact,
    /// Exceptions and jumps skip exits.
    Skips,
    /// It takes no preloaded library.
    Static,
}

fn check(source: &str, flags: &str, balance: Balance) {
    let bench = Bench::new();
    let original = bench.build(source, flags, "original");
    let expected = bench.run(&original);
    for (poison, levels) in [(false, Levels::FUNCTION), (true, Levels::FUNCTION), (true, Levels::ALL)] {
        let (copy, output) = bench.instrument(&original, "copy", levels, poison);
        assert!(output.functions.instrumented > 0, "{source} {flags}: nothing was instrumented");
        assert_eq!(bench.run(&copy), expected, "{source} {flags}, poison: {poison}, {levels:?}, without a runtime");
        if balance == Balance::Static {
            continue;
        }
        let (outcome, counts) = bench.count(&copy);
        assert_eq!(outcome, expected, "{source} {flags}, poison: {poison}, {levels:?}, under the runtime");
        assert!(!counts.is_empty(), "{source} {flags}: no probe was reached");
        for (region, count) in &counts {
            let Count { entries, exits, .. } = *count;
            let is_balanced = entries == exits || balance == Balance::Skips && entries > exits;
            assert!(is_balanced, "{source} {flags} {levels:?}: region {region} has {count:?}");
        }
    }
}

#[test]
fn ways_of_control_in_c() {
    for flags in ["-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -no-pie", "-O0 -no-pie", "-O2 -fcf-protection=full"] {
        check("control.c", flags, Balance::Exact);
    }
}

#[test]
fn ways_of_control_in_static_programs() {
    for flags in ["-O2 -static", "-O2 -static-pie"] {
        check("control.c", flags, Balance::Static);
    }
}

#[test]
fn jumps_out_of_calls() {
    for flags in ["-O0 -DJUMPS", "-O2 -DJUMPS", "-O2 -DJUMPS -no-pie -fcf-protection=full"] {
        check("control.c", flags, Balance::Skips);
    }
}

#[test]
fn programs_of_another_compiler() {
    for flags in ["-O0", "-O1 -fcf-protection=full", "-O2", "-O3 -no-pie"] {
        check("control.c", &format!("clang {flags}"), Balance::Exact);
    }
    check("exceptions.cpp", "clang++ -O2 -pthread -std=c++17", Balance::Skips);
}

#[test]
fn rust() {
    for flags in ["-Copt-level=0", "-Copt-level=3 -Ccodegen-units=1", "-Copt-level=2 -Crelocation-model=static"] {
        check("shapes.rs", &format!("rustc {flags} --edition 2021 -g -Aunused"), Balance::Skips);
    }
}

/// Local-exec, initial-exec, general-dynamic by call and by descriptor, local-dynamic.
#[test]
fn thread_local_variables_in_every_model() {
    for flags in ["-O0", "-O2 -no-pie", "-O2 -ftls-model=initial-exec", "-O2 -fPIC -ftls-model=global-dynamic -Wl,--no-relax"] {
        check("locals.c", &format!("{flags} -pthread"), Balance::Exact);
    }
    for flags in ["-O2 -fPIC -ftls-model=local-dynamic", "-O2 -fPIC -mtls-dialect=gnu2 -ftls-model=global-dynamic"] {
        check("locals.c", &format!("{flags} -pthread"), Balance::Exact);
    }
}

#[test]
fn what_loaders_kernels_and_assemblers_do() {
    for flags in ["-O0", "-O1 -no-pie", "-O2 -DVERSIONS", "-O3 -flto", "-O2 -fcf-protection=full -s", "clang -O2"] {
        check("special.c", flags, Balance::Skips);
    }
}

#[test]
fn subroutines_in_the_middle_of_what_calls_them_are_entries_of_it() {
    let bench = Bench::new();
    let original = bench.build("special.c", "-O2", "original");
    let (copy, output) = bench.instrument(&original, "copy", Levels::FUNCTION, true);
    let refused: Vec<&str> = output.refusals.iter().map(|one| one.name.as_str()).collect();
    assert!(refused.contains(&"next_letter") && !["four_times", "folded"].iter().any(|one| refused.contains(one)), "{refused:?}");
    let regions = common::regions(&output.bytes);
    let region = regions.iter().position(|one| one.name == "four_times").expect("its region");
    let (_, counts) = bench.count(&copy);
    let count = counts[&u32::try_from(region + 1).expect("few")];
    assert_eq!((count.entries + count.leaves, count.exits), (4, 4), "{count:?}");
}

#[test]
fn hardware_transactions_take_their_probes_along() {
    for flags in ["-O0", "-O2", "-O2 -no-pie", "-O2 -s", "clang -O2"] {
        check("transactions.c", flags, Balance::Exact);
    }
    check("transactions.c", "-O2 -static", Balance::Static);
    let bench = Bench::new();
    let (_, output) = bench.instrument(&bench.build("transactions.c", "-O2", "original"), "copy", Levels::ALL, true);
    assert_eq!(output.functions.selected, output.functions.instrumented, "{:?}", output.refusals);
}

/// Where neither a symbol nor an unwind entry says how far a function goes, it goes on behind them as well. A call of what always comes upon
/// a trap is taken for one that does not come back, and is not closed.
#[test]
fn code_behind_traps_whose_signals_are_caught() {
    for flags in ["-O2", "-O2 -fno-asynchronous-unwind-tables -s", "-Os -no-pie -fno-asynchronous-unwind-tables -s"] {
        check("traps.c", flags, Balance::Skips);
    }
}

/// Where a function is left by a jump from another one into it, neither is entered as often as it is left.
#[test]
fn jumps_out_of_nested_functions() {
    let stripped = "-s -fno-asynchronous-unwind-tables";
    for flags in ["-O2".to_owned(), format!("-O2 {stripped}"), format!("-O0 -no-pie {stripped}"), format!("-Os {stripped}")] {
        check("left.c", &format!("{flags} -z execstack"), Balance::Skips);
    }
}

#[test]
fn parts_that_several_functions_branch_to() {
    let bench = Bench::new();
    for flags in ["clang++ -O2 -fbasic-block-sections=all", "clang++ -O1 -fbasic-block-sections=all -no-pie"] {
        let original = bench.build("sections.cpp", flags, "original");
        for levels in [Levels::FUNCTION, Levels::ALL] {
            let (copy, _) = bench.instrument(&original, "copy", levels, true);
            assert_eq!(bench.run(&copy), bench.run(&original), "{flags} {levels:?}");
        }
    }
}

#[test]
fn relocations_in_packed_form() {
    check("control.c", "-O2 -Wl,-z,pack-relative-relocs", Balance::Exact);
}

#[test]
fn walks_over_the_stack_end_where_they_did() {
    for flags in ["-O2", "-O2 -no-pie", "-O0 -fomit-frame-pointer"] {
        check("backtrace.c", flags, Balance::Exact);
        check("backtrace.c", &format!("{flags} -static"), Balance::Static);
    }
    check("backtrace.c", "-O2 -static-pie", Balance::Static);
}

#[test]
fn threads_and_stacks_seen_from_signals() {
    for flags in ["-O0 -pthread", "-O2 -pthread", "-O2 -pthread -no-pie -fomit-frame-pointer"] {
        check("threads.c", flags, Balance::Exact);
    }
}

#[test]
fn exceptions_through_measured_frames() {
    for flags in ["-O0", "-O2", "-O3", "-Os", "-O2 -no-pie", "-O2 -flto", "-O2 -fcf-protection=full"] {
        check("exceptions.cpp", &format!("{flags} -pthread -std=c++17"), Balance::Skips);
    }
}

#[test]
fn programs_of_another_linker() {
    for flags in ["-O2", "-O0 -no-pie", "-O2 -s", "-O2 -no-pie -fcf-protection=full"] {
        check("control.c", &format!("{flags} -fuse-ld=mold"), Balance::Exact);
        check("exceptions.cpp", &format!("{flags} -fuse-ld=mold -pthread -std=c++17"), Balance::Skips);
    }
    check("exceptions.cpp", "-O2 -static -fuse-ld=mold -pthread -std=c++17", Balance::Static);
}

/// Tables stand at distances from the global offset table that were made for programs that are moved: what reads them is not understood, and
/// no tail call.
#[test]
fn tables_at_distances_in_programs_that_are_not_moved() {
    for flags in ["clang -O2 -fPIE -mcmodel=medium -no-pie", "clang -O2 -fPIE -mcmodel=large -no-pie", "clang -O0 -fPIE -mcmodel=medium -no-pie"] {
        check("control.c", flags, Balance::Exact);
        check("cases.c", flags, Balance::Exact);
    }
}

/// A branch that is never taken leads to where a part is empty, and another function begins, which a third one ends with.
#[test]
fn an_empty_part_at_the_start_of_another_function() {
    for flags in ["-O2", "-O2 -s", "-O1 -s"] {
        check("empty_part.c", flags, Balance::Exact);
        let bench = Bench::new();
        let (_, output) = bench.instrument(&bench.build("empty_part.c", flags, "original"), "copy", Levels::FUNCTION, true);
        assert_eq!((output.functions.selected, output.functions.instrumented), (4, 4), "{flags}");
    }
}

/// Where mold leaves zeros between functions, those of one byte have room for a jump.
#[test]
fn functions_of_one_byte_with_zeros_behind_them() {
    const APART: &str = "-O2 -ffunction-sections -fuse-ld=mold";
    check("short.c", APART, Balance::Exact);
    let bench = Bench::new();
    let (_, output) = bench.instrument(&bench.build("short.c", APART, "original"), "copy", Levels::FUNCTION, true);
    assert_eq!((output.functions.selected, output.functions.instrumented), (6, 6));
}

/// Compilers of this model find the global offset table from an instruction of the function's own; types stand at distances of eight
/// bytes.
#[test]
fn the_large_model_of_two_compilers_is_instrumented() {
    for flags in ["-O2 -fPIE -pie", "-O0 -fPIE -pie", "clang++ -O2 -fPIE -pie", "clang++ -O0 -fPIE -pie", "clang++ -O2 -no-pie"] {
        let bench = Bench::new();
        let original = bench.build("exceptions.cpp", &format!("{flags} -mcmodel=large -pthread -std=c++17"), "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let is_refused = |reason: Reason| output.refusals.iter().any(|one| one.reason == reason);
        assert!(!is_refused(Reason::LabelAddress) && !is_refused(Reason::ExceptionTable), "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

/// Cold parts end in indirect calls that do not come back, with the entry right behind.
#[test]
fn cold_parts_in_front_of_entries_in_the_large_model() {
    for flags in ["-O2 -no-pie -fno-pie", "-O2 -fPIC"] {
        check("cold.cpp", &format!("{flags} -mcmodel=large"), Balance::Skips);
    }
}

#[test]
fn exceptions_in_static_programs() {
    for flags in ["-O2 -static", "-O2 -static-pie"] {
        check("exceptions.cpp", &format!("{flags} -pthread -std=c++17"), Balance::Static);
    }
}

#[test]
fn code_that_functions_share_is_entered_where_they_branch() {
    for flags in ["-O2", "-O1 -no-pie -s", "-O2 -fcf-protection=full"] {
        check("shared.c", flags, Balance::Exact);
    }
    for flags in ["-O2 -static", "-O2 -static-pie"] {
        check("shared.c", flags, Balance::Static);
    }
    let bench = Bench::new();
    let original = bench.build("shared.c", "-O1 -static", "original");
    let (_, output) = bench.instrument(&original, "copy", Levels::FUNCTION, false);
    let refused = |name: &str| output.refusals.iter().any(|one| one.name == name);
    let (moved, kept): (Vec<&str>, Vec<&str>) = SHARING.into_iter().partition(|name| !refused(name));
    assert_eq!(kept, ["comparing", "with_flags", "below", "with_red_zone"], "{moved:?}");
}

#[test]
fn functions_that_only_jumps_lead_to_run_in_the_copy() {
    for flags in ["-O1 -s", "-O1 -no-pie -s", "-O1"] {
        check("entered.c", flags, Balance::Exact);
    }
}

#[test]
fn functions_that_nothing_is_known_to_lead_to_stay_where_they_are() {
    let bare = "-fno-asynchronous-unwind-tables -s";
    for flags in ["-O1 -s", "-O1 -no-pie -s", "-O1", &format!("-O1 -no-pie {bare}")] {
        check("hidden.c", flags, Balance::Skips);
    }
    for flags in ["-static", "-static-pie"] {
        check("hidden.c", &format!("-O1 {flags} {bare}"), Balance::Static);
    }
}

const SHARING: [&str; 15] = [
    "near",
    "past_start",
    "to_tail",
    "comparing",
    "with_flags",
    "below",
    "with_red_zone",
    "called",
    "branching",
    "calling",
    "skipping",
    "again",
    "_int_malloc",
    "__memmove_avx_unaligned_erms",
    "__memset_sse2_unaligned_erms",
];

#[test]
fn functions_that_check_where_calls_return_are_refused() {
    for flags in ["-O2", "-O1 -no-pie -fno-pie"] {
        let bench = Bench::new();
        let original = bench.build("control.c", &format!("clang {flags} -mspeculative-load-hardening"), "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let is_refused = |name: &str| output.refusals.iter().any(|one| one.name == name && one.reason == Reason::ReturnAddress);
        assert!(is_refused("fibonacci") && is_refused("main") && !is_refused("empty"), "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

#[test]
fn functions_that_hand_out_their_labels_are_refused() {
    for flags in [
        "-O2",
        "-O0",
        "-O2 -fcf-protection=full",
        "-O0 -no-pie -fno-pie",
        "-O1 -no-pie -fno-pie",
        "-O2 -no-pie -fno-pie -DNUMBERS",
        "-O2 -static -DNUMBERS",
        "clang -O2",
        "clang -O0",
        "clang -O0 -no-pie -fno-pie",
    ] {
        let bench = Bench::new();
        let original = bench.build("labels.c", flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let is_refused = |name: &str| output.refusals.iter().any(|one| one.name.starts_with(name) && one.reason == Reason::LabelAddress);
        let by_analysis = Reason::Analysis(tare_code::Refusal::UnknownJump);
        let is_unknown = |name: &str| output.refusals.iter().any(|one| one.name == name && one.reason == by_analysis);
        // Where a frame is saved with the address in the word in front of the stack pointer, the copy is gone back to.
        let saves_frame = ["-O2", "-O0", "-O2 -fcf-protection=full", "-O2 -static -DNUMBERS"].contains(&flags);
        assert!(is_refused("comes_back") != saves_frame && is_unknown("pushes"), "{flags}: {:?}", output.refusals);
        assert!(!is_refused("unwind") && !is_refused("takes"), "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

#[test]
fn saved_frames_are_gone_back_to_in_the_copy() {
    for flags in ["-O2", "-O0", "-Os -fno-asynchronous-unwind-tables"] {
        let bench = Bench::new();
        let original = bench.build("labels.c", flags, "original");
        for levels in [Levels::FUNCTION, Levels::ALL] {
            let (copy, output) = bench.instrument(&original, "copy", levels, true);
            let (outcome, counts) = bench.count(&copy);
            assert_eq!(outcome, bench.run(&original), "{flags}");
            let count = |name: &str| {
                let regions = common::regions(&output.bytes);
                let region = regions.iter().position(|one| one.name.starts_with(name));
                let region = region.unwrap_or_else(|| panic!("{flags}: no {name}, {:?}", output.refusals));
                let count = counts[&u32::try_from(region + 1).expect("few")];
                (count.entries, count.exits)
            };
            // It comes back ten times, out of 55 calls that do not.
            assert_eq!((count("comes_back"), count("unwind")), ((10, 10), (55, 0)), "{flags} {levels:?}");
        }
    }
}

#[test]
fn pointers_lead_to_marks_where_they_did() {
    const MARK: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    for flags in ["-O0 -fcf-protection=full", "clang -O0 -fcf-protection=full"] {
        let bench = Bench::new();
        let original = bench.build("labels.c", flags, "original");
        let (copy, _) = bench.instrument(&original, "copy", Levels::ALL, true);
        let (old, new) = (std::fs::read(&original).expect("the original"), std::fs::read(&copy).expect("the copy"));
        let (old, new) = (Image::parse(&old).expect("the original"), Image::parse(&new).expect("the copy"));
        // Entries of the copied tables are what the loader writes behind the original's end.
        let end = old.relocations().last().map_or(0, |last| last.address);
        let entries = new.relocations().iter().filter(|one| one.address > end).filter_map(|one| new.pointer_at(one.address));
        let targets: Vec<u64> = entries.filter(|&target| new.is_code(target)).collect();
        assert!(targets.len() >= 3, "{flags}: {targets:x?}");
        for target in targets {
            assert_eq!(new.bytes_at(target, 4), Some(MARK), "{flags}: {target:#x}");
        }
    }
}

#[test]
fn functions_that_nested_ones_leave_are_refused() {
    for flags in ["-O0", "-O1 -no-pie -fno-pie", "-O2", "-O3 -fcf-protection=full", "-O2 -no-pie -fno-pie -fcf-protection=full", "-O2 -static"] {
        let bench = Bench::new();
        let original = bench.build("nested.c", &format!("{flags} -z execstack"), "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let reason = Reason::Analysis(tare_code::Refusal::HeldElsewhere);
        let is_held = |name: &str| output.refusals.iter().any(|one| one.name == name && one.reason == reason);
        assert_eq!(["searches", "leaves_in_two_ways"].map(is_held), [true, true], "{flags}: {:?}", output.refusals);
        let is_refused = |name: &str| output.refusals.iter().any(|one| one.name.starts_with(name));
        assert!(!["comes_back", "add", "each", "main"].into_iter().any(is_refused), "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

#[test]
fn functions_into_which_tables_of_others_lead_are_refused() {
    for flags in ["-O1", "-O2 -no-pie -fno-pie", "-O1 -no-pie -fno-pie -DADDRESSES", "clang -O2 -static -DADDRESSES"] {
        let bench = Bench::new();
        let original = bench.build("strays.c", flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let reason = Reason::Analysis(tare_code::Refusal::HeldElsewhere);
        let is_held = |name: &str| output.refusals.iter().any(|one| one.name == name && one.reason == reason);
        assert_eq!(["middle", "beside", "main"].map(is_held), [true, false, false], "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

#[test]
fn functions_that_the_loader_writes_into_are_refused() {
    for flags in ["-O1", "-O2 -static-pie -Wl,-z,notext", "clang -O2 -fPIE -pie"] {
        let bench = Bench::new();
        let original = bench.build("relocated.c", flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let reason = Reason::Analysis(tare_code::Refusal::Relocated);
        let refused: Vec<&str> = output.refusals.iter().filter(|one| one.reason == reason).map(|one| one.name.as_str()).collect();
        assert_eq!(refused, ["relocated"], "{flags}");
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
    let bench = Bench::new();
    let original = bench.build("relocated.c", "-O1 -no-pie", "original");
    let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
    assert!(!output.refusals.iter().any(|one| one.name == "relocated"), "the linker has written there");
    assert_eq!(bench.run(&copy), bench.run(&original));
}

#[test]
fn functions_that_hand_over_more_than_registers_are_refused() {
    for flags in ["-O0", "-O2 -no-pie", "-O2 -static", "clang -O1"] {
        let bench = Bench::new();
        let original = bench.build("carried.c", flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let is_refused = |name: &&str| output.refusals.iter().any(|one| one.name == **name);
        let by_hand = ["compares", "adds_carry", "with_carry", "reads_below", "with_value_below", "leaves_below", "returns_below"];
        let over_bytes = ["over_a_byte", "calls_over_a_byte", "over_two_bytes", "calls_over_two_bytes"];
        assert!(by_hand.iter().chain(&over_bytes).all(is_refused), "{flags}: {:?}", output.refusals);
        let like_compiled = ["asks", "asks_twice", "stores_first", "fails_or_not", "fail", "three_more", "keeps_order"];
        assert!(!like_compiled.iter().any(is_refused), "{flags}: {:?}", output.refusals);
        assert_eq!(bench.run(&copy), bench.run(&original), "{flags}");
    }
}

#[test]
fn programs_whose_stacks_grow_in_pieces_are_refused() {
    let bench = Bench::new();
    let original = bench.build("control.c", "-O2 -fsplit-stack", "original");
    let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
    assert!(output.functions.instrumented == 0 && output.refusals.iter().any(|one| one.reason == Reason::SplitStack), "{:?}", output.refusals);
    assert_eq!(bench.run(&copy), bench.run(&original));
}

/// Go's own linker keeps the section headers right behind the program headers.
#[test]
fn go_programs_are_left_as_they_are() {
    let bench = Bench::new();
    let original = bench.build("collected.go", "", "original");
    let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
    let reason = Reason::Analysis(tare_code::Refusal::GoCode);
    assert!(output.functions.instrumented == 0 && output.refusals.iter().any(|one| one.reason == reason), "{:?}", output.functions);
    assert_eq!(bench.run(&copy), bench.run(&original));
}

#[test]
fn fortran() {
    for flags in ["-O0", "-O2", "-O3 -no-pie"] {
        check("numeric.f90", flags, Balance::Exact);
    }
}

#[test]
fn functions_of_one_byte_take_the_distance_of_their_jump_from_what_follows() {
    for flags in ["-O1", "-Os", "-O1 -no-pie -fno-pie"] {
        let flags = format!("{flags} -fno-toplevel-reorder -fno-reorder-functions -fcf-protection=none");
        check("lone.c", &flags, Balance::Exact);
        let bench = Bench::new();
        let original = bench.build("lone.c", &flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::FUNCTION, true);
        assert!(!output.refusals.iter().any(|one| one.name.starts_with("lone")), "{flags}: {:?}", output.refusals);
        let (_, counts) = bench.count(&copy);
        let regions = common::regions(&output.bytes);
        let count = |name: &str| {
            let region = regions.iter().position(|one| one.name == name).expect("its region");
            counts[&u32::try_from(region + 1).expect("few")].leaves
        };
        assert_eq!(["lone", "lone_too", "lone_at_last"].map(count), [70, 10, 70], "{flags}");
    }
}

#[test]
fn short_functions_reach_their_copies_over_islands() {
    let bench = Bench::new();
    let original = bench.build("control.c", "-Os -fcf-protection=none", "original");
    let expected = bench.run(&original);
    let (copy, output) = bench.instrument(&original, "copy", Levels::FUNCTION, true);
    let is_refused = |name: &str| output.refusals.iter().any(|one| one.name == name);
    assert!(!is_refused("empty") && !is_refused("nothing"), "{:?}", output.refusals);
    assert_eq!(bench.count(&copy).0, expected);
}
