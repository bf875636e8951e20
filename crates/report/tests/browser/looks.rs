//! How the page looks: on screens of all widths, on paper, dark, without scripts, and to those who do not see it.

use serde_json::json;
use tare_profile::{Profile, RegionKind};
use tare_report::Run;

use crate::chromium::Browser;
use crate::support::{alone_and_lossy, many, master_and_worker, run};
use crate::{EXAMINE, NOTHING_STICKS_OUT, is_quiet, made, with_levels};

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
fn no_width_of_the_window_hides_columns_behind_the_selected_region_or_lets_the_page_overflow() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    profile.regions[1].name = "SOLVER_NS::CommunicationBrick::reverse_communication_of_forces()".into();
    for width in [1700, 1280, 1000, 390, 340] {
        browser.size(width, 900);
        browser.open(&made(&run(), &profile));
        browser.value("tare.model.selectRegion(2)");
        assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true), "{width}");
        let room = "document.querySelector('#regions .vtable').clientWidth >= document.querySelector('#regions .vbody').scrollWidth";
        assert_eq!(browser.value(room), json!(width > 1000), "all columns are seen where the window has room for them: {width}");
        browser.picture(&format!("pi-{width}"));
    }
    browser.size(1280, 900);
    browser.open(&made(&run(), &with_levels()));
    let room = "(({ clientWidth, offsetWidth, scrollWidth }) => [offsetWidth - clientWidth > 10, scrollWidth <= clientWidth].join())(document.querySelector('#regions .vtable'))";
    assert_eq!(browser.text(room), "true,true", "also beside the bar that scrolls many rows");
    is_quiet(&browser);
}

#[test]
fn all_columns_of_messages_are_seen_and_details_are_not_torn_apart() {
    let mut browser = Browser::start();
    let profile = master_and_worker();
    let apart = "(() => { const rect = (at) => at.getBoundingClientRect(); const found = []; const close = rect(document.querySelector('aside .close')); \
        for (const at of document.querySelectorAll('aside h3')) { const [one, next] = [at, at.nextSibling.firstChild].map(rect); \
        if (next.left > one.right || next.top < one.top) found.push(at.textContent); } \
        for (const at of document.querySelectorAll('aside :is(h2, dt, dd, li, p)')) { const { left, right, top, bottom } = rect(at); \
        if (left < close.right && right > close.left && top < close.bottom && bottom > close.top) found.push(at.textContent); } \
        return found.join(); })()";
    for width in [1366, 1280, 1024] {
        browser.size(width, 768);
        browser.open(&made(&run(), &profile));
        let seen = "(() => { const list = document.querySelector('.matrix .list'); return list.scrollWidth <= list.clientWidth; })()";
        assert_eq!(browser.value(seen), json!(true), "{width}");
        for region in 0..4 {
            browser.value(&format!("tare.model.selectRegion({region})"));
            assert_eq!(browser.text(apart), "", "{width}");
        }
    }
    is_quiet(&browser);
}

#[test]
fn names_have_the_room_of_their_column() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    profile.regions[2].name = "a_name_without_scopes_that_fits_no_column_of_any_screen_".repeat(4).into();
    for width in [1600, 1280] {
        browser.size(width, 900);
        browser.open(&made(&run(), &profile));
        let used = "(() => { const cell = [...document.querySelectorAll('#regions .c-name')].find((at) => at.textContent.includes('a_name')); \
            const name = cell.querySelector('.cut'); const box = cell.getBoundingClientRect(); const range = new Range(); range.selectNodeContents(name); \
            return [(range.getBoundingClientRect().right - box.left) / box.width, name.scrollWidth - name.clientWidth]; })()";
        let [part, hidden] = [0, 1].map(|at| browser.number(&format!("{used}[{at}]")));
        assert!(part > 0.85 && part <= 1.0, "{part} of the column at {width}");
        assert!(hidden <= 0.0, "{hidden} pixels of it are hidden at {width}");
        browser.picture(&format!("names-{width}"));
    }
    is_quiet(&browser);
}

