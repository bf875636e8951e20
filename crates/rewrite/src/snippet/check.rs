//! From a snippet as written to one whose names and types are known.

use super::ast::{Action, Binary, Call, Context, Expression, Integer, Kind, Link, Statement, Unary};
use super::{AdapterError, Place, Problem};
use crate::adapter::{Level, Point, Variable};

/// More arguments than any measurement interface has.
const MOST_ARGUMENTS: usize = 32;

/// A part of a text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Piece {
    Literal(String),
    Context(Context),
}

/// A text that is joined when a region's record is made; the path of the image is in it already.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

impl Template {
    /// The text, where it is the same for all regions.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    fn push(&mut self, piece: Piece) {
        match (self.0.last_mut(), piece) {
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (Some(Piece::Literal(last)), Piece::Literal(text)) => last.push_str(&text),
            (_, piece) => self.0.push(piece),
        }
    }
}

/// A variable that is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Storage {
    /// Of the snippet, by its number.
    Local(usize),
    /// Of the region, by its number in the alternative.
    Region(usize),
    /// Of the adapter, by its number.
    Global(usize),
}

/// An integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Number(i64),
    Context(Context),
    Load(Storage, Integer),
    AddressOf(Storage),
    Call(Invocation),
    Unary(Unary, Box<Value>),
    /// Operators with two operands, from left to right.
    Chain(Box<Value>, Vec<(Binary, Value)>),
}

/// What a function is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Argument {
    Integer(Value),
    Text(Template),
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Invocation {
    pub(crate) place: Place,
    pub(crate) function: String,
    pub(crate) arguments: Vec<Argument>,
}

/// What is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Store(Storage, Integer, Value),
    Call(Invocation),
    If(Value, Vec<Step>, Vec<Step>),
}

/// A checked snippet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Checked {
    pub(crate) steps: Vec<Step>,
    /// How many variables of its own it has.
    pub(crate) locals: usize,
}

/// Where a snippet stands, and the variables that it sees there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) level: Level,
    pub(crate) point: Point,
    pub(crate) of_region: &'a [Variable],
    pub(crate) global: &'a [Variable],
    /// Whether ends may be run late.
    pub(crate) must_nest: bool,
    /// Path of the original: empty where snippets are only checked.
    pub(crate) path: &'a str,
}

/// Checks a snippet.
pub(crate) fn check(statements: &[Statement], scope: Scope<'_>) -> Result<Checked, AdapterError> {
    let mut checker = Checker { scope, locals: Vec::new(), count: 0 };
    let steps = checker.block(statements)?;
    Ok(Checked { steps, locals: checker.count })
}

struct Checker<'a> {
    scope: Scope<'a>,
    /// Variables that are seen here, innermost last; the number of each block's first one is its caller's to keep.
    locals: Vec<(String, usize, Integer, usize)>,
    count: usize,
}

