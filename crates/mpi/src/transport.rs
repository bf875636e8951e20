//! What travels beside each message of the program: within a machine by mail ([`crate::mail`]), else as a shadow message.
//!
//! ```text
//! 0 u64 S: the sender's clock when it sent      8 i64 x: the sender's delay at that moment: in ticks, or where several machines
//!        take part in nanoseconds of a common clock (`clocks`)
//! 16 u64 where it is not 0: the sender wants an answer under this number (`answers`), or this is the answer to it;
//!        of the streams of operations other than messages: the number of the operation ([`Shadow::take_numbered`])
//! ```
//!
//! A shadow message has the tag of its real message and goes to the same process on the shadow communicator. It is posted
//! before the real one, so that it is there once the real one is.

use crate::answers::Wanted;
use crate::call::Call;
use crate::communicators::Comm;
use crate::mail::{self, Mail};
use crate::matching::{Found, Outside, Stream};
use crate::memory::{Statuses, word};
use crate::session::Session;
use crate::table::Id;
use crate::usual::follow;
use core::cell::Cell;
use core::sync::atomic::Ordering;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tare_delay::completion::Moment;
use tare_format::ids::Ticks;
use tare_runtime::process::now;

/// Bytes of a shadow message.
const LENGTH: usize = 24;
/// Ticks for which a shadow message is waited for: it was sent before the real one that has arrived, so this ends
/// only where the partner sends none.
const PATIENCE: u64 = 1 << 31;
/// Shadow messages in a row that may be missing before a communicator is given up.
const MOST_MISSED: u32 = 3;

thread_local! {
    /// Ticks that posting took recently.
    static POSTING: Cell<u64> = const { Cell::new(0) };
}

/// What a shadow message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    /// When the message was sent.
    pub(crate) sent: Moment,
    /// The number under which its sender wants an answer, 0 where it wants none; or that of an operation.
    pub(crate) wanted: Wanted,
}

impl Note {
    fn told(self, session: &Session) -> [u64; 3] {
        let sent = session.clocks.told(self.sent);
        [sent.at.0, sent.delay.cast_unsigned(), self.wanted]
    }

    fn heard(session: &Session, words: [u64; 3]) -> Self {
        let sent = Moment { at: Ticks(words[0]), delay: words[1].cast_signed() };
        Self { sent: session.clocks.heard(sent), wanted: words[2] }
    }
}

/// A message on its way. The library uses its memory until the request is complete.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    words: [u64; 3],
    request: usize,
}

/// A receive of ours. Until the library is through with it, its memory is not given back: dropped before, it stays for good.
#[derive(Debug)]
pub(crate) struct Awaited(Option<Box<Slot>>);

impl Awaited {
    /// Starts to receive.
    pub(crate) fn start(session: &Session, shadow: usize, source: i32, tag: i32) -> Option<Self> {
        let mut slot = Box::<Slot>::default();
        let (buffer, handle) = (slot.words.as_mut_ptr() as usize, &raw mut slot.request as usize);
        session.ask(Id::MPI_Irecv, [buffer, LENGTH, session.handles.byte, word(source), word(tag), shadow, handle])?;
        Some(Self(Some(slot)))
    }

    /// What has been received; says so once.
    pub(crate) fn received(&mut self, session: &Session) -> Option<Note> {
        if !test(session, &mut self.0.as_mut()?.request) {
            return None;
        }
        Some(Note::heard(session, self.0.take()?.words))
    }

    /// Ends a receive whose message may never come.
    pub(crate) fn give_up(mut self, session: &Session) {
        let Some(slot) = self.0.as_mut() else { return };
        let address = &raw mut slot.request as usize;
        let ended = session.ask(Id::MPI_Cancel, [address]).and_then(|()| session.ask(Id::MPI_Wait, [address, session.abi.status_ignore]));
        if ended.is_some() {
            self.0 = None;
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            // The library may still write there.
            Box::leak(slot);
        }
    }
}

/// Shadow messages sent and not known to be complete, in order.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    #[expect(clippy::vec_box, reason = "the library holds the addresses of slots")]
    free: Vec<Box<Slot>>,
    flying: VecDeque<Box<Slot>>,
}

