//! What all runs have measured. Runs with other presets, filters, libraries or levels measure other functions: what a run did not measure is in
//! the time of what called it. So that like is compared with like, a region that some run has not measured becomes part of what
//! called it in the others as well, and is named as such.
//!
//! What a run has not measured: a function, loop, iteration or call site that had no probe in it. Where two runs were given the same
//! selection, and no costs decided, what only one of them has is new in the program, or gone from it, and stays a region. Operations
//! of MPI and regions that a program names itself are measured in every run.

use std::collections::HashMap;

use tare_compensate::Figure;
use tare_profile::RegionKind;

use super::Side;
use super::matching::{Item, Probed};
use crate::run::{Results, Run};
use crate::view::{Size, Whole};

/// Runs with less of their work than this in regions that both have are hardly of one program.
const LEAST_IN_COMMON: f64 = 0.5;

/// A region that not all runs have measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) kind: RegionKind,
    /// Whether some run has measured no region of this kind at all.
    pub(super) is_of_a_level: bool,
    /// The sides that have measured it.
    pub(super) sides: Vec<usize>,
}

/// For each further side that hardly seems to be the same program: its number, and the least part of its work or of the first
/// side's that lies in regions which both have measured. Runs of one image, and other selections of one file name, are not asked about.
pub(super) fn strangers(sides: &[Side<'_>], groups: &[Vec<Item>]) -> Vec<(usize, f64)> {
    let side_of: Vec<usize> = sides.iter().enumerate().flat_map(|(index, side)| std::iter::repeat_n(index, side.runs.len())).collect();
    let in_common = |side: usize| {
        let part = |of: usize| {
            let work = groups.iter().filter(|group| !matches!(group[0].kind, "mpi" | "program"));
            let time = |group: &[Item]| group.iter().filter(|item| side_of[item.run] == of).map(|item| item.row.shown.value.max(0.0)).sum::<f64>();
            let is_in = |group: &[Item], side| group.iter().any(|item| side_of[item.run] == side);
            let (both, all) = work.fold((0.0, 0.0), |(both, all), group| {
                let here = time(group);
                (both + if is_in(group, 0) && is_in(group, side) { here } else { 0.0 }, all + here)
            });
            if all > 0.0 { both / all } else { 1.0 }
        };
        part(0).min(part(side))
    };
    (1..sides.len())
        .filter(|&side| !is_same_program(&sides[0], &sides[side]))
        .map(|side| (side, in_common(side)))
        .filter(|(_, part)| *part < LEAST_IN_COMMON)
        .collect()
}

/// Whether nobody has to ask: an image that stands in both, or the same file name where selections differ.
fn is_same_program(one: &Side<'_>, other: &Side<'_>) -> bool {
    let ((run, results), (other_run, other_results)) = (&one.runs[0], &other.runs[0]);
    let builds = |results: &Results<'_>| {
        let functions = results.profile.regions.iter().filter(|region| region.kind == RegionKind::Function);
        functions.map(|region| region.build_id.clone()).filter(|build| !build.is_empty()).collect::<std::collections::HashSet<_>>()
    };
    let file = |results: &Results<'_>| results.profile.processes.first().and_then(|process| process.executable.rsplit('/').next().map(String::from));
    let differs = run.selection.is_some() && other_run.selection.is_some() && run.selection != other_run.selection;
    !builds(results).is_disjoint(&builds(other_results)) || (differs && file(results) == file(other_results))
}

