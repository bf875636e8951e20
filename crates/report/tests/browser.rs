//! The page in a real browser: clicks and keys, what it asks for, how much of it stands in the document, and without scripts.

mod chromium;
mod stand_in;
mod support;

use std::collections::BTreeSet;

use chromium::Browser;
use serde_json::json;
use support::{alone_and_lossy, many, master_and_worker, run};
use tare_compensate::Mode;
use tare_profile::{Node, Profile, Region, RegionIndex, RegionKind};
use tare_report::compare::{self, Comparison, Side};
use tare_report::html::{MOST_PATHS, Source, page, script};
use tare_report::{Exit, Results, Run};

fn made(run: &Run, profile: &Profile) -> String {
    let source: String = (1..=120).map(|line| format!("    x[{line}] = f({line});  /* line {line} */\n")).collect();
    page(run, &Results::new(profile, Mode::Parallel), &[Source { path: "/home/user/pi.c".into(), text: source }], MOST_PATHS)
}

/// The page of a comparison: the second run takes longer in its main program.
fn compared() -> String {
    let (old, mut new) = (master_and_worker(), master_and_worker());
    new.locations[1].nodes[1].exclusive += 2_000_000_000;
    for process in &mut new.processes {
        process.span.as_mut().expect("a span").end += 2_000_000_000;
    }
    let (run, later) = (run(), Run { directory: "after".into(), ..run() });
    let (one, other) = (Results::new(&old, Mode::Parallel), Results::new(&new, Mode::Parallel));
    let sides = [Side { runs: vec![(&run, &one)] }, Side { runs: vec![(&later, &other)] }];
    compare::html(&Comparison::of(&sides, None).expect("two sides"))
}

#[test]
fn a_comparison_has_a_page_that_needs_no_scripts() {
    let mut browser = Browser::start();
    browser.load(&compared());
    let text = browser.text("document.body.innerText");
    for part in ["The run looks slower, 1 region looks slower", "B less A", "slower? +", "Noise between runs is not known"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(browser.text("document.querySelector('tr.slower th').textContent"), "main");
    assert_eq!(browser.value("document.querySelectorAll('tr.same').length > 2"), json!(true));
    assert_eq!(browser.value("document.scripts.length"), json!(0));
    for (width, scheme) in [(1400, "light"), (400, "dark")] {
        browser.size(width, 900);
        browser.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
        browser.value(EXAMINE);
        assert_eq!(browser.text("examine.wrong()"), "");
        assert_eq!(browser.text("examine.faint()"), "", "{scheme}");
        assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true), "{width}");
        browser.picture(&format!("compare-{scheme}"));
    }
    is_quiet(&browser);
}

/// Nothing was asked for, and nothing complained about.
fn is_quiet(browser: &Browser) {
    assert_eq!(browser.requests, Vec::<String>::new());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Nothing is wider than the page.
const NOTHING_STICKS_OUT: &str = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";

const ELEMENTS: &str = "document.querySelectorAll('*').length";

#[test]
fn the_views_are_linked_and_obey_clicks_and_keys() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.picture("pi");
    // The tree is open along the heaviest path; a click selects, and every view follows.
    assert_eq!(browser.text("document.querySelector('.vrow .c-name').textContent.trim()").replace('▾', ""), "program");
    browser.value("[...document.querySelectorAll('.vrow')].find((row) => row.textContent.includes('MPI_Recv')).id = 'aim'");
    browser.click("#aim", (0.1, 0.5));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "MPI_Recv");
    assert!(browser.text("document.querySelector('#detail').textContent").contains("3.660 ± 0.026"));
    assert!(browser.text("document.querySelector('#icicle-line').textContent").starts_with("MPI_Recv"));
    assert!(browser.text("location.hash").contains("region="));
    // Keys alone: to the table, down, open and close.
    browser.key("2");
    assert_eq!(browser.value("document.activeElement === document.querySelector('#regions .vtable')"), json!(true), "arrows move in it at once");
    browser.key("Home");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "program");
    let rows = "document.querySelectorAll('#regions .vrow').length";
    let before = browser.number(rows);
    browser.key("ArrowLeft");
    assert_eq!(browser.number(rows), 1.0, "closed, the tree is its root");
    browser.key("ArrowRight");
    assert_eq!(browser.number(rows), before);
    // The values change, and what is selected stays.
    browser.key("m");
    assert_eq!(browser.text("document.querySelector('#controls input:checked').value"), "measured");
    assert!(browser.text("document.querySelector('#regions').textContent").contains("Exclusive measured"));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "program");
    browser.key("m");
    browser.key("m");
    // The source of what is selected.
    browser.value("tare.model.selectRegion(2)");
    let line = browser.text("document.querySelector('#source .vrow.selected').textContent");
    assert!(line.starts_with("12") && line.contains("line 12"), "{line}");
    browser.picture("pi-selected");
    // Escape selects nothing, and help comes and goes.
    browser.value("document.activeElement.blur()");
    browser.key("Escape");
    assert_eq!(browser.value("document.getElementById('detail').hidden"), json!(true));
    browser.key("?");
    assert_eq!(browser.value("document.querySelector('dialog').open"), json!(true));
    browser.key("Escape");
    browser.until("document.querySelector('dialog') === null");
    is_quiet(&browser);
}

