//! Files: in collective operations on one its members wait for each other, or do not.
//!
//! Which of them do is the library's choice, by operation, by file system, by what is written where: some wait for all, some for the first
//! rank alone, some for nobody. So each tells all others when it comes in, in messages under the number of the operation, and looks at its
//! end who was there by then. Whom an operation has ended without more often than it has ended with them behind this process, it is not taken
//! to wait for. (Once says little: on a busy machine a message may be late itself.)

use crate::answers::Wanted;
use crate::call::{Call, Span};
use crate::collective;
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::meaning::{Buffer, Part, Position};
use crate::memory::{count, handle, read_handle, read_pointer};
use crate::messages::{Others, settle};
use crate::session::Session;
use crate::transport::{self, Shadow};
use crate::waiting::Wait;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::ids::Ticks;

/// The tag of these shadow messages; nothing else goes along the shadow of a file.
const TAG: i32 = 32_687;
/// Members beyond which they do not tell each other: all would send to all.
const MOST_MEMBERS: i32 = 1024;

/// What the members of a file are about.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    /// By operation and member: how operations have ended that began before the member came in.
    ends: HashMap<(&'static str, i32), Ends>,
    /// Numbers of operations that are under way.
    flying: Vec<Wanted>,
    /// The operation that was begun and is to be ended by another call.
    begun: Option<Round>,
}

/// How often operations have ended that began before a member came in.
#[derive(Debug, Default)]
struct Ends {
    with: u32,
    without: u32,
}

impl Ends {
    /// Whether they do not wait for it.
    const fn are_free(&self) -> bool {
        self.without > self.with
    }
}

/// An operation that is under way.
#[derive(Debug)]
pub(crate) struct Round {
    /// When this process came in.
    began: Ticks,
    members: Arc<Comm>,
    function: &'static str,
    number: Wanted,
    /// The others, with the moment when they came in, once that is known.
    others: Vec<(i32, Option<Moment>)>,
}

/// A call that opens a file.
pub(crate) fn open(call: &mut Call<'_>, comm: Position, new: Position) -> Span {
    let session = call.session;
    let parent = handle(session.abi, call.arguments[comm]);
    let known = session.communicators.get(parent).filter(|known| !known.inter);
    let gathering = known.as_ref().and_then(|known| collective::come(call, known));
    let span = call.run();
    let Some(known) = known else {
        call.uncovered();
        return span;
    };
    let null = session.handles.file_null;
    let file = if span.succeeded() { read_pointer(call.arguments[new]) } else { null };
    if collective::carry_if_all(call, &span, &known, gathering, file != null) {
        if known.size > 1 {
            session.files.add_under(session, file, parent, gathering);
        } else {
            session.files.share(file, known);
        }
    }
    span
}

/// A call that closes one.
pub(crate) fn close(call: &mut Call<'_>) -> Span {
    let session = call.session;
    let file = read_pointer(call.arguments[0]);
    let span = joint(call, Part::Whole, file);
    if span.succeeded()
        && let Some(members) = session.files.remove(file).filter(|members| members.size > 1)
    {
        session.files.retire(session, members);
    }
    span
}

/// A call of a collective operation on a file.
pub(crate) fn operation(call: &mut Call<'_>, part: Part, data: Option<Buffer>) -> Span {
    let file = call.arguments[0];
    let span = joint(call, part, file);
    if let Some(data) = data.filter(|_| span.succeeded()) {
        moved(call, data);
    }
    span
}

/// A call in which one process alone reads or writes.
pub(crate) fn transfer(call: &mut Call<'_>, data: Buffer) -> Span {
    let span = call.run();
    if span.succeeded() {
        moved(call, data);
    }
    span
}

fn moved(call: &Call<'_>, (_, number, datatype): Buffer) {
    call.moved(count(call.function().large, call.arguments[number]) * collective::type_size(call.session, call.arguments[datatype]));
}

fn joint(call: &mut Call<'_>, part: Part, file: usize) -> Span {
    let session = call.session;
    let Some(members) = session.files.get(file).filter(|members| members.size <= MOST_MEMBERS) else {
        call.uncovered();
        return call.run();
    };
    if members.size == 1 {
        return call.run();
    }
    let round = match part {
        Part::Second => joint_of(&members).begun.take(),
        Part::Whole | Part::First | Part::Started(_) => Some(Round::begin(call, members.clone())),
    };
    let span = call.run();
    let Some(mut round) = round else { return span };
    if !span.succeeded() {
        round.forget();
        return span;
    }
    if let Part::Started(request) = part {
        session.requests.track(read_handle(session.abi, call.arguments[request], 0), Tracked::Joint(round));
        return span;
    }
    let arrivals = round.arrivals(session, call.function().name, span.end);
    settle(call, &Wait::blocked(call, &span), &span, &[], &Others { arrivals, ..Others::NONE });
    if part == Part::First {
        joint_of(&members).begun = Some(round);
    } else {
        round.forget();
    }
    span
}

fn joint_of(members: &Comm) -> MutexGuard<'_, Joint> {
    members.joint.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Round {
    /// This process comes in, and tells all others.
    fn begin(call: &mut Call<'_>, members: Arc<Comm>) -> Self {
        let number = members.next_number();
        let others: Vec<_> = (0..members.size).filter(|&member| member != members.rank).map(|member| (member, None)).collect();
        for &(member, _) in &others {
            transport::post(call, &members, member, TAG, number);
        }
        joint_of(&members).flying.push(number);
        Self { began: call.moment().at, members, function: call.function().name, number, others }
    }

    /// What the completion of a started one has waited for, which ended at this moment.
    pub(crate) fn end(mut self, session: &Session, end: Ticks) -> Arrivals {
        let arrivals = self.arrivals(session, self.function, end);
        self.forget();
        arrivals
    }

    /// What a call of this function has waited for, which ended at this moment: those who had come in by then, but for those whom such
    /// calls mostly do not wait for.
    fn arrivals(&mut self, session: &Session, function: &'static str, end: Ticks) -> Arrivals {
        let mut joint = joint_of(&self.members);
        let oldest = joint.flying.iter().copied().min().unwrap_or(self.number);
        let mut shadow = Shadow { session, comm: &self.members };
        let mut arrivals = Arrivals::NONE;
        for (member, came) in &mut self.others {
            *came = came.or_else(|| shadow.look((*member, TAG), self.number, oldest, end).map(|note| note.sent));
            let ends = joint.ends.entry((function, *member)).or_default();
            let Some(came) = *came else {
                ends.without += 1;
                continue;
            };
            ends.with += u32::from(came.at > self.began);
            if !ends.are_free() {
                arrivals = arrivals.join(Arrivals::one(came));
            }
        }
        arrivals
    }

    /// It is over.
    fn forget(self) {
        joint_of(&self.members).flying.retain(|number| *number != self.number);
    }
}
