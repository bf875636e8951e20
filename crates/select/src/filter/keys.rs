//! What a pattern's matches have in common: texts that can be looked for in all patterns of a filter at once.

use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};

use super::pattern::{Match, Pattern};

/// Every name that matches is one of the whole names, or has one of the fragments in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Keys<'a> {
    /// Whole names.
    pub(crate) whole: Vec<&'a str>,
    /// Fragments, none of them empty.
    pub(crate) fragments: Vec<Vec<u8>>,
}

impl Pattern {
    /// The keys; `None` where one of its expressions has none.
    pub(crate) fn keys(&self) -> Option<Keys<'_>> {
        let whole = self.literals().collect();
        let fragments = match self.how() {
            Match::Simple => Vec::new(),
            Match::Prefix | Match::Suffix => self.words().iter().map(|word| word.clone().into_bytes()).collect(),
            Match::Find | Match::Regex | Match::Wildcard => {
                let expressions = self.expressions().map(|expression| fragments(expression)).collect::<Option<Vec<_>>>()?;
                self.parts().iter().map(|part| part.clone().into_bytes()).chain(expressions.concat()).collect()
            }
        };
        fragments.iter().all(|fragment| !fragment.is_empty()).then_some(Keys { whole, fragments })
    }
}

/// Texts of which one is in every match of a regular expression: those that its matches begin with, or end with.
fn fragments(expression: &str) -> Option<Vec<Vec<u8>>> {
    let parsed = regex_syntax::parse(expression).ok()?;
    let of = |kind| {
        let found: Seq = Extractor::new().kind(kind).extract(&parsed);
        let texts: Vec<Vec<u8>> = found.literals()?.iter().map(|literal| literal.as_bytes().to_vec()).collect();
        texts.iter().all(|text| text.len() >= LEAST).then_some(texts)
    };
    of(ExtractKind::Prefix).or_else(|| of(ExtractKind::Suffix))
}

/// Shorter fragments are in too many names.
const LEAST: usize = 2;

#[cfg(test)]
mod tests {
    use super::fragments;

    fn texts(expression: &str) -> Option<Vec<String>> {
        let found = fragments(expression)?;
        Some(found.into_iter().map(|text| String::from_utf8(text).expect("text")).collect())
    }

    #[test]
    fn an_expression_begins_or_ends_with_something_or_has_no_key() {
        let strings = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(texts("^solve_[0-9a-f]+$"), strings(&["solve_"]));
        assert_eq!(texts("(?:up|down)_.*"), strings(&["up_", "down_"]));
        assert_eq!(texts(".*_kernel"), strings(&["_kernel"]));
        assert_eq!(texts(".*"), None);
        assert_eq!(texts("[a-z]+x[a-z]+"), None);
    }
}
