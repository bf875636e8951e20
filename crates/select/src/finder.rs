//! Many patterns held against many names: for each name those patterns that may match it, in time that does not grow with
//! the number of patterns.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::AhoCorasick;

use crate::filter::{Names, Pattern};
use crate::scopes::NamedFunction;

/// Patterns, each with a number that its owner gives it.
#[derive(Default)]
pub(crate) struct Finder<'a> {
    kinds: BTreeMap<Names, Kind<'a>>,
}

/// Patterns of one kind of names.
#[derive(Default)]
struct Kind<'a> {
    whole: HashMap<&'a str, Vec<usize>>,
    fragments: Vec<(Vec<u8>, usize)>,
    search: Option<AhoCorasick>,
}

impl<'a> Finder<'a> {
    /// Adds a pattern; `false` where it has no keys, so that it may match any name.
    pub(crate) fn add(&mut self, of: Names, pattern: &'a Pattern, number: usize) -> bool {
        let Some(keys) = pattern.keys() else { return false };
        let kind = self.kinds.entry(of).or_default();
        for name in keys.whole {
            kind.whole.entry(name).or_default().push(number);
        }
        kind.fragments.extend(keys.fragments.into_iter().map(|fragment| (fragment, number)));
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Makes it ready for names. Without memory for the search, which takes some hundred bytes a fragment, nothing is found
    /// by it: `false`.
    pub(crate) fn prepare(&mut self) -> bool {
        self.kinds.values_mut().all(|kind| {
            kind.search = AhoCorasick::new(kind.fragments.iter().map(|(fragment, _)| fragment)).ok();
            kind.search.is_some()
        })
    }

    /// Shows the numbers of patterns that may match a name of this kind, some of them several times.
    pub(crate) fn find(&self, of: Names, name: &str, see: &mut dyn FnMut(usize)) {
        let Some(kind) = self.kinds.get(&of) else { return };
        kind.whole.get(name).into_iter().flatten().for_each(|&number| see(number));
        let Some(search) = kind.search.as_ref().filter(|search| search.patterns_len() > 0) else { return };
        for found in search.find_overlapping_iter(name) {
            see(kind.fragments[found.pattern().as_usize()].1);
        }
    }

    /// The numbers of patterns that may match a name of a function, in their order.
    pub(crate) fn of_function(&self, names: &NamedFunction) -> Vec<usize> {
        let mut found = Vec::new();
        for &of in self.kinds.keys() {
            names.any(of, |name| {
                self.find(of, name, &mut |number| found.push(number));
                false
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