/// Makes what some run has not measured part of what called it in the others.
pub(super) fn fold(sides: &[Side<'_>], wholes: &[Vec<Whole>], groups: &mut Vec<Vec<Item>>) -> Vec<Part> {
    let runs: Vec<(usize, &Run, &Results<'_>)> =
        sides.iter().enumerate().flat_map(|(index, side)| side.runs.iter().map(move |(run, results)| (index, *run, *results))).collect();
    let wholes: Vec<&Whole> = wholes.iter().flatten().collect();
    let lacking = Lacking::of(&runs, &wholes);
    let (kept, folded): (Vec<Vec<Item>>, Vec<Vec<Item>>) = std::mem::take(groups).into_iter().partition(|group| !lacking.is_lacked(group));
    *groups = kept;
    let mut is_folded: Vec<Vec<bool>> = runs.iter().map(|(_, _, results)| vec![false; results.profile.regions.len()]).collect();
    folded.iter().flatten().for_each(|item| is_folded[item.run][item.row.region] = true);
    let more: Vec<HashMap<usize, Figure>> =
        runs.iter().zip(&wholes).zip(&is_folded).map(|(((_, _, results), whole), is_folded)| below(results, whole, is_folded)).collect();
    for item in groups.iter_mut().flatten() {
        if let Some(more) = more[item.run].get(&item.row.region) {
            item.row.shown = item.row.shown.added(more);
        }
    }
    let part = |group: &Vec<Item>| {
        let first = &group[0];
        let kind = runs[first.run].2.profile.regions[first.row.region].kind;
        let mut sides: Vec<usize> = group.iter().map(|item| runs[item.run].0).collect();
        sides.dedup();
        Part { name: first.row.name.clone(), kind, is_of_a_level: lacking.has_no(kind), sides }
    };
    let seconds = |group: &[Item]| group.iter().map(|item| item.row.shown.value.abs()).fold(0.0, f64::max);
    let mut folded = folded;
    folded.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
    folded.iter().map(part).collect()
}

/// For each region, the time of what is folded and was called by it, mean of the ranks.
fn below(results: &Results<'_>, whole: &Whole, is_folded: &[bool]) -> HashMap<usize, Figure> {
    let ranks = Size::of(results).ranks.max(1) as f64;
    let paths = &whole.tree.paths;
    let mut more: HashMap<usize, Figure> = HashMap::new();
    for path in paths.iter().filter(|path| is_folded[path.region.0]) {
        let mut above = std::iter::successors(path.parent, |&parent| paths[parent].parent);
        if let Some(caller) = above.find(|&parent| !is_folded[paths[parent].region.0]) {
            let sum = more.entry(paths[caller].region.0).or_insert(Figure::exact(0.0));
            *sum = sum.added(&path.exclusive.divided(ranks));
        }
    }
    more
}

/// Which regions runs have not measured.
struct Lacking<'a> {
    runs: &'a [(usize, &'a Run, &'a Results<'a>)],
    probed: Vec<Option<Probed>>,
    /// Whether another tool measured it and kept no call paths: nothing says what called what.
    is_flat: Vec<bool>,
    /// Kinds of which a run has no region.
    levels: Vec<RegionKind>,
}

impl<'a> Lacking<'a> {
    fn of(runs: &'a [(usize, &'a Run, &'a Results<'a>)], wholes: &[&Whole]) -> Self {
        let has = |run: &Run, results: &Results<'_>, kind| {
            let met = || results.profile.regions.iter();
            run.probed.as_ref().map_or_else(|| met().any(|region| region.kind == kind), |probed| probed.iter().any(|region| region.kind == kind))
        };
        let is_deep = |whole: &Whole| whole.tree.paths.iter().any(|path| path.parent.is_some_and(|parent| whole.tree.paths[parent].parent.is_some()));
        let levels = [RegionKind::Loop, RegionKind::Iteration, RegionKind::CallSite];
        Self {
            runs,
            probed: runs.iter().map(|(_, run, _)| run.probed.as_deref().map(Probed::of)).collect(),
            is_flat: runs.iter().zip(wholes).map(|((_, run, _), whole)| run.measured_by.is_some() && !is_deep(whole)).collect(),
            levels: levels.into_iter().filter(|&kind| runs.iter().any(|(_, run, results)| !has(run, results, kind))).collect(),
        }
    }

    fn has_no(&self, kind: RegionKind) -> bool {
        self.levels.contains(&kind)
    }

    /// Whether some run has not measured the region of a group.
    fn is_lacked(&self, group: &[Item]) -> bool {
        let first = &group[0];
        let (_, first_run, results) = self.runs[first.run];
        let kind = results.profile.regions[first.row.region].kind;
        if !matches!(kind, RegionKind::Function | RegionKind::Loop | RegionKind::Iteration | RegionKind::CallSite) {
            return false;
        }
        if group.iter().any(|item| self.is_flat[item.run]) {
            return false;
        }
        let is_without = |run: usize| match &self.probed[run] {
            Some(probed) => !probed.has(first) && !asked_alike(first_run, self.runs[run].1),
            // Another tool's file has what was called, and nothing of the rest.
            None => self.runs[run].1.measured_by.is_some() && !self.is_flat[run],
        };
        self.has_no(kind) || (0..self.runs.len()).filter(|&run| group.iter().all(|item| item.run != run)).any(is_without)
    }
}

/// Whether two runs were asked to measure the same, and did where the program is the same.
fn asked_alike(one: &Run, other: &Run) -> bool {
    one.selection.is_some() && one.selection == other.selection && one.selection.as_ref().is_some_and(|selection| !selection.rests_on_costs)
}
