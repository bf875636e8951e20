//! Collectives: the ranks tell each other when they entered it, and how late they were: on the board, where all
//! are there ([`crate::meeting`]), else by a small collective of the same direction on the shadow communicator: after a blocking one,
//! started before one that is started ([`crate::shadows`]).

use crate::among;
use crate::board::Gathering;
use crate::call::{Call, Span};
use crate::communicators::{Comm, root};
use crate::holds::{self, Operation};
use crate::meaning::{Collective, Dependence, Stage};
use crate::memory::{count, handle};
use crate::session::Session;
use crate::table::Id;
use crate::usual::{beyond, follow};
use crate::waiting::Wait;
use core::ops::RangeInclusive;
use core::sync::atomic::Ordering;
use tare_delay::completion::Arrivals;
use tare_format::ids::Ticks;
use tare_runtime::process::now;

/// A call of a collective.
pub(crate) fn run(call: &mut Call<'_>, collective: Collective) -> Span {
    let session = call.session;
    let Some(comm) = session.communicators.get(handle(session.abi, call.arguments[collective.comm])) else {
        call.uncovered();
        return call.run();
    };
    if comm.inter {
        return among::groups(call, Stage::Blocking, comm, collective);
    }
    let gathering = come(call, &comm);
    let span = call.run();
    if !span.succeeded() && session.error_class(span.error()) != session.abi.truncated {
        return span;
    }
    count_bytes(call, &collective);
    let (dependence, root) = (collective.dependence, collective.dependence.root(call));
    match gathering.filter(|_| dependence != Dependence::All) {
        Some(gathering) => carry_along(call, &span, &comm, gathering, &collective),
        None => carry(call, &span, &comm, gathering, dependence, root),
    }
    span
}

/// Carries delays along the data of a collective, and the library's own ways.
fn carry_along(call: &Call<'_>, span: &Span, comm: &Comm, gathering: Gathering, collective: &Collective) {
    let operation = operation(call, collective);
    let sure = on_board(call, comm, gathering, collective.dependence, operation.root, span.end);
    let arrivals = sure.join(holds::met(call, comm, gathering, operation, span, &sure));
    if !arrivals.is_empty() {
        Wait::blocked(call, span).over(call, span, &arrivals);
    }
}

/// What a call is one of, of those that are alike.
pub(crate) fn operation(call: &Call<'_>, collective: &Collective) -> Operation {
    let class = u64::BITS - bytes(call, collective).leading_zeros();
    Operation { function: call.function().name, root: collective.dependence.root(call), class, by_root_alone: false }
}

/// The members of a communicator are about to do something together: notes that this one comes, where they meet on the board.
pub(crate) fn come(call: &mut Call<'_>, comm: &Comm) -> Option<Gathering> {
    comm.meeting()?.come(call)
}

/// Counts the bytes that this process puts in or takes out.
pub(crate) fn count_bytes(call: &Call<'_>, collective: &Collective) {
    let bytes = bytes(call, collective);
    if bytes > 0 {
        call.moved(bytes);
    }
}

/// What these are; 0 where it is not known.
pub(crate) fn bytes(call: &Call<'_>, collective: &Collective) -> u64 {
    let session = call.session;
    let data = collective.data.filter(|&(buffer, ..)| call.arguments[buffer] != session.abi.in_place);
    data.map_or(0, |(_, number, datatype)| count(call.function().large, call.arguments[number]) * type_size(session, call.arguments[datatype]))
}

impl Dependence {
    /// The root that the call names; the first rank where there is none.
    pub(crate) fn root(self, call: &Call<'_>) -> i32 {
        match self {
            Self::OnRoot(position) | Self::OfRoot(position) => root(call, position),
            Self::All | Self::Prefix => 0,
        }
    }

    /// Those whose coming a member depends on.
    fn members(self, comm: &Comm, root: i32) -> RangeInclusive<i32> {
        match self {
            Self::OnRoot(_) => root..=root,
            Self::Prefix => 0..=comm.rank,
            Self::All | Self::OfRoot(_) => 0..=comm.size - 1,
        }
    }
}

