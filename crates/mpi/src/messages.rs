//! Messages between two ranks: sending, receiving, both at once, starting what was prepared.

use crate::answers;
use crate::call::{Call, Span};
use crate::collective::type_size;
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::holds::{self, Hold};
use crate::matching::{Pattern, Serial, Stream};
use crate::meaning::{Exchange, Message, Mode, Position, Stage};
use crate::memory::{Status, Statuses, count, handle, int, read_handle};
use crate::probing;
use crate::session::Session;
use crate::transport::{Note, Shadow};
use crate::waiting::Wait;
use std::sync::{Arc, PoisonError};
use tare_delay::completion::{Arrivals, Moment};
use tare_delay::visits::Look;
use tare_format::ids::Rank;
use tare_runtime::wrapper;

/// The partner of a message on a communicator that we know.
#[derive(Clone, Debug)]
pub(crate) struct Partner {
    pub(crate) comm: Arc<Comm>,
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) bytes: u64,
}

/// A message that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) comm: Arc<Comm>,
    pub(crate) source: i32,
    pub(crate) bytes: u64,
    /// What its shadow message says, if that is known.
    pub(crate) note: Option<Note>,
    /// When its receive was posted.
    pub(crate) posted: Moment,
    /// What its receive asked for, where it would have taken a message from anywhere.
    pub(crate) anyone: Option<Pattern>,
}

/// What else a call has completed.
#[derive(Debug)]
pub(crate) struct Others {
    /// What may have held up sends and collectives.
    pub(crate) holds: Vec<Hold>,
    /// What the collectives depended on.
    pub(crate) arrivals: Arrivals,
    /// Whom the last of these is from, where it is from one.
    pub(crate) from: Option<Rank>,
}

impl Others {
    /// Nothing.
    pub(crate) const NONE: Self = Self { holds: Vec::new(), arrivals: Arrivals::NONE, from: None };

    /// What partners on a communicator have told when they were ready, or done.
    pub(crate) fn told(session: &Session, comm: &Comm, told: &[(i32, Moment)]) -> Self {
        let last = told.iter().max_by_key(|(_, moment)| moment.at);
        let from = last.and_then(|&(partner, _)| comm.world_rank(session, partner));
        Self { arrivals: told.iter().map(|(_, moment)| *moment).collect(), from, ..Self::NONE }
    }

    /// A send.
    fn send(hold: Hold) -> Self {
        Self { holds: Some(hold).filter(|hold| !hold.is_nothing()).into_iter().collect(), ..Self::NONE }
    }
}

impl Arrived {
    fn sent(&self) -> Option<Moment> {
        self.note.map(|note| note.sent)
    }
}

/// How a receive ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// With a message, perhaps a truncated one.
    Message(Stream, u64),
    /// Without one: cancelled, or an error.
    Nothing,
    /// Not yet.
    Pending,
}

impl Outcome {
    /// From the error of the receive and its status.
    pub(crate) fn of(session: &Session, error: i32, status: Status<'_>) -> Self {
        let class = if error == 0 { 0 } else { session.error_class(error) };
        let stream = status.stream(session.abi);
        if class == session.abi.pending {
            Self::Pending
        } else if status.is_cancelled(session) || stream.0 < 0 || (class != 0 && class != session.abi.truncated) {
            Self::Nothing
        } else {
            Self::Message(stream, status.bytes(session))
        }
    }
}

/// Who the call's message goes to or comes from; `None` where there is no message (`MPI_PROC_NULL`), or a
/// communicator that we do not know.
pub(crate) fn partner(call: &Call<'_>, message: Message) -> Option<Partner> {
    let session = call.session;
    let peer = int(call.arguments[message.peer]);
    if peer == session.abi.proc_null {
        return None;
    }
    let comm = session.communicators.get(handle(session.abi, call.arguments[message.comm]));
    if comm.is_none() {
        call.uncovered();
    }
    Some(Partner { comm: comm?, peer, tag: int(call.arguments[message.tag]), bytes: 0 })
}

/// Who a message goes to, with its size.
fn receiver(call: &Call<'_>, message: Message) -> Option<Partner> {
    let mut partner = partner(call, message)?;
    let elements = count(call.function().large, call.arguments[message.count]);
    partner.bytes = elements * type_size(call.session, call.arguments[message.datatype]);
    Some(partner)
}

/// What a receive asks for.
fn pattern(session: &Session, partner: &Partner) -> Pattern {
    Pattern {
        source: (partner.peer != session.abi.any_source).then_some(partner.peer),
        tag: (partner.tag != session.abi.any_tag).then_some(partner.tag),
    }
}