/// Tells the receiver of a message that the call is about to send, and says when that will be: by mail within a machine, else by a shadow
/// message.
pub(crate) fn post(call: &mut Call<'_>, comm: &Comm, peer: i32, tag: i32, wanted: Wanted) -> Option<Moment> {
    let shadow = comm.shadow?;
    let before = call.moment();
    if let Some((mail, to, name)) = mail(call.session, comm, peer)
        && mail.post(to, (name, tag), Note { sent: before, wanted })
    {
        return Some(before);
    }
    let expected = POSTING.get();
    let sent = Moment { at: Ticks(before.at.0 + expected), delay: before.delay + expected.cast_signed() };
    call.session.pool.send(call.session, shadow, peer + comm.offset, tag, Note { sent, wanted });
    let took = call.moment().at.0 - before.at.0;
    POSTING.set(follow(expected, took));
    Some(sent)
}

/// The mail to and from a member of a communicator whose members share a machine, its box there, and the communicator's name.
fn mail<'a>(session: &'a Session, comm: &Comm, peer: i32) -> Option<(&'a Mail, usize, u64)> {
    let meeting = comm.meeting()?;
    let (mail, at) = session.board()?.mail(meeting.rank(peer)?)?;
    Some((mail, at, meeting.name()))
}

impl Pool {
    pub(crate) fn send(&self, session: &Session, shadow: usize, peer: i32, tag: i32, note: Note) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.reclaim(session, 2);
        let mut slot = slots.free.pop().unwrap_or_default();
        slot.words = note.told(session);
        let (buffer, request) = (slot.words.as_ptr() as usize, &raw mut slot.request as usize);
        let posted = session.ask(Id::MPI_Isend, [buffer, LENGTH, session.handles.byte, word(peer), word(tag), shadow, request]);
        match posted {
            Some(()) => slots.flying.push_back(slot),
            None => slots.free.push(slot),
        }
    }

    /// Lets go of everything; what is still on its way keeps its memory.
    pub(crate) fn close(&self, session: &Session) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.reclaim(session, usize::MAX);
        while let Some(slot) = slots.flying.pop_front() {
            let slot = Box::leak(slot);
            // Best effort, as the process ends.
            let _ = session.ask(Id::MPI_Request_free, [&raw mut slot.request as usize]);
        }
    }
}

impl Slots {
    /// Takes back up to `most` of the oldest slots whose messages are gone.
    fn reclaim(&mut self, session: &Session, most: usize) {
        for _ in 0..most {
            let Some(oldest) = self.flying.front_mut() else { return };
            if !test(session, &mut oldest.request) {
                return;
            }
            self.free.extend(self.flying.pop_front());
        }
    }
}

/// Whether a request of ours is complete.
pub(crate) fn test(session: &Session, request: &mut usize) -> bool {
    ended(session, request).is_some()
}

/// How a request of ours has ended: whether it has succeeded. `None` where it is under way.
pub(crate) fn ended(session: &Session, request: &mut usize) -> Option<bool> {
    let mut flag = 0_i32;
    let asked = session.ask(Id::MPI_Test, [&raw mut *request as usize, &raw mut flag as usize, session.abi.status_ignore]);
    if asked.is_none() { Some(false) } else { (flag != 0).then_some(true) }
}

/// The shadow of one communicator, for matching.
pub(crate) struct Shadow<'a> {
    pub(crate) session: &'a Session,
    pub(crate) comm: &'a Comm,
}

impl Outside for Shadow<'_> {
    fn peek(&mut self, request: usize) -> Found {
        let abi = self.session.abi;
        let (mut flag, mut status) = (0_i32, abi.status_ignore);
        let mut statuses = Statuses::new();
        statuses.provide(abi, &mut status, 1);
        let asked = self.session.ask(Id::MPI_Request_get_status, [request, &raw mut flag as usize, status]);
        if asked.is_none() || flag == 0 {
            return Found::Unknown;
        }
        let status = statuses.get(abi, 0);
        let stream = status.stream(abi);
        if status.is_cancelled(self.session) || stream.0 < 0 { Found::Nothing } else { Found::Message(stream) }
    }

    fn take(&mut self, (source, tag): Stream) -> Option<Note> {
        let shadow = self.comm.shadow?;
        match self.mail(|mail, from, name| mail.take(from, (name, tag)), source) {
            mail::Found::Note(note) => return Some(note),
            mail::Found::Nothing => return None,
            mail::Found::Closed => {}
        }
        let missed = self.comm.missed.load(Ordering::Relaxed);
        if missed >= MOST_MISSED {
            return None;
        }
        let (mut words, mut request) = ([0_u64; 3], 0_usize);
        let (buffer, handle) = (words.as_mut_ptr() as usize, &raw mut request as usize);
        let byte = self.session.handles.byte;
        self.session.ask(Id::MPI_Irecv, [buffer, LENGTH, byte, word(source + self.comm.offset), word(tag), shadow, handle])?;
        let came = self.wait(&mut request);
        self.comm.missed.store(if came { 0 } else { missed + 1 }, Ordering::Relaxed);
        came.then_some(Note::heard(self.session, words))
    }
}

