//! Pages of other runs: compared, failed, very large, and still going on.

use serde_json::json;
use tare_compensate::Mode;
use tare_profile::Profile;
use tare_report::compare::{self, Comparison, Side, Times};
use tare_report::{Exit, Results, Run};

use crate::chromium::Browser;
use crate::stand_in;
use crate::support::{alone_and_lossy, many, master_and_worker, run};
use crate::{EXAMINE, NOTHING_STICKS_OUT, is_quiet, made};

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
    compare::html(&Comparison::of(&sides, Times::Exclusive, None).expect("two sides"))
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

const ELEMENTS: &str = "document.querySelectorAll('*').length";

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
    let sizes = |browser: &mut Browser| {
        let heap = browser.call("Runtime.getHeapUsage", json!({}));
        ["usedSize", "backingStorageSize"].map(|part| heap[part].as_f64().expect("a size"))
    };
    // Buffers are given back where they are done with: no collection is waited for.
    let [_, buffers] = sizes(&mut browser);
    assert!(buffers < 80e6, "{buffers} bytes of buffers");
    browser.call("HeapProfiler.collectGarbage", json!({}));
    let memory: f64 = sizes(&mut browser).iter().sum();
    eprintln!(
        "{} bytes, all views after {} ms, {} MB of buffers then, {} MB of memory after a collection",
        html.len(),
        took.as_millis(),
        buffers / 1e6,
        memory / 1e6
    );
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
    let cut =
        "[...document.querySelectorAll('#regions .c-spread')].filter((at) => at.scrollWidth > at.clientWidth).map((at) => at.textContent).join()";
    assert_eq!(browser.text(cut), "", "one rank of thousands has thousands of times the mean");
    browser.value("tare.model.change({ query: '/own_7\\\\d+5$/' })");
    assert!(browser.text("document.getElementById('hits').textContent").contains("regions match"));
    light(&mut browser);
    browser.value("tare.model.change({ query: '' }) ?? tare.model.selectRanks('9999')");
    browser.until("document.getElementById('of-ranks').textContent.startsWith('Times of rank 9999 alone')");
    light(&mut browser);
    // Callers and callees of what all ranks have, and of what very many call paths lead to.
    let time = "((then) => (tare.sandwich.draw(), performance.now() - then))(performance.now())";
    browser.value("tare.model.selectRanks('')");
    for name in ["shared_1", "shared_12", "program"] {
        browser.value(&format!("tare.model.selectRegion(tare.model.strings.names.indexOf('{name}'))"));
        let [boxes, left] = ["layout.boxes.length", "layout.left"].map(|what| browser.number(&format!("tare.sandwich.{what}")));
        assert!((2.0..=3.0 * 2800.0).contains(&boxes), "{name}: {boxes} boxes are no narrower than half a pixel");
        eprintln!("callers and callees of {name}: {boxes} boxes, {left} narrower, after {} ms", browser.number(time));
    }
    light(&mut browser);
    is_quiet(&browser);
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
    browser.value(&format!("{page}.document.querySelector('#icicle .bar > span > button').click()"));
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

#[test]
fn the_focus_stays_where_it_is_while_the_page_is_read_anew() {
    let mut browser = Browser::start();
    let first = master_and_worker();
    let readings = [&first, &later(&first)].map(|profile| made(&run(), profile));
    let page = "document.querySelector('iframe.shown').contentWindow";
    let at = format!(
        "(({{ id, className, tagName, ariaLabel }}) => [document.activeElement.tagName, tagName, id || className, ariaLabel].join(' '))({page}.document.activeElement)"
    );
    let places = [
        (".vtable", "#regions .vtable", "IFRAME DIV vtable Regions"),
        ("a button", "#waits button.show", "IFRAME BUTTON show show MPI_Recv"),
        ("a head", "#regions .vhead .c-inclusive button", "IFRAME BUTTON  "),
        ("a picture", "#icicle canvas", "IFRAME CANVAS  "),
        ("the details", "#detail .close", "IFRAME BUTTON close Close"),
    ];
    for (what, selector, expected) in places {
        let address = stand_in::serve(tare_report::html::live("pi"), readings.to_vec());
        browser.visit(&format!("http://{address}/?token=secret"));
        browser.until("Number(document.documentElement.dataset.readings) >= 1");
        browser.value(&format!("{page}.tare.model.selectRegion([...{page}.tare.model.strings.names].indexOf('MPI_Recv'))"));
        browser.value(&format!("{page}.document.querySelector('{selector}').focus()"));
        let before = browser.text(&at);
        assert!(before.starts_with(expected), "{what}: {before}");
        browser.until("document.documentElement.dataset.over === 'yes'");
        assert_eq!(browser.number("Number(document.documentElement.dataset.readings)"), 2.0);
        let after = browser.text(&at);
        assert!(after.starts_with(expected), "{what}: {after}");
        if what == ".vtable" {
            let selected = format!("{page}.document.querySelector('#detail h2').textContent");
            let row = format!("{page}.document.querySelector('#regions .vrow.focus .c-name').textContent.trim()");
            assert_eq!((browser.text(&selected), browser.text(&row)), ("MPI_Recv".into(), "MPI_Recv".into()));
            browser.key("ArrowUp");
            assert_ne!(browser.text(&selected), "MPI_Recv", "keys go on in it");
        }
    }
    // Keys are those of the page before anybody has gone into it, and what is chosen among messages stays.
    let address = stand_in::serve(tare_report::html::live("pi"), readings.to_vec());
    browser.visit(&format!("http://{address}/?token=secret"));
    browser.until("Number(document.documentElement.dataset.readings) >= 1");
    ["6", "ArrowRight", "ArrowRight", "Enter"].iter().for_each(|key| browser.key(key));
    let chosen = format!("JSON.stringify([{page}.tare.matrix.cell, {page}.tare.matrix.cursor])");
    let before = browser.text(&chosen);
    assert!(before.contains("\"to\":1"), "{before}");
    browser.until("document.documentElement.dataset.over === 'yes'");
    assert_eq!(browser.text(&chosen), before);
    // Who has not gone into the page is not taken there.
    let address = stand_in::serve(tare_report::html::live("pi"), readings.to_vec());
    browser.visit(&format!("http://{address}/?token=secret"));
    browser.until("Number(document.documentElement.dataset.readings) >= 1");
    browser.value("document.getElementById('pause').focus()");
    browser.until("document.documentElement.dataset.over === 'yes'");
    assert_ne!(browser.text("document.activeElement.tagName"), "IFRAME");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
