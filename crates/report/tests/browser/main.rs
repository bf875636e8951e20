//! The page in a real browser: clicks and keys, what it asks for, how much of it stands in the document, and without scripts.

mod axe;
mod chromium;
mod fields;
mod keys;
mod looks;
mod pictures;
mod runs;
mod search;
mod selection;
mod stand_in;
#[path = "../support/mod.rs"]
mod support;
mod values;

use tare_compensate::Mode;
use tare_profile::{Node, Profile, Region, RegionIndex, RegionKind};
use tare_report::html::{MOST_PATHS, Source, page};
use tare_report::{Results, Run};

use chromium::Browser;
use support::master_and_worker;

fn made(run: &Run, profile: &Profile) -> String {
    let source: String = (1..=120).map(|line| format!("    x[{line}] = f({line});  /* line {line} */\n")).collect();
    page(run, &Results::new(profile, Mode::Parallel), &[Source { path: "/home/user/pi.c".into(), text: source }], MOST_PATHS)
}

/// Nothing was asked for, and nothing complained about.
fn is_quiet(browser: &Browser) {
    assert_eq!(browser.requests, Vec::<String>::new());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Nothing is wider than the page.
const NOTHING_STICKS_OUT: &str = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";

/// Questions about a page, as `examine.…()` in it.
const EXAMINE: &str = include_str!("chromium/examine.js");

/// A run with all levels: `main` at line 80, and in line 81 a loop, its iterations, and the call in them.
fn with_levels() -> Profile {
    let mut profile = master_and_worker();
    let first = profile.regions.len();
    let names = [
        (RegionKind::Loop, "loop 1 of main"),
        (RegionKind::Iteration, "iteration of loop 1 of main"),
        (RegionKind::CallSite, "call 1 of MPI_Recv in main"),
        (RegionKind::Function, "far_down"),
    ];
    for (kind, name) in names {
        let line = if kind == RegionKind::Function { 0 } else { 81 };
        profile.regions.push(Region { kind, name: name.into(), line, ..profile.regions[1].clone() });
    }
    let nodes = &mut profile.locations[0].nodes;
    nodes.truncate(2);
    for (region, parent, calls, exclusive) in [(first, 1, 3, 10), (first + 1, 2, 500, 20), (first + 2, 3, 500, 30), (3, 4, 500, 8_000_000_000)] {
        nodes.push(Node { region: RegionIndex(region), parent: Some(parent), on_calls: calls, exclusive, ..Node::default() });
    }
    for number in 0..60 {
        let region = Region { name: format!("near_{number}").into(), line: 0, ..profile.regions[1].clone() };
        profile.regions.push(region);
        let region = RegionIndex(profile.regions.len() - 1);
        nodes.push(Node { region, parent: Some(1), on_calls: 1, exclusive: 1_000_000, ..Node::default() });
    }
    nodes.push(Node { region: RegionIndex(first + 3), parent: Some(1), on_calls: 1, exclusive: 1_000, ..Node::default() });
    profile
}