#[test]
fn without_scripts_and_on_paper_the_summary_stands() {
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.load(&made(&run(), &master_and_worker()));
    let text = browser.text("document.body.innerText");
    for part in ["7.42 (7.26 … 7.54)", "could be won at most", "MPI_Recv", "Trust", "About this run", "Scripts are off"] {
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
    // The header leaves most of the window to the results, and the way to the views stays where one has scrolled down.
    assert!(browser.number("document.querySelector('main').getBoundingClientRect().top") < 200.0);
    browser.size(340, 700);
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
    browser.value("document.getElementById('icicle').scrollIntoView()");
    let seen = "[['nav', 'top'], ['nav', 'bottom'], ['#icicle', 'top']].map(([what, side]) => Math.round(document.querySelector(what).getBoundingClientRect()[side]))";
    let seen = browser.value(seen);
    let [top, bottom, view] = [0, 1, 2].map(|place| seen[place].as_f64().expect("a place"));
    assert!(top.abs() <= 1.0 && bottom < 60.0 && view >= bottom && view < bottom + 40.0, "{seen}");
    browser.value("scrollTo(0, 0)");
    browser.size(390, 900);
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
    browser.value(EXAMINE);
    let times = "#summary tr[data-region] > :not(.place, .further)";
    assert_eq!(browser.text(&format!("examine.beyond('#summary .wide-table', '{times}')")), "");
    assert_eq!(browser.text("examine.beyond('#regions .vtable', '#regions :is(.c-exclusive, .c-share)')"), "");
    let on_top = "(() => { const at = document.querySelector('.bar-of'); at.scrollIntoView({ block: 'center', inline: 'center' }); \
                  const { right, top } = at.getBoundingClientRect(); return document.elementFromPoint(right - 2, top + 2).className; })()";
    assert_eq!(browser.text(on_top), "shared", "a bar lies behind its figure");
    assert_eq!(
        browser.text(
            "[...document.querySelectorAll('.c-exclusive')].filter((at) => at.scrollWidth > at.clientWidth).map((at) => at.textContent).join()"
        ),
        ""
    );
    let last =
        |shapes: &str| format!("Math.max(0, ...[...document.querySelectorAll('{shapes}')].map((shape) => shape.getBoundingClientRect().right))");
    for shapes in ["#trust circle", "#classes .dumbbells rect"] {
        let right = browser.number(&last(shapes));
        assert!(right > 100.0 && right <= 390.0, "{shapes} reach to {right}");
    }
    browser.picture("narrow-summary");
    is_quiet(&browser);
}

/// A run with names as long as those of large C++ programs.
fn with_long_names() -> Profile {
    let mut profile = master_and_worker();
    for (region, method) in profile.regions.iter_mut().filter(|region| region.kind == RegionKind::Function).zip(["reverse", "forward", "borders"]) {
        region.name = format!("SOLVER_NS::CommBricks::{method}_comm(int)").into();
    }
    profile
}

/// Words of names of a selector that stand on more than one line; a word ends where a name may be broken.
fn torn(names: &str) -> String {
    format!(
        "[...document.querySelectorAll('{names}')].flatMap((name) => [...name.childNodes]).filter((word) => {{ const range = new Range(); range.selectNodeContents(word); \
         return word.data && !word.data.includes(' ') && new Set([...range.getClientRects()].map(({{ top }}) => top)).size > 1; }}).map((word) => word.data).join()"
    )
}

#[test]
fn in_the_narrowest_window_labels_and_figures_are_whole_and_rows_are_low() {
    let mut browser = Browser::start();
    browser.size(320, 640);
    browser.open(&made(&run(), &with_long_names()));
    browser.value(EXAMINE);
    let left = "Math.min(...[...document.querySelectorAll('#trust .dumbbells text')].map((text) => text.getBoundingClientRect().left - text.closest('div').getBoundingClientRect().left))";
    assert!(browser.number(left) >= 0.0, "a label begins {} pixels from where scrolling reaches", browser.number(left));
    assert_eq!(browser.text("examine.beyond('#regions .vtable', '#regions .c-exclusive')"), "");
    let rows = "Math.max(...[...document.querySelectorAll('#waits tbody tr')].map((row) => { const range = new Range(); range.selectNodeContents(row.cells[0]); return row.offsetHeight - range.getBoundingClientRect().height; }))";
    assert!(browser.number(rows) < 20.0, "a row is {} pixels higher than its name", browser.number(rows));
    for scrolls in [".wide-table", ".dumbbells > div"] {
        let shade = browser.text(&format!("getComputedStyle(document.querySelector('{scrolls}')).backgroundImage"));
        assert!(shade.contains("gradient"), "{scrolls} does not show that it scrolls");
    }
    browser.key("?");
    assert_eq!(browser.number("document.querySelector('dialog').scrollTop"), 0.0, "the keys are read from the first on");
    is_quiet(&browser);
}

#[test]
fn names_are_broken_between_their_words_on_screens_and_on_paper() {
    let mut browser = Browser::start();
    browser.size(768, 900);
    browser.open(&made(&run(), &with_long_names()));
    browser.value(EXAMINE);
    assert_eq!(browser.text(&torn("#summary th span, #waits th span")), "");
    assert_eq!(browser.text("examine.beyond('#summary .wide-table', '#summary tr[data-region] > *')"), "", "all columns are seen");
    browser.size(688, 1000);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.text(&torn("#summary th span, #waits th span, #regions .cut")), "");
    is_quiet(&browser);
}

