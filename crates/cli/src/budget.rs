//! The budget of preset `auto`: what is allowed, what a probe costs here, and what an earlier run showed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tare_compensate::{Mode, compensate};
use tare_profile::{Location, Profile, Region, RegionKind, Why};
use tare_select::Selection;
use tare_select::budget::{Budget, Certainty, Estimates, Expectation, Keeper, Limit, Observed, ProbeCost, limited};

use crate::args;
use crate::failure::{Code, Failure};
use crate::instrumenting::Analysis;
use crate::probe_cost;
use crate::results::Results;
use crate::rundir::{Learnt, LearntFunction, RunDirectory};

/// What limits a selection.
#[derive(Clone, Debug)]
pub(crate) struct Limiting {
    limit: Limit,
    cost: ProbeCost,
    seen: Option<Rc<Seen>>,
}

impl Limiting {
    /// What options ask for, or else the budget that a filter names; nothing where no filter names one.
    pub(crate) fn of(options: &args::Selection, named: Option<Budget>, keeper: Keeper) -> Result<Option<Self>, Failure> {
        let Some(named) = named else { return refuse_without_auto(options).map(|()| None) };
        let seen = options.from_run.as_deref().map(Seen::in_run).transpose()?.map(Rc::new);
        let limit = Limit { budget: options.budget.unwrap_or(named), keeper };
        Ok(Some(Self { limit, cost: probe_cost::known().unwrap_or(ProbeCost::DEFAULT), seen }))
    }

    /// What probes may cost.
    pub(crate) const fn budget(&self) -> Budget {
        self.limit.budget
    }

    /// The same with what a run showed, if it showed anything.
    pub(crate) fn after(self, run: &RunDirectory) -> Result<Option<Self>, Failure> {
        Ok(Seen::read(&run.path)?.map(|seen| Self { seen: Some(Rc::new(seen)), ..self }))
    }

    /// What another run showed, for whoever learns from the run that is chosen for now.
    pub(crate) fn learnt(&self) -> Option<Learnt> {
        self.seen.as_ref().map(|seen| seen.learnt())
    }

    /// Tells this limit from others.
    pub(crate) fn key(&self) -> String {
        let Limit { budget, keeper } = self.limit;
        format!("{budget} by {keeper:?} at {} cycles, {}", self.cost.cycles(), self.seen.as_ref().map_or("estimated", |seen| &seen.id))
    }

    /// Takes out of a selection what is over the budget.
    pub(crate) fn apply(&self, selection: Selection, analysis: &Analysis<'_>) -> Result<(Selection, Expectation), Failure> {
        let mut estimates = Estimates::of(&analysis.program, &analysis.image);
        if let Some(seen) = &self.seen {
            seen.correct(&mut estimates, analysis)?;
        }
        Ok(limited(selection, &analysis.program, &estimates, self.cost, self.limit))
    }
}

/// A budget without a filter that names one, as preset `auto` does, holds while a program runs: it means nothing to verbs that run none.
pub(crate) fn refuse_where_nothing_runs(options: &args::Selection, limiting: Option<&Limiting>) -> Result<(), Failure> {
    if options.budget.is_none() || limiting.is_some() {
        return Ok(());
    }
    let with = with(options);
    Err(Failure::new(Code::Usage, format!("--budget with {with} holds while a program runs, and here none does"))
        .remedy("use --preset auto, which the budget limits, or tare profile"))
}

/// Where nothing runs the choice alone keeps to a budget: other functions are chosen than for a run.
pub(crate) fn say_that_probes_stay_on(limiting: Option<&Limiting>) {
    if limiting.is_some() {
        eprintln!(
            "tare: these probes are always on, so that fewer functions may be chosen than tare profile takes, which turns probes off while the program runs\n      \
             try: --preset all takes every function; tare select --exact says which are left out, and why"
        );
    }
}

/// A run to learn from means nothing to other presets; a budget holds while the program runs.
fn refuse_without_auto(options: &args::Selection) -> Result<(), Failure> {
    let with = with(options);
    let remedy = "use --preset auto: filters that follow it go on from there";
    if options.from_run.is_some() {
        return Err(Failure::new(Code::Usage, format!("--from-run has no meaning with {with}")).remedy(remedy));
    }
    Ok(())
}

fn with(options: &args::Selection) -> String {
    options.preset.as_deref().map_or_else(|| "filters without a budget".to_string(), |preset| format!("preset `{preset}`"))
}

/// What an earlier run showed of functions, by image and link address.
#[derive(Debug)]
struct Seen {
    id: String,
    functions: HashMap<(PathBuf, u64), Observed>,
    /// Build ids of the images.
    builds: HashMap<PathBuf, String>,
    /// Core cycles of all processes.
    total: f64,
}

impl Seen {
    fn in_run(directory: &Path) -> Result<Self, Failure> {
        Self::read(directory)?.ok_or_else(|| {
            Failure::new(Code::BadInput, format!("nothing was measured in {}", directory.display()))
                .remedy("name a run of an instrumented program, for instance one of tare profile --preset all")
        })
    }

    /// `None` where nothing was measured.
    fn read(directory: &Path) -> Result<Option<Self>, Failure> {
        let run = RunDirectory::open(directory)?;
        let results = Results::read(&run)?;
        let total = core_cycles(&results.profile);
        let functions = observed(&results.profile);
        if functions.is_empty() || total <= 0.0 {
            return Ok(None);
        }
        let builds = results.profile.regions.iter().map(|region| (PathBuf::from(&region.image), region.build_id.clone())).collect();
        let mut seen = Self { id: results.record.id, functions, builds, total };
        if let Some(learnt) = run.read_learnt()? {
            seen.add(learnt);
        }
        Ok(Some(seen))
    }

