//! Keys: where the focus is, and that what it is on is seen.

use std::collections::BTreeSet;

use serde_json::json;

use crate::chromium::Browser;
use crate::support::{master_and_worker, run};
use crate::{EXAMINE, is_quiet, made, with_levels};

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

/// Whether an element is hidden by something else, or out of sight.
fn hidden(what: &str) -> String {
    format!(
        "(() => {{ const at = {what}; const {{ left, top, width, height }} = at.getBoundingClientRect(); \
         const [x, y] = [Math.min(left + Math.min(30, width / 2), innerWidth - 1), Math.min(Math.max(top + height / 2, 0), innerHeight - 1)]; \
         const over = document.elementFromPoint(x, y); \
         return over && (at.contains(over) || (over.contains(at) && over.closest('main, header, aside, .skip'))) ? '' : `${{at.outerHTML.slice(0, 80)}} at ${{top}}`; }})()"
    )
}

#[test]
fn what_keys_select_and_where_they_are_is_seen_beside_the_details() {
    let mut browser = Browser::start();
    let row = hidden("document.querySelector('#regions .vrow.selected')");
    for (width, height) in [(1280, 720), (1280, 600), (320, 640)] {
        browser.size(width, height);
        browser.open(&made(&run(), &with_levels()));
        browser.key("2");
        for step in 0..20 {
            browser.key("ArrowDown");
            assert_eq!(browser.text(&row), "", "{width} x {height}, {step} rows down");
        }
        browser.open(&made(&run(), &with_levels()));
        "/near_59".chars().for_each(|key| browser.key(&key.to_string()));
        browser.key("Enter");
        assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "near_59");
        assert_eq!(browser.text(&row), "", "{width} x {height}, searched for");
    }
    browser.size(1280, 720);
    browser.open(&made(&run(), &master_and_worker()));
    browser.value("tare.model.selectRegion(2)");
    for place in 0..200 {
        browser.key("Tab");
        if browser.text("document.activeElement.tagName") == "BODY" {
            break;
        }
        assert_eq!(browser.text(&hidden("document.activeElement")), "", "after {place} tabs");
    }
    is_quiet(&browser);
}

#[test]
fn a_key_leads_to_the_details_and_back_and_what_is_done_there_stays_there() {
    let mut browser = Browser::start();
    browser.size(1280, 720);
    browser.open(&made(&run(), &master_and_worker()));
    let place = "document.activeElement.id + document.activeElement.className";
    browser.key("2");
    browser.key("d");
    assert_eq!(browser.text(place), "vtable", "nothing is selected");
    browser.key("ArrowDown");
    let scrolled = browser.number("scrollY");
    browser.key("d");
    assert_eq!(browser.text(place), "detail");
    browser.key("Tab");
    browser.key("Tab");
    assert_eq!(browser.value("document.querySelector('#detail').contains(document.activeElement)"), json!(true));
    assert_eq!(browser.number("scrollY"), scrolled, "the views stay where they are");
    browser.key("d");
    assert_eq!(browser.text(place), "vtable");
    browser.key("d");
    browser.value("document.querySelector('#detail .relatives button').focus()");
    browser.key("Enter");
    assert_eq!(browser.text(place), "detail", "another region is selected, whose details stand there now");
    browser.key("Tab");
    browser.key("Enter");
    assert_eq!(browser.text(&format!("document.getElementById('detail').hidden + {place}")), "truevtable", "closed");
    is_quiet(&browser);
}

#[test]
fn a_head_that_sorts_keeps_the_focus() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    for key in ["calls", "name", "exclusive"] {
        browser.value(&format!("document.querySelector('#regions .vhead .c-{key} button').focus()"));
        for direction in 0..2 {
            browser.key("Enter");
            assert_eq!(browser.text("document.activeElement.parentElement.className.trim().split(' ')[0]"), format!("c-{key}"), "{direction}");
        }
        assert_ne!(browser.text(&format!("document.querySelector('#regions .vhead .c-{key}').ariaSort")), "none");
    }
    is_quiet(&browser);
}
