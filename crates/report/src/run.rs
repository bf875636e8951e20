//! What a report is made from: what the command line knows of a run, and the profile with its compensations.

use tare_compensate::{Compensated, Mode, RunCosts};
use tare_profile::{ProcessIndex, Profile, Region};

use crate::select::Decision;

/// What the command line knows of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// The command as it was given.
    pub command: Vec<String>,
    /// The program in it with its arguments, for the head line.
    pub program: String,
    /// When it began, ISO 8601 with zone.
    pub started: String,
    /// How long it took on the wall clock, seconds.
    pub wall_s: f64,
    /// How it ended.
    pub exit: Exit,
    /// The signal that told us to stop it, such as `SIGINT`; a launcher makes something else of that.
    pub stopped_by: Option<String>,
    /// When processes of this node ended, in their order: the file of their graph, and seconds since the start.
    pub ends: Vec<(String, f64)>,
    /// The directory in which it lies, as it is to be typed.
    pub directory: String,
    /// Whether a process found no room for what it measures, nor permission to write it.
    pub is_unwritten: bool,
    /// Images that were instrumented for it.
    pub images: Vec<InstrumentedImage>,
    /// What was asked to be measured, where that is known.
    pub selection: Option<Selection>,
    /// Regions that had probes, called or not: a comparison asks for them.
    pub probed: Option<Vec<Region>>,
    /// The tool that measured it, where that was another one: what it cost is not known, and in all times.
    pub measured_by: Option<String>,
    /// How that tool, where it was ours, had taken off what measuring cost: nothing says any more how uncertain that is.
    pub was_compensated: Option<&'static str>,
    /// What the reader of the figures has to know.
    pub notes: Vec<String>,
}

impl Run {
    /// The signal that ended it, or that told us to stop it.
    pub(crate) fn signal(&self) -> Option<&str> {
        let ended_by = if let Exit::Signal(name) = &self.exit { Some(name) } else { None };
        self.stopped_by.as_ref().or(ended_by).map(String::as_str)
    }

    /// How times that are shown in a mode are compensated: those of an export as they were then, whatever is done now.
    pub(crate) fn compensation(&self, mode: Mode) -> &'static str {
        self.was_compensated.unwrap_or(mode.name())
    }
}

/// What was asked to be measured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// The options that say it.
    pub options: String,
    /// Whether costs decided, so that two runs of the same options need not have measured the same.
    pub rests_on_costs: bool,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Exit {
    /// With a status.
    Status(i32),
    /// By a signal, such as `SIGSEGV`.
    Signal(String),
    /// Not known: it goes on, or the measurement was cut off.
    #[default]
    Unknown,
}

/// What became of one image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InstrumentedImage {
    /// Path of the original.
    pub path: String,
    /// Functions found.
    pub found: usize,
    /// Functions selected.
    pub selected: usize,
    /// Functions instrumented.
    pub instrumented: usize,
    /// By what fraction probes were expected to make the run longer, where a budget was given.
    pub expected_dilation: Option<f64>,
    /// Functions that were selected and refused.
    pub refusals: Vec<Decision>,
}

/// A profile with its compensations.
#[derive(Debug)]
pub struct Results<'a> {
    /// As measured.
    pub profile: &'a Profile,
    /// Compensated as the reader asked for.
    pub shown: Compensated,
    /// Compensated locally.
    pub local: Compensated,
    /// Compensated in parallel.
    pub parallel: Compensated,
    /// What was taken off.
    pub costs: RunCosts,
    /// Whether another tool's file, or an export, tells of the run: it does not say how uncertain times are, nor who waited.
    pub is_foreign: bool,
}

impl<'a> Results<'a> {
    /// Compensates a profile in all ways; `shown` is the one that figures in the first place.
    #[must_use]
    pub fn new(profile: &'a Profile, shown: Mode) -> Self {
        let costs = RunCosts::of(profile);
        let local = costs.compensate(profile, Mode::Local);
        let parallel = costs.compensate(profile, Mode::Parallel);
        let shown = match shown {
            Mode::Off => costs.compensate(profile, Mode::Off),
            Mode::Local => local.clone(),
            Mode::Parallel => parallel.clone(),
        };
        Self { profile, shown, local, parallel, costs, is_foreign: false }
    }

    /// What [`Profile::only`] leaves of the profile, compensated as it is among all.
    pub fn of_part<'b>(&self, part: &'b Profile, belongs: impl Fn(ProcessIndex) -> bool) -> Results<'b> {
        let only = |all: &Compensated| {
            let locations = self.profile.locations.iter().zip(&all.locations).filter(|(location, _)| belongs(location.process));
            Compensated { mode: all.mode, locations: locations.map(|(_, figures)| figures.clone()).collect() }
        };
        let costs = self.costs.only(|index| belongs(self.profile.locations[index].process));
        Results {
            profile: part,
            shown: only(&self.shown),
            local: only(&self.local),
            parallel: only(&self.parallel),
            costs,
            is_foreign: self.is_foreign,
        }
    }

    /// A profile of another tool, in which nothing says what measuring cost: as measured, in all ways.
    #[must_use]
    pub fn as_measured(profile: &'a Profile) -> Self {
        let costs = RunCosts::of(profile);
        let shown = costs.compensate(profile, Mode::Off);
        Self { profile, local: shown.clone(), parallel: shown.clone(), shown, costs, is_foreign: true }
    }
}
