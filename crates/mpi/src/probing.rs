//! Probes, and the memory of questions asked in vain.
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
use core::cell::{Cell, RefCell};
use tare_delay::completion::{Arrivals, Moment};
use tare_delay::polling::Polls;
use tare_format::graph::DelayModel;

/// A message that a plain probe has found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probed {
    comm: u64,
    stream: Stream,
    /// When the probe began.
    pub(crate) begin: Moment,
    /// Whether it was a question.
    pub(crate) asked: bool,
}

thread_local! {
    static POLLS: RefCell<Polls> = const { RefCell::new(Polls::NONE) };
    static PROBED: Cell<Option<Probed>> = const { Cell::new(None) };
}

/// A question was answered with no.
pub(crate) fn failed(begin: Moment) {
    POLLS.with_borrow_mut(|polls| polls.failed(begin));
}

/// The virtual time at which a question would have been answered, where one that was asked at `begin` was answered with yes.
pub(crate) fn answered(begin: Moment, arrivals: &Arrivals) -> i64 {
    if arrivals.is_empty() {
        return begin.virtual_time();
    }
    POLLS.with_borrow_mut(|polls| polls.answered(begin, arrivals))
}

/// Something was completed otherwise.
pub(crate) fn forget() {
    POLLS.with_borrow_mut(Polls::forget);
}

/// The probe that has found the message just received, if any.
pub(crate) fn probed(session: &Session, comm: u64, stream: Stream) -> Option<Probed> {
    PROBED.take().filter(|probed| session.model() == DelayModel::Virtual && (probed.comm, probed.stream) == (comm, stream))
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
        failed(span.begin);
        return span;
    }
    let status = statuses.get(session.abi, 0);
    let stream = status.stream(session.abi);
    let asked = probe.flag.is_some();
    if stream.0 < 0 {
        return span;
    }
    if probe.matched {
        let note = take(session, &comm, stream);
        let bytes = status.bytes(session);
        settle(call, span.begin, &span, asked, &[Arrived { comm, source: stream.0, bytes, note, posted: span.begin, anyone: None }], &Others::NONE);
    } else {
        PROBED.set(Some(Probed { comm: comm.key, stream, begin: span.begin, asked }));
    }
    span
}
