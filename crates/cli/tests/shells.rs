//! Completion and manual pages: made from the command line's own definition, and read by shells and `man`.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use common::{Place, text, verbs};

/// The long options that a verb's help names.
fn options(help: &str) -> BTreeSet<String> {
    let listed = help.split("Options:").nth(1).unwrap_or_default().lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let names = listed.flat_map(|line| line.split([' ', ',', '=', '[']).filter(|word| word.starts_with("--")).take(1));
    names.map(String::from).collect()
}

fn script(place: &Place, shell: &str) -> String {
    let output = place.tare().args(["completion", shell]).output().expect("tare can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = place.path().join(format!("completion.{shell}"));
    fs::write(&file, &output.stdout).expect("a writable directory");
    file.display().to_string()
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("the shell is installed by `make test`");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn bash_completes_verbs_options_and_values() {
    let place = Place::new();
    let file = script(&place, "bash");
    let complete = |words: &str, last: usize| {
        let line = format!(
            "source {file}; COMP_WORDS=({words}); COMP_CWORD={last}; _tare tare \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        said(place.command("bash").args(["--norc", "-c", &line]))
    };
    assert_eq!(complete("tare comp", 1).trim(), "compare completion");
    assert!(complete("tare report --f", 2).contains("--format"));
    assert!(complete("tare report --format spe", 3).contains("speedscope"));
    assert_eq!(complete("tare select --preset mpi", 3).trim(), "mpi-path mpi-path+cc3");
}

#[test]
fn fish_completes_and_zsh_reads_its_script() {
    let place = Place::new();
    let file = script(&place, "fish");
    let home = place.path().display().to_string();
    let said_by_fish =
        |line: &str| said(place.command("fish").env("HOME", &home).args(["--no-config", "-c", &format!("source {file}; complete -C '{line}'")]));
    assert!(said_by_fish("tare prof").contains("profile"));
    assert!(said_by_fish("tare report --format spe").contains("speedscope"));
    assert!(said_by_fish("tare profile --preset mpi").contains("mpi-path+cc3"));
    let file = script(&place, "zsh");
    said(place.command("zsh").args(["--no-rcs", "-n", &file]));
    let words = said(place.command("zsh").args(["--no-rcs", "-c", &format!("autoload -U compinit; compinit -u -D; source {file}; whence -w _tare")]));
    assert_eq!(words.trim(), "_tare: function");
}

#[test]
fn every_verb_has_a_page_that_man_reads_with_all_its_options() {
    let place = Place::new();
    assert!(place.tare().args(["manual", "-o", "man1"]).status().expect("tare can be started").success());
    let verbs = verbs(&place);
    assert!(verbs.len() > 10, "{verbs:?}");
    for verb in verbs.iter().map(String::as_str).chain([""]) {
        let name = if verb.is_empty() { "tare".to_string() } else { format!("tare-{verb}") };
        let page = format!("man1/{name}.1");
        let shown = place.command("man").args(["--warnings", "-l", &page]).env("MANWIDTH", "120").output().expect("man");
        assert!(shown.status.success() && shown.stderr.is_empty(), "{page}: {}", text(&shown.stderr));
        let shown = text(&shown.stdout);
        let help = text(&place.tare().args([verb, "--help"].iter().filter(|word| !word.is_empty())).output().expect("tare can be started").stdout);
        for option in options(&help) {
            assert!(shown.contains(&option), "{page} has no {option}\n{shown}");
        }
        for word in help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next()) {
            assert!(shown.contains(word), "{page} has no {word}");
        }
        assert!(shown.contains("NAME") && shown.contains("SYNOPSIS"), "{shown}");
        if help.contains("Examples:") {
            assert!(shown.contains("EXAMPLES"), "{page}");
        }
        assert_eq!(text(&fs::read(place.path().join(&page)).expect("the page")), text(&printed(&place, verb)), "the page alone is the same");
    }
    // The line of a call has options with their values, then what stands without a name.
    let synopsis = |verb: &str| {
        let printed = text(&printed(&place, verb));
        printed
            .lines()
            .skip_while(|line| *line != ".SH SYNOPSIS")
            .nth(1)
            .unwrap_or_default()
            .replace("\\fB", "")
            .replace("\\fI", "")
            .replace("\\fR", "")
    };
    let of_query = synopsis("query");
    assert!(of_query.starts_with("tare query [") && of_query.ends_with(" RUN QUESTION...") && of_query.contains(" FORMAT]"), "{of_query}");
    let of_profile = synopsis("profile");
    assert!(of_profile.contains(" P%]") && of_profile.ends_with(" \\-\\- [CMD...]"), "{of_profile}");
    assert!(text(&printed(&place, "")).contains("tare\\-profile(1)"));
    // Each page says of which version it is and of when, as the changelog does.
    let changelog = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../CHANGELOG.md")).expect("the changelog");
    let version = changelog.lines().find_map(|line| line.strip_prefix("## ")).expect("a version");
    let (number, date) = (version.split([',', ' ']).next().unwrap_or_default(), version[version.len() - 11..].trim_end_matches(')'));
    for verb in ["", "query"] {
        let title = text(&printed(&place, verb)).lines().find(|line| line.starts_with(".TH ")).expect("a title").to_string();
        assert!(title.contains(date) && title.contains(&format!("tare {number}")), "{title}");
    }
    assert_eq!(place.tare().args(["manual", "nothing"]).output().expect("tare can be started").status.code(), Some(64));
}

fn printed(place: &Place, verb: &str) -> Vec<u8> {
    let words = ["manual", verb];
    place.tare().args(words.iter().filter(|word| !word.is_empty())).output().expect("tare can be started").stdout
}
