//! What is wrong in what is written into a field.

use serde_json::json;

use crate::chromium::Browser;
use crate::support::{master_and_worker, run};
use crate::{NOTHING_STICKS_OUT, is_quiet, made};

#[test]
fn what_is_wrong_in_a_field_is_seen_beside_it_and_no_field_has_ranks_that_are_not_shown() {
    let mut browser = Browser::start();
    browser.open(&made(&run(), &master_and_worker()));
    let said = |browser: &mut Browser, field: &str| {
        browser.text(&format!(
            "(() => {{ const [input, wrong] = ['{field}', '{field}-wrong'].map((id) => document.getElementById(id)); const at = wrong.getBoundingClientRect(); \
             return [input.value, input.ariaInvalid, wrong.checkVisibility() && at.width > 20 && at.height > 10 ? wrong.textContent : ''].join('|'); }})()"
        ))
    };
    let write = |browser: &mut Browser, field: &str, text: &str| {
        browser.value(&format!("(() => {{ const input = document.getElementById('{field}'); input.focus(); input.value = '{text}'; }})()"));
        browser.key("Enter");
    };
    for (text, wrong) in [
        ("0-1,9", "there is no 9"),
        ("abc", "there is no abc"),
        ("9999-10001", "there is no 9999-10001"),
        ("max", "max is of a region: select one"),
        ("slowest 8", "slowest is of a region: select one"),
    ] {
        write(&mut browser, "ranks-field", text);
        assert_eq!(said(&mut browser, "ranks-field"), format!("{text}|true|{wrong}; shown: all ranks"));
        browser.value("document.activeElement.blur()");
        assert_eq!(said(&mut browser, "ranks-field"), format!("|false|{wrong}; shown: all ranks"), "what is shown stands in the field");
    }
    browser.picture("pi-wrong-ranks");
    write(&mut browser, "ranks-field", "1");
    assert_eq!(said(&mut browser, "ranks-field"), "1|false|");
    write(&mut browser, "ranks-field", "7");
    browser.value("document.activeElement.blur()");
    assert_eq!(said(&mut browser, "ranks-field"), "1|false|there is no 7; shown: rank 1");
    browser.value("tare.model.selectRanks('')");
    write(&mut browser, "search", "zzzz");
    assert_eq!(said(&mut browser, "search"), "zzzz|true|no region matches");
    write(&mut browser, "search", "/[/");
    assert!(said(&mut browser, "search").starts_with("/[/|true|/[/ is no regular expression"), "{}", said(&mut browser, "search"));
    write(&mut browser, "search", "mpi_");
    assert_eq!(said(&mut browser, "search"), "mpi_|false|");
    // An address may ask for ranks of another run.
    browser.value("location.hash = '#regions?ranks=9'; dispatchEvent(new PopStateEvent('popstate'))");
    assert_eq!(said(&mut browser, "ranks-field"), "|true|there is no 9; shown: all ranks");
    browser.value("location.hash = '#regions?ranks=1'; dispatchEvent(new PopStateEvent('popstate'))");
    assert_eq!(said(&mut browser, "ranks-field"), "1|false|");
    for width in [1280, 390] {
        browser.size(width, 900);
        write(&mut browser, "search", "zzzz");
        assert_eq!(browser.value(NOTHING_STICKS_OUT), json!(true), "{width}");
    }
    is_quiet(&browser);
}
