//! The board: memory that the processes of one machine share, on which each notes when it comes into MPI and leaves it, and how
//! late it was then. Who has waited for another process to come in reads there what that one's delay was ([`tare_delay::visits`]).
//! Members of a communicator note there when they come to a collective ([`crate::meeting`]). Behind the pages stand the boxes of their mail
//! ([`crate::mail`]).
//!
//! ```text
//! per process, in the order of ranks: eight pages of
//!   0 u64  visits begun so far
//!   8 u64  when a call of whatever kind ended last (ticks); all ones while one lasts
//!  16 u64  locks given back so far
//!  24 u64  shadow collectives that it has started and that are not through
//!  64 [Entry; REMEMBERED]: visit n stands in entry n mod REMEMBERED
//!   … [Entry; RELEASES]: the n-th lock given back stands in entry n mod RELEASES
//! 4096 u64  collectives come to so far
//! 4160 [Entry; COMINGS]: the n-th collective stands in entry n mod COMINGS
//! Entry, of 64 bytes:
//!   0 u64  n + 1; 0 while the entry is written
//!   8 u64  when it began (ticks)     16 i64 the delay then (ticks)
//!  24 u64  when it ended; all ones while it lasts
//!  32 u64  0 where the library looks for everything, 1 where for what it has found
//! Of a lock:
//!   0 u64  n + 1; 0 while the entry is written
//!   8 u64  when it was had (ticks)       16 i64 the delay then (ticks)
//!  24 u64  when it was given back        32 i64 the delay then
//!  40 u64  the window                    48 u64 the rank there whose part was locked, with [`EXCLUSIVE`] where nobody else could have it
//! Of a collective:
//!   0 u64  n + 1; 0 while the entry is written
//!   8 u64  the communicator               16 u64 how many collectives there were on it before
//!  24 u64  when the process came (ticks)  32 i64 the delay then
//! ```
//!
//! What always holds: a process writes on its own page alone; a visit is noted before the library can go on with anything in it;
//! nobody waits for a note. Who is not on the board, on another machine or where there is no memory to share, is asked for
//! answers ([`crate::answers`]).

use crate::clocks::gather;
use crate::communicators::Comm;
use crate::mail::{self, Letter, Mail};
use crate::session::Session;
use crate::table::Id;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};
use tare_delay::completion::Moment;
use tare_delay::locks::Holding;
use tare_delay::visits::{Look, Visit};
use tare_format::ids::{Rank, Ticks};
use tare_format::shared::{BOARD, MEMORY};
use tare_runtime::process::now;

/// Visits of a process that are remembered.
const REMEMBERED: usize = 32;
/// Locks given back that are remembered.
const RELEASES: usize = 30;
/// Collectives that a process remembers to have come to.
const COMINGS: usize = 447;
const LASTING: u64 = u64::MAX;
const EXCLUSIVE: u64 = 1 << 32;
/// The mark of a rank that has no page.
const NOWHERE: u32 = u32::MAX;

#[repr(C, align(64))]
struct Entry {
    number: AtomicU64,
    begin: AtomicU64,
    delay: AtomicI64,
    end: AtomicU64,
    look: AtomicU64,
}

#[repr(C, align(64))]
struct Release {
    number: AtomicU64,
    acquired: AtomicU64,
    acquired_delay: AtomicI64,
    released: AtomicU64,
    released_delay: AtomicI64,
    window: AtomicU64,
    part: AtomicU64,
    /// Ticks between asking for it and getting it, measured and in virtual time: those in the upper half.
    waited: AtomicU64,
}

#[repr(C, align(64))]
struct Coming {
    number: AtomicU64,
    comm: AtomicU64,
    before: AtomicU64,
    at: AtomicU64,
    delay: AtomicI64,
}

/// A number in a line of its own.
#[repr(C, align(64))]
struct Counter(AtomicU64);

#[repr(C, align(4096))]
struct Page {
    begun: AtomicU64,
    left: AtomicU64,
    given_back: AtomicU64,
    flying: AtomicU64,
    entries: [Entry; REMEMBERED],
    releases: [Release; RELEASES],
    come: Counter,
    comings: [Coming; COMINGS],
}

const _: () = assert!(size_of::<Page>() == 32768 && size_of::<Entry>() == 64 && size_of::<Release>() == 64 && size_of::<Coming>() == 64);

/// A collective of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gathering {
    /// Names the communicator, the same in all members.
    pub(crate) comm: u64,
    /// How many collectives there were on it before.
    pub(crate) number: u64,
}

