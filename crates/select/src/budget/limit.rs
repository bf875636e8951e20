//! The choice within a budget: of the functions that filters let in, those stay whose measurement stays cheap.
//!
//! Two things are asked of a function. First, by itself: is a visit long beside a pair of probes, counting only work
//! that is sure (loops of which nothing is known go round seldom, code that may be skipped is skipped)? How often it is
//! visited does not matter then, nor do errors of the estimate that are smaller than the margin. Where structure bounds
//! the visits to a few, it stays whatever its length. Where a run measured visits and work, this question is not asked.
//! Second, together: while what all of them are expected to cost exceeds the budget, the one with the shortest visits
//! goes, since it costs most for the least of the run's time that it shows.
//!
//! Paths to MPI and OpenMP and the main program always stay. A path that ends where control does not come back
//! (`MPI_Abort` behind a check) is none.

use std::sync::Arc;

use tare_code::Program;

use super::cost::{Budget, ProbeCost};
use super::estimate::{Certainty, Estimate, Estimates};
use crate::{Cause, Decision, Reason, Selection};

/// What a function may cost by itself, of its own sure work, in budgets. Sure work is some five times less than work
/// on the codes of `docs/selection-budget.md`, and no function has the whole run's time.
const MARGIN: f64 = 5.0;
/// Part of the budget that a function with bounded visits may take of a run of one second.
const SMALL_PART: f64 = 0.01;
/// Core cycles of a second.
const SECOND: f64 = 3e9;

/// How far to go.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Measuring stays within a budget.
    Budget(Budget),
    /// For a trial: only what takes longer than its probes is counted.
    Trial,
}

/// What a limited selection is expected to cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// By what fraction probes make a run longer.
    pub dilation: f64,
    /// The part of it that the main program and paths to MPI and OpenMP cause, which are always kept.
    pub kept: f64,
    /// What is allowed; `None` for a trial.
    pub budget: Option<Budget>,
    /// How many of the selected functions are how sure, and the dilation that they are expected to cause.
    pub certainty: Vec<(Certainty, usize, f64)>,
}

impl Expectation {
    /// Whether what is always kept exceeds the budget by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.kept > budget.fraction())
    }
}

/// Takes functions out of a selection until it is within the limit.
#[must_use]
pub fn limited(selection: Selection, program: &Program, estimates: &Estimates, cost: ProbeCost, limit: Limit) -> (Selection, Expectation) {
    let judge = Judge { program, estimates, cost, limit };
    let mut verdicts: Vec<(Decision, Option<Verdict>)> = selection
        .decisions
        .into_iter()
        .map(|decision| {
            let verdict = decision.is_selected.then(|| judge.by_itself(decision.function));
            (decision, verdict)
        })
        .collect();
    if let Limit::Budget(budget) = limit {
        judge.together(&mut verdicts, budget);
    }
    let expectation = judge.expectation(&verdicts);
    let name = Arc::from("auto");
    let text = match limit {
        Limit::Budget(budget) => format!("budget {budget}"),
        Limit::Trial => "trial".to_string(),
    };
    let cause = Arc::new(Cause { filter: Some(name), line: None, text: text.into() });
    let decided = |(decision, verdict): (Decision, Option<Verdict>)| match verdict {
        Some(verdict) => Decision { is_selected: verdict.stays, reason: verdict.reason, cause: cause.clone(), ..decision },
        None => decision,
    };
    (Selection { decisions: verdicts.into_iter().map(decided).collect() }, expectation)
}

/// What becomes of a function that filters let in.
struct Verdict {
    stays: bool,
    is_kept_always: bool,
    reason: Reason,
}

impl Verdict {
    fn stays(what: &str, figures: &[f64]) -> Self {
        Self { stays: true, is_kept_always: false, reason: reason(what, figures) }
    }

    fn goes(what: &str, figures: &[f64]) -> Self {
        Self { stays: false, is_kept_always: false, reason: reason(what, figures) }
    }

    fn always(what: &str) -> Self {
        Self { stays: true, is_kept_always: true, reason: reason(what, &[]) }
    }
}

fn reason(what: &str, figures: &[f64]) -> Reason {
    // Estimates beyond reason are cut off by the conversion.
    Reason { what: what.to_string(), figures: figures.iter().map(|figure| figure.round() as u64).collect() }
}

struct Judge<'a> {
    program: &'a Program,
    estimates: &'a Estimates,
    cost: ProbeCost,
    limit: Limit,
}

