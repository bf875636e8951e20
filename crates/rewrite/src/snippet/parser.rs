//! From tokens to statements.

use super::ast::{Action, Binary, Call, Expression, Integer, Kind, Link, Statement, Unary};
use super::lexer::Token;
use super::{AdapterError, Place, Problem};

/// Deeper nesting is refused, so that no input exhausts the stack.
const DEPTH: usize = 60;
const NAMES: &[&str] = &["if", "else"];
/// Statements and operators of C that snippets do not have.
const MISSING: &[&str] = &["for", "while", "do", "switch", "case", "default", "return", "break", "continue", "goto", "sizeof"];
/// Words that begin a declaration in C and none here.
const TYPES: &[&str] =
    &["double", "float", "void", "bool", "_Bool", "struct", "union", "enum", "const", "static", "extern", "volatile", "register", "auto", "typedef"];
/// What a statement may be.
const STATEMENT: &str = "a declaration, an assignment, a call, `if` or a block";

/// Makes statements of tokens; `end` is where the snippet ends.
pub(crate) fn parse(tokens: &[(Token, Place)], end: Place) -> Result<Vec<Statement>, AdapterError> {
    let mut parser = Parser { tokens, end, at: 0, depth: 0 };
    let mut statements = Vec::new();
    while parser.peek().is_some() {
        statements.extend(parser.statement()?);
    }
    Ok(statements)
}

