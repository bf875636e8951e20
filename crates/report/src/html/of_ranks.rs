//! Call paths as each rank has them, for as many ranks as there is room: what tables and the icicle show where ranks are selected.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns::Table;
use super::parts::Parts;
use super::tree::Shown;

/// Call paths that are carried over all ranks; one takes some ten bytes of the file.
const MOST_ENTRIES: usize = 400_000;

/// The call paths of some processes, one after the other.
#[derive(Serialize, Default)]
pub(super) struct OfRanks {
    /// Whose, in their order.
    processes: Vec<usize>,
    /// Where each one's begin, and where the last one's end.
    from: Vec<usize>,
    paths: Table,
}

/// What a process has of a call path.
#[derive(Clone, Copy, Default)]
struct Entry {
    path: u32,
    calls: u64,
    value: f64,
    measured: f64,
    wait: f64,
    measured_wait: f64,
}

impl OfRanks {
    /// Of all processes; where that is too much, of those first that deviate most, then of the others in their order.
    pub(super) fn of(parts: &Parts<'_>, tree: &Shown, deviating: &[u32]) -> Self {
        let profile = parts.results.profile;
        if profile.processes.len() < 2 {
            return Self::default();
        }
        let mut sizes = vec![0; profile.processes.len()];
        profile.locations.iter().for_each(|location| sizes[location.process.0] += location.nodes.len());
        let mut room = MOST_ENTRIES;
        let mut carried = vec![false; sizes.len()];
        for process in deviating.iter().map(|process| *process as usize).chain(0..sizes.len()) {
            if !carried[process] && sizes[process] <= room {
                room -= sizes[process];
                carried[process] = true;
            }
        }
        let processes: Vec<usize> = (0..sizes.len()).filter(|process| carried[*process]).collect();
        let mut entries: Vec<Entry> = Vec::new();
        let mut from = vec![0];
        let mut of_process: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
        profile.locations.iter().enumerate().for_each(|(index, location)| of_process[location.process.0].push(index));
        for process in &processes {
            entries.extend(Self::of_process(parts, tree, &of_process[*process]).into_values());
            from.push(entries.len());
        }
        let paths = Table::new(entries.len())
            .u32("path", entries.iter().map(|entry| entry.path))
            .u32("calls", entries.iter().map(|entry| u32::try_from(entry.calls).unwrap_or(u32::MAX)))
            .rough("value", entries.iter().map(|entry| entry.value))
            .rough("taken_off", entries.iter().map(|entry| entry.measured - entry.value))
            .rough("wait", entries.iter().map(|entry| entry.wait))
            .rough("measured_wait", entries.iter().map(|entry| entry.measured_wait));
        Self { processes, from, paths }
    }

    /// By row of the tree that is shown: what the locations of a process have there together.
    fn of_process(parts: &Parts<'_>, tree: &Shown, locations: &[usize]) -> BTreeMap<u32, Entry> {
        let mut entries: BTreeMap<u32, Entry> = BTreeMap::new();
        for &index in locations {
            let location = &parts.results.profile.locations[index];
            let figures = &parts.results.shown.locations[index].nodes;
            for ((node, figures), path) in location.nodes.iter().zip(figures).zip(&parts.whole.tree.of_location[index]) {
                let row = tree.row_of(*path as usize);
                let entry = entries.entry(row).or_insert(Entry { path: row, ..Entry::default() });
                entry.calls = entry.calls.saturating_add(node.calls());
                entry.value += figures.exclusive.value;
                entry.measured += figures.measured_exclusive_s;
                entry.wait += figures.wait_s;
                entry.measured_wait += figures.measured_wait_s;
            }
        }
        entries
    }
}
