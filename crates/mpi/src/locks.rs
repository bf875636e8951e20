//! Locks of windows, and reaching others' parts of them.
//!
//! A lock may wait for two things: for who holds it, and in some libraries for the one whose part it is to come in and look; so may what is
//! done under it. Who has held a lock notes that on the board ([`crate::board`]) before giving it back: what another one finds there
//! after it has got the lock, it may have waited for ([`tare_delay::locks`]). Libraries may get a lock late, with the first
//! access or in the end: so it is looked for after each call that may have waited for it. Whether those whose
//! parts they are hold up operations is learned as for collectives that are started ([`crate::holds`]).
//!
//! Where not all members of a window are on the board, calls are counted and carry nothing.

use crate::board::GivenBack;
use crate::call::{Call, Span};
use crate::collective::type_size;
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::holds::{Hold, Operation};
use crate::meaning::{Access, Position};
use crate::meeting::Meeting;
use crate::memory::{count, handle, int, read_handle};
use crate::messages::{Others, settle};
use crate::waiting::Wait;
use std::sync::{Arc, MutexGuard, PoisonError};
use tare_delay::completion::Moment;
use tare_delay::locks::{Holding, Queue};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;
use tare_runtime::wrapper;

/// The rank that stands for those of all parts; no library means anything by it.
const ALL: i32 = i32::MIN;
/// Ticks in which an access has waited for nobody.
const SHORT: u64 = 4096;

/// Locks of a window that this process has.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    had: Vec<Lock>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Lock {
    part: i32,
    is_exclusive: bool,
    asked: Moment,
    acquired: Moment,
    /// Up to when others that had it are known.
    known: Ticks,
}

impl Lock {
    /// Whether another process could not have had both at once.
    fn excludes(&self, other: &GivenBack) -> bool {
        (self.is_exclusive || other.is_exclusive) && (self.part == other.part || self.part == ALL || other.part == ALL)
    }
}

/// Names the window to its members; `None` where not all of them are on the board.
fn window(members: &Comm) -> Option<u64> {
    members.meeting().map(Meeting::name)
}

fn others(members: &Comm) -> impl Iterator<Item = i32> {
    let mine = members.rank;
    (0..members.size).filter(move |&member| member != mine)
}

fn locks(members: &Comm) -> MutexGuard<'_, Locks> {
    members.locks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A window whose members are on the board.
#[derive(Debug)]
struct Covered {
    members: Arc<Comm>,
    /// Names it to them.
    window: u64,
}

/// The window at a position and the part of it that the call is about; `None` where no delay is carried: counted, unless nobody else
/// has to do with it.
fn part(call: &Call<'_>, target: Option<Position>, position: Position) -> Option<(Covered, i32)> {
    let session = call.session;
    let part = target.map_or(ALL, |position| int(call.arguments[position]));
    if part == session.abi.proc_null {
        return None;
    }
    let members = session.windows.get(handle(session.abi, call.arguments[position]));
    if members.as_ref().is_some_and(|members| members.size == 1) {
        return None;
    }
    let named = members.and_then(|members| window(&members).map(|window| Covered { members, window }));
    let covered = named.filter(|_| session.model() == DelayModel::Virtual);
    if covered.is_none() {
        call.uncovered();
    }
    covered.map(|covered| (covered, part))
}

/// A call that locks.
pub(crate) fn lock(call: &mut Call<'_>, target: Option<Position>, kind: Option<Position>, window: Position) -> Span {
    let covered = part(call, target, window);
    let is_exclusive = kind.is_some_and(|kind| int(call.arguments[kind]) == call.session.abi.exclusive);
    let span = call.run();
    if let Some((Covered { members, window }, part)) = covered.filter(|_| span.succeeded()) {
        let mut lock = Lock { part, is_exclusive, asked: span.begin, acquired: span.begin, known: Ticks(0) };
        let queue = lock.queue(call, &span, (&members, window), None);
        ended(call, &span, &members, part, queue);
        lock.acquired = call.moment();
        locks(&members).had.push(lock);
    }
    span
}

/// A call that completes what was done under a lock.
pub(crate) fn flush(call: &mut Call<'_>, target: Option<Position>, window: Position) -> Span {
    let covered = part(call, target, window);
    let span = call.run();
    if let Some((Covered { members, window }, part)) = covered.filter(|_| span.succeeded()) {
        let mut locks = locks(&members);
        let about = locks.had.iter_mut().filter(|lock| part == ALL || lock.part == ALL || lock.part == part);
        let queue = about.fold(Queue::EMPTY, |queue, lock| queue.join(lock.queue(call, &span, (&members, window), None)));
        drop(locks);
        ended(call, &span, &members, part, queue);
    }
    span
}

