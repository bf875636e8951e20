//! The call tree as the page has it: as it is, or with small paths folded where there are too many.

use std::cmp::Ordering;

use tare_compensate::whole::{CallPath, CallTree};

use super::columns::Table;
use crate::view::mark_number;

/// Call paths that a page carries where nothing else is asked for; with more, the smallest are folded into one below each parent.
pub const MOST_PATHS: usize = 200_000;

/// Region number of what was folded.
pub(super) const FOLDED: u32 = u32::MAX;

/// A tree that is small enough.
pub(super) struct Shown {
    rows: Vec<Row>,
    /// By path of the tree: its row, or that in which it stands.
    row_of: Vec<u32>,
    /// Paths that stand in others.
    pub(super) folded: usize,
}

struct Row {
    region: u32,
    parent: u32,
    path: CallPath,
    /// Paths folded into it.
    folded: u32,
}

impl Shown {
    pub(super) fn of(tree: &CallTree, most: usize) -> Self {
        let keeps = kept(tree, most);
        let mut rows: Vec<Row> = Vec::new();
        let mut row_of = vec![u32::MAX; tree.paths.len()];
        let mut rest_of: Vec<u32> = vec![u32::MAX; tree.paths.len()];
        let mut folded = 0;
        for (index, path) in tree.paths.iter().enumerate() {
            let parent = path.parent.map_or(u32::MAX, |parent| row_of[parent]);
            if keeps[index] {
                row_of[index] = rows.len() as u32;
                rows.push(Row { region: path.region.0 as u32, parent, path: path.clone(), folded: 0 });
                continue;
            }
            folded += 1;
            // A path below one that is folded stands in the same row as that.
            let above = path.parent.unwrap_or(0);
            let rest = if keeps[above] { &mut rest_of[above] } else { &mut row_of[above] };
            if *rest == u32::MAX {
                *rest = rows.len() as u32;
                rows.push(Row { region: FOLDED, parent, path: path.clone(), folded: 1 });
            } else {
                add(&mut rows[*rest as usize], path);
            }
            row_of[index] = *rest;
        }
        Self { rows, row_of, folded }
    }

    /// The row of a path, or that in which it stands.
    pub(super) fn row_of(&self, path: usize) -> u32 {
        self.row_of[path]
    }

    pub(super) fn table(&self) -> Table {
        let paths = || self.rows.iter().map(|row| &row.path);
        Table::new(self.rows.len())
            .u32("parent", self.rows.iter().map(|row| row.parent))
            .u32("region", self.rows.iter().map(|row| row.region))
            .u32("folded", self.rows.iter().map(|row| row.folded))
            .whole("calls", paths().map(|path| path.calls))
            .u8("inexact", paths().map(|path| u8::from(!path.calls_exact)))
            .u32("locations", paths().map(|path| path.locations))
            .seconds("measured", paths().map(|path| path.measured_s))
            .seconds("value", paths().map(|path| path.exclusive.value))
            .rough("below", paths().map(|path| path.exclusive.value - path.exclusive.low))
            .rough("above", paths().map(|path| path.exclusive.high - path.exclusive.value))
            .rough("inclusive_below", paths().map(|path| path.inclusive.value - path.inclusive.low))
            .rough("inclusive_above", paths().map(|path| path.inclusive.high - path.inclusive.value))
            .u8("mark", paths().map(|path| mark_number(path.exclusive.mark)))
            .rough("measured_wait", paths().map(|path| path.measured_wait_s))
            .rough("wait", paths().map(|path| path.wait_s))
    }
}

fn add(row: &mut Row, path: &CallPath) {
    let sum = &mut row.path;
    sum.calls = sum.calls.saturating_add(path.calls);
    sum.calls_exact &= path.calls_exact;
    sum.locations = sum.locations.max(path.locations);
    sum.measured_s += path.measured_s;
    sum.exclusive = sum.exclusive.added(&path.exclusive);
    sum.measured_wait_s += path.measured_wait_s;
    sum.wait_s += path.wait_s;
    row.folded += 1;
}

/// Which paths stay: those with the largest inclusive times. One that stays has a parent that stays, whose time is not less.
fn kept(tree: &CallTree, most: usize) -> Vec<bool> {
    let time = |index: usize| tree.paths[index].inclusive.value.max(tree.paths[index].measured_inclusive_s);
    if tree.paths.len() <= most {
        return vec![true; tree.paths.len()];
    }
    let mut order: Vec<usize> = (0..tree.paths.len()).collect();
    order.sort_by(|&one, &other| time(other).partial_cmp(&time(one)).unwrap_or(Ordering::Equal).then(one.cmp(&other)));
    let mut keeps = vec![false; tree.paths.len()];
    order[..most].iter().for_each(|&index| keeps[index] = true);
    for index in 0..keeps.len() {
        let parent_stays = tree.paths[index].parent.is_none_or(|parent| keeps[parent]);
        keeps[index] = tree.paths[index].parent.is_none() || keeps[index] && parent_stays;
    }
    keeps
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_compensate::Figure;
    use tare_profile::RegionIndex;

    fn path(parent: Option<usize>, exclusive: f64, inclusive: f64) -> CallPath {
        CallPath {
            region: RegionIndex(0),
            parent,
            calls: 1,
            calls_exact: true,
            locations: 1,
            measured_s: exclusive,
            exclusive: Figure::exact(exclusive),
            measured_inclusive_s: inclusive,
            inclusive: Figure::exact(inclusive),
            measured_wait_s: 0.0,
            wait_s: 0.0,
        }
    }

    #[test]
    fn folding_loses_no_time_and_keeps_the_heaviest_paths() {
        let mut paths = vec![path(None, 1.0, 1.0 + 6.0 + 30.0), path(Some(0), 5.0, 6.0), path(Some(1), 1.0, 1.0)];
        paths.extend((0..10).map(|_| path(Some(0), 3.0, 3.0)));
        let tree = CallTree { paths, of_location: Vec::new() };
        for most in [1, 2, 5, 13, 100] {
            let shown = Shown::of(&tree, most);
            let sum: f64 = shown.rows.iter().map(|row| row.path.exclusive.value).sum();
            assert!((sum - 37.0).abs() < 1e-9, "{most}: {sum}");
            let counted: u32 = shown.rows.iter().map(|row| row.folded.max(1)).sum();
            assert_eq!(counted, 13, "{most}");
            assert!(shown.rows.iter().enumerate().all(|(index, row)| row.parent == u32::MAX || (row.parent as usize) < index));
            assert_eq!(shown.rows[0].region, 0);
        }
        assert_eq!(Shown::of(&tree, 3).folded, 11 - 1);
    }
}