/// Questions about a page, as `examine.…()` in it.
const EXAMINE: &str = include_str!("chromium/examine.js");

#[test]
fn no_heading_is_cut() {
    let mut browser = Browser::start();
    for factor in [1.0, 1e-4] {
        let mut profile = master_and_worker();
        profile.processes.iter_mut().for_each(|process| process.clock.seconds_per_tick *= factor);
        browser.open(&made(&run(), &profile));
        browser.value(EXAMINE);
        for _ in 0..3 {
            for key in ["exclusive", "share", "inclusive", "calls", "each", "wait", "spread", "place"] {
                browser.value(&format!("tare.table.sortBy('{key}')"));
                assert_eq!(browser.text("examine.cut()"), "", "sorted by {key}");
            }
            browser.key("m");
        }
    }
    is_quiet(&browser);
}

#[test]
fn tab_alone_goes_round_the_page_and_the_focus_is_always_seen() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value(EXAMINE);
    let mut met = BTreeSet::new();
    for _ in 0..200 {
        browser.key("Tab");
        let at = browser.value("examine.focus()");
        let section = at["section"].as_str().unwrap_or_default();
        if section == "BODY" {
            break;
        }
        assert_eq!(at["unseen"], "", "in {section}");
        met.insert(section.to_string());
    }
    for section in ["HEADER", "NAV", "summary", "regions", "icicle", "ranks", "messages"] {
        assert!(met.contains(section), "{section} is not among {met:?}");
    }
    is_quiet(&browser);
}

#[test]
fn an_examiner_of_accessibility_finds_nothing() {
    let mut browser = Browser::start();
    for (run, profile) in [(run(), master_and_worker()), (run(), alone_and_lossy()), (Run { images: Vec::new(), ..run() }, Profile::default())] {
        browser.load(&made(&run, &profile));
        if !profile.processes.is_empty() {
            browser.until("document.documentElement.dataset.ready === 'yes'");
        }
        browser.value(EXAMINE);
        assert_eq!(browser.text("examine.wrong()"), "");
        for scheme in ["light", "dark"] {
            browser.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
            assert_eq!(browser.text("examine.faint()"), "", "{scheme}");
        }
    }
    is_quiet(&browser);
}

#[test]
fn a_search_marks_hits_and_says_their_share() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.key("/");
    for key in ["k", "i", "n", "d", ":", "m", "p", "i"] {
        browser.key(key);
    }
    browser.until("document.getElementById('hits').textContent !== ''");
    assert_eq!(browser.text("document.getElementById('hits').textContent"), "1 region matches, 48.6\u{2009}% of the time");
    assert_eq!(browser.text("document.querySelector('#regions .hit').textContent"), "MPI_Recv");
    browser.value("tare.model.change({ query: '/(/' })");
    assert!(browser.text("document.getElementById('hits').textContent").contains("no regular expression"));
    is_quiet(&browser);
}

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

#[test]
fn a_line_of_the_source_counts_its_work_once_and_has_its_time_in_mpi() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    browser.value("tare.model.selectRegion(5)");
    let cell = |key: &str| {
        format!("[...document.querySelectorAll('#source .vrow')].find((row) => row.id.endsWith('-80')).querySelector('.c-{key}').textContent")
    };
    assert_eq!((browser.text(&cell("line")).as_str(), browser.text(&cell("calls")).as_str()), ("81", "500"));
    assert!(browser.text(&cell("mpi")).starts_with('2'), "mean of 4 s and 0 s: {}", browser.text(&cell("mpi")));
    // What is offered to be typed is about the function that was selected.
    let explain = browser.text("document.querySelector('#detail code').textContent");
    assert_eq!(explain, "tare select '/home/user/pi' --explain='main'");
    browser.value("tare.model.selectRegion(3)");
    assert_eq!(browser.value("document.querySelector('#detail code')"), json!(null), "no selection decides on MPI");
    is_quiet(&browser);
}