    /// Adds functions that had no probes in this run, with the calls that they would have had in it.
    fn add(&mut self, learnt: Learnt) {
        let scale = if learnt.total > 0.0 { self.total / learnt.total } else { 0.0 };
        for LearntFunction { image, build_id, address, calls, own, work, was_off } in learnt.functions {
            if *self.builds.entry(image.clone()).or_insert_with(|| build_id.clone()) == build_id {
                let scaled = Observed { calls: calls * scale, own: own * scale, work: work * scale, was_off };
                self.functions.entry((image, address)).or_insert(scaled);
            }
        }
    }

    fn learnt(&self) -> Learnt {
        let seen = self.functions.iter().filter(|(_, one)| one.calls > 0.0 || one.was_off);
        let mut functions: Vec<LearntFunction> = seen
            .map(|((image, address), one)| LearntFunction {
                image: image.clone(),
                build_id: self.builds.get(image).cloned().unwrap_or_default(),
                address: *address,
                calls: one.calls,
                own: one.own,
                work: one.work,
                was_off: one.was_off,
            })
            .collect();
        functions.sort_by(|one, other| (&one.image, one.address).cmp(&(&other.image, other.address)));
        Learnt { total: self.total, functions }
    }

    /// Puts what was seen into estimates; what was not measured in the run stays estimated.
    fn correct(&self, estimates: &mut Estimates, analysis: &Analysis<'_>) -> Result<(), Failure> {
        let image = analysis.path.canonicalize().unwrap_or_else(|_| analysis.path.clone());
        if self.builds.get(&image).is_some_and(|build| *build != analysis.build_id().unwrap_or_default()) {
            return Err(Failure::new(Code::BadInput, format!("{} was built anew since the run to learn from", image.display()))
                .remedy("measure it again, and name that run with --from-run"));
        }
        let of = |entry| self.functions.get(&(image.clone(), entry)).copied();
        let observed: Vec<Option<Observed>> = analysis.program.functions.iter().map(|function| of(function.entry)).collect();
        if observed.iter().any(Option::is_some) {
            estimates.observe(&observed, self.total);
        } else {
            eprintln!("tare: no function of {} was measured in the run to learn from: nothing is known of it but estimates", analysis.path.display());
        }
        Ok(())
    }
}

/// Core cycles of all threads together: what dilation is held against.
fn core_cycles(profile: &Profile) -> f64 {
    let clock = |process: usize| profile.processes.get(process).map(|process| process.clock).unwrap_or_default();
    let of = |location: &Location| {
        let ticks = location.end_ticks.saturating_sub(location.start_ticks) as f64;
        ticks / clock(location.process.0).ticks_per_cycle.unwrap_or(1.0)
    };
    profile.locations.iter().map(of).sum()
}

/// Calls and core cycles of every function that was instrumented, called or not.
fn observed(profile: &Profile) -> HashMap<(PathBuf, u64), Observed> {
    let mut functions: HashMap<(PathBuf, u64), Observed> = HashMap::new();
    let key = |region: &Region| (PathBuf::from(&region.image), region.address);
    for region in profile.regions.iter().filter(|region| region.kind == RegionKind::Function) {
        functions.entry(key(region)).or_default();
    }
    for switch in profile.processes.iter().flat_map(|process| &process.switches).filter(|switch| switch.off && switch.why == Some(Why::Budget)) {
        let region = profile.regions.get(switch.region.0);
        if let Some(place) = region.and_then(|region| functions.get_mut(&key(region))) {
            place.was_off = true;
        }
    }
    let compensated = compensate(profile, Mode::Local);
    for (location, figures) in profile.locations.iter().zip(&compensated.locations) {
        let clock = profile.processes.get(location.process.0).map(|process| process.clock).unwrap_or_default();
        let cycle = clock.seconds_per_tick * clock.ticks_per_cycle.unwrap_or(1.0);
        for (node, figures) in location.nodes.iter().zip(&figures.nodes) {
            let Some(region) = profile.regions.get(node.region.0) else { continue };
            let Some(place) = functions.get_mut(&key(region)) else { continue };
            place.calls += (node.on_calls + node.off_calls) as f64;
            if cycle > 0.0 {
                place.own += figures.exclusive.value.max(0.0) / cycle;
                place.work += figures.inclusive.value.max(0.0) / cycle;
            }
        }
    }
    functions
}

/// What `select` shows of an expectation.
pub(crate) fn shown(expectation: &Expectation) -> tare_report::select::Expected {
    let word = |certainty| match certainty {
        Certainty::Measured => "measured",
        Certainty::Bounded => "bounded by structure",
        Certainty::Guessed => "guessed: loops without constant bounds",
        Certainty::Recursive => "unsure: recursion",
        Certainty::Pointers => "unsure: called through pointers, or from elsewhere",
    };
    tare_report::select::Expected {
        dilation: expectation.dilation,
        kept: expectation.kept,
        budget: expectation.budget.fraction(),
        certainty: expectation.certainty.iter().map(|&(certainty, functions, dilation)| (word(certainty).to_string(), functions, dilation)).collect(),
    }
}
