//! Meetings: the collectives of processes of one machine. Each member notes on the board ([`crate::board`]) that it comes, before
//! the call, and reads there behind it which of those that it depends on had come, and how late they were. So nobody meets once more
//! because of us, and nobody waits.
//!
//! What always holds: the members of a communicator agree when it is made on whether they meet on the board; those who do
//! number their collectives alike, whatever becomes of a call; each persistent one, which they may start in any order, has a
//! series of numbers of its own.

use crate::board::{Came, Gathering};
use crate::call::Call;
use crate::communicators::Comm;
use crate::memory::word;
use crate::session::Session;
use crate::table::Id;
use core::sync::atomic::{AtomicU64, Ordering};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::ids::{Rank, Ticks};

/// Members beyond which nobody is looked for on the board.
const MOST_MEMBERS: i32 = 256;
/// Members beyond which reading when each came takes longer than a small collective.
const MOST_READ: usize = 64;

/// Where the members of a communicator meet.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// Names the communicator, the same in all of its members.
    name: u64,
    /// The members, in their order.
    ranks: Box<[Rank]>,
    /// Collectives so far.
    held: AtomicU64,
}

/// The starts of a persistent collective.
#[derive(Debug)]
pub(crate) struct Series {
    /// Names the collective, the same in all members.
    name: u64,
    starts: u64,
}

impl Meeting {
    /// Has all members of a communicator that has just been made, in this collective of others or otherwise, agree on a name for it, if all
    /// of them are on the board.
    pub(crate) fn agree(session: &Session, comm: &Comm, made_in: Option<Gathering>) -> Option<Self> {
        let (shadow, board) = (comm.shadow?, session.board()?);
        if comm.inter || !(2..=MOST_MEMBERS).contains(&comm.size) {
            return None;
        }
        let rank = |member| comm.world_rank(session, member).filter(|&rank| board.has(rank));
        let ranks: Box<[Rank]> = (0..comm.size).map(rank).collect::<Option<_>>()?;
        let name = if let Some(gathering) = made_in {
            name_of_made(gathering)
        } else {
            let mut name = board.new_name(ranks[0]);
            session.ask(Id::MPI_Bcast, [&raw mut name as usize, 1, session.handles.int64, word(0), shadow])?;
            name
        };
        Some(Self { name, ranks, held: AtomicU64::new(0) })
    }

    /// The name, which is not 0.
    pub(crate) fn name(&self) -> u64 {
        self.name
    }

    /// Who a member is.
    pub(crate) fn rank(&self, member: i32) -> Option<Rank> {
        self.ranks.get(usize::try_from(member).ok()?).copied()
    }

    /// This process comes to the next collective; `None` where there are too many members to read when each did.
    pub(crate) fn come(&self, call: &mut Call<'_>) -> Option<Gathering> {
        let gathering = self.next()?;
        let here = call.moment();
        comes(call.session, gathering, here);
        Some(gathering)
    }

    /// The members prepare a collective together; `None` as for one that they come to.
    pub(crate) fn series(&self) -> Option<Series> {
        Some(Series { name: name_of_made(self.next()?), starts: 0 })
    }

    fn next(&self) -> Option<Gathering> {
        let is_read = self.ranks.len() <= MOST_READ;
        is_read.then(|| Gathering { comm: self.name, number: self.held.fetch_add(1, Ordering::Relaxed) })
    }

    /// When these members had come who had by the end of the call. Counts those of whom that cannot be told any more.
    pub(crate) fn came(&self, call: &Call<'_>, gathering: Gathering, members: impl Iterator<Item = i32>, end: Ticks) -> Arrivals {
        let Some(board) = call.session.board() else { return Arrivals::NONE };
        let (mut arrivals, mut unknown) = (Arrivals::NONE, 0);
        for rank in members.filter_map(|member| self.rank(member)) {
            match board.came(rank, gathering) {
                // Who came later was not waited for: there was nothing to be had from it.
                Came::At(moment) if moment.at <= end => arrivals = arrivals.join(Arrivals::one(moment)),
                Came::At(_) | Came::NotYet => {}
                Came::Unknown => unknown += 1,
            }
        }
        if unknown > 0 {
            call.unpaired(unknown);
        }
        arrivals
    }
}

impl Series {
    /// This process starts the collective once more.
    pub(crate) fn come(&mut self, session: &Session, here: Moment) {
        comes(session, Gathering { comm: self.name, number: self.starts }, here);
        self.starts += 1;
    }

    /// That of the last start.
    pub(crate) fn last(&self) -> Option<Gathering> {
        Some(Gathering { comm: self.name, number: self.starts.checked_sub(1)? })
    }
}

fn comes(session: &Session, gathering: Gathering, here: Moment) {
    if let Some(board) = session.board() {
        board.comes(gathering, here, session.requests.is_concurrent());
    }
}

/// The name of what this collective makes. Of several that it makes, no process is in more than one. (The mixing is that of SplitMix64, by
/// S. Vigna.)
const fn name_of_made(gathering: Gathering) -> u64 {
    let mut mixed = gathering.comm.wrapping_add((gathering.number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) | 1
}
