//! Whole-number expressions over the variables of a rank. Times are picoseconds, sizes bytes.
//!
//! Division and remainder are Euclidean, so that `(rank - 1) % size` is a rank. Truth is 1, falsehood 0.

use crate::random::Random;

/// Something to be computed for a rank.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expression {
    Value(i64),
    Variable(usize),
    Operation(Operator, Box<(Expression, Expression)>),
}

/// What joins two expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    And,
    Or,
    Least,
    Greatest,
    Random,
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Arithmetic {
    /// It leaves the range of 64 bits.
    #[error("a number leaves the range of 64 bits")]
    Overflow,
    /// It divides by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// `random` between bounds in the wrong order.
    #[error("`random` needs a lower and an upper bound, in this order")]
    Bounds,
}

/// What expressions see of a rank.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    pub(crate) values: Vec<i64>,
    pub(crate) random: Random,
}

impl Expression {
    pub(crate) fn value(&self, variables: &mut Variables) -> Result<i64, Arithmetic> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::Variable(slot) => Ok(variables.values[*slot]),
            Self::Operation(operator, sides) => {
                let left = sides.0.value(variables)?;
                let right = sides.1.value(variables)?;
                operator.apply(left, right, &mut variables.random)
            }
        }
    }

    pub(crate) fn join(operator: Operator, left: Self, right: Self) -> Self {
        Self::Operation(operator, Box::new((left, right)))
    }
}

impl Operator {
    fn apply(self, left: i64, right: i64, random: &mut Random) -> Result<i64, Arithmetic> {
        let divisor = || if right == 0 { Err(Arithmetic::DivisionByZero) } else { Ok(right) };
        let value = match self {
            Self::Plus => left.checked_add(right),
            Self::Minus => left.checked_sub(right),
            Self::Times => left.checked_mul(right),
            Self::Over => left.checked_div_euclid(divisor()?),
            Self::Remainder => left.checked_rem_euclid(divisor()?),
            Self::Equal => Some((left == right).into()),
            Self::Unequal => Some((left != right).into()),
            Self::Less => Some((left < right).into()),
            Self::LessOrEqual => Some((left <= right).into()),
            Self::More => Some((left > right).into()),
            Self::MoreOrEqual => Some((left >= right).into()),
            Self::And => Some((left != 0 && right != 0).into()),
            Self::Or => Some((left != 0 || right != 0).into()),
            Self::Least => Some(left.min(right)),
            Self::Greatest => Some(left.max(right)),
            Self::Random => Some(random.between(left, right).ok_or(Arithmetic::Bounds)?),
        };
        value.ok_or(Arithmetic::Overflow)
    }
}
