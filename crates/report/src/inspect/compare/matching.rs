//! Which function of one build is which of the other.

use std::collections::{BTreeSet, HashMap};

use super::{Function, fingerprint, numbers};

/// The outcome.
#[derive(Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<(Function, Function)>,
    pub(super) added: Vec<Function>,
    pub(super) removed: Vec<Function>,
    /// Nameless functions without a partner: before, after.
    pub(super) nameless: (usize, usize),
}

/// Matches by addresses in one build; else by full names, then by names without what compilers add, then where one has no name
/// by their instructions and by their numbers.
pub(super) fn matched(before: Vec<Function>, after: Vec<Function>, is_one_build: bool) -> Matched {
    let mut matched = Matched::default();
    let (before, after) = match is_one_build {
        true => pair(before, after, |one| one.address, &mut matched.pairs),
        false => (before, after),
    };
    let (before, nameless_before): (Vec<_>, Vec<_>) = before.into_iter().partition(has_name);
    let (after, nameless_after): (Vec<_>, Vec<_>) = after.into_iter().partition(has_name);
    let (before, after) = pair(before, after, |one| (one.name.clone(), one.file.clone()), &mut matched.pairs);
    let (before, after) = pair(before, after, |one| one.name.clone(), &mut matched.pairs);
    let (removed, added) = pair(before, after, |one| stem(&one.name), &mut matched.pairs);
    let (before, after) = ([removed, nameless_before].concat(), [added, nameless_after].concat());
    let (before, after) = alike(before, after, |one| (numbers(one), one.fingerprint.as_ref().map(|own| own.code)), &mut matched.pairs);
    let (before, after) = alike(before, after, numbers, &mut matched.pairs);
    let (removed, rest_before): (Vec<_>, Vec<_>) = before.into_iter().partition(has_name);
    let (added, rest_after): (Vec<_>, Vec<_>) = after.into_iter().partition(has_name);
    Matched { added, removed, nameless: (rest_before.len(), rest_after.len()), ..matched }
}

/// Pairs those that are as many of one build as of the other with the same key, in their order, where one at least of each
/// pair has no name: two names are two functions.
fn alike<K: std::hash::Hash + Eq>(
    before: Vec<Function>,
    after: Vec<Function>,
    key: impl Fn(&Function) -> K,
    pairs: &mut Vec<(Function, Function)>,
) -> (Vec<Function>, Vec<Function>) {
    let counted = |list: &[Function], is_counted: fn(&Function) -> bool| {
        let mut counts: HashMap<K, usize> = HashMap::new();
        list.iter().filter(|one| is_counted(one)).for_each(|one| *counts.entry(key(one)).or_default() += 1);
        counts
    };
    let all = [counted(&before, |_| true), counted(&after, |_| true)];
    let named = [counted(&before, has_name), counted(&after, has_name)];
    let nameless = [counted(&before, |one| !has_name(one)), counted(&after, |one| !has_name(one))];
    let are_equal = |[one, other]: &[HashMap<K, usize>; 2], key: &K| one.get(key) == other.get(key);
    let is_whole_group = |key: &K| are_equal(&all, key) && !(named[0].contains_key(key) && named[1].contains_key(key));
    let is_alike = |one: &Function| {
        let key = key(one);
        is_whole_group(&key) || !has_name(one) && are_equal(&nameless, &key)
    };
    let (mut alike_before, rest_before): (Vec<_>, Vec<_>) = before.into_iter().partition(is_alike);
    let (mut alike_after, rest_after): (Vec<_>, Vec<_>) = after.into_iter().partition(is_alike);
    for list in [&mut alike_before, &mut alike_after] {
        list.sort_by_key(|one| one.address);
    }
    let (alone_before, alone_after) = pair(alike_before, alike_after, key, pairs);
    ([rest_before, alone_before].concat(), [rest_after, alone_after].concat())
}

/// Pairs those with the same key; where several have it, those that do the same first, then in their order.
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
            let place = list.iter().rposition(|other| fingerprint::are_same(&one, other));
            Some(list.remove(place.or_else(|| list.iter().rposition(|other| numbers(other) == numbers(&one)))?))
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
pub(super) fn has_name(one: &Function) -> bool {
    !is_by_address(&one.name)
}

pub(super) fn is_by_address(name: &str) -> bool {
    name.strip_prefix("fn_").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Names that one calls and the other does not; as many as the other calls more without a name may be these.
pub(super) fn callees_beyond(one: &Function, other: &Function) -> Vec<String> {
    let known: BTreeSet<String> = other.callees.iter().map(|name| stem(name)).collect();
    let nameless = |of: &Function| of.callees.iter().filter(|name| is_by_address(name)).count();
    let named = one.callees.iter().filter(|name| !is_by_address(name));
    let beyond: Vec<String> = named.filter(|name| !known.contains(&stem(name))).cloned().collect();
    if beyond.len() <= nameless(other).saturating_sub(nameless(one)) { Vec::new() } else { beyond }
}

/// A name without what compilers add from build to build: `.constprop.0`, `.isra.1`, `.llvm.123`, Rust's hashes.
pub(super) fn stem(name: &str) -> String {
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
