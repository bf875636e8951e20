//! One call of the program: its region, its clock readings, and what it did to the thread's delay.
//!
//! What always holds: between the two clock readings of the region, every tick outside of the real function is booked
//! as the tool's own, at the latest when the moment is asked for, so that the delay of a [`Moment`] is right; but
//! for what it took because a processor was lost (`usual`).

use crate::board::Begun;
use crate::export::Arguments;
use crate::real::Real;
use crate::session::Session;
use crate::table::{Function, Id, function};
use tare_delay::completion::Moment;
use tare_delay::visits::Look;
use tare_format::ids::{Rank, Ticks};
use tare_runtime::process::{count_uncovered, count_unpaired, now};
use tare_runtime::wrapper::{Exchange, Open, Place, Thread, Waits, is_asked_in_passing, real, thread};

/// Ticks of the tool's own work after which a call is shown to begin later than it came in.
const SHOWN_ANEW: u64 = 1000;

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) session: &'static Session,
    pub(crate) arguments: &'a mut Arguments,
    id: Id,
    real: Real,
    /// Where the program goes on; 0 where that does not matter.
    pub(crate) returns_to: usize,
    region: Option<(Thread, Open)>,
    /// What stands on the board and since when, where the library looks for messages meanwhile.
    visit: Option<(Begun, Ticks)>,
    /// Up to when the tool's own time is booked.
    booked: Ticks,
    /// As long as until then the process comes in again and again, by calls that are not measured.
    comes_until: Option<Ticks>,
}

/// The real function's part of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// When it was called.
    pub(crate) begin: Moment,
    /// When it returned.
    pub(crate) end: Ticks,
    /// What it returned.
    pub(crate) result: usize,
}

impl Span {
    /// Whether the function says `MPI_SUCCESS`.
    pub(crate) fn succeeded(&self) -> bool {
        self.error() == 0
    }

    /// What the function itself took, in ticks.
    pub(crate) fn real(&self) -> u64 {
        real(self.begin.at, self.end)
    }

    /// The error code.
    pub(crate) fn error(&self) -> i32 {
        crate::memory::int(self.result)
    }
}

impl<'a> Call<'a> {
    /// Opens the region of a call.
    pub(crate) fn begin(session: &'static Session, id: Id, real: Real, arguments: &'a mut Arguments) -> Self {
        let region = thread().map(|thread| (thread, thread.enter(session.ids.region(id as u32 + 1))));
        let booked = region.as_ref().map_or_else(now, |(_, open)| open.entered());
        if let Some(board) = session.board() {
            board.enter();
        }
        let mut call = Self { session, arguments, id, real, returns_to: 0, region, visit: None, booked, comes_until: None };
        if let Some(look) = call.function().meaning.looks_for() {
            call.looks(look, Moment { at: booked, delay: call.delay() });
        }
        call
    }

