//! Loops, iterations and call sites are counted exactly, and what cannot be measured is refused by name.

mod common;

use common::{Bench, Count, regions};
use tare_format::description::{Region, RegionKind};
use tare_rewrite::insertion::Scope;
use tare_rewrite::{Levels, SiteReason};

#[test]
fn loops_of_every_kind_are_counted() {
    for flags in ["-O0", "-O1 -no-pie", "-O2 -fno-tree-vectorize", "-O2 -fcf-protection=full -fno-tree-vectorize"] {
        let bench = Bench::new();
        let original = bench.build("loops.c", flags, "original");
        let expected = bench.run(&original);
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        let regions = regions(&output.bytes);
        let (outcome, counts) = bench.count(&copy);
        assert_eq!(outcome, expected, "{flags}");
        let count = |kind, owner: &str, number| {
            let own =
                |region: &Region| (region.kind, region.number) == (kind, number) && [&region.owner, &region.name].iter().any(|one| *one == owner);
            let index = regions.iter().position(own).unwrap_or_else(|| panic!("{flags}: no {kind:?} {number} of {owner}"));
            counts.get(&u32::try_from(index + 1).expect("few")).copied().unwrap_or_default()
        };
        let balanced = |entries| Count { entries, leaves: 0, exits: entries };
        assert_eq!(count(RegionKind::Loop, "simple", 0), balanced(1), "{flags}");
        assert_eq!(count(RegionKind::Loop, "down", 0), balanced(1), "{flags}");
        assert_eq!(count(RegionKind::Iteration, "down", 0), balanced(4), "{flags}");
        assert_eq!(count(RegionKind::Iteration, "counted", 0), balanced(6), "{flags}");
        assert_eq!(count(RegionKind::Iteration, "red_zone", 0), balanced(10), "{flags}");
        assert_eq!(count(RegionKind::Loop, "flags", 0), balanced(2), "{flags}");
        assert_eq!(count(RegionKind::Function, "middle", 0), balanced(2), "{flags}: entered at two places");
        assert_eq!(count(RegionKind::Loop, "leaves_early", 0), balanced(3), "{flags}");
        let away = count(RegionKind::Function, "jumps_away", 0);
        assert_eq!((away.entries, away.exits), (1, 0), "{flags}");
        for (id, count) in &counts {
            let region = &regions[usize::try_from(*id).expect("small") - 1];
            let skipped = region.owner == "jumps_away" || ["jumps_away", "_exit"].contains(&region.name.as_str()) || region.name.contains("longjmp");
            assert!(count.entries == count.exits || skipped && count.exits < count.entries, "{flags}: {region:?} {count:?}");
        }
    }
}

/// Where an exception lands, the arguments that were pushed for the call are off the stack again.
#[test]
fn calls_with_pushed_arguments_end_where_their_exceptions_land() {
    for flags in ["-O0", "-O2", "-O2 -fno-omit-frame-pointer -no-pie", "-Os", "clang++ -O2"] {
        let bench = Bench::new();
        let original = bench.build("pushed.cpp", flags, "original");
        let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
        // Clang does not say how much it has reserved for arguments in a frame like that of `framed`: its loop may leave the stack pointer lower.
        let refused: Vec<Scope> = output.refused_sites.iter().map(|site| site.scope).collect();
        assert_eq!(refused, if flags.starts_with("clang") { vec![Scope::Loop(0)] } else { vec![] }, "{flags}");
        let (outcome, counts) = bench.count(&copy);
        assert_eq!(outcome, bench.run(&original), "{flags}");
        let regions = regions(&output.bytes);
        let callee = |count: (&u32, &Count)| (&regions[usize::try_from(*count.0).expect("small") - 1], *count.1);
        for (region, count) in counts.iter().map(callee).filter(|(region, _)| region.kind != RegionKind::Function) {
            assert!(count.entries == count.exits || region.name.contains("__cxa_throw"), "{flags}: {region:?} {count:?}");
        }
    }
}

#[test]
fn iterations_of_nested_loops_are_counted() {
    let bench = Bench::new();
    let original = bench.build("loops.c", "-O1 -fno-tree-ch", "original");
    let (copy, output) = bench.instrument(&original, "copy", Levels::ALL, true);
    let regions = regions(&output.bytes);
    let counts = bench.count(&copy).1;
    let entries = |kind| {
        let own = |(index, region): (usize, &Region)| (region.kind == kind && region.owner == "nested").then_some(index + 1);
        let mut found: Vec<u64> = regions.iter().enumerate().filter_map(own).map(|id| counts[&u32::try_from(id).expect("few")].entries).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(entries(RegionKind::Loop), [1, 3]);
    // The iteration in which the condition fails is one of the header's.
    assert!(matches!(entries(RegionKind::Iteration).as_slice(), [3 | 4, 12 | 15]), "{:?}", entries(RegionKind::Iteration));
}

#[test]
fn what_cannot_be_measured_is_refused_by_name() {
    let bench = Bench::new();
    let original = bench.build("loops.c", "-O0", "original");
    let (_, output) = bench.instrument(&original, "copy", Levels::ALL, false);
    let has = |reason| output.refused_sites.iter().any(|site| site.reason == reason);
    let is_loop = |site: &&tare_rewrite::RefusedSite| matches!(site.scope, Scope::Loop(_));
    assert!(has(SiteReason::Irreducible) && has(SiteReason::StackPointer) && has(SiteReason::ReturnsTwice), "{:?}", output.refused_sites);
    assert_eq!(output.refused_sites.iter().filter(is_loop).count(), 3, "{:?}", output.refused_sites);
}