/// A message went out.
fn sent(call: &Call<'_>, span: &Span, partner: &Partner) {
    if span.succeeded() {
        let exchange = wrapper::Exchange { sent: 1, bytes: partner.bytes, ..Default::default() };
        call.exchanged(partner.comm.world_rank(call.session, partner.peer), &exchange);
    }
}

/// The request that a call made, behind its communicator.
fn request(call: &Call<'_>, message: Message) -> usize {
    read_handle(call.session.abi, call.arguments[message.comm + 1], 0)
}

/// A call that sends.
pub(crate) fn send(call: &mut Call<'_>, stage: Stage, mode: Mode, message: Message) -> Span {
    let to = receiver(call, message);
    let hold = to.as_ref().filter(|_| stage != Stage::Prepared).map_or(Hold::Nothing, |to| holds::post(call, to, mode));
    if stage == Stage::Blocking && !hold.is_nothing() {
        let here = call.moment();
        call.looks(Look::Everything, here);
    }
    let span = call.run();
    if stage != Stage::Blocking && span.succeeded() {
        call.session.requests.forget(request(call, message));
    }
    match stage {
        _ if !span.succeeded() => hold.forget(call.session),
        _ if hold.is_nothing() => {}
        Stage::Blocking => settle(call, &Wait::blocked(call, &span), &span, &[], &Others::send(hold)),
        Stage::Started => call.session.requests.track(request(call, message), Tracked::Send(hold)),
        Stage::Prepared => {}
    }
    match (to, stage) {
        (Some(to), Stage::Prepared) if span.succeeded() => {
            call.session.requests.track(request(call, message), Tracked::PreparedSend { to, mode, hold: Hold::Nothing });
        }
        (Some(to), _) => sent(call, &span, &to),
        (None, _) => {}
    }
    span
}

/// A call that receives.
pub(crate) fn receive(call: &mut Call<'_>, stage: Stage, message: Message) -> Span {
    let Some(from) = partner(call, message) else { return call.run() };
    if stage == Stage::Blocking { receive_now(call, message, from, Hold::Nothing) } else { receive_later(call, stage, message, from) }
}

/// A send that may be held up ends with it.
fn receive_now(call: &mut Call<'_>, message: Message, from: Partner, hold: Hold) -> Span {
    let session = call.session;
    let anyone = Some(pattern(session, &from)).filter(|pattern| pattern.source.is_none());
    let mut statuses = Statuses::new();
    statuses.provide(session.abi, &mut call.arguments[message.comm + 1], 1);
    let span = call.run();
    if let Outcome::Message(stream, bytes) = Outcome::of(session, span.error(), statuses.get(session.abi, 0)) {
        let note = take(session, &from.comm, stream);
        let wait = probing::probed(session, from.comm.key, stream).unwrap_or_else(|| Wait::blocked(call, &span));
        let arrived = Arrived { comm: from.comm, source: stream.0, bytes, note, posted: span.begin, anyone };
        settle(call, &wait, &span, &[arrived], &Others::send(hold));
    } else {
        hold.forget(session);
    }
    span
}

/// The shadow of a message that no receive was posted for beforehand.
pub(crate) fn take(session: &Session, comm: &Comm, stream: Stream) -> Option<Note> {
    let mut queue = comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.receive(stream, &mut Shadow { session, comm })
}

fn receive_later(call: &mut Call<'_>, stage: Stage, message: Message, from: Partner) -> Span {
    let span = call.run();
    if !span.succeeded() {
        return span;
    }
    let (session, request) = (call.session, request(call, message));
    let pattern = pattern(session, &from);
    let tracked = if stage == Stage::Prepared {
        Tracked::PreparedReceive { comm: from.comm, pattern, active: None }
    } else {
        let serial = posted(&from.comm, request, pattern);
        // A probe of just this source and tag has waited for the message, which is there.
        if let (Some(source), Some(tag)) = (pattern.source, pattern.tag)
            && let Some(probed) = probing::probed(session, from.comm.key, (source, tag))
        {
            settle_probe(call, &probed, &span, &from.comm, serial, (source, tag));
        }
        probing::drop_probed();
        Tracked::Receive { comm: from.comm, serial, posted: span.begin, pattern }
    };
    session.requests.track(request, tracked);
    span
}

/// A receive was started whose message a probe has found: the wait of the probe is over. The message itself is counted
/// when the receive is completed, which then waits for nothing.
fn settle_probe(call: &Call<'_>, probed: &Wait, span: &Span, comm: &Comm, serial: Serial, stream: Stream) {
    let session = call.session;
    let mut queue = comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
    let sent = queue.foresee(serial, stream, &mut Shadow { session, comm });
    drop(queue);
    let waited = probed.over(call, span, &sent.map(|note| note.sent).into_iter().collect());
    if let Some(source) = comm.world_rank(session, stream.0) {
        waited.was_for(source);
    }
}