    /// What the table says of the function.
    pub(crate) fn function(&self) -> &'static Function {
        function(self.id)
    }

    /// This moment: books what the tool worked since the last one.
    pub(crate) fn moment(&mut self) -> Moment {
        let at = now();
        let worked = at.0.saturating_sub(self.booked.0);
        self.booked = at;
        if let Some((_, open)) = &self.region {
            open.add_tool(worked);
        }
        Moment { at, delay: self.delay() }
    }

    /// So many ticks of what is about to be booked as the tool's are the program's.
    pub(crate) fn gives_back(&mut self, ticks: u64) {
        self.booked.0 += ticks;
    }

    /// The library looks for this in the call, from here on.
    pub(crate) fn looks(&mut self, look: Look, here: Moment) {
        let Some(board) = self.session.board() else { return };
        let begun = board.begin(look, here, self.session.requests.is_concurrent());
        self.visit = Some((begun, here.at));
    }

    /// What the library looks for, it looks for only from here on.
    fn looks_later(&mut self, here: Moment) {
        if let (Some(board), Some((begun, shown))) = (self.session.board(), &mut self.visit) {
            board.write(*begun, here);
            *shown = here.at;
        }
    }

    /// The delay of the thread.
    fn delay(&self) -> i64 {
        self.region.as_ref().map_or(0, |(thread, _)| thread.delay())
    }

    /// Calls the real function.
    pub(crate) fn run(&mut self) -> Span {
        let mut begin = self.moment();
        if self.visit.is_some_and(|(_, shown)| begin.at.0 - shown.0 > SHOWN_ANEW) {
            self.looks_later(begin);
            begin = self.moment();
        }
        // SAFETY: these are the program's arguments, with ignored statuses replaced at most.
        let result = unsafe { self.real.invoke(self.function().real, self.arguments) };
        let end = now();
        self.booked = end;
        Span { begin, end, result }
    }

    /// Does without the real function.
    pub(crate) fn skip(&mut self) -> Span {
        let begin = self.moment();
        Span { begin, end: begin.at, result: 0 }
    }

    /// The real function was called before, with this result, in no time that is known.
    pub(crate) fn answered(&mut self, result: usize) -> Span {
        Span { result, ..self.skip() }
    }

    /// The call is like those that may pass.
    pub(crate) fn notes_passable(&self, span: &Span) {
        if let Some((_, open)) = &self.region {
            open.notes_passable(span.real());
        }
    }

    /// Lets so many calls pass that come back to where this one does, which will take until then. Says whether they may.
    pub(crate) fn lets_pass(&mut self, calls: u16, until: Ticks) -> bool {
        let may = self.region.as_ref().is_some_and(|(_, open)| open.lets_pass(self.returns_to, calls));
        self.comes_until = may.then_some(until);
        may
    }

    /// Closes the region, and returns what the program is to get.
    pub(crate) fn finish(mut self, span: &Span) -> usize {
        let end = match self.region.take() {
            Some((thread, open)) => thread.exit(open, self.booked, Waits::Spinning),
            None => now(),
        };
        if let Some(board) = self.session.board() {
            if let Some((visit, _)) = self.visit {
                board.end(visit, self.comes_until.unwrap_or(end));
            }
            if self.comes_until.is_none() {
                board.leave(end);
            }
        }
        span.result
    }

    /// Where the thread is.
    pub(crate) fn place(&self) -> Option<Place> {
        self.region.as_ref().map(|(_, open)| open.place())
    }

    /// Whether the program asks in passing here, and does not wait for the answer.
    pub(crate) fn is_asked_in_passing(&self) -> bool {
        is_asked_in_passing(self.returns_to)
    }

    /// Notes what has become known of an earlier wait.
    pub(crate) fn corrected(&self, gain: i64) {
        if let Some(place) = self.place() {
            place.add_delay_gain(gain);
        }
    }

    /// Counts bytes of a collective.
    pub(crate) fn moved(&self, bytes: u64) {
        if let Some((_, open)) = &self.region {
            open.add_messages(0, bytes);
        }
    }

    /// Counts a message to or from a partner.
    pub(crate) fn exchanged(&self, peer: Option<Rank>, exchange: &Exchange) {
        let Some((_, open)) = &self.region else { return };
        open.add_messages(exchange.sent + exchange.received, exchange.bytes);
        if let Some(peer) = peer {
            open.place().add_peer(peer, exchange);
        }
    }

    /// Counts a receive whose order the virtual times contradict.
    pub(crate) fn contradicted(&self) {
        if let Some((_, open)) = &self.region {
            open.add_contradicted();
        }
    }

    /// The call may have waited for others in a way that is not known.
    pub(crate) fn uncovered(&self) {
        match &self.region {
            Some((_, open)) => open.add_uncovered(1),
            None => count_uncovered(1),
        }
    }

    /// Counts messages that came without their delay.
    pub(crate) fn unpaired(&self, messages: u64) {
        match &self.region {
            Some((_, open)) => open.add_unpaired(messages),
            None => count_unpaired(messages),
        }
    }
}
