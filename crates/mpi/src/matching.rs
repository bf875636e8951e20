//! Which shadow message belongs to which receive.
//!
//! Shadow messages of one source and tag arrive in the order in which the real ones were sent, and MPI matches the
//! real ones with receives in the order in which those were posted. Receives may be completed in another
//! order. So when a receive is completed whose message came from (source, tag), the receives that were posted
//! before it and matched a message of the same stream take their shadow messages first:
//!
//! * one that names the same source and tag has matched already, or it would have got this message;
//! * one with a wildcard has matched already if it could match this message at all; what it matched is known
//!   once it is complete. Until then it is not known whose shadow message is next in the stream, and the
//!   completion goes without: its shadow message is owed to it and is taken, and dropped, later.
//!
//! What always holds: from each stream as many shadow messages are taken as there were real messages
//! completed, owed ones aside, and in the order of their matching.

use crate::transport::Note;
use std::collections::VecDeque;

/// A source and a tag.
pub(crate) type Stream = (i32, i32);

/// What can be asked of the outside.
pub(crate) trait Outside {
    /// What a pending request has come to.
    fn peek(&mut self, request: usize) -> Found;
    /// Receives the next shadow message of a stream; `None` where none comes.
    fn take(&mut self, stream: Stream) -> Option<Note>;
}

/// What a receive matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Not known yet.
    Unknown,
    /// Nothing, for good: it was cancelled.
    Nothing,
    /// A message of this stream, now or some time.
    Message(Stream),
}

/// What a receive asks for; `None` is any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub(crate) source: Option<i32>,
    pub(crate) tag: Option<i32>,
}

impl Pattern {
    fn matches(self, (source, tag): Stream) -> bool {
        self.source.is_none_or(|named| named == source) && self.tag.is_none_or(|named| named == tag)
    }

    fn found(self) -> Found {
        match (self.source, self.tag) {
            (Some(source), Some(tag)) => Found::Message((source, tag)),
            _ => Found::Unknown,
        }
    }
}

/// Names a posted receive within its queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Serial(u64);

#[derive(Debug)]
struct Posted {
    serial: Serial,
    /// Handle of the request, to peek at; `None` where nobody may look at it (any more, or just now).
    request: Option<usize>,
    pattern: Pattern,
    found: Found,
    /// Its shadow message, taken on behalf of a later receive.
    stash: Option<Option<Note>>,
    /// The receive is over (or nobody will complete it); its shadow message is still to be taken.
    owed: bool,
}

/// The posted receives of one communicator in the order of their posting.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    posted: VecDeque<Posted>,
    next: u64,
}

impl Queue {
    /// A receive is posted.
    pub(crate) fn post(&mut self, request: usize, pattern: Pattern) -> Serial {
        self.push(Some(request), pattern, pattern.found(), false)
    }

    fn push(&mut self, request: Option<usize>, pattern: Pattern, found: Found, owed: bool) -> Serial {
        let serial = Serial(self.next);
        self.next += 1;
        self.posted.push_back(Posted { serial, request, pattern, found, stash: None, owed });
        serial
    }

    fn position(&self, serial: Serial) -> Option<usize> {
        self.posted.binary_search_by_key(&serial, |posted| posted.serial).ok()
    }

    /// Whether a request may be looked at: not while another thread might be completing it.
    pub(crate) fn set_visible(&mut self, serial: Serial, request: Option<usize>) {
        if let Some(at) = self.position(serial) {
            self.posted[at].request = request;
        }
    }

    /// The program wants a receive cancelled: it may have matched nothing.
    pub(crate) fn cancel(&mut self, serial: Serial) {
        if let Some(at) = self.position(serial)
            && self.posted[at].stash.is_none()
        {
            self.posted[at].found = Found::Unknown;
        }
    }

    /// A receive ended without a message.
    pub(crate) fn abandon(&mut self, serial: Serial) {
        if let Some(at) = self.position(serial) {
            self.posted.remove(at);
        }
    }

    /// Whether it is known which stream the receive's message is of, or its shadow message is there.
    pub(crate) fn is_settled(&self, serial: Serial) -> bool {
        self.position(serial).is_none_or(|at| self.posted[at].found != Found::Unknown || self.posted[at].stash.is_some())
    }

    /// Nobody will complete this receive, though it may still match a message.
    pub(crate) fn disown(&mut self, serial: Serial, request: Option<usize>) {
        let Some(at) = self.position(serial) else { return };
        if self.posted[at].stash.is_some() {
            self.posted.remove(at);
        } else {
            self.posted[at].owed = true;
            self.posted[at].request = request;
        }
    }

    /// A posted receive was completed with a message of this stream: its shadow message.
    pub(crate) fn complete(&mut self, serial: Serial, stream: Stream, outside: &mut impl Outside) -> Option<Note> {
        let Some(at) = self.position(serial) else { return self.receive(stream, outside) };
        if let Some(stash) = self.posted[at].stash.take() {
            self.posted.remove(at);
            return stash;
        }
        let Some(at) = self.serve_earlier(at, stream, outside) else {
            let at = self.position(serial)?;
            self.posted[at].found = Found::Message(stream);
            self.disown(serial, None);
            return None;
        };
        self.posted.remove(at);
        outside.take(stream)
    }

    /// The message of a posted receive is there, and of this stream: its shadow message, which stays for its completion.
    pub(crate) fn foresee(&mut self, serial: Serial, stream: Stream, outside: &mut impl Outside) -> Option<Note> {
        let at = self.serve_earlier(self.position(serial)?, stream, outside)?;
        let shadow = outside.take(stream);
        self.posted[at].stash = Some(shadow);
        shadow
    }

