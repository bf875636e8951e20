//! Filters written to break the reader: any bytes are read or refused, soon.

mod common;

use std::time::{Duration, Instant};

use common::{Analysed, compiled};
use tare_select::lists::ListFormat;
use tare_select::{Filter, Preset};

const SAMPLE: &str = r#"<?xml version="1.0"?>
<!-- a comment --><filter name="sample" start="all" instrument="functions=mine,loops=loop,callsites=none">
  <include instrument="loops"><and><property name="path" edges="possible" min="1"><functionnames match="prefix">MPI_ "a b"</functionnames></property>
    <not><or><property name="linesofcode" min="5" max="80"/><classnames match="regex">^A.*B$ [a-z]{2,5}</classnames></or></not></and></include>
  <exclude><property name="depth" max="3"><namespaces>std</namespaces></property><filenames match="suffix"><![CDATA[.c]]></filenames></exclude>
</filter>
"#;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}

#[test]
fn filters_with_bytes_changed_cut_and_copied_are_read_or_refused() {
    let mut random = Random(2011);
    let texts: Vec<&str> = Preset::ALL.iter().map(|preset| preset.text()).chain([SAMPLE]).collect();
    assert!(texts.iter().all(|text| Filter::parse(text).is_ok()));
    let mut accepted = 0;
    for round in 0..20_000 {
        let mut bytes = texts[round % texts.len()].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let (at, other) = (random.below(bytes.len()), random.below(bytes.len()));
            match random.below(5) {
                0 => bytes[at] = b"<>/=\"' &;!?-[]09azAZ\n\0\xff"[random.below(23)],
                1 => bytes.truncate(at.max(1)),
                2 => drop(bytes.drain(at.min(other)..at.max(other))),
                3 => {
                    let piece = bytes[at.min(other)..at.max(other)].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => bytes.swap(at, other),
            }
            bytes.truncate(1 << 14);
            if bytes.is_empty() {
                bytes.push(b'<');
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Filter::parse(&text) {
            Ok(filter) => {
                accepted += 1;
                let _ = filter.needs();
            }
            Err(error) => assert!(error.line >= 1 && error.column >= 1 && error.line as usize <= text.lines().count() + 1, "{error}: {text}"),
        }
        for format in ListFormat::ALL {
            let _ = format.read(&text, "list");
        }
    }
    assert!(accepted > 500, "only {accepted} of the changed filters were filters");
}

#[test]
fn deep_nesting_is_refused_and_overflows_nothing() {
    for depth in [Filter::MAX_NESTING + 2, 1000, 300_000] {
        let text = format!(
            "<filter name='f'><include>{}<functionnames>a</functionnames>{}</include></filter>",
            "<not>".repeat(depth),
            "</not>".repeat(depth)
        );
        let error = Filter::parse(&text).expect_err("too deep");
        assert!(error.to_string().contains("nested deeper than 64 levels"), "{error}");
    }
    let depth = Filter::MAX_NESTING - 1;
    let text =
        format!("<filter name='f'><include>{}<functionnames>a</functionnames>{}</include></filter>", "<not>".repeat(depth), "</not>".repeat(depth));
    assert!(Filter::parse(&text).is_ok());
    let files = format!("SCOREP_FILE_NAMES_BEGIN\n{}SCOREP_FILE_NAMES_END\n", "EXCLUDE a INCLUDE b\n".repeat(10_000));
    assert!(ListFormat::ScoreP.read(&files, "list").is_err());
}

#[test]
fn expressions_that_explode_elsewhere_are_bounded_here() {
    let bytes = compiled(
        &[("a.cpp", "int aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(int a) { return a; }\nint main() { return 0; }\n")],
        &["-O0"],
    );
    let analysed = Analysed::of(&bytes);
    let started = Instant::now();
    for expression in ["(a+)+$", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)x", "((a{0,40}){0,40}){0,4}b"] {
        let text = format!("<filter name='f'><exclude><functionnames match='regex'>{expression}</functionnames></exclude></filter>");
        if let Ok(filter) = Filter::parse(&text) {
            let _ = analysed.choose(&[filter]);
        }
    }
    let bomb = "<filter name='f'><exclude><functionnames match='regex'>((a{500}){500}){500}</functionnames></exclude></filter>";
    assert!(Filter::parse(bomb).expect_err("a bomb").to_string().contains("takes more than 4 MiB"));
    let stars = format!("SCOREP_REGION_NAMES_BEGIN EXCLUDE {}b SCOREP_REGION_NAMES_END", "*a".repeat(200));
    let filter = ListFormat::ScoreP.read(&stars, "list").expect("a list");
    assert!(analysed.choose(&[filter]).selected().count() > 0);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn entities_are_not_expanded() {
    let text = "<!DOCTYPE f [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><filter name='&b;'/>";
    assert!(Filter::parse(text).expect_err("a document type").to_string().contains("not well-formed XML"));
}
