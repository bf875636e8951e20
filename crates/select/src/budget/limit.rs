//! The choice within a budget: of the functions that filters let in, those stay whose measurement stays cheap.
//!
//! Who keeps to the budget decides how careful the choice has to be ([`Keeper`]).
//!
//! Where the *runtime* does, it leaves clocks off, and counts only, where probes would cost more. What is expected to
//! fit stays then, and so does what nobody knows: an estimate that errs costs detail, not the budget. What goes is what
//! counting makes too dear: functions that take less time than the counting of their calls, and, while counting
//! all surely estimated functions is expected to exceed the budget, the one with the shortest visits.
//!
//! Where the *choice* does, since all probes stay on, two things are asked of a function. First, by itself: is a visit
//! long beside a pair of probes, counting only work that is sure (loops of which nothing is known go round seldom, code
//! that may be skipped is skipped)? How often it is visited does not matter then, nor do errors of the estimate that are
//! smaller than the margin. Where a run measured visits and work, this question is not asked. Second, together: while
//! what all of them are expected to cost exceeds the budget, the one with the shortest visits goes, since it costs most
//! for the least of the run's time that it shows.
//!
//! Where structure bounds the visits of a function to a few, it stays in any case. So do paths to MPI and OpenMP and the
//! main program. A path that ends where control does not come back (`MPI_Abort` behind a check) is none.

use std::sync::Arc;

use tare_code::{Edges, Program};

use super::cost::{Budget, ProbeCost};
use super::estimate::{Certainty, Estimate, Estimates};
use super::imports;
use crate::{Cause, Decision, Reason, Selection};

/// What a function may cost by itself, of its own sure work, in budgets. Sure work is some five times less than work
/// on the codes of `docs/selection-budget.md`, and no function has the whole run's time.
const MARGIN: f64 = 5.0;
/// Part of the budget that a function with bounded visits may take of a run of one second.
const SMALL_PART: f64 = 0.01;
/// What is said of a function that goes although it may reach MPI.
const BY_POSSIBLE_CALLS: &str = "it reaches MPI by possible calls alone, and sure ones count (--filter with <path edges=\"possible\"> counts both)";
/// Core cycles of a second.
const SECOND: f64 = 3e9;

/// Who keeps the cost of probes within the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// The runtime, which switches clocks off where probes would cost more.
    Runtime,
    /// The choice alone: all probes stay on.
    Choice,
}

/// How far to go.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// What probes may cost.
    pub budget: Budget,
    /// Who sees to it.
    pub keeper: Keeper,
}

/// What a limited selection is expected to cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Expectation {
    /// By what fraction probes make a run longer.
    pub dilation: f64,
    /// The part of it that the main program and paths to MPI and OpenMP cause, which are always kept.
    pub kept: f64,
    /// What is allowed.
    pub budget: Budget,
    /// How many of the selected functions are how sure, and the dilation that they are expected to cause.
    pub certainty: Vec<(Certainty, usize, f64)>,
}

impl Expectation {
    /// Whether what is always kept exceeds the budget by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.kept > self.budget.fraction()
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
    judge.together(&mut verdicts);
    judge.tell_of_possible_paths(&mut verdicts);
    let expectation = judge.expectation(&verdicts);
    let name = Arc::from("auto");
    let text = format!("budget {}", limit.budget);
    let cause = Arc::new(Cause { filter: Some(name), line: None, column: None, text: text.into() });
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
    /// Visits that are few whatever they cost.
    fn few(&self) -> f64 {
        SMALL_PART * self.limit.budget.fraction() * SECOND / self.cost.cycles()
    }

