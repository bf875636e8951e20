//! Why nothing was measured where a question looks.

use tare_profile::{Profile, Region, RegionIndex, RegionKind};

use crate::question::{Axis, Kind, Measure, Named, Subject, Sums};
use crate::statements::{TailCall, calling_mpi, place, tail_calls};
use crate::subject::{ends_with, names};

/// Why nothing was measured where a question looks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Nothing {
    /// Nothing more is known.
    #[error("nothing was measured there")]
    There,
    /// The call became a jump.
    #[error("{0}")]
    Jump(Jump),
    /// Partners were asked for of operations that all ranks take part in.
    #[error("{operation} has no partners: all ranks of its communicator take part")]
    NoPartner {
        /// The operation.
        operation: String,
    },
    /// Of operations of MPI none was called.
    #[error("no operation of MPI was called")]
    NoOperation,
    /// Of operations of MPI none was called, and threads waited.
    #[error("no operation of MPI was called; threads waited for each other")]
    OfThreads,
    /// A statement calls MPI, which is communication.
    #[error("what is called at {place} is communication")]
    Communication {
        /// The statement.
        place: String,
    },
}

/// A call at the end of a function that became a jump.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the call of {callee} in {by} became a jump (a tail call), which has no end of its own: {callee} counts below {statement}")]
pub struct Jump {
    /// The function that ends with it.
    pub by: String,
    /// What it calls.
    pub callee: String,
    /// The statement that has the time; the first of several.
    pub statement: String,
    /// Where that is, if it is known.
    pub place: Option<String>,
}

impl Jump {
    fn of(profile: &Profile, call: &TailCall) -> Self {
        let region = |index: RegionIndex| &profile.regions[index.0];
        let name = |index: RegionIndex| region(index).name.to_string();
        Self { by: name(call.by), callee: name(call.callee), statement: name(call.statement), place: place(region(call.statement)) }
    }
}

impl Nothing {
    /// Why a question that is understood has no answer.
    pub(crate) fn of(profile: &Profile, question: &Sums) -> Self {
        let by_jump = jumps(profile, question).into_iter().next().map(Self::Jump);
        let found = by_jump.or_else(|| jump_at(profile, &question.subject)).or_else(|| communication(profile, &question.subject));
        found.or_else(|| no_partner(profile, question)).or_else(|| no_operation(profile, question)).unwrap_or(Self::There)
    }
}

/// Calls of what is asked for, in the functions within which it is asked for, that became jumps: each once, whatever statements have it.
pub(crate) fn jumps(profile: &Profile, question: &Sums) -> Vec<Jump> {
    let Some(around) = question.within.as_ref().map(|within| &within.subject) else { return Vec::new() };
    let Some(named) = &around.named else { return Vec::new() };
    let named = names(profile, named, around.kind);
    let mut found: Vec<TailCall> = Vec::new();
    for call in tail_calls(profile).into_iter().filter(|call| named[call.by.0] && is_asked_for(profile, &question.subject, call)) {
        if !found.iter().any(|other| (other.by, other.callee) == (call.by, call.callee)) {
            found.push(call);
        }
    }
    found.iter().map(|call| Jump::of(profile, call)).collect()
}

/// Whether a question for this would have a call that became a jump. One for calls has that of an operation of MPI as well: it is a call in the source.
fn is_asked_for(profile: &Profile, subject: &Subject, call: &TailCall) -> bool {
    let is_mpi = profile.regions[call.callee.0].kind == RegionKind::Mpi;
    match (subject.kind, &subject.named) {
        (Kind::Calls, _) => true,
        (Kind::Communication, None) => is_mpi,
        (Kind::Communication, Some(named)) => is_mpi && (matches!(named, Named::At(..)) || names(profile, named, Kind::Regions)[call.callee.0]),
        (Kind::Events, _) => true,
        (Kind::Regions | Kind::Functions, Some(named)) => names(profile, named, Kind::Regions)[call.callee.0],
        (Kind::Regions, None) => true,
        (Kind::Functions, None) => !is_mpi,
        (Kind::Program | Kind::Loops, _) => false,
    }
}

/// A place in a function that ends with a jump: in the last one of its file that begins before.
pub(crate) fn jump_at(profile: &Profile, subject: &Subject) -> Option<Nothing> {
    let (Some(Named::At(file, line)), Kind::Calls | Kind::Communication) = (&subject.named, subject.kind) else { return None };
    let begins_before = |region: &&Region| region.kind == RegionKind::Function && (1..=*line).contains(&region.line) && ends_with(&region.file, file);
    let last = profile.regions.iter().filter(begins_before).map(|region| region.line).max()?;
    let is_in = |call: &&TailCall| profile.regions[call.by.0].line == last && ends_with(&profile.regions[call.by.0].file, file);
    tail_calls(profile).iter().filter(is_in).find(|call| is_asked_for(profile, subject, call)).map(|call| Nothing::Jump(Jump::of(profile, call)))
}

fn communication(profile: &Profile, subject: &Subject) -> Option<Nothing> {
    let (Some(named @ Named::At(file, line)), Kind::Calls) = (&subject.named, subject.kind) else { return None };
    let named = names(profile, named, Kind::Calls);
    let is_mpi = calling_mpi(profile).into_iter().any(|statement| named[statement.0]);
    is_mpi.then(|| Nothing::Communication { place: format!("{file}:{line}") })
}

/// Nothing waits, sends or receives in a program without MPI.
fn no_operation(profile: &Profile, question: &Sums) -> Option<Nothing> {
    let has = |kind: RegionKind| profile.regions.iter().any(|region| region.kind == kind);
    let is_of_threads = question.measures.contains(&Measure::Waiting) && has(RegionKind::Threads);
    let nothing = if is_of_threads { Nothing::OfThreads } else { Nothing::NoOperation };
    (question.subject.kind == Kind::Communication && !has(RegionKind::Mpi)).then_some(nothing)
}

fn no_partner(profile: &Profile, question: &Sums) -> Option<Nothing> {
    let whole = Sums { axis: Axis::Nothing, ..question.clone() };
    let scope = (question.axis == Axis::Peer).then(|| crate::subject::Scope::of(profile, &whole).ok()).flatten()?;
    profile.locations.iter().find_map(|location| {
        let hits = scope.nodes(profile, location);
        let operations = (0..hits.len()).filter(|&node| hits[node]).map(|node| profile.region_of(&location.nodes[node]));
        { operations }.find(|region| region.kind == RegionKind::Mpi).map(|region| Nothing::NoPartner { operation: region.name.to_string() })
    })
}