fn posted(comm: &Comm, request: usize, pattern: Pattern) -> Serial {
    comm.queue.lock().unwrap_or_else(PoisonError::into_inner).post(request, pattern)
}

/// A call that sends and receives.
pub(crate) fn exchange(call: &mut Call<'_>, exchange: Exchange) -> Span {
    let to = receiver(call, exchange.sent);
    let hold = to.as_ref().map_or(Hold::Nothing, |to| {
        // Of a started one, the request stands for both ways.
        holds::post(call, to, if exchange.stage == Stage::Blocking { Mode::Standard } else { Mode::Buffered })
    });
    let span = match partner(call, exchange.received) {
        Some(from) if exchange.stage == Stage::Blocking => receive_now(call, exchange.received, from, hold),
        Some(from) => receive_later(call, exchange.stage, exchange.received, from),
        None => {
            let span = call.run();
            if !span.succeeded() {
                hold.forget(call.session);
            } else if !hold.is_nothing() {
                settle(call, &Wait::blocked(call, &span), &span, &[], &Others::send(hold));
            }
            span
        }
    };
    if let Some(to) = &to {
        sent(call, &span, to);
    }
    span
}

/// A call that starts persistent requests.
pub(crate) fn start(call: &mut Call<'_>, number: Option<Position>, first: Position) -> Span {
    let session = call.session;
    let number = number.map_or(1, |position| usize::try_from(int(call.arguments[position])).unwrap_or(0));
    let requests: Vec<usize> = (0..number).map(|index| read_handle(session.abi, call.arguments[first], index)).collect();
    let mut sends = Vec::new();
    for &request in &requests {
        session.requests.with(request, |tracked| match tracked {
            Tracked::PreparedSend { to, mode, hold } => {
                *hold = holds::post(call, to, *mode);
                sends.push(to.clone());
            }
            Tracked::PreparedAmong(prepared) => prepared.start(call),
            Tracked::PreparedCollective(prepared) => prepared.start(call),
            Tracked::PartsSent(parts) => parts.start(),
            _ => {}
        });
    }
    let span = call.run();
    sends.iter().for_each(|to| sent(call, &span, to));
    if span.succeeded() {
        probing::drop_probed();
        for request in requests {
            session.requests.with(request, |tracked| match tracked {
                Tracked::PreparedReceive { comm, pattern, active } => *active = Some((posted(comm, request, *pattern), span.begin)),
                Tracked::PartsReceived(parts) => parts.start(span.begin),
                _ => {}
            });
        }
    }
    span
}

/// Messages have arrived: what the wait for them does to the thread, and to the records of the partners.
pub(crate) fn settle(call: &Call<'_>, wait: &Wait, span: &Span, arrived: &[Arrived], others: &Others) {
    let session = call.session;
    let arrivals = arrived.iter().filter_map(Arrived::sent).collect::<Arrivals>().join(others.arrivals);
    let (arrivals, receiver) = holds::arrivals_of(&others.holds, session, wait.begin, span, &arrivals);
    let waited = wait.over(call, span, &arrivals);
    others.holds.iter().for_each(|hold| hold.ended(wait.begin, span, &waited.done));
    let last = arrived.iter().filter_map(Arrived::sent).map(|sent| sent.at).max();
    if let Some(receiver) = receiver {
        waited.was_held_by(receiver);
    }
    let is_from_others = others.from.filter(|_| others.arrivals.last_sent() >= arrivals.last_sent());
    is_from_others.into_iter().for_each(|from| waited.was_for(from));
    let mut booked = receiver.is_some() || is_from_others.is_some();
    for message in arrived {
        let source = message.comm.world_rank(session, message.source);
        let mut exchange = wrapper::Exchange { received: 1, bytes: message.bytes, ..Default::default() };
        if let Some(note) = &message.note {
            answers::send(call, &message.comm, message.source, note, message.posted, wait.begin);
        }
        if let (Some(sent), Some(pattern)) = (message.sent(), message.anyone)
            && message.comm.contradicts(pattern, sent)
        {
            call.contradicted();
        }
        if let Some(sent) = message.sent() {
            exchange.transmission = span.end.0.saturating_sub(sent.at.0);
            if !booked && Some(sent.at) == last {
                booked = true;
                source.into_iter().for_each(|source| waited.was_for(source));
            }
        }
        call.exchanged(source, &exchange);
    }
    let unpaired = arrived.iter().filter(|message| message.note.is_none() && message.comm.shadow.is_some()).count();
    if unpaired > 0 {
        call.unpaired(unpaired as u64);
    }
}
