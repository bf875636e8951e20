//! The threads of a parallel region of OpenMP: all begin because of who forks them, meet at barriers, and who has forked them goes on when all
//! are done.

use crate::operations::Operation;
use crate::phases::{Joined, Phases};
use crate::wait::{Awaited, Wait, moment, waited_here};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tare_delay::completion::{Arrivals, Moment};
use tare_runtime::process::{count_uncovered, now};
use tare_runtime::wrapper::known_thread;

/// A team.
#[derive(Debug)]
pub(crate) struct Team {
    /// When it was forked.
    fork: Moment,
    phases: Phases,
    /// When its members were done, or came to a barrier last.
    done: Joined,
    /// Whether there have been explicit tasks, which members do while they wait.
    has_tasks: AtomicBool,
}

/// Where a thread is: its team, null where it is in none that is known, and how many barriers of that it has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    team: *const Team,
    phase: u64,
}

impl Place {
    pub(crate) const NONE: Self = Self { team: core::ptr::null(), phase: 0 };
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::NONE) };
    /// When the thread was done with its part, or came to a barrier last.
    static DONE: Cell<Option<Moment>> = const { Cell::new(None) };
    /// Whether the thread waits for its team, or for the next one.
    static AWAITS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread waits for others of its team, or for the next one: what the library waits by is no wait of the program's.
pub(crate) fn awaits_team() -> bool {
    AWAITS.get()
}

/// The calling thread waits no longer.
fn goes_on() {
    AWAITS.set(false);
    if let Some(thread) = known_thread() {
        thread.goes_on();
    }
}

impl Team {
    /// A team that is forked at this moment.
    pub(crate) const fn new(fork: Moment) -> Self {
        Self { fork, phases: Phases::new(), done: Joined::new(), has_tasks: AtomicBool::new(false) }
    }

    /// The calling thread begins its part: who has not forked the team was idle since it was done the last time. Returns where the thread was.
    pub(crate) fn enter(&self, is_own: bool) -> Place {
        let before = go_to(Place { team: self, phase: 0 });
        goes_on();
        if let Some(since) = DONE.take().filter(|_| !is_own) {
            waited_here(since, now(), &Arrivals::one(self.fork));
        }
        before
    }

    /// The calling thread is done with its part, or comes to a barrier that may be its end.
    pub(crate) fn done(&self, here: Moment) {
        self.done.come(here);
        DONE.set(Some(here));
        AWAITS.set(true);
        if let Some(thread) = known_thread() {
            thread.comes_to_wait(here);
        }
    }

    /// What who has forked the team waits for.
    pub(crate) fn awaited(&self) -> Awaited {
        if self.has_tasks.load(Relaxed) { Awaited::Unknown } else { Awaited::Came(self.done.came()) }
    }
}

/// The calling thread is somewhere else now; says where it was.
pub(crate) fn go_to(place: Place) -> Place {
    PLACE.replace(place)
}

/// Who has forked a team goes on, and has waited since its own part was done.
pub(crate) fn joined(team: &Team, wait: Wait) {
    let end = now();
    goes_on();
    let since = DONE.take().unwrap_or_else(|| wait.begun());
    wait.end_since(since, end, team.awaited());
}

/// A member makes a task.
pub(crate) fn makes_task() {
    if let Some((_, team)) = own_team() {
        team.has_tasks.store(true, Relaxed);
    }
}

/// A member at a barrier.
#[derive(Debug)]
pub(crate) struct AtBarrier {
    place: Place,
    here: Moment,
    /// Its region, where it has one.
    wait: Option<Wait>,
}

impl AtBarrier {
    /// Comes to a barrier that is a region of its own. `None` where the thread is in no team that is known.
    pub(crate) fn come() -> Option<Self> {
        let (place, team) = own_team()?;
        let wait = Wait::begin(Operation::TeamBarrier);
        let here = wait.as_ref().map_or_else(moment, Wait::begun);
        team.phases.come(place.phase, here);
        AWAITS.set(true);
        Some(Self { place, here, wait })
    }

    /// Comes to a barrier that turns out to be one when it is left; else it was the end of the thread's part.
    pub(crate) fn come_perhaps() -> Option<Self> {
        let (place, team) = own_team()?;
        let here = moment();
        team.phases.come(place.phase, here);
        team.done(here);
        Some(Self { place, here, wait: None })
    }

    /// Leaves it.
    pub(crate) fn leave(self) {
        let end = now();
        goes_on();
        // SAFETY: as in `own_team`.
        let Some(team) = (unsafe { self.place.team.as_ref() }) else { return };
        let came = team.phases.came(self.place.phase);
        let has_tasks = team.has_tasks.load(Relaxed);
        match self.wait {
            Some(wait) => _ = wait.end(end, if has_tasks { Awaited::Unknown } else { Awaited::Came(came) }),
            None if has_tasks => count_uncovered(1),
            None => waited_here(self.here, end, &came),
        }
        PLACE.set(Place { phase: self.place.phase + 1, ..self.place });
    }
}

fn own_team() -> Option<(Place, &'static Team)> {
    let place = PLACE.get();
    // SAFETY: the team of a thread lives as long as the thread is in it.
    unsafe { place.team.as_ref() }.map(|team| (place, team))
}
