//! Why nothing was measured where a question looks.

use tare_profile::{Profile, Region, RegionIndex, RegionKind};

use crate::question::{Axis, Kind, Named, Subject, Sums};
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
    #[error("the call of {callee} in {by} became a jump (a tail call), which has no end of its own: {callee} counts below {statement}")]
    Jump {
        /// The function that ends with it.
        by: String,
        /// What it calls.
        callee: String,
        /// The statement that has the time.
        statement: String,
        /// Where that is, if it is known.
        place: Option<String>,
    },
    /// Partners were asked for of operations that all ranks take part in.
    #[error("{operation} has no partners: all ranks of its communicator take part")]
    NoPartner {
        /// The operation.
        operation: String,
    },
    /// Of operations of MPI none was called.
    #[error("no operation of MPI was called")]
    NoOperation,
    /// A statement calls MPI, which is communication.
    #[error("what is called at {place} is communication")]
    Communication {
        /// The statement.
        place: String,
    },
}

impl Nothing {
    /// Why a question that is understood has no answer.
    pub(crate) fn of(profile: &Profile, question: &Sums) -> Self {
        let by_jump = question.within.as_ref().and_then(|within| jump_from(profile, &within.subject));
        let found = by_jump.or_else(|| jump_at(profile, &question.subject)).or_else(|| communication(profile, &question.subject));
        found.or_else(|| no_partner(profile, question)).or_else(|| no_operation(profile, &question.subject)).unwrap_or(Self::There)
    }

    fn jump(profile: &Profile, call: &TailCall) -> Self {
        let region = |index: RegionIndex| &profile.regions[index.0];
        let name = |index: RegionIndex| region(index).name.to_string();
        Self::Jump { by: name(call.by), callee: name(call.callee), statement: name(call.statement), place: place(region(call.statement)) }
    }
}

/// Calls in a function that ends with a jump.
fn jump_from(profile: &Profile, around: &Subject) -> Option<Nothing> {
    let named = names(profile, around.named.as_ref()?, around.kind);
    tail_calls(profile).iter().find(|call| named[call.by.0]).map(|call| Nothing::jump(profile, call))
}

/// A place in a function that ends with a jump: in the last one of its file that begins before.
pub(crate) fn jump_at(profile: &Profile, subject: &Subject) -> Option<Nothing> {
    let (Some(Named::At(file, line)), Kind::Calls) = (&subject.named, subject.kind) else { return None };
    let begins_before = |region: &&Region| region.kind == RegionKind::Function && (1..=*line).contains(&region.line) && ends_with(&region.file, file);
    let last = profile.regions.iter().filter(begins_before).map(|region| region.line).max()?;
    let is_in = |call: &&TailCall| profile.regions[call.by.0].line == last && ends_with(&profile.regions[call.by.0].file, file);
    tail_calls(profile).iter().find(is_in).map(|call| Nothing::jump(profile, call))
}

fn communication(profile: &Profile, subject: &Subject) -> Option<Nothing> {
    let (Some(named @ Named::At(file, line)), Kind::Calls) = (&subject.named, subject.kind) else { return None };
    let named = names(profile, named, Kind::Calls);
    let is_mpi = calling_mpi(profile).into_iter().any(|statement| named[statement.0]);
    is_mpi.then(|| Nothing::Communication { place: format!("{file}:{line}") })
}

/// Nothing waits, sends or receives in a program without MPI.
fn no_operation(profile: &Profile, subject: &Subject) -> Option<Nothing> {
    let is_mpi = |region: &Region| region.kind == RegionKind::Mpi;
    (subject.kind == Kind::Communication && !profile.regions.iter().any(is_mpi)).then_some(Nothing::NoOperation)
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
