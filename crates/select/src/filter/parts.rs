//! Texts that may stand anywhere in a name: thousands of them are looked for at once.

use aho_corasick::AhoCorasick;

/// Texts, of which one must be a part of a name.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    texts: Vec<String>,
    /// `None` where there is no memory for it.
    search: Option<AhoCorasick>,
}

impl Parts {
    /// `None` where there are no texts.
    pub(super) fn of(texts: Vec<String>) -> Option<Self> {
        let search = AhoCorasick::new(&texts).ok();
        (!texts.is_empty()).then_some(Self { texts, search })
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    pub(super) fn is_in(&self, name: &str) -> bool {
        match &self.search {
            Some(search) => search.is_match(name),
            None => self.texts.iter().any(|text| name.contains(text)),
        }
    }
}
