//! The documentation as a book: every page is in it, every link leads somewhere, and every verb has a page with its help.
//!
//! `TARE_BLESS=1 cargo test -p tareweight --test book` writes the help of all verbs anew.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Place, text, verbs};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().expect("docs")
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(pages(&entry));
        } else if entry.extension().is_some_and(|ending| ending == "md") {
            found.push(entry);
        }
    }
    found
}

/// Targets of the links of a page that are no addresses, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .map(String::from)
        .collect()
}

#[test]
fn every_page_is_in_the_book_and_every_link_leads_somewhere() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).expect("SUMMARY.md");
    let listed: BTreeSet<PathBuf> = links(&summary).iter().map(|target| docs().join(target)).collect();
    for page in pages(&docs()) {
        assert!(page.ends_with("SUMMARY.md") || listed.contains(&page), "{} is not in SUMMARY.md", page.display());
        let text = fs::read_to_string(&page).expect("a page");
        for target in links(&text) {
            let file = target.split('#').next().unwrap_or_default();
            // The book is made of this folder alone.
            let there = page.parent().expect("a folder").join(file).canonicalize();
            assert!(there.is_ok_and(|there| there.starts_with(docs())), "{}: {target} leads nowhere in the book", page.display());
        }
    }
}

#[test]
fn every_verb_has_a_page_with_its_help() {
    const BEGIN: &str = "```text\n";
    let place = Place::new();
    let verbs = verbs(&place);
    for verb in &verbs {
        let mut command = place.tare();
        std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("TARE_")).for_each(|name| {
            command.env_remove(name);
        });
        let output = command.env_remove("TARE_PRESET").env_remove("TARE_CACHE").env("COLUMNS", "100").args([verb, "--help"]).output();
        let help = text(&output.expect("tare can be started").stdout);
        let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let file = docs().join(format!("verbs/{verb}.md"));
        let page = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{} is missing: a page for `tare {verb}`", file.display()));
        let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{} has no place for the help", file.display()));
        let after = rest.split_once("\n```").map_or("", |(_, after)| after);
        let wanted = format!("{before}{BEGIN}{}\n```{after}", help.trim_end());
        if std::env::var_os("TARE_BLESS").is_some() {
            fs::write(&file, &wanted).expect("the page is written");
        }
        assert!(page == wanted || std::env::var_os("TARE_BLESS").is_some(), "{} is not what `tare {verb} --help` says", file.display());
    }
}
