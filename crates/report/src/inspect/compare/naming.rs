//! One name for a function that has one in one file alone, as in a stripped file and its twin with symbols.

use std::collections::HashMap;

use super::Function;
use super::matching::{has_name, is_by_address};

/// Gives functions and callees that have no name that of the function with which they were matched.
pub(super) fn name_alike(pairs: &mut [(Function, Function)]) {
    let (mut of_before, mut of_after) = (HashMap::new(), HashMap::new());
    for (before, after) in pairs.iter() {
        match (has_name(before), has_name(after)) {
            (false, true) => drop(of_before.insert(before.name.clone(), (after.name.clone(), after.demangled.clone()))),
            (true, false) => drop(of_after.insert(after.name.clone(), (before.name.clone(), before.demangled.clone()))),
            _ => {}
        }
    }
    for (before, after) in pairs {
        name(before, &of_before);
        name(after, &of_after);
    }
}

fn name(one: &mut Function, names: &HashMap<String, (String, String)>) {
    if let Some((name, demangled)) = names.get(&one.name) {
        (one.name, one.demangled) = (name.clone(), demangled.clone());
    }
    for callee in one.callees.iter_mut().filter(|name| is_by_address(name)) {
        if let Some((name, _)) = names.get(callee) {
            callee.clone_from(name);
        }
    }
}
