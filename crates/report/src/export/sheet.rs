//! Call paths as other tools can have them.

use tare_compensate::Mark;
use tare_compensate::whole::{CallPath, CallTree};
use tare_profile::Region;

use crate::run::Results;

/// Call paths in whole nanoseconds, parents before children, siblings from the heaviest on.
#[derive(Debug)]
pub struct Sheet<'a> {
    pub(super) paths: Vec<Path<'a>>,
    /// Exclusive times that were not written at their place.
    pub removed: usize,
}

/// A call path.
#[derive(Debug)]
pub(super) struct Path<'a> {
    /// `None` where it stands for what is not to be trusted.
    pub(super) region: Option<&'a Region>,
    pub(super) parent: Option<usize>,
    pub(super) calls: u64,
    pub(super) exclusive_ns: u64,
    /// Sum of the exclusive times below.
    pub(super) inclusive_ns: u64,
    pub(super) measured_ns: u64,
    pub(super) wait_ns: u64,
    /// How often its region stands above it.
    pub(super) recursion: usize,
}

/// The name of what is not to be trusted.
pub(super) const UNTRUSTED: &str = "[not to be trusted]";

impl Path<'_> {
    pub(super) fn name(&self) -> &str {
        self.region.map_or(UNTRUSTED, |region| &*region.name)
    }

    pub(super) fn file(&self) -> &str {
        self.region.map_or("", |region| region.file.as_str())
    }

    pub(super) fn line(&self) -> u32 {
        self.region.map_or(0, |region| region.line)
    }

    pub(super) fn image(&self) -> &str {
        self.region.map_or("", |region| region.image.as_str())
    }
}

impl<'a> Sheet<'a> {
    /// The sum over all locations.
    #[must_use]
    pub fn of_all(results: &Results<'a>) -> Self {
        Self::of(results, &CallTree::of(results.profile, &results.shown))
    }

    /// The sum over the threads of a process.
    pub(super) fn of_process(results: &Results<'a>, process: usize) -> Self {
        let belongs = |index: usize| results.profile.locations[index].process.0 == process;
        Self::of(results, &CallTree::of_those(results.profile, &results.shown, belongs))
    }

    /// A single location.
    pub(super) fn of_location(results: &Results<'a>, location: usize) -> Self {
        Self::of(results, &CallTree::of_those(results.profile, &results.shown, |index| index == location))
    }

    fn of(results: &Results<'a>, tree: &CallTree) -> Self {
        let weights: Vec<f64> = tree.paths.iter().map(|path| path.inclusive.value).collect();
        let mut children = tree.children();
        let heaviest_first = |indices: &mut Vec<usize>| indices.sort_by(|&one, &other| weights[other].total_cmp(&weights[one]).then(one.cmp(&other)));
        children.iter_mut().for_each(heaviest_first);
        let mut roots: Vec<usize> = (0..tree.paths.len()).filter(|&index| tree.paths[index].parent.is_none()).collect();
        heaviest_first(&mut roots);
        let mut sheet = Self { paths: Vec::with_capacity(tree.paths.len()), removed: 0 };
        let mut open = vec![0_usize; results.profile.regions.len()];
        let mut distrusted_s = 0.0;
        let mut stack: Vec<(usize, Option<usize>, bool)> = roots.iter().rev().map(|&root| (root, None, false)).collect();
        while let Some((index, parent, is_left)) = stack.pop() {
            let path = &tree.paths[index];
            if is_left {
                open[path.region.0] -= 1;
                continue;
            }
            let is_trusted = is_trusted(path);
            if !is_trusted {
                sheet.removed += 1;
                distrusted_s += path.exclusive.value;
            }
            let place = sheet.paths.len();
            sheet.paths.push(Path {
                region: Some(&results.profile.regions[path.region.0]),
                parent,
                calls: path.calls,
                exclusive_ns: if is_trusted { nanoseconds(path.exclusive.value) } else { 0 },
                inclusive_ns: 0,
                measured_ns: nanoseconds(path.measured_s),
                wait_ns: nanoseconds(path.wait_s),
                recursion: open[path.region.0],
            });
            open[path.region.0] += 1;
            stack.push((index, parent, true));
            stack.extend(children[index].iter().rev().map(|&child| (child, Some(place), false)));
        }
        sheet.add_distrusted(distrusted_s);
        sheet.sum_up();
        sheet
    }

    fn add_distrusted(&mut self, seconds: f64) {
        if self.removed > 0 && nanoseconds(seconds) > 0 {
            let exclusive_ns = nanoseconds(seconds);
            let parent = Some(0).filter(|_| !self.paths.is_empty());
            self.paths.push(Path { region: None, parent, calls: 0, exclusive_ns, inclusive_ns: 0, measured_ns: 0, wait_ns: 0, recursion: 0 });
        }
    }

    fn sum_up(&mut self) {
        for index in (0..self.paths.len()).rev() {
            self.paths[index].inclusive_ns += self.paths[index].exclusive_ns;
            if let Some(parent) = self.paths[index].parent {
                self.paths[parent].inclusive_ns += self.paths[index].inclusive_ns;
            }
        }
    }

    /// Calls `with` for each path with exclusive time, with the indices from its root to it.
    pub(super) fn stacks(&self, mut with: impl FnMut(&[usize], &Path<'a>)) {
        let mut stack: Vec<usize> = Vec::new();
        for (index, path) in self.paths.iter().enumerate() {
            while stack.last().copied() != path.parent {
                if stack.pop().is_none() {
                    break;
                }
            }
            stack.push(index);
            with(&stack, path);
        }
    }
}

fn is_trusted(path: &CallPath) -> bool {
    path.exclusive.value >= 0.0 && !matches!(path.exclusive.mark, Some(Mark::OverheadExceedsTime | Mark::OverheadHidesTime))
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}
