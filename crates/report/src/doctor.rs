//! What a machine offers and lacks, as text and as the `doctor` document.

use serde::Serialize;

use crate::layout::{Page, Writer};

/// What was found of one thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Found {
    /// The thing.
    pub what: &'static str,
    /// `good`, `weak` or `bad`.
    pub state: &'static str,
    /// How it stands.
    pub text: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// The `doctor` document.
#[must_use]
pub fn json(found: &[Found], works: bool) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        works: bool,
        findings: &'a [Found],
    }
    crate::json::written(&Document { schema: crate::json::SCHEMA, works, findings: found })
}

/// A line or more for each thing, its state first; remedies below.
#[must_use]
pub fn text(found: &[Found], page: &Page) -> String {
    let mut writer = Writer::new(page);
    let begin = |state: &str, what: &str| format!("{state:<5} {what:<14} ");
    let indent = begin("", "").len();
    for Found { what, state, text, remedy } in found {
        writer.words(&begin(state, what), indent, text);
        if let Some(remedy) = remedy {
            writer.words(&begin("", ""), indent, &format!("try: {remedy}"));
        }
    }
    writer.finish()
}