/// `main` and `inside` call each other and themselves; with what a call of `inside` costs taken off, in one process.
fn within_one_another() -> Profile {
    let mut profile = master_and_worker();
    let nodes = &mut profile.locations[1].nodes;
    let (main, inside) = (nodes[1].clone(), nodes[2].clone());
    nodes.truncate(3);
    nodes.push(Node { region: RegionIndex(1), parent: Some(2), on_calls: 7, exclusive: 1_000_000_000, ..main });
    nodes.push(Node { parent: Some(3), ..inside });
    profile
}

#[test]
fn the_switch_of_values_holds_for_inclusive_times_in_all_shapes_and_groups_count_what_is_within_once() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &within_one_another()));
    let of = |shape: &str, values: &str, name: &str, key: &str| {
        format!(
            "(() => {{ const {{ table, model }} = tare; table.setShape('{shape}'); model.change({{ values: '{values}' }}); \
             const item = table.items.find((item) => item.group === '{name}' || (item.region !== undefined && model.name(item.region) === '{name}')); \
             return table.of(item, '{key}'); }})()"
        )
    };
    let mut number = |shape: &str, values: &str, name: &str, key: &str| browser.number(&of(shape, values, name, key));
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-6 * one.abs().max(1.0);
    for (shape, name) in [("flat", "main"), ("flat", "inside"), ("file", "/home/user/pi.c"), ("image", "/home/user/pi"), ("kind", "function")] {
        let [value, measured, difference] = ["value", "measured", "difference"].map(|values| number(shape, values, name, "inclusive"));
        assert!(measured > value + 1e8 && near(difference, measured - value), "{shape} {name}: {value} {measured} {difference}");
        // All of a group is below one region.
        let top = if shape == "flat" {
            name
        } else if shape == "image" {
            "program"
        } else {
            "main"
        };
        assert!(near(value, number("flat", "value", top, "inclusive")), "{shape} {name}");
        let each = number(shape, "value", name, "exclusive") * 2.0 / number(shape, "value", name, "calls");
        assert!(near(each, number(shape, "value", name, "each")), "{shape} {name}");
    }
    // A call in a call of the same pair counts once.
    for (values, column) in [("value", "inclusive"), ("measured", "measured_inclusive")] {
        browser.value(&format!("tare.model.change({{ values: '{values}' }})"));
        let callers = browser.number("tare.detail.callers(2)[0][1]");
        assert!(near(callers, browser.number(&format!("tare.model.regions.{column}[2] / 2"))), "{callers} {values}");
    }
    is_quiet(&browser);
}

#[test]
fn the_switch_of_values_holds_for_what_ranks_spend() {
    let mut browser = Browser::start();
    let profile = master_and_worker();
    browser.open(&made(&run(), &profile));
    browser.value("tare.model.selectRegion(2)");
    let results = Results::new(&profile, Mode::Parallel);
    let own = |rank: usize, is_measured: bool| -> f64 {
        let nodes = profile.locations[rank].nodes.iter().zip(&results.shown.locations[rank].nodes).filter(|(node, _)| node.region.0 == 2);
        nodes.map(|(_, figures)| if is_measured { figures.measured_exclusive_s } else { figures.exclusive.value }).sum()
    };
    let of = |rank: usize, values: &str| match values {
        "value" => own(rank, false),
        "measured" => own(rank, true),
        _ => own(rank, true) - own(rank, false),
    };
    let row = browser.number("tare.heat.rows.region.indexOf(2)");
    let mut seen = BTreeSet::new();
    for values in ["value", "measured", "difference"] {
        browser.value(&format!("tare.model.change({{ values: '{values}' }})"));
        for rank in 0..2 {
            let cell = browser.number(&format!("tare.heat.value({row}, {rank})")) / 1e9;
            assert!((cell - of(rank, values)).abs() <= 2e-4 * of(rank, values).abs() + 1e-9, "{cell} on {rank}, {values}");
        }
        let most = browser.number("tare.model.spread().most[2]") / 1e9;
        let expected = of(0, values).max(of(1, values));
        assert!((most - expected).abs() <= 2e-4 * expected.abs(), "{most} {values}");
        seen.insert(browser.text("document.getElementById('ranks-line').textContent"));
        let share = if values == "difference" { "ms)" } else { "(+100.0" };
        assert!(browser.text("tare.table.most(2)").contains(share), "{values}");
        let ranks = "[...document.querySelectorAll('#detail dt')].find((one) => one.textContent === 'Ranks').nextSibling.textContent";
        seen.insert(browser.text(ranks));
    }
    assert_eq!(seen.len(), 6, "each value reads otherwise: {seen:?}");
    is_quiet(&browser);
}

