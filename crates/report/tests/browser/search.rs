//! What is searched for, and what a search does to the views.

use serde_json::json;

use crate::chromium::Browser;
use crate::support::{master_and_worker, run};
use crate::{is_quiet, made, with_levels};

#[test]
fn a_search_leaves_out_and_the_selected_region_narrows_it() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    let number = "tare.table.items.length";
    browser.value("tare.table.setShape('flat')");
    let all = browser.number(number);
    browser.value("tare.model.change({ query: '-near_' })");
    assert_eq!(browser.number(number), all - 60.0);
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('loop 1 of main'))");
    let press = |text: &str| format!("[...document.querySelectorAll('#detail button')].find((one) => one.textContent === '{text}').click()");
    browser.value(&press("hide this"));
    assert_eq!(browser.number(number), all - 61.0);
    browser.value(&press("only this"));
    assert_eq!(browser.number(number), 1.0);
    assert_eq!(browser.text("document.getElementById('search').value"), "/^loop 1 of main$/");
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
    assert_eq!(browser.text("document.getElementById('hits').textContent"), "1 region matches, 48.5\u{202f}% of the time");
    assert_eq!(browser.text("document.querySelector('#regions .hit').textContent"), "MPI_Recv");
    browser.value("tare.model.change({ query: '/(/' })");
    assert!(browser.text("document.getElementById('hits').textContent").contains("no regular expression"));
    is_quiet(&browser);
}

#[test]
fn enter_leaves_a_field_for_what_it_found_and_escape_clears_it() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &with_levels()));
    let typed = |browser: &mut Browser, keys: &str| keys.chars().for_each(|key| browser.key(&key.to_string()));
    let focused = |browser: &mut Browser| browser.text("document.querySelector('#regions .vrow.focus .c-name').textContent.trim()");
    let written = |browser: &mut Browser| browser.text("['search', 'ranks-field'].map((id) => document.getElementById(id).value).join('|')");
    typed(&mut browser, "/near_5");
    browser.key("Enter");
    assert_eq!(focused(&mut browser), "near_5");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "near_5", "all views show it");
    typed(&mut browser, "n");
    assert_eq!(focused(&mut browser), "near_50", "the next hit");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "near_50", "which all views show, too");
    assert_eq!(written(&mut browser), "near_5|");
    browser.key("ArrowDown");
    assert_eq!(browser.text("document.querySelector('#detail h2').textContent"), "near_51", "arrows go on from there");
    // Where nothing is found, what was written can be mended.
    typed(&mut browser, "/x");
    browser.key("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "search");
    browser.key("Escape");
    assert_eq!(written(&mut browser), "|");
    assert_eq!(browser.text("tare.model.state.query + document.activeElement.className"), "vtable", "back to where the reader was");
    // The same in the field of ranks.
    typed(&mut browser, "r9");
    browser.key("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "ranks-field", "there is no 9");
    browser.key("Escape");
    typed(&mut browser, "r1");
    browser.key("Enter");
    assert_eq!(browser.text("document.activeElement.className"), "vtable");
    // A choice of values has the focus, but takes no keys but arrows.
    browser.value("document.querySelector('#controls input[type=radio]').focus()");
    typed(&mut browser, "m");
    assert_eq!(browser.text("tare.model.rankText() + tare.model.state.values"), "rank 1measured");
    typed(&mut browser, "r0");
    browser.key("Enter");
    assert_eq!(browser.text("tare.model.rankText()"), "rank 0", "what is typed takes the place of what was there");
    typed(&mut browser, "r");
    browser.key("Escape");
    assert_eq!((browser.text("tare.model.rankText()"), written(&mut browser)), (String::new(), "|".into()));
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
fn a_search_says_that_what_is_selected_is_no_hit_and_escape_ends_it() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    browser.value("tare.model.change({ query: 'inside' })");
    let hits = "document.getElementById('hits').textContent";
    assert!(!browser.text(hits).contains("selected"), "{}", browser.text(hits));
    browser.value("tare.model.selectRegion([...tare.model.strings.names].indexOf('MPI_Recv'))");
    assert!(browser.text(hits).ends_with("; MPI_Recv, which is selected, is not among them"), "{}", browser.text(hits));
    browser.key("2");
    browser.key("Escape");
    assert!(!browser.text(hits).is_empty() && !browser.text(hits).contains("selected"), "{}", browser.text(hits));
    browser.key("Escape");
    assert_eq!(browser.text("tare.model.state.query + document.getElementById('search').value"), "");
    is_quiet(&browser);
}
