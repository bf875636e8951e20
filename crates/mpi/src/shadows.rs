//! Shadow collectives: small collectives of ours, started before one of the program's, by which its members tell each other when they
//! have started it, where they do not meet on the board ([`crate::meeting`]).
//!
//! Whether the program's has ended is for the library to say; when it has, its shadow soon has as well, as everybody has
//! started both. It is waited for while all members that have something to do for it are inside of MPI, whether they have a processor or not: the
//! board shows that. Where one of them is outside, nobody knows when it goes on, and after a short time the shadow is left to
//! itself, and the completion goes without.

use crate::communicators::Comm;
use crate::meaning::Dependence;
use crate::memory::word;
use crate::session::Session;
use crate::table::Id;
use crate::transport::test;
use std::sync::{Mutex, PoisonError};
use tare_delay::completion::{Arrivals, Moment};
use tare_runtime::process::now;

/// Ticks for which something of ours is waited for while a member does nothing for it.
const PATIENCE: u64 = 1 << 23;
/// The same where all that are needed are in MPI: this ends only where the library does nothing for it in what they call there.
const MOST_PATIENCE: u64 = 1 << 31;

/// One of them. The library uses its memory until the request is complete.
#[derive(Debug)]
pub(crate) struct ShadowCollective {
    mine: [i64; 3],
    joined: [i64; 3],
    request: usize,
    is_persistent: bool,
    /// Whether it is under way. Libraries differ in what they say of a persistent request that is not.
    flying: bool,
}

/// Those that were not through when they were needed.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the library holds their addresses")]
pub(crate) struct Late(Mutex<Vec<Box<ShadowCollective>>>);

impl ShadowCollective {
    fn new(is_persistent: bool) -> Box<Self> {
        let nothing = Arrivals::NONE.to_words();
        Box::new(Self { mine: nothing, joined: nothing, request: 0, is_persistent, flying: false })
    }

    /// Starts one that tells the members of a communicator that this process has come at this moment.
    pub(crate) fn start(session: &Session, comm: &Comm, dependence: Dependence, root: i32, here: Moment) -> Option<Box<Self>> {
        let mut shadow = Self::new(false);
        shadow.load(session, comm.rank == root, here);
        let (from, to, length, comm) = (shadow.mine.as_ptr() as usize, shadow.joined.as_mut_ptr() as usize, shadow.mine.len(), comm.shadow?);
        let (int64, max, root, request) = (session.handles.int64, session.handles.max, word(root), &raw mut shadow.request as usize);
        match dependence {
            Dependence::All => session.ask(Id::MPI_Iallreduce, [from, to, length, int64, max, comm, request]),
            Dependence::Prefix => session.ask(Id::MPI_Iscan, [from, to, length, int64, max, comm, request]),
            Dependence::OfRoot(_) => session.ask(Id::MPI_Ireduce, [from, to, length, int64, max, root, comm, request]),
            Dependence::OnRoot(_) => session.ask(Id::MPI_Ibcast, [to, length, int64, root, comm, request]),
        }?;
        shadow.takes_off(session);
        Some(shadow)
    }

    /// Prepares one that is to be started again and again.
    pub(crate) fn prepare(session: &Session, comm: &Comm, dependence: Dependence, root: i32) -> Option<Box<Self>> {
        let mut shadow = Self::new(true);
        let (from, to, length, comm) = (shadow.mine.as_ptr() as usize, shadow.joined.as_mut_ptr() as usize, shadow.mine.len(), comm.shadow?);
        let (int64, max, root, request) = (session.handles.int64, session.handles.max, word(root), &raw mut shadow.request as usize);
        let info = session.handles.info_null;
        match dependence {
            Dependence::All => session.ask(Id::MPI_Allreduce_init, [from, to, length, int64, max, comm, info, request]),
            Dependence::Prefix => session.ask(Id::MPI_Scan_init, [from, to, length, int64, max, comm, info, request]),
            Dependence::OfRoot(_) => session.ask(Id::MPI_Reduce_init, [from, to, length, int64, max, root, comm, info, request]),
            Dependence::OnRoot(_) => session.ask(Id::MPI_Bcast_init, [to, length, int64, root, comm, info, request]),
        }?;
        Some(shadow)
    }

    /// Starts a prepared one. Whether it is under way.
    pub(crate) fn start_again(&mut self, session: &Session, is_root: bool, here: Moment) -> bool {
        self.load(session, is_root, here);
        let is_started = session.ask(Id::MPI_Start, [&raw mut self.request as usize]).is_some();
        if is_started {
            self.takes_off(session);
        }
        is_started
    }

    /// What is to be told; what is joined begins with the root's own.
    fn load(&mut self, session: &Session, is_root: bool, here: Moment) {
        self.mine = Arrivals::one(session.clocks.told(here)).to_words();
        self.joined = if is_root { self.mine } else { Arrivals::NONE.to_words() };
    }

    fn takes_off(&mut self, session: &Session) {
        self.flying = true;
        if let Some(board) = session.board() {
            board.takes_off();
        }
    }

    /// It is through.
    fn lands(&mut self, session: &Session) {
        self.flying = false;
        if let Some(board) = session.board() {
            board.lands();
        }
    }

    /// Waits until it is through if it is under way, for as long as its members may be at it. Whether it is.
    pub(crate) fn is_through(&mut self, session: &Session, comm: &Comm) -> bool {
        if self.flying && is_through(session, Some(comm), || test(session, &mut self.request)) {
            self.lands(session);
        }
        !self.flying
    }

    /// What has been told, once it is through.
    pub(crate) fn told(&self, session: &Session) -> Arrivals {
        session.clocks.heard_arrivals(Arrivals::from_words(self.joined))
    }

    /// Nobody needs it any more.
    pub(crate) fn free(mut self: Box<Self>, session: &Session) {
        if self.flying {
            session.late.keep(session, self);
        } else if self.is_persistent {
            // Best effort: a request that is not freed costs memory alone.
            let _ = session.ask(Id::MPI_Request_free, [&raw mut self.request as usize]);
        }
    }
}

/// Waits until something of ours that all members have started is through, for as long as they may be at it. Whether it is.
pub(crate) fn is_through(session: &Session, comm: Option<&Comm>, mut is_over: impl FnMut() -> bool) -> bool {
    let started = now();
    let mut attended = started;
    while !is_over() {
        let here = now();
        if comm.is_some_and(|comm| !is_neglected(session, comm)) {
            attended = here;
        }
        if here.0.saturating_sub(started.0) > MOST_PATIENCE || here.0.saturating_sub(attended.0) > PATIENCE {
            return false;
        }
        // Who is needed may wait for this processor.
        std::thread::yield_now();
    }
    true
}

/// Whether a member may do nothing for what is under way: it is outside of MPI, or cannot be seen.
fn is_neglected(session: &Session, comm: &Comm) -> bool {
    let Some(board) = session.board() else { return true };
    let mut others = (0..comm.size).filter(|&member| member != comm.rank);
    others.any(|member| comm.world_rank(session, member).is_none_or(|rank| !board.shows(rank) || board.neglects(rank)))
}

impl Late {
    fn keep(&self, session: &Session, shadow: Box<ShadowCollective>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(shadow);
        all.retain_mut(|shadow| {
            let is_through = test(session, &mut shadow.request);
            if is_through {
                shadow.lands(session);
            }
            !is_through
        });
    }

    /// Lets go of everything; the library keeps what it still uses.
    pub(crate) fn close(&self, session: &Session) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for mut shadow in all {
            if !test(session, &mut shadow.request) {
                Box::leak(shadow);
            }
        }
    }
}