#[test]
fn a_tree_is_sorted_by_the_column_that_has_the_arrow() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    let names = |browser: &mut Browser| {
        browser.text(
            "tare.table.items.filter(({ path }) => tare.model.tree.parent[path] === 1).map(({ path }) => tare.model.pathName(path)).slice(0, 3).join()",
        )
    };
    let sorted = browser.text("document.querySelector('#regions [aria-sort=descending]').textContent");
    assert!(sorted.starts_with("Inclusive"), "{sorted}");
    let heaviest = names(&mut browser);
    for key in ["inclusive", "exclusive", "calls", "name"] {
        let seen = |browser: &mut Browser| {
            browser.value(&format!("tare.table.sortBy('{key}')"));
            browser.text(&format!(
                "(() => {{ const {{ table, model }} = tare; const rows = table.items.filter(({{ path }}) => model.tree.parent[path] === 1); \
                 const keys = rows.map((row) => '{key}' === 'name' ? table.text(row) : table.of(row, '{key}')); \
                 const sign = table.isDescending ? -1 : 1; \
                 return String(rows.length > 1 && keys.every((one, at) => at === 0 || (sign > 0 ? keys[at - 1] <= one : keys[at - 1] >= one))); }})()"
            ))
        };
        assert_eq!(seen(&mut browser), "true", "{key}");
        assert_eq!(seen(&mut browser), "true", "{key}, the other way round");
    }
    browser.value("tare.table.sortBy('inclusive'); if (!tare.table.isDescending) tare.table.sortBy('inclusive')");
    assert_eq!(names(&mut browser), heaviest);
    is_quiet(&browser);
}

#[test]
fn a_search_brings_its_hits_into_sight() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    for (query, first) in [("far_down", "far_down"), ("near_5", "near_5")] {
        browser.value(&format!("tare.model.change({{ query: '{query}' }})"));
        assert!(browser.text("document.querySelector('#regions .vrow.focus').textContent").contains(first));
        let is_seen = "(() => { const [row, table] = ['#regions .vrow.focus', '#regions .vtable'].map((one) => document.querySelector(one).getBoundingClientRect()); \
                       return row.top >= table.top && row.bottom <= table.bottom; })()";
        assert_eq!(browser.value(is_seen), json!(true), "{query}");
    }
    browser.key("n");
    assert!(browser.text("document.querySelector('#regions .vrow.focus').textContent").contains("near_50"), "the next hit");
    browser.key("N");
    assert_eq!(browser.text("document.querySelector('#regions .vrow.focus .c-name').textContent").trim(), "near_5");
    is_quiet(&browser);
}

#[test]
fn pictures_answer_clicks_and_have_tables_beside_them() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    // The third row of the icicle begins with the heaviest call path below main.
    browser.click("#icicle canvas", (0.05, 0.83));
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "MPI_Recv");
    browser.value("document.querySelector('#icicle canvas').focus()");
    browser.key("ArrowUp");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "main");
    browser.key("Enter");
    assert_eq!(browser.number("document.querySelectorAll('#icicle .crumbs button').length"), 3.0);
    browser.key("Escape");
    assert_eq!(browser.number("document.querySelectorAll('#icicle .crumbs button').length"), 2.0);
    browser.value("[...document.querySelectorAll('#icicle button')].find((button) => button.textContent === 'as table').click()");
    assert!(browser.text("document.querySelector('#icicle table').textContent").contains("MPI_Recv"));
    // The heat map: the right half is rank 1.
    browser.click("#ranks canvas", (0.95, 0.1));
    assert_eq!(browser.text("String(tare.model.state.ranks)"), "1");
    assert!(browser.text("document.querySelector('#ranks canvas').getAttribute('aria-label')").contains("2 processes"));
    // The matrix: rank 1 sends to rank 0.
    assert!(browser.text("document.querySelector('#messages table').textContent").contains("1 → 0"));
    is_quiet(&browser);
}

