//! Expressions.

use super::{DEEPEST, Parsed, Parser, Problem};
use crate::expression::{Expression, Operator};
use crate::lexer::Kind;

impl Parser {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.binary(0)
    }

    fn binary(&mut self, level: usize) -> Parsed<Expression> {
        const LEVELS: [&[(&str, Operator)]; 5] = [
            &[("||", Operator::Or)],
            &[("&&", Operator::And)],
            &[
                ("==", Operator::Equal),
                ("!=", Operator::Unequal),
                ("<=", Operator::LessOrEqual),
                (">=", Operator::MoreOrEqual),
                ("<", Operator::Less),
                (">", Operator::More),
            ],
            &[("+", Operator::Plus), ("-", Operator::Minus)],
            &[("*", Operator::Times), ("/", Operator::Over), ("%", Operator::Remainder)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.primary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.sign(sign)) {
            let right = self.binary(level + 1)?;
            left = Expression::join(*operator, left, right);
        }
        Ok(left)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(Problem::Depth);
        }
        let value = match self.kind().cloned() {
            Some(Kind::Number(number)) => {
                self.at += 1;
                Expression::Value(number)
            }
            Some(Kind::Sign("-")) => {
                self.at += 1;
                Expression::join(Operator::Minus, Expression::Value(0), self.primary()?)
            }
            Some(Kind::Sign("!")) => {
                self.at += 1;
                Expression::join(Operator::Equal, Expression::Value(0), self.primary()?)
            }
            Some(Kind::Sign("(")) => {
                self.at += 1;
                let inner = self.expression()?;
                self.need_sign(")")?;
                inner
            }
            Some(Kind::Word(word)) => {
                self.at += 1;
                self.named_value(word)?
            }
            _ => return self.expected("a value"),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn named_value(&mut self, word: String) -> Parsed<Expression> {
        let function = match word.as_str() {
            "min" => Some(Operator::Least),
            "max" => Some(Operator::Greatest),
            "random" => Some(Operator::Random),
            _ => None,
        };
        if let Some(function) = function {
            self.need_sign("(")?;
            let left = self.expression()?;
            self.need_sign(",")?;
            let right = self.expression()?;
            self.need_sign(")")?;
            return Ok(Expression::join(function, left, right));
        }
        match self.variables.iter().rposition(|variable| *variable == word) {
            Some(slot) => Ok(Expression::Variable(slot)),
            None => self.wrong(Problem::Unknown { kind: "variable", name: word }),
        }
    }
}
