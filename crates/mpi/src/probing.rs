//! Probes.
//!
//! A matched probe decides which message is received: its shadow message is taken there, and the receive that
//! follows waits for nothing. A plain probe waits on behalf of the receive that follows it, which takes the
//! probe's beginning for its own.

use crate::call::{Call, Span};
use crate::matching::Stream;
use crate::meaning::Probe;
use crate::memory::{Statuses, handle, read_int};
use crate::messages::{Arrived, Others, settle, take};
use crate::session::Session;
use crate::waiting::{Wait, asked_in_vain};
use core::cell::Cell;
use tare_format::graph::DelayModel;

/// A message that a plain probe has found.
#[derive(Clone, Copy, Debug)]
struct Probed {
    comm: u64,
    stream: Stream,
    wait: Wait,
}

thread_local! {
    static PROBED: Cell<Option<Probed>> = const { Cell::new(None) };
}

/// The wait of the probe that has found the message just received, if any.
pub(crate) fn probed(session: &Session, comm: u64, stream: Stream) -> Option<Wait> {
    let found = PROBED.take().filter(|probed| session.model() == DelayModel::Virtual && (probed.comm, probed.stream) == (comm, stream));
    found.map(|probed| probed.wait)
}

/// A receive was started that may be for the message that a probe has found.
pub(crate) fn drop_probed() {
    PROBED.set(None);
}

/// A call of a probe.
pub(crate) fn probe(call: &mut Call<'_>, probe: Probe) -> Span {
    let session = call.session;
    let Some(comm) = session.communicators.get(handle(session.abi, call.arguments[2])) else {
        return call.run();
    };
    let mut statuses = Statuses::new();
    statuses.provide(session.abi, &mut call.arguments[probe.status], 1);
    let span = call.run();
    if !span.succeeded() {
        return span;
    }
    if probe.flag.is_some_and(|flag| read_int(call.arguments[flag]) == 0) {
        asked_in_vain(call, &span);
        return span;
    }
    let status = statuses.get(session.abi, 0);
    let stream = status.stream(session.abi);
    if stream.0 < 0 {
        return span;
    }
    let wait = Wait::of(call, &span, probe.flag.is_some());
    if probe.matched {
        let note = take(session, &comm, stream);
        let bytes = status.bytes(session);
        settle(call, &wait, &span, &[Arrived { comm, source: stream.0, bytes, note, posted: span.begin, anyone: None }], &Others::NONE);
    } else {
        PROBED.set(Some(Probed { comm: comm.key, stream, wait }));
    }
    span
}