#[test]
fn every_view_follows_what_is_selected_and_says_where_it_has_nothing() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let marked = "[...document.querySelectorAll('#waits tr.selected')].map((row) => row.querySelector('th').textContent).join()";
    // An operation: its waits, its messages, and what was taken off it.
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert!(browser.text(marked).starts_with("MPI_Recv"), "{}", browser.text(marked));
    assert!(browser.text("document.getElementById('waits-line').textContent").contains("1 of 1 places"));
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs in MPI_Recv");
    assert!(browser.text("document.querySelector('#messages table').textContent").contains("1 → 0"));
    let trust = browser.text("document.getElementById('trust-line').textContent");
    assert!(trust.starts_with("MPI_Recv: measured 4.45") && trust.contains("3.660 ± 0.026") && trust.ends_with("trusted."), "{trust}");
    browser.picture("pi-selected-everywhere");
    // What calls it has its waits and messages, too; another function has none, and the views say so.
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('main'))");
    assert!(browser.text(marked).contains("in main"));
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs in main");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('inside'))");
    assert_eq!(browser.text(marked), "");
    assert!(browser.text("document.getElementById('waits-line').textContent").starts_with("None of 1 places"));
    assert!(browser.text("document.querySelector('#messages caption').textContent").starts_with("No messages were measured in inside"));
    // A rank is selected by a key; the views and the address follow.
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    browser.value("document.activeElement.blur()");
    browser.key("r");
    browser.key("0");
    browser.key("Enter");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 0");
    assert!(browser.text("location.hash").contains("ranks=0"));
    assert!(browser.text(marked).starts_with("MPI_Recv"), "rank 0 waits there");
    assert_eq!(browser.text("document.querySelector('.dumbbells text.selected').textContent"), "0");
    assert_eq!(browser.text("document.querySelector('#messages caption').textContent"), "The heaviest pairs of rank 0");
    browser.value("tare.model.selectRanks('1')");
    assert_eq!(browser.text(marked), "", "rank 1 waits for nobody");
    assert_eq!(browser.text("tare.model.selectRanks('7')"), "there is no 7");
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('inside'))");
    assert!(browser.text("document.getElementById('detail').textContent").contains("rank 1: "));
    // The ranks that are slowest in the selected region.
    assert_eq!(browser.text("tare.model.selectRanks('slowest 1')"), "");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 1", "rank 0 was never in it");
    assert_eq!(browser.text("tare.model.selectRanks('slowest 2')"), "", "no more than have been in it");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 1");
    assert!(browser.text("tare.model.selectRanks('slowest 99')").starts_with("slowest 1 to 2"));
    browser.value("tare.model.change({ region: 0xffffffff, path: 0xffffffff })");
    assert_eq!(browser.text("tare.model.selectRanks('slowest 2')"), "slowest is of a region: select one");
    // A row of the summary is about all call paths of its region.
    browser.value("document.querySelector('#summary tr[data-region] .show').click()");
    assert_eq!(browser.text("document.querySelector('#regions select').value"), "flat");
    is_quiet(&browser);
}

#[test]
fn no_width_of_the_window_hides_columns_behind_the_selected_region_or_lets_the_page_overflow() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    profile.regions[1].name = "SOLVER_NS::CommunicationBrick::reverse_communication_of_forces()".into();
    for width in [1700, 1280, 1000, 390] {
        browser.size(width, 900);
        browser.open(&made(&run(), &profile));
        browser.value("tare.model.selectRegion(2)");
        assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true), "{width}");
        let room = "document.querySelector('#regions .vtable').clientWidth >= document.querySelector('#regions .vbody').scrollWidth";
        assert_eq!(browser.value(room), json!(width > 1000), "all columns are seen where the window has room for them: {width}");
        browser.picture(&format!("pi-{width}"));
    }
    is_quiet(&browser);
}

