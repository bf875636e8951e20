//! Ends that wait until another location looks: libraries go on with what was started only while a program is inside them.
//!
//! A send whose memory the receiver gives back, and a collective whose data another member hands on, ends when that one next comes
//! into the library and looks for what has come. Such calls are its *visits*, and so are calls that start a receive: a large message of
//! which the library has found the announcement before is taken there. From the last visits it can be told, when an operation
//! has ended, which one it waited for, and from some ends, whether operations of its kind wait for visits at all:
//!
//! * it ended while the other one had made no call at all since it began: its kind does not wait;
//! * the other one came in after everything else was there, and then it ended: it waited for the last such visit;
//! * the other one came in before that: what waits was ready with the first visit since the operation began that looked for everything.
//!
//! Unmeasured, an operation that began between two visits may have begun between two others. The order is taken to be the one that was.

use crate::completion::Moment;
use tare_format::ids::Ticks;

/// What of all that has come the library looks for in a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// Everything.
    Everything,
    /// The message that the call asks for, among those that it has found before.
    Found,
}

/// A call of another location in which the library looks for what has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// What for.
    pub look: Look,
    /// When it began.
    pub begin: Moment,
    /// When it ended; `None` while it lasts.
    pub end: Option<Ticks>,
}

/// What the visits of another location say of the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// The other one was away all the time: operations of this kind do not wait for it.
    Free,
    /// It came in when nothing else was to be waited for: operations of this kind wait for it, and this one for that.
    Waited(Moment),
    /// It came in before: if operations of this kind wait for it, then this one for that.
    Ready(Moment),
    /// The visits tell nothing.
    Unknown,
}

impl Held {
    /// The visit that is waited for, if operations of this kind wait.
    #[must_use]
    pub const fn visit(self) -> Option<Moment> {
        match self {
            Self::Waited(visit) | Self::Ready(visit) => Some(visit),
            Self::Free | Self::Unknown => None,
        }
    }
}

/// An operation that began at `begun`, would have ended at `alone` had it not waited for a visit, and ended at `end`.
/// `visits` are the last ones of the other location, the latest first; `left` is when it left its last call of whatever kind, `None` while it
/// is in one.
pub fn held(visits: impl IntoIterator<Item = Visit>, left: Option<Ticks>, begun: Ticks, alone: Ticks, end: Ticks) -> Held {
    if left.is_some_and(|left| left < begun) {
        return Held::Free;
    }
    // Whether they go back to before the operation began.
    let mut are_all = false;
    let (mut last, mut first, mut first_of_all) = (None, None, None);
    for visit in visits.into_iter().filter(|visit| visit.begin.at <= end) {
        if visit.end.is_some_and(|left| left < begun) {
            are_all = true;
        } else {
            last = last.or(Some(visit.begin));
            first_of_all = Some(visit.begin);
            if visit.look == Look::Everything {
                first = first_of_all;
            }
        }
    }
    match (last, first.or(first_of_all)) {
        (Some(last), _) if last.at > alone => Held::Waited(last),
        (_, Some(first)) if are_all => Held::Ready(first),
        _ => Held::Unknown,
    }
}

/// Ticks of a wait below which coincidence is not told from waiting.
const SHORT: u64 = 50_000;

