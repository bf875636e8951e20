//! Random numbers that a seed determines, the same on every machine (SplitMix64).

/// A stream of random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from nothing to below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number between two, both included; `None` where they are in the wrong order.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> Option<i64> {
        let width = high.checked_sub(low).filter(|width| *width >= 0)?.cast_unsigned();
        Some(low + self.below(width + 1).cast_signed())
    }

    /// A number of the standard normal distribution (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let (radius, angle) = (uniform(self.bits()), uniform(self.bits()));
        (-2.0 * radius.ln()).sqrt() * (core::f64::consts::TAU * angle).cos()
    }
}
