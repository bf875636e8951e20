//! Communicators and their shadows.
//!
//! Each communicator that is made while we watch gets a shadow: an intra-communicator of the same members in the same order
//! (of an inter-communicator: of both groups), without attributes (a duplicate would call the program's copy functions,
//! and Open MPI calls them also for every inter-communicator made from another), errors returned. Shadows are made by the members right after
//! the real call, as every one of them has just returned from it. Communicators with processes of other worlds have one where all of their members
//! are known to make it (`spawned`); what is sent on others carries no delay.

use crate::among::Members;
use crate::answers::Wanted;
use crate::board::Gathering;
use crate::call::{Call, Span};
use crate::collective;
use crate::epochs::Epochs;
use crate::files::Joint;
use crate::holds::{Operation, Visitor};
use crate::lifecycle;
use crate::locks::Locks;
use crate::matching::{Pattern, Queue};
use crate::meaning::{Dependence, Origin, Position};
use crate::meeting::Meeting;
use crate::memory::{handle, int, read_handle};
use crate::session::Session;
use crate::table::Id;
use crate::transport::Early;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use tare_delay::completion::Moment;
use tare_delay::order::Order;
use tare_format::ids::Rank;

/// A communicator.
#[derive(Debug)]
pub(crate) struct Comm {
    /// Names it, as handles are used again.
    pub(crate) key: u64,
    /// Its shadow, where delays travel.
    pub(crate) shadow: Option<usize>,
    /// Whether that has been freed. (What a process has for itself alone may be known under several handles.)
    is_freed: AtomicBool,
    /// What is added to the rank of a partner to get its rank in the shadow.
    pub(crate) offset: i32,
    /// Members (of the local group).
    pub(crate) size: i32,
    /// Our rank.
    pub(crate) rank: i32,
    /// Whether it is an inter-communicator.
    pub(crate) inter: bool,
    /// Receives posted and not completed.
    pub(crate) queue: Mutex<Queue>,
    /// Shadow messages in a row that did not come.
    pub(crate) missed: AtomicU32,
    /// Shadow messages that came before their turn.
    pub(crate) early: Mutex<Early>,
    /// Operations on it so far whose members tell each other by messages under a number.
    numbered: AtomicU64,
    /// Messages in parts prepared so far, by partner, tag, and whether they are sent.
    pub(crate) parted: Mutex<HashMap<(i32, i32, bool), Wanted>>,
    /// What receives from anywhere have met, by the tag that they asked for.
    met: Mutex<Vec<(Option<i32>, Order)>>,
    /// Epochs of one-sided communication, of a window.
    pub(crate) epochs: Mutex<Epochs>,
    /// Locks, of a window.
    pub(crate) locks: Mutex<Locks>,
    /// Collective operations, of a file.
    pub(crate) joint: Mutex<Joint>,
    /// Members that may hold up collectives that are started.
    pub(crate) visitors: Mutex<HashMap<Operation, Vec<Visitor>>>,
    /// What the small collective behind one of the program's usually takes, in ticks.
    pub(crate) carrying: AtomicU64,
    /// Where its members meet, if they do so on the board.
    meeting: OnceLock<Meeting>,
    handle: usize,
    peers: OnceLock<Box<[u32]>>,
    neighbours: OnceLock<Option<Members>>,
}

/// All communicators that are known, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Communicators {
    known: RwLock<HashMap<usize, Arc<Comm>, Spread>>,
    /// Freed by the program while receives were pending there.
    retired: Mutex<Vec<Arc<Comm>>>,
    made: AtomicU64,
}

/// Hashing of handles.
pub(crate) type Spread = BuildHasherDefault<HandleHasher>;

/// One multiplication: handles are pointers or small numbers.
#[derive(Debug, Default)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, value: usize) {
        let mixed = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

