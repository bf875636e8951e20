//! Requests: which ones we follow, and what their completion means.
//!
//! Followed are started receives, started sends that may wait for their receivers, and everything persistent. The
//! completion of other sends changes no delay. Requests of other kinds are not known here, and their completion means nothing.

use crate::among;
use crate::call::{Call, Span};
use crate::communicators::{Comm, Spread};
use crate::duplicates::Duplicate;
use crate::export::Arguments;
use crate::files;
use crate::holds::Hold;
use crate::matching::{Pattern, Serial};
use crate::meaning::{Complete, Mode, Position, Which};
use crate::memory::{Statuses, handle, int, read_handle, read_int, write_handle};
use crate::messages::{Arrived, Others, Outcome, Partner, settle};
use crate::parted;
use crate::session::Session;
use crate::started::{self, Flight, Landed};
use crate::transport::Shadow;
use crate::waiting::{Wait, asked_in_vain};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tare_delay::completion::{Arrivals, Moment};

/// A request that we follow.
#[derive(Debug)]
pub(crate) enum Tracked {
    /// A receive that was started.
    Receive { comm: Arc<Comm>, serial: Serial, posted: Moment, pattern: Pattern },
    /// A send that was started and may be held up.
    Send(Hold),
    /// A collective that was started.
    Collective(Flight),
    /// A persistent collective.
    PreparedCollective(started::Prepared),
    /// A collective whose members tell each other by messages, started.
    Among(among::Round),
    /// A persistent one.
    PreparedAmong(among::Prepared),
    /// A collective operation on a file, started.
    Joint(files::Round),
    /// A communicator whose making was started.
    Duplicate(Box<Duplicate>),
    /// A message in parts.
    PartsSent(parted::Sent),
    /// Its receive.
    PartsReceived(parted::Received),
    /// A persistent send, and what may hold it up while it is active.
    PreparedSend { to: Partner, mode: Mode, hold: Hold },
    /// A persistent receive, and what it was posted as while it is active.
    PreparedReceive { comm: Arc<Comm>, pattern: Pattern, active: Option<(Serial, Moment)> },
}

impl Tracked {
    /// The posted receive that its completion would complete.
    fn posted(&self) -> Option<(&Arc<Comm>, Serial, Moment, Pattern)> {
        match self {
            Self::Receive { comm, serial, posted, pattern } => Some((comm, *serial, *posted, *pattern)),
            Self::PreparedReceive { comm, active, pattern } => active.map(|(serial, posted)| (comm, serial, posted, *pattern)),
            _ => None,
        }
    }

    /// Whether its completion means something, other than that of a posted receive.
    fn is_other(&self) -> bool {
        match self {
            Self::Send(_) | Self::Collective(_) | Self::Among(_) | Self::Joint(_) | Self::Duplicate(_) => true,
            Self::PreparedCollective(prepared) => prepared.is_active(),
            Self::PreparedAmong(prepared) => prepared.is_active(),
            Self::PartsReceived(parts) => parts.is_active(),
            Self::PreparedSend { hold, .. } => !hold.is_nothing(),
            Self::Receive { .. } | Self::PreparedReceive { .. } | Self::PartsSent(_) => false,
        }
    }