/// Whether a process has come to a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It has, at this moment.
    At(Moment),
    /// It has not.
    NotYet,
    /// It has come to so many others that this one is not remembered, if it has.
    Unknown,
}

/// A lock of a window that a process has given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenBack {
    /// Names the window.
    pub(crate) window: u64,
    /// The rank there whose part was locked; negative where all parts were.
    pub(crate) part: i32,
    /// Whether nobody else could have it.
    pub(crate) is_exclusive: bool,
    pub(crate) holding: Holding,
}

/// The board as this process sees it.
#[derive(Debug)]
pub(crate) struct Board {
    memory: NonNull<Page>,
    /// Where the pages of all ranks of the world are, as numbers of pages.
    pages: Box<[u32]>,
    /// The rank of the first of them among all of the run.
    first: u32,
    mine: u32,
    giving_back: Mutex<()>,
    /// Names given so far.
    named: AtomicU64,
    mail: Option<Mail>,
}

// SAFETY: what stands on the pages are atomic numbers, and the mapping stays for good.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// A visit of this process that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    number: u64,
    look: Look,
}

impl Board {
    /// Shares a board with the processes of the world that are on this machine; all processes call this. `None` where this
    /// process cannot, or is alone there.
    pub(crate) fn share(session: &Session, world: &Comm) -> Option<Self> {
        let shadow = world.shadow.filter(|_| world.size > 1)?;
        let rank = usize::try_from(world.rank).ok()?;
        let secret = now().0.rotate_left(32) ^ u64::from(std::process::id());
        let all = gather(session, shadow, world.size, &[session.clocks.machine(world.rank), secret.cast_signed()])?;
        let mut pages = vec![NOWHERE; all.len() / 2].into_boxed_slice();
        let here: Vec<usize> = (0..pages.len()).filter(|&other| all[2 * other] == all[2 * rank]).collect();
        for (page, &other) in (0..).zip(&here) {
            pages[other] = page;
        }
        let name = format!("{MEMORY}/{BOARD}{:016x}", all[2 * here[0] + 1]);
        let length = here.len() * size_of::<Page>() + mail::letters(here.len()) * size_of::<Letter>();
        let is_first = here[0] == rank;
        let made = if is_first { map(&name, length, true) } else { None };
        session.ask(Id::MPI_Barrier, [shadow])?;
        let memory = if is_first { made } else { map(&name, length, false) };
        let have = gather(session, shadow, world.size, &[i64::from(memory.is_some())])?;
        if is_first {
            // Best effort: nobody needs the name any more.
            let _ = std::fs::remove_file(&name);
        }
        // Of who has no page nothing is to be read, not that it is away.
        let is_shared = here.len() > 1 && here.iter().all(|&other| have[other] != 0);
        let memory = memory.filter(|_| is_shared)?;
        // SAFETY: the letters stand behind the pages.
        let boxes = unsafe { memory.add(here.len()) }.cast();
        // SAFETY: as above, and the mapping stays.
        let mail = unsafe { Mail::new(boxes, here.len(), pages[rank] as usize) };
        let board = Self { memory, mine: pages[rank], pages, first: session.first(), giving_back: Mutex::default(), named: AtomicU64::new(0), mail };
        // Until now this process was inside of MPI.
        let begun = board.begin(Look::Everything, Moment { at: Ticks(0), delay: 0 }, true);
        board.end(begun, now());
        board.leave(now());
        Some(board)
    }

    fn page(&self, number: u32) -> &Page {
        // SAFETY: the mapping has a page for each process of this machine.
        let page = unsafe { self.memory.add(number as usize) };
        // SAFETY: the mapping stays, and all bit patterns are numbers.
        unsafe { page.as_ref() }
    }

    /// That of a process which has one.
    fn page_of(&self, rank: Rank) -> &Page {
        self.page(self.pages[(rank.0 - self.first) as usize])
    }

    fn entry(&self, begun: Begun) -> &Entry {
        &self.page(self.mine).entries[begun.number as usize % REMEMBERED]
    }

    /// This process comes in.
    pub(crate) fn enter(&self) {
        self.page(self.mine).left.store(LASTING, Ordering::Release);
    }

    /// This process leaves.
    pub(crate) fn leave(&self, at: Ticks) {
        self.page(self.mine).left.store(at.0, Ordering::Release);
    }

    /// This process has started a shadow collective.
    pub(crate) fn takes_off(&self) {
        self.page(self.mine).flying.fetch_add(1, Ordering::Release);
    }

    /// One that it had started is through.
    pub(crate) fn lands(&self) {
        self.page(self.mine).flying.fetch_sub(1, Ordering::Release);
    }