    fn by_itself(&self, function: usize) -> Verdict {
        let Some(estimate) = self.estimates.functions.get(function) else { return Verdict::stays("nothing is known of it", &[]) };
        match estimate.certainty {
            _ if self.program.main_program() == Some(function) => Verdict::always("main program"),
            _ if estimate.reaches_mpi => Verdict::always("on a path to MPI"),
            _ if estimate.reaches_openmp => Verdict::always("on a path to OpenMP"),
            Certainty::Measured if estimate.was_off => Verdict::goes("the measured run switched it off: counting its calls was too dear", &[]),
            Certainty::Measured if estimate.visits > 0.0 => Verdict::stays("calls and cycles a call, as measured", &[estimate.visits, estimate.work]),
            _ if estimate.most.is_some_and(|most| most <= self.few()) => Verdict::stays("calls are few; at most", &[estimate.most.unwrap_or(0.0)]),
            _ => match self.limit.keeper {
                Keeper::Runtime => self.with_runtime(estimate),
                Keeper::Choice => self.alone(estimate),
            },
        }
    }

    /// The question where the runtime keeps to the budget: is anything left to show if calls are counted only?
    fn with_runtime(&self, estimate: &Estimate) -> Verdict {
        match estimate.certainty {
            Certainty::Measured => Verdict::stays("not called in the measured run", &[]),
            _ if estimate.work < self.cost.counting() => Verdict::goes("a call is expected to take less than counting it; cycles", &[estimate.work]),
            Certainty::Pointers | Certainty::Recursive => {
                Verdict::stays("nobody knows how often it is called: the runtime keeps to the budget; cycles a call", &[estimate.work])
            }
            Certainty::Bounded | Certainty::Guessed => {
                Verdict::stays("expected to fit, at least counted; calls and cycles a call", &[estimate.visits, estimate.work])
            }
        }
    }

    /// The question where all probes stay on: is a call long beside them for sure?
    fn alone(&self, estimate: &Estimate) -> Verdict {
        let work = estimate.least_work;
        if self.cost.cycles() <= MARGIN * self.limit.budget.fraction() * work {
            return Verdict::stays("a call is long beside its probes; cycles, at least", &[work]);
        }
        let why = match estimate.certainty {
            Certainty::Measured => "not called in the measured run, and a call may be short beside its probes; cycles",
            Certainty::Pointers => "called through pointers nobody knows how often, and a call may be short beside its probes; cycles",
            Certainty::Recursive => "recursion nobody knows how deep, and a call may be short beside its probes; cycles",
            Certainty::Bounded | Certainty::Guessed => "a call may be short beside its probes; cycles",
        };
        Verdict::goes(why, &[work])
    }

    /// What a function is expected to cost with its probes on, as a fraction of the run.
    fn dilation(&self, function: usize) -> f64 {
        let visits = self.estimates.functions.get(function).map_or(0.0, |estimate| estimate.visits);
        if self.estimates.total > 0.0 { visits * self.cost.cycles() / self.estimates.total } else { 0.0 }
    }

    /// What is left of a cost if whoever keeps to the budget does what can be done.
    fn least(&self, dilation: f64) -> f64 {
        match self.limit.keeper {
            Keeper::Runtime => dilation * self.cost.counting() / self.cost.cycles(),
            Keeper::Choice => dilation,
        }
    }

    /// Whether a function's cost counts in the sum: that of one of which nobody knows is the runtime's matter.
    fn is_counted(&self, function: usize, verdict: &Verdict) -> bool {
        let certainty = self.estimates.functions.get(function).map(|estimate| estimate.certainty);
        let is_unsure = matches!(certainty, Some(Certainty::Pointers | Certainty::Recursive));
        verdict.stays && (verdict.is_kept_always || !is_unsure || self.limit.keeper == Keeper::Choice)
    }