impl Communicators {
    /// The communicator of a handle.
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<Comm>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&handle).cloned()
    }

    /// Gets to know a communicator; its members call this together.
    pub(crate) fn add(&self, session: &Session, handle: usize, made_in: Option<Gathering>) {
        self.add_under(session, handle, handle, made_in);
    }

    /// Gets to know the members of a communicator under the handle of something else that they share, and have made in a collective.
    pub(crate) fn add_under(&self, session: &Session, name: usize, handle: usize, made_in: Option<Gathering>) {
        let Some(mut comm) = Comm::new(session, handle, self.made.fetch_add(1, Ordering::Relaxed)) else { return };
        if name != handle {
            // The communicator may be freed before what was made of it.
            comm.handle = comm.shadow.unwrap_or(handle);
        }
        comm.meet(session, made_in);
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(comm));
    }

    /// Gets to know a communicator that has a shadow already.
    pub(crate) fn adopt(&self, session: &Session, handle: usize, shadow: usize) {
        let Some(comm) = Comm::under(session, handle, self.made.fetch_add(1, Ordering::Relaxed), |_| Some(Some(shadow))) else { return };
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(comm));
    }

    /// Gets to know that something belongs to a process alone, as a communicator of it does.
    pub(crate) fn share(&self, name: usize, alone: Arc<Comm>) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(name, alone);
    }

    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<Comm>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }

    /// Frees the shadow of a communicator that the program has freed, once nobody needs it.
    pub(crate) fn retire(&self, session: &Session, comm: Arc<Comm>) {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.push(comm);
        retired.retain(|comm| {
            let needed = Arc::strong_count(comm) > 1 || !comm.queue.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
            if !needed {
                comm.free_shadow(session);
            }
            needed
        });
    }

    /// Frees all shadows.
    pub(crate) fn close(&self, session: &Session) {
        let known = std::mem::take(&mut *self.known.write().unwrap_or_else(PoisonError::into_inner));
        let mut all: Vec<Arc<Comm>> = known.into_values().collect();
        all.append(&mut self.retired.lock().unwrap_or_else(PoisonError::into_inner));
        all.sort_by_key(|comm| comm.key);
        all.iter().for_each(|comm| comm.free_shadow(session));
    }
}

impl Comm {
    fn new(session: &Session, handle: usize, key: u64) -> Option<Self> {
        Self::under(session, handle, key, |comm| {
            // Nobody is late for himself. In a program of sessions that has not met others yet, MPICH crashes where it is to make a communicator
            // of another one, or is asked whether a message has come.
            let is_alone = comm.size == 1 && !comm.inter && !lifecycle::has_world();
            if session.carries() && !is_alone { Some(Some(comm.cast_shadow(session)?)) } else { Some(None) }
        })
    }

    /// One with the shadow that it is given; `None` where that fails.
    fn under(session: &Session, handle: usize, key: u64, shadow: impl FnOnce(&Self) -> Option<Option<usize>>) -> Option<Self> {
        let int_of = |id| {
            let mut value = 0_i32;
            session.ask(id, [handle, &raw mut value as usize]).map(|()| value)
        };
        let (size, rank) = (int_of(Id::MPI_Comm_size)?, int_of(Id::MPI_Comm_rank)?);
        let inter = int_of(Id::MPI_Comm_test_inter)? != 0;
        let (queue, missed, peers, neighbours) = (Mutex::default(), AtomicU32::new(0), OnceLock::new(), OnceLock::new());
        let (early, numbered, parted, epochs, met) = (Mutex::default(), AtomicU64::new(0), Mutex::default(), Mutex::default(), Mutex::default());
        let (visitors, joint, locks, carrying) = (Mutex::default(), Mutex::default(), Mutex::default(), AtomicU64::new(0));
        let meeting = OnceLock::new();
        #[rustfmt::skip]
        let mut comm = Self {
            key, shadow: None, is_freed: AtomicBool::new(false), offset: 0, size, rank, inter, queue, missed, early, numbered, parted, epochs, joint, locks, met, visitors,
            carrying, meeting, handle, peers, neighbours,
        };
        comm.shadow = shadow(&comm)?;
        if let Some(shadow) = comm.shadow.filter(|_| inter) {
            let mut there = 0_i32;
            session.ask(Id::MPI_Comm_rank, [shadow, &raw mut there as usize])?;
            // The group that stands first is the one whose ranks stay as they are.
            comm.offset = if there == rank { size } else { 0 };
        }
        Some(comm)
    }

