//! Epochs of one-sided communication between the members of groups: exposing a window to some and waiting until they are done,
//! reaching others' parts of it.
//!
//! Who exposes its part tells those that may reach it, and who is done reaching tells those whose parts it reached; the k-th
//! exposure of one process to another belongs to the k-th time that this one reaches it. Which call waits for an
//! exposure, the first or the last of those that reach, is the library's choice: each takes what was sent before it ended.

use crate::answers::Wanted;
use crate::call::{Call, Span};
use crate::communicators::Comm;
use crate::meaning::Position;
use crate::memory::{handle, read_int};
use crate::messages::{Others, settle};
use crate::transport::{self, Shadow};
use crate::waiting::{Wait, asked_in_vain};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use tare_delay::completion::Moment;
use tare_format::ids::Ticks;

/// The tags of these shadow messages; nothing else goes along the shadow of a window.
const EXPOSED: i32 = 32_701;
const DONE: i32 = 32_693;

/// What is open on a window: partners, each with the number of the epoch between the two.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    exposed_to: Vec<(i32, Wanted)>,
    reached: Vec<(i32, Wanted)>,
    /// Those of `reached` whose exposure nobody has waited for yet.
    awaited: Vec<(i32, Wanted)>,
    exposures: HashMap<i32, Wanted>,
    reaches: HashMap<i32, Wanted>,
}

/// The next epoch with each of these partners.
fn next(counts: &mut HashMap<i32, Wanted>, partners: Vec<i32>) -> Vec<(i32, Wanted)> {
    let number = |partner: i32| {
        let number = counts.entry(partner).or_default();
        *number += 1;
        (partner, *number)
    };
    partners.into_iter().map(number).collect()
}

/// The members of the window at a position; counts a call on one that is not known.
fn members(call: &Call<'_>, window: Position) -> Option<Arc<Comm>> {
    let members = call.session.windows.get(handle(call.session.abi, call.arguments[window])).filter(|members| members.shadow.is_some());
    if members.is_none() {
        call.uncovered();
    }
    members
}

fn epochs(members: &Comm) -> MutexGuard<'_, Epochs> {
    members.epochs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Win_post`.
pub(crate) fn expose(call: &mut Call<'_>, group: Position, window: Position) -> Span {
    let Some(members) = members(call, window) else { return call.run() };
    let partners = members.ranks_of(call.session, handle(call.session.abi, call.arguments[group]));
    let exposed_to = next(&mut epochs(&members).exposures, partners);
    for &(partner, number) in &exposed_to {
        transport::post(call, &members, partner, EXPOSED, number);
    }
    epochs(&members).exposed_to = exposed_to;
    call.run()
}

/// `MPI_Win_start`.
pub(crate) fn reach(call: &mut Call<'_>, group: Position, window: Position) -> Span {
    let Some(members) = members(call, window) else { return call.run() };
    let partners = members.ranks_of(call.session, handle(call.session.abi, call.arguments[group]));
    let mut epochs = epochs(&members);
    epochs.reached = next(&mut epochs.reaches, partners);
    epochs.awaited = epochs.reached.clone();
    let span = call.run();
    let exposed = exposures(call, &members, &mut epochs, span.end);
    settle(call, &Wait::blocked(call, &span), &span, &[], &Others::told(call.session, &members, &exposed));
    span
}

/// `MPI_Win_complete`.
pub(crate) fn end_reach(call: &mut Call<'_>, window: Position) -> Span {
    let Some(members) = members(call, window) else { return call.run() };
    let mut epochs = epochs(&members);
    for (partner, number) in std::mem::take(&mut epochs.reached) {
        transport::post(call, &members, partner, DONE, number);
    }
    let span = call.run();
    let exposed = exposures(call, &members, &mut epochs, span.end);
    epochs.awaited.clear();
    settle(call, &Wait::blocked(call, &span), &span, &[], &Others::told(call.session, &members, &exposed));
    span
}

/// The exposures that were there when a call ended: whose, and since when.
fn exposures(call: &Call<'_>, members: &Comm, epochs: &mut Epochs, end: Ticks) -> Vec<(i32, Moment)> {
    let mut shadow = Shadow { session: call.session, comm: members };
    let mut exposed = Vec::new();
    epochs.awaited.retain(|&(partner, number)| match shadow.look((partner, EXPOSED), number, number, end) {
        Some(note) => {
            exposed.push((partner, note.sent));
            false
        }
        None => true,
    });
    exposed
}

/// `MPI_Win_wait`, and with a flag `MPI_Win_test`.
pub(crate) fn end_exposure(call: &mut Call<'_>, window: Position, flag: Option<Position>) -> Span {
    let Some(members) = members(call, window) else { return call.run() };
    let span = call.run();
    if !span.succeeded() {
        return span;
    }
    if flag.is_some_and(|flag| read_int(call.arguments[flag]) == 0) {
        asked_in_vain(call, &span);
        return span;
    }
    let exposed_to = std::mem::take(&mut epochs(&members).exposed_to);
    let mut shadow = Shadow { session: call.session, comm: &members };
    let done = |&(partner, number): &(i32, Wanted)| Some((partner, shadow.take_numbered((partner, DONE), number)?.sent));
    let done: Vec<(i32, Moment)> = exposed_to.iter().filter_map(done).collect();
    let wait = Wait::of(call, &span, flag.is_some());
    settle(call, &wait, &span, &[], &Others::told(call.session, &members, &done));
    span
}