impl Checker<'_> {
    fn block(&mut self, statements: &[Statement]) -> Result<Vec<Step>, AdapterError> {
        let outer = self.locals.len();
        let mut steps = Vec::with_capacity(statements.len());
        for statement in statements {
            self.statement(statement, outer, &mut steps)?;
        }
        self.locals.truncate(outer);
        Ok(steps)
    }

    fn statement(&mut self, statement: &Statement, block: usize, steps: &mut Vec<Step>) -> Result<(), AdapterError> {
        match &statement.action {
            Action::Declare(integer, name, value) => {
                let value = value.as_ref().map_or(Ok(Value::Number(0)), |value| self.integer(value))?;
                if self.locals.iter().any(|local| local.0 == *name && local.3 == block) {
                    return Err(AdapterError::new(statement.place, Problem::Twice { what: "variables", name: name.clone() }));
                }
                self.locals.push((name.clone(), self.count, *integer, block));
                steps.push(Step::Store(Storage::Local(self.count), *integer, value));
                self.count += 1;
            }
            Action::Assign(name, value) => {
                let (storage, integer) = self.variable(name, statement.place)?;
                steps.push(Step::Store(storage, integer, self.integer(value)?));
            }
            Action::Call(call) => steps.push(Step::Call(self.call(call, statement.place)?)),
            Action::If(condition, then, otherwise) => {
                let condition = self.integer(condition)?;
                let then = self.block(then)?;
                steps.push(Step::If(condition, then, self.block(otherwise)?));
            }
            Action::Block(inner) => steps.extend(self.block(inner)?),
        }
        Ok(())
    }

    fn variable(&self, name: &str, place: Place) -> Result<(Storage, Integer), AdapterError> {
        if let Some(local) = self.locals.iter().rev().find(|local| local.0 == name) {
            return Ok((Storage::Local(local.1), local.2));
        }
        let named = |variables: &[Variable]| variables.iter().position(|one| one.name == name).and_then(|at| Some((at, variables.get(at)?.integer)));
        if let Some((at, integer)) = named(self.scope.of_region) {
            return Ok((Storage::Region(at), integer));
        }
        let global = named(self.scope.global).map(|(at, integer)| (Storage::Global(at), integer));
        global.ok_or_else(|| AdapterError::new(place, Problem::Variable(name.to_owned())))
    }

    fn integer(&self, expression: &Expression) -> Result<Value, AdapterError> {
        let place = expression.place;
        Ok(match &expression.kind {
            &Kind::Number(number) => Value::Number(number),
            Kind::Text(_) => return Err(AdapterError::new(place, Problem::NotInteger)),
            &Kind::Context(context) => {
                self.known(context, place)?;
                if context.is_text() {
                    return Err(AdapterError::new(place, Problem::NotInteger));
                }
                Value::Context(context)
            }
            Kind::Name(name) => {
                let (storage, integer) = self.variable(name, place)?;
                Value::Load(storage, integer)
            }
            Kind::AddressOf(name) => Value::AddressOf(self.variable(name, place)?.0),
            Kind::Call(call) => Value::Call(self.call(call, place)?),
            Kind::Unary(operator, operand) => Value::Unary(*operator, Box::new(self.integer(operand)?)),
            Kind::Chain(first, links) => self.chain(first, links)?,
        })
    }

    fn chain(&self, first: &Expression, links: &[Link]) -> Result<Value, AdapterError> {
        if let Some(join) = links.iter().rfind(|link| link.operator == Binary::Join) {
            return Err(AdapterError::new(join.place, Problem::NotInteger));
        }
        let first = self.integer(first)?;
        let links = links.iter().map(|link| Ok((link.operator, self.integer(&link.operand)?))).collect::<Result<_, AdapterError>>()?;
        Ok(Value::Chain(Box::new(first), links))
    }

    fn call(&self, call: &Call, place: Place) -> Result<Invocation, AdapterError> {
        if call.arguments.len() > MOST_ARGUMENTS {
            return Err(AdapterError::new(place, Problem::Arguments { limit: MOST_ARGUMENTS }));
        }
        let argument = |argument: &Expression| {
            let is_text = match &argument.kind {
                Kind::Text(_) => true,
                // No operator binds more tightly, so that in front of a last `.` there are only such.
                Kind::Chain(_, links) => links.last().is_some_and(|link| link.operator == Binary::Join),
                Kind::Context(context) => context.is_text(),
                _ => false,
            };
            if !is_text {
                return self.integer(argument).map(Argument::Integer);
            }
            let mut template = Template(Vec::new());
            self.join(argument, &mut template)?;
            Ok(Argument::Text(template))
        };
        let arguments = call.arguments.iter().map(argument).collect::<Result<_, _>>()?;
        Ok(Invocation { place, function: call.function.clone(), arguments })
    }

    /// Appends the pieces of a text.
    fn join(&self, expression: &Expression, template: &mut Template) -> Result<(), AdapterError> {
        match &expression.kind {
            Kind::Text(text) => template.push(Piece::Literal(text.clone())),
            Kind::Number(number) => template.push(Piece::Literal(number.to_string())),
            &Kind::Context(context) => {
                self.known(context, expression.place)?;
                if !context.is_static() {
                    return Err(AdapterError::new(expression.place, Problem::NotKnown));
                }
                template.push(match context {
                    Context::Image => Piece::Literal(self.scope.path.to_owned()),
                    _ => Piece::Context(context),
                });
            }
            Kind::Chain(first, links) if links.iter().all(|link| link.operator == Binary::Join) => {
                self.join(first, template)?;
                for link in links {
                    self.join(&link.operand, template)?;
                }
            }
            _ => return Err(AdapterError::new(expression.place, Problem::NotKnown)),
        }
        Ok(())
    }

    /// Refuses context variables that have no meaning where the snippet stands.
    fn known(&self, context: Context, place: Place) -> Result<(), AdapterError> {
        let Scope { level, point, must_nest, .. } = self.scope;
        let is_known = match context {
            Context::Image => true,
            Context::Caller | Context::Stack if point == Point::Exit => level == Level::Functions && !must_nest,
            Context::Caller | Context::Stack => level == Level::Functions && point == Point::Enter,
            Context::Loop => level == Level::Loops,
            Context::Site | Context::Callee => level == Level::CallSites,
            _ => level != Level::Adapter,
        };
        let problem = Problem::NotHere { name: context.name(), point: point.element(), level: level.element() };
        if is_known { Ok(()) } else { Err(AdapterError::new(place, problem)) }
    }
}
