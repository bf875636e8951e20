//! Messages whose parts the sender releases one by one. They meet their receives in the order in which both were
//! prepared, each start on one side the same start on the other. The shadow message goes when the last part is released, and
//! the receive depends on it as a whole: that a part arrives earlier carries no delay.

use crate::answers::Wanted;
use crate::call::{Call, Span};
use crate::collective::type_size;
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::meaning::{Parts, Position, Released};
use crate::memory::{count, handle, int, read_handle};
use crate::messages::{Arrived, Partner, partner};
use crate::session::Session;
use crate::transport::{self, Note, Shadow};
use std::sync::{Arc, PoisonError};
use tare_delay::completion::Moment;
use tare_runtime::wrapper;

/// The tag of these shadow messages. A program that uses it mixes them with those of its own messages.
const TAG: i32 = 32_707;
/// Bits of a number that count starts, and those below the tag that count messages of one tag.
const STARTS: u32 = 16;
const TAGS: u32 = 33;

/// One that is sent.
#[derive(Debug)]
pub(crate) struct Sent {
    to: Partner,
    parts: u64,
    released: u64,
    number: Wanted,
}

/// One that is received.
#[derive(Debug)]
pub(crate) struct Received {
    from: Partner,
    number: Wanted,
    /// When it was started, while it is under way.
    posted: Option<Moment>,
}

/// A call that prepares one.
pub(crate) fn prepare(call: &mut Call<'_>, parts: Parts) -> Span {
    let partner = partner(call, parts.message);
    let span = call.run();
    let Some(mut partner) = partner.filter(|_| span.succeeded()) else { return span };
    let session = call.session;
    let number = u64::try_from(int(call.arguments[parts.parts])).unwrap_or(0);
    partner.bytes = number * count(true, call.arguments[parts.message.count]) * type_size(session, call.arguments[parts.message.datatype]);
    let request = read_handle(session.abi, call.arguments[parts.message.comm + 2], 0);
    let first = partner.comm.first_number(&partner, parts.sent);
    let tracked = if parts.sent {
        Tracked::PartsSent(Sent { to: partner, parts: number, released: 0, number: first })
    } else {
        Tracked::PartsReceived(Received { from: partner, number: first, posted: None })
    };
    session.requests.track(request, tracked);
    span
}

impl Comm {
    /// The number of the next such message to or from a partner, before its first start; the same on both sides.
    fn first_number(&self, partner: &Partner, sent: bool) -> Wanted {
        let mut parted = self.parted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = parted.entry((partner.peer, partner.tag, sent)).or_default();
        *before += 1;
        u64::from(partner.tag.unsigned_abs()) << TAGS | (*before << STARTS) & ((1 << TAGS) - 1)
    }
}

/// A call that releases parts.
pub(crate) fn release(call: &mut Call<'_>, released: Released, request: Position) -> Span {
    let session = call.session;
    let said = |position: Position| i64::from(int(call.arguments[position]));
    let more = match released {
        Released::One => 1,
        Released::Range(low, high) => said(high) - said(low) + 1,
        Released::Count(position) => said(position),
    };
    let request = handle(session.abi, call.arguments[request]);
    session.requests.with(request, |tracked| {
        if let Tracked::PartsSent(sent) = tracked {
            sent.release(call, u64::try_from(more).unwrap_or(0));
        }
    });
    call.run()
}

impl Sent {
    /// It is about to be started.
    pub(crate) fn start(&mut self) {
        self.released = 0;
        self.number += 1;
    }

    fn release(&mut self, call: &mut Call<'_>, parts: u64) {
        self.released += parts;
        if self.released == self.parts {
            transport::post(call, &self.to.comm, self.to.peer, TAG, self.number);
            let exchange = wrapper::Exchange { sent: 1, bytes: self.to.bytes, ..Default::default() };
            call.exchanged(self.to.comm.world_rank(call.session, self.to.peer), &exchange);
        }
    }
}

impl Received {
    /// It was started.
    pub(crate) fn start(&mut self, at: Moment) {
        self.number += 1;
        self.posted = Some(at);
    }

    /// Whether it is under way.
    pub(crate) fn is_active(&self) -> bool {
        self.posted.is_some()
    }

    /// All parts have arrived.
    pub(crate) fn end(&mut self, session: &Session) -> Option<Arrived> {
        let (posted, comm) = (self.posted.take()?, Arc::clone(&self.from.comm));
        let note = Shadow { session, comm: &comm }.take_numbered((self.from.peer, TAG), self.number);
        // A number of its own kind asks for no answer.
        let note = note.map(|note| Note { wanted: 0, ..note });
        Some(Arrived { comm, source: self.from.peer, bytes: self.from.bytes, note, posted, anyone: None })
    }
}
