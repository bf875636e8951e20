//! Clocks of several machines. Where all processes run on one, its time-stamp counter serves and nothing is done here; otherwise
//! moments travel as nanoseconds of rank 0's system clock ([`tare_delay::clocks`]).
//!
//! A machine is told by the identity of its boot. In `MPI_Init` the lowest rank of each machine exchanges a few round trips with
//! rank 0 and tells the others of its machine what it found. From then on every moment that arrives is held against the own
//! clock: nothing arrives before it was sent. Programs of sessions have no such moment, nor a communicator of all: their members find out
//! whether they share a machine when they meet, and where they do not, the model is left that needs no clock.

use crate::communicators::Comm;
use crate::memory::word;
use crate::session::Session;
use crate::table::Id;
use core::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::collections::HashSet;
use std::sync::OnceLock;
use tare_delay::clocks::{Agreement, difference};
use tare_delay::completion::{Arrivals, Moment};
use tare_format::graph::{DelayModel, MOST_CLOCK_DOUBT_NS};
use tare_format::ids::Ticks;
use tare_runtime::process::{self, ImitatedClock, now};

/// The tag of round trips, on the shadow of `MPI_COMM_WORLD`, where nothing else travels yet.
const TAG: i32 = 1;
/// Round trips with each machine; the shortest counts.
const TRIPS: usize = 32;
/// Ticks between two clocks that were read at once, and how often that is tried.
const AT_ONCE: u64 = 1000;
const READINGS: usize = 8;
/// How fast clocks of machines part that nothing disciplines, at most.
const DRIFT: f64 = 2e-4;

/// How the clock of this process and those of other machines belong together.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Whether processes of other machines take part.
    several: AtomicBool,
    /// What is to be added to the system clock of this machine.
    offset: AtomicI64,
    /// How far that may be wrong.
    doubt: AtomicI64,
    /// The first instant in both clocks: the pace of the counter is known from there.
    first: OnceLock<(Ticks, i64)>,
    imitated: OnceLock<ImitatedClock>,
}

impl Clocks {
    /// Finds out whether there are several machines, and puts their clocks in line; all processes call this.
    pub(crate) fn agree(&self, session: &Session, world: &Comm) -> Option<()> {
        let shadow = world.shadow.filter(|_| world.size > 1)?;
        self.imitate(world.rank);
        self.first.get_or_init(|| self.instant());
        let machine = self.machine(world.rank);
        let extremes = greatest(session, shadow, [machine, !machine])?;
        if extremes[0] == !extremes[1] {
            return Some(());
        }
        // What is said of the others makes no sense until all is done, and nothing is said before.
        let machines = gather(session, shadow, world.size, &[machine])?;
        let mut met = HashSet::from([machines[0]]);
        let mut found = [0_i64; 2];
        for other in (1..machines.len()).filter(|&rank| met.insert(machines[rank])) {
            if world.rank == 0 {
                self.compare(session, shadow, other as i32)?;
            } else if other == usize::try_from(world.rank).ok()? {
                found = self.answer(session, shadow)?;
            }
        }
        let all = gather(session, shadow, world.size, &found)?;
        let mine = machines.iter().position(|other| *other == machine)?;
        self.offset.store(all[2 * mine], Ordering::Relaxed);
        self.several.store(true, Ordering::Relaxed);
        self.doubt(all[2 * mine + 1]);
        Some(())
    }

    /// Processes meet that have sessions alone, so that nobody has put their clocks in line; all of them call this. If they are of several
    /// machines, the clocks are as far apart as they are.
    pub(crate) fn meet(&self, session: &Session, comm: &Comm) -> Option<()> {
        let shadow = comm.shadow?;
        self.imitate(comm.rank);
        let (machine, now) = (self.machine(comm.rank), self.system_ns());
        let extremes = greatest(session, shadow, [machine, !machine, now, -now])?;
        if extremes[0] != !extremes[1] {
            self.doubt(extremes[2] + extremes[3]);
        }
        Some(())
    }

    /// The process of this rank may be one whose clock is imitated.
    fn imitate(&self, rank: i32) {
        if let Some(imitated) = process::imitated_clock().filter(|imitated| i64::from(imitated.rank) == i64::from(rank)) {
            self.imitated.get_or_init(|| imitated);
        }
    }

    /// Names the machine of this process, which has this rank.
    pub(crate) fn machine(&self, rank: i32) -> i64 {
        // Positive, so that it and its complement differ from each other for all machines.
        (boot() ^ self.imitated.get().map_or(0, |_| i64::from(rank) + 1)) & i64::MAX
    }

    /// Rank 0's part of the round trips with another rank: finds the difference and tells it.
    fn compare(&self, session: &Session, shadow: usize, other: i32) -> Option<()> {
        let mut trips = [(0, 0, 0); TRIPS];
        for trip in &mut trips {
            let mut there = [0_i64; 2];
            let sent = self.system_ns();
            send(session, shadow, other, &there)?;
            receive(session, shadow, other, &mut there)?;
            *trip = (sent, there[0], self.system_ns());
        }
        let (offset, doubt) = difference(&trips)?;
        send(session, shadow, other, &[offset, doubt])
    }

    /// The other rank's part.
    fn answer(&self, session: &Session, shadow: usize) -> Option<[i64; 2]> {
        let mut words = [0_i64; 2];
        for _ in 0..TRIPS {
            receive(session, shadow, 0, &mut words)?;
            send(session, shadow, 0, &[self.system_ns(), 0])?;
        }
        receive(session, shadow, 0, &mut words)?;
        Some(words)
    }

