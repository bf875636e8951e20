//! Holds: what may hold up the end of a send, of a started collective, or of reaching another's part of a window, beyond the messages that
//! it needs.
//!
//! A send ends in some libraries only when its receiver comes in and takes the message off the shared memory, or is ready for
//! it; a started collective, when a member that hands on data comes in and does so; a lock, when the one whose part it is comes in. When has that been, and how late was the other one
//! then? That stands on the board ([`crate::board`]) at the end already; processes that are not on it are asked for answers
//! ([`crate::answers`]).
//!
//! Whether anything is waited for at all is the library's choice, by size and by operation: an end while the other one is
//! away shows that it does not wait ([`tare_delay::visits`]). What neither waited nor ended alone is not believed to wait.

use crate::answers::{self, Wanted};
use crate::board::{Board, Came, Gathering};
use crate::call::{Call, Span};
use crate::communicators::Comm;
use crate::meaning::Mode;
use crate::messages::Partner;
use crate::session::Session;
use crate::transport;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use tare_delay::completion::{Arrivals, Completion, Moment};
use tare_delay::visits::{self, Held, Look, held};
use tare_format::graph::DelayModel;
use tare_format::ids::{Rank, Ticks};

/// Smaller messages are copied on the way, in every library, where there is room.
const LEAST: u64 = 257;
/// Members of a communicator beyond which nobody is looked for on the board.
const MOST_MEMBERS: usize = 64;

/// What may hold up an end.
#[derive(Clone, Debug, Default)]
pub(crate) enum Hold {
    /// Nothing that is known of.
    #[default]
    Nothing,
    /// What an answer will tell.
    Answer(Wanted),
    /// A visit of the receiver since the message was sent.
    Receiver { sent: Ticks, rank: Rank, bytes: u64, mode: Mode },
    /// Visits of members since the operation was under way.
    Members { comm: Arc<Comm>, operation: Operation, started: Ticks },
}

/// Operations of which the same members wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operation {
    pub(crate) function: &'static str,
    pub(crate) root: i32,
    /// Bits of the number of bytes.
    pub(crate) class: u32,
    /// Whether nobody but the root may hold it up.
    pub(crate) by_root_alone: bool,
}

/// A member that may hold up an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    rank: Rank,
    /// Whether it was seen to.
    waits: bool,
}

/// Which sizes of messages wait for their receivers.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// The largest of which a send was seen not to wait, and the smallest of which one was.
    free: AtomicU64,
    waits: AtomicU64,
}

impl Sizes {
    /// Nothing was seen yet.
    pub(crate) const fn unknown() -> Self {
        Self { free: AtomicU64::new(0), waits: AtomicU64::new(u64::MAX) }
    }

    /// What a send of this size has waited for, as its receiver's visits say it, if its size is seen to wait.
    fn learn(&self, bytes: u64, held: Held) -> Option<Moment> {
        match held {
            Held::Free => self.was_free(bytes),
            Held::Waited(_) => self.waited(bytes),
            Held::Ready(_) | Held::Unknown => {}
        }
        held.visit().filter(|_| self.waits(bytes))
    }

    /// A send did not wait.
    pub(crate) fn was_free(&self, bytes: u64) {
        self.free.fetch_max(bytes, Ordering::Relaxed);
    }

    /// A send waited.
    pub(crate) fn waited(&self, bytes: u64) {
        if !self.is_free(bytes) {
            self.waits.fetch_min(bytes, Ordering::Relaxed);
        }
    }

    /// Whether sends of this size are known not to wait.
    pub(crate) fn is_free(&self, bytes: u64) -> bool {
        bytes <= self.free.load(Ordering::Relaxed)
    }

    /// Whether sends of this size are known to wait.
    pub(crate) fn waits(&self, bytes: u64) -> bool {
        !self.is_free(bytes) && bytes >= self.waits.load(Ordering::Relaxed)
    }
}

/// Of messages between processes on the board.
static NEAR: Sizes = Sizes::unknown();

/// Posts the shadow message of a message that the call is about to send, and says what may hold up its end.
pub(crate) fn post(call: &mut Call<'_>, to: &Partner, mode: Mode) -> Hold {
    let session = call.session;
    let Some(rank) = session.board().and_then(|board| to.comm.world_rank(session, to.peer).filter(|&rank| board.shows(rank))) else {
        let wanted = answers::ask(session, &to.comm, to.peer, to.bytes, mode);
        transport::post(call, &to.comm, to.peer, to.tag, wanted);
        return if wanted == 0 { Hold::Nothing } else { Hold::Answer(wanted) };
    };
    let sent = transport::post(call, &to.comm, to.peer, to.tag, 0);
    let may_wait = match mode {
        Mode::Standard => to.bytes >= LEAST && !NEAR.is_free(to.bytes),
        Mode::Synchronous => true,
        Mode::Buffered => false,
    };
    match sent.filter(|_| may_wait && session.model() == DelayModel::Virtual) {
        Some(sent) => Hold::Receiver { sent: sent.at, rank, bytes: to.bytes, mode },
        None => Hold::Nothing,
    }
}

