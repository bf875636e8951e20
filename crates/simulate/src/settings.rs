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
    /// How well the tool knows it: the half-width of its 95 % interval, in thousandths of a percent of the cost.
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
    /// A belief that is as far off as its interval says, where `normal` is a number of the standard normal distribution.
    pub(crate) fn belief(&self, normal: f64) -> Belief {
        let (cost, reach) = (self.cost as f64, self.cost as f64 * self.within as f64 / 100_000.0);
        let value = (cost + normal * reach / 1.96).max(0.0);
        Belief { low: (value - reach).max(0.0), value, high: value + reach }
    }
}
