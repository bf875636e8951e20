//! From filters to a selection: rule by rule, function by function.
//!
//! Filters are evaluated in the order given. `start` sets the set anew; a filter without it goes on from what the one
//! before left, the first one from every function. The main program is in at every start, and rules decide on it as on
//! any function. The rule that decided on a function is the last one that changed whether it is in.

use std::sync::Arc;

use tare_code::{Function, Metrics, Program};

use crate::filter::{Action, Change, Filter, Reason, Rule, Snippet, Snippets, Start, reason};
use crate::functions::{Functions, Standing};
use crate::relevance::Relevance;
use crate::world::{Subject, World};
use crate::{Cause, Decision, Origins, Selection};

/// Chooses among the functions of a program. `metrics` is asked for a function's numbers, and only where a filter
/// depends on them.
#[must_use]
pub fn choose(program: &Program, filters: &[Filter], metrics: impl FnMut(&Function) -> Metrics) -> Selection {
    let functions = Functions::new(program, metrics);
    let plans: Vec<Plan<'_>> = filters.iter().map(Plan::of).collect();
    let main = Arc::new(Cause { filter: None, line: None, column: None, text: "main program".into() });
    let decide = |function| match functions.standing(function) {
        Standing::Never => None,
        standing => Some(decision(&plans, &functions, function, (standing == Standing::Main).then_some(&main))),
    };
    Selection { decisions: (0..functions.count()).filter_map(decide).collect() }
}

/// A filter with its causes, which all functions share.
struct Plan<'a> {
    filter: &'a Filter,
    start: Arc<Cause>,
    /// Of its choice of snippets.
    instrument: Arc<Cause>,
    rules: Vec<(&'a Rule, Arc<Cause>)>,
    relevance: Relevance<'a>,
}

impl<'a> Plan<'a> {
    fn of(filter: &'a Filter) -> Self {
        let cause = |line, column, text| Arc::new(Cause { filter: Some(filter.name.clone()), line: Some(line), column, text });
        let start = filter.start.map_or_else(|| "no start, and no filter before".into(), |start| start.to_string().into());
        let rules = filter.rules.iter().map(|rule| (rule, cause(rule.line, rule.column, rule.text.clone()))).collect();
        let instrument = filter.snippets.as_ref().map_or_else(String::new, |snippets| format!("instrument=\"{snippets}\""));
        let relevance = Relevance::of(filter, SPELLED_OUT + 1);
        Self { filter, start: cause(filter.line, None, start), instrument: cause(filter.line, None, instrument.into()), rules, relevance }
    }

    /// What the filter inserts where no rule says otherwise, and that it does.
    fn inserts(&self) -> (Snippets, Origins) {
        match &self.filter.snippets {
            Some(snippets) => {
                let origin = |snippet: &Option<Snippet>| snippet.is_some().then(|| self.instrument.clone());
                // That functions themselves have none is a choice as well.
                let functions = Some(self.instrument.clone());
                (snippets.clone(), Origins { functions, loops: origin(&snippets.loops), callsites: origin(&snippets.callsites) })
            }
            None => Default::default(),
        }
    }
}

/// How a function stands while filters are evaluated.
struct State {
    is_in: bool,
    cause: Arc<Cause>,
    reason: Reason,
    /// Why the rules since the start did not include it.
    missed: Vec<Reason>,
    snippets: Snippets,
    origins: Origins,
}

/// As many rules that a function misses are spelled out.
const SPELLED_OUT: usize = 3;
const NOT_INCLUDED: &str = "no rule includes it";

fn decision(plans: &[Plan<'_>], world: &dyn World, function: usize, main: Option<&Arc<Cause>>) -> Decision {
    let nothing = || Arc::new(Cause { filter: None, line: None, column: None, text: "no filter".into() });
    let mut state = State {
        is_in: true,
        cause: plans.first().map_or_else(nothing, |plan| plan.start.clone()),
        reason: Reason::new("every function is selected"),
        missed: Vec::new(),
        snippets: Snippets::default(),
        origins: Origins::default(),
    };
    for (index, plan) in plans.iter().enumerate() {
        begin(&mut state, plan, main, index == 0);
        for rule in plan.relevance.rules(world, function) {
            apply(&mut state, plan, rule, world, function);
        }
    }
    let State { is_in, cause, mut reason, missed, snippets, origins } = state;
    if (1..=SPELLED_OUT).contains(&missed.len()) {
        reason = Reason::joined(missed, ", and ");
    }
    Decision { function, is_selected: is_in, cause, reason, snippets, origins }
}

fn begin(state: &mut State, plan: &Plan<'_>, main: Option<&Arc<Cause>>, is_first: bool) {
    let start = plan.filter.start.or(is_first.then_some(Start::All));
    if let Some(start) = start {
        state.is_in = main.is_some() || start == Start::All;
        (state.snippets, state.origins) = Default::default();
        state.missed.clear();
        (state.cause, state.reason) = match (main, start) {
            (Some(main), _) => (main.clone(), Reason::new("main program")),
            (None, Start::All) if plan.rules.is_empty() => (plan.start.clone(), Reason::new("every function is selected")),
            (None, Start::All) => (plan.start.clone(), Reason::new("no rule excludes it")),
            (None, Start::None) => (plan.start.clone(), Reason::new(NOT_INCLUDED)),
        };
    }
    if plan.filter.snippets.is_some() && state.is_in {
        (state.snippets, state.origins) = plan.inserts();
    }
}

/// Evaluates a rule where it can change something.
fn apply(state: &mut State, plan: &Plan<'_>, rule: usize, world: &dyn World, function: usize) {
    let (rule, cause) = &plan.rules[rule];
    let turns = state.is_in != (rule.action == Action::Include);
    if !turns && rule.change.is_empty() {
        return;
    }
    let holds = world.satisfies(&rule.condition, Subject::Function(function));
    if !holds {
        let is_at_start = state.reason.what == NOT_INCLUDED;
        if is_at_start && state.missed.len() <= SPELLED_OUT {
            state.missed.push(reason(&rule.condition, world, function, false));
        }
        return;
    }
    if turns {
        state.is_in = !state.is_in;
        state.cause = cause.clone();
        state.reason = reason(&rule.condition, world, function, true);
        state.missed.clear();
        (state.snippets, state.origins) = plan.inserts();
    }
    rule.change.apply(&mut state.snippets);
    let Origins { functions, loops, callsites } = &mut state.origins;
    let Change { functions: at_functions, loops: at_loops, callsites: at_callsites } = &rule.change;
    for (origin, is_changed) in [(functions, at_functions.is_some()), (loops, at_loops.is_some()), (callsites, at_callsites.is_some())] {
        if is_changed {
            *origin = Some(cause.clone());
        }
    }
}