    fn together(&self, verdicts: &mut [(Decision, Option<Verdict>)]) {
        let allowed = self.limit.budget.fraction();
        let own = |decision: &Decision| self.least(self.dilation(decision.function));
        let is_counted =
            |decision: &Decision, verdict: &Option<Verdict>| verdict.as_ref().is_some_and(|verdict| self.is_counted(decision.function, verdict));
        let mut sum: f64 = verdicts.iter().filter(|(decision, verdict)| is_counted(decision, verdict)).map(|(decision, _)| own(decision)).sum();
        let work = |function: usize| self.estimates.functions.get(function).map_or(0.0, |one: &Estimate| one.work);
        let mut free: Vec<&mut (Decision, Option<Verdict>)> = verdicts
            .iter_mut()
            .filter(|(decision, verdict)| is_counted(decision, verdict) && verdict.as_ref().is_some_and(|verdict| !verdict.is_kept_always))
            .collect();
        free.sort_by(|(one, _), (other, _)| work(one.function).total_cmp(&work(other.function)).then(one.function.cmp(&other.function)));
        for (decision, verdict) in free {
            if sum <= allowed {
                break;
            }
            // What costs next to nothing stays: nothing is won without it.
            let own = own(decision);
            if own > self.negligible() {
                let estimate = self.estimates.functions.get(decision.function);
                let figures = estimate.map_or([0.0; 2], |one| [one.visits, one.work]);
                *verdict = Some(Verdict::goes(self.over(), &figures));
                sum -= own;
            }
        }
    }

    /// Says of functions that go where only possible calls lead from them to MPI: such paths are not kept.
    fn tell_of_possible_paths(&self, verdicts: &mut [(Decision, Option<Verdict>)]) {
        let calls = self.program.calls();
        let functions = self.program.functions.iter().enumerate();
        let own: Vec<usize> = functions.filter(|(_, function)| imports::is_mpi(&function.name)).map(|(index, _)| index).collect();
        let calls_mpi = |function: usize| calls.imports(function).any(imports::is_mpi);
        if own.is_empty() && !(0..self.program.functions.len()).any(calls_mpi) {
            return;
        }
        let [sure, possible] = [Edges::Sure, Edges::Possible].map(|edges| calls.distances_to(&own, &mut imports::is_mpi, edges));
        let leads = |distances: &[Option<u32>], function: usize| distances.get(function).copied().flatten().is_some();
        for (decision, verdict) in verdicts {
            let Some(verdict) = verdict.as_mut().filter(|verdict| !verdict.stays) else { continue };
            if leads(&possible, decision.function) && !leads(&sure, decision.function) {
                verdict.reason.what = format!("{BY_POSSIBLE_CALLS}; {}", verdict.reason.what);
            }
        }
    }

    fn negligible(&self) -> f64 {
        match self.limit.keeper {
            Keeper::Runtime => SMALL_PART * self.limit.budget.fraction(),
            Keeper::Choice => 0.0,
        }
    }

    const fn over(&self) -> &'static str {
        match self.limit.keeper {
            Keeper::Runtime => "over the budget even if only counted; calls and cycles a call",
            Keeper::Choice => "over the budget; calls and cycles a call",
        }
    }

    fn expectation(&self, verdicts: &[(Decision, Option<Verdict>)]) -> Expectation {
        let selected = || verdicts.iter().filter(|one| stays(one));
        let cost = |one: &(Decision, Option<Verdict>)| self.dilation(one.0.function);
        let is_kept = |one: &&(Decision, Option<Verdict>)| one.1.as_ref().is_some_and(|verdict| verdict.is_kept_always);
        let allowed = self.limit.budget.fraction();
        let on: f64 = selected().map(cost).sum();
        let kept: f64 = selected().filter(is_kept).map(cost).sum();
        // With all probes on, or else what the runtime makes of it: it switches off what is too dear even when counted.
        let (dilation, kept) = match self.limit.keeper {
            Keeper::Runtime if on > allowed => (self.least(kept).max(allowed), self.least(kept)),
            Keeper::Runtime | Keeper::Choice => (on, kept),
        };
        let part = if on > 0.0 { dilation / on } else { 1.0 };
        let certainty = Certainty::ALL.map(|certainty| {
            let is_so = |one: &&(Decision, Option<Verdict>)| self.estimates.functions.get(one.0.function).map(|one| one.certainty) == Some(certainty);
            let of = || selected().filter(is_so);
            (certainty, of().count(), of().map(cost).sum::<f64>() * part)
        });
        let certainty = certainty.into_iter().filter(|(_, count, _)| *count > 0).collect();
        Expectation { dilation, kept, budget: self.limit.budget, certainty }
    }
}

fn stays(one: &(Decision, Option<Verdict>)) -> bool {
    one.1.as_ref().is_some_and(|verdict| verdict.stays)
}