/// Carries the delays of a collective's members; all of them call this. `gathering` is what [`come`] has noted before it.
pub(crate) fn carry(call: &mut Call<'_>, span: &Span, comm: &Comm, gathering: Option<Gathering>, dependence: Dependence, root: i32) {
    let arrivals = match gathering {
        Some(gathering) => Some(on_board(call, comm, gathering, dependence, root, span.end)),
        None => tell(call, span, comm, dependence, root),
    };
    if let Some(arrivals) = arrivals.filter(|_| depends(comm, dependence, root)) {
        Wait::blocked(call, span).over(call, span, &arrivals);
    }
}

/// What a member depended on in a collective that had ended by then, as it stands on the board.
pub(crate) fn on_board(call: &Call<'_>, comm: &Comm, gathering: Gathering, dependence: Dependence, root: i32, end: Ticks) -> Arrivals {
    let meeting = comm.meeting().filter(|_| depends(comm, dependence, root));
    meeting.map_or(Arrivals::NONE, |meeting| meeting.came(call, gathering, dependence.members(comm, root), end))
}

/// The members tell each other when they came, by a small collective of the same direction.
fn tell(call: &mut Call<'_>, span: &Span, comm: &Comm, dependence: Dependence, root: i32) -> Option<Arrivals> {
    let session = call.session;
    let shadow = comm.shadow.filter(|_| comm.size > 1 || comm.inter)?;
    let mine = Arrivals::one(session.clocks.told(span.begin)).to_words();
    let mut joined = if comm.rank == root { mine } else { Arrivals::NONE.to_words() };
    let (from, to, length) = (mine.as_ptr() as usize, joined.as_mut_ptr() as usize, mine.len());
    let (int64, max, root_word) = (session.handles.int64, session.handles.max, crate::memory::word(root));
    let begun = now();
    let asked = match dependence {
        Dependence::All => session.ask(Id::MPI_Allreduce, [from, to, length, int64, max, shadow]),
        Dependence::Prefix => session.ask(Id::MPI_Scan, [from, to, length, int64, max, shadow]),
        Dependence::OfRoot(_) => session.ask(Id::MPI_Reduce, [from, to, length, int64, max, root_word, shadow]),
        Dependence::OnRoot(_) => session.ask(Id::MPI_Bcast, [to, length, int64, root_word, shadow]),
    };
    let (usual, took) = (comm.carrying.load(Ordering::Relaxed), now().0.saturating_sub(begun.0));
    comm.carrying.store(follow(usual, took), Ordering::Relaxed);
    call.gives_back(beyond(usual, took));
    if asked.is_none() {
        call.unpaired(1);
    }
    asked.map(|()| session.clocks.heard_arrivals(Arrivals::from_words(joined)))
}

/// Carries the delays of the members of a communicator that have made something together, if all have; all of them call this, also
/// where the call has failed, or an error handler of the program says that it has not and nothing is there. Whether all have.
pub(crate) fn carry_if_all(call: &mut Call<'_>, span: &Span, comm: &Comm, gathering: Option<Gathering>, is_there: bool) -> bool {
    let session = call.session;
    let (failed, mut any_failed) = (i64::from(!span.succeeded() || !is_there), 1_i64);
    let Some(shadow) = comm.shadow.filter(|_| comm.size > 1) else { return failed == 0 };
    let (from, to) = (&raw const failed as usize, &raw mut any_failed as usize);
    let asked = session.ask(Id::MPI_Allreduce, [from, to, 1, session.handles.int64, session.handles.max, shadow]);
    let have_all = asked.is_some() && any_failed == 0;
    if have_all {
        carry(call, span, comm, gathering, Dependence::All, 0);
    }
    have_all
}

/// Whether a rank depends on others.
pub(crate) fn depends(comm: &Comm, dependence: Dependence, root: i32) -> bool {
    match dependence {
        Dependence::OnRoot(_) => comm.rank != root,
        Dependence::OfRoot(_) => comm.rank == root,
        Dependence::All | Dependence::Prefix => true,
    }
}

/// Bytes of an element; 0 for what is no datatype.
pub(crate) fn type_size(session: &Session, argument: usize) -> u64 {
    let datatype = handle(session.abi, argument);
    let mut size = 0_i32;
    if datatype == session.handles.datatype_null {
        return 0;
    }
    let asked = session.ask(Id::MPI_Type_size, [datatype, &raw mut size as usize]);
    asked.map_or(0, |()| u64::try_from(size).unwrap_or(0))
}
