//! What the user allows, and what a probe costs: the two numbers that a budget is made of.

use std::fmt;
use std::str::FromStr;

/// How much longer probes may make a run, as a fraction.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Budget(f64);

impl Budget {
    /// What is allowed where nothing is said: 2 %.
    pub const DEFAULT: Self = Self(0.02);

    /// The fraction.
    #[must_use]
    pub const fn fraction(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fractions such as 0.07 are not exact in binary: nobody asks for more digits than these.
        write!(f, "{} %", (self.0 * 1e8).round() / 1e6)
    }
}

/// Words that are no budget.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is no budget: expected a percentage above 0 and up to 1000, such as 2%")]
pub struct NoBudget {
    /// The words.
    pub text: String,
}

impl FromStr for Budget {
    type Err = NoBudget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A number alone might be taken for a fraction.
        let number = text.trim().strip_suffix('%').map(str::trim).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
        let percent = number.and_then(|number| number.parse::<f64>().ok()).filter(|percent| *percent > 0.0 && *percent <= 1000.0);
        percent.map(|percent| Self(percent / 100.0)).ok_or_else(|| NoBudget { text: text.to_string() })
    }
}

/// What a pair of probes, entry and exit, takes beside a short function, in core cycles. Around long functions the
/// processor hides a part of it, so that a budget that holds with this figure holds.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct ProbeCost(f64);

impl ProbeCost {
    /// What is taken for it before a run has measured it: two readings of the clock, behind which the rest hides.
    pub const DEFAULT: Self = Self(75.0);

    /// A measured figure; `None` for one that no processor has.
    #[must_use]
    pub fn measured(cycles: f64) -> Option<Self> {
        (1.0..=10_000.0).contains(&cycles).then_some(Self(cycles))
    }

    /// Core cycles.
    #[must_use]
    pub const fn cycles(self) -> f64 {
        self.0
    }

    /// Core cycles of a pair that only counts: clocks take the rest of it (2 to 4 of 16 ns remain in a hot loop).
    #[must_use]
    pub fn counting(self) -> f64 {
        self.0 / 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn a_budget_is_a_percentage() {
        for (text, fraction, shown) in [("2%", 0.02, "2 %"), (" 0.5 % ", 0.005, "0.5 %"), ("7%", 0.07, "7 %"), ("1000%", 10.0, "1000 %")] {
            let budget: Budget = text.parse().expect("a budget");
            assert!((budget.fraction() - fraction).abs() < 1e-12);
            assert_eq!(budget.to_string(), shown);
        }
        for text in ["", "%", "two", "-1%", "0%", "2", "0.02", "1e2%", "+1%", "nan", "inf%", "1001%", "2%%"] {
            let error = text.parse::<Budget>().expect_err(text);
            assert!(error.to_string().contains("such as 2%"), "{error}");
        }
    }
}