impl Hold {
    /// Whether it is nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// The receiver that may hold it up, where that is one.
    fn receiver(&self) -> Option<Rank> {
        match self {
            Self::Receiver { rank, .. } => Some(*rank),
            Self::Nothing | Self::Answer(_) | Self::Members { .. } => None,
        }
    }

    /// What was to be held up did not happen.
    pub(crate) fn forget(self, session: &Session) {
        if let Self::Answer(wanted) = self {
            answers::forget(session, wanted);
        }
    }

    /// What the end waited for that all others of `arrivals` were not enough for. The call began at `begin`.
    fn arrivals(&self, session: &Session, begin: Moment, span: &Span, arrivals: &Arrivals) -> Arrivals {
        let Some(board) = session.board() else { return Arrivals::NONE };
        let alone = Ticks(begin.at.0.max(arrivals.last_sent().max(0).cast_unsigned()));
        match self {
            Self::Nothing | Self::Answer(_) => Arrivals::NONE,
            Self::Receiver { sent, rank, bytes, mode } => {
                let held = held(board.visits(*rank), board.left(*rank), *sent, alone, span.end);
                let visit = if *mode == Mode::Synchronous { held.visit() } else { NEAR.learn(*bytes, held) };
                visit.into_iter().collect()
            }
            Self::Members { comm, operation, started } => {
                // It goes on where the library looks for everything.
                let visits = |rank| board.visits(rank).filter(|visit| visit.look == Look::Everything);
                let look = |rank| held(visits(rank), board.left(rank), *started, alone, span.end);
                learn(session, board, comm, *operation, look)
            }
        }
    }

    /// The call that waited for it is over; `done` is what else it waited for.
    pub(crate) fn ended(&self, begin: Moment, span: &Span, done: &Completion) {
        if let Self::Answer(wanted) = self {
            answers::ended(*wanted, begin, span, done);
        }
    }
}

/// What all of these have waited for beyond `arrivals`, and the receiver that came in last, where nothing of `arrivals` was later.
pub(crate) fn arrivals_of(holds: &[Hold], session: &Session, begin: Moment, span: &Span, arrivals: &Arrivals) -> (Arrivals, Option<Rank>) {
    let (mut all, mut last) = (*arrivals, None);
    for hold in holds {
        let more = hold.arrivals(session, begin, span, arrivals);
        if more.last_sent() > all.last_sent() {
            last = hold.receiver();
        }
        all = all.join(more);
    }
    (all, last)
}

/// What a blocking operation, in whose data this process has no part or has had it, has waited for besides: members that hand on data or are
/// handed it, where libraries are seen to wait for them.
pub(crate) fn met(call: &Call<'_>, comm: &Comm, gathering: Gathering, operation: Operation, span: &Span, sure: &Arrivals) -> Arrivals {
    let session = call.session;
    let Some(board) = session.board().filter(|_| session.model() == DelayModel::Virtual) else { return Arrivals::NONE };
    let alone = Ticks(span.begin.at.0.max(sure.last_sent().max(0).cast_unsigned()));
    let look = |rank| match board.came(rank, gathering) {
        Came::At(here) => visits::met(Some(here), alone, span.end),
        Came::NotYet => visits::met(None, alone, span.end),
        Came::Unknown => Held::Unknown,
    };
    learn(session, board, comm, operation, look)
}

/// What members have held up an operation by, where those of the operation are seen to; those that never do are not looked at again.
fn learn(session: &Session, board: &Board, comm: &Comm, operation: Operation, look: impl Fn(Rank) -> Held) -> Arrivals {
    let mut all = comm.visitors.lock().unwrap_or_else(PoisonError::into_inner);
    let visitors = all.entry(operation).or_insert_with(|| {
        let may = |member: i32| member != comm.rank && (member == operation.root || !operation.by_root_alone);
        let ranks = (0..comm.size).filter(|&member| may(member)).filter_map(|member| comm.world_rank(session, member));
        let seen: Vec<Visitor> = ranks.filter(|&rank| board.shows(rank)).map(|rank| Visitor { rank, waits: false }).collect();
        if seen.len() > MOST_MEMBERS { Vec::new() } else { seen }
    });
    let mut arrivals = Arrivals::NONE;
    visitors.retain_mut(|visitor| {
        let held = look(visitor.rank);
        visitor.waits |= matches!(held, Held::Waited(_));
        if visitor.waits {
            arrivals = arrivals.join(held.visit().into_iter().collect());
        }
        held != Held::Free
    });
    arrivals
}