#[test]
fn on_paper_pictures_stand_under_their_headings() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &many(60, 12)));
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    let kept = "['icicle', 'ranks'].map((id) => getComputedStyle(document.getElementById(id)).breakInside).join()";
    assert_eq!(browser.text(kept), "avoid,avoid");
    // What holds the next section to its end would keep that from beginning on a page of its own.
    let held = "[...document.querySelectorAll('main > section')].filter((section) => { const last = [...section.children].filter((at) => at.checkVisibility()).pop(); \
                return last && getComputedStyle(last).breakAfter === 'avoid'; }).map(({ id }) => id).join()";
    assert_eq!(browser.text(held), "");
    is_quiet(&browser);
}

#[test]
fn callers_in_the_details_have_their_bullet_and_their_time_on_their_first_line() {
    let mut browser = Browser::start();
    browser.size(1280, 900);
    let mut profile = with_long_names();
    profile.regions[1].name = "SOLVER_NS::CommunicationBrick::reverse_comm_of_all_of_them(int, double)".into();
    browser.open(&made(&run(), &profile));
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    let times = "[...document.querySelectorAll('#detail .relatives li')].map((item) => { const range = new Range(); range.selectNodeContents(item.lastChild); \
                 return [item.offsetHeight, range.getBoundingClientRect().top - item.getBoundingClientRect().top]; })";
    assert!(browser.number(&format!("Math.max(...{times}.map(([height]) => height))")) > 40.0, "one has two lines");
    assert!(browser.number(&format!("Math.max(...{times}.map(([, top]) => top))")) < 8.0, "{}", browser.value(times));
    is_quiet(&browser);
}

#[test]
fn sizes_of_messages_and_long_paths_of_images_are_no_wider_than_the_narrowest_window() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    profile.locations[0].nodes[2].exchanged_mut().peers[0].received_sizes = [0, 0, 0, 600, 400, 0, 0, 0];
    let mut run = run();
    run.images[0].path = "/usr/lib/x86_64-linux-gnu/solvers/libsolver.so.0".into();
    browser.size(320, 700);
    browser.open(&made(&run, &profile));
    assert_eq!(browser.value("document.querySelector('#messages .sizes td.size').checkVisibility()"), json!(true));
    assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true));
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
fn paper_is_light_also_where_dark_was_chosen() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value("[...document.querySelectorAll('#controls button')].find((at) => at.title.startsWith('Light or dark')).id = 'looks'");
    browser.value("document.getElementById('looks').click(); document.getElementById('looks').click()");
    let ground = "getComputedStyle(document.documentElement).getPropertyValue('--ground')";
    assert_eq!(browser.text(ground), "#14181D", "dark was chosen");
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.text(ground), "#FFFFFF", "canvases are drawn now");
    browser.value("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.text(ground), "#14181D", "it is dark again");
    is_quiet(&browser);
}

#[test]
fn a_dark_system_prints_as_many_pages_as_a_light_one() {
    let mut browser = Browser::start();
    browser.size(1280, 900);
    let html = made(&run(), &many(60, 12));
    let mut sheets = Vec::new();
    for scheme in ["light", "dark"] {
        browser.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
        browser.open(&html);
        sheets.push(browser.sheets());
        // While pages are laid out nothing is drawn anew.
        browser.value("tare.model.listen((changed) => changed.includes('theme') && matchMedia('print').matches && (globalThis.redrawn = true))");
        sheets.push(browser.sheets());
        assert_eq!(browser.value("globalThis.redrawn ?? false"), json!(false), "{scheme}");
    }
    assert!(sheets[0] > 3 && sheets.iter().all(|&number| number == sheets[0]), "{sheets:?}");
    is_quiet(&browser);
}

#[test]
fn of_a_place_the_line_is_never_cut() {
    let mut browser = Browser::start();
    let mut profile = master_and_worker();
    for (region, line) in profile.regions.iter_mut().zip(12_340..) {
        region.file = "src/solvers/communication_of_forces.cpp".into();
        region.line = line;
    }
    browser.size(1280, 900);
    browser.open(&made(&run(), &profile));
    let cut = "[...document.querySelectorAll('.vrow > .c-place')].filter((at) => at.textContent).map((at) => {                const line = at.querySelector('.line'); const [own, all] = [line, at].map((one) => one.getBoundingClientRect());                return /^:[0-9]+$/.test(line.textContent) && own.right <= all.right && line.scrollWidth <= own.width + 1; })";
    assert_eq!(browser.value(&format!("{cut}.length > 2 && {cut}.every((isWhole) => isWhole)")), json!(true));
    is_quiet(&browser);
}

#[test]
fn places_stand_in_their_column_where_nothing_waits_and_no_other_process_spends_more() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &alone_and_lossy()));
    assert_eq!(browser.value("document.querySelector('#regions .c-wait') ?? document.querySelector('#regions .c-spread')"), json!(null));
    browser.value("tare.table.setShape('flat')");
    let row = "[...document.querySelectorAll('#regions .vrow')].find((row) => row.textContent.includes('main'))";
    assert_eq!(browser.text(&format!("{row}.querySelector('.c-place').textContent")), "pi.c:80");
    is_quiet(&browser);
}