/// An operation that several came to, which would have ended at `alone` had it not waited for another member, and ended at `end`. That one
/// came at the moment `came`; `None` where it had not by then. It was waited for if little of the operation was left from there.
#[must_use]
pub fn met(came: Option<Moment>, alone: Ticks, end: Ticks) -> Held {
    match came.filter(|came| came.at <= end) {
        None => Held::Free,
        Some(came) => {
            let waited = came.at.0.saturating_sub(alone.0);
            if waited > SHORT.max(end.0 - came.at.0) { Held::Waited(came) } else { Held::Ready(came) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Look, SHORT, Visit, held, met};
    use crate::completion::Moment;
    use proptest::prelude::{ProptestConfig, prop_assert, proptest};
    use std::vec::Vec;
    use tare_format::ids::Ticks;

    const fn moment(at: u64, delay: i64) -> Moment {
        Moment { at: Ticks(at), delay }
    }

    const fn visit(begin: Moment, end: Option<Ticks>) -> Visit {
        Visit { look: Look::Everything, begin, end }
    }

    const fn start(begin: Moment, end: Option<Ticks>) -> Visit {
        Visit { look: Look::Found, begin, end }
    }

    const LONG_AGO: Visit = visit(moment(1, 0), Some(Ticks(10)));

    fn at_1000(visits: &[Visit], alone: u64, end: u64) -> Held {
        held(visits.iter().copied(), None, Ticks(1_000), Ticks(alone), Ticks(end))
    }

    #[test]
    fn an_end_while_the_other_one_is_away_shows_that_nothing_waits() {
        let left = |at| held([LONG_AGO], Some(Ticks(at)), Ticks(1_000), Ticks(2_000), Ticks(2_005));
        assert_eq!((left(999), left(1_001)), (Held::Free, Held::Unknown));
        assert_eq!(at_1000(&[LONG_AGO], 2_000, 2_005), Held::Unknown, "it may have been in another call");
    }

    #[test]
    fn of_visits_that_are_not_remembered_back_to_the_begin_only_the_last_is_sure() {
        let visit = visit(moment(1_500, 100), None);
        assert_eq!(at_1000(&[visit], 1_600, 2_005), Held::Unknown);
        assert_eq!(at_1000(&[visit], 1_400, 2_005), Held::Waited(visit.begin));
        assert_eq!(at_1000(&[], 1_400, 2_005), Held::Unknown);
    }

    #[test]
    fn the_last_visit_of_a_wait_ended_it() {
        let in_vain = visit(moment(1_500, 100), Some(Ticks(1_520)));
        let useful = visit(moment(1_900, 300), None);
        assert_eq!(at_1000(&[useful, in_vain, LONG_AGO], 1_400, 2_000), Held::Waited(useful.begin));
    }

    #[test]
    fn without_a_wait_the_first_visit_counts() {
        let first = visit(moment(1_500, 100), Some(Ticks(1_520)));
        let later = visit(moment(1_900, 300), None);
        assert_eq!(at_1000(&[later, first, LONG_AGO], 1_950, 2_000), Held::Ready(first.begin));
    }

    #[test]
    fn a_started_receive_ends_a_wait_and_is_not_ready_before_a_look_for_everything() {
        let started = start(moment(1_500, 100), Some(Ticks(1_520)));
        assert_eq!(at_1000(&[started, LONG_AGO], 1_400, 2_000), Held::Waited(started.begin), "the message was found before");
        let look = visit(moment(1_700, 300), None);
        assert_eq!(at_1000(&[look, started, LONG_AGO], 1_400, 2_000), Held::Waited(look.begin));
        assert_eq!(at_1000(&[look, started, LONG_AGO], 1_800, 2_000), Held::Ready(look.begin));
        assert_eq!(at_1000(&[started, LONG_AGO], 1_800, 2_000), Held::Ready(started.begin), "nothing else can have taken it");
    }

    #[test]
    fn a_member_with_which_an_operation_went_on_was_waited_for() {
        let came = |at| met(Some(moment(at, 7)), Ticks(1_000), Ticks(1_000 + 4 * SHORT));
        let late = 1_000 + 3 * SHORT;
        assert_eq!(came(late), Held::Waited(moment(late, 7)));
        let early = 1_000 + SHORT;
        assert_eq!(came(early), Held::Ready(moment(early, 7)), "most of it passed behind that");
        assert_eq!(came(1_000 + 5 * SHORT), Held::Free, "it had ended by then");
        assert_eq!(met(None, Ticks(1_000), Ticks(2_000)), Held::Free);
        assert_eq!(met(Some(moment(1_900, 7)), Ticks(1_000), Ticks(1_910)), Held::Ready(moment(1_900, 7)), "it may have come by chance");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn who_waited_ended_with_a_visit_and_who_did_not_could_have_ended_alone(
            steps in proptest::collection::vec((1_u64..100, 1_u64..100), 1..20),
            begun in 1_u64..3_000, alone in 0_u64..3_000, length in 0_u64..3_000,
        ) {
            let mut now = 0;
            let mut visits: Vec<Visit> = steps.iter().map(|&(away, inside)| {
                let begin = now + away;
                now = begin + inside;
                visit(moment(begin, 0), Some(Ticks(now)))
            }).collect();
            visits.reverse();
            let (begun, alone) = (Ticks(begun), Ticks(begun + alone));
            let end = Ticks(alone.0 + length);
            let since = |visit: &&Visit| visit.end >= Some(begun);
            match held(visits.iter().copied(), Some(Ticks(now)), begun, alone, end) {
                Held::Waited(last) => prop_assert!(alone < last.at && last.at <= end),
                Held::Ready(first) => prop_assert!(first.at <= alone && visits.iter().filter(since).all(|visit| first.at <= visit.begin.at)),
                Held::Free => prop_assert!(visits.iter().all(|visit| !since(&visit))),
                Held::Unknown => {}
            }
        }
    }
}