    /// A receive that nobody posted before, such as a blocking one, got a message of this stream.
    pub(crate) fn receive(&mut self, stream: Stream, outside: &mut impl Outside) -> Option<Note> {
        if self.serve_earlier(self.posted.len(), stream, outside).is_some() {
            return outside.take(stream);
        }
        let named = Pattern { source: Some(stream.0), tag: Some(stream.1) };
        self.push(None, named, Found::Message(stream), true);
        None
    }

    /// Takes the shadow messages of this stream that belong to receives posted before index `at`. Where that
    /// receive stands afterwards; `None` where somebody's message is not known.
    fn serve_earlier(&mut self, mut at: usize, stream: Stream, outside: &mut impl Outside) -> Option<usize> {
        let mut index = 0;
        while index < at {
            let earlier = &mut self.posted[index];
            index += 1;
            if earlier.stash.is_some() || !earlier.pattern.matches(stream) {
                continue;
            }
            if earlier.found == Found::Unknown {
                earlier.found = earlier.request.map_or(Found::Unknown, |request| outside.peek(request));
            }
            match earlier.found {
                Found::Unknown => return None,
                Found::Message(theirs) if theirs == stream => {
                    let shadow = outside.take(stream);
                    if earlier.owed {
                        index -= 1;
                        self.posted.remove(index);
                        at -= 1;
                    } else {
                        earlier.stash = Some(shadow);
                    }
                }
                Found::Message(_) | Found::Nothing => {}
            }
        }
        Some(at)
    }

    /// Whether no receive is pending or owed a message.
    pub(crate) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Outside, Pattern, Queue, Stream};
    use crate::transport::Note;
    use std::collections::HashMap;
    use tare_delay::completion::Moment;
    use tare_format::ids::Ticks;

    /// Streams that yield 1, 2, 3 …, and requests with known fates.
    #[derive(Default)]
    struct World {
        taken: HashMap<Stream, u64>,
        fates: HashMap<usize, Found>,
    }

    impl Outside for World {
        fn peek(&mut self, request: usize) -> Found {
            self.fates.get(&request).copied().unwrap_or(Found::Unknown)
        }

        fn take(&mut self, stream: Stream) -> Option<Note> {
            let count = self.taken.entry(stream).or_default();
            *count += 1;
            Some(Note { sent: Moment { at: Ticks(*count), delay: 0 }, wanted: 0 })
        }
    }

    fn named(source: i32, tag: i32) -> Pattern {
        Pattern { source: Some(source), tag: Some(tag) }
    }

    const ANY: Pattern = Pattern { source: None, tag: None };

    fn number(shadow: Option<Note>) -> Option<u64> {
        shadow.map(|shadow| shadow.sent.at.0)
    }

    #[test]
    fn a_message_that_was_foreseen_is_taken_once() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let first = queue.post(1, named(3, 5));
        let second = queue.post(2, named(3, 5));
        assert_eq!(number(queue.foresee(second, (3, 5), &mut world)), Some(2));
        assert_eq!(number(queue.complete(second, (3, 5), &mut world)), Some(2));
        assert_eq!(number(queue.complete(first, (3, 5), &mut world)), Some(1));
        assert!(queue.is_empty());
    }

    #[test]
    fn receives_waited_for_in_another_order_get_their_own() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let first = queue.post(1, named(0, 5));
        let second = queue.post(2, named(0, 5));
        let other = queue.post(3, named(0, 6));
        assert_eq!(number(queue.complete(second, (0, 5), &mut world)), Some(2));
        assert_eq!(number(queue.complete(other, (0, 6), &mut world)), Some(1));
        assert_eq!(number(queue.receive((0, 5), &mut world)), Some(3));
        assert_eq!(number(queue.complete(first, (0, 5), &mut world)), Some(1));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_wildcard_that_is_complete_tells_what_it_took() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let wild = queue.post(1, ANY);
        let later = queue.post(2, named(3, 5));
        world.fates.insert(1, Found::Message((3, 5)));
        assert_eq!(number(queue.complete(later, (3, 5), &mut world)), Some(2));
        assert_eq!(number(queue.complete(wild, (3, 5), &mut world)), Some(1));
    }

    #[test]
    fn a_completion_that_cannot_be_told_goes_without_and_spoils_nothing() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let wild = queue.post(1, ANY);
        let later = queue.post(2, named(3, 5));
        assert_eq!(queue.complete(later, (3, 5), &mut world), None);
        assert_eq!(number(queue.complete(wild, (3, 5), &mut world)), Some(1));
        assert_eq!(number(queue.receive((3, 5), &mut world)), Some(3), "the second one was dropped");
        assert!(queue.is_empty());
    }

    #[test]
    fn a_cancelled_receive_takes_nothing() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let cancelled = queue.post(1, named(0, 5));
        queue.cancel(cancelled);
        world.fates.insert(1, Found::Nothing);
        assert_eq!(number(queue.receive((0, 5), &mut world)), Some(1));
        queue.abandon(cancelled);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_receive_that_was_freed_still_takes_its_turn() {
        let (mut queue, mut world) = (Queue::default(), World::default());
        let freed = queue.post(1, named(0, 5));
        queue.disown(freed, None);
        assert_eq!(number(queue.receive((0, 5), &mut world)), Some(2));
        assert!(queue.is_empty());
    }
}