/// A call that unlocks.
pub(crate) fn unlock(call: &mut Call<'_>, target: Option<Position>, window: Position) -> Span {
    let Some((Covered { members, window }, part)) = part(call, target, window) else { return call.run() };
    let here = call.moment();
    let had = {
        let mut locks = locks(&members);
        let at = locks.had.iter().position(|lock| lock.part == part);
        at.map(|at| locks.had.swap_remove(at))
    };
    if let (Some(board), Some(Lock { part, is_exclusive, asked, acquired, .. })) = (call.session.board(), had) {
        board.gives_back(&GivenBack { window, part, is_exclusive, holding: Holding { asked, acquired, released: here } });
    }
    let span = call.run();
    if span.succeeded() {
        let queue = had.map_or(Queue::EMPTY, |mut lock| lock.queue(call, &span, (&members, window), Some(here.at)));
        ended(call, &span, &members, part, queue);
    }
    span
}

/// A call that reaches another's part of a window.
pub(crate) fn access(call: &mut Call<'_>, access: Access) -> Span {
    let session = call.session;
    let span = call.run();
    let target = int(call.arguments[access.target]);
    if !span.succeeded() || target == session.abi.proc_null {
        return span;
    }
    let Some(members) = session.windows.get(handle(session.abi, call.arguments[access.window])) else { return span };
    let elements = access.count.map_or(1, |position| count(call.function().large, call.arguments[position]));
    let bytes = elements * type_size(session, call.arguments[access.datatype]);
    let exchange = wrapper::Exchange { sent: access.puts.into(), received: access.gets.into(), bytes, ..Default::default() };
    call.exchanged(members.world_rank(session, target), &exchange);
    let may_wait = target != members.rank && window(&members).is_some() && session.model() == DelayModel::Virtual;
    if let Some(request) = access.request.map(|request| read_handle(session.abi, call.arguments[request], 0)) {
        session.requests.forget(request);
        if may_wait {
            session.requests.track(request, Tracked::Send(hold(call, &span, &members, target)));
        }
    } else if may_wait && span.end.0 - span.begin.at.0 > SHORT {
        ended(call, &span, &members, target, Queue::EMPTY);
    }
    span
}

/// The end of a call about a part of a window: what it has waited for.
fn ended(call: &Call<'_>, span: &Span, members: &Arc<Comm>, part: i32, queue: Queue) {
    let holds = if part == members.rank { Vec::new() } else { vec![hold(call, span, members, part)] };
    if queue.is_contradicted {
        call.contradicted();
    }
    settle(call, &Wait::blocked(call, span), span, &[], &Others { holds, arrivals: queue.arrivals, from: None });
}

/// Those whose part it is, or parts they are, may hold it up.
fn hold(call: &Call<'_>, span: &Span, members: &Arc<Comm>, part: i32) -> Hold {
    let operation = Operation { function: call.function().name, root: part, class: 0, by_root_alone: part != ALL };
    Hold::Members { comm: members.clone(), operation, started: span.begin.at }
}

impl Lock {
    /// Who had it before a call ended, as far as that is not known already. Where it was given back in the call, who got it after that is left out.
    fn queue(&mut self, call: &Call<'_>, span: &Span, (members, window): (&Comm, u64), given_back: Option<Ticks>) -> Queue {
        let Some(board) = call.session.board() else { return Queue::EMPTY };
        let until = given_back.unwrap_or(span.end);
        let ranks = others(members).filter_map(|member| members.world_rank(call.session, member));
        let queue = ranks.fold(Queue::EMPTY, |queue, rank| self.behind(call, queue, board.given_back(rank), window, (span.begin, until, span.end)));
        self.known = until;
        queue
    }

    /// Another process gave back these locks, the latest first. Who got one by `until` and gave it back by `end` may have been waited for.
    fn behind(
        &self,
        call: &Call<'_>,
        mut queue: Queue,
        given_back: impl Iterator<Item = Option<GivenBack>>,
        window: u64,
        (begin, until, end): (Moment, Ticks, Ticks),
    ) -> Queue {
        let mut oldest = None;
        for lock in given_back {
            let Some(lock) = lock else {
                // What was given back before may have been waited for as well.
                if oldest.is_none_or(|oldest| oldest > begin.at) {
                    call.uncovered();
                }
                break;
            };
            let Holding { acquired, released, .. } = lock.holding;
            let is_past = released.at <= begin.at && released.virtual_time() <= begin.virtual_time();
            if is_past || released.at <= self.known {
                break;
            }
            oldest = Some(released.at);
            if lock.window == window && self.excludes(&lock) && released.at <= end && acquired.at < until {
                queue = queue.behind(begin, lock.holding);
                if acquired.virtual_time() <= begin.virtual_time() {
                    // What it had before that it gave back before, in both orders.
                    break;
                }
            }
        }
        queue
    }
}