    /// Whether another process has started shadow collectives and does nothing for them now, as it is outside of MPI.
    pub(crate) fn neglects(&self, rank: Rank) -> bool {
        let page = self.page_of(rank);
        page.left.load(Ordering::Acquire) != LASTING && page.flying.load(Ordering::Acquire) > 0
    }

    /// A visit of this process begins; `is_concurrent` says that other threads may do the same.
    pub(crate) fn begin(&self, look: Look, begin: Moment, is_concurrent: bool) -> Begun {
        let all = &self.page(self.mine).begun;
        let begun = Begun { number: take_number(all, is_concurrent), look };
        self.write(begun, begin);
        begun
    }

    /// It begins only now.
    pub(crate) fn write(&self, begun: Begun, begin: Moment) {
        let entry = self.entry(begun);
        write_whole(&entry.number, begun.number, || {
            entry.begin.store(begin.at.0, Ordering::Relaxed);
            entry.delay.store(begin.delay, Ordering::Relaxed);
            entry.end.store(LASTING, Ordering::Relaxed);
            entry.look.store(u64::from(begun.look == Look::Found), Ordering::Relaxed);
        });
    }

    /// It ends.
    pub(crate) fn end(&self, begun: Begun, end: Ticks) {
        let entry = self.entry(begun);
        // Other threads may have come in so often that the entry is another visit's.
        if entry.number.load(Ordering::Relaxed) == begun.number + 1 {
            entry.end.store(end.0, Ordering::Relaxed);
        }
    }

    /// This process is about to give back a lock.
    pub(crate) fn gives_back(&self, lock: &GivenBack) {
        let _one_thread_at_a_time = self.giving_back.lock().unwrap_or_else(PoisonError::into_inner);
        let page = self.page(self.mine);
        let number = page.given_back.load(Ordering::Relaxed);
        page.releases[number as usize % RELEASES].write(number, lock);
        page.given_back.store(number + 1, Ordering::Release);
    }

    /// The last locks that another process has given back, the latest first, up to where they are remembered: `None` is the last then.
    pub(crate) fn given_back(&self, rank: Rank) -> impl Iterator<Item = Option<GivenBack>> {
        let page = self.page_of(rank);
        let number = page.given_back.load(Ordering::Acquire);
        let first = number.saturating_sub(RELEASES as u64);
        let known = (first..number).rev().map(|number| page.releases[number as usize % RELEASES].read(number));
        known.chain((first > 0).then_some(None))
    }

