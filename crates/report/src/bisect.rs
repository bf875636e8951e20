//! Which functions make a program misbehave when they are instrumented, as text and as the `bisect` document.

use serde::Serialize;

use crate::layout::{Page, Writer};
use crate::number::exact_count;

/// A function that was found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Culprit {
    /// Raw name.
    pub name: String,
    /// Name for people.
    #[serde(skip)]
    pub shown: String,
    /// Link address of the entry.
    pub address: u64,
    /// Source file; empty where unknown.
    pub file: String,
    /// Source line; 0 where unknown.
    pub line: u32,
}

/// Functions that make the command misbehave together: without any one of them it does not.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Culprits {
    /// The functions.
    pub functions: Vec<Culprit>,
    /// How the command ends with them, in words.
    pub outcome: String,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Path of the original.
    pub image: String,
    /// Functions that were instrumented at the outset.
    pub functions: usize,
    /// Functions that were not chosen, and so not searched.
    pub left_out: usize,
    /// How often the command was run.
    pub trials: usize,
    /// What was compared, in words.
    pub criterion: String,
    /// How the command ends as it should, in words.
    pub expected: String,
    /// How it ends with a copy in which no function is instrumented, where that is wrong already.
    pub bare_copy: Option<String>,
    /// Sets of functions, each of which is enough.
    pub culprits: Vec<Culprits>,
    /// Whether other functions make it misbehave as well, which were not searched for.
    pub more: bool,
}

/// The `bisect` document.
#[must_use]
pub fn json(found: &Found) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        image: &'a str,
        functions: usize,
        left_out: usize,
        trials: usize,
        criterion: &'a str,
        expected: &'a str,
        bare_copy: Option<&'a str>,
        culprits: &'a [Culprits],
        more: bool,
    }
    let Found { image, functions, left_out, trials, criterion, expected, bare_copy, culprits, more } = found;
    let bare_copy = bare_copy.as_deref();
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        image,
        functions: *functions,
        left_out: *left_out,
        trials: *trials,
        criterion,
        expected,
        bare_copy,
        culprits,
        more: *more,
    })
}

impl Found {
    /// Whether the command does the same whatever was instrumented.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.bare_copy.is_none() && self.culprits.is_empty()
    }
}

/// The sets of functions, one function a line.
#[must_use]
pub fn text(found: &Found, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let number = |number: usize| exact_count(number as u64, glyphs);
    writer.words("", 2, &format!("{}:", found.image));
    writer.labelled(
        "Trials",
        &format!("{}, with {} functions instrumented at most; compared: {}", number(found.trials), number(found.functions), found.criterion),
    );
    writer.labelled("Expected", &found.expected);
    if let Some(outcome) = &found.bare_copy {
        writer.labelled("Found", &format!("a copy in which no function is instrumented {outcome}: the program looks at its own file"));
    } else if found.is_nothing() {
        writer.labelled(
            "Found",
            &format!("nothing: the command does the same with the {} functions instrumented that were chosen", number(found.functions)),
        );
        if found.left_out > 0 {
            let words = format!("--preset all, if it misbehaves with more: {} functions were not chosen, and not searched", number(found.left_out));
            writer.labelled("Try", &words);
        }
    }
    for culprits in &found.culprits {
        let count = culprits.functions.len();
        let subject = if count == 1 { "this function".to_string() } else { format!("these {} functions together", number(count)) };
        writer.labelled("Found", &format!("with {subject} instrumented the command {}", culprits.outcome));
        for culprit in &culprits.functions {
            let place = if culprit.file.is_empty() { String::new() } else { format!(", {}:{}", culprit.file, culprit.line) };
            writer.labelled("", &format!("{} at {:#x}{place}", culprit.shown, culprit.address));
        }
    }
    if let Some(names) = names(found) {
        writer.labelled("Try", "--filter FILE, in which stands this line:");
        writer.whole_line(&format!("<filter name=\"without\"><exclude><functionnames match=\"simple\">{names}</functionnames></exclude></filter>"));
    }
    if found.more {
        writer.labelled("More", "there are others; leave these out and search again");
    }
    writer.finish()
}

/// One function of each set: without these the command does as it should. `None` where there is none, or where a
/// name would not stand for itself in a filter.
fn names(found: &Found) -> Option<String> {
    let firsts = found.culprits.iter().map(|culprits| culprits.functions.first().map(|one| one.name.as_str()));
    let names: Vec<&str> = firsts.collect::<Option<_>>()?;
    let is_plain = |name: &&str| name.chars().all(|one| one.is_ascii_alphanumeric() || "_.$".contains(one));
    (!names.is_empty() && names.iter().all(is_plain)).then(|| names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Found {
        let culprit = Culprit { name: "_Z3sumv".into(), shown: "sum()".into(), address: 0x1234, file: "own.c".into(), line: 7 };
        Found {
            image: "/bin/app".into(),
            functions: 900,
            trials: 12,
            criterion: "exit status and output".into(),
            expected: "ends with status 0".into(),
            culprits: vec![Culprits { functions: vec![culprit], outcome: "ends with status 3".into() }],
            ..Found::default()
        }
    }

    #[test]
    fn what_was_found_is_named_with_its_place() {
        let page = text(&found(), &Page::default());
        assert!(page.contains("with this function instrumented the command ends with status 3"), "{page}");
        assert!(page.contains("sum() at 0x1234, own.c:7"), "{page}");
    }

    #[test]
    fn the_filter_that_leaves_functions_out_is_a_line_that_can_be_copied() {
        let long = format!("_ZN{}Ev", "3abc".repeat(40));
        let mut found = found();
        found.culprits[0].functions[0].name.clone_from(&long);
        for width in [40, 80, Page::UNLIMITED] {
            let page = text(&found, &Page { width, ..Page::default() });
            let line = page.lines().find(|line| line.contains("<filter")).expect("the filter");
            assert!(line.starts_with("<filter ") && line.contains(&long) && line.ends_with("</filter>"), "{page}");
        }
    }

    #[test]
    fn what_was_not_searched_is_said_where_nothing_was_found() {
        let nothing = Found { culprits: Vec::new(), left_out: 41, ..found() };
        let page = text(&nothing, &Page::default()).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("Try --preset all") && page.contains("41 functions were not chosen"), "{page}");
        assert!(!text(&Found { left_out: 0, ..nothing }, &Page::default()).contains("--preset all"));
    }

    #[test]
    fn the_document_keeps_its_fields() {
        let document: serde_json::Value = serde_json::from_str(&json(&found())).expect("JSON");
        assert_eq!(document["culprits"][0]["functions"][0]["name"], "_Z3sumv");
        assert_eq!(document["bare_copy"], serde_json::Value::Null);
    }
}
