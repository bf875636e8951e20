//! The machine on which a program is simulated.

/// What communication and measuring cost. Times are picoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Processes.
    pub ranks: u32,
    /// What random numbers follow from.
    pub seed: u64,
    /// ℓ: from sending to being there, for an empty message.
    pub latency: u64,
    /// What each byte adds to it.
    pub per_byte: u64,
    /// What a send costs the sender.
    pub send: u64,
    /// c: what it costs to receive a message that is there.
    pub receive: u64,
    /// Messages beyond this many bytes wait for their receiver.
    pub rendezvous: u64,
    /// What the tool's wrapper adds to each call of MPI in the measured execution, and what it believes that is.
    pub wrapper: u64,
    /// What a pair of probes costs in regions without a figure of their own.
    pub probe: Probe,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ranks: 2,
            seed: 1,
            latency: 1_000_000,
            per_byte: 100,
            send: 200_000,
            receive: 300_000,
            rendezvous: 65_536,
            wrapper: 0,
            probe: Probe::default(),
        }
    }
}

/// What a pair of probes costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Picoseconds, in truth.
    pub cost: u64,
    /// How well the tool knows it on a rank: the half-width of its 95 % interval there, in thousandths of a percent of the cost.
    pub within: u64,
}

impl Default for Probe {
    fn default() -> Self {
        Self { cost: 20_000, within: 0 }
    }
}

/// What the tool believes a pair of probes costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Belief {
    pub(crate) low: f64,
    pub(crate) value: f64,
    pub(crate) high: f64,
}

impl Probe {
    /// Whether the tool may be wrong.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.within > 0 && self.cost > 0
    }

    /// A belief that is as far off as its interval says, where `normal` is a number of the standard normal distribution; its own
    /// interval reaches so many standard deviations.
    pub(crate) fn belief(&self, normal: f64, deviations: f64) -> Belief {
        let (cost, deviation) = (self.cost as f64, self.cost as f64 * self.within as f64 / 100_000.0 / deviations_of(1));
        let value = (cost + normal * deviation).max(0.0);
        let reach = deviations * deviation;
        Belief { low: (value - reach).max(0.0), value, high: value + reach }
    }
}

/// How many standard deviations the intervals of so many independent figures have to reach for 95 % of cases to have all
/// truths in them at once (Šidák): 1.96 of one figure.
pub(crate) fn deviations_of(figures: u64) -> f64 {
    let beyond = -(0.95_f64.ln() / figures.max(1) as f64).exp_m1();
    // More of the normal distribution lies beyond `inside`, less beyond `outside`.
    let (mut inside, mut outside) = (0.0, 16.0);
    for _ in 0..60 {
        let middle: f64 = f64::midpoint(inside, outside);
        if libm::erfc(middle / core::f64::consts::SQRT_2) > beyond { inside = middle } else { outside = middle }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::deviations_of;

    #[test]
    fn many_figures_need_further_reach() {
        let known = [(1, 1.959_964), (2, 2.236_477), (100, 3.474_240), (1000, 4.049_670)];
        for (figures, deviations) in known {
            assert!((deviations_of(figures) - deviations).abs() < 1e-3, "{figures}: {}", deviations_of(figures));
        }
    }
}