    /// A name other than 0 that this process, of this rank, has not given before, and no other one gives.
    pub(crate) fn new_name(&self, mine: Rank) -> u64 {
        u64::from(mine.0) << 32 | (self.named.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// This process comes to a collective; `is_concurrent` says that other threads may do the same.
    pub(crate) fn comes(&self, gathering: Gathering, here: Moment, is_concurrent: bool) {
        let page = self.page(self.mine);
        let number = take_number(&page.come.0, is_concurrent);
        page.comings[number as usize % COMINGS].write(number, gathering, here);
    }

    /// When a process came to a collective.
    pub(crate) fn came(&self, rank: Rank, gathering: Gathering) -> Came {
        let page = self.page_of(rank);
        let all = page.come.0.load(Ordering::Acquire);
        let first = all.saturating_sub(COMINGS as u64);
        let known = (first..all).rev().filter_map(|number| page.comings[number as usize % COMINGS].read(number));
        came_to(gathering, known, first == 0)
    }

    /// The mail, where the processes of this machine are not too many, and the box of one of them there.
    pub(crate) fn mail(&self, rank: Rank) -> Option<(&Mail, usize)> {
        let page = self.number_of(rank)?;
        Some((self.mail.as_ref()?, page as usize))
    }

    /// Nobody will take what is left of a communicator.
    pub(crate) fn forget(&self, comm: u64) {
        if let Some(mail) = &self.mail {
            mail.forget(comm);
        }
    }

    /// Whether a process has a page.
    pub(crate) fn has(&self, rank: Rank) -> bool {
        self.number_of(rank).is_some()
    }

    /// The number of its page.
    fn number_of(&self, rank: Rank) -> Option<u32> {
        let place = usize::try_from(rank.0.checked_sub(self.first)?).ok()?;
        self.pages.get(place).copied().filter(|page| *page != NOWHERE)
    }

    /// Whether the visits of another process can be seen.
    pub(crate) fn shows(&self, rank: Rank) -> bool {
        self.number_of(rank).is_some_and(|page| page != self.mine)
    }

    /// When another process left its last call of whatever kind; `None` while it is in one.
    pub(crate) fn left(&self, rank: Rank) -> Option<Ticks> {
        let left = self.page_of(rank).left.load(Ordering::Acquire);
        (left != LASTING).then_some(Ticks(left))
    }

    /// The last visits of another process, the latest first; those that cannot be read just now are left out.
    pub(crate) fn visits(&self, rank: Rank) -> impl Iterator<Item = Visit> {
        let page = self.page_of(rank);
        let begun = page.begun.load(Ordering::Acquire);
        (begun.saturating_sub(REMEMBERED as u64)..begun).rev().filter_map(|number| page.entries[number as usize % REMEMBERED].read(number))
    }
}

impl Entry {
    /// Visit `number`, unless it is being written, or another one stands there already.
    fn read(&self, number: u64) -> Option<Visit> {
        read_whole(&self.number, number, || {
            let begin = Moment { at: Ticks(self.begin.load(Ordering::Relaxed)), delay: self.delay.load(Ordering::Relaxed) };
            let end = Some(Ticks(self.end.load(Ordering::Relaxed))).filter(|end| end.0 != LASTING);
            let look = if self.look.load(Ordering::Relaxed) == 0 { Look::Everything } else { Look::Found };
            Visit { look, begin, end }
        })
    }
}

impl Coming {
    fn write(&self, number: u64, gathering: Gathering, here: Moment) {
        write_whole(&self.number, number, || {
            self.comm.store(gathering.comm, Ordering::Relaxed);
            self.before.store(gathering.number, Ordering::Relaxed);
            self.at.store(here.at.0, Ordering::Relaxed);
            self.delay.store(here.delay, Ordering::Relaxed);
        });
    }

    /// Coming `number`, unless it is being written, or another one stands there already.
    fn read(&self, number: u64) -> Option<(Gathering, Moment)> {
        read_whole(&self.number, number, || {
            let gathering = Gathering { comm: self.comm.load(Ordering::Relaxed), number: self.before.load(Ordering::Relaxed) };
            (gathering, Moment { at: Ticks(self.at.load(Ordering::Relaxed)), delay: self.delay.load(Ordering::Relaxed) })
        })
    }
}

impl Release {
    fn write(&self, number: u64, lock: &GivenBack) {
        let Holding { asked, acquired, released } = lock.holding;
        let short = |ticks: i64| u64::from(u32::try_from(ticks.max(0)).unwrap_or(u32::MAX));
        let waited = (acquired.at.0 - asked.at.0).cast_signed();
        let waited = short(acquired.virtual_time() - asked.virtual_time()) << 32 | short(waited);
        let exclusive = if lock.is_exclusive { EXCLUSIVE } else { 0 };
        write_whole(&self.number, number, || {
            self.acquired.store(acquired.at.0, Ordering::Relaxed);
            self.acquired_delay.store(acquired.delay, Ordering::Relaxed);
            self.released.store(released.at.0, Ordering::Relaxed);
            self.released_delay.store(released.delay, Ordering::Relaxed);
            self.waited.store(waited, Ordering::Relaxed);
            self.window.store(lock.window, Ordering::Relaxed);
            self.part.store(u64::from(lock.part.cast_unsigned()) | exclusive, Ordering::Relaxed);
        });
    }

    /// Lock `number`, unless another one stands there already.
    fn read(&self, number: u64) -> Option<GivenBack> {
        let moment = |at: &AtomicU64, delay: &AtomicI64| Moment { at: Ticks(at.load(Ordering::Relaxed)), delay: delay.load(Ordering::Relaxed) };
        read_whole(&self.number, number, || {
            let (acquired, released) = (moment(&self.acquired, &self.acquired_delay), moment(&self.released, &self.released_delay));
            let waited = self.waited.load(Ordering::Relaxed);
            let (at, virtual_wait) = (acquired.at.0.saturating_sub(waited & u64::from(u32::MAX)), (waited >> 32).cast_signed());
            let asked = Moment { at: Ticks(at), delay: at.cast_signed() - (acquired.virtual_time() - virtual_wait) };
            let holding = Holding { asked, acquired, released };
            let (window, part) = (self.window.load(Ordering::Relaxed), self.part.load(Ordering::Relaxed));
            GivenBack { window, part: (part as u32).cast_signed(), is_exclusive: part & EXCLUSIVE != 0, holding }
        })
    }
}

/// Writes what is entry `number` from now on; who reads it meanwhile sees that by its number.
fn write_whole(place: &AtomicU64, number: u64, write: impl FnOnce()) {
    place.store(0, Ordering::Relaxed);
    fence(Ordering::Release);
    write();
    place.store(number + 1, Ordering::Release);
}

/// Reads entry `number`, unless it is being written, or another one stands there already.
fn read_whole<T>(place: &AtomicU64, number: u64, read: impl FnOnce() -> T) -> Option<T> {
    let is_whole = || place.load(Ordering::Acquire) == number + 1;
    if !is_whole() {
        return None;
    }
    let what = read();
    fence(Ordering::Acquire);
    is_whole().then_some(what)
}

/// When somebody came to a collective that came to these, the latest first; `are_all` says that it came to no others.
fn came_to(gathering: Gathering, known: impl Iterator<Item = (Gathering, Moment)>, are_all: bool) -> Came {
    for (theirs, moment) in known.filter(|(theirs, _)| theirs.comm == gathering.comm) {
        match theirs.number.cmp(&gathering.number) {
            core::cmp::Ordering::Greater => {}
            core::cmp::Ordering::Equal => return Came::At(moment),
            core::cmp::Ordering::Less => return Came::NotYet,
        }
    }
    if are_all { Came::NotYet } else { Came::Unknown }
}

/// Takes the next number of a counter that no other process writes; `is_concurrent` says that other threads may do the same.
fn take_number(all: &AtomicU64, is_concurrent: bool) -> u64 {
    if is_concurrent {
        return all.fetch_add(1, Ordering::AcqRel);
    }
    let number = all.load(Ordering::Relaxed);
    all.store(number + 1, Ordering::Release);
    number
}

/// Maps a file in memory, which is made before.
fn map(name: &str, length: usize, make: bool) -> Option<NonNull<Page>> {
    let file = OpenOptions::new().read(true).write(true).create_new(make).mode(0o600).open(name).ok()?;
    let length_of_file = libc::off_t::try_from(length).ok()?;
    // SAFETY: the file is open. Its memory is there from now on, so that writing to it cannot fail.
    if make && unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length_of_file) } != 0 {
        return None;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the system chooses.
    let start = unsafe { libc::mmap(core::ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    NonNull::new(start.cast::<Page>()).filter(|_| start != libc::MAP_FAILED)
}

#[cfg(test)]
mod tests {
    use super::{COMINGS, Came, Coming, Gathering, came_to};
    use tare_delay::completion::Moment;
    use tare_format::ids::Ticks;

    const fn moment(at: u64) -> Moment {
        Moment { at: Ticks(at), delay: at.cast_signed() / 2 }
    }

    /// What a process remembers that came to these, the latest last, and what it says of one.
    fn asked(comings: &[(u64, u64)], comm: u64, number: u64) -> Came {
        let first = comings.len().saturating_sub(COMINGS);
        let known = comings.iter().enumerate().skip(first).rev().map(|(at, &(comm, number))| (Gathering { comm, number }, moment(at as u64)));
        came_to(Gathering { comm, number }, known, first == 0)
    }

    #[test]
    fn the_members_of_a_communicator_count_on_it_alone() {
        let comings = [(1, 0), (2, 0), (1, 1), (2, 1), (2, 2)];
        assert_eq!(asked(&comings, 1, 1), Came::At(moment(2)));
        assert_eq!(asked(&comings, 2, 0), Came::At(moment(1)));
        assert_eq!(asked(&comings, 1, 2), Came::NotYet);
        assert_eq!(asked(&comings, 3, 0), Came::NotYet);
    }

    #[test]
    fn who_came_to_many_others_since_is_not_known_to_have_come() {
        let mut comings = vec![(1, 7)];
        comings.extend((0..COMINGS as u64).map(|number| (2, number)));
        assert_eq!(asked(&comings, 1, 7), Came::Unknown);
        assert_eq!(asked(&comings, 2, 0), Came::At(moment(1)));
        assert_eq!(asked(&comings, 2, COMINGS as u64), Came::NotYet);
        assert_eq!(asked(&comings[..COMINGS], 1, 7), Came::At(moment(0)));
    }

    #[test]
    fn an_entry_is_read_as_what_it_was_written_as_alone() {
        // SAFETY: zeros are numbers.
        let entry: Coming = unsafe { core::mem::zeroed() };
        assert_eq!(entry.read(0), None);
        let gathering = Gathering { comm: 3, number: 9 };
        entry.write(700, gathering, moment(5));
        assert_eq!(entry.read(700), Some((gathering, moment(5))));
        assert_eq!(entry.read(700 - COMINGS as u64), None);
    }
}
