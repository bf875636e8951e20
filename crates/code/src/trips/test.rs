//! A test that leaves a loop: what it compares, and for how many steps it stays.

use iced_x86::{ConditionCode, Instruction as Decoded, Mnemonic};

/// The comparison under which a loop goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stays {
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Stays {
    /// The condition of a branch after a comparison; `is_taken` if the loop goes on where the branch is taken.
    pub(super) fn of(branch: &Decoded, is_taken: bool) -> Option<Self> {
        let condition = branch.condition_code();
        let taken = match condition {
            ConditionCode::ne => Self::NotEqual,
            ConditionCode::l | ConditionCode::b | ConditionCode::s => Self::Less,
            ConditionCode::le | ConditionCode::be => Self::LessOrEqual,
            ConditionCode::g | ConditionCode::a => Self::Greater,
            ConditionCode::ge | ConditionCode::ae | ConditionCode::ns => Self::GreaterOrEqual,
            // A loop that goes on while two values are equal goes round once.
            _ if is_taken => return None,
            ConditionCode::e => return Some(Self::NotEqual),
            _ => return None,
        };
        if is_taken { Some(taken) } else { taken.otherwise() }
    }

    const fn otherwise(self) -> Option<Self> {
        Some(match self {
            Self::NotEqual => return None,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        })
    }

    /// The same with both sides exchanged.
    pub(super) const fn exchanged(self) -> Self {
        match self {
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// How many tests are made, the last one leaving, if the first one sees a value that is `distance` below the
    /// bound and each further one sees it `step` higher; `None` where it never leaves.
    pub(super) fn tests(self, distance: i64, step: i64) -> Option<u64> {
        let (distance, step) = (i128::from(distance), i128::from(step));
        // Each as: stays while `left > 0`, where `left` shrinks by `by`.
        let (left, by) = match self {
            Self::NotEqual if distance == 0 => return Some(1),
            Self::NotEqual if step == 0 || distance % step != 0 || distance / step < 0 => return None,
            Self::NotEqual => (distance / step, 1),
            Self::Less => (distance, step),
            Self::LessOrEqual => (distance + 1, step),
            Self::Greater => (-distance, -step),
            Self::GreaterOrEqual => (1 - distance, -step),
        };
        match (left, by) {
            (..=0, _) => Some(1),
            (_, ..=0) => None,
            _ => u64::try_from((left + by - 1) / by + 1).ok(),
        }
    }
}

/// Whether an instruction leaves flags that compare its result with zero: for the conditions that do not look at the carry.
pub(super) fn compares_with_zero(one: &Decoded, branch: &Decoded) -> bool {
    let is_step = matches!(one.mnemonic(), Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec);
    let looks_at_carry = matches!(
        branch.condition_code(),
        ConditionCode::a | ConditionCode::ae | ConditionCode::b | ConditionCode::be | ConditionCode::o | ConditionCode::no
    );
    is_step && !looks_at_carry
}

#[cfg(test)]
mod tests {
    use super::Stays;

    #[test]
    fn tests_are_counted_as_a_loop_that_is_run_counts_them() {
        let holds = |stays: Stays, value: i64, bound: i64| match stays {
            Stays::NotEqual => value != bound,
            Stays::Less => value < bound,
            Stays::LessOrEqual => value <= bound,
            Stays::Greater => value > bound,
            Stays::GreaterOrEqual => value >= bound,
        };
        for stays in [Stays::NotEqual, Stays::Less, Stays::LessOrEqual, Stays::Greater, Stays::GreaterOrEqual] {
            for bound in -20..20 {
                for step in [-7, -3, -2, -1, 0, 1, 2, 3, 7] {
                    let ran = (1..100).find(|&test: &i64| !holds(stays, (test - 1) * step, bound)).map(i64::cast_unsigned);
                    assert_eq!(stays.tests(bound, step), ran, "{stays:?} {bound} by {step}");
                }
            }
        }
    }
}
