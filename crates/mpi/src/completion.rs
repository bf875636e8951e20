//! Requests: which ones we follow, and what their completion means.
//!
//! Followed are started receives, and everything persistent. Sends that are started need not be: their
//! completion changes no delay. Requests of other kinds are not known here, and their completion means nothing.

use crate::call::{Call, Span};
use crate::communicators::{Comm, Spread};
use crate::matching::{Pattern, Serial};
use crate::meaning::{Complete, Which};
use crate::memory::{Statuses, int, read_handle, read_int, write_handle};
use crate::messages::{Arrived, Outcome, Partner, settle};
use crate::probing;
use crate::session::Session;
use crate::transport::Shadow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A request that we follow.
#[derive(Debug)]
pub(crate) enum Tracked {
    /// A receive that was started.
    Receive { comm: Arc<Comm>, serial: Serial },
    /// A persistent send.
    PreparedSend(Partner),
    /// A persistent receive, and what it was posted as while it is active.
    PreparedReceive { comm: Arc<Comm>, pattern: Pattern, active: Option<Serial> },
}

impl Tracked {
    /// The posted receive that its completion would complete.
    fn posted(&self) -> Option<(&Arc<Comm>, Serial)> {
        match self {
            Self::Receive { comm, serial } => Some((comm, *serial)),
            Self::PreparedReceive { comm, active, .. } => Some((comm, (*active)?)),
            Self::PreparedSend(_) => None,
        }
    }
}

/// The requests that we follow, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    tracked: Mutex<HashMap<usize, Tracked, Spread>>,
    number: AtomicUsize,
    /// Whether several threads may call MPI at once.
    pub(crate) concurrent: AtomicBool,
}

/// A pending receive among the requests of a call.
#[derive(Debug)]
struct Pending {
    index: usize,
    request: usize,
    comm: Arc<Comm>,
    serial: Serial,
}

impl Requests {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Tracked, Spread>> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a request.
    pub(crate) fn track(&self, request: usize, tracked: Tracked) {
        let mut all = self.lock();
        all.insert(request, tracked);
        self.number.store(all.len(), Ordering::Relaxed);
    }

    /// Follows a handle no longer.
    pub(crate) fn forget(&self, request: usize) -> Option<Tracked> {
        if self.number.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut all = self.lock();
        let tracked = all.remove(&request);
        self.number.store(all.len(), Ordering::Relaxed);
        tracked
    }

    /// Where a persistent send goes.
    pub(crate) fn prepared_send(&self, request: usize) -> Option<Partner> {
        match self.lock().get(&request) {
            Some(Tracked::PreparedSend(partner)) => Some(partner.clone()),
            _ => None,
        }
    }

    /// A persistent request was started; `post` posts it if it receives.
    pub(crate) fn start_receive(&self, request: usize, post: impl FnOnce(&Comm, Pattern) -> Serial) {
        if let Some(Tracked::PreparedReceive { comm, pattern, active }) = self.lock().get_mut(&request) {
            *active = Some(post(comm, *pattern));
        }
    }

    /// The pending receives among `number` requests of the program.
    fn pending(&self, session: &Session, requests: usize, number: usize) -> Vec<Pending> {
        let mut found = Vec::new();
        if self.number.load(Ordering::Relaxed) == 0 {
            return found;
        }
        let all = self.lock();
        for index in 0..number {
            let request = read_handle(session.abi, requests, index);
            if let Some((comm, serial)) = all.get(&request).and_then(Tracked::posted) {
                found.push(Pending { index, request, comm: comm.clone(), serial });
            }
        }
        found
    }