#[test]
fn without_scripts_and_on_paper_the_summary_stands() {
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.load(&made(&run(), &master_and_worker()));
    let text = browser.text("document.body.innerText");
    for part in ["7.42 ± 0.05", "could be won at most", "MPI_Recv", "Trust", "About this run", "Scripts are off"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(browser.value("document.getElementById('icicle').checkVisibility()"), json!(false));
    browser.picture("pi-without-scripts");
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    browser.open(&made(&run(), &master_and_worker()));
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(browser.value("document.querySelector('nav').checkVisibility()"), json!(false));
    assert_eq!(browser.value("document.querySelector('.findings').checkVisibility()"), json!(true));
    let is_seen = |browser: &mut Browser, section: &str| browser.value(&format!("document.getElementById('{section}').checkVisibility()"));
    assert_eq!(is_seen(&mut browser, "regions"), json!(true));
    assert_eq!(is_seen(&mut browser, "source"), json!(false), "it shows nothing");
    browser.value("tare.model.selectRegion(2)");
    assert_eq!(is_seen(&mut browser, "source"), json!(true));
    browser.value(
        "document.querySelector('#regions select').value = 'flat'; tare.table.setShape('flat'); window.dispatchEvent(new Event('beforeprint'))",
    );
    assert_eq!(
        browser.value("document.querySelector('#regions .vtable').scrollHeight <= document.querySelector('#regions .vtable').clientHeight"),
        json!(true)
    );
    browser.value("window.dispatchEvent(new Event('afterprint'))");
    let sheet = browser.call("Page.printToPDF", json!({}))["data"].as_str().map_or(0, str::len);
    assert!(sheet > 10_000, "{sheet}");
    is_quiet(&browser);
}

#[test]
fn on_paper_no_figure_or_heading_is_cut() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    profile.regions[1].name = "SOLVER_NS::CommunicationBrick::reverse_communication_of_forces(int, double*)".into();
    // A4 without its margins.
    browser.size(688, 1000);
    browser.open(&made(&run(), &profile));
    browser.value(EXAMINE);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.text("examine.beyond('body', 'main *')"), "");
    for shape in ["tree", "flat", "file"] {
        for key in ["exclusive", "inclusive", "wait", "spread"] {
            browser.value(&format!("tare.table.setShape('{shape}'); tare.table.sortBy('{key}')"));
            assert_eq!(browser.text("examine.short('#regions .vtable')"), "", "{shape}, sorted by {key}");
        }
    }
    browser.picture("on-paper");
    is_quiet(&browser);
}

#[test]
fn a_narrow_window_shows_times_beside_the_names_and_is_as_wide_as_its_page() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    for region in profile.regions.iter_mut().filter(|region| region.kind == RegionKind::Function) {
        region.name = format!("SOLVER_NS::{}Bricks::reverse_forces(int)", region.name).into();
    }
    profile.locations[1].nodes[2].on_calls = 0;
    browser.size(390, 900);
    browser.open(&made(&run(), &profile));
    assert!(browser.text("document.getElementById('trust').textContent").contains("SOLVER_NS"), "a name stands in a sentence");
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
    browser.value(EXAMINE);
    let times = "#summary tr[data-region] > :not(.place):nth-child(-n+5)";
    assert_eq!(browser.text(&format!("examine.beyond('#summary .wide-table', '{times}')")), "");
    assert_eq!(browser.text("examine.beyond('#regions .vtable', '#regions .c-exclusive')"), "");
    let on_top = "(() => { const at = document.querySelector('.bar-of'); at.scrollIntoView({ block: 'center', inline: 'center' }); \
                  const { right, top } = at.getBoundingClientRect(); return document.elementFromPoint(right - 2, top + 2).className; })()";
    assert_eq!(browser.text(on_top), "shared", "a bar lies behind its figure");
    assert_eq!(
        browser.text(
            "[...document.querySelectorAll('.c-exclusive')].filter((at) => at.scrollWidth > at.clientWidth).map((at) => at.textContent).join()"
        ),
        ""
    );
    browser.picture("narrow-summary");
    is_quiet(&browser);
}

#[test]
fn the_dark_page_is_dark() {
    let mut browser = Browser::start();
    browser.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}));
    browser.open(&made(&run(), &master_and_worker()));
    assert_eq!(browser.text("getComputedStyle(document.body).backgroundColor"), "rgb(20, 24, 29)");
    browser.picture("pi-dark");
    is_quiet(&browser);
}