/// Shadow messages that have come before it was their turn: of operations with numbers.
pub(crate) type Early = Vec<(Stream, Wanted, Note)>;

impl Shadow<'_> {
    /// Receives what a stream says of the operation of this number; what comes before it is kept for its own turn.
    pub(crate) fn take_numbered(&mut self, stream: Stream, number: Wanted) -> Option<Note> {
        let comm = self.comm;
        // Held all the time: another thread that looks at the stream must find what this one takes on its behalf.
        let mut early = comm.early.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = early.iter().position(|(theirs, of, _)| (*theirs, *of) == (stream, number)) {
            return Some(early.swap_remove(at).2);
        }
        loop {
            let note = self.take(stream)?;
            if note.wanted == number {
                return Some(note);
            }
            early.push((stream, note.wanted, note));
        }
    }

    /// As [`Shadow::take_numbered`], of a stream whose numbers rise, and of which none below `oldest` are asked for any more; `None` where
    /// the message is not there yet, or was sent after a moment: then it stays.
    pub(crate) fn look(&mut self, stream: Stream, number: Wanted, oldest: Wanted, until: Ticks) -> Option<Note> {
        let comm = self.comm;
        let until = self.session.clocks.at_the_latest(until);
        let mut early = comm.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.retain(|(theirs, of, _)| *theirs != stream || *of >= oldest);
        while self.is_there(stream) {
            let note = self.take(stream)?;
            if note.wanted >= oldest {
                early.push((stream, note.wanted, note));
            }
        }
        let at = early.iter().position(|(theirs, of, note)| (*theirs, *of) == (stream, number) && note.sent.at <= until)?;
        Some(early.swap_remove(at).2)
    }

    /// What the mail of a member says; as of a closed box where there is none.
    fn mail(&self, ask: impl FnOnce(&Mail, usize, u64) -> mail::Found, source: i32) -> mail::Found {
        mail(self.session, self.comm, source).map_or(mail::Found::Closed, |(mail, from, name)| ask(mail, from, name))
    }

    fn is_there(&self, (source, tag): Stream) -> bool {
        match self.mail(|mail, from, name| mail.peek(from, (name, tag)), source) {
            mail::Found::Note(_) => return true,
            mail::Found::Nothing => return false,
            mail::Found::Closed => {}
        }
        let Some(shadow) = self.comm.shadow else { return false };
        let mut flag = 0_i32;
        let place = [word(source + self.comm.offset), word(tag), shadow, &raw mut flag as usize, self.session.abi.status_ignore];
        self.session.ask(Id::MPI_Iprobe, place).is_some() && flag != 0
    }

    /// Waits for a request of ours, up to [`PATIENCE`], and cancels it then. Whether it was completed.
    fn wait(&self, request: &mut usize) -> bool {
        if test(self.session, request) {
            return true;
        }
        let started = now();
        while now().0.saturating_sub(started.0) < PATIENCE {
            if test(self.session, request) {
                return true;
            }
        }
        let abi = self.session.abi;
        let (mut status, address) = (abi.status_ignore, &raw mut *request as usize);
        let mut statuses = Statuses::new();
        statuses.provide(abi, &mut status, 1);
        let cancelled = self.session.ask(Id::MPI_Cancel, [address]);
        let waited = self.session.ask(Id::MPI_Wait, [address, status]);
        cancelled.and(waited).is_some() && !statuses.get(abi, 0).is_cancelled(self.session)
    }
}
