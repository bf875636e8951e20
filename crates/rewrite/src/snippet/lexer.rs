//! From characters to tokens.

use super::ast::Context;
use super::{AdapterError, Place, Problem, Text};

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Name(String),
    Number(i64),
    Text(String),
    Context(Context),
    /// An operator or a bracket.
    Sign(&'static str),
}

impl Token {
    /// How an error names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(_) => "a text".into(),
            Self::Context(context) => format!("@{}@", context.name()),
            Self::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "&", "^", "|", ".", ",", ";", "(", ")", "{",
    "}",
];

/// Takes a text apart.
pub(crate) fn tokens(text: &Text) -> Result<Vec<(Token, Place)>, AdapterError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some((character, place)) = lexer.skip_space()? {
        tokens.push((lexer.token(character, place)?, place));
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a Text,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<(char, Place)> {
        self.text.get(self.at).copied()
    }

    fn starts_with(&self, word: &str) -> bool {
        let here = self.text.get(self.at..self.at + word.len()).unwrap_or_default();
        !here.is_empty() && word.chars().eq(here.iter().map(|one| one.0))
    }

    /// Goes behind white space and comments.
    fn skip_space(&mut self) -> Result<Option<(char, Place)>, AdapterError> {
        while let Some((character, place)) = self.peek() {
            if character.is_whitespace() {
                self.at += 1;
            } else if self.starts_with("//") {
                self.take_while(|character| character != '\n');
            } else if self.starts_with("/*") {
                self.at += 2;
                while !self.starts_with("*/") {
                    self.peek().ok_or(AdapterError::new(place, Problem::Unended { what: "a comment" }))?;
                    self.at += 1;
                }
                self.at += 2;
            } else {
                return Ok(Some((character, place)));
            }
        }
        Ok(None)
    }

    fn token(&mut self, first: char, place: Place) -> Result<Token, AdapterError> {
        match first {
            'a'..='z' | 'A'..='Z' | '_' => Ok(Token::Name(self.take_while(|one| one.is_ascii_alphanumeric() || one == '_'))),
            '0'..='9' => self.number(place),
            '"' => self.quoted('"', place).map(Token::Text),
            '\'' => self.character(place),
            '@' => self.context(place),
            _ => {
                let sign = SIGNS.iter().find(|sign| self.starts_with(sign));
                let sign = sign.ok_or(AdapterError::new(place, Problem::Character(first)))?;
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
        }
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let taken: String = rest.iter().map(|one| one.0).take_while(|&one| is_wanted(one)).collect();
        self.at += taken.chars().count();
        taken
    }

    /// Digits, with the letters that C allows behind them.
    fn number(&mut self, place: Place) -> Result<Token, AdapterError> {
        let mut word = self.take_while(|one| one.is_ascii_alphanumeric());
        // Texts and numbers are joined by a point, too, with room around it.
        if self.starts_with(".") && self.text.get(self.at + 1).is_some_and(|(next, _)| next.is_ascii_digit()) {
            word += &self.take_while(|one| one.is_ascii_alphanumeric() || one == '.');
        }
        let lower = word.to_ascii_lowercase();
        let digits = lower.trim_end_matches(['u', 'l']);
        let value = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None if digits.starts_with('0') && digits.len() > 1 => None,
            None => digits.parse().ok(),
        };
        let value = value.ok_or(AdapterError::new(place, Problem::Number(word)))?;
        Ok(Token::Number(value.cast_signed()))
    }

    fn character(&mut self, place: Place) -> Result<Token, AdapterError> {
        let text = self.quoted('\'', place)?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(one), None) => Ok(Token::Number(i64::from(u32::from(one)))),
            _ => Err(AdapterError::new(place, Problem::Unexpected { found: format!("'{text}'"), expected: "one character" })),
        }
    }

    fn quoted(&mut self, quote: char, place: Place) -> Result<String, AdapterError> {
        let what = if quote == '"' { "a text" } else { "a character" };
        let unended = AdapterError::new(place, Problem::Unended { what });
        let mut text = String::new();
        self.at += 1;
        loop {
            let (character, here) = self.peek().ok_or(unended.clone())?;
            self.at += 1;
            match character {
                _ if character == quote => return Ok(text),
                '\n' => return Err(unended),
                '\\' => text.push(self.escape(here)?),
                '\0' => return Err(AdapterError::new(here, Problem::ZeroByte)),
                _ => text.push(character),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, AdapterError> {
        let (character, _) = self.peek().ok_or(AdapterError::new(place, Problem::Unended { what: "a text" }))?;
        self.at += 1;
        Ok(match character {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            'e' => '\x1b',
            '\\' | '"' | '\'' => character,
            '0' => return Err(AdapterError::new(place, Problem::ZeroByte)),
            'x' => {
                let digits: String = self.text.get(self.at..).unwrap_or_default().iter().map(|one| one.0).take(2).collect();
                let is_whole = digits.len() == 2 && digits.chars().all(|one| one.is_ascii_hexdigit());
                let value = u8::from_str_radix(&digits, 16).ok().filter(|&value| is_whole && value < 0x80);
                self.at += 2;
                match value {
                    Some(0) => return Err(AdapterError::new(place, Problem::ZeroByte)),
                    Some(value) => char::from(value),
                    None => return Err(AdapterError::new(place, Problem::Escape('x'))),
                }
            }
            other => return Err(AdapterError::new(place, Problem::Escape(other))),
        })
    }

    fn context(&mut self, place: Place) -> Result<Token, AdapterError> {
        self.at += 1;
        let name = self.take_while(|one| one.is_ascii_alphanumeric() || one == '_');
        if !self.starts_with("@") {
            return Err(AdapterError::new(place, Problem::Unended { what: "a context variable" }));
        }
        self.at += 1;
        Context::named(&name).map(Token::Context).ok_or(AdapterError::new(place, Problem::Context(name)))
    }
}