#[test]
fn runs_that_failed_have_a_page() {
    let mut browser = Browser::start();
    browser.load(&made(&Run { images: Vec::new(), ..run() }, &Profile::default()));
    assert!(browser.text("document.body.innerText").contains("Nothing was measured"));
    browser.picture("nothing");
    let crashed = Run { exit: Exit::Signal("SIGSEGV".into()), wall_s: 12.4, ..run() };
    let mut profile = master_and_worker();
    profile.locations[1].nodes[2].on_calls = 0;
    browser.open(&made(&crashed, &profile));
    let text = browser.text("document.body.innerText");
    assert!(text.contains("Stopped by SIGSEGV") && text.contains("all calls were in batches that were off"), "{text}");
    browser.picture("crashed-and-marked");
    browser.open(&made(&run(), &alone_and_lossy()));
    assert!(browser.text("document.body.innerText").contains("calls are not at their place"));
    browser.picture("alone-and-lossy");
    is_quiet(&browser);
}

#[test]
fn a_hundred_thousand_regions_on_ten_thousand_ranks_stay_light() {
    let profile = many(100_000, 10_000);
    let html = made(&run(), &profile);
    assert!(html.len() < 25_000_000, "{} bytes", html.len());
    let mut browser = Browser::start();
    let took = browser.open(&html);
    browser.call("HeapProfiler.collectGarbage", json!({}));
    let heap = browser.call("Runtime.getHeapUsage", json!({}));
    let memory = heap["usedSize"].as_f64().unwrap_or(0.0) + heap["backingStorageSize"].as_f64().unwrap_or(0.0);
    eprintln!("{} bytes, all views after {} ms, {} MB of memory", html.len(), took.as_millis(), memory / 1e6);
    assert!(memory < 100e6, "{memory} bytes of memory");
    let light = |browser: &mut Browser| {
        let elements = browser.number(ELEMENTS);
        assert!(elements <= 3000.0, "{elements} elements");
    };
    light(&mut browser);
    assert!(browser.text("document.querySelector('#ranks').textContent").contains("A column is 10 ranks"));
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
    let first = browser.number("performance.getEntriesByName('first view')[0].startTime");
    let summary = browser.number("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    eprintln!("the summary is seen after {summary} ms, keys and the table of regions are there after {first} ms");
    browser.picture("many");
    browser.value("tare.table.setShape('flat')");
    assert_eq!(browser.value("document.querySelector('#regions .vtable').getAttribute('aria-rowcount') > 100000"), json!(true));
    browser.value("document.querySelector('#regions .vtable').scrollTop = 1e6");
    browser.until("document.querySelectorAll('#regions .vrow').length > 10");
    light(&mut browser);
    browser.value("tare.model.change({ query: '/own_7\\\\d+5$/' })");
    assert!(browser.text("document.getElementById('hits').textContent").contains("regions match"));
    light(&mut browser);
    is_quiet(&browser);
}

#[test]
fn figures_of_the_page_read_as_those_of_the_terminal() {
    let mut browser = Browser::start();
    browser.load(&made(&run(), &Profile::default()));
    let pure = script().split("// Reads the data that the page carries").next().map(String::from).expect("the modules before the last");
    browser.value(&format!("(() => {{ {pure}; window.numbers = {{ shortName, alone, share, count, byteSize, plain, columnFor }}; return 0; }})()"));
    for (expression, wanted) in [
        ("shortName('LAMMPS_NS::PairLJCut::compute(int, int)', 22)", "LAMMPS_NS::…t::compute"),
        ("shortName('std::vector<int, std::allocator<int> >::push_back(int const&)', 40)", "std::vector<…>::push_back(int const&)"),
        ("shortName('CalcFBHourglassForceForElems', 16)", "CalcFBHo…orElems"),
        ("shortName('operator<<(std::ostream&)', 12)", "operator<<"),
        ("shortName('Pair::operator()(std::ostream&) const', 20)", "Pair::operator()"),
        ("shortName('void std::__introsort_loop<A, B>(A, long).isra.0', 30)", "std::__introsort_loop<…>"),
        ("shortName('iteration of loop 12 of a_long_function', 20)", "iteration …_function"),
        ("alone(12.345e6, 0.4e6, 0.4e6)", "12.3 ± 0.4 ms"),
        ("alone(84.3123e9, 0.1234e9, 0.1234e9)", "84.31 ± 0.12 s"),
        ("alone(9.6e6, 0.96e6, 0.96e6)", "9.6 ± 1.0 ms"),
        ("alone(21.41e9, 0.0912e9, 0.0912e9)", "21.41 ± 0.09 s"),
        ("alone(12.3e6, 0.4e6, 1.3e6)", "12.3 (11.9 … 13.6) ms"),
        ("alone(3e6, 1e6, 1e6, true)", "≈ 3.00 † ms"),
        ("share(0.0004)", "<0.1 %"),
        ("share(0.486)", "48.6 %"),
        ("count(76800)", "76.8 k"),
        ("count(1200000)", "1.20 M"),
        ("count(999500)", "1.00 M"),
        ("byteSize(1536)", "1.50 KiB"),
        ("plain(-12345e9, columnFor(2e13))", "−12 345"),
    ] {
        assert_eq!(
            browser.text(&format!("numbers.{}", expression.replace("columnFor", "numbers.columnFor"))).replace('\u{2009}', " "),
            wanted,
            "{expression}"
        );
    }
}

/// The same run a moment later: more calls, and one more region in front of the others.
fn later(profile: &Profile) -> Profile {
    let mut later = profile.clone();
    later.regions.insert(1, tare_profile::Region { name: "newcomer".into(), ..later.regions[1].clone() });
    for node in later.locations.iter_mut().flat_map(|location| &mut location.nodes) {
        node.region.0 += usize::from(node.region.0 > 0);
        node.on_calls *= 2;
    }
    later
}

#[test]
fn the_page_of_a_run_that_goes_on_is_read_anew_and_keeps_what_was_selected() {
    let first = master_and_worker();
    let readings = [&first, &later(&first), &later(&later(&first))].map(|profile| made(&run(), profile));
    let address = stand_in::serve(tare_report::html::live("pi <100>"), readings.to_vec());
    let mut browser = Browser::start();
    browser.visit(&format!("http://{address}/?token=secret"));
    let page = "document.querySelector('iframe.shown').contentWindow";
    browser.until("Number(document.documentElement.dataset.readings) >= 1");
    let calls = |browser: &mut Browser| browser.number(&format!("{page}.tare.model.regions.calls.reduce((sum, calls) => sum + calls, 0)"));
    let before = calls(&mut browser);
    browser.value(&format!("{page}.tare.model.selectRegion([...{page}.tare.model.strings.names].indexOf('MPI_Recv'))"));
    browser.value(&format!("{page}.tare.model.change({{ values: 'measured', query: 'kind:mpi' }})"));
    browser.value(&format!("{page}.tare.table.setShape('flat')"));
    browser.value(&format!("{page}.tare.table.sortBy('calls')"));
    browser.value(&format!("{page}.tare.icicle.zoom({page}.tare.model.state.path)"));
    browser.value(&format!("{page}.document.querySelector('#icicle .bar > button').click()"));
    browser.value(&format!("{page}.scrollTo(0, 300)"));
    browser.until("document.documentElement.dataset.over === 'yes'");
    assert_eq!(browser.number("Number(document.documentElement.dataset.readings)"), 3.0);
    assert_eq!(browser.number("document.querySelectorAll('iframe').length"), 1.0, "what was shown before is gone");
    assert!(calls(&mut browser) > 2.0 * before, "the figures are new");
    assert_eq!(browser.text(&format!("{page}.document.querySelector('#detail h2').textContent")), "MPI_Recv");
    assert_eq!(browser.text(&format!("{page}.tare.model.state.values + {page}.document.getElementById('search').value")), "measuredkind:mpi");
    assert_eq!(browser.text(&format!("['shape', 'sorted', 'isDescending'].map((key) => {page}.tare.table[key]).join()")), "flat,calls,true");
    assert_eq!(browser.text(&format!("{page}.document.querySelector('#regions select').value")), "flat");
    assert_eq!(browser.text(&format!("{page}.tare.model.pathName({page}.tare.icicle.root)")), "MPI_Recv", "it stays zoomed");
    assert_eq!(browser.value(&format!("{page}.tare.icicle.frame.hidden && !{page}.tare.icicle.list.hidden")), json!(true), "as a table");
    assert_eq!(browser.number(&format!("{page}.scrollY")), 300.0);
    assert_eq!(browser.text("document.getElementById('age').textContent"), "The run has ended.");
    assert!(browser.requests.iter().all(|asked| asked.starts_with(&format!("http://{address}/"))), "{:?}", browser.requests);
    assert_eq!(browser.complaints, Vec::<String>::new());
    browser.picture("live");
}