    /// Whether processes of other machines take part.
    pub(crate) fn are_several(&self) -> bool {
        self.several.load(Ordering::Relaxed)
    }

    /// Which model there are clocks for.
    pub(crate) fn model(&self, wanted: DelayModel) -> DelayModel {
        let in_doubt = wanted == DelayModel::Virtual && self.doubt.load(Ordering::Relaxed) > MOST_CLOCK_DOUBT_NS.cast_signed();
        if in_doubt { DelayModel::Delay } else { wanted }
    }

    /// A moment of this process as others understand it.
    pub(crate) fn told(&self, own: Moment) -> Moment {
        self.agreement().map_or(own, |agreed| agreed.common(own))
    }

    /// A moment that another process has told.
    pub(crate) fn heard(&self, told: Moment) -> Moment {
        self.after(told.at.0.cast_signed()).map_or(told, |agreed| agreed.own(told))
    }

    /// Several of them.
    pub(crate) fn heard_arrivals(&self, told: Arrivals) -> Arrivals {
        self.after(told.last_sent()).map_or(told, |agreed| agreed.own_arrivals(told))
    }

    /// When something that happened elsewhere by this instant may seem to have happened.
    pub(crate) fn at_the_latest(&self, instant: Ticks) -> Ticks {
        let doubt = self.agreement().map_or(0.0, |agreed| {
            let apart = agreed.ticks.0.saturating_sub(self.first.get().map_or(0, |first| first.0.0)) as f64 * DRIFT;
            self.doubt.load(Ordering::Relaxed) as f64 / agreed.ns_per_tick + apart
        });
        Ticks(instant.0.saturating_add(doubt as u64))
    }

    /// The agreement after something has come here that was sent at a common time.
    fn after(&self, sent: i64) -> Option<Agreement> {
        let agreed = self.agreement()?;
        let ahead = agreed.ahead(sent);
        if ahead == 0 {
            return Some(agreed);
        }
        self.offset.fetch_add(ahead, Ordering::Relaxed);
        self.doubt(ahead);
        self.agreement()
    }

    /// `None` where one clock serves all.
    fn agreement(&self) -> Option<Agreement> {
        let &(first, first_ns) = self.first.get().filter(|_| self.several.load(Ordering::Relaxed))?;
        let (ticks, ns) = self.instant();
        let ns_per_tick = (ns - first_ns) as f64 / ticks.0.saturating_sub(first.0).max(1) as f64;
        Some(Agreement { ticks, common_ns: ns + self.offset.load(Ordering::Relaxed), ns_per_tick })
    }

    /// Clocks may be wrong by at least so much.
    fn doubt(&self, ns: i64) {
        if self.doubt.fetch_max(ns, Ordering::Relaxed) < ns {
            process::note_clock_doubt(ns.unsigned_abs());
        }
    }

    /// One instant in both clocks of this machine. A thread that is interrupted between them reads them again.
    fn instant(&self) -> (Ticks, i64) {
        let mut closest = (u64::MAX, Ticks(0), 0);
        for _ in 0..READINGS {
            let (before, ns) = (now(), self.system_ns());
            let between = now().0.saturating_sub(before.0);
            if between < closest.0 {
                closest = (between, Ticks(before.0 + between / 2), ns);
            }
            if between < AT_ONCE {
                break;
            }
        }
        (closest.1, closest.2)
    }

    /// The system clock of this machine, in nanoseconds.
    fn system_ns(&self) -> i64 {
        let ns = process::monotonic_ns().cast_signed();
        self.imitated.get().map_or(ns, |imitated| ns + imitated.ahead_ns + ns / 1_000_000 * i64::from(imitated.ppm))
    }
}

/// The greatest of all processes' words.
fn greatest<const N: usize>(session: &Session, shadow: usize, mine: [i64; N]) -> Option<[i64; N]> {
    let mut all = [0_i64; N];
    let (int64, max) = (session.handles.int64, session.handles.max);
    session.ask(Id::MPI_Allreduce, [mine.as_ptr() as usize, all.as_mut_ptr() as usize, N, int64, max, shadow])?;
    Some(all)
}

/// Words of all processes, in the order of their ranks.
pub(crate) fn gather(session: &Session, shadow: usize, size: i32, mine: &[i64]) -> Option<Vec<i64>> {
    let mut all = vec![0_i64; mine.len() * usize::try_from(size).ok()?];
    let int64 = session.handles.int64;
    let (from, to) = (mine.as_ptr() as usize, all.as_mut_ptr() as usize);
    session.ask(Id::MPI_Allgather, [from, mine.len(), int64, to, mine.len(), int64, shadow])?;
    Some(all)
}

fn send(session: &Session, shadow: usize, to: i32, words: &[i64; 2]) -> Option<()> {
    session.ask(Id::MPI_Send, [words.as_ptr() as usize, words.len(), session.handles.int64, word(to), word(TAG), shadow])
}

fn receive(session: &Session, shadow: usize, from: i32, words: &mut [i64; 2]) -> Option<()> {
    let (to, int64) = (words.as_mut_ptr() as usize, session.handles.int64);
    session.ask(Id::MPI_Recv, [to, words.len(), int64, word(from), word(TAG), shadow, session.abi.status_ignore])
}

/// Tells machines, and their boots, from each other.
fn boot() -> i64 {
    let text = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // FNV-1a (Fowler, Noll, Vo), of 64 bits.
    text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)).cast_signed()
}
