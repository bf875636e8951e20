//! Whether two functions do the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::matching::{callees_beyond, stem};
use super::{Function, numbers};

/// What the instructions of a function do, wherever it, other code and data stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    /// Of instructions, operands, constants and texts.
    pub(super) code: u64,
    /// Of what stands at the addresses outside that they name, in order; 0 where that has no name.
    reached: Vec<u64>,
}

impl Fingerprint {
    /// `reached` are names, and hashes of what stands there.
    pub fn new<'a>(code: u64, reached: impl IntoIterator<Item = Option<(&'a str, u64)>>) -> Self {
        let hash = |(name, content): (&str, u64)| {
            let mut hasher = DefaultHasher::new();
            (stem(name), content).hash(&mut hasher);
            hasher.finish().max(1)
        };
        Self { code, reached: reached.into_iter().map(|one| one.map_or(0, hash)).collect() }
    }

    /// What has a name in one build alone is the same.
    fn is_like(&self, other: &Self) -> bool {
        let are_like = |(&one, &other): (&u64, &u64)| one == other || one == 0 || other == 0;
        self.code == other.code && self.reached.len() == other.reached.len() && self.reached.iter().zip(&other.reached).all(are_like)
    }
}

/// Whether the instructions of two functions are the same but for addresses, and so is what these lead to where both have a name
/// for it; by their numbers and callees where nothing else is known.
pub(super) fn are_same(one: &Function, other: &Function) -> bool {
    match (&one.fingerprint, &other.fingerprint) {
        (Some(own), Some(others)) => own.is_like(others),
        _ => numbers(one) == numbers(other) && callees_beyond(one, other).is_empty() && callees_beyond(other, one).is_empty(),
    }
}

/// The same, whatever the addresses lead to.
pub(super) fn have_same_code(one: &Function, other: &Function) -> bool {
    match (&one.fingerprint, &other.fingerprint) {
        (Some(own), Some(others)) => own.code == others.code,
        _ => are_same(one, other),
    }
}