impl Judge<'_> {
    /// What a function may cost of its own sure work.
    fn threshold(&self) -> f64 {
        match self.limit {
            Limit::Budget(budget) => MARGIN * budget.fraction(),
            Limit::Trial => 1.0,
        }
    }

    /// Visits that are few whatever they cost.
    fn few(&self) -> f64 {
        match self.limit {
            Limit::Budget(budget) => SMALL_PART * budget.fraction() * SECOND / self.cost.cycles(),
            Limit::Trial => SMALL_PART * SECOND / self.cost.cycles(),
        }
    }

    fn is_main(&self, function: usize) -> bool {
        self.program.main() == Some(function) || self.program.functions.get(function).is_some_and(|one| one.name == "MAIN__")
    }

    fn by_itself(&self, function: usize) -> Verdict {
        let Some(estimate) = self.estimates.functions.get(function) else { return Verdict::stays("nothing is known of it", &[]) };
        let work = estimate.least_work;
        let is_long = self.cost.cycles() <= self.threshold() * work;
        match estimate.certainty {
            _ if self.is_main(function) => Verdict::always("main program"),
            _ if estimate.reaches_mpi => Verdict::always("on a path to MPI"),
            _ if estimate.reaches_openmp => Verdict::always("on a path to OpenMP"),
            Certainty::Measured if estimate.visits > 0.0 => Verdict::stays("calls and cycles a call, as measured", &[estimate.visits, estimate.work]),
            _ if estimate.most.is_some_and(|most| most <= self.few()) => Verdict::stays("calls are few; at most", &[estimate.most.unwrap_or(0.0)]),
            _ if is_long => Verdict::stays("a call is long beside its probes; cycles, at least", &[work]),
            Certainty::Measured => Verdict::goes("not called in the measured run, and a call may be short beside its probes; cycles", &[work]),
            Certainty::Pointers => {
                Verdict::goes("called through pointers nobody knows how often, and a call may be short beside its probes; cycles", &[work])
            }
            Certainty::Recursive => Verdict::goes("recursion nobody knows how deep, and a call may be short beside its probes; cycles", &[work]),
            Certainty::Bounded | Certainty::Guessed => Verdict::goes("a call may be short beside its probes; cycles", &[work]),
        }
    }

    /// What a function is expected to cost, as a fraction of the run.
    fn dilation(&self, function: usize) -> f64 {
        let visits = self.estimates.functions.get(function).map_or(0.0, |estimate| estimate.visits);
        if self.estimates.total > 0.0 { visits * self.cost.cycles() / self.estimates.total } else { 0.0 }
    }

    fn together(&self, verdicts: &mut [(Decision, Option<Verdict>)], budget: Budget) {
        let mut sum: f64 = verdicts.iter().filter(|one| stays(one)).map(|(decision, _)| self.dilation(decision.function)).sum();
        let work = |function: usize| self.estimates.functions.get(function).map_or(0.0, |one: &Estimate| one.work);
        let is_free = |one: &&mut (Decision, Option<Verdict>)| one.1.as_ref().is_some_and(|verdict| verdict.stays && !verdict.is_kept_always);
        let mut free: Vec<&mut (Decision, Option<Verdict>)> = verdicts.iter_mut().filter(is_free).collect();
        free.sort_by(|(one, _), (other, _)| work(one.function).total_cmp(&work(other.function)).then(one.function.cmp(&other.function)));
        for (decision, verdict) in free {
            let own = self.dilation(decision.function);
            if sum <= budget.fraction() {
                break;
            }
            if own > 0.0 {
                let estimate = self.estimates.functions.get(decision.function);
                let figures = estimate.map_or([0.0; 2], |one| [one.visits, one.work]);
                *verdict = Some(Verdict::goes("over the budget; calls and cycles a call", &figures));
                sum -= own;
            }
        }
    }

    fn expectation(&self, verdicts: &[(Decision, Option<Verdict>)]) -> Expectation {
        let selected = || verdicts.iter().filter(|one| stays(one));
        let cost = |one: &(Decision, Option<Verdict>)| self.dilation(one.0.function);
        let is_kept = |one: &&(Decision, Option<Verdict>)| one.1.as_ref().is_some_and(|verdict| verdict.is_kept_always);
        let certainty = Certainty::ALL.map(|certainty| {
            let is_so = |one: &&(Decision, Option<Verdict>)| self.estimates.functions.get(one.0.function).map(|one| one.certainty) == Some(certainty);
            let of = || selected().filter(is_so);
            (certainty, of().count(), of().map(cost).sum())
        });
        let budget = match self.limit {
            Limit::Budget(budget) => Some(budget),
            Limit::Trial => None,
        };
        Expectation {
            dilation: selected().map(cost).sum(),
            kept: selected().filter(is_kept).map(cost).sum(),
            budget,
            certainty: certainty.into_iter().filter(|(_, count, _)| *count > 0).collect(),
        }
    }
}

fn stays(one: &(Decision, Option<Verdict>)) -> bool {
    one.1.as_ref().is_some_and(|verdict| verdict.stays)
}
