//! The schema against everything that ships or is shown: presets, the page's examples, and what is wrong.

use std::path::{Path, PathBuf};
use std::process::Command;

use tare_select::{Filter, Preset};

fn schema() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filter.rng")
}

/// Whether `xmllint` finds the filter valid.
fn is_valid(text: &str) -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("filter.xml");
    std::fs::write(&file, text).expect("a file");
    let output = Command::new("xmllint").args(["--noout", "--relaxng"]).args([schema(), file]).output().expect("xmllint");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "the schema itself is read: {said}");
    output.status.success()
}

/// Filters that the page shows.
fn examples() -> Vec<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/filters.md")).expect("the page");
    page.split("```xml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_string()).collect()
}

#[test]
fn presets_and_examples_satisfy_the_schema_and_are_read() {
    let examples = examples();
    assert!(examples.len() >= 7, "{} examples", examples.len());
    for text in Preset::ALL.iter().map(|preset| preset.text()).chain(examples.iter().map(String::as_str)) {
        assert!(is_valid(text), "{text}");
        Filter::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}

#[test]
fn what_the_schema_refuses_is_refused_by_the_reader_and_what_it_accepts_is_read() {
    let rule = |inner: &str| format!("<filter name='f'><include>{inner}</include></filter>");
    let wrong = [
        "<filter/>".to_string(),
        "<filter name=''/>".to_string(),
        "<filter name='f' start='some'/>".to_string(),
        "<filter name='f' budget='0.02'/>".to_string(),
        "<filter name='f' budget='0%'/>".to_string(),
        "<filter name='f' budget='1001%'/>".to_string(),
        "<filter name='f' instrument='functions=a,,loops'/>".to_string(),
        "<filter name='f' instrument='function'/>".to_string(),
        "<filter name='f'><include/></filter>".to_string(),
        "<filter name='f'><exclude instrument='loops'><functionnames>a</functionnames></exclude></filter>".to_string(),
        rule("<functionnames match='glob'>a</functionnames>"),
        rule("<functionnames> </functionnames>"),
        rule("<functionnames><b/></functionnames>"),
        rule("<not/>"),
        rule("<not><functionnames>a</functionnames><functionnames>b</functionnames></not>"),
        rule("<property name='size' min='1'/>"),
        rule("<property name='instructions'/>"),
        rule("<property name='instructions' min='-1'/>"),
        rule("<property name='instructions' min='1' match='find'/>"),
        rule("<property name='depth'><functionnames>a</functionnames></property>"),
        rule("<property name='path'/>"),
        rule("<property name='path' edges='all'><functionnames>a</functionnames></property>"),
        rule("some text"),
    ];
    for text in wrong {
        assert!(!is_valid(&text), "the schema accepts {text}");
        assert!(Filter::parse(&text).is_err(), "the reader accepts {text}");
    }
    let right = [
        "<filter name='f' instrument=' functions = mine , loops '/>".to_string(),
        rule("<property name='loops'/><property name='callsites' max='3'/>"),
        rule("<property name='path' min='1' max='2' edges='possible'><and><functionnames>a</functionnames></and></property>"),
        rule("<property name='filenames' match='regex'>a+ <!-- or --> \"b c\"</property>"),
    ];
    for text in right {
        assert!(is_valid(&text), "the schema refuses {text}");
        Filter::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}