    /// Whether the request outlives its completion.
    fn is_persistent(&self) -> bool {
        !matches!(self, Self::Send(_) | Self::Collective(_) | Self::Among(_) | Self::Joint(_) | Self::Duplicate(_) | Self::Receive { .. })
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

/// Handles of the requests of a call, as they were before it. A few need no allocation.
#[derive(Debug)]
struct Handles {
    number: usize,
    few: [usize; Self::FEW],
    many: Vec<usize>,
}

impl Handles {
    const FEW: usize = 16;
    const NONE: Self = Self { number: 0, few: [0; Self::FEW], many: Vec::new() };

    /// A single one.
    const fn one(request: usize) -> Self {
        let mut few = [0; Self::FEW];
        few[0] = request;
        Self { number: 1, few, many: Vec::new() }
    }

    /// Reads `number` handles of the program.
    fn read(&mut self, session: &Session, requests: usize, number: usize) {
        self.number = number;
        let handles = (0..number).map(|index| read_handle(session.abi, requests, index));
        if number <= Self::FEW {
            self.few.iter_mut().zip(handles).for_each(|(place, handle)| *place = handle);
        } else {
            self.many = handles.collect();
        }
    }

    fn all(&self) -> &[usize] {
        self.few.get(..self.number).unwrap_or(&self.many)
    }
}

/// What stands behind handles: the pending receives, and the indices and handles of what else we follow.
type Behind = (Vec<Pending>, Vec<(usize, usize)>);

/// A pending receive among the requests of a call.
#[derive(Debug)]
struct Pending {
    index: usize,
    request: usize,
    comm: Arc<Comm>,
    serial: Serial,
    posted: Moment,
    pattern: Pattern,
}

impl Requests {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Tracked, Spread>> {
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether several threads may call MPI at once.
    pub(crate) fn is_concurrent(&self) -> bool {
        self.concurrent.load(Ordering::Relaxed)
    }

    /// Follows a request.
    pub(crate) fn track(&self, request: usize, tracked: Tracked) {
        let mut all = self.lock();
        all.insert(request, tracked);
        self.number.store(all.len(), Ordering::Relaxed);
    }

    /// Follows a handle no longer.
    pub(crate) fn forget(&self, request: usize) -> Option<Tracked> {
        if self.are_none() {
            return None;
        }
        let mut all = self.lock();
        let tracked = all.remove(&request);
        self.number.store(all.len(), Ordering::Relaxed);
        tracked
    }

    /// Looks at a request that we follow.
    pub(crate) fn with(&self, request: usize, action: impl FnOnce(&mut Tracked)) {
        if self.number.load(Ordering::Relaxed) > 0
            && let Some(tracked) = self.lock().get_mut(&request)
        {
            action(tracked);
        }
    }

    /// Whether we follow none.
    fn are_none(&self) -> bool {
        self.number.load(Ordering::Relaxed) == 0
    }

    /// Whether we follow any of these.
    fn follow(&self, handles: &Handles) -> bool {
        let all = self.lock();
        handles.all().iter().any(|request| all.get(request).is_some_and(|tracked| tracked.posted().is_some() || tracked.is_other()))
    }

    /// What stands behind handles.
    fn look_up(&self, handles: &Handles) -> Behind {
        let all = self.lock();
        let (mut pending, mut others) = (Vec::new(), Vec::new());
        for (index, &request) in handles.all().iter().enumerate() {
            let Some(tracked) = all.get(&request) else { continue };
            if let Some((comm, serial, posted, pattern)) = tracked.posted() {
                pending.push(Pending { index, request, comm: comm.clone(), serial, posted, pattern });
            } else if tracked.is_other() {
                others.push((index, request));
            }
        }
        (pending, others)
    }

    /// A receive is over. Where its handle was freed, another thread may have got the same one for a receive of its
    /// own by now: that one is left alone.
    fn completed(&self, request: usize, comm: &Arc<Comm>, serial: Serial) {
        let mut all = self.lock();
        match all.get_mut(&request) {
            Some(Tracked::PreparedReceive { active, .. }) => *active = None,
            Some(Tracked::Receive { comm: theirs, serial: other, .. }) if *other == serial && Arc::ptr_eq(theirs, comm) => {
                all.remove(&request);
                self.number.store(all.len(), Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// A call that completes requests, as it was before the real function was called.
pub(crate) struct Question {
    complete: Complete,
    number: usize,
    /// `None` where we follow no requests at all.
    handles: Option<Handles>,
    statuses: Statuses,
    /// What stood behind the handles, where another thread may get the same ones for requests of its own once the library has freed them. Where
    /// there is none, what was asked for in vain need not be looked up.
    before: Option<Behind>,
}

impl Question {
    /// Requests of a question that may pass.
    pub(crate) const FEW: usize = Handles::FEW;

    /// One that was answered: the handles as they were stand here, and what was completed is said there.
    pub(crate) fn answered(session: &Session, complete: Complete, number: usize, handles: usize, status: usize) -> Self {
        Self::of(session, complete, number, handles, Statuses::at(status))
    }

    /// Reads the handles, which stand here.
    fn of(session: &Session, complete: Complete, number: usize, handles: usize, statuses: Statuses) -> Self {
        let mut question = Self { complete, number, handles: None, statuses, before: None };
        if !session.requests.are_none() {
            question.handles.insert(Handles::NONE).read(session, handles, number);
        }
        question
    }

    /// Has statuses written where the program ignores them; from here on it must stay where it is.
    fn provide(&mut self, session: &Session, arguments: &mut Arguments) {
        if self.handles.is_some() {
            self.statuses.provide(session.abi, &mut arguments[self.complete.status], self.number);
        }
    }

    /// Its end, if we follow any of the requests.
    pub(crate) fn end(&mut self, call: &mut Call<'_>, span: &Span) {
        if self.is_followed(call.session) {
            self.answer(call, span);
        }
    }

    fn is_followed(&self, session: &Session) -> bool {
        self.handles.as_ref().is_some_and(|handles| session.requests.follow(handles))
    }
}

/// A call that completes requests.
pub(crate) fn complete(call: &mut Call<'_>, complete: Complete) -> Span {
    let session = call.session;
    let (number, handles) = (complete.number(call.arguments), call.arguments[complete.requests]);
    let mut question = Question::of(session, complete, number, handles, Statuses::new());
    if !question.is_followed(session) {
        return call.run();
    }
    question.provide(session, call.arguments);
    question.before = question.handles.as_ref().filter(|_| session.requests.is_concurrent()).map(|handles| session.requests.look_up(handles));
    let show = |visible: bool| {
        if let Some((pending, _)) = &question.before {
            show(pending, visible);
        }
    };
    show(false);
    let span = call.run();
    show(true);
    question.answer(call, &span);
    span
}

impl Question {
    /// What the answer means for the requests, of which we follow some.
    fn answer(&mut self, call: &mut Call<'_>, span: &Span) {
        let Self { complete, number, handles, statuses, before } = self;
        let (complete, number) = (*complete, *number);
        let session = call.session;
        let in_status = !span.succeeded() && session.error_class(span.error()) == session.abi.in_status;
        if !span.succeeded() && !in_status && matches!(complete.which, Which::All | Which::Some(..)) {
            // An argument was wrong: neither counts nor statuses say anything.
            return;
        }
        if complete.is_denied(call.arguments) {
            asked_in_vain(call, span);
            return;
        }
        let Some((pending, others)) = before.take().or_else(|| Some(session.requests.look_up(handles.as_ref()?))) else { return };
        let others: Vec<usize> = completed(call, complete, number, others, |other| other.0).into_iter().map(|((_, request), _)| request).collect();
        let mut done = completed(call, complete, number, pending, |one| one.index);
        if done.is_empty() && others.is_empty() {
            if complete.asks {
                asked_in_vain(call, span);
            }
            return;
        }
        done.sort_by_key(|(pending, _)| pending.serial);
        let ended: Vec<usize> = done.iter().map(|(pending, _)| pending.request).chain(others.iter().copied()).collect();
        let mut arrived = Vec::with_capacity(done.len());
        for (pending, at) in done {
            let status = statuses.get(session.abi, at);
            let error = if in_status { status.error(session.abi) } else { span.error() };
            arrived.extend(end(session, pending, Outcome::of(session, error, status)));
        }
        let others = end_others(call, others, span, &mut arrived);
        let known = KNOWN.take().filter(|known| known.requests.all().iter().any(|request| ended.contains(request)));
        let wait = known.map_or_else(|| Wait::of(call, span, complete.asks), |known| known.wait);
        if !arrived.is_empty() || !others.arrivals.is_empty() || !others.holds.is_empty() {
            settle(call, &wait, span, &arrived, &others);
        }
    }
}

/// What a question has said to be complete.
#[derive(Debug)]
struct Known {
    requests: Handles,
    wait: Wait,
}

thread_local! {
    /// Until its completion is called, which then takes the beginning of the question for its own.
    static KNOWN: Cell<Option<Known>> = const { Cell::new(None) };
}

/// A call that asks whether requests are complete and leaves them as they are.
pub(crate) fn ask(call: &mut Call<'_>, count: Option<Position>, requests: Position, answer: Position) -> Span {
    let session = call.session;
    if session.requests.are_none() {
        return call.run();
    }
    let mut handles = Handles::NONE;
    match count {
        Some(count) => handles.read(session, call.arguments[requests], usize::try_from(int(call.arguments[count])).unwrap_or(0)),
        None => handles = Handles::one(handle(session.abi, call.arguments[requests])),
    }
    let is_followed = session.requests.follow(&handles);
    let span = call.run();
    if span.succeeded() && is_followed {
        // Numbers of requests that are not defined are negative.
        if read_int(call.arguments[answer]) > 0 {
            KNOWN.set(Some(Known { requests: handles, wait: Wait::asking(call, &span) }));
        } else {
            asked_in_vain(call, &span);
        }
    }
    span
}

/// Ends what is no posted receive: sends that may have been held up, collectives, messages in parts.
fn end_others(call: &Call<'_>, requests: Vec<usize>, span: &Span, arrived: &mut Vec<Arrived>) -> Others {
    let session = call.session;
    let mut others = Others::NONE;
    for request in requests {
        let mut is_persistent = false;
        session.requests.with(request, |tracked| {
            is_persistent = tracked.is_persistent();
            let arrivals = match tracked {
                Tracked::PreparedCollective(prepared) => prepared.end(call, span.end).map(|landed| others.landed(landed)),
                Tracked::PreparedAmong(prepared) => Some(prepared.end(session)),
                Tracked::PartsReceived(parts) => {
                    arrived.extend(parts.end(session));
                    Some(Arrivals::NONE)
                }
                Tracked::PreparedSend { hold, .. } => {
                    others.holds.push(std::mem::take(hold));
                    Some(Arrivals::NONE)
                }
                _ => Some(Arrivals::NONE),
            };
            others.add(call, arrivals);
        });
        if is_persistent {
            continue;
        }
        match session.requests.forget(request) {
            Some(Tracked::Send(hold)) => others.holds.push(hold),
            Some(Tracked::Among(round)) => others.add(call, Some(round.end(session))),
            Some(Tracked::Joint(round)) => others.add(call, Some(round.end(session, span.end))),
            Some(Tracked::Duplicate(duplicate)) => match duplicate.land(session) {
                Some(flight) => {
                    others.add(call, flight.map_or(Some(Arrivals::NONE), |flight| flight.land(call, span.end).map(|landed| landed.arrivals)))
                }
                None => others.add(call, None),
            },
            Some(Tracked::Collective(flight)) => {
                let arrivals = flight.land(call, span.end).map(|landed| others.landed(landed));
                others.add(call, arrivals);
            }
            _ => {}
        }
    }
    others
}

impl Others {
    /// Adds what may have held up a collective, and returns what it depended on.
    fn landed(&mut self, landed: Landed) -> Arrivals {
        self.holds.extend(landed.hold);
        landed.arrivals
    }

    /// Adds what a collective depended on, where that is known.
    fn add(&mut self, call: &Call<'_>, arrivals: Option<Arrivals>) {
        match arrivals {
            Some(arrivals) => self.arrivals = self.arrivals.join(arrivals),
            None => call.unpaired(1),
        }
    }
}

impl Complete {
    /// How many requests it is about.
    pub(crate) fn number(&self, arguments: &Arguments) -> usize {
        self.count.map_or(1, |position| usize::try_from(int(arguments[position])).unwrap_or(0))
    }

    /// Whether the flag says that nothing is completed.
    pub(crate) fn is_denied(&self, arguments: &Arguments) -> bool {
        self.flag.is_some_and(|flag| read_int(arguments[flag]) == 0)
    }
}

/// Lets other threads look at these requests, or not while the library may be freeing them.
fn show(pending: &[Pending], visible: bool) {
    for one in pending {
        let mut queue = one.comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.set_visible(one.serial, visible.then_some(one.request));
    }
}

/// Those that the call has completed, each with the number of its status.
fn completed<T>(call: &Call<'_>, complete: Complete, number: usize, pending: Vec<T>, index: impl Fn(&T) -> usize) -> Vec<(T, usize)> {
    let said = |position: usize, index: usize| read_int(call.arguments[position] + 4 * index);
    let told = match complete.which {
        Which::Some(told, first) => {
            let told = usize::try_from(said(told, 0)).unwrap_or(0).min(number);
            let mut told: Vec<(i32, usize)> = (0..told).map(|at| (said(first, at), at)).collect();
            told.sort_unstable();
            told
        }
        Which::One | Which::All | Which::Any(_) => Vec::new(),
    };
    let status_of = |at: usize| {
        let index = i32::try_from(at).ok()?;
        match complete.which {
            Which::One => Some(0),
            Which::All => Some(at),
            Which::Any(position) => (said(position, 0) == index).then_some(0),
            Which::Some(..) => told.binary_search_by_key(&index, |&(index, _)| index).ok().map(|at| told[at].1),
        }
    };
    pending.into_iter().filter_map(|one| status_of(index(&one)).map(|at| (one, at))).collect()
}

/// Ends a receive.
fn end(session: &Session, pending: Pending, outcome: Outcome) -> Option<Arrived> {
    let Pending { request, comm, serial, posted, pattern, .. } = pending;
    let arrived = {
        let mut queue = comm.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Pending => return None,
            Outcome::Nothing => {
                queue.abandon(serial);
                None
            }
            Outcome::Message(stream, bytes) => {
                let note = queue.complete(serial, stream, &mut Shadow { session, comm: &comm });
                Some((stream.0, bytes, note))
            }
        }
    };
    session.requests.completed(request, &comm, serial);
    arrived.map(|(source, bytes, note)| Arrived {
        comm,
        source,
        bytes,
        note,
        posted,
        anyone: Some(pattern).filter(|pattern| pattern.source.is_none()),
    })
}

/// `MPI_Request_free`. A started receive from anywhere is kept instead of freed, because what it matches says whose shadow
/// message is next; the program cannot tell, as it has lost the handle either way.
pub(crate) fn free(call: &mut Call<'_>) -> Span {
    let session = call.session;
    let address = call.arguments[0];
    let request = read_handle(session.abi, address, 0);
    let Some(tracked) = session.requests.forget(request) else { return call.run() };
    let tracked = match tracked {
        Tracked::PreparedCollective(prepared) => {
            prepared.free(session);
            return call.run();
        }
        Tracked::Send(hold) | Tracked::PreparedSend { hold, .. } => {
            hold.forget(session);
            return call.run();
        }
        other => other,
    };
    let Some((comm, serial, ..)) = tracked.posted() else { return call.run() };
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
pub(crate) fn cancel(call: &mut Call<'_>) -> Span {
    let session = call.session;
    let mut request = Handles::NONE;
    request.read(session, call.arguments[0], 1);
    for one in session.requests.look_up(&request).0 {
        one.comm.queue.lock().unwrap_or_else(PoisonError::into_inner).cancel(one.serial);
    }
    call.run()
}
