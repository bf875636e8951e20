//! What changed between two builds of an image.
//!
//! Functions are matched by their names. Names that only compilers give — numbers of clones, hashes — are left out
//! where the full name matches nothing; functions without names, as in a stripped file, are matched where as many of one build
//! as of the other have the same instructions, or else the same numbers. Two files of the same build id are one build, whose functions are matched by their
//! addresses. That code moved is no change.

mod document;
mod fingerprint;
mod matching;
mod naming;
mod text;

use super::{Function, Image, Inspection};

pub use document::json;
pub use fingerprint::Fingerprint;
pub use text::text;

/// What changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The earlier build.
    pub before: Image,
    /// The later one.
    pub after: Image,
    /// Functions of the later build alone, the largest first.
    pub added: Vec<Function>,
    /// Functions of the earlier build alone, the largest first.
    pub removed: Vec<Function>,
    /// Functions of both that differ, those first whose instructions differ most.
    pub changed: Vec<Change>,
    /// Functions of both that do not.
    pub unchanged: usize,
    /// Nameless functions that could not be matched, of either build.
    pub nameless: (usize, usize),
}

/// A function of both builds that differs.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// As it was.
    pub before: Function,
    /// As it is.
    pub after: Function,
    /// Names of functions that it now calls.
    pub callees_added: Vec<String>,
    /// Names of functions that it no longer calls.
    pub callees_removed: Vec<String>,
}

impl Change {
    /// Whether nothing differs but operands, constants, texts, or which of its callees is called where.
    fn is_of_operands(&self) -> bool {
        numbers(&self.before) == numbers(&self.after) && self.callees_added.is_empty() && self.callees_removed.is_empty()
    }

    /// How many instructions more or less.
    fn distance(&self) -> usize {
        self.before.instructions.abs_diff(self.after.instructions)
    }
}

impl Comparison {
    /// Compares two inspections.
    #[must_use]
    pub fn of(before: Inspection, after: Inspection) -> Self {
        let is_one_build = before.image.build_id.is_some() && before.image.build_id == after.image.build_id;
        let mut matched = matching::matched(before.functions, after.functions, is_one_build);
        naming::name_alike(&mut matched.pairs);
        let mut comparison = Self {
            before: before.image,
            after: after.image,
            added: matched.added,
            removed: matched.removed,
            changed: Vec::new(),
            unchanged: 0,
            nameless: matched.nameless,
        };
        for (one, other) in matched.pairs {
            // In one build names tell what was stripped from one of the files, no more.
            let are_same = if is_one_build { fingerprint::have_same_code } else { fingerprint::are_same };
            if are_same(&one, &other) {
                comparison.unchanged += 1;
                continue;
            }
            let callees_added = matching::callees_beyond(&other, &one);
            let callees_removed = matching::callees_beyond(&one, &other);
            comparison.changed.push(Change { before: one, after: other, callees_added, callees_removed });
        }
        comparison.changed.sort_by(|one, other| other.distance().cmp(&one.distance()).then_with(|| one.after.name.cmp(&other.after.name)));
        for list in [&mut comparison.added, &mut comparison.removed] {
            list.sort_by(|one, other| other.instructions.cmp(&one.instructions).then_with(|| one.name.cmp(&other.name)));
        }
        comparison
    }
}

/// What the tables tell of a function.
fn numbers(one: &Function) -> [u64; 10] {
    let counts = [one.instructions, one.blocks, one.edges, one.exits, one.cyclomatic, one.loops, one.loop_depth, one.call_sites, one.indirect_calls];
    let mut numbers = [one.size; 10];
    for (place, count) in numbers.iter_mut().skip(1).zip(counts) {
        *place = count as u64;
    }
    numbers
}