    /// All members, in their order; `None` where there is no room for it.
    fn cast_shadow(&self, session: &Session) -> Option<usize> {
        let (handle, inter) = (self.handle, self.inter);
        if !session.room.is_there(session, handle, inter) {
            return None;
        }
        let mut shadow = 0_usize;
        if inter {
            session.ask(Id::MPI_Intercomm_merge, [handle, 0, &raw mut shadow as usize])?;
        } else {
            let mut group = 0_usize;
            session.ask(Id::MPI_Comm_group, [handle, &raw mut group as usize])?;
            let made = session.ask(Id::MPI_Comm_create, [handle, group, &raw mut shadow as usize]);
            session.ask(Id::MPI_Group_free, [&raw mut group as usize])?;
            made?;
        }
        session.ask(Id::MPI_Comm_set_errhandler, [shadow, session.handles.errors_return])?;
        session.room.take();
        Some(shadow)
    }

    /// From now on its members meet on the board, if all of them can; all call this, when it has just been made.
    pub(crate) fn meet(&self, session: &Session, made_in: Option<Gathering>) {
        if let Some(meeting) = Meeting::agree(session, self, made_in) {
            self.meeting.get_or_init(|| meeting);
        }
    }

    /// Where its members meet, if they do so on the board.
    pub(crate) fn meeting(&self) -> Option<&Meeting> {
        self.meeting.get()
    }

    fn free_shadow(&self, session: &Session) {
        if let (Some(board), Some(meeting)) = (session.board(), self.meeting()) {
            board.forget(meeting.name());
        }
        if let Some(shadow) = self.shadow.filter(|_| !self.is_freed.swap(true, Ordering::Relaxed)) {
            session.room.give_back(session, shadow);
        }
    }

