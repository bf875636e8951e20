//! The delay of a rank under each way to compensate, side by side while a program is executed measured.

use crate::settings::Belief;
use tare_delay::completion::{Arrivals, Moment, complete, complete_exactly};
use tare_delay::polling::Polls;
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// A way to compensate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// Each rank's own overhead, nothing else (paper 4).
    Local,
    /// The delay model (paper 1).
    Delay,
    /// The virtual-time model in its closed form.
    Virtual,
    /// The same with the least delay that costs and collectives allow: the upper end of the interval of times.
    Least,
    /// With the most delay: the lower end. Both hold also what the closed form is off where messages take longer than receives
    /// cost: of the delay that it finds and that of the exact form, the one that is further out.
    Most,
    /// The virtual-time model in its exact form, which knows what messages and receives cost.
    Exact,
}

impl Lane {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 6] = [Self::Local, Self::Delay, Self::Virtual, Self::Least, Self::Most, Self::Exact];
    /// Those that follow from the arrivals of messages alone.
    const CLOSED: [(Self, DelayModel); 4] = [
        (Self::Delay, DelayModel::Delay),
        (Self::Virtual, DelayModel::Virtual),
        (Self::Least, DelayModel::Virtual),
        (Self::Most, DelayModel::Virtual),
    ];
}

/// Delays in picoseconds, by [`Lane`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lanes([i64; Lane::ALL.len()]);

/// A rank at a moment of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) at: u64,
    pub(crate) lanes: Lanes,
}

impl Stamp {
    pub(crate) fn moment(&self, lane: Lane) -> Moment {
        Moment { at: Ticks(self.at), delay: self.lanes.get(lane) }
    }
}

/// What an operation waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    /// When everything is there.
    pub(crate) available: u64,
    /// The same in virtual time.
    available_virtually: i64,
    /// Between which virtual times a tool knows that to be, who knows what messages cost: as [`Lane::Most`] has it,
    earliest: i64,
    /// and as [`Lane::Least`] has it.
    latest: i64,
    /// What the closed forms know of it.
    arrivals: [Arrivals; Lane::CLOSED.len()],
}

impl Awaited {
    pub(crate) const NOTHING: Self =
        Self { available: 0, available_virtually: i64::MIN, earliest: i64::MIN, latest: i64::MIN, arrivals: [Arrivals::NONE; Lane::CLOSED.len()] };

    /// Something that another rank does, and that has its effect `lag` later.
    pub(crate) fn from_other(other: &Stamp, lag: u64) -> Self {
        let arrivals = Lane::CLOSED.map(|(lane, _)| Arrivals::one(other.moment(lane)));
        Self { arrivals, ..Self::from_self(other, lag) }
    }

    /// Something that the rank itself did earlier.
    pub(crate) fn from_self(own: &Stamp, lag: u64) -> Self {
        let virtually = |lane| own.moment(lane).virtual_time() + lag.cast_signed();
        Self {
            available: own.at + lag,
            available_virtually: virtually(Lane::Exact),
            earliest: virtually(Lane::Most),
            latest: virtually(Lane::Least),
            arrivals: Self::NOTHING.arrivals,
        }
    }

    pub(crate) fn join(self, other: Self) -> Self {
        let mut arrivals = self.arrivals;
        arrivals.iter_mut().zip(other.arrivals).for_each(|(mine, theirs)| *mine = mine.join(theirs));
        Self {
            available: self.available.max(other.available),
            available_virtually: self.available_virtually.max(other.available_virtually),
            earliest: self.earliest.max(other.earliest),
            latest: self.latest.max(other.latest),
            arrivals,
        }
    }

    /// The same so much later.
    pub(crate) fn later(self, lag: u64) -> Self {
        if self.available_virtually == i64::MIN {
            return self;
        }
        let later = |time: i64| time.saturating_add_unsigned(lag);
        Self {
            available: self.available + lag,
            available_virtually: later(self.available_virtually),
            earliest: later(self.earliest),
            latest: later(self.latest),
            ..self
        }
    }

    /// The same moment at which it is there, with what a tool knows from elsewhere.
    pub(crate) fn knowing(self, semantic: &Self) -> Self {
        Self { available: self.available, available_virtually: self.available_virtually, ..*semantic }
    }

    /// The same where the operation, which ended at `end`, may also have waited for `possible`, whose effect was there at most `lag` later.
    pub(crate) fn perhaps(mut self, possible: &Possible, lag: u64, end: u64) -> Self {
        for ((lane, _), (mine, theirs)) in Lane::CLOSED.iter().zip(self.arrivals.iter_mut().zip(possible.awaited.arrivals)) {
            match lane {
                Lane::Least => *mine = mine.least(theirs),
                Lane::Most => *mine = mine.most(theirs),
                _ => {}
            }
        }
        // All effects were there at the end: unmeasured they would have been by the least delay of all earlier. Where one of them made
        // the end, that would not have been earlier by more than the greatest.
        let is_made = self.available == end;
        let end = end.cast_signed();
        self.latest = self.latest.max(possible.awaited.later(lag).latest.min(end - possible.least));
        if is_made {
            self.earliest = self.earliest.max(end - possible.most);
        }
        self
    }
}

/// Those whom an operation may have waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Possible {
    pub(crate) awaited: Awaited,
    /// The least of their delays, as [`Lane::Least`] has it.
    least: i64,
    /// The greatest one, as [`Lane::Most`] has it.
    most: i64,
}

