//! Ticks of a process: what they are in seconds, and which of them are its run.

/// Ticks to seconds and to core cycles.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clock {
    /// Length of a tick; 0 where the clock was never read twice.
    pub seconds_per_tick: f64,
    /// Ticks a core cycle takes, as dependent additions measured it.
    pub ticks_per_cycle: Option<f64>,
}

impl Clock {
    /// Whether ticks can be turned into seconds.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.seconds_per_tick > 0.0
    }

    /// Seconds that a number of ticks takes.
    #[must_use]
    pub fn seconds(&self, ticks: f64) -> f64 {
        ticks * self.seconds_per_tick
    }

    /// The ticks of so many seconds; none where the clock is not known.
    #[must_use]
    pub fn ticks(&self, seconds: f64) -> f64 {
        if self.is_known() { seconds / self.seconds_per_tick } else { 0.0 }
    }

    /// Core cycles in a second, where measured.
    #[must_use]
    pub fn core_hertz(&self) -> Option<f64> {
        self.ticks_per_cycle.filter(|_| self.is_known()).map(|ticks| 1.0 / (ticks * self.seconds_per_tick))
    }
}

/// The stretch of a process that counts as its run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// Tick of its begin.
    pub start: u64,
    /// Tick of its end; of the last sign of life where it did not come to its end.
    pub end: u64,
    /// Whether the end was reached.
    pub closed: bool,
    /// Delay at its begin, ticks.
    pub start_delay: i64,
    /// Delay at its end, ticks; meaningless unless `closed`.
    pub end_delay: i64,
}

impl Span {
    /// Its length in ticks.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}
