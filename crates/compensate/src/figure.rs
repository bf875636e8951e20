//! A figure with its interval, and how uncertainties add up.

use crate::cost::{Counting, ProbeCost};
use tare_delay::cost::LESS;

/// A value with the ends of its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figure {
    /// The value that fits best, never outside of its interval.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Why it is not to be trusted, if so.
    pub mark: Option<Mark>,
}

impl Figure {
    /// A figure that was read rather than estimated.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value, mark: None }
    }

    /// The larger distance from the value to an end.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.value - self.low).max(self.high - self.value)
    }

    /// A value that was moved within the spread around where it had been. A time that is not negative
    /// cannot have been negative.
    pub(crate) fn with_spread(value: f64, moved: f64, spread: &Spread, mark: Option<Mark>) -> Self {
        let low = (value - moved - spread.below()).min(value);
        let low = if value >= 0.0 { low.max(0.0) } else { low };
        Self { value, low, high: (value - moved + spread.above()).max(value), mark }
    }

    /// The same, marked where nothing else marks it and it is less than how far it may be off.
    pub(crate) fn marked_if_wide(self) -> Self {
        let is_wide = self.half_width() > self.value;
        Self { mark: self.mark.or(is_wide.then_some(Mark::UncertaintyExceedsTime)), ..self }
    }

    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor, mark: self.mark }
    }
}

/// Why a figure is not to be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// What was taken off is more than what was measured, by more than its uncertainty.
    OverheadExceedsTime,
    /// The uncertainty of what was taken off is larger than what is left.
    OverheadHidesTime,
    /// Its uncertainty is larger than itself, as where few of many calls were timed.
    UncertaintyExceedsTime,
    /// All calls so far were in batches that were off: its time stands in its caller's.
    NeverOn,
    /// It was open when the file was read, and its time is not yet whole.
    StillOpen,
    /// The calls that were timed took longer than all of them can have taken: the time is what there was.
    TimedCallsExceed,
    /// The delays that were sent with messages rest on costs that turned out to be others.
    DelaysAstray,
    /// The figure of a region below it is marked, so that the sum of those below stands for it.
    ChildExceeds,
    /// It has calls beyond the limit of call paths, where nobody knows what they called.
    BeyondLimit,
    /// What it calls led back to a region above, at which the time of those calls stands.
    LedBack,
}

impl Mark {
    /// Whether the true value may lie outside of the interval, too.
    pub(crate) fn doubts_interval(self) -> bool {
        matches!(self, Self::OverheadExceedsTime | Self::DelaysAstray | Self::BeyondLimit)
    }

    /// Whether it is the width of the interval that makes it so.
    pub(crate) fn is_of_width(self) -> bool {
        matches!(self, Self::OverheadHidesTime | Self::UncertaintyExceedsTime)
    }

    /// The reason in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::OverheadExceedsTime => "the overhead taken off exceeds the time measured",
            Self::OverheadHidesTime | Self::UncertaintyExceedsTime => "the uncertainty exceeds the time itself",
            Self::NeverOn => "all calls were in batches that were off",
            Self::StillOpen => "the region was open when the run was read",
            Self::TimedCallsExceed => "its timed calls took longer than all of them can have taken",
            Self::DelaysAstray => "delays were sent with messages before the cost of probes was known",
            Self::ChildExceeds => "a region below it is not to be trusted",
            Self::BeyondLimit => "it has calls beyond the limit of call paths, without the time of what they called",
            Self::LedBack => "calls led back to a region above it, where their time stands: the interval has that in it",
        }
    }
}

/// How far a value may be off. What is independent adds in squares, what is common to all adds up.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Spread {
    common_below: f64,
    common_above: f64,
    squares_below: f64,
    squares_above: f64,
}

impl Spread {
    /// Adds an uncertainty that goes the same way in all places.
    pub(crate) fn add_common(&mut self, below: f64, above: f64) {
        self.common_below += below.max(0.0);
        self.common_above += above.max(0.0);
    }

    /// Adds an uncertainty of its own.
    pub(crate) fn add_own(&mut self, below: f64, above: f64) {
        self.squares_below += below.max(0.0).powi(2);
        self.squares_above += above.max(0.0).powi(2);
    }

    /// Adds the uncertainty of `factor` times a cost. Where probes stand close together each costs more, or less, than one that is switched off
    /// alone says, and so do the others around it: what was measured in place is off the same way in all places, as what was not. Where
    /// it is known what all cost together, that holds as far as that may be off.
    pub(crate) fn add_cost(&mut self, factor: f64, cost: &ProbeCost) {
        let common = (factor * (cost.value - cost.common.low), factor * (cost.common.high - cost.value));
        let own = (factor * (cost.common.low - cost.low), factor * (cost.high - cost.common.high));
        if factor < 0.0 {
            self.add_common(-common.1, -common.0);
            self.add_own(-own.1, -own.0);
        } else {
            self.add_common(common.0, common.1);
            self.add_own(own.0, own.1);
        }
    }

    /// Adds the uncertainty of what counting cost, for a time from which that is taken: how much of it the processor hides, which is no chance,
    /// and alike on all paths. Code around it may even be faster with it.
    pub(crate) fn add_counting(&mut self, counting: Counting) {
        self.add_common(counting.high - counting.value, counting.value * (1.0 + LESS));
    }

    /// Adds the uncertainty of another value that is part of this one.
    pub(crate) fn add(&mut self, other: &Self) {
        self.common_below += other.common_below;
        self.common_above += other.common_above;
        self.squares_below += other.squares_below;
        self.squares_above += other.squares_above;
    }

    pub(crate) fn below(&self) -> f64 {
        self.common_below + self.squares_below.sqrt()
    }

    pub(crate) fn above(&self) -> f64 {
        self.common_above + self.squares_above.sqrt()
    }
}