impl Possible {
    pub(crate) const NOBODY: Self = Self { awaited: Awaited::NOTHING, least: i64::MAX, most: i64::MIN };

    pub(crate) fn join(self, other: &Stamp) -> Self {
        Self {
            awaited: self.awaited.join(Awaited::from_other(other, 0)),
            least: self.least.min(other.lanes.get(Lane::Least)),
            most: self.most.max(other.lanes.get(Lane::Most)),
        }
    }
}

/// An operation that waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) begin: u64,
    /// What it would have cost had everything been there.
    pub(crate) cost: u64,
    pub(crate) end: u64,
}

/// A loop of questions that ended with an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) begin: u64,
    pub(crate) cost: u64,
    /// Work between questions.
    pub(crate) every: u64,
    /// Overhead between questions.
    pub(crate) overhead: u64,
    pub(crate) believed: Belief,
    /// Questions that failed.
    pub(crate) failed: u64,
}

impl Asked {
    fn pace(&self) -> u64 {
        self.cost + self.every + self.overhead
    }

    /// Questions that fail before something is there that is available so long after the first one began.
    pub(crate) fn failures(&self, missing: u64) -> u64 {
        missing.div_ceil(self.pace().max(1))
    }

    /// When the last question begins.
    pub(crate) fn last(&self) -> u64 {
        self.begin + self.failed * self.pace()
    }
}

impl Lanes {
    pub(crate) fn get(&self, lane: Lane) -> i64 {
        self.0[lane as usize]
    }

    /// Overhead of which the tool believes that it was as much.
    pub(crate) fn overhead(&mut self, believed: Belief) {
        for lane in Lane::ALL {
            let ticks = match lane {
                Lane::Least => believed.low,
                Lane::Most => believed.high,
                _ => believed.value,
            };
            self.0[lane as usize] += ticks.round() as i64;
        }
    }

    /// The rank waited.
    pub(crate) fn wait(&mut self, waited: &Waited, awaited: &Awaited) {
        let before = Stamp { at: waited.begin, lanes: *self };
        for ((lane, model), arrivals) in Lane::CLOSED.into_iter().zip(&awaited.arrivals) {
            self.0[lane as usize] = complete(model, before.moment(lane), Ticks(waited.end), arrivals).delay;
        }
        let timed = |lane, available| complete_exactly(before.moment(lane), Ticks(waited.end), waited.cost, available).delay;
        self.0[Lane::Exact as usize] = timed(Lane::Exact, awaited.available_virtually);
        self.reach(timed(Lane::Least, awaited.latest), timed(Lane::Most, awaited.earliest));
    }

    /// The rank asked again and again.
    pub(crate) fn ask(&mut self, asked: &Asked, awaited: &Awaited) {
        let before = Stamp { at: asked.begin, lanes: *self };
        (0..asked.failed).for_each(|_| self.overhead(asked.believed));
        let (at, end) = (asked.last(), asked.last() + asked.cost);
        for ((lane, model), arrivals) in Lane::CLOSED.into_iter().zip(&awaited.arrivals) {
            let begin = Moment { at: Ticks(at), delay: self.get(lane) };
            self.0[lane as usize] = if model == DelayModel::Virtual && !arrivals.is_empty() {
                let answered = asked.polls(&before, lane, begin).answered(begin, arrivals);
                begin.at.0.cast_signed() - answered
            } else {
                complete(model, begin, Ticks(end), arrivals).delay
            };
        }
        // Between the moment at which it is there and the first question from then on lies less than a round.
        let round = (asked.cost + asked.every).cast_signed();
        let answered = |lane, available: i64| before.moment(lane).virtual_time().max(available);
        let least = at.cast_signed() - answered(Lane::Least, awaited.latest.saturating_add(round));
        self.reach(least, at.cast_signed() - answered(Lane::Most, awaited.earliest));
        let virtually = Asked { begin: 0, overhead: 0, ..*asked };
        let begin = before.moment(Lane::Exact).virtual_time();
        let missing = u64::try_from(awaited.available_virtually.saturating_sub(begin)).unwrap_or(0);
        let failed = virtually.failures(missing);
        let answered = begin + (Asked { failed, ..virtually }).last().cast_signed();
        self.0[Lane::Exact as usize] = at.cast_signed() - answered;
    }

    /// The delay may also be as low, or as high, and is never out of what it may be.
    fn reach(&mut self, least: i64, most: i64) {
        let closed = self.get(Lane::Virtual);
        let [low, high] = [Lane::Least, Lane::Most].map(|lane| lane as usize);
        self.0[low] = self.0[low].min(least).min(closed);
        self.0[high] = self.0[high].max(most).max(closed);
    }
}

impl Asked {
    /// The questions that failed, as a lane saw them.
    fn polls(&self, before: &Stamp, lane: Lane, last: Moment) -> Polls {
        let mut polls = Polls::NONE;
        let delays = i128::from(last.delay - before.lanes.get(lane));
        for number in 0..self.failed {
            let delay = before.lanes.get(lane) + (delays * i128::from(number) / i128::from(self.failed)) as i64;
            polls.failed(Moment { at: Ticks(self.begin + number * self.pace()), delay });
        }
        polls
    }
}
