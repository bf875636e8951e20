//! Windows for one-sided communication: each has the members of its communicator, with a shadow of its own. Fences, and
//! the making and freeing of windows, carry delays between all of them; `epochs` those of fewer processes.

use crate::call::{Call, Span};
use crate::collective;
use crate::meaning::{Dependence, Position};
use crate::memory::{handle, int, read_handle};

/// A call that makes a window.
pub(crate) fn create(call: &mut Call<'_>, comm: Position, new: Position) -> Span {
    let session = call.session;
    let parent = handle(session.abi, call.arguments[comm]);
    let known = session.communicators.get(parent).filter(|known| !known.inter);
    let gathering = known.as_ref().and_then(|known| collective::come(call, known));
    let span = call.run();
    match known {
        Some(known) => {
            let null = session.handles.win_null;
            let window = if span.succeeded() { read_handle(session.abi, call.arguments[new], 0) } else { null };
            if collective::carry_if_all(call, &span, &known, gathering, window != null) {
                session.windows.add_under(session, window, parent, gathering);
            }
        }
        None => call.uncovered(),
    }
    span
}

/// A call in which all members of a window wait for each other.
pub(crate) fn fence(call: &mut Call<'_>, window: Position, assertion: Position) -> Span {
    let session = call.session;
    let members = session.windows.get(handle(session.abi, call.arguments[window]));
    let gathering = members.as_ref().and_then(|members| collective::come(call, members));
    let span = call.run();
    // Where nothing comes before, which all say or none, nobody waits.
    let waits = int(call.arguments[assertion]) & session.abi.no_precede == 0;
    match members {
        Some(members) if span.succeeded() && waits => collective::carry(call, &span, &members, gathering, Dependence::All, 0),
        Some(_) => {}
        None => call.uncovered(),
    }
    span
}

/// A call that frees a window.
pub(crate) fn free(call: &mut Call<'_>) -> Span {
    let session = call.session;
    let members = session.windows.remove(read_handle(session.abi, call.arguments[0], 0));
    let gathering = members.as_ref().and_then(|members| collective::come(call, members));
    let span = call.run();
    match members {
        Some(members) => {
            if span.succeeded() {
                collective::carry(call, &span, &members, gathering, Dependence::All, 0);
            }
            session.windows.retire(session, members);
        }
        None => call.uncovered(),
    }
    span
}
