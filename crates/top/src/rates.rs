//! What changed from one reading to a later one.

use std::collections::{HashMap, VecDeque};

use crate::snapshot::{RegionNow, Snapshot, Wait};

/// Seconds over which rates are taken.
const WINDOW_S: f64 = 5.0;
/// Shares of the past that are drawn.
const HISTORY: usize = 12;

/// The latest readings.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    latest: Snapshot,
    /// Older ones, the oldest first: what rates need of them.
    past: VecDeque<Past>,
    /// Outside of MPI, waiting and MPI at work, as shares of the time between readings.
    pub(crate) history: VecDeque<[f64; 3]>,
}

/// What rates need of a reading.
#[derive(Debug)]
struct Past {
    at_s: f64,
    all_s: f64,
    events: u64,
    classes: [f64; 3],
    own: HashMap<u64, Change>,
    places: HashMap<u64, u64>,
    messages: HashMap<u64, u64>,
}

/// Time and calls.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    seconds: f64,
    calls: u64,
    /// Compensated exclusive seconds, of regions.
    own_s: f64,
    wait: Wait,
}

/// Rates since an older reading.
pub(crate) struct Rates<'a> {
    readings: &'a Readings,
    past: Option<&'a Past>,
}

impl Readings {
    pub(crate) fn latest(&self) -> &Snapshot {
        &self.latest
    }

    pub(crate) fn add(&mut self, snapshot: Snapshot) {
        let before = std::mem::replace(&mut self.latest, snapshot);
        if before.about.at_s > 0.0 {
            self.past.push_back(Past::of(&before));
        }
        while self.past.len() > 1 && self.latest.about.at_s - self.past[1].at_s >= WINDOW_S {
            self.past.pop_front();
        }
        let now = classes(&self.latest);
        if let Some(last) = self.past.back().filter(|last| self.latest.all_s > last.all_s) {
            let all = self.latest.all_s - last.all_s;
            let shares = [0, 1, 2].map(|class| ((now[class] - last.classes[class]) / all).clamp(0.0, 1.0));
            self.history.push_back(shares);
            if self.history.len() > HISTORY {
                self.history.pop_front();
            }
        }
    }

    pub(crate) fn rates(&self) -> Rates<'_> {
        Rates { readings: self, past: self.past.front() }
    }
}

fn classes(snapshot: &Snapshot) -> [f64; 3] {
    let classes = &snapshot.classes;
    [classes.useful_s, classes.waiting_s, classes.messages_s]
}

impl Past {
    fn of(snapshot: &Snapshot) -> Self {
        let of_region = |region: &RegionNow| Change { seconds: region.measured_s, calls: region.calls, own_s: region.own.value, wait: region.wait };
        let regions = snapshot.regions.iter().map(|region| (region.key, of_region(region)));
        let paths = snapshot.paths.iter().map(|path| (path.key, Change { seconds: path.measured_s, calls: path.calls, ..Change::default() }));
        Self {
            at_s: snapshot.about.at_s,
            all_s: snapshot.all_s,
            events: snapshot.events,
            classes: classes(snapshot),
            own: paths.chain(regions).collect(),
            places: snapshot.places.iter().map(|place| (place.key, place.events)).collect(),
            messages: snapshot.pairs.iter().map(|pair| (pair.key, pair.messages)).collect(),
        }
    }
}

impl Rates<'_> {
    /// Seconds between the two readings; `None` where there is one alone, or the run is over.
    fn seconds(&self) -> Option<f64> {
        let latest = self.readings.latest();
        self.past.map(|past| latest.about.at_s - past.at_s).filter(|&seconds| seconds > 0.0 && !latest.is_over())
    }

    /// The part of all threads' time that went to a region or path meanwhile.
    pub(crate) fn share(&self, key: u64, seconds: f64) -> Option<f64> {
        self.seconds()?;
        let past = self.past?;
        let all = self.readings.latest().all_s - past.all_s;
        let before = past.own.get(&key).map_or(0.0, |change| change.seconds);
        (all > 0.0).then(|| ((seconds - before) / all).max(0.0))
    }

    /// Calls a second.
    pub(crate) fn calls(&self, key: u64, calls: u64) -> Option<f64> {
        let before = self.past?.own.get(&key).map_or(0, |change| change.calls);
        Some(calls.saturating_sub(before) as f64 / self.seconds()?)
    }

    /// The part of a region's time that was waiting, both as measured or both compensated.
    pub(crate) fn waiting(&self, region: &RegionNow, is_measured: bool) -> Option<f64> {
        self.seconds()?;
        let before = self.past?.own.get(&region.key).copied().unwrap_or_default();
        let passed = if is_measured { region.measured_s - before.seconds } else { region.own.value - before.own_s };
        let waited = region.wait.shown(is_measured) - before.wait.shown(is_measured);
        (passed > 0.0).then(|| (waited / passed).clamp(0.0, 1.0))
    }

    /// Events of a thread a second.
    pub(crate) fn events_of(&self, key: u64, events: u64) -> Option<f64> {
        let before = self.past?.places.get(&key).copied().unwrap_or(0);
        Some(events.saturating_sub(before) as f64 / self.seconds()?)
    }

    /// Messages of a pair a second.
    pub(crate) fn messages(&self, key: u64, messages: u64) -> Option<f64> {
        let before = self.past?.messages.get(&key).copied().unwrap_or(0);
        Some(messages.saturating_sub(before) as f64 / self.seconds()?)
    }

    /// Events a second.
    pub(crate) fn events(&self) -> Option<f64> {
        Some(self.readings.latest().events.saturating_sub(self.past?.events) as f64 / self.seconds()?)
    }
}