    /// A receive is over. Where its handle was freed, another thread may have got the same one for a receive of its
    /// own by now: that one is left alone.
    fn completed(&self, request: usize, comm: &Arc<Comm>, serial: Serial) {
        let mut all = self.lock();
        match all.get_mut(&request) {
            Some(Tracked::PreparedReceive { active, .. }) => *active = None,
            Some(Tracked::Receive { comm: theirs, serial: other }) if *other == serial && Arc::ptr_eq(theirs, comm) => {
                all.remove(&request);
                self.number.store(all.len(), Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// A call that completes requests.
pub(crate) fn complete(call: &mut Call, complete: Complete) -> Span {
    let session = call.session;
    let number = complete.count.map_or(1, |position| usize::try_from(int(call.arguments[position])).unwrap_or(0));
    let pending = session.requests.pending(session, call.arguments[complete.requests], number);
    if pending.is_empty() {
        return call.run();
    }
    let mut statuses = Statuses::new();
    statuses.provide(session.abi, &mut call.arguments[complete.status], number);
    show(session, &pending, false);
    let span = call.run();
    show(session, &pending, true);
    let in_status = !span.succeeded() && session.error_class(span.error()) == session.abi.in_status;
    if !span.succeeded() && !in_status && matches!(complete.which, Which::All | Which::Some(..)) {
        // An argument was wrong: neither counts nor statuses say anything.
        return span;
    }
    let mut done = completed(call, complete, number, pending);
    if done.is_empty() {
        if complete.asks {
            probing::failed(span.begin);
        }
        return span;
    }
    done.sort_by_key(|(pending, _)| pending.serial);
    let mut arrived = Vec::with_capacity(done.len());
    for (pending, at) in done {
        let status = statuses.get(session.abi, at);
        let error = if in_status { status.error(session.abi) } else { span.error() };
        arrived.extend(end(session, pending, Outcome::of(session, error, status)));
    }
    if !arrived.is_empty() {
        settle(call, span.begin, &span, complete.asks, &arrived);
    }
    span
}

/// Lets other threads look at these requests, or not while the library may be freeing them.
fn show(session: &Session, pending: &[Pending], visible: bool) {
    if !session.requests.concurrent.load(Ordering::Relaxed) {
        return;
    }
    for one in pending {
        let mut queue = one.comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.set_visible(one.serial, visible.then_some(one.request));
    }
}

/// The receives that the call has completed, each with the number of its status.
fn completed(call: &Call, complete: Complete, number: usize, pending: Vec<Pending>) -> Vec<(Pending, usize)> {
    let said = |position: usize, index: usize| read_int(call.arguments[position] + 4 * index);
    if complete.flag.is_some_and(|flag| said(flag, 0) == 0) {
        return Vec::new();
    }
    let told = match complete.which {
        Which::Some(told, first) => {
            let told = usize::try_from(said(told, 0)).unwrap_or(0).min(number);
            let mut told: Vec<(i32, usize)> = (0..told).map(|at| (said(first, at), at)).collect();
            told.sort_unstable();
            told
        }
        Which::One | Which::All | Which::Any(_) => Vec::new(),
    };
    let status_of = |one: &Pending| {
        let index = i32::try_from(one.index).ok()?;
        match complete.which {
            Which::One => Some(0),
            Which::All => Some(one.index),
            Which::Any(position) => (said(position, 0) == index).then_some(0),
            Which::Some(..) => told.binary_search_by_key(&index, |&(index, _)| index).ok().map(|at| told[at].1),
        }
    };
    pending.into_iter().filter_map(|one| status_of(&one).map(|at| (one, at))).collect()
}

/// Ends a receive.
fn end(session: &Session, pending: Pending, outcome: Outcome) -> Option<Arrived> {
    let Pending { request, comm, serial, .. } = pending;
    let arrived = {
        let mut queue = comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Pending => return None,
            Outcome::Nothing => {
                queue.abandon(serial);
                None
            }
            Outcome::Message(stream, bytes) => {
                let sent = queue.complete(serial, stream, &mut Shadow { session, comm: &comm });
                Some((stream.0, bytes, sent))
            }
        }
    };
    session.requests.completed(request, &comm, serial);
    arrived.map(|(source, bytes, sent)| Arrived { comm, source, bytes, sent })
}

/// `MPI_Request_free`. A started receive from anywhere is kept instead of freed, because what it matches says whose shadow
/// message is next; the program cannot tell, as it has lost the handle either way.
pub(crate) fn free(call: &mut Call) -> Span {
    let session = call.session;
    let address = call.arguments[0];
    let request = read_handle(session.abi, address, 0);
    let Some(tracked) = session.requests.forget(request) else { return call.run() };
    let Some((comm, serial)) = tracked.posted() else { return call.run() };
    let mut queue = comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = matches!(tracked, Tracked::Receive { .. }) && !queue.is_settled(serial);
    queue.disown(serial, kept.then_some(request));
    drop(queue);
    if !kept {
        return call.run();
    }
    write_handle(session.abi, address, session.handles.request_null);
    call.skip()
}

/// `MPI_Cancel`.
pub(crate) fn cancel(call: &mut Call) -> Span {
    let session = call.session;
    for one in session.requests.pending(session, call.arguments[0], 1) {
        one.comm.queue.lock().unwrap_or_else(PoisonError::into_inner).cancel(one.serial);
    }
    call.run()
}
