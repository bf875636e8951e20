//! Words, numbers with units, and signs of a description.

use crate::parser::{Problem, Wrong};

/// A piece of text with its line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: u32,
}

/// What a piece of text is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    Word(String),
    Number(i64),
    Sign(&'static str),
    /// The end of a line.
    End,
}

const SIGNS: [&str; 21] = ["==", "!=", "<=", ">=", "&&", "||", "{", "}", "(", ")", ",", "+", "-", "*", "/", "<", ">", "=", "%", ";", "!"];

/// Units behind numbers; `%` stands for thousandths of a percent, which are what shares are counted in.
const UNITS: [(&str, f64); 16] = [
    ("ps", 1.0),
    ("ns", 1e3),
    ("us", 1e6),
    ("µs", 1e6),
    ("ms", 1e9),
    ("s", 1e12),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("k", 1e3),
    ("M", 1e6),
    ("%", 1e3),
];

/// Cuts a text.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Wrong> {
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let mut rest = content.split('#').next().unwrap_or("").trim();
        while let Some(first) = rest.chars().next() {
            let (kind, length) = if first.is_ascii_digit() {
                number(rest).ok_or_else(|| Wrong { line, problem: Problem::Number(word(rest)) })?
            } else if first.is_alphabetic() || first == '_' {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Kind::Word(rest[..length].to_string()), length)
            } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                (if *sign == ";" { Kind::End } else { Kind::Sign(sign) }, sign.len())
            } else {
                return Err(Wrong { line, problem: Problem::Character(first) });
            };
            found.push(Token { kind, line });
            rest = rest[length..].trim_start();
        }
        found.push(Token { kind: Kind::End, line });
    }
    Ok(found)
}

/// A number and its unit, to the nearest whole one.
fn number(text: &str) -> Option<(Kind, usize)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let plain: String = text[..digits].chars().filter(|&c| c != '_').collect();
    let rest = &text[digits..];
    // A remainder is written with spaces around its sign, a share without.
    let unit = if rest.starts_with('%') { 1 } else { rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()) };
    if unit == 0 {
        return Some((Kind::Number(plain.parse().ok()?), digits));
    }
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == &rest[..unit])?;
    let value = plain.parse::<f64>().ok()? * factor;
    (value < 9e18).then_some((Kind::Number(value.round() as i64), digits + unit))
}

fn word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or("").to_string()
}
