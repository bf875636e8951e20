//! Waits for what a call completes: since when, where, and in which way a thread waits, and what that was when it is over.
//!
//! A thread waits in the call that completes something, or in one before it that has found out: a plain probe, a question whether
//! requests are complete. Where it asks again and again, it waits in each question that is answered with no. All that is counted
//! where the thread was meanwhile.

use crate::answers;
use crate::call::{Call, Span};
use core::cell::RefCell;
use tare_delay::completion::{Arrivals, Completion, Moment, complete};
use tare_delay::polling::{InVain, Polls};
use tare_format::graph::DelayModel;
use tare_format::ids::Rank;
use tare_runtime::wrapper::{Exchange, Place};

/// Places of questions that are remembered between two completions.
const PLACES: usize = 4;

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// In a call that ends when it has come.
    Blocked,
    /// By asking until it has come.
    Asking,
    /// Not: it asks in passing.
    Passing,
}

/// A wait that has come to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// When the call began that came to know.
    pub(crate) begin: Moment,
    place: Option<Place>,
    way: Way,
}

/// What a wait was that is over.
#[derive(Debug)]
pub(crate) struct Waited {
    /// What the last call of it waited for.
    pub(crate) done: Completion,
    parts: [Option<(Place, Exchange)>; 1 + PLACES],
}

/// The questions of a thread that were answered with no since something was last completed.
#[derive(Debug)]
struct Asked {
    polls: Polls,
    places: [Option<(Place, InVain)>; PLACES],
}

thread_local! {
    static ASKED: RefCell<Asked> = const { RefCell::new(Asked::NOTHING) };
}

impl Wait {
    /// A call that ended when something had come.
    pub(crate) fn blocked(call: &Call<'_>, span: &Span) -> Self {
        Self { begin: span.begin, place: call.place(), way: Way::Blocked }
    }

    /// A call that got to know, by a question or without one.
    pub(crate) fn of(call: &Call<'_>, span: &Span, asks: bool) -> Self {
        if asks { Self::asking(call, span) } else { Self::blocked(call, span) }
    }

    /// A call that asked, and got a yes.
    pub(crate) fn asking(call: &Call<'_>, span: &Span) -> Self {
        let way = if call.is_asked_in_passing() { Way::Passing } else { Way::Asking };
        Self { way, ..Self::blocked(call, span) }
    }

    /// It is over: what it was, and what it changes of the thread's delay.
    pub(crate) fn over(&self, call: &Call<'_>, span: &Span, arrivals: &Arrivals) -> Waited {
        let model = call.session.model();
        let done = if self.way == Way::Passing { Completion::alone(self.begin) } else { complete(model, self.begin, span.end, arrivals) };
        answers::waited(&done);
        let mut waited = Waited { done, parts: [None; 1 + PLACES] };
        let gain = ASKED.with_borrow_mut(|asked| {
            let mut gain = done.gain();
            if self.way == Way::Asking && !arrivals.is_empty() {
                if model == DelayModel::Virtual {
                    gain = done.wait.cast_signed() + self.begin.virtual_time() - asked.polls.answered(self.begin, arrivals);
                }
                waited.add_questions(&asked.places, arrivals, gain - done.gain());
            }
            asked.forget();
            gain
        });
        waited.parts[0] = self.place.map(|place| {
            place.add_delay_gain(gain);
            (place, Exchange { wait: done.wait, virtual_wait: done.virtual_wait, delay_gain: gain, ..Exchange::default() })
        });
        waited.parts.iter().flatten().for_each(|(place, part)| place.add_wait(part.wait, part.virtual_wait));
        waited
    }
}

impl Waited {
    /// What the thread waited in questions that were answered with no. `gain` is the delay that it gains by having asked fewer of them
    /// unmeasured.
    fn add_questions(&mut self, asked: &[Option<(Place, InVain)>; PLACES], arrivals: &Arrivals, gain: i64) {
        let waits = asked.each_ref().map(|known| known.as_ref().map(|(place, in_vain)| (*place, in_vain.waited(arrivals))));
        let all: u64 = waits.iter().flatten().map(|(_, wait)| wait).sum();
        let all_virtually = all.saturating_add_signed(gain.saturating_neg());
        for (part, (place, wait)) in self.parts[1..].iter_mut().zip(waits.into_iter().flatten()) {
            let virtual_wait = (u128::from(wait) * u128::from(all_virtually)).checked_div(u128::from(all)).unwrap_or(0) as u64;
            *part = Some((place, Exchange { wait, virtual_wait, ..Exchange::default() }));
        }
    }

    /// It was this partner whom the thread has waited for.
    pub(crate) fn was_for(&self, partner: Rank) {
        self.parts.iter().flatten().for_each(|(place, part)| place.add_peer(partner, part));
    }

    /// It was a send that waited for its receiver.
    pub(crate) fn was_held_by(&self, receiver: Rank) {
        self.parts.iter().flatten().for_each(|(place, part)| place.add_held(receiver, part));
    }
}

impl Asked {
    const NOTHING: Self = Self { polls: Polls::NONE, places: [None; PLACES] };

    /// Something was completed.
    fn forget(&mut self) {
        self.polls.forget();
        self.places = [None; PLACES];
    }
}

/// A question was answered with no.
pub(crate) fn asked_in_vain(call: &Call<'_>, span: &Span) {
    ASKED.with_borrow_mut(|asked| {
        asked.polls.failed(span.begin);
        let Some(here) = call.place() else { return };
        let known = asked.places.iter_mut().find(|known| known.as_ref().is_none_or(|(place, _)| *place == here));
        if let Some(known) = known {
            let (_, in_vain) = known.get_or_insert((here, InVain::NOTHING));
            in_vain.asked(span.begin.at, span.end, span.real());
        }
    });
}
