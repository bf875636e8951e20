//! Processes of other worlds: those that the program spawns, and those that it connects with.
//!
//! What connects two worlds gets a shadow only where all processes on both sides make one, as they would wait for each other otherwise:
//!
//! * Of two sides whose processes have all been together on one communicator with a shadow, or in one world, everybody knows that.
//! * Who is spawned is started as we were ([`crate::started_by`]). Each child that is measured leaves a mark before it comes into the
//!   library's `MPI_Init`, which ends when all have come, and so does the call that spawns them. Then both sides count the marks: if there are as many
//!   as children, all of them are measured.
//!
//! A child begins as late as the process that has started it: that is its delay from the beginning.

use crate::call::{Call, Span};
use crate::collective;
use crate::communicators::Comm;
use crate::meaning::{Dependence, Position};
use crate::memory::{handle, int, read_handle};
use crate::session::Session;
use crate::spawning::Spawn;
use crate::started_by::{self, Parent};
use crate::table::Id;
use std::sync::{Mutex, PoisonError};

/// Processes that have been together, with their ranks among all of the run.
#[derive(Debug)]
struct Circle {
    group: usize,
    ranks: Vec<u32>,
}

/// All such circles that this process belongs to.
#[derive(Debug, Default)]
pub(crate) struct Circles(Mutex<Vec<Circle>>);

/// A call that spawns processes.
pub(crate) fn spawn(call: &mut Call<'_>, spawn: Spawn) -> Span {
    let session = call.session;
    let comm = session.communicators.get(handle(session.abi, call.arguments[spawn.comm()]));
    let Some(comm) = comm.filter(|comm| comm.shadow.is_some() && !comm.inter && !session.clocks.are_several()) else {
        call.uncovered();
        return call.run();
    };
    let is_root = int(call.arguments[spawn.root()]) == comm.rank;
    let line = if is_root { started_by::line(call, spawn) } else { None };
    if let Some(line) = &line {
        line.put_into(call.arguments, spawn);
    }
    let span = call.run();
    let made = if span.succeeded() { Some(read_handle(session.abi, call.arguments[spawn.between()], 0)) } else { None };
    let all = made.is_some_and(|made| {
        let children = others(session, made);
        let marked = line.as_ref().is_some_and(|line| children > 0 && line.marks() == children);
        told_by_root(session, &comm, int(call.arguments[spawn.root()]), marked)
    });
    match made {
        Some(made) if all => join(call, &span, made),
        _ => call.uncovered(),
    }
    span
}

/// A call that connects this process, or the members of the communicator at a position, with others.
pub(crate) fn meet(call: &mut Call<'_>, new: Position) -> Span {
    let session = call.session;
    let span = call.run();
    let made = read_handle(session.abi, call.arguments[new], 0);
    if span.succeeded() && session.carries() && session.circles.hold(session, made) {
        join(call, &span, made);
    } else {
        call.uncovered();
    }
    span
}

/// `MPI_Init` has ended in a process that was spawned: gets to know its parents, if all of the children do.
pub(crate) fn meet_parents(call: &mut Call<'_>, span: &Span, parent: &Parent, world: &Comm) {
    let session = call.session;
    let mut parents = 0_usize;
    let asked = session.ask(Id::MPI_Comm_get_parent, [&raw mut parents as usize]);
    let is_spawned = asked.is_some() && parents != session.handles.comm_null;
    if is_spawned && world.shadow.is_some() && parent.marks() == world.size {
        join(call, span, parents);
    } else if is_spawned {
        call.uncovered();
    }
}

/// Gets to know an inter-communicator whose members have all just met, and may have waited for each other.
fn join(call: &mut Call<'_>, span: &Span, made: usize) {
    let session = call.session;
    session.communicators.add(session, made, None);
    let Some(made) = session.communicators.get(made) else { return call.uncovered() };
    let Some(shadow) = made.shadow else { return call.uncovered() };
    session.circles.add(session, shadow);
    collective::carry(call, span, &made, None, Dependence::All, 0);
}

/// Processes on the other side.
fn others(session: &Session, inter: usize) -> i32 {
    let mut others = 0_i32;
    session.ask(Id::MPI_Comm_remote_size, [inter, &raw mut others as usize]).map_or(0, |()| others)
}

/// What the root knows.
fn told_by_root(session: &Session, comm: &Comm, root: i32, known: bool) -> bool {
    let mut word = i64::from(known);
    let Some(shadow) = comm.shadow.filter(|_| comm.size > 1) else { return known };
    let told = session.ask(Id::MPI_Bcast, [&raw mut word as usize, 1, session.handles.int64, crate::memory::word(root), shadow]);
    told.is_some() && word != 0
}

impl Circles {
    /// The members of this intra-communicator are together; all of them call this.
    pub(crate) fn add(&self, session: &Session, together: usize) {
        if let Some(circle) = Circle::of(session, together) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(circle);
        }
    }

    /// Whether all on both sides of an inter-communicator are in one of them; then each of its members says so.
    fn hold(&self, session: &Session, inter: usize) -> bool {
        let sides = [Id::MPI_Comm_group, Id::MPI_Comm_remote_group].map(|id| group_of(session, id, inter));
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |circle: &Circle| sides.iter().all(|side| side.is_some_and(|side| circle.ranks_of(session, side).iter().all(Option::is_some)));
        let hold = all.iter().any(holds);
        sides.into_iter().flatten().for_each(|side| free(session, side));
        hold
    }

    /// The ranks of a group's members among all of the run, where they are known.
    pub(crate) fn ranks_of(&self, session: &Session, group: usize) -> Vec<Option<u32>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = Vec::new();
        for circle in &*all {
            let ranks = circle.ranks_of(session, group);
            known.resize(ranks.len(), None);
            known.iter_mut().zip(ranks).for_each(|(known, rank)| *known = known.or(rank));
        }
        known
    }

    /// Lets go of them.
    pub(crate) fn close(&self, session: &Session) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.into_iter().for_each(|circle| free(session, circle.group));
    }
}

impl Circle {
    fn of(session: &Session, together: usize) -> Option<Self> {
        let group = group_of(session, Id::MPI_Comm_group, together)?;
        let ranks = crate::clocks::gather(session, together, size_of(session, group)?, &[i64::from(session.rank())])?;
        Some(Self { group, ranks: ranks.into_iter().map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect() })
    }

    fn ranks_of(&self, session: &Session, group: usize) -> Vec<Option<u32>> {
        let ranks: Vec<i32> = (0..size_of(session, group).unwrap_or(0)).collect();
        let mut here = vec![-1_i32; ranks.len()];
        let places = [group, ranks.len(), ranks.as_ptr() as usize, self.group, here.as_mut_ptr() as usize];
        let translated = session.ask(Id::MPI_Group_translate_ranks, places);
        here.into_iter().map(|rank| translated.and_then(|()| self.ranks.get(usize::try_from(rank).ok()?).copied())).collect()
    }
}

fn group_of(session: &Session, id: Id, comm: usize) -> Option<usize> {
    let mut group = 0_usize;
    session.ask(id, [comm, &raw mut group as usize]).map(|()| group)
}

fn size_of(session: &Session, group: usize) -> Option<i32> {
    let mut size = 0_i32;
    session.ask(Id::MPI_Group_size, [group, &raw mut size as usize]).map(|()| size)
}

fn free(session: &Session, mut group: usize) {
    // Best effort: a group that is not freed costs memory alone.
    let _ = session.ask(Id::MPI_Group_free, [&raw mut group as usize]);
}
