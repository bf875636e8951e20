//! Which function of one build is which of the other.

use std::collections::{BTreeSet, HashMap};

use super::{Function, numbers};

/// The outcome.
#[derive(Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<(Function, Function)>,
    pub(super) added: Vec<Function>,
    pub(super) removed: Vec<Function>,
    /// Nameless functions without a partner: before, after.
    pub(super) nameless: (usize, usize),
}

/// Matches by full names, then by names without what compilers add, then nameless ones by their numbers.
pub(super) fn matched(before: Vec<Function>, after: Vec<Function>) -> Matched {
    let mut matched = Matched::default();
    let (before, nameless_before): (Vec<_>, Vec<_>) = before.into_iter().partition(has_name);
    let (after, nameless_after): (Vec<_>, Vec<_>) = after.into_iter().partition(has_name);
    let (before, after) = pair(before, after, |one| (one.name.clone(), one.file.clone()), &mut matched.pairs);
    let (before, after) = pair(before, after, |one| one.name.clone(), &mut matched.pairs);
    let (removed, added) = pair(before, after, |one| stem(&one.name), &mut matched.pairs);
    let counted = |list: &[Function]| {
        let mut counts: HashMap<[u64; 10], usize> = HashMap::new();
        list.iter().for_each(|one| *counts.entry(numbers(one)).or_default() += 1);
        counts
    };
    let (counts_before, counts_after) = (counted(&nameless_before), counted(&nameless_after));
    let is_matched = |one: &Function| counts_before.get(&numbers(one)) == counts_after.get(&numbers(one));
    let (alike_before, rest_before): (Vec<_>, Vec<_>) = nameless_before.into_iter().partition(is_matched);
    let (alike_after, rest_after): (Vec<_>, Vec<_>) = nameless_after.into_iter().partition(is_matched);
    pair(alike_before, alike_after, numbers, &mut matched.pairs);
    Matched { added, removed, nameless: (rest_before.len(), rest_after.len()), ..matched }
}

/// Pairs those with the same key; where several have it, those with the same numbers first, then in their order.
fn pair<K: std::hash::Hash + Eq>(
    before: Vec<Function>,
    after: Vec<Function>,
    key: impl Fn(&Function) -> K,
    pairs: &mut Vec<(Function, Function)>,
) -> (Vec<Function>, Vec<Function>) {
    let mut waiting: HashMap<K, Vec<Function>> = HashMap::new();
    for one in after.into_iter().rev() {
        waiting.entry(key(&one)).or_default().push(one);
    }
    let mut unequal = Vec::new();
    for one in before {
        let same = waiting.get_mut(&key(&one)).and_then(|list| {
            let place = list.iter().rposition(|other| numbers(other) == numbers(&one))?;
            Some(list.remove(place))
        });
        match same {
            Some(other) => pairs.push((one, other)),
            None => unequal.push(one),
        }
    }
    let mut alone = Vec::new();
    for one in unequal {
        match waiting.get_mut(&key(&one)).and_then(Vec::pop) {
            Some(other) => pairs.push((one, other)),
            None => alone.push(one),
        }
    }
    (alone, waiting.into_values().flatten().collect())
}

/// Whether the image says what it is called; others are named by their address.
fn has_name(one: &Function) -> bool {
    !is_by_address(&one.name)
}

fn is_by_address(name: &str) -> bool {
    name.strip_prefix("fn_").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Names that one calls and the other does not; nameless callees cannot be told apart.
pub(super) fn callees_beyond(one: &Function, other: &Function) -> Vec<String> {
    let known: BTreeSet<String> = other.callees.iter().map(|name| stem(name)).collect();
    let named = one.callees.iter().filter(|name| !is_by_address(name));
    named.filter(|name| !known.contains(&stem(name))).cloned().collect()
}

/// A name without what compilers add from build to build: `.constprop.0`, `.isra.1`, `.llvm.123`, Rust's hashes.
fn stem(name: &str) -> String {
    let name = name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    let legacy = name.strip_suffix('E').and_then(|rest| rest.rsplit_once("17h")).filter(|(_, hash)| hash.len() == 16);
    match legacy {
        Some((stem, hash)) if name.starts_with("_ZN") && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => stem.to_string(),
        _ if name.starts_with("_R") => without_disambiguators(name),
        _ => name.to_string(),
    }
}

/// Rust's newer names have `s…_` in front of what could be confused.
fn without_disambiguators(name: &str) -> String {
    let mut stem = String::new();
    let mut rest = name;
    while let Some(at) = rest.find("Cs") {
        let (front, behind) = rest.split_at(at + 1);
        stem.push_str(front);
        match behind[1..].split_once('_').filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            Some((_, after)) => rest = after,
            None => {
                rest = behind;
                break;
            }
        }
    }
    stem + rest
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn what_compilers_add_is_no_part_of_a_name() {
        assert_eq!(stem("sort.constprop.0"), stem("sort.isra.0.constprop.2"));
        assert_eq!(stem("_ZN4core3fmt5write17h0123456789abcdefE"), stem("_ZN4core3fmt5write17hfedcba9876543210E"));
        assert_eq!(stem("_RNvCs1234_7mycrate3foo"), stem("_RNvCsabcd9_7mycrate3foo"));
        assert_ne!(stem("_RNvCs1234_7mycrate3foo"), stem("_RNvCs1234_7mycrate3bar"));
        assert_eq!(stem(".hidden"), ".hidden");
    }
}