struct Parser<'a> {
    tokens: &'a [(Token, Place)],
    end: Place,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Option<Statement>, AdapterError> {
        self.nested(Self::statement_here)
    }

    fn statement_here(&mut self) -> Result<Option<Statement>, AdapterError> {
        let place = self.place();
        let action = match self.peek() {
            Some(Token::Sign(";")) => {
                self.at += 1;
                return Ok(None);
            }
            Some(Token::Sign("{")) => Action::Block(self.block()?),
            Some(Token::Name(name)) if name == "if" => self.condition()?,
            Some(Token::Name(_)) => {
                let action = match self.integer_type()? {
                    Some(integer) => self.declaration(integer)?,
                    None => self.assignment_or_call()?,
                };
                self.expect(";", "`;`")?;
                action
            }
            _ => return Err(self.changing_in_front().unwrap_or_else(|| self.unexpected(STATEMENT))),
        };
        Ok(Some(Statement { place, action }))
    }

    fn block(&mut self) -> Result<Vec<Statement>, AdapterError> {
        self.expect("{", "`{`")?;
        let mut statements = Vec::new();
        while !self.takes("}") {
            if self.peek().is_none() {
                return Err(self.unexpected("`}`"));
            }
            statements.extend(self.statement()?);
        }
        Ok(statements)
    }

    fn condition(&mut self) -> Result<Action, AdapterError> {
        self.at += 1;
        self.expect("(", "`(`")?;
        let condition = self.expression()?;
        self.expect(")", "`)`")?;
        let then = self.statement()?.into_iter().collect();
        let is_else = matches!(self.peek(), Some(Token::Name(name)) if name == "else");
        if !is_else {
            return Ok(Action::If(condition, then, Vec::new()));
        }
        self.at += 1;
        let otherwise = self.statement()?.into_iter().collect();
        Ok(Action::If(condition, then, otherwise))
    }

    fn declaration(&mut self, integer: Integer) -> Result<Action, AdapterError> {
        let name = self.name("the name of a variable")?;
        let value = if self.takes("=") { Some(self.expression()?) } else { None };
        Ok(Action::Declare(integer, name, value))
    }

    fn assignment_or_call(&mut self) -> Result<Action, AdapterError> {
        let place = self.place();
        let name = self.name(STATEMENT)?;
        if self.takes("(") {
            return Ok(Action::Call(Call { function: name, arguments: self.arguments()? }));
        }
        if matches!(self.peek(), Some(Token::Name(_))) {
            // Two names in a row are a declaration.
            return Err(AdapterError::new(place, Problem::Type(name)));
        }
        if let Some(problem) = self.changing(&name) {
            return Err(problem);
        }
        self.expect("=", "`=` or `(`")?;
        Ok(Action::Assign(name, self.expression()?))
    }

    /// `++`, `--` or `+=` and its like here, behind a name.
    fn changing(&self, name: &str) -> Option<AdapterError> {
        const OPERATORS: &[&str] = &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
        let &Token::Sign(first) = self.peek()? else { return None };
        let Some(&(Token::Sign(second), at)) = self.tokens.get(self.at + 1) else { return None };
        let is_joined = at == self.place().behind('+');
        let instead = match (first, second) {
            ("+" | "-", _) if first == second && is_joined => format!("`{name} = {name} {first} 1;` as a statement of its own"),
            _ if OPERATORS.contains(&first) && second == "=" => format!("`{name} = {name} {first} …;` as a statement of its own"),
            _ => return None,
        };
        Some(AdapterError::new(self.place(), Problem::Changing { operator: format!("{first}{second}"), instead }))
    }

    /// `++` or `--` here, in front of a name.
    fn changing_in_front(&self) -> Option<AdapterError> {
        let Some((Token::Name(name), _)) = self.tokens.get(self.at + 2) else { return None };
        self.changing(name)
    }

    /// What follows the opening bracket of a call.
    fn arguments(&mut self) -> Result<Vec<Expression>, AdapterError> {
        let mut arguments = Vec::new();
        if self.takes(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.takes(")") {
                return Ok(arguments);
            }
            self.expect(",", "`,` or `)`")?;
        }
    }

    fn expression(&mut self) -> Result<Expression, AdapterError> {
        self.binary(1)
    }

    /// Operators that bind at least so tightly, from left to right.
    fn binary(&mut self, least: u8) -> Result<Expression, AdapterError> {
        let first = self.nested(Self::unary)?;
        let mut links = Vec::new();
        while let Some((operator, binding)) = self.operator().filter(|found| found.1 >= least) {
            let place = self.place();
            self.at += 1;
            links.push(Link { place, operator, operand: self.nested(|parser| parser.binary(binding + 1))? });
        }
        let Some(last) = links.last() else { return Ok(first) };
        Ok(Expression { place: last.place, kind: Kind::Chain(Box::new(first), links) })
    }

    fn operator(&self) -> Option<(Binary, u8)> {
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        Some(match *sign {
            "||" => (Binary::Either, 1),
            "&&" => (Binary::Both, 2),
            "|" => (Binary::Or, 3),
            "^" => (Binary::ExclusiveOr, 4),
            "&" => (Binary::And, 5),
            "==" => (Binary::Equal, 6),
            "!=" => (Binary::NotEqual, 6),
            "<" => (Binary::Less, 7),
            "<=" => (Binary::LessEqual, 7),
            ">" => (Binary::Greater, 7),
            ">=" => (Binary::GreaterEqual, 7),
            "<<" => (Binary::Left, 8),
            ">>" => (Binary::Right, 8),
            "+" => (Binary::Add, 9),
            "-" => (Binary::Subtract, 9),
            "*" => (Binary::Multiply, 10),
            "/" => (Binary::Divide, 10),
            "%" => (Binary::Remainder, 10),
            "." => (Binary::Join, 11),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Result<Expression, AdapterError> {
        let place = self.place();
        if let Some(problem) = self.changing_in_front() {
            return Err(problem);
        }
        let operator = match self.peek() {
            Some(Token::Sign("-")) => Unary::Minus,
            Some(Token::Sign("!")) => Unary::Not,
            Some(Token::Sign("~")) => Unary::Invert,
            Some(Token::Sign("&")) => {
                self.at += 1;
                let name = self.name("the name of a variable")?;
                return Ok(Expression { place, kind: Kind::AddressOf(name) });
            }
            Some(Token::Sign("(")) => return self.bracket(),
            _ => return self.operand(),
        };
        self.at += 1;
        let operand = self.nested(Self::unary)?;
        Ok(Expression { place, kind: Kind::Unary(operator, Box::new(operand)) })
    }

    /// A cast, or an expression in brackets.
    fn bracket(&mut self) -> Result<Expression, AdapterError> {
        let place = self.place();
        self.at += 1;
        if let Some(integer) = self.integer_type()? {
            self.expect(")", "`)`")?;
            let operand = self.nested(Self::unary)?;
            return Ok(Expression { place, kind: Kind::Unary(Unary::Cast(integer), Box::new(operand)) });
        }
        let inner = self.nested(Self::expression)?;
        self.expect(")", "`)`")?;
        Ok(inner)
    }

    fn operand(&mut self) -> Result<Expression, AdapterError> {
        let place = self.place();
        let kind = match self.peek() {
            Some(&Token::Number(number)) => Kind::Number(number),
            Some(Token::Text(text)) => Kind::Text(text.clone()),
            Some(&Token::Context(context)) => Kind::Context(context),
            Some(Token::Name(_)) => {
                let name = self.name("a value")?;
                let kind = if self.takes("(") {
                    let arguments = self.nested(Self::arguments)?;
                    Kind::Call(Call { function: name, arguments })
                } else if let Some(problem) = self.changing(&name) {
                    return Err(problem);
                } else {
                    Kind::Name(name)
                };
                return Ok(Expression { place, kind });
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok(Expression { place, kind })
    }

    /// A type, if one stands here.
    fn integer_type(&mut self) -> Result<Option<Integer>, AdapterError> {
        let mut found = None;
        let mut sign = None;
        while let Some(Token::Name(word)) = self.peek() {
            let exact = |size, is_signed| Some(Integer { size, is_signed });
            let plain = |size, found: Option<Integer>| match found {
                None => exact(size, true),
                // `long long`, `short int`, `long int`
                Some(Integer { size: 8, .. }) if size == 8 || size == 4 => exact(8, true),
                Some(Integer { size: 2, .. }) if size == 4 => exact(2, true),
                Some(_) => None,
            };
            let next = match word.as_str() {
                "signed" | "unsigned" if sign.is_none() => {
                    sign = Some(word == "signed");
                    self.at += 1;
                    continue;
                }
                "char" => plain(1, found),
                "short" => plain(2, found),
                "int" => plain(4, found),
                "long" => plain(8, found),
                "int8_t" if found.is_none() => exact(1, true),
                "int16_t" if found.is_none() => exact(2, true),
                "int32_t" if found.is_none() => exact(4, true),
                "int64_t" if found.is_none() => exact(8, true),
                "uint8_t" if found.is_none() => exact(1, false),
                "uint16_t" if found.is_none() => exact(2, false),
                "uint32_t" if found.is_none() => exact(4, false),
                "uint64_t" if found.is_none() => exact(8, false),
                _ => break,
            };
            found = Some(next.ok_or_else(|| self.unexpected("the name of a variable"))?);
            self.at += 1;
        }
        let found = found.or(sign.map(|is_signed| Integer { size: 4, is_signed }));
        Ok(found.map(|one| Integer { size: one.size, is_signed: sign.unwrap_or(one.is_signed) }))
    }

    fn name(&mut self, expected: &'static str) -> Result<String, AdapterError> {
        if let Some(problem) = self.word_of_c() {
            return Err(AdapterError::new(self.place(), problem));
        }
        match self.peek() {
            Some(Token::Name(name)) if !NAMES.contains(&name.as_str()) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// What is wrong with a word that has a meaning in C and none here.
    fn word_of_c(&self) -> Option<Problem> {
        let Token::Name(word) = self.peek()? else { return None };
        let statement = MISSING.iter().find(|one| *one == word).map(|one| Problem::Statement(one));
        statement.or_else(|| TYPES.contains(&word.as_str()).then(|| Problem::Type(word.clone())))
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        let is_here = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_here);
        is_here
    }

    fn expect(&mut self, sign: &'static str, expected: &'static str) -> Result<(), AdapterError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, AdapterError>) -> Result<T, AdapterError> {
        self.depth += 1;
        if self.depth > 4 * DEPTH {
            return Err(AdapterError::new(self.place(), Problem::Deep { limit: DEPTH }));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.0)
    }

    fn place(&self) -> Place {
        self.tokens.get(self.at).map_or(self.end, |token| token.1)
    }

    fn unexpected(&self, expected: &'static str) -> AdapterError {
        let found = self.peek().map_or_else(|| "the end of the snippet".into(), Token::shown);
        AdapterError::new(self.place(), Problem::Unexpected { found, expected })
    }
}