    /// Numbers the next operation whose members tell each other by messages; all of them call it in the same order.
    pub(crate) fn next_number(&self) -> Wanted {
        self.numbered.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether a message that a receive from anywhere has met contradicts, by when it was sent in virtual time, that it came
    /// after those which such receives met before.
    pub(crate) fn contradicts(&self, pattern: Pattern, sent: Moment) -> bool {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let at = met.iter().position(|(tag, _)| *tag == pattern.tag).unwrap_or_else(|| {
            met.push((pattern.tag, Order::default()));
            met.len() - 1
        });
        met[at].1.met(sent)
    }

    /// Members of the other group; 0 where there is none.
    pub(crate) fn others(&self, session: &Session) -> i32 {
        let mut others = 0_i32;
        let asked = session.ask(Id::MPI_Comm_remote_size, [self.handle, &raw mut others as usize]);
        asked.filter(|()| self.inter).map_or(0, |()| others)
    }

    /// The ranks of a group's members here; those that are none are left out.
    pub(crate) fn ranks_of(&self, session: &Session, group: usize) -> Vec<i32> {
        let Some(shadow) = self.shadow else { return Vec::new() };
        let (mut members, mut size) = (0_usize, 0_i32);
        let known = session
            .ask(Id::MPI_Group_size, [group, &raw mut size as usize])
            .and_then(|()| session.ask(Id::MPI_Comm_group, [shadow, &raw mut members as usize]));
        if known.is_none() {
            return Vec::new();
        }
        let ranks: Vec<i32> = (0..size).collect();
        let mut here = vec![-1_i32; ranks.len()];
        let translated =
            session.ask(Id::MPI_Group_translate_ranks, [group, ranks.len(), ranks.as_ptr() as usize, members, here.as_mut_ptr() as usize]);
        // Best effort: a group that is not freed costs memory alone.
        let _ = session.ask(Id::MPI_Group_free, [&raw mut members as usize]);
        here.retain(|rank| translated.is_some() && *rank >= 0);
        here
    }

    /// Neighbours in its topology; `None` where it has none, or no shadow.
    pub(crate) fn neighbours(&self, session: &Session) -> Option<&Members> {
        self.shadow?;
        self.neighbours.get_or_init(|| Members::of_topology(session, self.handle, self.rank)).as_ref()
    }

    /// The rank of a partner among all processes of the run: in `MPI_COMM_WORLD`, where nothing was spawned; `None` where it is not in there.
    pub(crate) fn world_rank(&self, session: &Session, peer: i32) -> Option<Rank> {
        let peers = self.peers.get_or_init(|| self.translate(session).unwrap_or_default());
        let rank = peers.get(usize::try_from(peer).ok()?)?;
        (*rank != u32::MAX).then_some(Rank(*rank))
    }

    fn translate(&self, session: &Session) -> Option<Box<[u32]>> {
        let group_of = |id, comm: usize| {
            let mut group = 0_usize;
            session.ask(id, [comm, &raw mut group as usize]).map(|()| group)
        };
        let members = if self.inter { Id::MPI_Comm_remote_group } else { Id::MPI_Comm_group };
        let (mut theirs, mut world) = (group_of(members, self.handle)?, group_of(Id::MPI_Comm_group, session.base()?)?);
        let mut size = 0_i32;
        session.ask(Id::MPI_Group_size, [theirs, &raw mut size as usize])?;
        let ranks: Vec<i32> = (0..size).collect();
        let mut translated = vec![-1_i32; ranks.len()];
        let done =
            session.ask(Id::MPI_Group_translate_ranks, [theirs, ranks.len(), ranks.as_ptr() as usize, world, translated.as_mut_ptr() as usize]);
        let known = session.circles.ranks_of(session, theirs);
        for group in [&mut theirs, &mut world] {
            session.ask(Id::MPI_Group_free, [&raw mut *group as usize])?;
        }
        done?;
        let here = |rank: i32| u32::try_from(rank).ok().map(|rank| rank + session.first());
        let elsewhere = known.into_iter().chain(core::iter::repeat(None));
        Some(translated.into_iter().zip(elsewhere).map(|(rank, known)| here(rank).or(known).unwrap_or(u32::MAX)).collect())
    }
}

/// A call that makes a communicator.
pub(crate) fn create(call: &mut Call<'_>, new: Position, from: Origin) -> Span {
    let session = call.session;
    session.room.enter(session);
    let parent = session.communicators.get(handle(session.abi, call.arguments[0]));
    if parent.is_none() && from != Origin::Groups {
        // Its members may be of a program that is not measured, and would not make a shadow with us.
        call.uncovered();
        return call.run();
    }
    let by_parent = from == Origin::Parent;
    let parent = parent.filter(|parent| by_parent && !parent.inter);
    let gathering = parent.as_ref().and_then(|parent| collective::come(call, parent));
    let span = call.run();
    if !span.succeeded() {
        return span;
    }
    if let Some(parent) = &parent {
        collective::carry(call, &span, parent, gathering, Dependence::All, 0);
    }
    let made = read_handle(session.abi, call.arguments[new], 0);
    if made == session.handles.comm_null {
        return span;
    }
    session.communicators.add(session, made, gathering);
    if let Some(made) = session.communicators.get(made) {
        if from == Origin::Groups && !lifecycle::has_world() {
            // Where it fails, the library is broken anyway.
            let _ = session.clocks.meet(session, &made);
        }
        if !made.inter && session.set_base(made.handle, made.size) {
            lifecycle::note_rank(session.abi, made.handle);
        }
        // All of its members have just made it, and may have waited for each other.
        if parent.is_none() {
            collective::carry(call, &span, &made, None, Dependence::All, 0);
        }
    } else if parent.is_none() {
        call.uncovered();
    }
    span
}

/// A call that frees a communicator.
pub(crate) fn free(call: &mut Call<'_>) -> Span {
    let session = call.session;
    let comm = session.communicators.remove(read_handle(session.abi, call.arguments[0], 0));
    if let Some(comm) = comm.as_ref().filter(|comm| Arc::strong_count(comm) > 1) {
        // Requests that outlive the communicator are told apart by partner still; afterwards nobody can ask who that is.
        comm.peers.get_or_init(|| comm.translate(session).unwrap_or_default());
    }
    let span = call.run();
    if let Some(comm) = comm {
        if span.succeeded() {
            session.lose_base(comm.handle);
            session.communicators.retire(session, comm);
        } else {
            let handle = comm.handle;
            session.communicators.known.write().unwrap_or_else(PoisonError::into_inner).insert(handle, comm);
        }
    }
    span
}

/// The root that an argument names.
pub(crate) fn root(call: &Call<'_>, position: Position) -> i32 {
    int(call.arguments[position])
}
