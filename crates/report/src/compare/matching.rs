//! Which regions of several runs are the same.

use std::collections::{BTreeMap, HashMap, HashSet};

use tare_profile::Region;

use crate::short::without_parameters;
use crate::view::{RegionRow, kind_name};

/// A region of one run.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) run: usize,
    pub(super) kind: &'static str,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) row: RegionRow,
}

impl Item {
    pub(super) fn of(run: usize, region: &Region, row: RegionRow) -> Self {
        Self { run, kind: kind_name(region.kind), file: region.file.clone(), line: region.line, row }
    }

    fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }
}

/// What makes two items the same, from the strictest on.
const KEYS: [fn(&Item) -> String; 3] = [
    |item| format!("{}\0{}\0{}", item.kind, item.row.name, item.file_name()),
    |item| format!("{}\0{}", item.kind, item.row.name),
    |item| bare(&item.row.name).to_string(),
];

/// Items that are the same region, in the order of their first; items of one run that share the strictest key are one region.
pub(super) fn groups(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut by_key: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items {
        by_key.entry(KEYS[0](&item)).or_default().push(item);
    }
    let mut groups: Vec<Vec<Item>> = by_key.into_values().collect();
    for key in &KEYS[1..] {
        groups = joined(groups, *key);
    }
    groups
}

/// The regions that had probes in a run, called or not, by all keys that a name alone has.
#[derive(Debug)]
pub(super) struct Probed(HashSet<String>);

impl Probed {
    pub(super) fn of(regions: &[Region]) -> Self {
        let keys = |region: &Region| {
            let name: &str = &region.name;
            [format!("{}\0{name}", kind_name(region.kind)), bare(name).to_string()]
        };
        Self(regions.iter().flat_map(keys).collect())
    }

    pub(super) fn has(&self, item: &Item) -> bool {
        KEYS[1..].iter().any(|key| self.0.contains(&key(item)))
    }
}

/// Joins groups of one key, where no run is in more than one of them: there it is not known which is which.
fn joined(groups: Vec<Vec<Item>>, key: fn(&Item) -> String) -> Vec<Vec<Item>> {
    let mut of_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        of_key.entry(key(&group[0])).or_default().push(index);
    }
    let mut target: Vec<usize> = (0..groups.len()).collect();
    for members in of_key.into_values() {
        let mut seen: HashSet<usize> = HashSet::new();
        let runs = |index: usize| groups[index].iter().map(|item| item.run).collect::<HashSet<_>>();
        if members.iter().all(|&index| runs(index).into_iter().all(|run| seen.insert(run))) {
            members.iter().for_each(|&index| target[index] = members[0]);
        }
    }
    let mut result: Vec<Vec<Item>> = groups.iter().map(|_| Vec::new()).collect();
    for (group, target) in groups.into_iter().zip(target) {
        result[target].extend(group);
    }
    result.retain(|group| !group.is_empty());
    // The name that is shown is that of the first run.
    result.iter_mut().for_each(|group| group.sort_by_key(|item| item.run));
    result
}

/// `int Solver::step(double) const` as `Solver::step`: other tools write parameters and results where a compiler does not.
fn bare(name: &str) -> &str {
    let name = without_parameters(name);
    if name.contains("operator") || name.contains('<') || name.starts_with(['[', '(']) {
        return name;
    }
    // Loops and calls are named in words.
    let is_declaration = !name.contains(" of ") && !name.contains(" in ") && !name.contains(" => ");
    match name.rsplit_once(' ') {
        Some((_, last)) if is_declaration => last.trim_start_matches(['*', '&']),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_compensate::Figure;

    fn item(run: usize, name: &str, file: &str) -> Item {
        let row = RegionRow {
            region: 0,
            name: name.to_string(),
            place: None,
            measured_s: 1.0,
            local_s: 1.0,
            shown: Figure::exact(1.0),
            inclusive: Figure::exact(1.0),
            share: 0.0,
            calls: 1,
            calls_exact: true,
            waiting_s: 0.0,
            slowest: None,
        };
        Item { run, kind: "function", file: file.to_string(), line: 1, row }
    }

    fn sizes(items: Vec<Item>) -> Vec<(String, usize)> {
        groups(items).iter().map(|group| (group[0].row.name.clone(), group.len())).collect()
    }

    #[test]
    fn names_join_where_no_run_has_two_of_them() {
        assert_eq!(sizes(vec![item(0, "solve", "a.c"), item(1, "solve", "b/a.c"), item(2, "solve", "new.c")]), [("solve".to_string(), 3)]);
        let two = vec![item(0, "init", "a.c"), item(0, "init", "b.c"), item(1, "init", "c.c")];
        assert_eq!(sizes(two).len(), 3, "which of the two became the third is not known");
    }

    #[test]
    fn declarations_of_other_tools_meet_plain_names() {
        let names = ["int main(int, char **)", "double *ns::find(key const&)", "operator new(unsigned long)", "loop 1 of main", "MPI_Init"];
        assert_eq!(names.map(bare), ["main", "ns::find", "operator new", "loop 1 of main", "MPI_Init"]);
        assert_eq!(sizes(vec![item(0, "main", ""), item(1, "int main(int, char **)", "pi.c")]), [("main".to_string(), 2)]);
    }
}
