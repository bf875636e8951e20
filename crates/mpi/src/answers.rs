//! Answers: the receiver's moment on its way back to a sender that may wait for it.
//!
//! A synchronous send, and a large one, may end only when its receive is posted. Its shadow message asks for an answer,
//! which the receiver sends when the message has arrived: when the receive was posted, or, where the message was there later than
//! that, when the receiver next came into the library, and how late it was then. Nobody waits for an answer: it is looked for
//! in later calls, and corrects the delay then.
//!
//! Whether a large message waited at all is the library's choice by size. A send that ended before its receive began shows
//! that its size does not wait, one that ended after it began later that it does; what lies between is not believed to.
//!
//! Answers are for processes that share no memory with this one; of the others the board tells as much at once ([`crate::holds`]).

use crate::call::{Call, Span};
use crate::communicators::Comm;
use crate::holds::Sizes;
use crate::meaning::Mode;
use crate::session::Session;
use crate::transport::{Awaited, Note};
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, Ordering};
use tare_delay::completion::{Arrivals, Completion, Moment, complete};
use tare_delay::provisional::Provisional;
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// The tag of answers, on shadow communicators. A program that uses it mixes its shadow messages with answers, and
/// loses the delays of both.
const TAG: i32 = 32_749;
/// Smaller messages never wait.
const LEAST: u64 = 2048;
/// Answers that a thread looks out for at once; beyond it, sends ask for none.
const MOST: usize = 64;

/// Names a send whose answer is asked for; 0 is none.
pub(crate) type Wanted = u64;

static NEXT: AtomicU64 = AtomicU64::new(1);
/// Of messages that are answered.
static FAR: Sizes = Sizes::unknown();

/// A send whose answer has not come yet.
#[derive(Debug)]
struct Asked {
    wanted: Wanted,
    bytes: u64,
    synchronous: bool,
    /// Where an answer is received: this one, or that of another send, for answers come in the order in which receives end.
    receive: Awaited,
    answer: Option<Moment>,
    /// How the send ended: where its wait would begin, and its end.
    ended: Option<(Moment, Ticks)>,
    provisional: Provisional,
}

thread_local! {
    static ASKED: RefCell<Vec<Asked>> = const { RefCell::new(Vec::new()) };
}

/// Asks for the answer to a message that is about to be sent, where it may wait.
pub(crate) fn ask(session: &Session, comm: &Comm, peer: i32, bytes: u64, mode: Mode) -> Wanted {
    let synchronous = mode == Mode::Synchronous;
    let may_wait = session.model() == DelayModel::Virtual && (synchronous || (mode == Mode::Standard && bytes >= LEAST));
    let Some(shadow) = comm.shadow.filter(|_| may_wait) else { return 0 };
    ASKED
        .try_with(|asked| {
            let mut asked = asked.borrow_mut();
            if asked.len() >= MOST {
                return 0;
            }
            let wanted = NEXT.fetch_add(1, Ordering::Relaxed);
            let Some(receive) = Awaited::start(session, shadow, peer + comm.offset, TAG) else { return 0 };
            asked.push(Asked { wanted, bytes, synchronous, receive, answer: None, ended: None, provisional: Provisional::NEW });
            wanted
        })
        .unwrap_or(0)
}

/// A send is complete. `done` is what else its completion waited for.
pub(crate) fn ended(wanted: Wanted, begin: Moment, span: &Span, done: &Completion) {
    let after = Moment { at: Ticks(begin.at.0 + done.wait), delay: done.delay };
    with(wanted, |asked| {
        asked.ended = Some((after, span.end));
        asked.provisional = Provisional::NEW;
    });
}

fn with(wanted: Wanted, action: impl FnOnce(&mut Asked)) {
    let _ = ASKED.try_with(|asked| {
        if let Some(asked) = asked.borrow_mut().iter_mut().find(|asked| asked.wanted == wanted) {
            action(asked);
        }
    });
}

/// A send did not happen.
pub(crate) fn forget(session: &Session, wanted: Wanted) {
    let _ = ASKED.try_with(|asked| {
        let mut asked = asked.borrow_mut();
        if let Some(at) = asked.iter().position(|asked| asked.wanted == wanted) {
            asked.remove(at).receive.give_up(session);
        }
    });
}

/// The thread waited for something else meanwhile.
pub(crate) fn waited(completion: &Completion) {
    let _ = ASKED.try_with(|asked| {
        asked.borrow_mut().iter_mut().filter(|asked| asked.ended.is_some()).for_each(|asked| asked.provisional.waited(completion));
    });
}

/// Sends the answer to a message that has arrived, where it asks for one: the receive was posted at `posted` and
/// completed by a call that began at `begin`.
pub(crate) fn send(call: &Call<'_>, comm: &Comm, source: i32, note: &Note, posted: Moment, begin: Moment) {
    let Some(shadow) = comm.shadow.filter(|_| note.wanted != 0) else { return };
    let ready = if note.sent.at <= posted.at { posted } else { begin };
    call.session.pool.send(call.session, shadow, source + comm.offset, TAG, Note { sent: ready, wanted: note.wanted });
}

/// Looks for answers, and corrects the delay of the thread by what they say.
pub(crate) fn collect(call: &mut Call<'_>) {
    let session = call.session;
    let gain = ASKED.try_with(|asked| {
        let mut asked = asked.borrow_mut();
        if asked.is_empty() {
            return 0;
        }
        take(session, &mut asked);
        let mut gain = 0;
        asked.retain(|asked| match (asked.answer, asked.ended) {
            (Some(answer), Some((after, end))) => {
                gain += asked.gain(answer, after, end);
                false
            }
            _ => true,
        });
        gain
    });
    if let Ok(gain) = gain
        && gain != 0
    {
        call.corrected(gain);
    }
}

/// Takes the answers that are there. They come in the order in which receives end, which may be another one than that of
/// the sends: who is answered by another's receive leaves that one its own.
fn take(session: &Session, asked: &mut [Asked]) {
    for index in 0..asked.len() {
        let Some(note) = asked[index].receive.received(session) else { continue };
        let Some(other) = asked.iter().position(|other| other.wanted == note.wanted) else { continue };
        asked[other].answer = Some(note.sent);
        if let Ok([one, other]) = asked.get_disjoint_mut([index, other]) {
            core::mem::swap(&mut one.receive, &mut other.receive);
        }
    }
}

impl Asked {
    /// What an answer adds to the thread's delay.
    fn gain(&self, ready: Moment, after: Moment, end: Ticks) -> i64 {
        if ready.at > end {
            // The send ended before its receiver was ready: it did not wait.
            FAR.was_free(self.bytes);
            return 0;
        }
        if ready.at > after.at && !self.synchronous {
            FAR.waited(self.bytes);
        }
        if !self.synchronous && !FAR.waits(self.bytes) {
            return 0;
        }
        let done = complete(DelayModel::Virtual, after, end, &Arrivals::one(ready));
        self.provisional.corrected(done.gain())
    }
}

/// Lets go of what has not come.
pub(crate) fn close(session: &Session) {
    let asked = ASKED.try_with(|asked| std::mem::take(&mut *asked.borrow_mut())).unwrap_or_default();
    asked.into_iter().for_each(|asked| asked.receive.give_up(session));
}
