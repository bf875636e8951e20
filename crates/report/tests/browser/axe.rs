//! axe-core examines the page, where `make test` could unpack it.

use serde_json::json;
use tare_profile::Profile;
use tare_report::{Exit, Run};

use crate::chromium::Browser;
use crate::support::{alone_and_lossy, many, master_and_worker, run};
use crate::{made, stand_in, with_levels};

/// What axe calls a violation, a line each.
const VIOLATIONS: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, nodes }) => \
    nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`)).join('\\n'))";

/// Opens what can be opened: a region with its details, tables in the place of pictures, what is folded.
const OPENED: &str = "(() => { tare.model.selectRegion(1); \
    document.querySelectorAll('button').forEach((button) => button.textContent === 'as table' && button.click()); \
    document.querySelectorAll('details').forEach((details) => { details.open = true; }); tare.model.change({ query: 'main' }); })()";

fn axe() -> Option<String> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/axe/axe.min.js");
    let axe = std::fs::read_to_string(&path).ok();
    if axe.is_none() {
        eprintln!("left out: axe-core is not in {}", path.display());
    }
    axe
}

#[test]
fn axe_finds_nothing_in_any_view_light_or_dark_wide_or_narrow() {
    let Some(axe) = axe() else { return };
    let mut browser = Browser::start();
    let nothing = (Run { images: Vec::new(), ..run() }, Profile::default());
    let crashed = Run { exit: Exit::Signal("SIGSEGV".into()), ..run() };
    let pages = [(run(), master_and_worker()), (run(), with_levels()), (crashed, alone_and_lossy()), nothing, (run(), many(200, 40))];
    for (run, profile) in pages {
        let html = made(&run, &profile);
        for (scheme, width) in [("light", 1400), ("dark", 390)] {
            browser.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
            browser.size(width, 900);
            browser.load(&html);
            browser.value(&axe);
            if profile.processes.is_empty() {
                assert_eq!(browser.text(VIOLATIONS), "", "nothing measured, {scheme}");
                continue;
            }
            browser.until("document.documentElement.dataset.ready === 'yes'");
            assert_eq!(browser.text(VIOLATIONS), "", "{scheme}, {width} wide");
            browser.value(OPENED);
            assert_eq!(browser.text(VIOLATIONS), "", "{scheme}, {width} wide, opened");
        }
    }
    let address = stand_in::serve(tare_report::html::live("pi"), vec![made(&run(), &master_and_worker())]);
    browser.visit(&format!("http://{address}/?token=secret"));
    browser.until("document.documentElement.dataset.over === 'yes'");
    browser.value(&axe);
    assert_eq!(browser.text(VIOLATIONS), "", "around a run that goes on");
    browser.load(&made(&run(), &master_and_worker()));
    browser.value(&axe);
    let with_fault = "(document.querySelector('main').append(document.createElement('button')), undefined)";
    browser.value(with_fault);
    assert!(browser.text(VIOLATIONS).starts_with("button-name"), "a button without a name is found");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
