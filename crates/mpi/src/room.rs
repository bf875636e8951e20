//! Room for shadows: a library has a limited number of communicators (MPICH 2048 for a process, together with windows and files), and what
//! shadows take the program does not have. So a process has a limited number of shadows at a time, and where any member of a communicator has no
//! room for one more, none of them has one there: calls on it count as such that may have waited for others in a way that is not known.
//!
//! Nor is there room where several threads make communicators. Open MPI serves who makes them at once by the number of the parent, and keeps the others of
//! the process waiting. A shadow comes from a higher number than the program's own, and waits where the program would not: thread A's on process 0 for what
//! thread B makes there; on process 3, which is no member of A's and so has gone on, B's waits for what A makes next, for which it waits on process 0.
//! Where all processes are members, B may wait on process 3 for a lock of the program's that A holds meanwhile.

use crate::lifecycle;
use crate::memory::word;
use crate::session::Session;
use crate::table::Id;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Room in this process.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Shadows that it has.
    taken: AtomicUsize,
    /// Whether another thread than the one that began MPI has made communicators.
    is_crowded: AtomicBool,
}

impl Room {
    /// There is one more.
    pub(crate) fn take(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Frees a shadow.
    pub(crate) fn give_back(&self, session: &Session, shadow: usize) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        discard(session, shadow);
    }

    /// The thread makes a communicator, or starts to.
    pub(crate) fn enter(&self, session: &Session) {
        if !self.is_crowded.load(Ordering::Relaxed) && session.requests.is_concurrent() && lifecycle::has_world() {
            let mut is_first = 1_i32;
            if session.ask(Id::MPI_Is_thread_main, [&raw mut is_first as usize]).is_some() && is_first == 0 {
                self.is_crowded.store(true, Ordering::Relaxed);
            }
        }
    }

    /// What this process tells the others: 1 where it has no room for one more, otherwise 0.
    pub(crate) fn lacks(&self, session: &Session) -> i64 {
        let is_full = self.taken.load(Ordering::Relaxed) >= session.abi.most_shadows;
        i64::from(is_full || self.is_crowded.load(Ordering::Relaxed))
    }

    /// Whether all members of the program's communicator have room for its shadow; all of them call this. They ask
    /// before they make one: where the library has no communicator left, its failure would go to the program's error handler.
    pub(crate) fn is_there(&self, session: &Session, comm: usize, inter: bool) -> bool {
        let (mut lacks, mut any) = (self.lacks(session), 1_i64);
        // What an inter-communicator joins comes from the other group: the first time what those say, then what they have heard of us.
        for _ in 0..=i32::from(inter) {
            let (from, to, handles) = (&raw const lacks as usize, &raw mut any as usize, &session.handles);
            if session.ask(Id::MPI_Allreduce, [from, to, word(1), handles.int64, handles.max, comm]).is_none() {
                return false;
            }
            lacks = lacks.max(any);
        }
        lacks == 0
    }
}

/// Frees a shadow.
pub(crate) fn discard(session: &Session, mut shadow: usize) {
    // Best effort: a shadow that is not freed costs memory alone.
    let _ = session.ask(Id::MPI_Comm_free, [&raw mut shadow as usize]);
}
