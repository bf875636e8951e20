//! Questions that pass: a program that asks in passing, millions of times, whether something is complete, is told so by the library, and the
//! wrapper measures few of the questions that are answered with no. See [`tare_runtime::passing`].
//!
//! What always holds: a question that is answered with yes, or with an error, means what it does when it is measured; and as long as
//! questions pass the process counts as being in MPI, as it comes in again and again.

use crate::abi::Abi;
use crate::call::{Call, Span};
use crate::completion::Question;
use crate::export::Arguments;
use crate::guard::Guard;
use crate::meaning::{Complete, Meaning, Which};
use crate::memory::{Kept, STATUS_WORDS};
use crate::real::Real;
use crate::session::Session;
use crate::table::{Id, function};
use core::cell::Cell;
use core::mem::MaybeUninit;
use tare_format::ids::Ticks;
use tare_runtime::passing::{Passing, passing};

/// Ticks between two questions beyond which each is measured (some 2 µs).
const SHORT: u64 = 5_000;
/// Questions in a row, no farther apart and all answered with no, after which some pass. The later ones are what those that pass are taken to
/// be like: after those that pass, the processor does not foresee the way of one that is measured, and the library's is several times as long.
const ROW: u32 = 24;
const LATER: u32 = 12;
/// How many pass at first, and later.
const FIRST: u16 = 64;
const MOST: u16 = 2048;

/// The last questions that were answered with no.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Where they come back to.
    returns_to: usize,
    /// When the last one that was measured began.
    since: u64,
    /// How many were measured since some passed.
    number: u32,
    /// How many pass next.
    calls: u16,
    /// How many have been let pass since.
    passing: u16,
    /// Whether they are asked in passing; looked up once.
    is_in_passing: Option<bool>,
}

impl Row {
    const NONE: Self = Self { returns_to: 0, since: 0, number: 0, calls: FIRST, passing: 0, is_in_passing: None };
}

thread_local! {
    static ROW_SO_FAR: Cell<Row> = const { Cell::new(Row::NONE) };
}

/// The answer to a question that may pass, whatever it is; `None` where the call is to be measured.
#[inline]
pub(crate) fn ask(abi: &'static Abi, id: Id, arguments: &mut Arguments, returns_to: usize) -> Option<usize> {
    let passing = passing(id as u32, returns_to)?;
    passing.again(id as u32, || once_more(id, arguments));
    let answer = asked(passing, abi, id, arguments, returns_to);
    // What is done once more asks nothing, whatever has changed meanwhile.
    if passing.is_again() { answer.or(Some(0)) } else { answer }
}

/// The same question, by the way that the program's own takes, which does all that is done for it but for asking.
fn once_more(id: Id, arguments: &Arguments) {
    if let Some(own) = Real::exported(id) {
        // SAFETY: these are the program's arguments. No question has more than six.
        unsafe { own.invoke_few(arguments) };
    }
}

fn asked(passing: Passing, abi: &'static Abi, id: Id, arguments: &mut Arguments, returns_to: usize) -> Option<usize> {
    let (real, session) = (Real::find(abi, id)?, Session::current()?);
    let complete = may_pass(session, id, arguments)?;
    let _guard = Guard::enter()?;
    let number = complete.number(arguments);
    let handles = Kept::<{ Question::FEW }>::read(abi, arguments[complete.requests], number);
    let mut status = MaybeUninit::<[u64; STATUS_WORDS]>::uninit();
    let status = if arguments[complete.status] == abi.status_ignore { status.as_mut_ptr() as usize } else { arguments[complete.status] };
    arguments[complete.status] = status;
    if passing.is_again() {
        let is_denied = core::hint::black_box(complete.is_denied(arguments));
        passing.count();
        return Some(usize::from(is_denied));
    }
    // SAFETY: these are the program's arguments, with an ignored status replaced at most; no question has more than six.
    let result = unsafe { real.invoke_few(arguments) };
    if crate::memory::int(result) == 0 && complete.is_denied(arguments) {
        passing.count();
        return Some(result);
    }
    Some(answered(session, id, real, arguments, returns_to, result, &handles))
}

/// A question is answered with yes, or fails: that is measured from here on.
#[cold]
fn answered(
    session: &'static Session,
    id: Id,
    real: Real,
    arguments: &mut Arguments,
    returns_to: usize,
    result: usize,
    handles: &Kept<{ Question::FEW }>,
) -> usize {
    let mut call = Call::begin(session, id, real, arguments);
    call.returns_to = returns_to;
    let span = call.answered(result);
    if let Some(complete) = may_pass(session, id, call.arguments) {
        let (number, status) = (complete.number(call.arguments), call.arguments[complete.status]);
        Question::answered(session, *complete, number, handles.address(), status).end(&mut call, &span);
    }
    call.finish(&span)
}

/// What a call completes, if it is a question of a kind that may pass: for one of the requests, of which there are not many.
#[inline]
fn may_pass(session: &Session, id: Id, arguments: &Arguments) -> Option<&'static Complete> {
    let Meaning::Complete(complete) = &function(id).meaning else { return None };
    let is_for_one = complete.flag.is_some() && matches!(complete.which, Which::One | Which::Any(_));
    (is_for_one && complete.number(arguments) <= Question::FEW && !session.requests.is_concurrent()).then_some(complete)
}

/// A call has been measured: where it was one more of many questions in passing, some may pass.
pub(crate) fn measured(call: &mut Call<'_>, id: Id, span: &Span) {
    let is_denied = |complete: &Complete| span.succeeded() && complete.is_denied(call.arguments);
    if !may_pass(call.session, id, call.arguments).is_some_and(is_denied) {
        return;
    }
    let row = ROW_SO_FAR.get();
    let begin = span.begin.at.0;
    let period = begin.saturating_sub(row.since) / (u64::from(row.passing) + 1);
    if row.returns_to != call.returns_to || period > SHORT {
        ROW_SO_FAR.set(Row { returns_to: call.returns_to, since: begin, ..Row::NONE });
        return;
    }
    let mut next = Row { since: begin, number: row.number + 1, passing: 0, ..row };
    if next.number > LATER && *next.is_in_passing.get_or_insert_with(|| call.is_asked_in_passing()) {
        call.notes_passable(span);
        let until = Ticks(span.end.0 + 2 * (period + 1) * u64::from(next.calls));
        if next.number >= ROW && call.lets_pass(next.calls, until) {
            next = Row { number: 0, passing: next.calls, calls: (2 * next.calls).min(MOST), ..next };
        }
    }
    ROW_SO_FAR.set(next);
}
